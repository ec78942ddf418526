/*-------------------------------------------------------------------------
 *
 * qual_internal.h
 *	  Programs of filters: what qual_compile.c makes and qual_run.c runs.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef QUAL_INTERNAL_H
#define QUAL_INTERNAL_H

#include "postgres.h"

#include "fmgr.h"

#include "expr_common.h"
#include "zs_expr.h"
#include "zs_expr_qual.h"

/* A "value" is a column or an expression. */
typedef enum ZsQualKind
{
	ZS_QUAL_CONST,				/* true, false or unknown for all rows */
	ZS_QUAL_COMPARE,			/* value op constant */
	ZS_QUAL_COLUMNS,			/* column op column, integers */
	ZS_QUAL_VALUES,				/* expression op expression, integers and floats of 8 bytes */
	ZS_QUAL_IN,					/* value = one of several integers */
	ZS_QUAL_LIKE,				/* value LIKE (op is =) or NOT LIKE (op is <>) constant */
	ZS_QUAL_NULL,				/* value IS NULL */
	ZS_QUAL_AND,
	ZS_QUAL_OR,
	ZS_QUAL_NOT,
	ZS_QUAL_IS_TRUE,
	ZS_QUAL_IS_FALSE,
	ZS_QUAL_IS_UNKNOWN
} ZsQualKind;

struct ZsQual
{
	ZsQualKind	kind;
	bool		is_true;		/* CONST; neither: unknown */
	bool		is_false;

	/* COMPARE, COLUMNS, VALUES, IN, LIKE, NULL */
	AttrNumber	attno;
	AttrNumber	attno2;
	ZsExpr	   *expr;			/* instead of attno, or NULL */
	ZsExpr	   *expr2;
	ZsDomain	domain;
	ZsCompare	op;
	int64		integer;		/* INT, UINT, DECIMAL */
	int			scale;			/* DECIMAL */
	double		real;			/* FLOAT4, FLOAT8 */
	const char *bytes;			/* TEXT, BPCHAR */
	size_t		nbytes;
	int64	   *list;			/* IN: ascending */
	uint32		nlist;
	ZsLikePattern like;			/* LIKE; without pieces: core's function is called, with: */
	Datum		pattern;
	bool		no_pattern;		/* it is NULL: the value is computed, and nothing known of it */
	PGFunction	match;
	MemoryContext match_context;	/* of what that leaves behind; NULL: not made yet */
	Oid			collation;

	bool		no_table;		/* strings are looked at one by one, even those of a dictionary */

	/* dictionary entries that pass (with <>: that do not), for the dictionary of that serial */
	uint8	   *table;
	uint32		table_size;
	uint64		table_serial;

	/* column's zone map */
	bool		has_zone;
	bool		zone_unsigned;
	int64		zone;

	int			nargs;
	struct ZsQual **args;

	int			nvectors;		/* of a whole program */
};

/* qual_make.c */

extern ZsQual *zsexpr_qual_make(ZsQualKind kind);
extern ZsQual *zsexpr_qual_make_list(ZsQualKind kind, int nargs);
extern ZsQual *zsexpr_qual_make_const(bool isnull, bool value);
extern ZsCompare zsexpr_qual_commute(ZsCompare op);
extern ZsQual *zsexpr_qual_make_compare(ZsCompiler *compiler, AttrNumber attno, ZsDomain domain,
										ZsCompare op, Datum value, Oid type);
extern bool zsexpr_qual_match_domain(ZsDomain have, ZsDomain *wanted);

/* qual_compile.c */

extern ZsQual *zsexpr_qual_compile_node(ZsCompiler *compiler, Node *expr);

/* qual_compare.c */

extern ZsQual *zsexpr_qual_compile_op(ZsCompiler *compiler, const OpExpr *op);
extern ZsQual *zsexpr_qual_compile_array_op(ZsCompiler *compiler,
											const ScalarArrayOpExpr *op);

/* qual_value.c */

extern ZsQual *zsexpr_qual_compile_values(ZsCompiler *compiler, ZsCompare op,
										  ZsDomain domain, Node *left, Node *right);
extern ZsQual *zsexpr_qual_compile_value(ZsCompiler *compiler, Node *expr);

/* qual_like.c */

extern bool zsexpr_qual_is_like_function(Oid funcid);
extern ZsQual *zsexpr_qual_compile_like(ZsCompiler *compiler, Oid funcid, List *args,
										Oid collation);
extern bool zsexpr_qual_is_like(ZsQual *qual, uint64 datum);

/* qual_date.c */

extern ZsQual *zsexpr_qual_compile_date(ZsCompiler *compiler, Oid funcid, List *args);

#endif							/* QUAL_INTERNAL_H */
