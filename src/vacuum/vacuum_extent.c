/*-------------------------------------------------------------------------
 *
 * vacuum_extent.c
 *	  Free extents of the table in memory, from which places are taken.
 *
 * They are in one of two orders.  For the tail of the file (zsvacuum_place_tail()) they are sorted
 * by length, so that the shortest one that is long enough is found by bisection; nothing becomes
 * free meanwhile.  When other things move as well (zsvacuum_place_all()) they are sorted by place,
 * neighbours joined, and what moves away leaves a new one.
 *
 * Nothing here changes a map: places are taken from the copy only.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_extent.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vacuum_relocate.h"
#include "zs_page.h"

/* ---- by length ------------------------------------------------------------------------ */

/* By length, then by place. */
static int
compare_extents(const void *a, const void *b)
{
	const ZsExtent *x = a;
	const ZsExtent *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int
compare_places(const void *a, const void *b)
{
	BlockNumber x = ((const ZsExtent *) a)->start;
	BlockNumber y = ((const ZsExtent *) b)->start;

	return x < y ? -1 : x > y;
}

/*
 * The lowest free block is not given out: the map takes it when it needs another page for itself
 * (zspage_chain_push()), as it may when extents are divided.
 */
static void
spare_lowest(ZsExtent *extents, int *n)
{
	ZsExtent   *lowest = extents;

	for (int i = 1; i < *n; i++)
	{
		if (extents[i].start < lowest->start)
			lowest = &extents[i];
	}
	lowest->start++;
	if (--lowest->length == 0)
		memmove(lowest, lowest + 1, (--*n - (lowest - extents)) * sizeof(ZsExtent));
}

/*
 * The table's free extents below the limit, by length; those of other trees are known, but have
 * become free only now.
 */
void
zsvacuum_extents_load(ZsRelocation *reloc)
{
	ZsFpmCopy	map;
	int			n = 0;

	zspage_fpm_copy(reloc->rel, ZS_TREE_TABLE, &map);
	reloc->extents = palloc_extended(Max(map.nextents, 1) * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	for (int i = 0; i < map.nextents; i++)
	{
		ZsExtent	extent = map.extents[i];

		if (extent.start >= reloc->limit)
			continue;
		extent.length = Min(extent.length, reloc->limit - extent.start);
		reloc->extents[n++] = extent;
	}
	if (n > 0)
	{
		spare_lowest(reloc->extents, &n);
		qsort(reloc->extents, n, sizeof(ZsExtent), compare_extents);
	}
	reloc->nextents = n;
	reloc->first_extent = 0;
	zspage_fpm_copy_free(&map);
}

/* Takes nblocks from the shortest extent that has them; 0 if none has. */
BlockNumber
zsvacuum_extents_find(ZsRelocation *reloc, uint32 nblocks)
{
	int			low = reloc->first_extent;
	int			high = reloc->nextents;
	ZsExtent	extent;
	BlockNumber result;
	int			i;

	Assert(nblocks > 0);
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (reloc->extents[mid].length < nblocks)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == reloc->nextents)
		return 0;

	/* what is left of it moves to where its length belongs */
	extent = reloc->extents[low];
	result = extent.start;
	extent.start += nblocks;
	extent.length -= nblocks;
	for (i = low; i > reloc->first_extent &&
		 compare_extents(&reloc->extents[i - 1], &extent) > 0; i--)
		reloc->extents[i] = reloc->extents[i - 1];
	reloc->extents[i] = extent;
	if (extent.length == 0)
	{
		Assert(i == reloc->first_extent);
		reloc->first_extent++;
	}
	return result;
}

/* ---- by place --------------------------------------------------------------------------- */

/* All free extents of the table, neighbours joined; there is room for those that moves leave. */
ZsExtent *
zsvacuum_extents_all(ZsRelocation *reloc, int *nextents)
{
	ZsFpmCopy	map;
	ZsExtent   *result;
	int			n = 0;

	zspage_fpm_copy(reloc->rel, ZS_TREE_TABLE, &map);
	if (map.nextents > 0)
		qsort(map.extents, map.nextents, sizeof(ZsExtent), compare_places);
	for (int i = 0; i < map.nextents; i++)
	{
		ZsExtent	extent = map.extents[i];

		if (n > 0 && map.extents[n - 1].start + map.extents[n - 1].length == extent.start)
			map.extents[n - 1].length += extent.length;
		else
			map.extents[n++] = extent;
	}
	if (n > 0)
		spare_lowest(map.extents, &n);
	result = palloc_extended(Max(n, 1) * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	if (n > 0)
		memcpy(result, map.extents, n * sizeof(ZsExtent));
	zspage_fpm_copy_free(&map);
	*nextents = n;

	/* a move leaves one piece, and a window cuts an extent in two */
	reloc->extents = palloc_extended((n + 2 * reloc->n + 1) * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	return result;
}

/* Those below the limit become the free ones. */
void
zsvacuum_extents_reset(ZsRelocation *reloc, const ZsExtent *extents, int nextents)
{
	reloc->first_extent = 0;
	reloc->nextents = 0;
	for (int i = 0; i < nextents && extents[i].start < reloc->limit; i++)
	{
		ZsExtent   *e = &reloc->extents[reloc->nextents++];

		*e = extents[i];
		e->length = Min(e->length, reloc->limit - e->start);
	}
}

/* Takes nblocks from the beginning of extent i. */
static BlockNumber
take_place(ZsRelocation *reloc, int i, uint32 nblocks)
{
	ZsExtent   *e = &reloc->extents[i];
	BlockNumber result = e->start;

	Assert(i >= reloc->first_extent && i < reloc->nextents);
	Assert(e->length >= nblocks);
	e->start += nblocks;
	e->length -= nblocks;
	if (e->length > 0)
		return result;
	if (i == reloc->first_extent)
		reloc->first_extent++;
	else
		memmove(e, e + 1, (--reloc->nextents - i) * sizeof(ZsExtent));
	return result;
}

/* Takes nblocks from the shortest extent that has them, the first of these; 0 if none has. */
BlockNumber
zsvacuum_extents_best(ZsRelocation *reloc, uint32 nblocks)
{
	int			best = -1;

	for (int i = reloc->first_extent; i < reloc->nextents; i++)
	{
		uint32		length = reloc->extents[i].length;

		reloc->effort++;
		if (length >= nblocks && (best < 0 || length < reloc->extents[best].length))
			best = i;
		if (length == nblocks)
			break;
	}
	return best < 0 ? 0 : take_place(reloc, best, nblocks);
}

/* Blocks become free. */
void
zsvacuum_extents_add(ZsRelocation *reloc, BlockNumber start, uint32 nblocks)
{
	ZsExtent   *e = reloc->extents;
	int			low = reloc->first_extent;
	int			high = reloc->nextents;

	Assert(nblocks > 0);
	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (e[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	if (low > reloc->first_extent && e[low - 1].start + e[low - 1].length == start)
	{
		e[low - 1].length += nblocks;
		if (low < reloc->nextents && e[low].start == start + nblocks)
		{
			e[low - 1].length += e[low].length;
			memmove(&e[low], &e[low + 1], (--reloc->nextents - low) * sizeof(ZsExtent));
		}
	}
	else if (low < reloc->nextents && e[low].start == start + nblocks)
	{
		e[low].start = start;
		e[low].length += nblocks;
	}
	else
	{
		memmove(&e[low + 1], &e[low], (reloc->nextents - low) * sizeof(ZsExtent));
		e[low].start = start;
		e[low].length = nblocks;
		reloc->nextents++;
	}
}

/* The blocks [start, end), which begin with a free extent, are not to be taken. */
void
zsvacuum_extents_withdraw(ZsRelocation *reloc, BlockNumber start, BlockNumber end)
{
	ZsExtent   *extents = reloc->extents;
	ZsExtent	last;
	int			from;
	int			to;

	Assert(start < end);
	for (from = reloc->first_extent; extents[from].start < start; from++)
		;
	Assert(from < reloc->nextents && extents[from].start == start);
	for (to = from + 1; to < reloc->nextents && extents[to].start < end; to++)
		;
	last = extents[to - 1];
	memmove(&extents[from], &extents[to], (reloc->nextents - to) * sizeof(ZsExtent));
	reloc->nextents -= to - from;
	if (last.start + last.length > end)
		zsvacuum_extents_add(reloc, end, last.start + last.length - end);
}
