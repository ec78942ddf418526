/*-------------------------------------------------------------------------
 *
 * node_agg_groups.c
 *	  Adds a batch to the values of its groups.
 *
 * Where there are few groups, one loop adds up a column in accumulators of 64 bits, one for each
 * group; then each group's value takes its share.  What several aggregates have in common, a column
 * or the rows of each group, is added up once.  Aggregates that are neither counts nor sums take
 * few groups one after the other, as if each were all.
 *
 * Many groups are taken row by row.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_groups.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "node_agg.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"

/* While there are no more groups than these, each of them is taken by kernels. */
#define FEW_GROUPS	12

/* Where the values take more than this, those of rows ahead are fetched. */
#define FAR_VALUES	((Size) 256 * 1024)

/* What was added up in the batch. */
typedef struct GroupSums
{
	const int64 *vals;			/* NULL: only counted */
	uint64		sel[ZS_KERNEL_WORDS];
	uint32		counts[ZS_KERNEL_GROUPS];
	int64		sums[ZS_KERNEL_GROUPS];
} GroupSums;

struct ZsBatchGroups
{
	const uint16 *list;			/* the batch's rows, one at least */
	const uint32 *numbers;		/* their groups */
	uint32		n;
	uint32		ngroups;
	bool		all_known;		/* each row has one */
	bool		by_sums;		/* the same, and there are few */
	bool		is_split;
	uint64		split[FEW_GROUPS][ZS_KERNEL_WORDS];	/* rows of each group, if is_split */
	bool		is_dense;		/* the rows are the first n */
	bool		has_counts;
	uint32		counts[ZS_KERNEL_GROUPS];	/* of rows of each group */
	int			nsums;
	GroupSums	sums[FLEXIBLE_ARRAY_MEMBER];	/* one for each aggregate at most */
};

/* Room for what is common to this many aggregates, in the current context. */
ZsBatchGroups *
zsnode_batch_groups_create(int naggs)
{
	Assert(naggs >= 0);
	return palloc(offsetof(ZsBatchGroups, sums) + naggs * sizeof(GroupSums));
}

/* The batch has these groups; list and numbers stay with the caller. */
static void
batch_groups_start(ZsBatchGroups *batch, const uint16 *list, uint32 n, const uint32 *numbers,
				   uint32 ngroups, bool all_known)
{
	Assert(n > 0 && n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	Assert(ngroups > 0 || !all_known);
	batch->list = list;
	batch->numbers = numbers;
	batch->n = n;
	batch->ngroups = ngroups;
	batch->is_dense = n == (uint32) list[n - 1] + 1;
	batch->has_counts = false;
	batch->nsums = 0;
	batch->is_split = false;
	batch->all_known = all_known;
	batch->by_sums = zs_enable_vector_totals && all_known && ngroups < ZS_KERNEL_GROUPS;
}

/* How many of the batch's rows each group has. */
static const uint32 *
count_all(ZsBatchGroups *batch)
{
	Assert(batch->by_sums && batch->ngroups < ZS_KERNEL_GROUPS);
	if (!batch->has_counts)
		zskernel_group_count(batch->numbers, batch->n, batch->ngroups, batch->counts);
	batch->has_counts = true;
	return batch->counts;
}

/*
 * The batch's first n rows, which are all it has: those that are not in sel get a group of their
 * own, behind the others.
 */
static void
put_apart(const ZsBatchGroups *batch, const uint64 *sel, uint32 *numbers, uint32 *counts)
{
	Assert(batch->is_dense);
	memcpy(numbers, batch->numbers, batch->n * sizeof(uint32));
	for (uint32 w = 0; w * 64 < batch->n; w++)
	{
		uint64		rows = batch->n - w * 64 >= 64 ? PG_UINT64_MAX :
			(UINT64CONST(1) << (batch->n - w * 64)) - 1;

		for (uint64 word = rows & ~sel[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			counts[numbers[row]]--;
			numbers[row] = batch->ngroups;
		}
	}
}

/* Adds up the rows of sel; false if that cannot be. */
static bool
add_up(ZsBatchGroups *batch, const int64 *vals, const uint64 *sel, GroupSums *sums)
{
	uint16		sublist[ZS_KERNEL_ROWS];
	uint32		subnumbers[ZS_KERNEL_ROWS];
	const uint16 *list = batch->is_dense ? NULL : batch->list;
	const uint32 *numbers = batch->numbers;
	uint32		n = batch->n;
	uint32		nsel = zskernel_bits_count(sel);

	sums->vals = vals;
	zskernel_bits_copy(sums->sel, sel);
	if (nsel == n || (batch->is_dense && nsel >= n / 2))
	{
		memcpy(sums->counts, count_all(batch), batch->ngroups * sizeof(uint32));
		if (nsel < n)
		{
			put_apart(batch, sel, subnumbers, sums->counts);
			numbers = subnumbers;
		}
	}
	else
	{
		uint32		nsub = 0;

		for (uint32 i = 0; i < n; i++)
		{
			sublist[nsub] = batch->list[i];
			subnumbers[nsub] = numbers[i];
			nsub += zskernel_bits_get(sel, batch->list[i]) ? 1 : 0;
		}
		Assert(nsub == nsel);
		list = sublist;
		numbers = subnumbers;
		n = nsub;
		zskernel_group_count(numbers, n, batch->ngroups, sums->counts);
	}
	return vals == NULL || zskernel_group_sum(vals, list, numbers, n, batch->ngroups + 1,
											  sums->sums);
}

/* The sums of the rows of sel, which somebody may have asked for; NULL if there are none. */
static const GroupSums *
get_sums(ZsBatchGroups *batch, const int64 *vals, const uint64 *sel)
{
	GroupSums  *sums = &batch->sums[batch->nsums];

	for (int i = 0; i < batch->nsums; i++)
	{
		const GroupSums *known = &batch->sums[i];

		if ((known->vals == vals || vals == NULL) &&
			memcmp(known->sel, sel, sizeof(known->sel)) == 0)
			return known;
	}
	if (!add_up(batch, vals, sel, sums))
		return NULL;
	batch->nsums++;
	return sums;
}

/* By sums; false, and nothing has changed, if the aggregate or the values are none for that. */
static bool
add_sums(const ZsAgg *agg, char *values, Size stride, const ZsColumnVector *vector,
		 const uint64 *sel, ZsBatchGroups *batch)
{
	const GroupSums *sums;
	const int64 *vals = NULL;
	ZsVectorTotals totals;

	switch (zsagg_ops_of(agg)->sums)
	{
		case ZS_SUMS_NONE:
			return false;
		case ZS_SUMS_COUNT:
			break;
		case ZS_SUMS_VALUES:
			if (vector != NULL && vector->dscales != NULL)
				return false;
			if (vector != NULL)
				vals = vector->vals;
			break;
	}
	sums = get_sums(batch, vals, sel);
	if (sums == NULL)
		return false;
	totals.scale = vector != NULL ? vector->scale : 0;
	for (uint32 k = 0; k < batch->ngroups; k++)
	{
		totals.nvalues = sums->counts[k];
		totals.sum = sums->sums[k];
		zsagg_add_totals(agg, (ZsAggValue *) (values + k * stride), &totals);
	}
	return true;
}

/* The rows of each of a few groups. */
static void
split_by_group(ZsBatchGroups *batch)
{
	uint32		by_row[ZS_KERNEL_ROWS];
	const uint32 *numbers = batch->numbers;
	uint32		nrows = batch->list[batch->n - 1] + 1;

	Assert(batch->ngroups <= FEW_GROUPS && !batch->is_split);
	if (!batch->is_dense)
	{
		memset(by_row, 0xFF, nrows * sizeof(uint32));
		for (uint32 i = 0; i < batch->n; i++)
			by_row[batch->list[i]] = numbers[i];
		numbers = by_row;
	}
	for (uint32 k = 0; k < batch->ngroups; k++)
		zskernel_equal_uint32(numbers, nrows, k, batch->split[k]);
	batch->is_split = true;
}

/*
 * Adds the batch's rows that are in sel to their groups, as zsagg_add_groups() does, the way that
 * is best for it; once for each aggregate, of which values has the first group's value.
 */
void
zsnode_agg_add_batch_groups(const ZsAgg *agg, char *values, Size stride,
							const ZsColumnVector *vector, const uint64 *sel, ZsBatchGroups *batch)
{
	Assert(stride > 0 && stride % sizeof(uint64) == 0);
	Assert(vector != NULL || zsagg_ops_of(agg)->sums == ZS_SUMS_COUNT ||
		   !zskernel_bits_any(sel));
	if (batch->by_sums && agg->state == ZS_STATE_NONE &&
		add_sums(agg, values, stride, vector, sel, batch))
		return;
	if (batch->ngroups > FEW_GROUPS)
	{
		zsagg_add_groups(agg, values, stride, batch->ngroups * stride > FAR_VALUES, vector,
						 sel, batch->list, batch->n, batch->numbers, batch->all_known);
		return;
	}
	if (!batch->is_split)
		split_by_group(batch);
	for (uint32 k = 0; k < batch->ngroups; k++)
	{
		uint64		both[ZS_KERNEL_WORDS];

		zskernel_bits_copy(both, sel);
		zskernel_bits_and(both, batch->split[k]);
		zsagg_add_batch(agg, (ZsAggValue *) (values + k * stride), vector, both);
	}
}

/* ---- the node's groups and values ------------------------------------------------------ */

/*
 * New groups for the node, in groups_context, which is made for them below the context of values.
 */
ZsGroups *
zsnode_agg_create_groups(AggNodeState *state)
{
	Assert(state->nkeys > 0 && state->store.context != NULL);
	state->store.groups_context = AllocSetContextCreate(state->store.context, "zedstore groups",
												  ALLOCSET_DEFAULT_SIZES);
	return zsagg_groups_create(state->store.groups_context, state->nkeys, state->keys);
}

/* Makes room for the values of all groups. */
void
zsnode_agg_grow_values(AggNodeState *state)
{
	AggStore   *store = &state->store;
	uint32		n = zsagg_groups_count(store->groups);
	Size		size = store->value_size;
	Size		offset = 0;
	Size		room;
	uint32		maxgroups;

	if (n <= store->maxgroups)
		return;
	maxgroups = Max(Max(n, 64), zsagg_groups_grown(store->maxgroups));
	room = maxgroups * size + PG_CACHE_LINE_SIZE;
	if (store->values == NULL)
		store->values_memory = MemoryContextAllocHuge(store->context, room);
	else
	{
		offset = store->values - store->values_memory;
		store->values_memory = repalloc_huge(store->values_memory, room);
	}
	store->values = (char *) CACHELINEALIGN(store->values_memory);
	/* where it is now it may begin elsewhere in a line */
	if (store->values != store->values_memory + offset)
		memmove(store->values, store->values_memory + offset, store->maxgroups * size);
	memset(store->values + store->maxgroups * size, 0, (maxgroups - store->maxgroups) * size);
	store->maxgroups = maxgroups;
	Assert(store->maxgroups >= n);
}

/* Takes the groups of n rows of a batch: numbers[i] is the one of row list[i], or ZS_NO_GROUP. */
void
zsnode_agg_start_groups(AggNodeState *state, const uint16 *list, uint32 n,
						const uint32 *numbers)
{
	Assert(n > 0 && n <= ZS_KERNEL_ROWS);
	state->fill.nrows += n;
	zsnode_agg_grow_values(state);
	batch_groups_start(state->batch.groups, list, n, numbers,
					   zsagg_groups_count(state->store.groups),
					   !zsagg_groups_frozen(state->store.groups));
}
