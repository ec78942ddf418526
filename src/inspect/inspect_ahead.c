/*-------------------------------------------------------------------------
 *
 * inspect_ahead.c
 *	  zs_read_ahead: what look-ahead of this backend has come to.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "inspect_internal.h"
#include "zs_attr_ahead.h"

PG_FUNCTION_INFO_V1(zs_read_ahead);

/* zs_read_ahead(): see docs/inspection.md. */
Datum
zs_read_ahead(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	const ZsAheadCounts *counts = &zsattr_ahead_counts;
	Datum		values[8];
	bool		nulls[8] = {0};
	int			n = 0;

	zsbase_srf_init(fcinfo, lengthof(values));
	values[n++] = Int64GetDatum((int64) counts->streams);
	values[n++] = Int64GetDatum((int64) counts->asked);
	values[n++] = Int64GetDatum((int64) counts->used);
	values[n++] = Int64GetDatum((int64) counts->missed);
	values[n++] = Int64GetDatum((int64) counts->restarts);
	values[n++] = Int64GetDatum((int64) counts->wishes);
	values[n++] = Int64GetDatum((int64) counts->wish_pages);
	values[n++] = Int64GetDatum((int64) counts->farthest);
	Assert(n == lengthof(values));
	zsinspect_put(rsinfo, values, nulls);
	return (Datum) 0;
}
