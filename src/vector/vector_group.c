/*-------------------------------------------------------------------------
 *
 * vector_group.c
 *	  Numbers for groups of rows.
 *
 * Each key of a row becomes a word: an integer is its own, and strings get numbers in the order in which they appear,
 * equal ones the same.  For a column with a dictionary this is looked up once for each entry in use, not for
 * each row.  A group is a combination of words and NULLs; an open hash table finds its number.  What is equal is really
 * compared, never a hash alone.
 *
 * A group's keys are shown as the first of its rows has them.  Integers and strings of the types taken here have one
 * form only.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_group.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "vector_agg.h"
#include "vector_group.h"

#define NO_STRING		PG_UINT32_MAX
#define FIRST_SIZE		1024	/* of hash tables: powers of 2 */

/* Strings that have numbers. */
typedef struct StringTable
{
	uint32		nstrings;
	uint32		maxstrings;
	struct varlena **strings;
	uint64	   *hashes;
	uint32		nslots;
	uint32	   *slots;			/* numbers, or NO_STRING */
} StringTable;

/* What a key's dictionary entries have as numbers. */
typedef struct CodeMap
{
	uint64		serial;
	uint32		size;
	uint32	   *numbers;		/* NO_STRING: not looked up yet; NULL: no map */
} CodeMap;

struct ZsGroups
{
	MemoryContext context;
	int			nkeys;
	const ZsGroupKey *keys;
	StringTable *tables;		/* of each key */
	CodeMap    *maps;
	int			nbits;
	uint32		part;

	uint32		ngroups;
	uint32		maxgroups;
	uint64	   *words;			/* nkeys a group */
	uint32	   *nulls;			/* bit k: key k is NULL */
	uint64	   *hashes;
	uint32		nslots;
	uint32	   *slots;			/* group numbers, or ZS_NO_GROUP */

	uint64	   *batch_words;	/* nkeys a row */
	uint32	   *batch_nulls;
	uint64	   *batch_hashes;	/* that decide about parts */
};

bool
zsvector_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	Form_pg_attribute att;
	Oid			collation = exprCollation(expr);

	memset(key, 0, sizeof(*key));
	key->attno = zsvector_column_of(desc, varno, expr, &key->domain);
	if (key->attno == InvalidAttrNumber)
		return false;
	att = TupleDescAttr(desc, key->attno - 1);
	key->width = att->attlen;
	if (!zsvector_is_equality(get_opcode(eqop), key->domain))
		return false;
	switch (key->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return att->attbyval;
		case ZS_DOMAIN_TEXT:
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		case ZS_DOMAIN_BPCHAR:
			/* without a length, blanks at the end may differ among equal strings */
			return att->atttypid == BPCHAROID && att->atttypmod >= 0 &&
				OidIsValid(collation) && get_collation_isdeterministic(collation);
		default:
			return false;
	}
}

ZsGroups *
zsvector_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	ZsGroups   *groups = palloc0(sizeof(ZsGroups));

	Assert(nkeys > 0 && nkeys <= ZS_MAX_GROUP_KEYS);
	groups->context = context;
	groups->nkeys = nkeys;
	groups->keys = keys;
	groups->tables = palloc0(nkeys * sizeof(StringTable));
	groups->maps = palloc0(nkeys * sizeof(CodeMap));
	groups->nslots = FIRST_SIZE;
	groups->slots = palloc(FIRST_SIZE * sizeof(uint32));
	memset(groups->slots, 0xFF, FIRST_SIZE * sizeof(uint32));
	groups->batch_words = palloc(ZS_KERNEL_ROWS * nkeys * sizeof(uint64));
	groups->batch_nulls = palloc(ZS_KERNEL_ROWS * sizeof(uint32));
	groups->batch_hashes = palloc(ZS_KERNEL_ROWS * sizeof(uint64));
	MemoryContextSwitchTo(old);
	return groups;
}

void
zsvector_groups_restrict(ZsGroups *groups, int nbits, uint32 part)
{
	groups->nbits = nbits;
	groups->part = part;
}

uint32
zsvector_groups_count(const ZsGroups *groups)
{
	return groups->ngroups;
}

static void *
grow(MemoryContext context, void *array, uint32 n, size_t size)
{
	return array == NULL ? MemoryContextAllocHuge(context, n * size) : repalloc_huge(array, n * size);
}

/* A hash table of twice the size, from the hashes of its n members. */
static uint32 *
rehash(MemoryContext context, uint32 *slots, uint32 nslots, const uint64 *hashes, uint32 n)
{
	if (slots != NULL)
		pfree(slots);
	slots = MemoryContextAllocHuge(context, nslots * sizeof(uint32));
	memset(slots, 0xFF, nslots * sizeof(uint32));
	for (uint32 i = 0; i < n; i++)
	{
		uint32		at = (uint32) hashes[i] & (nslots - 1);

		while (slots[at] != PG_UINT32_MAX)
			at = (at + 1) & (nslots - 1);
		slots[at] = i;
	}
	return slots;
}

/* ---- strings ---------------------------------------------------------------------- */

/* The hash of what of a string counts, and the length of that. */
static uint64
hash_string_key(const ZsGroups *groups, int key, const char *datum, size_t *keylen)
{
	const char *bytes = VARDATA_ANY(datum);

	*keylen = VARSIZE_ANY_EXHDR(datum);
	if (groups->keys[key].domain == ZS_DOMAIN_BPCHAR)
	{
		while (*keylen > 0 && bytes[*keylen - 1] == ' ')
			(*keylen)--;
	}
	return hash_bytes_extended((const unsigned char *) bytes, (int) *keylen, 0);
}

static uint32
string_number(ZsGroups *groups, int key, const char *datum)
{
	StringTable *table = &groups->tables[key];
	const char *bytes = VARDATA_ANY(datum);
	size_t		len = VARSIZE_ANY_EXHDR(datum);
	size_t		keylen;
	uint64		hash = hash_string_key(groups, key, datum, &keylen);
	uint32		at;

	if (table->nslots < 2 * (table->nstrings + 1))
	{
		table->nslots = Max(FIRST_SIZE, table->nslots * 2);
		table->slots = rehash(groups->context, table->slots, table->nslots, table->hashes,
							  table->nstrings);
	}
	for (at = (uint32) hash & (table->nslots - 1); table->slots[at] != NO_STRING;
		 at = (at + 1) & (table->nslots - 1))
	{
		uint32		i = table->slots[at];

		if (table->hashes[i] == hash)
		{
			const char *other = VARDATA(table->strings[i]);
			size_t		otherlen = VARSIZE(table->strings[i]) - VARHDRSZ;

			if (groups->keys[key].domain == ZS_DOMAIN_BPCHAR)
			{
				while (otherlen > 0 && other[otherlen - 1] == ' ')
					otherlen--;
			}
			if (otherlen == keylen && memcmp(other, bytes, keylen) == 0)
				return i;
		}
	}
	if (table->nstrings == table->maxstrings)
	{
		table->maxstrings = Max(FIRST_SIZE / 2, zsvector_groups_grown(table->maxstrings));
		table->strings = grow(groups->context, table->strings, table->maxstrings, sizeof(struct varlena *));
		table->hashes = grow(groups->context, table->hashes, table->maxstrings, sizeof(uint64));
	}
	table->strings[table->nstrings] = MemoryContextAlloc(groups->context, len + VARHDRSZ);
	SET_VARSIZE(table->strings[table->nstrings], len + VARHDRSZ);
	memcpy(VARDATA(table->strings[table->nstrings]), bytes, len);
	table->hashes[table->nstrings] = hash;
	table->slots[at] = table->nstrings;
	return table->nstrings++;
}

/* The map of the vector's dictionary, with nothing in it if it is another one than before. */
static CodeMap *
code_map(ZsGroups *groups, int key, const ZsColumnVector *vector)
{
	CodeMap    *map = &groups->maps[key];

	if (map->numbers != NULL && map->serial == vector->serial)
		return map;
	if (map->size < vector->ndict)
	{
		map->numbers = grow(groups->context, map->numbers, vector->ndict, sizeof(uint32));
		map->size = vector->ndict;
	}
	memset(map->numbers, 0xFF, vector->ndict * sizeof(uint32));
	map->serial = vector->serial;
	return map;
}

/* ---- groups ------------------------------------------------------------------------- */

static inline uint64
mix(uint64 h)
{
	h ^= h >> 32;
	h *= UINT64CONST(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	h *= UINT64CONST(0xD6E8FEB86659FD93);
	h ^= h >> 32;
	return h;
}

/*
 * Parts are made by hashes of the values themselves: strings of other parts get no numbers, since those take memory, too.
 */
static bool
is_in_part(const ZsGroups *groups, uint64 hash)
{
	return groups->nbits == 0 || (hash >> (64 - groups->nbits)) == groups->part;
}

static uint64
add_hash(uint64 hash, uint64 word)
{
	return mix(hash + word + UINT64CONST(0x9E3779B97F4A7C15));
}

/* A NULL's, too. */
#define NULL_WORD		UINT64CONST(0x5851F42D4C957F2D)

/* The number of the group with these words; a new one if need be. */
static uint32
find_group(ZsGroups *groups, const uint64 *words, uint32 nulls)
{
	uint64		hash = nulls;
	uint32		at;
	uint32		group;

	for (int k = 0; k < groups->nkeys; k++)
		hash = add_hash(hash, words[k]);
	for (at = (uint32) hash & (groups->nslots - 1); (group = groups->slots[at]) != ZS_NO_GROUP;
		 at = (at + 1) & (groups->nslots - 1))
	{
		if (groups->hashes[group] != hash || groups->nulls[group] != nulls)
			continue;
		if (groups->nkeys == 1 ? groups->words[group] == words[0] :
			memcmp(groups->words + (size_t) group * groups->nkeys, words,
				   groups->nkeys * sizeof(uint64)) == 0)
			return group;
	}

	if (groups->ngroups == groups->maxgroups)
	{
		groups->maxgroups = Max(FIRST_SIZE / 2, zsvector_groups_grown(groups->maxgroups));
		groups->words = grow(groups->context, groups->words, groups->maxgroups,
							 groups->nkeys * sizeof(uint64));
		groups->nulls = grow(groups->context, groups->nulls, groups->maxgroups, sizeof(uint32));
		groups->hashes = grow(groups->context, groups->hashes, groups->maxgroups, sizeof(uint64));
	}
	group = groups->ngroups++;
	memcpy(groups->words + (size_t) group * groups->nkeys, words, groups->nkeys * sizeof(uint64));
	groups->nulls[group] = nulls;
	groups->hashes[group] = hash;
	groups->slots[at] = group;
	if (groups->nslots < 2 * groups->ngroups)
	{
		groups->nslots *= 2;
		groups->slots = rehash(groups->context, groups->slots, groups->nslots, groups->hashes,
							   groups->ngroups);
	}
	return group;
}

static bool
is_string_key(const ZsGroupKey *key)
{
	return key->domain == ZS_DOMAIN_TEXT || key->domain == ZS_DOMAIN_BPCHAR;
}

/* The column of a key: integers, codes or datums.  NULL: the batch has no such form. */
static const ZsColumnVector *
key_vector(const ZsGroupKey *key, ZsInput *input, const uint64 *sel)
{
	bool		is_string = is_string_key(key);
	const ZsColumnVector *vector = zsvector_input_column(input, key->attno,
														 is_string ? ZS_WANT_STRING : ZS_WANT_INT, sel);

	if (vector != NULL && is_string && vector->codes == NULL && vector->datums == NULL)
		vector = zsvector_input_column(input, key->attno, ZS_WANT_DATUM, sel);
	if (vector == NULL || (vector->has_odd && zskernel_bits_meet(vector->odd, sel)))
		return NULL;
	return vector;
}

/* Adds one key to the hashes of the rows of list that decide about parts. */
static void
add_key_hashes(ZsGroups *groups, int key, const ZsColumnVector *vector, const uint16 *list, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		size_t		keylen;
		uint64		word;

		if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
			word = NULL_WORD;
		else if (!is_string_key(&groups->keys[key]))
			word = (uint64) vector->vals[row];
		else
			word = hash_string_key(groups, key, (const char *) (vector->codes != NULL ?
															vector->dict[vector->codes[row]] :
															vector->datums[row]), &keylen);
		groups->batch_hashes[i] = add_hash(groups->batch_hashes[i], word);
	}
}

/* Puts the words of one key into those of the batch. */
static void
set_words(ZsGroups *groups, int key, const ZsColumnVector *vector, const uint16 *list, uint32 n)
{
	bool		is_string = is_string_key(&groups->keys[key]);
	uint64	   *words = groups->batch_words + key;
	CodeMap    *map = NULL;

	if (is_string && vector->codes != NULL)
		map = code_map(groups, key, vector);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		uint64	   *word = &words[(size_t) i * groups->nkeys];

		if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
		{
			*word = 0;
			groups->batch_nulls[i] |= 1U << key;
		}
		else if (!is_string)
			*word = (uint64) vector->vals[row];
		else if (map != NULL)
		{
			uint32		code = vector->codes[row];

			if (map->numbers[code] == NO_STRING)
				map->numbers[code] = string_number(groups, key, (const char *) vector->dict[code]);
			*word = map->numbers[code];
		}
		else
			*word = string_number(groups, key, (const char *) vector->datums[row]);
	}
}

bool
zsvector_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel, const uint16 *list,
					   uint32 n, uint32 *numbers)
{
	size_t		size = groups->nkeys * sizeof(uint64);
	const ZsColumnVector *vectors[ZS_MAX_GROUP_KEYS];
	uint16		part_list[ZS_KERNEL_ROWS];
	uint16		places[ZS_KERNEL_ROWS]; /* of rows of part_list in list */
	uint32		npart = n;
	uint32		last = ZS_NO_GROUP;

	for (int k = 0; k < groups->nkeys; k++)
	{
		vectors[k] = key_vector(&groups->keys[k], input, sel);
		if (vectors[k] == NULL)
			return false;
	}
	if (groups->nbits > 0)
	{
		memset(groups->batch_hashes, 0, n * sizeof(uint64));
		for (int k = 0; k < groups->nkeys; k++)
			add_key_hashes(groups, k, vectors[k], list, n);
		npart = 0;
		for (uint32 i = 0; i < n; i++)
		{
			numbers[i] = ZS_NO_GROUP;
			if (!is_in_part(groups, groups->batch_hashes[i]))
				continue;
			part_list[npart] = list[i];
			places[npart++] = (uint16) i;
		}
		list = part_list;
	}

	memset(groups->batch_nulls, 0, npart * sizeof(uint32));
	for (int k = 0; k < groups->nkeys; k++)
		set_words(groups, k, vectors[k], list, npart);
	for (uint32 i = 0; i < npart; i++)
	{
		const uint64 *words = groups->batch_words + (size_t) i * groups->nkeys;

		/* neighbours are often of one group */
		if (i == 0 || groups->batch_nulls[i] != groups->batch_nulls[i - 1] ||
			words[0] != words[-groups->nkeys] ||
			(groups->nkeys > 1 && memcmp(words, words - groups->nkeys, size) != 0))
			last = find_group(groups, words, groups->batch_nulls[i]);
		numbers[groups->nbits > 0 ? places[i] : i] = last;
	}
	return true;
}

uint32
zsvector_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull)
{
	const char *strings[ZS_MAX_GROUP_KEYS];
	uint64		words[ZS_MAX_GROUP_KEYS];
	uint64		hash = 0;
	uint32		nulls = 0;
	size_t		keylen;

	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];

		strings[k] = NULL;
		words[k] = 0;
		if (isnull[k])
		{
			nulls |= 1U << k;
			hash = add_hash(hash, NULL_WORD);
		}
		else if (is_string_key(key))
		{
			strings[k] = (const char *) PG_DETOAST_DATUM_PACKED(values[k]);
			hash = add_hash(hash, hash_string_key(groups, k, strings[k], &keylen));
		}
		else
		{
			words[k] = (uint64) zsvector_datum_to_int64(key->width, values[k]);
			hash = add_hash(hash, words[k]);
		}
	}
	if (!is_in_part(groups, hash))
		return ZS_NO_GROUP;
	for (int k = 0; k < groups->nkeys; k++)
	{
		if (strings[k] != NULL)
			words[k] = string_number(groups, k, strings[k]);
	}
	return find_group(groups, words, nulls);
}

Datum
zsvector_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull)
{
	uint64		word = groups->words[(size_t) group * groups->nkeys + key];

	*isnull = (groups->nulls[group] >> key & 1) != 0;
	if (*isnull)
		return (Datum) 0;
	if (groups->keys[key].domain == ZS_DOMAIN_TEXT || groups->keys[key].domain == ZS_DOMAIN_BPCHAR)
		return PointerGetDatum(groups->tables[key].strings[word]);
	return zsvector_int64_to_datum(groups->keys[key].width, (int64) word);
}
