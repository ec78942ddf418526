/*-------------------------------------------------------------------------
 *
 * attr_reshape.c
 *	  Values as PostgreSQL wants them.
 *
 * What the codec forms is right for most types.  For the others a copy is made in the working
 * memory of the reader (attr_space.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_reshape.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "varatt.h"

#include "attr_internal.h"

/*
 * Bytes that reshaping the value takes in the reader's memory; 0 = it stays.
 */
static Size
reshaped_size(const ZsAttrKind *kind, uint64 value)
{
	const char *datum = (const char *) value;

	if (VARATT_IS_SHORT(datum))
		return kind->layout == ZS_LAYOUT_UNPACKED ?
			MAXALIGN(VARSIZE_SHORT(datum) - VARHDRSZ_SHORT + VARHDRSZ) : 0;
	return value % kind->align != 0 ? MAXALIGN(VARSIZE(datum)) : 0;
}

/*
 * The codec forms varlenas with short headers where they fit, aligned to 4
 * bytes otherwise.  That is not enough for types that are never packed, for
 * those that want 8-byte alignment, and for cstrings.  Reshapes rows [first,
 * last] of vec, which the reader has decoded; the values are good as long as those were.
 */
void
zsattr_reshape_values(ZsAttrReader *reader, ZsVectorOut *vec, uint32 first, uint32 last)
{
	const ZsAttrKind *kind = &reader->kind;
	ZsReaderSpace *space = reader->space;
	Size		need = 0;
	char	   *dst;

	for (uint32 i = first; i <= last; i++)
	{
		if (vec->isnull[i] || (vec->has_ext && vec->isext[i]))
			continue;
		if (kind->layout == ZS_LAYOUT_CSTRING)
			vec->values[i] = (uint64) VARDATA_ANY((char *) vec->values[i]);
		else
			need += reshaped_size(kind, vec->values[i]);
	}
	if (need == 0)
		return;

	if (need > space->layout_size)
	{
		if (space->layout_mem != NULL)
			pfree(space->layout_mem);
		space->layout_mem = NULL;
		space->layout_size = 0;
		space->layout_mem = MemoryContextAllocHuge(space->context, need);
		space->layout_size = need;
	}
	dst = space->layout_mem;
	for (uint32 i = first; i <= last; i++)
	{
		const char *datum = (const char *) vec->values[i];
		Size		size;
		Size		len;

		if (vec->isnull[i] || (vec->has_ext && vec->isext[i]))
			continue;
		size = reshaped_size(kind, vec->values[i]);
		if (size == 0)
			continue;
		len = VARSIZE_ANY_EXHDR(datum);
		SET_VARSIZE(dst, len + VARHDRSZ);
		memcpy(VARDATA(dst), VARDATA_ANY(datum), len);
		vec->values[i] = (uint64) dst;
		dst += size;
	}
	Assert(dst <= space->layout_mem + space->layout_size);
}
