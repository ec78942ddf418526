/*-------------------------------------------------------------------------
 *
 * scan_xmin_plan.c
 *	  A warning for queries that take xmin for the version of a row where it is none.
 *
 * Frameworks read xmin with a row and update it later where xmin is still the same (optimistic
 * locking).  Tables that an older release made do not keep xmin of frozen rows: it reads 2 before
 * and after somebody else's update, and theirs is lost without an error.  So a query that compares
 * it is told so when it is planned, once.
 *
 * What counts as a comparison is an operator, or what stands for one, with xmin among its
 * arguments, however deep.  A subquery's column that is nothing but xmin counts as xmin.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_xmin_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_compat.h"
#include "zs_page.h"
#include "zs_projection.h"

/* A query and those around it. */
typedef struct QueryLevel
{
	const Query *query;
	const struct QueryLevel *outer;
} QueryLevel;

typedef struct Walk
{
	const QueryLevel *level;
	bool		compared;		/* within a comparison */
} Walk;


/* ---- tables ------------------------------------------------------------------ */

static void
warn(Relation rel)
{
	ereport(WARNING,
			(errmsg("xmin of table \"%s\" does not tell versions of a row apart",
					RelationGetRelationName(rel)),
			 errdetail("The table was made by an older release of zedstore_io, which does not keep xmin of rows that are frozen: it reads 2 whoever wrote them, so that an update which compares it may overwrite another one."),
			 errhint("VACUUM FULL makes the table keep it from then on.")));
}

/* Warns if the table is one of ours that does not keep xmin. */
static bool
check_table(Oid relid)
{
	bool		warned = false;
	Relation	rel;

	if (!zsbase_is_zedstore_am(get_rel_relam(relid)))
		return false;
	rel = try_relation_open(relid, AccessShareLock);
	if (rel == NULL)
		return false;
	if (!RELATION_IS_OTHER_TEMP(rel) && !zspage_keeps_xmin(rel))
	{
		warn(rel);
		warned = true;
	}
	relation_close(rel, NoLock);
	return warned;
}

/* The same for a table and its children. */
static bool
check_tables(const RangeTblEntry *rte)
{
	ListCell   *lc;

	if (rte->relkind != RELKIND_PARTITIONED_TABLE && !(rte->inh && has_subclass(rte->relid)))
		return check_table(rte->relid);
	foreach(lc, find_all_inheritors(rte->relid, NoLock, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (check_table(lfirst_oid(lc)))
			return true;
	}
	return false;
}

/* ---- expressions -------------------------------------------------------------- */

/* The CTE that rte, of a query at this level, refers to, and the level it stands at. */
static const Query *
find_cte(const RangeTblEntry *rte, const QueryLevel **level)
{
	ListCell   *lc;

	for (Index up = 0; up < rte->ctelevelsup && *level != NULL; up++)
		*level = (*level)->outer;
	if (*level == NULL || rte->self_reference)
		return NULL;
	foreach(lc, (*level)->query->cteList)
	{
		const CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return IsA(cte->ctequery, Query) ? (const Query *) cte->ctequery : NULL;
	}
	return NULL;
}

/* The table whose xmin the variable is; NULL if it is something else. */
static const RangeTblEntry *
find_table(const Var *var, const QueryLevel *level)
{
	QueryLevel	inner;
	const RangeTblEntry *rte;
	const Node *expr = NULL;

	check_stack_depth();
	for (Index up = 0; up < var->varlevelsup && level != NULL; up++)
		level = level->outer;
	if (level == NULL || IS_SPECIAL_VARNO(var->varno) || var->varno < 1 ||
		var->varno > list_length(level->query->rtable))
		return NULL;
	rte = rt_fetch(var->varno, level->query->rtable);
	if (rte->rtekind == RTE_RELATION)
		return var->varattno == ZS_XMIN_ATTNO ? rte : NULL;
	if (var->varattno <= 0)
		return NULL;

	inner.outer = level;
	inner.query = NULL;
	if (rte->rtekind == RTE_JOIN && var->varattno <= list_length(rte->joinaliasvars))
		expr = list_nth(rte->joinaliasvars, var->varattno - 1);
	else if (rte->rtekind == RTE_SUBQUERY)
		inner.query = rte->subquery;
	else if (rte->rtekind == RTE_CTE)
		inner.query = find_cte(rte, &inner.outer);
	if (inner.query != NULL)
	{
		const TargetEntry *tle = get_tle_by_resno(inner.query->commandType == CMD_SELECT ?
												  inner.query->targetList :
												  inner.query->returningList, var->varattno);

		expr = tle != NULL ? (const Node *) tle->expr : NULL;
		level = &inner;
	}
	if (expr == NULL || !IsA(expr, Var))
		return NULL;
	return find_table((const Var *) expr, level);
}

/* Does the node compare its arguments? */
static bool
is_comparison(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_RowCompareExpr:
		case T_SubLink:
			return true;
		case T_CaseExpr:
			return ((const CaseExpr *) node)->arg != NULL;
		default:
			return false;
	}
}

/* Ends with true when it has warned. */
static bool
walk(Node *node, void *context)
{
	Walk	   *state = context;
	bool		outside = state->compared;
	bool		result;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		const RangeTblEntry *rte = state->compared ?
			find_table((const Var *) node, state->level) : NULL;

		return rte != NULL && check_tables(rte);
	}
	if (IsA(node, Query))
	{
		QueryLevel	level = {.query = (const Query *) node, .outer = state->level};
		Walk		inner = {.level = &level};

		return query_tree_walker((Query *) node, walk, &inner, 0);
	}
	state->compared |= is_comparison(node);
	result = expression_tree_walker(node, walk, state);
	state->compared = outside;
	return result;
}

/* A query is about to be planned. */
void
zsscan_xmin_watch_query(Query *parse)
{
	Walk		state = {0};

	if (parse->commandType != CMD_UTILITY && !IsBinaryUpgrade)
		(void) walk((Node *) parse, &state);
}
