/*-------------------------------------------------------------------------
 *
 * vacuum_compact.c
 *	  Compaction: the row tree becomes columns, and columns give back what they
 *	  lost.
 *
 * Runs in VACUUM after dead rows were retired, and in zs_compact().  Four
 * passes:
 *
 *	1. columns that were dropped lose their segments;
 *	2. rows of the row tree become segments (vacuum_move.c);
 *	3. segments that lost rows, or are small, are dropped, replaced, merged
 *	   (vacuum_merge.c);
 *	4. rows that pass 3 brought into all columns leave the row tree.
 *
 * Only what is settled is touched: stripes that no cursor of small inserts is on
 * (closed), in which no inserter is running.  Their unused row numbers are retired
 * before, which stops sessions that remember the stripe.  So nobody adds rows to
 * them; rows may still be updated, deleted and locked, which is the TID tree's
 * business alone.
 *
 * Readers go on at any time.  They look into the row tree first, and rows leave it
 * only after all columns have them; a column's tree goes from old segments to
 * new ones in one step (attr_replace.c).
 *
 * Locks: ShareUpdateExclusiveLock on the table, so there is one compaction at a time;
 * single page locks.
 *
 * Crash: between any two records the table is valid; what is leaked are runs of
 * blocks and overflow values (docs/wal.md).  Rows that stand in the row tree and
 * in columns are found by the next run.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_compact.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_database.h"
#include "commands/tablecmds.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "vacuum_compact.h"
#include "vacuum_internal.h"
#include "zs_vacuum.h"
#include "zs_write.h"

PG_FUNCTION_INFO_V1(zs_compact);

/* ---- ranges ----------------------------------------------------------------------- */

/*
 * [first, end) is where something changed; called in ascending order or nearly
 * so.
 */
void
zsvacuum_add_range(ZsRanges *ranges, zstid first, zstid end)
{
	struct ZsRange *last = ranges->n > 0 ? &ranges->ranges[ranges->n - 1] : NULL;

	if (first >= end)
		return;
	if (last != NULL && first >= last->first && first <= last->end)
	{
		last->end = Max(last->end, end);
		return;
	}
	if (ranges->n == ranges->max)
	{
		ranges->max = Max(ranges->max * 2, 64);
		if (ranges->context == NULL)
			ranges->context = CurrentMemoryContext;
		if (ranges->ranges == NULL)
			ranges->ranges = MemoryContextAllocHuge(ranges->context,
													ranges->max * sizeof(struct ZsRange));
		else
			ranges->ranges = repalloc_huge(ranges->ranges, ranges->max * sizeof(struct ZsRange));
	}
	ranges->ranges[ranges->n].first = first;
	ranges->ranges[ranges->n++].end = end;
}

static int
compare_ranges(const void *a, const void *b)
{
	zstid		x = ((const struct ZsRange *) a)->first;
	zstid		y = ((const struct ZsRange *) b)->first;

	return x < y ? -1 : x > y;
}

/* Sorts them and joins those that overlap. */
void
zsvacuum_sort_ranges(ZsRanges *ranges)
{
	int			n = ranges->n;

	if (n < 2)
		return;
	qsort(ranges->ranges, n, sizeof(struct ZsRange), compare_ranges);
	ranges->n = 1;
	for (int i = 1; i < n; i++)
	{
		struct ZsRange range = ranges->ranges[i];

		zsvacuum_add_range(ranges, range.first, range.end);
	}
}

/* ---- stripes ---------------------------------------------------------------------- */

/* Is the stripe one that small inserts fill? */
bool
zsvacuum_stripe_is_open(const ZsCompaction *compaction, zstid first)
{
	Assert(first % ZS_STRIPE_ROWS == 0);
	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		if (compaction->cursors[i] == first)
			return true;
	}
	return first + ZS_STRIPE_ROWS > compaction->next_row;
}

/* ZsTidRunVisitor */
static void
judge_run(const ZsTidRun *run, ZsVisSlot *vis, void *arg)
{
	ZsStripe   *stripe = arg;
	ZsFate		fate = ZS_FATE_LIVE;

	Assert(run->first >= stripe->first);
	Assert(run->first + run->count <= stripe->first + ZS_STRIPE_ROWS);
	switch (run->slotno)
	{
		case ZS_SLOT_FROZEN:
			break;
		case ZS_SLOT_DEAD:
			fate = ZS_FATE_DEAD;
			break;
		case ZS_SLOT_UNUSED:
			stripe->unused = true;
			fate = ZS_FATE_NONE;
			break;
		case ZS_SLOT_RETIRED:
			fate = ZS_FATE_NONE;
			break;
		default:
			/* without a horizon, dead are only rows whose inserter aborted */
			switch (zstid_satisfies_vacuum(vis, InvalidTransactionId, InvalidBuffer))
			{
				case ZS_VACUUM_DEAD:
					fate = ZS_FATE_DEAD;
					break;
				case ZS_VACUUM_INSERT_IN_PROGRESS:
					stripe->settled = false;
					break;
				default:
					if (zstid_is_current_xact(vis))
						stripe->settled = false;
					break;
			}
			break;
	}
	if (fate == ZS_FATE_LIVE)
		stripe->nlive += run->count;
	memset(stripe->fates + (run->first - stripe->first), fate, run->count);
}

/*
 * Fills *stripe with what the TID tree says about the stripe that begins with
 * row first.  Locks leaves one at a time, shared.
 */
void
zsvacuum_load_stripe(ZsCompaction *compaction, zstid first, ZsStripe *stripe)
{
	Assert(first % ZS_STRIPE_ROWS == 0);
	stripe->first = first;
	stripe->settled = true;
	stripe->unused = false;
	stripe->nlive = 0;
	zstid_visit_runs(compaction->rel, first, first + ZS_STRIPE_ROWS, judge_run, stripe);
}

/*
 * Loads a stripe that has data, and its rows in the row tree, after its unused
 * row numbers were retired.  False when it is not to be touched: small inserts
 * go there, or an inserter is running.
 */
bool
zsvacuum_close_stripe(ZsCompaction *compaction, zstid first, ZsStripe *stripe, ZsRowBatch *batch)
{
	if (zsvacuum_stripe_is_open(compaction, first))
		return false;
	zsvacuum_load_stripe(compaction, first, stripe);
	if (!stripe->settled)
		return false;
	if (stripe->unused)
	{
		/* somebody may have taken rows in between */
		zstid_retire_unused(compaction->rel, first, first + ZS_STRIPE_ROWS);
		zsvacuum_load_stripe(compaction, first, stripe);
		if (!stripe->settled || stripe->unused)
			return false;
		ZS_INJECTION_POINT("zs-compact-retired");
	}

	/* the rows were inserted and committed before, so they are in here or in segments */
	zsrow_fetch_range(compaction->rel, first, first + ZS_STRIPE_ROWS, batch);
	return true;
}

/*
 * Rows of the batch that somebody may ask for; *natts: attributes of the
 * longest.
 */
uint32
zsvacuum_count_live(const ZsStripe *stripe, const ZsRowBatch *batch, int *natts)
{
	uint32		n = 0;

	for (int i = 0; i < batch->nitems; i++)
	{
		if (stripe->fates[zsrow_item_row(batch->items[i]) - stripe->first] != ZS_FATE_LIVE)
			continue;
		*natts = Max(*natts, HeapTupleHeaderGetNatts(batch->items[i]));
		n++;
	}
	return n;
}

/*
 * Takes the live rows of a stripe, which all columns have now, out of the row
 * tree.
 *
 * Values of dropped columns go with the rows; those of others are in the
 * segments now. Dead rows stay: VACUUM takes them out when their index entries
 * are gone.
 */
void
zsvacuum_forget_rows(ZsCompaction *compaction, const ZsStripe *stripe)
{
	Assert(stripe->first % ZS_STRIPE_ROWS == 0);
	for (uint32 i = 0; i < ZS_STRIPE_ROWS;)
	{
		uint32		n = 0;

		while (i + n < ZS_STRIPE_ROWS && stripe->fates[i + n] != ZS_FATE_DEAD)
			n++;
		if (n > 0)
			zsrow_delete_range(compaction->rel, stripe->first + i, stripe->first + i + n);
		i += n + 1;
	}
	zsvacuum_add_range(&compaction->moved, stripe->first, stripe->first + ZS_STRIPE_ROWS);
}

/* ---- segments that go -------------------------------------------------------------- */

/* A segment whose overflow values are looked at. */
typedef struct GoneSegment
{
	ZsCompaction *compaction;
	AttrNumber	attno;
	const ZsColumnBuilder *builder; /* what takes its place; NULL = nothing */
} GoneSegment;

/* ZsPointerVisitor */
static bool
doom_pointer(zstid row, const ZsOverflowPointer *pointer, void *arg)
{
	GoneSegment *gone = arg;
	ZsCompaction *compaction = gone->compaction;
	const ZsColumnBuilder *builder = gone->builder;
	MinimalTuple tuple;

	/* was the pointer carried over?  What has become of the row since does not matter */
	if (builder != NULL && row - builder->first < builder->nrows &&
		builder->isext[row - builder->first])
		return true;

	/* the row tree's copy goes later, and takes the value with it */
	tuple = zsrow_fetch(compaction->rel, row);
	if (tuple != NULL)
		pfree(tuple);
	else
		zsvacuum_doomed_add(&compaction->doomed, gone->attno, pointer);
	return true;
}

/*
 * ZsSegmentVisitor: the values of rows that are gone are freed with the
 * segment.
 */
void
zsvacuum_segment_gone(AttrNumber attno, const ZsSegmentItem *item, void *arg)
{
	GoneSegment gone = {.compaction = arg, .attno = attno};

	Assert(gone.compaction->nbuilders == 0 || gone.compaction->builders != NULL);
	for (int i = 0; i < gone.compaction->nbuilders; i++)
	{
		if (gone.compaction->builders[i]->attno == attno)
			gone.builder = gone.compaction->builders[i];
	}
	zsattr_visit_pointers(gone.compaction->rel, attno, item, doom_pointer, &gone);
}

/* Columns that were dropped lose their segments. */
static void
drop_columns(ZsCompaction *compaction)
{
	TupleDesc	desc = RelationGetDescr(compaction->rel);

	for (int i = 0; i < desc->natts; i++)
	{
		zstid		row = 0;
		ZsSegmentItem item;

		if (!TupleDescAttr(desc, i)->attisdropped ||
			zspage_tree_root(compaction->rel, ZsTreeOfAttr(i + 1)) == 0)
			continue;
		while (zsattr_find_segment(compaction->rel, i + 1, row, false, &item))
		{
			vacuum_delay_point_compat();
			MemoryContextReset(compaction->context);
			zsattr_drop_segments(compaction->rel, i + 1, item.first_row,
								 item.first_row + item.nrows, zsvacuum_segment_gone, compaction);
			zsvacuum_doomed_free(&compaction->doomed);
			compaction->ndropped++;
			row = item.first_row + item.nrows;
		}
	}
}

/* ---- the whole ----------------------------------------------------------------------- */

/*
 * The last step of VACUUM: turns rows into columns, and gives back what
 * columns lost.  changed: the rows whose TID tree leaves VACUUM looked at.
 * Frees changed.  The result's counters are filled.
 */
void
zsvacuum_compact(Relation rel, BufferAccessStrategy strategy, bool force, ZsRanges *changed,
				 ZsCompaction *result)
{
	MemoryContext oldcontext;
	ZsMetaPageData *meta = palloc(sizeof(ZsMetaPageData));

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	memset(result, 0, sizeof(ZsCompaction));
	result->rel = rel;
	result->strategy = strategy;
	result->force = force;
	result->changed = *changed;
	result->changed.context = result->covered.context = CurrentMemoryContext;
	result->moved.context = CurrentMemoryContext;
	zsvacuum_doomed_init(&result->doomed, rel);
	zspage_meta_read(rel, meta);
	result->next_row = meta->next_row;
	memcpy(result->cursors, meta->cursors, sizeof(result->cursors));
	pfree(meta);

	/* what lives for a step is in result->context, the lists are in the caller's */
	result->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore compaction",
											ALLOCSET_DEFAULT_SIZES);
	oldcontext = CurrentMemoryContext;
	drop_columns(result);
	MemoryContextReset(result->context);

	/*
	 * What is empty goes first, which takes no space: on a full volume there is none before that,
	 * and all other steps may need some.
	 */
	zsvacuum_sort_ranges(&result->changed);
	result->drop_only = true;
	zsvacuum_merge_segments(result);
	result->drop_only = false;
	MemoryContextReset(result->context);
	zsvacuum_move_rows(result);
	MemoryContextReset(result->context);
	zsvacuum_sort_ranges(&result->changed);
	zsvacuum_merge_segments(result);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(result->context);
	result->context = NULL;
}

/* Tells *reclaim where pages may have become empty by the compaction. */
void
zsvacuum_touch_moved(ZsCompaction *compaction, ZsReclaim *reclaim)
{
	for (int i = 0; i < compaction->moved.n; i++)
		zsvacuum_touch(&reclaim->row, compaction->moved.ranges[i].first,
					   compaction->moved.ranges[i].end);
	if (compaction->nreplaced + compaction->ndropped > 0)
		reclaim->attributes = true;
}

/*
 * zs_compact(regclass): all closed stripes, however few rows they have.  Rows moved or rewritten.
 */
Datum
zs_compact(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ZsRanges	changed = {0};
	ZsCompaction *compaction = palloc(sizeof(ZsCompaction));
	ZsReclaim	reclaim = {0};
	Relation	rel;

	zsbase_require_preload();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("recovery is in progress"),
				 errhint("Tables cannot be compacted during recovery.")));
	rel = table_open(relid, ShareUpdateExclusiveLock);
	if (!zsbase_is_zedstore(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("\"%s\" is not a zedstore table", RelationGetRelationName(rel))));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) != ACLCHECK_OK &&
		!(object_ownercheck(DatabaseRelationId, MyDatabaseId, GetUserId()) &&
		  !rel->rd_rel->relisshared))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot compact temporary tables of other sessions")));
	CheckTableNotInUse(rel, "compact");

	/* what this transaction did to the table's columns may be undone; what we do is not */
	if (CheckRelationLockedByMe(rel, AccessExclusiveLock, false))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot compact table \"%s\" because it was created or altered in the current transaction",
						RelationGetRelationName(rel))));

	zswrite_flush(rel);
	reclaim.rel = rel;
	zsvacuum_add_range(&changed, 0, zspage_next_row(rel));
	zsvacuum_compact(rel, GetAccessStrategy(BAS_VACUUM), true, &changed, compaction);
	zsvacuum_touch_moved(compaction, &reclaim);
	zsvacuum_merge_pages(&reclaim);
	table_close(rel, ShareUpdateExclusiveLock);
	PG_RETURN_INT64((int64) (compaction->rows_moved + compaction->rows_rewritten));
}
