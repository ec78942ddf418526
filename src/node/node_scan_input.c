/*-------------------------------------------------------------------------
 *
 * node_scan_input.c
 *	  The batches of a ZedstoreScan as an input of another node.
 *
 * Who takes a scan's batches instead of its rows gets what its rows would be: those that pass the
 * filter, and that row filters leave (joins).  Columns are the table's, the scan's target list is
 * the business of whoever asks.  Clauses that have no program are tested row by row, for all rows
 * of a batch before the first of them is looked at: whoever takes batches takes all rows there are.
 *
 * The scan's instrumentation counts what is handed out, as if rows had been asked for.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_input.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "node_scan_internal.h"
#include "zs_node_scan.h"

typedef struct ScanInput
{
	ZsInput		base;			/* first */
	ZsScanNode *state;
	ZsBatch		batch;
} ScanInput;

/* ZsInputMethods.start: the scan is where it was begun, or rescanned. */
static void
start_scan(ZsInput *input)
{
	PlanState  *ps = &((ScanInput *) input)->state->css.ss.ps;

	if (ps->chgParam != NULL)
		ExecReScan(ps);
}

/* Takes those rows from the batch that do not pass clauses without a program. */
static void
test_rows(ScanInput *in)
{
	ZsScanNode *state = in->state;
	ScanState  *ss = &state->css.ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;

	for (int i = 0; i < state->nlist; i++)
	{
		uint16		row = state->list[i];

		ResetExprContext(econtext);
		zsscan_batch_store(state->batches, row, ss->ss_ScanTupleSlot);
		econtext->ecxt_scantuple = ss->ss_ScanTupleSlot;
		if (zsexpr_filter_row_passes(state->filter, econtext, state->row_mode))
			continue;
		InstrCountFiltered1(ss, 1);
		zskernel_bits_unset(in->batch.sel, row);
		in->batch.nsel--;
	}
	ExecClearTuple(ss->ss_ScanTupleSlot);
}

/* The next batch with a row that passes; false behind the last. */
static bool
next_passing(ScanInput *in)
{
	ZsScanNode *state = in->state;

	do
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(state->css.ss.ps.ps_ExprContext);
		if (!zsnode_scan_next_batch(state, true))
			return false;
		zskernel_bits_clear(in->batch.sel);
		for (int i = 0; i < state->nlist; i++)
			zskernel_bits_set(in->batch.sel, state->list[i]);
		in->batch.nsel = (uint32) state->nlist;
		if (state->tests_rows)
			test_rows(in);
	} while (in->batch.nsel == 0);
	return true;
}

/* ZsInputMethods.next */
static const ZsBatch *
next_batch(ZsInput *input)
{
	ScanInput  *in = (ScanInput *) input;
	ZsScanNode *state = in->state;
	NodeInstrumentation *instrument = state->css.ss.ps.instrument;
	bool		found;

	Assert(state->css.ss.ps.state->es_epq_active == NULL);
	ExecClearTuple(input->slot);
	if (instrument != NULL)
		InstrStartNode(instrument);
	found = next_passing(in);
	if (instrument != NULL)
		InstrStopNode(instrument, found ? in->batch.nsel : 0);
	return found ? &in->batch : NULL;
}

/* ZsInputMethods.column */
static const ZsColumnVector *
scan_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	return zsexpr_input_column(((ScanInput *) input)->state->input, attno, want, sel);
}

/* ZsInputMethods.bounds */
static bool
scan_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	return zsexpr_input_bounds(((ScanInput *) input)->state->input, attno, bounds);
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	zsscan_batch_store(((ScanInput *) input)->state->batches, position, input->slot);
}

/* ZsInputMethods.end: the node ends by itself */
static void
end_scan(ZsInput *input)
{
	ExecClearTuple(input->slot);
}

static const ZsInputMethods scan_methods = {
	.start = start_scan,
	.next = next_batch,
	.column = scan_column,
	.bounds = scan_bounds,
	.store = store_row,
	.end = end_scan,
};

/*
 * The rows of a scan node, which is executed by nobody else from now on, but ended and rescanned
 * by those who do that.  Columns are those of its table, of which the node's target list says which
 * ones may be asked for.  Memory comes from the current context.
 */
ZsInput *
zsnode_scan_input_create(CustomScanState *node)
{
	ScanInput  *in = palloc0(sizeof(ScanInput));

	in->base.methods = &scan_methods;
	in->base.desc = RelationGetDescr(node->ss.ss_currentRelation);
	in->base.varno = ZS_ROWS_VARNO;
	in->base.slot = node->ss.ss_ScanTupleSlot;
	in->state = (ZsScanNode *) node;
	return &in->base;
}
