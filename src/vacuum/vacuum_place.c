/*-------------------------------------------------------------------------
 *
 * vacuum_place.c
 *	  VACUUM: places at the front of the file for what lies at its end.
 *
 * Pages fit anywhere, but a segment needs adjacent blocks.  All places are
 * chosen in memory before the first block is moved, in the cheapest way that
 * gains enough:
 *
 *	- Tail: what lies beyond the limit goes to the shortest free extent that
 *	  holds it.  Whatever finds none raises the limit.
 *
 *	- Clearing: a long segment gets a window from which shorter pieces are
 *	  moved away first, into free extents elsewhere; the window with the fewest
 *	  blocks in use is taken:
 *
 *		[. a . . b .][c . d .] | [L L L L L L]
 *		[L L L L L L][c a d b] |
 *
 * The windows are found by vacuum_window.c.  The second way writes more blocks
 * than it frees at the end, which is bounded (MAX_COST).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_place.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "vacuum_relocate.h"

/* How often zsvacuum_place_tail() raises the limit for what finds no place. */
#define MAX_PLANS			16

/* How often zsvacuum_place_all() halves the range between a limit that fails and one that works. */
#define MAX_BISECTIONS		5

/* So many blocks may be moved for each that is gained beyond what the tail gains. */
#define MAX_COST			4

/* So many free extents are looked at, about a second of processor time. */
#define MAX_EFFORT			UINT64CONST(500000000)

/* ---- orders ------------------------------------------------------------------------- */

/* Columns one after the other, each in the order of its rows. */
static int
compare_by_key(const void *a, const void *b)
{
	const ZsMovable *x = a;
	const ZsMovable *y = b;
	bool		x_run = x->nblocks > 1;
	bool		y_run = y->nblocks > 1;

	if (x_run != y_run)
		return x_run ? -1 : 1;
	if (x->treeno != y->treeno)
		return x->treeno < y->treeno ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Long ones first. */
static int
compare_by_length(const void *a, const void *b)
{
	const ZsMovable *x = a;
	const ZsMovable *y = b;

	if (x->nblocks != y->nblocks)
		return x->nblocks > y->nblocks ? -1 : 1;
	return compare_by_key(a, b);
}

static int
compare_pointers_by_length(const void *a, const void *b)
{
	return compare_by_length(*(ZsMovable *const *) a, *(ZsMovable *const *) b);
}

/* From the front of the file on. */
static int
compare_by_place(const void *a, const void *b)
{
	BlockNumber x = ((const ZsMovable *) a)->start;
	BlockNumber y = ((const ZsMovable *) b)->start;

	return x < y ? -1 : x > y;
}

/* As they are to be moved. */
static int
compare_by_turn(const void *a, const void *b)
{
	uint32		x = ((const ZsMovable *) a)->turn;
	uint32		y = ((const ZsMovable *) b)->turn;

	return x < y ? -1 : x > y;
}

/* ---- the tail ------------------------------------------------------------------------- */

/*
 * Gives a place to everything beyond the limit, in the order of the array. Returns one past the
 * last block of what found none, or the limit.
 */
static BlockNumber
give_places(ZsRelocation *reloc)
{
	BlockNumber result = reloc->limit;

	zsvacuum_extents_load(reloc);
	for (Size i = 0; i < reloc->n; i++)
	{
		ZsMovable  *movable = &reloc->movables[i];

		movable->to = InvalidBlockNumber;
		if (movable->start + movable->nblocks <= reloc->limit)
			continue;
		movable->to = zsvacuum_extents_find(reloc, movable->nblocks);
		if (movable->to == 0)
			result = Max(result, movable->start + movable->nblocks);
	}
	pfree(reloc->extents);
	return result;
}

/* A higher limit leaves more room, and less to move. */
static BlockNumber
raise_limit(const ZsRelocation *reloc)
{
	return reloc->limit + Max((reloc->end_blocks - reloc->limit) / MAX_PLANS, 1);
}

/*
 * Gives places below the limit to all that lies at or beyond it; raises the
 * limit if need be.  movables has what lies there.  False if there is too
 * little to gain.
 */
bool
zsvacuum_place_tail(ZsRelocation *reloc)
{
	for (int i = 0; i < MAX_PLANS; i++)
	{
		BlockNumber needed;

		CHECK_FOR_INTERRUPTS();
		if (!zsvacuum_is_worth_relocating(reloc, reloc->limit))
			return false;

		/* neighbours stay together if there is room enough */
		qsort(reloc->movables, reloc->n, sizeof(ZsMovable), compare_by_key);
		needed = give_places(reloc);
		if (needed > reloc->limit)
		{
			qsort(reloc->movables, reloc->n, sizeof(ZsMovable), compare_by_length);
			needed = give_places(reloc);
		}
		if (needed == reloc->limit)
			return true;
		reloc->limit = Min(needed, raise_limit(reloc));
	}
	return false;
}

/* ---- clearing ----------------------------------------------------------------------------- */

/*
 * Gives places elsewhere to what is in the window, whose blocks are then nobody's.  False, and
 * nothing has changed, if there are not enough.
 */
static bool
clear_window(ZsRelocation *reloc, const ZsWindow *window, uint32 nblocks, uint32 *turn)
{
	BlockNumber end = window->start + nblocks;
	int			first_extent = reloc->first_extent;
	int			nextents = reloc->nextents;
	ZsExtent   *saved = palloc_extended(nextents * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	ZsMovable **evicted = palloc_array(ZsMovable *, nblocks);
	BlockNumber evicted_end = end;
	bool		success;
	int			n = 0;
	int			placed;

	Assert(end <= reloc->limit);
	memcpy(saved, reloc->extents, nextents * sizeof(ZsExtent));
	for (Size i = zsvacuum_find_movable(reloc, window->start);
		 i < reloc->n && reloc->movables[i].start < end; i++)
	{
		ZsMovable  *movable = &reloc->movables[i];

		if (!zsvacuum_is_in_the_way(reloc, movable))
			continue;
		Assert(n < (int) nblocks);
		evicted[n++] = movable;
		evicted_end = Max(evicted_end, movable->start + movable->nblocks);
	}

	zsvacuum_extents_withdraw(reloc, window->start, end);
	if (n > 0)
		qsort(evicted, n, sizeof(ZsMovable *), compare_pointers_by_length);
	for (placed = 0; placed < n; placed++)
	{
		BlockNumber place = zsvacuum_extents_best(reloc, evicted[placed]->nblocks);

		if (place == 0)
			break;
		evicted[placed]->to = place;
		evicted[placed]->turn = ++*turn;
	}
	success = placed == n;
	if (success && evicted_end > end)
		zsvacuum_extents_add(reloc, end, evicted_end - end);
	if (!success)
	{
		while (placed-- > 0)
			evicted[placed]->to = InvalidBlockNumber;
		memcpy(reloc->extents, saved, nextents * sizeof(ZsExtent));
		reloc->first_extent = first_extent;
		reloc->nextents = nextents;
	}
	pfree(saved);
	pfree(evicted);
	return success;
}

/*
 * Gives a place below the limit to everything beyond it, long pieces first.  The array is in the
 * order of places.  False if something finds none, or more blocks would move than may, or it takes
 * too long to find out.
 */
static bool
clear(ZsRelocation *reloc, uint64 max_cost)
{
	BlockNumber limit = reloc->limit;
	uint64		cost = 0;
	uint32		turn = 0;
	Size		ntail = 0;
	ZsMovable **tail = palloc_extended(Max(reloc->n, 1) * sizeof(ZsMovable *), MCXT_ALLOC_HUGE);

	for (Size i = 0; i < reloc->n; i++)
	{
		ZsMovable  *movable = &reloc->movables[i];

		movable->to = InvalidBlockNumber;
		movable->turn = 0;
		if (movable->start + movable->nblocks > limit)
			tail[ntail++] = movable;
	}
	if (ntail > 0)
		qsort(tail, ntail, sizeof(ZsMovable *), compare_pointers_by_length);
	for (Size i = 0; i < ntail; i++)
	{
		ZsMovable  *movable = tail[i];
		BlockNumber place = zsvacuum_extents_best(reloc, movable->nblocks);

		CHECK_FOR_INTERRUPTS();
		cost += movable->nblocks;
		if (place == 0 && cost <= max_cost)
		{
			ZsWindow	windows[ZSVACUUM_MAX_WINDOWS];
			int			n = zsvacuum_find_windows(reloc, movable->nblocks, max_cost - cost,
													  windows);

			reloc->effort += reloc->nextents;
			for (int w = 0; w < n && place == 0; w++)
			{
				reloc->effort += reloc->nextents;
				if (!clear_window(reloc, &windows[w], movable->nblocks, &turn))
					continue;
				place = windows[w].start;
				cost += windows[w].cost;
			}
		}
		if (place == 0 || cost > max_cost || reloc->effort > MAX_EFFORT)
		{
			pfree(tail);
			return false;
		}
		movable->to = place;
		movable->turn = ++turn;
		if (movable->start < limit)
			zsvacuum_extents_add(reloc, movable->start, limit - movable->start);
	}
	pfree(tail);
	return true;
}

/* ---- the whole file ------------------------------------------------------------------------- */

/*
 * How many blocks may move so that the file ends at the limit instead of better_than, which takes
 * one for each that is gained.
 */
static uint64
allowed_cost(const ZsRelocation *reloc, BlockNumber better_than)
{
	Assert(reloc->limit <= better_than && better_than <= reloc->end_blocks);
	return (uint64) (reloc->end_blocks - better_than) +
		MAX_COST * (uint64) (better_than - reloc->limit);
}

/* Plans to make the file end at the limit. */
static bool
clear_from(ZsRelocation *reloc, const ZsExtent *extents, int nextents, BlockNumber limit,
		   BlockNumber better_than)
{
	if (limit >= better_than || reloc->effort > MAX_EFFORT ||
		!zsvacuum_is_worth_relocating(reloc, limit))
		return false;
	reloc->limit = limit;
	zsvacuum_extents_reset(reloc, extents, nextents);
	return clear(reloc, allowed_cost(reloc, better_than));
}

/*
 * As zsvacuum_place_tail(), but moves other things out of the way as well, so
 * that the file ends before block better_than; movables has everything in the
 * file that can be moved.  False if that cannot be done, or costs too much for
 * what it gains.
 */
bool
zsvacuum_place_all(ZsRelocation *reloc, BlockNumber better_than)
{
	int			nextents;
	ZsExtent   *extents = zsvacuum_extents_all(reloc, &nextents);
	BlockNumber bad = reloc->limit;
	BlockNumber good = better_than;

	if (bad >= good)
		return false;
	qsort(reloc->movables, reloc->n, sizeof(ZsMovable), compare_by_place);
	reloc->effort = 0;
	if (!clear_from(reloc, extents, nextents, bad, better_than))
	{
		/* a higher limit leaves more room, and less to move */
		for (int i = 0; i < MAX_BISECTIONS; i++)
		{
			BlockNumber limit = bad + (good - bad) / 2;

			Assert(bad <= limit && limit <= good);
			if (clear_from(reloc, extents, nextents, limit, better_than))
				good = limit;
			else
				bad = limit;
		}
		reloc->effort = 0;
		if (!clear_from(reloc, extents, nextents, good, better_than))
			return false;
	}
	qsort(reloc->movables, reloc->n, sizeof(ZsMovable), compare_by_turn);
	return true;
}
