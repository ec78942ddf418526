/*-------------------------------------------------------------------------
 *
 * node_best.h
 *	  The best of many rows or groups by their sort keys; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_best.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_BEST_H
#define NODE_BEST_H

#include "postgres.h"

#include "lib/binaryheap.h"
#include "utils/sortsupport.h"

#include "zs_format.h"

/* One of the best. */
typedef struct ZsBestEntry
{
	zstid		row;			/* its number, where that tells equal ones apart */
	Datum	   *values;			/* copied; the sort keys first; NULL: never used */
	bool	   *isnull;
} ZsBestEntry;

/* A heap whose first member is the worst. */
typedef struct ZsBest
{
	int			bound;			/* so many are kept */
	int			nkeys;
	SortSupport keys;
	bool		by_row;			/* of equal ones those with smaller numbers are better */
	binaryheap *heap;
	ZsBestEntry *entries;		/* bound of them, of which the first are in the heap */
} ZsBest;

/* Are there as many as are kept? */
static inline bool
zsnode_best_is_full(const ZsBest *best)
{
	return binaryheap_size(best->heap) == best->bound;
}

/* The worst of those that there are, one at least. */
static inline ZsBestEntry *
zsnode_best_worst(const ZsBest *best)
{
	Assert(binaryheap_size(best->heap) > 0);
	return (ZsBestEntry *) DatumGetPointer(binaryheap_first(best->heap));
}

/* ---- node_best.c ---- */
extern void zsnode_best_init(ZsBest *best, int bound, int nkeys, SortSupport keys, bool by_row);
extern void zsnode_best_reset(ZsBest *best);
extern int	zsnode_best_compare(const ZsBest *best, const Datum *values, const bool *isnull,
								const ZsBestEntry *entry);
extern ZsBestEntry *zsnode_best_claim(ZsBest *best, int nvalues, bool *used);
extern void zsnode_best_set(ZsBestEntry *entry, int i, Datum value, bool isnull, bool typbyval,
							int16 typlen, bool used);
extern void zsnode_best_enter(ZsBest *best, ZsBestEntry *entry, bool used);
extern int	zsnode_best_sort(ZsBest *best, ZsBestEntry **results);

#endif							/* NODE_BEST_H */
