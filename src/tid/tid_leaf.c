/*-------------------------------------------------------------------------
 *
 * tid_leaf.c
 *	  The bytes of a TID tree leaf: reading, writing, verifying.
 *
 *	  page header | ZsTidLeafHeader | slot 4 | slot 5 | ... | run stream | hole
 *
 * The stream is a sequence of runs, each a number of rows with the same slot; a byte or two are
 * enough for most (zs_format.h).  The runs cover the page's key range from lokey on without gaps;
 * rows behind the last run are unused.  Millions of rows with one history are one run.
 *
 * Rows that were updated have a successor each, and rows that one command updated one after the
 * other have successors with consecutive numbers.  So the slot has that of its first row, and a
 * row's own follows from how many rows of the slot come before it in the leaf: an UPDATE of rows
 * here and there is one slot, too.
 *
 * The header has up to ZS_TID_MARKS marks, which say where in the stream some rows
 * are, so that a search walks over a part of it only.  They need not lie evenly: a
 * change moves them along, and sets them anew where the stream between two has grown long.
 *
 * Nothing here trusts the page: every function returns the reason when the
 * bytes are wrong, and reads no byte outside of the contents.  Invariants of a
 * sound leaf:
 *
 *	  1. nslots and stream_size add up to pd_lower
 *	  2. run lengths are at least 1, and their sum stays below hikey
 *	  3. slot numbers are fixed ones or below ZS_FIRST_REAL_SLOT + nslots
 *	  4. neighbouring runs have different slots; the last one is not unused
 *	  5. every slot is used by some run
 *	  6. marks ascend, and each says the row with which a run begins
 *	  7. a slot has an inserter, and no bytes that nobody knows
 *	  8. nruns of the header counts the runs
 *
 * zstid_leaf_read() checks all of them.  A walk (tid_walk.c) checks what it steps on: 2, 3 and 7
 * for the runs that it returns, 4 for them and their neighbours, 8 if it began with the first one.
 *
 * No locks, no memory allocation, no ereport: this file is also built into the
 * fuzzer, without a server.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_leaf.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tid_internal.h"

ZsTidLeaf	zstid_scratch;

/*
 * The run that holds row, which lies within the page's key range, and its slot
 * in the page (NULL for the fixed numbers).  Rows behind the last run are
 * one unused run up to the end of the range.  *near (may be NULL) is a walk that has not
 * passed the run before.  version: see zstid_walk_seek().
 */
const char *
zstid_leaf_find(Page page, XLogRecPtr version, zstid row, ZsTidRun *run, ZsVisSlot **slot,
				ZsTidWalk *near)
{
	ZsTidWalk	walk;
	const char *reason = zstid_walk_begin(&walk, page);

	if (reason != NULL)
		return reason;
	Assert(row >= walk.row && row < walk.limit);

	if (row > walk.row)
		zstid_walk_seek(&walk, version, row - 1);
	if (near != NULL)
		*near = walk;
	while (zstid_walk_next(&walk, run, &reason))
	{
		if (row < run->first + run->count)
		{
			Assert(row >= run->first);
			*slot = zstid_walk_slot(&walk, run->slotno);
			return NULL;
		}
	}
	run->first = walk.row;
	run->count = walk.limit - walk.row;
	run->slotno = ZS_SLOT_UNUSED;
	*slot = NULL;
	return reason;
}

/*
 * A copy of the slot of a row, which lies in run; its successor, if it has one, is the row's.  The
 * page was read without complaint.
 */
void
zstid_slot_of_row(Page page, const ZsTidRun *run, const ZsVisSlot *slot, zstid row, ZsVisSlot *copy)
{
	ZsTidWalk	walk;
	ZsTidRun	other;
	const char *reason;

	*copy = *slot;
	if (run->slotno < ZS_FIRST_REAL_SLOT || !zstid_slot_has_successors(slot) ||
		zstid_walk_begin(&walk, page) != NULL)
		return;
	if (run->first > walk.row)
		zstid_walk_skip(&walk, run->first - 1);
	while (walk.row < run->first && zstid_walk_next(&walk, &other, &reason))
		;
	copy->successor += zstid_count_rows(walk.stream, walk.ptr, run->slotno) + (row - run->first);

	/*
	 * only wrong bytes lead there, where no row is: no more can be said of them than of any other
	 * row
	 */
	if (unlikely((uint64) copy->successor >= ZS_MAX_ROW))
		copy->successor = ZS_MAX_ROW - 1;
}

/* Next mark of a leaf that is being read, whose walk is in front of a run. */
static bool
mark_fits(const ZsTidWalk *walk, int *next)
{
	const ZsTidLeafHeader *header = walk->header;
	uint32		at = walk->ptr - walk->stream;

	if (header == NULL || *next == ZS_TID_MARKS || header->mark_offset[*next] == 0 ||
		header->mark_offset[*next] > at)
		return true;
	(*next)++;
	return header->mark_offset[*next - 1] == at &&
		walk->lokey + header->mark_row[*next - 1] == walk->row;
}

/*
 * Reads a whole leaf and checks all invariants.
 */
const char *
zstid_leaf_read(Page page, ZsTidLeaf *leaf)
{
	ZsTidWalk	walk;
	const char *reason = zstid_walk_begin(&walk, page);
	bool		used[ZS_TID_MAX_SLOTS] = {false};
	int			lastslot = -1;
	int			nmarks = 0;

	leaf->nslots = leaf->nruns = 0;
	if (reason != NULL)
		return reason;
	leaf->lokey = walk.row;
	leaf->hikey = walk.limit;
	leaf->nslots = walk.nslots;
	if (walk.nslots > 0)
		memcpy(leaf->slots, walk.slots, walk.nslots * sizeof(ZsVisSlot));

	for (;;)
	{
		int			slotno;

		if (walk.ptr < walk.end && !mark_fits(&walk, &nmarks))
			return "mark is not where a run begins";
		if (!zstid_walk_next(&walk, &leaf->runs[leaf->nruns], &reason))
			break;
		slotno = leaf->runs[leaf->nruns].slotno;
		if (slotno == lastslot)
			return "neighbouring runs have the same slot";
		if (slotno >= ZS_FIRST_REAL_SLOT)
			used[slotno - ZS_FIRST_REAL_SLOT] = true;
		lastslot = slotno;
		leaf->nruns++;
		Assert(leaf->nruns <= (int) ZS_TID_MAX_RUNS);
	}
	if (reason != NULL)
		return reason;
	if (lastslot == ZS_SLOT_UNUSED)
		return "unused rows at the end";
	if (walk.header != NULL && nmarks < ZS_TID_MARKS && walk.header->mark_offset[nmarks] != 0)
		return "mark is behind the last run";
	for (int i = 0; i < leaf->nslots; i++)
	{
		if (!used[i])
			return "slot without rows";
	}
	return NULL;
}

/* Bytes of contents that the leaf takes on a page. */
Size
zstid_leaf_size(const ZsTidLeaf *leaf)
{
	Size		size = sizeof(ZsTidLeafHeader) + leaf->nslots * sizeof(ZsVisSlot);

	if (leaf->nruns == 0)
		return 0;
	for (int i = 0; i < leaf->nruns; i++)
		size += zstid_run_size(leaf->runs[i].count, leaf->runs[i].slotno);
	return size;
}

/*
 * Writes the leaf as contents of a page image whose header and special space
 * are left alone, except for pd_lower.  Returns false, and changes nothing, if
 * it does not fit.
 */
bool
zstid_leaf_write(const ZsTidLeaf *leaf, Page image)
{
	Size		size = zstid_leaf_size(leaf);
	char	   *contents = (char *) image + ZS_TID_CONTENTS_OFFSET;
	ZsTidLeafHeader *header = (ZsTidLeafHeader *) contents;
	uint8	   *stream;
	uint8	   *ptr;

	if (size > ZS_PAGE_CAPACITY)
		return false;
	if (leaf->nruns > 0)
	{
		Assert(leaf->nslots <= (int) ZS_TID_MAX_SLOTS);
		memcpy(contents + sizeof(ZsTidLeafHeader), leaf->slots,
			   leaf->nslots * sizeof(ZsVisSlot));
		stream = (uint8 *) contents + sizeof(ZsTidLeafHeader) +
			leaf->nslots * sizeof(ZsVisSlot);
		ptr = stream;
		for (int i = 0; i < leaf->nruns; i++)
			ptr = zstid_put_run(ptr, leaf->runs[i].count, leaf->runs[i].slotno);
		header->nslots = leaf->nslots;
		header->stream_size = ptr - stream;
		header->nruns = leaf->nruns;
		zstid_marks_build(header, stream);
		Assert(ptr == (uint8 *) contents + size);
	}
	((PageHeader) image)->pd_lower = ZS_TID_CONTENTS_OFFSET + size;
	return true;
}

/*
 * Copies the contents of an image onto the page; nothing can fail.  The first missing bytes of the
 * run stream are not in the image, since they stand on the page, where they belong.
 */
void
zstid_leaf_install(Page page, Page image, uint32 missing)
{
	int			pd_lower = ((PageHeader) image)->pd_lower;
	char	   *to = (char *) page + ZS_TID_CONTENTS_OFFSET;
	const char *from = (char *) image + ZS_TID_CONTENTS_OFFSET;
	Size		size = pd_lower - ZS_TID_CONTENTS_OFFSET;
	Size		copied = size;

	Assert(pd_lower >= (int) ZS_TID_CONTENTS_OFFSET);
	Assert(pd_lower <= ((PageHeader) page)->pd_special);
	if (missing > 0)
	{
		/* the header and the slots, and then what follows the gap */
		copied = sizeof(ZsTidLeafHeader) +
			((const ZsTidLeafHeader *) from)->nslots * sizeof(ZsVisSlot);
		Assert(((const ZsTidLeafHeader *) to)->nslots == ((const ZsTidLeafHeader *) from)->nslots);
		Assert(copied + missing <= size);
		memcpy(to + copied + missing, from + copied + missing, size - copied - missing);
	}
	memcpy(to, from, copied);
	((PageHeader) page)->pd_lower = pd_lower;
}

/*
 * Bytes by which the contents may grow.  Kept back is a byte for each run where a new slot's
 * number takes two bytes: the rows behind one that leaves its slot get another number (tid_edit.c).
 */
Size
zstid_leaf_free_space(Page page)
{
	int			pd_lower = Max(((PageHeader) page)->pd_lower, (int) ZS_TID_CONTENTS_OFFSET);
	const ZsTidLeafHeader *header = (const ZsTidLeafHeader *) ((char *) page +
															   ZS_TID_CONTENTS_OFFSET);
	Size		used = pd_lower - ZS_TID_CONTENTS_OFFSET;
	Size		kept;

	/* the first run brings the header with it */
	if (used == 0)
		return ZS_TID_MAX_STREAM;
	if (used >= ZS_PAGE_CAPACITY || header->stream_size >= ZS_TID_MAX_STREAM)
		return 0;
	kept = header->nslots + 2 > ZS_RUN_FAR ? header->nruns : 0;
	if (kept >= ZS_PAGE_CAPACITY - used)
		return 0;
	return Min(ZS_PAGE_CAPACITY - used - kept, (Size) (ZS_TID_MAX_STREAM - header->stream_size));
}
