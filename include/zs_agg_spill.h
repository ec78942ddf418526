/*-------------------------------------------------------------------------
 *
 * zs_agg_spill.h
 *	  Rows that wait on disk until there is memory for their groups.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_agg_spill.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_AGG_SPILL_H
#define ZS_AGG_SPILL_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "zs_agg_cells.h"

typedef struct ZsSpill ZsSpill;

/* ---- spill.c ---- */

/*
 * Nothing is written yet.  Rows have the columns of desc.  group_size: about what a group takes in
 * memory, in bytes.  Memory comes from a context of its own below the current one, which a failing
 * statement gives back together with the files.
 */
extern ZsSpill *zsagg_spill_create(TupleDesc desc, double group_size);

/* Gives back memory and files. */
extern void zsagg_spill_free(ZsSpill *spill);

/*
 * Counts rows so that those of groups of few rows can be left out; called before the first row is
 * written.  Takes up to 1/8 of the memory for hash tables.  usual: groups of so many rows are few,
 * as far as is known.  only: none is written until all have been counted, and come again.
 */
extern void zsagg_spill_count_groups(ZsSpill *spill, ZsCellSize size, uint64 usual, bool only);

/*
 * Is a row with the hash to be written?  Counts it.  Asked once for each row that did not come from
 * here, before it is written.
 */
extern bool zsagg_spill_wants(ZsSpill *spill, uint64 hash);

/* The same of n rows: those that are go to list, which has room for n; returns how many. */
extern uint32 zsagg_spill_choose(ZsSpill *spill, const uint64 *hashes, uint32 n, uint16 *list);

/* The rows that were counted; NULL: none are. */
extern const ZsCells *zsagg_spill_counts(const ZsSpill *spill);

/* Were rows counted, and none of them written? */
extern bool zsagg_spill_only_counted(const ZsSpill *spill);

/* Then they have to come again, all of them; false: none of them is wanted. */
extern bool zsagg_spill_start_again(ZsSpill *spill);

/* Will many of them have to? */
extern bool zsagg_spill_counts_in_vain(const ZsSpill *spill);

/*
 * From what is opened next on, rows of groups that have fewer rows than least, all together, may be
 * left out; least never gets smaller.  Only where rows are counted.
 */
extern void zsagg_spill_leave_out(ZsSpill *spill, uint64 least);

/* For EXPLAIN: rows that were left out. */
extern uint64 zsagg_spill_left_out(const ZsSpill *spill);

/*
 * Can rows of what is being read be told apart by further bits of their hashes?
 */
extern bool zsagg_spill_can_divide(const ZsSpill *spill);

/*
 * Writes a row.  hash: of its keys, the same for equal ones.  ngroups: how many groups there are,
 * for the first row behind what was read.  Errors: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
 * (temp_file_limit), I/O errors.
 */
extern void zsagg_spill_write(ZsSpill *spill, uint64 hash, const Datum *values,
							  const bool *isnull, double ngroups);

/* The same of a row in a form of the caller's. */
extern void zsagg_spill_write_packed(ZsSpill *spill, uint64 hash, const void *bytes, Size len,
									 double ngroups);

/*
 * All rows of what was read are written; then the next rows to be read are opened; false: there are
 * none.
 */
extern bool zsagg_spill_next(ZsSpill *spill);

/*
 * The next row, valid until the next call; false at the end.  All rows of a group come, in the
 * order in which they were written.
 */
extern bool zsagg_spill_read(ZsSpill *spill, Datum *values, bool *isnull);

/* The same where some rows are packed. */
typedef enum ZsSpilled
{
	ZS_SPILLED_END,				/* there is no row */
	ZS_SPILLED_TUPLE,
	ZS_SPILLED_PACKED
} ZsSpilled;

/*
 * Which kind of row is next, its hash and its length; the row itself must be read by one of the two
 * functions below then.
 */
extern ZsSpilled zsagg_spill_look(ZsSpill *spill, uint64 *hash, uint32 *len);
extern void zsagg_spill_read_tuple(ZsSpill *spill, uint32 len, Datum *values, bool *isnull);
extern void zsagg_spill_read_packed(ZsSpill *spill, void *to, uint32 len);

/* For EXPLAIN: what the files took at most; memory for buffers and counts, in bytes. */
extern uint64 zsagg_spill_disk(const ZsSpill *spill);
extern Size zsagg_spill_memory(const ZsSpill *spill);

#endif							/* ZS_AGG_SPILL_H */
