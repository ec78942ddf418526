/*-------------------------------------------------------------------------
 *
 * codec_string_some.c
 *	  Decoding some strings of a vector.
 *
 * Where a filter has left few rows, most strings of a vector need not be formed.  Those coded by
 * words take long, and their anchors lead to every sixteenth of them: where none of sixteen is
 * wanted they are not looked at, and behind the last that is wanted neither.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_string_some.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_string.h"

#define GROUPS_MAX		(ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE)
StaticAssertDecl(ZS_ANCHOR_STRIDE == 16 && ZS_VECTOR_ROWS % 64 == 0,
				 "a word of a bitmap has the values of four anchors");

/* Which values of the group matter? */
static inline uint32
wanted_of_group(const uint64 *only, uint32 group)
{
	return (uint32) (only[group / 4] >> (group % 4 * ZS_ANCHOR_STRIDE)) & 0xFFFF;
}

/* Where the codes of each group begin; all of them are one group if there are no anchors. */
static const char *
read_anchors(ZsReader *r, uint32 n, uint64 *starts, bool *has_anchors)
{
	const uint8 *p = r->p;
	const char *err;

	if ((err = zscodec_anchors_skip(r, n)) != NULL)
		return err;
	*has_anchors = p[0] > 0 || n <= ZS_ANCHOR_STRIDE;
	starts[0] = 0;
	if (p[0] > 0)
		zscodec_bits_unpack(p + 1, (n - 1) / ZS_ANCHOR_STRIDE, p[0], 0, starts + 1);
	return NULL;
}

/* Decodes the wanted ones of up to 16 values, from values[0] on, into the arena at *p. */
static const char *
decode_group(const ZsSegmentInfo *info, ZsBitReader *bits, const ZsWordReader *words,
			 uint32 wanted, const uint64 *lens, uint64 *values, uint8 **p)
{
	uint64		skip = 0;

	for (uint32 i = 0; wanted >> i != 0; i++)
	{
		uint8	   *data;

		if ((wanted >> i & 1) == 0)
		{
			skip += lens[i];
			continue;
		}
		values[i] = zscodec_value_begin(info, p, lens[i], &data);
		if ((skip > 0 && !zscodec_words_skip(bits, words, skip)) ||
			!zscodec_words_decode(bits, words, data, lens[i]))
			return "word codes are corrupted";
		*p = data + lens[i];
		skip = 0;
	}
	return NULL;
}

/*
 * Like zscodec_strings_decode() of WORDS, but of the values only those in the bitmap are
 * formed; the others become 0, and *left_out says whether there are any.  What is not formed is not
 * checked either.
 */
const char *
zscodec_strings_decode_some(const ZsSegmentInfo *info, ZsReader *r, uint32 n,
							const ZsSharedState *shared, const uint64 *only, uint32 want,
							ZsVectorOut *out, bool *left_out)
{
	ZsReader	start = *r;
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		starts[GROUPS_MAX + 1];
	uint64		total;
	uint64		formed = 0;
	bool		has_anchors;
	uint8	   *p;
	const char *err;

	Assert(info->kind >= ZS_KIND_FIXED && n > 0 && n <= ZS_VECTOR_ROWS);
	if (shared == NULL || shared->words == NULL)
		return "table of words is missing";
	if ((err = zscodec_ints_decode(r, n, lens)) != NULL ||
		(err = read_anchors(r, n, starts, &has_anchors)) != NULL)
		return err;
	if (!has_anchors)
	{
		*r = start;
		return zscodec_strings_decode(info, ZS_ENC_WORDS, r, n, shared, want, out);
	}
	if ((err = zscodec_lens_sum(info, lens, n,
								Min(reader_left(r) * ZS_WORDS_EXPANSION, info->raw_size),
								&total)) != NULL)
		return err;
	for (uint32 i = 0; i < n; i++)
	{
		if (want & ZS_FORM_LENGTHS)
			out->lengths[i] = (uint32) lens[i];
		formed += (only[i / 64] >> (i % 64) & 1) != 0 ? lens[i] : 0;
	}
	if (!zscodec_values_reserve(info, out, n, formed))
		return ZS_ERR_MEMORY;
	memset(out->values, 0, n * sizeof(uint64));
	p = out->arena;
	for (uint32 first = 0; first < n; first += ZS_ANCHOR_STRIDE)
	{
		uint32		wanted = wanted_of_group(only, first / ZS_ANCHOR_STRIDE);
		ZsBitReader bits;

		Assert(wanted >> Min(n - first, ZS_ANCHOR_STRIDE) == 0);
		if (wanted == 0)
			continue;
		if (!zscodec_words_start(&bits, r, starts[first / ZS_ANCHOR_STRIDE]))
			return ZS_ERR_SHORT;
		if ((err = decode_group(info, &bits, shared->words, wanted, lens + first,
								out->values + first, &p)) != NULL)
			return err;
	}
	Assert(p <= out->arena + out->arena_size);
	*left_out = true;
	return NULL;
}
