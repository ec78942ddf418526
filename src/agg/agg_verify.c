/*-------------------------------------------------------------------------
 *
 * agg_verify.c
 *	  Core's transition and final functions beside ours, for tests.
 *
 * With zedstore.debug_vector = verify each row that passes the filter row by row goes through
 * core's functions, too, in the order of the rows; in the end the results must have the same text.
 * Partial results go through core's deserial and final functions before.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/agg_verify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "zs_agg.h"

struct ZsAggVerifier
{
	AggState   *node;
	MemoryContext context;		/* of transition values */
	MemoryContext own_context;
	int			naggs;
	ZsCoreAgg  *aggs;
	Oid		   *resulttypes;
	bool	   *partial;		/* is what is compared a transition value? */
	uint32		ngroups;
	ZsCoreValue *values;		/* naggs for each group */
};

/* The value of an aggregate for a group. */
static ZsCoreValue *
value_of(ZsAggVerifier *verifier, uint32 group, int aggno)
{
	Assert(aggno >= 0 && aggno < verifier->naggs && group != PG_UINT32_MAX);
	if (group >= verifier->ngroups)
	{
		uint32		n = Max(group + 1, verifier->ngroups * 2);
		size_t		size = verifier->naggs * sizeof(ZsCoreValue);

		verifier->values = verifier->values == NULL ?
			MemoryContextAllocHuge(verifier->own_context, n * size) :
			repalloc_huge(verifier->values, n * size);
		memset((char *) verifier->values + verifier->ngroups * size, 0,
			   (n - verifier->ngroups) * size);
		verifier->ngroups = n;
	}
	return &verifier->values[(size_t) group * verifier->naggs + aggno];
}

/* Forgets all transition values. */
void
zsagg_verify_reset(ZsAggVerifier *verifier)
{
	MemoryContextReset(verifier->context);
	if (verifier->values != NULL)
		memset(verifier->values, 0, verifier->ngroups * verifier->naggs * sizeof(ZsCoreValue));
}

/*
 * Gets core's functions of the node's aggregates ready.  transition: the results of partial
 * aggregates are core's transition values.  Memory comes from the current context.  Reads system
 * catalogs.
 */
ZsAggVerifier *
zsagg_verify_begin(List *aggrefs, bool transition)
{
	ZsAggVerifier *verifier = palloc0(sizeof(ZsAggVerifier));
	ListCell   *lc;

	verifier->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregates verified",
											  ALLOCSET_DEFAULT_SIZES);
	verifier->node = zsagg_core_node(verifier->context);
	verifier->own_context = CurrentMemoryContext;
	verifier->naggs = list_length(aggrefs);
	verifier->aggs = palloc0(verifier->naggs * sizeof(ZsCoreAgg));
	verifier->resulttypes = palloc0(verifier->naggs * sizeof(Oid));
	verifier->partial = palloc0(verifier->naggs * sizeof(bool));
	foreach(lc, aggrefs)
	{
		const Aggref *aggref = lfirst_node(Aggref, lc);
		int			i = foreach_current_index(lc);

		zsagg_core_init(&verifier->aggs[i], aggref);
		verifier->resulttypes[i] = aggref->aggtype;
		verifier->partial[i] = transition && DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit);
		if (DO_AGGSPLIT_SKIPFINAL(aggref->aggsplit) &&
			!IsPolymorphicType(get_func_rettype(aggref->aggfnoid)))
			verifier->resulttypes[i] = get_func_rettype(aggref->aggfnoid);
	}
	return verifier;
}

/*
 * Adds a row to aggregate number aggno of the group, by core's function.  Errors: that function's.
 */
void
zsagg_verify_row(ZsAggVerifier *verifier, uint32 group, int aggno, Datum datum, bool isnull)
{
	zsagg_core_add(&verifier->aggs[aggno], verifier->node, value_of(verifier, group, aggno),
				   datum, isnull);
}

/* The group has a smaller number from now on. */
void
zsagg_verify_renumber(ZsAggVerifier *verifier, uint32 group, uint32 number)
{
	Assert(number <= group);
	if (number < group && group < verifier->ngroups)
		memcpy(&verifier->values[(size_t) number * verifier->naggs],
			   &verifier->values[(size_t) group * verifier->naggs],
			   verifier->naggs * sizeof(ZsCoreValue));
}

/* Forgets the groups from this number on. */
void
zsagg_verify_forget(ZsAggVerifier *verifier, uint32 group)
{
	if (group < verifier->ngroups)
		memset(&verifier->values[(size_t) group * verifier->naggs], 0,
			   (size_t) (verifier->ngroups - group) * verifier->naggs * sizeof(ZsCoreValue));
}

/* What the output function makes of a result: what is compared. */
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

/* Raises an error if core's result is another one. */
void
zsagg_verify_result(ZsAggVerifier *verifier, uint32 group, int aggno, Datum result, bool isnull)
{
	bool		expected_isnull;
	Datum		expected = zsagg_core_result(&verifier->aggs[aggno], verifier->node,
											 value_of(verifier, group, aggno), &expected_isnull);
	Oid			type = verifier->resulttypes[aggno];
	char	   *ours;
	char	   *theirs;

	if (verifier->partial[aggno])
	{
		ZsCoreValue trans;

		zsagg_core_deserialize(&verifier->aggs[aggno], verifier->node, result, isnull, &trans);
		result = zsagg_core_result(&verifier->aggs[aggno], verifier->node, &trans, &isnull);
	}
	ours = result_text(type, result, isnull);
	theirs = result_text(type, expected, expected_isnull);
	if (strcmp(ours, theirs) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg_internal("aggregate %d differs: %s by batches, %s by rows", aggno + 1, ours, theirs)));
}
