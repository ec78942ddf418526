/*-------------------------------------------------------------------------
 *
 * inspect_svg.c
 *	  The parts of a picture as SVG, for zs_map().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_svg.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inspect_svg.h"

/*
 * Appends text as XML wants it.  Names may have control characters, which XML has no way to write,
 * so they become question marks.
 */
static void
append_escaped(StringInfo svg, const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
	{
		switch (*c)
		{
			case '&':
				appendStringInfoString(svg, "&amp;");
				break;
			case '<':
				appendStringInfoString(svg, "&lt;");
				break;
			case '>':
				appendStringInfoString(svg, "&gt;");
				break;
			default:
				appendStringInfoChar(svg, (unsigned char) *c < ' ' || *c == 0x7f ? '?' : *c);
		}
	}
}

/* Begins a picture of so many pixels, on white. */
void
zsinspect_svg_begin(StringInfo svg, int width, int height, const char *title)
{
	initStringInfo(svg);
	appendStringInfo(svg,
					 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
					 "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<title>",
					 width, height);
	append_escaped(svg, title);
	appendStringInfoString(svg, "</title>\n");
	zsinspect_svg_rect(svg, 0, 0, width, height, "white");
	zsinspect_svg_text(svg, 10, 20, title);
}

/* Ends it. */
void
zsinspect_svg_end(StringInfo svg)
{
	appendStringInfoString(svg, "</svg>\n");
}

/* Text that begins at x, on the line y. */
void
zsinspect_svg_text(StringInfo svg, int x, int y, const char *text)
{
	appendStringInfo(svg, "<text x=\"%d\" y=\"%d\">", x, y);
	append_escaped(svg, text);
	appendStringInfoString(svg, "</text>\n");
}

/* A rectangle. */
void
zsinspect_svg_rect(StringInfo svg, double x, double y, double width, double height,
				   const char *fill)
{
	appendStringInfo(svg,
					 "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\"/>\n",
					 x, y, width, height, fill);
}
