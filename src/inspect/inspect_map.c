/*-------------------------------------------------------------------------
 *
 * inspect_map.c
 *	  zs_map(): a picture of a table's file, as SVG.
 *
 * The file is cut into at most MAX_CELLS cells of equally many blocks, in rows from left to right.
 * A cell has the colour of the tree that most of its blocks belong to, or is light where most of
 * them are free.  Blocks that are neither in a tree nor free are pages of large values, of free
 * page maps and of the directory, or nobody's.  The legend says of each tree how many of its pages
 * are followed, in key order, by the block behind them: a column that was written at once has all
 * of them side by side, and reads in large requests.
 *
 * Trees are walked one after the other, so memory is bounded by the cells, not by the table: two
 * counters for each.  Pages of segments are not read, only the items of their indexes; leaves of
 * the TID tree and of the row tree are.  On a table that changes meanwhile the picture is no
 * snapshot.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_map.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "inspect_internal.h"
#include "inspect_svg.h"
#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_page.h"

PG_FUNCTION_INFO_V1(zs_map);

#define CELLS_PER_ROW	96
#define MAX_CELLS		(CELLS_PER_ROW * 48)
#define CELL			8		/* pixels, the gap included */
#define LEGEND_LINE		16
#define MAX_LEGEND		24		/* trees that the legend names */
#define MARGIN			10
#define TOP				34

/* what a cell shows beside the number of a tree */
#define CELL_UNKNOWN	(-1)
#define CELL_FREE		(-2)

#define COLOR_UNKNOWN	"#b9a58a"
#define COLOR_FREE		"#e8e8e8"

/* A line of the legend. */
typedef struct TreeTotal
{
	int			treeno;
	uint64		nblocks;
	uint64		nlinks;			/* from a page to the next one in key order */
	uint64		nadjacent;		/* of these, to the next block */
} TreeTotal;

typedef struct Map
{
	Relation	rel;
	BlockNumber file_blocks;
	uint32		cell_blocks;	/* blocks for each cell */
	int			ncells;
	uint32	   *counts;			/* of the present tree, by cell */
	uint32	   *most;			/* blocks that what the cell shows has there */
	int16	   *shown;			/* a tree, or one of CELL_... */
	uint64		nfree;
	uint64		ncovered;		/* blocks of trees and free ones */
	uint64		nextents;		/* free extents of the present tree */

	TreeTotal	total;			/* of the present tree */
	BlockNumber previous;		/* its page before in key order */
	int			level;			/* the level that is walked */

	TreeTotal	legend[MAX_LEGEND];
	int			nlegend;
	int			nothers;		/* trees that the legend leaves out */
} Map;

/* ---- what belongs to whom ------------------------------------------------------------- */

/* Counts blocks in the cells; a damaged page may name blocks that the file does not have. */
static void
count_blocks(Map *map, BlockNumber start, uint64 length)
{
	uint64		end = Min((uint64) start + length, (uint64) map->file_blocks);

	for (uint64 block = start; block < end;)
	{
		uint64		cell = block / map->cell_blocks;
		uint64		next = Min(end, (cell + 1) * map->cell_blocks);

		Assert(cell < (uint64) map->ncells);
		map->counts[cell] += (uint32) (next - block);
		map->ncovered += next - block;
		block = next;
	}
}

/* A run of pages that follow the ones before in key order. */
static void
add_run(Map *map, BlockNumber start, uint32 nblocks)
{
	if (map->previous != InvalidBlockNumber)
	{
		map->total.nlinks++;
		if (start == map->previous + 1)
			map->total.nadjacent++;
	}
	map->total.nblocks += nblocks;
	map->total.nlinks += nblocks - 1;
	map->total.nadjacent += nblocks - 1;
	map->previous = start + nblocks - 1;
	count_blocks(map, start, nblocks);
}

/* Callback of zsbtree_visit_pages(). */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	Map		   *map = arg;
	const ZsPageOpaque *opaque = ZsPageGetOpaque(copy);
	const ZsSegmentItem *items;
	const char *reason;
	int			nitems;

	CHECK_FOR_INTERRUPTS();
	if (opaque->page_type != ZS_PAGE_SEGMENT_INDEX)
	{
		if (opaque->level != map->level)
			map->previous = InvalidBlockNumber;
		map->level = opaque->level;
		add_run(map, blkno, 1);
		return;
	}

	reason = zsattr_index_page_check(copy);
	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.",
						 ZsAttrOfTree(map->total.treeno), reason);
	map->total.nblocks++;
	count_blocks(map, blkno, 1);
	if (opaque->level != map->level)
		map->previous = InvalidBlockNumber;
	map->level = opaque->level;
	items = zsattr_index_items(copy);
	nitems = zsattr_index_count(copy);
	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (items[i].nblocks > 0)
			add_run(map, items[i].start, items[i].nblocks);
	}
}

/* Callback of zspage_fpm_visit(). */
static void
visit_extent(uint16 treeno, ZsExtent extent, void *arg)
{
	Map		   *map = arg;

	CHECK_FOR_INTERRUPTS();
	zsinspect_count_extent(map->rel, treeno, extent, &map->nextents);
	count_blocks(map, extent.start, extent.length);
}

/* Cells of which the blocks that were counted last are the largest part show what these are. */
static void
settle_cells(Map *map, int what)
{
	for (int i = 0; i < map->ncells; i++)
	{
		if (map->counts[i] > map->most[i])
		{
			map->most[i] = map->counts[i];
			map->shown[i] = (int16) what;
		}
		map->counts[i] = 0;
	}
}

/* The legend has the largest trees, in falling order. */
static void
add_to_legend(Map *map)
{
	int			place = map->nlegend;

	if (map->total.nblocks == 0)
		return;
	while (place > 0 && map->legend[place - 1].nblocks < map->total.nblocks)
		place--;
	if (map->nlegend == MAX_LEGEND)
		map->nothers++;
	else
		map->nlegend++;
	if (place == MAX_LEGEND)
		return;
	memmove(&map->legend[place + 1], &map->legend[place],
			(map->nlegend - 1 - place) * sizeof(TreeTotal));
	map->legend[place] = map->total;
}

static void
collect_tree(Map *map, int treeno)
{
	memset(&map->total, 0, sizeof(map->total));
	map->total.treeno = treeno;
	map->previous = InvalidBlockNumber;
	map->level = -1;
	zsbtree_visit_pages(map->rel, (uint16) treeno, visit_page, map);
	settle_cells(map, treeno);
	add_to_legend(map);
}

/* Free blocks of all trees, and the table's own. */
static void
collect_free(Map *map)
{
	ZsMetaPageData meta;
	ZsTreeEntry *entries;
	uint64		covered = map->ncovered;

	zspage_meta_read(map->rel, &meta);
	entries = zsinspect_tree_entries(map->rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		map->nextents = 0;
		if (entries[treeno].nfree > 0 || entries[treeno].chain != 0)
			zspage_fpm_visit(map->rel, (uint16) treeno, visit_extent, map);
	}
	pfree(entries);
	map->nfree = map->ncovered - covered;
	settle_cells(map, CELL_FREE);
}

/* What is left in each cell is of none of these. */
static void
collect_unknown(Map *map)
{
	for (int i = 0; i < map->ncells; i++)
	{
		if (map->most[i] == 0)
			map->shown[i] = CELL_UNKNOWN;
	}
}

/* ---- the picture ------------------------------------------------------------------------ */

static const char *
color_of(int what)
{
	static const char *const columns[] = {
		"#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#bcbd22", "#3b5998", "#66a61e",
		"#7570b3", "#a6761d", "#1b9e77", "#6a9fd4", "#4d8b31", "#b07aa1", "#5f7f9f", "#9c9ede"
	};

	switch (what)
	{
		case CELL_UNKNOWN:
			return COLOR_UNKNOWN;
		case CELL_FREE:
			return COLOR_FREE;
		case ZS_TREE_TID:
			return "#222222";
		case ZS_TREE_ROW:
			return "#d62728";
		default:
			return columns[what % lengthof(columns)];
	}
}

/* The name of what a cell shows. */
static char *
name_of(Relation rel, int treeno)
{
	bool		isnull;
	Datum		attname;

	if (treeno == ZS_TREE_TID)
		return pstrdup("TID tree");
	if (treeno == ZS_TREE_ROW)
		return pstrdup("row tree");
	attname = zsinspect_attname(rel, ZsAttrOfTree(treeno), &isnull);
	return isnull ? psprintf("tree %d", treeno) : TextDatumGetCString(attname);
}

/* The cells, neighbours that show the same in one piece. */
static void
draw_cells(const Map *map, StringInfo svg)
{
	for (int i = 0; i < map->ncells;)
	{
		int			first = i;
		int			row = i / CELLS_PER_ROW;

		while (i < map->ncells && i / CELLS_PER_ROW == row && map->shown[i] == map->shown[first])
			i++;
		zsinspect_svg_rect(svg, MARGIN + (first % CELLS_PER_ROW) * CELL, TOP + row * CELL,
						   (i - first) * CELL, CELL - 1,
						   color_of(map->shown[first]));
	}
}

/* A line of the legend. */
static void
draw_line(StringInfo svg, int *y, const char *color, const char *words)
{
	zsinspect_svg_rect(svg, MARGIN, *y - 10, 11, 11, color);
	zsinspect_svg_text(svg, MARGIN + 18, *y, words);
	*y += LEGEND_LINE;
}

static void
draw_legend(const Map *map, StringInfo svg, int y)
{
	uint64		nothers = map->file_blocks - Min((uint64) map->file_blocks, map->ncovered);

	for (int i = 0; i < map->nlegend; i++)
	{
		const TreeTotal *total = &map->legend[i];
		char	   *name = name_of(map->rel, total->treeno);
		char	   *words;

		words = psprintf("%s: " UINT64_FORMAT " blocks", name, total->nblocks);
		if (total->nlinks > 0)
			words = psprintf("%s, %.1f %% of its pages side by side", words,
							 100.0 * total->nadjacent / total->nlinks);
		draw_line(svg, &y, color_of(total->treeno), words);
	}
	if (map->nothers > 0)
	{
		zsinspect_svg_text(svg, MARGIN + 18, y, psprintf("and %d smaller trees", map->nothers));
		y += LEGEND_LINE;
	}
	draw_line(svg, &y, COLOR_FREE, psprintf("free: " UINT64_FORMAT " blocks", map->nfree));
	draw_line(svg, &y, COLOR_UNKNOWN,
			  psprintf("large values, maps and directory: " UINT64_FORMAT " blocks", nothers));
}

static text *
draw(const Map *map)
{
	StringInfoData svg;
	int			nrows = (map->ncells + CELLS_PER_ROW - 1) / CELLS_PER_ROW;
	int			legend = TOP + nrows * CELL + 24;

	zsinspect_svg_begin(&svg, 2 * MARGIN + CELLS_PER_ROW * CELL,
						legend + (map->nlegend + 3) * LEGEND_LINE,
						psprintf("%s: %u blocks, %u for each cell",
								 RelationGetRelationName(map->rel), map->file_blocks,
								 map->cell_blocks));
	draw_cells(map, &svg);
	draw_legend(map, &svg, legend);
	zsinspect_svg_end(&svg);
	return cstring_to_text_with_len(svg.data, svg.len);
}

/*
 * zs_map(regclass): see docs/inspection.md.  Takes a share lock on one page at a time.  Errors: as
 * zsinspect_open(); ERRCODE_DATA_CORRUPTED.
 */
Datum
zs_map(PG_FUNCTION_ARGS)
{
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	Map			map = {.rel = rel};
	int			last = ZsTreeOfAttr(RelationGetNumberOfAttributes(rel));
	text	   *result;

	map.file_blocks = zspage_physical_blocks(rel);
	map.cell_blocks = map.file_blocks / MAX_CELLS + 1;
	map.ncells = (map.file_blocks + map.cell_blocks - 1) / map.cell_blocks;
	map.counts = palloc0_array(uint32, MAX_CELLS);
	map.most = palloc0_array(uint32, MAX_CELLS);
	map.shown = palloc0_array(int16, MAX_CELLS);
	for (int treeno = ZS_TREE_TID; treeno <= last; treeno++)
		collect_tree(&map, treeno);
	collect_tree(&map, ZS_TREE_XMIN);
	collect_free(&map);
	collect_unknown(&map);

	result = draw(&map);
	relation_close(rel, AccessShareLock);
	PG_RETURN_TEXT_P(result);
}
