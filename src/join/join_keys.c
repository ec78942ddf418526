/*-------------------------------------------------------------------------
 *
 * join_keys.c
 *	  Sets of integers that say fast which values of a batch they may contain.
 *
 * Keys are gathered in an array.  When all are there, the set takes the first of these forms that
 * fits:
 *
 *	1. a sorted list, of up to LIST_KEYS keys;
 *	2. a bitmap over all integers from the smallest to the largest key, if these lie closely;
 *	3. a Bloom filter of 16 to 32 bits a key; of few keys there is a sorted list beside it.  All
 *	   bits of a key are in one word, which costs one look at memory (Putze, Sanders, Singler:
 *	   Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007).
 *
 * Of the smallest and largest value of a vector or a segment a list says whether a key lies between
 * them, and so does a bitmap if they are not too far from each other.
 *
 * The set never has more memory than a hash table may have; with more keys than that it knows their
 * smallest and largest only.  The first two forms are exact.
 *
 * Of a parallel hash each process sees some of the keys.  It leaves them in dynamic shared memory
 * before it waits for the others, as everybody does before the table is probed, so then each takes
 * all of them from there.  A process that comes when the table is made already has none to leave.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_keys.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "join_keys.h"
#include "zs_kernel.h"

#define LIST_KEYS		4
#define FIRST_KEYS		1024

/* So many words of a bitmap are looked through for a key between two values. */
#define RANGE_WORDS		1024

/* A bitmap of so many bits stays in a processor's first cache, and in its second. */
#define TINY_BITMAP		(UINT64CONST(1) << 17)
#define SMALL_BITMAP	(UINT64CONST(8) << 20)

/* Limit of a set's memory, whatever work_mem is. */
#define MAX_BYTES		((Size) 16 << 20)

typedef enum KeysForm
{
	KEYS_GATHERED,				/* not complete */
	KEYS_NONE,
	KEYS_LIST,
	KEYS_BITMAP,
	KEYS_BLOOM,
	KEYS_RANGE
} KeysForm;

struct ZsJoinKeys
{
	MemoryContext context;
	Size		max_bytes;
	KeysForm	form;
	bool		too_many;		/* the array is given up */
	uint64		nkeys;
	int64		min;			/* if nkeys > 0 */
	int64		max;
	int64	   *keys;			/* sorted if the set is complete; then NULL if too many */
	uint32		maxkeys;
	uint64	   *words;			/* of a bitmap or a Bloom filter */
	uint32		log2_words;
	ZsRowFilterShared *shared;	/* NULL: all keys are this process's */
};

/* The keys of one process, in dynamic shared memory. */
typedef struct SharedPart
{
	dsa_pointer next;
	uint64		nkeys;
	int64		min;			/* if nkeys > 0 */
	int64		max;
	bool		too_many;		/* there is no array */
	int64		keys[FLEXIBLE_ARRAY_MEMBER];
} SharedPart;

/* The limit of a set, by work_mem. */
static Size
max_bytes(void)
{
	return Min(get_hash_memory_limit(), MAX_BYTES);
}

/* With more keys than this a set may know their range only. */
double
zsjoin_keys_most(void)
{
	/* beside the array there will be a bitmap */
	return (double) (max_bytes() / 2 / sizeof(int64));
}

/* An empty set.  Memory comes from a child of the context. */
ZsJoinKeys *
zsjoin_keys_create(MemoryContext parent)
{
	ZsJoinKeys *keys = MemoryContextAllocZero(parent, sizeof(ZsJoinKeys));

	keys->context = AllocSetContextCreate(parent, "zedstore join keys", ALLOCSET_SMALL_SIZES);
	keys->max_bytes = max_bytes();
	zsjoin_keys_reset(keys);
	return keys;
}

/* Forgets all keys. */
void
zsjoin_keys_reset(ZsJoinKeys *keys)
{
	MemoryContextReset(keys->context);
	keys->form = KEYS_GATHERED;
	keys->too_many = false;
	keys->nkeys = 0;
	keys->keys = NULL;
	keys->maxkeys = 0;
	keys->words = NULL;
	keys->log2_words = 0;
}

/* Makes room for another key, or gives the array up. */
static void
enlarge(ZsJoinKeys *keys)
{
	uint32		maxkeys = keys->maxkeys == 0 ? FIRST_KEYS : keys->maxkeys * 2;

	Assert(keys->nkeys == keys->maxkeys && !keys->too_many);
	/* beside the array there will be a bitmap */
	if (maxkeys * sizeof(int64) > keys->max_bytes / 2)
	{
		MemoryContextReset(keys->context);
		keys->keys = NULL;
		keys->too_many = true;
		return;
	}
	if (keys->keys == NULL)
		keys->keys = MemoryContextAlloc(keys->context, maxkeys * sizeof(int64));
	else
		keys->keys = repalloc(keys->keys, maxkeys * sizeof(int64));
	keys->maxkeys = maxkeys;
}

/* Adds a key to a set that has not ended. */
void
zsjoin_keys_add(ZsJoinKeys *keys, int64 key)
{
	Assert(keys->form == KEYS_GATHERED);
	if (keys->nkeys == 0)
		keys->min = keys->max = key;
	else
	{
		keys->min = Min(keys->min, key);
		keys->max = Max(keys->max, key);
	}
	if (!keys->too_many)
	{
		/* rows in order have the same key several times */
		if (keys->nkeys > 0 && keys->keys[keys->nkeys - 1] == key)
			return;
		if (keys->nkeys == keys->maxkeys)
			enlarge(keys);
		if (!keys->too_many)
			keys->keys[keys->nkeys] = key;
	}
	keys->nkeys++;
}

/* qsort callback */
static int
compare_keys(const void *a, const void *b)
{
	return pg_cmp_s64(*(const int64 *) a, *(const int64 *) b);
}

/* A bit for each integer from the smallest to the largest key, range apart. */
static void
make_bitmap(ZsJoinKeys *keys, uint64 range)
{
	Assert(range / BITS_PER_BYTE <= keys->max_bytes);
	keys->form = KEYS_BITMAP;
	keys->words = MemoryContextAllocZero(keys->context, (range / 64 + 1) * sizeof(uint64));
	for (uint64 i = 0; i < keys->nkeys; i++)
	{
		uint64		offset = (uint64) keys->keys[i] - (uint64) keys->min;

		Assert(offset <= range);
		keys->words[offset / 64] |= UINT64CONST(1) << (offset % 64);
	}
}

/* A Bloom filter, of blocks of a word each. */
static void
make_bloom(ZsJoinKeys *keys)
{
	keys->form = KEYS_BLOOM;
	keys->log2_words = Max(pg_ceil_log2_32((uint32) (keys->nkeys / 4 + 1)), 1);
	Assert(keys->log2_words <= ZS_BLOOM_MAX_LOG2);
	keys->words = MemoryContextAllocZero(keys->context, sizeof(uint64) << keys->log2_words);
	for (uint64 i = 0; i < keys->nkeys; i++)
	{
		uint64		hash = zskernel_bloom_hash(keys->keys[i]);

		keys->words[zskernel_bloom_word(hash, keys->log2_words)] |= zskernel_bloom_mask(hash);
	}
}

/* Brings the keys, which are all, into the form that can be asked. */
static void
complete(ZsJoinKeys *keys)
{
	uint64		range;

	Assert(keys->form == KEYS_GATHERED);
	if (keys->nkeys == 0)
	{
		keys->form = KEYS_NONE;
		return;
	}
	if (keys->too_many)
	{
		keys->form = KEYS_RANGE;
		return;
	}
	if (keys->nkeys <= ZS_JOIN_KEYS_SORTED)
	{
		qsort(keys->keys, keys->nkeys, sizeof(int64), compare_keys);
		keys->nkeys = qunique(keys->keys, keys->nkeys, sizeof(int64), compare_keys);
	}
	if (keys->nkeys <= LIST_KEYS)
	{
		keys->form = KEYS_LIST;
		return;
	}
	range = (uint64) keys->max - (uint64) keys->min;
	if (range / BITS_PER_BYTE <= keys->max_bytes / 2 &&
		range < Max(keys->nkeys * 64, Min(Max(keys->nkeys * 1024, TINY_BITMAP), SMALL_BITMAP)))
		make_bitmap(keys, range);
	else
		make_bloom(keys);
	if (keys->form == KEYS_BLOOM && keys->nkeys <= ZS_JOIN_KEYS_SORTED)
		return;
	pfree(keys->keys);
	keys->keys = NULL;
}

/* Does the list have a key in [min, max]? */
static bool
list_has_key(const ZsJoinKeys *keys, int64 min, int64 max)
{
	uint64		low = 0;
	uint64		high = keys->nkeys;

	while (low < high)
	{
		uint64		middle = (low + high) / 2;

		if (keys->keys[middle] < min)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->nkeys && keys->keys[low] <= max;
}

/* Does the bitmap have a key in [min, max], of which some lies within its range? */
static bool
bitmap_has_key(const ZsJoinKeys *keys, int64 min, int64 max)
{
	uint64		from = (uint64) Max(min, keys->min) - (uint64) keys->min;
	uint64		to = (uint64) Min(max, keys->max) - (uint64) keys->min;
	uint64		first = from / 64;
	uint64		last = to / 64;

	Assert(from <= to);
	if (last - first >= RANGE_WORDS)
		return true;
	for (uint64 w = first; w <= last; w++)
	{
		uint64		word = keys->words[w];

		if (w == first)
			word &= PG_UINT64_MAX << (from % 64);
		if (w == last)
			word &= PG_UINT64_MAX >> (63 - to % 64);
		if (word != 0)
			return true;
	}
	return false;
}

/* Can no integer in [min, max] be a key? */
bool
zsjoin_keys_excludes(const ZsJoinKeys *keys, int64 min, int64 max)
{
	Assert(keys->form != KEYS_GATHERED && min <= max);
	if (keys->form == KEYS_NONE || max < keys->min || min > keys->max)
		return true;
	if (keys->form == KEYS_BITMAP)
		return !bitmap_has_key(keys, min, max);
	return keys->keys != NULL && !list_has_key(keys, min, max);
}

/* Which of n values may be keys?  All that are, and maybe others. */
void
zsjoin_keys_test(const ZsJoinKeys *keys, const int64 *values, uint32 n, uint64 *bits)
{
	uint64		below[ZS_KERNEL_WORDS];

	switch (keys->form)
	{
		case KEYS_GATHERED:
			elog(ERROR, "set of join keys is not complete");
			break;
		case KEYS_NONE:
			zskernel_bits_clear(bits);
			break;
		case KEYS_LIST:
			zskernel_in_int64(values, n, keys->keys, (uint32) keys->nkeys, bits);
			break;
		case KEYS_BITMAP:
			zskernel_in_bitmap(values, n, keys->min, keys->words,
							   (uint64) keys->max - (uint64) keys->min + 1, bits);
			break;
		case KEYS_BLOOM:
			zskernel_in_bloom(values, n, keys->words, keys->log2_words, bits);
			break;
		case KEYS_RANGE:
			zskernel_compare_int64(values, n, ZS_CMP_GE, keys->min, bits);
			zskernel_compare_int64(values, n, ZS_CMP_LE, keys->max, below);
			zskernel_bits_and(bits, below);
			break;
	}
}

/* ---- keys of several processes ------------------------------------------------------------- */

/* Frees what processes have left, for another hash table. */
void
zsjoin_keys_shared_reset(ZsRowFilterShared *shared, dsa_area *dsa)
{
	dsa_pointer part = pg_atomic_exchange_u64(&shared->parts, InvalidDsaPointer);

	while (DsaPointerIsValid(part))
	{
		dsa_pointer next = ((SharedPart *) dsa_get_address(dsa, part))->next;

		dsa_free(dsa, part);
		part = next;
	}
}

/* Forgets all keys; from here on the set is this process's view of shared (NULL: a set again). */
void
zsjoin_keys_share(ZsJoinKeys *keys, ZsRowFilterShared *shared)
{
	zsjoin_keys_reset(keys);
	keys->shared = shared;
}

/* Can the set be asked? */
bool
zsjoin_keys_is_complete(const ZsJoinKeys *keys)
{
	return keys->form != KEYS_GATHERED;
}

/* Leaves the keys for all that share the set, and forgets them. */
static void
leave(ZsJoinKeys *keys, dsa_area *dsa)
{
	ZsRowFilterShared *shared = keys->shared;
	uint64		nkeys = keys->too_many ? 0 : keys->nkeys;
	dsa_pointer pointer;
	uint64		first;
	SharedPart *part;

	Assert(shared != NULL && keys->form == KEYS_GATHERED);
	if (keys->nkeys == 0)
		return;
	pointer = dsa == NULL ? InvalidDsaPointer :
		dsa_allocate_extended(dsa, offsetof(SharedPart, keys) + nkeys * sizeof(int64),
							  DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	if (!DsaPointerIsValid(pointer))
	{
		pg_atomic_write_u32(&shared->unusable, 1);
		zsjoin_keys_reset(keys);
		return;
	}
	part = dsa_get_address(dsa, pointer);
	part->nkeys = keys->nkeys;
	part->min = keys->min;
	part->max = keys->max;
	part->too_many = keys->too_many;
	if (nkeys > 0)
		memcpy(part->keys, keys->keys, nkeys * sizeof(int64));
	first = pg_atomic_read_u64(&shared->parts);
	do
		part->next = first;
	while (!pg_atomic_compare_exchange_u64(&shared->parts, &first, pointer));
	zsjoin_keys_reset(keys);
}

/*
 * There are no more keys of this process.  From here on the set can be asked; one that is shared is
 * left to all who share it, in dsa, and forgotten here.  Errors: those of making shared memory.
 */
void
zsjoin_keys_end(ZsJoinKeys *keys, dsa_area *dsa)
{
	if (keys->shared != NULL)
		leave(keys, dsa);
	else
		complete(keys);
}

/* Adds the keys of a process. */
static void
add_part(ZsJoinKeys *keys, const SharedPart *part)
{
	if (!part->too_many)
	{
		for (uint64 i = 0; i < part->nkeys; i++)
			zsjoin_keys_add(keys, part->keys[i]);
		return;
	}
	/* their range is all that is known of them, so of all others, too */
	MemoryContextReset(keys->context);
	keys->keys = NULL;
	keys->too_many = true;
	zsjoin_keys_add(keys, part->min);
	zsjoin_keys_add(keys, part->max);
}

/*
 * Takes what all processes have left, when all have; then the set can be asked.  False if it
 * cannot, since it is not shared, or one process leaves nothing.
 */
bool
zsjoin_keys_collect(ZsJoinKeys *keys, dsa_area *dsa)
{
	dsa_pointer part;

	if (keys->shared == NULL || dsa == NULL || pg_atomic_read_u32(&keys->shared->unusable) != 0)
		return false;
	if (keys->form != KEYS_GATHERED)
		return true;
	Assert(keys->nkeys == 0);
	part = pg_atomic_read_u64(&keys->shared->parts);
	while (DsaPointerIsValid(part))
	{
		const SharedPart *p = dsa_get_address(dsa, part);

		add_part(keys, p);
		part = p->next;
	}
	complete(keys);
	return true;
}
