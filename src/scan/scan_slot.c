/*-------------------------------------------------------------------------
 *
 * scan_slot.c
 *	  The slot type of zedstore tables: columns are decoded on demand.
 *
 * EXPLAIN ANALYZE SELECT * looks at no column, a sum at one: decoding in
 * getsomeattrs() makes both pay for what they use.  The executor asks for the
 * first n attributes whenever it needs the n-th; the needed-column mask that
 * the ExecutorStart hook stamps on scan slots (scan_projection.c) spares the
 * ones before it.  Columns outside the mask have no valid value; in assert
 * builds they are poisoned so that reading one does not pass for a NULL.
 *
 * Copying the whole row (tuples for sorts, hash tables, triggers) ignores the
 * mask.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_slot.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/transam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "scan_slot.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_tid.h"

/*
 * Memory for materialized values that a slot keeps for the next row, since a loader fills it again
 * at once.
 */
#define KEPT_DATA_SIZE	8192

#ifdef USE_ASSERT_CHECKING
#define POISON ((Datum) UINT64CONST(0x7F7F7F7F7F7F7F7F))
#endif

static void
zs_slot_init(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	zslot->nneeded = -1;
}

static void
zs_slot_clear(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	zsslot_unlink(zslot);
	if (unlikely(zslot->memory.data_size > KEPT_DATA_SIZE))
	{
		pfree(zslot->memory.data);
		zslot->memory.data = NULL;
		zslot->memory.data_size = 0;
	}
	slot->tts_flags &= ~TTS_FLAG_SHOULDFREE;
	if (unlikely(zslot->memory.context != NULL))
		MemoryContextReset(zslot->memory.context);
	zslot->memory.watched = false;
	zslot->left.relid = InvalidOid;
	zslot->has_vis = false;
	zslot->load.staged = false;
	slot->tts_nvalid = 0;
	slot->tts_flags |= TTS_FLAG_EMPTY;
	ItemPointerSetInvalid(&slot->tts_tid);
}

static void
zs_slot_release(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	zsslot_unlink(zslot);
	if (zslot->memory.context != NULL)
		MemoryContextDelete(zslot->memory.context);
	zslot->memory.context = NULL;
	zslot->memory.watched = false;
	if (zslot->memory.data != NULL)
		pfree(zslot->memory.data);
	zslot->memory.data = NULL;
	zslot->memory.data_size = 0;
	zsslot_load_leave(&zslot->load);
}

static void
zs_slot_getsomeattrs(TupleTableSlot *slot, int natts)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	Assert(natts <= slot->tts_tupleDescriptor->natts);
	if (zslot->load.staged)
	{
		zsslot_load_fill(zslot, natts);
		return;
	}
	if (unlikely(OidIsValid(zslot->left.relid)))
		zsslot_find_left(zslot);
	if (unlikely(zslot->source == NULL))
		elog(ERROR, "zedstore slot has no source for attribute %d", natts);
#ifdef USE_ASSERT_CHECKING
	for (int i = slot->tts_nvalid; i < natts; i++)
	{
		slot->tts_values[i] = POISON;
		slot->tts_isnull[i] = false;
	}
#endif
	zslot->source->fill(zslot->source, zslot, slot->tts_nvalid, natts, true);
	slot->tts_nvalid = Max(slot->tts_nvalid, natts);
}

/*
 * Makes all attributes valid, whatever the mask.
 *
 * A sort has a slot copied straight into its bump context, where nothing can be freed.  But pages
 * are read here, which evicts others, for which core allocates and frees (see
 * CompactCheckpointerRequestQueue()).
 */
static void
fill_all(ZsSlot *zslot)
{
	TupleTableSlot *slot = &zslot->base;
	int			natts = slot->tts_tupleDescriptor->natts;

	if (OidIsValid(zslot->left.relid) && (zslot->nneeded >= 0 || slot->tts_nvalid < natts))
		zsslot_find_left(zslot);
	if (zslot->load.staged)
		zsslot_load_fill(zslot, natts);
	else if (zslot->source != NULL && (zslot->nneeded >= 0 || slot->tts_nvalid < natts))
	{
		MemoryContext old = MemoryContextSwitchTo(zsslot_values_context(zslot));

		zslot->source->fill(zslot->source, zslot,
							zslot->nneeded >= 0 ? 0 : slot->tts_nvalid, natts, false);
		slot->tts_nvalid = natts;
		MemoryContextSwitchTo(old);
	}
	else if (unlikely(slot->tts_nvalid == 0 && natts > 0))
		elog(ERROR, "zedstore slot has no source for attribute %d", natts);
}

/* Who may see the row is known, or can be found out. */
static bool
find_vis(ZsSlot *zslot)
{
	if (!zslot->has_vis && OidIsValid(zslot->left.relid))
		zsslot_find_left(zslot);
	if (!zslot->has_vis && zslot->source != NULL && zslot->source->find_vis != NULL)
		zslot->has_vis = zslot->source->find_vis(zslot->source, zslot);
	return zslot->has_vis;
}

static void
require_vis(ZsSlot *zslot)
{
	if (!find_vis(zslot))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot retrieve a system column in this context")));
}

static Datum
zs_slot_getsysattr(TupleTableSlot *slot, int attnum, bool *isnull)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	require_vis(zslot);
	*isnull = false;
	switch (attnum)
	{
		case MinTransactionIdAttributeNumber:
			return TransactionIdGetDatum(zsslot_xmin(zslot));
		case MaxTransactionIdAttributeNumber:
			return TransactionIdGetDatum(zslot->vis.xmax);
		case MinCommandIdAttributeNumber:
			return CommandIdGetDatum(zslot->vis.cmin);
		case MaxCommandIdAttributeNumber:
			return CommandIdGetDatum(zslot->vis.cmax);
	}
	elog(ERROR, "invalid system attribute number %d", attnum);
	return (Datum) 0;
}

static bool
zs_slot_is_current_xact_tuple(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	require_vis(zslot);
	if (zslot->vis.xmin == FrozenTransactionId)
	{
		/* COPY FREEZE; a transaction without an id has written nothing */
		return TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
			TransactionIdIsCurrentTransactionId(zsslot_xmin(zslot));
	}
	return zstid_is_current_xact(&zslot->vis);
}

/* Size of a by-reference value as a copy of it will be. */
static inline Size
value_size(int attlen, Datum value)
{
	if (attlen > 0)
		return attlen;
	if (attlen == -1)
	{
		struct varlena *v = (struct varlena *) DatumGetPointer(value);

		if (likely(VARATT_IS_4B_U(v)))
			return VARSIZE_4B(v);
		if (VARATT_IS_EXTERNAL_EXPANDED(v))
			return EOH_get_flat_size(DatumGetEOHP(value));
		return VARSIZE_ANY(v);
	}
	return strlen(DatumGetCString(value)) + 1;
}

/*
 * Copies all values into memory of the slot and lets go of the source.  TTS_FLAG_SHOULDFREE says
 * that they are there; the memory itself outlives the row.
 *
 * COPY does this for each row, so the loops stay short: the first finds the by-reference values and
 * what they take, the second copies these.
 */
static void
keep_values(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	int16		attnos[MaxTupleAttributeNumber];
	Size		offsets[MaxTupleAttributeNumber];
	int			n = 0;
	Size		size = 0;

	if (TTS_SHOULDFREE(slot))
		return;
	fill_all(zslot);
	zslot->left.relid = InvalidOid;
	for (int i = 0; i < desc->natts; i++)
	{
		ZsAttrShape *att = ZsTupleDescShape(desc, i);

		if (att->attbyval || slot->tts_isnull[i])
			continue;
		size = ZsShapeAlign(size, att);
		attnos[n] = i;
		offsets[n++] = size;
		size += value_size(att->attlen, slot->tts_values[i]);
	}
	zsslot_unlink(zslot);
	if (n == 0)
		return;

	if (size > zslot->memory.data_size)
	{
		if (zslot->memory.data != NULL)
			pfree(zslot->memory.data);
		zslot->memory.data = NULL;
		zslot->memory.data_size = 0;
		/* a little more, so that the next row fits as well */
		zslot->memory.data = MemoryContextAllocHuge(slot->tts_mcxt, size + size / 4);
		zslot->memory.data_size = size + size / 4;
	}
	slot->tts_flags |= TTS_FLAG_SHOULDFREE;
	for (int k = 0; k < n; k++)
	{
		Datum	   *value = &slot->tts_values[attnos[k]];
		int			attlen = ZsTupleDescShape(desc, attnos[k])->attlen;
		char	   *to = zslot->memory.data + offsets[k];

		if (unlikely(attlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(*value))))
		{
			ExpandedObjectHeader *eoh = DatumGetEOHP(*value);

			EOH_flatten_into(eoh, to, EOH_get_flat_size(eoh));
		}
		else
			zs_copy_short(to, DatumGetPointer(*value), value_size(attlen, *value));
		*value = PointerGetDatum(to);
	}
}

/*
 * Keeps the values, in the stage if the slot has one.  What is there is not valid in the slot any
 * more, until somebody asks.
 */
static void
zs_slot_materialize(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	if (zslot->load.stage == NULL || !zsslot_load_add(zslot))
		keep_values(slot);
}

static void
zs_slot_copyslot(TupleTableSlot *dstslot, TupleTableSlot *srcslot)
{
	TupleDesc	srcdesc = srcslot->tts_tupleDescriptor;

	Assert(srcdesc->natts <= dstslot->tts_tupleDescriptor->natts);
	zs_slot_clear(dstslot);
	if (TTS_IS_ZEDSTORE(srcslot))
		fill_all((ZsSlot *) srcslot);
	else
		slot_getallattrs(srcslot);

	for (int i = 0; i < srcdesc->natts; i++)
	{
		dstslot->tts_values[i] = srcslot->tts_values[i];
		dstslot->tts_isnull[i] = srcslot->tts_isnull[i];
	}
	dstslot->tts_nvalid = srcdesc->natts;
	dstslot->tts_flags &= ~TTS_FLAG_EMPTY;
	dstslot->tts_tid = srcslot->tts_tid;
	dstslot->tts_tableOid = srcslot->tts_tableOid;
	if (TTS_IS_ZEDSTORE(srcslot))
	{
		((ZsSlot *) dstslot)->vis = ((ZsSlot *) srcslot)->vis;
		((ZsSlot *) dstslot)->has_vis = ((ZsSlot *) srcslot)->has_vis;
		((ZsSlot *) dstslot)->row = ((ZsSlot *) srcslot)->row;
	}
	keep_values(dstslot);
}

static HeapTuple
zs_slot_copy_heap_tuple(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;
	HeapTuple	tuple;

	fill_all(zslot);
	tuple = heap_form_tuple(slot->tts_tupleDescriptor, slot->tts_values, slot->tts_isnull);
	tuple->t_self = slot->tts_tid;
	tuple->t_tableOid = slot->tts_tableOid;
	if (zslot->has_vis)
	{
		HeapTupleHeaderSetXmin(tuple->t_data, zsslot_xmin(zslot));
		if (zslot->vis.xmin == FrozenTransactionId)
			HeapTupleHeaderSetXminFrozen(tuple->t_data);
		HeapTupleHeaderSetXmax(tuple->t_data, zslot->vis.xmax);
		/* there is one field for cmin and cmax, and the type of a composite value */
		HeapTupleHeaderSetCmin(tuple->t_data, zslot->vis.cmin);
		/* without a TID it would be taken for a composite value, whose type is gone by now */
		tuple->t_data->t_ctid = slot->tts_tid;
	}
	return tuple;
}

static MinimalTuple
zs_slot_copy_minimal_tuple(ZS_COPY_MINIMAL_TUPLE_ARGS)
{
	fill_all((ZsSlot *) slot);
	return zs_heap_form_minimal_tuple(slot->tts_tupleDescriptor, slot->tts_values,
									  slot->tts_isnull, extra);
}

const TupleTableSlotOps TTSOpsZedstore = {
	.base_slot_size = sizeof(ZsSlot),
	.init = zs_slot_init,
	.release = zs_slot_release,
	.clear = zs_slot_clear,
	.getsomeattrs = zs_slot_getsomeattrs,
	.getsysattr = zs_slot_getsysattr,
	.is_current_xact_tuple = zs_slot_is_current_xact_tuple,
	.materialize = zs_slot_materialize,
	.copyslot = zs_slot_copyslot,
	.get_heap_tuple = NULL,
	.get_minimal_tuple = NULL,
	.copy_heap_tuple = zs_slot_copy_heap_tuple,
	.copy_minimal_tuple = zs_slot_copy_minimal_tuple,
};

/* The number of the row in a slot of ours. */
zstid
zsslot_row(const TupleTableSlot *slot)
{
	Assert(TTS_IS_ZEDSTORE(slot) && !TTS_EMPTY(slot));
	return ((const ZsSlot *) slot)->row;
}

/* The visibility of the row in a slot of ours, if it is known or can be found out, else NULL. */
const ZsVisSlot *
zsslot_vis(TupleTableSlot *slot)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	Assert(TTS_IS_ZEDSTORE(slot) && !TTS_EMPTY(slot));
	return find_vis(zslot) ? &zslot->vis : NULL;
}

/*
 * Nobody is going to look at system columns of the rows in the slot, or hardly ever: scans need not
 * bring them (wanted false).
 */
void
zsslot_want_vis(TupleTableSlot *slot, bool wanted)
{
	Assert(TTS_IS_ZEDSTORE(slot));
	((ZsSlot *) slot)->no_vis = !wanted;
}

/* The slot, which is empty, has the row, but no values yet. */
static void
set_row(ZsSlot *zslot, zstid row, const ZsVisSlot *vis)
{
	Assert(TTS_EMPTY(&zslot->base));
	zslot->row = row;
	zslot->has_vis = vis != NULL;
	if (vis != NULL)
		zslot->vis = *vis;
	zs_tid_from_row(row, &zslot->base.tts_tid);
	zslot->base.tts_nvalid = 0;
	zslot->base.tts_flags &= ~TTS_FLAG_EMPTY;
}

/* Stores row `row` of source in the slot, which must be ours.  vis may be NULL. */
void
zsslot_store(TupleTableSlot *slot, ZsSlotSource *source, zstid row, const ZsVisSlot *vis)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	Assert(TTS_IS_ZEDSTORE(slot));
	if (!TTS_EMPTY(slot))
		zs_slot_clear(slot);
	Assert(source->user == NULL);

	zsslot_attach(zslot, source);
	set_row(zslot, row, vis);
}

/*
 * The row in the slot was inserted, by transaction xmin and command cmin:
 * system columns can be shown (RETURNING xmin).  Does nothing with slots of
 * other types.
 */
void
zsslot_set_inserted(TupleTableSlot *slot, TransactionId xmin, TransactionId xmax, CommandId cmin)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	if (!TTS_IS_ZEDSTORE(slot))
		return;
	memset(&zslot->vis, 0, sizeof(ZsVisSlot));
	zslot->vis.xmin = xmin;
	zslot->vis.xmax = xmax;
	zslot->vis.cmin = cmin;
	zslot->has_vis = true;
}

/*
 * Stores a row of which the caller has the values of n columns, by their numbers; others are not to
 * be looked at.  By-reference values have to stay until the slot is cleared.
 */
void
zsslot_store_values(TupleTableSlot *slot, Relation rel, zstid row, const ZsVisSlot *vis, int n,
					const AttrNumber *attnos, const Datum *values, const bool *isnull)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	Assert(TTS_IS_ZEDSTORE(slot) && row < ZS_MAX_ROW);
	ExecClearTuple(slot);
	set_row((ZsSlot *) slot, row, vis);
	for (int i = 0; i < natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
	}
	for (int i = 0; i < n; i++)
	{
		Assert(attnos[i] > 0 && attnos[i] <= natts);
		slot->tts_values[attnos[i] - 1] = values[i];
		slot->tts_isnull[attnos[i] - 1] = isnull[i];
	}
	slot->tts_nvalid = natts;
	slot->tts_tableOid = RelationGetRelid(rel);
}
