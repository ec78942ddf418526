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

/* Some of the strings, which follow each other. */
typedef struct StringRun
{
	ZsBitReader bits;
	uint32		next;			/* the first that has not begun */
	uint32		last;			/* behind the last */
	uint8	   *out;			/* where the string that has begun goes on, and its end */
	uint8	   *end;
} StringRun;

/* Begins the next string of the run; false if there is none. */
static inline bool
begin_string(const ZsSegmentInfo *info, const uint64 *lens, uint64 *values, StringRun *run)
{
	uint8	   *p = run->end;

	Assert(run->out == run->end);
	if (run->next == run->last)
		return false;
	values[run->next] = zscodec_value_begin(info, &p, lens[run->next], &run->out);
	run->end = run->out + lens[run->next++];
	return true;
}

/* What is left of the run. */
static const char *
finish_run(const ZsSegmentInfo *info, const ZsWordReader *words, const uint64 *lens,
		   uint64 *values, StringRun *run)
{
	do
	{
		if (!zscodec_words_decode(&run->bits, words, run->out, (size_t) (run->end - run->out)))
			return "word codes are corrupted";
		run->out = run->end;
	} while (begin_string(info, lens, values, run));
	return NULL;
}

/* Decodes both runs, whose first strings have begun. */
static const char *
decode_both(const ZsSegmentInfo *info, const ZsWordReader *words, const uint64 *lens,
			uint64 *values, StringRun *a, StringRun *b)
{
	const char *err;

	for (;;)
	{
		if (!zscodec_words_decode_both(&a->bits, &a->out, a->end, &b->bits, &b->out, b->end,
									   words) || a->out > a->end || b->out > b->end)
			return "word codes are corrupted";
		if ((a->out == a->end && !begin_string(info, lens, values, a)) ||
			(b->out == b->end && !begin_string(info, lens, values, b)))
			break;
	}
	if ((err = finish_run(info, words, lens, values, a)) != NULL)
		return err;
	return finish_run(info, words, lens, values, b);
}

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
	StringRun	a = {.last = n};
	StringRun	b = {.last = n};
	uint64		before = 0;
	uint64		start;
	const char *err;

	if (!zscodec_values_reserve(info, out, n, total + ZS_SLACK))
		return ZS_ERR_MEMORY;
	if (!zscodec_words_start(&a.bits, r, 0))
		return ZS_ERR_SHORT;
	a.out = a.end = out->arena;
	if (n < BOTH_MIN || anchors->p[0] == 0)
	{
		(void) begin_string(info, lens, out->values, &a);
		if ((err = finish_run(info, words, lens, out->values, &a)) != NULL)
			return err;
		Assert(a.end <= out->arena + out->arena_size);
		return zscodec_words_at_end(&a.bits) ? NULL : "word codes do not add up";
	}

	start = zscodec_bits_get(anchors->p + 1, (size_t) (r->p - anchors->p) - 1,
							 half / ZS_ANCHOR_STRIDE - 1, anchors->p[0]);
	if (!zscodec_words_start(&b.bits, r, start))
		return ZS_ERR_SHORT;
	for (uint32 i = 0; i < half; i++)
		before += lens[i];
	a.last = b.next = half;
	/* some bytes behind the end of a string are written, too */
	b.out = b.end = out->arena + before + half * overhead + ZS_WORDS_LEN_MAX;
	(void) begin_string(info, lens, out->values, &a);
	(void) begin_string(info, lens, out->values, &b);
	if ((err = decode_both(info, words, lens, out->values, &a, &b)) != NULL)
		return err;
	Assert(b.end <= out->arena + out->arena_size);
	return (uint64) (a.bits.p - r->p) * 8 - (uint64) a.bits.nbits == start &&
		zscodec_words_at_end(&b.bits) ? NULL : "word codes do not add up";
}

StaticAssertDecl(ZS_SLACK >= ZS_WORDS_LEN_MAX, "room between the halves");
