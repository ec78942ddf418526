/*-------------------------------------------------------------------------
 *
 * attr_images.c
 *	  Collects finished pages for full WAL records of images.
 *
 * A segment of a narrow column takes a page or two, a WAL record of images 32.
 * So the pages of all columns of a flush, or of one overflow value, pass
 * through one ZsPageImages.  It holds a quarter of a megabyte, however large the
 * value is.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_images.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "attr_internal.h"
#include "zs_io.h"

/* Begins without pages; their memory is palloc'd in the current context. */
void
zsattr_images_begin(ZsPageImages *images, Relation rel, BufferAccessStrategy strategy)
{
	images->rel = rel;
	images->strategy = strategy;
	images->npages = 0;
	images->memory = palloc_aligned((Size) XLR_MAX_BLOCK_ID * BLCKSZ, PG_IO_ALIGN_SIZE, 0);
	for (int i = 0; i < XLR_MAX_BLOCK_ID; i++)
		images->pages[i] = images->memory + (Size) i * BLCKSZ;
}

/* Writes the pages that have come together, and is ready for more. */
static void
write_images(ZsPageImages *images)
{
	Assert(images->npages <= XLR_MAX_BLOCK_ID);

	if (images->npages > 0)
	{
		zspage_write_images(images->rel, images->npages, images->blocks, images->pages,
							images->strategy);
		zsio_hand_over(images->rel, images->blocks, images->npages);
	}
	images->npages = 0;
}

/*
 * Adds a page to be written to blkno and returns its image, zeroed behind the
 * page header; the caller fills it in before the next call.
 */
Page
zsattr_images_page(ZsPageImages *images, BlockNumber blkno)
{
	Assert(blkno != ZS_META_BLKNO && BlockNumberIsValid(blkno));

	if (images->npages == XLR_MAX_BLOCK_ID)
		write_images(images);
	images->blocks[images->npages] = blkno;
	return (Page) images->pages[images->npages++];
}

/*
 * As zsattr_images_page(), for page `position` of a segment, whose special space is filled in; the
 * payload is the caller's.
 */
Page
zsattr_images_segment_page(ZsPageImages *images, AttrNumber attno, const ZsSegmentItem *item,
						   uint32 position)
{
	Page		page = zsattr_images_page(images, item->start + position);
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
zsattr_images_end(ZsPageImages *images)
{
	write_images(images);
	pfree(images->memory);
	images->memory = NULL;
}
