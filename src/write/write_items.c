/*-------------------------------------------------------------------------
 *
 * write_items.c
 *	  The row part of a write buffer: items for the row tree.
 *
 * An item is a minimal tuple of at most ZS_ROW_MAX_ITEM bytes.  What is larger
 * leaves its largest values on overflow pages, if the caller allows that.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_items.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_tid.h"

/* The row numbers of items. */
typedef struct ItemSetEntry
{
	zstid		row;			/* hash key */
	char		status;			/* simplehash's */
} ItemSetEntry;

#define SH_PREFIX		item_set
#define SH_ELEMENT_TYPE	ItemSetEntry
#define SH_KEY_TYPE		zstid
#define SH_KEY			row
#define SH_HASH_KEY(tb, key)	((uint32) murmurhash64(key))
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct ZsItemSet
{
	item_set_hash *hash;
	Size		size;			/* memory that is accounted for */
};

/*
 * Is the buffered row one that the transaction may still commit?  Frozen rows are, but only those
 * that were reserved as such: VACUUM may have given the row number of a rolled-back one to others,
 * and frozen theirs.  VACUUM FULL, which writes frozen rows only, has changed their slots since.
 */
bool
zswrite_row_may_live(Relation rel, const ZsWriteBuffer *buf, zstid row)
{
	ZsVisSlot	vis;

	if (!zstid_lookup(rel, row, &vis, NULL))
		return false;
	if (vis.xmin == FrozenTransactionId && row >= buf->frozen_first && row < buf->frozen_end)
		return true;
	return buf->xid == FrozenTransactionId || TransactionIdIsCurrentTransactionId(vis.xmin);
}

/* Frees an item that leaves the row part. */
static void
free_item(ZsWriteBuffer *buf, MinimalTuple item)
{
	zswrite_account(buf, -(int64) item->t_len);
	pfree(item);
}

/*
 * Appends an item, palloc'd in the buffer's context, to the row part, as row
 * number row.  The part owns it from now on.
 */
void
zswrite_append_item(ZsWriteBuffer *buf, zstid row, MinimalTuple item)
{
	if (buf->nitems == buf->maxitems)
	{
		int			n = Max(8, buf->maxitems * 2);

		buf->items = zswrite_grow(buf, buf->items, buf->maxitems * sizeof(MinimalTuple),
						  n * sizeof(MinimalTuple));
		buf->maxitems = n;
	}
	Assert(row < ZS_MAX_ROW && item->t_len <= ZS_ROW_MAX_ITEM);
	zsrow_item_set_row(item, row);
	zswrite_account(buf, item->t_len);
	buf->items[buf->nitems++] = item;
}

/* Accounts for the memory of the set, which has grown or goes. */
static void
account_set(ZsWriteBuffer *buf, Size size)
{
	zswrite_account(buf, (int64) size - (int64) buf->item_set->size);
	buf->item_set->size = size;
}

/* The items are about to change their order or to go: none is in the set any more. */
static void
forget_set(ZsWriteBuffer *buf)
{
	buf->nset = 0;
	if (buf->item_set == NULL)
		return;
	account_set(buf, 0);
	if (buf->item_set->hash != NULL)
		item_set_destroy(buf->item_set->hash);
	pfree(buf->item_set);
	buf->item_set = NULL;
}

/*
 * May the row part have an item for the row?  A yes can be wrong for one that was taken away
 * again.
 *
 * An UPDATE asks for each row that it reads, while its new versions pile up here.  So the row
 * numbers are in a hash table, but only from when somebody asks: most parts are not asked about.
 */
bool
zswrite_has_item(ZsWriteBuffer *buf, zstid row)
{
	item_set_hash *hash;

	if (buf->nitems == 0)
		return false;
	if (buf->item_set == NULL)
	{
		Assert(buf->nset == 0);
		buf->item_set = MemoryContextAllocZero(buf->context, sizeof(struct ZsItemSet));
	}
	if (buf->item_set->hash == NULL)
		buf->item_set->hash = item_set_create(buf->context, Max(buf->nitems, 64), NULL);
	hash = buf->item_set->hash;
	while (buf->nset < buf->nitems)
	{
		bool		found;

		CHECK_FOR_INTERRUPTS();
		(void) item_set_insert(hash, zsrow_item_row(buf->items[buf->nset]), &found);
		buf->nset++;
	}
	account_set(buf, hash->size * sizeof(ItemSetEntry));
	return item_set_lookup(hash, row) != NULL;
}

/* Takes the last items of the row part away again and frees them; nitems stay. */
void
zswrite_items_drop_last(ZsWriteBuffer *buf, int nitems)
{
	Assert(nitems >= buf->nwritten && nitems <= buf->nitems);
	while (buf->nitems > nitems)
		free_item(buf, buf->items[--buf->nitems]);
	buf->nset = Min(buf->nset, nitems);
}

static int
compare_items(const void *a, const void *b)
{
	zstid		ra = zsrow_item_row(*(MinimalTuple const *) a);
	zstid		rb = zsrow_item_row(*(MinimalTuple const *) b);

	return ra < rb ? -1 : ra > rb;
}

/* Each row is there once. */
static void
check_order(const ZsWriteBuffer *buf)
{
#ifdef USE_ASSERT_CHECKING
	for (int i = 1; i < buf->nitems; i++)
		Assert(zsrow_item_row(buf->items[i - 1]) < zsrow_item_row(buf->items[i]));
#endif
}

/*
 * Drops the rows of subtransactions that were rolled back.  VACUUM may have taken their row numbers
 * already, and given them to others; those of our own live rows it leaves alone.
 */
static void
drop_aborted_items(Relation rel, ZsWriteBuffer *buf)
{
	bool	   *live = palloc_array(bool, Max(buf->nitems, 1));
	int			kept = 0;

	Assert(buf->nset == 0);

	/*
	 * an error here may be caught by a savepoint, and all this be done again: nothing is changed
	 * before all are judged
	 */
	for (int i = 0; i < buf->nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		live[i] = zswrite_row_may_live(rel, buf, zsrow_item_row(buf->items[i]));
		if (!live[i])
			ZS_INJECTION_POINT("zs-write-judge");
	}
	for (int i = 0; i < buf->nitems; i++)
	{
		if (live[i])
			buf->items[kept++] = buf->items[i];
		else
			free_item(buf, buf->items[i]);
	}
	buf->nitems = kept;
	pfree(live);
}

/* Frees the first n items. */
static void
drop_items(ZsWriteBuffer *buf, int n)
{
	Assert(n >= 0 && n <= buf->nitems);
	for (int i = 0; i < n; i++)
		free_item(buf, buf->items[i]);
	buf->nitems -= n;
	if (buf->nitems > 0)
		memmove(buf->items, buf->items + n, buf->nitems * sizeof(MinimalTuple));
}

/* Drops the items that are in the row tree. */
static void
drop_written_items(ZsWriteBuffer *buf)
{
	int			n = buf->nwritten;

	buf->nwritten = 0;
	drop_items(buf, n);
}

/*
 * Writes the row part to the row tree, without rows of subtransactions that
 * were rolled back.  After an error that a savepoint catches it can be called
 * again: it goes on behind the items that are in the tree.
 */
void
zswrite_write_items(Relation rel, ZsWriteBuffer *buf)
{
	forget_set(buf);
	drop_written_items(buf);
	if (buf->any_aborted)
		drop_aborted_items(rel, buf);
	if (buf->nitems == 0)
	{
		buf->nkept = 0;
		return;
	}

	/* stripes of the cursor ascend in time, but not always */
	qsort(buf->items, buf->nitems, sizeof(MinimalTuple), compare_items);
	check_order(buf);
	zswrite_keep_share_buffered(rel, buf);
	zsrow_insert(rel, buf->items, buf->nitems, &buf->nwritten);
	drop_written_items(buf);
}
