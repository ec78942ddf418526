/*-------------------------------------------------------------------------
 *
 * node_agg_distinct.c
 *	  Aggregates with DISTINCT: sets of what they have seen, which may be larger than memory.
 *
 * The set of an aggregate is a table of groups (group.c) by the number of the row's group
 * and the argument; without grouping, by the argument.  A value counts when it makes a new member.
 *
 * When memory is short the sets are frozen, together with the node's groups.  What a frozen set has
 * is still found.  Other pairs of group and argument are written out (spill.c), and wait
 * until the last row of the groups in memory has been read.  Then the sets are forgotten, but not
 * the groups, and each file becomes a set of its own: none of its pairs was in the frozen set, and
 * all that are equal are in the same file.  A file that has too many pairs is divided by the next
 * bits.
 *
 * The order in which values are added is not that of rows then.  Only aggregates for which it does
 * not matter are here (classify_distinct() of agg_classify.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_distinct.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "node_agg.h"
#include "zs_compat.h"
#include "zs_expr_guc.h"

/* What memory has no room for is likely to be so many times what it has. */
#define MORE_PAIRS		8

/* Is the pair new to a set? */
typedef enum Novelty
{
	PAIR_SEEN = 1,
	PAIR_FIRST,
	PAIR_WAITS					/* the set is frozen, and has no such pair */
} Novelty;

/* Columns of a pair: without grouping there is the argument alone. */
static inline int
pair_size(const AggNodeState *state)
{
	return state->nkeys > 0 ? 2 : 1;
}

/* An empty set of the aggregate, in the memory context. */
static inline ZsGroups *
create_set(AggNodeState *state, NodeAgg *agg, MemoryContext context)
{
	int			n = pair_size(state);

	Assert(agg->agg.distinct);
	return zsagg_groups_create(context, n, agg->set.keys + 2 - n);
}

/* The pair as a row of the set. */
static void
make_pair(const AggNodeState *state, uint32 group, Datum value, Datum *values)
{
	Assert(state->nkeys > 0 || group == 0);
	values[0] = UInt32GetDatum(group);
	values[pair_size(state) - 1] = value;
}

/* Adds a pair to the set, and says whether it is new. */
static Novelty
add_pair(ZsGroups *set, const Datum *values)
{
	static const bool isnull[2] = {false, false};
	uint32		before = zsagg_groups_count(set);
	uint32		number = zsagg_groups_assign_row(set, values, isnull);

	if (number == ZS_NO_GROUP)
	{
		Assert(zsagg_groups_frozen(set));
		return PAIR_WAITS;
	}
	Assert(number <= before);
	return number == before ? PAIR_FIRST : PAIR_SEEN;
}

/* Writes the pair, which the frozen set does not have. */
static void
write_pair(AggNodeState *state, NodeAgg *agg, const Datum *values)
{
	static const bool isnull[2] = {false, false};

	Assert(zsagg_groups_frozen(agg->set.seen));
	if (agg->set.spill == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
		Size		size = MemoryContextMemAllocated(agg->set.context, true);

		agg->set.spill = zsagg_spill_create(agg->set.pairdesc, (double) size /
										Max(zsagg_groups_count(agg->set.seen), 1));
		MemoryContextSwitchTo(old);
	}
	zsagg_spill_write(agg->set.spill, zsagg_groups_hash_row(agg->set.seen, values, isnull), values,
					  isnull, (double) zsagg_groups_count(agg->set.seen) * MORE_PAIRS);
}

/*
 * Gets an aggregate with DISTINCT ready: the argument, over columns of desc, and what says that two
 * of its values are equal.  False if there can be no set.  Reads system catalogs.
 */
bool
zsnode_agg_distinct_init(AggNodeState *state, NodeAgg *agg, TupleDesc desc, Index varno,
						 Node *arg)
{
	int			n = pair_size(state);

	Assert(agg->agg.distinct && agg->set.spill == NULL);
	agg->set.keys[0].domain = ZS_DOMAIN_INT;
	agg->set.keys[0].width = sizeof(uint32);
	agg->set.pairdesc = CreateTemplateTupleDesc(n);
	TupleDescInitEntry(agg->set.pairdesc, 1, NULL, INT4OID, -1, 0);
	TupleDescInitEntry(agg->set.pairdesc, (AttrNumber) n, NULL, exprType(arg), -1, 0);
	zs_tupledesc_finalize(agg->set.pairdesc);
	state->has_sets = true;
	return zsagg_group_classify_unbound(desc, varno, arg, agg->agg.distinct_eqop,
										&agg->set.keys[1]);
}

/* Programs of arguments are those of the sets, too; called when they have changed. */
void
zsnode_agg_sets_use_arguments(AggNodeState *state)
{
	for (int i = 0; i < state->naggs && state->has_sets; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		ZsGroupKey *key = &agg->set.keys[1];

		if (!agg->agg.distinct || agg->agg.expr == NULL)
			continue;
		Assert(key->expr != NULL && key->attno == InvalidAttrNumber);
		Assert(zsexpr_domain(agg->agg.expr) == key->domain);
		key->expr = agg->agg.expr;
	}
}

/* Empty sets for new groups, below the context of these, which was reset. */
void
zsnode_agg_sets_start(AggNodeState *state)
{
	for (int i = 0; i < state->naggs && state->has_sets; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (!agg->agg.distinct)
			continue;
		Assert(agg->set.spill == NULL);
		agg->set.context = AllocSetContextCreate(state->store.context, "zedstore distinct values",
												 ALLOCSET_DEFAULT_SIZES);
		agg->set.seen = create_set(state, agg, agg->set.context);
		if (state->verifier == NULL)
			continue;

		/* not below the context whose size says when memory is short */
		if (agg->set.verify_context == NULL)
			agg->set.verify_context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt,
														"zedstore distinct values verified",
														ALLOCSET_DEFAULT_SIZES);
		MemoryContextReset(agg->set.verify_context);
		agg->set.seen_by_rows = create_set(state, agg, agg->set.verify_context);
	}
}

/* There is no memory for more members. */
void
zsnode_agg_sets_freeze(AggNodeState *state)
{
	for (int i = 0; i < state->naggs && state->has_sets; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (agg->agg.distinct && (agg->set.spill == NULL || zsagg_spill_can_divide(agg->set.spill)))
			zsagg_groups_freeze(agg->set.seen);
	}
}

/* How many members the sets have together. */
uint64
zsnode_agg_sets_count(const AggNodeState *state)
{
	uint64		count = 0;

	for (int i = 0; i < state->naggs && state->has_sets; i++)
	{
		if (state->aggs[i].agg.distinct)
			count += zsagg_groups_count(state->aggs[i].set.seen);
	}
	return count;
}

/* The bytes of buffers for what the sets have written out. */
Size
zsnode_agg_sets_buffers(const AggNodeState *state)
{
	Size		size = 0;

	for (int i = 0; i < state->naggs && state->has_sets; i++)
	{
		if (state->aggs[i].set.spill != NULL)
			size += zsagg_spill_memory(state->aggs[i].set.spill);
	}
	return size;
}

/*
 * Takes those rows out of sel whose arguments the aggregate has seen in their groups, and those
 * whose pairs are to be written by zsnode_agg_write_waiting().  passed: rows with values of the
 * columns, list: their positions, numbers: of their groups, NULL = all are in one.  Programs of
 * arguments run for rows of sel only.
 */
void
zsnode_agg_keep_first(NodeAgg *agg, ZsInput *input, const uint64 *passed, const uint16 *list,
					  uint32 n, const uint32 *numbers, uint64 *sel)
{
	uint16		sublist[ZS_KERNEL_ROWS];
	uint32		given[ZS_KERNEL_ROWS];
	uint32		pairs[ZS_KERNEL_ROWS];
	uint64		rows[ZS_KERNEL_WORDS];
	uint32		nsub = 0;
	uint32		nseen = zsagg_groups_count(agg->set.seen);

	Assert(agg->agg.distinct && n <= ZS_KERNEL_ROWS);
	for (uint32 i = 0; i < n; i++)
	{
		if (!zskernel_bits_get(sel, list[i]) || (numbers != NULL && numbers[i] == ZS_NO_GROUP))
			continue;
		given[nsub] = numbers != NULL ? numbers[i] : 0;
		sublist[nsub++] = list[i];
	}
	zskernel_bits_copy(rows, agg->agg.expr != NULL ? sel : passed);
	zskernel_bits_clear(sel);
	agg->set.waits = false;
	zsagg_groups_assign(agg->set.seen, input, rows, sublist, nsub, given, pairs);
	for (uint32 i = 0; i < nsub; i++)
	{
		uint64		bit = UINT64CONST(1) << (sublist[i] % 64);

		if (pairs[i] < nseen)
			continue;
		if (pairs[i] == ZS_NO_GROUP)
		{
			if (!agg->set.waits)
				zskernel_bits_clear(agg->set.waiting);
			agg->set.waits = true;
			agg->set.waiting[sublist[i] / 64] |= bit;
			continue;
		}
		Assert(pairs[i] == nseen);
		nseen++;
		sel[sublist[i] / 64] |= bit;
	}
}

/*
 * Writes pairs of the n rows of list that frozen sets do not have, once the batch's vectors are not
 * needed any more, since a row's values may be decoded where these are.
 */
void
zsnode_agg_write_waiting(AggNodeState *state, const uint16 *list, uint32 n,
						 const uint32 *numbers)
{
	ExprContext *econtext = state->row.econtext;
	MemoryContext old = CurrentMemoryContext;
	bool		any = false;

	for (int a = 0; a < state->naggs && state->has_sets; a++)
		any = any || (state->aggs[a].agg.distinct && state->aggs[a].set.waits);
	for (uint32 i = 0; i < n && any; i++)
	{
		bool		stored = false;

		for (int a = 0; a < state->naggs; a++)
		{
			NodeAgg    *agg = &state->aggs[a];
			Datum		values[2];
			Datum		value;
			bool		isnull;

			if (!agg->agg.distinct || !agg->set.waits ||
				!zskernel_bits_get(agg->set.waiting, list[i]))
				continue;
			if (!stored)
			{
				ResetExprContext(econtext);
				zsexpr_input_store(state->input, list[i]);
				econtext->ecxt_scantuple = state->input->slot;
			}
			stored = true;
			MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
			value = ExecEvalExpr(agg->arg, econtext, &isnull);
			Assert(!isnull);
			make_pair(state, numbers != NULL ? numbers[i] : 0, value, values);
			write_pair(state, agg, values);
			MemoryContextSwitchTo(old);
		}
	}
	if (any)
		ExecClearTuple(state->input->slot);
}

/*
 * Is the argument, which is not NULL, one that the aggregate has not seen in the group yet?  If
 * that cannot be said the pair is written out, and counts later.  Called in memory of single rows.
 */
bool
zsnode_agg_is_first(AggNodeState *state, NodeAgg *agg, uint32 group, Datum value)
{
	Datum		values[2];
	Novelty		novelty;

	make_pair(state, group, value, values);
	novelty = add_pair(agg->set.seen, values);
	if (novelty == PAIR_WAITS)
		write_pair(state, agg, values);
	return novelty == PAIR_FIRST;
}

/* The same for the verifier, whose sets are never frozen. */
bool
zsnode_agg_is_first_by_rows(AggNodeState *state, NodeAgg *agg, uint32 group, Datum value)
{
	Datum		values[2];

	make_pair(state, group, value, values);
	return add_pair(agg->set.seen_by_rows, values) == PAIR_FIRST;
}

/* Adds the pairs of a file that count, or divides it. */
static void
add_file(AggNodeState *state, NodeAgg *agg, Size limit)
{
	MemoryContext row_memory = state->row.econtext->ecxt_per_tuple_memory;
	MemoryContext old = CurrentMemoryContext;
	Datum		values[2];
	bool		isnull[2];
	int			last = pair_size(state) - 1;

	MemoryContextReset(agg->set.context);
	agg->set.seen = create_set(state, agg, agg->set.context);
	while (zsagg_spill_read(agg->set.spill, values, isnull))
	{
		uint32		group = last > 0 ? DatumGetUInt32(values[0]) : 0;
		Size		size;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(state->row.econtext);
		MemoryContextSwitchTo(row_memory);
		Assert(!isnull[last]);
		switch (add_pair(agg->set.seen, values))
		{
			case PAIR_SEEN:
				break;
			case PAIR_WAITS:
				write_pair(state, agg, values);
				break;
			case PAIR_FIRST:
				if (agg->agg.domain == ZS_DOMAIN_DECIMAL)
					values[last] = NumericGetDatum(DatumGetNumeric(values[last]));
				MemoryContextSwitchTo(state->store.context);
				zsagg_add_datum(&agg->agg, zsnode_agg_value_of(state, group, agg),
								values[last], false);
				size = MemoryContextMemAllocated(agg->set.context, true);
				if ((size > limit ||
					 (zs_debug_vector_groups > 0 &&
					  zsagg_groups_count(agg->set.seen) >= (uint32) zs_debug_vector_groups)) &&
					zsagg_spill_can_divide(agg->set.spill))
					zsagg_groups_freeze(agg->set.seen);
				break;
		}
	}
	MemoryContextSwitchTo(old);
}

/*
 * All rows of the groups in memory have been read: adds what waits, and forgets the sets.  Errors:
 * those of files.
 */
void
zsnode_agg_sets_finish(AggNodeState *state)
{
	Size		limit = get_hash_memory_limit();
	Size		used;

	if (!state->has_sets)
		return;
	for (int i = 0; i < state->naggs; i++)
	{
		if (state->aggs[i].agg.distinct)
			MemoryContextReset(state->aggs[i].set.context);
	}
	used = MemoryContextMemAllocated(state->store.context, true);
	limit = Max(limit / 4, limit > used ? limit - used : 0);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (!agg->agg.distinct)
			continue;
		while (agg->set.spill != NULL && zsagg_spill_next(agg->set.spill))
		{
			state->counts.nfills++;
			add_file(state, agg, limit);
		}
		agg->set.seen = NULL;
		MemoryContextDelete(agg->set.context);
		agg->set.context = NULL;
	}
	zsnode_agg_sets_free(state);
}

/* Gives back the files. */
void
zsnode_agg_sets_free(AggNodeState *state)
{
	uint64		disk = 0;

	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];

		if (agg->set.spill == NULL)
			continue;
		disk += zsagg_spill_disk(agg->set.spill);
		zsagg_spill_free(agg->set.spill);
		agg->set.spill = NULL;
	}
	state->counts.disk = Max(state->counts.disk, disk);
}
