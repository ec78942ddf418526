/*-------------------------------------------------------------------------
 *
 * agg_internal.h
 *	  What the kinds of aggregates share; private to src/agg.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef AGG_INTERNAL_H
#define AGG_INTERNAL_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/numeric.h"

#include "zs_agg.h"

/* Rows ahead whose values are fetched where these are far away. */
#define ZS_GROUPS_AHEAD	16

/*
 * Does what `step` does to each row of `rows`: there `value` is that of its group, `row` its
 * number, and `v` its argument, if the vector has integers.
 */
#define ZS_FOR_EACH_ROW(rows, vector, step) \
	do { \
		const int64 *vals_ = (vector) != NULL ? (vector)->vals : NULL; \
		\
		for (uint32 i_ = 0; i_ < (rows)->n; i_++) \
		{ \
			uint32		row = (rows)->list[i_]; \
			ZsAggValue *value = (ZsAggValue *) ((rows)->values + \
												(rows)->groups[i_] * (rows)->stride); \
			int64		v = vals_ != NULL ? vals_[row] : 0; \
			\
			if ((rows)->is_far && i_ + ZS_GROUPS_AHEAD < (rows)->n) \
			{ \
				const char *ahead_ = (rows)->values + \
					(rows)->groups[i_ + ZS_GROUPS_AHEAD] * (rows)->stride; \
				\
				__builtin_prefetch(ahead_, 1); \
				__builtin_prefetch(ahead_ + (rows)->last, 1); \
			} \
			(void) v; \
			(void) row; \
			step; \
		} \
	} while (0)

/* The value of a float's pattern, of either width. */
static inline double
zsagg_float_of(ZsDomain domain, int64 pattern)
{
	return domain == ZS_DOMAIN_FLOAT4 ? (double) zskernel_float4(pattern) :
		zskernel_float8(pattern);
}

/* agg_state.c */

extern void zsagg_state_send_numeric(StringInfo buf, Numeric num);
extern void zsagg_state_send_integer(StringInfo buf, zs_int128 sum);

/* agg_float.c */

extern Size zsagg_float_size(const ZsAgg *agg);
extern void zsagg_float_one(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
							uint32 row);
extern void zsagg_float_combine(const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other,
								const char *spare);
extern Datum zsagg_float_partial(const ZsAgg *agg, ZsAggValue *value, bool *isnull);

#endif							/* AGG_INTERNAL_H */
