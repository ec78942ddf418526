/*-------------------------------------------------------------------------
 *
 * write_redo.c
 *	  Redo of rows that were written to all trees at once.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_redo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "write_internal.h"
#include "zs_tid.h"
#include "zs_walrec.h"

/* Redo of XLOG_ZS_WRITE_ROW. */
void
zswrite_redo(XLogReaderState *record)
{
	xl_zs_write_row xlrec;

	if (XLogRecGetDataLen(record) < SizeOfZsWriteRow)
		elog(PANIC, "single row record is broken");
	memcpy(&xlrec, XLogRecGetData(record), SizeOfZsWriteRow);

	/* the row's data before it can be found */
	zsrow_single_redo(record, ((uint64) xlrec.row_high << 32) | xlrec.row_low);
	zstid_single_redo(record);
}
