/*-------------------------------------------------------------------------
 *
 * tid_splice.c
 *	  Changes of a few rows, done on the bytes of a leaf.
 *
 * A leaf may have thousands of runs, and writers of single rows must not
 * pay for all of them.  A change of rows that lie in one run concerns this
 * run and its neighbours:
 *
 *	  stream:   ... | before | run of the rows | behind | ...
 *	  becomes:  ... | before | left rest | changed rows | right rest | behind | ...
 *
 * where neighbours with equal slots merge.  The bytes of these runs are
 * written anew, what is left and right of them is copied.
 *
 * Where the slot has successors (tid_leaf.c), its first row may leave it, which then begins with
 * the next one's, and its last one.  One in the middle would change those of the rows behind it.
 *
 * The slot table keeps its order: the new slot is one that is there, or takes the place of
 * the one that the change leaves without rows, or is appended.  Whatever
 * does not fit this pattern (a slot goes and none comes, rows of several runs)
 * is left to tid_edit.c; which way is taken depends on the page and the change alone, as
 * replay needs it.
 *
 * What a change means is decided by tid_edit.c: either way rows must get the same histories.
 * fuzz/tid_leaf_fuzz.c compares the outcome with an array of rows.
 *
 * No locks, no memory allocation, no ereport.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_splice.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tid_internal.h"

/* Runs that are written anew. */
typedef struct Splice
{
	XLogRecPtr	version;		/* of the page; Invalid: not known */
	ZsTidWalk	start;			/* in front of the first run that was read */
	const uint8 *from;			/* bytes from here */
	zstid		from_row;		/* with which the run there begins */
	const uint8 *to;			/* to here are replaced */
	int			nread;			/* runs in them */
	ZsTidRun	before;			/* count = 0: none */
	ZsTidRun	own;			/* the run that holds the rows */
	ZsTidRun	behind;			/* count = 0: none */
	uint64		rank;			/* of the rows' first one among those of its slot, if that has
								 * successors */
} Splice;

/*
 * Finds the run that holds the change's rows, and its neighbours where the change touches
 * them.  Returns false if the rows are not all in one run, or the bytes are wrong.
 */
static bool
find_runs(Page page, const ZsTidChange *change, const ZsTidWalk *near, Splice *splice)
{
	ZsTidWalk	walk;
	ZsTidRun	run = {0};
	zstid		first = change->first;
	zstid		end = change->first + change->count;
	const char *reason = zstid_walk_begin(&walk, page);
	bool		found;

	if (reason != NULL || change->count == 0 || first < walk.row || first >= walk.limit ||
		change->count > walk.limit - first)
		return false;

	splice->start = walk;
	splice->before = splice->behind = (ZsTidRun) {0};
	splice->nread = 0;
	if (near != NULL)
		walk = *near;
	Assert(first >= walk.row);
	if (first > walk.row)
		zstid_walk_skip(&walk, first - 1);

	/* the first run that reaches the row before the first one */
	do
	{
		splice->from = walk.ptr;
		splice->from_row = walk.row;
		found = zstid_walk_next(&walk, &run, &reason);
	} while (found && run.first + run.count < first);

	if (found && run.first + run.count == first)
	{
		splice->before = run;
		splice->nread++;
		found = zstid_walk_next(&walk, &run, &reason);
	}
	if (found)
		splice->nread++;
	else
	{
		/* unused rows behind the last run */
		run.first = walk.row;
		run.count = walk.limit - walk.row;
		run.slotno = ZS_SLOT_UNUSED;
	}
	splice->own = run;
	Assert(reason != NULL || (first >= run.first && first < run.first + run.count));
	if (reason != NULL || end > run.first + run.count)
		return false;

	if (found && end == run.first + run.count &&
		zstid_walk_next(&walk, &splice->behind, &reason))
		splice->nread++;
	if (reason != NULL)
		return false;
	splice->to = walk.ptr;
	return reason == NULL;
}

/* Appends to the new runs, merging. */
static void
push_run(ZsTidRun *list, int *n, uint64 count, int slotno)
{
	if (count == 0)
		return;
	if (*n > 0 && list[*n - 1].slotno == slotno)
		list[*n - 1].count += count;
	else
	{
		list[*n].count = count;
		list[*n].slotno = slotno;
		(*n)++;
	}
}

/*
 * How many rows of a slot come before the rows that are changed, and behind them?  Of the run that
 * holds these, none.
 */
static uint64
rows_before(const Splice *splice, int slotno)
{
	return zstid_rows_before(&splice->start, splice->version, splice->from, slotno) +
		(splice->before.slotno == slotno ? splice->before.count : 0);
}

static uint64
rows_behind(const Splice *splice, int slotno)
{
	return zstid_count_rows(splice->to, splice->start.end, slotno) +
		(splice->behind.slotno == slotno ? splice->behind.count : 0);
}

/*
 * Index of the slot with these contents, or nslots.  A row with a successor can only be the last
 * one of a slot.
 */
static int
find_slot(const Splice *splice, const ZsVisSlot *slot, const ZsVisSlot *slots, int nslots)
{
	int			i;

	for (i = 0; i < nslots; i++)
	{
		int			slotno = ZS_FIRST_REAL_SLOT + i;

		/* most slots of a leaf are other transactions' */
		if (slots[i].xmin != slot->xmin || slots[i].xmax != slot->xmax ||
			!zstid_slots_alike(&slots[i], slot))
			continue;
		if (!zstid_slot_has_successors(slot))
			break;
		if (slotno != splice->own.slotno &&
			slot->successor - slots[i].successor == (int64) rows_before(splice, slotno) &&
			rows_behind(splice, slotno) == 0)
			break;
	}
	return i;
}

/*
 * Number for the new slot.  *nslots grows if it is appended; slots may be written.
 * Returns -1 if the slot table needs more than that.
 */
static int
place_slot(const Splice *splice, const ZsVisSlot *slot, bool old_is_lost,
		   ZsVisSlot *slots, int *nslots)
{
	int			i = find_slot(splice, slot, slots, *nslots);

	if (i < *nslots)
		return old_is_lost && i != splice->own.slotno - ZS_FIRST_REAL_SLOT ? -1 :
			ZS_FIRST_REAL_SLOT + i;
	if (old_is_lost)
	{
		slots[splice->own.slotno - ZS_FIRST_REAL_SLOT] = *slot;
		return splice->own.slotno;
	}
	if (*nslots == (int) ZS_TID_MAX_SLOTS)
		return -1;
	slots[*nslots] = *slot;
	return ZS_FIRST_REAL_SLOT + (*nslots)++;
}

/*
 * Puts a mark at an offset of the stream, with whose run the row begins (counted from the leaf's
 * first one), if the one before is far away: so marks follow a writer that goes through the leaf in
 * order, and need not be built anew.  If there are as many as there can be, the one goes that is
 * missed least.  n: how many marks there are.
 */
static void
add_mark(ZsTidLeafHeader *header, int n, uint32 offset, uint64 row)
{
	uint32		distance = Max(zstid_mark_distance(header->stream_size) / 2, 1);
	uint32		smallest = PG_UINT32_MAX;
	int			victim = 0;
	int			i = 0;

	Assert(n <= ZS_TID_MARKS);
	while (i < n && header->mark_offset[i] < offset)
		i++;
	if (offset - (i > 0 ? header->mark_offset[i - 1] : 0) < distance || row > PG_UINT32_MAX ||
		(i < n && header->mark_offset[i] == offset))
		return;
	for (int k = 0; n == ZS_TID_MARKS && k < n; k++)
	{
		uint32		before = k > 0 ? header->mark_offset[k - 1] : 0;
		uint32		behind = k < n - 1 ? header->mark_offset[k + 1] : header->stream_size;

		if (behind - before < smallest)
		{
			smallest = behind - before;
			victim = k;
		}
	}
	if (n == ZS_TID_MARKS)
	{
		n--;
		memmove(&header->mark_offset[victim], &header->mark_offset[victim + 1],
				(n - victim) * sizeof(header->mark_offset[0]));
		memmove(&header->mark_row[victim], &header->mark_row[victim + 1],
				(n - victim) * sizeof(header->mark_row[0]));
		if (victim < i)
			i--;
	}
	memmove(&header->mark_offset[i + 1], &header->mark_offset[i],
			(n - i) * sizeof(header->mark_offset[0]));
	memmove(&header->mark_row[i + 1], &header->mark_row[i],
			(n - i) * sizeof(header->mark_row[0]));
	header->mark_offset[i] = offset;
	header->mark_row[i] = (uint32) row;
}

/*
 * Moves the marks along: those in the bytes that are written anew go to the beginning of these.
 * Returns false if they lie too far from each other then.
 */
static bool
splice_marks(const Splice *splice, ZsTidLeafHeader *header)
{
	const ZsTidLeafHeader *old = splice->start.header;
	const uint8 *stream = splice->start.stream;
	uint32		from = splice->from - stream;
	uint32		to = splice->to - stream;
	int			growth = (int) header->stream_size - (int) (splice->start.end - stream);
	uint32		gap = 0;
	uint32		last = 0;
	int			n = 0;

	memset(header->mark_row, 0, sizeof(header->mark_row));
	memset(header->mark_offset, 0, sizeof(header->mark_offset));
	for (int i = 0; old != NULL && i < ZS_TID_MARKS && old->mark_offset[i] != 0; i++)
	{
		uint32		offset = old->mark_offset[i];
		uint32		row = old->mark_row[i];

		if (offset > from && offset < to)
		{
			offset = from;
			row = (uint32) (splice->from_row - splice->start.lokey);
		}
		else if (offset >= to)
			offset += growth;
		if (offset <= last)
			continue;
		header->mark_row[n] = row;
		header->mark_offset[n++] = offset;
		last = offset;
	}
	add_mark(header, n, from, splice->from_row - splice->start.lokey);
	last = 0;
	for (int i = 0; i < ZS_TID_MARKS && header->mark_offset[i] != 0; i++)
	{
		gap = Max(gap, header->mark_offset[i] - last);
		last = header->mark_offset[i];
	}
	gap = Max(gap, header->stream_size - last);
	return gap <= zstid_mark_distance(header->stream_size);
}

/*
 * Writes the contents after the change into image.  Returns false if the change needs
 * the general way.  *kept (may be NULL): see zstid_change_compute().
 */
static bool
splice_runs(const Splice *splice, const ZsTidChange *change, const ZsVisSlot *slot,
			int slotno, Page image, ZsTidKept *kept)
{
	char	   *contents = (char *) image + ZS_TID_CONTENTS_OFFSET;
	ZsTidLeafHeader *header = (ZsTidLeafHeader *) contents;
	ZsVisSlot  *slots = (ZsVisSlot *) (contents + sizeof(ZsTidLeafHeader));
	const ZsTidRun *own = &splice->own;
	const uint8 *stream = splice->start.stream;
	uint64		left = change->first - own->first;
	uint64		right = own->count - left - change->count;
	int			nslots = splice->start.nslots;
	uint32		old_nruns = 0;
	bool		old_is_lost;
	bool		is_first = false;	/* of a slot with successors, and not the only one */
	ZsTidRun	list[5];
	int			n = 0;
	uint8		bytes[5 * ZS_TID_RUN_BYTES];
	uint8	   *ptr = bytes;
	uint8	   *target;
	Size		size;
	bool		marks_fit;

	/* rows behind the last run are not stored */
	if (own->first + own->count == splice->start.limit && own->slotno == ZS_SLOT_UNUSED)
		right = 0;
	if (slotno == ZS_SLOT_UNUSED)
		return false;

	old_is_lost = own->slotno >= ZS_FIRST_REAL_SLOT && left == 0 && right == 0 &&
		rows_before(splice, own->slotno) == 0 && rows_behind(splice, own->slotno) == 0;
	if (own->slotno >= ZS_FIRST_REAL_SLOT && !old_is_lost &&
		zstid_slot_has_successors(&splice->start.slots[own->slotno - ZS_FIRST_REAL_SLOT]))
	{
		is_first = splice->rank == 0;
		if (!is_first && (right > 0 || rows_behind(splice, own->slotno) > 0))
			return false;
	}

	if (nslots > 0)
		memcpy(slots, splice->start.slots, nslots * sizeof(ZsVisSlot));
	if (is_first)
		slots[own->slotno - ZS_FIRST_REAL_SLOT].successor += change->count;
	if (slotno == ZS_SLOT_IN_TABLE)
		slotno = place_slot(splice, slot, old_is_lost, slots, &nslots);
	else if (old_is_lost)
		slotno = -1;
	if (slotno < 0)
		return false;

	push_run(list, &n, splice->before.count, splice->before.slotno);
	push_run(list, &n, left, own->slotno);
	push_run(list, &n, change->count, slotno);
	push_run(list, &n, right, own->slotno);
	push_run(list, &n, splice->behind.count, splice->behind.slotno);
	for (int i = 0; i < n; i++)
		ptr = zstid_put_run(ptr, list[i].count, list[i].slotno);

	size = (splice->from - stream) + (ptr - bytes) + (splice->start.end - splice->to);
	if (sizeof(ZsTidLeafHeader) + nslots * sizeof(ZsVisSlot) + size > ZS_PAGE_CAPACITY)
		return false;
	if (stream != NULL)
		old_nruns = ((const ZsTidLeafHeader *)
					 ((const char *) splice->start.slots - sizeof(ZsTidLeafHeader)))->nruns;

	header->nslots = nslots;
	header->stream_size = size;
	header->nruns = old_nruns - splice->nread + n;
	((PageHeader) image)->pd_lower = ZS_TID_CONTENTS_OFFSET + sizeof(ZsTidLeafHeader) +
		nslots * sizeof(ZsVisSlot) + size;

	marks_fit = splice_marks(splice, header);
	target = (uint8 *) (slots + nslots);
	if (kept != NULL)
	{
		kept->kept = splice->from - stream;
		kept->missing = marks_fit && nslots == splice->start.nslots ? kept->kept : 0;
	}
	if (splice->from > stream && (kept == NULL || kept->missing == 0))
		memcpy(target, stream, splice->from - stream);
	target += splice->from - stream;
	memcpy(target, bytes, ptr - bytes);
	target += ptr - bytes;
	if (splice->start.end > splice->to)
		memcpy(target, splice->to, splice->start.end - splice->to);
	if (!marks_fit)
		zstid_marks_build(header, (const uint8 *) (slots + nslots));
	return true;
}

/*
 * Computes the page after the change in image, of BLCKSZ bytes (header and
 * special space are not touched).  near (may be NULL): a walk over the page that is
 * in front of the run that reaches the row before the first one.  version: of the page, see
 * zstid_walk_seek().  *kept (may be NULL) is for zstid_walk_carry() and zstid_leaf_install();
 * without it the image is complete.  Returns NULL, or why it cannot be.
 */
const char *
zstid_change_compute(Page page, XLogRecPtr version, const ZsTidChange *change,
					 const ZsTidWalk *near, Page image, ZsTidKept *kept)
{
	Splice		splice;
	const char *reason;

	if (kept != NULL)
		*kept = (ZsTidKept) {0};
	splice.version = version;
	if (change->op != ZS_TID_REMOVE_DEAD && change->op != ZS_TID_RETIRE &&
		find_runs(page, change, near, &splice))
	{
		const ZsVisSlot *old = zstid_walk_slot(&splice.start, splice.own.slotno);
		ZsVisSlot	copy;
		ZsVisSlot	slot;
		int			slotno;

		if (old != NULL && zstid_slot_has_successors(old))
		{
			splice.rank = rows_before(&splice, splice.own.slotno) +
				(change->first - splice.own.first);
			copy = *old;
			copy.successor += splice.rank;
			old = &copy;
		}
		reason = zstid_edit_slot(change, splice.own.slotno, old, &slot, &slotno);
		if (reason != NULL)
			return reason;
		if (splice_runs(&splice, change, &slot, slotno, image, kept))
			return NULL;
		if (kept != NULL)
			*kept = (ZsTidKept) {0};
	}

	reason = zstid_leaf_read(page, &zstid_scratch);
	if (reason == NULL)
		reason = zstid_edit_apply(&zstid_scratch, change);
	if (reason == NULL && !zstid_leaf_write(&zstid_scratch, image))
		reason = "page is full";
	return reason;
}
