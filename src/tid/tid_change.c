/*-------------------------------------------------------------------------
 *
 * tid_change.c
 *	  Doing a change: lock the leaf, apply, log.
 *
 * Every writer goes through a ZsTidTarget:
 *
 *	  zstid_target_lock(): finds and locks the leaf of a row and sees to it that any one
 *	  change can be done: there is room for it, the visibility map page is
 *	  pinned when bits may have to be cleared, and the leaf's downlink is not
 *	  marked all-frozen any more.
 *	  The writer looks at the row's slot and decides.
 *	  zstid_target_change(): computes the new contents in local memory, then, in a short
 *	  critical section, copies them to the page, clears visibility map bits, and
 *	  logs both in one record.
 *
 * A writer that has to sleep unlocks the leaf and locks it again, by row
 * number, since the row may lie on another page then.
 *
 * WAL: XLOG_ZS_TID_CHANGE or XLOG_ZS_TID_FOLD, each complete in itself.  A
 * change of rows in several leaves is several records; what a crash in between
 * leaves is rows of an aborted transaction.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_change.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "tid_internal.h"
#include "zs_btree.h"
#include "zs_page.h"

/*
 * A target without a leaf; nothing is locked.  zstid_target_release() must
 * follow when it got one.
 */
void
zstid_target_init(ZsTidTarget *target, Relation rel)
{
	target->rel = rel;
	target->row = ZS_INVALID_ROW;
	target->buf = InvalidBuffer;
	target->vmbuf = InvalidBuffer;
	target->cut_vmbuf = InvalidBuffer;
	target->near_row = ZS_INVALID_ROW;
}

/*
 * The map page that a change needed last.  One statement changes many rows under the same, and the
 * leaf need not be unlocked to pin what is pinned before.
 */
static struct
{
	RelFileLocatorBackend file;
	zstid		end;			/* of the rows that it covers; 0: none */
}			last_map = {.end = 0};

/* Pins the map page of the row, which changes of rows beside it needed. */
static inline void
pin_last_map(ZsTidTarget *target, zstid row)
{
	if (row < last_map.end && last_map.end == zstid_vm_page_end(row) &&
		zsbase_has_file(target->rel, &last_map.file))
		visibilitymap_pin(target->rel, zs_row_block(row), &target->vmbuf);
}

/*
 * Locks the leaf that holds row, ready for one change of rows that start at
 * row, or at a row of the same leaf that the same map page covers.  Returns
 * false if the tree is empty and create is false.  No lock is held on entry.
 */
bool
zstid_target_lock(ZsTidTarget *target, zstid row, bool create)
{
	Relation	rel = target->rel;

	Assert(!BufferIsValid(target->buf));
	Assert(row < ZS_MAX_ROW);
	target->row = row;
	target->near_row = ZS_INVALID_ROW;
	pin_last_map(target, row);
	for (;;)
	{
		Page		page;
		ZsPageOpaque *opaque;

		target->buf = create ? zsbtree_search_or_create(rel, ZS_TREE_TID, row) :
			zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(target->buf))
			return false;
		page = BufferGetPage(target->buf);
		opaque = ZsPageGetOpaque(page);
		Assert(row >= opaque->lokey && row < opaque->hikey);

		if ((opaque->flags & ZS_PAGEF_ANY_VISIBLE) &&
			!visibilitymap_pin_ok(zs_row_block(row), target->vmbuf))
		{
			zstid_target_unlock(target);
			visibilitymap_pin(rel, zs_row_block(row), &target->vmbuf);
			last_map.file = zsbase_file(rel);
			last_map.end = zstid_vm_page_end(row);
			continue;
		}

		/*
		 * VACUUM trusts the mark in the downlink without looking at the leaf, so
		 * it goes before the leaf changes.  Holding the leaf's lock keeps VACUUM
		 * from setting it again.  A root has no downlink.
		 */
		if ((opaque->flags & ZS_PAGEF_ALL_FROZEN) && !(opaque->flags & ZS_PAGEF_ROOT))
		{
			zsbtree_mark_frozen(rel, ZS_TREE_TID, opaque->lokey, false);
			ZS_INJECTION_POINT("zs-tid-unmark");
		}

		if (zstid_leaf_free_space(page) >= ZS_TID_MAX_GROWTH)
			return true;

		/* may split the page, and releases it in any case */
		zstid_make_room(target);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Unlocks and unpins the leaf; keeps the visibility map pins. */
void
zstid_target_unlock(ZsTidTarget *target)
{
	if (BufferIsValid(target->buf))
		UnlockReleaseBuffer(target->buf);
	target->buf = InvalidBuffer;
}

/* Lets go of everything. */
void
zstid_target_release(ZsTidTarget *target)
{
	zstid_target_unlock(target);
	if (BufferIsValid(target->vmbuf))
		ReleaseBuffer(target->vmbuf);
	if (BufferIsValid(target->cut_vmbuf))
		ReleaseBuffer(target->cut_vmbuf);
	target->vmbuf = target->cut_vmbuf = InvalidBuffer;
}

/*
 * The run and the slot (in the page; NULL for fixed slot numbers) of a row of
 * the locked leaf.
 */
void
zstid_target_find(ZsTidTarget *target, zstid row, ZsTidRun *run, ZsVisSlot **slot)
{
	Page		page = BufferGetPage(target->buf);
	const char *reason = zstid_leaf_find(page, PageGetLSN(page), row, run, slot, &target->near);

	target->near_row = row;
	if (reason != NULL)
		zsbase_corrupted(target->rel, BufferGetBlockNumber(target->buf),
						 "TID tree leaf: %s.", reason);
}

#ifdef USE_ASSERT_CHECKING

/*
 * Does the leaf fulfil all invariants?  A change must not spoil a sound one; it
 * need not notice everything that was wrong before.
 */
static inline bool
leaf_is_sound(Page page)
{
	return zstid_leaf_read(page, &zstid_scratch) == NULL;
}

#endif

/* Visibility map bits that a change may invalidate, as ZS_TIDF_VM_*. */
static uint8
vm_flags_of_change(const ZsTidChange *change)
{
	switch (change->op)
	{
		case ZS_TID_INSERT:
		case ZS_TID_XMAX:
		case ZS_TID_ASSIGN:
			return ZS_TIDF_VM_VISIBLE;
		case ZS_TID_LOCK:

			/* a locked row stays visible, but is not frozen any more */
			return ZS_TIDF_VM_FROZEN;
		default:

			/* the rows were not visible to all before either */
			return 0;
	}
}

static uint8
vm_bits_of_flags(uint8 vm_flags)
{
	return (vm_flags & ZS_TIDF_VM_VISIBLE) ? VISIBILITYMAP_VALID_BITS :
		VISIBILITYMAP_ALL_FROZEN;
}

/* First and last logical block of a change. */
static inline BlockNumber
first_block(const ZsTidChange *change)
{
	return zs_row_block(change->first);
}

static inline BlockNumber
last_block(const ZsTidChange *change)
{
	return zs_row_block(change->first + change->count - 1);
}

/*
 * Visibility map bits that have to be cleared with a change of the target's leaf, as
 * ZS_TIDF_VM_*.
 */
uint8
zstid_change_vm_flags(ZsTidTarget *target, const ZsTidChange *change)
{
	uint8		vm_flags = vm_flags_of_change(change);

	if (vm_flags != 0 &&
		(!(ZsPageGetOpaque(BufferGetPage(target->buf))->flags & ZS_PAGEF_ANY_VISIBLE) ||
		 !zstid_vm_test(target->vmbuf, first_block(change), last_block(change),
						vm_bits_of_flags(vm_flags))))
		vm_flags = 0;
	return vm_flags;
}

/*
 * Does what vm_flags (ZS_TIDF_VM_*) say on the map page: redo and the change
 * itself use this.
 */
void
zstid_change_clear_vm(Buffer vmbuf, const ZsTidChange *change, uint8 vm_flags)
{
	zstid_vm_clear(vmbuf, first_block(change), last_block(change), vm_bits_of_flags(vm_flags));
}

/*
 * Applies a change to the target's leaf and logs it.  All its rows lie in the
 * leaf and under the pinned map page.  Leaves the leaf locked.
 */
void
zstid_target_change(ZsTidTarget *target, const ZsTidChange *change)
{
	Relation	rel = target->rel;
	Buffer		buf = target->buf;
	Page		page = BufferGetPage(buf);
	ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	uint8		vm_flags = zstid_change_vm_flags(target, change);
	PGAlignedBlock image;
	char		data[ZS_TID_MAX_RECORD];
	XLogRecPtr	version = PageGetLSN(page);
	ZsTidKept	kept;
	const char *reason;
	bool		was_sound PG_USED_FOR_ASSERTS_ONLY = false;

#ifdef USE_ASSERT_CHECKING
	was_sound = zsbase_check_due() && leaf_is_sound(page);
#endif
	reason = zstid_change_compute(page, version, change,
								  target->near_row == change->first ? &target->near : NULL,
								  image.data, &kept);
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf),
						 "TID tree leaf, row " UINT64_FORMAT ", operation %d: %s.",
						 change->first, change->op, reason);

	if (vm_flags != 0)
		LockBuffer(target->vmbuf, BUFFER_LOCK_EXCLUSIVE);

	target->near_row = ZS_INVALID_ROW;
	Assert(zstid_vm_page_end(change->first) ==
		   zstid_vm_page_end(change->first + change->count - 1));

	START_CRIT_SECTION();
	zstid_leaf_install(page, image.data, kept.missing);
	opaque->flags &= ~ZS_PAGEF_ALL_FROZEN;
	MarkBufferDirty(buf);
	if (vm_flags != 0)
		zstid_change_clear_vm(target->vmbuf, change, vm_flags);
	if (RelationNeedsWAL(rel))
	{
		XLogRecPtr	lsn;
		int			size = zstid_record_encode(change, GetCurrentTransactionIdIfAny(),
											   vm_flags, data);

		XLogBeginInsert();
		XLogRegisterData(data, size);
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		if (vm_flags != 0)
			XLogRegisterBuffer(1, target->vmbuf, 0);
		lsn = zspage_log_tree(XLOG_ZS_TID_CHANGE);
		PageSetLSN(page, lsn);
		zstid_walk_carry(version, lsn, opaque->lokey, kept.kept);
		if (vm_flags != 0)
			PageSetLSN(BufferGetPage(target->vmbuf), lsn);
	}
	else
		PageSetLSN(page, InvalidXLogRecPtr);	/* see zstid_walk_seek() */
	END_CRIT_SECTION();

	if (vm_flags != 0)
		LockBuffer(target->vmbuf, BUFFER_LOCK_UNLOCK);
	Assert(!was_sound || leaf_is_sound(page));
}

/*
 * Data of an XLOG_ZS_TID_FOLD record behind its fixed part.  Returns the size.
 */
static Size
encode_fold(const ZsTidFold *fold, char *buf)
{
	Size		map_size = (fold->nslots + 3) / 4;
	char	   *ptr = buf + map_size;

	memset(buf, 0, map_size);
	for (int i = 0; i < fold->nslots; i++)
	{
		ZsTidFoldSlot item;

		buf[i / 4] |= fold->actions[i] << (2 * (i % 4));
		if (fold->actions[i] != ZS_SLOTACT_REPLACE)
			continue;
		item.xmin = fold->contents[i].xmin;
		item.xmax = fold->contents[i].xmax;
		item.infomask = fold->contents[i].infomask;
		item.infomask2 = fold->contents[i].infomask2;
		memcpy(ptr, &item, sizeof(item));
		ptr += sizeof(item);
	}
	return ptr - buf;
}

/*
 * The opposite; slots are the page's.  Returns false when the data are wrong.
 */
bool
zstid_fold_decode(const char *data, Size size, const ZsVisSlot *slots, ZsTidFold *fold)
{
	Size		map_size = (fold->nslots + 3) / 4;
	const char *ptr = data + map_size;

	fold->nchanged = fold->nreplaced = 0;
	if (size < map_size)
		return false;
	for (int i = 0; i < fold->nslots; i++)
	{
		ZsTidFoldSlot item;

		fold->actions[i] = (data[i / 4] >> (2 * (i % 4))) & 3;
		if (fold->actions[i] != ZS_SLOTACT_KEEP)
			fold->nchanged++;
		if (fold->actions[i] != ZS_SLOTACT_REPLACE)
			continue;
		if (data + size - ptr < (int) sizeof(item))
			return false;
		memcpy(&item, ptr, sizeof(item));
		ptr += sizeof(item);
		fold->contents[i] = slots[i];
		fold->contents[i].xmin = item.xmin;
		fold->contents[i].xmax = item.xmax;
		fold->contents[i].infomask = item.infomask;
		fold->contents[i].infomask2 = item.infomask2;
		fold->nreplaced++;
	}
	return ptr == data + size;
}

/*
 * Settles slots of the target's leaf as fold says and logs it.  Leaves the leaf
 * locked.
 */
void
zstid_target_fold(ZsTidTarget *target, const ZsTidFold *fold)
{
	Relation	rel = target->rel;
	Page		page = BufferGetPage(target->buf);
	ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	PGAlignedBlock image;
	char		data[ZS_TID_MAX_SLOTS * (sizeof(ZsTidFoldSlot) + 1)];
	Size		data_size;
	const char *reason = zstid_leaf_read(page, &zstid_scratch);

	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(target->buf), "TID tree leaf: %s.", reason);
	Assert(fold->nslots == zstid_scratch.nslots);
	data_size = encode_fold(fold, data);
	Assert(data_size <= sizeof(data));
	zstid_edit_fold(&zstid_scratch, fold);
	if (!zstid_leaf_write(&zstid_scratch, image.data))
		elog(ERROR, "TID tree leaf grows when it is folded");

	target->near_row = ZS_INVALID_ROW;
	Assert(((PageHeader) image.data)->pd_lower <= ((PageHeader) page)->pd_lower);

	START_CRIT_SECTION();
	zstid_leaf_install(page, image.data, 0);
	if (fold->all_frozen)
		opaque->flags |= ZS_PAGEF_ALL_FROZEN;
	MarkBufferDirty(target->buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_tid_fold xlrec = {
			.horizon = fold->horizon,
			.nslots = fold->nslots,
			.flags = fold->all_frozen ? ZS_TIDFOLDF_ALL_FROZEN : 0
		};

		if (RelationIsAccessibleInLogicalDecoding(rel))
			xlrec.flags |= ZS_TIDFOLDF_CATALOG;
		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsTidFold);
		XLogRegisterData(data, data_size);
		XLogRegisterBuffer(0, target->buf, REGBUF_STANDARD);
		PageSetLSN(page, zspage_log_tree(XLOG_ZS_TID_FOLD));
	}
	else
		PageSetLSN(page, InvalidXLogRecPtr);
	END_CRIT_SECTION();
	Assert(leaf_is_sound(page));
}
