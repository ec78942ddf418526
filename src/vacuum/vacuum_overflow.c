/*-------------------------------------------------------------------------
 *
 * vacuum_overflow.c
 *	  Overflow values of rows that are gone.
 *
 * A value's pages are freed after the last pointer to them is gone: versions of a row may share
 * a value (attr_overflow.c), which counts them, so each must be put on the list once.  While rows
 * move, a pointer may stand in the row tree and in a segment.  Then the segment owns the value
 * if both say the same, and who takes the row out of the row tree leaves it alone; who
 * throws a segment away leaves alone what the row tree still has.
 *
 * The attributes of a dead row are looked at with care: it may be of a transaction
 * that added a column and aborted, whose attribute number has another type today.  What
 * does not lead to a value of the column is no pointer.
 *
 * Crash: values that are on the list, and whose pointers are gone, are leaked.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_overflow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "vacuum_compact.h"

/*
 * An empty list for values of the table.  Its memory comes from the current
 * context, also later.
 */
void
zsvacuum_doomed_init(ZsDoomedList *list, Relation rel)
{
	memset(list, 0, sizeof(ZsDoomedList));
	list->rel = rel;
	list->context = CurrentMemoryContext;
}

/*
 * Puts a value of column attno on the list.  An error leaves the list as it
 * was.
 */
void
zsvacuum_doomed_add(ZsDoomedList *list, AttrNumber attno, const ZsOverflowPointer *pointer)
{
	Assert(attno >= 1 && list->n <= list->max);
	if (list->n == list->max)
	{
		int			max = Max(list->max * 2, 64);

		if (list->values == NULL)
			list->values = MemoryContextAllocHuge(list->context, max * sizeof(ZsDoomedValue));
		else
			list->values = repalloc_huge(list->values, max * sizeof(ZsDoomedValue));
		list->max = max;
	}
	list->values[list->n].attno = attno;
	list->values[list->n++].pointer = *pointer;
}

/* Frees what is on the list, and empties it. */
void
zsvacuum_doomed_free(ZsDoomedList *list)
{
	if (list->n == 0)
		return;
	ZS_INJECTION_POINT("zs-compact-free-overflow");
	for (int i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (zsattr_overflow_free(list->rel, list->values[i].attno, &list->values[i].pointer))
			list->nfreed++;
	}
	list->n = 0;
}

/* ---- rows of the row tree ----------------------------------------------------------- */

/* Does a segment of the column hold the same pointer for the row? */
static bool
segment_has_pointer(Relation rel, AttrNumber attno, zstid row, const ZsOverflowPointer *pointer)
{
	ZsOverflowPointer found;

	return zsattr_find_pointer(rel, attno, row, &found) &&
		memcmp(&found, pointer, sizeof(ZsOverflowPointer)) == 0;
}

/*
 * Calls fn for each overflow pointer of a row of the row tree.  The row may be
 * a dead one whose attributes had other types, so bytes that cannot be a value
 * end the walk, and what looks like a pointer need not be one.  False if the
 * row does not look like one of today's attributes, so that it may have
 * others.
 */
bool
zsvacuum_visit_item(Relation rel, const MinimalTupleData *item, ZsItemPointerVisitor fn, void *arg)
{
	ZsRowWalk	walk;

	if ((item->t_infomask & HEAP_HASEXTERNAL) == 0)
		return true;
	zsrow_walk_begin(&walk, RelationGetDescr(rel), item);
	while (zsrow_walk_next(&walk))
	{
		ZsOverflowPointer pointer;

		if (!walk.is_pointer)
			continue;
		zsattr_overflow_from_datum((const struct varlena *) walk.value, &pointer);
		fn(walk.attno, &pointer, arg);
	}
	return walk.reason == NULL && walk.natts == HeapTupleHeaderGetNatts(item) &&
		walk.off == walk.len;
}

/* An item whose values are put on the list; with only_dropped, those of dropped columns. */
typedef struct DoomedItem
{
	ZsDoomedList *list;
	zstid		row;
	bool		only_dropped;
} DoomedItem;

/* ZsItemPointerVisitor */
static void
doom_value(AttrNumber attno, const ZsOverflowPointer *pointer, void *arg)
{
	DoomedItem *doomed = arg;
	ZsDoomedList *list = doomed->list;

	if (doomed->only_dropped && !TupleDescAttr(RelationGetDescr(list->rel),
											   attno - 1)->attisdropped)
		return;
	if (!segment_has_pointer(list->rel, attno, doomed->row, pointer))
		zsvacuum_doomed_add(list, attno, pointer);
}

/* Puts the item's values on the list. */
static void
doom_item(ZsDoomedList *list, const MinimalTupleData *item, bool only_dropped)
{
	DoomedItem	doomed = {
		.list = list,
		.row = zsrow_item_row(item),
		.only_dropped = only_dropped
	};

	(void) zsvacuum_visit_item(list->rel, item, doom_value, &doomed);
}

/*
 * Puts the overflow values of dead rows [first, end) of the row tree on the
 * list, which are going to leave it.
 */
void
zsvacuum_doom_rows(ZsDoomedList *list, zstid first, zstid end, ZsRowBatch *batch)
{
	Assert(first < end);
	zsrow_fetch_range(list->rel, first, end, batch);
	for (int i = 0; i < batch->nitems; i++)
		doom_item(list, batch->items[i], false);
}

/*
 * As zsvacuum_doom_rows(), for the values that a row has in columns that were
 * dropped.
 */
void
zsvacuum_doom_dropped(ZsDoomedList *list, const MinimalTupleData *item)
{
	doom_item(list, item, true);
}
