/*-------------------------------------------------------------------------
 *
 * zs_agg.h
 *	  Aggregates on batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_agg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_AGG_H
#define ZS_AGG_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "zs_expr.h"
#include "zs_expr_qual.h"

/*
 * The kinds of aggregates, each with the name of its operations: KIND(COUNT, count) has them in
 * zsagg_ops_count, in the file that is named beside it.
 */
#define ZS_AGG_KINDS(KIND) \
	/* agg_count.c: count(*), count(x) */ \
	KIND(COUNT_ROWS, count_rows) \
	KIND(COUNT, count) \
	/* agg_integer.c: of 2 or 4 bytes */ \
	KIND(SUM_INT, sum_int) \
	KIND(AVG_INT, avg_int) \
	/* agg_exact.c: sums of any size */ \
	KIND(SUM_INT8, sum_int8) \
	KIND(AVG_INT8, avg_int8) \
	KIND(SUM_NUMERIC, sum_numeric) \
	KIND(AVG_NUMERIC, avg_numeric) \
	/* agg_float.c */ \
	KIND(SUM_FLOAT4, sum_float4) \
	KIND(SUM_FLOAT8, sum_float8) \
	KIND(AVG_FLOAT, avg_float) \
	/* agg_variance.c: variances and standard deviations */ \
	KIND(VAR_INT, var_int) \
	KIND(VAR_FLOAT, var_float) \
	/* agg_extreme.c */ \
	KIND(MIN, min) \
	KIND(MAX, max) \
	/* agg_bits.c */ \
	KIND(BIT_AND, bit_and) \
	KIND(BIT_OR, bit_or) \
	KIND(BIT_XOR, bit_xor) \
	/* agg_bycore.c: core's transition function, for the first value or for each */ \
	KIND(ANY, any) \
	KIND(CORE, core)

#define ZS_AGG_MEMBER(kind, name) ZS_AGG_##kind,

typedef enum ZsAggKind
{
	ZS_AGG_KINDS(ZS_AGG_MEMBER)
	ZS_AGG_NKINDS
} ZsAggKind;

/* Which part of the work a node does. */
typedef enum ZsAggSplit
{
	ZS_SPLIT_NONE,				/* all of it */
	ZS_SPLIT_FOR_CORE,			/* partial aggregation; the rest is done by core's Agg node */
	ZS_SPLIT_FOR_OURS,			/* the same, by a node that is COMBINING */
	ZS_SPLIT_COMBINING
} ZsAggSplit;

/* What a node of ours that combines groups takes of an aggregate (agg_combine.c). */
typedef enum ZsAggState
{
	ZS_STATE_NONE,				/* nothing: it takes the aggregate's argument */
	ZS_STATE_VALUE,				/* a value, which is an argument of the same aggregate */
	ZS_STATE_INT,				/* an integer of 8 bytes to be added */
	ZS_STATE_IMAGE				/* what is in memory, as a bytea */
} ZsAggState;

/* ---- core's transition functions (agg_core.c) ---- */

typedef struct ZsCoreAgg
{
	FmgrInfo	transfn;
	FmgrInfo	finalfn;		/* fn_oid invalid: none */
	FmgrInfo	serialfn;		/* the same, and: */
	FmgrInfo	deserialfn;
	Oid			collation;
	int16		translen;
	bool		transbyval;
	bool		has_arg;
	int			nfinalargs;
	bool		init_isnull;
	Datum		init;
} ZsCoreAgg;

/* A transition value.  Zeros: as at the beginning. */
typedef struct ZsCoreValue
{
	Datum		value;
	bool		known;			/* else as at the beginning */
	bool		isnull;
	bool		no_value;		/* strict, and no input was seen */
} ZsCoreValue;

extern AggState *zsagg_core_node(MemoryContext context);
extern void zsagg_core_init(ZsCoreAgg *agg, const Aggref *aggref);
extern void zsagg_core_add(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans, Datum datum,
						   bool isnull);
extern Datum zsagg_core_result(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans, bool *isnull);
extern Datum zsagg_core_serialize(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans,
								  bool *isnull);
extern void zsagg_core_deserialize(ZsCoreAgg *agg, AggState *node, Datum value, bool isnull,
								   ZsCoreValue *trans);
extern void zsagg_core_check_aggregate(const Aggref *aggref);
extern void zsagg_core_check_equality(Oid function);

/* ---- aggregates ---- */

/* An aggregate of the query. */
typedef struct ZsAgg
{
	ZsAggKind	kind;
	AttrNumber	attno;			/* its argument; 0 = none, or: */
	ZsExpr	   *expr;			/* its argument where that is no column */
	ZsDomain	domain;			/* the argument's; NONE: only as a datum */
	int			width;			/* its bytes, of a by-value type */
	Oid			collation;
	ZsQual	   *filter;			/* FILTER (WHERE ...), or NULL */
	bool		has_zone;		/* MIN, MAX: of node_agg_zone.c */
	bool		zone_unsigned;
	bool		distinct;		/* only the first of equal values counts; not MIN, MAX, which
								 * need not care */
	Oid			distinct_eqop;
	ZsAggState	state;			/* INT or IMAGE: combines states, which its column has */
	ZsCoreAgg  *core;			/* VAR, ANY, CORE */
	AggState   *node;			/* for core's functions; its context is that of the values */
	MemoryContext temporary;	/* for what core's functions leave behind */
} ZsAgg;

/* A sum that needs more than 128 bits, or has inputs that are no integers of 64. */
typedef struct ZsLargeSum
{
	zs_int128	sum;			/* a part of it, at scale */
	void	   *core;			/* core's state for the other part, or NULL */
} ZsLargeSum;

/*
 * What an aggregate has seen so far; zeros: nothing.  Only the first zsagg_value_size()
 * bytes of it are there.  What it points to lives in the values' context.
 */
typedef struct ZsAggValue
{
	int64		count;			/* inputs; for numerics, those that are numbers */
	union
	{
		int64		integer;	/* sum of integers of 2 or 4 bytes, bits; MIN, MAX: the value or
								 * its pattern */
		float		sx4;		/* sum of floats of 4 bytes */
		struct					/* floats */
		{
			double		sx;		/* sum, and of squared differences */
			double		sxx;
		};
		struct					/* VAR: sums of integers and of their squares */
		{
			zs_int128	sum1;
			zs_int128	sum2;
		};
		struct					/* numerics, and sums of integers of 8 bytes */
		{
			int16		scale;
			int16		dscale; /* largest display scale of the inputs; MIN, MAX: of best */
			bool		has_nan;	/* among the inputs */
			bool		has_pinf;
			bool		has_ninf;
			bool		is_large;	/* large stands for sum, best_numeric for best */
			union
			{
				zs_int128	sum;	/* numerics: at scale */
				ZsLargeSum *large;
				int64		best;	/* MIN, MAX: at scale */
				Numeric		best_numeric;
			};
		};
		struct					/* MIN, MAX of strings */
		{
			struct varlena *string;
			uint64		string_size;	/* what is allocated for it */
		};
		ZsCoreValue core;
	};
} ZsAggValue;

/* What DISTINCT does to an aggregate. */
typedef enum ZsAggDistinct
{
	ZS_DISTINCT_UNKNOWN,		/* it goes row by row: the order of the values may show */
	ZS_DISTINCT_FIRST,			/* the first of equal values counts */
	ZS_DISTINCT_ONE_SCALE,		/* the same, where equal numerics look the same */
	ZS_DISTINCT_IGNORED			/* nothing, where equal values look the same */
} ZsAggDistinct;

/* What few groups get of a batch that is added up for all aggregates (node_agg_groups.c). */
typedef enum ZsAggSums
{
	ZS_SUMS_NONE,
	ZS_SUMS_COUNT,				/* the number of rows; it looks at no value */
	ZS_SUMS_VALUES				/* that, and the sum of the vector's integers */
} ZsAggSums;

/*
 * Rows of a batch and the values of their groups: row list[i] belongs to that at values + groups[i]
 * * stride.
 */
typedef struct ZsGroupRows
{
	char	   *values;
	Size		stride;
	Size		last;			/* the last byte of a value */
	bool		is_far;			/* the values are more than caches hold */
	const uint16 *list;
	const uint32 *groups;
	uint32		n;
} ZsGroupRows;

/*
 * The operations of a kind.  All but size() get values and arguments as they are in the table: what
 * combines states goes through zsagg_combine().  They are called in the values' context but for
 * result() and partial().  Those with a star may be NULL.
 */
typedef struct ZsAggOps
{
	/* bytes of ZsAggValue that are there */
	Size		(*size) (const ZsAgg *agg);

	/* the value of one row of the vector, which has one */
	void		(*add_one) (const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
							uint32 row);

	/* * a datum, no NULL; NULL: add_one() takes nothing but the integer that a vector has */
	void		(*add_datum) (const ZsAgg *agg, ZsAggValue *value, Datum datum);

	/* * rows of sel, at least one; false: one by one, please; NULL: always */
	bool		(*add_rows) (const ZsAgg *agg, ZsAggValue *value, const ZsColumnVector *vector,
							 const uint64 *sel);

	/* * the same for rows and their groups */
	bool		(*add_groups) (const ZsAgg *agg, const ZsColumnVector *vector,
							   const ZsGroupRows *rows);

	/* * what a vector's rows come to, but for their number; NULL: only that, or not possible */
	void		(*add_totals) (const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals);

	/* the result, and core's transition value, serialized if it is of type internal */
	Datum		(*result) (const ZsAgg *agg, ZsAggValue *value, bool *isnull);
	Datum		(*partial) (const ZsAgg *agg, ZsAggValue *value, bool *isnull);

	/* * may the result raise an error? */
	bool		(*may_raise) (const ZsAgg *agg, const ZsAggValue *value);

	/* * with state == ZS_STATE_IMAGE: adds what another process has seen; spare: see there */
	void		(*combine) (const ZsAgg *agg, ZsAggValue *value, const ZsAggValue *other,
							const char *spare);

	ZsAggState	state;			/* what a node of ours takes of it */
	ZsAggDistinct distinct;
	ZsAggSums	sums;
	bool		has_totals;		/* a vector may be taken as a whole */
	bool		needs_core;		/* agg->core */
	bool		owns_memory;	/* values point to memory */
	bool		owns_strings;	/* the same where the argument is a string */
	bool		is_exact_sum;	/* of numerics, or of integers that need more than 64 bits */
	bool		is_serialized;	/* partial() writes bytes that only core's functions read */
	bool		raises_nothing; /* neither adding nor the result */
} ZsAggOps;

#define ZS_AGG_DECLARE(kind, name) extern const ZsAggOps zsagg_ops_##name;
ZS_AGG_KINDS(ZS_AGG_DECLARE)

/* agg_ops.c */

extern const ZsAggOps *zsagg_ops_of(const ZsAgg *agg);
extern ZsColumnWant zsagg_want_of(const ZsAgg *agg);

/* Is the argument a string? */
static inline bool
zsagg_is_string(const ZsAgg *agg)
{
	return agg->domain == ZS_DOMAIN_TEXT || agg->domain == ZS_DOMAIN_BPCHAR;
}

/* agg_classify.c */

extern bool zsagg_classify_unbound(TupleDesc desc, Index varno, Aggref *aggref, ZsAgg *agg);

/* agg_known.c */

extern bool zsagg_kind_of(Oid aggfnoid, ZsAggKind *kind, ZsDomain *domain);
extern bool zsagg_ignores_order(Oid aggfnoid);

/* agg_ops.c */

extern void zsagg_begin(ZsAgg *agg, const Aggref *aggref, MemoryContext context);
extern bool zsagg_is_flat(const ZsAgg *agg);
extern Size zsagg_value_size(const ZsAgg *agg);

/*
 * Functions that add something are called in the values' context.  Nothing is to be taken back when
 * they raise an error, which only overflows of floats do and core's transition functions; core has
 * the same error in one of the same rows.
 */

extern void zsagg_add_totals(const ZsAgg *agg, ZsAggValue *value, const ZsVectorTotals *totals);

/* agg_ops.c */

extern void zsagg_add_batch(const ZsAgg *agg, ZsAggValue *value,
							const ZsColumnVector *vector, const uint64 *sel);

/* agg_ops.c */

extern void zsagg_add_groups(const ZsAgg *agg, char *values, Size stride, bool is_far,
							 const ZsColumnVector *vector, const uint64 *sel,
							 const uint16 *list, uint32 n, const uint32 *groups,
							 bool all_known);
extern void zsagg_add_datum(const ZsAgg *agg, ZsAggValue *value, Datum datum, bool isnull);
extern Datum zsagg_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull);
extern bool zsagg_result_may_raise(const ZsAgg *agg, const ZsAggValue *value);
extern void zsagg_combine(const ZsAgg *agg, ZsAggValue *value, int64 state);

/* ---- partial aggregation ---- */

/* agg_partial.c */

extern bool zsagg_state_is_known(void);
extern bool zsagg_has_partial(const ZsAgg *agg);

/* agg_ops.c */

extern Datum zsagg_partial_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull);

/* ---- states between nodes of ours (agg_combine.c) ---- */

extern ZsAggState zsagg_state_of(const Aggref *aggref);
extern bool zsagg_classify_state(TupleDesc desc, Index varno, const Aggref *aggref,
								 ZsAgg *agg);
extern Datum zsagg_own_state(const ZsAgg *agg, ZsAggValue *value, bool *isnull);
extern Datum zsagg_result_of_state(const ZsAgg *agg, Datum state, bool isnull,
								   bool *result_isnull);

/* ---- numerics (agg_numeric.c) ---- */

extern void zsagg_numeric_sum_int(const ZsAgg *agg, ZsAggValue *value, zs_int128 v, int scale);
extern void zsagg_numeric_sum(const ZsAgg *agg, ZsAggValue *value, Numeric num);
extern Numeric zsagg_numeric_spare(const ZsAgg *agg, const ZsAggValue *value);
extern void zsagg_numeric_sum_spare(const ZsAgg *agg, ZsAggValue *value, const char *spare);
extern Numeric zsagg_numeric_total(const ZsAgg *agg, ZsAggValue *value);
extern Datum zsagg_numeric_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull);
extern void zsagg_numeric_extreme_int(const ZsAgg *agg, ZsAggValue *value, int64 later,
									  int scale, int dscale);
extern void zsagg_numeric_extreme(const ZsAgg *agg, ZsAggValue *value, Numeric num);
extern Numeric zsagg_numeric_best(const ZsAggValue *value);

/* ---- core's aggregates beside ours (agg_verify.c) ---- */

typedef struct ZsAggVerifier ZsAggVerifier;

extern ZsAggVerifier *zsagg_verify_begin(List *aggrefs, bool transition);
extern void zsagg_verify_reset(ZsAggVerifier *verifier);
extern void zsagg_verify_row(ZsAggVerifier *verifier, uint32 group, int aggno, Datum datum,
							 bool isnull);
extern void zsagg_verify_renumber(ZsAggVerifier *verifier, uint32 group, uint32 number);
extern void zsagg_verify_forget(ZsAggVerifier *verifier, uint32 group);
extern void zsagg_verify_result(ZsAggVerifier *verifier, uint32 group, int aggno, Datum result,
								bool isnull);

#endif							/* ZS_AGG_H */
