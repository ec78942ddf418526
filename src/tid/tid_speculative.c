/*-------------------------------------------------------------------------
 *
 * tid_speculative.c
 *	  The end of a speculative insertion (INSERT ... ON CONFLICT).
 *
 * A row inserted speculatively carries the token that others wait for.  If no
 * conflict showed up the token is taken away; else the row dies at once, even for
 * our own transaction, so that nobody has to wait for our end.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_speculative.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "tid_internal.h"

/* Locks a row that this transaction inserted speculatively. */
static void
lock_speculative_row(ZsTidRow *r, Relation rel, zstid row)
{
	zstid_row_init(r, rel, row);
	if (!zstid_row_lock(r))
		elog(ERROR, "could not find row " UINT64_FORMAT " of a speculative insertion", row);
	if (r->vis->xmin != GetCurrentTransactionId())
		elog(ERROR, "attempted to kill a tuple inserted by another transaction");
	if (!(r->vis->infomask2 & ZS_VIS2_SPECULATIVE))
		elog(ERROR, "attempted to kill a non-speculative tuple");
}

/* Speculative insertion: confirm, or kill the row (it becomes dead). */
void
zstid_finish_speculative(Relation rel, zstid row)
{
	ZsTidChange change = {.op = ZS_TID_CONFIRM, .first = row, .count = 1};
	ZsTidRow	r;

	lock_speculative_row(&r, rel, row);
	zstid_target_change(&r.target, &change);
	zstid_target_release(&r.target);
	ZS_INJECTION_POINT("zs-tid-confirm");
}

/*
 * Speculative insertion failed: the row, which this transaction inserted,
 * becomes dead.  Takes the leaf's exclusive lock; WAL-logged where the
 * relation is.
 */
void
zstid_abort_speculative(Relation rel, zstid row)
{
	ZsTidChange change = {.op = ZS_TID_KILL, .first = row, .count = 1};
	ZsTidRow	r;

	lock_speculative_row(&r, rel, row);
	zstid_target_change(&r.target, &change);
	zstid_target_release(&r.target);
	ZS_INJECTION_POINT("zs-tid-kill");

	/* the insertion was counted too */
	pgstat_count_heap_delete(rel);
}
