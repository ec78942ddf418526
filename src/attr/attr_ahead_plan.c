/*-------------------------------------------------------------------------
 *
 * attr_ahead_plan.c
 *	  From wishes to pages: which pages will a reader ask for?
 *
 * The item of a segment is in its column's tree, and the place of a vector in the segment's head.
 * Both may have to be read first.  That is done for a batch of wishes at a time, side by side.
 *
 * Whether a column is read in order shows by its wishes: a page that is a little behind those
 * that were asked for makes the window larger, any other makes it one page.
 *
 * Locks: those of a descent, and a page's share lock for a copy of its head.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_ahead_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "attr_ahead.h"

/* Pages read with a head: a request is dearer than some more bytes. */
#define HEAD_PAGES			4

/* Pages of a vector that are asked for when one of its values is wanted; then only some. */
#define MAX_VALUE_PAGES		2

/* Adds blocks [start, start + n), as far as the file goes. */
static void
add_run(ZsAttrAhead *ahead, uint64 tag, BlockNumber start, uint32 n)
{
	ZsAheadRun *run = &ahead->runs[ahead->nruns];

	Assert(n > 0);
	if (unlikely(ahead->nruns == ZS_AHEAD_RUNS))
		return;
	if (start + n > ahead->file_blocks)
		ahead->file_blocks = zspage_physical_blocks(ahead->rel);
	if (start + n > ahead->file_blocks)
		return;
	run->tag = tag;
	run->next = start;
	run->end = start + n;
	ahead->nruns++;
}

/* ---- from wishes to pages -------------------------------------------------------- */

/* The roots of trees that are going to be descended for the first time. */
static void
read_roots(ZsAttrAhead *ahead)
{
	for (int i = 0; i < ahead->nwishes; i++)
	{
		AttrNumber	attno = ahead->wishes[i].wish.attno;
		ZsAheadColumn *column = &ahead->columns[attno - 1];
		BlockNumber root;

		if (column->started)
			continue;
		column->started = true;
		zsattr_kind(TupleDescAttr(ahead->desc, attno - 1), &column->kind);
		root = zspage_tree_root(ahead->rel, ZsTreeOfAttr(attno));
		if (BlockNumberIsValid(root) && root != ZS_META_BLKNO)
			add_run(ahead, 0, root, 1);
	}
	zsattr_ahead_read_runs(ahead);
}

/* Finds the segments of the wishes. */
static void
find_segments(ZsAttrAhead *ahead)
{
	for (int i = 0; i < ahead->nwishes; i++)
	{
		ZsAheadWish *wish = &ahead->wishes[i];
		ZsAheadColumn *column = &ahead->columns[wish->wish.attno - 1];

		CHECK_FOR_INTERRUPTS();
		if (!column->found || !zsattr_item_covers(&column->item, wish->wish.row))
			column->found = zsattr_find_segment(ahead->rel, wish->wish.attno, wish->wish.row, true,
												&column->item);
		wish->found = column->found;
		if (column->found)
			wish->item = column->item;
	}
}

/*
 * The head of the wish's segment, from the cache, or NULL.  The caller may look at it until it
 * does something else with the cache.
 */
static ZsSegmentHead *
peek_head(ZsAttrAhead *ahead, const ZsAheadWish *wish)
{
	ZsSegmentHead *head = zsattr_head_lookup(ahead->rel, ZsTreeOfAttr(wish->wish.attno),
											 &wish->item);

	if (head != NULL)
		zsattr_head_release(head);
	return head;
}

/* Enters the head of the wish's segment in the cache; whatever is odd is left to the reader. */
static void
enter_head(ZsAttrAhead *ahead, const ZsAheadWish *wish)
{
	uint16		treeno = ZsTreeOfAttr(wish->wish.attno);
	uint32		len = Min(zsattr_page_length(&wish->item, 0), (uint32) ZS_SEGMENT_HEAD_MAX);
	ZsSegmentHead head;
	uint8		bytes[ZS_SEGMENT_HEAD_MAX];

	memset(&head, 0, offsetof(ZsSegmentHead, info));
	head.item = wish->item;
	if (zsattr_page_read(ahead->rel, treeno, &wish->item, 0, 0, len, ahead->strategy, bytes) &&
		zscodec_segment_open(bytes, len, &head.info) == NULL &&
		zsattr_head_check(&head, &ahead->columns[wish->wish.attno - 1].kind) == NULL)
		zsattr_head_release(zsattr_head_enter(ahead->rel, treeno, &head));
}

/* Gets the heads that the cache does not have. */
static void
read_heads(ZsAttrAhead *ahead)
{
	int			missing[ZS_AHEAD_BATCH];
	int			nmissing = 0;

	Assert(ahead->nruns == 0);
	for (int i = 0; i < ahead->nwishes; i++)
	{
		ZsAheadWish *wish = &ahead->wishes[i];
		bool		known;

		if (!wish->found)
			continue;
		known = peek_head(ahead, wish) != NULL;
		for (int k = nmissing - 1; k >= 0 && !known; k--)
			known = ahead->wishes[missing[k]].wish.attno == wish->wish.attno &&
				ahead->wishes[missing[k]].item.stamp == wish->item.stamp;
		if (known)
			continue;
		if (!zsattr_item_is_uniform(&wish->item))
			add_run(ahead, 0, wish->item.start, Min(wish->item.nblocks, HEAD_PAGES));
		missing[nmissing++] = i;
	}
	zsattr_ahead_read_runs(ahead);
	for (int k = 0; k < nmissing; k++)
		enter_head(ahead, &ahead->wishes[missing[k]]);
}

/* Is this the segment where the column's window ends? */
static bool
is_far(const ZsAheadColumn *column, const ZsSegmentItem *item)
{
	return column->far.stamp == item->stamp && column->far.start == item->start;
}

/* A column comes to another segment: what its readers want of that at first. */
static void
enter_segment(ZsAttrAhead *ahead, ZsAheadColumn *column, const ZsAheadWish *wish,
			  const ZsSegmentHead *head)
{
	zstid		row = wish->item.first_row;
	bool		goes_on = column->entered && row == column->end;
	bool		between = column->reaches && row >= column->end && row < column->far.first_row;
	uint32		done = 0;

	if (between)
		done = wish->item.nblocks;
	else if (column->reaches && is_far(column, &wish->item))
		done = column->far_done;
	column->reaches = between;
	column->entered = true;
	column->stamp = wish->item.stamp;
	column->start = wish->item.start;
	column->done_from = 0;
	column->done_to = done;
	column->end = row + wish->item.nrows;
	if (done == 0 && !goes_on)
		column->window = 1;
	if (done == 0 && !wish->wish.single)
		add_run(ahead, wish->wish.tag, wish->item.start, 1);
	if (head->info.shared_len > 0 && !(wish->wish.single && head->shared_open))
	{
		uint32		first = head->info.shared_off / ZS_PAGE_CAPACITY;
		uint32		last = (head->info.shared_off + head->info.shared_len - 1) / ZS_PAGE_CAPACITY;

		if (last >= done)
			add_run(ahead, wish->wish.tag, wish->item.start + Max(first, done),
					last + 1 - Max(first, done));
	}
}

/* The window reaches beyond the segment: the first n pages of those behind it. */
static void
reach_behind(ZsAttrAhead *ahead, ZsAheadColumn *column, const ZsAheadWish *wish, uint32 n)
{
	zstid		row = column->end;
	ZsSegmentItem item;

	if (column->reaches)
		return;
	while (n > 0 && zsattr_find_segment(ahead->rel, wish->wish.attno, row, false, &item))
	{
		CHECK_FOR_INTERRUPTS();
		if (zsattr_item_is_uniform(&item))
			break;
		column->reaches = true;
		column->far = item;
		column->far_done = Min(n, item.nblocks);
		add_run(ahead, wish->wish.tag, item.start, column->far_done);
		row = item.first_row + item.nrows;
		n -= column->far_done;
	}
}

/* Pages [from, to) of the column's present segment are wanted. */
static void
want_pages(ZsAttrAhead *ahead, ZsAheadColumn *column, const ZsAheadWish *wish,
		   uint32 from, uint32 to)
{
	uint32		beyond;

	Assert(from < to && to <= wish->item.nblocks);
	if (from >= column->done_from && from < column->done_to)
		from = column->done_to;
	if (from >= to)
		return;
	if (from >= column->done_to && from - column->done_to <= column->window)
		column->window = Min(column->window * 2, ahead->max_window);
	else
		column->window = 1;
	if (column->window > 1)
		to = Max(to, from + column->window);
	beyond = to > wish->item.nblocks ? to - wish->item.nblocks : 0;
	to -= beyond;
	add_run(ahead, wish->wish.tag, wish->item.start + from, to - from);
	if (from != column->done_to)
		column->done_from = from;
	column->done_to = to;
	reach_behind(ahead, column, wish, beyond);
}

/* Adds the pages of one wish to the runs. */
static void
plan_wish(ZsAttrAhead *ahead, const ZsAheadWish *wish)
{
	ZsAheadColumn *column = &ahead->columns[wish->wish.attno - 1];
	const ZsSegmentHead *head = peek_head(ahead, wish);
	const ZsVectorInfo *vector;
	uint32		first;
	uint32		last;

	/* too many heads for the cache, or the segment is gone; or it has no pages */
	if (head == NULL || zsattr_item_is_uniform(&wish->item))
		return;
	if (!column->entered || column->stamp != wish->item.stamp ||
		column->start != wish->item.start)
		enter_segment(ahead, column, wish, head);

	vector = &head->info.vectors[(wish->wish.row - wish->item.first_row) / ZS_VECTOR_ROWS];
	if (vector->len == 0)
		return;
	first = vector->off / ZS_PAGE_CAPACITY;
	last = (vector->off + vector->len - 1) / ZS_PAGE_CAPACITY;
	if (!wish->wish.single || vector->compression != ZS_COMPRESSION_NONE ||
		last - first < MAX_VALUE_PAGES)
		want_pages(ahead, column, wish, first, last + 1);
	else
	{
		/* the beginning says where the value is: about here if all are equally long */
		uint64		offset = vector->off + (uint64) vector->len *
			(wish->wish.row % ZS_STRIPE_ROWS) / Max(vector->nrows, 1);
		uint32		middle = Min((uint32) (offset / ZS_PAGE_CAPACITY), last);

		want_pages(ahead, column, wish, first, first + 1);
		want_pages(ahead, column, wish, middle, middle + 1);
	}
}

/* Turns the batch of wishes into runs of pages; reads what leads to them. */
void
zsattr_ahead_plan(ZsAttrAhead *ahead)
{
	Assert(ahead->run == ahead->nruns);
	ahead->nruns = ahead->run = 0;
	zsattr_ahead_counts.wishes += ahead->nwishes;
	read_roots(ahead);
	find_segments(ahead);
	read_heads(ahead);
	for (int i = 0; i < ahead->nwishes; i++)
	{
		if (ahead->wishes[i].found)
			plan_wish(ahead, &ahead->wishes[i]);
	}
	ahead->nwishes = 0;
}
