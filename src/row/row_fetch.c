/*-------------------------------------------------------------------------
 *
 * row_fetch.c
 *	  Rows out of the row tree.
 *
 * Rows are copied under the leaf's share lock and looked at afterwards.
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

/* See zs_row.h. */
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

/* An empty batch in the current context. */
ZsRowBatch *
zsrow_batch_create(MemoryContext context)
{
	ZsRowBatch *batch = MemoryContextAllocZero(context, sizeof(ZsRowBatch));

	batch->context = context;
	return batch;
}

/* Gives back the batch and the rows in it. */
void
zsrow_batch_free(ZsRowBatch *batch)
{
	if (batch->items != NULL)
		pfree(batch->items);
	if (batch->arena != NULL)
		pfree(batch->arena);
	pfree(batch);
}

/* Makes room for nitems more items of size bytes in all; items may move. */
static void
reserve_batch(ZsRowBatch *batch, int nitems, Size size)
{
	if (batch->nitems + nitems > batch->maxitems)
	{
		int			maxitems = Max(batch->nitems + nitems, 2 * batch->maxitems);

		if (batch->items == NULL)
			batch->items = MemoryContextAllocHuge(batch->context,
												  maxitems * sizeof(MinimalTuple));
		else
			batch->items = repalloc_huge(batch->items, maxitems * sizeof(MinimalTuple));
		batch->maxitems = maxitems;
	}
	if (batch->arena_used + size > batch->arena_size)
	{
		Size		newsize = Max(Max(batch->arena_used + size, 2 * batch->arena_size),
								  FIRST_ARENA_SIZE);
		char	   *arena = MemoryContextAllocHuge(batch->context, newsize);

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
check_row(Relation rel, Buffer buf, zstid row, zstid first, zstid end)
{
	if (unlikely(row < first || row >= end))
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Row tree leaf: row " UINT64_FORMAT " is not in order.", row);
}

/* Copies the leaf's rows of [first, end) behind those in batch. */
static void
copy_rows(Relation rel, Buffer buf, zstid first, zstid end, ZsRowBatch *batch)
{
	OffsetNumber from = zsrow_leaf_search(rel, buf, first);
	OffsetNumber to = zsrow_leaf_search(rel, buf, end);

	if (from >= to)
		return;

	/* all items together take less than a block, aligned ones too */
	reserve_batch(batch, to - from, BLCKSZ);
	for (OffsetNumber offset = from; offset < to; offset++)
	{
		MinimalTuple item = zsrow_buffer_item(rel, buf, offset);
		MinimalTuple copy = (MinimalTuple) (batch->arena + batch->arena_used);

		/* items that share bytes could take more */
		if (batch->arena_used + MAXALIGN(item->t_len) > batch->arena_size)
			zsbase_corrupted(rel, BufferGetBlockNumber(buf), "Row tree leaf: items share bytes.");
		check_row(rel, buf, zsrow_item_row(item), first, end);
		first = zsrow_item_row(item) + 1;
		memcpy(copy, item, item->t_len);
		batch->items[batch->nitems++] = copy;
		batch->arena_used += MAXALIGN(item->t_len);
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
 * leaf, which then is looked for anew.
 */
int
zsrow_fetch_range_ahead(Relation rel, zstid first, zstid end, ZsRowBatch *batch,
						ZsBottomAhead *ahead)
{
	Buffer		buf;

	batch->nitems = 0;
	batch->arena_used = 0;
	if (first >= end)
		return 0;

	buf = zsbtree_search(rel, ZS_TREE_ROW, first, BUFFER_LOCK_SHARE);
	while (BufferIsValid(buf))
	{
		zstid		hikey = ZsPageGetOpaque(BufferGetPage(buf))->hikey;

		copy_rows(rel, buf, first, end, batch);
		if (hikey >= end)
		{
			UnlockReleaseBuffer(buf);
			break;
		}
		first = hikey;
		if (ahead == NULL)
			buf = zsbtree_step_right(rel, ZS_TREE_ROW, buf, first, BUFFER_LOCK_SHARE);
		else
		{
			UnlockReleaseBuffer(buf);
			zsbtree_ahead_reach(ahead, first);
			buf = zsbtree_search(rel, ZS_TREE_ROW, first, BUFFER_LOCK_SHARE);
		}
	}
	return batch->nitems;
}

/* See zs_row.h. */
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

			check_row(rel, buf, found, row, ZsPageGetOpaque(page)->hikey);
			UnlockReleaseBuffer(buf);
			return found;
		}
		row = ZsPageGetOpaque(page)->hikey;
		buf = zsbtree_step_right(rel, ZS_TREE_ROW, buf, row, BUFFER_LOCK_SHARE);
	}
	return ZS_INVALID_ROW;
}
