/*-------------------------------------------------------------------------
 *
 * row_fetch.c
 *	  Rows out of the row tree.
 *
 * A leaf is copied as a whole under its share lock, which takes less time than to copy its rows one
 * by one, and looked at afterwards.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_fetch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "row_internal.h"
#include "zs_btree.h"

#define FIRST_ARENA_SIZE	(2 * BLCKSZ)

/* Copy of one row, palloc'd in the current context, or NULL. */
MinimalTuple
zsrow_fetch(Relation rel, zstid row)
{
	Buffer		buf = zsbtree_search(rel, ZS_TREE_ROW, row, BUFFER_LOCK_SHARE);
	OffsetNumber offset;
	MinimalTuple result = NULL;

	if (!BufferIsValid(buf))
		return NULL;
	offset = zsrow_leaf_search(rel, buf, row);
	if (offset <= PageGetMaxOffsetNumber(BufferGetPage(buf)))
	{
		MinimalTuple item = zsrow_buffer_item(rel, buf, offset);

		if (zsrow_item_row(item) == row)
		{
			result = palloc(item->t_len);
			memcpy(result, item, item->t_len);
		}
	}
	UnlockReleaseBuffer(buf);
	return result;
}

/*
 * Memory of the batch that was freed last.  Scans of small tables come one after the other, and the
 * kernel would hand out and take back the pages each time.
 */
static struct
{
	MemoryContext memory;		/* NULL: there is none */
	MinimalTuple *items;
	int			maxitems;
	char	   *arena;
	Size		arena_size;
}			spare;

/* Memory up to this size is kept. */
#define MAX_SPARE_SIZE	(32 * BLCKSZ)

/* An empty batch in the context. */
ZsRowBatch *
zsrow_batch_create(MemoryContext context)
{
	ZsRowBatch *batch = MemoryContextAllocZero(context, sizeof(ZsRowBatch));

	if (spare.memory == NULL)
	{
		batch->memory = AllocSetContextCreate(context, "zedstore row batch",
											  ALLOCSET_DEFAULT_SIZES);
		return batch;
	}
	/* after an error it goes with the context */
	MemoryContextSetParent(spare.memory, context);
	batch->memory = spare.memory;
	batch->items = spare.items;
	batch->maxitems = spare.maxitems;
	batch->arena = spare.arena;
	batch->arena_size = spare.arena_size;
	spare.memory = NULL;
	return batch;
}

/* Gives back the batch and the rows in it. */
void
zsrow_batch_free(ZsRowBatch *batch)
{
#ifdef USE_ASSERT_CHECKING
	if (batch->arena != NULL)
		memset(batch->arena, 0x7F, batch->arena_size);
#endif
	if (spare.memory == NULL && batch->arena != NULL && batch->arena_size <= MAX_SPARE_SIZE)
	{
		MemoryContextSetParent(batch->memory, TopMemoryContext);
		spare.items = batch->items;
		spare.maxitems = batch->maxitems;
		spare.arena = batch->arena;
		spare.arena_size = batch->arena_size;
		spare.memory = batch->memory;
	}
	else
		MemoryContextDelete(batch->memory);
	pfree(batch);
}

/* Makes room for nitems more items, and for one more page; items may move. */
static void
reserve_batch(ZsRowBatch *batch, int nitems)
{
	if (batch->nitems + nitems > batch->maxitems)
	{
		int			maxitems = Max(batch->nitems + nitems, 2 * batch->maxitems);

		if (batch->items == NULL)
			batch->items = MemoryContextAllocHuge(batch->memory,
												  maxitems * sizeof(MinimalTuple));
		else
			batch->items = repalloc_huge(batch->items, maxitems * sizeof(MinimalTuple));
		batch->maxitems = maxitems;
	}
	if (batch->arena_used + BLCKSZ > batch->arena_size)
	{
		Size		newsize = Max(2 * batch->arena_size, FIRST_ARENA_SIZE);
		char	   *arena = MemoryContextAllocHuge(batch->memory, newsize);

		if (batch->arena != NULL)
		{
			memcpy(arena, batch->arena, batch->arena_used);
			for (int i = 0; i < batch->nitems; i++)
				batch->items[i] = (MinimalTuple)
					(arena + ((char *) batch->items[i] - batch->arena));
			pfree(batch->arena);
		}
		batch->arena = arena;
		batch->arena_size = newsize;
	}
}

/* Errors unless an item's row lies where a search in the leaf has found it, in [first, end). */
static inline void
check_row(Relation rel, BlockNumber blkno, zstid row, zstid first, zstid end)
{
	if (unlikely(row < first || row >= end))
		zsbase_corrupted(rel, blkno, "Row tree leaf: row " UINT64_FORMAT " is not in order.", row);
}

/*
 * Adds the leaf's rows of [first, end) to those in batch, if there are any.  The leaf is locked.
 */
static void
copy_rows(Relation rel, Buffer buf, zstid first, zstid end, ZsRowBatch *batch)
{
	BlockNumber blkno = BufferGetBlockNumber(buf);
	OffsetNumber from = zsrow_leaf_search(rel, buf, first);
	PageHeader	header = (PageHeader) BufferGetPage(buf);
	OffsetNumber to = end >= ZsPageGetOpaque((Page) header)->hikey ?
		PageGetMaxOffsetNumber((Page) header) + 1 : zsrow_leaf_search(rel, buf, end);
	char	   *copy;

	if (from >= to)
		return;
	reserve_batch(batch, to - from);
	copy = batch->arena + batch->arena_used;
	batch->arena_used += BLCKSZ;

	/* the hole needs no copying */
	memcpy(copy, header, header->pd_lower);
	memcpy(copy + header->pd_upper, (char *) header + header->pd_upper,
		   header->pd_special - header->pd_upper);
	for (OffsetNumber offset = from; offset < to; offset++)
	{
		MinimalTuple item = zsrow_leaf_item((Page) copy, offset);

		if (unlikely(item == NULL))
			zsbase_corrupted(rel, blkno, "Row tree leaf: item %u has broken bounds.", offset);
		check_row(rel, blkno, zsrow_item_row(item), first, end);
		first = zsrow_item_row(item) + 1;
		batch->items[batch->nitems++] = item;
	}
}

/*
 * Copies the rows of [first, end), in place of those that are in the batch.  One leaf is locked
 * (shared) at a time; the caller holds no lock of the row tree.
 */
int
zsrow_fetch_range(Relation rel, zstid first, zstid end, ZsRowBatch *batch)
{
	return zsrow_fetch_range_ahead(rel, first, end, batch, NULL);
}

/*
 * The same; ahead (may be NULL) is over the row tree, and has come to first.  It is told of each
 * leaf.
 */
int
zsrow_fetch_range_ahead(Relation rel, zstid first, zstid end, ZsRowBatch *batch,
						ZsBottomAhead *ahead)
{
	BlockNumber near = first == batch->near_row ? batch->near : 0;

	batch->nitems = 0;
	batch->arena_used = 0;
	batch->near = 0;
	while (first < end)
	{
		Buffer		buf;
		const ZsPageOpaque *opaque;
		zstid		hikey;

		CHECK_FOR_INTERRUPTS();
		buf = zsbtree_search_near(rel, ZS_TREE_ROW, near, first, BUFFER_LOCK_SHARE);
		if (!BufferIsValid(buf))
			break;
		copy_rows(rel, buf, first, end, batch);
		opaque = ZsPageGetOpaque(BufferGetPage(buf));
		hikey = opaque->hikey;
		near = hikey > end ? BufferGetBlockNumber(buf) : opaque->right;
		UnlockReleaseBuffer(buf);
		if (hikey >= end)
		{
			batch->near_row = end;
			batch->near = near;
			break;
		}
		if (near == 0)
			break;
		first = hikey;
		if (ahead != NULL)
			zsbtree_ahead_reach(ahead, first);
	}
	return batch->nitems;
}

/* Smallest row number >= row in the row tree, ZS_INVALID_ROW if none. */
zstid
zsrow_next(Relation rel, zstid row)
{
	Buffer		buf = zsbtree_search(rel, ZS_TREE_ROW, row, BUFFER_LOCK_SHARE);

	while (BufferIsValid(buf))
	{
		Page		page = BufferGetPage(buf);
		OffsetNumber offset = zsrow_leaf_search(rel, buf, row);

		if (offset <= PageGetMaxOffsetNumber(page))
		{
			zstid		found = zsrow_item_row(zsrow_buffer_item(rel, buf, offset));

			check_row(rel, BufferGetBlockNumber(buf), found, row, ZsPageGetOpaque(page)->hikey);
			UnlockReleaseBuffer(buf);
			return found;
		}
		row = ZsPageGetOpaque(page)->hikey;
		buf = zsbtree_step_right(rel, ZS_TREE_ROW, buf, row, BUFFER_LOCK_SHARE);
	}
	return ZS_INVALID_ROW;
}
