/*-------------------------------------------------------------------------
 *
 * inspect_order.c
 *	  zs_sortedness(), zs_overlap(): how far the rows of a table lie in the order of its columns.
 *
 * Zone maps say between which bounds the values of a segment, and of a vector, lie.  How many of
 * them lie over a value is the depth there: 1 where rows are in order, all of them where values
 * come at random.  It is what a look-up by the column reads, and what a scan in its order has to
 * keep in hand.  It is taken in the middle of each range.
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

PG_FUNCTION_INFO_V1(zs_sortedness);
PG_FUNCTION_INFO_V1(zs_overlap);

#define SORTEDNESS_COLUMNS	9
#define OVERLAP_COLUMNS		2

/* Correlations that differ by less are the same: they come from samples. */
#define CORRELATION_STEP	0.05

/* The ranges of the column's segments, and unless vectors is NULL those of their vectors. */
static void
collect_bounds(Relation rel, AttrNumber attno, ZsZoneBounds *segments, ZsZoneBounds *vectors)
{
	ZsSegmentItem *items = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	ZsAttrReader *reader = NULL;
	zstid		end = zspage_next_row(rel);
	zstid		row = 0;

	if (vectors != NULL)
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
			if ((item->flags & ZS_SEGF_ZONE_MAP) == 0)
				continue;
			zsscan_bounds_add(segments, item->zone_min, item->zone_max);
			if (vectors == NULL)
				continue;
			info = zsattr_reader_info(reader, item->first_row, &vecno);
			if (info != NULL)
				zsscan_bounds_add_vectors(vectors, info);
			else if (zsattr_item_is_uniform(item))
				zsscan_bounds_add(vectors, item->zone_min, item->zone_max);
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

/* zs_sortedness(regclass): see docs/inspection.md. */
Datum
zs_sortedness(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	ZsSortKey	keys[INDEX_MAX_KEYS];
	int			nkeys = zsbase_sort_key(rel, true, keys);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore column order",
												  ALLOCSET_DEFAULT_SIZES);

	zsbase_srf_init(fcinfo, SORTEDNESS_COLUMNS);
	for (AttrNumber attno = 1; attno <= RelationGetNumberOfAttributes(rel); attno++)
	{
		ZsZoneBounds segments = {0};
		ZsZoneBounds vectors = {0};
		Datum		values[SORTEDNESS_COLUMNS];
		bool		nulls[SORTEDNESS_COLUMNS] = {0};
		int			place = place_in_key(keys, nkeys, attno);
		int			n = 0;
		Size		most;
		MemoryContext old;

		if (zsattr_form(RelationGetDescr(rel), attno)->attisdropped)
			continue;
		old = MemoryContextSwitchTo(context);
		collect_bounds(rel, attno, &segments, &vectors);
		values[n++] = Int32GetDatum(attno);
		values[n] = zsinspect_attname(rel, attno, &nulls[n]);
		n++;
		nulls[n] = place == 0;
		values[n++] = Int32GetDatum(place);
		values[n++] = Int64GetDatum((int64) segments.n);
		values[n] = Float8GetDatum(zsscan_bounds_depth(&segments, &most));
		nulls[n] = segments.n == 0;
		n++;
		nulls[n] = segments.n == 0;
		values[n++] = Int64GetDatum((int64) most);
		values[n++] = Int64GetDatum((int64) vectors.n);
		values[n] = Float8GetDatum(zsscan_bounds_depth(&vectors, &most));
		nulls[n] = vectors.n == 0;
		n++;
		nulls[n] = vectors.n == 0;
		values[n++] = Int64GetDatum((int64) most);
		Assert(n == lengthof(values));
		zsinspect_put(rsinfo, values, nulls);
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
		ZsZoneBounds segments = {0};
		Datum		values[OVERLAP_COLUMNS];
		bool		nulls[OVERLAP_COLUMNS] = {0};
		Size		most;

		collect_bounds(rel, attno, &segments, NULL);
		values[0] = zsinspect_attname(rel, attno, &nulls[0]);
		values[1] = Float8GetDatum(zsscan_bounds_depth(&segments, &most));
		nulls[1] = segments.n == 0;
		zsinspect_put(rsinfo, values, nulls);
	}
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
