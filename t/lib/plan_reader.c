/*-------------------------------------------------------------------------
 *
 * plan_reader.c
 *	  For t/beside_plan_readers.pl, which builds it: looks at paths, plans, plan states and slots
 *	  of zedstore_io as other libraries do.
 *
 * Paths and plans: Citus takes the first member of any CustomScan's custom_private for a node
 * (IsCitusCustomScan(), of all nodes below lefttree and righttree); TimescaleDB walks Append,
 * MergeAppend, CustomScan and SubqueryScan, looks at scanrelid of what it finds, and at methods of
 * paths (ts_plan_tree_walker(), ca_append_begin()); both copy plans, and Citus compares what
 * nodeToString() says of them.  So a plan with a node of ours is executed as it has come out of
 * stringToNode(), which is what parallel workers do with theirs.
 *
 * Plan states: auto_explain, pg_stat_statements and Citus walk them when the executor has started,
 * and before it ends.  Slots: who wraps a node, as TimescaleDB's nodes do with their children,
 * takes all columns of what it returns, copies it in any form, and goes by the slot's operations.
 *
 * Rows elsewhere: TimescaleDB keeps the rows of compressed chunks in other tables.  It takes core's
 * paths out of a chunk's pathlist and puts others there, and brings rows back when it finds a scan
 * node of core's for a chunk that is changed (decompress_chunk_plan_walker()).  So for tables whose
 * names begin with KEPT the paths are replaced by an Append here; nothing else may scan them, and
 * nodes of ours no child by inheritance that is changed.
 *
 * What must not be is an error.  plan_reader_counts() says what was looked at in the session.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/plan_reader.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/extensible.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#if PG_VERSION_NUM >= 190000
#define PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo params, \
	ExplainState *es
#define PLANNER_ARGUMENTS	parse, query_string, cursor_options, params, es
#define is_changed(stmt, relid)	bms_is_member((relid), (stmt)->resultRelationRelids)
#else
#define PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo params
#define PLANNER_ARGUMENTS	parse, query_string, cursor_options, params
#define is_changed(stmt, relid)	list_member_int((stmt)->resultRelations, (relid))
#endif

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(plan_reader_counts);
extern PGDLLEXPORT void _PG_init(void);

#define OUR_NAME	"zedstore_io"
#define KEPT		"kept"
#define NKINDS		4

static const char *const kinds[NKINDS] = {"ZedstoreScan", "ZedstoreAgg", "ZedstoreTopN",
"ZedstoreCache"};

typedef struct Counts
{
	int64		paths;
	int64		plans;
	int64		states;
	int64		rows;
	int64		ends;
} Counts;

static Counts counts[NKINDS];

static planner_hook_type next_planner = NULL;
static set_rel_pathlist_hook_type next_set_rel_pathlist = NULL;
static create_upper_paths_hook_type next_create_upper_paths = NULL;
static ExecutorStart_hook_type next_executor_start = NULL;
static ExecutorEnd_hook_type next_executor_end = NULL;

#define check(condition) \
	do { \
		if (!(condition)) \
			elog(ERROR, "plan_reader: not true: %s", #condition); \
	} while (0)

static int
kind_of(const char *name)
{
	for (int i = 0; i < NKINDS; i++)
	{
		if (strcmp(name, kinds[i]) == 0)
			return i;
	}
	return -1;
}

/* ---- paths and plans --------------------------------------------------------------- */

/* Are these nodes, one of which names us, in the first place? */
static void
check_private(List *members)
{
	ListCell   *lc;

	check(members != NIL && nodeTag(members) == T_List);
	check(linitial(members) != NULL && IsA(linitial(members), String));
	check(strcmp(strVal(linitial(members)), OUR_NAME) == 0);
	foreach(lc, members)
	{
		const Node *node = lfirst(lc);

		check(node == NULL || (nodeTag(node) > T_Invalid && nodeTag(node) < 2000));
	}
}

/* Is what was written the same when it has been read and is written again? */
static void
check_same(const char *written, const char *again)
{
	int			at = 0;

	while (written[at] != '\0' && written[at] == again[at])
		at++;
	if (written[at] != again[at])
		elog(ERROR, "plan_reader: \"%.100s\" becomes \"%.100s\"", written + Max(at - 50, 0),
			 again + Max(at - 50, 0));
}

static bool
walk_expression(Node *node, void *context)
{
	return node != NULL && expression_tree_walker(node, walk_expression, context);
}

static void
check_path(const Path *path)
{
	const CustomPath *custom = (const CustomPath *) path;
	int			kind;
	ListCell   *lc;

	if (!IsA(path, CustomPath) || (kind = kind_of(custom->methods->CustomName)) < 0)
		return;
	check(path->pathtype == T_CustomScan && path->parent != NULL && path->pathtarget != NULL);
	check(path->total_cost >= path->startup_cost && path->rows >= 0);
	check_private(custom->custom_private);
	foreach(lc, custom->custom_paths)
		check(IsA(((Path *) lfirst(lc))->parent, RelOptInfo));
	counts[kind].paths++;
}

static void
check_paths(RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		check_path(lfirst(lc));
	foreach(lc, rel->partial_pathlist)
		check_path(lfirst(lc));
}

static bool
is_kept(Oid relid)
{
	return strncmp(get_rel_name(relid), KEPT, strlen(KEPT)) == 0;
}

static void
set_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (next_set_rel_pathlist)
		next_set_rel_pathlist(root, rel, rti, rte);
	check_paths(rel);
	if (rte->rtekind == RTE_RELATION && !rte->inh && is_kept(rte->relid))
	{
		Path	   *scan = create_seqscan_path(root, rel, NULL, 0);

		rel->pathlist = rel->partial_pathlist = NIL;
#if PG_VERSION_NUM >= 190000
		add_path(rel, (Path *) create_append_path(root, rel,
												  (AppendPathInput) {.subpaths = list_make1(scan)},
												  NIL, NULL, 0, false, -1));
#else
		add_path(rel, (Path *) create_append_path(root, rel, list_make1(scan), NIL, NIL, NULL, 0,
												  false, -1));
#endif
	}
}

static void
create_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
				   RelOptInfo *output_rel, void *extra)
{
	if (next_create_upper_paths)
		next_create_upper_paths(root, stage, input_rel, output_rel, extra);
	check_paths(output_rel);
}

static void
check_custom_scan(const CustomScan *cscan, int kind, const PlannedStmt *stmt)
{
	List	   *lists[] = {cscan->custom_private, cscan->custom_exprs, cscan->custom_scan_tlist};
	ListCell   *lc;

	check_private(cscan->custom_private);
	for (int i = 0; i < (int) lengthof(lists); i++)
	{
		char	   *written = nodeToString(lists[i]);

		check(equal(lists[i], copyObject(lists[i])));
		check_same(written, nodeToString(stringToNode(written)));
	}
	(void) walk_expression((Node *) cscan->custom_exprs, NULL);
	(void) walk_expression((Node *) cscan->custom_scan_tlist, NULL);
	(void) walk_expression((Node *) cscan->scan.plan.targetlist, NULL);
	(void) walk_expression((Node *) cscan->scan.plan.qual, NULL);
	check((int) cscan->scan.scanrelid <= list_length(stmt->rtable));
	check((cscan->scan.scanrelid == 0) == (cscan->custom_plans != NIL));
	foreach(lc, cscan->scan.plan.targetlist)
	{
		const Var  *var = (const Var *) lfirst_node(TargetEntry, lc)->expr;

		if (IsA(var, Var) && var->varno == INDEX_VAR)
			check(IsA(list_nth(cscan->custom_scan_tlist, var->varattno - 1), TargetEntry));
		else if (IsA(var, Var))
			check(var->varno == (int) cscan->scan.scanrelid);
	}
	if (cscan->scan.scanrelid > 0)
	{
		Oid			relid = rt_fetch(cscan->scan.scanrelid, stmt->rtable)->relid;

		check(!is_kept(relid));
		check(!is_changed(stmt, cscan->scan.scanrelid) ||
			  !has_superclass(relid) || get_rel_relispartition(relid));
	}
	counts[kind].plans++;
}

/* All nodes of the plan; returns whether one is ours. */
static bool
check_plan(Plan *plan, const PlannedStmt *stmt)
{
	List	   *children = NIL;
	bool		ours = false;
	ListCell   *lc;

	check_stack_depth();
	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_Append:
			children = ((Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			children = ((MergeAppend *) plan)->mergeplans;
			break;
		case T_SubqueryScan:
			children = list_make1(((SubqueryScan *) plan)->subplan);
			break;
		case T_CustomScan:
			{
				const CustomScan *cscan = (const CustomScan *) plan;
				int			kind = kind_of(cscan->methods->CustomName);

				children = cscan->custom_plans;
				if (kind >= 0)
					check_custom_scan(cscan, kind, stmt);
				ours = kind >= 0;
				break;
			}
		default:
			break;
	}
	foreach(lc, children)
		ours |= check_plan(lfirst(lc), stmt);
	ours |= check_plan(plan->lefttree, stmt);
	ours |= check_plan(plan->righttree, stmt);
	return ours;
}

static PlannedStmt *
reading_planner(PLANNER_PARAMETERS)
{
	PlannedStmt *stmt = next_planner ?
		next_planner(PLANNER_ARGUMENTS) : standard_planner(PLANNER_ARGUMENTS);
	bool		ours = check_plan(stmt->planTree, stmt);
	PlannedStmt *again;
	ListCell   *lc;

	foreach(lc, stmt->subplans)
		ours |= check_plan(lfirst(lc), stmt);
	if (!ours)
		return stmt;
	again = stringToNode(nodeToString(copyObject(stmt)));
	/* places in the text are not written */
	again->stmt_location = stmt->stmt_location;
	again->stmt_len = stmt->stmt_len;
	return again;
}

/* ---- plan states and slots --------------------------------------------------------- */

/* A node whose rows are looked at, by its address. */
typedef struct ReadNode
{
	PlanState  *node;			/* hash key */
	int			kind;
	ExecProcNodeMtd real;
	MemoryContext context;		/* of a row */
	MemoryContextCallback forget;
} ReadNode;

static HTAB *read_nodes = NULL;

static void
forget_node(void *node)
{
	hash_search(read_nodes, &node, HASH_REMOVE, NULL);
}

/* Are the values those of the slot? */
static void
check_values(TupleTableSlot *slot, const Datum *values, const bool *isnull)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		check(slot->tts_isnull[i] == isnull[i]);
		check(isnull[i] ||
			  datum_image_eq(slot->tts_values[i], values[i], att->attbyval, att->attlen));
	}
}

static void
check_row(PlanState *node, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	const TupleTableSlotOps *forms[] = {&TTSOpsVirtual, &TTSOpsHeapTuple, &TTSOpsMinimalTuple,
	slot->tts_ops};
	bool		is_fixed;
	const TupleTableSlotOps *ops = ExecGetResultSlotOps(node, &is_fixed);

	check(!is_fixed || slot->tts_ops == ops);
	check(desc->natts == ExecGetResultType(node)->natts);
	check(desc->natts == list_length(node->plan->targetlist));
	slot_getallattrs(slot);
	check(slot->tts_nvalid == desc->natts);
	for (int i = 0; i < (int) lengthof(forms); i++)
	{
		TupleTableSlot *copy = MakeSingleTupleTableSlot(desc, forms[i]);

		ExecCopySlot(copy, slot);
		ExecMaterializeSlot(copy);
		slot_getallattrs(copy);
		check_values(slot, copy->tts_values, copy->tts_isnull);
		ExecDropSingleTupleTableSlot(copy);
	}
}

static TupleTableSlot *
read_row(PlanState *node)
{
	ReadNode   *entry = hash_search(read_nodes, &node, HASH_FIND, NULL);
	TupleTableSlot *slot;
	MemoryContext old;

	check(entry != NULL);
	slot = entry->real(node);
	if (TupIsNull(slot))
		return slot;
	old = MemoryContextSwitchTo(entry->context);
	check_row(node, slot);
	counts[entry->kind].rows++;
	MemoryContextSwitchTo(old);
	MemoryContextReset(entry->context);
	return slot;
}

static int
check_state(PlanState *node)
{
	CustomScanState *css = (CustomScanState *) node;
	const CustomScan *cscan = (const CustomScan *) node->plan;
	int			kind;
	ListCell   *lc;

	if (!IsA(node, CustomScanState) || (kind = kind_of(css->methods->CustomName)) < 0)
		return -1;
	check(IsA(node->plan, CustomScan));
	check(strcmp(cscan->methods->CustomName, kinds[kind]) == 0);
	check_private(cscan->custom_private);
	check(list_length(css->custom_ps) == list_length(cscan->custom_plans));
	foreach(lc, css->custom_ps)
		check(((PlanState *) lfirst(lc))->state == node->state);
	/* each subplan of the node's expressions once */
	foreach(lc, node->subPlan)
	{
		ListCell   *lc2;

		for_each_cell(lc2, node->subPlan, lnext(node->subPlan, lc))
			check(lfirst_node(SubPlanState, lc)->subplan !=
				  lfirst_node(SubPlanState, lc2)->subplan);
	}
	check(css->ss.ss_currentRelation == NULL || RelationIsValid(css->ss.ss_currentRelation));
	check(css->ss.ss_ScanTupleSlot != NULL);
	check(css->slotOps == css->ss.ss_ScanTupleSlot->tts_ops);
	check(node->ps_ResultTupleDesc != NULL && node->ps_ExprContext != NULL);
	return kind;
}

static bool
start_walker(PlanState *node, void *context)
{
	int			kind = check_state(node);
	ReadNode   *entry;

	if (kind >= 0 && (node->state->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
	{
		bool		found;

		/* partitions share their subplans, which are met once for each */
		entry = hash_search(read_nodes, &node, HASH_ENTER, &found);
		if (found)
			return false;
		entry->kind = kind;
		entry->real = node->ExecProcNodeReal;
		entry->context = AllocSetContextCreate(node->state->es_query_cxt, "plan_reader row",
											   ALLOCSET_SMALL_SIZES);
		entry->forget.func = forget_node;
		entry->forget.arg = node;
		MemoryContextRegisterResetCallback(node->state->es_query_cxt, &entry->forget);
		ExecSetExecProcNode(node, read_row);
	}
	if (kind >= 0)
		counts[kind].states++;
	return planstate_tree_walker(node, start_walker, context);
}

static bool
end_walker(PlanState *node, void *context)
{
	int			kind = check_state(node);

	if (kind >= 0)
		counts[kind].ends++;
	return planstate_tree_walker(node, end_walker, context);
}

static void
executor_start(QueryDesc *query_desc, int eflags)
{
	MemoryContext old;

	if (next_executor_start)
		next_executor_start(query_desc, eflags);
	else
		standard_ExecutorStart(query_desc, eflags);
	old = MemoryContextSwitchTo(query_desc->estate->es_query_cxt);
	(void) start_walker(query_desc->planstate, NULL);
	MemoryContextSwitchTo(old);
}

static void
executor_end(QueryDesc *query_desc)
{
	(void) end_walker(query_desc->planstate, NULL);
	if (next_executor_end)
		next_executor_end(query_desc);
	else
		standard_ExecutorEnd(query_desc);
}

/* ---- the module ---------------------------------------------------------------------- */

/* What has been looked at: a line for each kind of node. */
Datum
plan_reader_counts(PG_FUNCTION_ARGS)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < NKINDS; i++)
		appendStringInfo(&buf, "%s%s: %d paths, %d plans, %d states, %d rows, %d ends",
						 i > 0 ? "\n" : "", kinds[i], (int) counts[i].paths, (int) counts[i].plans,
						 (int) counts[i].states, (int) counts[i].rows, (int) counts[i].ends);
	PG_RETURN_TEXT_P(cstring_to_text(buf.data));
}

void
_PG_init(void)
{
	HASHCTL		ctl = {
		.keysize = sizeof(PlanState *),
		.entrysize = sizeof(ReadNode),
	};

	read_nodes = hash_create("plan_reader nodes", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	next_planner = planner_hook;
	planner_hook = reading_planner;
	next_set_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = set_rel_pathlist;
	next_create_upper_paths = create_upper_paths_hook;
	create_upper_paths_hook = create_upper_paths;
	next_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
	next_executor_end = ExecutorEnd_hook;
	ExecutorEnd_hook = executor_end;
}
