/*-------------------------------------------------------------------------
 *
 * node_top.c
 *	  Which groups ORDER BY ... LIMIT leaves.
 *
 * Of a million groups a Sort node with a LIMIT above it keeps ten.  To make a row of a group takes
 * longer than to look at what it is sorted by: results of aggregates become numerics, expressions
 * are evaluated, the row is copied.  So the node that has the groups keeps the sort keys of the
 * best ones in a heap, and hands out the groups that are not behind the worst of these.  The Sort
 * node orders them, as it would order all.
 *
 * The limit is asked for when the first row is wanted: LIMIT and OFFSET may be parameters, and the
 * Limit node has told the Sort node by then (ExecSetTupleBound()).
 *
 * Keys are columns of the groups' rows.  Where the query sorts by an expression of aggregates,
 * those in front of it count, and groups that are equal by these are all handed out.  Of groups
 * that are equal by all keys any may be left out, as core's bounded sort does.
 *
 * Errors.  Core makes a row of each group.  So nothing is left out where the expressions of the
 * target list may raise errors or have effects; HAVING is tested for all groups, and its errors
 * come in their order.
 *
 * Groups that were written to disk come later: the heap stays, and what was handed out before is
 * among what the Sort node has.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_top.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/sortsupport.h"

#include "node_best.h"
#include "node_top.h"
#include "zs_agg.h"
#include "zs_clause.h"
#include "zs_expr_guc.h"

typedef struct TopKey
{
	int			column;			/* of the groups' rows, from 0 */
	Oid			sortop;
	int16		typlen;
	bool		typbyval;
} TopKey;

struct ZsTop
{
	SortState  *sort;
	bool		complete;		/* keys are all that the query sorts by */
	int			nkeys;
	TopKey	   *keys;
	SortSupport sortkeys;

	ZsBest		best;			/* groups so far */
	Datum	   *values;			/* keys of the group looked at */
	bool	   *isnull;
	MemoryContext context;		/* of all this, from start to start */
};

/* ---- begin ----------------------------------------------------------------------- */

/*
 * The column of custom_scan_tlist that the target list returns as it is; -1: it is an expression.
 */
static int
scan_column(List *tlist, AttrNumber resno)
{
	Node	   *expr = (Node *) list_nth_node(TargetEntry, tlist, resno - 1)->expr;

	Assert(resno > 0);
	while (IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || ((Var *) expr)->varno != INDEX_VAR || ((Var *) expr)->varattno <= 0)
		return -1;
	return ((Var *) expr)->varattno - 1;
}

/* May a group be left out, as far as errors and effects of what is made of it are concerned? */
static bool
rows_are_harmless(const CustomScan *cscan, EState *estate)
{
	ListCell   *lc;

	foreach(lc, cscan->scan.plan.targetlist)
	{
		if (zsscan_expression_may_raise((Node *) lfirst_node(TargetEntry, lc)->expr,
										estate->es_param_list_info))
			return false;
	}
	return !contain_volatile_functions((Node *) cscan->scan.plan.qual) &&
		!contain_subplans((Node *) cscan->scan.plan.qual);
}

/*
 * What the Sort node above, which gets the rows of the scan and has a LIMIT above it, says of its
 * groups; NULL if all of them have to be handed out.  Memory comes from the current context.  Reads
 * system catalogs.
 */
ZsTop *
zsnode_top_create(SortState *sort, const CustomScan *cscan, EState *estate)
{
	const Sort *plan = (const Sort *) sort->ss.ps.plan;
	ZsTop	   *top;

	if (!rows_are_harmless(cscan, estate))
		return NULL;
	top = palloc0(sizeof(ZsTop));
	top->sort = sort;
	top->keys = palloc0(plan->numCols * sizeof(TopKey));
	top->sortkeys = palloc0(plan->numCols * sizeof(SortSupportData));
	for (int i = 0; i < plan->numCols; i++)
	{
		TopKey	   *key = &top->keys[i];
		const TargetEntry *tle;

		key->column = scan_column(cscan->scan.plan.targetlist, plan->sortColIdx[i]);
		if (key->column < 0)
			break;
		Assert(key->column < list_length(cscan->custom_scan_tlist));
		tle = list_nth_node(TargetEntry, cscan->custom_scan_tlist, key->column);
		get_typlenbyval(exprType((Node *) tle->expr), &key->typlen, &key->typbyval);
		key->sortop = plan->sortOperators[i];
		top->sortkeys[i].ssup_cxt = CurrentMemoryContext;
		top->sortkeys[i].ssup_collation = plan->collations[i];
		top->sortkeys[i].ssup_nulls_first = plan->nullsFirst[i];
		top->sortkeys[i].ssup_attno = plan->sortColIdx[i];
		PrepareSortSupportFromOrderingOp(key->sortop, &top->sortkeys[i]);
		top->nkeys++;
	}
	top->complete = top->nkeys == plan->numCols;
	return top->nkeys > 0 ? top : NULL;
}

/* ---- the heap ---------------------------------------------------------------------- */

/*
 * From the first group, for the first time or anew; once the first row is asked for, since the
 * LIMIT is known then.  False if all groups have to be handed out.
 */
bool
zsnode_top_start(ZsTop *top)
{
	Size		entry_size = sizeof(ZsBestEntry) + sizeof(Datum) + top->nkeys *
		(sizeof(Datum) + sizeof(bool));
	MemoryContext old;

	Assert(top->nkeys > 0);
	if (top->context == NULL)
		top->context = AllocSetContextCreate(GetMemoryChunkContext(top), "zedstore top groups",
											 ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(top->context);
	if (!top->sort->bounded || top->sort->bound <= 0 ||
		top->sort->bound > Min(work_mem * (int64) 1024, (int64) MaxAllocSize) / (int64) entry_size)
		return false;
	old = MemoryContextSwitchTo(top->context);
	/* of groups that are equal any may be left out */
	zsnode_best_init(&top->best, (int) top->sort->bound, top->nkeys, top->sortkeys, false);
	top->values = palloc_array(Datum, top->nkeys);
	top->isnull = palloc_array(bool, top->nkeys);
	MemoryContextSwitchTo(old);
	return true;
}

/* Takes the group looked at into the heap, which has room or a worse one. */
static void
take_group(ZsTop *top)
{
	MemoryContext old = MemoryContextSwitchTo(top->context);
	bool		used;
	ZsBestEntry *entry = zsnode_best_claim(&top->best, top->nkeys, &used);

	for (int i = 0; i < top->nkeys; i++)
		zsnode_best_set(entry, i, top->values[i], top->isnull[i], top->keys[i].typbyval,
						top->keys[i].typlen, used);
	zsnode_best_enter(&top->best, entry, used);
	MemoryContextSwitchTo(old);
}

/*
 * Compares the group's keys with those of the worst in the heap, and asks only for as many as that
 * takes: below 0, the group comes before it.
 */
static int
compare_with_worst(ZsTop *top, uint32 group, ZsTopValue value, void *arg)
{
	const ZsBestEntry *worst = zsnode_best_worst(&top->best);
	int			c = 0;

	Assert(zsnode_best_is_full(&top->best));
	for (int i = 0; i < top->nkeys; i++)
	{
		top->values[i] = value(arg, group, top->keys[i].column, &top->isnull[i]);
		if (c == 0)
			c = ApplySortComparator(top->values[i], top->isnull[i], worst->values[i],
									worst->isnull[i], &top->sortkeys[i]);
		if (c > 0)
			break;
	}
	return c;
}

/*
 * Takes the group into the heap if it is among the best; false if it is behind them, or as good as
 * one of them may be.
 */
static bool
look_at_group(ZsTop *top, uint32 group, ZsTopValue value, void *arg)
{
	int			c;

	if (!zsnode_best_is_full(&top->best))
	{
		for (int i = 0; i < top->nkeys; i++)
			top->values[i] = value(arg, group, top->keys[i].column, &top->isnull[i]);
		take_group(top);
		return true;
	}
	c = compare_with_worst(top, group, value, arg);
	if (c >= 0)
		return c == 0 && !top->complete;
	take_group(top);
	return true;
}

/*
 * Chooses among so many groups those that may be among the first, of them and of all that have been
 * looked at since the start: their numbers, ascending, go to kept, which has room for all; returns
 * how many.
 */
uint32
zsnode_top_choose(ZsTop *top, uint32 ngroups, ZsTopPasses passes, ZsTopValue value, void *arg,
				  uint32 *kept)
{
	uint32		nseen = 0;
	uint32		nkept = 0;

	Assert(top->best.heap != NULL);
	for (uint32 group = 0; group < ngroups; group++)
	{
		CHECK_FOR_INTERRUPTS();
		if (passes(arg, group) && look_at_group(top, group, value, arg))
			kept[nseen++] = group;
	}
	if (!zsnode_best_is_full(&top->best))
		return nseen;

	/* those that were among the best for a while */
	for (uint32 i = 0; i < nseen; i++)
	{
		if (compare_with_worst(top, kept[i], value, arg) <= 0)
			kept[nkept++] = kept[i];
	}
	Assert(nkept <= nseen && nseen <= ngroups);
	return nkept;
}

/*
 * Are those wanted first whose first key, a bigint, is largest?  *column is the key, as ZsTopValue
 * has columns, *bound how many are wanted.
 */
bool
zsnode_top_largest(const ZsTop *top, int *column, int *bound)
{
	*column = top->keys[0].column;
	*bound = top->best.bound;
	return get_opcode(top->keys[0].sortop) == F_INT8GT;
}

/*
 * Where zsnode_top_largest(): groups are still wanted whose first key is not less than that; 0:
 * maybe all of them.
 */
int64
zsnode_top_least(const ZsTop *top)
{
	const ZsBestEntry *worst;

	Assert(get_opcode(top->keys[0].sortop) == F_INT8GT);
	if (!zsnode_best_is_full(&top->best))
		return 0;
	worst = zsnode_best_worst(&top->best);
	return worst->isnull[0] ? 0 : Max(DatumGetInt64(worst->values[0]), 0);
}

/* The sort key in that place, as ZsTopValue has columns; -1: there is none. */
int
zsnode_top_column(const ZsTop *top, int place)
{
	return place < top->nkeys ? top->keys[place].column : -1;
}

/*
 * Compares a value with that of the last of the groups that are wanted, in one sort key: above 0,
 * it comes behind.  There are as many groups as are wanted (zsnode_top_least() is not 0).
 */
int
zsnode_top_compare(ZsTop *top, int place, Datum value, bool isnull)
{
	const ZsBestEntry *worst = zsnode_best_worst(&top->best);

	Assert(place < top->nkeys && zsnode_best_is_full(&top->best));
	return ApplySortComparator(value, isnull, worst->values[place], worst->isnull[place],
							   &top->sortkeys[place]);
}

/* ---- EXPLAIN -------------------------------------------------------------------------- */

/* The name of a sort key with what is said of its order, in the current context. */
char *
zsnode_sort_key_name(const char *name, Oid sortop, bool nulls_first)
{
	StringInfoData buf;
	bool		descending = false;

	(void) get_equality_op_for_ordering_op(sortop, &descending);
	initStringInfo(&buf);
	appendStringInfoString(&buf, name);
	if (descending)
		appendStringInfoString(&buf, " DESC");
	if (nulls_first != descending)
		appendStringInfoString(&buf, descending ? " NULLS LAST" : " NULLS FIRST");
	return buf.data;
}

/* Shows the order, in terms of custom_scan_tlist.  context: for deparse_expression(). */
void
zsnode_top_explain(const ZsTop *top, const CustomScan *cscan, List *context, ExplainState *es)
{
	List	   *names = NIL;

	for (int i = 0; i < top->nkeys; i++)
	{
		const TopKey *key = &top->keys[i];
		const TargetEntry *tle = list_nth_node(TargetEntry, cscan->custom_scan_tlist, key->column);

		names = lappend(names, zsnode_sort_key_name(deparse_expression((Node *) tle->expr,
																	   context, es->verbose,
																	   true),
													key->sortop,
													top->sortkeys[i].ssup_nulls_first));
	}
	ExplainPropertyList("Top Groups By", names, es);
}
