/*-------------------------------------------------------------------------
 *
 * codec_string.h
 *	  By-reference values of a vector, for the container's encoder and decoder.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_string.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_STRING_H
#define CODEC_STRING_H

#include "codec_fsst.h"
#include "codec_internal.h"
#include "codec_words.h"

/* Every so many values it is written down where the next one begins. */
#define ZS_ANCHOR_STRIDE		16

/* Room for the anchors of a vector. */
#define ZS_ANCHORS_SIZE_MAX		(1 + ZS_VECTOR_ROWS / ZS_ANCHOR_STRIDE * 8 + ZS_SLACK)

/* A code of symbols stands for at most 8 bytes. */
#define ZS_FSST_EXPANSION		8

/*
 * Begins a value of len bytes at *p: returns its address, sets *data to where its bytes go.  align:
 * of a FIXED type; 0: a varlena.
 */
static inline uint64
zscodec_value_start(uint32 align, uint8 **p, uint64 len, uint8 **data)
{
	if (align > 0)
	{
		*data = (uint8 *) (((uintptr_t) *p + align - 1) & ~(uintptr_t) (align - 1));
		return (uint64) (uintptr_t) *data;
	}
	return zscodec_varlena_start(p, len, data);
}

static inline uint64
zscodec_value_begin(const ZsSegmentInfo *info, uint8 **p, uint64 len, uint8 **data)
{
	return zscodec_value_start(info->kind == ZS_KIND_FIXED ? info->align : 0, p, len, data);
}

/* Strings coded by words that follow each other, while they are decoded. */
typedef struct ZsStringRun
{
	ZsBitReader bits;
	const uint64 *lens;
	uint64	   *values;
	uint32		align;			/* see zscodec_value_start() */
	uint32		next;			/* the first that has not begun */
	uint32		last;			/* behind the last */
	uint8	   *out;			/* where the string that has begun goes on, and its end */
	uint8	   *end;
} ZsStringRun;

/* Begins the next string of the run; false if there is none. */
static inline bool
zscodec_run_begin(ZsStringRun *run)
{
	uint8	   *p = run->end;

	Assert(run->out == run->end);
	if (run->next == run->last)
		return false;
	run->values[run->next] = zscodec_value_start(run->align, &p, run->lens[run->next], &run->out);
	run->end = run->out + run->lens[run->next++];
	return true;
}

extern size_t zscodec_strings_encode_plain(const uint8 *const *ptrs, const uint32 *lens, uint32 n,
										   bool with_lens, bool with_anchors, uint8 *out);
extern size_t zscodec_strings_encode_fsst(const ZsSymbolTable *table, const uint8 *const *ptrs,
										  const uint32 *lens, uint32 n, const uint8 *limit,
										  bool with_anchors, uint8 *out);
extern size_t zscodec_strings_encode_words(const ZsWordTable *table, const uint8 *const *ptrs,
										   const uint32 *lens, uint32 n, const uint8 *limit,
										   uint8 *out);

extern bool zscodec_values_reserve(const ZsSegmentInfo *info, ZsVectorOut *out, uint32 n,
								   uint64 total);
extern const char *zscodec_anchors_skip(ZsReader *r, uint32 n);
extern const char *zscodec_lens_sum(const ZsSegmentInfo *info, const uint64 *lens, uint32 n,
									uint64 limit, uint64 *total);
extern const char *zscodec_strings_decode(const ZsSegmentInfo *info, int encoding, ZsReader *r,
										  uint32 n, const ZsSharedState *shared, uint32 want,
										  ZsVectorOut *out);
extern const char *zscodec_strings_decode_one(const ZsSegmentInfo *info, int encoding, ZsReader *r,
											  uint32 n, uint32 idx, const ZsSharedState *shared,
											  ZsVectorOut *out, uint64 *value);

/* codec_words_decode.c */
extern bool zscodec_runs_decode(const ZsWordReader *table, ZsStringRun *a, ZsStringRun *b);

/* codec_string_words.c */
extern const char *zscodec_strings_decode_words(const ZsSegmentInfo *info, ZsReader *r,
												const ZsReader *anchors, uint32 n,
												const uint64 *lens, uint64 total,
												const ZsWordReader *words, ZsVectorOut *out);

/* May only some of a vector's strings be decoded, in less time than all? */
static inline bool
zscodec_strings_have_some(int encoding)
{
	return encoding == ZS_ENC_WORDS || encoding == ZS_ENC_FSST;
}

/* codec_string_some.c */
extern const char *zscodec_strings_decode_some(const ZsSegmentInfo *info, int encoding,
											   ZsReader *r, uint32 n,
											   const ZsSharedState *shared, const uint64 *only,
											   uint32 want, ZsVectorOut *out, bool *left_out);

/* codec_string.c */
extern bool zscodec_strings_part(int encoding, ZsReader *r, uint32 n, uint32 idx, const uint8 *head,
								 uint64 *from, uint64 *to);

#endif							/* CODEC_STRING_H */
