/*-------------------------------------------------------------------------
 *
 * vector_expr.h
 *	  Expressions on batches; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_expr.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_EXPR_H
#define VECTOR_EXPR_H

#include "postgres.h"

#include "vector_qual.h"

typedef struct ZsExpr ZsExpr;

/* vector_expr_compile.c */

/*
 * Makes a program of an expression over the columns of one table (varno); NULL if it has something
 * that programs do not know.  Nothing in a program raises an error: where the executor would, or
 * might, the program gives the batch back.  Memory comes from the current context.  Reads system
 * catalogs.
 */
extern ZsExpr *zsvector_expr_compile(TupleDesc desc, Index varno, Node *expr);

/* What the values are, and the bytes of by-value ones. */
extern ZsDomain zsvector_expr_domain(const ZsExpr *expr);
extern int	zsvector_expr_width(const ZsExpr *expr);

/* vector_expr_share.c */

/* Nodes that programs share, by what they compute; all zeros: none. */
#define ZS_SHARED_BUCKETS	1024

typedef struct ZsSharedNodes
{
	List	   *buckets[ZS_SHARED_BUCKETS];
} ZsSharedNodes;

extern ZsExpr *zsvector_expr_share(ZsExpr *expr, ZsSharedNodes *nodes);

/* vector_expr_run.c */

/*
 * The expression's values for the rows of sel, some of the present batch's, none of which is odd.
 * NULL if the batch has to be taken row by row, because one of the rows has a value that only the
 * executor understands, or an error.  Valid until the next batch, or until the program runs for
 * rows that it has not run for.
 */
extern const ZsColumnVector *zsvector_expr_run(ZsExpr *expr, ZsInput *input, const uint64 *sel,
											   ZsQualCounts *counts);

#endif							/* VECTOR_EXPR_H */
