/*-------------------------------------------------------------------------
 *
 * check_vector.c
 *	  zs_check(): contents of segments, down to each value.
 *
 * The payload is decoded by the codec's own functions, not by the readers of
 * src/attr, and what comes out is compared with what the tree's item, the segment's
 * head and the vector's directory entry say: counts, flags, zone maps.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_vector.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "check_internal.h"

/* Kept over the segments of a pass. */
typedef struct ZsDecoder
{
	MemoryContext context;
	ZsSharedState shared;
	ZsVectorOut vec;
} ZsDecoder;

/* A segment that is being checked. */
typedef struct SegmentWalk
{
	ZsCheck    *check;
	uint16		treeno;
	const ZsSegmentItem *item;
	const uint8 *payload;
	ZsSegmentInfo info;
	bool		needed;			/* out: somebody may ask for some of its rows */
} SegmentWalk;

static ZsDecoder *
get_decoder(ZsCheck *check)
{
	if (check->decoder == NULL)
	{
		/* must outlive the page whose check needs it first */
		MemoryContext context = AllocSetContextCreate(GetMemoryChunkContext(check),
													  "zedstore check of values",
													  ALLOCSET_DEFAULT_SIZES);
		ZsDecoder  *decoder = MemoryContextAllocZero(context, sizeof(ZsDecoder));
		ZsAllocator alloc;

		zsattr_allocator(context, &alloc);
		decoder->context = context;
		zscodec_shared_init(&decoder->shared, &alloc);
		zscodec_vector_init(&decoder->vec, &alloc);
		check->decoder = decoder;
	}
	return check->decoder;
}

static void
report(SegmentWalk *walk, const char *reason)
{
	zscheck_error(walk->check, walk->item->start, walk->treeno,
				  "segment at row " UINT64_FORMAT ": %s", walk->item->first_row, reason);
}

static void
report_vector(SegmentWalk *walk, uint32 vecno, const char *reason)
{
	zscheck_error(walk->check, walk->item->start, walk->treeno,
				  "segment at row " UINT64_FORMAT ", vector %u: %s",
				  walk->item->first_row, vecno, reason);
}

/* ---- the head ------------------------------------------------------------------------- */

/* ZsCheckStep: a column of another type is left by a transaction that added one and aborted. */
static void
ask_whether_needed(ZsCheck *check, void *arg)
{
	SegmentWalk *walk = arg;

	walk->needed = zscheck_range_needed(check, walk->item->first_row,
										walk->item->first_row + walk->item->nrows);
}

/* Are the values, if there are any, of the column's type? */
static void
check_kind(SegmentWalk *walk)
{
	TupleDesc	desc = RelationGetDescr(walk->check->rel);
	const ZsSegmentInfo *info = &walk->info;
	int			attno = ZsAttrOfTree(walk->treeno);
	ZsAttrKind	kind;
	bool		fits;

	if (attno > desc->natts)
		fits = false;
	else if (zsattr_form(desc, attno)->attisdropped || info->nnulls == info->nrows)
		return;
	else
	{
		zsattr_kind(zsattr_form(desc, attno), &kind);
		fits = info->kind == kind.kind &&
			((kind.kind != ZS_KIND_INT && kind.kind != ZS_KIND_FIXED) ||
			 info->width == kind.width) &&
			(kind.kind != ZS_KIND_FIXED || info->align == kind.align);
	}
	if (fits)
		return;

	walk->needed = true;
	(void) zscheck_protect(walk->check, ask_whether_needed, walk);
	if (walk->needed)
		report(walk, attno > desc->natts ? "table has no such column" :
			   "values are of another type than the column");
}

/* Does the head say what the tree's item says? */
static void
check_head(SegmentWalk *walk)
{
	const ZsSegmentInfo *info = &walk->info;
	const ZsSegmentItem *item = walk->item;
	bool		item_zone = (item->flags & ZS_SEGF_ZONE_MAP) != 0;
	uint32		nrows = 0;
	uint32		nnulls = 0;

	if (info->nrows != item->nrows || info->nnulls != item->nnulls)
		report(walk, "row or null count differs from the tree's item");
	if (info->stored_size != item->payload_size ||
		item->raw_size != (uint32) Min(info->raw_size, (uint64) PG_UINT32_MAX))
		report(walk, "size differs from the tree's item");
	if (info->has_zone != item_zone ||
		(item_zone && (info->zone_min != item->zone_min || info->zone_max != item->zone_max)))
		report(walk, "zone map differs from the tree's item");
	if (((item->flags & ZS_SEGF_HAS_NULLS) != 0) != (item->nnulls > 0) ||
		((item->flags & ZS_SEGF_HAS_OVERFLOW) != 0) != info->has_ext ||
		((item->flags & ZS_SEGF_UNSIGNED) != 0 && !info->is_unsigned))
		report(walk, "flags in the tree's item are wrong");
	if (info->nvectors != (item->nrows + ZS_VECTOR_ROWS - 1) / ZS_VECTOR_ROWS)
		report(walk, "number of vectors is wrong");

	for (uint32 v = 0; v < info->nvectors; v++)
	{
		nrows += info->vectors[v].nrows;
		nnulls += info->vectors[v].nnulls;
		if (v + 1 < info->nvectors && info->vectors[v].nrows != ZS_VECTOR_ROWS)
			report_vector(walk, v, "vector is not full, and not the last one");
		if (info->vectors[v].has_zone && info->has_zone &&
			(info->vectors[v].zone_min < info->zone_min ||
			 info->vectors[v].zone_max > info->zone_max))
			report_vector(walk, v, "zone map exceeds the segment's");
	}
	if (nrows != info->nrows || nnulls != info->nnulls)
		report(walk, "vectors do not add up to the segment");
}

/* ---- values ------------------------------------------------------------------------------ */

static int64
float_zone(ZsValueKind kind, uint64 pattern)
{
	double		value;

	if (kind == ZS_KIND_FLOAT4)
	{
		uint32		low = (uint32) pattern;
		float		single;

		memcpy(&single, &low, sizeof(single));
		value = (double) single;
	}
	else
		memcpy(&value, &pattern, sizeof(value));
	return zscodec_zone_from_float8(value);
}

/* Place of a value in the zone domain, or an interval around it; false if it has none. */
static bool
value_zone(const ZsSegmentInfo *info, uint64 value, int64 *lower, int64 *upper)
{
	const char *datum = (const char *) value;

	switch (info->kind)
	{
		case ZS_KIND_INT:
			*lower = *upper = zscodec_zone_from_int64((int64) value, info->width,
													  info->is_unsigned);
			return true;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			*lower = *upper = float_zone(info->kind, value);
			return true;
		case ZS_KIND_NUMERIC:
			return zscodec_zone_from_numeric((const uint8 *) VARDATA_ANY(datum),
											 VARSIZE_ANY_EXHDR(datum), lower, upper);
		case ZS_KIND_FIXED:
			*lower = *upper = zscodec_zone_from_bytes((const uint8 *) datum, info->width);
			return true;
		default:
			*lower = *upper = zscodec_zone_from_bytes((const uint8 *) VARDATA_ANY(datum),
													  VARSIZE_ANY_EXHDR(datum));
			return true;
	}
}

/* An overflow pointer among the values. */
static void
check_pointer(SegmentWalk *walk, uint32 vecno, uint32 index, uint64 value)
{
	const char *datum = (const char *) value;
	ZsOverflowPointer pointer;

	if (VARSIZE_ANY_EXHDR(datum) != sizeof(pointer))
	{
		report_vector(walk, vecno, "overflow pointer has a wrong length");
		return;
	}
	memcpy(&pointer, VARDATA_ANY(datum), sizeof(pointer));
	zscheck_overflow(walk->check, walk->treeno,
					 walk->item->first_row + (zstid) vecno * ZS_VECTOR_ROWS + index, &pointer,
					 true);
}

/* Compares decoded values with what the directory says about them. */
static void
check_values(SegmentWalk *walk, uint32 vecno, const ZsVectorOut *vec)
{
	const ZsVectorInfo *vi = &walk->info.vectors[vecno];
	uint32		nnulls = 0;
	uint32		next = 0;
	bool		in_zone = true;

	Assert(vecno < walk->info.nvectors);
	if (vec->nrows != vi->nrows)
	{
		report_vector(walk, vecno, "decodes to another number of rows");
		return;
	}
	for (uint32 i = 0; i < vec->nrows; i++)
	{
		int64		lower;
		int64		upper;

		if (vec->isnull[i])
			nnulls++;
		else if (vec->has_ext && vec->isext[i])
		{
			next++;
			check_pointer(walk, vecno, i, vec->values[i]);
		}
		else if (vi->has_zone && in_zone)
			in_zone = value_zone(&walk->info, vec->values[i], &lower, &upper) &&
				upper >= vi->zone_min && lower <= vi->zone_max;
	}
	if (nnulls != vi->nnulls)
		report_vector(walk, vecno, "null count is wrong");
	if ((next > 0) != vi->has_ext || (vi->has_ext && vi->has_zone))
		report_vector(walk, vecno, "flags for overflow values are wrong");
	if (!in_zone)
		report_vector(walk, vecno, "a value lies outside of the zone map");
}

/* ZsCheckStep: decodes everything; the codec's only error is memory. */
static void
check_vectors(ZsCheck *check, void *arg)
{
	SegmentWalk *walk = arg;
	const ZsSegmentInfo *info = &walk->info;
	ZsDecoder  *decoder = get_decoder(check);
	const char *reason;

	zscodec_shared_free(&decoder->shared);
	if (info->shared_len > 0)
	{
		reason = zscodec_shared_open(info, walk->payload + info->shared_off, info->shared_len,
									 &decoder->shared);
		if (reason != NULL)
		{
			report(walk, reason);
			return;
		}
	}
	for (uint32 v = 0; v < info->nvectors; v++)
	{
		CHECK_FOR_INTERRUPTS();
		reason = zscodec_vector_decode(info, (int) v, walk->payload + info->vectors[v].off,
									   info->vectors[v].len, &decoder->shared, ZS_FORM_VALUES,
									   &decoder->vec);
		if (reason != NULL)
			report_vector(walk, v, reason);
		else
			check_values(walk, v, &decoder->vec);
	}
}

/* Contents of a segment whose pages are in order: payload_size bytes. */
void
zscheck_payload(ZsCheck *check, uint16 treeno, const ZsSegmentItem *item, const uint8 *payload)
{
	SegmentWalk *walk = palloc0(sizeof(SegmentWalk));
	const char *reason;

	walk->check = check;
	walk->treeno = treeno;
	walk->item = item;
	walk->payload = payload;
	reason = zscodec_segment_open(payload, item->payload_size, &walk->info);
	if (reason == NULL && walk->info.stored_size != item->payload_size)
		reason = "head says another size than the tree's item";
	if (reason != NULL)
		report(walk, reason);
	else
	{
		check_kind(walk);
		check_head(walk);
		reason = zscheck_protect(check, check_vectors, walk);
		if (reason != NULL)
			report(walk, reason);
	}
	pfree(walk);
}
