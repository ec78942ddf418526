/*-------------------------------------------------------------------------
 *
 * tid_desc.c
 *	  Descriptions of TID tree records, for pg_walinspect and error contexts.
 *
 * A record is read as redo does, by zstid_record_decode(): pg_waldump does not load
 * the library, so what runs here runs in a server, also in an error context.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_desc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "lib/stringinfo.h"

#include "tid_internal.h"

static const char *const op_names[] = {
	[ZS_TID_INSERT] = "INSERT",
	[ZS_TID_XMAX] = "XMAX",
	[ZS_TID_LOCK] = "LOCK",
	[ZS_TID_CONFIRM] = "CONFIRM",
	[ZS_TID_KILL] = "KILL",
	[ZS_TID_RELEASE] = "RELEASE",
	[ZS_TID_REMOVE_DEAD] = "REMOVE_DEAD",
	[ZS_TID_ASSIGN] = "ASSIGN",
	[ZS_TID_RETIRE] = "RETIRE",
};

static void
describe_change(StringInfo buf, XLogReaderState *record)
{
	ZsTidChange change;
	uint8		vm_flags;

	if (!zstid_record_decode(XLogRecGetData(record), XLogRecGetDataLen(record),
							 XLogRecGetXid(record), &change, &vm_flags) ||
		change.op >= lengthof(op_names) || op_names[change.op] == NULL)
	{
		appendStringInfoString(buf, "invalid");
		return;
	}

	appendStringInfo(buf, "op: %s, row: " UINT64_FORMAT, op_names[change.op], change.first);
	if (change.count > 1)
		appendStringInfo(buf, ", count: " UINT64_FORMAT, change.count);
	switch (change.op)
	{
		case ZS_TID_INSERT:
			appendStringInfo(buf, ", xmin: %u, cmin: %u", change.xid, change.cid);
			if (change.token != 0)
				appendStringInfo(buf, ", token: %u", change.token);
			break;
		case ZS_TID_XMAX:
			appendStringInfo(buf, ", xmax: %u, cmax: %u", change.xid, change.cid);
			if (change.infomask2 & ZS_VIS2_UPDATED)
				appendStringInfo(buf, ", successor: " UINT64_FORMAT,
								 change.first + change.successor);
			break;
		case ZS_TID_LOCK:
			appendStringInfo(buf, ", xmax: %u", change.xid);
			break;
		case ZS_TID_ASSIGN:
			appendStringInfo(buf, ", xmin: %u, xmax: %u", change.slot->xmin, change.slot->xmax);
			break;
		default:
			break;
	}
	if (change.op == ZS_TID_XMAX || change.op == ZS_TID_LOCK)
		appendStringInfo(buf, ", infomask: 0x%04X, infomask2: 0x%04X",
						 change.infomask, change.infomask2);
	if (vm_flags & ZS_TIDF_VM_VISIBLE)
		appendStringInfoString(buf, ", clears all-visible");
	else if (vm_flags & ZS_TIDF_VM_FROZEN)
		appendStringInfoString(buf, ", clears all-frozen");
}

/* Text for a record of the TID tree; reads no page. */
void
zstid_desc(StringInfo buf, XLogReaderState *record)
{
	switch (XLogRecGetInfo(record) & ~XLR_INFO_MASK)
	{
		case XLOG_ZS_TID_CHANGE:
			describe_change(buf, record);
			break;
		case XLOG_ZS_TID_FOLD:
			{
				xl_zs_tid_fold xlrec;

				memcpy(&xlrec, XLogRecGetData(record), SizeOfZsTidFold);
				appendStringInfo(buf, "snapshotConflictHorizon: %u, nslots: %u, flags: 0x%02X",
								 xlrec.horizon, xlrec.nslots, xlrec.flags);
				break;
			}
		case XLOG_ZS_TID_VISMAP:
			{
				xl_zs_tid_vismap xlrec;

				memcpy(&xlrec, XLogRecGetData(record), SizeOfZsTidVismap);
				appendStringInfo(buf, "snapshotConflictHorizon: %u, nranges: %u, flags: 0x%02X",
								 xlrec.horizon, xlrec.nranges, xlrec.flags);
				break;
			}
	}
}
