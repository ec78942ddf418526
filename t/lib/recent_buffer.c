/*-------------------------------------------------------------------------
 *
 * recent_buffer.c
 *	  For t/page_recent_buffer.pl, which builds it: asks for a buffer by the number that it had,
 *	  by zedstore_io's own function (src/base/base_buffer.c), while this process is reading it.
 *
 * recent_buffer_pins(table): begins to read the first block of a table, which must be in no buffer,
 * asks for it, ends the read and asks again.  Gives back what it got.  Returns both answers, and
 * how many processes have the buffer pinned then.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/recent_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "../../src/base/base_buffer.c"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(recent_buffer_pins);

/* that of zedstore_io is not for others to see */
bool		zs_enable_read_stream = true;

Datum
recent_buffer_pins(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	ReadBuffersOperation operation = {0};
	Buffer		buffer = InvalidBuffer;
	bool		early;
	bool		late;
	int			pins;

	operation.smgr = RelationGetSmgr(rel);
	operation.rel = rel;
#if PG_VERSION_NUM >= 180000
	operation.persistence = rel->rd_rel->relpersistence;
#endif
	operation.forknum = MAIN_FORKNUM;
	if (!StartReadBuffer(&operation, &buffer, 0, 0))
		elog(ERROR, "the block is in a buffer already");

	early = zsbase_pin_recent(&rel->rd_locator, MAIN_FORKNUM, 0, buffer);
	if (early)
		ReleaseBuffer(buffer);
	WaitReadBuffers(&operation);
	late = zsbase_pin_recent(&rel->rd_locator, MAIN_FORKNUM, 0, buffer);
	if (late)
		ReleaseBuffer(buffer);
	ReleaseBuffer(buffer);
	pins = (int) BUF_STATE_GET_REFCOUNT(zs_buffer_state(GetBufferDescriptor(buffer - 1)));

	relation_close(rel, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("while it is read: %s, then: %s, pins left: %d",
											  early ? "pinned" : "no", late ? "pinned" : "no",
											  pins)));
}
