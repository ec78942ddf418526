/*-------------------------------------------------------------------------
 *
 * agg_state.c
 *	  Numbers as core's serial functions write them.
 *
 * Core's transition values of type internal travel as bytes that only core's serial functions make
 * and its deserial functions read.  The format is independent of the platform, and another one in
 * PostgreSQL 19 for sums of integers.  Whether it still is what is written here: agg_partial.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_state.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/fmgrprotos.h"
#include "varatt.h"

#include "agg_internal.h"
#include "zs_compat.h"

/* Writes a numeric as core's serial functions do. */
void
zsagg_state_send_numeric(StringInfo buf, Numeric num)
{
	bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(num)));
	StringInfoData in;
	int			ndigits;

	Assert(!numeric_is_nan(num) && !numeric_is_inf(num));
	initReadOnlyStringInfo(&in, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	ndigits = (int) pq_getmsgint(&in, 2);
	pq_sendint32(buf, ndigits);
	pq_sendint32(buf, (int16) pq_getmsgint(&in, 2));	/* weight */
	pq_sendint32(buf, (int) pq_getmsgint(&in, 2));	/* sign */
	pq_sendint32(buf, (int) pq_getmsgint(&in, 2));	/* display scale */
	for (int i = 0; i < ndigits; i++)
		pq_sendint16(buf, (uint16) pq_getmsgint(&in, 2));
	Assert(in.cursor == in.len);
}

/* Writes a sum of integers as core's serial functions write it. */
void
zsagg_state_send_integer(StringInfo buf, zs_int128 sum)
{
#if ZS_STATES_HAVE_INTEGERS
	pq_sendint64(buf, (int64) (sum >> 64));
	pq_sendint64(buf, (uint64) sum);
#else
	zsagg_state_send_numeric(buf, zsexpr_numeric_make(sum, 0, 0));
#endif
}
