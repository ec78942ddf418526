/*-------------------------------------------------------------------------
 *
 * vector_qual_internal.h
 *	  Programs of filters: what vector_qual_compile.c makes and vector_qual_run.c runs.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_qual_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_QUAL_INTERNAL_H
#define VECTOR_QUAL_INTERNAL_H

#include "postgres.h"

#include "vector_qual.h"

typedef enum ZsQualKind
{
	ZS_QUAL_CONST,				/* true, false or unknown for all rows */
	ZS_QUAL_COMPARE,			/* column op constant */
	ZS_QUAL_COLUMNS,			/* column op column, integers */
	ZS_QUAL_IN,					/* column = one of several integers */
	ZS_QUAL_NULL,				/* column IS NULL */
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

	/* COMPARE, COLUMNS, IN, NULL */
	AttrNumber	attno;
	AttrNumber	attno2;
	ZsDomain	domain;
	ZsCompare	op;
	int64		integer;		/* INT, UINT, DECIMAL */
	int			scale;			/* DECIMAL */
	double		real;			/* FLOAT4, FLOAT8 */
	const char *bytes;			/* TEXT, BPCHAR */
	size_t		nbytes;
	int64	   *list;			/* IN: ascending */
	uint32		nlist;

	/* dictionary entries that are equal to bytes, for the dictionary of that serial */
	uint8	   *table;
	uint32		table_size;
	uint64		table_serial;

	/* column's zone map */
	bool		has_zone;
	bool		zone_unsigned;
	int64		zone;

	int			nargs;
	struct ZsQual **args;
};

/* The operator with its sides exchanged. */
extern ZsCompare zsvector_qual_commute(ZsCompare op);

/* True, false or unknown for all rows. */
extern ZsQual *zsvector_qual_make_const(bool isnull, bool value);

/* "column op constant"; NULL if there is no such node. */
extern ZsQual *zsvector_qual_make_compare(TupleDesc desc, AttrNumber attno, ZsDomain domain, ZsCompare op,
										  Datum value, Oid type);

/* A comparison of dates with timestamps, one of them a column and the other a constant; else NULL. */
extern ZsQual *zsvector_qual_compile_date(TupleDesc desc, Index varno, Oid funcid, List *args);

#endif							/* VECTOR_QUAL_INTERNAL_H */
