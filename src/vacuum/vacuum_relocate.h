/*-------------------------------------------------------------------------
 *
 * vacuum_relocate.h
 *	  What VACUUM moves within a file, and where to.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_relocate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VACUUM_RELOCATE_H
#define VACUUM_RELOCATE_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_format.h"

/* What can be moved: a page of a tree, a segment, or (treeno 0) a page of the tree directory. */
typedef struct ZsMovable
{
	BlockNumber start;
	uint32		nblocks;
	BlockNumber to;				/* its new place, or InvalidBlockNumber */
	uint32		turn;			/* when it is moved */
	uint16		treeno;
	uint8		level;			/* of a page; 0 in attribute trees: a segment */
	bool		is_root;
	uint64		key;			/* first row, or number in the directory */
} ZsMovable;

typedef struct ZsRelocation
{
	Relation	rel;
	BufferAccessStrategy strategy;
	BlockNumber end_blocks;		/* what lies behind is free */
	uint64		least_gain;
	BlockNumber limit;			/* what lies at or beyond is to be moved */

	ZsMovable  *movables;
	Size		n;
	Size		max;
	Size		max_pieces;		/* as many as memory holds, or may be looked at */
	bool		overflow;		/* there are more */
	bool		has_unknown;	/* blocks at the end are neither free nor movable */
	bool		tidied;			/* the table's map, since moving began */

	/* blocks from first_bit on that are free or can be moved */
	BlockNumber first_bit;
	uint64	   *known;

	/* free extents below limit, by length or by place */
	ZsExtent   *extents;
	int			nextents;
	int			first_extent;	/* those before are used up */
	uint64		effort;			/* extents looked at */
} ZsRelocation;

extern bool zsvacuum_is_worth_relocating(const ZsRelocation *reloc, BlockNumber limit);

/* vacuum_place.c */

extern bool zsvacuum_place_tail(ZsRelocation *reloc);
extern bool zsvacuum_place_all(ZsRelocation *reloc, BlockNumber better_than);

/* Blocks [start, start + nblocks) that a segment could have. */
typedef struct ZsWindow
{
	BlockNumber start;
	uint64		cost;			/* blocks that are to be moved away before */
} ZsWindow;

/* So many windows are tried for a segment. */
#define ZSVACUUM_MAX_WINDOWS	8

/*
 * Can it be moved out of the way?  What has moved stays, and what is beyond the limit has its own
 * turn.
 */
static inline bool
zsvacuum_is_in_the_way(const ZsRelocation *reloc, const ZsMovable *movable)
{
	return movable->to == InvalidBlockNumber && movable->start + movable->nblocks <= reloc->limit;
}

/* ---- free extents (vacuum_extent.c) ------------------------------------------------------- */

/* Sorted by length: those below the limit; nblocks from the shortest that has them, or 0. */
extern void zsvacuum_extents_load(ZsRelocation *reloc);
extern BlockNumber zsvacuum_extents_find(ZsRelocation *reloc, uint32 nblocks);

/*
 * Sorted by place: all of them, palloc'd; those of these that are below the limit become the free
 * ones.
 */
extern ZsExtent *zsvacuum_extents_all(ZsRelocation *reloc, int *nextents);
extern void zsvacuum_extents_reset(ZsRelocation *reloc, const ZsExtent *extents, int nextents);

/* Takes nblocks from the shortest extent that has them, or 0; blocks become free; or are taken. */
extern BlockNumber zsvacuum_extents_best(ZsRelocation *reloc, uint32 nblocks);
extern void zsvacuum_extents_add(ZsRelocation *reloc, BlockNumber start, uint32 nblocks);
extern void zsvacuum_extents_withdraw(ZsRelocation *reloc, BlockNumber start, BlockNumber end);

/* ---- windows (vacuum_window.c) ------------------------------------------------------------ */

extern Size zsvacuum_find_movable(const ZsRelocation *reloc, BlockNumber blkno);
extern int	zsvacuum_find_windows(const ZsRelocation *reloc, uint32 nblocks, uint64 max_cost,
								  ZsWindow *windows);

#endif							/* VACUUM_RELOCATE_H */
