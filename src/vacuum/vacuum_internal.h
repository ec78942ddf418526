/*-------------------------------------------------------------------------
 *
 * vacuum_internal.h
 *	  Private to src/vacuum.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VACUUM_INTERNAL_H
#define VACUUM_INTERNAL_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_format.h"

/* ---- rows around which pages may have become empty (vacuum_trees.c) --------- */

typedef struct ZsRowRange
{
	zstid		first;
	zstid		end;
} ZsRowRange;

typedef struct ZsTouched
{
	bool		everything;		/* too many ranges to remember */
	bool		sorted;
	int			nranges;
	int			maxranges;
	ZsRowRange *ranges;
} ZsTouched;

extern void zsvacuum_touch(ZsTouched *touched, zstid first, zstid end);

/* What VACUUM knows and finds out about the space below the level of rows. */
typedef struct ZsReclaim
{
	Relation	rel;
	bool		aggressive;		/* look at every page that can be merged */
	bool		thorough;		/* follow all pointers to find leaked blocks */
	ZsTouched	tid;			/* leaves of the TID tree that have room */
	ZsTouched	row;			/* rows that left the row tree */
	bool		attributes;		/* segments left attribute trees */

	bool		verbose;
	bool		truncate;		/* the file may be shortened */
	bool		tail_searched;	/* for leaked blocks at its end */

	uint64		pages_merged;
	uint64		blocks_returned;	/* from trees to the table */
	uint64		blocks_moved;	/* from the end of the file to its front */
	BlockNumber blocks_truncated;
	uint64		blocks_leaked;	/* found and given back */
} ZsReclaim;

extern void zsvacuum_merge_pages(ZsReclaim *reclaim);

/* ---- free space (vacuum_truncate.c) ------------------------------------------------ */

extern uint32 zsvacuum_kept_step(Relation rel);
extern void zsvacuum_return_space(ZsReclaim *reclaim);
extern void zsvacuum_return_all(ZsReclaim *reclaim);
extern void zsvacuum_truncate(ZsReclaim *reclaim);

/* ---- moving pages (vacuum_relocate.c) ------------------------------------------------ */

extern void zsvacuum_relocate(ZsReclaim *reclaim, BufferAccessStrategy strategy);

/* ---- leaked blocks (vacuum_leaks.c) -------------------------------------------------- */

extern void zsvacuum_find_leaks(ZsReclaim *reclaim, BufferAccessStrategy strategy,
								BlockNumber from);

#endif							/* VACUUM_INTERNAL_H */
