/*-------------------------------------------------------------------------
 *
 * node_best.c
 *	  The best of many rows or groups by their sort keys.
 *
 * A bounded heap, as tuplesort.c has one for rows that are made already: what is worse than the
 * worst that is kept costs a comparison.  Of what is kept the sort keys are copied, and what else
 * the caller wants.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_best.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/datum.h"
#include "utils/memutils.h"

#include "node_best.h"

/* Compares two entries: below 0, the first one is better. */
static int
compare_entries(const ZsBest *best, const ZsBestEntry *a, const ZsBestEntry *b)
{
	int			c = zsnode_best_compare(best, a->values, a->isnull, b);

	if (c == 0 && best->by_row)
		c = a->row < b->row ? -1 : a->row > b->row;
	return c;
}

/* binaryheap_comparator */
static int
compare_in_heap(Datum a, Datum b, void *arg)
{
	return compare_entries(arg, (const ZsBestEntry *) DatumGetPointer(a),
						   (const ZsBestEntry *) DatumGetPointer(b));
}

/* qsort_arg callback */
static int
compare_results(const void *a, const void *b, void *arg)
{
	return compare_entries(arg, *(ZsBestEntry *const *) a, *(ZsBestEntry *const *) b);
}

/*
 * An empty heap, in the current memory context, for bound members with the sort keys, which stay
 * the caller's.  by_row: of equal ones those with smaller numbers are better.
 */
void
zsnode_best_init(ZsBest *best, int bound, int nkeys, SortSupport keys, bool by_row)
{
	Assert(bound > 0 && nkeys > 0);
	best->bound = bound;
	best->nkeys = nkeys;
	best->keys = keys;
	best->by_row = by_row;
	best->heap = binaryheap_allocate(bound, compare_in_heap, best);
	best->entries = palloc0_array(ZsBestEntry, bound);
}

/* Forgets all members, whose values have gone with their memory. */
void
zsnode_best_reset(ZsBest *best)
{
	binaryheap_reset(best->heap);
}

/* Compares sort keys with those of a member: below 0, they are better. */
int
zsnode_best_compare(const ZsBest *best, const Datum *values, const bool *isnull,
					const ZsBestEntry *entry)
{
	for (int i = 0; i < best->nkeys; i++)
	{
		int			c = ApplySortComparator(values[i], isnull[i], entry->values[i],
											entry->isnull[i], &best->keys[i]);

		if (c != 0)
			return c;
	}
	return 0;
}

/*
 * The entry that a new member may have, for zsnode_best_enter(): one with room for nvalues values,
 * or that of the worst.  *used: it has values.
 */
ZsBestEntry *
zsnode_best_claim(ZsBest *best, int nvalues, bool *used)
{
	ZsBestEntry *entry;

	*used = zsnode_best_is_full(best);
	if (*used)
		return zsnode_best_worst(best);
	entry = &best->entries[binaryheap_size(best->heap)];
	if (entry->values == NULL)
	{
		MemoryContext context = GetMemoryChunkContext(best->entries);

		entry->values = MemoryContextAlloc(context, nvalues * sizeof(Datum));
		entry->isnull = MemoryContextAlloc(context, nvalues * sizeof(bool));
	}
	return entry;
}

/* Copies value number i, to the current context; used: frees the one that was there. */
void
zsnode_best_set(ZsBestEntry *entry, int i, Datum value, bool isnull, bool typbyval, int16 typlen,
				bool used)
{
	if (used && !typbyval && !entry->isnull[i])
		pfree(DatumGetPointer(entry->values[i]));
	entry->isnull[i] = isnull;
	entry->values[i] = isnull ? (Datum) 0 : datumCopy(value, typbyval, typlen);
}

/* The entry that was claimed has got its values: it is a member; used: in place of the worst. */
void
zsnode_best_enter(ZsBest *best, ZsBestEntry *entry, bool used)
{
	Assert(used == zsnode_best_is_full(best));
	if (used)
		binaryheap_replace_first(best->heap, PointerGetDatum(entry));
	else
		binaryheap_add(best->heap, PointerGetDatum(entry));
}

/* All members, best first: results has room for bound; returns how many. */
int
zsnode_best_sort(ZsBest *best, ZsBestEntry **results)
{
	int			n = binaryheap_size(best->heap);

	Assert(n <= best->bound);
	for (int i = 0; i < n; i++)
		results[i] = &best->entries[i];
	qsort_arg(results, n, sizeof(ZsBestEntry *), compare_results, best);
	return n;
}
