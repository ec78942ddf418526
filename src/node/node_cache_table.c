/*-------------------------------------------------------------------------
 *
 * node_cache_table.c
 *	  Results of a subquery by the values of its parameters, within a limit of memory.
 *
 * There are two generations, each a hash table in a memory context of its own.  New results go to
 * the young one.  When it has taken a third of the limit it becomes the old one, and the old one is
 * dropped, whole; a result that is found in the old one moves to the young one.  So what is asked
 * for often stays, as in a list by the time of the last use, but a hit costs no writing to a list,
 * and what goes costs nothing (the second chance of Corbato, "A Paging Experiment with the Multics
 * System", 1969, by whole generations).
 *
 * Values are compared by their images, as Memoize does in its binary mode: nothing is assumed of
 * what the subquery does with them, so 1.0 and 1.00 are two keys.
 *
 * 1. A result is in a table when it is complete, and not before: one that is being made is known to
 *    nobody but zsnode_cache_table_add(), finish() and abandon().
 * 2. A generation is dropped only when a new result is begun.  So one that was found stays where it
 *    is while its rows are read.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_cache_table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "node_cache.h"

typedef struct Slot
{
	const ZsCachedResult *result;
	uint32		hash;
	char		status;
} Slot;

static bool is_same_key(const ZsCacheTable *table, const ZsCachedResult *a,
						const ZsCachedResult *b);

#define SH_PREFIX		results
#define SH_ELEMENT_TYPE	Slot
#define SH_KEY_TYPE		const ZsCachedResult *
#define SH_KEY			result
#define SH_HASH_KEY(tb, key)	((key)->hash)
#define SH_EQUAL(tb, a, b)		is_same_key((tb)->private_data, (a), (b))
#define SH_GET_HASH(tb, slot)	((slot)->hash)
#define SH_STORE_HASH
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Generation
{
	MemoryContext context;		/* of everything below */
	results_hash *results;
} Generation;

struct ZsCacheTable
{
	MemoryContext context;		/* that of the table itself */
	int			nkeys;
	Size		limit;			/* bytes */
	Generation	young;
	Generation	old;			/* context is NULL: there is none */
	ZsCachedResult *filling;	/* in the young generation's memory; NULL: none */
	Size		filling_size;	/* bytes of its rows */
	uint64		nevictions;		/* results that were dropped for want of memory */
	Size		peak;			/* bytes */
	ZsCacheKey	keys[FLEXIBLE_ARRAY_MEMBER];
};

/* ---- keys ------------------------------------------------------------------------------------ */

static bool
is_same_key(const ZsCacheTable *table, const ZsCachedResult *a, const ZsCachedResult *b)
{
	for (int i = 0; i < table->nkeys; i++)
	{
		if (a->isnull[i] != b->isnull[i])
			return false;
		if (!a->isnull[i] && !datum_image_eq(a->values[i], b->values[i],
											 table->keys[i].typbyval, table->keys[i].typlen))
			return false;
	}
	return true;
}

static uint32
hash_key(const ZsCacheTable *table, const Datum *values, const bool *isnull)
{
	uint32		hash = 0;

	for (int i = 0; i < table->nkeys; i++)
	{
		hash = pg_rotate_left32(hash, 1);
		if (!isnull[i])
			hash ^= datum_image_hash(values[i], table->keys[i].typbyval, table->keys[i].typlen);
	}
	return murmurhash32(hash);
}

/* ---- generations ----------------------------------------------------------------------------- */

static void
begin_generation(ZsCacheTable *table)
{
	/* freed piece by piece where a result is given up, so no bump or generation context */
	table->young.context = AllocSetContextCreate(table->context, "zedstore result cache",
												 ALLOCSET_DEFAULT_SIZES);
	table->young.results = results_create(table->young.context, 64, table);
}

static Size
size_of(const Generation *generation)
{
	return generation->context == NULL ? 0 :
		MemoryContextMemAllocated(generation->context, true);
}

static void
drop(Generation *generation)
{
	if (generation->context != NULL)
		MemoryContextDelete(generation->context);
	memset(generation, 0, sizeof(*generation));
}

/*
 * Makes a table for results by these keys, in the current memory context, which it must live as
 * long as.  limit: bytes that it may take; a single result may take a sixth of that.
 */
ZsCacheTable *
zsnode_cache_table_create(const ZsCacheKey *keys, int nkeys, Size limit)
{
	ZsCacheTable *table;

	Assert(nkeys >= 0 && limit > 0);
	table = palloc0(offsetof(ZsCacheTable, keys) + nkeys * sizeof(ZsCacheKey));

	table->context = CurrentMemoryContext;
	table->nkeys = nkeys;
	table->limit = limit;
	memcpy(table->keys, keys, nkeys * sizeof(ZsCacheKey));
	return table;
}

/* Forgets all results; they are not counted as evicted. */
void
zsnode_cache_table_reset(ZsCacheTable *table)
{
	table->peak = Max(table->peak, size_of(&table->young) + size_of(&table->old));
	table->filling = NULL;
	drop(&table->young);
	drop(&table->old);
}

/* Has the young generation taken its third?  Then there is a new one. */
static void
make_room(ZsCacheTable *table)
{
	Size		size = size_of(&table->young);

	Assert(table->filling == NULL);
	if (table->young.context != NULL && size <= table->limit / 3)
		return;
	table->peak = Max(table->peak, size + size_of(&table->old));
	if (table->old.context != NULL)
		table->nevictions += table->old.results->members;
	drop(&table->old);
	table->old = table->young;
	begin_generation(table);
}

/* ---- results --------------------------------------------------------------------------------- */

/* A result without rows for these values, in the young generation's memory. */
static ZsCachedResult *
make_result(ZsCacheTable *table, uint32 hash, const Datum *values, const bool *isnull)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(table->young.context);
	ZsCachedResult *result = palloc0(sizeof(ZsCachedResult));

	result->hash = hash;
	result->values = palloc(Max(table->nkeys, 1) * sizeof(Datum));
	result->isnull = palloc(Max(table->nkeys, 1) * sizeof(bool));
	for (int i = 0; i < table->nkeys; i++)
	{
		result->isnull[i] = isnull[i];
		result->values[i] = isnull[i] ? (Datum) 0 :
			datumCopy(values[i], table->keys[i].typbyval, table->keys[i].typlen);
	}
	MemoryContextSwitchTo(oldcontext);
	return result;
}

static void
append_row(ZsCacheTable *table, ZsCachedResult *result, MinimalTuple tuple)
{
	ZsCachedRow *row = MemoryContextAlloc(table->young.context, sizeof(ZsCachedRow));

	Assert(tuple->t_len > 0 && (result->first == NULL) == (result->last == NULL));
	row->next = NULL;
	row->tuple = MemoryContextAlloc(table->young.context, tuple->t_len);
	memcpy(row->tuple, tuple, tuple->t_len);
	if (result->last == NULL)
		result->first = row;
	else
		result->last->next = row;
	result->last = row;
}

static void
insert_result(ZsCacheTable *table, ZsCachedResult *result)
{
	bool		found;
	Slot	   *slot PG_USED_FOR_ASSERTS_ONLY =
		results_insert(table->young.results, result, &found);

	Assert(!found && slot->result == result);
}

/*
 * The result for these values; NULL if there is none.  It stays until the next call of this,
 * zsnode_cache_table_begin() or zsnode_cache_table_reset().  Values must not be toasted.
 */
const ZsCachedResult *
zsnode_cache_table_find(ZsCacheTable *table, const Datum *values, const bool *isnull)
{
	ZsCachedResult key;
	ZsCachedResult *moved;
	Slot	   *slot;

	Assert(table->filling == NULL);
	if (table->young.context == NULL)
		return NULL;
	key.hash = hash_key(table, values, isnull);
	key.values = unconstify(Datum *, values);
	key.isnull = unconstify(bool *, isnull);
	slot = results_lookup(table->young.results, &key);
	if (slot != NULL)
		return slot->result;
	slot = table->old.context == NULL ? NULL : results_lookup(table->old.results, &key);
	if (slot == NULL)
		return NULL;

	/* what has not been asked for when this generation is dropped goes with it */
	moved = make_result(table, key.hash, values, isnull);
	for (const ZsCachedRow *row = slot->result->first; row != NULL; row = row->next)
		append_row(table, moved, row->tuple);
	results_delete_item(table->old.results, slot);
	insert_result(table, moved);
	return moved;
}

/* Begins a result for these values, of which there is none. */
void
zsnode_cache_table_begin(ZsCacheTable *table, const Datum *values, const bool *isnull)
{
	Assert(table->filling == NULL);
	make_room(table);
	table->filling = make_result(table, hash_key(table, values, isnull), values, isnull);
	table->filling_size = 0;
}

/* Adds a copy of a row to the result that was begun.  False: it is too large, and was abandoned. */
bool
zsnode_cache_table_add(ZsCacheTable *table, MinimalTuple tuple)
{
	Assert(table->filling != NULL);
	table->filling_size += tuple->t_len + sizeof(ZsCachedRow);
	if (table->filling_size > table->limit / 6)
	{
		zsnode_cache_table_abandon(table);
		return false;
	}
	append_row(table, table->filling, tuple);
	return true;
}

/* The result that was begun is complete. */
void
zsnode_cache_table_finish(ZsCacheTable *table)
{
	Assert(table->filling != NULL);
	insert_result(table, table->filling);
	table->filling = NULL;
}

/* The result that was begun is not going to be complete. */
void
zsnode_cache_table_abandon(ZsCacheTable *table)
{
	ZsCachedResult *result = table->filling;
	ZsCachedRow *next;

	Assert(result != NULL);
	for (ZsCachedRow *row = result->first; row != NULL; row = next)
	{
		next = row->next;
		pfree(row->tuple);
		pfree(row);
	}
	for (int i = 0; i < table->nkeys; i++)
	{
		if (!result->isnull[i] && !table->keys[i].typbyval)
			pfree(DatumGetPointer(result->values[i]));
	}
	pfree(result->values);
	pfree(result->isnull);
	pfree(result);
	table->filling = NULL;
}

/* Was a result begun, and neither finished nor abandoned? */
bool
zsnode_cache_table_is_filling(const ZsCacheTable *table)
{
	return table->filling != NULL;
}

/* How many results were dropped because the limit of memory was reached? */
uint64
zsnode_cache_table_evictions(const ZsCacheTable *table)
{
	return table->nevictions;
}

/* The most bytes that the table has had. */
Size
zsnode_cache_table_peak(const ZsCacheTable *table)
{
	return Max(table->peak, size_of(&table->young) + size_of(&table->old));
}
