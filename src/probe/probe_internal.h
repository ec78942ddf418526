/*-------------------------------------------------------------------------
 *
 * probe_internal.h
 *	  The table of a join by batches; private to src/probe.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PROBE_INTERNAL_H
#define PROBE_INTERNAL_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "zs_probe.h"

/* Integers, of 32 bits as long as that is enough: one of the two arrays. */
typedef struct ZsProbeInts
{
	int32	   *narrow;
	int64	   *wide;
} ZsProbeInts;

/* What a column has for each row. */
typedef enum ZsProbeForm
{
	ZS_PROBE_INTS,				/* its value */
	ZS_PROBE_DECIMALS,			/* its value, a numeric of the display scale that all have */
	ZS_PROBE_CODES,				/* the number of an entry of the dictionary */
	ZS_PROBE_DATUMS				/* the address of a copy */
} ZsProbeForm;

/* A column of the rows of a build side; arrays have a member for each row, bitmaps a bit. */
typedef struct ZsProbeColumn
{
	bool		wanted;
	int16		typlen;
	bool		typbyval;
	ZsProbeForm first_form;		/* of a table without rows */
	ZsProbeForm form;
	ZsProbeInts ints;			/* what the form says; 0 where it is NULL */
	bool		has_nulls;
	uint64	   *nulls;
	bool		has_odd;		/* stored out of line or compressed */
	uint64	   *odd;
	bool		has_scale;		/* DECIMALS: there is a row that is not NULL */

	/* CODES: a dictionary, and a hash table of its entries */
	uint64	   *entries;
	uint32		nentries;
	uint32		maxentries;
	uint32	   *slots;
	uint32		nslots;
	uint64		serial;			/* 0: nobody asked yet */

	/* numerics that are DATUMS as integers of one scale, made when somebody asks */
	int64	   *scaled;
	uint8	   *dscales;
	uint64	   *decimal_odd;
	bool		decimal_has_odd;
	int			scale;			/* also of DECIMALS */
	bool		uniform;		/* all have that display scale */
} ZsProbeColumn;

struct ZsProbeTable
{
	MemoryContext context;		/* of all that depends on rows */
	MemoryContext values;		/* of copies of values */
	int			ncolumns;
	ZsProbeColumn *columns;
	int			nkeys;
	const ZsGroupKey *build_keys;
	const ZsGroupKey *probe_keys;
	int			keep;			/* of ZsProbeKeep */
	bool		by_rows;		/* odd values of the input have datums: those of core's rows */
	uint32		part;			/* of the rows, by their keys, from 0 */
	uint32		nparts;

	uint32		nrows;
	uint32		maxrows;
	uint32		nkeyed;			/* rows that have all keys, and can be found */
	uint64	   *keyless;		/* the others, a bit for each row; NULL: there are none */
	uint64	   *matched;		/* rows that have had a partner; NULL: nobody asks */
	uint32	   *next;			/* another row with the same keys, or ZS_NO_ROW; NULL: no keys
								 * are twice */

	/* keys that are one integer (probe_pack.c): it, which may be a column's, and a row of each */
	bool		by_ints;
	ZsProbeInts own_ints;
	const ZsProbeInts *ints;
	int64		min;
	int64		max;
	uint32	   *array;			/* by value - min, first of such rows; NULL: slots have them */
	uint32	   *slots;			/* by hash of the value */
	uint32		nslots;

	/* all others */
	ZsGroups   *groups;
	ZsGroupKey *group_keys;		/* those of the build side, then those of the probe side */
	uint32		ngroups;
	uint32	   *heads;			/* first row of each; NULL: the group's number is the row's */
};

/* Values of some rows of a column, at the places of a batch. */
typedef struct ZsGathered
{
	ZsColumnVector vector;
	int64	   *vals;
	uint8	   *dscales;
	uint32	   *codes;
	uint64		serial;			/* of the batch for which it was made */
	uint64		sel[ZS_KERNEL_WORDS];	/* ... and the rows */
} ZsGathered;

/* Rows of a vector of the probe side, at the places of a batch of pairs. */
typedef struct ZsPicked
{
	ZsColumnVector vector;
	uint64	   *vals;
	uint64	   *datums;
	uint8	   *dscales;
	uint32	   *codes;
	uint32	   *entries;
	uint32	   *lengths;
	uint64		serial;			/* as of ZsGathered */
	uint64		sel[ZS_KERNEL_WORDS];
} ZsPicked;

typedef enum ZsGatherForm
{
	ZS_GATHER_NULLS,
	ZS_GATHER_VALUES,
	ZS_GATHER_DECIMALS,
	ZS_GATHER_CODES
} ZsGatherForm;
#define ZS_GATHER_FORMS (ZS_GATHER_CODES + 1)

/* A join as an input (probe_join.c). */
typedef struct ZsProbeJoin
{
	ZsInput		base;			/* first */
	JoinType	jointype;
	ZsInput    *probe;
	ZsProbeTable *table;
	int			nouter;			/* columns of the probe side */
	AttrNumber *columns;		/* of the table, for each other column */
	const Bitmapset *used;
	int			nkeys;
	const ZsGroupKey *keys;
	ExprState **key_states;		/* NULL: a column */
	ExprContext *econtext;
	ExprContext *row_econtext;	/* of the row in the slot */
	ZsFilter   *joinqual;
	ZsFilter   *qual;
	ZsQualCounts counts;
	PlanState  *node;
	void		(*first_part) (void *arg);	/* as the spec says */
	bool		(*next_part) (void *arg);
	void	   *arg;

	/* of the present batch */
	const ZsBatch *source;		/* the probe side's; NULL: there is none yet */
	ZsBatch		own_source;		/* ... those of its rows that are in the table's part */
	uint32		partners[ZS_KERNEL_ROWS];	/* by place in the batch */
	bool		lonely;			/* some of its rows have none */
	bool		in_tail;		/* the probe side is at its end: rows of the table that have had no
								 * partner, and NULLs beside them */
	uint32		tail;			/* the next row of the table to look at */
	ZsBatch		batch;
	ZsGathered **gathered;		/* of each column of the build side; NULL: not asked for yet */

	/* pairs */
	bool		in_pairs;		/* the batch is one of them */
	bool		has_more;		/* pairs of source are left, or rows of it without any */
	uint64		left[ZS_KERNEL_WORDS];	/* rows of source whose pairs are left */
	uint64		unmatched[ZS_KERNEL_WORDS]; /* LEFT, FULL: rows of source without a pair that
											 * passed */
	uint32		chain[ZS_KERNEL_ROWS];	/* their next partner, by place in source */
	uint16		places[ZS_KERNEL_ROWS]; /* of the batch's rows in source */
	ZsPicked  **picked;			/* of each column of the probe side, by what was wanted; NULL: not
								 * asked for yet */
} ZsProbeJoin;

/* The rows of the present batch are others, or have other partners: nothing was asked of it yet. */
static inline void
zsprobe_join_turn(ZsProbeJoin *join)
{
	join->base.serial = ++zsexpr_input_last_serial;
}

/* The integer of a row. */
static inline int64
zsprobe_ints_get(const ZsProbeInts *ints, uint32 row)
{
	return ints->wide != NULL ? ints->wide[row] : ints->narrow[row];
}

/* Where to look for an integer first: the upper bits of its hash, on which all of its bits tell. */
static inline uint32
zsprobe_table_place(const ZsProbeTable *table, int64 value)
{
	uint64		hash = (uint64) value ^ ((uint64) value >> 32);

	hash *= UINT64CONST(0x9E3779B97F4A7C15);
	hash ^= hash >> 29;
	hash *= UINT64CONST(0xBF58476D1CE4E5B9);
	return (uint32) (((hash >> 32) * table->nslots) >> 32);
}

/* ---- probe_part.c ---- */

extern const ZsColumnVector *zsprobe_int_vector(const ZsGroupKey *key, ZsInput *input,
												const uint64 *sel);
extern bool zsprobe_part_leave(const ZsProbeTable *table, const ZsGroupKey *keys, ZsInput *input,
							   uint64 *sel);
extern bool zsprobe_part_has(const ZsProbeTable *table, const Datum *values, const bool *isnull);

/* ---- probe_pack.c ---- */

extern const int64 *zsprobe_pack(const ZsProbeTable *table, const ZsGroupKey *keys,
								 ZsInput *input, uint64 *rows, int64 *store);
extern bool zsprobe_pack_row(const ZsProbeTable *table, const Datum *values, int64 *packed);

/* ---- probe_store.c ---- */

extern void *zsprobe_grow(ZsProbeTable *table, void *array, Size n);
extern void zsprobe_ints_grow(ZsProbeTable *table, ZsProbeInts *ints, uint32 n);
extern void zsprobe_ints_set(ZsProbeTable *table, ZsProbeInts *ints, uint32 row, int64 value);
extern uint64 *zsprobe_bitmap_grow(ZsProbeTable *table, uint64 *bits, uint32 old, uint32 n);
extern void zsprobe_column_init(ZsProbeColumn *column, Form_pg_attribute att, bool wanted);
extern void zsprobe_column_forget(ZsProbeColumn *column);
extern bool zsprobe_column_append(ZsProbeTable *table, AttrNumber attno, ZsInput *input,
								  const uint64 *sel, const uint16 *list, uint32 n);
extern uint64 zsprobe_column_serial(ZsProbeColumn *column);

/* ---- probe_look_up.c ---- */

extern bool zsprobe_table_look_up(ZsProbeTable *table, ZsInput *probe, const uint64 *sel,
								  uint32 *partners, uint64 *found);
extern uint32 zsprobe_table_look_up_row(ZsProbeTable *table, const Datum *values,
										const bool *isnull);

/* ---- probe_pick.c ---- */

extern bool zsprobe_rows_are_known(uint64 known_serial, const uint64 *known, uint64 serial,
								   const uint64 *sel, uint64 *all);
extern void zsprobe_pick(const ZsColumnVector *from, const uint16 *places, const uint16 *list,
						 uint32 n, ZsPicked *picked);

/* ---- probe_gather.c ---- */

extern const ZsColumnVector *zsprobe_gather(ZsProbeTable *table, AttrNumber column,
											ZsColumnWant want, const uint32 *partners,
											bool lonely, const uint64 *sel, uint64 serial,
											ZsGathered *all);
extern void zsprobe_gather_slot(const ZsProbeTable *table, AttrNumber column, uint32 row,
								Datum *value, bool *isnull);

/* ---- probe_pairs.c ---- */

extern bool zsprobe_pairs_needed(const ZsProbeJoin *join, const uint64 *found);
extern void zsprobe_pairs_start(ZsProbeJoin *join, const uint64 *found);
extern void zsprobe_pairs_make(ZsProbeJoin *join);
extern const ZsColumnVector *zsprobe_pairs_column(ZsProbeJoin *join, AttrNumber attno,
												  ZsColumnWant want, const uint64 *sel);

/* ---- probe_matched.c ---- */

extern void zsprobe_matched_reset(ZsProbeTable *table);
extern void zsprobe_matched_mark(ZsProbeJoin *join, const uint64 *rows);
extern void zsprobe_matched_mark_copies(ZsProbeJoin *join, const uint64 *found);
extern void zsprobe_matched_leave(ZsProbeJoin *join);
extern void zsprobe_matched_take(ZsProbeJoin *join);
extern bool zsprobe_matched_tail(ZsProbeJoin *join);
extern const ZsColumnVector *zsprobe_matched_nulls(ZsColumnWant want);

#endif							/* PROBE_INTERNAL_H */
