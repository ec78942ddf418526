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

extern ZsSpill *zsagg_spill_create(TupleDesc desc, double group_size);
extern void zsagg_spill_free(ZsSpill *spill);
extern void zsagg_spill_count_groups(ZsSpill *spill, ZsCellSize size, uint64 usual, bool only);
extern bool zsagg_spill_wants(ZsSpill *spill, uint64 hash);
extern uint32 zsagg_spill_choose(ZsSpill *spill, const uint64 *hashes, uint32 n, uint16 *list);
extern const ZsCells *zsagg_spill_counts(const ZsSpill *spill);
extern bool zsagg_spill_only_counted(const ZsSpill *spill);
extern bool zsagg_spill_start_again(ZsSpill *spill);
extern bool zsagg_spill_counts_in_vain(const ZsSpill *spill);
extern void zsagg_spill_leave_out(ZsSpill *spill, uint64 least);
extern uint64 zsagg_spill_left_out(const ZsSpill *spill);
extern bool zsagg_spill_can_divide(const ZsSpill *spill);
extern void zsagg_spill_write(ZsSpill *spill, uint64 hash, const Datum *values,
							  const bool *isnull, double ngroups);
extern void zsagg_spill_write_packed(ZsSpill *spill, uint64 hash, const void *bytes, Size len,
									 double ngroups);
extern bool zsagg_spill_next(ZsSpill *spill);
extern bool zsagg_spill_read(ZsSpill *spill, Datum *values, bool *isnull);

/* What is next in what is read, where some rows are packed. */
typedef enum ZsSpilled
{
	ZS_SPILLED_END,				/* there is no row */
	ZS_SPILLED_TUPLE,
	ZS_SPILLED_PACKED
} ZsSpilled;

extern ZsSpilled zsagg_spill_look(ZsSpill *spill, uint64 *hash, uint32 *len);
extern void zsagg_spill_read_tuple(ZsSpill *spill, uint32 len, Datum *values, bool *isnull);
extern void zsagg_spill_read_packed(ZsSpill *spill, void *to, uint32 len);
extern uint64 zsagg_spill_disk(const ZsSpill *spill);
extern Size zsagg_spill_memory(const ZsSpill *spill);

#endif							/* ZS_AGG_SPILL_H */
