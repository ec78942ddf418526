/*-------------------------------------------------------------------------
 *
 * expr_input_table.c
 *	  Batches of a scan of a zedstore table, or of the share of one process in it.
 *
 * One of the inputs of an aggregate (zs_expr_input.h); the others are rows of a
 * child plan.  Thin: scan_batch.c reads, this file starts it as the plan goes,
 * skips segments by the filter, counts what was skipped over rescans, and in
 * "verify" mode compares counts of runs with counts of rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_input_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_compat.h"
#include "zs_expr_input.h"
#include "zs_projection.h"
#include "zs_slot.h"

uint64		zsexpr_input_last_serial = 0;

typedef struct BatchInput
{
	ZsInput		base;			/* first */
	Relation	rel;
	Snapshot	snapshot;
	uint32		flags;			/* of scans */
	ParallelTableScanDesc pscan;	/* NULL: of this process alone */
	MemoryContext context;		/* of the scan */
	TableScanDesc scan;			/* NULL: not started */
	ZsBatchCounts counts;		/* of scans that have ended */
	ZsBatchScan *batches;
} BatchInput;

/* ZsInputMethods.start */
static void
start_scan(ZsInput *input)
{
	BatchInput *batch = (BatchInput *) input;

	if (batch->scan == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(batch->context);

		batch->scan = batch->pscan != NULL ?
			zs_table_beginscan_parallel(batch->rel, batch->pscan, batch->flags) :
			zs_table_beginscan(batch->rel, batch->snapshot, batch->flags);
		batch->batches = zsscan_batch_begin(batch->scan, input->slot);
		MemoryContextSwitchTo(old);
	}
	else
	{
		Assert(batch->batches != NULL);
		table_rescan(batch->scan, NULL);
		zsscan_batch_restart(batch->batches);
	}
}

/* ZsInputMethods.next */
static const ZsBatch *
next_batch(ZsInput *input)
{
	Assert(((BatchInput *) input)->batches != NULL);
	return zsscan_batch_next(((BatchInput *) input)->batches);
}

/* Compares what the lengths of runs say with a count of rows. */
static void
verify_count(BatchInput *batch, uint64 count)
{
	TableScanDesc scan = zs_table_beginscan(batch->rel, batch->snapshot, SO_NONE);
	uint64		expected = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, batch->base.slot))
	{
		CHECK_FOR_INTERRUPTS();
		expected++;
	}
	ExecClearTuple(batch->base.slot);
	table_endscan(scan);
	if (expected != count)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("number of rows differs: " UINT64_FORMAT " by runs, " UINT64_FORMAT " by rows",
								 count, expected)));
}

/* ZsInputMethods.count */
static uint64
count_runs(ZsInput *input, bool verify)
{
	BatchInput *batch = (BatchInput *) input;
	uint64		count = 0;
	uint64		n;

	while ((n = zsscan_batch_next_run(batch->batches)) > 0)
		count += n;
	if (verify && batch->pscan == NULL)
		verify_count(batch, count);
	return count;
}

/* ZsInputMethods.column */
static const ZsColumnVector *
batch_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	Assert(attno > 0 && attno <= input->desc->natts);
	return zsscan_batch_column(((BatchInput *) input)->batches, attno, want, sel);
}

/* ZsInputMethods.bounds */
static bool
batch_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	Assert(attno > 0 && attno <= input->desc->natts);
	return zsscan_batch_bounds(((BatchInput *) input)->batches, attno, bounds);
}

/* ZsInputMethods.excluded */
static bool
batch_excluded(ZsInput *input)
{
	return zsscan_batch_excluded(((BatchInput *) input)->batches);
}

/* ZsInputMethods.ahead */
static bool
batch_ahead(ZsInput *input, AttrNumber attno, int64 *min, int64 *max)
{
	BatchInput *batch = (BatchInput *) input;

	Assert(attno > 0 && attno <= input->desc->natts && batch->batches != NULL);
	return batch->pscan == NULL && zsscan_batch_ahead(batch->batches, attno, min, max);
}

/* ZsInputMethods.totals */
static bool
batch_totals(ZsInput *input, AttrNumber attno, bool extremes, ZsVectorTotals *totals)
{
	Assert(attno > 0 && attno <= input->desc->natts);
	return zsscan_batch_totals(((BatchInput *) input)->batches, attno, extremes, totals);
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	Assert(position < ZS_KERNEL_ROWS);
	zsscan_batch_store(((BatchInput *) input)->batches, position, input->slot);
}

/* ZsInputMethods.end */
static void
end_scan(ZsInput *input)
{
	BatchInput *batch = (BatchInput *) input;

	ExecClearTuple(input->slot);
	batch->counts = zsexpr_input_batch_counts(input);
	if (batch->scan != NULL)
		table_endscan(batch->scan);
	batch->scan = NULL;
	batch->batches = NULL;
	MemoryContextReset(batch->context);
}

static const ZsInputMethods batch_methods = {
	.start = start_scan,
	.next = next_batch,
	.count = count_runs,
	.column = batch_column,
	.bounds = batch_bounds,
	.excluded = batch_excluded,
	.ahead = batch_ahead,
	.totals = batch_totals,
	.store = store_row,
	.end = end_scan,
};

/*
 * A scan of the table.  Rows are looked at for the columns in exprs and filter, and segments are
 * skipped by filter; varno is the table's in both.  Memory comes from the current context.
 */
ZsInput *
zsexpr_input_batch_create(Relation rel, Index varno, List *exprs, List *filter, EState *estate)
{
	BatchInput *batch = palloc0(sizeof(BatchInput));
	ZsInput    *input = &batch->base;
	Bitmapset  *varattnos = NULL;
	Bitmapset  *needed = NULL;
	int			i = -1;

	pull_varattnos((Node *) exprs, varno, &varattnos);
	pull_varattnos((Node *) filter, varno, &varattnos);
	while ((i = bms_next_member(varattnos, i)) >= 0)
	{
		Assert(i + FirstLowInvalidHeapAttributeNumber > 0);
		needed = bms_add_member(needed, i + FirstLowInvalidHeapAttributeNumber);
	}
	input->methods = &batch_methods;
	input->desc = RelationGetDescr(rel);
	input->varno = varno;
	input->slot = zs_alloc_table_slot(&estate->es_tupleTable, input->desc, &TTSOpsZedstore);
	zsslot_set_needed(input->slot, needed, !zs_enable_column_projection);
	zsslot_want_vis(input->slot, false);
	zsscan_set_filters(input->slot, rel, varno, filter, estate->es_param_list_info);
	batch->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore batches",
										   ALLOCSET_DEFAULT_SIZES);
	batch->rel = rel;
	batch->snapshot = estate->es_snapshot;
	batch->flags = zs_scan_flags(estate);
	return input;
}

/*
 * Replaces the filter by which such a scan skips segments: varno and params as above.  The
 * clauses are forgotten before this returns.
 */
void
zsexpr_input_batch_set_filters(ZsInput *input, List *filter, ParamListInfo params)
{
	BatchInput *batch = (BatchInput *) input;

	Assert(input->methods == &batch_methods);
	zsscan_set_filters(input->slot, batch->rel, input->varno, filter, params);
}

/*
 * Lets the scan, which has been started, is not shared and has given no batch yet, go by stripes,
 * in the order of a column's zone maps: see zsexpr_input_batch_seek().
 */
ZsScanOrder *
zsexpr_input_batch_order(ZsInput *input, AttrNumber attno, bool descending)
{
	BatchInput *batch = (BatchInput *) input;
	MemoryContext old = MemoryContextSwitchTo(batch->context);
	ZsScanOrder *order;

	Assert(input->methods == &batch_methods && batch->pscan == NULL);
	order = zsscan_order_begin(batch->batches, attno, descending);
	MemoryContextSwitchTo(old);
	return order;
}

/* The batch of a stripe; NULL if there is no row to be looked at. */
const ZsBatch *
zsexpr_input_batch_seek(ZsInput *input, zstid stripe)
{
	zsexpr_input_batch_turn(input);
	return zsscan_batch_seek(((BatchInput *) input)->batches, stripe);
}

/* What such scans have come to, since the input was created; zeros if it is another one. */
ZsBatchCounts
zsexpr_input_batch_counts(const ZsInput *input)
{
	const BatchInput *batch = (const BatchInput *) input;
	ZsBatchCounts counts = {0};

	if (input->methods != &batch_methods)
		return counts;
	counts = batch->counts;
	if (batch->batches != NULL)
		zsscan_batch_count(batch->batches, &counts);
	return counts;
}

/*
 * Makes the scan take the rows that other processes leave it, from its next start.  pscan: prepared
 * by table_parallelscan_initialize(), to stay until the input ends or gets another one.
 */
void
zsexpr_input_batch_share(ZsInput *input, ParallelTableScanDesc pscan)
{
	BatchInput *batch = (BatchInput *) input;

	Assert(input->methods == &batch_methods);
	end_scan(input);
	batch->pscan = pscan;
}

/* Somebody else goes from batch to batch. */
static const ZsInputMethods wrap_methods = {
	.column = batch_column,
	.bounds = batch_bounds,
	.excluded = batch_excluded,
	.store = store_row,
};

/*
 * The present batch of a scan of the caller's, who says by zsexpr_input_batch_turn() when it is
 * another one.  The input can be asked for columns and bounds, and nothing else.
 */
ZsInput *
zsexpr_input_batch_wrap(ZsBatchScan *bs, Index varno, TupleTableSlot *slot)
{
	BatchInput *batch = palloc0(sizeof(BatchInput));
	ZsInput    *input = &batch->base;

	Assert(bs != NULL && slot->tts_ops == &TTSOpsZedstore);
	input->methods = &wrap_methods;
	input->desc = slot->tts_tupleDescriptor;
	input->varno = varno;
	input->slot = slot;
	batch->batches = bs;
	return input;
}
