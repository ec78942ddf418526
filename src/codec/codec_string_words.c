/*-------------------------------------------------------------------------
 *
 * codec_string_words.c
 *	  Decoding all strings of a vector that are coded by words.
 *
 * Where a code ends is known when it has been looked up, so decoding one string after the other
 * waits for memory at each code.  The anchors say where the codes of the second half of the strings
 * begin: both halves are decoded at a time, a code of the one, then a code of the other.  The
 * second half has its place in the arena behind all that the first may take.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_string_words.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_string.h"

/* Fewer strings are decoded one after the other. */
#define BOTH_MIN		(4 * ZS_ANCHOR_STRIDE)

/*
 * Decodes n values with these lengths, of total bytes, into out->values[0 .. n) and the arena.
 * anchors: a reader in front of the anchors, which are sound; r is behind them.
 */
const char *
zscodec_strings_decode_words(const ZsSegmentInfo *info, ZsReader *r, const ZsReader *anchors,
							 uint32 n, const uint64 *lens, uint64 total,
							 const ZsWordReader *words, ZsVectorOut *out)
{
	uint32		half = n / 2 - n / 2 % ZS_ANCHOR_STRIDE;
	size_t		overhead = info->kind == ZS_KIND_FIXED ? info->align : ZS_VARLENA_OVERHEAD;
	ZsStringRun a = {.lens = lens,.values = out->values,.last = n};
	ZsStringRun b;
	uint64		before = 0;
	uint64		start;

	if (!zscodec_values_reserve(info, out, n, total + ZS_SLACK))
		return ZS_ERR_MEMORY;
	if (!zscodec_words_start(&a.bits, r, 0))
		return ZS_ERR_SHORT;
	a.align = info->kind == ZS_KIND_FIXED ? info->align : 0;
	a.out = a.end = out->arena;
	if (n < BOTH_MIN || anchors->p[0] == 0)
	{
		(void) zscodec_run_begin(&a);
		if (!zscodec_runs_decode(words, &a, NULL))
			return "word codes are corrupted";
		Assert(a.end <= out->arena + out->arena_size);
		return zscodec_words_at_end(&a.bits) ? NULL : "word codes do not add up";
	}

	start = zscodec_bits_get(anchors->p + 1, (size_t) (r->p - anchors->p) - 1,
							 half / ZS_ANCHOR_STRIDE - 1, anchors->p[0]);
	b = a;
	if (!zscodec_words_start(&b.bits, r, start))
		return ZS_ERR_SHORT;
	for (uint32 i = 0; i < half; i++)
		before += lens[i];
	a.last = b.next = half;
	/* some bytes behind the end of a string are written, too */
	b.out = b.end = out->arena + before + half * overhead + ZS_WORDS_LEN_MAX;
	(void) zscodec_run_begin(&a);
	(void) zscodec_run_begin(&b);
	if (!zscodec_runs_decode(words, &a, &b))
		return "word codes are corrupted";
	Assert(b.end <= out->arena + out->arena_size);
	return (uint64) (a.bits.p - r->p) * 8 - (uint64) a.bits.nbits == start &&
		zscodec_words_at_end(&b.bits) ? NULL : "word codes do not add up";
}

StaticAssertDecl(ZS_SLACK >= ZS_WORDS_LEN_MAX, "room between the halves");
