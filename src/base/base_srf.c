/*-------------------------------------------------------------------------
 *
 * base_srf.c
 *	  Functions that return sets, and the versions of their SQL definitions.
 *
 * A newer library is called by the definitions of an older version of the
 * extension from the restart of the server until ALTER EXTENSION UPDATE in
 * each database, which may be never.  So a function returns the columns that
 * its SQL definition names: columns are added at the end and neither removed
 * nor given another type, and what an older definition does not name is left
 * away by tuplestore_putvalues(), which reads as many values as the descriptor
 * has columns.
 *
 * The other way round the library does not have the values: the extension was
 * updated before the server was restarted, or somebody went back to an older
 * library.  That is an error, instead of values from behind the array.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_srf.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/regproc.h"

#include "zs_base.h"

/*
 * InitMaterializedSRF() for a function whose code fills ncolumns columns.  Its SQL definition may
 * be that of an older version, which names fewer of them; error if it names more.
 */
void
zsbase_srf_init(FunctionCallInfo fcinfo, int ncolumns)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	Assert(ncolumns > 0);
	InitMaterializedSRF(fcinfo, 0);
	if (rsinfo->setDesc->natts > ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function %s has more columns than the loaded library knows",
						format_procedure(fcinfo->flinfo->fn_oid)),
				 errdetail("It returns %d columns, the library of zedstore_io %s fills %d.",
						   rsinfo->setDesc->natts, ZS_VERSION, ncolumns),
				 errhint("Restart the server after installing zedstore_io, then run ALTER EXTENSION zedstore_io UPDATE.")));
}
