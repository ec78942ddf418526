/*-------------------------------------------------------------------------
 *
 * tid_inspect.c
 *	  Leaf contents for inspection functions and the verifier.
 *
 * A leaf as arrays that a caller may keep: all others look at leaves by ZsTidLeaf
 * and ZsLeafWalk (tid_internal.h), which point into one scratch copy.  Takes no
 * lock.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_inspect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tid_internal.h"

/*
 * Unpacks a leaf page (a copy, or locked) into slots and runs; arrays are
 * palloc'd.  successors (may be NULL) has for each run that of its first row,
 * ZS_INVALID_ROW if it has none; those of the other rows follow one by one.
 * Returns NULL, or what is wrong with the page.
 */
const char *
zstid_leaf_unpack(Page page, int *nslots, ZsVisSlot **slots, int *nruns, ZsTidRun **runs,
				  zstid **successors)
{
	ZsTidLeaf  *leaf = palloc(sizeof(ZsTidLeaf));
	const char *reason = zstid_leaf_read(page, leaf);

	*nslots = *nruns = 0;
	*slots = NULL;
	*runs = NULL;
	if (successors != NULL)
		*successors = NULL;
	if (reason == NULL)
	{
		*nslots = leaf->nslots;
		*nruns = leaf->nruns;
		*slots = palloc(Max(leaf->nslots, 1) * sizeof(ZsVisSlot));
		*runs = palloc(Max(leaf->nruns, 1) * sizeof(ZsTidRun));
		memcpy(*slots, leaf->slots, leaf->nslots * sizeof(ZsVisSlot));
		memcpy(*runs, leaf->runs, leaf->nruns * sizeof(ZsTidRun));

		if (successors != NULL)
			*successors = palloc(Max(leaf->nruns, 1) * sizeof(zstid));
		for (int i = 0; i < leaf->nruns && successors != NULL; i++)
		{
			ZsVisSlot  *slot = leaf->runs[i].slotno < ZS_FIRST_REAL_SLOT ? NULL :
				&leaf->slots[leaf->runs[i].slotno - ZS_FIRST_REAL_SLOT];

			(*successors)[i] = ZS_INVALID_ROW;
			if (slot == NULL || !zstid_slot_has_successors(slot))
				continue;
			(*successors)[i] = slot->successor;
			slot->successor += leaf->runs[i].count;
		}
	}
	pfree(leaf);
	return reason;
}
