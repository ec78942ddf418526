/*-------------------------------------------------------------------------
 *
 * attr_write.c
 *	  From columns of values in memory to segments on disk.
 *
 * A flush hands over the values of all columns for the same run of rows.  They
 * become visible to readers in four steps, each complete for all columns
 * before the next begins:
 *
 *	1. encode: each column becomes one payload or a few, strings of bytes;
 *	2. allocate: one call gives every column a run of adjacent blocks from its
 *	   own free page map; rows that have no numbers yet get them now;
 *	3. write: the payloads are laid over the runs and logged as full images,
 *	   32 pages to a record whichever columns they belong to;
 *	4. link: each column's tree gets an item that points to its run.
 *
 * More rows than a segment takes become several, one behind the other on disk.  Each
 * begins on a new page, so where the rows are divided decides how full the
 * last pages are; what earlier segments took per stripe tells.
 *
 * WAL: XLOG_ZS_PAGE_FPM (2), XLOG_ZS_PAGE_IMAGES (3), XLOG_ZS_ATTR_REPLACE (4).  A
 * crash after 2 or 3 leaves runs that nothing points to; VACUUM gives them back.
 * A crash during 4 leaves segments whose rows nobody can see, since their
 * inserter did not commit.
 *
 * Locks: none on entry; one page at a time inside.  Rows get blocks and numbers under a
 * heavyweight lock (zspage_order_begin()).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"

static void *
allocate(void *ctx, size_t size)
{
	return MemoryContextAllocHuge((MemoryContext) ctx, size);
}

static void
deallocate(void *ctx, void *ptr)
{
	pfree(ptr);
}

/* Allocator over a memory context that outlives what it serves. */
void
zsattr_allocator(MemoryContext context, ZsAllocator *alloc)
{
	alloc->alloc = allocate;
	alloc->free = deallocate;
	alloc->ctx = context;
}

/* The entry of the tree, from what the codec wrote into the segment's head. */
static void
fill_item(ZsSegmentItem *item, zstid first_row, int natts, const ZsSegmentInfo *info)
{
	memset(item, 0, sizeof(*item));
	item->first_row = first_row;
	item->nrows = info->nrows;
	item->nnulls = info->nnulls;
	item->payload_size = info->stored_size;
	item->nblocks = (info->stored_size + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY;
	item->raw_size = (uint32) Min(info->raw_size, (uint64) PG_UINT32_MAX);
	item->stamp = pg_prng_uint32(&pg_global_prng_state);
	item->flags = ZsSegmentNattsFlags(natts);
	if (info->has_zone)
	{
		item->flags |= ZS_SEGF_ZONE_MAP | (info->is_unsigned ? ZS_SEGF_UNSIGNED : 0);
		item->zone_min = info->zone_min;
		item->zone_max = info->zone_max;
	}
	if (info->nnulls > 0)
		item->flags |= ZS_SEGF_HAS_NULLS;
	if (info->has_ext)
		item->flags |= ZS_SEGF_HAS_OVERFLOW;
}

static uint32
count_holes(const ZsColumnInput *input)
{
	uint32		n = 0;

	/* what a loader writes has none */
	if (input->isnull == NULL || memchr(input->isnull, ZS_NULL_HOLE, input->nrows) == NULL)
		return 0;
	for (uint32 i = 0; i < input->nrows; i++)
		n += input->isnull[i] == ZS_NULL_HOLE;
	return n;
}

/*
 * Encodes the rows of a column as one segment: payload gets its bytes, *info what its head says,
 * and *item what the tree would have of it, but for the blocks.  Nothing is written.  Errors:
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED.
 */
void
zsattr_encode_column(Relation rel, zstid first_row, ZsEncoder *encoder, const ZsAttrColumn *column,
					 ZsCodecBuf *payload, ZsSegmentInfo *info, ZsSegmentItem *item)
{
	ZsEncodeOptions options = {column->compression, column->compression_level};
	ZsColumnInput input = column->input;
	const char *error;

	/* what is no row has some row's xmin, so it is counted and that is all */
	if (column->attno == ZS_XMIN_ATTNO)
		input.isnull = NULL;
	error = zscodec_segment_encode(encoder, &input, &options, payload);
	if (error != NULL)
		elog(ERROR, "could not encode column %d of table \"%s\": %s",
			 column->attno, RelationGetRelationName(rel), error);
	if (payload->len > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("segment of column %d of table \"%s\" exceeds 1 GB",
						column->attno, RelationGetRelationName(rel)),
				 errhint("Reduce \"zedstore.write_buffer_size\".")));

	error = zscodec_segment_open(payload->data, payload->len, info);
	if (error != NULL || info->stored_size != payload->len ||
		info->nrows != column->input.nrows)
		elog(ERROR, "encoded column %d of table \"%s\" cannot be read back: %s",
			 column->attno, RelationGetRelationName(rel),
			 error != NULL ? error : "sizes differ");
	fill_item(item, first_row, column->attno == ZS_XMIN_ATTNO ? 1 :
			  column->natts > 0 ? column->natts : RelationGetNumberOfAttributes(rel), info);
	item->nholes = count_holes(&column->input);
	(void) zsattr_uniform_set(item, payload->data, info);
}

/* Bytes that a segment of so many stripes leaves empty on its last page, about. */
static uint32
last_page_waste(uint32 nstripes, uint32 stripe_bytes)
{
	/* a page that is exceeded by a little costs most, so err on the other side */
	uint64		size = (uint64) nstripes * stripe_bytes + stripe_bytes / 4;

	Assert(nstripes > 0 && nstripes <= ZS_SEGMENT_ROWS / ZS_STRIPE_ROWS);
	return (uint32) ((ZS_PAGE_CAPACITY - size % ZS_PAGE_CAPACITY) % ZS_PAGE_CAPACITY);
}

/*
 * How many of nrows rows go into the next segment: all of them if they fit, else a number of
 * whole stripes that leaves little of the segment's last page empty.
 */
static uint32
choose_segment_rows(uint32 nrows, uint32 stripe_bytes)
{
	uint32		nstripes = (nrows + ZS_STRIPE_ROWS - 1) / ZS_STRIPE_ROWS;
	uint32		most = ZS_SEGMENT_ROWS / ZS_STRIPE_ROWS;
	uint32		nsegments = (nstripes + most - 1) / most;
	uint32		slack = nsegments * most - nstripes;
	uint32		best;
	uint32		least_waste = PG_UINT32_MAX;

	Assert(nrows > 0);

	if (nrows <= ZS_SEGMENT_ROWS)
		return nrows;
	best = nstripes / nsegments;
	if (stripe_bytes == 0)
		return best * ZS_STRIPE_ROWS;

	/* as few segments as possible, and what they can have less than all is shared among them */
	for (uint32 n = most - slack / (nsegments - 1); n <= most; n++)
	{
		uint32		waste = last_page_waste(n, stripe_bytes);

		if (waste < least_waste)
		{
			least_waste = waste;
			best = n;
		}
	}
	return best * ZS_STRIPE_ROWS;
}

/*
 * Bytes that nrows rows of a column, written by one call, leave empty on the last pages of its
 * segments, about.  stripe_bytes is that of ZsAttrColumn; 0 where that says too little.
 */
uint32
zsattr_expected_waste(uint32 nrows, uint32 stripe_bytes)
{
	uint32		waste = 0;

	Assert(nrows > 0 && nrows <= ZS_ATTR_WRITE_ROWS);

	/* what is known is not exact, and nothing is known where an error of a hundredth is a page */
	if (stripe_bytes == 0 || stripe_bytes > ZS_PAGE_CAPACITY / 4)
		return 0;
	while (nrows > 0)
	{
		uint32		count = choose_segment_rows(nrows, stripe_bytes);

		waste += last_page_waste((count + ZS_STRIPE_ROWS - 1) / ZS_STRIPE_ROWS, stripe_bytes);
		nrows -= count;
	}
	return waste;
}

/* The rows [first, first + nrows) of a column. */
static ZsAttrColumn
cut_column(const ZsAttrColumn *column, uint32 first, uint32 nrows)
{
	ZsAttrColumn part = *column;

	Assert(nrows > 0 && nrows <= column->input.nrows && first <= column->input.nrows - nrows);

	part.input.nrows = nrows;
	part.input.raw_bytes = column->input.raw_bytes * nrows / column->input.nrows;
	if (part.input.isnull != NULL)
		part.input.isnull += first;
	if (part.input.isext != NULL)
		part.input.isext += first;
	if (part.input.ints != NULL)
		part.input.ints += first;
	if (part.input.offsets != NULL)
		part.input.offsets += first;
	return part;
}

/*
 * Gives the drafts their blocks; those of one column follow each other in order and, but for one
 * place at most, on disk: there the last of what the column had left ends.
 */
static void
allocate_runs(ZsDrafts *drafts)
{
	ZsAllocRequest *requests = palloc_array(ZsAllocRequest, drafts->n);
	int			n = 0;

	for (int i = 0; i < drafts->n; i++)
	{
		const ZsSegmentDraft *draft = &drafts->drafts[i];

		if (zsattr_item_is_uniform(&draft->item))
			continue;
		requests[n].treeno = ZsTreeOfAttr(draft->attno);
		requests[n].nblocks = draft->item.nblocks;
		requests[n++].start = 0;
	}
	if (n > 0)
		zspage_alloc_runs(drafts->rel, requests, n, drafts->ahead);
	n = 0;
	for (int i = 0; i < drafts->n; i++)
	{
		if (zsattr_item_is_uniform(&drafts->drafts[i].item))
			continue;
		drafts->drafts[i].item.start = requests[n++].start;
		Assert(drafts->drafts[i].item.start != ZS_META_BLKNO);
	}
	pfree(requests);
}

/* Lays a payload over the pages of its run. */
static void
write_run(ZsPageImages *images, AttrNumber attno, const ZsSegmentItem *item, const uint8 *payload)
{
	for (uint32 position = 0; position < item->nblocks; position++)
	{
		Page		page = zsattr_images_segment_page(images, attno, item, position);

		memcpy(PageGetContents(page), payload + (Size) position * ZS_PAGE_CAPACITY,
			   zsattr_page_length(item, position));
	}
}

/* No drafts yet.  encoder: NULL, or one that the caller goes on with. */
void
zsattr_drafts_begin(ZsDrafts *drafts, Relation rel, ZsEncoder *encoder)
{
	drafts->rel = rel;
	drafts->number = NULL;
	drafts->number_arg = NULL;
	drafts->ahead = ZS_ALLOC_AHEAD;
	drafts->n = 0;
	drafts->max = 16;
	drafts->drafts = palloc_array(ZsSegmentDraft, drafts->max);
	zsattr_allocator(CurrentMemoryContext, &drafts->alloc);
	zscodec_encoder_init(&drafts->own, &drafts->alloc);
	drafts->encoder = encoder != NULL ? encoder : &drafts->own;
}

/*
 * Encodes rows [first_row, first_row + nrows) of a column, which start at row `done` of its input,
 * as one draft or a few.
 */
void
zsattr_drafts_add(ZsDrafts *drafts, ZsAttrColumn *column, zstid first_row, uint32 done,
				  uint32 nrows)
{
	uint32		end = done + nrows;

	Assert(column->attno > 0 || column->attno == ZS_XMIN_ATTNO);
	Assert(first_row % ZS_STRIPE_ROWS == 0);
	Assert(nrows > 0 && first_row <= ZS_MAX_ROW - nrows);

	while (done < end)
	{
		uint32		count = choose_segment_rows(end - done, column->stripe_bytes);
		ZsAttrColumn part = cut_column(column, done, count);
		ZsSegmentInfo info;
		ZsSegmentDraft *draft;

		CHECK_FOR_INTERRUPTS();
		if (drafts->n > 0)
			part.input.continues = drafts->drafts[drafts->n - 1].attno == column->attno;
		if (drafts->n == drafts->max)
		{
			drafts->max *= 2;
			drafts->drafts = repalloc_array(drafts->drafts, ZsSegmentDraft, drafts->max);
		}
		if (done + nrows == end && column->choice != NULL &&
			zscodec_choice_recall(drafts->encoder, column->choice, count))
			part.input.continues = true;
		draft = &drafts->drafts[drafts->n++];
		draft->attno = column->attno;
		zscodec_buf_init(&draft->payload, &drafts->alloc);
		zsattr_encode_column(drafts->rel, first_row, drafts->encoder, &part, &draft->payload,
							 &info, &draft->item);
		if (zsattr_item_is_uniform(&draft->item))
			column->stripe_bytes = 0;
		else if (count >= ZS_STRIPE_ROWS)
			column->stripe_bytes = draft->payload.len / (count / ZS_STRIPE_ROWS) + 1;
		first_row += count;
		done += count;
		if (done == end && column->choice != NULL &&
			!zscodec_choice_keep(drafts->encoder, count, draft->item.raw_size,
								 draft->item.payload_size, column->choice))
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
}

/* Gives the drafts their blocks and writes their pages; those of one column must be neighbours. */
void
zsattr_drafts_write(ZsDrafts *drafts, BufferAccessStrategy strategy)
{
	ZsPageImages images;

	zscodec_encoder_free(&drafts->own);
	if (drafts->n == 0)
		return;
	if (drafts->number != NULL)
		zspage_order_begin(drafts->rel);
	allocate_runs(drafts);
	ZS_INJECTION_POINT("zs-attr-allocate");
	if (drafts->number != NULL)
	{
		zstid		first_row = drafts->number(drafts->number_arg);

		Assert(first_row % ZS_STRIPE_ROWS == 0);
		for (int i = 0; i < drafts->n; i++)
			drafts->drafts[i].item.first_row += first_row;
		zspage_order_end(drafts->rel);
	}
	zsattr_images_begin(&images, drafts->rel, strategy);
	for (int i = 0; i < drafts->n; i++)
	{
		ZsSegmentDraft *draft = &drafts->drafts[i];

		write_run(&images, draft->attno, &draft->item, draft->payload.data);
		zscodec_buf_free(&draft->payload);
	}
	zsattr_images_end(&images);
	ZS_INJECTION_POINT("zs-attr-write");
}

/*
 * Encodes the columns (all live attributes of the table) of rows [first_row, first_row + nrows) and
 * writes their segments: encode all, allocate all runs with one call, write pages.  Returns, in the
 * current memory context, what zsattr_link_segments() has to link then.  first_row is aligned to
 * ZS_STRIPE_ROWS, nrows <= ZS_ATTR_WRITE_ROWS.  The segments of one column are adjacent.  natts is
 * the number of attributes that the table had when the rows were formed, which is less than now
 * when columns were added since.  last: no rows like them are likely to follow, for which trees
 * would get blocks at once.
 *
 * number, if not NULL, is called when all runs are allocated and returns the first row's number;
 * first_row is 0 then.  So batches of several sessions get their row numbers in the order in which
 * they get their blocks.
 *
 * A crash before the last link leaves runs that no tree points to (until VACUUM finds them) or some
 * columns linked for rows whose inserter did not commit.  Memory is taken from a context of its own
 * and given back.
 */
ZsAttrLinks *
zsattr_write_segments(Relation rel, zstid first_row, uint32 nrows,
					  int natts, ZsAttrColumn *columns, int ncolumns, bool last,
					  ZsAttrNumberRows number, void *arg, BufferAccessStrategy strategy)
{
	MemoryContext context;
	MemoryContext oldcontext;
	ZsDrafts	drafts;
	ZsAttrLinks *links;

	Assert(first_row % ZS_STRIPE_ROWS == 0);
	Assert(nrows > 0 && nrows <= ZS_ATTR_WRITE_ROWS);
	Assert(ncolumns > 0);
	Assert(number == NULL || first_row == 0);

	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore segment write",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	zsattr_drafts_begin(&drafts, rel, NULL);
	drafts.ahead = last ? ZS_ALLOC_LAST : ZS_ALLOC_AHEAD;
	drafts.number = number;
	drafts.number_arg = arg;
	for (int i = 0; i < ncolumns; i++)
	{
		Assert(columns[i].input.nrows == nrows);
		columns[i].natts = natts;
		zsattr_drafts_add(&drafts, &columns[i], first_row, 0, nrows);
	}
	zsattr_drafts_write(&drafts, strategy);
	MemoryContextSwitchTo(oldcontext);

	links = palloc(offsetof(ZsAttrLinks, links) + drafts.n * sizeof(ZsAttrLink));
	links->n = drafts.n;
	links->next = 0;
	for (int i = 0; i < drafts.n; i++)
	{
		links->links[i].attno = drafts.drafts[i].attno;
		links->links[i].item = drafts.drafts[i].item;
	}
	MemoryContextDelete(context);
	return links;
}

/*
 * Links the segments that are not linked yet.  After an error it can be called again.
 */
void
zsattr_link_segments(Relation rel, ZsAttrLinks *links)
{
	while (links->next < links->n)
	{
		ZsAttrLink *link = &links->links[links->next];

		Assert((link->item.start == ZS_META_BLKNO) == zsattr_item_is_uniform(&link->item));
		CHECK_FOR_INTERRUPTS();
		zsattr_segment_link(rel, link->attno, &link->item);
		links->next++;
		ZS_INJECTION_POINT("zs-attr-link");
	}
}
