/*-------------------------------------------------------------------------
 *
 * agg_bits.c
 *	  bit_and(), bit_or() and bit_xor() of integers.
 *
 * The first value is the state as it is; the others are joined with it one by one.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_bits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "agg_internal.h"

/* ZsAggOps.size */
static Size
bits_size(const ZsAgg *agg)
{
	return offsetof(ZsAggValue, integer) + sizeof(int64);
}

/* ZsAggOps.add_one of bit_and */
static void
and_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v = vector->vals[row];

	value->integer = value->count++ == 0 ? v : value->integer & v;
}

/* ZsAggOps.add_one of bit_or */
static void
or_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v = vector->vals[row];

	value->integer = value->count++ == 0 ? v : value->integer | v;
}

/* ZsAggOps.add_one of bit_xor */
static void
xor_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector, uint32 row)
{
	int64		v = vector->vals[row];

	value->integer = value->count++ == 0 ? v : value->integer ^ v;
}

/* ZsAggOps.result: the bits in the width of the argument */
static Datum
bits_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	*isnull = value->count == 0;
	return *isnull ? (Datum) 0 : zsexpr_int_to_datum(agg->width, value->integer);
}

#define BITS_OPS \
	.size = bits_size, \
	.result = bits_result, \
	.partial = bits_result, \
	.state = ZS_STATE_VALUE, \
	.raises_nothing = true

const ZsAggOps zsagg_ops_bit_and = {BITS_OPS, .add_one = and_one};
const ZsAggOps zsagg_ops_bit_or = {BITS_OPS, .add_one = or_one};
const ZsAggOps zsagg_ops_bit_xor = {BITS_OPS, .add_one = xor_one};
