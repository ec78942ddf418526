/*-------------------------------------------------------------------------
 *
 * zs_expr_qual.h
 *	  Filters on batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_qual.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_QUAL_H
#define ZS_EXPR_QUAL_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/pathnodes.h"
#include "nodes/pg_list.h"

#include "zs_attr.h"
#include "zs_expr_input.h"

/* How the values of a column are compared. */
typedef enum ZsDomain
{
	ZS_DOMAIN_NONE,
	ZS_DOMAIN_INT,				/* signed integers, dates, times, booleans */
	ZS_DOMAIN_UINT,				/* oid and the like */
	ZS_DOMAIN_FLOAT4,
	ZS_DOMAIN_FLOAT8,
	ZS_DOMAIN_DECIMAL,			/* numeric */
	ZS_DOMAIN_TEXT,				/* text, varchar: bytes */
	ZS_DOMAIN_BPCHAR			/* bytes without blanks at the end */
} ZsDomain;

typedef struct ZsQual ZsQual;

/* Rows for which a condition is true, and for which it is false; for the others it is unknown. */
typedef struct ZsTruth
{
	uint64		yes[ZS_KERNEL_WORDS];
	uint64		no[ZS_KERNEL_WORDS];
} ZsTruth;

/* Counts for EXPLAIN. */
typedef struct ZsQualCounts
{
	uint64		skipped;		/* comparisons of a batch that its zone map decided */
} ZsQualCounts;

/* qual_compile.c */

extern ZsQual *zsexpr_qual_compile(TupleDesc desc, Index varno, Node *expr);
extern bool zsexpr_qual_has_program(TupleDesc desc, Index varno, Node *expr, int *nvectors);
extern int	zsexpr_qual_nvectors(const ZsQual *qual);

/* A filter's programs have no more vectors together; other clauses go row by row. */
#define ZS_MAX_FILTER_VECTORS	4000

/* qual_run.c */

extern bool zsexpr_qual_run(ZsQual *qual, ZsInput *input, const uint64 *sel, ZsTruth *truth,
							ZsQualCounts *counts);

/* qual_value.c */

extern List *zsexpr_qual_order(PlannerInfo *root, List *clauses);
extern int	zsexpr_qual_rank(const ZsQual *qual);

/* qual_compare.c */

extern bool zsexpr_is_comparison(Oid funcid);
extern bool zsexpr_is_equality(Oid funcid, ZsDomain domain);

/* expr_common.c */

extern AttrNumber zsexpr_column_of(TupleDesc desc, Index varno, Node *expr, ZsDomain *domain);

/* How many of a string's bytes count when it is compared. */
static inline size_t
zsexpr_compared_length(ZsDomain domain, const char *bytes, size_t len)
{
	while (domain == ZS_DOMAIN_BPCHAR && len > 0 && bytes[len - 1] == ' ')
		len--;
	return len;
}

/* Rows ahead whose strings are fetched: those of a dictionary lie far from each other. */
#define ZS_STRINGS_AHEAD	8

/* Fetches a string that is going to be looked at soon, by the datums of a vector and the row. */
static inline void
zsexpr_fetch_ahead(const uint64 *datums, uint32 row)
{
	const char *string = (const char *) datums[Min(row + ZS_STRINGS_AHEAD, ZS_KERNEL_ROWS - 1)];

	Assert(row < ZS_KERNEL_ROWS);
	__builtin_prefetch(string);
	__builtin_prefetch(string + 64);
}

extern ZsColumnWant zsexpr_want_of(ZsDomain domain);

#endif							/* ZS_EXPR_QUAL_H */
