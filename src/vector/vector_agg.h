/*-------------------------------------------------------------------------
 *
 * vector_agg.h
 *	  Aggregates on batches; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_AGG_H
#define VECTOR_AGG_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "vector_expr.h"
#include "vector_qual.h"

typedef enum ZsAggKind
{
	ZS_AGG_COUNT_ROWS,			/* count(*) */
	ZS_AGG_COUNT,
	ZS_AGG_SUM_INT,				/* of 2 or 4 bytes */
	ZS_AGG_SUM_INT8,
	ZS_AGG_SUM_NUMERIC,
	ZS_AGG_SUM_FLOAT4,
	ZS_AGG_SUM_FLOAT8,
	ZS_AGG_AVG_INT,
	ZS_AGG_AVG_INT8,
	ZS_AGG_AVG_NUMERIC,
	ZS_AGG_AVG_FLOAT,
	ZS_AGG_MIN,
	ZS_AGG_MAX
} ZsAggKind;

/* An aggregate of the query. */
typedef struct ZsAgg
{
	ZsAggKind	kind;
	AttrNumber	attno;			/* its argument; 0 = none, or: */
	ZsExpr	   *expr;			/* its argument where that is no column */
	ZsDomain	domain;			/* the argument's */
	int			width;			/* its bytes, of a by-value type */
	ZsQual	   *filter;			/* FILTER (WHERE ...), or NULL */
} ZsAgg;

/*
 * What an aggregate has seen so far.  May be copied; Numerics that it points to are never changed in
 * place, and live in a context of the caller's.
 */
typedef struct ZsAggValue
{
	int64		count;			/* inputs; for numerics, those that are numbers */
	union
	{
		struct					/* integers and numerics */
		{
			zs_int128	sum;	/* numerics: at scale */
			Numeric		spare;	/* part of the sum that is not in sum, or NULL */
		};
		struct					/* floats */
		{
			double		sx;		/* sum, and of squared differences */
			double		sxx;
			float		sx4;	/* sum of floats of 4 bytes */
		};
		struct					/* MIN, MAX */
		{
			int64		best;	/* the value, or its pattern; numerics: at scale */
			Numeric		best_numeric;	/* instead of best */
		};
	};
	int16		scale;
	int16		dscale;			/* largest display scale of the inputs; MIN, MAX: of best */
	bool		has_nan;		/* among the inputs */
	bool		has_pinf;
	bool		has_ninf;
} ZsAggValue;

/* Describes the aggregate; false if it is none that we know.  varno: the table's in its expressions. */
extern bool zsvector_agg_classify(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg);

/*
 * Adds the values of the rows of sel, which have some and none of which is odd.  False if core would have raised an error
 * at one of them; *value is undefined then.
 */
extern bool zsvector_agg_add_batch(const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
								   const uint64 *sel);

/*
 * Adds rows to their groups: those of list (n positions) that are in sel, which have values none of which is odd.
 * groups: their numbers, PG_UINT32_MAX = none; a group's value is values[number * stride].  vector is NULL for counts.
 * Errors: float overflow.
 */
extern void zsvector_agg_add_groups(const ZsAgg *agg, ZsAggValue *values, int stride,
									const ZsColumnVector *vector, const uint64 *sel,
									const uint16 *list, uint32 n, const uint32 *groups);

/*
 * Adds one row's argument.  Numerics are made in the current context.  Errors: those of core's transition functions.
 */
extern void zsvector_agg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull);

/* The aggregate's result, in the current context.  Errors: those of core's final functions. */
extern Datum zsvector_agg_result(const ZsAgg *agg, const ZsAggValue *value, bool *isnull);

/* The sum of numerics or of integers of 8 bytes, without special values; in the current context. */
extern Numeric zsvector_agg_numeric_sum(const ZsAggValue *value);

/* ---- partial aggregation (vector_agg_state.c) ---- */

/* Can what the aggregate has seen be given to core's combine function?  May call core's functions. */
extern bool zsvector_agg_has_partial(const ZsAgg *agg);

/* The transition value that core's would have, serialized if it is of type internal; in the current context. */
extern Datum zsvector_agg_partial_result(const ZsAgg *agg, const ZsAggValue *value, bool *isnull);

/* By-value datums of size bytes as 64-bit integers, as vectors have them, and back. */
extern int64 zsvector_datum_to_int64(int size, Datum datum);
extern Datum zsvector_int64_to_datum(int size, int64 value);

/* ---- plans ---- */

extern const CustomScanMethods zsvector_agg_scan_methods;
extern Node *zsvector_agg_create_state(CustomScan *cscan);

/* ---- core's aggregates beside ours (vector_agg_verify.c) ---- */

typedef struct ZsAggVerifier ZsAggVerifier;

extern ZsAggVerifier *zsvector_verify_begin(List *aggrefs);

/* Forgets all transition values. */
extern void zsvector_verify_reset(ZsAggVerifier *verifier);
extern void zsvector_verify_row(ZsAggVerifier *verifier, uint32 group, int aggno, Datum datum, bool isnull);

/* Raises an error if core's result is another one. */
extern void zsvector_verify_result(ZsAggVerifier *verifier, uint32 group, int aggno, Datum result,
								   bool isnull);

#endif							/* VECTOR_AGG_H */
