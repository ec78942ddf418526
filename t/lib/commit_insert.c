/*-------------------------------------------------------------------------
 *
 * commit_insert.c
 *	  For t/write_commit_insert.pl, which builds it: a library that runs a statement when a
 *	  transaction is about to commit.
 *
 * It is loaded before zedstore_io, so that its callback comes after zedstore_io's.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/commit_insert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static char *statement = NULL;

static void
run_statement(XactEvent event, void *arg)
{
	if ((event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE) ||
		statement == NULL || statement[0] == '\0')
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	if (SPI_execute(statement, false, 0) < 0)
		elog(ERROR, "could not run \"%s\"", statement);
	SPI_finish();
	PopActiveSnapshot();
}

void
_PG_init(void)
{
	DefineCustomStringVariable("commit_insert.statement", "Runs when a transaction commits.", NULL,
							   &statement, "", PGC_USERSET, 0, NULL, NULL, NULL);
	RegisterXactCallback(run_statement, NULL);
}
