/*
 * codec_gen.h
 *	  Random and adversarial columns for the codec's tests: seeded, so that a failure can be
 *	  repeated.
 */
#ifndef CODEC_GEN_H
#define CODEC_GEN_H

#include "zs_codec.h"

#include <stdio.h>

/* A column that owns its memory. */
typedef struct GenColumn
{
	ZsColumnInput in;
	uint8	   *isnull;
	uint8	   *isext;
	int64	   *ints;
	uint8	   *bytes;
	uint64	   *offsets;
	size_t		bytes_size;
	char		what[80];
} GenColumn;

typedef struct GenRandom
{
	uint64		state;
} GenRandom;

static inline uint64
gen_next(GenRandom *r)
{
	uint64		z = (r->state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* 0 .. n - 1 */
static inline uint64
gen_below(GenRandom *r, uint64 n)
{
	return n == 0 ? 0 : gen_next(r) % n;
}

static inline bool
gen_chance(GenRandom *r, int percent)
{
	return gen_below(r, 100) < (uint64) percent;
}

extern void *gen_alloc(void *ctx, size_t size);
extern void gen_free(void *ctx, void *ptr);
extern const ZsAllocator gen_allocator;
extern size_t gen_allocated;	/* bytes in use */
extern size_t gen_largest;		/* largest request */

extern bool gen_long_texts;		/* the next column of strings is one for which dictionaries are
								 * coded */

extern void gen_column(GenRandom *r, ZsValueKind kind, uint32 nrows, GenColumn *col);
extern void gen_column_free(GenColumn *col);
extern void gen_append(GenColumn *col, const void *bytes, size_t len);

/* The payload of sign * value / 10^scale with a display scale; returns its length. */
extern size_t gen_numeric(__int128 value, int scale, int dscale, uint8 *out);

/*
 * Decodes a vector in random forms and compares them with its values: NULL, or what is wrong.
 * intact: the bytes are as they were written.  *have: the forms that were there.  (codec_forms.c)
 */
extern const char *gen_check_forms(GenRandom *r, const ZsSegmentInfo *info, int vecno,
								   const uint8 *bytes, size_t len, const ZsSharedState *shared,
								   bool intact, uint32 *have);
extern void gen_free_forms(void);

#endif							/* CODEC_GEN_H */
