/*-------------------------------------------------------------------------
 *
 * io_method.c
 *	  The choice of the method by which runs get to their files.
 *
 * io_uring where the setting and the system let it be, else threads.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_method.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "io_worker.h"

/* The method for that many runs in flight; the log is told when it is another than before. */
const ZsIoMethodOps *
zsio_method_start(ZsIoWorker *worker, int depth)
{
	const ZsIoMethodOps *ops = &zsio_pwritev_ops;
	const char *reason = NULL;

	Assert(depth > 0 && depth <= ZSIO_MAX_DEPTH + 1);
	if (zsio_method != ZSIO_METHOD_PWRITEV)
	{
#ifdef USE_ZS_URING
		if (zsio_uring_ops.init(worker, depth, &reason))
			ops = &zsio_uring_ops;
#else
		reason = "the library was built without liburing";
#endif
	}
	if (ops == &zsio_pwritev_ops)
	{
		bool		works = ops->init(worker, depth, &reason);

		Assert(works);
		(void) works;
	}
	if (ops->name != worker->method_logged)
	{
		if (zsio_method != ZSIO_METHOD_PWRITEV && ops == &zsio_pwritev_ops)
			ereport(LOG,
					(errmsg("I/O worker uses method \"%s\"", ops->name),
					 errdetail("io_uring is not available: %s.", reason)));
		else
			ereport(LOG,
					(errmsg("I/O worker uses method \"%s\"", ops->name)));
		worker->method_logged = ops->name;
	}
	return ops;
}
