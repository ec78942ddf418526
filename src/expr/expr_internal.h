/*-------------------------------------------------------------------------
 *
 * expr_internal.h
 *	  Programs of expressions: what expr_compile.c makes and expr_run.c runs.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef EXPR_INTERNAL_H
#define EXPR_INTERNAL_H

#include "postgres.h"

#include "expr_common.h"
#include "zs_expr.h"

/* The largest display scale that numerics have on the way. */
#define ZS_EXPR_MAX_SCALE	18

typedef enum ZsExprKind
{
	ZS_EXPR_COLUMN,
	ZS_EXPR_CONST,
	ZS_EXPR_SAME,				/* the argument's values as they are, in another type */
	ZS_EXPR_ARITH,				/* + - * / % of integers, + - * % of numerics, + - * / of floats */
	ZS_EXPR_NEG,
	ZS_EXPR_ABS,
	ZS_EXPR_NARROW,				/* an integer of fewer bytes */
	ZS_EXPR_INT_TO_FLOAT,
	ZS_EXPR_FLOAT4_TO_8,
	ZS_EXPR_DECIMAL_TO_FLOAT,
	ZS_EXPR_ROUND,				/* a numeric to a display scale */
	ZS_EXPR_DIVIDE,				/* a numeric by a constant: times value / 10^scale */
	ZS_EXPR_DATE_ADD,			/* date + integer, date - integer */
	ZS_EXPR_DATE_DIFF,
	ZS_EXPR_DATE_TO_TIMESTAMP,
	ZS_EXPR_TIMESTAMP_TO_DATE,
	ZS_EXPR_TIMESTAMP_ADD,		/* of microseconds */
	ZS_EXPR_TIME_FLOOR,			/* a timestamp without what is below a unit of usecs */
	ZS_EXPR_TIME_PART,			/* of a timestamp: the number of such units modulo limit */
	ZS_EXPR_DATE_FIELD,			/* of a date */
	ZS_EXPR_DATE_BEGIN,			/* of the field that a date is in */
	ZS_EXPR_TO_LOCAL,			/* a timestamp with time zone as the session's local one */
	ZS_EXPR_FROM_LOCAL,			/* the way back */
	ZS_EXPR_LOCAL_FLOOR,		/* a timestamp with time zone without what is below a unit of
								 * usecs in local time */
	ZS_EXPR_SCALED,				/* an integer as a numeric of a scale */
	ZS_EXPR_TEXT_CALL,			/* a function of core's of a string */
	ZS_EXPR_CONCAT,				/* two strings */
	ZS_EXPR_INT_TO_TEXT,
	ZS_EXPR_CASE,
	ZS_EXPR_COALESCE,
	ZS_EXPR_NULLIF,				/* the first argument where the condition is not true */
	ZS_EXPR_BOOL				/* a condition as a value */
} ZsExprKind;

typedef struct ZsTextCall ZsTextCall;

/*
 * Results that a node keeps beside its vector, strings above all: of the rows of a batch, or one
 * for each entry in use of a dictionary.
 */
typedef struct ZsKeptResults
{
	MemoryContext context;		/* of strings; NULL: not made yet */
	uint64		batch;			/* that there are some of */
	uint64		serial;			/* of the dictionary; 0: of the batch's rows */
	uint32		size;			/* entries that there is room for */
	bool	   *known;
	uint64	   *results;		/* of entries: integers, or addresses */
} ZsKeptResults;

struct ZsExpr
{
	ZsExprKind	kind;
	ZsDomain	domain;			/* strings come as codes or datums, never as lengths */
	int			width;			/* of by-value types */

	AttrNumber	attno;			/* COLUMN */

	/* CONST */
	bool		isnull;
	int64		value;			/* integer, pattern, numeric at scale, address of a string; also
								 * DIVIDE */
	int			scale;			/* also ROUND, SCALED: the new one, DIVIDE */

	/* DIVIDE: the divisor's first digit of base 10000, its weight, and the display scale */
	int			divisor_first;
	int			divisor_weight;
	int			divisor_scale;

	ZsArith		op;				/* ARITH, DATE_ADD */
	int64		limit;			/* ROUND: the result is smaller; 0: no limit.  TIME_PART */
	int64		usecs;			/* TIMESTAMP_ADD, TIME_FLOOR, TIME_PART */
	ZsDateField field;			/* DATE_FIELD, DATE_BEGIN */
	ZsTextCall *call;			/* TEXT_CALL */
	ZsKeptResults kept;			/* TEXT_CALL, CONCAT, INT_TO_TEXT */
	const int  *nmakers;		/* the same: how many of these the program has */

	int			nargs;
	struct ZsExpr **args;
	int			nconds;			/* CASE, NULLIF, BOOL */
	ZsQual	  **conds;
	struct ZsExpr *operand;		/* CASE: what its conditions compare, run before them, or NULL */

	bool		is_shared;		/* several programs have it, all of them for the same rows */

	/* what it gave last, for rows of done */
	uint64		serial;			/* of the batch; 0 = none */
	uint64		done[ZS_KERNEL_WORDS];
	const ZsColumnVector *result;
	ZsColumnVector vector;
	int64	   *vals;			/* or NULL: not made yet */
	uint8	   *dscales;
	int64	   *scaled[2];		/* arguments at another scale */
	int			scaled_scale[2];	/* CONST ones: what is in there; -1 = nothing */
};

/* expr_common.c */

extern ZsExpr *zsexpr_make(ZsExprKind kind, ZsDomain domain, int width, int nargs);
extern void zsexpr_add_arg(ZsExpr *expr, ZsExpr *arg);

/* expr_call.c */

extern ZsExpr *zsexpr_compile_call(ZsCompiler *compiler, Oid funcid, List *args,
								   Oid collation);

/* expr_divide.c */

extern ZsExpr *zsexpr_compile_divide(ZsExpr *arg, const ZsExpr *divisor);

/* expr_time.c */

extern ZsExpr *zsexpr_compile_time(Oid funcid, Node *unit_node, ZsExpr *arg);
extern ZsExpr *zsexpr_compile_time_add(Oid funcid, ZsExpr *arg, Node *interval_node);
extern ZsExpr *zsexpr_compile_zone(Oid funcid, ZsExpr *arg);

/* expr_zone.c */

extern bool zsexpr_run_zone(const ZsExpr *expr, const int64 *values, const uint64 *rows,
							int64 *out);

/* expr_text.c */

extern bool zsexpr_is_text_function(Oid funcid);
extern ZsExpr *zsexpr_compile_text(ZsCompiler *compiler, Oid funcid, List *args,
								   Oid collation, ZsExpr *arg);
extern bool zsexpr_run_text(ZsExpr *expr, uint64 batch, const ZsColumnVector *arg,
							const uint64 *rows);

/* expr_concat.c */

extern ZsExpr *zsexpr_compile_concat(ZsCompiler *compiler, ZsExpr *a, ZsExpr *b);
extern ZsExpr *zsexpr_compile_text_of(ZsCompiler *compiler, Oid from, Oid to, ZsExpr *arg);
extern bool zsexpr_run_concat(ZsExpr *expr, uint64 batch, const ZsColumnVector *const *args,
							  const uint64 *rows);
extern bool zsexpr_run_text_of(ZsExpr *expr, uint64 batch, const ZsColumnVector *arg,
							   const uint64 *rows);

/* expr_call.c */

extern ZsExpr *zsexpr_as_float8(ZsExpr *expr);
extern ZsExpr *zsexpr_subtract(ZsExpr *a, ZsExpr *b);

#endif							/* EXPR_INTERNAL_H */
