/*-------------------------------------------------------------------------
 *
 * codec_encode.h
 *	  State of encoding one segment, shared by the files that choose, encode and assemble.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_encode.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_ENCODE_H
#define CODEC_ENCODE_H

#include "codec_alp.h"
#include "codec_compress.h"
#include "codec_dict.h"
#include "codec_fsst.h"
#include "codec_internal.h"
#include "codec_words.h"

/* How the by-reference vectors of a segment are written, cheapest to decode first. */
typedef enum ZsStringMode
{
	ZS_STRINGS_DICT = 0,		/* codes; vectors with overflow pointers fall back to packed */
	ZS_STRINGS_PLAIN,			/* as they are */
	ZS_STRINGS_FSST,
	ZS_STRINGS_WORDS,			/* codes for pieces of text */
	ZS_STRINGS_PACKED,			/* plain, then LZ4 or zstd */
	ZS_STRINGS_PREFIXED,		/* the same behind a prefix from the segment */
	ZS_STRINGS_FSST_PACKED,		/* symbols, then LZ4 or zstd */
	ZS_STRINGS_MIXED,			/* codes and symbols, then LZ4 or zstd */
	ZS_STRINGS_DICT_WORDS,		/* codes of a dictionary whose entries are coded by words */
	ZS_STRINGS_MIXED_WORDS,		/* the same of the frequent values, words for the others */
	ZS_STRINGS_MODES
} ZsStringMode;

/* The rows of one vector, nulls set aside. */
typedef struct ZsVectorRows
{
	uint32		vecno;
	uint32		nrows;
	uint32		n;				/* non-null rows: entries of the arrays below */
	uint32		nnulls;
	uint32		next;
	bool		all_equal;		/* numerics and by-reference values only */
	const uint8 *bytes;			/* by-reference values, side by side */
	size_t		total;
	const uint64 *vals;			/* integers: the input's, or those of dense */
	uint64		dense[ZS_VECTOR_ROWS];
	const uint8 *ptrs[ZS_VECTOR_ROWS];
	uint32		lens[ZS_VECTOR_ROWS];
	uint8		isext[ZS_VECTOR_ROWS];
	uint16		rows[ZS_VECTOR_ROWS];	/* row of each entry */
	uint16		null_pos[ZS_VECTOR_ROWS];
	uint16		ext_pos[ZS_VECTOR_ROWS];
} ZsVectorRows;

/* Is there a dictionary of the frequent values? */
static inline bool
zscodec_mode_mixed(ZsStringMode mode)
{
	return mode == ZS_STRINGS_MIXED || mode == ZS_STRINGS_MIXED_WORDS;
}

/* Is the dictionary coded? */
static inline bool
zscodec_mode_coded(ZsStringMode mode)
{
	return mode == ZS_STRINGS_DICT_WORDS || mode == ZS_STRINGS_MIXED_WORDS;
}

typedef struct ZsSegmentEncoder
{
	ZsEncoder  *enc;
	const ZsColumnInput *in;
	const ZsEncodeOptions *options;
	bool		by_ref;			/* values come as bytes */
	uint32		nvectors;

	/* choices for the segment */
	ZsDictBuild dict;
	bool		use_dict;
	ZsAlpChoice alp;
	ZsStringMode mode;
	const ZsSymbolTable *symbols;	/* NULL = none */
	const ZsWordTable *words;	/* NULL = none */
	uint32		words_rounds;	/* of building it, 0 = not known */
	uint32		words_built;	/* how many of them are done */
	const uint8 *prefix;
	size_t		prefix_len;

	/* experience with compressing vectors: whether to go on trying */
	uint32		ntried;
	uint32		nsaved;

	/* what the dictionary saved so far, and what vectors took altogether */
	uint64		dict_saved;
	uint64		native_total;

	ZsVectorInfo vectors[ZS_SEGMENT_VECTORS];
	ZsVectorRows rows;
} ZsSegmentEncoder;

/* codec_rows.c */
extern const char *zscodec_rows_gather(ZsSegmentEncoder *se, uint32 vecno, uint32 maxrows);

/* codec_vector.c */
extern const char *zscodec_vector_encode(ZsSegmentEncoder *se, uint32 vecno, const uint8 **bytes);

/* codec_choose.c */
extern const char *zscodec_segment_choose(ZsSegmentEncoder *se);

#endif							/* CODEC_ENCODE_H */
