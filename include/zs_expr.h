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

extern ZsExpr *zsexpr_compile(TupleDesc desc, Index varno, Node *expr);

/* expr_common.c */

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

extern const ZsColumnVector *zsexpr_run(ZsExpr *expr, ZsInput *input, const uint64 *sel,
										ZsQualCounts *counts);

/* expr_datum.c */
extern Datum zsexpr_int_to_datum(int size, int64 value);
extern Numeric zsexpr_numeric_make(zs_int128 value, int scale, int dscale);
extern bool zsexpr_decimals_of_datums(const uint64 *datums, uint32 n, const uint64 *nulls,
									  uint64 *odd, int64 *scaled, uint8 *dscales, int *scale,
									  bool *uniform);

#endif							/* ZS_EXPR_H */
