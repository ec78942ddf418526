/*-------------------------------------------------------------------------
 *
 * group_string.c
 *	  Numbers for the strings of a key.
 *
 * Strings get numbers in the order in which they appear, equal ones the same.  An open hash table
 * finds the number; each place has the string's hash beside it, so that strings are compared only
 * where these agree, and the table grows without looking at strings.
 *
 * Where many strings are known a search waits for memory three times: for the place in the table,
 * for the string's address, for the string.  The strings of a batch do not depend on each other, so
 * some of them are looked up together: what each waits for next is fetched for all of them before
 * the first one needs it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group_string.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "varatt.h"

#include "group_internal.h"

#define FIRST_STRINGS	512
#define FIRST_SLOTS		1024	/* a power of 2 */
StaticAssertDecl((FIRST_SLOTS & (FIRST_SLOTS - 1)) == 0, "hashes are cut by a mask");

/* So many strings are looked up together; a table of so many strings is far. */
#define TOGETHER		32
#define FAR_STRINGS		2048
#define CACHE_LINE		64

#define EMPTY_SLOT			PG_UINT64_MAX
#define SLOT_STRING(slot)	((uint32) (slot))
#define SLOT_HASH(slot)		((uint32) ((slot) >> 32))

/* A string that is looked for. */
typedef struct Wanted
{
	const char *bytes;
	uint32		len;
	uint32		compared;		/* as many bytes count */
	uint32		hash;
	uint64		at;				/* place from which on it may be */
} Wanted;

/* A hash of a string of the key, the same in all tables. */
uint64
zsagg_string_hash(const ZsGroupKey *key, const char *bytes, size_t len)
{
	return zskernel_hash(bytes, zsexpr_compared_length(key->domain, bytes, len));
}

/* Copies a string to memory that lasts as long as the groups. */
static struct varlena *
copy_string(ZsGroups *groups, ZsStringTable *table, const char *bytes, size_t len)
{
	Size		size = MAXALIGN(len + VARHDRSZ);
	struct varlena *copy;

	if (size > table->nfree)
	{
		/* what is left of the last piece is lost, which is little */
		table->chunk = Min(Max(1024, table->chunk * 2), 256 * 1024);
		table->nfree = Max(table->chunk, size);
		table->free = MemoryContextAllocHuge(groups->context, table->nfree);
	}
	copy = (struct varlena *) table->free;
	table->free += size;
	table->nfree -= size;
	SET_VARSIZE(copy, len + VARHDRSZ);
	memcpy(VARDATA(copy), bytes, len);
	return copy;
}

/* Makes the table large enough for n more strings: three quarters of its places are taken then. */
static void
make_room(ZsGroups *groups, ZsStringTable *table, uint32 n)
{
	ZsStringSlot *old = table->slots;
	uint64		nslots = Max(table->nslots, FIRST_SLOTS);

	while (nslots / 4 * 3 < (uint64) table->nstrings + n)
		nslots *= 2;
	if (nslots == table->nslots)
		return;
	Assert((nslots & (nslots - 1)) == 0 && nslots <= UINT64CONST(1) << 32);
	table->slots = MemoryContextAllocHuge(groups->context, nslots * sizeof(ZsStringSlot));
	memset(table->slots, 0xFF, nslots * sizeof(ZsStringSlot));
	for (uint64 i = 0; i < table->nslots; i++)
	{
		uint64		at = SLOT_HASH(old[i]) & (nslots - 1);

		if (old[i] == EMPTY_SLOT)
			continue;
		while (table->slots[at] != EMPTY_SLOT)
			at = (at + 1) & (nslots - 1);
		table->slots[at] = old[i];
	}
	table->nslots = nslots;
	if (old != NULL)
		pfree(old);
}

/* The next number, for a string that the table does not have yet. */
static uint32
add_string(ZsGroups *groups, ZsStringTable *table, const char *bytes, size_t len)
{
	if (table->nstrings == table->maxstrings)
	{
		table->maxstrings = Max(FIRST_STRINGS, zsagg_groups_grown(table->maxstrings));
		table->strings = zsagg_group_grow(groups->context, table->strings, table->maxstrings,
										  sizeof(struct varlena *));
	}
	Assert(table->nstrings < table->maxstrings && table->nstrings < ABSENT_STRING);
	table->strings[table->nstrings] = copy_string(groups, table, bytes, len);
	return table->nstrings++;
}

/* Is the string of the table the one that is looked for? */
static inline bool
is_same(ZsDomain domain, const struct varlena *string, const Wanted *wanted)
{
	const char *bytes = VARDATA(string);

	return zsexpr_compared_length(domain, bytes,
								  VARSIZE(string) - VARHDRSZ) == wanted->compared &&
		memcmp(bytes, wanted->bytes, wanted->compared) == 0;
}

/* The number of the string, or ABSENT_STRING; there is room for a new one. */
static uint32
look_up(ZsGroups *groups, ZsStringTable *table, ZsDomain domain, const Wanted *wanted)
{
	uint64		mask = table->nslots - 1;
	uint64		at;
	ZsStringSlot slot;
	uint32		number;

	Assert((table->nslots & mask) == 0 && table->nstrings < table->nslots);
	for (at = wanted->at; (slot = table->slots[at]) != EMPTY_SLOT; at = (at + 1) & mask)
	{
		if (SLOT_HASH(slot) == wanted->hash &&
			is_same(domain, table->strings[SLOT_STRING(slot)], wanted))
			return SLOT_STRING(slot);
	}
	if (groups->frozen)
		return ABSENT_STRING;
	number = add_string(groups, table, wanted->bytes, wanted->len);
	table->slots[at] = (uint64) wanted->hash << 32 | number;
	return number;
}

/* Gets a string ready to be looked for. */
static void
set_wanted(const ZsGroupKey *key, const char *bytes, size_t len, Wanted *wanted)
{
	wanted->bytes = bytes;
	wanted->len = (uint32) len;
	wanted->compared = (uint32) zsexpr_compared_length(key->domain, bytes, len);
	wanted->hash = (uint32) (zskernel_hash(bytes, wanted->compared) >> 32);
}

/* The number of a string in the key's table, or ABSENT_STRING. */
uint32
zsagg_string_number(ZsGroups *groups, int key, const char *bytes, size_t len)
{
	ZsStringTable *table = &groups->tables[key];
	Wanted		wanted;

	set_wanted(&groups->keys[key], bytes, len, &wanted);
	make_room(groups, table, 1);
	wanted.at = wanted.hash & (table->nslots - 1);
	return look_up(groups, table, groups->keys[key].domain, &wanted);
}

/* The string in the place, or NULL. */
static inline struct varlena **
string_at(const ZsStringTable *table, uint64 at)
{
	ZsStringSlot slot = table->slots[at];

	return slot != EMPTY_SLOT ? &table->strings[SLOT_STRING(slot)] : NULL;
}

/*
 * Fetches what searches for n strings are going to look at.  Their places become the first ones
 * that are empty or have a string of their hash; those before them stay what they are.
 */
static void
fetch_ahead(const ZsStringTable *table, Wanted *wanted, uint32 n)
{
	uint64		mask = table->nslots - 1;
	struct varlena **string;

	for (uint32 i = 0; i < n; i++)
		__builtin_prefetch(&table->slots[wanted[i].at]);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		at = wanted[i].at;

		while (table->slots[at] != EMPTY_SLOT && SLOT_HASH(table->slots[at]) != wanted[i].hash)
			at = (at + 1) & mask;
		wanted[i].at = at;
		if ((string = string_at(table, at)) != NULL)
			__builtin_prefetch(string);
	}
	for (uint32 i = 0; i < n; i++)
	{
		if ((string = string_at(table, wanted[i].at)) == NULL)
			continue;
		__builtin_prefetch(*string);
		__builtin_prefetch((char *) *string + Min(wanted[i].len, CACHE_LINE));
	}
}

/*
 * The numbers of n strings of the key, those of datums that list names.  A string that is new gets
 * a new number.
 */
void
zsagg_string_numbers(ZsGroups *groups, int key, const uint64 *datums, const uint16 *list,
					 uint32 n, uint32 *numbers)
{
	const ZsGroupKey *k = &groups->keys[key];
	ZsStringTable *table = &groups->tables[key];
	Wanted		wanted[TOGETHER];

	Assert(zsagg_is_string_key(k) && n <= ZS_KERNEL_ROWS);
	for (uint32 from = 0; from < n; from += TOGETHER)
	{
		uint32		count = Min(n - from, TOGETHER);

		for (uint32 i = 0; i < count; i++)
		{
			size_t		len;
			const char *bytes = zsagg_string_bytes(k, (const char *) datums[list[from + i]],
												   &len);

			set_wanted(k, bytes, len, &wanted[i]);
		}
		make_room(groups, table, count);
		for (uint32 i = 0; i < count; i++)
			wanted[i].at = wanted[i].hash & (table->nslots - 1);
		if (table->nstrings >= FAR_STRINGS)
			fetch_ahead(table, wanted, count);
		for (uint32 i = 0; i < count; i++)
			numbers[from + i] = look_up(groups, table, k->domain, &wanted[i]);
	}
}

/*
 * As zsagg_string_numbers(), of the datums of a vector with entries: what its dictionary has is
 * looked up once.
 */
void
zsagg_string_numbers_known(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list,
						   uint32 n, uint32 *numbers)
{
	const uint32 *entries = in->vector->entries;
	uint32	   *known = in->known->numbers;
	uint16		places[ZS_KERNEL_ROWS];
	uint16		rows[ZS_KERNEL_ROWS];
	uint32		found[ZS_KERNEL_ROWS];
	uint32		nrows = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		entry = entries[list[i]];

		numbers[i] = entry != ZS_NO_ENTRY ? known[entry] : NO_STRING;
		places[nrows] = (uint16) i;
		rows[nrows] = list[i];
		nrows += numbers[i] == NO_STRING ? 1 : 0;
	}
	if (nrows == 0)
		return;
	zsagg_string_numbers(groups, key, in->vector->datums, rows, nrows, found);
	for (uint32 i = 0; i < nrows; i++)
	{
		uint32		entry = entries[rows[i]];

		numbers[places[i]] = found[i];
		if (entry != ZS_NO_ENTRY)
			known[entry] = found[i];
	}
}

/* Tells the map of the key's dictionary the numbers of all entries that the n rows of list have. */
void
zsagg_string_number_codes(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list,
						  uint32 n)
{
	const ZsColumnVector *vector = in->vector;
	uint32	   *known = in->map->numbers;
	uint16		codes[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	uint32		ncodes = 0;

	/* so that a list of rows can be one of codes */
	Assert(vector->codes != NULL && vector->dict != NULL && vector->ndict <= PG_UINT16_MAX + 1);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];

		if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
			continue;
		if (unlikely(known[vector->codes[row]] == NO_STRING))
			codes[ncodes++] = (uint16) vector->codes[row];
	}
	if (ncodes == 0)
		return;
	/* one that is there twice gets the same number twice */
	zsagg_string_numbers(groups, key, vector->dict, codes, ncodes, numbers);
	for (uint32 i = 0; i < ncodes; i++)
		known[codes[i]] = numbers[i];
}
