/*-------------------------------------------------------------------------
 *
 * codec_dict_decode.c
 *	  Decoding vectors whose values, or some of them, are in the segment's dictionary.
 *
 * DICT has a stream of codes.  MIXED has codes for the values that the dictionary knows, and the
 * others as they would be in a vector of their own (literals).
 *
 * A dictionary may be coded itself; then an entry is formed when the first vector needs it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_ops.h"
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Are all codes those of entries? */
static ZS_CLONES bool
codes_below(const uint64 *codes, uint32 n, uint32 ndict)
{
	uint64		bad = 0;

	for (uint32 i = 0; i < n; i++)
		bad |= codes[i] >= ndict;
	return bad == 0;
}

/* Looks codes up; values may be the same array. */
static ZS_CLONES void
look_up_codes(const uint64 *codes, uint32 n, const uint64 *dict, uint64 *values)
{
	for (uint32 i = 0; i < n; i++)
		values[i] = dict[codes[i]];
}

static ZS_CLONES void
narrow_codes(const uint64 *restrict codes, uint32 n, uint32 *restrict out)
{
	for (uint32 i = 0; i < n; i++)
		out[i] = (uint32) codes[i];
}

/* Integers of the numerics that codes stand for. */
static void
look_up_scaled(const uint64 *codes, ZsVectorBody *body, const ZsSharedState *shared,
			   ZsVectorOut *out)
{
	look_up_codes(codes, body->n, (const uint64 *) shared->dict_scaled, (uint64 *) out->scaled);
	out->scale = shared->dict_scale;
	out->same_dscale = shared->dict_same_dscale;
	for (uint32 i = 0; i < body->n && !out->same_dscale; i++)
		out->dscales[i] = shared->dict_dscales[codes[i]];
	for (uint32 i = 0; i < body->n && shared->dict_has_odd; i++)
	{
		body->odd_pos[body->nodd] = (uint16) i;
		body->nodd += shared->dict_dscales[codes[i]] == ZS_DSCALE_ODD;
	}
}

/* ---- codes alone --------------------------------------------------------- */

/*
 * A stream that says so itself, or a bare list of codes: the tag is accepted in both places.  See
 * codec_ops.h.
 */
const char *
zscodec_dict_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
					uint32 *want, ZsVectorOut *out)
{
	uint64		local[ZS_VECTOR_ROWS];
	uint64	   *codes = *want & ZS_FORM_VALUES ? out->values : local;
	uint32		n = body->n;
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_ints_decode(&body->r, n, codes)) != NULL)
		return err;
	if (!codes_below(codes, n, shared->ndict))
		return "dictionary code out of range";
	if (*want & ZS_FORM_CODES)
		narrow_codes(codes, n, out->codes);
	if (shared->dict_scaled == NULL)
		*want &= ~ZS_FORM_SCALED;
	if (*want & ZS_FORM_SCALED)
		look_up_scaled(codes, body, shared, out);
	for (uint32 i = 0; i < n && (*want & ZS_FORM_LENGTHS); i++)
		out->lengths[i] = zscodec_dict_len(shared, codes[i]);
	if ((*want & ZS_FORM_VALUES) == 0)
		return NULL;
	if ((err = zscodec_dict_need(shared, codes, n)) != NULL)
		return err;
	look_up_codes(codes, n, shared->dict_values, out->values);
	return NULL;
}

/* ZsEncodingOps of DICT: one value. */
const char *
zscodec_dict_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
						const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	const char *err;
	uint64		code;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_ints_get(&body->r, body->n, entry, &code)) != NULL)
		return err;
	if (code >= shared->ndict)
		return "dictionary code out of range";
	return zscodec_dict_one(shared, code, out, value);
}

/*
 * The integers that codes of n values of a dictionary stand for; *found is false if not all of its
 * entries have one.
 */
const char *
zscodec_dict_decode_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
						 const ZsSharedState *shared, uint64 *ints, int *scale, bool *found)
{
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	*found = info->kind == ZS_KIND_INT ||
		(shared->dict_scaled != NULL && shared->dict_same_dscale && !shared->dict_has_odd);
	if (!*found)
		return NULL;
	if ((err = zscodec_ints_decode(r, n, ints)) != NULL)
		return err;
	if (!codes_below(ints, n, shared->ndict))
		return "dictionary code out of range";
	*scale = shared->dict_scale;
	look_up_codes(ints, n, info->kind == ZS_KIND_INT ? shared->dict_values :
				  (const uint64 *) shared->dict_scaled, ints);
	return NULL;
}

/* What a numeric's code leads to. */
static void
add_scaled(const ZsSharedState *shared, ZsVectorOut *out)
{
	out->scale = shared->dict_scale;
	out->same_dscale = shared->dict_same_dscale;
	out->has_odd = false;
	memset(out->odd, 0, sizeof(out->odd));
	for (uint32 i = 0; i < out->nrows; i++)
	{
		uint8		dscale = shared->dict_dscales[out->codes[i]];
		bool		odd = dscale == ZS_DSCALE_ODD && !out->isnull[i];

		out->scaled[i] = out->isnull[i] ? 0 : shared->dict_scaled[out->codes[i]];
		out->dscales[i] = out->isnull[i] || odd ? 0 : dscale;
		out->odd[i / 64] |= (uint64) odd << (i % 64);
		out->has_odd = out->has_odd || odd;
	}
}

/* Makes sure that the entries of all rows are formed. */
static const char *
need_codes(const ZsSharedState *shared, const ZsVectorOut *out)
{
	uint64		codes[ZS_VECTOR_ROWS];
	uint32		n = 0;

	for (uint32 i = 0; i < out->nrows && shared->coded != NULL; i++)
	{
		if (!out->isnull[i])
			codes[n++] = out->codes[i];
	}
	return zscodec_dict_need(shared, codes, n);
}

/*
 * Adds to a vector that has CODES the other wanted forms that these lead to: VALUES, SCALED,
 * LENGTHS.  shared is what it was decoded with.  After an error out is as it was but for the arrays
 * of the wanted forms.
 */
const char *
zscodec_vector_from_codes(const ZsSegmentInfo *info, const ZsSharedState *shared, uint32 want,
						  ZsVectorOut *out)
{
	const char *err;

	Assert((out->have & ZS_FORM_CODES) != 0 && shared->ndict > 0);
	want &= ZS_FORM_VALUES | (info->kind == ZS_KIND_NUMERIC &&
							  shared->dict_scaled != NULL ? ZS_FORM_SCALED : 0) |
		(info->kind == ZS_KIND_BYTES ? ZS_FORM_LENGTHS : 0);
	if (want & ZS_FORM_VALUES)
	{
		if ((err = need_codes(shared, out)) != NULL)
			return err;
		for (uint32 i = 0; i < out->nrows; i++)
			out->values[i] = out->isnull[i] ? 0 : shared->dict_values[out->codes[i]];
	}
	if (want & ZS_FORM_LENGTHS)
	{
		for (uint32 i = 0; i < out->nrows; i++)
			out->lengths[i] = out->isnull[i] ? 0 : zscodec_dict_len(shared, out->codes[i]);
		out->has_odd = false;
	}
	if (want & ZS_FORM_SCALED)
		add_scaled(shared, out);
	out->have |= want;
	return NULL;
}

/* ---- codes and literals ---------------------------------------------------- */

/* A MIXED vector in front of its literals; pos[] are the literals' places among the n values. */
static const char *
read_mixed(ZsReader *r, uint32 n, const ZsSharedState *shared, uint16 *pos, uint32 *nliterals)
{
	const char *err;

	if (shared == NULL || shared->dict_values == NULL)
		return "dictionary is missing";
	if ((err = zscodec_posset_decode(r, n, pos, nliterals)) != NULL)
		return err;
	return *nliterals >= 1 && *nliterals < n ? NULL : "literal count out of range";
}

/* The encoding of the literals of a MIXED vector. */
static const char *
read_literal_tag(ZsReader *r, int *encoding)
{
	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	*encoding = *r->p++;
	return *encoding < ZS_ENC_COUNT &&
		zscodec_encoding_ops[*encoding].encode_literals != NULL ? NULL :
		"encoding does not fit the type";
}

/* The literals at pos[], all or those that matter. */
static const char *
decode_literals(const ZsSegmentInfo *info, int encoding, ZsVectorBody *body, const uint16 *pos,
				uint32 nliterals, const ZsSharedState *shared, uint32 want, ZsVectorOut *out)
{
	uint64		only[ZS_VECTOR_WORDS] = {0};

	if (!body->some || !zscodec_strings_have_some(encoding) || (want & ZS_FORM_VALUES) == 0)
		return zscodec_strings_decode(info, encoding, &body->r, nliterals, shared, want, out);
	for (uint32 i = 0; i < nliterals; i++)
		only[i / 64] |= (body->only[pos[i] / 64] >> (pos[i] % 64) & 1) << (i % 64);
	return zscodec_strings_decode_some(info, encoding, &body->r, nliterals, shared, only, want, out,
									   &body->left_out);
}

/* Which of the values are literals. */
static void
mark_literals(const uint16 *pos, uint32 nliterals, uint64 *is_literal)
{
	memset(is_literal, 0, ZS_VECTOR_WORDS * sizeof(uint64));
	for (uint32 i = 0; i < nliterals;)
	{
		uint32		w = pos[i] / 64;
		uint64		word = 0;

		for (; i < nliterals && pos[i] / 64 == w; i++)
			word |= UINT64CONST(1) << (pos[i] % 64);
		is_literal[w] = word;
	}
}

/*
 * Where value i is among the literals followed by the others, if so many literals are in front of
 * it; these become one more if it is one.  Which it is follows no rule that a processor could
 * guess, so this is arithmetic, of which a compiler makes no branch.
 */
static inline uint32
merged_place(const uint64 *is_literal, uint32 nliterals, uint32 i, uint32 *literal)
{
	uint32		bit = (uint32) (is_literal[i / 64] >> (i % 64)) & 1;
	uint32		known = nliterals + i - *literal;
	uint32		place = known ^ ((known ^ *literal) & (0 - bit));

	*literal += bit;
	return place;
}

/* Puts literals, and what the dictionary gave behind them, into the order of the n values. */
static void
merge_mixed(const uint64 *is_literal, uint32 nliterals, uint32 n, const uint64 *both,
			uint64 *values)
{
	uint32		literal = 0;

	for (uint32 i = 0; i < n; i++)
		values[i] = both[merged_place(is_literal, nliterals, i, &literal)];
	Assert(literal == nliterals);
}

/*
 * The same of the values that matter; others become 0.  known: codes, of which entries are formed
 * as they are needed.
 */
static const char *
merge_some(const uint64 *is_literal, ZsVectorBody *body, const uint64 *literals,
		   const uint64 *known, const ZsSharedState *shared, uint64 *values)
{
	uint64		codes[ZS_VECTOR_ROWS];
	uint16		places[ZS_VECTOR_ROWS]; /* of these codes */
	uint32		ncodes = 0;
	uint32		before = 0;		/* literals in front of the word */
	const char *err;

	memset(values, 0, body->n * sizeof(uint64));
	for (uint32 w = 0; w * 64 < body->n; w++)
	{
		for (uint64 word = body->only[w]; word != 0; word &= word - 1)
		{
			uint32		bit = (uint32) __builtin_ctzll(word);
			uint32		i = w * 64 + bit;
			uint64		in_front = is_literal[w] & ((UINT64CONST(1) << bit) - 1);
			uint32		literal = before + (uint32) __builtin_popcountll(in_front);

			Assert(i < body->n);
			if (is_literal[w] >> bit & 1)
			{
				values[i] = literals[literal];
				continue;
			}
			codes[ncodes] = known[i - literal];
			places[ncodes++] = (uint16) i;
		}
		before += (uint32) __builtin_popcountll(is_literal[w]);
	}
	if ((err = zscodec_dict_need(shared, codes, ncodes)) != NULL)
		return err;
	for (uint32 i = 0; i < ncodes; i++)
		values[places[i]] = shared->dict_values[codes[i]];
	body->left_out = true;
	return NULL;
}

/* The same of the lengths, where those of the literals are in front. */
static void
merge_lengths(const uint64 *is_literal, uint32 nliterals, uint32 n, const uint64 *known,
			  const ZsSharedState *shared, uint32 *lengths)
{
	uint32		both[ZS_VECTOR_ROWS];
	uint32		literal = 0;

	memcpy(both, lengths, nliterals * sizeof(uint32));
	for (uint32 i = nliterals; i < n; i++)
		both[i] = zscodec_dict_len(shared, known[i - nliterals]);
	for (uint32 i = 0; i < n; i++)
		lengths[i] = both[merged_place(is_literal, nliterals, i, &literal)];
	Assert(literal == nliterals);
}

/* The same of codes; literals have none. */
static void
merge_entries(const uint64 *is_literal, uint32 nliterals, uint32 n, const uint64 *known,
			  uint32 *codes)
{
	uint32		both[ZS_VECTOR_ROWS];
	uint32		literal = 0;

	memset(both, 0xFF, nliterals * sizeof(uint32));
	for (uint32 i = nliterals; i < n; i++)
		both[i] = (uint32) known[i - nliterals];
	for (uint32 i = 0; i < n; i++)
		codes[i] = both[merged_place(is_literal, nliterals, i, &literal)];
	Assert(literal == nliterals);
}

/* ZsEncodingOps of MIXED: codes of the segment's dictionary, and literals. */
const char *
zscodec_mixed_decode(const ZsSegmentInfo *info, ZsVectorBody *body, const ZsSharedState *shared,
					 uint32 *want, ZsVectorOut *out)
{
	ZsReader   *r = &body->r;
	uint32		n = body->n;
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		known[ZS_VECTOR_ROWS];
	uint64		is_literal[ZS_VECTOR_WORDS];
	uint32		nliterals;
	uint32		nknown;
	const char *err;
	int			encoding;

	if ((err = read_mixed(r, n, shared, pos, &nliterals)) != NULL)
		return err;
	nknown = n - nliterals;
	if ((err = zscodec_ints_decode(r, nknown, known)) != NULL)
		return err;
	if (!codes_below(known, nknown, shared->ndict))
		return "dictionary code out of range";
	if ((*want & ZS_FORM_VALUES) && !body->some &&
		(err = zscodec_dict_need(shared, known, nknown)) != NULL)
		return err;
	if ((err = read_literal_tag(r, &encoding)) != NULL ||
		(err = decode_literals(info, encoding, body, pos, nliterals, shared, *want, out)) != NULL)
		return err;

	mark_literals(pos, nliterals, is_literal);
	if (*want & ZS_FORM_ENTRIES)
		merge_entries(is_literal, nliterals, n, known, out->codes);
	if (*want & ZS_FORM_LENGTHS)
		merge_lengths(is_literal, nliterals, n, known, shared, out->lengths);
	if (*want & ZS_FORM_VALUES)
	{
		uint64		both[ZS_VECTOR_ROWS];

		memcpy(both, out->values, nliterals * sizeof(uint64));
		if (body->some)
			return merge_some(is_literal, body, both, known, shared, out->values);
		look_up_codes(known, nknown, shared->dict_values, both + nliterals);
		merge_mixed(is_literal, nliterals, n, both, out->values);
	}
	return NULL;
}

/* ZsEncodingOps of MIXED: one value. */
const char *
zscodec_mixed_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
						 const ZsSharedState *shared, ZsVectorOut *out, uint64 *value)
{
	ZsReader   *r = &body->r;
	uint32		n = body->n;
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		codes[ZS_VECTOR_ROWS];
	uint32		nliterals;
	uint32		before = 0;
	const char *err;
	int			encoding;

	if ((err = read_mixed(r, n, shared, pos, &nliterals)) != NULL ||
		(err = zscodec_ints_decode(r, n - nliterals, codes)) != NULL)
		return err;
	while (before < nliterals && pos[before] < entry)
		before++;
	if (before < nliterals && pos[before] == entry)
	{
		if ((err = read_literal_tag(r, &encoding)) != NULL)
			return err;
		return zscodec_strings_decode_one(info, encoding, r, nliterals, before, shared, out, value);
	}
	if (codes[entry - before] >= shared->ndict)
		return "dictionary code out of range";
	return zscodec_dict_one(shared, codes[entry - before], out, value);
}
