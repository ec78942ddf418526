/*-------------------------------------------------------------------------
 *
 * node_scan_exec.c
 *	  Executes a sequential scan whose filter is applied to batches.
 *
 * For each batch the programs of the filter's clauses run, one after the other on the rows that are
 * left (expr_filter.c, which tells how errors stay core's).  The rows that pass are returned
 * one by one, in slots whose columns are decoded when somebody looks at them; what has no program
 * is tested then, row by row.
 *
 * In EvalPlanQual one row is tested; that goes through core's loop, by the whole filter, as does a
 * table that such a query scans beside it.
 *
 * Hash joins above tell which rows they have no use for (join_tap.c).  These are taken out
 * of a batch behind all programs, if no clause that is left to be tested may raise an error.
 *
 * A scan that turns round (cursors) goes back within its batch, then to the one before.
 *
 * Parallel scans take chunks of rows from core's descriptor for parallel sequential scans; behind
 * that in dynamic shared memory are the counts for EXPLAIN (node_scan_report.c), and what
 * processes tell each other of row filters.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "node_scan_internal.h"
#include "zs_base.h"
#include "zs_expr_guc.h"
#include "zs_node_filter.h"
#include "zs_node_scan.h"
#include "zs_slot.h"

/* How many scans of ours this process has begun. */
uint64		zsnode_scans_begun = 0;

/* ---- batches ----------------------------------------------------------------------------- */

/*
 * Lets the scan leave out rows by the filter, which is in the memory of the query.  To be called
 * before the first row is asked for.
 */
void
zsnode_scan_add_filter(CustomScanState *node, ZsRowFilter *filter)
{
	ZsScanNode *state = (ZsScanNode *) node;

	Assert(state->scan == NULL && node->ss.ps.state->es_epq_active == NULL);
	state->row_filters = lappend(state->row_filters, filter);
	state->tried_filters = lappend(state->tried_filters, filter);
}

#ifdef USE_ASSERT_CHECKING
/* Has the scan a filter for each column that the planner counts on one for? */
bool
zsnode_scan_has_filters(const CustomScanState *node)
{
	const ZsScanNode *state = (const ZsScanNode *) node;
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, state->row_filters)
		columns = lappend_int(columns, ((ZsRowFilter *) lfirst(lc))->attno);
	foreach(lc, list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, ZS_SCAN_TOLD))
	{
		if (!list_member_int(columns, lfirst_int(lc)))
			return false;
	}
	return true;
}
#endif

/* Opens the scan, unless that has been done, and the batches. */
static void
start_scan(ZsScanNode *state)
{
	ScanState  *ss = &state->css.ss;

	/* in a serial plan, or a parallel one that runs without workers */
	if (state->scan == NULL)
		state->scan = zs_table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot,
										 zs_scan_flags(ss->ps.state));
	if (state->batches == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ss->ps.state->es_query_cxt);

		state->batches = zsscan_batch_begin(state->scan, ss->ss_ScanTupleSlot);
		state->input = zsexpr_input_batch_wrap(state->batches,
											   ((Scan *) ss->ps.plan)->scanrelid,
											   ss->ss_ScanTupleSlot);
		MemoryContextSwitchTo(old);
	}
}

/* Lets the scan skip segments by the filter, and by keys of joins if that hides no error. */
static void
set_filters(ZsScanNode *state)
{
	ScanState  *ss = &state->css.ss;
	EState	   *estate = ss->ps.state;
	MemoryContext old = MemoryContextSwitchTo(ss->ps.ps_ExprContext->ecxt_per_tuple_memory);
	ListCell   *lc;

	zsscan_set_filters(ss->ss_ScanTupleSlot, ss->ss_currentRelation,
					   ((Scan *) ss->ps.plan)->scanrelid, zsexpr_filter_clauses(state->filter),
					   estate->es_param_list_info);
	/* the verifier looks at each row that is left out */
	state->zones_first = state->row_filters != NIL && !state->verify &&
		zsexpr_filter_raises_nothing(state->filter);
	if (state->zones_first)
	{
		foreach(lc, state->row_filters)
		{
			const ZsRowFilter *filter = lfirst(lc);

			if (filter->form != ZS_ROW_FILTER_HASH)
				zsscan_add_zone_test(ss->ss_ScanTupleSlot, ss->ss_currentRelation, filter->attno,
									 zsnode_row_filter_excludes_zone, lfirst(lc));
		}
	}
	MemoryContextSwitchTo(old);
}

/* Applies the filter to the batch; false if it has to be taken row by row. */
static bool
filter_batch(ZsScanNode *state, const ZsBatch *batch, uint64 *passed)
{
	bool		changed = false;
	bool		decided = zsexpr_filter_run(state->filter, state->input, batch, passed,
											&state->counts, &changed);

	if (changed)
		set_filters(state);
	return decided;
}

/*
 * The next batch, in the direction, that has rows to be looked at: state->list; false behind the
 * last.  Errors: those of parts of the filter that look at no column.
 */
bool
zsnode_scan_next_batch(ZsScanNode *state, bool forward)
{
	const ZsBatch *batch;
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		unwanted;
	bool		zones_asked;

	if (state->batches == NULL)
		start_scan(state);
	if (!state->prepared)
	{
		if (zsexpr_filter_start(state->filter))
			set_filters(state);
		state->prepared = true;
	}
	for (;;)
	{
		batch = forward ? zsscan_batch_next(state->batches) : zsscan_batch_previous(state->batches);
		zsexpr_input_batch_turn(state->input);
		state->nlist = 0;
		state->position = -1;
		if (batch == NULL)
			return false;
		zones_asked = state->zones_first && !batch->has_rows;
		if (zones_asked && zsnode_row_filters_exclude(state->row_filters, state->input))
		{
			state->nunwanted += batch->nsel;
			continue;
		}
		state->row_mode = !filter_batch(state, batch, passed);
		state->tests_rows = state->row_mode || zsexpr_filter_has_rest(state->filter);
		unwanted = 0;
		if (state->row_mode)
		{
			state->nredone++;
			zskernel_bits_copy(passed, batch->sel);
		}
		else if (state->row_filters != NIL && !zsexpr_filter_rest_may_raise(state->filter))
			unwanted = zsnode_row_filters_apply(state->tried_filters, state->input, passed,
											   zones_asked,
											   state->verify ? state->batches : NULL);
		state->nunwanted += unwanted;
		state->nlist = (int) zskernel_bits_list(passed, state->list);
		Assert(state->nlist <= (int) batch->nsel);
		InstrCountFiltered1(&state->css.ss, batch->nsel - state->nlist - unwanted);
		if (state->nlist == 0)
			continue;
		state->position = forward ? -1 : state->nlist;
		if (!state->row_mode)
			zsscan_batch_expect(state->batches, state->nlist);
		return true;
	}
}

/* ---- rows -------------------------------------------------------------------------------- */

/* The next row that passes, in the node's slot; false if there is none. */
static bool
next_row(ZsScanNode *state, bool forward)
{
	ScanState  *ss = &state->css.ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;

	for (;;)
	{
		int			position = state->position + (forward ? 1 : -1);

		if (position < 0 || position >= state->nlist)
		{
			if (!zsnode_scan_next_batch(state, forward))
			{
				ExecClearTuple(ss->ss_ScanTupleSlot);
				return false;
			}
			position = state->position + (forward ? 1 : -1);
		}
		state->position = position;
		Assert(position >= 0 && position < state->nlist);
		zsscan_batch_store(state->batches, state->list[position], ss->ss_ScanTupleSlot);
		econtext->ecxt_scantuple = ss->ss_ScanTupleSlot;
		if (!state->tests_rows ||
			zsexpr_filter_row_passes(state->filter, econtext, state->row_mode))
			return true;
		InstrCountFiltered1(ss, 1);
		ResetExprContext(econtext);
		CHECK_FOR_INTERRUPTS();
	}
}

/* For EvalPlanQual: any row of the table. */
static TupleTableSlot *
access_row(ScanState *ss)
{
	ZsScanNode *state = (ZsScanNode *) ss;

	Assert(ss->ps.state->es_epq_active != NULL);
	if (state->scan == NULL)
		state->scan = zs_table_beginscan(ss->ss_currentRelation, ss->ps.state->es_snapshot,
										 SO_NONE);
	if (table_scan_getnextslot(state->scan, ss->ps.state->es_direction, ss->ss_ScanTupleSlot))
		return ss->ss_ScanTupleSlot;
	return NULL;
}

/* ExecScanRecheckMtd: there is nothing to be checked. */
static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ExecCustomScan */
static TupleTableSlot *
scan_exec(CustomScanState *node)
{
	ZsScanNode *state = (ZsScanNode *) node;
	EState	   *estate = node->ss.ps.state;
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (unlikely(estate->es_epq_active != NULL))
		return ExecScan(&node->ss, access_row, recheck_row);

	ResetExprContext(node->ss.ps.ps_ExprContext);
	if (!next_row(state, !ScanDirectionIsBackward(estate->es_direction)))
	{
		if (projection != NULL)
			return ExecClearTuple(projection->pi_state.resultslot);
		return node->ss.ss_ScanTupleSlot;
	}
	if (projection != NULL)
		return ExecProject(projection);
	return node->ss.ss_ScanTupleSlot;
}

/* ---- begin, end -------------------------------------------------------------------------- */

/*
 * Makes the filter, of which the first nfirst clauses may be taken out of order.  They are to be
 * tested one by one, so core's state for all of them goes: who walks plan states would meet the
 * subplans of the filter twice.
 */
static void
init_filter(ZsScanNode *state, List *qual, int nfirst)
{
	ScanState  *ss = &state->css.ss;
	PlanState  *ps = &ss->ps;
	List	   *others = ps->subPlan;
	ListCell   *lc;

	ps->qual = NULL;
	ps->subPlan = NIL;
	state->filter = zsexpr_filter_create(RelationGetDescr(ss->ss_currentRelation),
										 ((Scan *) ps->plan)->scanrelid, qual, nfirst, ps, ps);
	foreach(lc, ps->subPlan)
	{
		ListCell   *lc2;

		foreach(lc2, others)
		{
			if (lfirst_node(SubPlanState, lc2)->subplan == lfirst_node(SubPlanState, lc)->subplan)
				others = foreach_delete_current(others, lc2);
		}
	}
	ps->subPlan = list_concat(others, ps->subPlan);
}

/* BeginCustomScan */
static void
scan_begin(CustomScanState *node, EState *estate, int eflags)
{
	ZsScanNode *state = (ZsScanNode *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;

	if (estate->es_epq_active != NULL)
		return;
	zsnode_scans_begun++;
	init_filter(state, cscan->scan.plan.qual,
				intVal(list_nth(cscan->custom_private, ZS_SCAN_NFIRST)));
	state->position = -1;
	state->verify = zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		zsscan_set_needed(&node->ss);
}

/* EndCustomScan */
static void
scan_end(CustomScanState *node)
{
	ZsScanNode *state = (ZsScanNode *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	if (state->scan != NULL)
		table_endscan(state->scan);
}

/* ReScanCustomScan */
static void
scan_rescan(CustomScanState *node)
{
	ZsScanNode *state = (ZsScanNode *) node;

	if (state->scan != NULL)
		table_rescan(state->scan, NULL);
	if (state->batches != NULL)
		zsscan_batch_restart(state->batches);
	zsnode_row_filters_forget(state->row_filters);
	state->nlist = 0;
	state->position = -1;
	/* programs stay as they are where no parameter changes */
	if (node->ss.ps.chgParam != NULL)
		state->prepared = false;
	ExecScanReScan(&node->ss);
}

/* ---- parallel scans ---------------------------------------------------------------------- */

/* Bytes of core's part of the shared memory. */
static Size
scan_size(CustomScanState *node)
{
	return MAXALIGN(table_parallelscan_estimate(node->ss.ss_currentRelation,
												node->ss.ps.state->es_snapshot));
}

/* The row filters for which the scan has shared memory. */
static List *
sharing_filters(const ZsScanNode *state)
{
	List	   *filters = NIL;
	ListCell   *lc;

	foreach(lc, state->row_filters)
	{
		if (((ZsRowFilter *) lfirst(lc))->shares)
			filters = lappend(filters, lfirst(lc));
	}
	return filters;
}

/* Points the filters to shared memory, or away from it. */
static void
share_filters(ZsScanNode *state, ZsScanShared *shared)
{
	ListCell   *lc;

	foreach(lc, sharing_filters(state))
	{
		ZsRowFilter *filter = lfirst(lc);
		int			i = foreach_current_index(lc);

		Assert(shared == NULL || i < shared->nfilters);
		filter->methods->share(filter, shared == NULL ? NULL : &shared->filters[i]);
	}
}

/*
 * Has this process the same filters as the leader?  Both look at the same plan and parameters;
 * should a procedural language have told the leader less of these, rows are filtered by nobody.
 */
static bool
has_same_filters(const ZsScanNode *state, const ZsScanShared *shared)
{
	List	   *filters = sharing_filters(state);
	ListCell   *lc;

	if (list_length(filters) != shared->nfilters)
		return false;
	foreach(lc, filters)
	{
		const ZsRowFilter *filter = lfirst(lc);
		const ZsRowFilterShared *other = &shared->filters[foreach_current_index(lc)];

		if (other->source_node != filter->source_node ||
			other->source_attno != filter->source_attno || other->form != filter->form)
			return false;
	}
	return true;
}

/* EstimateDSMCustomScan */
static Size
scan_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return scan_size(node) + offsetof(ZsScanShared, filters) +
		list_length(sharing_filters((ZsScanNode *) node)) * sizeof(ZsRowFilterShared);
}

/* InitializeDSMCustomScan: in the leader, before there are workers. */
static void
scan_initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	ZsScanNode *state = (ZsScanNode *) node;
	ParallelTableScanDesc pscan = coordinate;
	ListCell   *lc;

	state->shared = (ZsScanShared *) ((char *) coordinate + scan_size(node));
	pg_atomic_init_u64(&state->shared->skipped, 0);
	pg_atomic_init_u64(&state->shared->segments, 0);
	pg_atomic_init_u64(&state->shared->vectors, 0);
	pg_atomic_init_u64(&state->shared->decided, 0);
	pg_atomic_init_u64(&state->shared->redone, 0);
	pg_atomic_init_u64(&state->shared->unwanted, 0);
	SpinLockInit(&state->shared->io_mutex);
	memset(&state->shared->io, 0, sizeof(ZsIoCounts));
	state->shared->nfilters = 0;
	foreach(lc, sharing_filters(state))
	{
		const ZsRowFilter *filter = lfirst(lc);
		ZsRowFilterShared *place = &state->shared->filters[state->shared->nfilters++];

		pg_atomic_init_u64(&place->parts, InvalidDsaPointer);
		pg_atomic_init_u32(&place->unusable, 0);
		place->source_node = filter->source_node;
		place->source_attno = filter->source_attno;
		place->form = filter->form;
	}
	/* without a segment the memory is this process's, and hash tables are as in a serial plan */
	share_filters(state, pcxt->seg != NULL ? state->shared : NULL);
	table_parallelscan_initialize(node->ss.ss_currentRelation, pscan,
								  node->ss.ps.state->es_snapshot);

	/*
	 * workers that were sent away (LIMIT) and are wanted again get other memory, and so does the
	 * scan
	 */
	state->ended = zsnode_scan_counts(state);
	state->batches = NULL;
	state->scan = zs_table_beginscan_parallel(node->ss.ss_currentRelation, pscan,
											  zs_scan_flags(node->ss.ps.state));
}

/* ReInitializeDSMCustomScan: the workers are going to read the table again. */
static void
scan_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	ZsScanNode *state = (ZsScanNode *) node;
	ListCell   *lc;

	state->shared = (ZsScanShared *) ((char *) coordinate + scan_size(node));
	foreach(lc, sharing_filters(state))
	{
		ZsRowFilter *filter = lfirst(lc);
		ZsRowFilterShared *place = &state->shared->filters[foreach_current_index(lc)];

		filter->methods->reset_shared(filter, place, node->ss.ps.state->es_query_dsa);
		pg_atomic_write_u32(&place->unusable, 0);
	}
	share_filters(state, pcxt->seg != NULL ? state->shared : NULL);
	table_parallelscan_reinitialize(node->ss.ss_currentRelation,
									(ParallelTableScanDesc) coordinate);
}

/* InitializeWorkerCustomScan: takes part in the leader's scan. */
static void
scan_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	ZsScanNode *state = (ZsScanNode *) node;

	state->shared = (ZsScanShared *) ((char *) coordinate + scan_size(node));
	if (has_same_filters(state, state->shared))
		share_filters(state, state->shared);
	else
	{
		for (int i = 0; i < state->shared->nfilters; i++)
			pg_atomic_write_u32(&state->shared->filters[i].unusable, 1);
	}
	state->scan = zs_table_beginscan_parallel(node->ss.ss_currentRelation,
											  (ParallelTableScanDesc) coordinate,
											  zs_scan_flags(node->ss.ps.state));
}

/* Shared memory goes before EXPLAIN asks. */
static void
scan_shutdown(CustomScanState *node)
{
	ZsScanNode *state = (ZsScanNode *) node;

	/* at the end of each part of a plan that is executed in parts, too, which is never parallel */
	if (state->shared == NULL)
		return;
	zsnode_scan_exchange_counts(state);
	share_filters(state, NULL);
	state->shared = NULL;
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreScan",
	.BeginCustomScan = scan_begin,
	.ExecCustomScan = scan_exec,
	.EndCustomScan = scan_end,
	.ReScanCustomScan = scan_rescan,
	.EstimateDSMCustomScan = scan_estimate_dsm,
	.InitializeDSMCustomScan = scan_initialize_dsm,
	.ReInitializeDSMCustomScan = scan_reinitialize_dsm,
	.InitializeWorkerCustomScan = scan_initialize_worker,
	.ShutdownCustomScan = scan_shutdown,
	.ExplainCustomScan = zsnode_scan_explain,
};

/* CreateCustomScanState: the node's state, all zeros but for its tag and methods. */
Node *
zsnode_scan_create_state(CustomScan *cscan)
{
	ZsScanNode *state = palloc0(sizeof(ZsScanNode));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsZedstore;
	return (Node *) state;
}
