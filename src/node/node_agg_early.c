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
 * This is streaming aggregation (Graefe: Query Evaluation Techniques for Large Databases, ACM
 * Computing Surveys 25, 1993), where the input is not known to be sorted, and need not be quite:
 * bounds of the keys to come take the place of the order.
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
#include "node_agg_full.h"
#include "zs_expr_guc.h"

/* So many groups are worth a look. */
#define EARLY_GROUPS	4096

typedef struct Early
{
	uint32		look;			/* not with less groups than these */
	int			key;			/* the one that tells: a group is complete if it lies outside of: */
	int64		ahead_min;
	int64		ahead_max;
} Early;

/* Can groups be returned before all rows have been read? */
static void *
early_begin(AggNodeState *state)
{
	Assert(state->input != NULL);
	if (!zs_enable_early_groups || state->nkeys == 0 || state->partial ||
		state->input->methods->ahead == NULL)
		return NULL;
	for (int i = 0; i < state->naggs; i++)
	{
		if (!zsagg_is_flat(&state->aggs[i].agg))
			return NULL;
	}
	return palloc0(sizeof(Early));
}

/* No group has been looked at. */
static void
early_start_fill(AggNodeState *state, void *own)
{
	((Early *) own)->look = 0;
}

/* Can no row to come belong to the group?  As found out last by early_advise(). */
static bool
is_complete(const AggNodeState *state, const void *own, uint32 group)
{
	const Early *early = own;
	int64		key;

	Assert(early->key < state->nkeys);
	return zsagg_groups_int(state->store.groups, group, early->key, &key) &&
		(key < early->ahead_min || key > early->ahead_max);
}

/* Counts the groups that are complete as far as key k tells. */
static uint32
count_complete(AggNodeState *state, Early *early, int k)
{
	const ZsGroupKey *key = &state->keys[k];
	uint32		n = zsagg_groups_count(state->store.groups);
	uint32		ncomplete = 0;

	Assert(k >= 0 && k < state->nkeys);
	if (key->attno <= 0 || key->domain != ZS_DOMAIN_INT ||
		!zsexpr_input_ahead(state->input, key->attno, &early->ahead_min, &early->ahead_max))
		return 0;
	early->key = k;
	for (uint32 group = 0; group < n; group++)
		ncomplete += is_complete(state, early, group);
	return ncomplete;
}

/* Are most groups complete?  Then they are to be returned.  Errors: ERRCODE_DATA_CORRUPTED. */
static AggAdvice
early_advise(AggNodeState *state, void *own, bool full)
{
	Early	   *early = own;
	uint32		n = zsagg_groups_count(state->store.groups);

	/* rows that were written out may belong to any group that is in memory */
	if ((!full && n < Max(early->look, EARLY_GROUPS)) ||
		zsagg_groups_frozen(state->store.groups))
		return ZS_AGG_GO_ON;
	for (int k = 0; k < state->nkeys; k++)
	{
		uint32		ncomplete = count_complete(state, early, k);

		Assert(ncomplete <= n);
		if (ncomplete > n / 2)
		{
			state->fill.nreturned = ncomplete;
			state->counts.nearly += ncomplete;
			return ZS_AGG_RETURN;
		}
	}
	early->look = n * 2;
	return ZS_AGG_GO_ON;
}

/* The groups that are complete have been returned: the others become all there are. */
static void
forget_complete(AggNodeState *state, void *own)
{
	Early	   *early = own;
	AggStore   *store = &state->store;
	ExprContext *econtext = state->row.econtext;
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	MemoryContext context = store->groups_context;
	ZsGroups   *kept = zsnode_agg_create_groups(state);
	uint32		n = zsagg_groups_count(store->groups);
	uint32		nkept;

	Assert(!zsagg_groups_frozen(store->groups));
	for (uint32 group = 0; group < n; group++)
	{
		uint32		number;

		CHECK_FOR_INTERRUPTS();
		if (is_complete(state, early, group))
			continue;
		ResetExprContext(econtext);
		for (int k = 0; k < state->nkeys; k++)
			state->row.values[k] = zsagg_groups_key(store->groups, group, k,
													&state->row.isnull[k]);
		number = zsagg_groups_assign_row(kept, state->row.values, state->row.isnull);
		Assert(number <= group);
		memmove(store->values + number * store->value_size,
				store->values + group * store->value_size, store->value_size);
		if (state->verifier != NULL)
			zsagg_verify_renumber(state->verifier, group, number);
	}
	MemoryContextSwitchTo(old);
	nkept = zsagg_groups_count(kept);
	Assert(nkept + state->fill.nreturned == n);
	memset(store->values + nkept * store->value_size, 0, (n - nkept) * store->value_size);
	if (state->verifier != NULL)
		zsagg_verify_forget(state->verifier, nkept);
	store->groups = kept;
	MemoryContextDelete(context);
	early->look = nkept * 2;
}

const AggAnswer zsnode_agg_early = {
	.begin = early_begin,
	.start_fill = early_start_fill,
	.advise = early_advise,
	.returns = is_complete,
	.forget_returned = forget_complete,
};
