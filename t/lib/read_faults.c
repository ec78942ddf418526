/*-------------------------------------------------------------------------
 *
 * read_faults.c
 *	  For t/scan_read_faults.pl, which builds it: lets reads of one table fail, or cancels the
 *	  statement when one has ended.
 *
 * Core's injection point where an asynchronous read has ended passes the handle on; what is here
 * changes its result to -errno, or to fewer bytes.  It runs in a critical section, so the point has
 * to be loaded before, and acts in the backend that asked for it: with io_method = sync that one
 * completes its own reads.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/read_faults.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/aio_internal.h"
#include "utils/builtins.h"
#include "utils/injection_point.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(read_faults);

extern PGDLLEXPORT void read_fault_run(const char *name, const void *private_data, void *arg);

#define POINT "aio-process-completion-before-shared"

static bool active = false;
static RelFileNumber file;		/* whose reads fail */
static int	left;				/* reads before the first that fails */
static int	times;				/* so many fail */
static int	result;				/* -ECANCELED: the read is all right, and somebody cancels */

void
read_fault_run(const char *name, const void *private_data, void *arg)
{
	PgAioHandle *ioh = arg;

	if (!active || ioh->op != PGAIO_OP_READV || ioh->target != PGAIO_TID_SMGR ||
		ioh->target_data.smgr.rlocator.relNumber != file || left-- > 0 || times-- <= 0)
		return;
	if (result == -ECANCELED)
	{
		/* as the signal's handler does */
		InterruptPending = true;
		QueryCancelPending = true;
	}
	else if (result < 0 || ioh->result > result)
	{
		struct iovec *iov = &pgaio_ctl->iovecs[ioh->iovec_off];
		int			at = 0;

		/* what was not read must not be there */
		for (int i = 0; i < ioh->op_data.read.iov_length; i++)
		{
			int			kept = Min(Max(result - at, 0), (int) iov[i].iov_len);

			memset((char *) iov[i].iov_base + kept, 0, iov[i].iov_len - kept);
			at += iov[i].iov_len;
		}
		ioh->result = result;
	}
}

/*
 * read_faults(library below pkglibdir, filenode, reads that succeed, reads that fail then, result):
 * until it is called with no reads that fail.  Meanwhile no other process may read anything, which
 * would have to load the point at a bad time.
 */
Datum
read_faults(PG_FUNCTION_ARGS)
{
	file = PG_GETARG_OID(1);
	left = PG_GETARG_INT32(2);
	times = PG_GETARG_INT32(3);
	result = PG_GETARG_INT32(4);
	if (active)
		InjectionPointDetach(POINT);
	active = times > 0;
	if (active)
	{
		InjectionPointAttach(POINT, text_to_cstring(PG_GETARG_TEXT_PP(0)), "read_fault_run",
							 NULL, 0);
		InjectionPointLoad(POINT);
	}
	PG_RETURN_VOID();
}
