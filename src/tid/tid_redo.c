/*-------------------------------------------------------------------------
 *
 * tid_redo.c
 *	  Replay of TID tree records.
 *
 * Each record is a logical change; replay applies it to the page with the functions
 * that the session used, so that the page comes out the same but for hint
 * bits.  A change that does not fit the page means that WAL and page do not
 * belong together: PANIC, as heap does with an invalid line pointer.
 *
 * Visibility map bits are cleared before the leaf is changed, and even if the
 * leaf has the change already; on a standby no index-only scan can see a bit
 * that says more than the leaf.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "storage/bufmgr.h"
#include "storage/standby.h"

#include "tid_internal.h"

/* Ends recovery: the record does not fit the page. */
static void
replay_failed(XLogReaderState *record, uint8 block_id, const char *reason)
{
	RelFileLocator locator;
	BlockNumber blkno;

	XLogRecGetBlockTag(record, block_id, &locator, NULL, &blkno);
	elog(PANIC, "could not replay TID tree record at %X/%X for relation %u/%u/%u, block %u: %s",
		 LSN_FORMAT_ARGS(record->ReadRecPtr),
		 locator.spcOid, locator.dbOid, locator.relNumber, blkno, reason);
}

/*
 * Redo: clears the map bits of a change on block block_id of the record, and
 * applies changes to the TID leaf that is block block_id.
 */
void
zstid_redo_vm(XLogReaderState *record, uint8 block_id, const ZsTidChange *change, uint8 vm_flags)
{
	Buffer		vmbuf;

	if (XLogReadBufferForRedo(record, block_id, &vmbuf) == BLK_NEEDS_REDO)
	{
		zstid_change_clear_vm(vmbuf, change, vm_flags);
		PageSetLSN(BufferGetPage(vmbuf), record->EndRecPtr);
	}
	if (BufferIsValid(vmbuf))
		UnlockReleaseBuffer(vmbuf);
}

/*
 * Redo: applies nchanges changes to the TID leaf that is block block_id of the
 * record, unless the page has them already.  PANICs, as redo does, if they do
 * not fit the page.
 */
void
zstid_redo_leaf(XLogReaderState *record, uint8 block_id, const ZsTidChange *const *changes,
				int nchanges)
{
	Buffer		buf;

	if (XLogReadBufferForRedo(record, block_id, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);

		for (int i = 0; i < nchanges; i++)
		{
			PGAlignedBlock image;
			const char *reason = zstid_change_compute(page, InvalidXLogRecPtr, changes[i],
														  NULL, image.data, NULL);

			if (reason != NULL)
				replay_failed(record, block_id, reason);
			Assert(((PageHeader) image.data)->pd_lower >= (int) ZS_TID_CONTENTS_OFFSET);
			zstid_leaf_install(page, image.data, 0);
		}
		ZsPageGetOpaque(page)->flags &= ~ZS_PAGEF_ALL_FROZEN;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

static void
redo_change(XLogReaderState *record)
{
	ZsTidChange change;
	const ZsTidChange *changes[] = {&change};
	uint8		vm_flags;

	if (!zstid_record_decode(XLogRecGetData(record), XLogRecGetDataLen(record),
							 XLogRecGetXid(record), &change, &vm_flags))
		replay_failed(record, 0, "invalid record");
	if (vm_flags != 0)
		zstid_redo_vm(record, 1, &change, vm_flags);
	zstid_redo_leaf(record, 0, changes, 1);
}

/* Cancels queries on a standby whose snapshots are older than the horizon. */
static void
resolve_conflict(XLogReaderState *record, TransactionId horizon, bool is_catalog)
{
	RelFileLocator locator;

	if (!InHotStandby || !TransactionIdIsValid(horizon))
		return;
	XLogRecGetBlockTag(record, 0, &locator, NULL, NULL);
	ResolveRecoveryConflictWithSnapshot(horizon, is_catalog, locator);
}

static void
redo_fold(XLogReaderState *record)
{
	xl_zs_tid_fold xlrec;
	Buffer		buf;

	memcpy(&xlrec, XLogRecGetData(record), SizeOfZsTidFold);
	resolve_conflict(record, xlrec.horizon, (xlrec.flags & ZS_TIDFOLDF_CATALOG) != 0);

	if (XLogReadBufferForRedo(record, 0, &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		const char *reason = zstid_leaf_read(page, &zstid_scratch);
		PGAlignedBlock image;
		ZsTidFold	fold = {.nslots = xlrec.nslots};

		if (reason == NULL && zstid_scratch.nslots != xlrec.nslots)
			reason = "page has another number of slots";
		if (reason == NULL &&
			!zstid_fold_decode(XLogRecGetData(record) + SizeOfZsTidFold,
							   XLogRecGetDataLen(record) - SizeOfZsTidFold,
							   zstid_scratch.slots, &fold))
			reason = "invalid record";
		if (reason != NULL)
			replay_failed(record, 0, reason);
		zstid_edit_fold(&zstid_scratch, &fold);
		if (!zstid_leaf_write(&zstid_scratch, image.data))
			replay_failed(record, 0, "page is full");
		zstid_leaf_install(page, image.data, 0);
		if (xlrec.flags & ZS_TIDFOLDF_ALL_FROZEN)
			ZsPageGetOpaque(page)->flags |= ZS_PAGEF_ALL_FROZEN;
		PageSetLSN(page, record->EndRecPtr);
		MarkBufferDirty(buf);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

static void
redo_vismap(XLogReaderState *record)
{
	xl_zs_tid_vismap *xlrec = (xl_zs_tid_vismap *) XLogRecGetData(record);
	Buffer		buf;

	resolve_conflict(record, xlrec->horizon, (xlrec->flags & ZS_TIDVMF_CATALOG) != 0);

	if (xlrec->flags & ZS_TIDVMF_LEAF)
	{
		if (XLogReadBufferForRedo(record, 1, &buf) == BLK_NEEDS_REDO)
		{
			ZsPageGetOpaque(BufferGetPage(buf))->flags |= ZS_PAGEF_ANY_VISIBLE;
			PageSetLSN(BufferGetPage(buf), record->EndRecPtr);
			MarkBufferDirty(buf);
		}
		if (BufferIsValid(buf))
			UnlockReleaseBuffer(buf);
	}

	/* the map may have been extended without a trace in WAL */
	if (XLogReadBufferForRedoExtended(record, 0, RBM_ZERO_ON_ERROR, false,
									  &buf) == BLK_NEEDS_REDO)
	{
		Page		page = BufferGetPage(buf);
		Size		size;
		const ZsTidVmRange *ranges = (const ZsTidVmRange *) XLogRecGetBlockData(record, 0, &size);

		if (size != xlrec->nranges * sizeof(ZsTidVmRange))
			replay_failed(record, 0, "invalid record");
		if (PageIsNew(page))
			PageInit(page, BLCKSZ, 0);
		if (xlrec->flags & ZS_TIDVMF_CLEAR)
		{
			for (int i = 0; i < xlrec->nranges; i++)
				zstid_vm_clear(buf, ranges[i].first, ranges[i].first + ranges[i].nblocks - 1,
							   ranges[i].bits);
		}
		else
			zstid_vm_apply(buf, ranges, xlrec->nranges);
		PageSetLSN(page, record->EndRecPtr);
	}
	if (BufferIsValid(buf))
		UnlockReleaseBuffer(buf);
}

/* Redo of the records of TID leaves and of the visibility map. */
void
zstid_redo(XLogReaderState *record)
{
	uint8		info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	switch (info)
	{
		case XLOG_ZS_TID_CHANGE:
			redo_change(record);
			break;
		case XLOG_ZS_TID_FOLD:
			redo_fold(record);
			break;
		case XLOG_ZS_TID_VISMAP:
			redo_vismap(record);
			break;
		default:
			elog(PANIC, "zstid_redo: unknown op code %u", info);
	}
}

/*
 * Takes hint bits out of a leaf's image, for wal_consistency_checking.
 */
void
zstid_mask_page(char *page)
{
	ZsTidWalk	walk;

	if (zstid_walk_begin(&walk, page) != NULL)
		return;
	for (int i = 0; i < walk.nslots; i++)
		walk.slots[i].infomask &= ~ZS_VIS_HINT_BITS;
}
