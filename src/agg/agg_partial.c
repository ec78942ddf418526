/*-------------------------------------------------------------------------
 *
 * agg_partial.c
 *	  Are our transition values core's?
 *
 * What a partial aggregate returns is taken by core's combine functions, in a Finalize Agg node of
 * core's.  For transition types that are SQL types this is the value itself.  Those of type
 * internal are bytes (agg_state.c).  Whether this server has the same is looked at once in each
 * process, by states of both makes for the same values; if they differ, there are no partial
 * plans, and variances of integers are left to core.
 *
 * Two fields may differ from core's without a consequence: the number of inputs with the largest
 * display scale, which is used for moving aggregates only, is the number of all, and sums have no
 * zeros at their end.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_partial.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "zs_agg.h"

/* Calls a transition function of core's for one input that is not NULL. */
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

/* The numeric that the text stands for, in the current context. */
static Datum
numeric_of(const char *text)
{
	return DirectFunctionCall3(numeric_in, CStringGetDatum(text), ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

/* Does this server have the formats of states that are written here?  Calls core's functions. */
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

/*
 * Can what the aggregate has seen be given to core's combine function?  May call core's functions.
 */
bool
zsagg_has_partial(const ZsAgg *agg)
{
	return !agg->distinct && (!zsagg_ops_of(agg)->is_serialized || zsagg_state_is_known());
}
