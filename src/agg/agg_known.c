/*-------------------------------------------------------------------------
 *
 * agg_known.c
 *	  Which of the server's aggregates we know.
 *
 * Aggregates are known by the OIDs of the server's own; what a search path leads to plays no part.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_known.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "zs_agg.h"

typedef struct KnownAggregate
{
	Oid			aggfnoid;
	ZsAggKind	kind;
	ZsDomain	domain;			/* of the argument; NONE: any */
} KnownAggregate;

#define VARIANCES(name) \
	{F_##name##_INT2, ZS_AGG_VAR_INT, ZS_DOMAIN_INT}, \
	{F_##name##_INT4, ZS_AGG_VAR_INT, ZS_DOMAIN_INT}, \
	{F_##name##_INT8, ZS_AGG_CORE, ZS_DOMAIN_INT}, \
	{F_##name##_NUMERIC, ZS_AGG_CORE, ZS_DOMAIN_DECIMAL}, \
	{F_##name##_FLOAT4, ZS_AGG_VAR_FLOAT, ZS_DOMAIN_FLOAT4}, \
	{F_##name##_FLOAT8, ZS_AGG_VAR_FLOAT, ZS_DOMAIN_FLOAT8}

static const KnownAggregate known_aggregates[] = {
	{F_COUNT_, ZS_AGG_COUNT_ROWS, ZS_DOMAIN_NONE},
	{F_COUNT_ANY, ZS_AGG_COUNT, ZS_DOMAIN_NONE},
	{F_SUM_INT2, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT4, ZS_AGG_SUM_INT, ZS_DOMAIN_INT},
	{F_SUM_INT8, ZS_AGG_SUM_INT8, ZS_DOMAIN_INT},
	{F_SUM_NUMERIC, ZS_AGG_SUM_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_SUM_FLOAT4, ZS_AGG_SUM_FLOAT4, ZS_DOMAIN_FLOAT4},
	{F_SUM_FLOAT8, ZS_AGG_SUM_FLOAT8, ZS_DOMAIN_FLOAT8},
	{F_AVG_INT2, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT4, ZS_AGG_AVG_INT, ZS_DOMAIN_INT},
	{F_AVG_INT8, ZS_AGG_AVG_INT8, ZS_DOMAIN_INT},
	{F_AVG_NUMERIC, ZS_AGG_AVG_NUMERIC, ZS_DOMAIN_DECIMAL},
	{F_AVG_FLOAT4, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT4},
	{F_AVG_FLOAT8, ZS_AGG_AVG_FLOAT, ZS_DOMAIN_FLOAT8},
	{F_MIN_INT2, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT4, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_INT8, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_DATE, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIME, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMP, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_TIMESTAMPTZ, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_MONEY, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_MIN_OID, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_PG_LSN, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_XID8, ZS_AGG_MIN, ZS_DOMAIN_UINT},
	{F_MIN_FLOAT4, ZS_AGG_MIN, ZS_DOMAIN_FLOAT4},
	{F_MIN_FLOAT8, ZS_AGG_MIN, ZS_DOMAIN_FLOAT8},
	{F_MIN_NUMERIC, ZS_AGG_MIN, ZS_DOMAIN_DECIMAL},
	{F_MIN_TEXT, ZS_AGG_MIN, ZS_DOMAIN_TEXT},
	{F_MIN_BPCHAR, ZS_AGG_MIN, ZS_DOMAIN_BPCHAR},
	{F_MIN_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MIN_TIMETZ, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MIN_INET, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_INT2, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT4, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_INT8, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_DATE, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIME, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMP, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_TIMESTAMPTZ, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_MONEY, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_MAX_OID, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_PG_LSN, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_XID8, ZS_AGG_MAX, ZS_DOMAIN_UINT},
	{F_MAX_FLOAT4, ZS_AGG_MAX, ZS_DOMAIN_FLOAT4},
	{F_MAX_FLOAT8, ZS_AGG_MAX, ZS_DOMAIN_FLOAT8},
	{F_MAX_NUMERIC, ZS_AGG_MAX, ZS_DOMAIN_DECIMAL},
	{F_MAX_TEXT, ZS_AGG_MAX, ZS_DOMAIN_TEXT},
	{F_MAX_BPCHAR, ZS_AGG_MAX, ZS_DOMAIN_BPCHAR},
	{F_MAX_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_TIMETZ, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_MAX_INET, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_BOOL_AND, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_EVERY, ZS_AGG_MIN, ZS_DOMAIN_INT},
	{F_BOOL_OR, ZS_AGG_MAX, ZS_DOMAIN_INT},
	{F_BIT_AND_INT2, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_AND_INT4, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_AND_INT8, ZS_AGG_BIT_AND, ZS_DOMAIN_INT},
	{F_BIT_OR_INT2, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_OR_INT4, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_OR_INT8, ZS_AGG_BIT_OR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT2, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT4, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_BIT_XOR_INT8, ZS_AGG_BIT_XOR, ZS_DOMAIN_INT},
	{F_ANY_VALUE, ZS_AGG_ANY, ZS_DOMAIN_NONE},
	{F_SUM_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	{F_AVG_INTERVAL, ZS_AGG_CORE, ZS_DOMAIN_NONE},
	VARIANCES(VAR_POP),
	VARIANCES(VAR_SAMP),
	VARIANCES(VARIANCE),
	VARIANCES(STDDEV_POP),
	VARIANCES(STDDEV_SAMP),
	VARIANCES(STDDEV),
};

/* Looks up a function among those that we know; count is one of them. */
bool
zsagg_kind_of(Oid aggfnoid, ZsAggKind *kind, ZsDomain *domain)
{
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
	{
		if (known_aggregates[i].aggfnoid != aggfnoid)
			continue;
		*kind = known_aggregates[i].kind;
		*domain = known_aggregates[i].domain;
		/* its result is made by core's function of what is written in core's format */
		return *kind != ZS_AGG_VAR_INT || zsagg_state_is_known();
	}
	return false;
}

/* Is it the least or greatest value, of whatever type?  Reads the system catalog. */
static bool
is_extreme(Oid aggfnoid)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggfnoid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Does the aggregate certainly have one result, in whatever order the rows come?  Sums of floats
 * are rounded by it.  Reads system catalogs.
 */
bool
zsagg_ignores_order(Oid aggfnoid)
{
	ZsAggKind	kind;
	ZsDomain	domain;

	if (!zsagg_kind_of(aggfnoid, &kind, &domain))
		return is_extreme(aggfnoid);
	return kind != ZS_AGG_SUM_FLOAT4 && kind != ZS_AGG_SUM_FLOAT8 && kind != ZS_AGG_AVG_FLOAT &&
		kind != ZS_AGG_VAR_FLOAT && kind != ZS_AGG_ANY;
}
