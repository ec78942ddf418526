/*-------------------------------------------------------------------------
 *
 * join_adaptive_exec.c
 *	  Runs a nested loop that turns to a hash join, and the tees below these.
 *
 * 1. The outer side is advanced by one tee at a time: the loop's until it reports its end, then the
 *    hash join's.
 * 2. The row at which the loop's tee finds that there are too many is kept, as a copy, and is the
 *    first that the hash join's tee returns: each outer row goes through one of the joins.
 * 3. The hash join is made ready when its time comes, which saves short queries a third of their
 *	  executor's start; at once if somebody looks at all nodes before they run: EXPLAIN, counters of
 *	  rows and times, parallel queries, whose nodes get shared memory.
 * 4. A hash table of outer rows is of no use after a rescan, though no parameter of its side has
 *    changed: the hash node is told of a change.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_adaptive_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/parallel.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"

#include "join_internal.h"
#include "zs_node.h"

typedef struct AdaptiveState
{
	CustomScanState css;
	int			id;
	int			eflags;
	uint64		limit;			/* the loop gets so many outer rows */
	uint64		nrows;			/* outer rows since the last rescan */
	bool		switched;		/* to the hash join, since the last rescan */
	bool		done;
	bool		has_kept;		/* is there a row in kept that nobody has got? */
	TupleTableSlot *kept;
	PlanState  *children[ZS_ADAPTIVE_NCHILDREN];	/* the hash join: NULL until it is ready */
	PlanState  *hash_table;		/* the Hash node above the hash join's tee; NULL: it is no such */
	uint64		total_rows;		/* for EXPLAIN */
	uint64		nswitched;
} AdaptiveState;

typedef struct TeeState
{
	CustomScanState css;
	int			id;
	AdaptiveState *owner;		/* NULL until that has found it */
	bool		is_loop;		/* below the loop: else below the hash join */
} TeeState;

static const CustomExecMethods tee_exec_methods;

/* ---- tees ------------------------------------------------------------------------------------ */

/* BeginCustomScan of a tee */
static void
begin_tee(CustomScanState *node, EState *estate, int eflags)
{
	TeeState   *tee = (TeeState *) node;

	tee->id = intVal(list_nth(castNode(CustomScan, node->ss.ps.plan)->custom_private, ZS_TEE_ID));
	zsnode_child_any_slot(node);
}

/* ExecCustomScan of a tee: the next outer row; that of the loop ends where there are too many. */
static TupleTableSlot *
exec_tee(CustomScanState *node)
{
	TeeState   *tee = (TeeState *) node;
	AdaptiveState *owner = tee->owner;
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	Assert(owner != NULL && tee->is_loop == !owner->switched);
	Assert(!owner->has_kept || !tee->is_loop);
	Assert(!tee->is_loop || owner->nrows <= owner->limit);
	if (owner->has_kept)
	{
		owner->has_kept = false;
		slot = owner->kept;
	}
	else
		slot = ExecProcNode(owner->children[ZS_ADAPTIVE_OUTER]);
	if (TupIsNull(slot))
		return NULL;
	if (tee->is_loop && owner->nrows == owner->limit)
	{
		ExecCopySlot(owner->kept, slot);
		owner->has_kept = true;
		owner->switched = true;
		owner->nswitched++;
		return NULL;
	}
	owner->nrows++;
	owner->total_rows++;
	return zsnode_child_project(node, slot);
}

/* EndCustomScan of a tee: the join ends what is below */
static void
end_tee(CustomScanState *node)
{
}

/* What there is to do the join above does. */
static void
rescan_tee(CustomScanState *node)
{
}

static const CustomExecMethods tee_exec_methods = {
	.CustomName = "ZedstoreTee",
	.BeginCustomScan = begin_tee,
	.ExecCustomScan = exec_tee,
	.EndCustomScan = end_tee,
	.ReScanCustomScan = rescan_tee,
};

/* CreateCustomScanState: memory is cleared. */
Node *
zsjoin_tee_create_state(CustomScan *cscan)
{
	TeeState   *tee = (TeeState *) newNode(sizeof(TeeState), T_CustomScanState);

	tee->css.methods = &tee_exec_methods;
	return (Node *) &tee->css;
}

/* ---- begin and end --------------------------------------------------------------------------- */

typedef struct TeeSearch
{
	AdaptiveState *owner;
	bool		is_loop;
	TeeState   *found;
} TeeSearch;

/* planstate_tree_walker callback */
static bool
find_tee(PlanState *ps, TeeSearch *search)
{
	if (ps == NULL)
		return false;
	if (IsA(ps, CustomScanState) && ((CustomScanState *) ps)->methods == &tee_exec_methods &&
		((TeeState *) ps)->id == search->owner->id)
	{
		search->found = (TeeState *) ps;
		search->found->owner = search->owner;
		search->found->is_loop = search->is_loop;
		return true;
	}
	return planstate_tree_walker(ps, find_tee, search);
}

/* Takes possession of the tee below a join. */
static TeeState *
own_tee(AdaptiveState *state, ZsAdaptiveChild child)
{
	TeeSearch	search = {.owner = state,.is_loop = child == ZS_ADAPTIVE_LOOP};

	if (!find_tee(state->children[child], &search))
		elog(ERROR, "adaptive join %d has no tee below child %d", state->id, (int) child);
	return search.found;
}

/* The Hash node above the hash join's tee; NULL: the tee is on the join's other side. */
static PlanState *
find_hash_table(AdaptiveState *state)
{
	TeeSearch	search = {.owner = state,.is_loop = false};
	PlanState  *join = state->children[ZS_ADAPTIVE_HASH];

	/* conditions that no row has a say in stand above the join */
	while (IsA(join, ResultState))
		join = outerPlanState(join);
	Assert(IsA(join, HashJoinState));
	return find_tee(innerPlanState(join), &search) ? innerPlanState(join) : NULL;
}

static void
begin_child(AdaptiveState *state, ZsAdaptiveChild child)
{
	CustomScanState *node = &state->css;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);

	Assert(state->children[child] == NULL && list_length(node->custom_ps) == (int) child);
	state->children[child] = ExecInitNode(list_nth(cscan->custom_plans, child),
										  node->ss.ps.state, state->eflags);
	node->custom_ps = lappend(node->custom_ps, state->children[child]);
}

static void
begin_hash_join(AdaptiveState *state)
{
	begin_child(state, ZS_ADAPTIVE_HASH);
	own_tee(state, ZS_ADAPTIVE_HASH);
	state->hash_table = find_hash_table(state);
}

/* The same while the query runs. */
static void
begin_hash_join_late(AdaptiveState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	Assert(state->switched);
	begin_hash_join(state);
	zsjoin_tap_connect_part(state->children[ZS_ADAPTIVE_HASH]);
	MemoryContextSwitchTo(old);
}

/* Is anybody going to look at nodes before they run? */
static bool
wants_all_nodes(const EState *estate, int eflags)
{
	return (eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0 || estate->es_instrument != 0 ||
		IsParallelWorker() || estate->es_plannedstmt->parallelModeNeeded;
}

/* BeginCustomScan */
static void
begin_adaptive(CustomScanState *node, EState *estate, int eflags)
{
	AdaptiveState *state = (AdaptiveState *) node;
	CustomScan *cscan = castNode(CustomScan, node->ss.ps.plan);

	Assert((eflags & (EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK)) == 0);
	state->id = intVal(list_nth(cscan->custom_private, ZS_ADAPTIVE_ID));
	state->limit = intVal(list_nth(cscan->custom_private, ZS_ADAPTIVE_LIMIT));
	state->eflags = eflags;
	Assert(state->limit > 0 && list_length(cscan->custom_plans) == ZS_ADAPTIVE_NCHILDREN);
	begin_child(state, ZS_ADAPTIVE_OUTER);
	begin_child(state, ZS_ADAPTIVE_LOOP);
	own_tee(state, ZS_ADAPTIVE_LOOP);
	if (wants_all_nodes(estate, eflags))
		begin_hash_join(state);
	state->kept = ExecInitExtraTupleSlot(estate,
										 ExecGetResultType(state->children[ZS_ADAPTIVE_OUTER]),
										 &TTSOpsMinimalTuple);
	zsnode_child_any_slot(node);
}

/* EndCustomScan */
static void
end_adaptive(CustomScanState *node)
{
	AdaptiveState *state = (AdaptiveState *) node;

	/* which takes NULL, too */
	for (int i = 0; i < ZS_ADAPTIVE_NCHILDREN; i++)
		ExecEndNode(state->children[i]);
}

/* ReScanCustomScan */
static void
rescan_adaptive(CustomScanState *node)
{
	AdaptiveState *state = (AdaptiveState *) node;

	/* any member will do: it is not handed down to what does not depend on it */
	Assert(state->hash_table == NULL || IsA(state->hash_table, HashState));
	if (state->hash_table != NULL)
		state->hash_table->chgParam = bms_add_member(state->hash_table->chgParam, 0);
	for (int i = 0; i < ZS_ADAPTIVE_NCHILDREN; i++)
	{
		PlanState  *child = state->children[i];

		if (child == NULL)
			continue;
		zsnode_child_rescan(node, child);
	}
	ExecClearTuple(state->kept);
	state->nrows = 0;
	state->switched = state->done = state->has_kept = false;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* ExecCustomScan: the next row of the join that runs now */
static TupleTableSlot *
exec_adaptive(CustomScanState *node)
{
	AdaptiveState *state = (AdaptiveState *) node;
	TupleTableSlot *slot;

	CHECK_FOR_INTERRUPTS();
	Assert(!state->has_kept || state->switched);
	if (state->done)
		return NULL;
	if (!state->switched)
	{
		slot = ExecProcNode(state->children[ZS_ADAPTIVE_LOOP]);
		if (!TupIsNull(slot))
			return zsnode_child_project(node, slot);
		state->done = !state->switched;
		if (state->done)
			return NULL;
	}
	if (state->children[ZS_ADAPTIVE_HASH] == NULL)
		begin_hash_join_late(state);
	slot = ExecProcNode(state->children[ZS_ADAPTIVE_HASH]);
	state->done = TupIsNull(slot);
	return zsnode_child_project(node, slot);
}

/* ExplainCustomScan */
static void
explain_adaptive(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AdaptiveState *state = (AdaptiveState *) node;

	ExplainPropertyUInteger("Switch After", NULL, state->limit, es);
	if (!es->analyze)
		return;
	ExplainPropertyUInteger("Outer Rows", NULL, state->total_rows, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || node->ss.ps.instrument->nloops > 1)
		ExplainPropertyUInteger("Times Switched", NULL, state->nswitched, es);
	else
		ExplainPropertyBool("Switched", state->nswitched > 0, es);
}

static const CustomExecMethods adaptive_exec_methods = {
	.CustomName = "ZedstoreAdaptiveJoin",
	.BeginCustomScan = begin_adaptive,
	.ExecCustomScan = exec_adaptive,
	.EndCustomScan = end_adaptive,
	.ReScanCustomScan = rescan_adaptive,
	.ExplainCustomScan = explain_adaptive,
};

/* CreateCustomScanState: memory is cleared. */
Node *
zsjoin_adaptive_create_state(CustomScan *cscan)
{
	AdaptiveState *state = (AdaptiveState *) newNode(sizeof(AdaptiveState), T_CustomScanState);

	state->css.methods = &adaptive_exec_methods;
	return (Node *) &state->css;
}
