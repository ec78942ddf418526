/*-------------------------------------------------------------------------
 *
 * vacuum_search_value.c
 *	  The search for blocks that overflow values have.
 *
 * All pointers to values are followed: those in rows of the row tree, and those in segments.  Each
 * leads to a chain of runs of pages, which say whose they are by a stamp and a position.
 *
 * A pointer may stand in a row that is gone, and its pages may be something else by now; then their
 * stamps differ, and they are not counted.
 *
 * Locks: one page at a time, shared.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_search_value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"

#include "vacuum_compact.h"
#include "vacuum_search.h"
#include "zs_btree.h"

/* Rows of the row tree that are looked at together. */
#define ROW_BATCH			4096

/* May values of this tree's attribute lie on overflow pages? */
bool
zsvacuum_search_has_values(Relation rel, uint16 treeno)
{
	int			attno = ZsAttrOfTree(treeno);

	return attno >= 1 && attno <= RelationGetNumberOfAttributes(rel) &&
		TupleDescAttr(RelationGetDescr(rel), attno - 1)->attlen == -1;
}

/*
 * Does the block hold this page of the value?  *right is where the next one is.
 */
static bool
is_page_of_value(ZsLeakSearch *search, uint16 treeno, BlockNumber blkno, uint32 stamp,
				 uint32 position, BlockNumber *right)
{
	Buffer		buf;
	bool		result = false;

	if (blkno == ZS_META_BLKNO || blkno >= zspage_physical_blocks(search->rel))
		return false;
	buf = zspage_read(search->rel, blkno, search->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (zspage_verify(BufferGetPage(buf), ZS_PAGE_OVERFLOW, treeno, NULL) == ZS_PAGE_OK)
	{
		const ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

		result = opaque->stamp == stamp && opaque->position == position;
		*right = opaque->right;
	}
	UnlockReleaseBuffer(buf);
	return result;
}

/*
 * Pages of a value. The pointer may stand in a row that is gone, and its pages may be
 * something else by now.
 */
static void
see_value(ZsLeakSearch *search, uint16 treeno, const ZsOverflowPointer *pointer)
{
	uint32		stored = pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		nblocks = (stored + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY;
	BlockNumber start = pointer->start;

	Assert(ZsAttrOfTree(treeno) >= 1);
	for (uint32 position = 0; position < nblocks;)
	{
		uint32		n = Min(nblocks - position, ZS_OVERFLOW_RUN_BLOCKS);
		BlockNumber right;

		CHECK_FOR_INTERRUPTS();
		if (!is_page_of_value(search, treeno, start, pointer->stamp, position, &right) ||
			!is_page_of_value(search, treeno, start + n - 1, pointer->stamp, position + n - 1,
							  &right))
			return;
		/* a block, or a tree, that came after the maps were read is not counted there either */
		if (start + n <= search->nblocks)
			zsvacuum_search_see(search, treeno, start, n, true);
		position += n;
		start = right;
	}
}

/* ZsItemPointerVisitor */
static void
see_item_value(AttrNumber attno, const ZsOverflowPointer *pointer, void *arg)
{
	see_value(arg, ZsTreeOfAttr(attno), pointer);
}

/*
 * Values of the rows in the row tree; false if there may be others, of dead rows with other
 * attributes.
 */
static bool
see_row_values(ZsLeakSearch *search)
{
	Relation	rel = search->rel;
	ZsRowBatch *batch = zsrow_batch_create(CurrentMemoryContext);
	bool		complete = true;

	for (zstid row = zsrow_next(rel, 0); row != ZS_INVALID_ROW;
		 row = zsrow_next(rel, row + ROW_BATCH))
	{
		vacuum_delay_point_compat();
		zsrow_fetch_range(rel, row, row + ROW_BATCH, batch);
		for (int i = 0; i < batch->nitems; i++)
			complete &= zsvacuum_visit_item(rel, batch->items[i], see_item_value, search);
	}
	zsrow_batch_free(batch);
	return complete;
}

/* The tree whose segments are looked at. */
typedef struct ValueTree
{
	ZsLeakSearch *search;
	uint16		treeno;
} ValueTree;

/* ZsPointerVisitor */
static bool
see_segment_value(zstid row, const ZsOverflowPointer *pointer, void *arg)
{
	ValueTree  *tree = arg;

	see_value(tree->search, tree->treeno, pointer);
	return true;
}

/* Values of one tree's segments. */
static void
see_segment_values(ZsLeakSearch *search, uint16 treeno)
{
	Relation	rel = search->rel;
	ValueTree	tree = {.search = search, .treeno = treeno};
	ZsLevelWalk walk;

	zsbtree_walk_begin(&walk, rel, treeno, zsbtree_bottom_level(treeno), 0);
	while (zsbtree_walk_next(&walk))
	{
		const ZsSegmentItem *items = zsattr_index_items(walk.page.data);
		int			nitems = zsattr_index_count(walk.page.data);

		for (int i = 0; i < nitems; i++)
		{
			vacuum_delay_point_compat();
			zsattr_visit_pointers(rel, ZsAttrOfTree(treeno), &items[i], see_segment_value, &tree);
		}
	}
}

/*
 * Follows all pointers to values.  Returns false if there may be others.
 *
 * Segments tell by themselves what they hold: a dropped column has some, and so has an attribute
 * number that a transaction added and that aborted, whether or not there is another column of that
 * number today.  They go some day and free their values then, which must not be free at that time.
 */
bool
zsvacuum_search_values(ZsLeakSearch *search)
{
	for (int treeno = ZS_TREE_ROW + 1; treeno < ZS_TREE_XMIN;
		 treeno = zspage_next_tree(&search->meta, treeno))
		see_segment_values(search, (uint16) treeno);
	return see_row_values(search);
}
