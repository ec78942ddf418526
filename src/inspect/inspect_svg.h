/*-------------------------------------------------------------------------
 *
 * inspect_svg.h
 *	  Private to src/inspect: pictures as SVG.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_svg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INSPECT_SVG_H
#define INSPECT_SVG_H

#include "postgres.h"

#include "lib/stringinfo.h"

/* inspect_svg.c */

extern void zsinspect_svg_begin(StringInfo svg, int width, int height, const char *title);
extern void zsinspect_svg_end(StringInfo svg);
extern void zsinspect_svg_text(StringInfo svg, int x, int y, const char *text);
extern void zsinspect_svg_rect(StringInfo svg, double x, double y, double width, double height,
							   const char *fill);

#endif							/* INSPECT_SVG_H */
