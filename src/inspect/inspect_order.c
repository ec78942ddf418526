/*-------------------------------------------------------------------------
 *
 * inspect_order.c
 *	  zs_sortedness(), zs_overlap(): how far the rows of a table lie in the order of its columns.
 *
 * Zone maps say between which bounds the values of a segment, and of a vector, lie.  How many of
 * them lie over a value is the depth there: 1 where rows are in order, all of them where values
 * come at random.  It is what a look-up by the column reads, and what a scan in its order has to
 * keep in hand.  It is taken in the middle of each range.  What sorting by a key would make of it
 * is estimated with a sample (vacuum_estimate.c).
 *
 * zs_overlap() is what a view over all tables can afford: one column, and of it the index pages of
 * its tree alone, which have the zone maps of segments.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "inspect_internal.h"
#include "zs_attr.h"
#include "zs_base_sort.h"
#include "zs_depth.h"
#include "zs_page.h"
#include "zs_vacuum.h"

PG_FUNCTION_INFO_V1(zs_sortedness);
PG_FUNCTION_INFO_V1(zs_overlap);

#define SORTEDNESS_COLUMNS	12
#define OVERLAP_COLUMNS		2

/* Correlations that differ by less are the same: they come from samples. */
#define CORRELATION_STEP	0.05

/* What is known of a column. */
typedef struct ColumnOrder
{
	ZsZoneBounds segments;
	ZsZoneBounds vectors;
	uint64		nrows;			/* in segments */
	uint64		nbytes;			/* of these segments */
} ColumnOrder;

/*
 * The column's segments: their ranges and what they take; with_vectors: those of their vectors,
 * too, for which heads are read.
 */
static void
look_at_column(Relation rel, AttrNumber attno, bool with_vectors, ColumnOrder *column)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	ZsAttrReader *reader = NULL;
	zstid		end = zspage_next_row(rel);
	zstid		row = 0;

	if (with_vectors)
		reader = zsattr_reader_begin(rel, RelationGetDescr(rel), attno, 0, NULL);
	while (row < end)
	{
		int			n = zsattr_index_page_items(rel, attno, row, items, &row);

		for (int i = 0; i < n; i++)
		{
			const ZsSegmentItem *item = &items[i];
			const ZsSegmentInfo *info;
			int			vecno;

			CHECK_FOR_INTERRUPTS();
			column->nrows += item->nrows;
			/* of one value there are no pages */
			if (!zsattr_item_is_uniform(item))
				column->nbytes += item->payload_size;
			if ((item->flags & ZS_SEGF_ZONE_MAP) == 0)
				continue;
			zsscan_bounds_add(&column->segments, item->zone_min, item->zone_max);
			if (reader == NULL)
				continue;
			info = zsattr_reader_info(reader, item->first_row, &vecno);
			if (info != NULL)
				zsscan_bounds_add_vectors(&column->vectors, info);
			else if (zsattr_item_is_uniform(item))
				zsscan_bounds_add(&column->vectors, item->zone_min, item->zone_max);
		}
	}
	if (reader != NULL)
		zsattr_reader_end(reader);
	pfree(items);
}

/* The column's place in the table's sort key, from 1; 0: none. */
static int
place_in_key(const ZsSortKey *keys, int nkeys, AttrNumber attno)
{
	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].attno == attno)
			return i + 1;
	}
	return 0;
}

/* Adds the depth of ranges to a row of the result: how many there are, on average, at most. */
static void
put_depth(ZsZoneBounds *bounds, Datum *values, bool *nulls)
{
	Size		most;

	Assert(bounds->n <= bounds->max);
	values[0] = Int64GetDatum((int64) bounds->n);
	values[1] = Float8GetDatum(zsscan_bounds_depth(bounds, &most));
	values[2] = Int64GetDatum((int64) most);
	nulls[1] = nulls[2] = bounds->n == 0;
}

/* Returns a column's row.  estimate: what sorting would make of it; NULL: not known. */
static void
put_column(ReturnSetInfo *rsinfo, Relation rel, AttrNumber attno, int place,
		   const ZsSortEstimate *estimate)
{
	ColumnOrder column = {0};
	Datum		values[SORTEDNESS_COLUMNS] = {0};
	bool		nulls[SORTEDNESS_COLUMNS] = {0};

	look_at_column(rel, attno, true, &column);
	Assert(estimate == NULL || estimate->row_bytes >= 0);
	values[0] = Int32GetDatum(attno);
	values[1] = zsinspect_attname(rel, attno, &nulls[1]);
	values[2] = Int32GetDatum(place);
	nulls[2] = place == 0;
	put_depth(&column.segments, &values[3], &nulls[3]);
	put_depth(&column.vectors, &values[6], &nulls[6]);
	nulls[9] = column.nrows == 0;
	nulls[10] = column.nrows == 0 || estimate == NULL;
	nulls[11] = column.vectors.n == 0 || estimate == NULL;
	if (!nulls[9])
		values[9] = Float8GetDatum((double) column.nbytes / column.nrows);
	if (!nulls[10])
		values[10] = Float8GetDatum(estimate->row_bytes);
	if (!nulls[11])
		values[11] = Float8GetDatum(Min(estimate->vector_depth, (double) column.vectors.n));
	zsinspect_put(rsinfo, values, nulls);
}

/* zs_sortedness(regclass, text): see docs/inspection.md. */
Datum
zs_sortedness(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel;
	ZsSortKey	keys[INDEX_MAX_KEYS];
	int			nkeys;
	ZsSortEstimate *estimates = NULL;
	MemoryContext context;

	Assert(PG_NARGS() >= 1);
	zsbase_srf_init(fcinfo, SORTEDNESS_COLUMNS);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	nkeys = PG_NARGS() > 1 && !PG_ARGISNULL(1) ?
		zsbase_sort_key_of(rel, text_to_cstring(PG_GETARG_TEXT_PP(1)), keys) :
		zsbase_sort_key(rel, true, keys);
	if (nkeys > 0)
	{
		estimates = palloc0_array(ZsSortEstimate, RelationGetNumberOfAttributes(rel));
		if (!zsvacuum_estimate_sort(rel, keys, nkeys, estimates))
			estimates = NULL;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore column order",
									ALLOCSET_DEFAULT_SIZES);
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
	{
		MemoryContext old;

		if (zsattr_form(RelationGetDescr(rel), attno)->attisdropped)
			continue;
		old = MemoryContextSwitchTo(context);
		put_column(rsinfo, rel, attno, place_in_key(keys, nkeys, attno),
				   estimates == NULL ? NULL : &estimates[attno - 1]);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/* ---- one number for a table ------------------------------------------------------------------ */

/*
 * The correlation of the column's values with the order of rows, as ANALYZE found it, without its
 * sign, and how many values it has; false if that is not known, or there is but one.
 */
static bool
column_correlation(Relation rel, AttrNumber attno, double *correlation, double *distinct)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(RelationGetRelid(rel)),
										Int16GetDatum(attno), BoolGetDatum(false));
	AttStatsSlot slot;
	bool		found;

	if (!HeapTupleIsValid(tuple))
		return false;
	*distinct = ((Form_pg_statistic) GETSTRUCT(tuple))->stadistinct;
	if (*distinct < 0)
		*distinct *= -Max(rel->rd_rel->reltuples, 0);
	found = get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
							 ATTSTATSSLOT_NUMBERS) && slot.nnumbers == 1;
	if (found)
		*correlation = fabs(slot.numbers[0]);
	free_attstatsslot(&slot);
	ReleaseSysCache(tuple);
	return found && *distinct > 1;
}

/*
 * The column that the table's rows follow: the first of the sort key, or of the index that CLUSTER
 * marked; else the one of those with zone maps whose correlation is best, the one with most values
 * of several such.  InvalidAttrNumber: there is none.
 */
static AttrNumber
followed_column(Relation rel)
{
	ZsSortKey	keys[INDEX_MAX_KEYS];
	AttrNumber	result = InvalidAttrNumber;
	double		best = 0;
	double		most = 0;

	if (zsbase_sort_key(rel, true, keys) > 0)
		return keys[0].attno;
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
	{
		Form_pg_attribute att = zsattr_form(RelationGetDescr(rel), attno);
		ZsAttrKind	kind;
		double		correlation;
		double		distinct;

		if (att->attisdropped)
			continue;
		zsattr_kind(att, &kind);
		if (!kind.zone_ordered || !column_correlation(rel, attno, &correlation, &distinct))
			continue;
		if (correlation > best + CORRELATION_STEP ||
			(correlation > best - CORRELATION_STEP && distinct > most))
		{
			result = attno;
			best = correlation;
			most = distinct;
		}
	}
	return result;
}

/*
 * zs_overlap(regclass): see docs/inspection.md.  Reads the index pages of one column, a page for
 * 127 segments.
 */
Datum
zs_overlap(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	AttrNumber	attno = followed_column(rel);

	zsbase_srf_init(fcinfo, OVERLAP_COLUMNS);
	if (attno != InvalidAttrNumber)
	{
		ColumnOrder column = {0};
		Datum		values[OVERLAP_COLUMNS];
		bool		nulls[OVERLAP_COLUMNS] = {0};
		Size		most;

		look_at_column(rel, attno, false, &column);
		values[0] = zsinspect_attname(rel, attno, &nulls[0]);
		values[1] = Float8GetDatum(zsscan_bounds_depth(&column.segments, &most));
		nulls[1] = column.segments.n == 0;
		zsinspect_put(rsinfo, values, nulls);
	}
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
