/*-------------------------------------------------------------------------
 *
 * vacuum_window.c
 *	  VACUUM: where a segment could lie if what is in its way went elsewhere.
 *
 * A window of the segment's length slides from one free extent to the next:
 * free extents in the order of places, and beside them the pieces that can be
 * moved, in the same order.  It carries along how many blocks of both begin in
 * it, so each step costs what enters and leaves it and nothing else.
 *
 *		 start						end = start + nblocks
 *		 [ free | a | free | b | c c c c ] c c ...
 *
 * Blocks that are neither are what cannot be moved: the window will do if free
 * and movable blocks in it add up to its length.  The last of each may reach
 * beyond the end, by what is taken off then.
 *
 * Pure: reads nothing but its arguments, allocates and locks nothing.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_window.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vacuum_relocate.h"

typedef struct Slider
{
	const ZsRelocation *reloc;
	BlockNumber start;
	BlockNumber end;			/* start + nblocks */
	int			extent;			/* the free extent that begins at start */
	int			next_extent;	/* extents[extent .. next_extent) begin in the window */
	Size		first;			/* movables[first .. next) begin in the window */
	Size		next;
	const ZsMovable *last;		/* of those in the way, before the window's end */
	uint64		nfree;			/* blocks of these extents, and of these movables */
	uint64		nmoved;
} Slider;

/*
 * Index of the first movable that begins at the block or behind.  The array is
 * in the order of places.
 */
Size
zsvacuum_find_movable(const ZsRelocation *reloc, BlockNumber blkno)
{
	Size		low = 0;
	Size		high = reloc->n;

	while (low < high)
	{
		Size		mid = low + (high - low) / 2;

		if (reloc->movables[mid].start < blkno)
			low = mid + 1;
		else
			high = mid;
	}
	Assert(low == reloc->n || reloc->movables[low].start >= blkno);
	Assert(low == 0 || reloc->movables[low - 1].start < blkno);
	return low;
}

/* By how many blocks does the run reach beyond end? */
static inline uint64
reaches_beyond(BlockNumber start, uint32 nblocks, BlockNumber end)
{
	return start + nblocks > end ? start + nblocks - end : 0;
}

/* Moves the window to the next extent and takes in what begins in it now. */
static void
slide(Slider *slider, int extent, uint32 nblocks)
{
	const ZsRelocation *reloc = slider->reloc;
	const ZsExtent *extents = reloc->extents;
	const ZsMovable *movables = reloc->movables;

	Assert(extents[extent].start >= slider->start);
	slider->extent = extent;
	slider->start = extents[extent].start;
	slider->end = slider->start + nblocks;
	for (; slider->next_extent < reloc->nextents &&
		 extents[slider->next_extent].start < slider->end; slider->next_extent++)
		slider->nfree += extents[slider->next_extent].length;

	/* an empty window jumps over the movables that lie before it */
	if (slider->first == slider->next && slider->next < reloc->n &&
		movables[slider->next].start < slider->start)
		slider->first = slider->next = zsvacuum_find_movable(reloc, slider->start);
	for (; slider->next < reloc->n && movables[slider->next].start < slider->end; slider->next++)
	{
		if (!zsvacuum_is_in_the_way(reloc, &movables[slider->next]))
			continue;
		slider->nmoved += movables[slider->next].nblocks;
		slider->last = &movables[slider->next];
	}
	for (; slider->first < slider->next &&
		 movables[slider->first].start < slider->start; slider->first++)
	{
		if (zsvacuum_is_in_the_way(reloc, &movables[slider->first]))
		{
			Assert(slider->nmoved >= movables[slider->first].nblocks);
			slider->nmoved -= movables[slider->first].nblocks;
		}
	}
}

/* Free and movable blocks within the window. */
static uint64
blocks_inside(const Slider *slider)
{
	const ZsExtent *last_extent = &slider->reloc->extents[slider->next_extent - 1];
	uint64		inside = slider->nfree + slider->nmoved;

	Assert(slider->next_extent > slider->extent);
	inside -= reaches_beyond(last_extent->start, last_extent->length, slider->end);
	if (slider->last != NULL)
		inside -= reaches_beyond(slider->last->start, slider->last->nblocks, slider->end);
	return inside;
}

/*
 * Puts a window where its cost belongs, behind those that cost the same; the
 * dearest goes if there is no room.  Returns how many there are now.
 */
static int
keep_cheapest(ZsWindow *windows, int nwindows, BlockNumber start, uint64 cost)
{
	int			at;

	for (at = nwindows; at > 0 && windows[at - 1].cost > cost; at--)
	{
		if (at < ZSVACUUM_MAX_WINDOWS)
			windows[at] = windows[at - 1];
	}
	if (at == ZSVACUUM_MAX_WINDOWS)
		return nwindows;
	windows[at].start = start;
	windows[at].cost = cost;
	return Min(nwindows + 1, ZSVACUUM_MAX_WINDOWS);
}

/*
 * Finds windows of nblocks blocks below the limit that begin with a free block
 * and have nothing in them but free blocks and what can be moved, at most
 * max_cost blocks.  Returns how many there are, the cheapest first, at most
 * ZSVACUUM_MAX_WINDOWS, which windows has room for.
 *
 * Free extents and movables are in the order of places.  They overlap in a
 * damaged file only; then a window may be wrong, and a move into it finds its
 * place taken.
 */
int
zsvacuum_find_windows(const ZsRelocation *reloc, uint32 nblocks, uint64 max_cost,
					  ZsWindow *windows)
{
	Slider		slider = {.reloc = reloc, .next_extent = reloc->first_extent};
	int			nwindows = 0;

	Assert(nblocks > 0);
	for (int i = reloc->first_extent; i < reloc->nextents; i++)
	{
		if (reloc->extents[i].start + nblocks > reloc->limit)
			break;
		slide(&slider, i, nblocks);
		if (blocks_inside(&slider) == nblocks && slider.nmoved <= max_cost)
			nwindows = keep_cheapest(windows, nwindows, slider.start, slider.nmoved);
		slider.nfree -= reloc->extents[i].length;
	}
	return nwindows;
}
