/*-------------------------------------------------------------------------
 *
 * vector_group.c
 *	  Numbers for groups of rows.
 *
 * Each key of a row becomes a word: an integer is its own, and strings get numbers in the order in
 * which they appear, equal ones the same.  For a column with a dictionary this is looked up once
 * for each entry in use, not for each row.  A numeric without its zeros at the end is an integer
 * and a scale, which fit a word, too; longer ones have numbers as strings do.  Of floats -0 becomes
 * 0, and all NaN are one.  A group is a combination of words and NULLs; an open hash table finds
 * its number.  What is equal is really compared, never a hash alone.
 *
 * While the words of all keys lie in small ranges, an array finds the number instead
 * (vector_group_direct.c), and the hash table is made when a group is looked for in another way.
 * Where the table is larger than caches, a batch's places in it are fetched before the first of
 * them is looked at.
 *
 * A group's keys are shown as the first of its rows has them.  Where equal values may look
 * different (1.0 and 1.00, 0 and -0, blanks at the end of char) a group keeps the form of its first
 * row: a display scale, the float itself, the number of blanks.
 *
 * When memory is short the groups are frozen: rows are still found, but nothing is added, strings
 * neither.
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
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
#include "varatt.h"

#include "vector_agg.h"
#include "vector_group_internal.h"
#include "zs_codec.h"

#define ABSENT_STRING	(PG_UINT32_MAX - 1) /* looked up in vain among frozen ones */
#define FIRST_SIZE		1024	/* of hash tables: powers of 2 */
StaticAssertDecl((FIRST_SIZE & (FIRST_SIZE - 1)) == 0, "hashes are cut by a mask");
StaticAssertDecl(ZS_MAX_GROUP_KEYS <= 64, "a word has a bit for each key");

/*
 * A numeric's word: an integer and, in its last bits, a scale; or a number that strings have, and
 * this scale.
 */
#define SCALE_BITS		5
#define NO_SCALE		31
#define MAX_WORD_SCALE	16
#define MAX_WORD_INT	(INT64CONST(1) << 58)
StaticAssertDecl(NO_SCALE == (1 << SCALE_BITS) - 1 && MAX_WORD_SCALE < NO_SCALE,
				 "NO_SCALE is the mask of scales, and none of them");

#define EMPTY_SLOT			PG_UINT64_MAX
#define SLOT_GROUP(slot)	((uint32) (slot))
#define SLOT_HASH(slot)		((uint32) ((slot) >> 32))

/* A hash table of so many slots is not near any more. */
#define FAR_SLOTS		16384

static bool
classify_expr(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	key->expr = zsvector_expr_compile(desc, varno, expr);
	if (key->expr == NULL)
		return false;
	key->domain = zsvector_expr_domain(key->expr);
	key->width = zsvector_expr_width(key->expr);
	if (!zsvector_is_equality(get_opcode(eqop), key->domain))
		return false;
	switch (key->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return true;
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
			key->width = -1;
			key->has_form = key->domain == ZS_DOMAIN_BPCHAR;
			return OidIsValid(exprCollation(expr)) &&
				get_collation_isdeterministic(exprCollation(expr));
		case ZS_DOMAIN_DECIMAL:
			key->width = -1;
			/* FALLTHROUGH */
		default:
			key->has_form = true;
			return true;
	}
}

/* See vector_group.h. */
bool
zsvector_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key)
{
	Form_pg_attribute att;
	Oid			collation = exprCollation(expr);

	memset(key, 0, sizeof(*key));
	key->attno = zsvector_column_of(desc, varno, expr, &key->domain);
	if (key->attno == InvalidAttrNumber)
		return classify_expr(desc, varno, expr, eqop, key);
	att = TupleDescAttr(desc, key->attno - 1);
	key->width = att->attlen;
	if (key->domain == ZS_DOMAIN_NONE)
	{
		Oid			function = get_opcode(eqop);

		return (function == F_UUID_EQ && att->attlen == UUID_LEN) ||
			(function == F_BYTEAEQ && att->attlen == -1);
	}
	if (!zsvector_is_equality(get_opcode(eqop), key->domain))
		return false;
	switch (key->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return att->attbyval;
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			key->has_form = true;
			return att->attbyval;
		case ZS_DOMAIN_DECIMAL:
			key->has_form = true;
			return true;
		case ZS_DOMAIN_TEXT:
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		case ZS_DOMAIN_BPCHAR:
			/* without a length, blanks at the end may differ among equal strings */
			key->has_form = att->atttypid != BPCHAROID || att->atttypmod < 0;
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		default:
			return false;
	}
}

/* See vector_group.h. */
ZsGroups *
zsvector_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys)
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
	groups->direct_most = zsvector_group_direct_most();
	groups->lows = palloc0(nkeys * sizeof(int64));
	groups->counts = palloc0(nkeys * sizeof(uint64));
	groups->batch_words = palloc0(ZS_KERNEL_ROWS * groups->nwords * sizeof(uint64));
	groups->batch_hashes = palloc(ZS_KERNEL_ROWS * sizeof(uint64));
	groups->batch_codes = palloc(ZS_KERNEL_ROWS * sizeof(uint32));
	groups->batch_ints = palloc(ZS_KERNEL_ROWS * sizeof(int64));
	MemoryContextSwitchTo(old);
	return groups;
}

/* See vector_group.h. */
void
zsvector_groups_freeze(ZsGroups *groups)
{
	groups->frozen = true;
}

/* See vector_group.h. */
bool
zsvector_groups_frozen(const ZsGroups *groups)
{
	return groups->frozen;
}

/* See vector_group.h. */
bool
zsvector_groups_direct(const ZsGroups *groups)
{
	return groups->is_direct && groups->direct != NULL;
}

/* How many groups there are; their numbers are below that. */
uint32
zsvector_groups_count(const ZsGroups *groups)
{
	return groups->ngroups;
}

static void *
grow(MemoryContext context, void *array, uint32 n, size_t size)
{
	return array == NULL ? MemoryContextAllocHuge(context, n * size) :
		repalloc_huge(array, n * size);
}

/* A hash table of twice the size, from the hashes of its n members. */
static uint32 *
rehash(MemoryContext context, uint32 *slots, uint32 nslots, const uint64 *hashes, uint32 n)
{
	Assert((nslots & (nslots - 1)) == 0 && n < nslots);
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

static bool
is_string_key(const ZsGroupKey *key)
{
	return key->domain == ZS_DOMAIN_TEXT || key->domain == ZS_DOMAIN_BPCHAR ||
		key->domain == ZS_DOMAIN_NONE;
}

/* The bytes of a datum, which is not compressed. */
static const char *
bytes_of(const ZsGroupKey *key, const char *datum, size_t *len)
{
	if (key->width > 0)
	{
		*len = key->width;
		return datum;
	}
	*len = VARSIZE_ANY_EXHDR(datum);
	return VARDATA_ANY(datum);
}

static uint64
hash_string(const ZsGroupKey *key, const char *bytes, size_t len)
{
	return hash_bytes_extended((const unsigned char *) bytes,
							   (int) zsvector_compared_length(key->domain, bytes, len), 0);
}

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

/* The number of the string in the key's table, or ABSENT_STRING. */
static uint32
string_number(ZsGroups *groups, int key, const char *bytes, size_t len)
{
	ZsStringTable *table = &groups->tables[key];
	size_t		keylen = zsvector_compared_length(groups->keys[key].domain, bytes, len);
	uint64		hash = hash_string(&groups->keys[key], bytes, len);
	uint32		at;

	if (table->nslots < 2 * (table->nstrings + 1))
	{
		table->nslots = Max(FIRST_SIZE, table->nslots * 2);
		table->slots = rehash(groups->context, table->slots, table->nslots, table->hashes,
							  table->nstrings);
	}
	Assert((table->nslots & (table->nslots - 1)) == 0 && table->nstrings < table->nslots);
	for (at = (uint32) hash & (table->nslots - 1); table->slots[at] != NO_STRING;
		 at = (at + 1) & (table->nslots - 1))
	{
		uint32		i = table->slots[at];

		if (table->hashes[i] == hash)
		{
			const char *other = VARDATA(table->strings[i]);
			size_t		otherlen = zsvector_compared_length(groups->keys[key].domain, other,
															VARSIZE(table->strings[i]) - VARHDRSZ);

			if (otherlen == keylen && memcmp(other, bytes, keylen) == 0)
				return i;
		}
	}
	if (groups->frozen)
		return ABSENT_STRING;
	if (table->nstrings == table->maxstrings)
	{
		table->maxstrings = Max(FIRST_SIZE / 2, zsvector_groups_grown(table->maxstrings));
		table->strings = grow(groups->context, table->strings, table->maxstrings,
							  sizeof(struct varlena *));
		table->hashes = grow(groups->context, table->hashes, table->maxstrings, sizeof(uint64));
	}
	Assert(table->nstrings < table->maxstrings && table->nstrings < ABSENT_STRING);
	table->strings[table->nstrings] = copy_string(groups, table, bytes, len);
	table->hashes[table->nstrings] = hash;
	table->slots[at] = table->nstrings;
	return table->nstrings++;
}

/* See vector_group_internal.h. */
uint32
zsvector_group_datum_number(ZsGroups *groups, int key, const char *datum)
{
	size_t		len;
	const char *bytes = bytes_of(&groups->keys[key], datum, &len);

	Assert(key >= 0 && key < groups->nkeys && is_string_key(&groups->keys[key]));
	return string_number(groups, key, bytes, len);
}

/* ---- numerics and floats ------------------------------------------------------------- */

/*
 * A numeric without zeros at the end: the word, if it is short.  *trimmed is the numeric, to be
 * freed by the caller, or NULL if the word is there.
 */
static uint64
trim_numeric(Numeric num, Numeric *trimmed)
{
	int64		integer;
	int			scale;

	*trimmed = DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(num)));
	if (zscodec_numeric_to_int((const uint8 *) VARDATA_ANY(*trimmed), VARSIZE_ANY_EXHDR(*trimmed),
							   &scale, &integer) &&
		scale <= MAX_WORD_SCALE && integer < MAX_WORD_INT && integer > -MAX_WORD_INT)
	{
		pfree(*trimmed);
		*trimmed = NULL;
		return (uint64) integer << SCALE_BITS | (uint64) scale;
	}
	return NO_SCALE;
}

static uint64
numeric_word(ZsGroups *groups, int key, Numeric num)
{
	Numeric		trimmed;
	uint64		word = trim_numeric(num, &trimmed);

	if (trimmed != NULL)
	{
		word |= (uint64) string_number(groups, key, VARDATA_ANY(trimmed),
									   VARSIZE_ANY_EXHDR(trimmed)) << SCALE_BITS;
		pfree(trimmed);
	}
	return word;
}

/* The display scale; 0 for those that have none. */
static uint64
numeric_form(Numeric num)
{
	if (numeric_is_nan(num) || numeric_is_inf(num))
		return 0;
	return (uint64) DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(num)));
}

/* The word of v / 10^scale. */
static uint64
decimal_word(ZsGroups *groups, int key, int64 v, int scale)
{
	Numeric		num;
	uint64		word;

	if (v == 0)
		return 0;
	while (scale > 0 && v % 10 == 0)
	{
		v /= 10;
		scale--;
	}
	if (likely(scale <= MAX_WORD_SCALE && v < MAX_WORD_INT && v > -MAX_WORD_INT))
		return (uint64) v << SCALE_BITS | (uint64) scale;
	num = zsvector_numeric_make(v, scale, scale);
	word = numeric_word(groups, key, num);
	pfree(num);
	return word;
}

/* The numeric that has the word and the display scale. */
static Numeric
numeric_of_word(const ZsGroups *groups, int key, uint64 word, uint64 form)
{
	int			scale = (int) (word & NO_SCALE);
	Numeric		num;

	if (scale != NO_SCALE)
		return zsvector_numeric_make((int64) word >> SCALE_BITS, scale, (int) form);
	Assert(word >> SCALE_BITS < groups->tables[key].nstrings);
	num = (Numeric) groups->tables[key].strings[word >> SCALE_BITS];
	if (numeric_form(num) == form)
		return num;
	return DatumGetNumeric(DirectFunctionCall2(numeric_round, NumericGetDatum(num),
											   Int32GetDatum((int32) form)));
}

/* One pattern for all floats that are equal. */
static inline uint64
float_word(ZsDomain domain, int64 pattern)
{
	if (domain == ZS_DOMAIN_FLOAT4)
	{
		float		value = zskernel_float4(pattern);

		return value == 0 ? 0 : value != value ? UINT64CONST(0x7FC00000) :
			(uint64) (uint32) pattern;
	}
	else
	{
		double		value = zskernel_float8(pattern);

		return value == 0 ? 0 : value != value ? UINT64CONST(0x7FF8000000000000) : (uint64) pattern;
	}
}

/* The map of the vector's dictionary, with nothing in it if it is another one than before. */
static ZsCodeMap *
code_map(ZsGroups *groups, int key, const ZsColumnVector *vector)
{
	ZsCodeMap  *map = &groups->maps[key];

	Assert(vector->codes != NULL && vector->dict != NULL);
	if (map->numbers != NULL && map->serial == vector->serial)
		return map;
	if (map->size < vector->ndict)
	{
		map->numbers = grow(groups->context, map->numbers, vector->ndict, sizeof(uint32));
		map->size = vector->ndict;
	}
	Assert(map->size >= vector->ndict);
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

static uint64
add_hash(uint64 hash, uint64 word)
{
	return mix(hash + word + UINT64CONST(0x9E3779B97F4A7C15));
}

/* A NULL's, too. */
#define NULL_WORD		UINT64CONST(0x5851F42D4C957F2D)

static inline uint64
hash_words(const ZsGroups *groups, const uint64 *words)
{
	uint64		hash = words[0];

	for (int k = 1; k <= groups->nkeys; k++)
		hash = add_hash(hash, words[k]);
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
	while (nslots < 2 * groups->ngroups)
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
		uint64		hash = hash_words(groups, zsvector_group_words(groups, groups->nhashed));
		uint32		at = (uint32) hash & (nslots - 1);

		while (groups->slots[at] != EMPTY_SLOT)
			at = (at + 1) & (nslots - 1);
		groups->slots[at] = make_slot(hash, groups->nhashed);
	}
}

/* A new group, which the hash table does not have yet. */
uint32
zsvector_group_add(ZsGroups *groups, const uint64 *words)
{
	Assert(!groups->frozen && groups->ngroups <= groups->maxgroups);
	Assert(groups->ngroups < ZS_NO_GROUP);
	if (groups->ngroups == groups->maxgroups)
	{
		groups->maxgroups = Max(FIRST_SIZE / 2, zsvector_groups_grown(groups->maxgroups));
		groups->words = grow(groups->context, groups->words, groups->maxgroups,
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
			same_words(groups, zsvector_group_words(groups, SLOT_GROUP(slot)), words))
			return SLOT_GROUP(slot);
	}

	if (groups->frozen)
		return ZS_NO_GROUP;
	Assert(groups->nhashed == groups->ngroups);
	groups->slots[at] = make_slot(hash, groups->ngroups);
	groups->nhashed++;
	zsvector_group_note(groups, zsvector_group_add(groups, words));
	if (groups->nslots < 2 * groups->ngroups)
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
	bool		is_string = is_string_key(key);
	const ZsColumnVector *vector;
	ZsQualCounts counts = {0};

	if (key->expr != NULL)
		return zsvector_expr_run(key->expr, input, sel, &counts);
	vector = zsvector_input_column(input, key->attno, is_string ? ZS_WANT_STRING :
								   zsvector_want_of(key->domain), sel);
	if (vector != NULL && is_string && vector->codes == NULL && vector->datums == NULL)
		vector = zsvector_input_column(input, key->attno, ZS_WANT_DATUM, sel);
	if (vector == NULL || (vector->has_odd && zskernel_bits_meet(vector->odd, sel)))
		return NULL;
	return vector;
}

/* The word of a row of a vector, and its form if the key has forms. */
static inline uint64
make_word(ZsGroups *groups, int key, const ZsColumnVector *vector, ZsCodeMap *map, uint32 row,
		  uint64 *form)
{
	const ZsGroupKey *k = &groups->keys[key];
	const char *datum;
	size_t		len;
	const char *bytes;

	switch (k->domain)
	{
		case ZS_DOMAIN_INT:
		case ZS_DOMAIN_UINT:
			return (uint64) vector->vals[row];
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			*form = (uint64) vector->vals[row];
			return float_word(k->domain, vector->vals[row]);
		case ZS_DOMAIN_DECIMAL:
			*form = vector->dscales == NULL ? (uint64) vector->scale : vector->dscales[row];
			return decimal_word(groups, key, vector->vals[row], vector->scale);
		default:
			break;
	}
	datum = (const char *) (vector->codes != NULL ? vector->dict[vector->codes[row]] :
							vector->datums[row]);
	if (k->has_form)
	{
		bytes = bytes_of(k, datum, &len);
		*form = len - zsvector_compared_length(k->domain, bytes, len);
	}
	if (map != NULL)
	{
		uint32		code = vector->codes[row];

		if (map->numbers[code] == NO_STRING)
			map->numbers[code] = zsvector_group_datum_number(groups, key, datum);
		return map->numbers[code];
	}
	return zsvector_group_datum_number(groups, key, datum);
}

/* Puts the words of one key, of n rows, into words, where its NULLs are marked as well. */
static void
set_words(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list, uint32 n,
		  uint64 *words)
{
	const ZsGroupKey *k = &groups->keys[key];
	const ZsColumnVector *vector = in->vector;
	size_t		stride = (size_t) groups->nwords;
	uint64		none;

	Assert(key >= 0 && key < groups->nkeys && n <= ZS_KERNEL_ROWS);
	words += 1 + key;
	if ((k->domain == ZS_DOMAIN_INT || k->domain == ZS_DOMAIN_UINT) && !vector->has_nulls)
	{
		for (uint32 i = 0; i < n; i++)
			words[i * stride] = (uint64) vector->vals[list[i]];
		return;
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = list[i];
		uint64	   *word = &words[i * stride];
		uint64	   *form = groups->has_forms ? word + groups->nkeys : &none;

		*form = 0;
		if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
		{
			*word = 0;
			word[-1 - key] |= UINT64CONST(1) << key;
		}
		else
			*word = make_word(groups, key, vector, in->map, row, form);
	}
}

/* See vector_group_internal.h. */
void
zsvector_group_set_words(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list, uint32 first,
						 uint32 n, uint64 *words)
{
	size_t		stride = (size_t) groups->nwords;

	Assert(n > 0 && first + n <= ZS_KERNEL_ROWS);
	for (uint32 i = 0; i < n; i++)
		words[i * stride] = 0;
	for (int k = 0; k < groups->nkeys; k++)
	{
		if (in[k].vector != NULL)
			set_words(groups, k, &in[k], list + first, n, words);
		else
		{
			for (uint32 i = 0; i < n; i++)
				words[i * stride + 1 + k] = in[k].given[first + i];
		}
	}
}

/* ---- batches ----------------------------------------------------------------------------- */

/* See vector_group.h. */
bool
zsvector_groups_ready(const ZsGroups *groups, ZsInput *input, const uint64 *sel)
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
		Assert(in[k].vector != NULL);	/* zsvector_groups_ready() */
		if (is_string_key(key) && in[k].vector->codes != NULL)
			in[k].map = code_map(groups, k, in[k].vector);
		in[k].is_plain = key->domain == ZS_DOMAIN_INT || key->domain == ZS_DOMAIN_UINT ||
			in[k].map != NULL;
		all_plain = all_plain && in[k].is_plain;
	}
	return all_plain;
}

/* See vector_group.h. */
void
zsvector_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel, const uint16 *list,
					   uint32 n, const uint32 *given, uint32 *numbers)
{
	size_t		stride = (size_t) groups->nwords;
	uint64	   *words = groups->batch_words;
	uint64	   *hashes = groups->batch_hashes;
	ZsKeyInput	in[ZS_MAX_GROUP_KEYS];
	bool		all_plain;

	if (n == 0)
		return;
	Assert(n <= ZS_KERNEL_ROWS && list[n - 1] < ZS_KERNEL_ROWS);
	Assert((uint32) list[n - 1] + 1 >= list[0] + n);	/* ascending */
	all_plain = read_keys(groups, input, sel, given, in);
	groups->nrows += n;
	if (!all_plain)
		zsvector_group_set_words(groups, in, list, 0, n, words);
	if (groups->is_direct && groups->nrows >= groups->direct_from &&
		zsvector_group_codes(groups, in, list, n))
	{
		zsvector_group_look_up(groups, in, list, n, !all_plain, numbers);
		return;
	}
	if (all_plain)
		zsvector_group_set_words(groups, in, list, 0, n, words);

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
				__builtin_prefetch(zsvector_group_words(groups, SLOT_GROUP(slot)));
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

/* ---- rows ------------------------------------------------------------------------------- */

/* See vector_group.h. */
uint32
zsvector_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull)
{
	uint64		row[1 + 2 * ZS_MAX_GROUP_KEYS];
	uint64	   *words = row + 1;
	uint64	   *forms = words + groups->nkeys;

	row[0] = 0;
	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];

		words[k] = forms[k] = 0;
		if (isnull[k])
			row[0] |= UINT64CONST(1) << k;
		else if (is_string_key(key))
		{
			const char *datum = key->width > 0 ? DatumGetPointer(values[k]) :
				(const char *) PG_DETOAST_DATUM_PACKED(values[k]);
			size_t		len;
			const char *bytes = bytes_of(key, datum, &len);

			words[k] = string_number(groups, k, bytes, len);
			forms[k] = len - zsvector_compared_length(key->domain, bytes, len);
		}
		else if (key->domain == ZS_DOMAIN_DECIMAL)
		{
			Numeric		num = DatumGetNumeric(values[k]);

			words[k] = numeric_word(groups, k, num);
			forms[k] = numeric_form(num);
		}
		else
		{
			words[k] = (uint64) zsvector_datum_to_int64(key->width, values[k]);
			forms[k] = words[k];
			if (key->has_form)
				words[k] = float_word(key->domain, (int64) words[k]);
		}
	}
	return find_group(groups, row, hash_words(groups, row));
}

/* See vector_group.h. */
uint64
zsvector_groups_hash_row(const ZsGroups *groups, const Datum *values, const bool *isnull)
{
	uint64		hash = 0;

	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];
		uint64		word;

		if (isnull[k])
			word = NULL_WORD;
		else if (is_string_key(key))
		{
			const char *datum = key->width > 0 ? DatumGetPointer(values[k]) :
				(const char *) PG_DETOAST_DATUM_PACKED(values[k]);
			size_t		len;
			const char *bytes = bytes_of(key, datum, &len);

			word = hash_string(key, bytes, len);
		}
		else if (key->domain == ZS_DOMAIN_DECIMAL)
		{
			Numeric		trimmed;

			word = trim_numeric(DatumGetNumeric(values[k]), &trimmed);
			if (trimmed != NULL)
				word = hash_string(key, VARDATA_ANY(trimmed), VARSIZE_ANY_EXHDR(trimmed));
		}
		else
		{
			int64		v = zsvector_datum_to_int64(key->width, values[k]);

			word = key->has_form ? float_word(key->domain, v) : (uint64) v;
		}
		hash = add_hash(hash, word);
	}
	return hash;
}

/* See vector_group.h. */
bool
zsvector_groups_int(const ZsGroups *groups, uint32 group, int key, int64 *value)
{
	const uint64 *words = zsvector_group_words(groups, group);

	Assert(key >= 0 && key < groups->nkeys);
	Assert(group < groups->ngroups && groups->keys[key].domain == ZS_DOMAIN_INT);
	*value = (int64) words[1 + key];
	return (words[0] >> key & 1) == 0;
}

/* See vector_group.h. */
Datum
zsvector_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull)
{
	const ZsGroupKey *k = &groups->keys[key];
	const uint64 *words = zsvector_group_words(groups, group);
	uint64		word = words[1 + key];
	uint64		form = groups->has_forms ? words[1 + groups->nkeys + key] : 0;
	struct varlena *string;
	struct varlena *copy;
	size_t		len;

	Assert(group < groups->ngroups && key >= 0 && key < groups->nkeys);
	*isnull = (words[0] >> key & 1) != 0;
	if (*isnull)
		return (Datum) 0;
	if (k->domain == ZS_DOMAIN_DECIMAL)
		return NumericGetDatum(numeric_of_word(groups, key, word, form));
	if (!is_string_key(k))
		return zsvector_int64_to_datum(k->width, (int64) (k->has_form ? form : word));
	Assert(word < groups->tables[key].nstrings);
	string = groups->tables[key].strings[word];
	if (k->width > 0)
		return PointerGetDatum(VARDATA(string));
	if (!k->has_form)
		return PointerGetDatum(string);

	/* as many blanks as the first row has */
	len = zsvector_compared_length(k->domain, VARDATA(string), VARSIZE(string) - VARHDRSZ);
	copy = palloc(VARHDRSZ + len + form);
	SET_VARSIZE(copy, VARHDRSZ + len + form);
	memcpy(VARDATA(copy), VARDATA(string), len);
	memset(VARDATA(copy) + len, ' ', form);
	return PointerGetDatum(copy);
}
