/*-------------------------------------------------------------------------
 *
 * stale_pointer.c
 *	  For t/btree_parent_search.pl, which builds it: sends a search for a parent
 *	  to another block, as a pointer would that became stale when it had just been read.
 *
 * An injection point of that search passes the block of the root on.  It is changed when
 * another process waits for a lock of a page's contents.
 *
 * Another one passes on how often a lock was tried; for one process all tries seem to be used up.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/stale_pointer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/builtins.h"
#include "utils/injection_point.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(stale_pointer_attach);
PG_FUNCTION_INFO_V1(always_busy_attach);

extern PGDLLEXPORT void stale_pointer_run(const char *name, const void *private_data, void *arg);
extern PGDLLEXPORT void always_busy_run(const char *name, const void *private_data, void *arg);

/* Content locks are lightweight locks before PostgreSQL 19, and have a class of their own since. */
#if PG_VERSION_NUM >= 190000
#define WAIT_CONTENT_LOCK	PG_WAIT_BUFFER
#else
#define WAIT_CONTENT_LOCK	PG_WAIT_LWLOCK
#endif

typedef struct StalePointer
{
	int			pid;
	int			waits_pid;
	BlockNumber blkno;
} StalePointer;

/* In that process, once. */
void
stale_pointer_run(const char *name, const void *private_data, void *arg)
{
	static bool done = false;
	const StalePointer *stale = private_data;
	PGPROC	   *proc;

	if (stale->pid != MyProcPid || done)
		return;
	done = true;
	pgstat_report_wait_start(PG_WAIT_EXTENSION);
	while ((proc = BackendPidGetProc(stale->waits_pid)) != NULL &&
		   (*(volatile uint32 *) &proc->wait_event_info & 0xFF000000) != WAIT_CONTENT_LOCK)
		pg_usleep(10000);
	pgstat_report_wait_end();
	*(BlockNumber *) arg = stale->blkno;
}

/* stale_pointer_attach(point, library below pkglibdir, pid, pid of the other process, block) */
Datum
stale_pointer_attach(PG_FUNCTION_ARGS)
{
	StalePointer stale = {
		PG_GETARG_INT32(2), PG_GETARG_INT32(3), (BlockNumber) PG_GETARG_INT32(4)
	};

	InjectionPointAttach(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						 text_to_cstring(PG_GETARG_TEXT_PP(1)),
						 "stale_pointer_run", &stale, sizeof(stale));
	PG_RETURN_VOID();
}

/* In that process, each time. */
void
always_busy_run(const char *name, const void *private_data, void *arg)
{
	if (*(const int *) private_data == MyProcPid)
		*(int *) arg = 100;
}

/* always_busy_attach(point, library below pkglibdir, pid) */
Datum
always_busy_attach(PG_FUNCTION_ARGS)
{
	int			pid = PG_GETARG_INT32(2);

	InjectionPointAttach(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						 text_to_cstring(PG_GETARG_TEXT_PP(1)),
						 "always_busy_run", &pid, sizeof(pid));
	PG_RETURN_VOID();
}
