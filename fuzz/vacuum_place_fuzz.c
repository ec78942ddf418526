/*-------------------------------------------------------------------------
 *
 * vacuum_place_fuzz.c
 *	  Random layouts of a file against what VACUUM plans to move in it.
 *
 * Built from vacuum_place.c, vacuum_extent.c and vacuum_window.c and a server's headers, without a
 * server.  Two tests, repeated with different layouts:
 *
 *	  1. zsvacuum_find_windows() against a search that looks at every block of
 *		 every window.
 *	  2. The plans of zsvacuum_place_tail() and zsvacuum_place_all() are carried
 *		 out on an array of blocks: each piece must be moved to blocks that are
 *		 free at its turn, nothing may be left beyond the limit, and no more may be
 *		 moved than is allowed for what is gained.
 *
 *	  make build/vacuum_place_fuzz [PG_CONFIG=...]
 *
 *	  usage: vacuum_place_fuzz [layouts [seed]]
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/vacuum_place_fuzz.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "../src/vacuum/vacuum_relocate.h"
#include "zs_page.h"
#include "fuzz_server.h"

/* no libpgport here */
#undef fprintf
#undef printf
#undef qsort

#define MAX_BLOCKS	400
#define MAX_LENGTH	40			/* blocks of a piece */

/* blocks that may move for each that is gained beyond what the tail gains (vacuum_place.c) */
#define COST_OF_GAIN	4

/* what a block of the model is */
#define FREE		0
#define FIXED		1
#define SPARED		2			/* free, but the map needs it for itself */
#define PIECE		3			/* PIECE + n: of movable n */

/* a file: what its blocks are, its free extents and its pieces, both in the order of places */
typedef struct Layout
{
	BlockNumber nblocks;
	BlockNumber limit;
	int			blocks[MAX_BLOCKS];
	int			nextents;
	ZsExtent	extents[MAX_BLOCKS];
	Size		nmovables;
	ZsMovable	movables[MAX_BLOCKS];
} Layout;

static Layout layout;
static uint64 seed;
static uint64 layoutno;

/* ---- what the server would give ------------------------------------------------- */

/* memory goes with VACUUM's context */
extern const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
}

void *
palloc(Size size)
{
	return malloc(Max(size, 1));
}

/* what palloc_array() becomes in newer minor releases */
extern void *palloc_mul(Size s1, Size s2);

void *
palloc_mul(Size s1, Size s2)
{
	return palloc(s1 * s2);
}

void *
palloc_extended(Size size, int flags)
{
	return palloc(size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

void
pg_qsort(void *base, size_t nel, size_t elsize, int (*cmp) (const void *, const void *))
{
	qsort(base, nel, elsize, cmp);
}

/* Any gain will do. */
bool
zsvacuum_is_worth_relocating(const ZsRelocation *reloc, BlockNumber limit)
{
	return limit < reloc->end_blocks;
}

/* The table's map, in no order, and neighbours not always joined. */
void
zspage_fpm_copy(Relation rel, uint16 treeno, ZsFpmCopy *copy)
{
	memset(copy, 0, sizeof(ZsFpmCopy));
	copy->extents = palloc((layout.nextents + 1) * 2 * sizeof(ZsExtent));
	for (int i = layout.nextents - 1; i >= 0; i--)
	{
		ZsExtent	extent = layout.extents[i];

		if (extent.length > 1 && (extent.start + layoutno) % 3 == 0)
		{
			ZsExtent	half = {.start = extent.start, .length = extent.length / 2};

			extent.start += half.length;
			extent.length -= half.length;
			copy->extents[copy->nextents++] = half;
		}
		copy->extents[copy->nextents++] = extent;
	}
}

void
zspage_fpm_copy_free(ZsFpmCopy *copy)
{
	pfree(copy->extents);
}

/* ---- layouts ---------------------------------------------------------------------- */

static void
fail(const char *what)
{
	fprintf(stderr, "seed %llu, layout %llu: %s\n", (unsigned long long) seed,
			(unsigned long long) layoutno, what);
	abort();
}

/* Adds a run of blocks behind those that are there. */
static void
add_run(int kind, uint32 length)
{
	length = Min(length, MAX_BLOCKS - layout.nblocks);
	if (length == 0)
		return;
	if (kind == FREE)
	{
		ZsExtent   *last = layout.nextents > 0 ? &layout.extents[layout.nextents - 1] : NULL;

		if (last != NULL && last->start + last->length == layout.nblocks)
			last->length += length;
		else
		{
			layout.extents[layout.nextents].start = layout.nblocks;
			layout.extents[layout.nextents++].length = length;
		}
	}
	else if (kind == PIECE)
	{
		ZsMovable  *movable = &layout.movables[layout.nmovables];

		memset(movable, 0, sizeof(ZsMovable));
		movable->start = layout.nblocks;
		movable->nblocks = length;
		movable->to = InvalidBlockNumber;
		movable->treeno = (uint16) (1 + rnd(3));
		movable->key = rnd(1000);
		kind = PIECE + (int) layout.nmovables++;
	}
	for (uint32 i = 0; i < length; i++)
		layout.blocks[layout.nblocks++] = kind;
}

/* A random file; behind the limit lies nothing that cannot be moved. */
static void
make_layout(void)
{
	uint32		nblocks = 20 + rnd(MAX_BLOCKS - 20);
	uint32		limit = 2 + rnd(nblocks - 2);
	uint32		free_percent = 10 + rnd(80);
	uint32		fixed_percent = rnd(3) == 0 ? 0 : rnd(20);
	uint32		longest = 1 + rnd(MAX_LENGTH);

	memset(&layout, 0, sizeof(Layout));
	add_run(FIXED, 1);
	while (layout.nblocks < nblocks)
	{
		uint32		length = 1 + rnd(longest);

		if (rnd(100) < free_percent)
			add_run(FREE, rnd(2) == 0 ? length : 1 + rnd(3));
		else if (layout.nblocks + length <= limit && rnd(100) < fixed_percent)
			add_run(FIXED, 1 + rnd(3));
		else
			add_run(PIECE, rnd(3) == 0 ? 1 : length);
	}
	for (BlockNumber blkno = 0; blkno < layout.nblocks; blkno++)
	{
		if (layout.blocks[blkno] == FIXED)
			limit = Max(limit, blkno + 1);
	}
	layout.limit = limit;
}

/* What VACUUM knows: with everything, of the whole file; else of what lies beyond the limit. */
static void
make_relocation(ZsRelocation *reloc, bool everything)
{
	memset(reloc, 0, sizeof(ZsRelocation));
	reloc->end_blocks = layout.nblocks;
	reloc->limit = layout.limit;
	reloc->movables = palloc(MAX_BLOCKS * sizeof(ZsMovable));
	for (Size i = 0; i < layout.nmovables; i++)
	{
		if (everything ||
			layout.movables[i].start + layout.movables[i].nblocks > layout.limit)
			reloc->movables[reloc->n++] = layout.movables[i];
	}
}

/* ---- windows ------------------------------------------------------------------------ */

/* What the window costs, -1 if it will not do. */
static int64
naive_cost(const ZsRelocation *reloc, BlockNumber start, uint32 nblocks)
{
	int64		cost = 0;

	for (BlockNumber blkno = start; blkno < start + nblocks; blkno++)
	{
		int			kind = layout.blocks[blkno];
		const ZsMovable *movable;

		if (kind == FREE)
			continue;
		if (kind < PIECE)
			return -1;
		movable = &reloc->movables[kind - PIECE];
		if (movable->to != InvalidBlockNumber || movable->start + movable->nblocks > reloc->limit)
			return -1;
		if (movable->start == blkno)
			cost += movable->nblocks;
	}
	return cost;
}

static void
test_windows(void)
{
	ZsRelocation reloc;
	ZsWindow	windows[ZSVACUUM_MAX_WINDOWS];
	uint32		nblocks = 1 + rnd(MAX_LENGTH);
	uint64		max_cost = rnd(3) == 0 ? PG_UINT64_MAX : rnd(MAX_LENGTH);
	int			nwindows;
	int			nfound = 0;

	make_relocation(&reloc, true);
	reloc.extents = palloc(MAX_BLOCKS * sizeof(ZsExtent));
	for (int i = 0; i < layout.nextents && layout.extents[i].start < layout.limit; i++)
	{
		ZsExtent   *extent = &reloc.extents[reloc.nextents++];

		*extent = layout.extents[i];
		extent->length = Min(extent->length, layout.limit - extent->start);
	}
	/* some pieces have a place already, and some extents are used up: their blocks are nobody's */
	for (Size i = 0; i < reloc.n; i++)
	{
		if (rnd(10) == 0)
			reloc.movables[i].to = 1;
	}
	if (reloc.nextents > 1 && rnd(2) == 0)
	{
		for (BlockNumber i = 0; i < reloc.extents[0].length; i++)
			layout.blocks[reloc.extents[0].start + i] = FIXED;
		reloc.first_extent = 1;
	}

	nwindows = zsvacuum_find_windows(&reloc, nblocks, max_cost, windows);
	for (int i = 1; i < nwindows; i++)
	{
		if (windows[i].cost < windows[i - 1].cost)
			fail("windows are not in the order of their costs");
	}
	for (int i = reloc.first_extent; i < reloc.nextents; i++)
	{
		BlockNumber start = reloc.extents[i].start;
		int64		cost = start + nblocks > reloc.limit ? -1 : naive_cost(&reloc, start, nblocks);
		bool		listed = false;

		for (int w = 0; w < nwindows; w++)
		{
			if (windows[w].start != start)
				continue;
			if (listed || cost < 0 || windows[w].cost != (uint64) cost)
				fail("a window that is none, or costs something else");
			listed = true;
			nfound++;
		}
		if (cost < 0 || (uint64) cost > max_cost)
		{
			if (listed)
				fail("a window that costs too much");
		}
		else if (!listed && (nwindows < ZSVACUUM_MAX_WINDOWS ||
							 windows[nwindows - 1].cost > (uint64) cost))
			fail("a cheap window was not found");
	}
	if (nfound != nwindows)
		fail("a window that does not begin with a free extent");
	pfree(reloc.extents);
	pfree(reloc.movables);
}

/* ---- plans --------------------------------------------------------------------------- */

/* The lowest free block is the map's own. */
static void
spare_lowest_block(void)
{
	if (layout.nextents > 0)
		layout.blocks[layout.extents[0].start] = SPARED;
}

/* Carries out the moves in the order of the array. */
static uint64
carry_out(const ZsRelocation *reloc)
{
	uint64		cost = 0;

	for (Size i = 0; i < reloc->n; i++)
	{
		const ZsMovable *movable = &reloc->movables[i];
		int			kind = layout.blocks[movable->start];

		if (movable->to == InvalidBlockNumber)
			continue;
		cost += movable->nblocks;
		if (movable->to == 0 || movable->to + movable->nblocks > reloc->limit)
			fail("a piece is moved to where it must not lie");
		for (uint32 b = 0; b < movable->nblocks; b++)
		{
			if (layout.blocks[movable->start + b] != kind || kind < PIECE)
				fail("a piece is not where it is said to be");
			if (layout.blocks[movable->to + b] != FREE)
				fail("a piece is moved to blocks that are in use");
		}
		for (uint32 b = 0; b < movable->nblocks; b++)
			layout.blocks[movable->to + b] = kind;
		for (uint32 b = 0; b < movable->nblocks; b++)
			layout.blocks[movable->start + b] = FREE;
	}
	for (BlockNumber blkno = reloc->limit; blkno < layout.nblocks; blkno++)
	{
		if (layout.blocks[blkno] != FREE && layout.blocks[blkno] != SPARED)
			fail("something is left beyond the limit");
	}
	return cost;
}

static int
compare_by_end(const void *a, const void *b)
{
	BlockNumber x = ((const ZsMovable *) a)->start;
	BlockNumber y = ((const ZsMovable *) b)->start;

	return x > y ? -1 : x < y;
}

/* Returns whether there was a plan. */
static bool
test_tail(void)
{
	ZsRelocation reloc;
	bool		planned;

	make_relocation(&reloc, false);
	spare_lowest_block();
	planned = zsvacuum_place_tail(&reloc);
	if (planned)
	{
		if (reloc.limit < layout.limit)
			fail("the limit was lowered");
		qsort(reloc.movables, reloc.n, sizeof(ZsMovable), compare_by_end);
		(void) carry_out(&reloc);
	}
	pfree(reloc.movables);
	return planned;
}

static bool
test_all(void)
{
	ZsRelocation reloc;
	BlockNumber better_than;
	bool		planned;

	make_relocation(&reloc, true);
	spare_lowest_block();
	better_than = layout.limit + rnd(layout.nblocks - layout.limit + 1);
	planned = zsvacuum_place_all(&reloc, better_than);
	if (planned)
	{
		uint64		cost;

		if (reloc.limit < layout.limit || reloc.limit >= better_than)
			fail("the limit is out of range");
		cost = carry_out(&reloc);
		if (cost > (layout.nblocks - better_than) +
			COST_OF_GAIN * (uint64) (better_than - reloc.limit))
			fail("more is moved than is allowed");
	}
	pfree(reloc.movables);
	return planned;
}

int
main(int argc, char **argv)
{
	uint64		nlayouts = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	uint64		ntails = 0;
	uint64		nall = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	rnd_start(seed);
	for (layoutno = 0; layoutno < nlayouts; layoutno++)
	{
		uint64		state = rng_state;

		make_layout();
		test_windows();
		rng_state = state;
		make_layout();
		ntails += test_tail();
		rng_state = state;
		make_layout();
		nall += test_all();
		(void) rnd(2);
	}
	if (ntails == 0 || nall == 0)
		fail("no layout had a plan");
	printf("ok: vacuum_place_fuzz, %llu layouts, seed %llu: %llu plans for the tail, %llu for all\n",
		   (unsigned long long) nlayouts, (unsigned long long) seed,
		   (unsigned long long) ntails, (unsigned long long) nall);
	return 0;
}
