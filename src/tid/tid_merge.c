/*-------------------------------------------------------------------------
 *
 * tid_merge.c
 *	  Two neighbouring TID leaves become one.
 *
 * The runs of the right leaf follow those of the left one, with a run of
 * unused rows between them where the left one's stream ended early; slots that
 * both have are kept once.  Visibility map bits stay as they are: a bit speaks
 * for a block that lies within one leaf, and that still does.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tid_internal.h"

/* Appends a run; one with the slot of the last run makes that one longer. */
static void
append_run(ZsTidLeaf *leaf, zstid first, uint64 count, uint16 slotno)
{
	ZsTidRun   *last = leaf->nruns > 0 ? &leaf->runs[leaf->nruns - 1] : NULL;

	Assert(count > 0);
	if (last != NULL && last->slotno == slotno)
	{
		last->count += count;
		return;
	}
	Assert(leaf->nruns < (int) lengthof(leaf->runs));
	leaf->runs[leaf->nruns].first = first;
	leaf->runs[leaf->nruns].count = count;
	leaf->runs[leaf->nruns++].slotno = slotno;
}

/*
 * Number of a slot for rows behind those of the leaf in its table, to which it is added if it is
 * not there.
 */
static uint16
add_slot(ZsTidLeaf *leaf, const ZsVisSlot *slot)
{
	for (int i = 0; i < leaf->nslots; i++)
	{
		ZsVisSlot	next = leaf->slots[i];
		uint64		behind;

		/* the successors go on where those of the rows here end */
		if (zstid_slot_has_successors(&next))
			next.successor += zstid_leaf_rank(leaf, ZS_FIRST_REAL_SLOT + i, leaf->hikey, &behind);
		if (memcmp(&next, slot, sizeof(ZsVisSlot)) == 0)
			return ZS_FIRST_REAL_SLOT + i;
	}
	Assert(leaf->nslots < (int) ZS_TID_MAX_SLOTS);
	leaf->slots[leaf->nslots] = *slot;
	return ZS_FIRST_REAL_SLOT + leaf->nslots++;
}

/* Adds what right holds to left. */
static void
append_leaf(ZsTidLeaf *left, const ZsTidLeaf *right)
{
	uint16		newno[ZS_FIRST_REAL_SLOT + ZS_TID_MAX_SLOTS];
	zstid		end = left->lokey;

	for (int i = 0; i < ZS_FIRST_REAL_SLOT; i++)
		newno[i] = i;
	for (int i = 0; i < right->nslots; i++)
		newno[ZS_FIRST_REAL_SLOT + i] = add_slot(left, &right->slots[i]);

	if (left->nruns > 0)
		end = left->runs[left->nruns - 1].first + left->runs[left->nruns - 1].count;
	if (right->nruns > 0 && end < right->lokey)
		append_run(left, end, right->lokey - end, ZS_SLOT_UNUSED);
	for (int i = 0; i < right->nruns; i++)
		append_run(left, right->runs[i].first, right->runs[i].count,
				   newno[right->runs[i].slotno]);
	left->hikey = right->hikey;
}

/* Bytes of a leaf's run stream, and number of its slots; what they say was not verified. */
static int
stream_size(Page page, int *nslots)
{
	const ZsTidLeafHeader *header = (const ZsTidLeafHeader *) ((char *) page +
															   ZS_TID_CONTENTS_OFFSET);

	*nslots = 0;
	if (((PageHeader) page)->pd_lower <= (int) ZS_TID_CONTENTS_OFFSET)
		return 0;
	*nslots = header->nslots;
	return header->stream_size;
}

/* Are the two leaves better off as one? */
static bool
are_small(Page left, Page right)
{
	int			left_slots;
	int			right_slots;
	int			stream = stream_size(left, &left_slots) + stream_size(right, &right_slots);
	int			size = (int) (((PageHeader) left)->pd_lower + ((PageHeader) right)->pd_lower) -
		2 * (int) ZS_TID_CONTENTS_OFFSET;

	if (left_slots + right_slots == 0)
		return size <= (int) ZS_TID_SETTLED_SIZE;
	return size <= (int) ZS_TID_MERGE_SIZE && stream <= ZS_TID_MAX_STREAM * 6 / 10;
}

/*
 * ZsMergeFunc of zs_btree.h.  Leaves are merged when both together have at
 * most ZS_TID_MERGE_SIZE bytes of contents: a leaf that is fuller is split by
 * the next writers.  Leaves whose rows are all settled may get larger
 * (ZS_TID_SETTLED_SIZE): where random rows were updated they are much of the
 * table, and many of them are not written to again.
 */
const char *
zstid_merge_leaves(Page left, Page right, Page image, bool *merged)
{
	ZsTidLeaf  *leaves;
	const char *reason;

	/*
	 * A leaf that VACUUM need not look at stays one: a mark that only one of the two
	 * has would be lost.
	 */
	*merged = false;
	if (((ZsPageGetOpaque(left)->flags ^ ZsPageGetOpaque(right)->flags) & ZS_PAGEF_ALL_FROZEN) ||
		!are_small(left, right))
		return NULL;

	leaves = palloc_array(ZsTidLeaf, 2);
	reason = zstid_leaf_read(left, &leaves[0]);
	if (reason == NULL)
		reason = zstid_leaf_read(right, &leaves[1]);
	if (reason == NULL)
	{
		append_leaf(&leaves[0], &leaves[1]);
		*merged = zstid_leaf_write(&leaves[0], image);
		Assert(!*merged || zstid_leaf_read(image, &leaves[1]) == NULL);
	}
	pfree(leaves);
	return reason;
}
