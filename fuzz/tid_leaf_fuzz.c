/*-------------------------------------------------------------------------
 *
 * tid_leaf_fuzz.c
 *	  Random changes of a TID tree leaf against a plain array of rows.
 *
 * Built from the leaf's source files and a server's headers, without a
 * server.  Four tests, repeated with different seeds:
 *
 *	  1. Random changes on a page and on an array with one slot per row; after
 *		 each, the page must say what the array says, through the walk,
 *		 through single-row search and through zstid_leaf_read(), which checks all
 *		 invariants.
 *	  2. Each change goes through its WAL form to a second page whose hint bits
 *		 differ at random; the pages must be equal but for hint bits.
 *	  3. Pages with random wrong bytes: every reader must return, within the page
 *		 (build with -fsanitize=address,undefined).
 *	  4. Leaves with about as many slots as have short numbers, filled up to what
 *	  zstid_leaf_free_space()
 *		 keeps: a row that leaves the middle of a long slot with successors must find room.
 *
 *	  make build/tid_leaf_fuzz [PG_CONFIG=...]
 *
 *	  usage: tid_leaf_fuzz [seconds [seed]]
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/tid_leaf_fuzz.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/htup_details.h"
#include "access/transam.h"

#include "../src/tid/tid_internal.h"
#include "fuzz_server.h"

#define NROWS	3000

/*
 * one row of the model, with its own successor; state is a fixed slot number or ZS_FIRST_REAL_SLOT
 */
typedef struct ModelRow
{
	int			state;
	ZsVisSlot	slot;
} ModelRow;

static ModelRow model[NROWS];
static zstid base;
static zstid next_successor;

static void
fail(const char *what, uint64 seed)
{
	fprintf(stderr, "seed %llu: %s\n", (unsigned long long) seed, what);
	abort();
}

static void
init_page(char *page, zstid lokey, zstid hikey)
{
	PageHeader	phdr = (PageHeader) page;
	ZsPageOpaque *opaque;

	memset(page, 0, BLCKSZ);
	phdr->pd_lower = SizeOfPageHeaderData;
	phdr->pd_upper = phdr->pd_special = BLCKSZ - sizeof(ZsPageOpaque);
	phdr->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	opaque = ZsPageGetOpaque(page);
	opaque->lokey = lokey;
	opaque->hikey = hikey;
}

/* Do two slots of one row say the same? */
static bool
slots_equal(const ZsVisSlot *a, const ZsVisSlot *b)
{
	return zstid_slots_alike(a, b) && a->successor == b->successor;
}

/* Does the page say what the model says? */
static void
compare(char *page, uint64 seed)
{
	static ZsTidLeaf leaf;
	static uint64 rank[ZS_TID_MAX_SLOTS + 2];
	static XLogRecPtr version = 0;
	const char *reason = zstid_leaf_read(page, &leaf);
	int			run = 0;

	/* within this call walks over the page may go on where earlier ones came to */
	version++;
	memset(rank, 0, sizeof(rank));
	if (reason != NULL)
		fail(reason, seed);
	for (int i = 0; i < NROWS; i++)
	{
		int			slotno = ZS_SLOT_UNUSED;
		const ZsVisSlot *slot = NULL;
		ZsVisSlot	own;

		while (run < leaf.nruns && leaf.runs[run].first + leaf.runs[run].count <= base + i)
			run++;
		if (run < leaf.nruns)
			slotno = leaf.runs[run].slotno;
		if (slotno >= ZS_FIRST_REAL_SLOT)
		{
			own = leaf.slots[slotno - ZS_FIRST_REAL_SLOT];
			if (zstid_slot_has_successors(&own))
				own.successor += rank[slotno - ZS_FIRST_REAL_SLOT]++;
			slot = &own;
		}
		if (Min(slotno, ZS_FIRST_REAL_SLOT) != model[i].state ||
			(slot != NULL && !slots_equal(slot, &model[i].slot)))
			fail("page and model differ", seed);

		if (rnd(50) == 0)
		{
			ZsTidRun	found;
			ZsVisSlot  *found_slot;

			(void) zstid_leaf_find(page, version, base + rnd(NROWS), &found, &found_slot, NULL);
			reason = zstid_leaf_find(page, version, base + i, &found, &found_slot, NULL);
			if (reason != NULL || found.slotno != slotno || found.first > base + i ||
				found.first + found.count <= base + i)
				fail("search finds another run", seed);
			if (slot != NULL)
			{
				ZsVisSlot	copy;

				zstid_slot_of_row(page, &found, found_slot, base + i, &copy);
				if (!slots_equal(slot, &copy))
					fail("search finds another slot", seed);
			}
		}
	}
}

/* Each change makes a version of its page. */
static XLogRecPtr last_lsn = 0;

/* Applies a change to a page by way of the record. */
static void
apply(char *page, const ZsTidChange *change, uint64 seed)
{
	PGAlignedBlock image;
	char		data[ZS_TID_MAX_RECORD];
	ZsTidChange decoded;
	uint8		vm_flags;
	TransactionId record_xid = rnd(2) ? change->xid : 77;
	int			size = zstid_record_encode(change, record_xid, ZS_TIDF_VM_FROZEN, data);
	const char *reason = NULL;
	ZsTidRun	run;
	ZsVisSlot  *slot;
	ZsTidWalk	near;
	bool		near_known = true;
	ZsTidKept	kept = {0};
	XLogRecPtr	version = rnd(4) ? PageGetLSN(page) : InvalidXLogRecPtr;

	if (!zstid_record_decode(data, size, record_xid, &decoded, &vm_flags) ||
		vm_flags != ZS_TIDF_VM_FROZEN)
		fail("record cannot be read", seed);
	/* a session knows where the row is, replay does not */
	if (rnd(2))
		reason = zstid_leaf_find(page, version, change->first, &run, &slot, &near);
	else
		near_known = false;
	if (reason == NULL)
		reason = zstid_change_compute(page, version, &decoded, near_known ? &near : NULL,
									  image.data, rnd(3) ? &kept : NULL);
	if (reason != NULL)
		fail(reason, seed);
	zstid_leaf_install(page, image.data, kept.missing);
	PageSetLSN(page, ++last_lsn);
	zstid_walk_carry(version, last_lsn, ZsPageGetOpaque(page)->lokey, kept.kept);
}

static void
set_random_hints(char *page)
{
	ZsTidWalk	walk;

	if (zstid_walk_begin(&walk, page) != NULL)
		return;
	for (int i = 0; i < walk.nslots; i++)
	{
		if (rnd(4) == 0 && walk.slots[i].xmin != FrozenTransactionId)
			walk.slots[i].infomask |= HEAP_XMIN_COMMITTED;
		if (rnd(4) == 0)
			walk.slots[i].infomask |= HEAP_XMAX_INVALID;
	}
}

static bool
pages_equal(char *a, char *b)
{
	static PGAlignedBlock ca;
	static PGAlignedBlock cb;
	ZsTidWalk	walk;
	char	   *copies[2] = {ca.data, cb.data};

	memcpy(ca.data, a, BLCKSZ);
	memcpy(cb.data, b, BLCKSZ);
	for (int k = 0; k < 2; k++)
	{
		if (zstid_walk_begin(&walk, copies[k]) != NULL)
			return false;
		for (int i = 0; i < walk.nslots; i++)
			walk.slots[i].infomask &= ~ZS_VIS_HINT_BITS;
		PageSetLSN(copies[k], InvalidXLogRecPtr);
	}
	return memcmp(ca.data, cb.data, ((PageHeader) a)->pd_lower) == 0;
}

/* An UPDATE of rows here and there in ascending order. */
static int	update_left;
static int	update_row;
static TransactionId update_xid;

static bool
pick_update(ZsTidChange *change)
{
	while (update_row < NROWS && model[update_row].state != ZS_SLOT_FROZEN &&
		   model[update_row].state != ZS_FIRST_REAL_SLOT)
		update_row++;
	if (update_row >= NROWS)
	{
		update_left = 0;
		return false;
	}
	update_left--;
	memset(change, 0, sizeof(*change));
	change->op = ZS_TID_XMAX;
	change->first = base + update_row;
	change->count = 1;
	change->xid = update_xid;
	change->infomask2 = ZS_VIS2_UPDATED;
	change->successor = (int64) (next_successor++ - change->first);
	update_row += 1 + rnd(4);
	return true;
}

/* Picks a change that the model allows. */
static bool
pick_change(ZsTidChange *change)
{
	int			row = rnd(NROWS);
	int			count = rnd(3) == 0 ? 1 + rnd(rnd(4) ? 200 : NROWS) : 1 + rnd(3);
	int			end = Min(row + count, NROWS);
	ModelRow   *m = &model[row];

	if (update_left > 0 && rnd(10))
		return pick_update(change);
	if (update_left == 0 && rnd(30) == 0)
	{
		update_left = 1 + rnd(200);
		update_row = rnd(NROWS);
		update_xid = 200 + rnd(3);
		next_successor = rnd(2000000000);
	}
	memset(change, 0, sizeof(*change));
	change->first = base + row;
	change->count = 1;
	change->xid = rnd(20) ? 100 + rnd(30) : rnd(1000000);
	change->cid = rnd(3) ? rnd(3) : rnd(UINT32_MAX);
	switch (rnd(9))
	{
		case 0:
		case 1:
			change->op = ZS_TID_INSERT;
			if (rnd(10) == 0)
				change->xid = FrozenTransactionId;
			if (rnd(10) == 0)
				change->token = 1 + rnd(1000000);
			change->count = 0;
			while (row < end && model[row].state == ZS_SLOT_UNUSED)
			{
				row++;
				change->count++;
			}
			return change->count > 0;
		case 2:
		case 3:
			change->op = ZS_TID_XMAX;
			change->infomask = rnd(2) ? 0 : HEAP_XMAX_IS_MULTI | HEAP_XMAX_EXCL_LOCK;
			change->infomask2 = rnd(2) ? HEAP_KEYS_UPDATED : 0;
			if (rnd(2))
			{
				change->infomask2 |= ZS_VIS2_UPDATED;
				change->successor = (int64) rnd(2000000000) - (int64) change->first;
			}
			else if (rnd(4) == 0)
				change->infomask2 |= ZS_VIS2_MOVED_PARTITION;
			return m->state == ZS_SLOT_FROZEN || m->state == ZS_FIRST_REAL_SLOT;
		case 4:
			change->op = ZS_TID_LOCK;
			change->infomask = rnd(2) ? HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_KEYSHR_LOCK :
				HEAP_XMAX_IS_MULTI | HEAP_XMAX_EXCL_LOCK;
			return m->state == ZS_SLOT_FROZEN || m->state == ZS_FIRST_REAL_SLOT;
		case 5:
			change->op = rnd(2) ? ZS_TID_RELEASE : ZS_TID_KILL;
			for (change->count = 0; row < end; row++, change->count++)
			{
				if (model[row].state == ZS_FIRST_REAL_SLOT &&
					zstid_slot_has_successors(&model[row].slot))
					break;
			}
			return change->count > 0;
		case 8:
			change->op = ZS_TID_ASSIGN;
			change->slot = &change->slot_buffer;
			change->slot_buffer.xmin = 100 + rnd(3);
			change->slot_buffer.infomask = HEAP_XMAX_INVALID;
			return m->state == ZS_SLOT_FROZEN;
		case 6:
			change->op = ZS_TID_CONFIRM;
			return m->state == ZS_FIRST_REAL_SLOT && (m->slot.infomask2 & ZS_VIS2_SPECULATIVE);
		default:
			change->op = rnd(2) ? ZS_TID_REMOVE_DEAD : ZS_TID_RETIRE;
			change->count = end - row;
			return true;
	}
}

/* The same on the model. */
static void
apply_to_model(const ZsTidChange *change)
{
	for (uint64 i = 0; i < change->count; i++)
	{
		ModelRow   *m = &model[change->first - base + i];

		switch (change->op)
		{
			case ZS_TID_INSERT:
				memset(&m->slot, 0, sizeof(m->slot));
				m->state = change->xid == FrozenTransactionId ? ZS_SLOT_FROZEN : ZS_FIRST_REAL_SLOT;
				m->slot.xmin = change->xid;
				m->slot.cmin = change->cid;
				m->slot.infomask = HEAP_XMAX_INVALID;
				m->slot.successor = change->token;
				m->slot.infomask2 = change->token ? ZS_VIS2_SPECULATIVE : 0;
				break;
			case ZS_TID_XMAX:
			case ZS_TID_LOCK:
				if (m->state == ZS_SLOT_FROZEN)
					m->slot = zstid_frozen_slot;
				m->state = ZS_FIRST_REAL_SLOT;
				m->slot.xmax = change->xid;
				m->slot.infomask = (m->slot.infomask & ~HEAP_XMAX_BITS) | change->infomask;
				m->slot.infomask2 &= ~HEAP_KEYS_UPDATED;
				if (change->op == ZS_TID_XMAX)
				{
					m->slot.infomask2 &= ~(ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION);
					m->slot.cmax = change->cid;
					m->slot.successor = change->infomask2 & ZS_VIS2_UPDATED ?
						(int64) change->first + change->successor : 0;
				}
				else if (change->infomask & HEAP_XMAX_LOCK_ONLY)
				{
					m->slot.infomask2 &= ~(ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION);
					m->slot.cmax = 0;
					if (!(m->slot.infomask2 & ZS_VIS2_SPECULATIVE))
						m->slot.successor = 0;
				}
				m->slot.infomask2 |= change->infomask2;
				break;
			case ZS_TID_CONFIRM:
				m->slot.infomask2 &= ~ZS_VIS2_SPECULATIVE;
				m->slot.successor = 0;
				break;
			case ZS_TID_ASSIGN:
				m->state = ZS_FIRST_REAL_SLOT;
				m->slot = *change->slot;
				break;
			case ZS_TID_KILL:
				m->state = ZS_SLOT_DEAD;
				break;
			case ZS_TID_RELEASE:
				m->state = ZS_SLOT_UNUSED;
				break;
			case ZS_TID_REMOVE_DEAD:
				if (m->state == ZS_SLOT_DEAD)
					m->state = ZS_SLOT_RETIRED;
				break;
			case ZS_TID_RETIRE:
				if (m->state == ZS_SLOT_UNUSED)
					m->state = ZS_SLOT_RETIRED;
				break;
		}
	}
}

/* Settles random slots on both pages and the model. */
static void
fold_random(char *page, char *twin, int rate, uint64 seed)
{
	static ZsTidFold fold;
	static ZsTidLeaf leaf;
	char	   *pages[2] = {page, twin};

	zstid_leaf_read(page, &leaf);
	memset(&fold, 0, sizeof(fold));
	fold.nslots = leaf.nslots;
	for (int i = 0; i < leaf.nslots; i++)
	{
		fold.actions[i] = rnd(100) < (uint32) rate ? 1 + rnd(3) : 0;
		if (fold.actions[i] == ZS_SLOTACT_REPLACE)
		{
			fold.contents[i] = leaf.slots[i];
			fold.contents[i].xmin = FrozenTransactionId + rnd(3);
			fold.contents[i].xmax = InvalidTransactionId;
			fold.contents[i].infomask = HEAP_XMAX_INVALID;
			fold.contents[i].infomask2 &= ZS_VIS2_SPECULATIVE;
			fold.nreplaced++;
		}
	}
	for (int r = 0; r < leaf.nruns; r++)
	{
		int			i = leaf.runs[r].slotno - ZS_FIRST_REAL_SLOT;

		if (i < 0 || fold.actions[i] == ZS_SLOTACT_KEEP)
			continue;
		for (uint64 k = 0; k < leaf.runs[r].count; k++)
		{
			ModelRow   *m = &model[leaf.runs[r].first - base + k];

			if (fold.actions[i] == ZS_SLOTACT_FREEZE)
				m->state = ZS_SLOT_FROZEN;
			else if (fold.actions[i] == ZS_SLOTACT_KILL)
				m->state = ZS_SLOT_DEAD;
			else
			{
				m->slot = fold.contents[i];
				if (m->slot.xmin == FrozenTransactionId)
					m->slot.cmin = 0;
				m->slot.cmax = 0;
				if (!(m->slot.infomask2 & ZS_VIS2_SPECULATIVE))
					m->slot.successor = 0;
			}
		}
	}
	for (int p = 0; p < 2; p++)
	{
		PGAlignedBlock image;

		zstid_leaf_read(pages[p], &zstid_scratch);
		zstid_edit_fold(&zstid_scratch, &fold);
		if (!zstid_leaf_write(&zstid_scratch, image.data) ||
			((PageHeader) image.data)->pd_lower > ((PageHeader) pages[p])->pd_lower)
			fail("a fold makes the page grow", seed);
		zstid_leaf_install(pages[p], image.data, 0);
		PageSetLSN(pages[p], ++last_lsn);
	}
}

/* What slot numbers that become longer may take. */
static Size
numbers_growth(Page page)
{
	ZsTidWalk	walk;

	if (zstid_walk_begin(&walk, page) != NULL || walk.header == NULL)
		return sizeof(ZsTidLeafHeader);
	return walk.nslots + 2 > ZS_RUN_FAR ? walk.header->nruns : 0;
}

static PGAlignedBlock page;
static PGAlignedBlock twin;

/* Empty pages and an empty model. */
static void
begin_test(void)
{
	base = rnd(3) == 0 ? 0 : (zstid) rnd(1 << 30) << rnd(9);
	init_page(page.data, base, rnd(2) ? base + NROWS : PG_UINT64_MAX);
	memcpy(twin.data, page.data, BLCKSZ);
	for (int i = 0; i < NROWS; i++)
		model[i].state = ZS_SLOT_UNUSED;
	update_left = 0;
}

/* Applies a change to the pages and to the model. */
static void
apply_everywhere(const ZsTidChange *change, uint64 seed)
{
	Size		before = ((PageHeader) page.data)->pd_lower;
	Size		growth = ZS_TID_MAX_GROWTH + numbers_growth(page.data);

	set_random_hints(twin.data);
	apply(page.data, change, seed);
	apply(twin.data, change, seed);
	if (((PageHeader) page.data)->pd_lower > before + growth)
		fail("change takes more than the promised room", seed);
	apply_to_model(change);
	if (!pages_equal(page.data, twin.data))
		fail("replayed page differs", seed);
}

/* Is the row, which exists, updated by xid? */
static bool
is_updated_by(int row, TransactionId xid)
{
	return model[row].state == ZS_FIRST_REAL_SLOT && model[row].slot.xmax == xid;
}

/* xid updates a frozen row; if it is another one, nothing happens. */
static void
update_frozen(int row, TransactionId xid, uint64 seed)
{
	ZsTidChange change = {.op = ZS_TID_XMAX, .first = base + row, .count = 1, .xid = xid,
	.infomask2 = ZS_VIS2_UPDATED};

	if (model[row].state != ZS_SLOT_FROZEN)
		return;
	change.successor = (int64) (next_successor++ - change.first);
	apply_everywhere(&change, seed);
}

/*
 * A row leaves the middle of a slot with hundreds of runs: those behind it get the number of a new
 * slot, which may be a byte longer.  That it fits is up to zstid_leaf_free_space(), which may also
 * have been asked for room for two changes, an insertion before (tid_single.c).
 */
static void
test_crowded(uint64 seed)
{
	const TransactionId updater = 50;
	int			nslots = ZS_RUN_FAR - 8 + rnd(16);
	int			nfrozen = NROWS - 1 - rnd(100);
	int			nchanges = 1 + rnd(2);
	Size		needed = nchanges * ZS_TID_MAX_GROWTH;
	int			row;
	ZsTidChange change = {.op = ZS_TID_INSERT, .count = nfrozen, .xid = FrozenTransactionId};

	begin_test();
	change.first = base;
	apply_everywhere(&change, seed);

	/*
	 * the slot's first row, the other slots, then the slot's other rows, as long as there is room
	 */
	next_successor = rnd(2000000000);
	update_frozen(0, updater, seed);
	for (int n = 1; n < nslots; n++)
		update_frozen(1 + rnd(nfrozen - 1), 100 + n, seed);
	next_successor = model[0].slot.successor + 1;
	for (row = 1 + rnd(2); row < nfrozen; row += 2 + (rnd(8) == 0))
	{
		if (zstid_leaf_free_space(page.data) < needed + 8)
			break;
		update_frozen(row, updater, seed);
	}
	compare(page.data, seed);
	if (zstid_leaf_free_space(page.data) < needed)
		fail("leaf is fuller than it should be", seed);

	if (nchanges == 2)
	{
		change.first = base + nfrozen;
		change.count = 1;
		change.xid = 99;
		apply_everywhere(&change, seed);
	}
	row = 1 + rnd(row - 1);
	while (row > 0 && !is_updated_by(row, updater))
		row--;
	change = (ZsTidChange)
	{
		.op = rnd(2) ? ZS_TID_LOCK : ZS_TID_XMAX, .first = base + row, .count = 1, .xid = 98
	};
	if (change.op == ZS_TID_LOCK)
		change.infomask = HEAP_XMAX_LOCK_ONLY | HEAP_XMAX_KEYSHR_LOCK;
	apply_everywhere(&change, seed);
	compare(page.data, seed);
	compare(twin.data, seed);
}

static void
test_changes(uint64 seed)
{
	int			nchanges = 200 + rnd(1500);

	begin_test();
	for (int n = 0; n < nchanges; n++)
	{
		ZsTidChange change;

		if (zstid_leaf_free_space(page.data) < ZS_TID_MAX_GROWTH)
			fold_random(page.data, twin.data, 100, seed);
		else if (rnd(60) == 0)
			fold_random(page.data, twin.data, rnd(100), seed);
		if (zstid_leaf_free_space(page.data) < ZS_TID_MAX_GROWTH)
			break;
		if (!pick_change(&change))
			continue;
		apply_everywhere(&change, seed);
		if (rnd(8) == 0)
			compare(page.data, seed);
	}
	compare(page.data, seed);
	compare(twin.data, seed);

	/* wrong bytes */
	for (int n = 0; n < 50; n++)
	{
		char	   *heap_page = malloc(BLCKSZ);
		static ZsTidLeaf leaf;
		ZsTidRun	run;
		ZsVisSlot  *slot;
		ZsTidWalk	walk;

		memcpy(heap_page, page.data, BLCKSZ);
		for (int k = rnd(20); k >= 0; k--)
			heap_page[SizeOfPageHeaderData + rnd(rnd(2) ? 8 : BLCKSZ - 64)] = rnd(256);
		if (rnd(4) == 0)
			((PageHeader) heap_page)->pd_lower = SizeOfPageHeaderData + rnd(ZS_PAGE_CAPACITY);
		(void) zstid_leaf_read(heap_page, &leaf);
		for (int k = 0; k < 20; k++)
			(void) zstid_leaf_find(heap_page, InvalidXLogRecPtr, base + rnd(NROWS), &run, &slot,
								   NULL);
		(void) zstid_walk_begin(&walk, heap_page);
		free(heap_page);
	}
}

int
main(int argc, char **argv)
{
	int			seconds = argc > 1 ? atoi(argv[1]) : 10;
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64) time(NULL) * 1000;
	time_t		end = time(NULL) + seconds;
	uint64		nrounds = 0;

	do
	{
		rng_state = (seed + 1) * UINT64CONST(0x9E3779B97F4A7C15);
		test_changes(seed);
		test_crowded(seed);
		seed++;
		nrounds++;
	} while (time(NULL) < end);
	printf("ok: %llu rounds with TID leaves\n", (unsigned long long) nrounds);
	return 0;
}
