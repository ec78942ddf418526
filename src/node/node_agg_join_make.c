/*-------------------------------------------------------------------------
 *
 * node_agg_join_make.c
 *	  Makes core's hash joins ready that a node does by batches, and describes them.
 *
 * What they do is in node_agg_join.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_join_make.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "node_agg_join.h"
#include "zs_clause.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_probe.h"

/* Tables that are expected to take so many times what they may are not begun. */
#define HOPELESS_FACTOR	1.5

/*
 * Describes the keys of both sides; false if rows cannot be joined by them here.  All keys are
 * computed for a batch, while core stops at one that is NULL: others must not raise errors.
 */
static bool
classify_keys(const ZsSpineJoin *join, TupleDesc desc, TupleDesc build_desc, ZsGroupKey *probe,
			  ZsGroupKey *build)
{
	const HashJoin *plan = (const HashJoin *) join->state->js.ps.plan;
	ParamListInfo params = join->state->js.ps.state->es_param_list_info;
	ListCell   *lc;

	foreach(lc, plan->hashclauses)
	{
		int			k = foreach_current_index(lc);
		int			column = list_nth_int(join->build_keys, k);
		const Node *expr = list_nth(join->build_exprs, column - 1);
		Var		   *var = makeVar(ZS_ROWS_VARNO, (AttrNumber) column, exprType(expr),
								  exprTypmod(expr), exprCollation(expr), 0);

		if (k > 0 && (zsscan_expression_may_raise(list_nth(join->key_exprs, k), params) ||
					  zsscan_expression_may_raise((Node *) expr, params)))
			return false;
		if (!zsprobe_key_classify(desc, list_nth(join->key_exprs, k), lfirst(lc), &probe[k]) ||
			!zsprobe_key_classify(build_desc, (Node *) var, lfirst(lc), &build[k]) ||
			!zsprobe_keys_match(&probe[k], &build[k]))
			return false;
	}
	return true;
}

/* A filter of pairs; NULL if there are no clauses. */
static ZsFilter *
make_filter(List *clauses, TupleDesc desc, PlanState *node)
{
	return clauses == NIL ? NULL :
		zsexpr_filter_create(desc, ZS_ROWS_VARNO, clauses, list_length(clauses), node, NULL);
}

static ZsAggJoins *create_joins(PlanState *node, PlanState *child, List *exprs, int least,
								bool explain_only);

/*
 * Makes a join ready over probe (NULL: for EXPLAIN only); false if it cannot be done here.
 */
static bool
create_join(ZsAggJoin *join, const ZsSpine *spine, int i, ZsInput *probe, PlanState *node)
{
	const ZsSpineJoin *from = &spine->joins[i];
	TupleDesc	desc = zsnode_spine_desc(spine, i + 1);
	TupleDesc	build_desc = ExecTypeFromExprList(from->build_exprs);
	int			nkeys = list_length(from->key_exprs);
	ZsGroupKey *probe_keys = palloc0(nkeys * sizeof(ZsGroupKey));
	ZsGroupKey *build_keys = palloc0(nkeys * sizeof(ZsGroupKey));
	JoinType	jointype = ((HashJoin *) from->state->js.ps.plan)->join.jointype;
	Bitmapset  *wanted = NULL;
	List	   *guards = NIL;
	ZsProbeSpec spec;

	if (nkeys == 0 || nkeys > ZS_MAX_GROUP_KEYS ||
		!classify_keys(from, desc, build_desc, probe_keys, build_keys))
		return false;
	join->may_divide = !spine->scan->ss.ps.plan->parallel_aware && from->rereads &&
		zsprobe_keys_can_divide(nkeys, build_keys);
	join->expected = zsprobe_table_expected_size(from->build->plan->plan_rows,
												 from->build->plan->plan_width,
												 zsprobe_keys_can_pack(nkeys, build_keys));
	join->state = from->state;
	join->hash = from->hash;
	join->build = from->build;
	join->below = create_joins(node, from->build, from->build_exprs, 0, probe == NULL);
	if (join->below != NULL)
		join->below->above = join;
	if (probe == NULL)
		return true;
	for (int k = 0; k < from->nbuild; k++)
	{
		if (from->columns[k] > 0)
			wanted = bms_add_member(wanted, from->columns[k]);
	}
	for (int k = 0; k < list_length(from->build_exprs); k++)
		guards = lappend_int(guards, -1);
	join->rows = zsexpr_input_rows_create(join->build, from->build_exprs, guards, node->state);
	if (join->below != NULL)
		join->batches = zsnode_build_input_create(join->build, from->build_exprs,
												  join->below->input);
	join->table = zsprobe_table_create(CurrentMemoryContext, build_desc, wanted, nkeys, build_keys,
									   probe_keys,
									   zsprobe_join_keeps(jointype, from->joinqual != NIL));
	spec = (ZsProbeSpec) {
		.jointype = jointype,
		.probe = probe,
		.table = join->table,
		.desc = desc,
		.nbuild = from->nbuild,
		.columns = from->columns,
		.used = spine->used,
		.nkeys = nkeys,
		.keys = probe_keys,
		.key_exprs = from->key_exprs,
		.joinqual = make_filter(from->joinqual, desc, node),
		.qual = make_filter(from->qual, desc, node),
		.node = &join->state->js.ps,
		.first_part = zsnode_agg_join_first_part,
		.next_part = zsnode_agg_join_next_part,
		.arg = join,
	};
	join->input = zsprobe_join_create(&spec, node->state);
	return true;
}

/* As zsnode_agg_joins_create(); least: so many joins, or the child's rows are to be taken. */
static ZsAggJoins *
create_joins(PlanState *node, PlanState *child, List *exprs, int least, bool explain_only)
{
	ZsSpine    *spine;
	ZsAggJoins *joins;
	ZsInput    *input = NULL;

	check_stack_depth();
	spine = zsnode_spine_find(child, exprs, least);
	/* the node above takes row by row what is no program; a table of an inner side does not */
	if (spine == NULL ||
		(least == 0 &&
		 !zsprobe_can_project(zsnode_spine_desc(spine, spine->njoins), spine->exprs)))
		return NULL;
	joins = palloc0(sizeof(ZsAggJoins));
	joins->njoins = spine->njoins;
	joins->joins = palloc0(Max(spine->njoins, 1) * sizeof(ZsAggJoin));
	if (!explain_only)
		input = zsnode_scan_input_create(spine->scan);
	for (int i = 0; i < spine->njoins; i++)
	{
		joins->joins[i].all = joins;
		joins->joins[i].nparts = 1;
		if (!create_join(&joins->joins[i], spine, i, input, node))
			return NULL;
		input = joins->joins[i].input;
	}
	if (!explain_only)
		joins->input = zsprobe_project_create(input, spine->exprs, ExecTypeFromExprList(exprs),
											  node->state);
	return joins;
}

/* How many joins they are, with those of inner sides. */
static int
count_joins(const ZsAggJoins *joins)
{
	int			n = joins == NULL ? 0 : joins->njoins;

	for (int i = 0; joins != NULL && i < joins->njoins; i++)
		n += count_joins(joins->joins[i].below);
	return n;
}

/*
 * Are the tables worth to begin with, if nall of them share memory?  Not if one is expected to take
 * far more than all of them may, if need be in parts.  Rows are taken of inner sides that are not.
 */
static bool
are_worth(ZsAggJoins *joins, int nall)
{
	check_stack_depth();
	joins->nall = nall;
	for (int i = 0; i < joins->njoins; i++)
	{
		ZsAggJoin  *join = &joins->joins[i];

		if (join->expected > (join->may_divide ? ZS_JOIN_PARTS : HOPELESS_FACTOR) *
			(double) zsnode_agg_joins_memory_limit(nall))
			return false;
		if (join->below != NULL && !are_worth(join->below, nall))
			join->below = NULL;
	}
	return true;
}

/*
 * The joins below a node's child that can be done by batches, to return the expressions over the
 * child's rows (OUTER_VAR); NULL: the child's rows have to be taken as they come.  Memory comes
 * from the current context.
 */
ZsAggJoins *
zsnode_agg_joins_create(PlanState *node, PlanState *child, List *exprs, bool explain_only)
{
	ZsAggJoins *joins;

	if (!zs_enable_vector_join || node->state->es_epq_active != NULL)
		return NULL;
	joins = create_joins(node, child, exprs, 1, explain_only);
	return joins != NULL && are_worth(joins, count_joins(joins)) ? joins : NULL;
}

/* What they return. */
ZsInput *
zsnode_agg_joins_input(const ZsAggJoins *joins)
{
	Assert(joins->input != NULL);
	return joins->input;
}

/* ---- EXPLAIN -------------------------------------------------------------------------------- */

/* Adds to the list what is known of the tables, in the order in which they are needed. */
static List *
describe_tables(const ZsAggJoins *joins, List *tables)
{
	for (int i = 0; joins != NULL && !joins->given_up && i < joins->njoins; i++)
	{
		const ZsAggJoin *join = &joins->joins[i];

		if (!join->filled)
			continue;
		tables = describe_tables(join->below, tables);
		tables = lappend(tables, psprintf("%s of " UINT64_FORMAT " rows%s",
										  join->is_array ? "array" : "hash", join->nrows,
										  join->nparts == 1 ? "" :
										  psprintf(" in %u parts", join->nparts)));
	}
	return tables;
}

/* What EXPLAIN tells of them: how many, and with ANALYZE how they went. */
void
zsnode_agg_joins_explain(const ZsAggJoins *joins, struct ExplainState *es)
{
	int			njoins = count_joins(joins);
	List	   *tables;

	if (es->format != EXPLAIN_FORMAT_TEXT || njoins > 0)
		ExplainPropertyInteger("Joins by Batches", NULL, njoins, es);
	if (!es->analyze || njoins == 0)
		return;
	tables = describe_tables(joins, NIL);
	if (joins->given_up)
		ExplainPropertyText("Join Tables", "too large", es);
	/* there are none in a leader that had no part in it */
	else if (es->format != EXPLAIN_FORMAT_TEXT || tables != NIL)
		ExplainPropertyList("Join Tables", tables, es);
}
