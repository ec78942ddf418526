/*-------------------------------------------------------------------------
 *
 * vector_agg_exec.c
 *	  Executes aggregates by batches, over one table or over the rows of a plan.
 *
 * For each batch the filter's program runs, then each aggregate takes its column's values at the rows that
 * passed.  Programs and kernels never raise an error.  Where one of them meets something that it must not
 * decide (numerics that are no 64-bit integers, sums of floats that become infinite), or the batch has rows in the
 * row tree, the aggregates go back to what they were before the batch, and its rows are taken one by
 * one through core's expressions, so that errors and odd values are core's.
 *
 * count(*) without a filter adds up the lengths of visible runs and looks at no column.
 *
 * Below core's Gather each process aggregates a share of the table and returns core's transition values (vector_agg_state.c).  When its
 * groups take too much memory it returns those that it has and forgets them: core's Finalize node puts together what
 * belongs together.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_exec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/parallel.h"
#include "access/tableam.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "commands/explain.h"
#ifdef ZS_PG18
#include "commands/explain_format.h"
#endif
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "vector_agg.h"
#include "vector_agg_plan.h"
#include "vector_group.h"
#include "vector_input.h"
#include "vector_internal.h"
#include "zs_base.h"

/* One aggregate of the node. */
typedef struct NodeAgg
{
	ZsAgg		agg;
	ExprState  *filter;			/* FILTER, for single rows; or NULL */
	ExprState  *arg;			/* or NULL */
} NodeAgg;

/* What EXPLAIN tells, of one process or of all of them. */
typedef struct AggCounts
{
	uint64		nredone;		/* batches */
	uint64		nremoved;		/* rows */
	uint64		npasses;
	uint64		memory;			/* largest, in bytes */
	ZsQualCounts qual;
} AggCounts;

/* Shared by the processes of a parallel plan. */
typedef struct SharedAgg
{
	int			nworkers;
	Size		scan_offset;	/* of the parallel scan */
	AggCounts	counts[FLEXIBLE_ARRAY_MEMBER];	/* of each worker, written by it when it is done */
} SharedAgg;

typedef struct AggNodeState
{
	CustomScanState css;		/* first */
	List	   *filter_clauses;
	List	   *aggrefs;
	ZsQual	   *filter;
	ExprState  *filter_rows;	/* the same for single rows */
	bool		counts_only;	/* no column has to be looked at */
	int			nkeys;			/* 0: one group of all rows */
	ZsGroupKey *keys;
	List	   *key_exprs;
	List	   *shown_keys;		/* by EXPLAIN */
	int			naggs;
	NodeAgg    *aggs;
	ZsAggValue *values;			/* naggs for each group */
	uint32		maxgroups;		/* groups that values has room for */
	ZsAggValue *saved;			/* before the present batch, of the only group */
	const ZsColumnVector **vectors; /* of the aggregates, in a batch */
	uint64	   *sels;			/* rows that they take, in a batch */
	ZsGroups   *groups;
	int			nbits;			/* the groups are made in 2^nbits parts, one after the other */
	uint32		part;
	uint32		next_group;		/* the next to be returned */
	ZsInput    *input;
	ExprContext *rowcontext;	/* of single rows */
	MemoryContext context;		/* of the values and groups */
	MemoryContext result_context;	/* of the row returned last */
	ZsAggVerifier *verifier;
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		started;		/* a part was made */
	bool		done;			/* all parts were */
	uint32		groups_left;	/* of the present part, to be returned */

	bool		partial;		/* returns transition values */
	SharedAgg  *shared;			/* NULL: no other process takes part */

	Size		base_memory;	/* what is there before the first group */
	AggCounts	counts;
	AggCounts	worker_counts;	/* of all workers */
} AggNodeState;

/* More parts than these do not help. */
#define MAX_BITS	20

/*
 * Groups may take so much in any case: another pass costs a scan of the table.
 */
#define MIN_GROUP_MEMORY	((Size) 1024 * 1024)

/* ---- one row ------------------------------------------------------------------------ */

/* Makes room for the values of all groups. */
static void
grow_values(AggNodeState *state)
{
	uint32		n = zsvector_groups_count(state->groups);
	size_t		size = Max(state->naggs, 1) * sizeof(ZsAggValue);
	uint32		maxgroups;

	if (n <= state->maxgroups)
		return;
	maxgroups = Max(Max(n, 64), zsvector_groups_grown(state->maxgroups));
	state->values = state->values == NULL ? MemoryContextAllocHuge(state->context, maxgroups * size) :
		repalloc_huge(state->values, maxgroups * size);
	memset((char *) state->values + state->maxgroups * size, 0, (maxgroups - state->maxgroups) * size);
	state->maxgroups = maxgroups;
}

/* The group of the row in the slot. */
static uint32
group_of_row(AggNodeState *state)
{
	Datum		values[ZS_MAX_GROUP_KEYS];
	bool		isnull[ZS_MAX_GROUP_KEYS];
	uint32		group;
	MemoryContext old = MemoryContextSwitchTo(state->rowcontext->ecxt_per_tuple_memory);

	for (int k = 0; k < state->nkeys; k++)
		values[k] = slot_getattr(state->input->slot, state->keys[k].attno, &isnull[k]);
	group = zsvector_groups_assign_row(state->groups, values, isnull);
	MemoryContextSwitchTo(old);
	grow_values(state);
	return group;
}

/*
 * Adds the row in rowcontext's slot, which passed the filter.  group: the one that it has by batches, for verify_only.
 */
static void
add_row(AggNodeState *state, bool verify_only, uint32 group)
{
	ExprContext *econtext = state->rowcontext;

	if (state->nkeys > 0)
	{
		uint32		own = group_of_row(state);

		if (verify_only && own != group)
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("group differs: %u by batches, %u by rows", group, own)));
		group = own;
		if (group == ZS_NO_GROUP)
			return;
	}

	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		Datum		datum = (Datum) 0;
		bool		isnull = false;
		MemoryContext old;

		old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
		if (agg->filter != NULL && !ExecQual(agg->filter, econtext))
		{
			MemoryContextSwitchTo(old);
			continue;
		}
		if (agg->arg != NULL)
			datum = ExecEvalExpr(agg->arg, econtext, &isnull);
		/* its copy with a long header is not to stay */
		if (agg->agg.domain == ZS_DOMAIN_DECIMAL && !isnull)
			datum = NumericGetDatum(DatumGetNumeric(datum));
		if (state->verifier != NULL)
			zsvector_verify_row(state->verifier, group, i, datum, isnull);
		MemoryContextSwitchTo(state->context);
		if (!verify_only)
			zsvector_agg_add_datum(&agg->agg, &state->values[(size_t) group * state->naggs + i], datum,
								   isnull);
		MemoryContextSwitchTo(old);
	}
}

/*
 * Takes the batch row by row.  passed: the rows that the program let pass, to be compared, or NULL; numbers: the groups of
 * these.
 */
static void
add_rows(AggNodeState *state, const ZsBatch *batch, const uint64 *passed, const uint32 *numbers)
{
	ExprContext *econtext = state->rowcontext;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);
	uint32		npassed = 0;

	for (uint32 i = 0; i < n; i++)
	{
		bool		pass;

		ResetExprContext(econtext);
		zsvector_input_store(state->input, list[i]);
		econtext->ecxt_scantuple = state->input->slot;
		pass = ExecQual(state->filter_rows, econtext);
		if (passed != NULL && pass != zskernel_bits_get(passed, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("filter of row " UINT64_FORMAT " differs: %s by batches, %s by rows",
									 batch->first + list[i], pass ? "false" : "true",
									 pass ? "true" : "false")));
		if (pass)
			add_row(state, passed != NULL, numbers != NULL ? numbers[npassed++] : 0);
		else if (passed == NULL)
			state->counts.nremoved++;
	}
	ExecClearTuple(state->input->slot);
}

/* ---- one batch ------------------------------------------------------------------------ */

/*
 * Finds the rows of passed that the aggregate takes (sel), and the vector that has its argument, if it needs one.
 * False if the batch has to be taken row by row.
 */
static bool
get_argument(AggNodeState *state, int i, const uint64 *passed, uint64 *sel,
			 const ZsColumnVector **argument)
{
	const ZsAgg *agg = &state->aggs[i].agg;
	const ZsColumnVector *vector;
	ZsColumnBounds bounds;

	*argument = NULL;
	zskernel_bits_copy(sel, passed);
	if (agg->filter != NULL)
	{
		ZsTruth		truth;

		if (!zsvector_qual_run(agg->filter, state->input, passed, &truth, &state->counts.qual))
			return false;
		zskernel_bits_and(sel, truth.yes);
	}
	if (agg->kind == ZS_AGG_COUNT_ROWS || !zskernel_bits_any(sel) ||
		(agg->kind == ZS_AGG_COUNT && agg->expr == NULL && zs_enable_zone_maps &&
		 zsvector_input_bounds(state->input, agg->attno, &bounds) && bounds.no_nulls))
		return true;

	if (agg->expr != NULL)
		vector = zsvector_expr_run(agg->expr, state->input, sel, &state->counts.qual);
	else
	{
		/* all that passed, since another aggregate may take others of them */
		vector = zsvector_input_column(state->input, agg->attno,
									   agg->kind == ZS_AGG_COUNT ? ZS_WANT_NULLS :
									   zsvector_want_of(agg->domain), passed);
	}
	if (vector == NULL)
		return false;
	if (vector->has_nulls)
		zskernel_bits_andnot(sel, vector->nulls);
	if (vector->has_odd && zskernel_bits_meet(vector->odd, sel))
		return false;
	*argument = vector;
	return true;
}

/* Groups of which a batch has no more than these are taken one after the other by kernels. */
#define FEW_GROUPS	4

/* If the n numbers are of few groups, these, and the rows of each; else 0. */
static int
split_by_group(const uint16 *list, uint32 n, const uint32 *numbers, uint32 *few,
			   uint64 (*rows)[ZS_KERNEL_WORDS])
{
	int			nfew = 0;

	for (uint32 i = 0; i < n; i++)
	{
		int			k = 0;

		if (numbers[i] == ZS_NO_GROUP)
			continue;
		while (k < nfew && few[k] != numbers[i])
			k++;
		if (k == nfew)
		{
			if (nfew == FEW_GROUPS)
				return 0;
			few[nfew] = numbers[i];
			zskernel_bits_clear(rows[nfew++]);
		}
		rows[k][list[i] / 64] |= UINT64CONST(1) << (list[i] % 64);
	}
	return nfew;
}

/*
 * Adds the rows of passed to their groups; false if the batch has to be taken row by row, and nothing has changed.
 * The only error that a known aggregate can raise is an overflow of floats, in the same words wherever it comes.
 */
static bool
add_to_groups(AggNodeState *state, const uint64 *passed, uint32 *numbers)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint64		rows[FEW_GROUPS][ZS_KERNEL_WORDS];
	uint32		few[FEW_GROUPS];
	uint32		n = zskernel_bits_list(passed, list);
	int			nfew;

	if (n == 0)
		return true;
	for (int i = 0; i < state->naggs; i++)
	{
		if (!get_argument(state, i, passed, state->sels + i * ZS_KERNEL_WORDS, &state->vectors[i]))
			return false;
	}
	if (!zsvector_groups_assign(state->groups, state->input, passed, list, n, numbers))
		return false;
	grow_values(state);

	nfew = split_by_group(list, n, numbers, few, rows);
	for (int i = 0; i < state->naggs; i++)
	{
		const ZsAgg *agg = &state->aggs[i].agg;
		uint64	   *sel = state->sels + i * ZS_KERNEL_WORDS;
		bool		by_kernel = nfew > 0;

		for (int k = 0; k < nfew && by_kernel; k++)
		{
			ZsAggValue *value = &state->values[(size_t) few[k] * state->naggs + i];
			ZsAggValue	saved = *value;
			uint64		both[ZS_KERNEL_WORDS];

			zskernel_bits_copy(both, sel);
			zskernel_bits_and(both, rows[k]);
			if (!zsvector_agg_add_batch(agg, value, state->vectors[i], both))
			{
				/* this group's rows one by one, and the error if there is one */
				uint32		alone[ZS_KERNEL_ROWS];

				*value = saved;
				for (uint32 j = 0; j < n; j++)
					alone[j] = numbers[j] == few[k] ? few[k] : ZS_NO_GROUP;
				zsvector_agg_add_groups(agg, state->values + i, state->naggs, state->vectors[i], sel,
										list, n, alone);
			}
		}
		if (!by_kernel)
			zsvector_agg_add_groups(agg, state->values + i, state->naggs, state->vectors[i], sel, list,
									n, numbers);
	}
	return true;
}

/* False if the batch has to be taken row by row; then values are what they were. */
static bool
add_columns(AggNodeState *state, const ZsBatch *batch, uint64 *passed, uint32 *numbers)
{
	ZsTruth		truth;
	MemoryContext old;
	bool		ok = true;

	if (state->by_rows || batch->has_rows)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	if (state->filter_clauses != NIL)
	{
		if (!zsvector_qual_run(state->filter, state->input, batch->sel, &truth, &state->counts.qual))
			return false;
		zskernel_bits_and(passed, truth.yes);
	}
	old = MemoryContextSwitchTo(state->context);
	if (state->nkeys > 0)
		ok = add_to_groups(state, passed, numbers);
	else
	{
		memcpy(state->saved, state->values, state->naggs * sizeof(ZsAggValue));
		for (int i = 0; i < state->naggs && ok; i++)
		{
			const ZsColumnVector *vector;
			uint64		sel[ZS_KERNEL_WORDS];

			ok = get_argument(state, i, passed, sel, &vector) &&
				zsvector_agg_add_batch(&state->aggs[i].agg, &state->values[i], vector, sel);
		}
		if (!ok)
			memcpy(state->values, state->saved, state->naggs * sizeof(ZsAggValue));
	}
	MemoryContextSwitchTo(old);
	return ok;
}

static void
add_batch(AggNodeState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];
	uint32		numbers[ZS_KERNEL_ROWS];

	if (!add_columns(state, batch, passed, numbers))
	{
		state->counts.nredone++;
		add_rows(state, batch, NULL, NULL);
		return;
	}
	state->counts.nremoved += batch->nsel - zskernel_bits_count(passed);
	if (state->verifier != NULL)
		add_rows(state, batch, passed, state->nkeys > 0 ? numbers : NULL);
}

/* ---- all of it -------------------------------------------------------------------------- */

/* The number of rows for all aggregates, none of which looks at a column. */
static void
count_input(AggNodeState *state)
{
	uint64		count = state->input->methods->count(state->input, state->verifier != NULL);

	for (int i = 0; i < state->naggs; i++)
		state->values[i].count = (int64) count;
}

/* Forgets all groups. */
static void
forget_groups(AggNodeState *state)
{
	MemoryContextReset(state->context);
	state->next_group = 0;
	if (state->verifier != NULL)
		zsvector_verify_reset(state->verifier);
	if (state->nkeys == 0)
		memset(state->values, 0, state->naggs * sizeof(ZsAggValue));
	else
	{
		state->values = NULL;
		state->maxgroups = 0;
		state->groups = zsvector_groups_create(state->context, state->nkeys, state->keys);
		zsvector_groups_restrict(state->groups, state->nbits, state->part);
	}
	state->base_memory = MemoryContextMemAllocated(state->context, true);
}

/* The groups of the present part are going to be made. */
static void
start_part(AggNodeState *state)
{
	forget_groups(state);
	state->counts.npasses++;
	zsvector_input_start(state->input);
}

/* Do the groups take more memory than they may?  zedstore.debug_vector_groups makes that so early. */
static bool
is_too_large(AggNodeState *state)
{
	Size		memory = MemoryContextMemAllocated(state->context, true);

	state->counts.memory = Max(state->counts.memory, memory);
	/* the rows of a plan come once */
	if (state->nkeys == 0 || state->nbits >= MAX_BITS ||
		(state->css.custom_ps != NIL && !state->partial))
		return false;
	if (zs_debug_vector_groups > 0 &&
		zsvector_groups_count(state->groups) > (uint32) zs_debug_vector_groups && state->nbits < 6)
		return true;
	return memory - state->base_memory > Max(get_hash_memory_limit(), MIN_GROUP_MEMORY);
}

/*
 * Makes the groups of the present part.  Where there are too many of them nothing is written out: the part is divided by four,
 * and the table is scanned again for each of the parts; the snapshot sees the same rows.
 */
static void
aggregate(AggNodeState *state)
{
	const ZsBatch *batch;

	start_part(state);
	if (state->counts_only && !state->by_rows)
	{
		count_input(state);
		return;
	}
	while ((batch = zsvector_input_next(state->input)) != NULL)
	{
		add_batch(state, batch);
		if (is_too_large(state))
		{
			state->nbits += 2;
			state->part *= 4;
			start_part(state);
		}
	}
	ExecClearTuple(state->input->slot);
}

/*
 * The groups of the rows that come next, as many as there is memory for; false if there are none.  Without keys there is one in any
 * case.
 */
static bool
next_share(AggNodeState *state)
{
	const ZsBatch *batch;

	if (!state->started)
	{
		start_part(state);
		state->started = true;
	}
	else
		forget_groups(state);
	if (state->counts_only && !state->by_rows)
	{
		count_input(state);
		state->done = true;
		return true;
	}
	while ((batch = zsvector_input_next(state->input)) != NULL)
	{
		add_batch(state, batch);
		if (is_too_large(state))
			return true;
	}
	ExecClearTuple(state->input->slot);
	state->done = true;
	return state->nkeys == 0 || zsvector_groups_count(state->groups) > 0;
}

/* The next part that has groups; false if there is none. */
static bool
next_part(AggNodeState *state)
{
	if (state->done)
		return false;
	if (state->partial)
		return next_share(state);
	if (state->nkeys == 0)
	{
		aggregate(state);
		state->done = true;
		return true;
	}
	for (;;)
	{
		if (state->started)
		{
			/* a part that was divided is complete with its last quarter */
			state->part++;
			while (state->nbits > 0 && state->part % 4 == 0)
			{
				state->part /= 4;
				state->nbits -= 2;
			}
			if (state->nbits == 0)
			{
				state->done = true;
				return false;
			}
		}
		state->started = true;
		aggregate(state);
		if (zsvector_groups_count(state->groups) > 0)
			return true;
	}
}

static TupleTableSlot *
next_group(ScanState *ss)
{
	AggNodeState *state = (AggNodeState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	uint32		group;
	MemoryContext old;

	ExecClearTuple(slot);
	CHECK_FOR_INTERRUPTS();
	if (state->groups_left == 0)
	{
		if (!next_part(state))
			return slot;
		state->groups_left = state->nkeys == 0 ? 1 : zsvector_groups_count(state->groups);
	}
	state->groups_left--;
	group = state->next_group++;

	MemoryContextReset(state->result_context);
	old = MemoryContextSwitchTo(state->result_context);
	for (int k = 0; k < state->nkeys; k++)
		slot->tts_values[k] = zsvector_groups_key(state->groups, group, k, &slot->tts_isnull[k]);
	for (int i = 0; i < state->naggs; i++)
	{
		int			column = state->nkeys + i;

		slot->tts_values[column] =
			(state->partial ? zsvector_agg_partial_result : zsvector_agg_result)
			(&state->aggs[i].agg, &state->values[(size_t) group * state->naggs + i],
			 &slot->tts_isnull[column]);
		if (state->verifier != NULL && !(state->counts_only && !state->by_rows))
			zsvector_verify_result(state->verifier, group, i, slot->tts_values[column],
								   slot->tts_isnull[column]);
	}
	MemoryContextSwitchTo(old);
	return ExecStoreVirtualTuple(slot);
}

static bool
recheck_group(ScanState *ss, TupleTableSlot *slot)
{
	return true;
}

/* ---- callbacks ---------------------------------------------------------------------------- */

/* The checks that an Agg node makes when it begins. */
static void
check_permissions(const Aggref *aggref)
{
	HeapTuple	tuple;
	Form_pg_aggregate form;
	Oid			functions[3] = {InvalidOid};
	Oid			owner;
	AclResult	aclresult;

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

/* The check that grouping makes of a key's equality function. */
static void
check_equality_permission(Oid function)
{
	AclResult	aclresult = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);

	if (aclresult != ACLCHECK_OK)
		aclcheck_error(aclresult, OBJECT_FUNCTION, get_func_name(function));
	InvokeFunctionExecuteHook(function);
}

/* Keys and aggregates, over the table's columns or over those that are made of a plan's rows. */
static void
read_plan(AggNodeState *state, CustomScan *cscan, Index varno)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, cscan->custom_scan_tlist)
	{
		Expr	   *expr = lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(expr, Aggref))
			state->shown_keys = lappend(state->shown_keys, expr);
		exprs = lappend(exprs, expr);
	}
	if (cscan->scan.scanrelid == 0)
		exprs = list_nth(cscan->custom_private, ZS_AGG_OVER_INPUTS);
	else
	{
		int			planned_relid = intVal(list_nth(cscan->custom_private, ZS_AGG_RELID));

		/* expressions in custom_private have the numbers of the time of planning */
		state->filter_clauses = copyObject(list_nth(cscan->custom_private, ZS_AGG_FILTER));
		if (planned_relid != (int) varno)
			ChangeVarNodes((Node *) state->filter_clauses, planned_relid, varno, 0);
	}
	foreach(lc, exprs)
	{
		if (IsA(lfirst(lc), Aggref))
			state->aggrefs = lappend(state->aggrefs, lfirst(lc));
		else
			state->key_exprs = lappend(state->key_exprs, lfirst(lc));
	}
	state->partial = boolVal(list_nth(cscan->custom_private, ZS_AGG_PARTIAL));
}

static void
agg_begin(CustomScanState *node, EState *estate, int eflags)
{
	AggNodeState *state = (AggNodeState *) node;
	CustomScan *cscan = (CustomScan *) node->ss.ps.plan;
	bool		by_scan = cscan->scan.scanrelid > 0;
	Index		varno = by_scan ? cscan->scan.scanrelid : ZS_ROWS_VARNO;
	TupleDesc	desc = by_scan ? RelationGetDescr(node->ss.ss_currentRelation) :
		ExecTypeFromExprList(list_nth(cscan->custom_private, ZS_AGG_INPUTS));
	ListCell   *lc;
	ListCell   *lc2;

	if (!by_scan)
		node->custom_ps = list_make1(ExecInitNode(linitial(cscan->custom_plans), estate,
												  eflags & ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD |
															 EXEC_FLAG_MARK)));
	read_plan(state, cscan, varno);
	state->nkeys = list_length(state->key_exprs);
	state->keys = palloc0(Max(state->nkeys, 1) * sizeof(ZsGroupKey));
	forboth(lc, state->key_exprs, lc2, list_nth(cscan->custom_private, ZS_AGG_EQOPS))
	{
		if (!zsvector_group_classify(desc, varno, lfirst(lc), lfirst_oid(lc2),
									 &state->keys[foreach_current_index(lc)]))
			elog(ERROR, "rows cannot be grouped by key %d", foreach_current_index(lc) + 1);
		check_equality_permission(get_opcode(lfirst_oid(lc2)));
	}
	state->naggs = list_length(state->aggrefs);
	state->aggs = palloc0(state->naggs * sizeof(NodeAgg));
	state->filter = zsvector_qual_compile(desc, varno, (Node *) state->filter_clauses);
	if (state->filter == NULL)
		elog(ERROR, "filter has no program");

	/* without a parent: columns come from a slot that is not the node's */
	state->filter_rows = ExecInitQual(state->filter_clauses, NULL);
	state->counts_only = by_scan && state->filter_clauses == NIL && state->nkeys == 0;
	foreach(lc, state->aggrefs)
	{
		Aggref	   *aggref = lfirst_node(Aggref, lc);
		NodeAgg    *agg = &state->aggs[foreach_current_index(lc)];

		check_permissions(aggref);
		if (!zsvector_agg_classify(desc, varno, aggref, &agg->agg))
			elog(ERROR, "aggregate %u has no program", aggref->aggfnoid);
		if (aggref->aggfilter != NULL)
			agg->filter = ExecInitQual(list_make1(aggref->aggfilter), NULL);
		if (aggref->args != NIL)
			agg->arg = ExecInitExpr(linitial_node(TargetEntry, aggref->args)->expr, NULL);
		if (agg->agg.kind != ZS_AGG_COUNT_ROWS || agg->agg.filter != NULL)
			state->counts_only = false;
	}
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	if (state->nkeys == 0)
	{
		state->values = palloc0(state->naggs * sizeof(ZsAggValue));
		state->saved = palloc0(state->naggs * sizeof(ZsAggValue));
	}
	state->vectors = palloc0(Max(state->naggs, 1) * sizeof(ZsColumnVector *));
	state->sels = palloc0(Max(state->naggs, 1) * ZS_KERNEL_WORDS * sizeof(uint64));
	state->result_context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregate results",
												  ALLOCSET_DEFAULT_SIZES);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore aggregates",
										   ALLOCSET_DEFAULT_SIZES);
	state->rowcontext = CreateExprContext(estate);
	state->by_rows = zs_debug_vector == ZS_DEBUG_VECTOR_ROWS;
	if (zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY)
		state->verifier = zsvector_verify_begin(state->aggrefs);
	if (by_scan)
		state->input = zsvector_input_batch_create(node->ss.ss_currentRelation, varno,
												   list_concat_copy(state->key_exprs, state->aggrefs),
												   state->filter_clauses, estate);
	else
		state->input = zsvector_input_rows_create(linitial(node->custom_ps),
												  list_nth(cscan->custom_private, ZS_AGG_INPUTS),
												  list_nth(cscan->custom_private, ZS_AGG_GUARDS), estate);
}

static TupleTableSlot *
agg_exec(CustomScanState *node)
{
	return ExecScan(&node->ss, next_group, recheck_group);
}

static void
agg_end(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	if (state->input != NULL)
		zsvector_input_end(state->input);
	if (node->custom_ps != NIL)
		ExecEndNode(linitial(node->custom_ps));
}

static void
agg_rescan(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;

	state->started = state->done = false;
	state->nbits = 0;
	state->part = 0;
	state->groups_left = 0;
	ExecScanReScan(&node->ss);
	if (node->custom_ps != NIL)
	{
		PlanState  *child = linitial(node->custom_ps);

		if (node->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, node->ss.ps.chgParam);
		/* else its first row sees to that */
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static void
add_counts(AggCounts *sum, const AggCounts *counts)
{
	sum->nredone += counts->nredone;
	sum->nremoved += counts->nremoved;
	sum->npasses += counts->npasses;
	sum->memory = Max(sum->memory, counts->memory);
	sum->qual.skipped += counts->qual.skipped;
}

static void
agg_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AggNodeState *state = (AggNodeState *) node;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	bool		prefix = es->verbose;
	AggCounts	total;

	if (state->partial || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Partial Mode", state->partial ? "Partial" : "Simple", es);
	if (state->nkeys > 0)
	{
		List	   *names = NIL;
		ListCell   *lc;

		foreach(lc, state->shown_keys)
			names = lappend(names, deparse_expression(lfirst(lc), context, prefix, true));
		ExplainPropertyList("Group Key", names, es);
	}
	if (state->filter_clauses != NIL)
	{
		ExplainPropertyText("Scan Filter",
							deparse_expression((Node *) make_ands_explicit(state->filter_clauses),
											   context, prefix, false), es);
	}
	if (!es->analyze)
		return;
	total = state->counts;
	add_counts(&total, &state->worker_counts);
	if (state->filter_clauses != NIL)
		ExplainPropertyUInteger("Rows Removed by Scan Filter", NULL, total.nremoved, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || total.qual.skipped > 0)
		ExplainPropertyUInteger("Comparisons Decided by Zone Maps", NULL, total.qual.skipped, es);
	if (state->nkeys > 0 && !state->partial &&
		(es->format != EXPLAIN_FORMAT_TEXT || total.npasses > 1))
		ExplainPropertyUInteger("Passes", NULL, total.npasses, es);
	if (state->nkeys > 0 && es->costs)
		ExplainPropertyUInteger("Memory Usage", "kB", total.memory / 1024, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || total.nredone > 0)
		ExplainPropertyUInteger("Batches Redone Row-wise", NULL, total.nredone, es);
}

/* ---- parallel plans ------------------------------------------------------------------------ */

/* Bytes of the shared state without the scan's. */
static Size
shared_size(int nworkers)
{
	return BUFFERALIGN(add_size(offsetof(SharedAgg, counts), mul_size(nworkers, sizeof(AggCounts))));
}

static Size
agg_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(shared_size(pcxt->nworkers),
					table_parallelscan_estimate(node->ss.ss_currentRelation,
												node->ss.ps.state->es_snapshot));
}

static ParallelTableScanDesc
parallel_scan(SharedAgg *shared)
{
	return (ParallelTableScanDesc) ((char *) shared + shared->scan_offset);
}

static void
agg_initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	AggNodeState *state = (AggNodeState *) node;

	state->shared = coordinate;
	state->shared->nworkers = pcxt->nworkers;
	state->shared->scan_offset = shared_size(pcxt->nworkers);
	memset(state->shared->counts, 0, pcxt->nworkers * sizeof(AggCounts));
	table_parallelscan_initialize(node->ss.ss_currentRelation, parallel_scan(state->shared),
								  node->ss.ps.state->es_snapshot);
	zsvector_input_batch_share(state->input, parallel_scan(state->shared));
}

static void
agg_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	((AggNodeState *) node)->shared = coordinate;
	table_parallelscan_reinitialize(node->ss.ss_currentRelation, parallel_scan(coordinate));
}

static void
agg_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	AggNodeState *state = (AggNodeState *) node;

	state->shared = coordinate;
	zsvector_input_batch_share(state->input, parallel_scan(state->shared));
}

/* A worker says what it has counted; the leader, whose memory outlives the shared one, remembers it. */
static void
agg_shutdown(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;
	SharedAgg  *shared = state->shared;

	if (shared == NULL)
		return;
	if (IsParallelWorker())
		add_counts(&shared->counts[ParallelWorkerNumber], &state->counts);
	else
	{
		for (int i = 0; i < shared->nworkers; i++)
		{
			add_counts(&state->worker_counts, &shared->counts[i]);
			memset(&shared->counts[i], 0, sizeof(AggCounts));
		}
	}
	state->shared = NULL;
}

static const CustomExecMethods exec_methods = {
	.CustomName = "ZedstoreAgg",
	.BeginCustomScan = agg_begin,
	.ExecCustomScan = agg_exec,
	.EndCustomScan = agg_end,
	.ReScanCustomScan = agg_rescan,
	.EstimateDSMCustomScan = agg_estimate_dsm,
	.InitializeDSMCustomScan = agg_initialize_dsm,
	.ReInitializeDSMCustomScan = agg_reinitialize_dsm,
	.InitializeWorkerCustomScan = agg_initialize_worker,
	.ShutdownCustomScan = agg_shutdown,
	.ExplainCustomScan = agg_explain,
};

Node *
zsvector_agg_create_state(CustomScan *cscan)
{
	AggNodeState *state = palloc0(sizeof(AggNodeState));

	NodeSetTag(state, T_CustomScanState);
	state->css.methods = &exec_methods;
	state->css.slotOps = &TTSOpsVirtual;
	return (Node *) state;
}
