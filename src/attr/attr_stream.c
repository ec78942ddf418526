/*-------------------------------------------------------------------------
 *
 * attr_stream.c
 *	  Look-ahead over the pages of an attribute's segments.
 *
 * A scan knows long before which pages it will need: those of the segments in
 * its row range, page by page.  The segment index pages list them, so a read
 * stream's callback walks along copies of those, far ahead of the reader, and
 * PostgreSQL reads the pages in large requests, asynchronously where it can.
 *
 *		index page   [seg 7][seg 8][seg 9] ...
 *							|	  '-- callback: next block to read
 *							'-- reader: next page wanted
 *
 * The stream delivers in its own order; the reader asks by segment and
 * position.  As long as both agree, a page costs one call.  When they do not:
 *
 *	- the stream is a little behind (the reader skipped some vectors): what it
 *	  delivers is dropped until it has caught up;
 *	- it is far behind: it starts again at the page wanted;
 *	- it is ahead (the reader went back, or a segment was replaced): the page
 *	  delivered waits, and the reader reads its own directly.
 *
 * So whatever the stream does, it never decides what is read: pages are
 * verified by the reader, and a segment that the stream missed is merely slow.
 *
 * Of a segment that lies in the range only in part, the head is read, and the pages where the rows
 * should be if all rows take the same space.  Where the scan's filter leaves out stripes by their
 * zone maps, the pages of the others are read (attr_pick.c).
 *
 * Where all pages are in shared buffers there is nothing to read ahead, and for a few rows a read
 * stream takes longer to make than they do.  So there is none until a page is wanted that is in no
 * buffer; then it begins there.  It begins with small requests, since other pages may be in shared
 * buffers.  One whose last range was not begins the next range with large ones.
 *
 * The default flags of a read stream are right for interleaved columns: it
 * gives advice to the kernel where a run of blocks begins and leaves the rest
 * of the run to the kernel's own read-ahead.
 *
 * Locks: an index page's share lock inside the callback, for a copy.  Pins:
 * those of the read stream.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_stream.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/read_stream.h"
#include "utils/memutils.h"

#include "attr_internal.h"
#include "zs_attr_ahead.h"
#include "zs_io.h"
#include "zs_page.h"

/* Streams of a backend; each holds pins.  More columns are read directly. */
#define MAX_STREAMS			64

/* Pages delivered and not wanted, after which the stream starts again. */
#define MAX_SKIPPED			16

/* Pages of a segment that are read for its head and shared area. */
#define SEGMENT_START_PAGES	2

/* Pages read before and behind those where a part of a segment should be. */
#define MARGIN_PAGES		1

struct ZsAttrStream
{
	Relation	rel;
	AttrNumber	attno;
	BufferAccessStrategy strategy;
	int			flags;			/* of the read stream */
	MemoryContext context;
	ReadStream *stream;			/* NULL: all pages wanted so far were in buffers */
	ZsIoCounts *io_counts;		/* what it counts; NULL: nothing */
	uint64		seen_reads;		/* pages read when the stream began or was reset */
	bool		exhausted;		/* the stream has come to its end */
	bool		extended;		/* `end` grew, maybe too late for the stream */
	Buffer		pending;		/* delivered, not asked for yet */

	/* where the callback is */
	zstid		next;			/* segments from here on are still to come */
	zstid		end;
	const ZsRowRanges *ranges;	/* leads to what comes behind; NULL = nothing */
	uint64		number;			/* of the range that ends at `end` */
	ZsSegmentItem item;			/* segment that is being read */
	uint32		position;		/* its next page */
	uint32		first_page;		/* where the pages begin that are wanted beside the head ... */
	uint32		end_page;		/* ... and end */
	const ZsStripePicks *picks; /* what the scan leaves out; NULL: nothing */
	ZsPageRuns	wanted;			/* pages that are wanted, of those between */
	BlockNumber file_blocks;	/* file length seen last */

	/* its turn among other scans */
	ZsIoScan	io;
	zstid		scan_end;		/* the scan goes that far, in all its ranges */
	double		blocks_per_row;
	bool		index_valid;
	char	   *index;			/* copy of an index page */
};

static int	open_streams = 0;

/* ---- what to read next ------------------------------------------------- */

/*
 * First segment at or after stream->next in the copied index page; if there
 * is none, moves stream->next to the page's end.
 */
static bool
next_on_page(ZsAttrStream *stream, ZsSegmentItem *item)
{
	Page		page = (Page) stream->index;
	const ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems = zsattr_index_count(page);
	int			position = zsattr_index_position(items, nitems, stream->next);

	if (position > 0 && zsattr_item_covers(&items[position - 1], stream->next))
		position--;
	if (position < nitems)
	{
		*item = items[position];
		return true;
	}
	stream->next = ZsPageGetOpaque(page)->hikey;
	return false;
}

static bool
page_holds(const ZsAttrStream *stream, zstid row)
{
	const ZsPageOpaque *opaque;

	if (!stream->index_valid)
		return false;
	opaque = ZsPageGetOpaque((Page) stream->index);
	return opaque->lokey <= row && row < opaque->hikey;
}

/* Errors when the segment lies beyond the end of the file. */
static void
check_extent(ZsAttrStream *stream, const ZsSegmentItem *item)
{
	if (item->start + item->nblocks <= stream->file_blocks)
		return;
	stream->file_blocks = zspage_physical_blocks(stream->rel);
	if (item->start + item->nblocks > stream->file_blocks)
		zsbase_corrupted(stream->rel, item->start,
						 "Segment of attribute %d at row " UINT64_FORMAT " lies beyond the end of the file.",
						 stream->attno, item->first_row);
}

/* Blocks of the scan behind the segment that was found last, about. */
static double
blocks_to_come(const ZsAttrStream *stream)
{
	zstid		end = Max(stream->scan_end, stream->end);

	return end > stream->next ? (end - stream->next) * stream->blocks_per_row : 0;
}

/* The next segment is about to be read. */
static void
ask_for_turn(ZsAttrStream *stream)
{
	if (stream->io.volume >= 0)
		zsio_scan_ask(&stream->io, stream->item.nblocks,
					  stream->item.nblocks + blocks_to_come(stream));
}

/* All segments of the range were found: goes on with the range behind it. */
static bool
next_range(ZsAttrStream *stream)
{
	zstid		start;
	zstid		end;

	if (stream->ranges == NULL ||
		!stream->ranges->source(stream->ranges->arg, stream->number + 1, &start, &end))
		return false;
	Assert(start >= stream->end && end > start);
	stream->number++;
	/* a segment that began in the range before may reach into this one */
	stream->next = Max(stream->next, start);
	stream->end = end;
	return true;
}

/*
 * Moves to the next page of the segment that is wanted, from stream->position on; false if there is
 * none.
 */
static bool
next_page(ZsAttrStream *stream)
{
	uint32		page = stream->position;

	if (stream->wanted.n == 0 && page >= SEGMENT_START_PAGES && page < stream->first_page)
		page = stream->first_page;
	if (!zsattr_runs_seek(&stream->wanted, &page) || page >= stream->end_page)
		return false;
	stream->position = page;
	return true;
}

/*
 * Finds out which pages of the segment, whose rows from row on are the next, are wanted.  False:
 * none.
 */
static bool
pick_pages(ZsAttrStream *stream, zstid row)
{
	const ZsSegmentItem *item = &stream->item;

	stream->wanted.n = 0;
	if (stream->picks == NULL)
		return true;
	if (!zsattr_pick_pages(stream->rel, stream->attno, item, stream->picks,
						   Max(row, item->first_row), stream->next, stream->strategy,
						   &stream->wanted))
		return false;
	if (stream->wanted.n > 0)
	{
		stream->first_page = 0;
		stream->end_page = item->nblocks;
	}
	return true;
}

/*
 * The pages of item with rows of [row, stream->end) are the next ones to be read.  Where a part of
 * them was read before, that was what lies in front of row.
 */
static void
enter_segment(ZsAttrStream *stream, const ZsSegmentItem *item, zstid row)
{
	bool		again = stream->position > 0 && stream->item.stamp == item->stamp &&
		stream->item.start == item->start;
	uint64		before = row > item->first_row ? row - item->first_row : 0;
	uint64		until = Min(stream->end - item->first_row, item->nrows);
	uint32		page = before * item->nblocks / item->nrows;

	Assert(stream->end > item->first_row);
	stream->first_page = page > SEGMENT_START_PAGES + MARGIN_PAGES ? page - MARGIN_PAGES : 0;
	stream->end_page = item->nblocks;
	if (until < item->nrows)
		stream->end_page = Min(until * item->nblocks / item->nrows + 1 + MARGIN_PAGES,
							   item->nblocks);
	stream->item = *item;
	if (!again)
		stream->position = 0;
	else if (stream->position < stream->first_page)
		stream->position = stream->first_page;
	stream->next = item->first_row + until;
}

/* Makes the next segment of the range the one that is read. */
static bool
next_segment(ZsAttrStream *stream)
{
	for (;;)
	{
		ZsSegmentItem item;
		zstid		row;

		CHECK_FOR_INTERRUPTS();
		if (stream->next >= stream->end)
		{
			if (!next_range(stream))
				return false;
			continue;
		}

		if (!page_holds(stream, stream->next))
		{
			stream->index_valid = zsattr_index_copy(stream->rel, stream->attno, stream->next,
													(Page) stream->index);
			if (!stream->index_valid)
				return false;
		}
		if (!next_on_page(stream, &item))
			continue;
		if (item.first_row >= stream->end)
		{
			if (!next_range(stream))
				return false;
			continue;
		}
		check_extent(stream, &item);
		row = stream->next;
		enter_segment(stream, &item, row);
		if (!pick_pages(stream, row) || !next_page(stream))
			continue;
		ask_for_turn(stream);
		return true;
	}
	return false;
}

/* ReadStreamBlockNumberCB */
static BlockNumber
next_block(ReadStream *read_stream, void *callback_private_data, void *per_buffer_data)
{
	ZsAttrStream *stream = callback_private_data;

	if (!next_page(stream) && !next_segment(stream))
		return InvalidBlockNumber;
	Assert(stream->position < stream->end_page && stream->end_page <= stream->item.nblocks);
	zsattr_ahead_counts.asked++;
	return stream->item.start + stream->position++;
}

/* ---- life of a stream -------------------------------------------------- */

static void
count_closed(void *arg)
{
	ZsAttrStream *stream = arg;

	Assert(open_streams > 0);
	open_streams--;
	zsio_scan_close(&stream->io);
}

/* Begins the read stream, or begins it anew: from where the callback is. */
static void
begin_reading(ZsAttrStream *stream)
{
	uint64		reads = zsattr_ahead_pages_read();
	bool		cold = stream->stream != NULL && reads != stream->seen_reads;
	MemoryContext old;

	stream->seen_reads = reads;
	if (stream->stream != NULL && !cold)
	{
		read_stream_reset(stream->stream);
		return;
	}
	if (stream->stream != NULL)
		read_stream_end(stream->stream);
	stream->stream = NULL;
	old = MemoryContextSwitchTo(stream->context);
	if (stream->index == NULL)
		stream->index = palloc_aligned(BLCKSZ, MAXIMUM_ALIGNOF, 0);
	stream->stream = read_stream_begin_relation(stream->flags | (cold ? READ_STREAM_FULL : 0),
												stream->strategy, stream->rel, MAIN_FORKNUM,
												next_block, stream, 0);
	zs_stream_count_io(stream->stream, stream->io_counts);
	MemoryContextSwitchTo(old);
}

/*
 * With maintenance, maintenance_io_concurrency counts, and look-ahead does not begin slowly.  What
 * the stream does is added to io, which may be NULL and outlives it.  picks: NULL, or as for
 * zsattr_reader_picks().
 * The stream belongs to the current memory context; it counts as open until
 * that is reset, so that an error cannot leave the count wrong.
 */
ZsAttrStream *
zsattr_stream_begin(Relation rel, AttrNumber attno, bool maintenance,
					BufferAccessStrategy strategy, ZsIoCounts *io, const ZsStripePicks *picks)
{
	ZsAttrStream *stream;
	MemoryContextCallback *callback;

	if (!zs_enable_read_stream || open_streams >= MAX_STREAMS)
		return NULL;

	stream = palloc0_object(ZsAttrStream);
	stream->io.volume = -1;
	callback = palloc0_object(MemoryContextCallback);
	callback->func = count_closed;
	callback->arg = stream;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	open_streams++;
	zsattr_ahead_counts.streams++;

	stream->rel = rel;
	stream->attno = attno;
	stream->strategy = strategy;
	stream->io_counts = io;
	stream->picks = picks;
	/* who maintains a table reads all of what he says */
	stream->flags = maintenance ? READ_STREAM_MAINTENANCE | READ_STREAM_FULL : READ_STREAM_DEFAULT;
	stream->context = CurrentMemoryContext;
	stream->exhausted = true;
	stream->pending = InvalidBuffer;
	/* VACUUM has ranges that look-ahead has to come to */
	if (maintenance)
		begin_reading(stream);
	return stream;
}

/* Takes turns with other scans; scan_end as for zsattr_reader_take_turns(). */
void
zsattr_stream_take_turns(ZsAttrStream *stream, zstid scan_end)
{
	ZsTreeEntry entry;

	stream->scan_end = scan_end;
	if (stream->io.volume >= 0 || RelationUsesLocalBuffers(stream->rel))
		return;
	zsio_scan_open(&stream->io, stream->rel->rd_locator.spcOid);
	if (stream->io.volume < 0)
		return;
	zspage_tree_entry(stream->rel, ZsTreeOfAttr(stream->attno), &entry);
	stream->blocks_per_row = entry.nblocks / (double) Max(zspage_next_row(stream->rel), 1);
	zsio_scan_expect(&stream->io, blocks_to_come(stream));
}

static void
drop_pending(ZsAttrStream *stream)
{
	if (BufferIsValid(stream->pending))
		ReleaseBuffer(stream->pending);
	stream->pending = InvalidBuffer;
}

/*
 * Looks ahead over the segments of [start, end), and what ranges leads to, as
 * zsattr_reader_range() says.
 */
void
zsattr_stream_range(ZsAttrStream *stream, zstid start, zstid end, const ZsRowRanges *ranges)
{
	bool		goes_on = start == stream->end && end > start && stream->stream != NULL;

	/* look-ahead has come to this range: it may go on to others now that it ended for */
	if (ranges != NULL && ranges == stream->ranges && stream->number >= ranges->number &&
		!stream->exhausted && stream->stream != NULL)
	{
		stream->extended = true;
		return;
	}

	stream->ranges = ranges;
	stream->number = ranges == NULL ? 0 : ranges->number;
	/* keep what was read ahead */
	if (goes_on && !stream->exhausted)
	{
		stream->end = end;
		stream->extended = true;
		return;
	}

	drop_pending(stream);
	if (stream->stream != NULL)
		begin_reading(stream);
	stream->extended = false;
	stream->next = start;
	stream->end = end;
	stream->end_page = stream->position = 0;
	stream->wanted.n = 0;
	stream->index_valid = false;
	stream->exhausted = start >= end;
}

/* Ends the look-ahead and gives back its pins. */
void
zsattr_stream_end(ZsAttrStream *stream)
{
	drop_pending(stream);
	zsio_scan_close(&stream->io);
	if (stream->stream != NULL)
		read_stream_end(stream->stream);
	stream->stream = NULL;
}

/* ---- delivering -------------------------------------------------------- */

/* Does the pending page come before the one wanted? */
static bool
pending_is_behind(ZsAttrStream *stream, const ZsSegmentItem *item, uint32 position)
{
	BlockNumber blkno = BufferGetBlockNumber(stream->pending);
	Page		page = BufferGetPage(stream->pending);
	bool		behind;

	if (blkno - item->start < item->nblocks)
		return blkno < item->start + position;

	/* of another segment, or of none any more: those are of no use */
	LockBuffer(stream->pending, BUFFER_LOCK_SHARE);
	behind = zspage_verify(page, ZS_PAGE_SEGMENT, ZsTreeOfAttr(stream->attno),
						   NULL) != ZS_PAGE_OK ||
		ZsPageGetOpaque(page)->lokey <= item->first_row;
	LockBuffer(stream->pending, BUFFER_LOCK_UNLOCK);
	return behind;
}

/* Lets the stream begin, or go on, with page `position` of item. */
static void
restart_at(ZsAttrStream *stream, const ZsSegmentItem *item, uint32 position)
{
	Assert(item->first_row < stream->end);
	if (stream->stream == NULL)
		begin_reading(stream);
	else
	{
		zsattr_ahead_counts.restarts++;
		drop_pending(stream);
		read_stream_reset(stream->stream);
	}
	check_extent(stream, item);
	/* it may have been in a range that the reader has not come to */
	if (stream->ranges != NULL && stream->number != stream->ranges->number)
	{
		zstid		start;

		stream->number = stream->ranges->number;
		(void) stream->ranges->source(stream->ranges->arg, stream->number, &start, &stream->end);
	}
	enter_segment(stream, item, item->first_row);
	stream->position = position;
	if (!pick_pages(stream, item->first_row))
		stream->end_page = position + 1;
	stream->end_page = Max(stream->end_page, position + 1);
}

/*
 * Is there no read stream, and need not be one, for a page of a segment in the range?  Else there
 * is one from now on.
 */
static bool
needs_no_stream(ZsAttrStream *stream, const ZsSegmentItem *item, uint32 position)
{
	BlockNumber blkno = item->start + position;

	if (stream->stream != NULL)
		return false;
	if (item->first_row >= stream->end || !zspage_exists(stream->rel, blkno))
		return true;
	/* turns are asked for segment by segment, wherever pages are */
	if (stream->io.volume < 0 &&
		BufferIsValid(PrefetchBuffer(stream->rel, MAIN_FORKNUM, blkno).recent_buffer))
		return true;
	restart_at(stream, item, position);
	ask_for_turn(stream);
	return false;
}

/*
 * Page `position` of the segment, pinned, when the stream has it at hand or
 * delivers it next; InvalidBuffer when the caller has to read it himself.
 */
Buffer
zsattr_stream_page(ZsAttrStream *stream, const ZsSegmentItem *item, uint32 position)
{
	Assert(position < item->nblocks);

	if (needs_no_stream(stream, item, position))
		return InvalidBuffer;
	for (int skipped = 0; !stream->exhausted;)
	{
		if (!BufferIsValid(stream->pending))
			stream->pending = read_stream_next_buffer(stream->stream, NULL);
		if (!BufferIsValid(stream->pending))
		{
			stream->exhausted = !stream->extended;
			stream->extended = false;
			begin_reading(stream);
			continue;
		}
		if (likely(BufferGetBlockNumber(stream->pending) == item->start + position))
		{
			Buffer		buf = stream->pending;

			stream->pending = InvalidBuffer;
			zsattr_ahead_counts.used++;
			return buf;
		}
		if (!pending_is_behind(stream, item, position))
			break;
		if (++skipped <= MAX_SKIPPED)
			drop_pending(stream);
		else if (item->first_row < stream->end)
		{
			restart_at(stream, item, position);
			skipped = 0;
		}
		else
		{
			drop_pending(stream);
			stream->exhausted = true;
		}
	}
	zsattr_ahead_counts.missed++;
	return InvalidBuffer;
}
