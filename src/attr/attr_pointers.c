/*-------------------------------------------------------------------------
 *
 * attr_pointers.c
 *	  The overflow pointers in a segment.
 *
 * For those who are about to throw a segment away, and for an UPDATE that looks for the old row's.
 * A segment's bytes say what they are, so this works for columns that were dropped, too.  Only
 * vectors that hold pointers are decoded.
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
	bool		gone;			/* the segment was replaced meanwhile */
} PointerWalk;

static void
walk_failed(PointerWalk *walk, const char *reason)
{
	zsbase_corrupted(walk->rel, walk->item->start,
					 "Segment of attribute %d at row " UINT64_FORMAT ": %s.",
					 walk->attno, walk->item->first_row, reason);
}

/* Payload bytes, palloc'd; NULL, with walk->gone set, if the segment's pages are others' now. */
static uint8 *
read_bytes(PointerWalk *walk, uint32 offset, uint32 len)
{
	uint8	   *bytes;

	if ((uint64) offset + len > walk->item->payload_size)
		walk_failed(walk, "vector lies beyond the payload");
	bytes = MemoryContextAllocHuge(CurrentMemoryContext, Max(len, 1));
	walk->gone = !zsattr_read_payload(walk->rel, walk->attno, walk->item, offset, len, bytes);
	return walk->gone ? NULL : bytes;
}

/* Reads what the segment says of its vectors; false if it is gone. */
static bool
open_segment(PointerWalk *walk)
{
	uint32		len = Min(walk->item->payload_size, (uint32) ZS_SEGMENT_HEAD_MAX);
	uint8	   *bytes = read_bytes(walk, 0, len);
	const char *error;

	if (bytes == NULL)
		return false;
	zsattr_refuse_newer(walk->rel, bytes, len);
	error = zscodec_segment_open(bytes, len, &walk->info);
	if (error != NULL)
		walk_failed(walk, error);
	return true;
}

/* Decodes vector v; false if the segment is gone. */
static bool
decode_vector(PointerWalk *walk, int v)
{
	const ZsVectorInfo *vector = &walk->info.vectors[v];
	const char *error;
	uint8	   *bytes;

	Assert(v >= 0 && v < walk->info.nvectors && vector->has_ext);

	if (vector->needs_shared && !walk->shared_open)
	{
		bytes = read_bytes(walk, walk->info.shared_off, walk->info.shared_len);
		if (bytes == NULL)
			return false;
		error = zscodec_shared_open(&walk->info, bytes, walk->info.shared_len, &walk->shared);
		if (error != NULL)
			walk_failed(walk, error);
		pfree(bytes);
		walk->shared_open = true;
	}
	bytes = read_bytes(walk, vector->off, vector->len);
	if (bytes == NULL)
		return false;
	error = zscodec_vector_decode(&walk->info, v, bytes, vector->len, &walk->shared,
								  ZS_FORM_VALUES, &walk->vec);
	if (error != NULL)
		walk_failed(walk, error);
	pfree(bytes);
	return true;
}

/* Is there a pointer at place i of the decoded vector? */
static inline bool
is_pointer(const PointerWalk *walk, uint32 i)
{
	return walk->vec.has_ext && !walk->vec.isnull[i] && walk->vec.isext[i];
}

/* A walk through a segment, in a memory context of its own, which becomes the current one. */
static PointerWalk *
begin_walk(Relation rel, AttrNumber attno, const ZsSegmentItem *item)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "zedstore overflow pointers",
												  ALLOCSET_DEFAULT_SIZES);
	PointerWalk *walk;
	ZsAllocator alloc;

	Assert(attno > 0 && (item->flags & ZS_SEGF_HAS_OVERFLOW) != 0);

	MemoryContextSwitchTo(context);
	walk = palloc0_object(PointerWalk);
	walk->rel = rel;
	walk->attno = attno;
	walk->item = item;
	zsattr_allocator(context, &alloc);
	zscodec_shared_init(&walk->shared, &alloc);
	zscodec_vector_init(&walk->vec, &alloc);
	return walk;
}

/*
 * Calls fn for each overflow pointer in a segment, whatever the column's type is today, until it
 * returns false.  The item may have left the tree already, if its blocks are still its own.
 */
void
zsattr_visit_pointers(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
					  ZsPointerVisitor fn, void *arg)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	PointerWalk *walk;
	MemoryContext context;
	bool		more = true;

	if ((item->flags & ZS_SEGF_HAS_OVERFLOW) == 0)
		return;
	walk = begin_walk(rel, attno, item);
	context = CurrentMemoryContext;
	(void) open_segment(walk);
	for (uint32 v = 0; !walk->gone && v < walk->info.nvectors && more; v++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!walk->info.vectors[v].has_ext || !decode_vector(walk, (int) v))
			continue;
		for (uint32 i = 0; i < walk->vec.nrows && more; i++)
		{
			ZsOverflowPointer pointer;

			if (!is_pointer(walk, i))
				continue;
			zsattr_overflow_from_vector(&walk->vec, i, &pointer);
			MemoryContextSwitchTo(oldcontext);
			more = fn(item->first_row + (zstid) v * ZS_VECTOR_ROWS + i, &pointer, arg);
			MemoryContextSwitchTo(context);
		}
	}
	if (walk->gone)
		walk_failed(walk, "a page does not carry the segment's stamp");
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

/*
 * The overflow pointer that the column's segments have for the row; false if they have none.  Reads
 * one vector.
 */
bool
zsattr_find_pointer(Relation rel, AttrNumber attno, zstid row, ZsOverflowPointer *pointer)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	ZsSegmentItem item;
	ZsSegmentItem last = {0};
	bool		found = false;
	bool		gone = true;

	/* VACUUM may replace the segment between two looks at it; if it has not, the file is corrupt */
	while (gone && zsattr_find_segment(rel, attno, row, true, &item) &&
		   (item.flags & ZS_SEGF_HAS_OVERFLOW) != 0)
	{
		PointerWalk *walk = begin_walk(rel, attno, &item);
		MemoryContext context = CurrentMemoryContext;
		uint32		v = (uint32) ((row - item.first_row) / ZS_VECTOR_ROWS);
		uint32		i = (uint32) ((row - item.first_row) % ZS_VECTOR_ROWS);

		CHECK_FOR_INTERRUPTS();
		if (memcmp(&item, &last, sizeof(item)) == 0)
			walk_failed(walk, "a page does not carry the segment's stamp");
		last = item;
		if (open_segment(walk) && v < walk->info.nvectors && walk->info.vectors[v].has_ext &&
			decode_vector(walk, (int) v) && i < walk->vec.nrows && is_pointer(walk, i))
		{
			zsattr_overflow_from_vector(&walk->vec, i, pointer);
			found = true;
		}
		gone = walk->gone;
		MemoryContextSwitchTo(oldcontext);
		MemoryContextDelete(context);
	}
	return found;
}
