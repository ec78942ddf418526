/*-------------------------------------------------------------------------
 *
 * attr_move.c
 *	  A segment moves to other blocks.
 *
 * The payload is copied as it is, page by page, under a new stamp.  The pages
 * at the old place stay what they are until their blocks are used for
 * something else, so a reader that has the old item reads the same values
 * there, or finds another stamp and looks the segment up again.
 *
 * WAL: XLOG_ZS_PAGE_IMAGES, then one XLOG_ZS_ATTR_REPLACE.  A crash in between
 * leaks the new run, one behind them the old one.
 *
 * Locks: none on entry; one page at a time inside.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_move.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"

#include "attr_internal.h"

/* The contents of the segment's page at `position` go to page; false if it is gone. */
static bool
copy_page(Relation rel, AttrNumber attno, const ZsSegmentItem *item, uint32 position,
		  BufferAccessStrategy strategy, Buffer buf, Page page)
{
	uint16		treeno = ZsTreeOfAttr(attno);
	uint32		length = zsattr_page_length(item, position);
	uint8	   *dst = (uint8 *) PageGetContents(page);

	if (!BufferIsValid(buf))
		return zsattr_page_read(rel, treeno, item, position, 0, length, strategy, dst);
	Assert(BufferGetBlockNumber(buf) == item->start + position);
	return zsattr_page_copy(rel, buf, treeno, item, position, 0, length, dst);
}

/*
 * Moves a segment's pages to the run of blocks that begins at `to`, which zspage_take_free() gave,
 * and leads the tree there: images, then one WAL record.  Returns false, with the tree unchanged,
 * if the segment is not in the tree any more.  The blocks that are free then, the old ones or the
 * new ones, are the caller's to give back.  For VACUUM.  stream delivers the segment's pages next,
 * and has delivered all of them on return; it may be NULL.
 */
bool
zsattr_move_segment(Relation rel, AttrNumber attno, const ZsSegmentItem *item, BlockNumber to,
					BufferAccessStrategy strategy, ReadStream *stream)
{
	ZsSegmentItem moved = *item;
	ZsPageImages images;
	bool		found = true;

	Assert(to != ZS_META_BLKNO && to != item->start);
	Assert(to <= MaxBlockNumber - item->nblocks);

	moved.start = to;
	moved.stamp = pg_prng_uint32(&pg_global_prng_state);
	zsattr_images_begin(&images, rel, strategy);
	for (uint32 position = 0; position < item->nblocks; position++)
	{
		Buffer		buf = stream == NULL ? InvalidBuffer : read_stream_next_buffer(stream, NULL);

		CHECK_FOR_INTERRUPTS();
		if (found)
			found = copy_page(rel, attno, item, position, strategy, buf,
							  zsattr_images_segment_page(&images, attno, &moved, position));
		if (BufferIsValid(buf))
			ReleaseBuffer(buf);
	}
	zsattr_images_end(&images);
	ZS_INJECTION_POINT("zs-attr-move-written");
	if (!found)
		return false;
	if (!zsattr_segment_repoint(rel, attno, item, &moved))
		return false;
	ZS_INJECTION_POINT("zs-attr-moved");
	return true;
}
