/*-------------------------------------------------------------------------
 *
 * join_filter.c
 *	  The row filter of a hash join: rows without a partner are not wanted.
 *
 * It is asked by the scan (zs_node_filter.h), and looks into the keys that a tap has noted
 * (join_keys.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/hashjoin.h"

#include "join_filter.h"
#include "zs_node.h"

/*
 * The hash table may be gone, or not there yet: the join may fetch a row of its outer side before
 * it makes the table, for there may be none.  A table that processes make together is complete when
 * they ask for the first row of the outer side.
 */
static bool
filter_is_ready(ZsRowFilter *base)
{
	ZsJoinFilter *filter = (ZsJoinFilter *) base;
	HashJoinTable table = filter->join->hj_HashTable;

	if ((table == NULL && !zsnode_join_is_by_batches(filter->join)) ||
		!filter->is_in_place(filter->tap))
		return false;
	if (table != NULL && table->parallel_state != NULL)
		return zsjoin_keys_collect(filter->keys, filter->join->js.ps.state->es_query_dsa);
	return zsjoin_keys_is_complete(filter->keys);
}

/* Can no number in [min, max] be a key? */
static bool
filter_excludes(const ZsRowFilter *base, int64 min, int64 max)
{
	return zsjoin_keys_excludes(((const ZsJoinFilter *) base)->keys, min, max);
}

/* Which of the values may be keys? */
static void
filter_test(const ZsRowFilter *base, const int64 *values, uint32 n, uint64 *bits)
{
	zsjoin_keys_test(((const ZsJoinFilter *) base)->keys, values, n, bits);
}

/* Keys are shared from now on, or no more. */
static void
filter_share(ZsRowFilter *base, ZsRowFilterShared *shared)
{
	zsjoin_keys_share(((ZsJoinFilter *) base)->keys, shared);
}

/* Frees the keys that processes have left. */
static void
filter_reset_shared(ZsRowFilter *base, ZsRowFilterShared *shared, dsa_area *dsa)
{
	zsjoin_keys_shared_reset(shared, dsa);
}

static const ZsRowFilterMethods filter_methods = {
	.is_ready = filter_is_ready,
	.excludes = filter_excludes,
	.test = filter_test,
	.share = filter_share,
	.reset_shared = filter_reset_shared,
};

/*
 * A filter of the join on column attno of a scan, which knows values in that form; all else of it
 * zeros; in the query's memory.
 */
ZsJoinFilter *
zsjoin_filter_create(HashJoinState *join, AttrNumber attno, ZsRowFilterForm form,
					 bool strips_blanks)
{
	ZsJoinFilter *filter = MemoryContextAllocZero(join->js.ps.state->es_query_cxt,
												  sizeof(ZsJoinFilter));

	Assert(attno > 0);
	filter->base.methods = &filter_methods;
	filter->base.attno = attno;
	filter->base.form = form;
	filter->base.strips_blanks = strips_blanks;
	filter->join = join;
	return filter;
}
