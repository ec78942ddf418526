/*-------------------------------------------------------------------------
 *
 * group.c
 *	  Numbers for groups of rows.
 *
 * Each key of a row becomes a word (group_word.c): an integer is its own, and strings have
 * numbers (group_string.c).  A group is a combination of words and NULLs; an open hash table
 * finds its number.  What is equal is really compared, never a hash alone.
 *
 * While the words of all keys lie in small ranges, an array finds the number instead
 * (group_direct.c), and the hash table is made when a group is looked for in another way.
 * Where the table is larger than caches, a batch's places in it are fetched before the first of
 * them is looked at.
 *
 * A group's keys are shown as the first of its rows has them: where equal values may look different
 * a group keeps the form of its first row, too.
 *
 * When memory is short the groups are frozen: rows are still found, but nothing is added, strings
 * neither.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "group_internal.h"
#include "zs_expr_guc.h"

#define FIRST_SIZE		1024	/* of hash tables: powers of 2 */
StaticAssertDecl((FIRST_SIZE & (FIRST_SIZE - 1)) == 0, "hashes are cut by a mask");
StaticAssertDecl(ZS_MAX_GROUP_KEYS <= 64, "a word has a bit for each key");

#define EMPTY_SLOT			PG_UINT64_MAX
#define SLOT_GROUP(slot)	((uint32) (slot))
#define SLOT_HASH(slot)		((uint32) ((slot) >> 32))

/* A hash table of so many slots is not near any more. */
#define FAR_SLOTS		16384

/* Memory comes from the context, which may be reset together with all groups. */
ZsGroups *
zsagg_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	ZsGroups   *groups = palloc0(sizeof(ZsGroups));

	Assert(nkeys > 0 && nkeys <= ZS_MAX_GROUP_KEYS);
	groups->context = context;
	groups->nkeys = nkeys;
	groups->keys = keys;
	groups->tables = palloc0(nkeys * sizeof(ZsStringTable));
	groups->maps = palloc0(nkeys * sizeof(ZsCodeMap));
	for (int k = 0; k < nkeys; k++)
		groups->has_forms |= keys[k].has_form;
	groups->nwords = 1 + nkeys * (groups->has_forms ? 2 : 1);
	groups->nslots = FIRST_SIZE;
	groups->slots = palloc(FIRST_SIZE * sizeof(ZsGroupSlot));
	memset(groups->slots, 0xFF, FIRST_SIZE * sizeof(ZsGroupSlot));
	groups->is_direct = true;
	groups->direct_most = zsagg_group_direct_most();
	groups->lows = palloc0(nkeys * sizeof(int64));
	groups->counts = palloc0(nkeys * sizeof(uint64));
	groups->inputs = palloc0(nkeys * sizeof(ZsKeyInput));
	groups->batch_words = palloc0(ZS_KERNEL_ROWS * groups->nwords * sizeof(uint64));
	groups->batch_hashes = palloc(ZS_KERNEL_ROWS * sizeof(uint64));
	groups->batch_codes = palloc(ZS_KERNEL_ROWS * sizeof(uint32));
	groups->batch_ints = palloc(ZS_KERNEL_ROWS * sizeof(int64));
	MemoryContextSwitchTo(old);
	return groups;
}

/* From now on no group is added: rows of others have ZS_NO_GROUP. */
void
zsagg_groups_freeze(ZsGroups *groups)
{
	groups->frozen = true;
}

/* Is no group added any more? */
bool
zsagg_groups_frozen(const ZsGroups *groups)
{
	return groups->frozen;
}

/* Are rows found by ranges of their keys, without a hash table? */
bool
zsagg_groups_direct(const ZsGroups *groups)
{
	return groups->is_direct && groups->direct != NULL;
}

/* How many groups there are; their numbers are below that. */
uint32
zsagg_groups_count(const ZsGroups *groups)
{
	return groups->ngroups;
}

/* So many groups may be in a hash table of so many slots, as strings may in theirs. */
static inline uint32
slots_room(uint32 nslots)
{
	return nslots / 4 * 3;
}

/* How many more there can be without memory for their keys; strings need some all the same. */
uint32
zsagg_groups_room(const ZsGroups *groups)
{
	if (groups->frozen)
		return 0;
	return Min(groups->maxgroups, Max(slots_room(groups->nslots), groups->ngroups)) -
		groups->ngroups;
}

/* The map of the vector's dictionary, with nothing in it if it is another one than before. */
static ZsCodeMap *
code_map(ZsGroups *groups, int key, const ZsColumnVector *vector)
{
	ZsCodeMap  *map = &groups->maps[key];

	Assert((vector->codes != NULL && vector->dict != NULL) || vector->entries != NULL);
	if (map->numbers != NULL && map->serial == vector->serial)
		return map;
	if (map->size < vector->ndict)
	{
		map->numbers = zsagg_group_grow(groups->context, map->numbers, vector->ndict,
										sizeof(uint32));
		if (map->hashes != NULL)
			map->hashes = zsagg_group_grow(groups->context, map->hashes, vector->ndict,
										   sizeof(uint64));
		map->size = vector->ndict;
	}
	Assert(map->size >= vector->ndict);
	memset(map->numbers, 0xFF, vector->ndict * sizeof(uint32));
	if (map->hashes != NULL)
		memset(map->hashes, 0, vector->ndict * sizeof(uint64));
	map->serial = vector->serial;
	return map;
}

/* ---- groups ------------------------------------------------------------------------- */

/* The hash of a key: its NULLs and its words. */
static inline uint64
hash_words(const ZsGroups *groups, const uint64 *words)
{
	uint64		hash = words[0];

	for (int k = 1; k <= groups->nkeys; k++)
		hash = zsagg_hash_add(hash, words[k]);
	return hash;
}

/* Are the keys the same?  Forms do not matter. */
static inline bool
same_words(const ZsGroups *groups, const uint64 *a, const uint64 *b)
{
	if (groups->nkeys == 1)
		return a[0] == b[0] && a[1] == b[1];
	return memcmp(a, b, (groups->nkeys + 1) * sizeof(uint64)) == 0;
}

/* A slot of the table: the upper half of the hash, and the number of the group. */
static inline ZsGroupSlot
make_slot(uint64 hash, uint32 group)
{
	return (hash & UINT64CONST(0xFFFFFFFF00000000)) | group;
}

/* Puts all groups into the hash table, which becomes larger if need be. */
static void
hash_groups(ZsGroups *groups)
{
	uint32		nslots = groups->nslots;

	Assert((nslots & (nslots - 1)) == 0 && groups->nhashed <= groups->ngroups);
	while (slots_room(nslots) < groups->ngroups)
		nslots *= 2;
	if (nslots > groups->nslots)
	{
		pfree(groups->slots);
		groups->slots = MemoryContextAllocHuge(groups->context, nslots * sizeof(ZsGroupSlot));
		memset(groups->slots, 0xFF, nslots * sizeof(ZsGroupSlot));
		groups->nslots = nslots;
		groups->nhashed = 0;
	}
	for (; groups->nhashed < groups->ngroups; groups->nhashed++)
	{
		uint64		hash = hash_words(groups, zsagg_group_words(groups, groups->nhashed));
		uint32		at = (uint32) hash & (nslots - 1);

		while (groups->slots[at] != EMPTY_SLOT)
			at = (at + 1) & (nslots - 1);
		groups->slots[at] = make_slot(hash, groups->nhashed);
	}
}

/* A new group, which the hash table does not have yet. */
uint32
zsagg_group_add(ZsGroups *groups, const uint64 *words)
{
	Assert(!groups->frozen && groups->ngroups <= groups->maxgroups);
	Assert(groups->ngroups < ZS_NO_GROUP);
	if (groups->ngroups == groups->maxgroups)
	{
		groups->maxgroups = Max(FIRST_SIZE / 2, zsagg_groups_grown(groups->maxgroups));
		groups->words = zsagg_group_grow(groups->context, groups->words, groups->maxgroups,
										 groups->nwords * sizeof(uint64));
	}
	memcpy(groups->words + (size_t) groups->ngroups * groups->nwords, words,
		   groups->nwords * sizeof(uint64));
	return groups->ngroups++;
}

/* The number of the group with these words and this hash of them; a new one if need be. */
static uint32
find_group(ZsGroups *groups, const uint64 *words, uint64 hash)
{
	uint32		at;
	ZsGroupSlot slot;

	if (unlikely(groups->nhashed < groups->ngroups))
		hash_groups(groups);
	for (at = (uint32) hash & (groups->nslots - 1); (slot = groups->slots[at]) != EMPTY_SLOT;
		 at = (at + 1) & (groups->nslots - 1))
	{
		if (SLOT_HASH(slot) == (uint32) (hash >> 32) &&
			same_words(groups, zsagg_group_words(groups, SLOT_GROUP(slot)), words))
			return SLOT_GROUP(slot);
	}

	if (groups->frozen)
		return ZS_NO_GROUP;
	Assert(groups->nhashed == groups->ngroups);
	groups->slots[at] = make_slot(hash, groups->ngroups);
	groups->nhashed++;
	zsagg_group_note(groups, zsagg_group_add(groups, words));
	if (slots_room(groups->nslots) < groups->ngroups)
		hash_groups(groups);
	return groups->ngroups - 1;
}

/* Does the caller give the key's values? */
static bool
is_given(const ZsGroupKey *key)
{
	return key->attno == InvalidAttrNumber && key->expr == NULL;
}

/* The column of a key: integers, codes or datums.  NULL: the batch has no such form. */
static const ZsColumnVector *
key_vector(const ZsGroupKey *key, ZsInput *input, const uint64 *sel)
{
	const ZsColumnVector *vector;
	ZsQualCounts counts = {0};

	if (key->expr != NULL)
		return zsexpr_run(key->expr, input, sel, &counts);
	vector = zsexpr_input_column(input, key->attno, zsagg_is_string_key(key) ? ZS_WANT_TEXT :
								 zsexpr_want_of(key->domain), sel);
	if (vector == NULL || zs_vector_has_odd(vector, sel))
		return NULL;
	return vector;
}

/* ---- batches ----------------------------------------------------------------------------- */

/*
 * Can the rows of sel of the present batch be taken by columns?  Else they have to be taken one by
 * one.
 */
bool
zsagg_groups_ready(const ZsGroups *groups, ZsInput *input, const uint64 *sel)
{
	for (int k = 0; k < groups->nkeys; k++)
	{
		if (!is_given(&groups->keys[k]) && key_vector(&groups->keys[k], input, sel) == NULL)
			return false;
	}
	return true;
}

/* Where the words of the keys come from; returns whether all of them are plain. */
static bool
read_keys(ZsGroups *groups, ZsInput *input, const uint64 *sel, const uint32 *given, ZsKeyInput *in)
{
	bool		all_plain = !groups->has_forms;

	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];

		memset(&in[k], 0, sizeof(ZsKeyInput));
		if (is_given(key))
		{
			Assert(given != NULL && k == 0);
			in[k].given = given;
			in[k].is_plain = true;
			continue;
		}
		in[k].vector = key_vector(key, input, sel);
		Assert(in[k].vector != NULL);	/* zsagg_groups_ready() */
		if (zsagg_is_string_key(key) && in[k].vector->codes != NULL)
			in[k].map = code_map(groups, k, in[k].vector);
		else if (zsagg_is_string_key(key) && in[k].vector->entries != NULL &&
				 zs_enable_known_strings)
			in[k].known = code_map(groups, k, in[k].vector);
		in[k].is_plain = key->domain == ZS_DOMAIN_INT || key->domain == ZS_DOMAIN_UINT ||
			in[k].map != NULL;
		all_plain = all_plain && in[k].is_plain;
	}
	return all_plain;
}

/* The groups of the rows of list by groups->inputs; all_plain: of all keys. */
static void
assign_inputs(ZsGroups *groups, bool all_plain, const uint16 *list, uint32 n, uint32 *numbers)
{
	size_t		stride = (size_t) groups->nwords;
	uint64	   *words = groups->batch_words;
	uint64	   *hashes = groups->batch_hashes;
	const ZsKeyInput *in = groups->inputs;

	Assert(n > 0 && n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	Assert((uint32) list[n - 1] + 1 >= list[0] + n);	/* ascending */
	groups->nrows += n;
	if (!all_plain)
		zsagg_group_set_words(groups, in, list, 0, n, words);
	if (groups->is_direct && groups->nrows >= groups->direct_from &&
		zsagg_group_codes(groups, in, list, n))
	{
		zsagg_group_look_up(groups, in, list, n, !all_plain, numbers);
		return;
	}
	if (all_plain)
		zsagg_group_set_words(groups, in, list, 0, n, words);

	for (uint32 i = 0; i < n; i++)
		hashes[i] = hash_words(groups, words + i * stride);
	if (groups->nslots >= FAR_SLOTS)
	{
		uint32		mask = groups->nslots - 1;

		for (uint32 i = 0; i < n; i++)
			__builtin_prefetch(&groups->slots[(uint32) hashes[i] & mask]);
		for (uint32 i = 0; i < n; i++)
		{
			ZsGroupSlot slot = groups->slots[(uint32) hashes[i] & mask];

			if (slot != EMPTY_SLOT)
				__builtin_prefetch(zsagg_group_words(groups, SLOT_GROUP(slot)));
		}
	}
	for (uint32 i = 0; i < n; i++)
	{
		/* neighbours are often of one group */
		if (i > 0 && hashes[i] == hashes[i - 1] &&
			same_words(groups, words + i * stride, words + (i - 1) * stride))
			numbers[i] = numbers[i - 1];
		else
			numbers[i] = find_group(groups, words + i * stride, hashes[i]);
	}
}

/*
 * The groups of the n rows of list (positions in the present batch, ascending), some of which may
 * be new.  sel: as above, with all of these rows.  given: values of the key without a column, for
 * each row of list, or NULL.
 */
void
zsagg_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel, const uint16 *list,
					uint32 n, const uint32 *given, uint32 *numbers)
{
	if (n > 0)
		assign_inputs(groups, read_keys(groups, input, sel, given, groups->inputs), list, n,
					  numbers);
}

/* Reads the keys of the present batch, for the next two functions; no group is assigned. */
void
zsagg_groups_read_keys(ZsGroups *groups, ZsInput *input, const uint64 *sel)
{
	(void) read_keys(groups, input, sel, NULL, groups->inputs);
}

/* As zsagg_groups_assign(), where the keys' vectors are at hand, which have no codes. */
void
zsagg_groups_assign_vectors(ZsGroups *groups, const ZsColumnVector *const *vectors,
							const uint16 *list, uint32 n, uint32 *numbers)
{
	bool		all_plain = !groups->has_forms;

	for (int k = 0; k < groups->nkeys; k++)
	{
		ZsDomain	domain = groups->keys[k].domain;

		Assert(!is_given(&groups->keys[k]) && vectors[k]->codes == NULL);
		memset(&groups->inputs[k], 0, sizeof(ZsKeyInput));
		groups->inputs[k].vector = vectors[k];
		groups->inputs[k].is_plain = domain == ZS_DOMAIN_INT || domain == ZS_DOMAIN_UINT;
		all_plain = all_plain && groups->inputs[k].is_plain;
	}
	assign_inputs(groups, all_plain, list, n, numbers);
}

/* The vectors of the keys that were read last; false if one has none. */
bool
zsagg_groups_vectors(const ZsGroups *groups, const ZsColumnVector **vectors)
{
	for (int k = 0; k < groups->nkeys; k++)
	{
		if ((vectors[k] = groups->inputs[k].vector) == NULL)
			return false;
	}
	return true;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* The group of one row; its keys' values. */
uint32
zsagg_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull)
{
	uint64		row[1 + 2 * ZS_MAX_GROUP_KEYS];

	zsagg_group_row_words(groups, values, isnull, row);
	return find_group(groups, row, hash_words(groups, row));
}

/* The value of a key of domain INT; false if it is NULL. */
bool
zsagg_groups_int(const ZsGroups *groups, uint32 group, int key, int64 *value)
{
	const uint64 *words = zsagg_group_words(groups, group);

	Assert(key >= 0 && key < groups->nkeys);
	Assert(group < groups->ngroups && groups->keys[key].domain == ZS_DOMAIN_INT);
	*value = (int64) words[1 + key];
	return (words[0] >> key & 1) == 0;
}
