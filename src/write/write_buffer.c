/*-------------------------------------------------------------------------
 *
 * write_buffer.c
 *	  The write buffers of a transaction: one for each table it inserts into.
 *
 * Rows are visible in the TID tree as soon as they have a row number; their
 * data waits here and is written when the buffer is full, before this backend
 * reads the table, and before commit or prepare.  Data first, commit last: a
 * crash leaves rows of a transaction that did not commit, with or without data.
 *
 * All buffers together stay within zedstore.write_buffer_size: when they grow
 * beyond, or the rows of a load could not become a full part within it, the
 * largest is written.
 *
 * Savepoints: rows of a rolled-back subtransaction stay in the part (nobody
 * will see them) until it is written, unless all of it is theirs; then the buffer
 * is dropped, since the table may be gone, too.  Rows of a table that a subtransaction
 * has dropped stay, since that may be rolled back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_tid.h"

bool		zswrite_committing = false;

static HTAB *buffers = NULL;	/* Oid -> ZsWriteBuffer, in TopTransactionContext */

/*
 * Those that have a context.  A transaction may have written to many tables, and it would take long
 * to look at all of them whenever a subtransaction ends.
 */
static dlist_head live_buffers = DLIST_STATIC_INIT(live_buffers);

/* Frees what the buffer holds; the hash entry stays. */
static void
discard(ZsWriteBuffer *buf)
{
	zswrite_account(buf, -(int64) buf->bytes);
	if (buf->context != NULL)
	{
		dlist_delete(&buf->live);
		MemoryContextDelete(buf->context);
	}
	buf->context = NULL;
	buf->nrows = buf->nunnumbered = 0;
	buf->nitems = buf->nwritten = 0;
	buf->item_set = NULL;
	buf->nset = 0;
	buf->nkept = 0;
	buf->links = NULL;
	buf->nlinks = 0;
	zswrite_forget_reserved(buf);
	buf->frozen_first = buf->frozen_end = 0;
	buf->nsubxacts = 0;
	buf->nlive = 0;
}

static bool
is_empty(const ZsWriteBuffer *buf)
{
	return buf->context == NULL ||
		(buf->nrows == 0 && buf->nitems == 0 && !zswrite_has_reserved(buf) &&
		 buf->frozen_end == 0);
}

/* Writes all of the buffer and frees its memory. */
static void
flush_buffer(Relation rel, ZsWriteBuffer *buf)
{
	zswrite_release_rows(rel, buf);
	zswrite_write_items(rel, buf);
	zswrite_write_columns(rel, buf, false);
	if (buf->frozen_end > buf->frozen_first)
		zstid_mark_frozen(rel, buf->frozen_first, buf->frozen_end);
	discard(buf);
}

static ZsWriteBuffer *
find_buffer(Oid relid)
{
	return buffers == NULL ? NULL : hash_search(buffers, &relid, HASH_FIND, NULL);
}

/* Does the buffer know of rows that this command wrote to the table? */
bool
zswrite_command_has_rows(Relation rel, TransactionId xid, CommandId cid)
{
	ZsWriteBuffer *buf = find_buffer(RelationGetRelid(rel));

	return buf != NULL && buf->context != NULL && buf->xid == xid && buf->cid == cid;
}

/*
 * The buffer of rel, made ready for the table's present shape.
 */
ZsWriteBuffer *
zswrite_buffer(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	ZsWriteBuffer *buf;
	bool		found;

	if (buffers == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(ZsWriteBuffer),
			.hcxt = TopTransactionContext
		};

		buffers = hash_create("zedstore write buffers", 16, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
		dlist_init(&live_buffers);
		zswrite_memory_forget();
	}
	buf = hash_search(buffers, &relid, HASH_ENTER, &found);
	if (!found)
	{
		memset((char *) buf + sizeof(Oid), 0, sizeof(ZsWriteBuffer) - sizeof(Oid));
		buf->relid = relid;
	}

	/* a column was added, or the table got a new file: what is here belongs to the old one */
	if (buf->context != NULL &&
		(buf->natts != RelationGetNumberOfAttributes(rel) ||
		 !RelFileLocatorEquals(buf->locator, rel->rd_locator)))
	{
		if (RelFileLocatorEquals(buf->locator, rel->rd_locator))
			flush_buffer(rel, buf);
		else
			discard(buf);
	}
	if (buf->context == NULL)
	{
		buf->context = AllocSetContextCreate(TopTransactionContext, "zedstore write buffer",
											 ALLOCSET_DEFAULT_SIZES);
		dlist_push_tail(&live_buffers, &buf->live);
		buf->locator = rel->rd_locator;
		zswrite_parts_init(rel, buf);
	}
	zswrite_resume_columns(rel, buf);
	return buf;
}

/*
 * Opens the table of a buffer; NULL if it is gone or has another file now.  If that is the doing of
 * a subtransaction, it may come back: see forget_gone().
 */
static Relation
open_buffer_table(ZsWriteBuffer *buf)
{
	Relation	rel = try_table_open(buf->relid, AccessShareLock);

	if (rel == NULL)
		return NULL;
	if (!RelFileLocatorEquals(buf->locator, rel->rd_locator) || !zsbase_is_zedstore(rel))
	{
		table_close(rel, AccessShareLock);
		return NULL;
	}
	return rel;
}

/*
 * The table of the buffer cannot be opened.  A DROP in a subtransaction may be rolled back, and the
 * rows are needed then; they stay in the buffer, which is written or discarded when the transaction
 * ends.
 */
static void
forget_gone(ZsWriteBuffer *buf)
{
	if (!IsSubTransaction())
		discard(buf);
}

/* The buffer that takes most memory; buf if no other takes more. */
static ZsWriteBuffer *
find_largest(ZsWriteBuffer *buf)
{
	ZsWriteBuffer *largest = buf;
	dlist_iter	iter;

	dlist_foreach(iter, &live_buffers)
	{
		ZsWriteBuffer *other = dlist_container(ZsWriteBuffer, live, iter.cur);

		if (other->bytes > largest->bytes)
			largest = other;
	}
	return largest;
}

/* Writes what is full or large, and gives the memory back. */
static void
shrink_buffer(Relation rel, ZsWriteBuffer *buf)
{
	zswrite_write_items(rel, buf);
	zswrite_write_columns(rel, buf, true);
	zswrite_trim_columns(buf);
}

/* The same for a buffer of another table than the one that is being written to. */
static void
shrink_other(ZsWriteBuffer *buf)
{
	Relation	rel = open_buffer_table(buf);

	if (rel == NULL)
	{
		forget_gone(buf);
		return;
	}
	shrink_buffer(rel, buf);
	table_close(rel, NoLock);
}

/*
 * Memory is short: writes the largest buffer, which is usually ours.
 */
void
zswrite_buffer_check_limit(Relation rel, ZsWriteBuffer *buf)
{
	ZsWriteBuffer *largest;

	if (likely(zswrite_memory_allows(0)))
		return;
	largest = find_largest(buf);
	if (largest == buf)
		shrink_buffer(rel, buf);
	else
		shrink_other(largest);
}

/*
 * The column part of buf may not grow for lack of memory.  A load into another table that is over
 * may have most of it: the largest buffer is written if that is not ours.  True if there is more
 * memory now.
 */
bool
zswrite_buffer_make_room(ZsWriteBuffer *buf)
{
	ZsWriteBuffer *largest = find_largest(buf);
	Size		before = largest->bytes;

	if (largest == buf)
		return false;
	shrink_other(largest);
	return largest->bytes < before;
}

/*
 * Writes this transaction's buffered rows of the table, and gives reserved row
 * numbers back that were not used.  Called before this backend reads the
 * table.  Cheap when there is nothing to do.
 *
 * A load whose last rows filled the part leaves a buffer without rows but with the memory of a full
 * one, of which other tables would have less.
 */
void
zswrite_flush(Relation rel)
{
	ZsWriteBuffer *buf = find_buffer(RelationGetRelid(rel));

	if (buf == NULL || buf->context == NULL ||
		!RelFileLocatorEquals(buf->locator, rel->rd_locator))
		return;
	if (!is_empty(buf))
		flush_buffer(rel, buf);
	else if (buf->columns != NULL)
		zswrite_columns_free(buf);
}

/* As zswrite_flush(), if the row is in the buffer. */
void
zswrite_flush_row(Relation rel, zstid row)
{
	ZsWriteBuffer *buf = find_buffer(RelationGetRelid(rel));

	if (buf == NULL || is_empty(buf))
		return;
	if ((row >= buf->first && row < buf->first + (buf->nrows - buf->nunnumbered)) ||
		zswrite_has_item(buf, row))
		zswrite_flush(rel);
}

/*
 * Writes the buffers of all tables: at pre-commit and pre-prepare, and before workers start.
 */
void
zswrite_flush_all(void)
{
	dlist_mutable_iter iter;

	if (buffers == NULL)
		return;
	dlist_foreach_modify(iter, &live_buffers)
	{
		ZsWriteBuffer *buf = dlist_container(ZsWriteBuffer, live, iter.cur);
		Relation	rel;

		CHECK_FOR_INTERRUPTS();
		if (is_empty(buf))
			continue;
		rel = open_buffer_table(buf);
		if (rel == NULL)
		{
			forget_gone(buf);
			continue;
		}
		flush_buffer(rel, buf);
		table_close(rel, NoLock);
	}
}

/* Ends a bulk load (finish_bulk_insert). */
void
zswrite_finish_bulk(Relation rel, uint32 options)
{
	/*
	 * Rows may stay buffered until somebody reads or the transaction ends, but not those of a
	 * table made by this transaction: its file may be about to be swapped with another table's
	 * (ALTER TABLE, REFRESH MATERIALIZED VIEW), and then nobody would find it under this OID.
	 */
	if (rel->rd_createSubid != InvalidSubTransactionId)
		zswrite_flush(rel);
}

/* ---- subtransactions --------------------------------------------------------- */

/* nrows rows more were written by the current subtransaction. */
void
zswrite_count_rows(ZsWriteBuffer *buf, int64 nrows)
{
	SubTransactionId subid = GetCurrentSubTransactionId();

	Assert(nrows > 0);
	if (buf->nsubxacts == 0 || buf->subxacts[buf->nsubxacts - 1].subid != subid)
	{
		if (buf->nsubxacts == buf->maxsubxacts || buf->subxacts == NULL)
		{
			int			n = Max(4, buf->maxsubxacts * 2);

			buf->subxacts = zswrite_grow(buf, buf->subxacts,
										 buf->maxsubxacts * sizeof(ZsSubxactRows),
										 n * sizeof(ZsSubxactRows));
			buf->maxsubxacts = n;
		}
		buf->subxacts[buf->nsubxacts].subid = subid;
		buf->subxacts[buf->nsubxacts++].nrows = 0;
	}
	buf->subxacts[buf->nsubxacts - 1].nrows += nrows;
	buf->nlive += nrows;
}

/*
 * The rows of a subtransaction that ends become its parent's, or nobody's.  Whoever has rows here
 * and runs stands in a stack, since the innermost ends first: a transaction may have any number of
 * subtransactions, and none is looked at again when it has ended.
 */
static void
pop_subxact(ZsWriteBuffer *buf, bool commit, SubTransactionId subid, SubTransactionId parent)
{
	ZsSubxactRows *top = buf->nsubxacts == 0 ? NULL : &buf->subxacts[buf->nsubxacts - 1];

	if (top == NULL || top->subid != subid)
		return;
	Assert(top->nrows <= buf->nlive);
	if (!commit)
	{
		buf->nlive -= top->nrows;
		buf->nsubxacts--;
	}
	else if (buf->nsubxacts >= 2 && top[-1].subid == parent)
	{
		top[-1].nrows += top->nrows;
		buf->nsubxacts--;
	}
	else
		top->subid = parent;
}

static void
subxact_ended(ZsWriteBuffer *buf, bool commit, SubTransactionId subid, SubTransactionId parent)
{
	Assert(buf->context != NULL);
	pop_subxact(buf, commit, subid, parent);
	if (commit)
		return;

	/* also a row that was not counted yet when an error came */
	buf->any_aborted = true;

	/*
	 * Reserved rows have our xmin; when that was the subtransaction's they are dead now.  Frozen
	 * ones still have to go back: they are the parent's, since COPY FREEZE refuses tables that
	 * are older than the subtransaction.
	 */
	if (buf->xid != FrozenTransactionId && !TransactionIdIsCurrentTransactionId(buf->xid))
	{
		zswrite_forget_reserved(buf);

		/* rows without numbers cannot be told from others later; all of the part are of one xid */
		if (buf->nunnumbered > 0 && buf->nlinks == 0)
			zswrite_columns_drop(buf, buf->nrows);
	}

	/*
	 * Nothing is buffered, yet rows may be reserved that are the parent's: an UPDATE that could not
	 * mark the old version takes its row out of the buffer again.  These must go back.
	 */
	if (buf->nlive == 0 && (!zswrite_has_reserved(buf) || buf->xid == FrozenTransactionId))
		discard(buf);
}

/* A step of subtransaction callbacks: rows of an aborted one that wait in memory are forgotten. */
void
zswrite_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent)
{
	dlist_mutable_iter iter;

	if (buffers == NULL || (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB))
		return;
	dlist_foreach_modify(iter, &live_buffers)
		subxact_ended(dlist_container(ZsWriteBuffer, live, iter.cur),
					  event == SUBXACT_EVENT_COMMIT_SUB, subid, parent);
}

/* A step of transaction callbacks: rows that wait in memory are written, or forgotten. */
void
zswrite_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			zswrite_flush_all();
			zswrite_committing = true;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			/* the memory goes with the transaction's */
			buffers = NULL;
			zswrite_memory_forget();
			zswrite_committing = false;
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}
