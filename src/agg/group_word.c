/*-------------------------------------------------------------------------
 *
 * group_word.c
 *	  Words of keys: what a group is known by.
 *
 * An integer is its own word, and a string's is its number (group_string.c), which for a
 * column with a dictionary is looked up once for each entry in use, not for each row.  A numeric
 * without its zeros at the end is an integer and a scale, which fit a word, too; longer ones have
 * numbers as strings do.  Of floats -0 becomes 0, and all NaN are one.
 *
 * Where equal values may look different (1.0 and 1.00, 0 and -0, blanks at the end of char) the
 * form of the group's first row stands behind the words: a display scale, the float itself, the
 * number of blanks.  From word and form the key's value is made again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/group_word.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "varatt.h"

#include "group_internal.h"
#include "zs_agg.h"
#include "zs_codec.h"

/*
 * A numeric's word: an integer and, in its last bits, a scale; or a number that strings have, and
 * this scale.
 */
#define SCALE_BITS		5
#define NO_SCALE		31
#define MAX_WORD_SCALE	16
#define MAX_WORD_INT	(INT64CONST(1) << 58)

/*
 * A short numeric below this is an integer to zscodec_numeric_to_int() with any scale; of larger
 * ones it says of some that they are none, so they have the word that it gives them.
 */
#define MAX_SHORT_INT	INT64CONST(1000000000000000)
StaticAssertDecl(MAX_SHORT_INT < MAX_WORD_INT, "short integers are words");
StaticAssertDecl(NO_SCALE == (1 << SCALE_BITS) - 1 && MAX_WORD_SCALE < NO_SCALE,
				 "NO_SCALE is the mask of scales, and none of them");

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

/* The word of a numeric that is no integer of 64 bits: the number of its digits, and its scale. */
static uint64
numeric_word(ZsGroups *groups, int key, Numeric num)
{
	Numeric		trimmed;
	uint64		word = trim_numeric(num, &trimmed);

	if (trimmed != NULL)
	{
		word |= (uint64) zsagg_string_number(groups, key, VARDATA_ANY(trimmed),
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
	if (likely(scale <= MAX_WORD_SCALE && v < MAX_SHORT_INT && v > -MAX_SHORT_INT))
		return (uint64) v << SCALE_BITS | (uint64) scale;
	num = zsexpr_numeric_make(v, scale, scale);
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
		return zsexpr_numeric_make((int64) word >> SCALE_BITS, scale, (int) form);
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

/* The word of a row of a vector that has no strings, and its form if the key has forms. */
static inline uint64
make_word(ZsGroups *groups, int key, const ZsColumnVector *vector, uint32 row, uint64 *form)
{
	const ZsGroupKey *k = &groups->keys[key];

	switch (k->domain)
	{
		case ZS_DOMAIN_FLOAT4:
		case ZS_DOMAIN_FLOAT8:
			*form = (uint64) vector->vals[row];
			return float_word(k->domain, vector->vals[row]);
		case ZS_DOMAIN_DECIMAL:
			*form = vector->dscales == NULL ? (uint64) vector->scale : vector->dscales[row];
			return decimal_word(groups, key, vector->vals[row], vector->scale);
		default:
			return (uint64) vector->vals[row];
	}
}

/* As set_words(), of a key of strings: of a dictionary's entries, or each its own. */
static void
set_string_words(ZsGroups *groups, int key, const ZsKeyInput *in, const uint16 *list, uint32 n,
				 uint64 *words)
{
	const ZsGroupKey *k = &groups->keys[key];
	const ZsColumnVector *vector = in->vector;
	size_t		stride = (size_t) groups->nwords;
	uint16		rows[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	uint32		nrows = 0;

	for (uint32 i = 0; i < n; i++)
	{
		rows[nrows] = list[i];
		nrows += !(vector->has_nulls && zskernel_bits_get(vector->nulls, list[i]));
	}
	if (in->known != NULL)
		zsagg_string_numbers_known(groups, key, in, rows, nrows, numbers);
	else if (in->map == NULL)
		zsagg_string_numbers(groups, key, vector->datums, rows, nrows, numbers);
	else
		zsagg_string_number_codes(groups, key, in, rows, nrows);
	for (uint32 i = 0, next = 0; i < n; i++)
	{
		uint32		row = list[i];
		uint64	   *word = &words[i * stride];
		uint32		code;
		const char *bytes;
		size_t		len;

		if (groups->has_forms)
			word[groups->nkeys] = 0;
		if (next == nrows || rows[next] != row)
		{
			*word = 0;
			word[-1 - key] |= UINT64CONST(1) << key;
			continue;
		}
		code = in->map != NULL ? vector->codes[row] : 0;
		if (k->has_form)
		{
			bytes = zsagg_string_bytes(k, (const char *) (in->map != NULL ? vector->dict[code] :
														  vector->datums[row]), &len);
			word[groups->nkeys] = len - zsexpr_compared_length(k->domain, bytes, len);
		}
		*word = in->map != NULL ? in->map->numbers[code] : numbers[next];
		next++;
	}
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
	if (zsagg_is_string_key(k))
	{
		set_string_words(groups, key, in, list, n, words);
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
			*word = make_word(groups, key, vector, row, form);
	}
}

/* The words of n rows, from row first of list on. */
void
zsagg_group_set_words(ZsGroups *groups, const ZsKeyInput *in, const uint16 *list, uint32 first,
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

/* NULLs, words and forms of a single row. */
void
zsagg_group_row_words(ZsGroups *groups, const Datum *values, const bool *isnull, uint64 *row)
{
	uint64	   *words = row + 1;
	uint64	   *forms = words + groups->nkeys;

	row[0] = 0;
	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];

		words[k] = forms[k] = 0;
		if (isnull[k])
			row[0] |= UINT64CONST(1) << k;
		else if (zsagg_is_string_key(key))
		{
			const char *datum = key->width > 0 ? DatumGetPointer(values[k]) :
				(const char *) PG_DETOAST_DATUM_PACKED(values[k]);
			size_t		len;
			const char *bytes = zsagg_string_bytes(key, datum, &len);

			words[k] = zsagg_string_number(groups, k, bytes, len);
			forms[k] = len - zsexpr_compared_length(key->domain, bytes, len);
		}
		else if (key->domain == ZS_DOMAIN_DECIMAL)
		{
			Numeric		num = DatumGetNumeric(values[k]);

			words[k] = numeric_word(groups, k, num);
			forms[k] = numeric_form(num);
		}
		else
		{
			words[k] = (uint64) zsattr_value_to_int(values[k], key->width);
			forms[k] = words[k];
			if (key->has_form)
				words[k] = float_word(key->domain, (int64) words[k]);
		}
	}
}

/* A NULL's, too. */
#define NULL_WORD		UINT64CONST(0x5851F42D4C957F2D)

/* A hash of the keys, the same for equal ones in whatever groups. */
uint64
zsagg_groups_hash_row(const ZsGroups *groups, const Datum *values, const bool *isnull)
{
	uint64		hash = 0;

	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsGroupKey *key = &groups->keys[k];
		uint64		word;

		if (isnull[k])
			word = NULL_WORD;
		else if (zsagg_is_string_key(key))
		{
			const char *datum = key->width > 0 ? DatumGetPointer(values[k]) :
				(const char *) PG_DETOAST_DATUM_PACKED(values[k]);
			size_t		len;
			const char *bytes = zsagg_string_bytes(key, datum, &len);

			word = zsagg_string_hash(key, bytes, len);
		}
		else if (key->domain == ZS_DOMAIN_DECIMAL)
		{
			Numeric		trimmed;

			word = trim_numeric(DatumGetNumeric(values[k]), &trimmed);
			if (trimmed != NULL)
				word = zsagg_string_hash(key, VARDATA_ANY(trimmed), VARSIZE_ANY_EXHDR(trimmed));
		}
		else
		{
			int64		v = zsattr_value_to_int(values[k], key->width);

			word = key->has_form ? float_word(key->domain, v) : (uint64) v;
		}
		hash = zsagg_hash_add(hash, word);
	}
	return hash;
}

/* The same of a row of a vector that has no strings. */
static uint64
hashed_word(ZsGroups *groups, int k, const ZsColumnVector *vector, uint32 row)
{
	const ZsGroupKey *key = &groups->keys[k];
	uint64		form;
	uint64		word;

	if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
		return NULL_WORD;
	word = make_word(groups, k, vector, row, &form);
	if (key->domain == ZS_DOMAIN_DECIMAL && (word & NO_SCALE) == NO_SCALE)
	{
		Numeric		num = zsexpr_numeric_make(vector->vals[row], vector->scale, vector->scale);
		Numeric		trimmed;

		word = trim_numeric(num, &trimmed);
		Assert(trimmed != NULL);
		word = zsagg_string_hash(key, VARDATA_ANY(trimmed), VARSIZE_ANY_EXHDR(trimmed));
		pfree(trimmed);
		pfree(num);
	}
	return word;
}

/* The hash of a string, which is computed once for each entry of a dictionary. */
static inline uint64
string_hash(const ZsGroups *groups, int k, const ZsKeyInput *in, uint32 row)
{
	const ZsGroupKey *key = &groups->keys[k];
	const ZsColumnVector *vector = in->vector;
	const ZsCodeMap *map = in->map != NULL ? in->map : in->known;
	uint32		code = in->map != NULL ? vector->codes[row] :
		in->known != NULL ? vector->entries[row] : ZS_NO_ENTRY;
	const char *bytes;
	size_t		len;
	uint64		hash;

	if (code != ZS_NO_ENTRY && map->hashes[code] != 0)
		return map->hashes[code];
	bytes = zsagg_string_bytes(key, (const char *) (vector->codes != NULL ?
													vector->dict[code] : vector->datums[row]),
							   &len);
	hash = zsagg_string_hash(key, bytes, len);
	if (code != ZS_NO_ENTRY)
		map->hashes[code] = hash;
	return hash;
}

/* Adds the hashes of strings to those of n rows. */
static void
add_string_hashes(ZsGroups *groups, int k, const uint16 *list, uint32 n, uint64 *hashes)
{
	const ZsKeyInput *in = &groups->inputs[k];
	const ZsColumnVector *vector = in->vector;

	ZsCodeMap  *map = in->map != NULL ? in->map : in->known;

	if (map != NULL && map->hashes == NULL)
		map->hashes = MemoryContextAllocZero(groups->context, map->size * sizeof(uint64));
	for (uint32 i = 0; i < n; i++)
	{
		bool		isnull = vector->has_nulls && zskernel_bits_get(vector->nulls, list[i]);

		hashes[i] = zsagg_hash_add(hashes[i], isnull ? NULL_WORD :
								   string_hash(groups, k, in, list[i]));
	}
}

/*
 * The hashes, as zsagg_groups_hash_row() has them, of n rows of list, of the batch whose keys were
 * read last.
 */
void
zsagg_groups_hash_rows(ZsGroups *groups, const uint16 *list, uint32 n, uint64 *hashes)
{
	Assert(n <= ZS_KERNEL_ROWS);
	memset(hashes, 0, n * sizeof(uint64));
	for (int k = 0; k < groups->nkeys; k++)
	{
		const ZsColumnVector *vector = groups->inputs[k].vector;
		ZsDomain	domain = groups->keys[k].domain;

		if ((domain == ZS_DOMAIN_INT || domain == ZS_DOMAIN_UINT) && !vector->has_nulls)
		{
			for (uint32 i = 0; i < n; i++)
				hashes[i] = zsagg_hash_add(hashes[i], (uint64) vector->vals[list[i]]);
			continue;
		}
		if (zsagg_is_string_key(&groups->keys[k]))
		{
			add_string_hashes(groups, k, list, n, hashes);
			continue;
		}
		for (uint32 i = 0; i < n; i++)
			hashes[i] = zsagg_hash_add(hashes[i], hashed_word(groups, k, vector, list[i]));
	}
}

/* A key of a group, in the current context or as long as groups lives. */
Datum
zsagg_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull)
{
	const ZsGroupKey *k = &groups->keys[key];
	const uint64 *words = zsagg_group_words(groups, group);
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
	if (!zsagg_is_string_key(k))
		return zsexpr_int_to_datum(k->width, (int64) (k->has_form ? form : word));
	Assert(word < groups->tables[key].nstrings);
	string = groups->tables[key].strings[word];
	if (k->width > 0)
		return PointerGetDatum(VARDATA(string));
	if (!k->has_form)
		return PointerGetDatum(string);

	/* as many blanks as the first row has */
	len = zsexpr_compared_length(k->domain, VARDATA(string), VARSIZE(string) - VARHDRSZ);
	copy = palloc(VARHDRSZ + len + form);
	SET_VARSIZE(copy, VARHDRSZ + len + form);
	memcpy(VARDATA(copy), VARDATA(string), len);
	memset(VARDATA(copy) + len, ' ', form);
	return PointerGetDatum(copy);
}
