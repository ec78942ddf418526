/*-------------------------------------------------------------------------
 *
 * group_internal.h
 *	  What the files of groups share; private to them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef GROUP_INTERNAL_H
#define GROUP_INTERNAL_H

#include "postgres.h"

#include "utils/memutils.h"
#include "varatt.h"

#include "zs_agg_group.h"

#define NO_STRING		PG_UINT32_MAX
#define ABSENT_STRING	(PG_UINT32_MAX - 1) /* looked up in vain among frozen ones */

/* The place of a string in its hash table: its hash, and its number. */
typedef uint64 ZsStringSlot;

/* Strings that have numbers. */
typedef struct ZsStringTable
{
	uint32		nstrings;
	uint32		maxstrings;
	struct varlena **strings;	/* with long headers */
	uint64		nslots;
	ZsStringSlot *slots;
	char	   *free;			/* room for more strings */
	Size		nfree;
	Size		chunk;			/* size of the last piece of memory for strings */
} ZsStringTable;

/* What a key's dictionary entries have as numbers. */
typedef struct ZsCodeMap
{
	uint64		serial;
	uint32		size;
	uint32	   *numbers;		/* NO_STRING: not looked up yet; NULL: no map */
	uint64	   *hashes;			/* 0: not computed yet; NULL: none is */
} ZsCodeMap;

/* The place of a group in the hash table: bits of its hash, and its number. */
typedef uint64 ZsGroupSlot;

struct ZsGroups
{
	MemoryContext context;
	int			nkeys;
	const ZsGroupKey *keys;
	ZsStringTable *tables;		/* of each key */
	ZsCodeMap  *maps;
	bool		frozen;
	bool		has_forms;

	uint32		ngroups;
	uint32		maxgroups;
	int			nwords;			/* of a group: NULLs (bit k: key k), then a word for each key,
								 * then their forms if there are any */
	uint64	   *words;
	uint32		nslots;
	ZsGroupSlot *slots;
	uint32		nhashed;		/* groups that are in there: all but the last ones */

	/*
	 * numbers of combinations of words that lie in ranges: 0 is NULL, then follow low, low + 1, ...
	 */
	bool		is_direct;		/* false: the ranges are too large, for good */
	uint64		nrows;			/* that have been looked up */
	uint64		direct_from;	/* so many are needed before there is an array */
	uint64		direct_most;	/* members that it may have */
	int64	   *lows;			/* of each key */
	uint64	   *counts;			/* of words, with NULL; 0: no row was seen */
	uint32	   *direct;			/* NULL: not made; ZS_NO_GROUP: there is none */

	struct ZsKeyInput *inputs;	/* of the present batch, for each key */
	uint64	   *batch_words;	/* as words, for each row */
	uint64	   *batch_hashes;
	uint32	   *batch_codes;
	int64	   *batch_ints;		/* words of one key */
};

/* What the words of a key in a batch are made of. */
typedef struct ZsKeyInput
{
	const ZsColumnVector *vector;	/* NULL: given */
	const uint32 *given;
	ZsCodeMap  *map;			/* of strings with codes, or NULL */
	ZsCodeMap  *known;			/* of strings some of which are entries of a dictionary, or NULL */
	bool		is_plain;		/* words come at once from integers or codes */
} ZsKeyInput;

/* NULLs, words and forms of a group. */
static inline const uint64 *
zsagg_group_words(const ZsGroups *groups, uint32 group)
{
	return groups->words + (size_t) group * groups->nwords;
}

static inline bool
zsagg_is_string_key(const ZsGroupKey *key)
{
	return key->domain == ZS_DOMAIN_TEXT || key->domain == ZS_DOMAIN_BPCHAR ||
		key->domain == ZS_DOMAIN_NONE;
}

/* The bytes of a datum, which is not compressed. */
static inline const char *
zsagg_string_bytes(const ZsGroupKey *key, const char *datum, size_t *len)
{
	if (key->width > 0)
	{
		*len = key->width;
		return datum;
	}
	*len = VARSIZE_ANY_EXHDR(datum);
	return VARDATA_ANY(datum);
}

/* An array gets n members; NULL: there is none yet. */
static inline void *
zsagg_group_grow(MemoryContext context, void *array, uint32 n, size_t size)
{
	return array == NULL ? MemoryContextAllocHuge(context, n * size) :
		repalloc_huge(array, n * size);
}

static inline uint64
zsagg_hash_add(uint64 hash, uint64 word)
{
	hash += word + UINT64CONST(0x9E3779B97F4A7C15);
	hash ^= hash >> 32;
	hash *= UINT64CONST(0xD6E8FEB86659FD93);
	hash ^= hash >> 32;
	hash *= UINT64CONST(0xD6E8FEB86659FD93);
	hash ^= hash >> 32;
	return hash;
}

/* ---- group_string.c ---- */

extern uint64 zsagg_string_hash(const ZsGroupKey *key, const char *bytes, size_t len);
extern uint32 zsagg_string_number(ZsGroups *groups, int key, const char *bytes, size_t len);
extern void zsagg_string_numbers(ZsGroups *groups, int key, const uint64 *datums,
								 const uint16 *list, uint32 n, uint32 *numbers);
extern void zsagg_string_numbers_known(ZsGroups *groups, int key, const ZsKeyInput *in,
									   const uint16 *list, uint32 n, uint32 *numbers);
extern void zsagg_string_number_codes(ZsGroups *groups, int key, const ZsKeyInput *in,
									  const uint16 *list, uint32 n);

/* ---- group_word.c ---- */

extern void zsagg_group_set_words(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list,
								  uint32 first, uint32 n, uint64 *words);
extern void zsagg_group_row_words(ZsGroups *groups, const Datum *values, const bool *isnull,
								  uint64 *row);

/* ---- group.c ---- */

/* A new group with these words, which no group has; the hash table does not have it yet. */
extern uint32 zsagg_group_add(ZsGroups *groups, const uint64 *words);

/* ---- group_direct.c ---- */

extern uint64 zsagg_group_direct_most(void);
extern void zsagg_group_note(ZsGroups *groups, uint32 group);
extern bool zsagg_group_codes(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list,
							  uint32 n);
extern void zsagg_group_look_up(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list,
								uint32 n, bool has_words, uint32 *numbers);

#endif							/* GROUP_INTERNAL_H */
