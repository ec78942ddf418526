/*-------------------------------------------------------------------------
 *
 * node_agg_spine_path.c
 *	  Paths of hash joins that a node above them does by batches.
 *
 * The problem: core charges hash joins for rows that go from node to node.  Below a node that does
 * them by batches (node_agg_join.c) they cost a third of that, but a plan was taken for what core's
 * nodes would cost.  So rows were joined one by one in three processes, with one hash table for
 * all of them, which took up to four times as long as one process by batches.
 *
 * The idea: copies of core's paths, which stand for the same joins, with what they cost by batches.
 * A hash table that processes share (Parallel Hash) is not read by batches; in the copy each
 * process makes one of its own, of all rows of the inner side, and is charged for it.
 *
 * Of an adaptive join (src/join), which begins as a loop, the hash join is taken that it may turn
 * to.
 *
 * What must be true for it is looked for here as in the executor (node_agg_spine.c), by paths
 * instead of plan nodes, and rather too strictly: what is not found to go by batches here may do so
 * all the same, for what core's joins cost.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_spine_path.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "zs_compat.h"

#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"

#include "node_agg_join.h"
#include "node_agg_plan.h"
#include "zs_agg_group.h"
#include "zs_clause.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_probe.h"

ZsHashOfPath zsnode_spine_hash_of = NULL;

/* What is known of all joins so far. */
typedef struct SpinePaths
{
	PlannerInfo *root;
	bool		of_all;			/* one process returns the rows of all, whatever the paths say */
	int			njoins;
	double		sizes[ZS_SPINE_MAX_JOINS];	/* bytes that their tables are expected to take */
	bool		whole;			/* one of them cannot come in parts */
} SpinePaths;

/* What the target of a path above has to be for its rows not to be made. */
typedef enum TargetRule
{
	TARGET_ANY,					/* of the topmost join */
	TARGET_HARMLESS,			/* raises no errors */
	TARGET_COLUMNS				/* and is NULL where columns are */
} TargetRule;

static Path *batches_path(SpinePaths *paths, Path *path, TargetRule rule);

/* Can what the path returns be computed above the topmost join? */
static bool
target_is_possible(const PathTarget *target, TargetRule rule)
{
	ListCell   *lc;

	foreach(lc, target->exprs)
	{
		Node	   *expr = lfirst(lc);

		if (IsA(expr, Var) ? ((const Var *) expr)->varattno <= 0 : rule == TARGET_COLUMNS)
			return false;
	}
	return !contain_subplans((Node *) target->exprs) &&
		(rule == TARGET_ANY || !zsscan_any_may_raise(target->exprs, NULL));
}

/* Describes a key of a join's side by its type, as a column. */
static bool
classify_key(Node *expr, const Node *clause, ZsGroupKey *key)
{
	TupleDesc	desc = ExecTypeFromExprList(list_make1(expr));
	Var		   *var = makeVar(ZS_ROWS_VARNO, 1, exprType(expr), exprTypmod(expr),
							  exprCollation(expr), 0);

	Assert(IsA(clause, OpExpr));
	return zsprobe_key_classify(desc, (Node *) var, clause, key);
}

/* expression_tree_mutator callback: columns get the numbers that they have in the list *columns. */
static Node *
number_columns(Node *node, void *columns)
{
	List	  **list = columns;
	int			number = 0;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var) && !IsA(node, PlaceHolderVar))
		return expression_tree_mutator(node, number_columns, columns);
	*list = list_append_unique(*list, node);
	foreach(lc, *list)
	{
		if (equal(lfirst(lc), node))
			number = foreach_current_index(lc) + 1;
	}
	Assert(number > 0);
	return (Node *) makeVar(ZS_ROWS_VARNO, (AttrNumber) number, exprType(node), exprTypmod(node),
							exprCollation(node), 0);
}

/* Is there a program for the key of an outer side? */
static bool
key_has_program(Node *key)
{
	List	   *columns = NIL;
	Node	   *program = number_columns(key, &columns);

	Assert(!contain_subplans(key));
	return columns != NIL &&
		zsprobe_can_project(ExecTypeFromExprList(columns), list_make1(program));
}

/* What is known of a join's keys. */
typedef struct JoinKeys
{
	bool		divide;			/* rows can be divided by one of them */
	bool		pack;			/* they are one integer */
} JoinKeys;

/*
 * Are the join's keys those that rows are looked up by, and can they be computed by batches?  As
 * classify_keys() of node_agg_join_make.c.
 */
static bool
keys_are_known(const HashPath *join, JoinKeys *keys)
{
	ZsGroupKey	inner[ZS_MAX_GROUP_KEYS];
	int			nkeys = 0;
	ListCell   *lc;

	if (join->path_hashclauses == NIL || list_length(join->path_hashclauses) > ZS_MAX_GROUP_KEYS)
		return false;
	foreach(lc, join->path_hashclauses)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		const Node *clause = (const Node *) rinfo->clause;
		Node	   *left = get_leftop(clause);
		Node	   *right = get_rightop(clause);
		bool		outer_is_left = bms_is_subset(rinfo->left_relids,
												  join->jpath.outerjoinpath->parent->relids);
		ZsGroupKey	outer;

		if (contain_subplans((Node *) clause) ||
			(nkeys > 0 && zsscan_expression_may_raise((Node *) clause, NULL)) ||
			!key_has_program(outer_is_left ? left : right) ||
			!classify_key(outer_is_left ? left : right, clause, &outer) ||
			!classify_key(outer_is_left ? right : left, clause, &inner[nkeys]) ||
			!zsprobe_keys_match(&outer, &inner[nkeys]))
			return false;
		nkeys++;
	}
	keys->divide = zsprobe_keys_can_divide(nkeys, inner);
	keys->pack = zsprobe_keys_can_pack(nkeys, inner);
	return true;
}

/* Can the join's conditions be tested on batches? */
static bool
clauses_are_possible(const JoinPath *join)
{
	ListCell   *lc;

	foreach(lc, join->joinrestrictinfo)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* a Result node above the join decides whether it is executed at all */
		if (rinfo->pseudoconstant || contain_subplans((Node *) rinfo->clause))
			return false;
	}
	return !(zs_join_is_right_semi(join->jointype) &&
		  zsscan_any_may_raise(join->joinrestrictinfo, NULL));
}

/*
 * Does the path raise no errors if another one of its relation does not, and may it therefore be
 * read before the outer side, which leaves out rows by its keys?
 */
static bool
is_of_scans(const Path *path)
{
	check_stack_depth();
	switch (path->pathtype)
	{
		case T_CustomScan:
			return zsnode_scan_is_path(path);
		case T_IndexScan:
		case T_IndexOnlyScan:
			return path->param_info == NULL && ((const IndexPath *) path)->indexorderbys == NIL;
		case T_SeqScan:
		case T_BitmapHeapScan:
			return path->param_info == NULL;
		case T_Gather:
			return is_of_scans(((const GatherPath *) path)->subpath);
		case T_HashJoin:
			return is_of_scans(((const JoinPath *) path)->outerjoinpath) &&
				is_of_scans(((const JoinPath *) path)->innerjoinpath);
		default:
			return false;
	}
}

/* Does the scan evaluate what takes long for each row?  As is_dear() of node_agg_spine.c. */
static bool
is_dear(const Path *path)
{
	return path->parent->baserestrictcost.per_tuple + path->pathtarget->cost.per_tuple >
		ZS_DEAR_EXPRESSIONS;
}

/* Do workers join rows below, or hand them over? */
static bool
has_gather(const Path *path)
{
	check_stack_depth();
	switch (path->pathtype)
	{
		case T_Gather:
		case T_GatherMerge:
			return true;
		case T_HashJoin:
		case T_MergeJoin:
		case T_NestLoop:
			return has_gather(((const JoinPath *) path)->outerjoinpath) ||
				has_gather(((const JoinPath *) path)->innerjoinpath);
		case T_Sort:
		case T_IncrementalSort:
			return has_gather(((const SortPath *) path)->subpath);
		case T_Material:
			return has_gather(((const MaterialPath *) path)->subpath);
		default:
			break;
	}
	if (IsA(path, ProjectionPath))
		return has_gather(((const ProjectionPath *) path)->subpath);
	if (IsA(path, AggPath))
		return has_gather(((const AggPath *) path)->subpath);
	if (IsA(path, GroupPath))
		return has_gather(((const GroupPath *) path)->subpath);
	if (IsA(path, GroupingSetsPath))
		return has_gather(((const GroupingSetsPath *) path)->subpath);
	if (IsA(path, CustomPath))
	{
		ListCell   *lc;

		foreach(lc, ((const CustomPath *) path)->custom_paths)
		{
			if (has_gather(lfirst(lc)))
				return true;
		}
	}
	return false;
}

/* May the path be read many times?  As rereads() of node_agg_spine.c. */
static bool
rereads(const Path *path)
{
	ListCell   *lc;

	check_stack_depth();
	if (is_dear(path) || has_gather(path))
		return false;
	if (IsA(path, SubqueryScanPath))
		return rereads(((const SubqueryScanPath *) path)->subpath);
	if (IsA(path, ProjectionPath))
		return rereads(((const ProjectionPath *) path)->subpath);
	if (!IsA(path, AppendPath))
		return is_of_scans(path);
	foreach(lc, ((const AppendPath *) path)->subpaths)
	{
		if (!rereads(lfirst(lc)))
			return false;
	}
	return true;
}

/*
 * The inner side of the join, as one process reads all of it; NULL: there is no path for that, or
 * the processes have to know together which of its rows have found a partner.  of_all: there is one
 * process.
 */
static Path *
whole_inner(const HashPath *join, bool of_all)
{
	JoinType	jointype = join->jpath.jointype;
	Path	   *inner = join->jpath.innerjoinpath;

	if (!join->jpath.path.parallel_aware)
		return inner;
	if (of_all)
		inner = inner->parent->cheapest_total_path;
	else if (jointype == JOIN_INNER || jointype == JOIN_SEMI || jointype == JOIN_LEFT ||
			 jointype == JOIN_ANTI)
		inner = get_cheapest_parallel_safe_total_inner(inner->parent->pathlist);
	else
		return NULL;
	return inner != NULL && is_of_scans(inner) ? inner : NULL;
}

/* The path as a hash join; NULL: it is none, and cannot become one. */
static HashPath *
hash_of(Path *path)
{
	if (IsA(path, HashPath))
		return (HashPath *) path;
	return zsnode_spine_hash_of != NULL ? zsnode_spine_hash_of(path) : NULL;
}

/* Bytes that a table of the inner side's rows is expected to take. */
static double
table_size(const Path *inner, const JoinKeys *keys)
{
	return zsprobe_table_expected_size(inner->rows, inner->pathtarget->width, keys->pack);
}

/*
 * So many times the cost of the path, whose joins go row by row, may be that of a plan by batches,
 * ours, in its place.
 */
double
zsnode_spine_regret_factor(const Path *path, const Path *ours)
{
	Assert(path->param_info == NULL);
	return has_gather(path) && !has_gather(ours) ? ZS_WORKERS_REGRET_FACTOR :
		ZS_BATCHES_REGRET_FACTOR;
}

/* Sets what the join costs by batches. */
static void
cost_join(HashPath *join, const JoinKeys *keys)
{
	const Path *outer = join->jpath.outerjoinpath;
	const Path *inner = join->jpath.innerjoinpath;
	Path	   *result = &join->jpath.path;
	List	   *others = list_difference_ptr(join->jpath.joinrestrictinfo,
											 join->path_hashclauses);
	bool		is_far = table_size(inner, keys) > ZS_NEAR_TABLE;
	Cost		build;
	Cost		run;

	Assert(!result->parallel_aware && inner->param_info == NULL);
	run = outer->rows * (ZS_COST_PER_KEY * list_length(join->path_hashclauses) +
						 (is_far ? ZS_COST_FAR_PROBE : ZS_COST_PROBE)) +
		result->rows * (ZS_COST_PER_VALUE * list_length(inner->pathtarget->exprs) +
						zscost_filter(others) + result->pathtarget->cost.per_tuple);
	build = inner->rows * (ZS_COST_PER_BUILD_ROW + (is_far ? ZS_COST_FAR_PROBE : 0) +
						   (keys->pack ? 0 : ZS_COST_PER_BUILD_GROUP));
	result->startup_cost = outer->startup_cost + inner->total_cost + build +
		result->pathtarget->cost.startup;
	result->total_cost = result->startup_cost + outer->total_cost - outer->startup_cost + run;
}

/* Makes the path one of a single process, which returns what all of them have returned. */
static void
make_whole(Path *path)
{
	path->rows = clamp_row_est(path->rows * zscost_parallel_divisor(path->parallel_workers));
	path->parallel_workers = 0;
}

/* A copy of the join with its sides by batches, where they can be; NULL: it cannot be done so. */
static Path *
batches_join(SpinePaths *paths, HashPath *path, TargetRule rule)
{
	JoinType	jointype = path->jpath.jointype;
	TargetRule	below = rule == TARGET_COLUMNS || zsprobe_join_fills_build(jointype) ?
		TARGET_COLUMNS : TARGET_HARMLESS;
	Path	   *inner = whole_inner(path, paths->of_all);
	Path	   *outer;
	Path	   *by_batches;
	SpinePaths	above;
	JoinKeys	keys;
	HashPath   *join;

	if (inner == NULL || !keys_are_known(path, &keys) || !clauses_are_possible(&path->jpath))
		return NULL;
	outer = batches_path(paths, path->jpath.outerjoinpath, below);
	if (outer == NULL || paths->njoins == ZS_SPINE_MAX_JOINS)
		return NULL;
	/* of rows that are read one by one there is a table as well */
	above = *paths;
	by_batches = batches_path(paths, inner, TARGET_ANY);
	if (by_batches != NULL && paths->njoins < ZS_SPINE_MAX_JOINS &&
		by_batches->total_cost <= inner->total_cost * zsnode_spine_regret_factor(inner, by_batches))
		inner = by_batches;
	else
		*paths = above;
	join = palloc(sizeof(HashPath));
	memcpy(join, path, sizeof(HashPath));
	join->jpath.outerjoinpath = outer;
	join->jpath.innerjoinpath = inner;
	join->jpath.path.parallel_aware = false;
	if (paths->of_all)
		make_whole(&join->jpath.path);
	join->jpath.path.parallel_safe = path->jpath.path.parallel_safe && inner->parallel_safe;
	join->inner_rows_total = inner->rows;
	cost_join(join, &keys);
	paths->sizes[paths->njoins++] = table_size(inner, &keys);
	paths->whole |= !keys.divide || !rereads(inner);
	return &join->jpath.path;
}

/* batches_path() of what workers do below Gather: one process does it. */
static Path *
gathered_path(SpinePaths *paths, const GatherPath *path, TargetRule rule)
{
	bool		of_all = paths->of_all;
	Path	   *result;

	paths->of_all = true;
	result = batches_path(paths, path->subpath, rule);
	paths->of_all = of_all;
	Assert(result == NULL || result->parallel_workers == 0);
	return result;
}

/* A copy of the path with what it costs if its batches are taken; NULL: it has none. */
static Path *
batches_path(SpinePaths *paths, Path *path, TargetRule rule)
{
	HashPath   *hash;

	check_stack_depth();
	if (!target_is_possible(path->pathtarget, rule))
		return NULL;
	if (IsA(path, GatherPath))
		return gathered_path(paths, (const GatherPath *) path, rule);
	if (zsnode_scan_is_path(path))
	{
		paths->whole |= is_dear(path);
		if (paths->of_all && path->parallel_workers > 0)
			path = zsnode_scan_whole_path(paths->root, path);
		return zsnode_scan_batches_path(path);
	}
	hash = hash_of(path);
	return hash != NULL ? batches_join(paths, hash, rule) : NULL;
}

/*
 * Into how many parts tables have to be divided, multiplied, which take more memory than limit for
 * each of them: those that are larger than that share what the others leave.
 */
static double
count_parts(const SpinePaths *paths, double limit)
{
	double		left = limit * paths->njoins;
	double		sum = 0;
	double		parts = 1;
	int			nlarge = 0;

	for (int i = 0; i < paths->njoins; i++)
	{
		sum += paths->sizes[i];
		if (paths->sizes[i] > limit)
			nlarge++;
		else
			left -= paths->sizes[i];
	}
	if (sum <= limit * paths->njoins)
		return 1;
	Assert(nlarge > 0);
	for (int i = 0; i < paths->njoins; i++)
	{
		if (paths->sizes[i] > limit)
			parts *= ceil(paths->sizes[i] * nlarge / left);
	}
	return parts;
}

/*
 * Charges the path for tables that have to be made in parts, for each of which all is read again;
 * false: they are too large for that.
 */
static bool
charge_parts(const SpinePaths *paths, Path *path)
{
	double		parts = count_parts(paths, (double) get_hash_memory_limit());

	if (parts <= 1)
		return true;
	if (paths->whole || path->parallel_workers > 0 || parts > ZS_JOIN_PARTS)
		return false;
	path->total_cost *= parts;
	return true;
}

/*
 * A copy of the projection, which takes no node of its own, of another path that returns the same
 * columns.
 */
static Path *
project(const ProjectionPath *projection, Path *below)
{
	ProjectionPath *copy = palloc(sizeof(ProjectionPath));
	const PathTarget *columns = below->pathtarget;
	Path	   *path = &copy->path;

	Assert(projection->dummypp);
	memcpy(copy, projection, sizeof(ProjectionPath));
	copy->subpath = below;
	path->rows = below->rows;
	path->parallel_workers = below->parallel_workers;
	path->parallel_safe &= below->parallel_safe;
	path->startup_cost = below->startup_cost + path->pathtarget->cost.startup -
		columns->cost.startup;
	path->total_cost = below->total_cost + path->pathtarget->cost.startup - columns->cost.startup +
		(path->pathtarget->cost.per_tuple - columns->cost.per_tuple) * below->rows;
	return path;
}

/*
 * A copy of the path, joins without parameters, which are expected to go by batches below a node of
 * ours, with what it costs then; NULL: they are not.  A path below Gather stays one, with hash
 * tables of each process, unless whole says that one process is to do it all; so it does what the
 * path gathers.  Reads system catalogs.
 */
Path *
zsnode_spine_path(PlannerInfo *root, Path *path, bool whole)
{
	SpinePaths	paths = {.root = root,.of_all = whole};
	const ProjectionPath *projection = NULL;
	Path	   *result;

	if (!zs_enable_vector_join || path->param_info != NULL)
		return NULL;
	for (;;)
	{
		if (IsA(path, ProjectionPath) && ((ProjectionPath *) path)->dummypp && projection == NULL)
		{
			projection = (ProjectionPath *) path;
			path = ((ProjectionPath *) path)->subpath;
		}
		else if (IsA(path, GatherPath))
		{
			paths.of_all = true;
			path = ((GatherPath *) path)->subpath;
		}
		else
			break;
	}
	if (zsnode_scan_is_path(path))
		return NULL;
	result = batches_path(&paths, path, TARGET_ANY);
	Assert(result == NULL || (paths.njoins > 0 && result->total_cost >= result->startup_cost));
	if (result == NULL || !charge_parts(&paths, result))
		return NULL;
	return projection != NULL ? project(projection, result) : result;
}
