/*-------------------------------------------------------------------------
 *
 * attr_uniform.c
 *	  Segments of one value: all that is stored is their item.
 *
 * A page for each segment of a column that never changes is a page for nothing, and there are many
 * such columns.  So where the codec can make a payload again from a few numbers
 * (codec_uniform.c), these stand in the item: the segment has no pages and no blocks, and readers
 * make the bytes that they would copy from a page.
 *
 * Invariant: an item is made so only if the payload that comes out of it is the payload that was
 * encoded.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_uniform.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "attr_internal.h"

StaticAssertDecl(ZS_UNIFORM_BODY_MAX == 2 * sizeof(uint32), "an item has room for a body");
StaticAssertDecl(ZS_KIND_BYTES <= ZS_SEGF_KIND_MASK >> ZS_SEGF_KIND_SHIFT,
				 "an item has room for a kind");

/* What the item says; it was checked, or the payload is compared. */
static void
read_item(const ZsSegmentItem *item, ZsUniform *uniform)
{
	Assert(zsattr_item_is_uniform(item));
	memset(uniform, 0, sizeof(*uniform));
	uniform->kind = (item->flags & ZS_SEGF_KIND_MASK) >> ZS_SEGF_KIND_SHIFT;
	uniform->align = 1;
	uniform->is_unsigned = (item->flags & ZS_SEGF_UNSIGNED) != 0;
	uniform->has_zone = (item->flags & ZS_SEGF_ZONE_MAP) != 0;
	uniform->all_null = item->nnulls > 0;
	uniform->nrows = item->nrows;
	uniform->raw_size = item->raw_size;
	uniform->zone_min = item->zone_min;
	uniform->zone_max = item->zone_max;
	if (uniform->kind == ZS_KIND_INT)
		uniform->width = 1 << ((item->flags & ZS_SEGF_WIDTH_MASK) >> ZS_SEGF_WIDTH_SHIFT);
	if (uniform->kind == ZS_KIND_FIXED)
	{
		uniform->width = (uint16) item->stamp;
		uniform->align = (uint8) (item->stamp >> 16);
	}
	else
	{
		uniform->body_len = (item->flags & ZS_SEGF_BODY_MASK) >> ZS_SEGF_BODY_SHIFT;
		memcpy(uniform->body, &item->stamp, sizeof(uint32));
		memcpy(uniform->body + sizeof(uint32), &item->unused, sizeof(uint32));
	}
}

/* The item as one of a uniform segment. */
static void
write_item(const ZsUniform *uniform, ZsSegmentItem *item)
{
	uint32		flags = ZS_SEGF_UNIFORM | uniform->kind << ZS_SEGF_KIND_SHIFT |
		uniform->body_len << ZS_SEGF_BODY_SHIFT | (uniform->is_unsigned ? ZS_SEGF_UNSIGNED : 0);

	Assert(item->nblocks > 0);
	if (uniform->kind == ZS_KIND_INT)
		flags |= (uint32) pg_leftmost_one_pos32(uniform->width) << ZS_SEGF_WIDTH_SHIFT;
	item->flags |= flags;
	item->start = ZS_META_BLKNO;
	item->nblocks = 0;
	if (uniform->kind == ZS_KIND_FIXED)
		item->stamp = uniform->width | (uint32) uniform->align << 16;
	else
	{
		memcpy(&item->stamp, uniform->body, sizeof(uint32));
		memcpy(&item->unused, uniform->body + sizeof(uint32), sizeof(uint32));
	}
}

/*
 * Makes the item, which is filled in but for start, that of a segment without pages if its payload
 * is one that allows for it; info is what the payload says.  Else it stays as it is.
 */
bool
zsattr_uniform_set(ZsSegmentItem *item, const uint8 *payload, const ZsSegmentInfo *info)
{
	ZsSegmentItem candidate = *item;
	ZsUniform	uniform;
	uint8		bytes[ZS_UNIFORM_PAYLOAD_MAX];

	if (!zscodec_uniform_find(payload, info, &uniform))
		return false;
	write_item(&uniform, &candidate);

	/* an item has less room for some things than a head */
	read_item(&candidate, &uniform);
	if (zscodec_uniform_size(&uniform) != item->payload_size)
		return false;
	zsattr_uniform_read(&candidate, 0, item->payload_size, bytes);
	if (memcmp(bytes, payload, item->payload_size) != 0)
		return false;
	*item = candidate;
	Assert(zsattr_uniform_check(item) == NULL);
	return true;
}

/*
 * What is wrong with the item of a segment without pages, which has a sane number of rows; NULL =
 * nothing.
 */
const char *
zsattr_uniform_check(const ZsSegmentItem *item)
{
	uint32		body = (item->flags & ZS_SEGF_BODY_MASK) >> ZS_SEGF_BODY_SHIFT;
	uint64		rest = item->stamp | (uint64) item->unused << 32;
	ZsUniform	uniform;

	if (item->start != ZS_META_BLKNO || item->nblocks != 0)
		return "segment of one value has blocks";
	if (body > ZS_UNIFORM_BODY_MAX || (item->nnulls > 0 && body > 0) ||
		(item->flags & ZS_SEGF_HAS_OVERFLOW) != 0)
		return "segment of one value has unknown contents";
	if (item->nnulls > 0 && item->nnulls != item->nrows)
		return "segment of one value has nulls beside it";
	read_item(item, &uniform);
	if (uniform.kind < ZS_KIND_INT || uniform.kind > ZS_KIND_BYTES ||
		(uniform.kind == ZS_KIND_FIXED ? body > 0 || rest >> 24 != 0 :
		 body < ZS_UNIFORM_BODY_MAX && rest >> 8 * body != 0))
		return "segment of one value has unknown contents";
	if (item->payload_size != zscodec_uniform_size(&uniform))
		return "segment of one value has another size than its item";
	return NULL;
}

/* Makes payload bytes [from, to), not none, of a segment without pages. */
void
zsattr_uniform_read(const ZsSegmentItem *item, uint32 from, uint32 to, uint8 *dst)
{
	ZsUniform	uniform;

	Assert(from < to && to <= item->payload_size);
	read_item(item, &uniform);
	zscodec_uniform_bytes(&uniform, from, to, dst);
}
