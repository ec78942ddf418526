/*-------------------------------------------------------------------------
 *
 * cost_key.c
 *	  Look-ups of one row by a unique index.
 *
 * The problem: a statement that reads, changes or deletes a row by its key runs for a few
 * microseconds, and to plan it takes longer than that.  What a fetch costs needs the sizes of the
 * table's columns, from its metapage; scans by batches and in order are worked out beside it; and
 * nothing of all this can change the plan, for one row by a unique index is the best there is.
 *
 * The idea: know such a look-up before core makes its path, by the clauses; charge it a constant;
 * and leave out all that would come after it.  Tables of a page or two are not meant: there a scan
 * may be the better way.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"

#include "zs_compat.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"

/* Is a column of the index compared with a value that is the same for all rows? */
static bool
is_bound(const RelOptInfo *rel, IndexOptInfo *index, int column)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (!list_member_oid(rinfo->mergeopfamilies, index->opfamily[column]))
			continue;
		if ((bms_is_empty(rinfo->right_relids) &&
			 match_index_to_operand(get_leftop(rinfo->clause), column, index)) ||
			(bms_is_empty(rinfo->left_relids) &&
			 match_index_to_operand(get_rightop(rinfo->clause), column, index)))
			return true;
	}
	return false;
}

/*
 * The unique index all columns of which are compared with values that are the same for all rows, so
 * that the relation has one row at most that passes; NULL: there is none.  Goes through clauses and
 * indexes each time.
 */
const IndexOptInfo *
zscost_key_lookup(const RelOptInfo *rel)
{
	ListCell   *lc;

	if (rel->baserestrictinfo == NIL)
		return NULL;
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		int			i = 0;

		if (!index->unique || !index->immediate || (index->indpred != NIL && !index->predOK))
			continue;
		while (i < index->nkeycolumns && is_bound(rel, index, i))
			i++;
		if (i == index->nkeycolumns)
			return index;
	}
	return NULL;
}

/* Does a path compare all columns of a unique index, with values of other tables as well? */
bool
zscost_is_key_lookup(const Path *path)
{
	const IndexPath *lookup = (const IndexPath *) path;
	int			nbound = 0;
	int			last = -1;
	ListCell   *lc;

	if (!IsA(path, IndexPath) || !lookup->indexinfo->unique || !lookup->indexinfo->immediate)
		return false;
	/* they come in the order of the columns */
	foreach(lc, lookup->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == last ||
			!list_member_oid(clause->rinfo->mergeopfamilies,
							 lookup->indexinfo->opfamily[clause->indexcol]))
			continue;
		last = clause->indexcol;
		nbound++;
	}
	Assert(nbound <= lookup->indexinfo->nkeycolumns);
	return nbound == lookup->indexinfo->nkeycolumns;
}

/*
 * As zscost_key_lookup(), remembered, if the table has some rows: where a constant is all that the
 * look-up is charged, and other paths are not worth the time to plan them.
 */
const IndexOptInfo *
zscost_known_key(ZsRelCosts *costs)
{
	if (!costs->key_known)
	{
		costs->key_known = true;
		costs->key = zs_debug_vector == ZS_DEBUG_VECTOR_OFF &&
			costs->rel->tuples >= ZS_LOOKED_UP_ROWS ? zscost_key_lookup(costs->rel) : NULL;
	}
	return costs->key;
}

/* What the columns of one row take, about; nobody looks at the table for it. */
Cost
zscost_of_lookup(const RelOptInfo *rel)
{
	return list_length(rel->reltarget->exprs) * ZS_COST_SINGLE_FIXED;
}

/* Makes the path's target cost so much more as the columns of one row take (zscost_of_lookup()). */
void
zscost_charge_lookup(IndexPath *path)
{
	RelOptInfo *rel = path->path.parent;
	PathTarget *target = palloc(sizeof(PathTarget));

	*target = *rel->reltarget;
	target->cost.per_tuple += zscost_of_lookup(rel);
	path->path.pathtarget = target;
}

/* Has core made a path, and an allowed one, that looks up the row by the known key? */
bool
zscost_has_lookup(ZsRelCosts *costs)
{
	const IndexOptInfo *key = zscost_known_key(costs);
	ListCell   *lc;

	if (key == NULL)
		return false;
	foreach(lc, costs->rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (IsA(path, IndexPath) && path->param_info == NULL && !zs_path_is_avoided(path) &&
			((const IndexPath *) path)->indexinfo == key)
			return true;
	}
	return false;
}
