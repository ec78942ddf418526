/*
 * zs_codec.h
 *	  Column values to bytes and back: the payload of a segment.
 *
 * A segment holds one column of up to 64 vectors of 1024 consecutive rows and is written once.
 * This module turns the values into one contiguous byte string, the payload, and reads it back
 * vector by vector.  It knows bytes only: no Datum, Relation, Buffer, palloc or ereport.  Memory
 * comes from callbacks, and bytes that do not make sense yield a reason (a constant string), never
 * a crash.
 *
 * Writing:
 *
 *		ZsEncoder	enc;
 *		ZsCodecBuf	out;
 *
 *		zscodec_encoder_init(&enc, &alloc);
 *		zscodec_buf_init(&out, &alloc);
 *		err = zscodec_segment_encode(&enc, &input, &options, &out);		out.data[0 .. out.len)
 *		...											any number of segments, any kinds
 *		zscodec_buf_free(&out);
 *		zscodec_encoder_free(&enc);
 *
 * Reading.  The head (header and vector directory) lies within the first ZS_SEGMENT_HEAD_MAX bytes:
 *
 *		err = zscodec_segment_open(head, headlen, &info);
 *		zscodec_shared_init(&shared, &alloc);
 *		if (info.shared_len > 0)
 *			err = zscodec_shared_open(&info, bytes of [shared_off, + shared_len), info.shared_len,
 *									  &shared);
 *		zscodec_vector_init(&vec, &alloc);
 *		err = zscodec_vector_decode(&info, v, bytes of [vectors[v].off, + vectors[v].len),
 *									vectors[v].len, &shared, ZS_FORM_VALUES, &vec);
 *		vec.values[], vec.isnull[] ...
 *
 * Errors: functions that read or encode return NULL on success, else a short English phrase such as
 * "bit width out of range" that the caller puts into its own message.  After an error every
 * structure may still be freed and used again.
 *
 * The byte format is described in src/codec/codec_internal.h and docs/encodings.md.
 */
#ifndef ZS_CODEC_H
#define ZS_CODEC_H

#ifdef ZS_CODEC_SHIM
#include "zs_codec_shim.h"
#else
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif
#endif

#include "zs_compression.h"

/* Rows of a vector, vectors of a segment. */
#define ZS_VECTOR_ROWS			1024
#define ZS_SEGMENT_VECTORS		64
#define ZS_SEGMENT_ROWS			(ZS_VECTOR_ROWS * ZS_SEGMENT_VECTORS)

/* Header and directory never take more than this. */
#define ZS_SEGMENT_HEAD_MAX		4096

/*
 * Versions of the format.  A segment has the lowest that has what is in it: 2 has dictionaries of
 * more than 16,384 entries and such as are coded by words.
 */
#define ZS_CODEC_VERSION_MIN	1
#define ZS_CODEC_VERSION_MAX	2

/* A value, and all values of one vector together, stay below these. */
#define ZS_VALUE_SIZE_MAX		0x3FFFFFFF
#define ZS_VECTOR_RAW_MAX		((uint64) 0x40000000)

/* What the values are: decides the encodings tried and how values come out. */
typedef enum ZsValueKind
{
	ZS_KIND_INVALID = 0,
	ZS_KIND_INT,				/* by value, 1, 2, 4 or 8 bytes, sign-extended into int64 */
	ZS_KIND_FLOAT4,				/* bit pattern, sign-extended from 32 bits */
	ZS_KIND_FLOAT8,				/* bit pattern */
	ZS_KIND_NUMERIC,			/* payload of a numeric varlena (without varlena header) */
	ZS_KIND_FIXED,				/* by reference, fixed length */
	ZS_KIND_BYTES				/* payload of a varlena (without varlena header) */
} ZsValueKind;

/* How a vector is encoded; LZ4 or zstd may come on top.  On disk: never renumber. */
typedef enum ZsEncoding
{
	ZS_ENC_INVALID = 0,
	ZS_ENC_ALLNULL,				/* no values at all */
	ZS_ENC_CONST,				/* one value for all rows */
	ZS_ENC_FOR,					/* frame of reference, bit packed, outliers patched */
	ZS_ENC_DELTA,				/* differences, frame of reference over them */
	ZS_ENC_RLE,					/* run values and run lengths */
	ZS_ENC_SCALED,				/* base + factor * inner integers */
	ZS_ENC_DICT,				/* codes into the segment's dictionary */
	ZS_ENC_ALP,					/* floats as decimal-scaled integers */
	ZS_ENC_NUMERIC,				/* numerics as scaled integers */
	ZS_ENC_PLAIN,				/* lengths and bytes */
	ZS_ENC_FSST,				/* lengths and bytes coded by the segment's symbol table */
	ZS_ENC_MIXED,				/* codes for values in the dictionary, the others plain or by
								 * symbols */
	ZS_ENC_WORDS,				/* lengths and prefix codes of the segment's frequent pieces of
								 * text */
	ZS_ENC_COUNT
} ZsEncoding;

/*
 * Memory.  alloc may raise (longjmp) or return NULL, which becomes the error "out of memory"; sizes
 * above 1 GB are possible when values are that large, so use a "huge" allocation in the server.
 * Results are aligned as by malloc.  Nothing else is held when a callback is called, so a longjmp
 * leaks nothing that resetting the memory context behind the callbacks does not free.
 */
typedef struct ZsAllocator
{
	void	   *(*alloc) (void *ctx, size_t size);
	void		(*free) (void *ctx, void *ptr);
	void	   *ctx;
} ZsAllocator;

/* A byte buffer that grows. */
typedef struct ZsCodecBuf
{
	uint8	   *data;
	size_t		len;
	size_t		size;
	ZsAllocator alloc;
} ZsCodecBuf;

/* ---- encoding (codec_buf.c) ---------------------------------------------------------- */

/* nrows consecutive rows of one column. */
typedef struct ZsColumnInput
{
	ZsValueKind kind;
	int			width;			/* INT: 1, 2, 4, 8; FIXED: length in bytes; else ignored */
	uint8		align;			/* FIXED: 1, 2, 4 or 8; else ignored */
	bool		is_unsigned;	/* INT: order of the zone map (oid, ...) */
	uint32		nrows;			/* 1 .. ZS_SEGMENT_ROWS */
	const uint8 *isnull;		/* one byte a row, nonzero = null; NULL = no nulls */
	const uint8 *isext;			/* NUMERIC, BYTES: one byte a row, nonzero = the bytes are an
								 * overflow pointer, opaque here; NULL = none */
	const int64 *ints;			/* INT, FLOAT4, FLOAT8; content at null rows is ignored.
								 * NUMERIC: if not NULL, value i is ints[i] / 10^scale as
								 * zscodec_numeric_to_int() says, and there are no bytes, offsets
								 * and isext */
	int			scale;			/* NUMERIC with ints: one for all values */
	uint64		raw_bytes;		/* NUMERIC with ints: about what the payloads would take, for
								 * statistics */
	const uint8 *bytes;			/* other kinds: value i is bytes[offsets[i] .. offsets[i + 1]) */
	const uint64 *offsets;		/* nrows + 1 entries; null rows are empty; FIXED values have
								 * width bytes each, null rows are empty too */
	bool		continues;		/* the segment that this encoder wrote last is of this column,
								 * not far away, and has as many rows or so: what was chosen then
								 * is likely to be good for this one; or a choice was recalled */
} ZsColumnInput;

typedef struct ZsEncodeOptions
{
	ZsCompression compression;
	int			level;			/* 0 = default; LZ4: 1 fast, 2-12 high compression; zstd: 1-22 */
} ZsEncodeOptions;

#define ZS_ENCODER_BUFS		15

/* Scratch memory of encoding, kept between segments.  Private to the codec. */
typedef struct ZsEncoder
{
	ZsAllocator alloc;
	ZsCodecBuf	bufs[ZS_ENCODER_BUFS];
	int			last_mode;		/* of strings, in the last segment; -1 = none */
	uint64		last_total;		/* bytes of the segment for which it was chosen */
	bool		has_words;		/* the last segment's table is still there */
} ZsEncoder;

/*
 * What was chosen for a column, kept for a later segment of it when the encoder has had others in
 * between.
 */
typedef struct ZsColumnChoice
{
	int			mode;			/* of strings; -1 = none */
	uint64		total;			/* bytes of the segment for which it was chosen */
	uint32		nrows;			/* rows of the last segment */
	uint32		nrecalls;		/* since choices were last made afresh */
	uint64		raw;			/* bytes of the column's segment then, and what it became */
	uint64		stored;
	ZsCodecBuf	words;			/* pieces of text that the last table had; may be empty */
} ZsColumnChoice;

extern void zscodec_buf_init(ZsCodecBuf *buf, const ZsAllocator *alloc);
extern void zscodec_buf_free(ZsCodecBuf *buf);

extern void zscodec_encoder_init(ZsEncoder *enc, const ZsAllocator *alloc);
extern void zscodec_encoder_free(ZsEncoder *enc);

/* codec_segment.c */

extern const char *zscodec_segment_encode(ZsEncoder *enc, const ZsColumnInput *input,
										  const ZsEncodeOptions *options, ZsCodecBuf *out);

/*
 * Numeric payloads as integers.  zscodec_numeric_to_int() says whether a payload is value /
 * 10^scale with scale as its display scale, in the form that zscodec_numeric_from_int() makes from
 * the two: at most ZS_NUMERIC_PAYLOAD_MAX bytes, whose number is returned.
 */
#define ZS_NUMERIC_PAYLOAD_MAX	16

/* codec_numeric.c */
extern bool zscodec_numeric_to_int(const uint8 *payload, size_t len, int *scale, int64 *value);

/* Bytes of a numeric in memory, header included, with zeros behind it. */
#define ZS_NUMERIC_IMAGE_SIZE	16

extern bool zscodec_numerics_to_ints(const uint64 *images, uint32 n, int scale, int64 *ints,
									 uint64 *nbytes);

/* codec_numeric_decode.c */
extern size_t zscodec_numeric_from_int(int64 value, int scale, uint8 *payload);

/* codec_segment.c */

extern size_t zscodec_segment_max_size(const ZsColumnInput *input);

/* ---- choices (codec_recall.c) ------------------------------------------------------------ */

extern void zscodec_choice_init(ZsColumnChoice *choice, const ZsAllocator *alloc);
extern bool zscodec_choice_keep(const ZsEncoder *enc, uint32 nrows, uint64 raw, uint64 stored,
								ZsColumnChoice *choice);
extern bool zscodec_choice_recall(ZsEncoder *enc, ZsColumnChoice *choice, uint32 nrows);

/* ---- reading the head (codec_reader.c) ----------------------------------------------- */

typedef struct ZsVectorInfo
{
	uint32		off;			/* from the start of the payload */
	uint32		len;			/* 0 when all rows are null */
	uint16		nrows;
	uint16		nnulls;
	uint8		encoding;		/* ZsEncoding, the outermost */
	uint8		compression;	/* ZsCompression */
	bool		has_ext;		/* some values are overflow pointers */
	bool		has_zone;		/* zone_min and zone_max bound all non-null values */
	bool		needs_shared;	/* decoding needs the shared area */
	int64		zone_min;		/* in the zone domain of the kind, see below */
	int64		zone_max;
} ZsVectorInfo;

typedef struct ZsSegmentInfo
{
	ZsValueKind kind;
	uint16		width;			/* as in ZsColumnInput */
	uint8		align;
	bool		is_unsigned;
	bool		has_zone;		/* segment-wide bounds are known */
	bool		has_ext;
	uint32		nrows;
	uint32		nvectors;
	uint32		nnulls;
	uint32		head_len;		/* header and directory */
	uint32		shared_off;		/* dictionary, symbol table, compression prefix */
	uint32		shared_len;		/* 0 = none */
	uint64		raw_size;		/* logical bytes: width of the values, or their payload lengths */
	uint32		stored_size;	/* length of the whole payload */
	int64		zone_min;
	int64		zone_max;
	ZsVectorInfo vectors[ZS_SEGMENT_VECTORS];
} ZsSegmentInfo;

extern const char *zscodec_segment_open(const uint8 *head, size_t len, ZsSegmentInfo *info);
extern int	zscodec_segment_version(const uint8 *head, size_t len);

/* codec_uniform.c */

/*
 * A segment whose rows all have the same value, or are all null, and whose vectors are alike and
 * have few bytes each.  Its payload follows from this.
 */
#define ZS_UNIFORM_BODY_MAX		8
#define ZS_UNIFORM_PAYLOAD_MAX	1088

typedef struct ZsUniform
{
	ZsValueKind kind;			/* this and the next as in ZsSegmentInfo */
	uint16		width;
	uint8		align;
	bool		is_unsigned;
	bool		has_zone;
	bool		all_null;
	uint32		nrows;
	uint64		raw_size;
	int64		zone_min;
	int64		zone_max;
	uint8		body_len;		/* bytes of each vector */
	uint8		body[ZS_UNIFORM_BODY_MAX];
} ZsUniform;

extern bool zscodec_uniform_find(const uint8 *payload, const ZsSegmentInfo *info,
								 ZsUniform *uniform);
extern uint32 zscodec_uniform_size(const ZsUniform *uniform);
extern void zscodec_uniform_bytes(const ZsUniform *uniform, uint32 from, uint32 to, uint8 *dst);

/* codec_reader.c */

extern const char *zscodec_encoding_name(ZsEncoding encoding);
extern const char *zscodec_compression_name(ZsCompression compression);

/* ---- decoding (codec_buf.c) ---------------------------------------------------------- */

/*
 * The forms in which a decoder can give the rows of a vector: bits of `want`, of ZsVectorOut.have
 * and of what zscodec_vector_forms() returns.  A caller asks for the cheapest forms that it can use
 * and looks at `have`, since what there is depends on the encoding, which differs from vector to
 * vector.
 *
 *	NULLS	nulls[], isnull[], isext[]; come with every other form
 *	VALUES	values[]: always to be had
 *	CODES	codes[]: numbers of entries of the segment's dictionary (DICT)
 *	SCALED	scaled[]: numerics as integers (kind NUMERIC; a dictionary's only after
 *			zscodec_shared_scale())
 *	LENGTHS	lengths[]: of the bytes of each value, without looking at them (kind BYTES)
 *	CONST	constant: one value for all rows that are not null (CONST).  Where it is to be had it
 *			comes instead of VALUES, SCALED and LENGTHS, whose arrays are not filled then
 *	ENTRIES	codes[]: the same where only some values are entries; ZS_NO_ENTRY at others (MIXED)
 *	SOME	values[] of the rows in some[] only, instead of VALUES: zscodec_vector_decode_some()
 *
 * All other arrays are as they were: several calls, each for what is missing, fill one structure.
 */
#define ZS_FORM_NULLS			0x01
#define ZS_FORM_VALUES			0x02
#define ZS_FORM_CODES			0x04
#define ZS_FORM_SCALED			0x08
#define ZS_FORM_LENGTHS			0x10
#define ZS_FORM_CONST			0x20
#define ZS_FORM_SOME			0x40
#define ZS_FORM_ENTRIES			0x80
#define ZS_NO_ENTRY				((uint32) 0xFFFFFFFF)

/* Words of a bitmap of a vector's rows: row i is bit i % 64 of word i / 64; others are 0. */
#define ZS_VECTOR_WORDS			(ZS_VECTOR_ROWS / 64)

/* The display scale of a numeric is below this. */
#define ZS_DSCALE_ODD			0xFF

/*
 * The segment's shared area, parsed: kept as long as vectors of the segment are decoded and as long
 * as values and codes of its vectors are used (they point in here).  All zero but alloc = empty.
 */
typedef struct ZsSharedState
{
	ZsAllocator alloc;
	uint32		ndict;			/* dictionary entries, 0 = no dictionary */
	bool		dict_sorted;	/* codes are in value order (integers; memcmp order for bytes) */

	/*
	 * INT, FLOAT: datum-ready; others: pointers, formed as in ZsVectorOut.  Of a dictionary that is
	 * coded, an entry is 0 until it is needed for a value, or zscodec_shared_form() was called.
	 */
	const uint64 *dict_values;

	/*
	 * NUMERIC, after zscodec_shared_scale(), else NULL: entry i is dict_scaled[i] / 10^dict_scale
	 * and has the display scale dict_dscales[i].  An entry with ZS_DSCALE_ODD there is no such
	 * integer: only its value will do.
	 */
	const int64 *dict_scaled;
	const uint8 *dict_dscales;
	int			dict_scale;
	bool		dict_same_dscale;	/* all that are not odd have dict_scale as display scale */
	bool		dict_has_odd;

	/* private */
	uint8	   *mem;			/* all of the above but the integers, and of the below */
	uint32		mem_size;		/* with coded and body */
	uint8	   *scaled_mem;		/* dict_scaled, dict_dscales */
	uint32		scaled_size;
	uint32		nsymbols;		/* FSST */
	const uint64 *symbols;
	const uint8 *symbol_lens;
	const struct ZsWordReader *words;
	struct ZsCodedDict *coded;	/* the dictionary is coded by the words */
	uint8	   *body;			/* decompressed, while the area is opened */
	const uint8 *prefix;		/* raw content in front of each vector's LZ4 or zstd window */
	uint32		prefix_len;
} ZsSharedState;

/*
 * One decoded vector.  Rows 0 .. nrows - 1 are valid, in the forms of `have`.
 *
 * values[]: INT, FLOAT4, FLOAT8: the sign-extended integer; NUMERIC, BYTES: address of a complete
 * varlena: a 1-byte header when header and value take at most 127 bytes, else (and for most
 * NUMERICs) a 4-byte header at an address aligned to 4; FIXED: address aligned as the type wants.
 * Addresses point into the arena of this structure or into ZsSharedState and are valid until the
 * next decode of values into this structure.  Overflow pointers come as BYTES.
 *
 * scaled[]: the row is scaled[i] / 10^scale, less than 10^18 in size.  Its display scale is `scale`
 * if same_dscale, else dscales[i].
 *
 * odd[]: rows, none of them null, of which SCALED and LENGTHS say nothing: NaN, infinities,
 * numerics of too many digits, overflow pointers.  Their values have to be had.
 *
 * Null rows have 0 in all arrays, odd ones in scaled[], dscales[] and lengths[].
 */
typedef struct ZsVectorOut
{
	ZsAllocator alloc;
	uint32		nrows;
	uint32		have;			/* forms, ZS_FORM_... */
	bool		has_nulls;		/* else nulls[] and isnull[] are all false */
	bool		has_ext;		/* else isext[] is undefined */
	bool		has_odd;		/* else odd[] is undefined; with SCALED and LENGTHS only */
	bool		same_dscale;	/* SCALED */
	int			scale;			/* SCALED, and CONST with const_scaled */
	uint64		constant;		/* CONST: as in values[] */
	bool		has_const_scaled;	/* CONST of a numeric: const_scaled / 10^scale, shown so */
	int64		const_scaled;
	uint32		const_length;	/* CONST of BYTES: as in lengths[] */
	uint64		nulls[ZS_VECTOR_WORDS];
	uint64		odd[ZS_VECTOR_WORDS];
	uint64		some[ZS_VECTOR_WORDS];	/* SOME */
	uint64		values[ZS_VECTOR_ROWS];
	int64		scaled[ZS_VECTOR_ROWS];
	uint32		codes[ZS_VECTOR_ROWS];
	uint32		lengths[ZS_VECTOR_ROWS];
	uint8		dscales[ZS_VECTOR_ROWS];	/* SCALED without same_dscale */
	bool		isnull[ZS_VECTOR_ROWS];
	bool		isext[ZS_VECTOR_ROWS];
	const uint8 *body;			/* see zscodec_vector_decode_one() */
	size_t		body_len;
	/* private */
	uint8	   *arena;
	size_t		arena_size;
	uint8	   *kept;			/* an arena that values given out before may lie in */
	size_t		kept_size;
	uint8	   *scratch;
	size_t		scratch_size;
} ZsVectorOut;

extern void zscodec_shared_init(ZsSharedState *shared, const ZsAllocator *alloc);
extern void zscodec_shared_free(ZsSharedState *shared);
extern void zscodec_vector_init(ZsVectorOut *out, const ZsAllocator *alloc);
extern void zscodec_vector_free(ZsVectorOut *out);

/* codec_shared.c */

extern const char *zscodec_shared_open(const ZsSegmentInfo *info, const uint8 *bytes, size_t len,
									   ZsSharedState *shared);

/* codec_buf.c */

extern size_t zscodec_shared_memory(const ZsSharedState *shared);

/* codec_dict_coded.c */

extern const char *zscodec_shared_form(const ZsSharedState *shared);

/* codec_numeric.c */

extern const char *zscodec_shared_scale(const ZsSegmentInfo *info, ZsSharedState *shared);

/* codec_decode.c */

extern uint32 zscodec_vector_forms(const ZsSegmentInfo *info, int vecno);
extern const char *zscodec_vector_decode(const ZsSegmentInfo *info, int vecno, const uint8 *vec,
										 size_t len, const ZsSharedState *shared, uint32 want,
										 ZsVectorOut *out);
extern const char *zscodec_vector_decode_some(const ZsSegmentInfo *info, int vecno,
											  const uint8 *vec, size_t len,
											  const ZsSharedState *shared, const uint64 *rows,
											  ZsVectorOut *out);

/* codec_buf.c */

extern void zscodec_vector_keep(ZsVectorOut *out);

/* codec_dict_decode.c */

extern const char *zscodec_vector_from_codes(const ZsSegmentInfo *info, const ZsSharedState *shared,
											 uint32 want, ZsVectorOut *out);

/* codec_total.c */

/* What the values of a vector come to that are not null, of kinds INT and NUMERIC. */
typedef struct ZsVectorTotals
{
	uint32		nrows;
	uint32		nvalues;		/* not null; if 0, what follows is undefined */
	int			scale;			/* NUMERIC: of the integers below, and the display scale of all
								 * values */
	int64		sum;
	int64		min;			/* if they were asked for */
	int64		max;
} ZsVectorTotals;

extern const char *zscodec_vector_totals(const ZsSegmentInfo *info, int vecno, const uint8 *vec,
										 size_t len, const ZsSharedState *shared, bool extremes,
										 ZsVectorOut *out, ZsVectorTotals *totals, bool *found);

/* codec_decode.c */

extern bool zscodec_vector_part(const ZsSegmentInfo *info, int vecno, const uint8 *head,
								size_t head_len, uint32 idx, uint32 *from, uint32 *to);
extern const char *zscodec_vector_decode_one(const ZsSegmentInfo *info, int vecno, const uint8 *vec,
											 size_t len, const ZsSharedState *shared, uint32 idx,
											 bool whole, ZsVectorOut *out);

/* ---- zone maps (codec_zone.c) ---------------------------------------------------------- */

/*
 * Zone maps live in one signed 64-bit domain per kind, and the order of the domain follows the
 * order of the values: a <= b implies zone(a) <= zone(b).  The reverse does not hold for NUMERIC,
 * FIXED and BYTES, whose images are rounded: equal images say nothing.  A reader may skip a vector
 * for "x > c" when zone_max < zone(c), for "x >= c" likewise, for "x = c" when zone(c) lies outside
 * [zone_min, zone_max]; for exact kinds (INT, FLOAT) it may also skip "x > c" when zone_max <=
 * zone(c).
 *
 *	INT			the integer; unsigned types: moved so that the unsigned order holds
 *	FLOAT4, 8	the value as float8 in a total order; -0.0 equals 0.0; all NaNs are equal and
 *				largest
 *	NUMERIC		zone_min is a float8 not above, zone_max one not below the values, mapped as FLOAT8;
 *				NaN is largest.  A constant is an interval, too: zscodec_zone_from_numeric()
 *	FIXED,		the first 8 bytes, big-endian, padded with zeros: follows memcmp order only, as
 *	BYTES		bytea, uuid and text in C collation do; equal bytes have equal images
 */
extern int64 zscodec_zone_from_int64(int64 value, int width, bool is_unsigned);
extern int64 zscodec_zone_from_float8(double value);
extern int64 zscodec_zone_from_pattern(ZsValueKind kind, uint64 pattern);
extern int64 zscodec_zone_from_bytes(const uint8 *bytes, size_t len);
extern bool zscodec_zone_from_numeric(const uint8 *payload, size_t len, int64 *lower, int64 *upper);

#endif							/* ZS_CODEC_H */
