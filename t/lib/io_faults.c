/*-------------------------------------------------------------------------
 *
 * io_faults.c
 *	  For t/io_faults.pl, which builds it: lets writes of the I/O workers fail.
 *
 * An injection point in front of a write passes its length on as an ssize_t;
 * what is here changes it to -errno, or to fewer bytes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/io_faults.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/injection_point.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(io_fault_attach);
PG_FUNCTION_INFO_V1(io_fault_detach);

extern PGDLLEXPORT void io_fault_run(const char *name, const void *private_data, void *arg);

typedef struct Fault
{
	int			result;
	int			times;			/* in each process; 0: always */
} Fault;

void
io_fault_run(const char *name, const void *private_data, void *arg)
{
	static int	done = 0;
	const Fault *fault = private_data;
	ssize_t    *length = arg;

	if (fault->times > 0 && done++ >= fault->times)
		return;
	if (fault->result < 0 || *length > fault->result)
		*length = fault->result;
}

/* io_fault_attach(point, library below pkglibdir, result, times) */
Datum
io_fault_attach(PG_FUNCTION_ARGS)
{
	Fault		fault = {PG_GETARG_INT32(2), PG_GETARG_INT32(3)};

	InjectionPointAttach(text_to_cstring(PG_GETARG_TEXT_PP(0)),
						 text_to_cstring(PG_GETARG_TEXT_PP(1)),
						 "io_fault_run", &fault, sizeof(fault));
	PG_RETURN_VOID();
}

Datum
io_fault_detach(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(InjectionPointDetach(text_to_cstring(PG_GETARG_TEXT_PP(0))));
}
