/*-------------------------------------------------------------------------
 *
 * agg_core.c
 *	  Core's transition and final functions, called without an Agg node.
 *
 * Two things need them: zedstore.debug_vector = verify, which computes each aggregate a second
 * time, and aggregates whose states nobody but core can keep, such as sums of numerics that leave
 * 128 bits.
 *
 * Core's functions want to be called by an Agg node: they ask it for the memory context that their
 * states live in.  A node that has nothing else stands in for it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_core.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "zs_agg.h"

/* Something for core's functions that looks like an Agg node whose states live in the context. */
AggState *
zsagg_core_node(MemoryContext context)
{
	AggState   *node = makeNode(AggState);

	Assert(MemoryContextIsValid(context));
	node->curaggcontext = makeNode(ExprContext);
	node->curaggcontext->ecxt_per_tuple_memory = context;
	return node;
}

/* The memory that core's transition functions take for the aggregate's. */
static MemoryContext
state_context(const AggState *node)
{
	Assert(IsA(node, AggState) && node->curaggcontext != NULL);
	return node->curaggcontext->ecxt_per_tuple_memory;
}

/* Looks up the functions of the aggregate. */
void
zsagg_core_init(ZsCoreAgg *agg, const Aggref *aggref)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	Form_pg_aggregate form;
	Datum		init;
	Oid			transtype;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	memset(agg, 0, sizeof(*agg));
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	fmgr_info(form->aggtransfn, &agg->transfn);
	if (OidIsValid(form->aggfinalfn))
		fmgr_info(form->aggfinalfn, &agg->finalfn);
	if (form->aggtranstype == INTERNALOID && OidIsValid(form->aggserialfn) &&
		OidIsValid(form->aggdeserialfn))
	{
		fmgr_info(form->aggserialfn, &agg->serialfn);
		fmgr_info(form->aggdeserialfn, &agg->deserialfn);
	}
	agg->nfinalargs = 1 + (form->aggfinalextra ? list_length(aggref->args) : 0);
	agg->collation = aggref->inputcollid;
	agg->has_arg = aggref->args != NIL;
	/* of polymorphic aggregates the planner knows more */
	transtype = form->aggtranstype;
	if (IsPolymorphicType(transtype))
		transtype = aggref->aggtranstype;
	Assert(!IsPolymorphicType(transtype));
	get_typlenbyval(transtype, &agg->translen, &agg->transbyval);
	init = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &agg->init_isnull);
	if (!agg->init_isnull)
	{
		Oid			typinput;
		Oid			typioparam;
		char	   *s = TextDatumGetCString(init);

		getTypeInputInfo(transtype, &typinput, &typioparam);
		agg->init = OidInputFunctionCall(typinput, s, typioparam, -1);
	}
	ReleaseSysCache(tuple);
}

/* The transition value before the first row. */
static void
start_value(const ZsCoreAgg *agg, const AggState *node, ZsCoreValue *value)
{
	MemoryContext old = MemoryContextSwitchTo(state_context(node));

	Assert(!value->known);
	value->known = true;
	value->isnull = value->no_value = agg->init_isnull;
	value->value = agg->init_isnull ? (Datum) 0 :
		datumCopy(agg->init, agg->transbyval, agg->translen);
	MemoryContextSwitchTo(old);
}

/*
 * One row more, as advance_transition_function() of nodeAgg.c.  What the function allocates for
 * itself is in the current context.  Errors: the function's.
 */
void
zsagg_core_add(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans, Datum datum, bool isnull)
{
	LOCAL_FCINFO(fcinfo, 2);
	MemoryContext old;
	Datum		value;

	Assert(agg->has_arg || !isnull);
	Assert(!trans->no_value || trans->isnull);
	if (!trans->known)
		start_value(agg, node, trans);
	if (agg->transfn.fn_strict)
	{
		if (agg->has_arg && isnull)
			return;
		if (trans->no_value)
		{
			old = MemoryContextSwitchTo(state_context(node));
			trans->value = datumCopy(datum, agg->transbyval, agg->translen);
			MemoryContextSwitchTo(old);
			trans->isnull = trans->no_value = false;
			return;
		}
		if (trans->isnull)
			return;
	}
	InitFunctionCallInfoData(*fcinfo, &agg->transfn, agg->has_arg ? 2 : 1, agg->collation,
							 (Node *) node, NULL);
	fcinfo->args[0].value = trans->value;
	fcinfo->args[0].isnull = trans->isnull;
	fcinfo->args[1].value = datum;
	fcinfo->args[1].isnull = isnull;
	value = FunctionCallInvoke(fcinfo);
	if (!agg->transbyval &&
		(fcinfo->isnull || trans->isnull ||
		 DatumGetPointer(value) != DatumGetPointer(trans->value)))
	{
		if (!fcinfo->isnull)
		{
			old = MemoryContextSwitchTo(state_context(node));
			value = datumCopy(value, false, agg->translen);
			MemoryContextSwitchTo(old);
		}
		if (!trans->isnull)
			pfree(DatumGetPointer(trans->value));
	}
	trans->value = value;
	trans->isnull = fcinfo->isnull;
	trans->no_value = false;
}

/* The result, in the current context or in the states'. */
Datum
zsagg_core_result(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS);
	Datum		value;

	Assert(agg->nfinalargs >= 1 && agg->nfinalargs <= FUNC_MAX_ARGS);
	if (!trans->known)
		start_value(agg, node, trans);
	*isnull = trans->isnull;
	if (!OidIsValid(agg->finalfn.fn_oid) || (agg->finalfn.fn_strict && trans->isnull))
		return trans->value;
	InitFunctionCallInfoData(*fcinfo, &agg->finalfn, agg->nfinalargs, agg->collation, (Node *) node,
							 NULL);
	for (int i = 0; i < agg->nfinalargs; i++)
	{
		fcinfo->args[i].value = i == 0 ? trans->value : (Datum) 0;
		fcinfo->args[i].isnull = i == 0 ? trans->isnull : true;
	}
	value = FunctionCallInvoke(fcinfo);
	*isnull = fcinfo->isnull;
	return value;
}

/* The transition value, serialized if it is of type internal; in the current context. */
Datum
zsagg_core_serialize(ZsCoreAgg *agg, AggState *node, ZsCoreValue *trans, bool *isnull)
{
	LOCAL_FCINFO(fcinfo, 1);

	Assert(OidIsValid(agg->serialfn.fn_oid) == OidIsValid(agg->deserialfn.fn_oid));
	if (!trans->known)
		start_value(agg, node, trans);
	*isnull = trans->isnull;
	if (trans->isnull || !OidIsValid(agg->serialfn.fn_oid))
		return trans->value;
	InitFunctionCallInfoData(*fcinfo, &agg->serialfn, 1, InvalidOid, (Node *) node, NULL);
	fcinfo->args[0].value = trans->value;
	fcinfo->args[0].isnull = false;
	return FunctionCallInvoke(fcinfo);
}

/* Makes such a value a transition value again, in the memory of states. */
void
zsagg_core_deserialize(ZsCoreAgg *agg, AggState *node, Datum value, bool isnull,
					   ZsCoreValue *trans)
{
	LOCAL_FCINFO(fcinfo, 2);

	memset(trans, 0, sizeof(*trans));
	trans->known = true;
	trans->isnull = isnull;
	trans->value = value;
	if (isnull || !OidIsValid(agg->deserialfn.fn_oid))
		return;
	InitFunctionCallInfoData(*fcinfo, &agg->deserialfn, 2, InvalidOid, (Node *) node, NULL);
	fcinfo->args[0].value = value;
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = (Datum) 0;
	fcinfo->args[1].isnull = false;
	trans->value = FunctionCallInvoke(fcinfo);
}

/* ---- permissions ------------------------------------------------------------------- */

/* The checks that an Agg node makes of an aggregate.  Errors: permission denied. */
void
zsagg_core_check_aggregate(const Aggref *aggref)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	Oid			functions[3] = {InvalidOid};
	Oid			owner;
	AclResult	aclresult;

	Assert(aggref->aggkind == AGGKIND_NORMAL);
	aclresult = object_aclcheck(ProcedureRelationId, aggref->aggfnoid, GetUserId(), ACL_EXECUTE);
	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_AGGREGATE, get_func_name(aggref->aggfnoid));
	InvokeFunctionExecuteHook(aggref->aggfnoid);

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", aggref->aggfnoid);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggref->aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	functions[0] = form->aggtransfn;
	if (!DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit))
		functions[1] = form->aggfinalfn;
	if (DO_AGGSPLIT_SERIALIZE(aggref->aggsplit) && form->aggtranstype == INTERNALOID)
		functions[2] = form->aggserialfn;
	ReleaseSysCache(tuple);
	for (int i = 0; i < (int) lengthof(functions); i++)
	{
		if (!OidIsValid(functions[i]))
			continue;
		aclresult = object_aclcheck(ProcedureRelationId, functions[i], owner, ACL_EXECUTE);
		if (aclresult != ACLCHECK_OK)
			aclcheck_error(aclresult, OBJECT_FUNCTION, get_func_name(functions[i]));
		InvokeFunctionExecuteHook(functions[i]);
	}
}

/*
 * The check that an Agg node makes of the equality function of a key.  Errors: permission denied.
 */
void
zsagg_core_check_equality(Oid function)
{
	AclResult	aclresult = object_aclcheck(ProcedureRelationId, function, GetUserId(),
											ACL_EXECUTE);

	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}
