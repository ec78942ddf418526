/*-------------------------------------------------------------------------
 *
 * codec_string_some.c
 *	  Decoding some strings of a vector.
 *
 * Where a filter has left few rows, most strings of a vector need not be formed.  Those coded by
 * words or symbols take long, and their anchors lead to every sixteenth of them: where none of
 * sixteen is wanted they are not looked at, and behind the last that is wanted neither.  Of words,
 * both halves of the vector are decoded at a time, as where all are wanted (codec_string_words.c).
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

/* The strings of a vector, of which some are decoded. */
typedef struct Some
{
	const ZsSegmentInfo *info;
	const ZsReader *codes;
	const uint64 *starts;		/* of groups; in bits, if coded by words */
	const uint64 *only;
	const uint64 *lens;
	uint64	   *values;
} Some;

/* Values that follow each other. */
typedef struct SomeRun
{
	uint32		next;			/* the value whose codes come next */
	uint32		last;			/* behind the last */
	uint8	   *p;				/* where the next wanted value has its place */
	ZsWordPiece piece;			/* a wanted value, or all those in front of one */
	uint8		unwanted[ZS_WORDS_LEN_MAX];
} SomeRun;

/* The first wanted value from there on, or last. */
static inline uint32
next_wanted(const uint64 *only, uint32 from, uint32 last)
{
	while (from < last)
	{
		uint64		word = only[from / 64] >> (from % 64);

		if (word != 0)
			return Min(from + (uint32) __builtin_ctzll(word), last);
		from += 64 - from % 64;
	}
	return last;
}

/* Begins the run's next piece, which has bytes.  False if there is none, or with an error. */
static bool
begin_piece(const Some *some, SomeRun *run, const char **err)
{
	ZsWordPiece *piece = &run->piece;

	Assert(piece->left == 0);
	for (;;)
	{
		uint32		wanted = next_wanted(some->only, run->next, run->last);
		uint32		group = wanted / ZS_ANCHOR_STRIDE * ZS_ANCHOR_STRIDE;
		uint64		skipped = 0;

		if (wanted == run->last)
			return false;
		if (run->next <= group)
		{
			run->next = group;
			if (!zscodec_words_start(&piece->bits, some->codes,
									 some->starts[group / ZS_ANCHOR_STRIDE]))
			{
				*err = ZS_ERR_SHORT;
				return false;
			}
		}
		while (run->next < wanted)
			skipped += some->lens[run->next++];
		if (skipped > 0)
		{
			piece->left = (int64) skipped;
			piece->out = run->unwanted;
			piece->keep = 0;
			return true;
		}
		some->values[wanted] = zscodec_value_begin(some->info, &run->p, some->lens[wanted],
												   &piece->out);
		run->p = piece->out + some->lens[wanted];
		run->next = wanted + 1;
		if (some->lens[wanted] > 0)
		{
			piece->left = (int64) some->lens[wanted];
			piece->keep = PG_UINT64_MAX;
			return true;
		}
	}
}

/*
 * Decodes the wanted values of both runs, a code of the one and a code of the other, since it is
 * known where a code ends when it has been looked up.
 */
static const char *
decode_runs(const Some *some, const ZsWordReader *words, SomeRun *a, SomeRun *b)
{
	const char *err = NULL;
	bool		has_a = begin_piece(some, a, &err);
	bool		has_b = begin_piece(some, b, &err);

	while (has_a && has_b && err == NULL)
	{
		if (!zscodec_words_piece_both(&a->piece, &b->piece, words) || a->piece.left < 0 ||
			b->piece.left < 0)
			return "word codes are corrupted";
		if (a->piece.left == 0)
			has_a = begin_piece(some, a, &err);
		if (b->piece.left == 0)
			has_b = begin_piece(some, b, &err);
	}
	if (has_b)
		a = b;
	while ((has_a || has_b) && err == NULL)
	{
		if (!zscodec_words_piece(&a->piece, words) || a->piece.left < 0)
			return "word codes are corrupted";
		has_a = has_b = begin_piece(some, a, &err);
	}
	return err;
}

/*
 * Those coded by words, of which there are n; of the wanted ones the first `half` values have
 * `before` bytes.
 */
static const char *
decode_words(const Some *some, const ZsWordReader *words, uint32 n, uint32 half, uint64 before,
			 ZsVectorOut *out)
{
	size_t		overhead = some->info->kind == ZS_KIND_FIXED ? some->info->align :
		ZS_VARLENA_OVERHEAD;
	SomeRun		a = {.last = half,.p = out->arena};
	SomeRun		b = {.next = half,.last = n};
	const char *err;

	/* some bytes behind the end of a string are written, too */
	b.p = out->arena + before + half * overhead + ZS_WORDS_LEN_MAX;
	if ((err = decode_runs(some, words, &a, &b)) != NULL)
		return err;
	Assert(b.p <= out->arena + out->arena_size);
	return NULL;
}

/* Those coded by symbols. */
static const char *
decode_symbols(const Some *some, const ZsSharedState *shared, uint32 n, ZsVectorOut *out)
{
	ZsReader	r = *some->codes;
	uint8	   *p = out->arena;
	uint32		next = 0;

	for (uint32 wanted = next_wanted(some->only, 0, n); wanted < n;
		 wanted = next_wanted(some->only, next, n))
	{
		uint32		group = wanted / ZS_ANCHOR_STRIDE * ZS_ANCHOR_STRIDE;
		uint64		skipped = 0;
		uint8	   *data;

		if (next <= group)
		{
			uint64		start = some->starts[group / ZS_ANCHOR_STRIDE];

			if (start > reader_left(some->codes))
				return ZS_ERR_SHORT;
			r.p = some->codes->p + start;
			next = group;
		}
		while (next < wanted)
			skipped += some->lens[next++];
		some->values[wanted] = zscodec_value_begin(some->info, &p, some->lens[wanted], &data);
		if (!zscodec_fsst_skip(&r, shared->symbol_lens, skipped) ||
			!zscodec_fsst_decode(&r, shared->symbols, shared->symbol_lens, data,
								 some->lens[wanted]))
			return "symbol codes are corrupted";
		p = data + some->lens[wanted];
		next = wanted + 1;
	}
	Assert(p <= out->arena + out->arena_size);
	return NULL;
}

/*
 * Like zscodec_strings_decode() of WORDS and FSST, but of the values only those in the bitmap are
 * formed; the others become 0, and *left_out says whether there are any.  What is not formed is not
 * checked either.
 */
const char *
zscodec_strings_decode_some(const ZsSegmentInfo *info, int encoding, ZsReader *r, uint32 n,
							const ZsSharedState *shared, const uint64 *only, uint32 want,
							ZsVectorOut *out, bool *left_out)
{
	ZsReader	start = *r;
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		starts[GROUPS_MAX + 1];
	uint64		total;
	uint64		formed = 0;
	uint64		before = 0;
	uint32		half = n / 2 - n / 2 % ZS_ANCHOR_STRIDE;
	uint64		longest;
	bool		has_anchors;
	Some		some = {.info = info, .codes = r, .starts = starts, .only = only, .lens = lens,
	.values = out->values};
	const char *err;

	Assert(info->kind >= ZS_KIND_FIXED && n > 0 && n <= ZS_VECTOR_ROWS);
	Assert(encoding == ZS_ENC_WORDS || encoding == ZS_ENC_FSST);
	if (shared == NULL || (encoding == ZS_ENC_WORDS && shared->words == NULL))
		return "table of words is missing";
	if (encoding == ZS_ENC_FSST && shared->symbols == NULL)
		return "symbol table is missing";
	if ((err = zscodec_ints_decode(r, n, lens)) != NULL ||
		(err = read_anchors(r, n, starts, &has_anchors)) != NULL)
		return err;
	if (!has_anchors)
	{
		*r = start;
		return zscodec_strings_decode(info, encoding, r, n, shared, want, out);
	}
	longest = encoding == ZS_ENC_FSST ? reader_left(r) * ZS_FSST_EXPANSION :
		Min(reader_left(r) * ZS_WORDS_EXPANSION, info->raw_size);
	if ((err = zscodec_lens_sum(info, lens, n, longest, &total)) != NULL)
		return err;
	for (uint32 i = 0; i < n; i++)
	{
		if (want & ZS_FORM_LENGTHS)
			out->lengths[i] = (uint32) lens[i];
		if (i == half)
			before = formed;
		formed += (only[i / 64] >> (i % 64) & 1) != 0 ? lens[i] : 0;
	}
	if (!zscodec_values_reserve(info, out, n, formed + ZS_SLACK))
		return ZS_ERR_MEMORY;
	memset(out->values, 0, n * sizeof(uint64));
	err = encoding == ZS_ENC_FSST ? decode_symbols(&some, shared, n, out) :
		decode_words(&some, shared->words, n, half, before, out);
	*left_out = err == NULL;
	return err;
}

StaticAssertDecl(ZS_SLACK >= ZS_WORDS_LEN_MAX, "room between the halves");
