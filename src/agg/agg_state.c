/*-------------------------------------------------------------------------
 *
 * agg_state.c
 *	  Aggregates' states as core's transition values, for partial aggregation.
 *
 * What a partial aggregate returns is taken by core's combine functions, in a Finalize Agg node of
 * core's.  For transition types that are SQL types this is the value itself.  Those of type
 * internal travel as bytes that only core's serial functions make and its deserial functions read.
 * The bytes are written here from the state's sum, in the format that these functions have, which
 * is independent of the platform, and another one in PostgreSQL 19 for sums of integers.  Whether
 * they still have it is looked at once in each process, by states of both makes for the same
 * values; if they differ, there are no partial plans, and variances of integers are left to core.
 *
 * Two fields may differ from core's without a consequence: the number of inputs with the largest
 * display scale, which is used for moving aggregates only, is the number of all, and sums have no
 * zeros at their end.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_state.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "zs_agg.h"
#include "zs_compat.h"

/* ---- bytes ---------------------------------------------------------------------- */

/*
 * As numericvar_serialize() of the server: the numeric's own format has 16 bits where this has 32.
 */
static void
send_numeric(StringInfo buf, Numeric num)
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

/* See zs_agg.h. */
void
zsagg_state_send_integer(StringInfo buf, zs_int128 sum)
{
#if ZS_STATES_HAVE_INTEGERS
	pq_sendint64(buf, (int64) (sum >> 64));
	pq_sendint64(buf, (uint64) sum);
#else
	send_numeric(buf, zsexpr_numeric_make(sum, 0, 0));
#endif
}

/* As int8_avg_serialize(), and as numeric_avg_serialize(). */
static Datum
sum_state(const ZsAgg *agg, ZsAggValue *value, bool is_numeric)
{
	StringInfoData buf;

	Assert(value->count > 0 || is_numeric);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, value->count);
	if (!is_numeric)
	{
		/* integers of 64 bits: no number of rows makes more than 128 of them */
		Assert(!value->is_large && value->scale == 0);
		zsagg_state_send_integer(&buf, value->sum);
	}
	else
	{
		send_numeric(&buf, zsagg_numeric_total(agg, value));
		pq_sendint32(&buf, value->dscale);
		pq_sendint64(&buf, value->count);
		pq_sendint64(&buf, value->has_nan ? 1 : 0);
		pq_sendint64(&buf, value->has_pinf ? 1 : 0);
		pq_sendint64(&buf, value->has_ninf ? 1 : 0);
	}
	return PointerGetDatum(pq_endtypsend(&buf));
}

static Datum
int8_array(int64 count, int64 sum)
{
	Datum		elements[2] = {Int64GetDatum(count), Int64GetDatum(sum)};

	return PointerGetDatum(construct_array_builtin(elements, 2, INT8OID));
}

static Datum
float8_array(const ZsAggValue *value)
{
	Datum		elements[3] = {Float8GetDatum((double) value->count), Float8GetDatum(value->sx),
	Float8GetDatum(value->sxx)};

	return PointerGetDatum(construct_array(elements, 3, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* ---- are they core's? -------------------------------------------------------------- */

static Datum
call_accum(PGFunction function, AggState *node, Datum state, bool state_isnull, Datum input)
{
	LOCAL_FCINFO(fcinfo, 2);

	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, (Node *) node, NULL);
	fcinfo->args[0].value = state;
	fcinfo->args[0].isnull = state_isnull;
	fcinfo->args[1].value = input;
	fcinfo->args[1].isnull = false;
	return function(fcinfo);
}

/* Core's serialized state of two values, and ours: the same bytes? */
static bool
states_are_equal(AggState *node, PGFunction accum, PGFunction serialize, ZsAggKind kind, Datum a,
				 Datum b)
{
	ZsAgg		agg = {.kind = kind,.domain = ZS_DOMAIN_INT,.width = sizeof(int64)};
	ZsAggValue	value = {0};
	LOCAL_FCINFO(fcinfo, 1);
	Datum		state;
	bytea	   *ours;
	bytea	   *theirs;
	bool		isnull;

	state = call_accum(accum, node, (Datum) 0, true, a);
	state = call_accum(accum, node, state, false, b);
	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, (Node *) node, NULL);
	fcinfo->args[0].value = state;
	fcinfo->args[0].isnull = false;
	theirs = DatumGetByteaPP(serialize(fcinfo));

	if (kind == ZS_AGG_SUM_NUMERIC)
		agg.domain = ZS_DOMAIN_DECIMAL;
	if (kind == ZS_AGG_VAR_INT)
		agg.width = sizeof(int32);
	zsagg_add_datum(&agg, &value, a, false);
	zsagg_add_datum(&agg, &value, b, false);
	ours = DatumGetByteaPP(zsagg_partial_result(&agg, &value, &isnull));
	return VARSIZE_ANY_EXHDR(ours) == VARSIZE_ANY_EXHDR(theirs) &&
		memcmp(VARDATA_ANY(ours), VARDATA_ANY(theirs), VARSIZE_ANY_EXHDR(ours)) == 0;
}

static Datum
numeric_of(const char *text)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

/* See zs_agg.h. */
bool
zsagg_state_is_known(void)
{
	static int	known = -1;

	if (known < 0)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
													  "zedstore aggregate states",
													  ALLOCSET_SMALL_SIZES);
		MemoryContext old = MemoryContextSwitchTo(context);
		AggState   *node = makeNode(AggState);

		node->curaggcontext = CreateStandaloneExprContext();
		known = states_are_equal(node, int8_avg_accum, int8_avg_serialize, ZS_AGG_SUM_INT8,
								 Int64GetDatum(INT64CONST(-9223372036854775807)),
								 Int64GetDatum(-123456789)) &&
			states_are_equal(node, numeric_avg_accum, numeric_avg_serialize, ZS_AGG_SUM_NUMERIC,
							 numeric_of("123456.789"), numeric_of("-98765432109.877")) &&
			states_are_equal(node, int4_accum, numeric_poly_serialize, ZS_AGG_VAR_INT,
							 Int32GetDatum(-2147483647), Int32GetDatum(12345));
		FreeExprContext(node->curaggcontext, true);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
	}
	return known == 1;
}

/* ---- partial results ------------------------------------------------------------------ */

/* See zs_agg.h. */
bool
zsagg_has_partial(const ZsAgg *agg)
{
	if (agg->distinct)
		return false;
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
		case ZS_AGG_SUM_INT:
		case ZS_AGG_SUM_FLOAT4:
		case ZS_AGG_SUM_FLOAT8:
		case ZS_AGG_AVG_INT:
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
		case ZS_AGG_VAR_FLOAT:
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return true;
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
		case ZS_AGG_VAR_INT:
			return zsagg_state_is_known();
	}
	return false;
}

/* See zs_agg.h. */
Datum
zsagg_partial_result(const ZsAgg *agg, ZsAggValue *value, bool *isnull)
{
	Assert(!agg->distinct);
	*isnull = false;
	switch (agg->kind)
	{
		case ZS_AGG_AVG_INT:
			return int8_array(value->count, value->integer);
		case ZS_AGG_VAR_INT:
			*isnull = value->count == 0;
			return *isnull ? (Datum) 0 : zsagg_variance_state(value);
		case ZS_AGG_ANY:
		case ZS_AGG_CORE:
			return zsagg_core_serialize(agg->core, agg->node, &value->core, isnull);
		case ZS_AGG_AVG_FLOAT:
		case ZS_AGG_VAR_FLOAT:
			return float8_array(value);
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT8:
			*isnull = value->count == 0;
			return *isnull ? (Datum) 0 : sum_state(agg, value, false);
		case ZS_AGG_SUM_NUMERIC:
		case ZS_AGG_AVG_NUMERIC:
			*isnull = value->count == 0 && !value->has_nan && !value->has_pinf && !value->has_ninf;
			return *isnull ? (Datum) 0 : sum_state(agg, value, true);
		default:
			return zsagg_result(agg, value, isnull);
	}
}
