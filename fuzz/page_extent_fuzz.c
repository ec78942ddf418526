/*-------------------------------------------------------------------------
 *
 * page_extent_fuzz.c
 *	  Random changes of a free page map against an array of blocks.
 *
 * Built from page_extent.c and a server's headers, without a server.  Tests,
 * repeated with different changes:
 *
 *	  1. zspage_entry_apply(): every kind of change, possible or not.  An array says
 *		 of each block whose it is; from it follows whether the change is possible,
 *		 and what each field of the entry must be behind it.  A change that is
 *		 refused leaves the entry as it was.
 *	  2. zspage_fpm_page_add() and zspage_fpm_page_cut(), the same for an FPM page.
 *	  3. zspage_entry_check() and zspage_fpm_page_check() of entries and pages with
 *		 some wrong fields, against the invariants read word by word.
 *
 *	  make build/page_extent_fuzz [PG_CONFIG=...]
 *
 *	  usage: page_extent_fuzz [changes [seed]]
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/page_extent_fuzz.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "../src/page/page_internal.h"
#include "zs_page.h"
#include "fuzz_server.h"

#define MAX_BLOCKS	120			/* of an entry's file */
#define PAGE_BLOCKS 6000		/* of those that a page knows: it can get full */
#define MAX_LENGTH	9			/* blocks of a change */

/* what a block of the model is */
typedef enum BlockState
{
	OTHER,						/* another tree's, or none */
	USED,						/* the tree's */
	FREE,						/* the same, in the entry or on the page */
	CHAINED,					/* the same, on an FPM page */
} BlockState;

static BlockState blocks[PAGE_BLOCKS];
static uint64 seed;
static uint64 changeno;

/* ---- random changes --------------------------------------------------------------- */

static void
fail(const char *what)
{
	fprintf(stderr, "seed %llu, change %llu: %s\n", (unsigned long long) seed,
			(unsigned long long) changeno, what);
	abort();
}

/* Are all these blocks what is said? */
static bool
all_are(BlockNumber start, uint32 length, BlockState state)
{
	for (uint32 i = 0; i < length; i++)
	{
		if (blocks[start + i] != state)
			return false;
	}
	return true;
}

static void
set_blocks(BlockNumber start, uint32 length, BlockState state)
{
	for (uint32 i = 0; i < length; i++)
		blocks[start + i] = state;
}

static uint32
count_blocks(uint32 nblocks, BlockState state)
{
	uint32		n = 0;

	for (uint32 i = 0; i < nblocks; i++)
		n += blocks[i] == state;
	return n;
}

/* The extents that free blocks form: sorted, merged.  Returns how many. */
static int
free_extents(uint32 nblocks, ZsExtent *extents)
{
	int			n = 0;

	for (uint32 i = 0; i < nblocks; i++)
	{
		if (blocks[i] != FREE)
			continue;
		if (i > 0 && blocks[i - 1] == FREE)
			extents[n - 1].length++;
		else
		{
			extents[n].start = i;
			extents[n++].length = 1;
		}
	}
	return n;
}

/* Changes so many blocks of one state to another, wherever they are. */
static void
change_some(uint32 nblocks, uint32 length, BlockState from, BlockState to)
{
	for (uint32 i = 0; i < nblocks && length > 0; i++)
	{
		if (blocks[i] == from)
		{
			blocks[i] = to;
			length--;
		}
	}
}

/* ---- 1. entries --------------------------------------------------------------------- */

/* Would the extents find room if these blocks were free, too? */
static bool
has_room(BlockNumber start, uint32 length)
{
	BlockState	before[MAX_BLOCKS];
	ZsExtent	extents[MAX_BLOCKS];
	int			n;

	if (count_blocks(start + length, FREE) != count_blocks(start, FREE))
		return false;
	memcpy(before, blocks, sizeof(before));
	set_blocks(start, length, FREE);
	n = free_extents(MAX_BLOCKS, extents);
	memcpy(blocks, before, sizeof(before));
	return n <= ZS_ENTRY_EXTENTS;
}

/* Are these blocks free and at one end of their extent? */
static bool
at_end_of_extent(BlockNumber start, uint32 length)
{
	return all_are(start, length, FREE) &&
		(blocks[start - 1] != FREE || blocks[start + length] != FREE);
}

/* A place for a change: half of the time where it may well be possible. */
static BlockNumber
choose_start(uint8 op)
{
	static const BlockState states[ZS_FPM_LOSE_USED + 1] = {
		[ZS_FPM_TAKE] = FREE,[ZS_FPM_FREE] = USED,[ZS_FPM_LOSE] = FREE,
		[ZS_FPM_CHAIN_IN] = CHAINED,[ZS_FPM_CHAIN_OUT] = FREE
	};
	BlockNumber start = 1 + rnd(MAX_BLOCKS - MAX_LENGTH - 2);

	if (rnd(2) == 0)
	{
		for (uint32 i = 0; i < MAX_BLOCKS && blocks[start] != states[op]; i++)
			start = 1 + start % (MAX_BLOCKS - MAX_LENGTH - 2);
	}
	return start;
}

/*
 * Is the change one that somebody might ask for?  The blocks of some kinds are not looked at by
 * the entry, which has no list of them: callers know.
 */
static bool
is_sensible(const ZsFpmOp *op)
{
	switch (op->op)
	{
		case ZS_FPM_FREE:
			return all_are(op->start, op->length, USED) || !has_room(op->start, op->length);
		case ZS_FPM_GAIN:
			return all_are(op->start, op->length, OTHER) || !has_room(op->start, op->length);
		case ZS_FPM_GAIN_USED:
			return all_are(op->start, op->length, OTHER);
		case ZS_FPM_CHAIN_IN:
			return all_are(op->start, op->length, CHAINED) || !has_room(op->start, op->length);
		case ZS_FPM_CHAIN_TAKE:
		case ZS_FPM_CHAIN_LOSE:
			return count_blocks(MAX_BLOCKS, CHAINED) >= op->length ||
				count_blocks(MAX_BLOCKS, CHAINED) + count_blocks(MAX_BLOCKS, FREE) < op->length;
		default:
			return true;
	}
}

/* Does the change to the model; false if it is not possible. */
static bool
change_model(const ZsFpmOp *op)
{
	switch (op->op)
	{
		case ZS_FPM_TAKE:
		case ZS_FPM_LOSE:
		case ZS_FPM_CHAIN_OUT:
			if (!at_end_of_extent(op->start, op->length))
				return false;
			set_blocks(op->start, op->length, op->op == ZS_FPM_TAKE ? USED :
					   op->op == ZS_FPM_LOSE ? OTHER : CHAINED);
			return true;
		case ZS_FPM_FREE:
		case ZS_FPM_GAIN:
		case ZS_FPM_CHAIN_IN:
			if (!has_room(op->start, op->length))
				return false;
			set_blocks(op->start, op->length, FREE);
			return true;
		case ZS_FPM_GAIN_USED:
			set_blocks(op->start, op->length, USED);
			return true;
		case ZS_FPM_CHAIN_TAKE:
		case ZS_FPM_CHAIN_LOSE:
			if (count_blocks(MAX_BLOCKS, CHAINED) < op->length)
				return false;
			change_some(MAX_BLOCKS, op->length, CHAINED,
						op->op == ZS_FPM_CHAIN_TAKE ? USED : OTHER);
			return true;
		case ZS_FPM_LOSE_USED:
			if (count_blocks(MAX_BLOCKS, USED) < op->length)
				return false;
			change_some(MAX_BLOCKS, op->length, USED, OTHER);
			return true;
		default:
			return op->op == ZS_FPM_CHAIN;
	}
}

/* Is the entry what the blocks say?  Its root and its chain are none of the changes' business. */
static void
compare_entry(const ZsTreeEntry *entry, BlockNumber root, BlockNumber chain, uint32 chain_maxlen)
{
	ZsTreeEntry expected;
	ZsExtent	extents[MAX_BLOCKS];
	uint32		nblocks = 1 + rnd(MAX_LENGTH);
	BlockNumber found = 0;

	memset(&expected, 0, sizeof(expected));
	expected.root = root;
	expected.chain = chain;
	expected.chain_maxlen = chain_maxlen;
	expected.nextents = (uint16) free_extents(MAX_BLOCKS, extents);
	memcpy(expected.extents, extents, expected.nextents * sizeof(ZsExtent));
	expected.nfree = count_blocks(MAX_BLOCKS, FREE) + count_blocks(MAX_BLOCKS, CHAINED);
	expected.nblocks = expected.nfree + count_blocks(MAX_BLOCKS, USED);
	if (memcmp(entry, &expected, sizeof(expected)) != 0)
		fail("the entry is not what the blocks say");
	if (zspage_entry_check(entry) != NULL)
		fail(zspage_entry_check(entry));

	for (int i = expected.nextents - 1; i >= 0; i--)
	{
		if (extents[i].length >= nblocks)
			found = extents[i].start;
	}
	if (zspage_entry_find(entry, nblocks) != found)
		fail("another extent than the lowest one is found");
}

/* A number of changes of an entry that is empty at first; counts those that were done by kind. */
static void
test_entry(uint64 *done)
{
	ZsTreeEntry entry;
	/* a chain, empty or not, or none as long as there is nothing on one */
	uint32		kinds = rnd(2) == 0 ? ZS_FPM_LOSE_USED : ZS_FPM_GAIN_USED;

	memset(&entry, 0, sizeof(entry));
	memset(blocks, 0, sizeof(blocks));
	entry.root = 7;
	entry.chain = kinds == ZS_FPM_LOSE_USED ? 5 : 0;
	for (int i = 0; i < 200; i++, changeno++)
	{
		ZsFpmOp		op = {0};
		ZsTreeEntry before = entry;
		bool		possible;

		/* block 0 is nobody's, the one at the end neither */
		op.op = (uint8) (ZS_FPM_TAKE + rnd(kinds));
		op.start = choose_start(op.op);
		op.length = 1 + rnd(rnd(3) == 0 ? MAX_LENGTH : 2);
		if (op.op == ZS_FPM_CHAIN_TAKE && rnd(50) == 0)
			op.length = 2 * MAX_BLOCKS;
		if (!is_sensible(&op))
			continue;
		if (op.op == ZS_FPM_CHAIN)
		{
			before.chain = op.start;
			before.chain_maxlen = op.length;
		}
		possible = change_model(&op);
		if (zspage_entry_apply(&entry, &op) != possible)
			fail(possible ? "a possible change is refused" : "an impossible change is made");
		if (!possible && memcmp(&entry, &before, sizeof(entry)) != 0)
			fail("a refused change changed the entry");
		compare_entry(&entry, 7, before.chain, before.chain_maxlen);
		done[op.op] += possible;
	}
}

/* ---- 2. FPM pages ------------------------------------------------------------------- */

static void
compare_page(Page page)
{
	ZsExtent	extents[PAGE_BLOCKS];
	int			n = free_extents(PAGE_BLOCKS, extents);

	if (zspage_fpm_count(page) != n ||
		memcmp(zspage_fpm_extents(page), extents, n * sizeof(ZsExtent)) != 0)
		fail("the page is not what the blocks say");
	if (zspage_fpm_page_check(page) != NULL)
		fail(zspage_fpm_page_check(page));
}

/*
 * A page that gets extents of random lengths until it is full, or nearly so, and is changed then.
 * Returns how often it was too full for a cut.
 */
static uint64
test_page(void)
{
	PGAlignedBlock image;
	Page		page = image.data;
	uint64		nfull = 0;
	int			fill = (int) ZS_FPM_PAGE_EXTENTS - (int) (rnd(2) * rnd(100));

	memset(&image, 0, sizeof(image));
	memset(blocks, 0, sizeof(blocks));
	zspage_fpm_set_count(page, 0);
	for (BlockNumber at = 1; at < PAGE_BLOCKS - MAX_LENGTH; changeno++)
	{
		ZsExtent	add = {.start = at, .length = 1 + rnd(5)};

		if (zspage_fpm_count(page) == fill)
			break;
		set_blocks(add.start, add.length, FREE);
		zspage_fpm_page_add(page, add);
		at += add.length + (rnd(10) == 0 ? 0 : 1 + rnd(2));
	}
	compare_page(page);
	for (int i = 0; i < 300; i++, changeno++)
	{
		BlockNumber start = 1 + rnd(PAGE_BLOCKS - MAX_LENGTH - 2);
		uint32		length = 1 + rnd(rnd(2) == 0 ? MAX_LENGTH : 2);

		if (rnd(2) == 0)
		{
			bool		full = zspage_fpm_count(page) == (int) ZS_FPM_PAGE_EXTENTS;
			bool		possible = all_are(start, length, FREE);
			bool		splits = possible && !at_end_of_extent(start, length);

			nfull += splits && full;
			possible = possible && !(splits && full);
			if (possible)
				set_blocks(start, length, OTHER);
			if (zspage_fpm_page_cut(page, start, length) != possible)
				fail(possible ? "blocks are not cut out" : "blocks are cut out that are not there");
		}
		else if (all_are(start, length, OTHER) &&
				 (zspage_fpm_count(page) < (int) ZS_FPM_PAGE_EXTENTS ||
				  blocks[start - 1] == FREE || blocks[start + length] == FREE))
		{
			set_blocks(start, length, FREE);
			zspage_fpm_page_add(page, (ZsExtent) {.start = start, .length = length});
		}
		compare_page(page);
	}
	return nfull;
}

/* ---- 3. what is wrong --------------------------------------------------------------- */

/* Invariants 1 and 2 of any two extents; the length of those that are right is added up. */
static bool
extents_are_right(const ZsExtent *extents, int n, uint64 *total)
{
	for (int i = 0; i < n; i++)
	{
		if (extents[i].length == 0 || extents[i].start == 0 ||
			(uint64) extents[i].start + extents[i].length > MaxBlockNumber)
			return false;
		for (int k = 0; k < i; k++)
		{
			if ((uint64) extents[k].start + extents[k].length >= extents[i].start)
				return false;
		}
		*total += extents[i].length;
	}
	return true;
}

/* Extents in order, most of them right. */
static void
make_extents(ZsExtent *extents, int n)
{
	uint64		at = 1 + rnd(5);

	for (int i = 0; i < n; i++)
	{
		extents[i].start = (BlockNumber) at;
		extents[i].length = 1 + rnd(MAX_LENGTH);
		at += extents[i].length + 1 + rnd(3);
	}
	if (n > 0 && rnd(2) == 0)
	{
		ZsExtent   *wrong = &extents[rnd(n)];
		uint32		values[] = {0, 1, MaxBlockNumber - 1, MaxBlockNumber, InvalidBlockNumber,
		wrong->start + 1, wrong->start - 1, wrong->length + 1, wrong->length + 3};

		if (rnd(2) == 0)
			wrong->start = values[rnd(lengthof(values))];
		else
			wrong->length = values[rnd(lengthof(values))];
	}
}

/* Returns whether the entry was right. */
static bool
test_entry_check(void)
{
	ZsTreeEntry entry;
	uint64		nfree = 0;
	bool		right;

	memset(&entry, 0, sizeof(entry));
	entry.nextents = (uint16) rnd(ZS_ENTRY_EXTENTS + 1);
	make_extents(entry.extents, entry.nextents);
	entry.chain = rnd(3) == 0 ? 5 : 0;
	right = extents_are_right(entry.extents, entry.nextents, &nfree);
	entry.nfree = (uint32) nfree + (entry.chain != 0 ? rnd(10) : 0);
	entry.nblocks = entry.nfree + rnd(3);
	switch (rnd(10))
	{
		case 0:
			entry.nfree += rnd(3) - 1;
			break;
		case 1:
			entry.nblocks -= rnd(4);
			break;
		case 2:
			entry.nextents += 1 + rnd(ZS_ENTRY_EXTENTS);
			if (entry.nextents <= ZS_ENTRY_EXTENTS)
				right = false;	/* the extent behind the last one is empty */
			break;
		case 3:
			if (entry.nextents > 0 && entry.extents[entry.nextents - 1].length > 0)
			{
				nfree -= entry.extents[--entry.nextents].length;
				right = false;	/* the last extent is not in use, and not zero */
			}
			break;
		default:
			break;
	}
	right = right && entry.nextents <= ZS_ENTRY_EXTENTS && entry.nfree <= entry.nblocks &&
		(entry.chain != 0 ? nfree <= entry.nfree : nfree == entry.nfree);
	if ((zspage_entry_check(&entry) == NULL) != right)
		fail(right ? zspage_entry_check(&entry) : "a wrong entry passes");
	return right;
}

/* Returns whether the page was right. */
static bool
test_page_check(void)
{
	PGAlignedBlock image;
	Page		page = image.data;
	int			n = (int) rnd(rnd(10) == 0 ? ZS_FPM_PAGE_EXTENTS + 1 : 20);
	uint64		total = 0;
	bool		right;

	memset(&image, 0, sizeof(image));
	make_extents(zspage_fpm_extents(page), n);
	zspage_fpm_set_count(page, n);
	right = extents_are_right(zspage_fpm_extents(page), n, &total);
	if (rnd(10) == 0)
	{
		((PageHeader) page)->pd_lower += 1 + rnd(sizeof(ZsExtent) - 1);
		right = false;
	}
	if ((zspage_fpm_page_check(page) == NULL) != right)
		fail(right ? zspage_fpm_page_check(page) : "a wrong page passes");
	return right;
}

int
main(int argc, char **argv)
{
	uint64		nchanges = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64		done[ZS_FPM_LOSE_USED + 1] = {0};
	uint64		nfull = 0;
	uint64		nright = 0;
	uint64		nwrong = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	rnd_start(seed);
	while (changeno < nchanges)
	{
		for (int i = 0; i < 20; i++)
			test_entry(done);
		nfull += test_page();
		for (int i = 0; i < 200; i++, changeno++)
		{
			bool		right = i % 2 == 0 ? test_entry_check() : test_page_check();

			nright += right;
			nwrong += !right;
		}
	}
	for (int op = ZS_FPM_TAKE; op <= ZS_FPM_LOSE_USED; op++)
	{
		if (done[op] == 0)
			fail("a kind of change was never possible");
	}
	if (nfull == 0 || nright == 0 || nwrong == 0)
		fail("something was not tried");
	printf("ok: page_extent_fuzz, %llu changes, seed %llu: %llu cuts of a full page refused\n",
		   (unsigned long long) changeno, (unsigned long long) seed, (unsigned long long) nfull);
	return 0;
}
