/*-------------------------------------------------------------------------
 *
 * zs_io_hooks.h
 *	  Steps of core's hooks that belong to I/O workers; called by src/hooks.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_io_hooks.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_IO_HOOKS_H
#define ZS_IO_HOOKS_H

#include "postgres.h"

#include "access/xact.h"
#include "executor/execdesc.h"
#include "tcop/utility.h"
#include "utils/elog.h"

/* ---- io_shmem.c ---- */

extern void zsio_request_shmem(void);
extern void zsio_startup_shmem(void);

/* A message goes to the log: workers learn at once that a checkpoint has started. */
extern void zsio_watch_log(ErrorData *edata);

/* ---- io_throttle.c ---- */

extern void zsio_throttle_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt,
								  const char *queryString, bool readOnlyTree,
								  ProcessUtilityContext context, ParamListInfo params,
								  QueryEnvironment *queryEnv, DestReceiver *dest,
								  QueryCompletion *qc);

/* What autovacuum workers do at the end of a transaction. */
extern void zsio_throttle_transaction(XactEvent event);

/* ---- io_commit.c ---- */

extern void zsio_commit_transaction(XactEvent event);

/* ---- io_heap_turns.c ---- */

extern void zsio_heap_turns_start(QueryDesc *queryDesc, int eflags);

#endif							/* ZS_IO_HOOKS_H */
