/*-------------------------------------------------------------------------
 *
 * tid_record.c
 *	  A ZsTidChange as bytes of a WAL record, and back.
 *
 * One row inserted or deleted should cost WAL what heap's record header costs,
 * and little more: the transaction is usually the record's own, command ids
 * and counts are small, and infomask bits fit a byte.
 *
 * No memory allocation, no ereport: encoding may run in a critical section.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_record.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"

#include "tid_internal.h"

/* infomask bit, infomask2 bit, byte bit */
static const struct
{
	uint16		infomask;
	uint16		infomask2;
	uint8		bit;
}			infobits[] = {
	{HEAP_XMAX_IS_MULTI, 0, ZS_TIDX_IS_MULTI},
	{HEAP_XMAX_LOCK_ONLY, 0, ZS_TIDX_LOCK_ONLY},
	{HEAP_XMAX_EXCL_LOCK, 0, ZS_TIDX_EXCL_LOCK},
	{HEAP_XMAX_KEYSHR_LOCK, 0, ZS_TIDX_KEYSHR_LOCK},
	{0, HEAP_KEYS_UPDATED, ZS_TIDX_KEYS_UPDATED},
	{0, ZS_VIS2_UPDATED, ZS_TIDX_UPDATED},
	{0, ZS_VIS2_MOVED_PARTITION, ZS_TIDX_MOVED_PARTITION},
};

static uint8
pack_infobits(uint16 infomask, uint16 infomask2)
{
	uint8		result = 0;

	for (int i = 0; i < (int) lengthof(infobits); i++)
	{
		if ((infomask & infobits[i].infomask) || (infomask2 & infobits[i].infomask2))
			result |= infobits[i].bit;
	}
	return result;
}

static void
unpack_infobits(uint8 bits, uint16 *infomask, uint16 *infomask2)
{
	*infomask = *infomask2 = 0;
	for (int i = 0; i < (int) lengthof(infobits); i++)
	{
		if (bits & infobits[i].bit)
		{
			*infomask |= infobits[i].infomask;
			*infomask2 |= infobits[i].infomask2;
		}
	}
}

static char *
put_integer(char *ptr, uint64 value)
{
	return (char *) zstid_put_varint((uint8 *) ptr, value);
}

/* Returns NULL at the end of the data. */
static const char *
get_integer(const char *ptr, const char *end, uint64 *value)
{
	*value = 0;
	if (ptr == NULL)
		return NULL;
	for (int shift = 0; shift < 64 && ptr < end; shift += 7)
	{
		uint8		byte = (uint8) *ptr++;

		*value |= (uint64) (byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
			return ptr;
	}
	return NULL;
}

static inline uint64
zigzag(int64 value)
{
	return ((uint64) value << 1) ^ (uint64) (value >> 63);
}

static inline int64
unzigzag(uint64 value)
{
	return (int64) (value >> 1) ^ -(int64) (value & 1);
}

/*
 * Writes the record's main data to buf, which has ZS_TID_MAX_RECORD bytes.
 * record_xid is the transaction that the record will carry in its header.
 * vm_flags: ZS_TIDF_VM_*.  Returns the size.
 */
int
zstid_record_encode(const ZsTidChange *change, TransactionId record_xid,
					uint8 vm_flags, char *buf)
{
	xl_zs_tid_change xlrec;
	char	   *ptr = buf + SizeOfZsTidChange;
	bool		has_xid = change->op == ZS_TID_INSERT || change->op == ZS_TID_XMAX ||
		change->op == ZS_TID_LOCK;

	xlrec.row_low = (uint32) change->first;
	xlrec.row_high = (uint8) (change->first >> 32);
	xlrec.op = change->op;
	xlrec.flags = vm_flags;
	Assert(change->first < ZS_MAX_ROW && change->count > 0);

	if (change->count > 1)
	{
		xlrec.flags |= ZS_TIDF_COUNT;
		ptr = put_integer(ptr, change->count - 1);
	}
	if (has_xid && (change->xid != record_xid || (change->infomask & HEAP_XMAX_IS_MULTI)))
	{
		xlrec.flags |= ZS_TIDF_XID;
		memcpy(ptr, &change->xid, sizeof(TransactionId));
		ptr += sizeof(TransactionId);
	}
	if (change->op == ZS_TID_INSERT)
	{
		ptr = put_integer(ptr, change->cid);
		if (change->token != 0)
		{
			xlrec.flags |= ZS_TIDF_TOKEN;
			ptr = put_integer(ptr, change->token);
		}
	}
	else if (has_xid)
	{
		*ptr++ = (char) pack_infobits(change->infomask, change->infomask2);
		if (change->op == ZS_TID_XMAX)
			ptr = put_integer(ptr, change->cid);
		if (change->infomask2 & ZS_VIS2_UPDATED)
			ptr = put_integer(ptr, zigzag(change->successor));
	}
	else if (change->op == ZS_TID_ASSIGN)
	{
		memcpy(ptr, change->slot, sizeof(ZsVisSlot));
		ptr += sizeof(ZsVisSlot);
	}
	memcpy(buf, &xlrec, SizeOfZsTidChange);
	Assert(ptr - buf <= ZS_TID_MAX_RECORD);
	return (int) (ptr - buf);
}

/*
 * The opposite.  Returns false when the data ends too early or goes on too long.
 */
bool
zstid_record_decode(const char *data, Size size, TransactionId record_xid,
					ZsTidChange *change, uint8 *vm_flags)
{
	const char *ptr = data + SizeOfZsTidChange;
	const char *end = data + size;
	xl_zs_tid_change xlrec;
	uint64		value = 0;

	memset(change, 0, sizeof(ZsTidChange));
	if (size < SizeOfZsTidChange)
		return false;
	memcpy(&xlrec, data, SizeOfZsTidChange);
	change->first = ((uint64) xlrec.row_high << 32) | xlrec.row_low;
	change->op = xlrec.op;
	change->xid = record_xid;
	*vm_flags = xlrec.flags & (ZS_TIDF_VM_VISIBLE | ZS_TIDF_VM_FROZEN);

	if (xlrec.flags & ZS_TIDF_COUNT)
		ptr = get_integer(ptr, end, &value);
	change->count = value + 1;
	if (xlrec.flags & ZS_TIDF_XID)
	{
		if (ptr == NULL || end - ptr < (int) sizeof(TransactionId))
			return false;
		memcpy(&change->xid, ptr, sizeof(TransactionId));
		ptr += sizeof(TransactionId);
	}
	if (xlrec.op == ZS_TID_INSERT)
	{
		ptr = get_integer(ptr, end, &value);
		change->cid = (CommandId) value;
		if (xlrec.flags & ZS_TIDF_TOKEN)
		{
			ptr = get_integer(ptr, end, &value);
			change->token = (uint32) value;
		}
	}
	else if (xlrec.op == ZS_TID_XMAX || xlrec.op == ZS_TID_LOCK)
	{
		if (ptr == NULL || ptr >= end)
			return false;
		unpack_infobits((uint8) *ptr++, &change->infomask, &change->infomask2);
		if (xlrec.op == ZS_TID_XMAX)
		{
			ptr = get_integer(ptr, end, &value);
			change->cid = (CommandId) value;
		}
		if (change->infomask2 & ZS_VIS2_UPDATED)
		{
			ptr = get_integer(ptr, end, &value);
			change->successor = unzigzag(value);
		}
	}
	else if (xlrec.op == ZS_TID_ASSIGN)
	{
		if (ptr == NULL || end - ptr < (int) sizeof(ZsVisSlot))
			return false;
		memcpy(&change->slot_buffer, ptr, sizeof(ZsVisSlot));
		change->slot = &change->slot_buffer;
		ptr += sizeof(ZsVisSlot);
	}
	return ptr == end;
}

/*
 * The same for the main data of XLOG_ZS_WRITE_ROW.  The record's own transaction is the one that
 * inserts and, in an UPDATE, also the old version's xmax.
 */
int
zstid_single_encode(const ZsTidSingle *single, char *buf)
{
	xl_zs_write_row xlrec;
	char	   *ptr = buf + SizeOfZsWriteRow;

	Assert(single->insert.op == ZS_TID_INSERT && single->insert.count == 1);

	xlrec.row_low = (uint32) single->insert.first;
	xlrec.row_high = (uint8) (single->insert.first >> 32);
	xlrec.flags = single->flags;
	memcpy(buf, &xlrec, SizeOfZsWriteRow);
	ptr = put_integer(ptr, single->insert.cid);
	if (single->flags & ZS_WRITEF_TOKEN)
		ptr = put_integer(ptr, single->insert.token);
	if (single->flags & ZS_WRITEF_UPDATE)
	{
		Assert(single->xmax.op == ZS_TID_XMAX && single->xmax.count == 1);
		Assert(single->xmax.xid == single->insert.xid && single->xmax.cid == single->insert.cid);
		Assert(single->xmax.first + single->xmax.successor == single->insert.first);
		*ptr++ = (char) pack_infobits(single->xmax.infomask, single->xmax.infomask2);
		ptr = put_integer(ptr, zigzag(single->xmax.successor));
	}
	Assert(ptr - buf <= ZS_TID_MAX_RECORD);
	return (int) (ptr - buf);
}

/*
 * What zstid_single_encode() wrote: the main data of XLOG_ZS_WRITE_ROW.  False
 * if it is not well-formed.
 */
bool
zstid_single_decode(const char *data, Size size, TransactionId record_xid, ZsTidSingle *single)
{
	const char *ptr = data + SizeOfZsWriteRow;
	const char *end = data + size;
	xl_zs_write_row xlrec;
	uint64		value = 0;

	memset(single, 0, sizeof(ZsTidSingle));
	if (size < SizeOfZsWriteRow)
		return false;
	memcpy(&xlrec, data, SizeOfZsWriteRow);
	single->flags = xlrec.flags;
	single->insert.op = ZS_TID_INSERT;
	single->insert.first = ((uint64) xlrec.row_high << 32) | xlrec.row_low;
	single->insert.count = 1;
	single->insert.xid = record_xid;
	ptr = get_integer(ptr, end, &value);
	single->insert.cid = (CommandId) value;
	if (xlrec.flags & ZS_WRITEF_TOKEN)
	{
		ptr = get_integer(ptr, end, &value);
		single->insert.token = (uint32) value;
	}
	if (xlrec.flags & ZS_WRITEF_UPDATE)
	{
		if (ptr == NULL || ptr >= end)
			return false;
		single->xmax.op = ZS_TID_XMAX;
		single->xmax.count = 1;
		single->xmax.xid = record_xid;
		single->xmax.cid = single->insert.cid;
		unpack_infobits((uint8) *ptr++, &single->xmax.infomask, &single->xmax.infomask2);
		ptr = get_integer(ptr, end, &value);
		single->xmax.successor = unzigzag(value);
		single->xmax.first = single->insert.first - single->xmax.successor;
	}
	return ptr == end;
}
