/*-------------------------------------------------------------------------
 *
 * inspect_map_column.c
 *	  zs_map() of a column: a picture of its zone maps, as SVG.
 *
 * From left to right are the rows in the order of the table, upwards the values.  A bar stands for
 * the range between the smallest and the largest value of some rows: a rising line of short bars is
 * a sorted column, a filled square one whose values come at random, which no filter can leave out.
 *
 * Tables of up to some million rows have a bar for each vector of 1024 rows, larger ones for each
 * segment.  Where there are more of them than the picture has pixels, neighbours become one bar, so
 * memory and the picture do not grow with the table.  Rows of the row tree have no zone maps, and
 * are gaps.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_map_column.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "inspect_internal.h"
#include "inspect_svg.h"
#include "zs_attr.h"
#include "zs_page.h"

PG_FUNCTION_INFO_V1(zs_map_column);

#define WIDTH			768		/* of the picture's inner part, in pixels and bars */
#define HEIGHT			300
#define MARGIN			10
#define TOP				48
#define BOTTOM			64

/* up to so many rows the vectors' zone maps are read, one page for each segment */
#define MAX_VECTOR_ROWS	(UINT64CONST(64) * 1024 * 1024)

typedef struct Bar
{
	bool		used;
	int64		min;
	int64		max;
} Bar;

typedef struct ColumnMap
{
	Relation	rel;
	AttrNumber	attno;
	zstid		end;			/* of the row numbers */
	Bar			bars[WIDTH];

	uint64		nranges;
	uint64		nbehind;		/* ranges that begin where the one before ends, or behind it */
	uint64		nbefore;		/* ranges that end where the one before begins, or before it */
	int64		last_min;		/* of the range before */
	int64		last_max;
} ColumnMap;

/* ---- ranges ------------------------------------------------------------------------------- */

/* The values of rows from first on lie between min and max. */
static void
add_range(ColumnMap *map, zstid first, uint64 nrows, int64 min, int64 max)
{
	int			from = (int) ((double) first / map->end * WIDTH);
	int			to = (int) ((double) (first + nrows - 1) / map->end * WIDTH);

	if (map->nranges > 0)
	{
		map->nbehind += min >= map->last_max;
		map->nbefore += max <= map->last_min;
	}
	map->nranges++;
	map->last_min = min;
	map->last_max = max;

	for (int i = Min(from, WIDTH - 1); i <= Min(to, WIDTH - 1); i++)
	{
		Bar		   *bar = &map->bars[i];

		bar->min = bar->used ? Min(bar->min, min) : min;
		bar->max = bar->used ? Max(bar->max, max) : max;
		bar->used = true;
	}
}

/* The ranges of a segment's vectors; false if it was replaced meanwhile, or has no pages. */
static bool
add_vectors(ColumnMap *map, ZsAttrReader *reader, const ZsSegmentItem *item)
{
	int			vecno;
	const ZsSegmentInfo *info = zsattr_reader_info(reader, item->first_row, &vecno);
	zstid		row = item->first_row;

	if (info == NULL)
		return false;
	for (uint32 i = 0; i < info->nvectors; i++)
	{
		const ZsVectorInfo *vector = &info->vectors[i];

		if (vector->has_zone && vector->nrows > 0)
			add_range(map, row, vector->nrows, vector->zone_min, vector->zone_max);
		row += vector->nrows;
	}
	return true;
}

static void
collect_ranges(ColumnMap *map)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	ZsAttrReader *reader = NULL;
	zstid		row = 0;

	if (map->end <= MAX_VECTOR_ROWS)
		reader = zsattr_reader_begin(map->rel, RelationGetDescr(map->rel), map->attno, 0, NULL);
	while (row < map->end)
	{
		int			n = zsattr_index_page_items(map->rel, map->attno, row, items, &row);

		for (int i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if ((items[i].flags & ZS_SEGF_ZONE_MAP) == 0 || items[i].first_row >= map->end)
				continue;
			if (reader == NULL || !add_vectors(map, reader, &items[i]))
				add_range(map, items[i].first_row, items[i].nrows, items[i].zone_min,
						  items[i].zone_max);
		}
	}
	if (reader != NULL)
		zsattr_reader_end(reader);
	pfree(items);
}

/* ---- the picture ------------------------------------------------------------------------ */

/* The bounds of all bars; false if there are none. */
static bool
find_bounds(const ColumnMap *map, int64 *min, int64 *max)
{
	bool		found = false;

	for (int i = 0; i < WIDTH; i++)
	{
		if (!map->bars[i].used)
			continue;
		*min = found ? Min(*min, map->bars[i].min) : map->bars[i].min;
		*max = found ? Max(*max, map->bars[i].max) : map->bars[i].max;
		found = true;
	}
	return found;
}

/* Where a value is, from 0 to 1; infinities and NaN are at the ends. */
static double
height_of(const ZsAttrKind *kind, int64 zone, double low, double high)
{
	double		place = zsinspect_zone_place(kind, zone);

	if (isnan(place))
		return 1;
	if (high <= low)
		return 0.5;
	return Min(Max((place - low) / (high - low), 0), 1);
}

/* The finite end of the values that is nearest to a bound. */
static double
finite_place(const ColumnMap *map, const ZsAttrKind *kind, bool lower)
{
	double		found = lower ? HUGE_VAL : -HUGE_VAL;

	for (int i = 0; i < WIDTH; i++)
	{
		double		places[2] = {
			zsinspect_zone_place(kind, map->bars[i].min),
			zsinspect_zone_place(kind, map->bars[i].max)
		};

		for (int j = 0; j < 2 && map->bars[i].used; j++)
		{
			if (isfinite(places[j]))
				found = lower ? Min(found, places[j]) : Max(found, places[j]);
		}
	}
	return isfinite(found) ? found : 0;
}

static void
draw_bars(const ColumnMap *map, const ZsAttrKind *kind, StringInfo svg)
{
	double		low = finite_place(map, kind, true);
	double		high = finite_place(map, kind, false);

	for (int i = 0; i < WIDTH; i++)
	{
		const Bar  *bar = &map->bars[i];
		double		bottom;
		double		top;

		if (!bar->used)
			continue;
		bottom = HEIGHT * (1 - height_of(kind, bar->min, low, high));
		top = HEIGHT * (1 - height_of(kind, bar->max, low, high));
		zsinspect_svg_rect(svg, MARGIN + i, TOP + top, 1, Max(bottom - top, 1), "#1f5f8b");
	}
}

/* What the ranges say about the order, in words. */
static char *
describe_order(const ColumnMap *map)
{
	uint64		npairs = map->nranges - Min(map->nranges, 1);
	uint64		most = Max(map->nbehind, map->nbefore);

	if (npairs == 0)
		return psprintf(UINT64_FORMAT " ranges", map->nranges);
	return psprintf(UINT64_FORMAT " ranges, of which %.1f %% lie %s the one before", map->nranges,
					100.0 * most / npairs, map->nbehind >= map->nbefore ? "above" : "below");
}

static text *
draw(const ColumnMap *map)
{
	Form_pg_attribute att = zsattr_form(RelationGetDescr(map->rel), map->attno);
	ZsAttrKind	kind;
	StringInfoData svg;
	int64		min;
	int64		max;

	zsattr_kind(att, &kind);
	zsinspect_svg_begin(&svg, 2 * MARGIN + WIDTH, TOP + HEIGHT + BOTTOM,
						psprintf("%s.%s: values by rows, " UINT64_FORMAT " row numbers",
								 RelationGetRelationName(map->rel), NameStr(att->attname),
								 (uint64) map->end));
	zsinspect_svg_rect(&svg, MARGIN, TOP, WIDTH, HEIGHT, "#f4f4f4");
	if (find_bounds(map, &min, &max))
	{
		draw_bars(map, &kind, &svg);
		zsinspect_svg_text(&svg, MARGIN, TOP - 6,
						   psprintf("up to %s", zsinspect_zone_text(att, max)));
		zsinspect_svg_text(&svg, MARGIN, TOP + HEIGHT + 16,
						   psprintf("from %s", zsinspect_zone_text(att, min)));
		zsinspect_svg_text(&svg, MARGIN, TOP + HEIGHT + 36, describe_order(map));
	}
	else
		zsinspect_svg_text(&svg, MARGIN, TOP + HEIGHT + 16, "no zone maps");
	zsinspect_svg_end(&svg);
	return cstring_to_text_with_len(svg.data, svg.len);
}

/*
 * zs_map(regclass, name): see docs/inspection.md.  Takes a share lock on one page at a time.
 * Errors: as zsinspect_open(); ERRCODE_UNDEFINED_COLUMN; ERRCODE_INSUFFICIENT_PRIVILEGE where the
 * caller may not read the column; ERRCODE_DATA_CORRUPTED.
 */
Datum
zs_map_column(PG_FUNCTION_ARGS)
{
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	char	   *attname = NameStr(*PG_GETARG_NAME(1));
	AttrNumber	attno = get_attnum(RelationGetRelid(rel), attname);
	ColumnMap  *map = palloc0_object(ColumnMap);
	text	   *result;

	if (attno <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", attname,
						RelationGetRelationName(rel))));
	if (!zsinspect_column_is_readable(rel, attno))
		aclcheck_error_col(ACLCHECK_NO_PRIV, OBJECT_COLUMN, RelationGetRelationName(rel), attname);

	map->rel = rel;
	map->attno = attno;
	map->end = zspage_next_row(rel);
	collect_ranges(map);

	result = draw(map);
	relation_close(rel, AccessShareLock);
	PG_RETURN_TEXT_P(result);
}
