/*-------------------------------------------------------------------------
 *
 * wal_decode.c
 *	  Logical decoding of zedstore's records.
 *
 * Only XLOG_ZS_LOGICAL records say anything; what all others are good for here is their transaction
 * id.  The rows come complete, values of any size included, so there is no TOAST to be put
 * together, and a large transaction can be streamed after any change.
 *
 * As with heap's records, catalogs are not looked at: the reorder buffer finds the table by its
 * file number when the transaction is replayed, with the catalogs as they were then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/wal/wal_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>

#include "access/htup_details.h"
#include "access/xlogreader.h"
#include "replication/decode.h"
#include "replication/logical.h"
#include "replication/reorderbuffer.h"
#include "replication/snapbuild.h"

#include "zs_compat.h"
#include "zs_wal.h"
#include "zs_walrec.h"

/* Images of a record that were not taken yet. */
typedef struct ImageReader
{
	const char *next;
	const char *end;
} ImageReader;

/* The next image as a tuple of the reorder buffer. */
static HeapTuple
take_image(LogicalDecodingContext *ctx, ImageReader *reader)
{
	xl_zs_logical_row row;
	HeapTuple	tuple;

	Assert(reader->next <= reader->end);

	if (reader->end - reader->next < (ptrdiff_t) SizeOfZsLogicalRow)
		elog(ERROR, "zedstore WAL record has too few row images");
	memcpy(&row, reader->next, SizeOfZsLogicalRow);
	reader->next += SizeOfZsLogicalRow;
	if (row.len > reader->end - reader->next)
		elog(ERROR, "row image of %u bytes in a zedstore WAL record is too long", row.len);

	tuple = ReorderBufferAllocTupleBuf(ctx->reorder, row.len);
	tuple->t_len = row.len + SizeofHeapTupleHeader;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = InvalidOid; /* known when the transaction is replayed */
	memset(tuple->t_data, 0, SizeofHeapTupleHeader);
	tuple->t_data->t_infomask2 = row.infomask2;
	tuple->t_data->t_infomask = row.infomask;
	tuple->t_data->t_hoff = row.hoff;
	memcpy((char *) tuple->t_data + SizeofHeapTupleHeader, reader->next, row.len);
	reader->next += row.len;
	return tuple;
}

/* Hands one change to the reorder buffer. */
static void
queue_change(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, const xl_zs_logical *xlrec,
			 ReorderBufferChangeType action, HeapTuple newtuple, HeapTuple oldtuple)
{
	ReorderBufferChange *change = ReorderBufferAllocChange(ctx->reorder);

	Assert(newtuple != NULL || action == REORDER_BUFFER_CHANGE_DELETE);
	Assert(oldtuple == NULL || action != REORDER_BUFFER_CHANGE_INSERT);

	change->action = action;
	change->origin_id = XLogRecGetOrigin(buf->record);
	change->data.tp.rlocator = xlrec->locator;
	change->data.tp.newtuple = newtuple;
	change->data.tp.oldtuple = oldtuple;
	change->data.tp.clear_toast_afterwards = true;
	ReorderBufferQueueChange(ctx->reorder, XLogRecGetXid(buf->record), buf->origptr, change, false);
}

/* Queues the changes of a record, whose images reader has. */
static void
decode_rows(LogicalDecodingContext *ctx, XLogRecordBuffer *buf, const xl_zs_logical *xlrec,
			ImageReader *reader)
{
	bool		has_old = (xlrec->flags & (ZS_LOGICALF_OLD_KEY | ZS_LOGICALF_OLD_ROW)) != 0;
	HeapTuple	newtuple = NULL;
	HeapTuple	oldtuple = NULL;

	switch (xlrec->op)
	{
		case ZS_LOGICAL_INSERT:
			for (int i = 0; i < xlrec->nrows; i++)
				queue_change(ctx, buf, xlrec, REORDER_BUFFER_CHANGE_INSERT,
							 take_image(ctx, reader), NULL);
			break;
		case ZS_LOGICAL_UPDATE:
			newtuple = take_image(ctx, reader);
			if (has_old)
				oldtuple = take_image(ctx, reader);
			queue_change(ctx, buf, xlrec, REORDER_BUFFER_CHANGE_UPDATE, newtuple, oldtuple);
			break;
		case ZS_LOGICAL_DELETE:
			if (has_old)
				oldtuple = take_image(ctx, reader);
			queue_change(ctx, buf, xlrec, REORDER_BUFFER_CHANGE_DELETE, NULL, oldtuple);
			break;
		default:
			elog(ERROR, "unexpected operation %u in a zedstore WAL record", xlrec->op);
	}
	if (reader->next != reader->end)
		elog(ERROR, "zedstore WAL record has bytes behind its row images");
}

#if ZS_DECODES_FOR_REPACK
/*
 * Does REPACK (CONCURRENTLY), if this process decodes for that, have no use for changes of the
 * table?  Core asks for the table of block 0 of the record, and ours have no blocks: so it is shown
 * one that names the table.
 */
static bool
is_of_no_use(XLogRecordBuffer *buf, const RelFileLocator *locator)
{
	union
	{
		DecodedXLogRecord record;
		char		space[offsetof(DecodedXLogRecord, blocks) + sizeof(DecodedBkpBlock)];
	}			shown = {0};
	DecodedXLogRecord *record = buf->record->record;
	bool		result;

	shown.record.max_block_id = 0;
	shown.record.blocks[0].in_use = true;
	shown.record.blocks[0].rlocator = *locator;
	shown.record.blocks[0].forknum = MAIN_FORKNUM;
	buf->record->record = &shown.record;
	result = change_useless_for_repack(buf);
	buf->record->record = record;
	return result;
}
#else
#define is_of_no_use(buf, locator)	false
#endif

/* The change that an XLOG_ZS_LOGICAL record tells of. */
static void
decode_logical(LogicalDecodingContext *ctx, XLogRecordBuffer *buf)
{
	const char *data = XLogRecGetData(buf->record);
	Size		len = XLogRecGetDataLen(buf->record);
	char	   *raw = NULL;
	xl_zs_logical xlrec;
	ImageReader reader;

	Assert(len >= SizeOfZsLogical);
	memcpy(&xlrec, data, SizeOfZsLogical);
	data += SizeOfZsLogical;
	len -= SizeOfZsLogical;

	/* only interested in our database, and in origins that the output plugin is */
	if (xlrec.locator.dbOid != ctx->slot->data.database || is_of_no_use(buf, &xlrec.locator))
		return;
	if (ctx->callbacks.filter_by_origin_cb != NULL &&
		filter_by_origin_cb_wrapper(ctx, XLogRecGetOrigin(buf->record)))
		return;

	if (xlrec.flags & ZS_LOGICALF_LZ4)
	{
		raw = palloc(xlrec.raw_len);
		if (LZ4_decompress_safe(data, raw, (int) len, (int) xlrec.raw_len) != (int) xlrec.raw_len)
			elog(ERROR, "could not decompress the row images of a zedstore WAL record");
		data = raw;
		len = xlrec.raw_len;
	}
	reader.next = data;
	reader.end = data + len;
	decode_rows(ctx, buf, &xlrec, &reader);
	if (raw != NULL)
		pfree(raw);
}

/*
 * rm_decode.  Follows heap_decode() in what is skipped when: without a consistent snapshot the
 * change is not wanted, and SnapBuildProcessChange() must see it even if decoding
 * only fast-forwards.
 */
void
zswal_decode(LogicalDecodingContext *ctx, XLogRecordBuffer *buf)
{
	TransactionId xid = XLogRecGetXid(buf->record);
	SnapBuild  *builder = ctx->snapshot_builder;

	Assert(XLogRecGetRmid(buf->record) == ZS_RMGR_ID);

	ReorderBufferProcessXid(ctx->reorder, xid, buf->origptr);
	if ((XLogRecGetInfo(buf->record) & XLR_RMGR_INFO_MASK) != XLOG_ZS_LOGICAL)
		return;
	if (SnapBuildCurrentState(builder) < SNAPBUILD_FULL_SNAPSHOT)
		return;
	if (SnapBuildProcessChange(builder, xid, buf->origptr) && !ctx->fast_forward)
		decode_logical(ctx, buf);
}
