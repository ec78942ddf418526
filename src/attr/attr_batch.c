/*-------------------------------------------------------------------------
 *
 * attr_batch.c
 *	  Collects finished pages for full WAL records of images.
 *
 * A segment of a narrow column takes a page or two, a WAL record of images 32.
 * So the pages of all columns of a flush, or of one overflow value, pass
 * through one batch.  It holds a quarter of a megabyte, however large the
 * value is.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "attr_internal.h"
#include "zs_io.h"

/* Begins an empty batch; its page images are palloc'd in the current context. */
void
zsattr_batch_begin(ZsPageBatch *batch, Relation rel, BufferAccessStrategy strategy)
{
	batch->rel = rel;
	batch->strategy = strategy;
	batch->npages = 0;
	batch->memory = palloc_aligned((Size) XLR_MAX_BLOCK_ID * BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	for (int i = 0; i < XLR_MAX_BLOCK_ID; i++)
		batch->images[i] = batch->memory + (Size) i * BLCKSZ;
}

/* Writes the pages that have come together, and is ready for more. */
static void
write_batch(ZsPageBatch *batch)
{
	Assert(batch->npages <= XLR_MAX_BLOCK_ID);

	if (batch->npages > 0)
	{
		zspage_write_images(batch->rel, batch->npages, batch->blocks, batch->images,
							batch->strategy);
		zsio_hand_over(batch->rel, batch->blocks, batch->npages);
	}
	batch->npages = 0;
}

/*
 * Adds a page to be written to blkno and returns its image, zeroed behind the
 * page header; the caller fills it in before the next call.
 */
Page
zsattr_batch_page(ZsPageBatch *batch, BlockNumber blkno)
{
	Assert(blkno != ZS_META_BLKNO && BlockNumberIsValid(blkno));

	if (batch->npages == XLR_MAX_BLOCK_ID)
		write_batch(batch);
	batch->blocks[batch->npages] = blkno;
	return (Page) batch->images[batch->npages++];
}

/*
 * As zsattr_batch_page(), for page `position` of a segment, whose special space is filled in; the
 * payload is the caller's.
 */
Page
zsattr_batch_segment_page(ZsPageBatch *batch, AttrNumber attno, const ZsSegmentItem *item,
						  uint32 position)
{
	Page		page = zsattr_batch_page(batch, item->start + position);
	ZsPageOpaque *opaque;

	Assert(position < item->nblocks);
	zspage_init(page, ZS_PAGE_SEGMENT, ZsTreeOfAttr(attno), 0,
				item->first_row, item->first_row + item->nrows);
	opaque = ZsPageGetOpaque(page);
	opaque->stamp = item->stamp;
	opaque->position = position;
	opaque->right = position + 1 < item->nblocks ? item->start + position + 1 : 0;
	((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) +
		zsattr_page_length(item, position);
	return page;
}

/* Writes what is left and frees the memory. */
void
zsattr_batch_end(ZsPageBatch *batch)
{
	write_batch(batch);
	pfree(batch->memory);
	batch->memory = NULL;
}
