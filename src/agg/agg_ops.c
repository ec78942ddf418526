/*-------------------------------------------------------------------------
 *
 * agg_ops.c
 *	  Aggregates as all others see them.
 *
 * A table has the operations of each kind (ZsAggOps).  A kind without any does not compile, one
 * that lacks an operation fails here.  What combines states of other processes has the same
 * operations for all kinds: the state is added.
 *
 * Rows of a batch are added to one value, or each to that of its group, which a list of numbers
 * names.  A kind has loops of its own for that where the order of the rows does not show in the
 * result; else its values are added one by one.
 *
 * The results are those of core's aggregates, to the last digit.  Of a DISTINCT aggregate the
 * caller adds only the first of equal values.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_ops.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "varatt.h"

#include "agg_internal.h"
#include "zs_codec.h"

#define OPS_ROW(kind, name) [ZS_AGG_##kind] = &zsagg_ops_##name,

static const ZsAggOps *const ops_by_kind[] = {
	ZS_AGG_KINDS(OPS_ROW)
};

/* The operations of the aggregate's kind. */
const ZsAggOps *
zsagg_ops_of(const ZsAgg *agg)
{
	const ZsAggOps *ops = ops_by_kind[agg->kind];

	StaticAssertStmt(lengthof(ops_by_kind) == ZS_AGG_NKINDS, "each kind has operations");
	Assert(ops->size != NULL && ops->add_one != NULL && ops->result != NULL &&
		   ops->partial != NULL);
	Assert((ops->state == ZS_STATE_IMAGE) == (ops->combine != NULL));
	Assert(ops->sums == ZS_SUMS_NONE || ops->has_totals);
	return ops;
}

/* In which form the aggregate takes its argument, if that is a column. */
ZsColumnWant
zsagg_want_of(const ZsAgg *agg)
{
	ZsColumnWant want = zsexpr_want_of(agg->domain);

	if (agg->state != ZS_STATE_NONE)
		return agg->state == ZS_STATE_INT ? ZS_WANT_INT : ZS_WANT_DATUM;
	if (agg->kind != ZS_AGG_COUNT)
		return want;
	if (!agg->distinct)
		return ZS_WANT_NULLS;
	return want == ZS_WANT_DATUM ? ZS_WANT_STRING : want;
}

/*
 * Gets ready for values that live in the context, which is reset when they are forgotten.  Reads
 * system catalogs.
 */
void
zsagg_begin(ZsAgg *agg, const Aggref *aggref, MemoryContext context)
{
	Assert(agg->node == NULL && MemoryContextIsValid(context));
	agg->node = zsagg_core_node(context);
	agg->temporary = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregate's rows",
										   ALLOCSET_SMALL_SIZES);
	if (zsagg_ops_of(agg)->needs_core)
	{
		agg->core = palloc(sizeof(ZsCoreAgg));
		zsagg_core_init(agg->core, aggref);
	}
}

/* Do its values stand for themselves, but for rare ones, and point to no memory? */
bool
zsagg_is_flat(const ZsAgg *agg)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);

	return !agg->distinct && !ops->owns_memory && !(ops->owns_strings && zsagg_is_string(agg));
}

/* Bytes that a value takes, a multiple of 8. */
Size
zsagg_value_size(const ZsAgg *agg)
{
	StaticAssertStmt(offsetof(ZsAggValue, integer) % sizeof(uint64) == 0 &&
					 sizeof(ZsAggValue) % sizeof(uint64) == 0,
					 "values of a group lie side by side");

	return zsagg_ops_of(agg)->size(agg);
}

/* ---- states of other processes --------------------------------------------------------------- */

/*
 * Adds a state, an integer or the address of an image, for an aggregate that combines.  Called in
 * the values' context.  Errors: overflow of floats.
 */
void
zsagg_combine(const ZsAgg *agg, ZsAggValue *value, int64 state)
{
	Assert(agg->state == ZS_STATE_INT || agg->state == ZS_STATE_IMAGE);
	if (agg->state == ZS_STATE_IMAGE)
	{
		const char *image = VARDATA_ANY((const void *) (intptr_t) state);
		Size		size = zsagg_value_size(agg);
		ZsAggValue	other;

		memcpy(&other, image, size);
		zsagg_ops_of(agg)->combine(agg, value, &other, image + size);
	}
	else if (agg->kind == ZS_AGG_SUM_INT)
	{
		value->integer = (int64) ((uint64) value->integer + (uint64) state);
		value->count++;
	}
	else
		value->count += state;
}

/* ZsAggOps.add_one of aggregates that combine states. */
static void
combine_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	zsagg_combine(agg, value, agg->state == ZS_STATE_INT ? vector->vals[row] :
				  (int64) vector->datums[row]);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The rows of sel one after the other. */
static void
add_each(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, const uint64 *sel)
{
	void		(*add_one) (const ZsAgg *, ZsAggValue *, const ZsColumnVector *, uint32) =
		agg->state != ZS_STATE_NONE ? combine_one : zsagg_ops_of(agg)->add_one;

	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = sel[w]; word != 0; word &= word - 1)
			add_one(agg, value, vector, w * 64 + __builtin_ctzll(word));
	}
}

/*
 * Adds the values of the rows of sel, which have some and none of which is odd.  vector is NULL for
 * counts.
 */
void
zsagg_add_batch(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
				const uint64 *sel)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);

	if (!zskernel_bits_any(sel))
		return;
	Assert(vector != NULL || ops->sums == ZS_SUMS_COUNT);
	if (agg->state != ZS_STATE_NONE || ops->add_rows == NULL ||
		!ops->add_rows(agg, value, vector, sel))
		add_each(agg, value, vector, sel);
}

/*
 * The rows of list (n positions) that are in sel and have a group, and their groups; returns how
 * many there are.  all_known: each row has a group.
 */
static uint32
select_rows(const uint64 *sel, const uint16 *list, uint32 n, const uint32 *groups, bool all_known,
			uint16 *sublist, uint32 *subgroups)
{
	uint32		nsub = 0;

	if (all_known && n == (uint32) list[n - 1] + 1)
	{
		/* the rows are the first n, so that groups are in their order */
		nsub = zskernel_bits_list(sel, sublist);
		Assert(nsub <= n);
		for (uint32 i = 0; i < nsub; i++)
			subgroups[i] = groups[sublist[i]];
		return nsub;
	}
	for (uint32 i = 0; i < n; i++)
	{
		sublist[nsub] = list[i];
		subgroups[nsub] = groups[i];
		nsub += groups[i] != PG_UINT32_MAX && zskernel_bits_get(sel, list[i]) ? 1 : 0;
	}
	return nsub;
}

/*
 * Adds rows to their groups: those of list (n positions) that are in sel, which have values none of
 * which is odd.  groups: their numbers, PG_UINT32_MAX = none; all_known: each row of list has one,
 * and sel has no other rows; a group's value is at values + number * stride; is_far: they are more
 * than caches hold.  vector is NULL for counts.
 */
void
zsagg_add_groups(const ZsAgg *agg, char *values, Size stride, bool is_far,
				 const ZsColumnVector *vector, const uint64 *sel, const uint16 *list,
				 uint32 n, const uint32 *groups, bool all_known)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);
	uint16		sublist[ZS_KERNEL_ROWS];
	uint32		subgroups[ZS_KERNEL_ROWS];
	ZsGroupRows rows = {.values = values, .stride = stride, .is_far = is_far, .list = sublist,
	.groups = subgroups};

	Assert(n > 0 && n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	rows.last = zsagg_value_size(agg) - 1;
	rows.n = select_rows(sel, list, n, groups, all_known, sublist, subgroups);
	if (agg->state != ZS_STATE_NONE)
		ZS_FOR_EACH_ROW(&rows, vector, combine_one(agg, value, vector, row));
	else if (ops->add_groups == NULL || !ops->add_groups(agg, vector, &rows))
		ZS_FOR_EACH_ROW(&rows, vector, ops->add_one(agg, value, vector, row));
}

/* What the rows of a vector come to, for an aggregate that has totals; never fails. */
void
zsagg_add_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);
	int64		count = value->count + totals->nvalues;

	Assert(totals->nvalues <= ZS_KERNEL_ROWS && ops->has_totals);
	if (totals->nvalues == 0)
		return;
	if (ops->add_totals != NULL)
		ops->add_totals(agg, value, totals);
	value->count = count;
}

/* A value as a vector of one row has it. */
static void
add_as_vector(const ZsAgg *agg, ZsAggValue *value, Datum datum)
{
	ZsColumnVector vector;
	int64		v = zsattr_value_to_int(datum, agg->width);

	Assert(!zsagg_is_string(agg) && agg->domain != ZS_DOMAIN_DECIMAL &&
		   agg->domain != ZS_DOMAIN_NONE);
	vector.vals = &v;
	zsagg_ops_of(agg)->add_one(agg, value, &vector, 0);
}

/* Adds one row's argument. */
void
zsagg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);

	if (agg->kind == ZS_AGG_COUNT_ROWS && agg->state == ZS_STATE_NONE)
		value->count++;
	else if (isnull)
		 /* no aggregate of ours looks at NULLs */ ;
	else if (agg->state != ZS_STATE_NONE)
		zsagg_combine(agg, value, (int64) datum);
	else if (ops->add_datum != NULL)
		ops->add_datum(agg, value, datum);
	else
		add_as_vector(agg, value, datum);
}

/* ---- results --------------------------------------------------------------------------------- */

/*
 * The aggregate's result, in the current context or in the values'.  Errors: those of core's final
 * functions.
 */
Datum
zsagg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = false;
	return zsagg_ops_of(agg)->result(agg, value, isnull);
}

/* May that raise an error?  Not if it says no. */
bool
zsagg_result_may_raise(const ZsAgg *agg, const ZsAggValue *value)
{
	const ZsAggOps *ops = zsagg_ops_of(agg);

	return ops->may_raise != NULL && ops->may_raise(agg, value);
}

/*
 * The transition value that core's would have, serialized if it is of type internal; in the current
 * context.
 */
Datum
zsagg_partial_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Assert(!agg->distinct);
	*isnull = false;
	return zsagg_ops_of(agg)->partial(agg, value, isnull);
}
