/*-------------------------------------------------------------------------
 *
 * probe_pick.c
 *	  Rows of a vector at other places, as pairs of a join have them.
 *
 * All forms stay what they are: codes are those of the same dictionary, and integers of the same
 * scale.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_pick.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "probe_internal.h"

/*
 * Is what was made for the rows known of a batch (its serial) what is wanted for the rows of sel
 * now?  If not, all are the rows for which to make it: a vector that was given away stays true.
 */
bool
zsprobe_rows_are_known(uint64 known_serial, const uint64 *known, uint64 serial, const uint64 *sel,
					   uint64 *all)
{
	uint64		others = 0;

	zskernel_bits_copy(all, sel);
	if (known_serial != serial)
		return false;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		others |= sel[w] & ~known[w];
		all[w] |= known[w];
	}
	return others == 0;
}

/* Picks members of an array of 32 bits; NULL if there is none. */
static const uint32 *
pick_words(const uint32 *from, const uint16 *places, const uint16 *list, uint32 n,
		   MemoryContext context, uint32 **to)
{
	if (from == NULL)
		return NULL;
	if (*to == NULL)
		*to = MemoryContextAlloc(context, ZS_KERNEL_ROWS * sizeof(uint32));
	/* codes of all rows are looked at, whether they count or not */
	memset(*to, 0, ZS_KERNEL_ROWS * sizeof(uint32));
	for (uint32 i = 0; i < n; i++)
		(*to)[list[i]] = from[places[list[i]]];
	return *to;
}

/* Picks values: integers or addresses. */
static const uint64 *
pick_values(const uint64 *from, const uint16 *places, const uint16 *list, uint32 n,
			MemoryContext context, uint64 **to)
{
	if (from == NULL)
		return NULL;
	if (*to == NULL)
		*to = MemoryContextAllocZero(context, ZS_KERNEL_ROWS * sizeof(uint64));
	for (uint32 i = 0; i < n; i++)
		(*to)[list[i]] = from[places[list[i]]];
	return *to;
}

/*
 * The vector of picked gets, at the n places of list, the rows of from that places says for these.
 * picked: a chunk of memory of its own, all zeros the first time.
 */
void
zsprobe_pick(const ZsColumnVector *from, const uint16 *places, const uint16 *list, uint32 n,
			 ZsPicked *picked)
{
	ZsColumnVector *vector = &picked->vector;
	MemoryContext context = GetMemoryChunkContext(picked);

	Assert(n <= ZS_KERNEL_ROWS);
	vector->nrows = n > 0 ? list[n - 1] + 1 : 0;
	vector->vals = (const int64 *)
		pick_values((const uint64 *) from->vals, places, list, n, context, &picked->vals);
	vector->datums = pick_values(from->datums, places, list, n, context, &picked->datums);
	vector->scale = from->scale;
	vector->lengths = pick_words(from->lengths, places, list, n, context, &picked->lengths);
	vector->codes = pick_words(from->codes, places, list, n, context, &picked->codes);
	vector->entries = pick_words(from->entries, places, list, n, context, &picked->entries);
	vector->dict = from->dict;
	vector->ndict = from->ndict;
	vector->serial = from->serial;
	vector->dscales = NULL;
	if (from->dscales != NULL)
	{
		if (picked->dscales == NULL)
			picked->dscales = MemoryContextAllocZero(context, ZS_KERNEL_ROWS);
		for (uint32 i = 0; i < n; i++)
			picked->dscales[list[i]] = from->dscales[places[list[i]]];
		vector->dscales = picked->dscales;
	}
	zskernel_bits_clear(vector->nulls);
	zskernel_bits_clear(vector->odd);
	vector->has_nulls = from->has_nulls;
	vector->has_odd = from->has_odd;
	for (uint32 i = 0; i < n && (from->has_nulls || from->has_odd); i++)
	{
		if (from->has_nulls && zskernel_bits_get(from->nulls, places[list[i]]))
			zskernel_bits_set(vector->nulls, list[i]);
		if (from->has_odd && zskernel_bits_get(from->odd, places[list[i]]))
			zskernel_bits_set(vector->odd, list[i]);
	}
}
