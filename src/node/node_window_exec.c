/*-------------------------------------------------------------------------
 *
 * node_window_exec.c
 *	  Computes ranking window functions while rows go by: the callbacks of the node.
 *
 * Core's WindowAgg puts each row into a tuplestore and takes it out again, since a frame may look
 * at any row of the partition.  row_number(), rank() and dense_rank() need none but the present
 * one: whether it begins a partition, and whether it is a peer of the row before.  So there is no
 * tuplestore here.  The keys of the partition, and of the peers, are copied where they change.
 *
 * A run condition, once it is false, stays so until the partition ends (nodeWindowAgg.c).  The
 * topmost window returns no such row; one below it computes them all, and the topmost has a filter
 * for them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_window_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "node_window.h"
#include "zs_node.h"

/* A column by which rows are partitioned or ordered, and its value in the first of the rows. */
typedef struct WindowKey
{
	int			column;			/* of the plan below, from 0 */
	FmgrInfo	equal;
	Oid			collation;
	bool		byval;
	int16		len;
	Datum		value;
	bool		isnull;
} WindowKey;

/* Rows that are equal in all of the keys. */
typedef struct WindowGroup
{
	int			nkeys;
	WindowKey  *keys;
	MemoryContext context;		/* of values by reference */
} WindowGroup;

typedef struct WindowState
{
	CustomScanState css;		/* first */
	WindowGroup partition;
	WindowGroup peers;
	bool		wants_peers;
	int			ncolumns;		/* of the plan below */
	int			nfunctions;
	ZsWindowFunction *functions;
	ExprState  *run_condition;

	bool		is_started;		/* there was a row */
	bool		is_done;
	bool		skips;			/* the rest of the partition */
	int64		row_number;
	int64		rank;
	int64		dense_rank;
} WindowState;

/* ---- groups of equal rows ------------------------------------------------------------------- */

/* Has the row, whose columns are all there, the values of the group?  NULLs are equal. */
static inline bool
is_in_group(const WindowGroup *group, const TupleTableSlot *slot)
{
	/* the last key differs first */
	for (int k = group->nkeys - 1; k >= 0; k--)
	{
		WindowKey  *key = &group->keys[k];
		Datum		value = slot->tts_values[key->column];
		bool		isnull = slot->tts_isnull[key->column];

		if (isnull || key->isnull)
		{
			if (isnull != key->isnull)
				return false;
		}
		else if (!(key->byval && value == key->value) &&
				 !DatumGetBool(FunctionCall2Coll(&key->equal, key->collation, key->value, value)))
			return false;
	}
	return true;
}

/* The row is the first of another group. */
static void
begin_group(WindowGroup *group, const TupleTableSlot *slot)
{
	MemoryContext old;

	if (group->nkeys == 0)
		return;
	MemoryContextReset(group->context);
	old = MemoryContextSwitchTo(group->context);
	for (int k = 0; k < group->nkeys; k++)
	{
		WindowKey  *key = &group->keys[k];

		key->isnull = slot->tts_isnull[key->column];
		key->value = key->isnull ? (Datum) 0 :
			datumCopy(slot->tts_values[key->column], key->byval, key->len);
	}
	MemoryContextSwitchTo(old);
}

/* Counts the row; true if a partition begins with it. */
static inline bool
count_row(WindowState *state, const TupleTableSlot *slot)
{
	if (!state->is_started || !is_in_group(&state->partition, slot))
	{
		state->is_started = true;
		state->row_number = state->rank = state->dense_rank = 1;
		begin_group(&state->partition, slot);
		if (state->wants_peers)
			begin_group(&state->peers, slot);
		return true;
	}
	state->row_number++;
	if (state->wants_peers && !is_in_group(&state->peers, slot))
	{
		state->rank = state->row_number;
		state->dense_rank++;
		begin_group(&state->peers, slot);
	}
	return false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Puts the row of the plan below, and the functions' results, into the node's slot. */
static TupleTableSlot *
store_row(WindowState *state, const TupleTableSlot *row)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	int			n = state->ncolumns;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->tts_values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, n * sizeof(bool));
	for (int i = 0; i < state->nfunctions; i++)
	{
		int64		result = 0;

		switch (state->functions[i])
		{
			case ZS_WINDOW_ROW_NUMBER:
				result = state->row_number;
				break;
			case ZS_WINDOW_RANK:
				result = state->rank;
				break;
			case ZS_WINDOW_DENSE_RANK:
				result = state->dense_rank;
				break;
		}
		slot->tts_values[n + i] = Int64GetDatum(result);
		slot->tts_isnull[n + i] = false;
	}
	return ExecStoreVirtualTuple(slot);
}

/* The next row that the run condition and the filter leave, as the node's scan tuple; or NULL. */
static TupleTableSlot *
next_row(WindowState *state)
{
	PlanState  *ps = &state->css.ss.ps;
	PlanState  *child = linitial(state->css.custom_ps);
	ExprContext *econtext = ps->ps_ExprContext;

	while (!state->is_done)
	{
		TupleTableSlot *row;
		MemoryContext old;
		bool		begins;

		CHECK_FOR_INTERRUPTS();
		row = ExecProcNode(child);
		if (TupIsNull(row))
			break;
		slot_getallattrs(row);
		ResetExprContext(econtext);
		/* functions that compare may leave memory behind */
		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		begins = count_row(state, row);
		MemoryContextSwitchTo(old);
		state->skips &= !begins;
		if (state->skips)
			continue;
		econtext->ecxt_scantuple = store_row(state, row);
		if (!ExecQual(state->run_condition, econtext))
		{
			state->skips = true;
			state->is_done = state->partition.nkeys == 0;
		}
		else if (ExecQual(ps->qual, econtext))
			return econtext->ecxt_scantuple;
		else
			InstrCountFiltered1(ps, 1);
	}
	state->is_done = true;
	return NULL;
}

/* ExecCustomScan */
static TupleTableSlot *
exec_window(CustomScanState *node)
{
	ProjectionInfo *projection = node->ss.ps.ps_ProjInfo;

	if (next_row((WindowState *) node) != NULL)
		return projection != NULL ? ExecProject(projection) : node->ss.ss_ScanTupleSlot;
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	return projection != NULL ? ExecClearTuple(node->ss.ps.ps_ResultTupleSlot) :
		node->ss.ss_ScanTupleSlot;
}

/* ---- begin, end ------------------------------------------------------------------------------ */

/* Who asks must be allowed to call what compares, as for core (execTuplesMatchPrepare()). */
static void
check_function(Oid function)
{
	AclResult	result = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
}

static void
begin_keys(WindowGroup *group, List *lists, TupleDesc desc)
{
	ListCell   *column;
	ListCell   *function;
	ListCell   *collation;

	group->keys = palloc0_array(WindowKey, list_length(linitial(lists)));
	forthree(column, linitial(lists), function, lsecond(lists), collation,
			 lthird(lists))
	{
		WindowKey  *key = &group->keys[group->nkeys++];
		Form_pg_attribute att = TupleDescAttr(desc, lfirst_int(column) - 1);

		key->column = lfirst_int(column) - 1;
		key->collation = lfirst_oid(collation);
		key->byval = att->attbyval;
		key->len = att->attlen;
		check_function(lfirst_oid(function));
		fmgr_info(lfirst_oid(function), &key->equal);
	}
	group->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore window keys",
										   ALLOCSET_SMALL_SIZES);
}

/* BeginCustomScan */
static void
begin_window(CustomScanState *node, EState *estate, int eflags)
{
	WindowState *state = (WindowState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);
	List	   *functions = list_nth(cscan->custom_private, ZS_WINDOW_FUNCTIONS);
	PlanState  *child;
	TupleDesc	desc;
	ListCell   *lc;

	Assert((eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0);
	/* nothing is read a second time, as below WindowAgg */
	child = ExecInitNode(linitial(cscan->custom_plans), estate, eflags & ~EXEC_FLAG_REWIND);
	node->custom_ps = list_make1(child);
	desc = ExecGetResultType(child);
	begin_keys(&state->partition, list_nth(cscan->custom_private, ZS_WINDOW_PARTITION), desc);
	begin_keys(&state->peers, list_nth(cscan->custom_private, ZS_WINDOW_ORDER), desc);
	state->ncolumns = desc->natts;
	state->functions = palloc_array(ZsWindowFunction, list_length(functions));
	foreach(lc, functions)
	{
		state->wants_peers |= lfirst_int(lc) != ZS_WINDOW_ROW_NUMBER;
		state->functions[state->nfunctions++] = lfirst_int(lc);
	}
	Assert(node->ss.ss_ScanTupleSlot->tts_tupleDescriptor->natts ==
		   state->ncolumns + state->nfunctions);
	state->run_condition = ExecInitQual(cscan->custom_exprs, &node->ss.ps);
}

/* EndCustomScan */
static void
end_window(CustomScanState *node)
{
	ExecEndNode(linitial(node->custom_ps));
}

/* ReScanCustomScan */
static void
rescan_window(CustomScanState *node)
{
	WindowState *state = (WindowState *) node;

	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	state->is_started = state->is_done = state->skips = false;
	zsnode_child_rescan(node, linitial(node->custom_ps));
}

/* ---- EXPLAIN --------------------------------------------------------------------------------- */

static void
explain_keys(const WindowGroup *group, const char *label, const CustomScan *cscan, List *context,
			 ExplainState *es)
{
	bool		prefix = es->verbose || list_length(es->rtable) > 1;
	List	   *names = NIL;

	for (int k = 0; k < group->nkeys; k++)
	{
		TargetEntry *tle = list_nth(cscan->custom_scan_tlist, group->keys[k].column);
		Var		   *column = makeVarFromTargetEntry(INDEX_VAR, tle);

		names = lappend(names, deparse_expression((Node *) column, context, prefix, false));
	}
	if (names != NIL)
		ExplainPropertyList(label, names, es);
}

/* ExplainCustomScan */
static void
explain_window(CustomScanState *node, List *ancestors, ExplainState *es)
{
	WindowState *state = (WindowState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);

	explain_keys(&state->partition, "Partition Key", cscan, context, es);
	explain_keys(&state->peers, "Order Key", cscan, context, es);
	if (cscan->custom_exprs != NIL)
	{
		Node	   *condition = (Node *) make_ands_explicit(cscan->custom_exprs);

		ExplainPropertyText("Run Condition",
							deparse_expression(condition, context,
											   es->verbose || list_length(es->rtable) > 1, false),
							es);
	}
}

/* ---- node ------------------------------------------------------------------------------------ */

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreWindow",
	.BeginCustomScan = begin_window,
	.ExecCustomScan = exec_window,
	.EndCustomScan = end_window,
	.ReScanCustomScan = rescan_window,
	.ExplainCustomScan = explain_window,
};

/* CreateCustomScanState: memory is cleared. */
Node *
zsnode_window_create_state(CustomScan *cscan)
{
	WindowState *state = (WindowState *) newNode(sizeof(WindowState), T_CustomScanState);

	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsVirtual;
	return (Node *) &state->css;
}
