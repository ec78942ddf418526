/*-------------------------------------------------------------------------
 *
 * vacuum_trees.c
 *	  VACUUM: merging pages that have become empty or nearly so.
 *
 * The pages above the bottom tell which pages are neighbours, so only these
 * are read, and only bottom pages around rows that this VACUUM touched: leaves
 * of the TID tree that it looked at and found room on, leaves of the row tree
 * that rows were taken from (all of them if they are few).  Index pages of
 * attributes are few; they are looked at when segments left.  An aggressive
 * VACUUM looks at all.
 *
 * When bottom pages were merged, the levels above are gone through too, from
 * below; and when parents were merged, their children once more.
 *
 * Locks and WAL: those of zsbtree_merge_right().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_trees.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/lmgr.h"

#include "vacuum_internal.h"
#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"

/* Ranges that are remembered; with more, all rows count as touched. */
#define MAX_RANGES		65536

/*
 * A row tree of at most so many pages is gone through in any case: nothing tells of leaves that
 * lost their rows to a VACUUM that did not come to its end.
 */
#define SMALL_ROW_TREE	2048

/* ---- touched rows ------------------------------------------------------------- */

static int
compare_ranges(const void *a, const void *b)
{
	zstid		x = ((const ZsRowRange *) a)->first;
	zstid		y = ((const ZsRowRange *) b)->first;

	return x < y ? -1 : x > y;
}

/* Sorts the ranges and joins those that overlap or touch. */
static void
sort_ranges(ZsTouched *touched)
{
	int			n = 0;

	if (touched->sorted || touched->nranges == 0)
		return;
	qsort(touched->ranges, touched->nranges, sizeof(ZsRowRange), compare_ranges);
	for (int i = 1; i < touched->nranges; i++)
	{
		Assert(touched->ranges[i].first < touched->ranges[i].end);
		if (touched->ranges[i].first <= touched->ranges[n].end)
			touched->ranges[n].end = Max(touched->ranges[n].end, touched->ranges[i].end);
		else
			touched->ranges[++n] = touched->ranges[i];
	}
	touched->nranges = n + 1;
	touched->sorted = true;
}

/* Adds rows [first, end), in any order; memory comes from the current context. */
void
zsvacuum_touch(ZsTouched *touched, zstid first, zstid end)
{
	ZsRowRange *last = touched->nranges > 0 ? &touched->ranges[touched->nranges - 1] : NULL;

	Assert(first < end);
	if (touched->everything)
		return;
	if (last != NULL && first >= last->first && first <= last->end)
	{
		last->end = Max(last->end, end);
		return;
	}
	if (touched->nranges == touched->maxranges)
	{
		if (touched->maxranges == 0)
		{
			touched->maxranges = 64;
			touched->ranges = palloc_array(ZsRowRange, touched->maxranges);
		}
		else if (touched->maxranges < MAX_RANGES)
		{
			touched->maxranges *= 2;
			touched->ranges = repalloc_array(touched->ranges, ZsRowRange, touched->maxranges);
		}
		else
		{
			sort_ranges(touched);
			if (touched->nranges > MAX_RANGES / 2)
			{
				touched->everything = true;
				return;
			}
		}
	}
	touched->ranges[touched->nranges].first = first;
	touched->ranges[touched->nranges++].end = end;
	touched->sorted = false;
}

/*
 * First touched row at or behind row, ZS_INVALID_ROW if there is none.
 */
static zstid
next_touched(const ZsTouched *touched, zstid row)
{
	int			low = 0;
	int			high = touched->nranges;

	if (touched->everything)
		return row;
	Assert(touched->sorted || touched->nranges == 0);
	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (touched->ranges[mid].end <= row)
			low = mid + 1;
		else
			high = mid;
	}
	return low == touched->nranges ? ZS_INVALID_ROW : Max(touched->ranges[low].first, row);
}

/* ---- merging --------------------------------------------------------------------- */

/*
 * Merges the pages below one parent, of which this is a copy.
 */
static uint64
merge_children(Relation rel, uint16 treeno, int level, Page parent, const ZsTouched *touched,
			   ZsMergeFunc fn)
{
	const ZsInnerItem *items = zsbtree_items(parent);
	int			nitems = zsbtree_nitems(parent);
	uint64		hikey = ZsPageGetOpaque(parent)->hikey;
	uint64		nmerged = 0;

	Assert(ZsPageGetOpaque(parent)->level == level + 1);
	for (int i = 0; i < nitems - 1;)
	{
		int			k = i + 1;

		/* pages i to k - 1 are one; has it or the next one been touched? */
		while (k < nitems &&
			   next_touched(touched, items[i].lokey) < (k + 1 < nitems ? items[k + 1].lokey :
														hikey))
		{
			uint64		end;

			vacuum_delay_point_compat();
			if (!zsbtree_merge_right(rel, treeno, level, items[i].lokey, fn, &end))
				break;
			nmerged++;
			k++;
		}
		i = k;
	}
	return nmerged;
}

/* Merges pages of one level; returns how many pages went away. */
static uint64
merge_level(Relation rel, uint16 treeno, int level, const ZsTouched *touched, ZsMergeFunc fn)
{
	ZsLevelWalk parents;
	uint64		nmerged = 0;

	zsbtree_walk_begin(&parents, rel, treeno, level + 1, 0);
	while ((parents.key = next_touched(touched, parents.key)) != ZS_INVALID_ROW &&
		   zsbtree_walk_next(&parents))
	{
		CHECK_FOR_INTERRUPTS();
		nmerged += merge_children(rel, treeno, level, parents.page.data, touched, fn);
	}
	return nmerged;
}

/* Merges pages of a tree, and their parents; returns how many pages went away. */
static uint64
merge_tree(Relation rel, uint16 treeno, ZsTouched *touched, ZsMergeFunc fn)
{
	ZsTouched	all = {.everything = true};
	int			bottom = zsbtree_bottom_level(treeno);
	int			root = zsbtree_root_level(rel, treeno);
	uint64		nmerged = 0;
	uint64		nparents;

	sort_ranges(touched);
	do
	{
		uint64		n = bottom < root ? merge_level(rel, treeno, bottom, touched, fn) : 0;

		/* parents lost items only if children were merged */
		nmerged += n;
		nparents = 0;
		for (int level = bottom + 1; level < root && (n > 0 || touched->everything); level++)
			nparents += merge_level(rel, treeno, level, &all, NULL);

		/* children of two parents may be neighbours under one now */
		nmerged += nparents;
	} while (nparents > 0);
	return nmerged;
}

/* Merges pages of all trees with their right neighbours where that pays. */
void
zsvacuum_merge_pages(ZsReclaim *reclaim)
{
	Relation	rel = reclaim->rel;
	ZsTouched	all = {.everything = true};
	ZsTreeEntry rows;

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	zspage_tree_entry(rel, ZS_TREE_ROW, &rows);
	reclaim->pages_merged +=
		merge_tree(rel, ZS_TREE_TID, reclaim->aggressive ? &all : &reclaim->tid,
				   zstid_merge_leaves);
	reclaim->pages_merged +=
		merge_tree(rel, ZS_TREE_ROW,
				   reclaim->aggressive || rows.nblocks - rows.nfree <= SMALL_ROW_TREE ?
				   &all : &reclaim->row, zsrow_merge_leaves);
	if (!reclaim->attributes && !reclaim->aggressive)
		return;
	for (int attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
		reclaim->pages_merged += merge_tree(rel, ZsTreeOfAttr(attno), &all,
											zsattr_merge_index_pages);
	reclaim->pages_merged += merge_tree(rel, ZS_TREE_XMIN, &all, zsattr_merge_index_pages);
}
