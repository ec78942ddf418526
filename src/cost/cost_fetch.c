/*-------------------------------------------------------------------------
 *
 * cost_fetch.c
 *	  What the values of rows cost that are fetched one by one.
 *
 * A value is decoded alone, until some others of its vector were; then the vector is, and the rest
 * costs next to nothing.  So it matters how closely rows lie that are fetched one after the other.
 * The constants were measured as processor time, see cost_index.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_fetch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "storage/bufpage.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/spccache.h"

#include "zs_attr.h"
#include "zs_cost.h"
#include "zs_cost_const.h"
#include "zs_page.h"
#include "zs_scan.h"

/* ---- rows -------------------------------------------------------------------- */

/* Is one of the index clauses the equality of this column of the foreign key? */
static bool
looks_up_key(const ForeignKeyOptInfo *fk, int key, List *indexclauses)
{
	ListCell   *lc;

	foreach(lc, indexclauses)
	{
		RestrictInfo *rinfo = lfirst_node(IndexClause, lc)->rinfo;

		if ((fk->eclass[key] != NULL && rinfo->parent_ec == fk->eclass[key]) ||
			list_member_ptr(fk->rinfos[key], rinfo))
			return true;
	}
	return false;
}

/*
 * How many rows a look-up by the index clauses (IndexClause) finds: nfetched, or more if they have
 * all columns of a foreign key of rel to one of the tables that give the values.  Core takes the
 * columns of a key for independent of each other, while all combinations that look-ups ask for are
 * in the table that the foreign key refers to.
 */
double
zscost_rows_found(PlannerInfo *root, RelOptInfo *rel, const ParamPathInfo *param,
				  List *indexclauses, double nfetched)
{
	ListCell   *lc;

	Assert(nfetched >= 0);
	if (param == NULL)
		return nfetched;
	foreach(lc, root->fkey_list)
	{
		const ForeignKeyOptInfo *fk = lfirst_node(ForeignKeyOptInfo, lc);
		RelOptInfo *other;
		int			key = 0;

		if (fk->con_relid != rel->relid || fk->nkeys < 2 ||
			!bms_is_member(fk->ref_relid, param->ppi_req_outer))
			continue;
		while (key < fk->nkeys && looks_up_key(fk, key, indexclauses))
			key++;
		other = find_base_rel(root, fk->ref_relid);
		if (key == fk->nkeys)
			nfetched = Max(nfetched, rel->tuples / Max(other->tuples, 1));
	}
	return nfetched;
}

/* ---- columns ----------------------------------------------------------------- */

/*
 * The share of the rows that are in the row tree, whole, and not in columns: all of them if no
 * column has a page, else as many as its leaves have room for.
 */
static double
row_tree_share(Relation table, const RelOptInfo *rel, const BlockNumber *blocks)
{
	double		pages = blocks[ZS_TREE_ROW];
	int32		width = get_rel_data_width(table, rel->attr_widths - rel->min_attr);
	double		size = MAXALIGN(width) + MAXALIGN(SizeofMinimalTupleHeader) + sizeof(ItemIdData);
	double		density = Max((BLCKSZ - SizeOfPageHeaderData) / size, 1);
	bool		has_columns = false;

	for (AttrNumber attno = 1; attno <= rel->max_attr && !has_columns; attno++)
		has_columns = !TupleDescAttr(RelationGetDescr(table), attno - 1)->attisdropped &&
			blocks[ZsTreeOfAttr(attno)] > 0;
	if (!has_columns)
		return 1;
	/* the tree keeps its root */
	return Min(Max(pages - 1, 0) * density / Max(rel->tuples, 1), 1);
}

static void
load_column(Relation table, RelOptInfo *rel, AttrNumber attno, BlockNumber blocks,
			ZsColumnCost *column)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(table), attno - 1);

	Assert(attno > 0 && attno <= rel->max_attr && !column->known);
	column->known = true;
	column->pages = att->attisdropped ? 0 : blocks;
	if (column->pages == 0)
	{
		/* all rows are in the row tree, or were there before the column */
		column->single = column->vector = 0;
	}
	else if (att->attlen > 0)
	{
		column->single = ZS_COST_SINGLE_FIXED;
		column->vector = ZS_COST_VECTOR_FIXED;
	}
	else if (att->atttypid == NUMERICOID)
	{
		column->single = ZS_COST_SINGLE_FIXED;
		column->vector = ZS_COST_VECTOR_NUMERIC;
	}
	else
	{
		bool		few = column->pages * BLCKSZ < ZS_FEW_VALUES_WIDTH * rel->tuples;
		double		width = rel->attr_widths[attno - rel->min_attr];

		column->single = ZS_COST_SINGLE_STRING +
			ZS_COST_SINGLE_BYTE * (few ? 0 : Min(width, BLCKSZ));
		column->vector = few ? ZS_COST_VECTOR_FEW :
			ZS_COST_VECTOR_STRING * Max(Min(width, BLCKSZ) / ZS_STRING_WIDTH, 1);
		if (!few && column->pages * BLCKSZ < ZS_PACKED_SHARE * width * rel->tuples)
		{
			column->size = ZS_COST_STRIPE_ROWS * Min(width, BLCKSZ);
			column->unpack = ZS_COST_UNPACKED_BYTE * column->size;
		}
	}
}

/* Makes the columns of the set known (offset by FirstLowInvalidHeapAttributeNumber). */
void
zscost_need(PlannerInfo *root, ZsRelCosts *costs, const Bitmapset *attrs)
{
	RelOptInfo *rel = costs->rel;
	Relation	table = NULL;
	int			i = -1;

	if (costs->columns == NULL)
	{
		double		random_page;
		double		total = Max(root->total_table_pages, rel->pages);

		table = table_open(costs->relid, NoLock);
		costs->columns = MemoryContextAllocZero(GetMemoryChunkContext(costs),
												rel->max_attr * sizeof(ZsColumnCost));
		costs->blocks = MemoryContextAlloc(GetMemoryChunkContext(costs),
										   (ZsTreeOfAttr(rel->max_attr) + 1) *
										   sizeof(BlockNumber));
		zspage_tree_blocks(table, ZsTreeOfAttr(rel->max_attr) + 1, costs->blocks);
		costs->tree_pages = (double) costs->blocks[ZS_TREE_TID] + costs->blocks[ZS_TREE_ROW];
		costs->row_share = row_tree_share(table, rel, costs->blocks);
		get_tablespace_page_costs(rel->reltablespace, &random_page, NULL);
		costs->uncached = total > effective_cache_size ?
			random_page * (1.0 - effective_cache_size / total) : 0;
		costs->keeps = zspage_physical_blocks(table) <= ZS_KEPT_MAX_BLOCKS;
	}
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno <= 0 || attno > rel->max_attr || costs->columns[attno - 1].known)
			continue;
		if (table == NULL)
			table = table_open(costs->relid, NoLock);
		load_column(table, rel, attno, costs->blocks[ZsTreeOfAttr(attno)],
					&costs->columns[attno - 1]);
	}
	if (table != NULL)
		table_close(table, NoLock);
}

/* A reference to the whole row is one to all columns. */
static Bitmapset *
expand_whole_row(RelOptInfo *rel, Bitmapset *attrs)
{
	if (bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attrs) &&
		rel->max_attr > 0)
		attrs = bms_add_range(attrs, 1 - FirstLowInvalidHeapAttributeNumber,
							  rel->max_attr - FirstLowInvalidHeapAttributeNumber);
	return attrs;
}

/*
 * Columns that are looked at above a scan of rel which gets values from the relations outer (may be
 * NULL): a column that only a join clause needs is not, if the scan does the clause's work.
 */
Bitmapset *
zscost_outputs(RelOptInfo *rel, Relids outer)
{
	Bitmapset  *attrs = NULL;
	int			i = -1;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attrs);
	attrs = expand_whole_row(rel, attrs);
	if (outer == NULL)
		return attrs;
	outer = bms_union(outer, rel->relids);
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= rel->max_attr &&
			bms_is_subset(rel->attr_needed[attno - rel->min_attr], outer))
			attrs = bms_del_member(attrs, i);
	}
	bms_free(outer);
	return attrs;
}

static Bitmapset *
find_clause_columns(RelOptInfo *rel, RestrictInfo *rinfo)
{
	Bitmapset  *attrs = NULL;

	pull_varattnos((Node *) rinfo->clause, rel->relid, &attrs);
	return expand_whole_row(rel, attrs);
}

/*
 * Columns that the clause looks at.  A restriction with OR may have thousands of arms, for each of
 * which core makes paths of indexes, and these ask for it: so it is looked through once.
 */
Bitmapset *
zscost_clause_columns(RelOptInfo *rel, RestrictInfo *rinfo)
{
	ZsRelCosts *costs = restriction_is_or_clause(rinfo) ? zscost_find(rel) : NULL;
	ZsClauseColumns new = {rinfo};
	MemoryContext old;
	ListCell   *lc;

	if (costs == NULL || !list_member_ptr(rel->baserestrictinfo, rinfo))
		return find_clause_columns(rel, rinfo);
	foreach(lc, costs->or_columns)
	{
		const ZsClauseColumns *known = lfirst(lc);

		if (known->rinfo == rinfo)
			return bms_copy(known->attrs);
	}
	old = MemoryContextSwitchTo(GetMemoryChunkContext(costs));
	new.attrs = find_clause_columns(rel, rinfo);
	costs->or_columns = lappend(costs->or_columns, memcpy(palloc(sizeof(new)), &new,
														  sizeof(new)));
	MemoryContextSwitchTo(old);
	return bms_copy(new.attrs);
}

/* ---- fetches ----------------------------------------------------------------- */

/*
 * n values of a column whose rows lie in so many stripes, each of which is visited once.  Rows are
 * not the same in all of them: with 3 a stripe on average every third one has more, with 6 nearly
 * all.
 */
static Cost
values_of_stripes(const ZsColumnCost *column, double n, double stripes, Cost uncached)
{
	double		share = (n / stripes - ZS_SINGLE_VALUES / 2.0) / (1.5 * ZS_SINGLE_VALUES);
	double		decoded = stripes * Min(Max(share, 0), 1);	/* vectors */
	double		within = n * decoded / stripes; /* values in their stripes */
	double		before = Min(within, decoded * ZS_SINGLE_VALUES);

	Assert(n > 0 && stripes > 0);
	return (n - within + before) * column->single + decoded * column->vector +
		(within - before) * ZS_COST_DECODED + Min(n, stripes) * uncached;
}

/* For what share of n values that are fetched one by one is the compression of a vector undone? */
static double
unpacked_share(const ZsColumnCost *column, double n, double stripes)
{
	double		kept = Min(ZS_UNPACKED_KEPT / (column->size * stripes), 1);

	Assert(n >= 1);
	return 1 - kept + kept * Min(ZS_UNPACKED_LOOKS * stripes / n, 1);
}

/* n values of a column.  kept: vectors stay when they are looked at in many loops. */
static Cost
values_cost(const ZsRelCosts *costs, const ZsColumnCost *column, double n, ZsLocality locality,
			bool kept)
{
	double		stripes = ceil(Max(costs->rel->tuples, 1) / ZS_COST_STRIPE_ROWS);
	double		loops = Max(locality.loops, 1);
	Cost		apart;
	Cost		together = 0;
	ZsColumnCost packed;
	Cost		anew;
	Cost		again;

	Assert(column->known);
	/* as core: clamped to a row at least */
	n = Max(n, 1);
	if (column->unpack > 0)
	{
		packed = *column;
		packed.single += column->unpack * unpacked_share(column, n * loops, stripes);
		column = &packed;
	}
	if (locality.together > 0)
		together = values_of_stripes(column, n, Min(1 + (n - 1) / ZS_COST_STRIPE_ROWS, stripes),
									 costs->uncached);
	if (locality.ascending)
		apart = values_of_stripes(column, n, stripes * (1 - exp(-n / stripes)), costs->uncached);
	else if (stripes <= 1)
		apart = values_of_stripes(column, n, 1, costs->uncached);
	else
		apart = n * ((column->single + costs->uncached) * (1 - 1 / stripes) +
					 ZS_COST_DECODED / stripes);
	anew = apart + locality.together * (together - apart);
	if (!kept)
		return anew;
	again = (values_of_stripes(column, n * loops, stripes * (1 - exp(-n * loops / stripes)),
							   costs->uncached) + stripes * ZS_COST_KEPT_READER) / loops;
	return Min(again, anew);
}

/*
 * Do look-ups keep the vectors of all columns of a fetch, those in outputs and in the clauses that
 * applied() does not name?
 */
static bool
keeps_vectors(const ZsRelCosts *costs, const Bitmapset *outputs, List *const *lists, int nlists,
			  bool (*applied) (RestrictInfo *rinfo, void *arg), void *arg, double n,
			  ZsLocality locality)
{
	RelOptInfo *rel = costs->rel;
	double		stripes = ceil(Max(rel->tuples, 1) / ZS_COST_STRIPE_ROWS);
	Bitmapset  *attrs;
	double		size = 0;
	int			i = -1;

	if (!costs->keeps || !zs_enable_fetch_cache || stripes > ZS_KEPT_STRIPES ||
		(locality.ascending ? locality.loops < ZS_LOOPS_BEFORE_KEEPING :
		 n * Max(locality.loops, 1) < stripes * ZS_ROWS_BEFORE_KEEPING))
		return false;
	attrs = bms_copy(outputs);
	for (int k = 0; k < nlists; k++)
	{
		ListCell   *lc;

		foreach(lc, lists[k])
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

			if (!rinfo->pseudoconstant && !applied(rinfo, arg))
				attrs = bms_join(attrs, zscost_clause_columns(rel, rinfo));
		}
	}
	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= rel->max_attr)
			size += ZS_KEPT_VECTOR_SIZE + 2 * ZS_COST_STRIPE_ROWS *
				Min(rel->attr_widths[attno - rel->min_attr], BLCKSZ);
	}
	bms_free(attrs);
	return size * stripes <= (double) get_hash_memory_limit();
}

/* The same of several columns.  A row of the row tree has its columns at hand. */
static Cost
columns_cost(const ZsRelCosts *costs, const Bitmapset *attrs, double n, ZsLocality locality,
			 bool kept)
{
	Cost		cost = 0;
	int			i = -1;

	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= costs->rel->max_attr)
			cost += values_cost(costs, &costs->columns[attno - 1], n, locality, kept);
	}
	Assert(costs->row_share >= 0 && costs->row_share <= 1);
	return cost * (1 - costs->row_share);
}

/*
 * What the columns cost of so many rows, of which nrows pass the clauses.  Clauses that applied()
 * names do not look at the row.
 */
Cost
zscost_fetch(PlannerInfo *root, ZsRelCosts *costs, List *clauses, List *param_clauses,
			 bool (*applied) (RestrictInfo *rinfo, void *arg), void *arg, Relids outer,
			 double nfetched, double nrows, ZsLocality locality)
{
	RelOptInfo *rel = costs->rel;
	Bitmapset  *seen = NULL;
	Bitmapset  *outputs = zscost_outputs(rel, outer);
	List	   *lists[] = {clauses, param_clauses};
	double		n = nfetched;
	bool		kept;
	Cost		cost = 0;

	zscost_need(root, costs, NULL);
	kept = keeps_vectors(costs, outputs, lists, lengthof(lists), applied, arg, nfetched, locality);
	for (int k = 0; k < (int) lengthof(lists); k++)
	{
		ListCell   *lc;

		foreach(lc, lists[k])
		{
			RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
			Bitmapset  *attrs;

			if (rinfo->pseudoconstant || applied(rinfo, arg))
				continue;
			attrs = bms_del_members(zscost_clause_columns(rel, rinfo), seen);
			zscost_need(root, costs, attrs);
			cost += columns_cost(costs, attrs, n, locality, kept);
			seen = bms_join(seen, attrs);
			if (rinfo->norm_selec >= 0 && rinfo->norm_selec <= 1)
				n = Max(n * rinfo->norm_selec, Min(nrows, n));
		}
	}
	Assert(n >= 0 && cost >= 0);
	outputs = bms_del_members(outputs, seen);
	zscost_need(root, costs, outputs);
	cost += columns_cost(costs, outputs, Min(nrows, nfetched), locality, kept);
	bms_free(outputs);
	bms_free(seen);
	return cost;
}

/* Pages of the file that hold the columns, which are known. */
double
zscost_pages(const ZsRelCosts *costs, const Bitmapset *attrs)
{
	double		pages = 0;
	int			i = -1;

	while ((i = bms_next_member(attrs, i)) >= 0)
	{
		AttrNumber	attno = i + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= costs->rel->max_attr)
			pages += costs->columns[attno - 1].pages;
	}
	return pages;
}

/*
 * What a scan is charged for getting to where its trees begin: that of the row numbers and those of
 * the columns lie apart, so the first page of each is read at random.  Without it a table of a few
 * pages, which may have some ten thousand rows, would be read for each row that an index leads to.
 * Rows in the row tree are pages of one tree, as a heap's are.
 */
Cost
zscost_seeks(const ZsRelCosts *costs, double ncolumns)
{
	double		random_page;
	double		seq_page;

	Assert(ncolumns >= 0);
	get_tablespace_page_costs(costs->rel->reltablespace, &random_page, &seq_page);
	return (1 - costs->row_share) * (1 + ncolumns) * Max(random_page - seq_page, 0);
}

/*
 * What core charges an index scan for the table's pages beyond what it would take to read all of
 * them in sequence.  Pages of columns are few, and all of them are read sooner than many of them at
 * random; else an index scan would seem dearer than a scan by batches that reads the same.
 */
Cost
zscost_excess_of_pages(PlannerInfo *root, const ZsRelCosts *costs, const IndexPath *path,
					   Selectivity selectivity, double correlation)
{
	const RelOptInfo *rel = costs->rel;
	double		pages = rel->pages;
	double		ntuples = clamp_row_est(selectivity * rel->tuples);
	double		nfetched;
	double		random_page;
	double		seq_page;
	Cost		apart;
	Cost		together;

	/* the inner side of a nested loop waits for memory longer than that */
	if (path->path.param_info != NULL || rel->joininfo != NIL || rel->has_eclass_joins)
		return 0;
	get_tablespace_page_costs(rel->reltablespace, &random_page, &seq_page);
	nfetched = index_pages_fetched(ntuples, rel->pages, path->indexinfo->pages, root);
	if (nfetched > pages || random_page <= seq_page)
		return 0;
	/* as cost_index() */
	apart = nfetched * random_page;
	nfetched = ceil(selectivity * pages);
	together = nfetched > 0 ? random_page + (nfetched - 1) * seq_page : 0;
	return Max(apart + correlation * correlation * (together - apart) -
			   (random_page + (pages - 1) * seq_page), 0);
}

/*
 * How often a path with such parameters (NULL: none) is asked for rows, about as core's
 * get_loop_count() has it; 0: not known.
 */
double
zscost_loops(PlannerInfo *root, const ParamPathInfo *param)
{
	double		loops = 0;
	int			relid = -1;

	while (param != NULL && (relid = bms_next_member(param->ppi_req_outer, relid)) > 0)
	{
		const RelOptInfo *outer = relid < root->simple_rel_array_size ?
			root->simple_rel_array[relid] : NULL;

		if (outer != NULL && outer->rows > 0)
			loops = loops == 0 ? outer->rows : Min(loops, outer->rows);
	}
	return loops;
}

/*
 * How far the values of a column are in the order of the rows, as its statistics say: from -1 to 1,
 * 0 if they say nothing.
 */
double
zscost_correlation(const VariableStatData *vardata)
{
	double		correlation = 0;
	AttStatsSlot slot;

	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!get_attstatsslot(&slot, vardata->statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						  ATTSTATSSLOT_NUMBERS))
		return 0;
	if (slot.nnumbers == 1)
		correlation = slot.numbers[0];
	free_attstatsslot(&slot);
	return zscost_sane_correlation(correlation);
}
