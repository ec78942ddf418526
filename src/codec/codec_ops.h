/*-------------------------------------------------------------------------
 *
 * codec_ops.h
 *	  What writers and readers do with a vector, by its encoding.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_ops.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_OPS_H
#define CODEC_OPS_H

#include "codec_encode.h"
#include "codec_internal.h"

/* A body that was found and whose position sets were read. */
typedef struct ZsVectorBody
{
	const ZsVectorInfo *vi;
	ZsReader	r;				/* at the values */
	uint32		n;				/* values: rows that are not null */
	uint32		nnulls;
	uint32		next;
	uint32		nodd;			/* values without SCALED or LENGTHS */
	uint16		null_pos[ZS_VECTOR_ROWS];
	uint16		ext_pos[ZS_VECTOR_ROWS];	/* among the values */
	uint16		odd_pos[ZS_VECTOR_ROWS];	/* among the values */
	bool		some;			/* of VALUES only those in only[] matter */
	bool		left_out;		/* others were left out */
	uint64		only[ZS_VECTOR_WORDS];	/* among the values */
} ZsVectorBody;

/* By-reference values that are to be written. */
typedef struct ZsLiterals
{
	const uint8 *const *ptrs;
	const uint32 *lens;
	uint32		n;
	size_t		total;			/* bytes of all */
} ZsLiterals;

#define ZS_NOT_ENCODED			SIZE_MAX

/*
 * An encoding.
 *
 * encode: writes the values that se->rows has to out; returns their length, or ZS_NOT_ENCODED: they
 * have no such form, or the segment's mode does not want it.  May set the zone map of *vi, and
 * where a tag within the bytes says more vi->encoding.  There is room (zscodec_vector_encode()).
 *
 * encode_literals: the same of some by-reference values, for encodings that are literals, too.
 *
 * settles: is what encode made of so many bytes so good that no other need be tried?  NULL: yes.
 *
 * Functions that read return NULL or what is wrong; of bytes they believe nothing but what the
 * directory says and zscodec_segment_open() has checked.
 *
 * decode: the wanted forms of the body's values, into the first body->n entries of their arrays.
 * Takes out of *want what turns out not to be there, and notes in body->odd_pos values that SCALED
 * and LENGTHS say nothing of.  May leave out VALUES that do not matter, and says so.
 *
 * decode_one: value `entry` of the body alone; less than all is looked at where that is possible.
 *
 * ints: the values as integers of one scale, without places for nulls, and the scale; *found is
 * false if they are none.  May be NULL: they are none.
 *
 * part: which bytes of the vector decode_one looks at besides those in front of `from`.  The reader
 * is behind the position set of the nulls, head is where the vector begins.  May be NULL, and
 * return false: any.
 */
typedef struct ZsEncodingOps
{
	const char *name;			/* as users see it */
	uint32		kinds;			/* whose vectors may have it: bits of ZsValueKind */
	uint32		forms;			/* ZS_FORM_... besides NULLS and VALUES, as far as the kind knows
								 * them */
	uint32		ext_forms;		/* the same of vectors with overflow pointers */
	bool		needs_shared;	/* vectors need the segment's shared area */
	bool		is_stream;		/* streams of integers: LZ4 or zstd only as experience says */
	uint32		packed_in;		/* others: modes in which one of these is tried */
	size_t		(*encode) (ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out);
	size_t		(*encode_literals) (ZsSegmentEncoder *se, const ZsLiterals *values, uint8 *out);
	bool		(*settles) (const ZsSegmentEncoder *se, size_t size);
	const char *(*decode) (const ZsSegmentInfo *info, ZsVectorBody *body,
						   const ZsSharedState *shared, uint32 *want, ZsVectorOut *out);
	const char *(*decode_one) (const ZsSegmentInfo *info, ZsVectorBody *body, uint32 entry,
							   const ZsSharedState *shared, ZsVectorOut *out, uint64 *value);
	const char *(*ints) (const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
						 const ZsSharedState *shared, uint64 *ints, int *scale, bool *found);
	bool		(*part) (const ZsSegmentInfo *info, const ZsVectorInfo *vi, ZsReader *r, uint32 n,
						 uint32 entry, const uint8 *head, uint64 *from, uint64 *to);
} ZsEncodingOps;

/* By ZsEncoding.  ALLNULL has no functions, INVALID no kinds. */
extern const ZsEncodingOps zscodec_encoding_ops[ZS_ENC_COUNT];

/* Those that a vector may have by itself, as they are tried; ends with INVALID. */
extern const uint8 zscodec_encoding_order[];

/* Does this encoding, whatever number it is, occur as the outermost one of the kind? */
static inline bool
zscodec_encoding_fits(ZsValueKind kind, int encoding)
{
	return encoding >= 0 && encoding < ZS_ENC_COUNT &&
		(zscodec_encoding_ops[encoding].kinds >> kind & 1) != 0;
}

/* codec_dict_encode.c */

extern size_t zscodec_dict_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out);
extern size_t zscodec_mixed_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out);

/* codec_dict_decode.c */

/* DICT, and MIXED: codes of the segment's dictionary, and literals. */
extern const char *zscodec_dict_decode(const ZsSegmentInfo *info, ZsVectorBody *body,
									   const ZsSharedState *shared, uint32 *want,
									   ZsVectorOut *out);
extern const char *zscodec_dict_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body,
										   uint32 entry, const ZsSharedState *shared,
										   ZsVectorOut *out, uint64 *value);
extern const char *zscodec_mixed_decode(const ZsSegmentInfo *info, ZsVectorBody *body,
										const ZsSharedState *shared, uint32 *want,
										ZsVectorOut *out);
extern const char *zscodec_mixed_decode_one(const ZsSegmentInfo *info, ZsVectorBody *body,
											uint32 entry, const ZsSharedState *shared,
											ZsVectorOut *out, uint64 *value);

extern const char *zscodec_dict_decode_ints(const ZsSegmentInfo *info, const ZsVectorInfo *vi,
											ZsReader *r, uint32 n, const ZsSharedState *shared,
											uint64 *ints, int *scale, bool *found);

/* codec_decode.c */

/* Sets the reader on the body, decompressing it first if it is compressed. */
extern const char *zscodec_open_body(const ZsSegmentInfo *info, const ZsVectorInfo *vi,
									 const uint8 *vec, size_t len, const ZsSharedState *shared,
									 ZsVectorOut *out, ZsReader *r);

/* codec_spread.c */

/* Null flags and those of overflow pointers, whose positions become rows. */
extern void zscodec_mark_nulls(ZsVectorBody *body, ZsVectorOut *out);

/* Moves what was decoded of the values, the forms in have, to their rows. */
extern void zscodec_spread_forms(const ZsVectorBody *body, uint32 have, ZsVectorOut *out);

/* Marks rows of which SCALED or LENGTHS say nothing; positions of overflow pointers are rows. */
extern void zscodec_mark_odd(ZsVectorBody *body, uint32 have, ZsVectorOut *out);

/* All rows of a vector without values. */
extern void zscodec_fill_nulls(const ZsVectorInfo *vi, uint32 want, ZsVectorOut *out);

#endif							/* CODEC_OPS_H */
