/*-------------------------------------------------------------------------
 *
 * attr_payload.c
 *	  Reading the pages of a segment.
 *
 * A segment's pages never change as long as the tree points to them, but a
 * reader may come late: the segment was replaced, its blocks were freed and
 * given to something else.  So every page is compared with the item that led
 * to it: type, tree, stamp, position and first row.  A page that is not
 * the one wanted is no error here; the caller looks the segment up again.
 *
 * A segment of one value has no pages; what would stand on its first one is made from its item.
 *
 * Locks: the page's share lock, for the time of one memcpy.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_payload.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "attr_internal.h"

/*
 * Copies payload bytes [from, to) of page `position`, counted from the page's
 * first, out of buf, which is pinned and not locked.  False when the page is
 * not that page any more.
 */
bool
zsattr_page_copy(Relation rel, Buffer buf, uint16 treeno, const ZsSegmentItem *item,
				 uint32 position, uint32 from, uint32 to, uint8 *dst)
{
	Page		page = BufferGetPage(buf);
	uint32		len = zsattr_page_length(item, position);
	const ZsPageOpaque *opaque;
	const char *reason;

	Assert(position < item->nblocks && from < to && to <= len);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	switch (zspage_verify(page, ZS_PAGE_SEGMENT, treeno, &reason))
	{
		case ZS_PAGE_OK:
			break;
		case ZS_PAGE_OTHER:
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
			return false;
		case ZS_PAGE_BROKEN:
			zsbase_corrupted(rel, BufferGetBlockNumber(buf),
							 "Segment page %u of attribute %d: %s.",
							 position, ZsAttrOfTree(treeno), reason);
	}
	opaque = ZsPageGetOpaque(page);
	if (opaque->stamp != item->stamp || opaque->position != position ||
		opaque->lokey != item->first_row)
	{
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		return false;
	}
	if (((PageHeader) page)->pd_lower != MAXALIGN(SizeOfPageHeaderData) + len)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "Segment page %u of attribute %d: payload length is wrong.",
						 position, ZsAttrOfTree(treeno));
	memcpy(dst, PageGetContents(page) + from, to - from);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return true;
}

/* Pins a page of a segment; InvalidBuffer when the file does not reach that far any more. */
Buffer
zsattr_page_pin(Relation rel, const ZsSegmentItem *item, uint32 position,
				BufferAccessStrategy strategy)
{
	/* the file may have become shorter since the segment was found */
	if (unlikely(!zspage_exists(rel, item->start + position)))
		return InvalidBuffer;
	return zspage_read(rel, item->start + position, strategy);
}

/* As zsattr_page_copy(), of a page that is read first. */
bool
zsattr_page_read(Relation rel, uint16 treeno, const ZsSegmentItem *item,
				 uint32 position, uint32 from, uint32 to,
				 BufferAccessStrategy strategy, uint8 *dst)
{
	Buffer		buf;
	bool		found;

	if (zsattr_item_is_uniform(item))
	{
		Assert(position == 0);
		zsattr_uniform_read(item, from, to, dst);
		return true;
	}
	buf = zsattr_page_pin(rel, item, position, strategy);
	if (!BufferIsValid(buf))
		return false;
	found = zsattr_page_copy(rel, buf, treeno, item, position, from, to, dst);
	ReleaseBuffer(buf);
	return found;
}

/*
 * Copies the segment's payload bytes [offset, offset + len) into dst.  False
 * when the segment was replaced since item was read.
 */
bool
zsattr_read_payload(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
					uint32 offset, uint32 len, uint8 *dst)
{
	Assert((uint64) offset + len <= item->payload_size);

	while (len > 0)
	{
		uint32		from = offset % ZS_PAGE_CAPACITY;
		uint32		chunk = Min(len, (uint32) ZS_PAGE_CAPACITY - from);

		CHECK_FOR_INTERRUPTS();
		if (!zsattr_page_read(rel, ZsTreeOfAttr(attno), item, offset / ZS_PAGE_CAPACITY,
							  from, from + chunk, NULL, dst))
			return false;
		dst += chunk;
		offset += chunk;
		len -= chunk;
	}
	return true;
}
