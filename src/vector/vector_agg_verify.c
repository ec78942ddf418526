/*-------------------------------------------------------------------------
 *
 * vector_agg_verify.c
 *	  Core's transition and final functions beside ours, for tests.
 *
 * With zedstore.debug_vector = verify each row that passes the filter row by row goes through
 * core's functions, too, in the order of the rows; in the end the results must have the same text.  Partial results go through
 * core's deserial and final functions before.
 *
 * Core's functions want to be called by an Agg node: they ask for the memory context that their states live in.  A
 * node that has nothing else stands in for it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_verify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "vector_agg.h"

typedef struct VerifiedAgg
{
	FmgrInfo	transfn;
	FmgrInfo	finalfn;		/* fn_oid invalid: none */
	FmgrInfo	deserialfn;		/* the same; of partial results */
	Oid			collation;
	Oid			resulttype;
	int16		translen;
	bool		transbyval;
	bool		has_arg;
	bool		partial;
	int			nfinalargs;
	bool		init_isnull;
	Datum		init;
} VerifiedAgg;

typedef struct VerifiedValue
{
	bool		known;			/* else as at the beginning */
	Datum		value;
	bool		isnull;
	bool		no_value;		/* strict, and no input was seen */
} VerifiedValue;

struct ZsAggVerifier
{
	AggState   *node;
	MemoryContext context;		/* of transition values */
	MemoryContext own_context;
	int			naggs;
	VerifiedAgg *aggs;
	uint32		ngroups;
	VerifiedValue *values;		/* naggs for each group */
};

/* The value of an aggregate for a group. */
static VerifiedValue *
value_of(ZsAggVerifier *verifier, uint32 group, int aggno)
{
	VerifiedAgg *agg = &verifier->aggs[aggno];
	VerifiedValue *value;

	if (group >= verifier->ngroups)
	{
		uint32		n = Max(group + 1, verifier->ngroups * 2);
		size_t		size = verifier->naggs * sizeof(VerifiedValue);

		verifier->values = verifier->values == NULL ?
			MemoryContextAllocHuge(verifier->own_context, n * size) : repalloc_huge(verifier->values, n * size);
		memset((char *) verifier->values + verifier->ngroups * size, 0, (n - verifier->ngroups) * size);
		verifier->ngroups = n;
	}
	value = &verifier->values[(size_t) group * verifier->naggs + aggno];
	if (!value->known)
	{
		MemoryContext old = MemoryContextSwitchTo(verifier->context);

		value->known = true;
		value->isnull = value->no_value = agg->init_isnull;
		value->value = agg->init_isnull ? (Datum) 0 : datumCopy(agg->init, agg->transbyval, agg->translen);
		MemoryContextSwitchTo(old);
	}
	return value;
}

void
zsvector_verify_reset(ZsAggVerifier *verifier)
{
	MemoryContextReset(verifier->context);
	if (verifier->values != NULL)
		memset(verifier->values, 0, verifier->ngroups * verifier->naggs * sizeof(VerifiedValue));
}

static void
init_agg(ZsAggVerifier *verifier, VerifiedAgg *agg, const Aggref *aggref)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;
	Datum		init;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	fmgr_info(form->aggtransfn, &agg->transfn);
	if (OidIsValid(form->aggfinalfn))
		fmgr_info(form->aggfinalfn, &agg->finalfn);
	agg->nfinalargs = 1 + (form->aggfinalextra ? list_length(aggref->args) : 0);
	agg->collation = aggref->inputcollid;
	agg->resulttype = aggref->aggtype;
	if (DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit))
	{
		agg->partial = true;
		agg->resulttype = get_func_rettype(aggref->aggfnoid);
		if (form->aggtranstype == INTERNALOID)
			fmgr_info(form->aggdeserialfn, &agg->deserialfn);
	}
	agg->has_arg = aggref->args != NIL;
	get_typlenbyval(form->aggtranstype, &agg->translen, &agg->transbyval);
	init = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &agg->init_isnull);
	if (!agg->init_isnull)
	{
		Oid			typinput;
		Oid			typioparam;
		char	   *s = TextDatumGetCString(init);

		getTypeInputInfo(form->aggtranstype, &typinput, &typioparam);
		agg->init = OidInputFunctionCall(typinput, s, typioparam, -1);
	}
	ReleaseSysCache(tuple);
}

ZsAggVerifier *
zsvector_verify_begin(List *aggrefs)
{
	ZsAggVerifier *verifier = palloc0(sizeof(ZsAggVerifier));
	ListCell   *lc;
	int			i = 0;

	verifier->node = makeNode(AggState);
	verifier->node->curaggcontext = CreateStandaloneExprContext();
	verifier->context = verifier->node->curaggcontext->ecxt_per_tuple_memory;
	verifier->own_context = CurrentMemoryContext;
	verifier->naggs = list_length(aggrefs);
	verifier->aggs = palloc0(verifier->naggs * sizeof(VerifiedAgg));
	foreach(lc, aggrefs)
		init_agg(verifier, &verifier->aggs[i++], lfirst_node(Aggref, lc));
	return verifier;
}

/* As advance_transition_function() of nodeAgg.c. */
void
zsvector_verify_row(ZsAggVerifier *verifier, uint32 group, int aggno, Datum datum, bool isnull)
{
	VerifiedAgg *agg = &verifier->aggs[aggno];
	VerifiedValue *trans = value_of(verifier, group, aggno);
	LOCAL_FCINFO(fcinfo, 2);
	MemoryContext old;
	Datum		value;

	if (agg->transfn.fn_strict)
	{
		if (agg->has_arg && isnull)
			return;
		if (trans->no_value)
		{
			old = MemoryContextSwitchTo(verifier->context);
			trans->value = datumCopy(datum, agg->transbyval, agg->translen);
			MemoryContextSwitchTo(old);
			trans->isnull = trans->no_value = false;
			return;
		}
		if (trans->isnull)
			return;
	}
	InitFunctionCallInfoData(*fcinfo, &agg->transfn, agg->has_arg ? 2 : 1, agg->collation,
							 (Node *) verifier->node, NULL);
	fcinfo->args[0].value = trans->value;
	fcinfo->args[0].isnull = trans->isnull;
	fcinfo->args[1].value = datum;
	fcinfo->args[1].isnull = isnull;
	value = FunctionCallInvoke(fcinfo);
	if (!agg->transbyval && !fcinfo->isnull &&
		(trans->isnull || DatumGetPointer(value) != DatumGetPointer(trans->value)))
	{
		old = MemoryContextSwitchTo(verifier->context);
		value = datumCopy(value, false, agg->translen);
		MemoryContextSwitchTo(old);
	}
	trans->value = value;
	trans->isnull = fcinfo->isnull;
	trans->no_value = false;
}

static char *
result_text(Oid type, Datum value, bool isnull)
{
	Oid			typoutput;
	bool		isvarlena;

	if (isnull)
		return "NULL";
	getTypeOutputInfo(type, &typoutput, &isvarlena);
	return OidOutputFunctionCall(typoutput, value);
}

/* What core's final function makes of a transition value. */
static Datum
finish(ZsAggVerifier *verifier, VerifiedAgg *agg, Datum value, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);

	if (!OidIsValid(agg->finalfn.fn_oid) || (agg->finalfn.fn_strict && *isnull))
		return value;
	InitFunctionCallInfoData(*fcinfo, &agg->finalfn, agg->nfinalargs, agg->collation,
							 (Node *) verifier->node, NULL);
	for (int i = 0; i < agg->nfinalargs; i++)
	{
		fcinfo->args[i].value = i == 0 ? value : (Datum) 0;
		fcinfo->args[i].isnull = i == 0 ? *isnull : true;
	}
	value = FunctionCallInvoke(fcinfo);
	*isnull = fcinfo->isnull;
	return value;
}

/* The transition value that a partial result stands for. */
static Datum
deserialize(ZsAggVerifier *verifier, VerifiedAgg *agg, Datum value, bool isnull)
{
	LOCAL_FCINFO(fcinfo, 2);

	if (isnull || !OidIsValid(agg->deserialfn.fn_oid))
		return value;
	InitFunctionCallInfoData(*fcinfo, &agg->deserialfn, 2, InvalidOid, (Node *) verifier->node, NULL);
	fcinfo->args[0].value = value;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = (Datum) 0;
	fcinfo->args[1].isnull = false;
	return FunctionCallInvoke(fcinfo);
}

void
zsvector_verify_result(ZsAggVerifier *verifier, uint32 group, int aggno, Datum result, bool isnull)
{
	VerifiedAgg *agg = &verifier->aggs[aggno];
	VerifiedValue *trans = value_of(verifier, group, aggno);
	bool		expected_isnull = trans->isnull;
	Datum		expected = finish(verifier, agg, trans->value, &expected_isnull);
	char	   *ours;
	char	   *theirs;

	if (agg->partial)
	{
		result = deserialize(verifier, agg, result, isnull);
		result = finish(verifier, agg, result, &isnull);
	}
	ours = result_text(agg->resulttype, result, isnull);
	theirs = result_text(agg->resulttype, expected, expected_isnull);
	if (strcmp(ours, theirs) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("aggregate %d differs: %s by batches, %s by rows", aggno + 1, ours, theirs)));
}
