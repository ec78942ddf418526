/*-------------------------------------------------------------------------
 *
 * node_agg_path.c
 *	  Paths of aggregates, and plan nodes of these.
 *
 * custom_scan_tlist: keys, then aggregates.  custom_private: ZsAggPrivate.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_path.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "node_agg_plan.h"
#include "zs_base_plan.h"
#include "zs_expr_filter.h"

static Node *
resolve(Node *node, void *tlist)
{
	TargetEntry *tle;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Const) && !IsA(node, Param))
	{
		tle = tlist_member((Expr *) node, tlist);
		if (tle != NULL)
			return (Node *) makeVarFromTargetEntry(OUTER_VAR, tle);
	}
	if (IsA(node, PlaceHolderVar))
		return resolve((Node *) ((PlaceHolderVar *) node)->phexpr, tlist);
	if (IsA(node, Var))
		elog(ERROR, "column of an aggregate is not in its input");
	return expression_tree_mutator(node, resolve, tlist);
}

/*
 * Brings the columns of an input of rows from the path's terms to those of the plan with the target
 * list; in the current context.
 */
static List *
resolve_inputs(List *inputs, List *tlist)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, inputs)
		result = lappend(result, resolve(lfirst(lc), tlist));
	return result;
}

/* Keys with a SubPlan are columns of the plan below, which has its parameters. */
static bool
collect_params(Node *node, List **params)
{
	if (node == NULL || IsA(node, SubPlan))
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC)
		*params = list_append_unique(*params, node);
	return expression_tree_walker(node, collect_params, params);
}

/* Would nobody see that parts of the query's plan are read twice? */
bool
zsnode_agg_may_read_twice(const PlannerInfo *root)
{
	ListCell   *lc;

	if (root->rowMarks != NIL || contain_volatile_functions((Node *) root->parse))
		return false;
	foreach(lc, root->glob->subroots)
	{
		if (contain_volatile_functions((Node *) lfirst_node(PlannerInfo, lc)->parse))
			return false;
	}
	return true;
}

/* PlanCustomPath */
static Plan *
plan_agg(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		 List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	List	   *private = list_copy_head(path->custom_private, ZS_AGG_SHOWN);
	AttrNumber	resno = 1;
	ListCell   *lc;

	Assert(list_length(custom_plans) <= 1);
	foreach(lc, (List *) list_nth(path->custom_private, ZS_AGG_SHOWN))
		cscan->custom_scan_tlist = lappend(cscan->custom_scan_tlist,
										   makeTargetEntry(copyObject(lfirst(lc)), resno++, NULL,
														   false));
	if (custom_plans != NIL)
		lfirst(list_nth_cell(private, ZS_AGG_INPUTS)) =
			resolve_inputs(list_nth(private, ZS_AGG_INPUTS),
						   ((Plan *) linitial(custom_plans))->targetlist);
	lfirst(list_nth_cell(private, ZS_AGG_REREADS)) =
		makeBoolean(custom_plans != NIL && zsnode_agg_may_read_twice(root));
	private = copyObject(private);

	/* nobody else does that for expressions in custom_private */
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_FILTER));
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_INPUTS));
	fix_opfuncids((Node *) list_nth(private, ZS_AGG_OVER_INPUTS));

	/* and nobody looks for parameters there, nor in custom_scan_tlist */
	(void) collect_params((Node *) list_nth(private, ZS_AGG_FILTER), &cscan->custom_exprs);
	(void) collect_params((Node *) list_nth(path->custom_private, ZS_AGG_SHOWN),
						  &cscan->custom_exprs);

	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(zsexpr_qual_order(root,
														 list_nth(path->custom_private,
																  ZS_AGG_HAVING)));
	cscan->scan.scanrelid = intVal(list_nth(private, ZS_AGG_RELID));
	Assert((cscan->scan.scanrelid == 0) == (custom_plans != NIL));
	cscan->flags = path->flags;
	cscan->custom_plans = custom_plans;
	cscan->custom_private = private;
	cscan->methods = &zsnode_agg_scan_methods;
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreAgg",
	.PlanCustomPath = plan_agg,
};

const CustomScanMethods zsnode_agg_scan_methods = {
	.CustomName = "ZedstoreAgg",
	.CreateCustomScanState = zsnode_agg_create_state,
};

/*
 * A path without costs, for the table of the query (child is NULL) or for rows of another path.
 * aggrefs: complete or partial ones; private: the members FILTER and INPUTS to OVER_INPUTS, which
 * may be missing from the end.
 */
CustomPath *
zsnode_agg_make_path(const ZsAggQuery *query, PathTarget *target, List *aggrefs, Path *child,
					 List *filter, List *inputs, ZsAggSplit split)
{
	CustomPath *path = makeNode(CustomPath);
	bool		partial = split == ZS_SPLIT_FOR_CORE || split == ZS_SPLIT_FOR_OURS;
	List	   *private;

	Assert((child != NULL) == (inputs != NIL) && list_length(inputs) <= 3);
	Assert(child == NULL || filter == NIL);
	path->path.pathtype = T_CustomScan;
	path->path.parent = query->parent;
	path->path.pathtarget = target;
	path->path.parallel_safe = query->rel->consider_parallel &&
		query->grouped_rel->consider_parallel &&
		(child == NULL || child->parallel_safe);
	path->methods = &path_methods;
	if (child != NULL)
		path->custom_paths = list_make1(child);
	private = list_make5(zsbase_private_name(),
						 makeInteger(child != NULL ? 0 : (int) query->rel->relid), filter,
						 query->eqops, makeInteger(split));
	for (int i = 0; i < 3; i++)
		private = lappend(private, i < list_length(inputs) ? list_nth(inputs, i) : NIL);
	private = lappend(private, NIL);
	private = lappend(private, list_concat_copy(query->keys, aggrefs));
	path->custom_private = lappend(private, partial ? NIL : (List *) query->extra->havingQual);
	Assert(list_length(path->custom_private) == ZS_AGG_HAVING + 1);
	if (!partial)
		path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	return path;
}
