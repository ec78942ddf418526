/*-------------------------------------------------------------------------
 *
 * scan_fetch.c
 *	  Rows by TID: index scans, and callers that have nothing but a TID.
 *
 * An index scan keeps one row source, whose readers remember the segments and
 * vectors looked at last, so that lookups with locality stay cheap.
 *
 * tuple_fetch_row_version has no scan to keep anything in.  UPDATE calls it for
 * each row, so the backend keeps one source per table for the length of a
 * statement: it is dropped when the command counter, the transaction, the
 * table's file or its definition changes, and when the file is emptied in place,
 * which does not count as a command.  Otherwise no row that a command may see
 * can go away within it, so what was cached stays right.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_fetch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "common/int.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "scan_desc.h"
#include "zs_page.h"
#include "zs_write.h"

struct ZsIndexFetch
{
	IndexFetchTableData base;	/* first */
	MemoryContext context;		/* of the source */
	ZsRowSource *source;		/* NULL: no row was found yet */
	double		nrows;			/* found so far, ... */
	double		keep_at;		/* ... and how many it takes to keep what readers decode */
	ZsTidRun	alike;			/* rows that the snapshot sees, ... */
	Snapshot	snapshot;		/* ... this one, ... */
	CommandId	curcid;			/* ... as it was then, ... */
	ZsVisSlot	vis;			/* ... by this history */
	bool		shows_any;		/* the scan is ours (scan_any.c) */
};

/*
 * The row that an index scan found last, with a snapshot that keeps VACUUM from taking it away.  An
 * UPDATE asks for it again by its TID.
 */
static struct
{
	RelFileLocatorBackend file;
	LocalTransactionId lxid;
	CommandId	cid;
	zstid		row;			/* ZS_INVALID_ROW: none */
	ZsVisSlot	vis;
}			last_indexed = {.row = ZS_INVALID_ROW};

/* ---- index scans --------------------------------------------------------------- */

/*
 * A unique index makes a fetch for each entry that it looks at.  So one is at hand; if an error has
 * left it to nobody, others do until the transaction ends.
 */
static ZsIndexFetch spare_fetch;
static bool spare_fetch_used = false;

/* index_fetch_begin of the table access method: contract in tableam.h. */
IndexFetchTableData *
zsscan_index_begin(Relation rel, uint32 flags)
{
	ZsIndexFetch *fetch = spare_fetch_used ? palloc(sizeof(ZsIndexFetch)) : &spare_fetch;

	zsbase_require_preload();
	if (fetch == &spare_fetch)
		spare_fetch_used = true;
	*fetch = (ZsIndexFetch) {
		.base.rel = rel, .context = CurrentMemoryContext, .keep_at = ZS_ROWS_BEFORE_KEEPING
	};
	return &fetch->base;
}

/* The index scan, which has found no row yet, is one of ours under SnapshotAny (scan_any.c). */
void
zsscan_index_show_any(IndexFetchTableData *fetch)
{
	((ZsIndexFetch *) fetch)->shows_any = true;
}

/* index_fetch_reset of the table access method: contract in tableam.h. */
void
zsscan_index_reset(IndexFetchTableData *fetch)
{
	/* nothing is pinned or locked between rows */
}

/* index_fetch_end of the table access method: contract in tableam.h. */
void
zsscan_index_end(IndexFetchTableData *fetch)
{
	ZsIndexFetch *zfetch = (ZsIndexFetch *) fetch;

	if (zfetch->source != NULL)
		zsscan_source_free(zfetch->source);
	if (zfetch == &spare_fetch)
		spare_fetch_used = false;
	else
		pfree(zfetch);
}

/* So many rows were found: if there have been some of each stripe, there may be others. */
static void
come_to_keep(ZsIndexFetch *fetch)
{
	double		rows = ceil(zsscan_source_stripes(fetch->source) * ZS_ROWS_BEFORE_KEEPING);

	if (fetch->nrows >= rows)
		zsscan_source_again(fetch->source);
	else
		fetch->keep_at = rows;
}

/*
 * Does the row lie beside one that the same snapshot has found visible, in a run of rows of the
 * same history?  An index scan in the order of rows finds most of its rows so.
 */
static inline bool
is_alike(const ZsIndexFetch *fetch, zstid row, Snapshot snapshot)
{
	return row - fetch->alike.first < fetch->alike.count && fetch->snapshot == snapshot &&
		fetch->curcid == snapshot->curcid;
}

/*
 * Looks the row up, and stores it in the slot if the snapshot sees it; arguments and result as of
 * zsscan_index_tuple().
 */
static pg_noinline bool
fetch_row(ZsIndexFetch *fetch, zstid row, Snapshot snapshot, TupleTableSlot *slot, bool *all_dead)
{
	Relation	rel = fetch->base.rel;

	if (!is_alike(fetch, row, snapshot) &&
		!zstid_fetch_visible(rel, row, snapshot, &fetch->vis, all_dead, &fetch->alike))
	{
		zstid_note_unseen(rel, row, snapshot);
		return false;
	}
	fetch->snapshot = snapshot;
	fetch->curcid = snapshot->curcid;

	/*
	 * A unique index that has found a conflict asks so whether the new row is still there, and
	 * raises an error.  A row that waits in the buffer would go with that, and leave large values
	 * behind that VACUUM does not find by it.
	 */
	if (unlikely(snapshot->snapshot_type == SNAPSHOT_SELF))
		zswrite_flush_row(rel, row);

	last_indexed.row = ZS_INVALID_ROW;
	if (zs_enable_fetch_cache && IsMVCCSnapshot(snapshot))
	{
		last_indexed.file = zsbase_file(rel);
		last_indexed.lxid = MyProc->vxid.lxid;
		last_indexed.cid = GetCurrentCommandId(false);
		last_indexed.row = row;
		last_indexed.vis = fetch->vis;
	}
	if (fetch->source == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fetch->context);

		fetch->source = zsscan_source_create(rel, false, false, NULL);
		MemoryContextSwitchTo(old);
	}
	if (unlikely(++fetch->nrows == fetch->keep_at))
		come_to_keep(fetch);
	fetch->source->row_located = false;
	zsscan_store(fetch->source, slot, row, &fetch->vis);
	return true;
}

/*
 * index_fetch_tuple of the table access method: contract in tableam.h.  Of a row that is updated
 * again and again it is called for each version, so those that are known to be unseen take the
 * short way.
 */
bool
zsscan_index_tuple(IndexFetchTableData *fetch, ItemPointer tid, Snapshot snapshot,
				   TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
	zstid		row;

	Assert(TTS_IS_ZEDSTORE(slot));
	*call_again = false;
	if (all_dead)
		*all_dead = false;
	if (unlikely(!zs_tid_is_sane(tid)))
		return false;
	if (unlikely(snapshot == SnapshotAny) && !((ZsIndexFetch *) fetch)->shows_any &&
		zsscan_any_is_hidden(fetch->rel))
		return false;
	row = zs_row_from_tid(tid);
	if (zstid_is_unseen(fetch->rel, row, snapshot, all_dead))
		return false;
	return fetch_row((ZsIndexFetch *) fetch, row, snapshot, slot, all_dead);
}

/* ---- the backend's row source ---------------------------------------------------- */

typedef struct RowCacheEntry
{
	Oid			relid;			/* hash key */
	char		status;			/* simplehash's */
	RelFileLocator locator;
	uint64		relcache_changes;	/* when the source was made */
	ZsRowSource *source;		/* in row_cache_context */
} RowCacheEntry;

#define SH_PREFIX		row_cache
#define SH_ELEMENT_TYPE	RowCacheEntry
#define SH_KEY_TYPE		Oid
#define SH_KEY			relid
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Tables of one command, mostly. */
#define ROW_CACHE_SIZE	2

static row_cache_hash *row_cache = NULL;
static MemoryContext row_cache_context = NULL;
static CommandId row_cache_cid;
static LocalTransactionId row_cache_lxid;
static uint64 relcache_changes = 0; /* how often entries of the relation cache were invalidated */

/*
 * Drops all sources.  Slots that read from them keep what was asked for, unless the transaction
 * ends, when nobody looks at them any more and the memory goes with the transaction's.  Readers are
 * ended in good order unless something failed, so that their working memory is kept for the next
 * ones.
 */
static void
drop_row_cache(bool transaction_ends, bool failed)
{
	row_cache_iterator iterator;
	RowCacheEntry *entry;

	if (row_cache == NULL)
		return;
	row_cache_start_iterate(row_cache, &iterator);
	while ((entry = row_cache_iterate(row_cache, &iterator)) != NULL)
	{
		if (entry->source == NULL)
			continue;
		if (transaction_ends)
			zsslot_abandon(&entry->source->base);
		else
			zsslot_detach(&entry->source->base);
		if (!failed)
			zsscan_source_end_readers(entry->source);
	}
	row_cache = NULL;
	if (!transaction_ends)
		MemoryContextDelete(row_cache_context);
	row_cache_context = NULL;
}

/* A transaction ends: drops the backend's fetch cache. */
void
zsscan_fetch_transaction(XactEvent event)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE || event == XACT_EVENT_PARALLEL_COMMIT ||
		event == XACT_EVENT_PARALLEL_ABORT)
	{
		spare_fetch_used = false;
		drop_row_cache(true, event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT);
	}
}

/*
 * Listener to the relation cache.  A subtransaction that is rolled back takes its ALTER TABLE with
 * it, which does not count as a command; and the new descriptor may lie where the old one was, by
 * which a source would know it.  Seldom enough to forget the sources of all tables.
 */
static void
count_relcache_change(Oid relid)
{
	relcache_changes++;
}

/* Is there a cache, and is it that of the present command? */
static inline bool
row_cache_is_current(void)
{
	return row_cache != NULL && row_cache_lxid == MyProc->vxid.lxid &&
		row_cache_cid == GetCurrentCommandId(false);
}

/* Has the entry, which may be NULL, a source that reads the table's present file? */
static inline bool
entry_has_file(const RowCacheEntry *entry, Relation rel)
{
	return entry != NULL && entry->source != NULL &&
		RelFileLocatorEquals(entry->locator, rel->rd_locator);
}

/* The same, and does the source know the table as this relcache entry describes it now? */
static inline bool
entry_is_valid(const RowCacheEntry *entry, Relation rel)
{
	return entry_has_file(entry, rel) && entry->relcache_changes == relcache_changes &&
		entry->source->rel == rel;
}

/*
 * The source for single rows of rel in this command.
 */
static ZsRowSource *
row_cache_source(Relation rel)
{
	RowCacheEntry *entry;
	bool		found;
	Oid			relid = RelationGetRelid(rel);

	if (!row_cache_is_current())
		drop_row_cache(false, false);
	if (row_cache == NULL)
	{
		row_cache_context = AllocSetContextCreate(TopTransactionContext, "zedstore row cache",
												  ALLOCSET_DEFAULT_SIZES);
		row_cache = row_cache_create(row_cache_context, ROW_CACHE_SIZE, NULL);
		row_cache_cid = GetCurrentCommandId(false);
		row_cache_lxid = MyProc->vxid.lxid;
	}

	entry = row_cache_insert(row_cache, relid, &found);
	if (found && entry->source != NULL && !entry_is_valid(entry, rel))
	{
		zsscan_source_free(entry->source);
		entry->source = NULL;
	}
	if (!found || entry->source == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(row_cache_context);

		entry->source = NULL;
		entry->relcache_changes = relcache_changes;
		entry->locator = rel->rd_locator;
		entry->source = zsscan_source_create(rel, false, false, NULL);
		zsscan_source_copy_desc(entry->source);
		entry->source->base.slot_keeps_values = true;
		entry->source->gives_toast = true;
		MemoryContextSwitchTo(old);
	}
	return entry->source;
}

/*
 * ZsSlotFinder: the slot reads from the backend's source from now on.  Its user has the table open
 * and locked.
 */
static void
find_left_row(ZsSlot *slot)
{
	Relation	rel = table_open(slot->left.relid, AccessShareLock);

	if (!RelFileLocatorEquals(rel->rd_locator, slot->left.locator))
		elog(ERROR, "table \"%s\" has got another file since row " UINT64_FORMAT " was found",
			 RelationGetRelationName(rel), slot->row);
	zsscan_attach(row_cache_source(rel), slot);
	table_close(rel, AccessShareLock);
}

/* Installs what finds rows again, and a listener that drops the backend's fetch cache. */
void
zsscan_fetch_init(void)
{
	zsslot_find_by(find_left_row);
	zsbase_listen_relcache(count_relcache_change);
}

/*
 * Stores one row version, found by other means, in the slot: the values stay
 * valid while the slot holds the row.
 */
void
zsscan_store_version(Relation rel, zstid row, const ZsVisSlot *vis, TupleTableSlot *slot)
{
	ZsRowSource *source = row_cache_source(rel);

	Assert(TTS_IS_ZEDSTORE(slot) && row < ZS_MAX_ROW);
	/*
	 * Many slots are filled from it in turn.  Each keeps the values that it has where they are,
	 * since projections may point to them.
	 */
	if (source->base.user != NULL && &source->base.user->base == slot)
		ExecClearTuple(slot);
	zsslot_detach(&source->base);
	source->row_located = false;
	zsscan_store(source, slot, row, vis);
}

static int
compare_rows(const void *a, const void *b)
{
	return pg_cmp_u64(*(const zstid *) a, *(const zstid *) b);
}

/*
 * Reads the pages of n rows, of which zsscan_store_version() is going to store each in the slot,
 * side by side, if settings want that.  Sorts the rows, which are all different.  Errors: those of
 * reading.
 */
void
zsscan_prefetch_versions(Relation rel, zstid *rows, int n, const TupleTableSlot *slot)
{
	Assert(TTS_IS_ZEDSTORE(slot));
	qsort(rows, n, sizeof(zstid), compare_rows);
	zsscan_prefetch_rows(row_cache_source(rel), (const ZsSlot *) slot, rows, n);
}

/* The row is deleted: who asks for it again by its TID wants to see that. */
void
zsscan_forget_version(Relation rel, zstid row)
{
	if (last_indexed.row == row && zsbase_has_file(rel, &last_indexed.file))
		last_indexed.row = ZS_INVALID_ROW;
}

/*
 * Forgets all rows of the table, which is about to be emptied in place.  A
 * slot that has one keeps its values.
 */
void
zsscan_forget_rows(Relation rel)
{
	RowCacheEntry *entry = NULL;

	last_indexed.row = ZS_INVALID_ROW;
	zstid_forget_unseen();
	if (row_cache != NULL)
		entry = row_cache_lookup(row_cache, RelationGetRelid(rel));
	if (entry == NULL || entry->source == NULL)
		return;
	zsslot_detach_values(&entry->source->base);
	zsscan_source_free(entry->source);
	entry->source = NULL;
}

/*
 * Did an index scan of this command find the row last?  Then it is still there for a snapshot that
 * sees any version, and nobody asks such a version who changed it since.
 */
static inline bool
was_indexed_last(Relation rel, zstid row)
{
	return last_indexed.row == row && last_indexed.lxid == MyProc->vxid.lxid &&
		last_indexed.cid == GetCurrentCommandId(false) &&
		zsbase_has_file(rel, &last_indexed.file);
}

/*
 * The slot with all columns of the row, if that is what zsscan_store_version()
 * filled last for the table and it still holds the row; else NULL.
 */
TupleTableSlot *
zsscan_stored_version(Relation rel, zstid row)
{
	RowCacheEntry *entry;
	ZsSlot	   *slot;

	if (!zs_enable_fetch_cache || !row_cache_is_current())
		return NULL;
	entry = row_cache_lookup(row_cache, RelationGetRelid(rel));
	if (!entry_is_valid(entry, rel))
		return NULL;
	slot = entry->source->base.user;
	if (slot == NULL || slot->row != row || slot->nneeded >= 0 || TTS_EMPTY(&slot->base))
		return NULL;
	return &slot->base;
}

/*
 * The current command has deleted or updated the row: a slot that
 * zsscan_store_version() filled last for the table shows that if it holds the
 * row, as a slot of heap does, which points to the page (RETURNING old.xmax).
 * Without xmax, which may be a MultiXactId, the row is looked up; locks a TID
 * leaf shared then.
 */
void
zsscan_version_changed(Relation rel, zstid row, TransactionId xmax, CommandId cmax)
{
	RowCacheEntry *entry;
	ZsSlot	   *slot;
	ZsVisSlot	vis;

	if (row_cache == NULL || row_cache_lxid != MyProc->vxid.lxid)
		return;
	entry = row_cache_lookup(row_cache, RelationGetRelid(rel));
	if (!entry_has_file(entry, rel))
		return;
	slot = entry->source->base.user;
	if (slot == NULL || slot->row != row || !slot->has_vis)
		return;
	if (TransactionIdIsValid(xmax))
	{
		slot->vis.xmax = xmax;
		slot->vis.cmax = cmax;
	}
	else if (zstid_lookup(rel, row, &vis, NULL))
		slot->vis = vis;
}

/* tuple_fetch_row_version of the table access method: contract in tableam.h. */
bool
zsscan_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot)
{
	zstid		row;
	ZsVisSlot	vis;

	zsbase_require_preload();
	ExecClearTuple(slot);
	if (!zs_tid_is_sane(tid))
		return false;
	row = zs_row_from_tid(tid);
	if (snapshot->snapshot_type == SNAPSHOT_ANY && was_indexed_last(rel, row))
		vis = last_indexed.vis;
	else if (!zstid_fetch_visible(rel, row, snapshot, &vis, NULL, NULL))
		return false;
	zsscan_store_version(rel, row, &vis, slot);
	return true;
}

/* ---- small callbacks ------------------------------------------------------------------ */

/* tuple_get_latest_tid of the table access method: contract in tableam.h. */
void
zsscan_get_latest_tid(TableScanDesc sscan, ItemPointer tid)
{
	zstid		row;

	if (!zs_tid_is_sane(tid))
		return;
	row = zs_row_from_tid(tid);
	zstid_latest_version(sscan->rs_rd, &row, sscan->rs_snapshot);
	zs_tid_from_row(row, tid);
}

/* As heap: a TID is valid if it lies within the (logical) table. */
bool
zsscan_tid_valid(TableScanDesc sscan, ItemPointer tid)
{
	ZsScanDesc	scan = (ZsScanDesc) sscan;

	return ItemPointerIsValid(tid) && ItemPointerGetBlockNumberNoCheck(tid) < scan->nblocks;
}

/* tuple_satisfies_snapshot of the table access method: contract in tableam.h. */
bool
zsscan_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
	ZsVisSlot	vis;

	if (!zs_tid_is_sane(&slot->tts_tid))
		return false;
	return zstid_fetch_visible(rel, zs_row_from_tid(&slot->tts_tid), snapshot, &vis, NULL, NULL);
}
