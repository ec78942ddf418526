/*-------------------------------------------------------------------------
 *
 * attr_pick.c
 *	  Which pages of a segment hold the stripes that a scan picks?
 *
 * The filter of a scan leaves out vectors by their zone maps.  A filter's column tells which
 * stripes, and other columns have the same rows in other places: the head of a column's own segment
 * says where.  That is read before the rest of the segment is, which takes the time of a request,
 * so it is done where it saves some pages.
 *
 * Pages between two that are wanted cost less than a request of their own if they are few.
 *
 * Nothing depends on the answer but what is read ahead.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_pick.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "attr_internal.h"

/* A head is looked at where so many pages may be left out. */
#define MIN_LEFT_OUT	4

/* So many unwanted pages between two that are wanted are read with them. */
#define MAX_GAP			1

/*
 * The stripes of the segment that may be asked for, of the rows [from, until), which are some of
 * its own: a bit for each, the lowest one is its first.
 */
static uint64
pick_stripes(const ZsSegmentItem *item, const ZsStripePicks *picks, zstid from, zstid until)
{
	uint32		first = (uint32) ((from - item->first_row) / ZS_VECTOR_ROWS);
	uint32		last = (uint32) ((until - 1 - item->first_row) / ZS_VECTOR_ROWS);
	uint64		some = (PG_UINT64_MAX >> (63 - (last - first))) << first;

	Assert(from >= item->first_row && from < until && until <= item->first_row + item->nrows);
	Assert(last < ZS_SEGMENT_VECTORS);
	return picks->pick(picks->arg, item->first_row, item->nrows) & some;
}

/* Adds payload bytes [off, off + len); false if they do not lie behind the others. */
static bool
add_bytes(ZsPageRuns *runs, uint32 off, uint32 len)
{
	uint32		from = off / ZS_PAGE_CAPACITY;
	uint32		to = (off + len - 1) / ZS_PAGE_CAPACITY + 1;

	Assert(len > 0);
	if (runs->n > 0)
	{
		ZsPageRun  *last = &runs->runs[runs->n - 1];

		if (from < last->from)
			return false;
		if (from <= last->to + MAX_GAP)
		{
			last->to = Max(last->to, to);
			return true;
		}
	}
	Assert(runs->n < lengthof(runs->runs));
	runs->runs[runs->n++] = (ZsPageRun) {from, to};
	return true;
}

/* The segment's head, parsed; false if it is not what it should be, which is for readers to say. */
static bool
read_head(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
		  BufferAccessStrategy strategy, ZsSegmentInfo *info)
{
	uint32		len = Min(zsattr_page_length(item, 0), (uint32) ZS_SEGMENT_HEAD_MAX);
	uint8		bytes[ZS_SEGMENT_HEAD_MAX];

	return zsattr_page_read(rel, ZsTreeOfAttr(attno), item, 0, 0, len, strategy, bytes) &&
		zscodec_segment_open(bytes, len, info) == NULL && info->nrows == item->nrows &&
		info->stored_size == item->payload_size;
}

/* Adds the pages of the segment's head, and of the stripes; false if they make no sense. */
static bool
add_pages(ZsPageRuns *runs, const ZsSegmentInfo *info, uint64 stripes)
{
	uint32		start = info->head_len;

	for (uint32 i = 0; i < info->nvectors; i++)
	{
		if ((stripes >> i & 1) != 0 && info->vectors[i].needs_shared)
			start = Max(start, info->shared_off + info->shared_len);
	}
	if (!add_bytes(runs, 0, start))
		return false;
	for (uint32 i = 0; i < info->nvectors; i++)
	{
		const ZsVectorInfo *vector = &info->vectors[i];

		if ((stripes >> i & 1) != 0 && vector->len > 0 &&
			!add_bytes(runs, vector->off, vector->len))
			return false;
	}
	return true;
}

/*
 * The pages of the segment with its head and the stripes that are picked, of the rows
 * [from, until), which are some of its own.  False: no stripe is.  Takes a page's share lock for a
 * copy of the head.
 */
bool
zsattr_pick_pages(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
				  const ZsStripePicks *picks, zstid from, zstid until,
				  BufferAccessStrategy strategy, ZsPageRuns *runs)
{
	uint64		stripes = pick_stripes(item, picks, from, until);
	uint32		nvectors = (item->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS;
	uint32		nleft = nvectors - (uint32) pg_popcount64(stripes);
	ZsSegmentInfo info;

	runs->n = runs->at = 0;
	if (stripes == 0)
		return false;
	if ((uint64) item->nblocks * nleft >= (uint64) MIN_LEFT_OUT * nvectors &&
		read_head(rel, attno, item, strategy, &info) && !add_pages(runs, &info, stripes))
		runs->n = 0;
	return true;
}

/* Moves *page to the next one of the runs, from itself on; false if there is none. */
bool
zsattr_runs_seek(ZsPageRuns *runs, uint32 *page)
{
	if (runs->n == 0)
		return true;
	while (runs->at < runs->n && runs->runs[runs->at].to <= *page)
		runs->at++;
	if (runs->at == runs->n)
		return false;
	*page = Max(*page, runs->runs[runs->at].from);
	return true;
}
