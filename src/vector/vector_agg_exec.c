/*-------------------------------------------------------------------------
 *
 * vector_agg_exec.c
 *	  Executes aggregates over one table by batches.
 *
 * For each batch the filter's program runs, then each aggregate takes its column's values at the rows that
 * passed.  Programs and kernels never raise an error.  Where one of them meets something that it must not
 * decide (numerics that are no 64-bit integers, sums of floats that become infinite), or the batch has rows in the
 * row tree, the aggregates go back to what they were before the batch, and its rows are taken one by
 * one through core's expressions, so that errors and odd values are core's.
 *
 * count(*) without a filter adds up the lengths of visible runs and looks at no column.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#ifdef ZS_PG18
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "vector_agg.h"
#include "vector_internal.h"
#include "zs_base.h"
#include "zs_projection.h"
#include "zs_slot.h"

/* One aggregate of the node. */
typedef struct NodeAgg
{
	ZsAgg		agg;
	ExprState  *filter;			/* FILTER, for single rows; or NULL */
	ExprState  *arg;			/* or NULL */
} NodeAgg;

typedef struct AggNodeState
{
	CustomScanState css;		/* first */
	List	   *filter_clauses;
	List	   *aggrefs;
	ZsQual	   *filter;
	ExprState  *filter_rows;	/* the same for single rows */
	bool		counts_only;	/* no column has to be looked at */
	int			naggs;
	NodeAgg    *aggs;
	ZsAggValue *values;
	ZsAggValue *saved;			/* before the present batch */
	TableScanDesc scan;
	ZsBatchScan *batches;
	TupleTableSlot *rowslot;
	ExprContext *rowcontext;	/* of single rows */
	MemoryContext context;		/* of the values */
	ZsAggVerifier *verifier;
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		done;

	/* for EXPLAIN */
	uint64		nbatches;
	uint64		nredone;
	uint64		nremoved;
	ZsQualCounts counts;
} AggNodeState;

/* ---- one row ------------------------------------------------------------------------ */

/* Adds the row in rowcontext's slot, which passed the filter. */
static void
add_row(AggNodeState *state, bool verify_only)
{
	ExprContext *econtext = state->rowcontext;

	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		Datum		datum = (Datum) 0;
		bool		isnull = false;
		MemoryContext old;

		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		if (agg->filter != NULL && !ExecQual(agg->filter, econtext))
		{
			MemoryContextSwitchTo(old);
			continue;
		}
		if (agg->arg != NULL)
			datum = ExecEvalExpr(agg->arg, econtext, &isnull);
		if (state->verifier != NULL)
			zsvector_verify_row(state->verifier, i, datum, isnull);
		MemoryContextSwitchTo(state->context);
		if (!verify_only)
			zsvector_agg_add_datum(&agg->agg, &state->values[i], datum, isnull);
		MemoryContextSwitchTo(old);
	}
}

/*
 * Takes the batch row by row.  passed: the rows that the program let pass, to be compared, or NULL.
 */
static void
add_rows(AggNodeState *state, const ZsBatch *batch, const uint64 *passed)
{
	ExprContext *econtext = state->rowcontext;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	for (uint32 i = 0; i < n; i++)
	{
		bool		pass;

		ResetExprContext(econtext);
		zsscan_batch_store(state->batches, list[i], state->rowslot);
		econtext->ecxt_scantuple = state->rowslot;
		pass = ExecQual(state->filter_rows, econtext);
		if (passed != NULL && pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
		if (pass)
			add_row(state, passed != NULL);
		else if (passed == NULL)
			state->nremoved++;
	}
	ExecClearTuple(state->rowslot);
}

/* ---- one batch ------------------------------------------------------------------------ */

/* Adds the rows of sel, which passed the filter, to the aggregate; false if that has to be done row by row. */
static bool
add_to_aggregate(AggNodeState *state, int i, const uint64 *passed)
{
	const ZsAgg *agg = &state->aggs[i].agg;
	const ZsColumnVector *vector;
	ZsColumnBounds bounds;
	uint64		sel[ZS_KERNEL_WORDS];

	zskernel_bits_copy(sel, passed);
	if (agg->filter != NULL)
	{
		ZsTruth		truth;

		if (!zsvector_qual_run(agg->filter, state->batches, passed, &truth, &state->counts))
			return false;
		zskernel_bits_and(sel, truth.yes);
	}
	if (!zskernel_bits_any(sel))
		return true;
	if (agg->kind == ZS_AGG_COUNT_ROWS ||
		(agg->kind == ZS_AGG_COUNT && zs_enable_zone_maps &&
		 zsscan_batch_bounds(state->batches, agg->attno, &bounds) && bounds.no_nulls))
		return zsvector_agg_add_batch(agg, &state->values[i], NULL, sel);

	vector = zsscan_batch_column(state->batches, agg->attno,
								 agg->kind == ZS_AGG_COUNT ? ZS_WANT_NULLS :
								 zsvector_want_of(agg->domain), sel);
	if (vector == NULL)
		return false;
	if (vector->has_nulls)
		zskernel_bits_andnot(sel, vector->nulls);
	if (vector->has_odd && zskernel_bits_meet(vector->odd, sel))
		return false;
	return zsvector_agg_add_batch(agg, &state->values[i], vector, sel);
}

/* False if the batch has to be taken row by row; then values are what they were. */
static bool
add_columns(AggNodeState *state, const ZsBatch *batch, uint64 *passed)
{
	ZsTruth		truth;
	MemoryContext old;
	bool		ok = true;

	if (state->by_rows || batch->has_rows)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	if (state->filter_clauses != NIL)
	{
		if (!zsvector_qual_run(state->filter, state->batches, batch->sel, &truth, &state->counts))
			return false;
		zskernel_bits_and(passed, truth.yes);
	}
	memcpy(state->saved, state->values, state->naggs * sizeof(ZsAggValue));
	old = MemoryContextSwitchTo(state->context);
	for (int i = 0; i < state->naggs && ok; i++)
		ok = add_to_aggregate(state, i, passed);
	MemoryContextSwitchTo(old);
	if (!ok)
		memcpy(state->values, state->saved, state->naggs * sizeof(ZsAggValue));
	return ok;
}

static void
add_batch(AggNodeState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];

	state->nbatches++;
	if (!add_columns(state, batch, passed))
	{
		state->nredone++;
		add_rows(state, batch, NULL);
		return;
	}
	state->nremoved += batch->nsel - zskernel_bits_count(passed);
	if (state->verifier != NULL)
		add_rows(state, batch, passed);
}

/* ---- all of it -------------------------------------------------------------------------- */

static void
start_scan(AggNodeState *state)
{
	ScanState  *ss = &state->css.ss;
	Snapshot	snapshot = ss->ps.state->es_snapshot;

	if (state->scan == NULL)
	{
		state->scan = table_beginscan(ss->ss_currentRelation, snapshot, 0, NULL);
		state->batches = zsscan_batch_begin(state->scan, state->rowslot);
	}
	else
	{
		table_rescan(state->scan, NULL);
		zsscan_batch_restart(state->batches);
	}
}

/* Compares what the lengths of runs say with a count of rows. */
static void
verify_count(AggNodeState *state, uint64 count)
{
	TableScanDesc scan = table_beginscan(state->css.ss.ss_currentRelation,
										 state->css.ss.ps.state->es_snapshot, 0, NULL);
	uint64		expected = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, state->rowslot))
	{
		CHECK_FOR_INTERRUPTS();
		expected++;
	}
	ExecClearTuple(state->rowslot);
	table_endscan(scan);
	if (expected != count)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("number of rows differs: " UINT64_FORMAT " by runs, " UINT64_FORMAT " by rows",
								 count, expected)));
}

static void
count_runs(AggNodeState *state)
{
	uint64		count = 0;
	uint64		n;

	while ((n = zsscan_batch_next_run(state->batches)) > 0)
		count += n;
	for (int i = 0; i < state->naggs; i++)
		state->values[i].count = (int64) count;
	if (state->verifier != NULL)
		verify_count(state, count);
}

static void
aggregate(AggNodeState *state)
{
	const ZsBatch *batch;

	MemoryContextReset(state->context);
	memset(state->values, 0, state->naggs * sizeof(ZsAggValue));
	start_scan(state);
	if (state->counts_only && !state->by_rows)
	{
		count_runs(state);
		return;
	}
	while ((batch = zsscan_batch_next(state->batches)) != NULL)
		add_batch(state, batch);
	ExecClearTuple(state->rowslot);
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	AggNodeState *state = (AggNodeState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	MemoryContext old;

	if (state->done)
		return ExecClearTuple(slot);
	aggregate(state);
	state->done = true;

	ExecClearTuple(slot);
	old = MemoryContextSwitchTo(state->context);
	for (int i = 0; i < state->naggs; i++)
	{
		slot->tts_values[i] = zsvector_agg_result(&state->aggs[i].agg, &state->values[i],
												  &slot->tts_isnull[i]);
		if (state->verifier != NULL && !(state->counts_only && !state->by_rows))
			zsvector_verify_result(state->verifier, i, slot->tts_values[i], slot->tts_isnull[i]);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

static bool
recheck_group(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* The checks that an Agg node makes when it begins. */
static void
check_permissions(const Aggref *aggref)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	Oid			functions[2];
	Oid			owner;
	AclResult	aclresult;

	aclresult = object_aclcheck(ProcedureRelationId, aggref->aggfnoid, GetUserId(), ACL_EXECUTE);
	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
	InvokeFunctionExecuteHook(aggref->aggfnoid);

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", aggref->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	functions[0] = form->aggtransfn;
	functions[1] = form->aggfinalfn;
	ReleaseSysCache(tuple);
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (!OidIsValid(functions[i]))
			continue;
		aclresult = object_aclcheck(ProcedureRelationId, functions[i], owner, ACL_EXECUTE);
		if (aclresult != ACLCHECK_OK)
			aclcheck_error(aclresult, OBJECT_FUNCTION, get_func_name(functions[i]));
		InvokeFunctionExecuteHook(functions[i]);
	}
}

static void
make_rowslot(AggNodeState *state, EState *estate)
{
	Relation	rel = state->css.ss.ss_currentRelation;
	Index		scanrelid = ((Scan *) state->css.ss.ps.plan)->scanrelid;
	Bitmapset  *varattnos = NULL;
	Bitmapset  *needed = NULL;
	int			i = -1;

	pull_varattnos((Node *) state->filter_clauses, scanrelid, &varattnos);
	pull_varattnos((Node *) state->aggrefs, scanrelid, &varattnos);
	while ((i = bms_next_member(varattnos, i)) >= 0)
	{
		Assert(i + FirstLowInvalidHeapAttributeNumber > 0);
		needed = bms_add_member(needed, i + FirstLowInvalidHeapAttributeNumber);
	}
	state->rowslot = ExecAllocTableSlot(&estate->es_tupleTable, RelationGetDescr(rel), &TTSOpsZedstore);
	zsslot_set_needed(state->rowslot, needed, !zs_enable_column_projection);
	zsscan_set_filters(state->rowslot, rel, scanrelid, state->filter_clauses,
					   estate->es_param_list_info);
}

static void
agg_begin(CustomScanState *node, EState *estate, int eflags)
{
	AggNodeState *state = (AggNodeState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	TupleDesc	desc = RelationGetDescr(node->ss.ss_currentRelation);
	Index		scanrelid = cscan->scan.scanrelid;
	int			planned_relid = intVal(linitial(cscan->custom_private));
	ListCell   *lc;

	/* expressions in custom_private have the numbers of the time of planning */
	state->filter_clauses = copyObject(lsecond(cscan->custom_private));
	if (planned_relid != (int) scanrelid)
		ChangeVarNodes((Node *) state->filter_clauses, planned_relid, scanrelid, 0);
	foreach(lc, cscan->custom_scan_tlist)
		state->aggrefs = lappend(state->aggrefs, lfirst_node(TargetEntry, lc)->expr);
	state->naggs = list_length(state->aggrefs);
	state->aggs = palloc0(state->naggs * sizeof(NodeAgg));
	state->filter = zsvector_qual_compile(desc, scanrelid, (Node *) state->filter_clauses);
	if (state->filter == NULL)
		elog(ERROR, "filter has no program");

	/* without a parent: columns come from a slot that is not the node's */
	state->filter_rows = ExecInitQual(state->filter_clauses, NULL);
	state->counts_only = state->filter_clauses == NIL;
	foreach(lc, state->aggrefs)
	{
		Aggref	   *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		check_permissions(aggref);
		if (!zsvector_agg_classify(desc, scanrelid, aggref, &agg->agg))
			elog(ERROR, "aggregate %u has no program", aggref->aggfnoid);
		if (aggref->aggfilter != NULL)
			agg->filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
		if (aggref->args != NIL)
			agg->arg = ExecInitExpr(linitial_node(TargetEntry, aggref->args)->expr, NULL);
		if (agg->agg.kind != ZS_AGG_COUNT_ROWS || agg->agg.filter != NULL)
			state->counts_only = false;
	}
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	state->values = palloc0(state->naggs * sizeof(ZsAggValue));
	state->saved = palloc0(state->naggs * sizeof(ZsAggValue));
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregates",
										   ALLOCSET_DEFAULT_SIZES);
	state->rowcontext = CreateExprContext(estate);
	state->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY)
		state->verifier = zsvector_verify_begin(state->aggrefs);
	make_rowslot(state, estate);
}

static TupleTableSlot *
agg_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_group, recheck_group);
}

static void
agg_end(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	if (state->rowslot != NULL)
		ExecClearTuple(state->rowslot);
	if (state->scan != NULL)
		table_endscan(state->scan);
}

static void
agg_rescan(CustomScanState *node)
{
	((AggNodeState *) node)->done = false;
	ExecScanReScan(&node->ss);
}

static void
agg_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AggNodeState *state = (AggNodeState *) node;

	if (state->filter_clauses != NIL)
	{
		List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
		bool		prefix = list_length(es->rtable) > 1 || es->verbose;

		ExplainPropertyText("Scan Filter",
							deparse_expression((Node *) make_ands_explicit(state->filter_clauses),
											   context, prefix, false), es);
	}
	if (!es->analyze)
		return;
	if (state->filter_clauses != NIL)
		ExplainPropertyUInteger("Rows Removed by Scan Filter", NULL, state->nremoved, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || state->counts.skipped > 0)
		ExplainPropertyUInteger("Comparisons Decided by Zone Maps", NULL, state->counts.skipped, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || state->nredone > 0)
		ExplainPropertyUInteger("Batches Redone Row-wise", NULL, state->nredone, es);
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreAgg",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.ExplainCustomScan = agg_explain,
};

Node *
zsvector_agg_create_state(CustomScan *cscan)
{
	AggNodeState *state = palloc0(sizeof(AggNodeState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsVirtual;
	return (Node *) state;
}
