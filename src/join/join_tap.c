/*-------------------------------------------------------------------------
 *
 * join_tap.c
 *	  Tells scans which keys the hash joins above them are looking for.
 *
 * The problem: core's hash join makes its table from one input, then probes it with each row of the
 * other.  Where few of these have a partner, most time goes into rows that are made of columns,
 * handed up, and thrown away.
 *
 * The idea: the rows from which the table is made pass a tap, which notes their keys
 * (join_keys.c).  A ZedstoreScan on the other side takes what has no partner out of its
 * batches, before it makes rows and decodes the columns that only the rows need
 * (join_filter.c, node_row_filter.c).
 *
 * The tap stands in front of the plan node below the Hash node, or below that
 * (find_tap_place()): when the executor has started, it takes the place of the node's ExecProcNode
 * function.  Nothing in a plan state has room for what it needs, so that is in a table by the
 * node's address, which it leaves with the query's memory.  Should somebody else take the node's
 * function, the keys are not used.
 *
 * Which joins.
 *
 *	1. Those that drop rows of the outer side which have no partner: all but LEFT, ANTI and FULL.
 *	2. The key is a column of the scan, and both sides are integers, dates, times or enums, which
 *	   are compared by their values, or strings of a deterministic collation, uuids and the like,
 *	   compared by their bytes.  Of these the hashes are noted, and for zone maps the images.
 *	3. Of a parallel hash each process sees some of the rows, and leaves their keys in shared
 *	   memory of the scan for the others, so the scan has to be a parallel one.
 *
 * Which scans.  The outer side itself, or the outer side of a hash join below it, and so on, if
 * that one returns nothing for the sake of its inner rows: INNER, LEFT, SEMI and ANTI joins.
 *
 * Errors.  A row that is left out is not looked at by what stands between the scan and the join.
 * So nothing there may raise an error or have another effect: the scan's target list, the joins in
 * between with their clauses, and their inner sides, which are not executed at all if there is no
 * outer row.  The scan itself sees to its own filter (node_scan_exec.c).
 *
 * Rescans.  The keys are those of the hash table as long as that exists: when it is made anew, the
 * tap sees all rows again.  The scan asks at each batch whether it is there.  Whoever rescans the
 * join rescans its outer side, so no row of a batch that was filtered for another table is left.
 *
 * EvalPlanQual makes plan states of its own, without taps.
 *
 * Semijoins by bit arrays: E. Babb, Implementing a Relational Database by Means of Specialized
 * Hardware, TODS 1979.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_tap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "join_internal.h"
#include "join_tap.h"
#include "zs_clause.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_expr_qual.h"
#include "zs_join.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_page.h"

typedef struct JoinTapEntry
{
	PlanState  *node;			/* hash key */
	ZsJoinTap  *tap;
} JoinTapEntry;

static HTAB *taps = NULL;
static ZsJoinTap *last_tap = NULL;

/* ---- taps ---------------------------------------------------------------------- */

/* The tap in front of the node; NULL: there is none. */
ZsJoinTap *
zsjoin_tap_find(PlanState *node)
{
	JoinTapEntry *entry;

	if (last_tap != NULL && last_tap->node == node)
		return last_tap;
	entry = taps == NULL ? NULL : hash_search(taps, &node, HASH_FIND, NULL);
	if (entry == NULL)
		return NULL;
	last_tap = entry->tap;
	return last_tap;
}

/* ExecProcNode of a node with a tap. */
static TupleTableSlot *
tap_row(PlanState *node)
{
	ZsJoinTap  *tap = zsjoin_tap_find(node);
	TupleTableSlot *slot;
	bool		at_end;

	if (tap == NULL)
		elog(ERROR, "plan node has lost its tap");
	Assert(tap->node == node && tap->nkeys > 0);
	slot = tap->real(node);
	at_end = TupIsNull(slot);
	for (int i = 0; i < tap->nkeys; i++)
	{
		TapKey	   *key = &tap->keys[i];
		Datum		value;
		bool		isnull;

		/* those of another table */
		if (tap->complete)
			zsjoin_keys_reset(key->keys);
		if (at_end)
		{
			zsjoin_keys_end(key->keys, node->state->es_query_dsa);
			continue;
		}
		value = slot_getattr(slot, key->attno, &isnull);
		if (!isnull)
			zsjoin_keys_add(key->keys, zsnode_row_filter_number(key->form, key->strips_blanks,
																value, key->typlen));
	}
	tap->complete = at_end;
	return slot;
}

/*
 * Do all rows pass the tap?  Not if somebody else took its place since, but for a node whose rows
 * are taken by batches (join_tap_batch.c).
 */
static bool
tap_is_in_place(const ZsJoinTap *tap)
{
	return tap->node->ExecProcNodeReal == tap_row ||
		(IsA(tap->node, HashJoinState) &&
		 zsnode_join_is_by_batches((HashJoinState *) tap->node));
}

/* MemoryContextCallback: the query's memory goes, and the node with it. */
static void
forget_tap(void *arg)
{
	ZsJoinTap  *tap = arg;

	if (last_tap == tap)
		last_tap = NULL;
	hash_search(taps, &tap->node, HASH_REMOVE, NULL);
}

/* The tap in front of the node; makes one if there is none. */
static ZsJoinTap *
need_tap(PlanState *node)
{
	MemoryContext context = node->state->es_query_cxt;
	ZsJoinTap  *tap = zsjoin_tap_find(node);
	JoinTapEntry *entry;

	if (tap != NULL)
		return tap;
	if (taps == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(PlanState *),
			.entrysize = sizeof(JoinTapEntry),
		};

		taps = hash_create("zedstore join taps", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	tap = MemoryContextAllocZero(context, sizeof(ZsJoinTap));
	tap->node = node;
	tap->real = node->ExecProcNodeReal;
	entry = hash_search(taps, &node, HASH_ENTER, NULL);
	entry->tap = tap;
	tap->forget.func = forget_tap;
	tap->forget.arg = tap;
	MemoryContextRegisterResetCallback(context, &tap->forget);
	ExecSetExecProcNode(node, tap_row);
	return tap;
}

/* The tap's set of keys of a column of its rows, in the filter's form.  *made: there was none. */
static ZsJoinKeys *
need_keys(ZsJoinTap *tap, AttrNumber attno, int16 typlen, const ZsRowFilter *filter,
		  bool parallel, bool *made)
{
	MemoryContext context = tap->node->state->es_query_cxt;
	TapKey	   *key;

	*made = false;
	for (int i = 0; i < tap->nkeys; i++)
	{
		if (tap->keys[i].attno == attno && tap->keys[i].parallel == parallel &&
			tap->keys[i].form == filter->form &&
			tap->keys[i].strips_blanks == filter->strips_blanks)
			return tap->keys[i].keys;
	}
	*made = true;
	if (tap->nkeys == tap->maxkeys)
	{
		tap->maxkeys = Max(tap->maxkeys * 2, 4);
		tap->keys = tap->keys == NULL ?
			MemoryContextAlloc(context, tap->maxkeys * sizeof(TapKey)) :
			repalloc(tap->keys, tap->maxkeys * sizeof(TapKey));
	}
	key = &tap->keys[tap->nkeys++];
	key->attno = attno;
	key->typlen = typlen;
	key->form = filter->form;
	key->strips_blanks = filter->strips_blanks;
	key->parallel = parallel;
	key->keys = zsjoin_keys_create(context);
	return key->keys;
}

/* ---- what may raise an error ----------------------------------------------------- */

/*
 * expression_tree_mutator callback: puts columns in the place of a nested loop's parameters, which
 * come from a column, and may have any value.
 */
static Node *
replace_parameters(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC &&
		bms_is_member(((Param *) node)->paramid, (Bitmapset *) context))
		return (Node *) makeVar(1, 1, exprType(node), exprTypmod(node), exprCollation(node), 0);
	return expression_tree_mutator(node, replace_parameters, context);
}

/* May evaluating them for some row raise an error?  params: see plan_may_raise(). */
static bool
expressions_may_raise(List *exprs, Bitmapset *params, EState *estate)
{
	if (params != NULL)
		exprs = (List *) replace_parameters((Node *) exprs, params);
	return zsscan_any_may_raise(exprs, estate->es_param_list_info);
}

static bool plan_may_raise(Plan *plan, Bitmapset *params, EState *estate);

/* The same for a join, with its clauses and inputs. */
static bool
join_may_raise(Join *join, Bitmapset *params, EState *estate)
{
	Bitmapset  *inner_params = params;
	ListCell   *lc;

	if (expressions_may_raise(join->joinqual, params, estate))
		return true;
	if (IsA(join, HashJoin) &&
		expressions_may_raise(((HashJoin *) join)->hashclauses, params, estate))
		return true;
	if (IsA(join, NestLoop))
	{
		inner_params = bms_copy(params);
		foreach(lc, ((NestLoop *) join)->nestParams)
			inner_params = bms_add_member(inner_params,
										  lfirst_node(NestLoopParam, lc)->paramno);
	}
	return plan_may_raise(outerPlan(join), params, estate) ||
		plan_may_raise(innerPlan(join), inner_params, estate);
}

/*
 * May executing the plan raise an error or have another effect?  False only for those nodes that
 * are known not to.  params: of nested loops above, whose values are there.
 */
static bool
plan_may_raise(Plan *plan, Bitmapset *params, EState *estate)
{
	check_stack_depth();
	if (plan->initPlan != NIL || expressions_may_raise(plan->targetlist, params, estate) ||
		expressions_may_raise(plan->qual, params, estate))
		return true;
	switch (nodeTag(plan))
	{
		case T_SeqScan:
			return false;
		case T_CustomScan:
			return ((CustomScan *) plan)->methods != &zsnode_scan_methods;
		case T_IndexScan:
			return ((IndexScan *) plan)->indexorderby != NIL ||
				expressions_may_raise(((IndexScan *) plan)->indexqualorig, params, estate);
		case T_IndexOnlyScan:
			return ((IndexOnlyScan *) plan)->indexorderby != NIL ||
				expressions_may_raise(((IndexOnlyScan *) plan)->indexqual, params, estate) ||
				expressions_may_raise(((IndexOnlyScan *) plan)->recheckqual, params, estate);
		case T_BitmapHeapScan:
			return expressions_may_raise(((BitmapHeapScan *) plan)->bitmapqualorig, params,
										 estate) ||
				plan_may_raise(outerPlan(plan), params, estate);
		case T_BitmapIndexScan:
			return expressions_may_raise(((BitmapIndexScan *) plan)->indexqualorig, params,
										 estate);
		case T_Hash:
		case T_Material:
			return plan_may_raise(outerPlan(plan), params, estate);
		case T_HashJoin:
		case T_NestLoop:
			return join_may_raise((Join *) plan, params, estate);
		default:
			return true;
	}
}

/* ---- joins and scans ------------------------------------------------------------- */

/* A column, maybe under another name for its type, of a plan's input; NULL if it is none. */
static Var *
plain_column(Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return IsA(expr, Var) && ((Var *) expr)->varattno > 0 ? (Var *) expr : NULL;
}

/* The same of a plan's outer side. */
static Var *
outer_column(Node *expr)
{
	Var		   *var = plain_column(expr);

	return var != NULL && var->varno == OUTER_VAR ? var : NULL;
}

/* Has the expression of a scan's target list the values of a column that a filter can look at? */
static AttrNumber
filtered_column(const CustomScanState *scan, Node *expr, const ZsJoinKeyForm *form)
{
	TupleDesc	desc = RelationGetDescr(scan->ss.ss_currentRelation);
	ZsDomain	domain;
	ZsAttrKind	kind;
	AttrNumber	attno = zsexpr_column_of(desc, ((Scan *) scan->ss.ps.plan)->scanrelid, expr,
										 &domain);

	if (attno <= 0 || form->form == ZS_ROW_FILTER_INT)
		return domain == ZS_DOMAIN_INT ? attno : InvalidAttrNumber;
	zsattr_kind(TupleDescAttr(desc, attno - 1), &kind);
	return kind.kind == ZS_KIND_BYTES || kind.kind == ZS_KIND_FIXED ? attno : InvalidAttrNumber;
}

/*
 * The scan that column attno of the node's rows comes from, and its column there.  NULL if there is
 * none that may leave out rows.
 */
static CustomScanState *
find_scan(PlanState *node, AttrNumber attno, const ZsJoinKeyForm *form, AttrNumber *column)
{
	for (;;)
	{
		Plan	   *plan = node->plan;
		Node	   *expr;
		Var		   *var;
		HashJoin   *join;

		if (plan->initPlan != NIL || expressions_may_raise(plan->targetlist, NULL, node->state))
			return NULL;
		Assert(attno > 0 && attno <= list_length(plan->targetlist));
		expr = (Node *) list_nth_node(TargetEntry, plan->targetlist, attno - 1)->expr;
		if (IsA(plan, CustomScan) && ((CustomScan *) plan)->methods == &zsnode_scan_methods)
		{
			*column = filtered_column((CustomScanState *) node, expr, form);
			return *column > 0 ? (CustomScanState *) node : NULL;
		}
		if (!IsA(node, HashJoinState))
			return NULL;
		join = (HashJoin *) plan;
		var = outer_column(expr);
		if (var == NULL || !zsjoin_goes_by_outer_rows(join->join.jointype) ||
			expressions_may_raise(join->join.joinqual, NULL, node->state) ||
			expressions_may_raise(join->hashclauses, NULL, node->state) ||
			expressions_may_raise(plan->qual, NULL, node->state) ||
			plan_may_raise(innerPlan(plan), NULL, node->state))
			return NULL;
		attno = var->varattno;
		node = outerPlanState(node);
	}
}

/*
 * The node in front of which a tap sees all values of a column of the join's inner side: the one
 * below Hash.  Parallel hash joins get another function when shared memory is there, so if it is
 * one, the node below that the column comes from; some of its rows may not find a partner and come
 * to the table, and their keys are noted all the same.  NULL: there is none.  *attno is the column
 * among its rows.
 */
static PlanState *
find_tap_place(HashJoinState *join, AttrNumber *attno)
{
	PlanState  *node = outerPlanState(innerPlanState(join));

	while (IsA(node, HashJoinState) && node->plan->parallel_aware)
	{
		Node	   *expr = (Node *) list_nth_node(TargetEntry, node->plan->targetlist,
												  *attno - 1)->expr;

		const Var  *var = plain_column(expr);

		if (var == NULL)
			return NULL;
		Assert(var->varno == OUTER_VAR || var->varno == INNER_VAR);
		*attno = var->varattno;
		if (var->varno == OUTER_VAR)
			node = outerPlanState(node);
		else
			node = outerPlanState(innerPlanState(node));
	}
	return node;
}

/* Gives the scan a filter on a column, by the keys of a column of place's rows. */
static void
connect_column(HashJoinState *state, CustomScanState *scan, AttrNumber attno, PlanState *place,
			   AttrNumber inner_attno, int16 typlen, ZsRowFilterForm form, bool strips_blanks)
{
	bool		parallel = state->js.ps.plan->parallel_aware;
	ZsJoinTap  *tap = need_tap(place);
	ZsJoinFilter *filter = zsjoin_filter_create(state, attno, form, strips_blanks);
	bool		made;

	filter->tap = tap;
	filter->is_in_place = tap_is_in_place;
	filter->keys = need_keys(tap, inner_attno, typlen, &filter->base, parallel, &made);
	filter->base.source_node = tap->node->plan->plan_node_id;
	filter->base.source_attno = inner_attno;
	filter->base.shares = made && parallel;
	zsnode_scan_add_filter(scan, &filter->base);
}

/*
 * Lets a scan know what the join's clause number i is looking for, if it is one that can use it.
 * Returns the scan, or NULL.
 */
static CustomScanState *
connect_clause(HashJoinState *state, int i)
{
	HashJoin   *join = (HashJoin *) state->js.ps.plan;
	Hash	   *hash = (Hash *) innerPlan(join);
	Node	   *clause = list_nth(join->hashclauses, i);
	Var		   *outer = outer_column(list_nth(join->hashkeys, i));
	Var		   *inner = outer_column(list_nth(hash->hashkeys, i));
	int16		typlen;
	CustomScanState *scan;
	AttrNumber	attno;
	AttrNumber	inner_attno;
	PlanState  *place;
	ZsJoinKeyForm form;

	if (outer == NULL || inner == NULL || !zsjoin_key_form(clause, &form))
		return NULL;
	scan = find_scan(outerPlanState(state), outer->varattno, &form, &attno);
	inner_attno = inner->varattno;
	place = scan == NULL ? NULL : find_tap_place(state, &inner_attno);
	if (place == NULL || (join->join.plan.parallel_aware && !scan->ss.ps.plan->parallel_aware))
		return NULL;
	typlen = get_typlen(inner->vartype);
	if (form.has_images)
		connect_column(state, scan, attno, place, inner_attno, typlen, ZS_ROW_FILTER_IMAGE, false);
	connect_column(state, scan, attno, place, inner_attno, typlen, form.form, form.strips_blanks);
	return scan;
}

/*
 * Connects the join's clauses.  Core asks for an outer row before it makes the table, which it is
 * spared if there is none.  But that row comes with a batch of them, made in vain: most of the work
 * where a few keys are looked for.  So a join whose table costs little is told that there is one;
 * what a join below it costs is not known well enough.
 */
static void
connect_join(HashJoinState *state)
{
	HashJoin   *join = (HashJoin *) state->js.ps.plan;
	Plan	   *hash = innerPlan(join);
	const Plan *inner = outerPlan(hash);
	bool		has_rows = false;

	for (int i = 0; i < list_length(join->hashclauses); i++)
	{
		CustomScanState *scan = connect_clause(state, i);

		if (scan != NULL && !has_rows)
			has_rows = zspage_logical_blocks(scan->ss.ss_currentRelation) >
				ZS_USEFUL_ROWS / ZS_ROWS_PER_BLOCK;
	}
	if (has_rows && hash->total_cost <= ZS_COST_OF_FIRST_TABLE &&
		!IsA(inner, HashJoin) && !IsA(inner, NestLoop) &&
		!plan_may_raise(hash, NULL, state->js.ps.state))
		state->hj_OuterNotEmpty = true;
}

/* planstate_tree_walker callback */
static bool
connect_joins(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, HashJoinState))
	{
		HashJoin   *join = (HashJoin *) node->plan;

		Assert(join->join.plan.parallel_aware == innerPlan(join)->parallel_aware);
		if (zsjoin_drops_lonely_rows(join->join.jointype) &&
			!expressions_may_raise(join->hashclauses, NULL, node->state))
			connect_join((HashJoinState *) node);
	}
	return planstate_tree_walker(node, connect_joins, context);
}

#ifdef USE_ASSERT_CHECKING
/*
 * planstate_tree_walker callback: is there a scan that does not filter by a column whose join the
 * planner counts on?
 */
static bool
lacks_filters(PlanState *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, CustomScanState) &&
		((CustomScan *) node->plan)->methods == &zsnode_scan_methods &&
		!zsnode_scan_has_filters((CustomScanState *) node))
		return true;
	return planstate_tree_walker(node, lacks_filters, context);
}
#endif

/* Connects the hash joins of a part of a plan that has been made ready after the query began. */
void
zsjoin_tap_connect_part(PlanState *node)
{
	Assert(CurrentMemoryContext == node->state->es_query_cxt);
	if (!zs_enable_join_filters)
		return;
	(void) connect_joins(node, NULL);
	Assert(!lacks_filters(node, NULL));
}

/* A query with scans by batches has started: hash joins tell these what they look for. */
void
zsjoin_tap_connect(QueryDesc *queryDesc)
{
	MemoryContext old;

	if (!zs_enable_join_filters)
		return;
	old = MemoryContextSwitchTo(queryDesc->estate->es_query_cxt);
	(void) connect_joins(queryDesc->planstate, NULL);
	Assert(!lacks_filters(queryDesc->planstate, NULL));
	MemoryContextSwitchTo(old);
}
