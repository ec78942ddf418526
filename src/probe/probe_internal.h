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

#include "zs_probe.h"

/* A column of the rows of a build side; arrays have a member for each row, bitmaps a bit. */
typedef struct ZsProbeColumn
{
	bool		wanted;
	int16		typlen;
	bool		typbyval;
	int64	   *vals;			/* of by-value types; else addresses of copies */
	bool		has_nulls;
	uint64	   *nulls;
	bool		has_odd;		/* stored out of line or compressed */
	uint64	   *odd;

	/* numerics as integers of one scale, made when somebody asks */
	int64	   *scaled;
	uint8	   *dscales;
	uint64	   *decimal_odd;
	bool		decimal_has_odd;
	int			scale;
	bool		uniform;		/* all have that display scale */

	uint64		serial;			/* of vals as a dictionary; 0: no such was asked for */
	bool		no_dictionary;	/* ... and cannot be */
} ZsProbeColumn;

struct ZsProbeTable
{
	MemoryContext context;		/* of all that depends on rows */
	int			ncolumns;
	ZsProbeColumn *columns;
	int			nkeys;
	const ZsGroupKey *build_keys;
	const ZsGroupKey *probe_keys;
	bool		keeps_copies;	/* rows with the same keys are wanted, too */

	uint32		nrows;
	uint32		maxrows;
	uint32	   *next;			/* another row with the same keys, or ZS_NO_ROW; NULL: no keys
								 * are twice */

	/* one key that is an integer: its values, as long as the table is being made; a row of each */
	bool		by_ints;
	int64	   *ints;
	int64		min;
	int64		max;
	uint32	   *array;			/* by value - min, first of such rows; NULL: groups have them */

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
	ZsFilter   *joinqual;
	ZsFilter   *qual;
	ZsQualCounts counts;
	PlanState  *node;

	/* of the present batch */
	const ZsBatch *source;		/* the probe side's; NULL: there is none yet */
	uint32		partners[ZS_KERNEL_ROWS];	/* by place in the batch */
	bool		lonely;			/* some of its rows have none */
	ZsBatch		batch;
	ZsGathered **gathered;		/* of each column of the build side; NULL: not asked for yet */

	/* pairs */
	bool		in_pairs;		/* the batch is one of them */
	bool		has_more;		/* pairs of source are left, or rows of it without any */
	uint64		left[ZS_KERNEL_WORDS];	/* rows of source whose pairs are left */
	uint64		unmatched[ZS_KERNEL_WORDS]; /* LEFT: rows of source without a pair that passed */
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

/* ---- probe_table.c ---- */

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

#endif							/* PROBE_INTERNAL_H */
