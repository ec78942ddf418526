/*-------------------------------------------------------------------------
 *
 * node_agg_early.c
 *	  Groups that are returned before all rows have been read.
 *
 * Rows often lie in the order of a key: lines in that of their orders, events in that of their
 * days.  The zone maps of the rows to come (zsscan_batch_ahead()) tell then which groups are
 * complete.  Once there are many groups, or memory has no room for more, those that are complete
 * are returned if they are more than half of all, and the others go on.  The cost of looking is
 * that of making the groups, at most.
 *
 * Keys of groups live in a context of their own, which goes away with those that have been
 * returned.  Values stay where they are, so aggregates whose values own memory have none of this.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_early.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "node_agg.h"
#include "zs_expr_guc.h"

/* So many groups are worth a look. */
#define EARLY_GROUPS	4096

/* Can groups be returned before all rows have been read?  Called once the node's input is there. */
bool
zsnode_agg_may_be_early(const AggNodeState *state)
{
	Assert(state->input != NULL);
	if (!zs_enable_early_groups || state->nkeys == 0 || state->partial ||
		state->input->methods->ahead == NULL)
		return false;
	for (int i = 0; i < state->naggs; i++)
	{
		if (!zsagg_is_flat(&state->aggs[i].agg))
			return false;
	}
	return true;
}

/* Can no row to come belong to the group?  As found out last by zsnode_agg_find_complete(). */
bool
zsnode_agg_is_complete(const AggNodeState *state, uint32 group)
{
	int64		key;

	Assert(state->early_key < state->nkeys);
	return zsagg_groups_int(state->groups, group, state->early_key, &key) &&
		(key < state->ahead_min || key > state->ahead_max);
}

/* Counts the groups that are complete as far as key k tells. */
static uint32
count_complete(AggNodeState *state, int k)
{
	const ZsGroupKey *key = &state->keys[k];
	uint32		n = zsagg_groups_count(state->groups);
	uint32		ncomplete = 0;

	Assert(k >= 0 && k < state->nkeys);
	if (key->attno <= 0 || key->domain != ZS_DOMAIN_INT ||
		!zsexpr_input_ahead(state->input, key->attno, &state->ahead_min, &state->ahead_max))
		return 0;
	state->early_key = k;
	for (uint32 group = 0; group < n; group++)
		ncomplete += zsnode_agg_is_complete(state, group);
	return ncomplete;
}

/*
 * Called behind each batch: are most groups complete?  Then they are to be returned: early is set.
 * full: memory has no room for more groups.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsnode_agg_find_complete(AggNodeState *state, bool full)
{
	uint32		n = zsagg_groups_count(state->groups);

	Assert(state->may_be_early && !state->early);
	/* rows that were written out may belong to any group that is in memory */
	if ((!full && n < Max(state->early_look, EARLY_GROUPS)) ||
		zsagg_groups_frozen(state->groups))
		return false;
	for (int k = 0; k < state->nkeys; k++)
	{
		state->ncomplete = count_complete(state, k);
		Assert(state->ncomplete <= n);
		if (state->ncomplete > n / 2)
		{
			state->early = true;
			state->counts.nearly += state->ncomplete;
			return true;
		}
	}
	state->early_look = n * 2;
	return false;
}

/* The groups that are complete have been returned: the others become all there are. */
void
zsnode_agg_forget_complete(AggNodeState *state)
{
	ExprContext *econtext = state->rowcontext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	MemoryContext context = state->groups_context;
	ZsGroups   *kept = zsnode_agg_create_groups(state);
	uint32		n = zsagg_groups_count(state->groups);
	uint32		nkept;

	Assert(!zsagg_groups_frozen(state->groups));
	Assert(state->early && state->groups_left == 0);
	for (uint32 group = 0; group < n; group++)
	{
		uint32		number;

		CHECK_FOR_INTERRUPTS();
		if (zsnode_agg_is_complete(state, group))
			continue;
		ResetExprContext(econtext);
		for (int k = 0; k < state->nkeys; k++)
			state->row_values[k] = zsagg_groups_key(state->groups, group, k,
													&state->row_isnull[k]);
		number = zsagg_groups_assign_row(kept, state->row_values, state->row_isnull);
		Assert(number <= group);
		memmove(state->values + number * state->value_size,
				state->values + group * state->value_size, state->value_size);
		if (state->verifier != NULL)
			zsagg_verify_renumber(state->verifier, group, number);
	}
	MemoryContextSwitchTo(old);
	nkept = zsagg_groups_count(kept);
	Assert(nkept + state->ncomplete == n);
	memset(state->values + nkept * state->value_size, 0, (n - nkept) * state->value_size);
	if (state->verifier != NULL)
		zsagg_verify_forget(state->verifier, nkept);
	state->groups = kept;
	MemoryContextDelete(context);
	state->early = false;
	state->early_look = nkept * 2;
	state->next_group = 0;
}
