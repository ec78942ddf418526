/*-------------------------------------------------------------------------
 *
 * codec_dict_coded.c
 *	  A dictionary whose entries are coded by words: opening it, and forming entries.
 *
 * Entries are formed when they are needed for a value, in blocks of 16 that follow each other in
 * the codes.  Two blocks that are needed are formed at a time, a code of the one, then a code of
 * the other (codec_string_words.c).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_coded.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_string.h"

/* Streams of n integers, at most 1024 each, whose sum is not above limit. */
static const char *
read_numbers(ZsReader *r, uint32 n, uint64 limit, uint32 *out)
{
	uint64		chunk[ZS_VECTOR_ROWS];
	uint64		total = 0;
	const char *err;

	for (uint32 start = 0; start < n; start += ZS_VECTOR_ROWS)
	{
		uint32		count = Min(n - start, ZS_VECTOR_ROWS);

		if ((err = zscodec_ints_decode(r, count, chunk)) != NULL)
			return err;
		for (uint32 i = 0; i < count; i++)
		{
			if (chunk[i] > limit - total)
				return "dictionary entry is too long";
			total += chunk[i];
			out[start + i] = (uint32) chunk[i];
		}
	}
	return NULL;
}

#define CODED_BLOCKS(n)		(((n) + ZS_DICT_CODED_BLOCK - 1) / ZS_DICT_CODED_BLOCK)

/*
 * Memory of a coded dictionary of n entries but for its arena and codes; they begin at 8-byte
 * addresses.
 */
size_t
zscodec_dict_coded_size(uint32 n)
{
	return sizeof(ZsCodedDict) + n * (sizeof(uint64) + sizeof(uint32)) + 2 * CODED_BLOCKS(n) *
		sizeof(uint32) +
		2 * sizeof(uint64);
}

/*
 * Reads a coded dictionary but for its codes, which stay where they are; shared->coded has memory
 * for it.
 */
const char *
zscodec_dict_open_coded(ZsReader *r, ZsSharedState *shared)
{
	ZsCodedDict *d = shared->coded;
	uint32		n = shared->ndict;
	uint32		nblocks = CODED_BLOCKS(n);
	size_t		place = 0;
	uint32		bit = 0;
	const char *err;

	d->arena = NULL;
	d->values = (uint64 *) (d + 1);
	d->lens = (uint32 *) (d->values + n);
	d->bits = d->lens + n;
	d->places = d->bits + nblocks;
	memset(d->values, 0, n * sizeof(uint64));
	shared->dict_sorted = r->p[0] != 0;
	r->p += 5;
	if ((err = read_numbers(r, n, ZS_DICT_CODED_BYTES, d->lens)) != NULL ||
		(err = read_numbers(r, nblocks, (uint64) ZS_DICT_CODED_SIZE_MAX * 8, d->bits)) != NULL)
		return err;
	if (reader_left(r) < 4)
		return ZS_ERR_SHORT;
	d->codes_len = load32(r->p);
	r->p += 4;
	if (reader_left(r) < d->codes_len)
		return ZS_ERR_SHORT;
	d->codes = r->p;
	r->p += d->codes_len;
	for (uint32 b = 0; b < nblocks; b++)
	{
		uint32		bits = d->bits[b];

		d->bits[b] = bit;
		d->places[b] = (uint32) place;
		bit += bits;
		for (uint32 i = b * ZS_DICT_CODED_BLOCK; i < Min(n, (b + 1) * ZS_DICT_CODED_BLOCK); i++)
			place += d->lens[i] + ZS_VARLENA_OVERHEAD;
		/* decoding scribbles behind the end */
		place = (place + ZS_SLACK + 7) & ~(size_t) 7;
	}
	d->arena_size = (uint32) place;
	return NULL;
}

/* A block that is being formed. */
typedef struct DictBlock
{
	uint32		first;			/* code */
	uint64		lens[ZS_DICT_CODED_BLOCK];
	uint64		values[ZS_DICT_CODED_BLOCK];
	ZsStringRun run;
} DictBlock;

/* Begins the first entry of a block; false if its codes are not there. */
static bool
begin_block(const ZsCodedDict *d, uint32 ndict, uint32 block, DictBlock *b)
{
	ZsReader	r = {d->codes, d->codes + d->codes_len};
	ZsStringRun *run = &b->run;

	b->first = block * ZS_DICT_CODED_BLOCK;
	Assert(b->first < ndict);
	run->lens = b->lens;
	run->values = b->values;
	run->align = 0;
	run->next = 0;
	run->last = Min(ndict - b->first, ZS_DICT_CODED_BLOCK);
	run->out = run->end = d->arena + d->places[block];
	for (uint32 i = 0; i < run->last; i++)
		b->lens[i] = d->lens[b->first + i];
	return zscodec_words_start(&run->bits, &r, d->bits[block]) && zscodec_run_begin(run);
}

/* No block. */
#define NONE		UINT32_MAX

/* Forms all entries of a block, or of two.  Fails if their codes are wrong. */
static const char *
form_blocks(const ZsSharedState *shared, uint32 block, uint32 other)
{
	ZsCodedDict *d = shared->coded;
	DictBlock	a;
	DictBlock	b;

	Assert(block != other);
	if (d->arena == NULL && (d->arena = shared->alloc.alloc(shared->alloc.ctx,
															d->arena_size)) == NULL)
		return ZS_ERR_MEMORY;
	if (!begin_block(d, shared->ndict, block, &a) ||
		(other != NONE && !begin_block(d, shared->ndict, other, &b)))
		return ZS_ERR_SHORT;
	if (!zscodec_runs_decode(shared->words, &a.run, other != NONE ? &b.run : NULL))
		return "dictionary entry is corrupted";
	memcpy(&d->values[a.first], a.values, a.run.last * sizeof(uint64));
	if (other != NONE)
		memcpy(&d->values[b.first], b.values, b.run.last * sizeof(uint64));
	return NULL;
}

/*
 * Makes sure that the block of a valid code is formed, or that it waits for another one; *waiting
 * is NONE when none waits.
 */
static inline const char *
need_block(const ZsSharedState *shared, uint32 code, uint32 *waiting)
{
	uint32		block = code / ZS_DICT_CODED_BLOCK;
	uint32		other = *waiting;

	if (likely(shared->dict_values[code] != 0) || block == other)
		return NULL;
	*waiting = other == NONE ? block : NONE;
	return other == NONE ? NULL : form_blocks(shared, other, block);
}

/* Makes sure that the entries of n valid codes are formed. */
const char *
zscodec_dict_need(const ZsSharedState *shared, const uint64 *codes, uint32 n)
{
	uint32		waiting = NONE;
	const char *err;

	if (shared->coded == NULL)
		return NULL;
	for (uint32 i = 0; i < n; i++)
	{
		if ((err = need_block(shared, (uint32) codes[i], &waiting)) != NULL)
			return err;
	}
	return waiting != NONE ? form_blocks(shared, waiting, NONE) : NULL;
}

/* Forms all entries of the dictionary, if it is one of those that wait for it. */
const char *
zscodec_shared_form(const ZsSharedState *shared)
{
	uint32		waiting = NONE;
	const char *err;

	if (shared->coded == NULL)
		return NULL;
	for (uint32 code = 0; code < shared->ndict; code += ZS_DICT_CODED_BLOCK)
	{
		if ((err = need_block(shared, code, &waiting)) != NULL)
			return err;
	}
	return waiting != NONE ? form_blocks(shared, waiting, NONE) : NULL;
}

/* The value of a code, formed in the arena of out unless it is formed already. */
const char *
zscodec_dict_one(const ZsSharedState *shared, uint64 code, ZsVectorOut *out, uint64 *value)
{
	ZsCodedDict *d = shared->coded;
	uint32		first = (uint32) code - (uint32) code % ZS_DICT_CODED_BLOCK;
	uint64		before = 0;
	ZsBitReader bits;
	ZsReader	r;
	uint8	   *p;
	uint8	   *data;

	*value = shared->dict_values[code];
	if (d == NULL || *value != 0)
		return NULL;
	r.p = d->codes;
	r.end = d->codes + d->codes_len;
	for (uint32 i = first; i < code; i++)
		before += d->lens[i];
	if (!zscodec_arena_reserve(&out->alloc, &out->arena, &out->arena_size,
							   (size_t) d->lens[code] + ZS_VARLENA_OVERHEAD + ZS_SLACK))
		return ZS_ERR_MEMORY;
	p = out->arena;
	*value = zscodec_varlena_start(&p, d->lens[code], &data);
	return zscodec_words_start(&bits, &r, d->bits[first / ZS_DICT_CODED_BLOCK]) &&
		zscodec_words_skip(&bits, shared->words, before) &&
		zscodec_words_decode(&bits, shared->words, data, d->lens[code]) ? NULL :
		"dictionary entry is corrupted";
}
