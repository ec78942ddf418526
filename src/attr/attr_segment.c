/*-------------------------------------------------------------------------
 *
 * attr_segment.c
 *	  The segment that a reader has open, and its window on the payload.
 *
 * The window is a copy of adjacent payload bytes that slides over the segment:
 *
 *			  segment's pages   0   1   2   3   4   5   6   7
 *			  window                    [-----------]
 *			  vector wanted                       [-----]
 *
 * For a scan it holds whole pages and keeps those before, since the end of one vector and the start
 * of the next share a page; it moves only when it is full.  So each page is copied once, and
 * vectors are decoded where they lie.  For a lookup it holds the bytes of one vector.  For the
 * first lookup in a stripe it holds nothing that later calls may use: only the bytes that the value
 * takes are copied to their places.
 *
 * Copies get stale.  An item that is missing in the copied index page is
 * looked up in the tree before it counts as missing.  A segment whose pages
 * turn out to be something else is looked up again; when the tree still says
 * the same, the file is corrupt.
 *
 * Locks: none on entry and return.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_segment.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"

/* Pages that a window has room for, unless one vector needs more. */
#define SCAN_WINDOW_PAGES	8
#define VALUE_WINDOW_PAGES	2

/* First bytes of a vector that are copied for one value: they mostly say where it is. */
#define VALUE_HEAD_BYTES	896

/* A segment that keeps being replaced while we try to read it. */
#define MAX_RETRIES			100

/*
 * Error (data corrupted): what is wrong with the segment, which reason says, as a part of a
 * sentence.
 */
void
zsattr_segment_corrupted(ZsAttrReader *reader, const ZsSegmentItem *item, const char *reason)
{
	zsbase_corrupted(reader->rel, item->start,
					 "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
					 reader->attno, item->first_row, reason);
}

/* Closes the open segment, if any. */
void
zsattr_segment_close(ZsAttrReader *reader)
{
	ZsSegmentHead *head = reader->head;

	reader->head = NULL;
	reader->window_len = 0;
	reader->vec_stripe = ZS_INVALID_ROW;
	reader->value_row = ZS_INVALID_ROW;
	if (head != NULL)
		zsattr_head_release(head);
}

/* ---- the window -------------------------------------------------------- */

/*
 * Makes room for payload bytes [start, end); those that are there stay,
 * unless the window has to move.
 */
static void
move_window(ZsAttrReader *reader, const ZsSegmentItem *item, bool scan, uint32 start, uint32 end)
{
	ZsReaderSpace *space = reader->space;
	uint32		keep;

	if (start < reader->window_start || start > reader->window_start + reader->window_len)
		reader->window_len = 0;
	if (reader->window_len == 0)
		reader->window_start = start;
	if (end - reader->window_start <= space->window_size)
		return;

	keep = reader->window_len - (start - reader->window_start);
	if (end - start > space->window_size)
	{
		uint32		usual = (scan ? SCAN_WINDOW_PAGES : VALUE_WINDOW_PAGES) * ZS_PAGE_CAPACITY;
		uint32		size = Max(end - start, Min(usual, item->payload_size));
		uint8	   *window = MemoryContextAllocHuge(space->context, size);

		if (space->window != NULL)
		{
			memcpy(window, space->window + (start - reader->window_start), keep);
			pfree(space->window);
		}
		space->window = window;
		space->window_size = size;
	}
	else
		memmove(space->window, space->window + (start - reader->window_start), keep);
	reader->window_start = start;
	reader->window_len = keep;
}

/*
 * Copies payload bytes [start, end), all on one page, behind those in the
 * window.
 */
static bool
extend_window(ZsAttrReader *reader, const ZsSegmentItem *item, uint32 start, uint32 end)
{
	uint32		position = start / ZS_PAGE_CAPACITY;
	uint32		from = start % ZS_PAGE_CAPACITY;
	uint32		to = from + (end - start);
	uint8	   *dst = reader->space->window + reader->window_len;
	bool		found;

	Assert(start == reader->window_start + reader->window_len);
	Assert(reader->window_len + (end - start) <= reader->space->window_size);
	CHECK_FOR_INTERRUPTS();

	if (reader->stream != NULL && !zsattr_item_is_uniform(item))
	{
		Buffer		buf = zsattr_stream_page(reader->stream, item, position);

		if (BufferIsValid(buf))
		{
			found = zsattr_page_copy(reader->rel, buf, reader->treeno, item, position,
									 from, to, dst);
			ReleaseBuffer(buf);
			reader->window_len += found ? end - start : 0;
			return found;
		}
	}
	found = zsattr_page_read(reader->rel, reader->treeno, item, position, from, to,
							 reader->strategy, dst);
	reader->window_len += found ? end - start : 0;
	return found;
}

/*
 * Payload bytes [offset, offset + len) of the segment that the window is on,
 * contiguous; NULL when a page turned out to belong to something else.  Valid
 * until the next call.
 */
static const uint8 *
payload_bytes(ZsAttrReader *reader, const ZsSegmentItem *item, bool scan,
			  uint32 offset, uint32 len)
{
	uint32		start = offset;
	uint32		end = offset + len;

	Assert(len > 0 && (uint64) offset + len <= item->payload_size);

	if (start < reader->window_start || end > reader->window_start + reader->window_len)
	{
		if (scan)
		{
			start -= start % ZS_PAGE_CAPACITY;
			end = (uint32) Min((uint64) item->payload_size,
							   ((uint64) end + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY *
							   ZS_PAGE_CAPACITY);
		}
		move_window(reader, item, scan, start, end);
		for (;;)
		{
			uint32		next = reader->window_start + reader->window_len;

			if (next >= end)
				break;
			if (!extend_window(reader, item, next,
							   Min(end, next - next % ZS_PAGE_CAPACITY + ZS_PAGE_CAPACITY)))
				return NULL;
		}
	}
	return reader->space->window + (offset - reader->window_start);
}

/* ---- opening ----------------------------------------------------------- */

/*
 * Reads and parses item's head into the reader's own one.  False when its
 * first page is gone.
 */
static bool
read_head(ZsAttrReader *reader, const ZsSegmentItem *item, bool scan)
{
	uint32		len = Min(zsattr_page_length(item, 0), (uint32) ZS_SEGMENT_HEAD_MAX);
	ZsSegmentHead *head = &reader->space->own;
	const uint8 *bytes;
	const char *error;

	zscodec_shared_free(&head->shared);
	head->shared_open = false;
	head->item = *item;

	bytes = payload_bytes(reader, item, scan, 0, len);
	if (bytes == NULL)
		return false;
	zsattr_refuse_newer(reader->rel, bytes, len);
	error = zscodec_segment_open(bytes, len, &head->info);
	if (error == NULL)
		error = zsattr_head_check(head, &reader->kind);
	if (error != NULL)
		zsattr_segment_corrupted(reader, item, error);
	return true;
}

/* Makes item's segment the open one.  False when its first page is gone. */
static bool
open_segment(ZsAttrReader *reader, const ZsSegmentItem *item, bool scan)
{
	bool		use_cache = !scan && zs_enable_fetch_cache;
	ZsSegmentHead *head = NULL;

	zsattr_segment_close(reader);
	if (use_cache)
		head = zsattr_head_lookup(reader->rel, reader->treeno, item);
	if (head == NULL)
	{
		if (!read_head(reader, item, scan))
			return false;
		head = use_cache ? zsattr_head_enter(reader->rel, reader->treeno, &reader->space->own) :
			&reader->space->own;
	}
	reader->head = head;
	return true;
}

/*
 * Finds the item of the segment that covers row.  A scan goes by way of a
 * copied index page, which later calls find their items in; `fresh` says not
 * to trust the one that is there.
 */
static bool
locate_segment(ZsAttrReader *reader, zstid row, bool scan, bool fresh, ZsSegmentItem *item)
{
	ZsReaderSpace *space = reader->space;

	for (bool copy = scan;; copy = false)
	{
		if (reader->index_valid && !fresh)
		{
			Page		page = (Page) space->index;
			ZsSegmentItem *items = zsattr_index_items(page);
			int			position = zsattr_index_position(items, zsattr_index_count(page), row);

			if (position > 0 && zsattr_item_covers(&items[position - 1], row))
			{
				*item = items[position - 1];
				return true;
			}
		}
		if (!copy)
			break;

		if (space->index == NULL)
			space->index = MemoryContextAllocAligned(space->context, BLCKSZ, MAXIMUM_ALIGNOF, 0);
		reader->index_valid = false;
		reader->index_valid = zsattr_index_copy(reader->rel, reader->attno, row,
												(Page) space->index);
		fresh = false;
	}

	/* also finds a segment that begins on the page to the left */
	return zsattr_find_segment(reader->rel, reader->attno, row, true, item);
}

/*
 * Opens the segment that covers row; NULL if there is none.  *gone (may be
 * NULL) is a segment whose pages turned out to be something else.
 */
static ZsSegmentHead *
load_segment(ZsAttrReader *reader, zstid row, bool scan, const ZsSegmentItem *gone)
{
	ZsSegmentItem item;
	ZsSegmentItem previous = {0};

	if (gone != NULL)
		previous = *gone;
	else if (!scan && zs_enable_fetch_cache && (reader->flags & ZS_READER_KEEP) == 0)
	{
		ZsSegmentHead *head = zsattr_head_find(reader->rel, reader->treeno, row);

		if (head != NULL)
		{
			zsattr_segment_close(reader);
			reader->head = head;
			reader->counts->segments++;
			return head;
		}
	}
	for (int tries = 0; tries < MAX_RETRIES; tries++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!locate_segment(reader, row, scan, previous.nblocks > 0, &item))
		{
			zsattr_segment_close(reader);
			return NULL;
		}
		if (previous.nblocks > 0 && item.start == previous.start && item.stamp == previous.stamp)
			zsattr_segment_corrupted(reader, &item, "a page does not carry the segment's stamp");
		if (open_segment(reader, &item, scan))
		{
			reader->counts->segments++;
			return reader->head;
		}
		previous = item;
	}
	zsattr_segment_corrupted(reader, &item, "the segment is replaced again and again");
}

/* zsattr_segment_find() for a row that the open segment does not cover. */
ZsSegmentHead *
zsattr_segment_load(ZsAttrReader *reader, zstid row, bool scan)
{
	return load_segment(reader, row, scan && (reader->flags & ZS_READER_KEEP) == 0, NULL);
}

/*
 * The pages of the open segment are gone: opens what took its place for row,
 * if anything did.
 */
ZsSegmentHead *
zsattr_segment_reload(ZsAttrReader *reader, zstid row, bool scan)
{
	ZsSegmentItem gone = reader->head->item;

	if (reader->head->cached)
		zsattr_head_gone(reader->head);
	zsattr_segment_close(reader);
	return load_segment(reader, row, scan && (reader->flags & ZS_READER_KEEP) == 0, &gone);
}

/* ---- vectors ----------------------------------------------------------- */

/* Parses the shared area, once per head and only when a vector needs it. */
static bool
open_shared(ZsAttrReader *reader, ZsSegmentHead *head, bool scan)
{
	static uint64 last_serial = 0;
	const ZsSegmentInfo *info = &head->info;
	const uint8 *bytes;
	const char *error;

	if (info->shared_len == 0)
		zsattr_segment_corrupted(reader, &head->item, "shared area is missing");
	bytes = payload_bytes(reader, &head->item, scan, info->shared_off, info->shared_len);
	if (bytes == NULL)
		return false;
	error = zscodec_shared_open(info, bytes, info->shared_len, &head->shared);
	if (error != NULL)
		zsattr_segment_corrupted(reader, &head->item, error);
	head->shared_open = true;
	head->shared_serial = ++last_serial;
	head->shared_size = 0;
	zsattr_head_grown(head);
	return true;
}

/*
 * Copies payload bytes [start, end) to dst; false when a page turned out to belong to something
 * else.  *buf is the page of the call before, pinned, or InvalidBuffer; then it is that of the last
 * byte.
 */
static bool
copy_bytes(ZsAttrReader *reader, const ZsSegmentItem *item, uint32 start, uint32 end, Buffer *buf,
		   uint8 *dst)
{
	while (start < end)
	{
		uint32		position = start / ZS_PAGE_CAPACITY;
		uint32		stop = Min(end, (position + 1) * ZS_PAGE_CAPACITY);

		CHECK_FOR_INTERRUPTS();
		if (!BufferIsValid(*buf) || BufferGetBlockNumber(*buf) != item->start + position)
		{
			if (BufferIsValid(*buf))
				ReleaseBuffer(*buf);
			*buf = zsattr_page_pin(reader->rel, item, position, reader->strategy);
			if (!BufferIsValid(*buf))
				return false;
		}
		if (!zsattr_page_copy(reader->rel, *buf, reader->treeno, item, position,
							  start % ZS_PAGE_CAPACITY, stop - position * ZS_PAGE_CAPACITY, dst))
			return false;
		dst += stop - start;
		start = stop;
	}
	return true;
}

/*
 * The bytes of a vector that value idx needs, to their places in window: its head, and what that
 * leads to.
 */
static bool
copy_part(ZsAttrReader *reader, int vecno, uint32 idx, uint8 *window)
{
	ZsSegmentHead *head = reader->head;
	const ZsVectorInfo *vector = &head->info.vectors[vecno];
	Buffer		buf = InvalidBuffer;
	uint32		from;
	uint32		to;
	bool		found;

	found = copy_bytes(reader, &head->item, vector->off, vector->off + VALUE_HEAD_BYTES, &buf,
					   window);
	if (found)
	{
		if (!zscodec_vector_part(&head->info, vecno, window, VALUE_HEAD_BYTES, idx, &from, &to))
		{
			from = VALUE_HEAD_BYTES;
			to = vector->len;
		}
		found = copy_bytes(reader, &head->item, vector->off + from, vector->off + to, &buf,
						   window + from);
	}
	if (BufferIsValid(buf))
		ReleaseBuffer(buf);
	return found;
}

/*
 * As zsattr_segment_vector(), but only those bytes are right that decoding row idx of the vector
 * takes.
 */
bool
zsattr_segment_value(ZsAttrReader *reader, int vecno, uint32 idx, const uint8 **bytes)
{
	ZsSegmentHead *head = reader->head;
	const ZsVectorInfo *vector = &head->info.vectors[vecno];
	uint32		start = vector->off;
	uint8	   *window;

	Assert(vecno < (int) head->info.nvectors);

	if (!head->cached || vector->len <= 2 * VALUE_HEAD_BYTES ||
		(start >= reader->window_start &&
		 start + vector->len <= reader->window_start + reader->window_len))
		return zsattr_segment_vector(reader, vecno, bytes);

	*bytes = NULL;
	if (vector->needs_shared && !head->shared_open && !open_shared(reader, head, false))
		return false;
	reader->window_len = 0;
	move_window(reader, &head->item, false, start, start + vector->len);
	window = reader->space->window;
#ifdef USE_ASSERT_CHECKING
	memset(window, 0x7F, vector->len);
#endif
	if (!copy_part(reader, vecno, idx, window))
		return false;
	*bytes = window;
	return true;
}

/*
 * Encoded bytes of a vector of the open segment (NULL when it is all null),
 * after the shared area was opened if the vector needs it.  False when pages
 * are gone.
 */
bool
zsattr_segment_vector(ZsAttrReader *reader, int vecno, const uint8 **bytes)
{
	ZsSegmentHead *head = reader->head;
	const ZsVectorInfo *vector = &head->info.vectors[vecno];
	bool		scan = !head->cached;

	Assert(vecno < (int) head->info.nvectors);

	*bytes = NULL;
	if (vector->needs_shared && !head->shared_open && !open_shared(reader, head, scan))
		return false;
	if (vector->len == 0)
		return true;
	*bytes = payload_bytes(reader, &head->item, scan, vector->off, vector->len);
	return *bytes != NULL;
}
