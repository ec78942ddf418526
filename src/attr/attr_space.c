/*-------------------------------------------------------------------------
 *
 * attr_space.c
 *	  Working memory of readers, kept for the next reader.
 *
 * A reader needs some 50 kB to decode into.  An index lookup creates one for
 * each column and throws them away a few microseconds later; with memory from
 * malloc() each time, most of its time would go to the kernel for handing out
 * and taking back the pages.
 *
 * Spaces come back only from readers that ended in an orderly way; after an
 * error their memory is freed, whatever state it is in.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_space.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "attr_internal.h"

/* Spaces kept, and how large one of them may be. */
#define MAX_KEPT			64
#define MAX_KEPT_SIZE		((Size) 256 * 1024)

static ZsReaderSpace *kept = NULL;
static int	nkept = 0;

/*
 * Zeros, but for the arrays of values: what they have of rows that were not decoded does not
 * matter, and the kernel hands out no pages for what nobody touches.  A row fetched from a wide
 * table makes a space for each column, and decodes single values.
 */
static ZsReaderSpace *
allocate_space(MemoryContext context)
{
	ZsReaderSpace *space = MemoryContextAlloc(context, sizeof(ZsReaderSpace));
	Size		first = offsetof(ZsReaderSpace, vec.values);
	Size		last = offsetof(ZsReaderSpace, vec.dscales);

	StaticAssertStmt(offsetof(ZsVectorOut, dscales) - offsetof(ZsVectorOut, values) ==
					 ZS_VECTOR_ROWS * 2 * (sizeof(uint64) + sizeof(uint32)),
					 "values, scaled, codes and lengths lie side by side");
	memset(space, 0, first);
	memset((char *) space + last, 0, sizeof(ZsReaderSpace) - last);
	return space;
}

/* A space for a reader, a kept one or a new one, for zsattr_space_put() to take back. */
ZsReaderSpace *
zsattr_space_get(void)
{
	MemoryContext context;
	ZsReaderSpace *space;

	if (kept != NULL)
	{
		space = kept;
		kept = space->next;
		nkept--;
		space->next = NULL;
		return space;
	}

	context = AllocSetContextCreate(TopMemoryContext, "zedstore reader space",
									ALLOCSET_SMALL_SIZES);
	space = allocate_space(context);
	space->context = context;
	space->reader = MemoryContextAlloc(context, sizeof(ZsAttrReader));
	zsattr_allocator(context, &space->alloc);
	zscodec_vector_init(&space->vec, &space->alloc);
	zscodec_shared_init(&space->own.shared, &space->alloc);
	return space;
}

/* Takes a space back; keeps its memory only when it is known to be sound. */
void
zsattr_space_put(ZsReaderSpace *space, bool sound)
{
	Assert(space->next == NULL);

	if (sound)
	{
		zscodec_shared_free(&space->own.shared);
		space->own.shared_open = false;
	}
	if (!sound || nkept >= MAX_KEPT ||
		space->window_size + space->layout_size + space->vec.arena_size + space->vec.kept_size +
		space->vec.scratch_size > MAX_KEPT_SIZE)
	{
		MemoryContextDelete(space->context);
		return;
	}
	space->next = kept;
	kept = space;
	nkept++;
}

/* Bytes of memory that the reader has for itself. */
Size
zsattr_reader_size(const ZsAttrReader *reader)
{
	const ZsReaderSpace *space = reader->space;

	return sizeof(ZsReaderSpace) + (space->index != NULL ? BLCKSZ : 0) + space->window_size +
		space->layout_size + space->vec.arena_size + space->vec.kept_size +
		space->vec.scratch_size + space->own.shared.mem_size;
}
