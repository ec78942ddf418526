/*-------------------------------------------------------------------------
 *
 * attr_pointers.c
 *	  The overflow pointers in a segment.
 *
 * For those who are about to throw a segment away.  Its bytes say what they are,
 * so this works for columns that were dropped, too.  Only vectors that hold
 * pointers are decoded.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_pointers.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"

/* A segment that is looked through. */
typedef struct PointerWalk
{
	Relation	rel;
	AttrNumber	attno;
	const ZsSegmentItem *item;
	ZsSegmentInfo info;
	ZsSharedState shared;
	ZsVectorOut vec;
	bool		shared_open;
} PointerWalk;

static void
walk_failed(PointerWalk *walk, const char *reason)
{
	zsbase_corrupted(walk->rel, walk->item->start,
					 "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
					 walk->attno, walk->item->first_row, reason);
}

/* Payload bytes, palloc'd. */
static uint8 *
read_bytes(PointerWalk *walk, uint32 offset, uint32 len)
{
	uint8	   *bytes;

	if ((uint64) offset + len > walk->item->payload_size)
		walk_failed(walk, "vector lies beyond the payload");
	bytes = MemoryContextAllocHuge(CurrentMemoryContext, Max(len, 1));
	if (!zsattr_read_payload(walk->rel, walk->attno, walk->item, offset, len, bytes))
		walk_failed(walk, "a page does not carry the segment's stamp");
	return bytes;
}

/* Decodes vector v. */
static void
decode_vector(PointerWalk *walk, int v)
{
	const ZsVectorInfo *vector = &walk->info.vectors[v];
	const char *error;
	uint8	   *bytes;

	if (vector->needs_shared && !walk->shared_open)
	{
		bytes = read_bytes(walk, walk->info.shared_off, walk->info.shared_len);
		error = zscodec_shared_open(&walk->info, bytes, walk->info.shared_len, &walk->shared);
		if (error != NULL)
			walk_failed(walk, error);
		pfree(bytes);
		walk->shared_open = true;
	}
	bytes = read_bytes(walk, vector->off, vector->len);
	error = zscodec_vector_decode(&walk->info, v, bytes, vector->len, &walk->shared, &walk->vec);
	if (error != NULL)
		walk_failed(walk, error);
	pfree(bytes);
}

void
zsattr_visit_pointers(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
					  ZsPointerVisitor fn, void *arg)
{
	MemoryContext context;
	MemoryContext oldcontext;
	PointerWalk *walk;
	ZsAllocator alloc;
	uint32		head_len = Min(item->payload_size, (uint32) ZS_SEGMENT_HEAD_MAX);
	const char *error;
	bool		more = true;

	if ((item->flags & ZS_SEGF_HAS_OVERFLOW) == 0)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore overflow pointers",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	walk = palloc0_object(PointerWalk);
	walk->rel = rel;
	walk->attno = attno;
	walk->item = item;
	zsattr_allocator(context, &alloc);
	zscodec_shared_init(&walk->shared, &alloc);
	zscodec_vector_init(&walk->vec, &alloc);

	error = zscodec_segment_open(read_bytes(walk, 0, head_len), head_len, &walk->info);
	if (error != NULL)
		walk_failed(walk, error);
	for (uint32 v = 0; v < walk->info.nvectors && more; v++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!walk->info.vectors[v].has_ext)
			continue;
		decode_vector(walk, (int) v);
		for (uint32 i = 0; i < walk->vec.nrows && more; i++)
		{
			ZsOverflowPointer pointer;

			if (walk->vec.isnull[i] || !walk->vec.has_ext || !walk->vec.isext[i])
				continue;
			zsattr_overflow_from_vector(&walk->vec, i, &pointer);
			MemoryContextSwitchTo(oldcontext);
			more = fn(item->first_row + (zstid) v * ZS_VECTOR_ROWS + i, &pointer, arg);
			MemoryContextSwitchTo(context);
		}
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}
