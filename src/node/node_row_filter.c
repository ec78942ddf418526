/*-------------------------------------------------------------------------
 *
 * node_join_filter.c
 *	  Takes rows out of a batch that will find no partner in a hash join.
 *
 * A filter asks the zone map of the batch's column first, then decodes the column and looks its
 * values up.  NULLs have no partner.  Values that have no vector are left for the join.  Where no
 * clause of the scan can raise an error zone maps of segments are asked before anything of these is
 * read (scan_zone.c), and those of all filters' vectors before a clause is applied.
 *
 * A filter that removes hardly any row costs more than it saves: it rests for some batches, then is
 * tried again, for rows that lie together often have similar keys.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_join_filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/hashjoin.h"
#include "nodes/extensible.h"

#include "zs_attr.h"
#include "zs_kernel.h"
#include "zs_node_filter.h"

/* So many batches are looked at before a filter that passed this share of rows rests. */
#define TRIED_BATCHES	8
#define RESTING_BATCHES	56
#define USELESS_SHARE	0.9

/*
 * The hash table may be gone, or not there yet: the join fetches a row of its outer side before it
 * makes the table, for there may be none.  A table that processes make together is complete when
 * they ask for the first row of the outer side.
 */
static bool
is_ready(const ZsJoinFilter *filter)
{
	HashJoinTable table = filter->join->hj_HashTable;

	if (table == NULL || !filter->is_in_place(filter->tap))
		return false;
	if (table->parallel_state != NULL)
		return zsnode_joinkeys_collect(filter->keys, filter->join->js.ps.state->es_query_dsa);
	return zsnode_joinkeys_is_complete(filter->keys);
}

/* Does the zone map of the batch's column say that no row has a partner? */
static bool
excludes(const ZsJoinFilter *filter, ZsInput *input)
{
	ZsColumnBounds bounds;

	return zsexpr_input_bounds(input, filter->attno, &bounds) && bounds.has_zone &&
		!bounds.is_unsigned && zsnode_joinkeys_excludes(filter->keys, bounds.min, bounds.max);
}

/* See zs_node_filter.h. */
bool
zsnode_joinfilter_excludes(List *filters, ZsInput *input)
{
	ListCell   *lc;

	foreach(lc, filters)
	{
		if (is_ready(lfirst(lc)) && excludes(lfirst(lc), input))
			return true;
	}
	return false;
}

/* See zs_node_filter.h. */
bool
zsnode_joinfilter_excludes_zone(void *arg, AttrNumber attno, int64 min, int64 max)
{
	const ZsJoinFilter *filter = arg;

	Assert(filter->attno == attno);
	return is_ready(filter) && zsnode_joinkeys_excludes(filter->keys, min, max);
}

/* Applies one filter; false if it cannot tell. */
static bool
apply(const ZsJoinFilter *filter, ZsInput *input, uint64 *passed, bool zones_asked)
{
	const ZsColumnVector *vector;
	uint64		bits[ZS_KERNEL_WORDS];

	if (!zones_asked && excludes(filter, input))
	{
		zskernel_bits_clear(passed);
		return true;
	}
	vector = zsexpr_input_column(input, filter->attno, ZS_WANT_INT, passed);
	if (vector == NULL || vector->vals == NULL)
		return false;
	Assert(vector->nrows <= ZS_KERNEL_ROWS);
	zsnode_joinkeys_test(filter->keys, vector->vals, vector->nrows, bits);
	if (vector->has_nulls)
		zskernel_bits_andnot(bits, vector->nulls);
	if (vector->has_odd)
		zskernel_bits_or(bits, vector->odd);
	zskernel_bits_and(passed, bits);
	return true;
}

/* Looks at the rows of before that are not in passed any more: is one of them among the keys? */
static void
verify_removed(const ZsJoinFilter *filter, ZsInput *input, ZsBatchScan *bs, const uint64 *before,
			   const uint64 *passed)
{
	Form_pg_attribute att = TupleDescAttr(input->desc, filter->attno - 1);
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(before, list);

	for (uint32 i = 0; i < n; i++)
	{
		uint64		found[ZS_KERNEL_WORDS];
		Datum		datum;
		bool		isnull;
		int64		value;

		if (zskernel_bits_get(passed, list[i]))
			continue;
		zsscan_batch_store(bs, list[i], input->slot);
		datum = slot_getattr(input->slot, filter->attno, &isnull);
		if (isnull)
			continue;
		value = zsattr_value_to_int(datum, att->attlen);
		/* a Bloom filter may take one for a key that lies before the first or behind the last */
		if (zsnode_joinkeys_excludes(filter->keys, value, value))
			continue;
		zsnode_joinkeys_test(filter->keys, &value, 1, found);
		if (zskernel_bits_any(found))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("join filter removed a row with key " INT64_FORMAT, value)));
	}
	ExecClearTuple(input->slot);
}

/* See zs_node_filter.h. */
uint32
zsnode_joinfilter_apply(List *filters, ZsInput *input, uint64 *passed, bool zones_asked,
						ZsBatchScan *verify)
{
	uint32		before = zskernel_bits_count(passed);
	uint32		rows = before;
	ListCell   *lc;

	foreach(lc, filters)
	{
		ZsJoinFilter *filter = lfirst(lc);
		uint64		tested[ZS_KERNEL_WORDS];
		uint32		left;

		if (rows == 0)
			break;
		if (!is_ready(filter))
			continue;
		if (filter->npaused > 0)
		{
			filter->npaused--;
			continue;
		}
		zskernel_bits_copy(tested, passed);
		if (!apply(filter, input, passed, zones_asked))
			continue;
		if (verify != NULL)
			verify_removed(filter, input, verify, tested, passed);
		left = zskernel_bits_count(passed);
		filter->rows_in += rows;
		filter->rows_out += left;
		rows = left;
		Assert(filter->rows_out <= filter->rows_in);
		if (++filter->nbatches < TRIED_BATCHES)
			continue;
		if (filter->rows_out > filter->rows_in * USELESS_SHARE)
			filter->npaused = RESTING_BATCHES;
		filter->nbatches = 0;
		filter->rows_in = filter->rows_out = 0;
	}
	return before - rows;
}

/* See zs_node_filter.h. */
void
zsnode_joinfilter_explain(List *filters, Relation rel, uint64 removed, struct ExplainState *es)
{
	Bitmapset  *seen = NULL;
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, filters)
	{
		AttrNumber	attno = ((ZsJoinFilter *) lfirst(lc))->attno;

		Assert(attno > 0 && attno <= RelationGetNumberOfAttributes(rel));
		if (bms_is_member(attno, seen))
			continue;
		seen = bms_add_member(seen, attno);
		names = lappend(names, NameStr(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attname));
	}
	ExplainPropertyList("Join Filter Keys", names, es);
	if (es->analyze && (es->format != EXPLAIN_FORMAT_TEXT || removed > 0))
		ExplainPropertyUInteger("Rows Removed by Join Filter Keys", NULL, removed, es);
}
