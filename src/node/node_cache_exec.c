/*-------------------------------------------------------------------------
 *
 * node_cache_exec.c
 *	  Runs the cache of a correlated subquery's results.
 *
 * A result is looked up when its first row is asked for, not when the node is rescanned: whoever
 * rescans need not ask.  The plan below learns of the rescan only if there is no result; until then
 * its chgParam collects what has changed since it last ran.
 *
 * 1. A result is kept when the plan below has been read to its end, or, below EXISTS, to its first
 *    row.  ANY and ALL that stop early leave none.
 * 2. The parameters that are keys are those that the subquery's plan looks at.  When another one
 *    of its parameters changes everything is forgotten: a CTE, a work table or the result of an
 *    initplan around the subquery is new.  An initplan or CTE of the subquery itself that depends
 *    on keys alone is a function of them, and changes nothing.
 * 3. An execution, also one by EvalPlanQual or a worker, has a node state of its own, which begins
 *    with nothing.
 *
 * Where nearly all values differ, looking them up is wasted, and so is the memory: after GIVE_UP
 * look-ups of which less than one in MIN_HITS found a result the node stops, until everything has
 * to be forgotten for another reason.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_cache_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "node_cache.h"
#include "zs_expr_guc.h"
#include "zs_node.h"

#define GIVE_UP		4096
#define MIN_HITS	20

typedef enum CachePhase
{
	CACHE_PHASE_INVALID,
	CACHE_PHASE_BEGIN,			/* no row was asked for: -> READING, RUNNING, BYPASS */
	CACHE_PHASE_READING,		/* rows come from a result: -> DONE */
	CACHE_PHASE_RUNNING,		/* ... from the plan below, and are kept: -> BYPASS, DONE */
	CACHE_PHASE_BYPASS,			/* ... and are not: -> DONE */
	CACHE_PHASE_DONE			/* ... have come to their end */
} CachePhase;							/* a rescan: -> BEGIN */

typedef struct CacheState
{
	CustomScanState css;
	bool		first_row;		/* is one row all that is asked for? */
	bool		verify;			/* run the plan below for each result that is found, and compare */
	CachePhase	phase;
	ZsCacheTable *table;		/* NULL: there are no keys, or no memory */
	const ZsCachedRow *next;	/* READING: the row to return next */
	bool		rescan;			/* must the plan below be told of a rescan? */

	int			nkeys;
	ZsCacheKey *keys;
	Datum	   *values;			/* of the keys, for one look-up */
	bool	   *isnull;
	Bitmapset  *expected;		/* parameters that may change without new results: rule 2 */

	bool		given_up;
	uint64		nlookups;		/* since everything was forgotten */
	uint64		nfound;
	uint64		nhits;			/* for EXPLAIN */
	uint64		nmisses;
} CacheState;

/* ---- begin and end --------------------------------------------------------------------------- */

static Plan *
plan_of(const SubPlan *subplan, const EState *estate)
{
	return list_nth(estate->es_plannedstmt->subplans, subplan->plan_id - 1);
}

/* The keys that the plan below or initplans of the subquery look at. */
static void
find_keys(CacheState *state, CustomScan *cscan, PlanState *child, EState *estate)
{
	List	   *keys = lthird_node(List, cscan->custom_private);
	Bitmapset  *needed = bms_copy(child->plan->allParam);
	ListCell   *lc;

	foreach(lc, cscan->scan.plan.initPlan)
		needed = bms_add_members(needed, plan_of(lfirst_node(SubPlan, lc), estate)->extParam);
	state->keys = palloc(list_length(keys) * sizeof(ZsCacheKey));
	foreach(lc, keys)
	{
		Param	   *param = lfirst_node(Param, lc);
		ZsCacheKey *key = &state->keys[state->nkeys];

		if (!bms_is_member(param->paramid, needed))
			continue;
		key->paramid = param->paramid;
		get_typlenbyval(param->paramtype, &key->typlen, &key->typbyval);
		state->expected = bms_add_member(state->expected, param->paramid);
		state->nkeys++;
	}
	state->values = palloc(Max(state->nkeys, 1) * sizeof(Datum));
	state->isnull = palloc(Max(state->nkeys, 1) * sizeof(bool));
}

/* Adds the results of the subquery's own initplans and CTEs that depend on keys alone. */
static void
find_derived_parameters(CacheState *state, EState *estate)
{
	ListCell   *lc;

	foreach(lc, state->css.ss.ps.plan->initPlan)
	{
		SubPlan    *subplan = lfirst_node(SubPlan, lc);
		ListCell   *lc2;

		/* one that depends on another one stands behind it */
		if (!bms_is_subset(plan_of(subplan, estate)->extParam, state->expected))
			continue;
		foreach(lc2, subplan->setParam)
			state->expected = bms_add_member(state->expected, lfirst_int(lc2));
	}
}

/* BeginCustomScan */
static void
begin_cache(CustomScanState *node, EState *estate, int eflags)
{
	CacheState *state = (CacheState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);
	PlanState  *child = ExecInitNode(linitial(cscan->custom_plans), estate, eflags);

	Assert((eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0);
	node->custom_ps = list_make1(child);
	state->first_row = boolVal(lsecond(cscan->custom_private));
	state->verify = zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	state->phase = CACHE_PHASE_BEGIN;
	find_keys(state, cscan, child, estate);
	find_derived_parameters(state, estate);
	state->table = zsnode_cache_table_create(state->keys, state->nkeys, get_hash_memory_limit());
}

/* EndCustomScan */
static void
end_cache(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

/*
 * The plan below is told of changed parameters, and not yet rescanned.  Are some of them no keys?
 * Then what is known is of no use any more.
 */
static void
rescan_cache(CustomScanState *node)
{
	CacheState *state = (CacheState *) node;
	PlanState  *child = linitial(node->custom_ps);

	if (zsnode_cache_table_is_filling(state->table))
		zsnode_cache_table_abandon(state->table);
	state->phase = CACHE_PHASE_BEGIN;
	state->rescan = true;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(child, node->ss.ps.chgParam);
	if (bms_nonempty_difference(child->chgParam, state->expected))
	{
		zsnode_cache_table_reset(state->table);
		state->given_up = false;
		state->nlookups = state->nfound = 0;
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The next row of the plan below; NULL at its end. */
static TupleTableSlot *
next_of_child(CacheState *state)
{
	PlanState  *child = linitial(state->css.custom_ps);
	TupleTableSlot *slot;

	/* ExecProcNode() does it where parameters have changed */
	if (state->rescan && child->chgParam == NULL)
		ExecReScan(child);
	state->rescan = false;
	slot = ExecProcNode(child);
	return TupIsNull(slot) ? NULL : slot;
}

/* The values of the keys, in memory of the current row where they had to be put together. */
static void
get_values(CacheState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	for (int i = 0; i < state->nkeys; i++)
	{
		const ZsCacheKey *key = &state->keys[i];
		const ParamExecData *param = &econtext->ecxt_param_exec_vals[key->paramid];

		Assert(param->execPlan == NULL);
		state->values[i] = param->value;
		state->isnull[i] = param->isnull;
		if (!param->isnull && key->typlen == -1)
			state->values[i] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(param->value));
	}
	MemoryContextSwitchTo(oldcontext);
}

static void
give_up(CacheState *state)
{
	state->given_up = true;
	zsnode_cache_table_reset(state->table);
}

/* ---- verification ---------------------------------------------------------------------------- */

static bool
is_same_value(Form_pg_attribute attr, Datum a, bool a_isnull, Datum b, bool b_isnull)
{
	Oid			output;
	bool		is_varlena;

	if (a_isnull || b_isnull)
		return a_isnull && b_isnull;
	if (datum_image_eq(a, b, attr->attbyval, attr->attlen))
		return true;
	/* numerics and others have several forms of a value */
	getTypeOutputInfo(attr->atttypid, &output, &is_varlena);
	return strcmp(OidOutputFunctionCall(output, a), OidOutputFunctionCall(output, b)) == 0;
}

/* Runs the plan below and compares its rows with the result that was found. */
static void
verify_result(CacheState *state, const ZsCachedResult *result)
{
	TupleTableSlot *cached = state->css.ss.ss_ScanTupleSlot;
	const ZsCachedRow *row = result->first;
	TupleTableSlot *slot;

	while ((slot = next_of_child(state)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (row == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("cached result has fewer rows than the subquery")));
		ExecStoreMinimalTuple(row->tuple, cached, false);
		slot_getallattrs(cached);
		slot_getallattrs(slot);
		for (int i = 0; i < cached->tts_tupleDescriptor->natts; i++)
		{
			if (!is_same_value(TupleDescAttr(cached->tts_tupleDescriptor, i),
							   cached->tts_values[i], cached->tts_isnull[i],
							   slot->tts_values[i], slot->tts_isnull[i]))
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg_internal("cached result differs from the subquery in column %d",
										 i + 1)));
		}
		row = row->next;
		if (state->first_row)
			break;
	}
	if (row != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("cached result has more rows than the subquery")));
	state->rescan = true;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* BEGIN: is the result known? */
static void
look_up(CacheState *state)
{
	const ZsCachedResult *result;

	Assert(state->phase == CACHE_PHASE_BEGIN && !zsnode_cache_table_is_filling(state->table));
	if (state->given_up)
	{
		state->phase = CACHE_PHASE_BYPASS;
		return;
	}
	get_values(state);
	state->nlookups++;
	result = zsnode_cache_table_find(state->table, state->values, state->isnull);
	if (result != NULL)
	{
		state->nfound++;
		state->nhits++;
		if (state->verify)
			verify_result(state, result);
		state->next = result->first;
		state->phase = CACHE_PHASE_READING;
		return;
	}
	state->nmisses++;
	if (state->nlookups >= GIVE_UP)
	{
		bool		useless = state->nfound < state->nlookups / MIN_HITS;

		state->nlookups = state->nfound = 0;
		if (useless)
		{
			give_up(state);
			state->phase = CACHE_PHASE_BYPASS;
			return;
		}
	}
	zsnode_cache_table_begin(state->table, state->values, state->isnull);
	state->phase = CACHE_PHASE_RUNNING;
}

/* READING: the next row that was kept. */
static TupleTableSlot *
read_row(CacheState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	const ZsCachedRow *row = state->next;

	if (row == NULL)
	{
		state->phase = CACHE_PHASE_DONE;
		return ExecClearTuple(slot);
	}
	state->next = row->next;
	return ExecStoreMinimalTuple(row->tuple, slot, false);
}

/* RUNNING, BYPASS: the next row of the plan below. */
static TupleTableSlot *
run_row(CacheState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *row = next_of_child(state);

	Assert((state->phase == CACHE_PHASE_RUNNING) == zsnode_cache_table_is_filling(state->table));
	if (row == NULL)
	{
		if (state->phase == CACHE_PHASE_RUNNING)
			zsnode_cache_table_finish(state->table);
		state->phase = CACHE_PHASE_DONE;
		return ExecClearTuple(slot);
	}
	ExecCopySlot(slot, row);
	if (state->phase == CACHE_PHASE_RUNNING)
	{
		bool		should_free;
		MinimalTuple tuple = ExecFetchSlotMinimalTuple(slot, &should_free);

		Assert(!should_free);	/* it is the slot's own */
		if (!zsnode_cache_table_add(state->table, tuple))
			state->phase = CACHE_PHASE_BYPASS;
		else if (state->first_row)
		{
			zsnode_cache_table_finish(state->table);
			state->phase = CACHE_PHASE_BYPASS;
		}
	}
	return slot;
}

/* ExecCustomScan: the row of the subquery for the present parameters. */
static TupleTableSlot *
exec_cache(CustomScanState *node)
{
	CacheState *state = (CacheState *) node;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = NULL;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	if (state->phase == CACHE_PHASE_BEGIN)
		look_up(state);
	switch (state->phase)
	{
		case CACHE_PHASE_READING:
			slot = read_row(state);
			break;
		case CACHE_PHASE_RUNNING:
		case CACHE_PHASE_BYPASS:
			slot = run_row(state);
			break;
		case CACHE_PHASE_DONE:
			slot = ExecClearTuple(node->ss.ss_ScanTupleSlot);
			break;
		case CACHE_PHASE_INVALID:
		case CACHE_PHASE_BEGIN:
			elog(ERROR, "unexpected phase %d of a result cache", (int) state->phase);
	}
	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	if (TupIsNull(slot))
		return ExecClearTuple(node->ss.ps.ps_ResultTupleSlot);
	econtext->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

/* ---- EXPLAIN --------------------------------------------------------------------------------- */

/* ExplainCustomScan */
static void
explain_cache(CustomScanState *node, List *ancestors, ExplainState *es)
{
	CacheState *state = (CacheState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *names = NIL;
	ListCell   *lc;
	uint64		nevictions = zsnode_cache_table_evictions(state->table);
	uint64		memory = (zsnode_cache_table_peak(state->table) + 1023) / 1024;

	foreach(lc, lthird_node(List, cscan->custom_private))
	{
		if (bms_is_member(lfirst_node(Param, lc)->paramid, state->expected))
			names = lappend(names, deparse_expression(lfirst(lc), context, es->verbose, false));
	}
	if (names != NIL)
		ExplainPropertyList("Cache Key", names, es);
	if (!es->analyze)
		return;
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyUInteger("Cache Hits", NULL, state->nhits, es);
		ExplainPropertyUInteger("Cache Misses", NULL, state->nmisses, es);
		ExplainPropertyUInteger("Cache Evictions", NULL, nevictions, es);
		ExplainPropertyUInteger("Peak Memory Usage", "kB", memory, es);
		ExplainPropertyBool("Cache Given Up", state->given_up, es);
	}
	else if (state->nhits + state->nmisses > 0)
	{
		StringInfoData line;

		initStringInfo(&line);
		appendStringInfo(&line, UINT64_FORMAT "  Misses: " UINT64_FORMAT "  Evictions: "
						 UINT64_FORMAT "  Memory Usage: " UINT64_FORMAT "kB%s",
						 state->nhits, state->nmisses, nevictions, memory,
						 state->given_up ? "  Given Up: true" : "");
		ExplainPropertyText("Hits", line.data, es);
	}
}

/* ---- node ------------------------------------------------------------------------------------ */

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreCache",
	.BeginCustomScan = begin_cache,
	.ExecCustomScan = exec_cache,
	.EndCustomScan = end_cache,
	.ReScanCustomScan = rescan_cache,
	.ExplainCustomScan = explain_cache,
};

/* CreateCustomScanState: memory is cleared. */
Node *
zsnode_cache_create_state(CustomScan *cscan)
{
	CacheState *state = (CacheState *) newNode(sizeof(CacheState), T_CustomScanState);

	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsMinimalTuple;
	return (Node *) &state->css;
}
