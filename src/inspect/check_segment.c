/*-------------------------------------------------------------------------
 *
 * check_segment.c
 *	  zs_check(): segment index pages and the pages of segments.
 *
 * zsattr_index_page_check() checks an index page for itself.  Here segments
 * are compared across pages, and each with the run of pages that it points
 * to: every page must carry the segment's stamp, its own position and the
 * segment's rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_segment.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "check_internal.h"
#include "zs_attr_ahead.h"

/*
 * Pages that are going to be read: those of an index page's segments, in order.  The kernel is told
 * of them, as many as maintenance_io_concurrency says for the tablespace; nothing is read that way
 * that could raise an error.
 */
typedef struct PagesAhead
{
	const ZsSegmentItem *items;
	int			nitems;
	int			most;			/* as many are told of */
	BlockNumber nblocks;		/* of the file */
	int			item;			/* the next page to tell of */
	uint32		position;		/* ... in it */
	int			npages;			/* told of, and not read yet */
} PagesAhead;

/* A run that is being read. */
typedef struct RunCheck
{
	PagesAhead *ahead;
	uint16		treeno;
	const ZsSegmentItem *item;
	uint32		position;		/* page that is read next */
	uint32		nbroken;
	uint8	   *payload;
} RunCheck;

/* What is wrong with page `position` of the segment; NULL = nothing. */
static const char *
check_page(const RunCheck *run, Page page)
{
	const ZsSegmentItem *item = run->item;
	uint32		start = run->position * (uint32) ZS_PAGE_CAPACITY;
	uint32		len = Min((uint32) ZS_PAGE_CAPACITY, item->payload_size - start);
	BlockNumber right = run->position + 1 < item->nblocks ? item->start + run->position + 1 : 0;
	const ZsPageOpaque *opaque;
	const char *reason;

	Assert(run->position < item->nblocks && start < item->payload_size);
	if (zspage_verify(page, ZS_PAGE_SEGMENT, run->treeno, &reason) != ZS_PAGE_OK)
		return reason;
	opaque = ZsPageGetOpaque(page);
	if (opaque->stamp != item->stamp)
		return "page belongs to another segment";
	if (opaque->position != run->position || opaque->right != right)
		return "page has another place in the segment";
	if (opaque->lokey != item->first_row || opaque->hikey != item->first_row + item->nrows)
		return "page has another row range than its segment";
	if (opaque->level != 0 || opaque->flags != 0 || opaque->unused != 0)
		return "page has unknown flags or level";
	if (((PageHeader) page)->pd_lower != MAXALIGN(SizeOfPageHeaderData) + len)
		return "page has another payload length than its segment";
	return NULL;
}

/* Tells of pages to come. */
static void
look_ahead(const ZsCheck *check, PagesAhead *ahead)
{
	Assert(ahead->item <= ahead->nitems && ahead->npages >= 0);
	while (ahead->npages < ahead->most && ahead->item < ahead->nitems)
	{
		const ZsSegmentItem *item = &ahead->items[ahead->item];

		if (ahead->position >= item->nblocks)
		{
			ahead->item++;
			ahead->position = 0;
			continue;
		}
		/* an item may be damaged */
		if ((uint64) item->start + ahead->position < ahead->nblocks &&
			PrefetchBuffer(check->rel, MAIN_FORKNUM, item->start + ahead->position).initiated_io)
			zsattr_ahead_counts.wish_pages++;
		ahead->position++;
		ahead->npages++;
	}
}

/*
 * ZsCheckStep: reads pages from run->position on.  Stands on the broken page
 * when a page cannot be read.
 */
static void
read_run(ZsCheck *check, void *arg)
{
	RunCheck   *run = arg;
	const ZsSegmentItem *item = run->item;

	for (; run->position < item->nblocks; run->position++)
	{
		BlockNumber blkno = item->start + run->position;
		Buffer		buf;
		Page		page;
		const char *reason;

		look_ahead(check, run->ahead);
		run->ahead->npages -= run->ahead->npages > 0;
		buf = ReadBufferExtended(check->rel, MAIN_FORKNUM, blkno, RBM_NORMAL, check->strategy);
		page = BufferGetPage(buf);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		reason = check_page(run, page);
		if (reason == NULL)
			memcpy(run->payload + (Size) run->position * ZS_PAGE_CAPACITY,
				   PageGetContents(page),
				   ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData));
		UnlockReleaseBuffer(buf);
		if (reason != NULL)
		{
			run->nbroken++;
			zscheck_error(check, blkno, run->treeno,
						  "page %u of the segment at row " UINT64_FORMAT ": %s",
						  run->position, item->first_row, reason);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static void
check_segment(ZsCheck *check, uint16 treeno, const ZsSegmentItem *item, PagesAhead *ahead)
{
	RunCheck	run = {.ahead = ahead,.treeno = treeno,.item = item};

	Assert(treeno > ZS_TREE_ROW && item->nblocks > 0);
	/* a run that another one overlaps is still read: its pages tell whose they are */
	if (!zscheck_claim(check, treeno, item->start, item->nblocks, "segment") &&
		(uint64) item->start + item->nblocks > zspage_physical_blocks(check->rel))
	{
		ahead->npages -= Min(ahead->npages, (int) item->nblocks);
		return;
	}

	run.payload = MemoryContextAllocHuge(CurrentMemoryContext,
										 (Size) item->nblocks * ZS_PAGE_CAPACITY);
	while (run.position < item->nblocks)
	{
		char	   *error = zscheck_protect(check, read_run, &run);

		if (error == NULL)
			break;
		zscheck_error(check, item->start + run.position, treeno,
					  "page %u of the segment at row " UINT64_FORMAT " cannot be read: %s",
					  run.position, item->first_row, error);
		run.nbroken++;
		run.position++;
	}
	Assert(run.position >= item->nblocks);
	if (run.nbroken == 0)
		zscheck_payload(check, treeno, item, run.payload);
	pfree(run.payload);
}

/* A segment without pages; what is wrong with it is wrong with its item's page. */
static void
check_uniform(ZsCheck *check, uint16 treeno, const ZsSegmentItem *item, BlockNumber blkno)
{
	ZsSegmentItem placed = *item;
	uint8		payload[ZS_UNIFORM_PAYLOAD_MAX];

	Assert(item->nblocks == 0 && item->payload_size <= ZS_UNIFORM_PAYLOAD_MAX);
	if (zsattr_read_payload(check->rel, ZsAttrOfTree(treeno), item, 0, item->payload_size, payload))
	{
		placed.start = blkno;
		zscheck_payload(check, treeno, &placed, payload);
	}
}

/* *end: where the segments met so far end; 0 at first. */
void
zscheck_index_page(ZsCheck *check, uint16 treeno, BlockNumber blkno, Page page, zstid *end)
{
	const ZsSegmentItem *items = zsattr_index_items(page);
	int			nitems = zsattr_index_count(page);
	const char *reason = zsattr_index_page_check(page);
	PagesAhead	ahead = {
		.items = items,
		.nitems = nitems,
		.most = zs_enable_read_stream ? zsbase_io_concurrency(check->rel, true) : 0,
		.nblocks = zspage_physical_blocks(check->rel)
	};
	zstid		next_row = zspage_next_row(check->rel);

	if (reason != NULL)
	{
		zscheck_error(check, blkno, treeno, "segment index page: %s", reason);
		return;
	}
	for (int i = 0; i < nitems; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (items[i].first_row < *end)
			zscheck_error(check, blkno, treeno,
						  "segment at row " UINT64_FORMAT " begins before the one on the page to the left ends, at row " UINT64_FORMAT,
						  items[i].first_row, *end);
		if (items[i].first_row + items[i].nrows > TYPEALIGN64(ZS_STRIPE_ROWS, next_row))
			zscheck_error(check, blkno, treeno,
						  "segment at row " UINT64_FORMAT " has %u rows, the next row number is " UINT64_FORMAT,
						  items[i].first_row, items[i].nrows, next_row);
		*end = Max(*end, items[i].first_row + items[i].nrows);
		if (zsattr_item_is_uniform(&items[i]))
			check_uniform(check, treeno, &items[i], blkno);
		else
			check_segment(check, treeno, &items[i], &ahead);
	}
}
