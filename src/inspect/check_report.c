/*-------------------------------------------------------------------------
 *
 * check_report.c
 *	  zs_check(): the list of problems, and errors that become problems.
 *
 * What all parts of the check call, and what calls none of them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "check_internal.h"

/* Problems that a pass remembers; a table that has more needs no longer list. */
#define MAX_PROBLEMS		1000

/*
 * Adds a problem, in the words of fmt, to the list; blkno and treeno as in
 * ZsProblem.  Beyond MAX_PROBLEMS the list is marked as incomplete.
 */
void
zscheck_report(ZsCheck *check, ZsSeverity severity, BlockNumber blkno, uint16 treeno,
			   const char *fmt,...)
{
	ZsProblemList *list = check->list;
	MemoryContext old;
	StringInfoData text;
	ZsProblem  *problem;

	Assert(severity == ZS_SEVERITY_ERROR || severity == ZS_SEVERITY_NOTICE);
	Assert(treeno < ZS_MAX_TREES);
	Assert(list->nproblems >= 0 && list->nproblems <= MAX_PROBLEMS);
	Assert(check->problem_context != NULL);
	if (list->nproblems == MAX_PROBLEMS)
	{
		list->complete = false;
		return;
	}

	old = MemoryContextSwitchTo(check->problem_context);
	if (list->problems == NULL)
		list->problems = palloc(MAX_PROBLEMS * sizeof(ZsProblem));
	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	MemoryContextSwitchTo(old);

	problem = &list->problems[list->nproblems++];
	problem->severity = severity;
	problem->blkno = blkno;
	problem->treeno = treeno;
	problem->message = text.data;
}

/* Is it the data's fault, or that of bytes that cannot be read? */
static bool
error_is_about_data(const ErrorData *edata)
{
	switch (ERRCODE_TO_CATEGORY(edata->sqlerrcode))
	{
		case ERRCODE_SYSTEM_ERROR:	/* unreadable files */
		case ERRCODE_DATA_EXCEPTION:
			return true;
		case ERRCODE_INTERNAL_ERROR:
			/* data corrupted, index corrupted, cannot happen */
			return true;
		default:
			return false;
	}
}

/*
 * Runs step(check, arg) in a subtransaction.  An error about wrong data is
 * caught: returns its text, palloc'd; NULL if there was none.  All other
 * errors go on.
 */
char *
zscheck_protect(ZsCheck *check, ZsCheckStep step, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *volatile result = NULL;

	/* rolling back would take locks on pages away from a caller who relies on them */
	Assert(step != NULL && InterruptHoldoffCount == 0 && CritSectionCount == 0);
	CHECK_FOR_INTERRUPTS();
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(check, arg);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!error_is_about_data(edata))
			ReThrowError(edata);
		result = edata->detail == NULL ? pstrdup(edata->message) :
			psprintf("%s: %s", edata->message, edata->detail);
		FreeErrorData(edata);
	}
	PG_END_TRY();
	return result;
}
