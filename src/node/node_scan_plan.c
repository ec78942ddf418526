/*-------------------------------------------------------------------------
 *
 * node_scan_plan.c
 *	  Plans a sequential scan whose filter is applied to batches.
 *
 * Core's plan brings every row of a table to its filter one by one.  The scan made here applies
 * what programs know of the filter (qual_compile.c) to whole columns, and makes rows of
 * those that are left; the rest of the filter is the executor's, row by row.
 *
 * The path is offered for a table of ours, or a partition, if a part of its restrictions has a
 * program, beside core's paths, and with as many parallel workers as core's; and for one that is
 * joined, since a hash join may tell it which rows to leave out (join_tap.c).  Rows come in
 * the order of a sequential scan.
 *
 * plan.qual has the whole filter, in core's order.  custom_private says how many clauses from the
 * first one on may be taken out of that order (ZS_SCAN_NFIRST).  Those behind are of another
 * security level and not leakproof: they must not see rows that the clauses in front of them
 * remove.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/table.h"
#include "catalog/pg_class_d.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "node_scan_internal.h"
#include "zs_base.h"
#include "zs_base_plan.h"
#include "zs_clause.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_page.h"

typedef struct ScanPath
{
	CustomPath	path;			/* first */
	double		zones;			/* share of the rows in vectors that zone maps leave */
	double		vectors;		/* ... and a join's keys */
	bool		leaves_out;		/* may it leave out rows that a join has no use for? */
	bool		is_cautious;	/* see is_larger_than_believed() */
	bool		is_lookup;		/* with values of other relations (node_scan_lookup.c) */
	Cost		program_cost;	/* of clauses that have programs, for a row, by these */
	QualCost	vector_cost;	/* of the same, row by row */
	QualCost	other_cost;		/* of the others */
	Cost		row_cost;		/* of its costs, what making rows of its batches takes */
	List	   *told;			/* columns whose keys joins tell it, as the costs have it */
} ScanPath;

/* ---- which clauses? ---------------------------------------------------------------- */

/*
 * May the clause come before those of the first security level that there is?  Among the clauses of
 * one level the order is up to us as far as errors do not show it.
 */
static bool
may_come_first(const RestrictInfo *rinfo, Index first_level)
{
	return rinfo->security_level <= first_level || rinfo->leakproof;
}

static Index
first_security_level(List *clauses)
{
	Index		level = PG_UINT32_MAX;
	ListCell   *lc;

	foreach(lc, clauses)
		level = Min(level, lfirst_node(RestrictInfo, lc)->security_level);
	return level;
}

/* expression_tree_mutator callback: columns of other tables are parameters of a scan of this. */
static Node *
as_parameters(Node *node, void *arg)
{
	Index		varno = *(Index *) arg;
	Param	   *param;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (!(IsA(node, Var) && ((Var *) node)->varno != (int) varno) && !IsA(node, PlaceHolderVar))
		return expression_tree_mutator(node, as_parameters, arg);
	param = makeNode(Param);
	param->paramkind = PARAM_EXEC;
	param->paramtype = exprType(node);
	param->paramtypmod = exprTypmod(node);
	param->paramcollid = exprCollation(node);
	param->location = -1;
	return (Node *) param;
}

/*
 * Those of the clauses (RestrictInfo) of a scan that have programs, whatever their parameters turn
 * out to be; columns of other tables than varno are parameters.
 */
List *
zsnode_scan_vector_clauses(Relation table, Index varno, List *clauses)
{
	Index		level = first_security_level(clauses);
	List	   *result = NIL;
	int			nvectors = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Node	   *clause = (Node *) rinfo->clause;

		if (rinfo->pseudoconstant || !may_come_first(rinfo, level))
			continue;
		if (bms_membership(rinfo->clause_relids) == BMS_MULTIPLE)
			clause = as_parameters(clause, &varno);
		if (zsexpr_filter_clause_possible(RelationGetDescr(table), varno, clause, &nvectors))
			result = lappend(result, rinfo);
	}
	return result;
}

static List *
find_vector_clauses(RelOptInfo *rel, RangeTblEntry *rte)
{
	Relation	table = table_open(rte->relid, NoLock);
	List	   *result = zsnode_scan_vector_clauses(table, rel->relid, rel->baserestrictinfo);

	table_close(table, NoLock);
	return result;
}

/* WHERE CURRENT OF can do with nothing else than a TID scan. */
static bool
has_current_of(RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (IsA(lfirst_node(RestrictInfo, lc)->clause, CurrentOfExpr))
			return true;
	}
	return false;
}

/*
 * Is it the target of a change, and a child by inheritance, not a partition?  TimescaleDB brings
 * back the rows of a compressed chunk that is changed, if it finds a scan node of core's for it.
 */
static bool
is_changed_child(PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte)
{
	if (root->parse->commandType == CMD_SELECT ||
		!(bms_is_member(rel->relid, root->all_result_relids) ||
		  bms_overlap(rel->top_parent_relids, root->all_result_relids)))
		return false;
	return has_superclass(rte->relid) && !get_rel_relispartition(rte->relid);
}

/* ---- plan --------------------------------------------------------------------------- */

/* PlanCustomPath */
static Plan *
plan_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
		  List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);
	Index		level = first_security_level(clauses);
	int			nfirst = 0;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->pseudoconstant)
			continue;
		if (!may_come_first(rinfo, level))
			break;
		nfirst++;
	}
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = extract_actual_clauses(clauses, false);
	Assert(nfirst <= list_length(cscan->scan.plan.qual));
	cscan->scan.scanrelid = rel->relid;
	cscan->flags = path->flags;
	cscan->custom_private = list_make3(zsbase_private_name(), makeInteger(nfirst),
									   list_copy(((ScanPath *) path)->told));
	cscan->methods = &zsnode_scan_methods;
	return &cscan->scan.plan;
}

static const CustomPathMethods path_methods = {
	.CustomName = "ZedstoreScan",
	.PlanCustomPath = plan_scan,
};

const CustomScanMethods zsnode_scan_methods = {
	.CustomName = "ZedstoreScan",
	.CreateCustomScanState = zsnode_scan_create_state,
};

/* May a hash join tell a scan of the relation which rows it need not return? */
static bool
may_be_filtered(const RelOptInfo *rel)
{
	return zs_enable_join_filters && rel->reloptkind == RELOPT_BASEREL &&
		(rel->joininfo != NIL || rel->has_eclass_joins);
}

/*
 * May the scan leave out rows before all of its filter has seen them, and before its columns are
 * returned?  As join_tap.c and expr_filter.c decide.
 */
static bool
may_leave_out(RelOptInfo *rel, List *vector_clauses)
{
	ListCell   *lc;

	if (zsscan_any_may_raise(rel->reltarget->exprs, NULL))
		return false;
	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		/* a Result node above the scan decides whether there is a row at all */
		if (rinfo->pseudoconstant)
			return false;
		if (!list_member_ptr(vector_clauses, rinfo) &&
			zsscan_any_may_raise(list_make1(rinfo), NULL))
			return false;
	}
	return true;
}

/* ---- path --------------------------------------------------------------------------- */

/*
 * Processor time of a scan all rows of which are in columns.  Of the rows of the vectors that are
 * looked at, tested pass the clauses that have programs, and survivors are left by joins, too.
 */
static Cost
batches_cpu(const ScanPath *scan, const ZsBatchCosts *batches, double tuples, double tested,
			double survivors)
{
	return scan->vectors * batches->decoding + tuples * scan->program_cost +
		survivors * cpu_tuple_cost + tested * scan->other_cost.per_tuple;
}

/*
 * The same, as the planner is told.  Core's nodes are not charged for decoding, so a scan by
 * batches that returns all rows it has tested takes a share of their time at most; what joins leave
 * of it is in proportion to that.
 */
static Cost
columns_cpu(PlannerInfo *root, RelOptInfo *rel, ScanPath *scan, double tuples, double tested,
			double survivors, ZsBatchCosts *batches)
{
	List	   *vector_clauses = list_nth(scan->path.custom_private, ZS_SCAN_CLAUSES);
	Cost		most = (vector_clauses != NIL ? ZS_SHARE_OF_ROWWISE : ZS_SHARE_WITHOUT_CLAUSES) *
		(tuples * (cpu_tuple_cost + scan->vector_cost.per_tuple) +
		 tested * scan->other_cost.per_tuple);
	Cost		cpu;
	Cost		all;

	Assert(survivors <= tested);
	*batches = zscost_batches(root, rel, vector_clauses, survivors / scan->vectors);
	cpu = batches_cpu(scan, batches, tuples, tested, survivors);
	all = cpu;
	if (survivors < tested)
	{
		ZsBatchCosts whole = *batches;

		whole.left = zscost_batches_left(rel, tested / scan->vectors);
		whole.decoding += (whole.left - batches->left) * whole.others_decoding;
		all = batches_cpu(scan, &whole, tuples, tested, tested);
	}
	scan->row_cost = survivors * cpu_tuple_cost;
	if (all <= most)
		return cpu;
	scan->row_cost *= most / all;
	return cpu * most / all;
}

/* Fills in what the clauses of a scan cost, which is the same for all copies of its path. */
static void
cost_clauses(PlannerInfo *root, ScanPath *scan)
{
	const Path *path = &scan->path.path;
	List	   *vector_clauses = list_nth(scan->path.custom_private, ZS_SCAN_CLAUSES);
	ListCell   *next = list_head(vector_clauses);
	List	   *others = NIL;
	ListCell   *lc;

	/* both lists have the same order; a look-up has clauses of joins behind these */
	foreach(lc, path->parent->baserestrictinfo)
	{
		if (next != NULL && lfirst(next) == lfirst(lc))
			next = lnext(vector_clauses, next);
		else
			others = lappend(others, lfirst(lc));
	}
	Assert(next == NULL || scan->is_lookup);
	if (path->param_info != NULL && !scan->is_lookup)
		others = list_concat(others, path->param_info->ppi_clauses);
	scan->program_cost = zscost_filter(vector_clauses);
	cost_qual_eval(&scan->vector_cost, vector_clauses, root);
	cost_qual_eval(&scan->other_cost, others, root);
	list_free(others);
}

/*
 * The costs of a scan by as many processes as path->parallel_workers says, those of its clauses
 * being there (cost_clauses()).  share_left: of the rows, less than 1 thanks to a join's keys.
 */
static void
cost_scan(PlannerInfo *root, RelOptInfo *rel, ScanPath *scan, double share_left)
{
	Path	   *path = &scan->path.path;
	List	   *vector_clauses = list_nth(scan->path.custom_private, ZS_SCAN_CLAUSES);
	double		tuples = rel->tuples * scan->vectors;
	double		survivors = rel->tuples *
		clauselist_selectivity(root, vector_clauses, scan->is_lookup ? rel->relid : 0,
							   JOIN_INNER, NULL);
	ZsBatchCosts batches;
	double		seq_page;
	double		rows;
	double		tested;
	double		all_tested;
	Cost		cpu;

	path->rows = path->param_info != NULL ? path->param_info->ppi_rows : rel->rows;
	path->rows = clamp_row_est(path->rows * share_left);
	rows = path->rows;
	if (path->parallel_workers > 0)
		path->rows = clamp_row_est(path->rows / zscost_parallel_divisor(path->parallel_workers));
	/* those without a filter are as likely chosen as sequential scans, for tests, too */
	if (zs_debug_vector != ZS_DEBUG_VECTOR_OFF && vector_clauses != NIL && !scan->is_lookup)
		return;

	all_tested = Max(clamp_row_est(survivors), rows);
	survivors = Max(clamp_row_est(all_tested * share_left), rows);
	/* what zone maps leave out would not pass; what a join's keys leave out might */
	tested = Max(all_tested * scan->vectors / scan->zones, survivors);
	get_tablespace_page_costs(rel->reltablespace, NULL, &seq_page);
	cpu = columns_cpu(root, rel, scan, tuples, tested, survivors, &batches);
	cpu = (1 - batches.row_share) * cpu + batches.row_share * ZS_SHARE_OF_ROWS *
		(rel->tuples * (cpu_tuple_cost + scan->vector_cost.per_tuple) +
		 all_tested * scan->other_cost.per_tuple);
	scan->row_cost *= 1 - batches.row_share;
	cpu += rows * path->pathtarget->cost.per_tuple;
	if (share_left < 1)
		cpu += tested * ZS_COST_PER_JOIN_KEY +
			(rel->tuples * scan->zones - tuples) / ZS_COST_STRIPE_ROWS * ZS_COST_PER_LEFT_OUT;
	if (scan->zones < 1)
		cpu += rel->tuples / ZS_SEGMENT_ROWS * ZS_COST_PER_SEGMENT;
	if (path->parallel_workers > 0)
	{
		cpu /= zscost_parallel_divisor(path->parallel_workers);
		scan->row_cost /= zscost_parallel_divisor(path->parallel_workers);
	}
	path->startup_cost = scan->vector_cost.startup + scan->other_cost.startup +
		path->pathtarget->cost.startup;
	/* there are programs to be made */
	if (vector_clauses != NIL && !scan->is_cautious)
		path->startup_cost += ZS_COST_BEGIN_BATCHES;
	zs_path_add_disabled(path, zs_scan_disabled(rel, path->parallel_workers));
	if (scan->is_lookup && zs_debug_vector == ZS_DEBUG_VECTOR_OFF)
		path->startup_cost += ZS_COST_OF_LOOKUP;
	path->startup_cost += batches.seeks;
	path->total_cost = path->startup_cost + cpu +
		seq_page * batches.pages * (1 - (1 - batches.row_share) * (1 - scan->vectors));
}

/*
 * Is the table believed to have few rows, though row numbers speak of many?  If it has them, to go
 * row by row costs many times what programs cost to make; so these do not count.
 */
static bool
is_larger_than_believed(PlannerInfo *root, const RelOptInfo *rel)
{
	Relation	table;
	bool		result;

	if (rel->tuples >= ZS_FEW_ROWS)
		return false;
	table = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	result = (double) zspage_logical_blocks(table) * ZS_ROWS_PER_BLOCK >=
		Max(ZS_FEW_ROWS, ZS_WRONG_FACTOR * rel->tuples);
	table_close(table, NoLock);
	return result;
}

/* The path of a scan by so many workers, 0: by the leader alone, without its costs. */
static ScanPath *
make_uncosted(PlannerInfo *root, RelOptInfo *rel, List *vector_clauses, Relids outer, int workers)
{
	ScanPath   *scan = (ScanPath *) newNode(sizeof(ScanPath), T_CustomPath);
	CustomPath *path = &scan->path;

	Assert(workers == 0 || (workers > 0 && rel->consider_parallel));
	scan->zones = scan->vectors = zscost_zone_share(rel);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = get_baserel_parampathinfo(root, rel, outer);
	path->path.parallel_aware = workers > 0;
	path->path.parallel_safe = rel->consider_parallel;
	path->path.parallel_workers = workers;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
	path->methods = &path_methods;
	path->custom_private = list_make2(zsbase_private_name(), vector_clauses);
	scan->is_cautious = zs_enable_robust_joins && is_larger_than_believed(root, rel);
	return scan;
}

static Path *
make_path(PlannerInfo *root, RelOptInfo *rel, List *vector_clauses, int workers)
{
	ScanPath   *scan = make_uncosted(root, rel, vector_clauses, rel->lateral_relids, workers);

	scan->leaves_out = zs_enable_join_filters && may_leave_out(rel, vector_clauses);
	cost_clauses(root, scan);
	cost_scan(root, rel, scan, 1);
	return &scan->path.path;
}

/*
 * The path of a scan whose filter has clauses of joins, too, with values of the relations outer;
 * vector_clauses: those of its clauses (RestrictInfo) that have programs.  It looks at no more than
 * a share of the vectors, more than 0 and at most 1.
 */
Path *
zsnode_scan_lookup_path(PlannerInfo *root, RelOptInfo *rel, List *vector_clauses, Relids outer,
						double share)
{
	ScanPath   *scan = make_uncosted(root, rel, vector_clauses, outer, 0);

	Assert(share > 0 && share <= 1);
	scan->is_lookup = true;
	scan->zones = scan->vectors = Min(scan->zones, share);
	cost_clauses(root, scan);
	cost_scan(root, rel, scan, 1);
	return &scan->path.path;
}

static bool
is_scan_path(const Path *path)
{
	return path->pathtype == T_CustomScan &&
		((const CustomPath *) path)->methods == &path_methods;
}

/* Is it a path of a scan by batches, without parameters? */
bool
zsnode_scan_is_path(const Path *path)
{
	return path->param_info == NULL && is_scan_path(path);
}

/* Is it a path of a scan that looks rows up by values of other relations? */
bool
zsnode_scan_is_lookup(const Path *path)
{
	return is_scan_path(path) && ((const ScanPath *) path)->is_lookup;
}

/*
 * Is it a path of a scan by batches that leaves out rows which hash joins above it have no use for?
 */
bool
zsnode_scan_leaves_out(const Path *path)
{
	return zsnode_scan_is_path(path) && ((const ScanPath *) path)->leaves_out;
}

/*
 * A copy of such a path (zsnode_scan_leaves_out()) for a scan that returns a share of its rows, 0
 * to 1, thanks to a join's keys of these columns (list of attribute numbers), and for that looks at
 * no more than the share `vectors` of the vectors of each column.
 */
Path *
zsnode_scan_filtered_path(PlannerInfo *root, const Path *path, List *columns, double share,
						  double vectors)
{
	ScanPath   *copy = palloc(sizeof(ScanPath));
	double		rows = path->rows * zscost_parallel_divisor(path->parallel_workers);

	Assert(zsnode_scan_leaves_out(path) && columns != NIL);
	Assert(share <= 1 && vectors > 0 && vectors <= 1);
	/* another join may have left a share only */
	share *= Min(rows / Max(path->parent->rows, 1), 1);
	memcpy(copy, path, sizeof(ScanPath));
	copy->vectors = Min(copy->vectors, vectors);
	copy->told = list_union_int(copy->told, columns);
	zs_path_add_disabled(&copy->path.path, -zs_path_disabled(path));
	cost_scan(root, path->parent, copy, share);
	return &copy->path.path;
}

/* A copy of such a path (zsnode_scan_is_path()) by which one process returns all of its rows. */
Path *
zsnode_scan_whole_path(PlannerInfo *root, const Path *path)
{
	ScanPath   *copy = palloc(sizeof(ScanPath));
	double		rows = path->rows * zscost_parallel_divisor(path->parallel_workers);

	Assert(zsnode_scan_is_path(path));
	memcpy(copy, path, sizeof(ScanPath));
	copy->path.path.parallel_aware = false;
	copy->path.path.parallel_workers = 0;
	zs_path_add_disabled(&copy->path.path, -zs_path_disabled(path));
	cost_scan(root, path->parent, copy, Min(rows / Max(path->parent->rows, 1), 1));
	return &copy->path.path;
}

/*
 * A copy of such a path (zsnode_scan_is_path()) for a scan whose batches are taken as they are,
 * with what it costs then.
 */
Path *
zsnode_scan_batches_path(const Path *path)
{
	ScanPath   *copy = palloc(sizeof(ScanPath));

	Assert(zsnode_scan_is_path(path));
	memcpy(copy, path, sizeof(ScanPath));
	Assert(copy->row_cost >= 0);
	copy->path.path.total_cost = Max(path->total_cost - copy->row_cost, path->startup_cost);
	copy->row_cost = 0;
	return &copy->path.path;
}

/* Is a path cheaper than our scan can be in one process, as far as that is known at once? */
static bool
is_beaten(RelOptInfo *rel)
{
	Cost		least = rel->tuples *
		Min(ZS_COST_PER_CLAUSE, ZS_SHARE_OF_ROWWISE * cpu_tuple_cost);

	return zscost_is_beaten(rel->pathlist, Min(least, ZS_COST_OF_ZONES)) ||
		zscost_is_beaten(rel->pathlist, least * zscost_zone_share(rel));
}

/* Is the relation a table of ours, as a whole, that may be scanned in sequence? */
bool
zsnode_scan_is_possible(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	return zs_enable_vector_scan && zsbase_rel_is_ours(rel, rte) && !zscost_is_looked_up(rel) &&
		!has_current_of(rel) && zscost_is_whole_table(rel) && !is_changed_child(root, rel, rte);
}

/*
 * A step of set_rel_pathlist: adds scans by batches, parallel ones too, to core's paths of a
 * zedstore table, where they may be cheaper.
 */
void
zsnode_scan_add_paths(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	List	   *vector_clauses;
	int			workers;

	if ((rel->baserestrictinfo == NIL && !may_be_filtered(rel)) ||
		!zsnode_scan_is_possible(root, rel, rte) || is_beaten(rel))
		return;
	vector_clauses = find_vector_clauses(rel, rte);
	if (vector_clauses == NIL && !may_be_filtered(rel))
		return;
	add_path(rel, make_path(root, rel, vector_clauses, 0));
	if (!rel->consider_parallel || !bms_is_empty(rel->lateral_relids))
		return;
	workers = zscost_scan_workers(rel, rte);
	if (workers > 0)
		add_partial_path(rel, make_path(root, rel, vector_clauses, workers));
}
