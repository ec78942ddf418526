/*-------------------------------------------------------------------------
 *
 * zs_expr.h
 *	  Expressions on batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_H
#define ZS_EXPR_H

#include "postgres.h"

#include "utils/numeric.h"

#include "zs_expr_qual.h"
#include "zs_kernel.h"

typedef struct ZsExpr ZsExpr;

/* expr_compile.c */

/*
 * Makes a program of an expression over the columns of one table (varno); NULL if it has something
 * that programs do not know.  Nothing in a program raises an error: where the executor would, or
 * might, the program gives the batch back.  Memory comes from the current context.  Reads system
 * catalogs.
 */
extern ZsExpr *zsexpr_compile(TupleDesc desc, Index varno, Node *expr);

/* expr_common.c */

/* What the values are, and the bytes of by-value ones. */
extern ZsDomain zsexpr_domain(const ZsExpr *expr);
extern int	zsexpr_width(const ZsExpr *expr);

/* expr_share.c */

/* Nodes that programs share, by what they compute; all zeros: none. */
#define ZS_SHARED_BUCKETS	1024

typedef struct ZsSharedNodes
{
	List	   *buckets[ZS_SHARED_BUCKETS];
} ZsSharedNodes;

extern ZsExpr *zsexpr_share(ZsExpr *expr, ZsSharedNodes *nodes);

/* expr_run.c */

/*
 * The expression's values for the rows of sel, some of the present batch's, none of which is odd.
 * NULL if the batch has to be taken row by row, because one of the rows has a value that only the
 * executor understands, or an error.  Valid until the next batch, or until the program runs for
 * rows that it has not run for.
 */
extern const ZsColumnVector *zsexpr_run(ZsExpr *expr, ZsInput *input, const uint64 *sel,
										ZsQualCounts *counts);

/* expr_datum.c */
extern Datum zsexpr_int_to_datum(int size, int64 value);
extern Numeric zsexpr_numeric_make(zs_int128 value, int scale, int dscale);

#endif							/* ZS_EXPR_H */
