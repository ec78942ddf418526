/*-------------------------------------------------------------------------
 *
 * vacuum_search.h
 *	  A search for blocks that are in use or free; private to src/vacuum.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_search.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VACUUM_SEARCH_H
#define VACUUM_SEARCH_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "utils/rel.h"

#include "zs_page.h"

/* One search. */
typedef struct ZsLeakSearch
{
	Relation	rel;
	BufferAccessStrategy strategy;
	BlockNumber nblocks;		/* of the file that maps and trees may hold */
	ZsMetaPageData meta;		/* when the search began */
	ZsTreeEntry *entries;		/* when the map was read */
	uint64	   *nfound;			/* blocks of each tree, free ones not counted */
	uint64	   *seen;			/* bitmap of all blocks that were found */
	BlockNumber maxseen;		/* bits of it */
	bool		quiet;			/* nobody had a block in hand */
	VirtualTransactionId *writers;	/* with a lock after the search */
	int			nwriters;
} ZsLeakSearch;

/* Was the block found? */
static inline bool
zsvacuum_was_seen(const ZsLeakSearch *search, BlockNumber blkno)
{
	return blkno < search->maxseen &&
		(search->seen[blkno / 64] & UINT64CONST(1) << blkno % 64) != 0;
}

/* ---- trees and maps (vacuum_search.c) ---- */

/* Blocks were found; those that are in use count for the tree.  Error if they cannot be. */
extern void zsvacuum_search_see(ZsLeakSearch *search, uint16 treeno, BlockNumber start,
								uint32 nblocks, bool used);

/* Finds what maps hold, and what pages above the bottom and segments' items lead to. */
extern ZsLeakSearch *zsvacuum_search_run(Relation rel, BufferAccessStrategy strategy);

/* Blocks that a tree's entry counts as in use and that were not found. */
extern int64 zsvacuum_search_missing(const ZsLeakSearch *search, int treeno);

/* Waits a moment for the transactions that were writing to end; false if some of them go on. */
extern bool zsvacuum_search_writers_are_gone(ZsLeakSearch *search);

/* ---- values (vacuum_search_value.c) ---- */

/* May values of this tree's attribute lie on overflow pages? */
extern bool zsvacuum_search_has_values(Relation rel, uint16 treeno);

/* Follows all pointers to values.  Returns false if there may be others. */
extern bool zsvacuum_search_values(ZsLeakSearch *search);

#endif							/* VACUUM_SEARCH_H */
