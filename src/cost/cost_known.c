/*-------------------------------------------------------------------------
 *
 * cost_known.c
 *	  What is known of the tables of a plan in the making.
 *
 * Core's structs have no room for what belongs to a relation of a plan in the making, so it is in a
 * hash table, by address, and leaves it with the planner's memory.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/cost/cost_known.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "zs_cost.h"

typedef struct RelCostsEntry
{
	RelOptInfo *rel;			/* hash key */
	ZsRelCosts *costs;
} RelCostsEntry;

static HTAB *rel_costs = NULL;

/* What is known of the relation; NULL if it is no zedstore table, or costs are core's. */
ZsRelCosts *
zscost_find(RelOptInfo *rel)
{
	RelCostsEntry *entry = rel_costs == NULL || !IS_SIMPLE_REL(rel) ||
		rel->rtekind != RTE_RELATION ? NULL : hash_search(rel_costs, &rel, HASH_FIND, NULL);

	return entry == NULL ? NULL : entry->costs;
}

static void
forget_costs(void *arg)
{
	ZsRelCosts *costs = arg;
	RelCostsEntry *entry = hash_search(rel_costs, &costs->rel, HASH_FIND, NULL);

	if (entry != NULL && entry->costs == costs)
		hash_search(rel_costs, &costs->rel, HASH_REMOVE, NULL);	/* not its successor */
}

/* Forgets what is known of the relation; nothing may be. */
void
zscost_forget(RelOptInfo *rel)
{
	if (rel_costs != NULL)
		hash_search(rel_costs, &rel, HASH_REMOVE, NULL);
}

/*
 * costs->rel is known from now on, until the memory goes that is the current one; core frees the
 * relation of a join that it removes, so another one may get its place: that is forgotten first.
 */
void
zscost_remember(ZsRelCosts *costs)
{
	RelCostsEntry *entry;

	if (rel_costs == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(RelOptInfo *),.entrysize = sizeof(RelCostsEntry)};

		rel_costs = hash_create("zedstore costs", 16, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(rel_costs, &costs->rel, HASH_ENTER, NULL);
	entry->costs = costs;
	costs->forget.func = forget_costs;
	costs->forget.arg = costs;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &costs->forget);
}

/*
 * Is it a table of some size, for which core has made a path that looks up one row by a unique
 * index (zscost_has_lookup())?  Then no other path is worth the time to plan it.
 */
bool
zscost_is_looked_up(RelOptInfo *rel)
{
	const ZsRelCosts *costs = zscost_find(rel);

	return costs != NULL && costs->looked_up;
}
