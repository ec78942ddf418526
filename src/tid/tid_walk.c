/*-------------------------------------------------------------------------
 *
 * tid_walk.c
 *	  Walks over the run stream of a TID tree leaf.
 *
 * The stream is a sequence of runs, each a number of rows with the same slot (tid_leaf.c).  Whoever
 * looks for a row has to add up the lengths of all runs in front of it, and most statements look
 * for some row: so this is made fast in three ways.
 *
 * 	- Marks in the leaf's header say where in the stream some rows are; a walk begins at the last
 * 	  one in front of its row.
 * 	- Eight bytes of the stream are taken at a time, where all runs in them are short.
 * 	- How far the last walks came is remembered, for the same version of the leaf.
 *
 * Nothing here trusts the page.  A walk checks what it steps on: that the bytes are runs within the
 * page and its key range, that their slots exist and are valid, that neighbours differ, and their
 * number if it began with the first one.  That is enough to stay within the page, and not to take
 * zeroes for rows that everybody sees.
 *
 * No locks, no memory allocation, no ereport: this file is also built into the fuzzer, without a
 * server.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_walk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tid_internal.h"

/* Longest varint that a row count can take. */
#define MAX_VARINT_BYTES	6

/* Returns the byte behind the varint, or NULL if there is no valid one. */
static inline const uint8 *
get_varint(const uint8 *ptr, const uint8 *end, uint64 *value)
{
	uint64		result = 0;

	if (likely(ptr < end && *ptr < 0x80))
	{
		*value = *ptr;
		return ptr + 1;
	}
	for (int i = 0; i < MAX_VARINT_BYTES && ptr < end; i++)
	{
		uint8		byte = *ptr++;

		result |= (uint64) (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0)
		{
			*value = result;
			return ptr;
		}
	}
	return NULL;
}

/*
 * Reads the run at ptr; returns the byte behind it, or NULL if the bytes are none.  The slot number
 * is whatever they say, the count may be 0.
 */
static inline const uint8 *
get_run(const uint8 *ptr, const uint8 *end, uint64 *count, uint64 *slotno)
{
	uint8		head;

	if (ptr >= end)
		return NULL;
	head = *ptr++;
	if (head & ZS_RUN_REAL)
	{
		*slotno = head & ~ZS_RUN_REAL;
		if (unlikely(*slotno == ZS_RUN_FAR))
		{
			ptr = get_varint(ptr, end, slotno);
			if (ptr == NULL)
				return NULL;
			*slotno += ZS_RUN_FAR;
		}
		*slotno += ZS_FIRST_REAL_SLOT;
		return get_varint(ptr, end, count);
	}
	*slotno = head & (ZS_FIRST_REAL_SLOT - 1);
	*count = (head >> 2) + 1;
	if (*count <= ZS_RUN_LONG)
		return ptr;
	ptr = get_varint(ptr, end, count);
	*count += ZS_RUN_LONG + 1;
	return ptr;
}

/*
 * Positions a walk in front of the first run.  Returns the reason if the page
 * has no room for what its header announces.  The page's identity has been
 * verified; the caller holds a content lock or a copy.
 */
const char *
zstid_walk_begin(ZsTidWalk *walk, Page page)
{
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	int			pd_lower = ((PageHeader) page)->pd_lower;
	char	   *contents = (char *) page + ZS_TID_CONTENTS_OFFSET;
	const ZsTidLeafHeader *header = (const ZsTidLeafHeader *) contents;
	Size		size;
	Size		slots_size;

	walk->header = NULL;
	walk->row = walk->lokey = opaque->lokey;
	walk->limit = Min(opaque->hikey, ZS_MAX_ROW);
	walk->nslots = 0;
	walk->slots = NULL;
	walk->ptr = walk->end = walk->stream = NULL;
	walk->nruns = 0;
	walk->skipped = false;
	if (opaque->lokey >= walk->limit)
		return "key range is beyond the largest row number";

	/* also what a page has that was only formatted */
	if (pd_lower <= (int) ZS_TID_CONTENTS_OFFSET)
		return NULL;

	size = pd_lower - ZS_TID_CONTENTS_OFFSET;
	if (size < sizeof(ZsTidLeafHeader) || size > ZS_PAGE_CAPACITY)
		return "no room for the header";
	slots_size = header->nslots * sizeof(ZsVisSlot);
	if (header->nslots > ZS_TID_MAX_SLOTS ||
		sizeof(ZsTidLeafHeader) + slots_size + header->stream_size != size)
		return "sizes in the header do not add up";
	walk->nslots = header->nslots;
	walk->slots = (ZsVisSlot *) (contents + sizeof(ZsTidLeafHeader));
	walk->header = header;
	walk->ptr = walk->stream = (const uint8 *) (walk->slots + walk->nslots);
	walk->end = walk->ptr + header->stream_size;
	return NULL;
}

/*
 * What is wrong with the slots, for who looks at them without a run; NULL = nothing.
 */
const char *
zstid_walk_slots_check(const ZsTidWalk *walk)
{
	for (int i = 0; i < walk->nslots; i++)
	{
		if (!zstid_slot_is_valid(&walk->slots[i]))
			return "slot is not valid";
	}
	return NULL;
}

/* Does the run whose head is at ptr have the same slot as the one behind it, with head next? */
static inline bool
has_same_slot(const uint8 *ptr, uint8 next)
{
	if (*ptr & ZS_RUN_REAL)
		return next == *ptr && *ptr != (ZS_RUN_REAL | ZS_RUN_FAR);
	return ((*ptr ^ next) & (ZS_RUN_REAL | (ZS_FIRST_REAL_SLOT - 1))) == 0;
}

/*
 * Next run; false at the end, or with *reason set when the bytes are wrong.
 */
bool
zstid_walk_next(ZsTidWalk *walk, ZsTidRun *run, const char **reason)
{
	const uint8 *head = walk->ptr;
	uint64		count;
	uint64		slotno;

	*reason = NULL;
	if (walk->ptr >= walk->end)
	{
		if (unlikely(!walk->skipped && walk->header != NULL && walk->nruns != walk->header->nruns))
			*reason = "number of runs differs from that in the header";
		return false;
	}

	walk->ptr = get_run(walk->ptr, walk->end, &count, &slotno);
	if (walk->ptr == NULL)
	{
		*reason = "run stream is cut off";
		walk->ptr = walk->end;
		return false;
	}
	if (count == 0 || count > walk->limit - walk->row)
		*reason = "run leaves the page's key range";
	else if (slotno >= ZS_FIRST_REAL_SLOT + walk->nslots)
		*reason = "run has no such slot";
	else if (slotno >= ZS_FIRST_REAL_SLOT &&
			 !zstid_slot_is_valid(&walk->slots[slotno - ZS_FIRST_REAL_SLOT]))
		*reason = "slot is not valid";
	else if (walk->ptr < walk->end && has_same_slot(head, *walk->ptr))
		*reason = "neighbouring runs have the same slot";
	if (*reason != NULL)
		return false;

	run->first = walk->row;
	run->count = count;
	run->slotno = (uint16) slotno;
	walk->row += count;
	walk->nruns++;
	return true;
}

/* ---- eight bytes at a time ------------------------------------------------------- */

#define EACH_BYTE(x)	(UINT64CONST(0x0101010101010101) * (x))

/* Eight bytes of the stream, which begin with a run. */
typedef struct RunWord
{
	uint64		word;
	uint64		heads;			/* 0x80 in bytes 1sssssss */
	uint64		counts;			/* 0x80 in bytes behind them, their lengths */
	int			nbytes;			/* 7 if a run begins with the last byte and ends behind it, else
								 * 8 */
} RunWord;

/* All bits of the bytes that have the top one. */
static inline uint64
spread_top_bits(uint64 tops)
{
	return (tops >> 7) * 0xFF;
}

/* Sum of eight bytes. */
static inline uint64
add_bytes(uint64 word)
{
	word = (word & UINT64CONST(0x00FF00FF00FF00FF)) +
		((word >> 8) & UINT64CONST(0x00FF00FF00FF00FF));
	return (word * UINT64CONST(0x0001000100010001)) >> 48;
}

/* Loads eight bytes; false if some run in them has one of the longer forms. */
static inline bool
load_run_word(const uint8 *ptr, RunWord *runs)
{
	uint64		word;
	uint64		heads;
	uint64		fixed;

	memcpy(&word, ptr, sizeof(word));
	heads = word & EACH_BYTE(0x80);
	runs->word = word;
	runs->heads = heads;
	runs->counts = heads << 8;
	runs->nbytes = 8 - (int) (heads >> 63);

	/* eight zeroes are no runs: neighbours have different slots */
	if (word == 0)
		return false;

	/* neither lengths from 128 on, nor far slot numbers, nor long runs of fixed slots */
	fixed = EACH_BYTE(0x80) & ~(heads | runs->counts);
	return ((heads & runs->counts) |
			(((word & EACH_BYTE(0x7F)) + EACH_BYTE(0x01)) & heads) |
			(((word & EACH_BYTE(0x7F)) + EACH_BYTE(0x80 - (ZS_RUN_LONG << 2))) & fixed)) == 0;
}

/* Rows of the runs in it. */
static inline uint64
add_runs(const RunWord *runs)
{
	uint64		counts = spread_top_bits(runs->counts);
	uint64		fixed = ~(counts | spread_top_bits(runs->heads));

	return add_bytes((runs->word & counts) |
					 ((((runs->word >> 2) & EACH_BYTE(ZS_RUN_LONG)) + EACH_BYTE(1)) & fixed));
}

/* ---- skipping -------------------------------------------------------------------- */

/* Goes to the last mark at or before row, if that is ahead. */
static inline void
jump_to_mark(ZsTidWalk *walk, zstid row)
{
	const ZsTidLeafHeader *header = walk->header;

	if (header == NULL)
		return;
	for (int i = ZS_TID_MARKS - 1; i >= 0; i--)
	{
		uint16		offset = header->mark_offset[i];
		zstid		mark = walk->lokey + header->mark_row[i];

		if (offset == 0 || mark > row)
			continue;
		if (mark > walk->row && offset < header->stream_size)
		{
			walk->ptr = walk->stream + offset;
			walk->row = mark;
			walk->skipped = true;
		}
		break;
	}
}

/*
 * Skips runs that end at or before row; may stop up to seven runs early.
 * Takes eight bytes at a time where all runs in them are short.
 * Stops at wrong bytes, for zstid_walk_next() to find.
 */
void
zstid_walk_skip(ZsTidWalk *walk, zstid row)
{
	const uint8 *ptr;
	const uint8 *end = walk->end;
	zstid		at;

	/* no run that is skipped may leave the page's range */
	row = Min(row, walk->limit);
	jump_to_mark(walk, row);
	ptr = walk->ptr;
	at = walk->row;
	while (ptr < end)
	{
		const uint8 *next;
		uint64		count;
		uint64		slotno;

		RunWord		runs;

		if (end - ptr >= 8 && load_run_word(ptr, &runs))
		{
			uint64		sum = add_runs(&runs);

			if (at + sum > row)
				break;
			at += sum;
			ptr += runs.nbytes;
			continue;
		}
		next = get_run(ptr, end, &count, &slotno);
		if (next == NULL || count == 0 || count > row || at > row - count ||
			(next < end && has_same_slot(ptr, *next)))
			break;
		at += count;
		ptr = next;
	}
	walk->skipped |= walk->ptr != ptr;
	walk->ptr = ptr;
	walk->row = at;
}

/*
 * How far a walk came in one version of a leaf.  A statement looks for the same row several times,
 * and mostly the leaf has not changed in between.
 */
typedef struct WalkMemo
{
	XLogRecPtr	version;		/* page's LSN */
	zstid		lokey;			/* two pages can have the LSN of one record */
	zstid		row;			/* the run at offset begins with it */
	uint32		offset;			/* in the run stream */
} WalkMemo;

#define MEMO_SIZE	16
#define RANKS_SIZE	4

static WalkMemo memos[MEMO_SIZE];

/*
 * Like zstid_walk_skip() for a walk that was just begun over a page with the LSN version, which
 * stands for the page's run stream: a change of the stream that is not logged takes the page's LSN
 * away, which it may have from before the file was copied (SET TABLESPACE, wal_level = minimal).
 * InvalidXLogRecPtr: not known, or a page that was changed since it had its LSN.
 */
void
zstid_walk_seek(ZsTidWalk *walk, XLogRecPtr version, zstid row)
{
	const uint8 *stream = walk->ptr;
	zstid		lokey = walk->row;
	WalkMemo   *memo = &memos[(version ^ lokey) % MEMO_SIZE];

	if (XLogRecPtrIsInvalid(version) || stream == NULL)
	{
		zstid_walk_skip(walk, row);
		return;
	}
	if (memo->version == version && memo->lokey == lokey && memo->row <= row &&
		memo->offset <= walk->end - stream)
	{
		walk->ptr = stream + memo->offset;
		walk->row = memo->row;
		walk->skipped = true;
	}
	zstid_walk_skip(walk, row);
	memo->version = version;
	memo->lokey = lokey;
	memo->row = walk->row;
	memo->offset = walk->ptr - stream;
}

/*
 * How many rows of a slot come before a place in one version of a leaf: who updates many rows of a
 * leaf in their order asks again and again, a little further on each time.
 */
typedef struct RankMemo
{
	XLogRecPtr	version;
	zstid		lokey;
	int			slotno;
	uint32		offset;			/* in the run stream; a run begins there */
	uint64		count;			/* rows of the slot before */
} RankMemo;

static RankMemo ranks[RANKS_SIZE];

/*
 * A change that is logged at `to` has made another version of the leaf that begins with lokey: the
 * first kept bytes of its run stream are the same, and so are the slots that they name.  What was
 * remembered of these bytes holds for the new version.
 */
void
zstid_walk_carry(XLogRecPtr from, XLogRecPtr to, zstid lokey, uint32 kept)
{
	const WalkMemo *memo = &memos[(from ^ lokey) % MEMO_SIZE];

	if (XLogRecPtrIsInvalid(from) || XLogRecPtrIsInvalid(to))
		return;
	if (memo->version == from && memo->lokey == lokey && memo->offset <= kept)
	{
		WalkMemo	carried = *memo;

		carried.version = to;
		memos[(to ^ lokey) % MEMO_SIZE] = carried;
	}
	for (int i = 0; i < RANKS_SIZE; i++)
	{
		if (ranks[i].version == from && ranks[i].lokey == lokey && ranks[i].offset <= kept)
			ranks[i].version = to;
	}
}

/*
 * Rows of the slot number, no fixed one, in the runs from the beginning of the stream, where the
 * walk has just begun, to ptr.  version: see zstid_walk_seek().
 */
uint64
zstid_rows_before(const ZsTidWalk *start, XLogRecPtr version, const uint8 *ptr, int slotno)
{
	RankMemo   *memo = &ranks[slotno % RANKS_SIZE];
	uint32		offset = ptr - start->stream;
	uint64		count = 0;

	Assert(ptr >= start->stream && ptr <= start->end);
	if (XLogRecPtrIsInvalid(version))
		return zstid_count_rows(start->stream, ptr, slotno);
	if (memo->version == version && memo->lokey == start->lokey && memo->slotno == slotno &&
		memo->offset <= offset)
		count = memo->count + zstid_count_rows(start->stream + memo->offset, ptr, slotno);
	else
		count = zstid_count_rows(start->stream, ptr, slotno);
	*memo = (RankMemo) {version, start->lokey, slotno, offset, count};
	return count;
}

/*
 * Rows of the runs with the slot number, no fixed one, among those in [ptr, end), which begins with
 * a run.
 */
uint64
zstid_count_rows(const uint8 *ptr, const uint8 *end, int slotno)
{
	uint64		result = 0;

	Assert(slotno >= ZS_FIRST_REAL_SLOT);
	while (ptr < end)
	{
		uint64		count;
		uint64		other;

		RunWord		runs;

		if (slotno - ZS_FIRST_REAL_SLOT < ZS_RUN_FAR && end - ptr >= 8 && load_run_word(ptr, &runs))
		{
			uint64		differ = (runs.word ^ EACH_BYTE(ZS_RUN_REAL |
														(slotno - ZS_FIRST_REAL_SLOT)));
			uint64		equal = ~((differ & EACH_BYTE(0x7F)) + EACH_BYTE(0x7F)) & runs.heads;

			if (equal != 0)
				result += add_bytes(runs.word & spread_top_bits(equal << 8));
			ptr += runs.nbytes;
			continue;
		}
		ptr = get_run(ptr, end, &count, &other);
		if (ptr == NULL)
			break;
		if (other == (uint64) slotno)
			result += count;
	}
	return result;
}

/*
 * Sets marks at equal distances in a stream whose runs and size are in the header.
 */
void
zstid_marks_build(ZsTidLeafHeader *header, const uint8 *stream)
{
	const uint8 *ptr = stream;
	const uint8 *end = stream + header->stream_size;
	uint32		distance = header->stream_size / (ZS_TID_MARKS + 1) + 1;
	uint32		next = distance;
	uint64		row = 0;
	int			n = 0;

	memset(header->mark_row, 0, sizeof(header->mark_row));
	memset(header->mark_offset, 0, sizeof(header->mark_offset));

	/* in a short stream there is nothing to be spared */
	if (header->stream_size < 64)
		return;
	while (ptr != NULL && ptr < end && n < ZS_TID_MARKS && row <= PG_UINT32_MAX)
	{
		uint64		count;
		uint64		slotno;

		if (ptr - stream >= next)
		{
			header->mark_offset[n] = ptr - stream;
			header->mark_row[n++] = (uint32) row;
			next = (ptr - stream) + distance;
		}
		ptr = get_run(ptr, end, &count, &slotno);
		if (ptr != NULL)
			row += count;
	}
}
