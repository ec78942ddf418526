/*-------------------------------------------------------------------------
 *
 * codec_internal.h
 *	  Byte format of segment payloads, and what the files of the codec share.
 *
 * All integers are little-endian and unaligned; readers use the load functions below.
 *
 * PAYLOAD
 *
 *		+--------+-----------+------------------+----------+----------+-----
 *		| header | directory | zone maps        | shared   | vector 0 | vector 1 ...
 *		+--------+-----------+------------------+----------+----------+-----
 *		'------------ head <= 4096 -------------'
 *
 * Header, 32 bytes, or 48 with segment bounds:
 *
 *		0	u8	magic 'Z'				8	u32	rows				20	u64	raw size
 *		1	u8	version (1, 2)		12	u32	nulls				28	u32	length of the payload
 *		2	u8	kind, +0x80 unsigned	16	u32	length of shared	32	i64	zone minimum
 *		3	u8	align, +0x80 bounds						40	i64	zone maximum
 *		4	u16	width
 *		6	u8	w, bytes of a zone map offset: 0, 1, 2, 4, 8
 *		7	u8	vectors
 *
 * Directory, 8 bytes a vector: u32 length; u16 null count (bits 0..10), bit 11 has overflow
 * pointers, bit 12 has a zone map, bit 13 needs the shared area; u8 encoding; u8 compression.
 * Vectors follow each other without gaps, so offsets are sums of lengths.
 *
 * Zone maps: w bytes a vector, minimum - segment minimum, for all vectors; then the same for the
 * maxima.  With one vector w is 0 and the segment's bounds are the vector's.
 *
 * SHARED AREA
 *
 *		u8 flags (1 dictionary, 2 symbol table, 4 prefix, 8 words, 16 coded dictionary); u8
 *		compression; u32 body length; body
 *
 * The body has, in this order: the dictionary (u8 sorted, u32 entries, integer streams of at most
 * 1024 values each: the values, or the lengths followed by the bytes), the symbol table (u8 count,
 * the lengths, the symbols), the words (see codec_words.c), the coded dictionary, the prefix (u32
 * length, bytes).
 *
 * A coded dictionary is one of BYTES whose entries are coded by the words, in blocks of 16: u8
 * sorted; u32 entries; lengths, then bits that the blocks take, as integer streams of at most 1024
 * values each; u32 bytes; the codes.
 *
 * VECTOR
 *
 *		compressed: u32 body length, LZ4 block or zstd frame; else the body itself
 *
 * Body: position set of the nulls when there are nulls and values, position set of the overflow
 * pointers (numbered among the non-null rows) when there are any, then the values of the non-null
 * rows:
 *
 *		integers			integer stream
 *		bytes CONST			the value
 *		bytes DICT			integer stream of codes (integers: inside a DICT stream)
 *		bytes PLAIN			integer stream of lengths, anchors (not for FIXED); the bytes
 *		bytes FSST			integer stream of decoded lengths, anchors; the codes
 *		bytes WORDS			integer stream of decoded lengths, anchors; the codes, high bits first
 *		bytes MIXED			position set of the values not in the dictionary; integer stream of the
 *							others' codes, if any; u8 PLAIN or FSST; those values as above
 *		FLOAT ALP			u8 e, u8 f, u8 has exceptions, [position set, patterns], integer stream
 *		NUMERIC				see codec_numeric.c
 *
 * INTEGER STREAM of n values (n is known from outside)
 *
 *		u8: encoding in the low half, bytes of the base in the high half (0..8); then
 *
 *		CONST	base
 *		FOR		u8 width, +0x80 patches; base; packed; [position set, u8 patch width, packed
 *				patches]
 *		DELTA	base = first value; stream (CONST, FOR) of n - 1 differences
 *		RLE		u16 runs; stream of run lengths - 1; stream of run values (each CONST, FOR, DELTA)
 *		SCALED	base; u8 bytes of the factor; factor; stream (all but SCALED, DICT) of (value -
 *				base) / factor
 *		DICT	stream (all but SCALED, DICT) of codes
 *
 * Arithmetic is modulo 2^64.  A base is sign-extended.  Packed: value i occupies bits [i * width,
 * (i + 1) * width), low bits first; widths 57..63 do not occur.  A patch at position p adds patch
 * << width to value p.
 *
 * ANCHORS of n values (n is known from outside)
 *
 *		u8 width; packed: where values 16, 32, ... begin in what follows, in bytes, WORDS: in bits.
 *		Width 0: there are none, one has to start from the first value.
 *
 * POSITION SET of k positions below n (n is known from outside)
 *
 *		u16 k; then a bitmap of n bits or an Elias-Fano list of the positions or of the others,
 *		whichever is shortest; see codec_posset.c
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_INTERNAL_H
#define CODEC_INTERNAL_H

#include "zs_codec.h"

#ifdef WORDS_BIGENDIAN
#error "the codec of zedstore_io needs a little-endian machine"
#endif

#define ZS_SEGMENT_MAGIC		'Z'
#define ZS_HEADER_SIZE			32
#define ZS_HEADER_BOUNDS_SIZE	16
#define ZS_DIR_ENTRY_SIZE		8

#define ZS_HEADER_UNSIGNED		0x80
#define ZS_HEADER_HAS_BOUNDS	0x80

#define ZS_DIR_NULLS_MASK		0x07FF
#define ZS_DIR_HAS_EXT			0x0800
#define ZS_DIR_HAS_ZONE			0x1000
#define ZS_DIR_NEEDS_SHARED		0x2000
#define ZS_DIR_KNOWN_FLAGS		0x3FFF

#define ZS_SHARED_HAS_DICT		0x01
#define ZS_SHARED_HAS_SYMBOLS	0x02
#define ZS_SHARED_HAS_PREFIX	0x04
#define ZS_SHARED_HAS_WORDS		0x08
#define ZS_SHARED_HAS_CODED		0x10
#define ZS_SHARED_KNOWN_FLAGS	0x1F
#define ZS_SHARED_HEADER_SIZE	6

/* One directory entry as it lies in the payload. */
typedef struct ZsDirEntry
{
	uint32		len;			/* 0 */
	uint16		nulls_flags;	/* 4 */
	uint8		encoding;		/* 6 */
	uint8		compression;	/* 7 */
} ZsDirEntry;

StaticAssertDecl(sizeof(ZsDirEntry) == ZS_DIR_ENTRY_SIZE, "directory entry takes 8 bytes");
StaticAssertDecl(ZS_HEADER_SIZE + ZS_HEADER_BOUNDS_SIZE +
				 ZS_SEGMENT_VECTORS * (ZS_DIR_ENTRY_SIZE + 2 * 8) <= ZS_SEGMENT_HEAD_MAX,
				 "head fits its limit");

/* Writers may touch this many bytes behind the end of what they write. */
#define ZS_SLACK				64

/* Room for an integer stream and for a position set. */
#define ZS_INTS_SIZE_MAX(n)		((size_t) (n) * 8 + 64 + ZS_SLACK)
#define ZS_POSSET_SIZE_MAX(n)	((size_t) (n) / 8 + 16)

/*
 * Dictionary: more entries or bytes than these are not worth opening for one value.  A dictionary
 * of only the frequent values is kept smaller still.  Integers may have one for each row; strings
 * that are coded, of which only those needed are formed, may have more bytes.
 */
#define ZS_DICT_ENTRIES_MAX		65536
#define ZS_DICT_SMALL_ENTRIES	16384	/* the most in version 1 */
#define ZS_DICT_BYTES_MAX		(1024 * 1024)
#define ZS_DICT_MIXED_ENTRIES	8192
#define ZS_DICT_MIXED_BYTES		(512 * 1024)
#define ZS_DICT_CODED_BYTES		(2 * 1024 * 1024)
#define ZS_DICT_CODED_BLOCK		16
#define ZS_DICT_NO_CODE			0xFFFFFFFFu

/* LZ4 looks back 64 kB. */
#define ZS_PREFIX_MAX			(60 * 1024)

#define ZS_ERR_MEMORY			"out of memory"
#define ZS_ERR_SHORT			"data ends too early"

/*
 * Hot loops are compiled twice, for any x86-64 and for those of the last ten years (AVX2, BMI).
 * "arch=haswell" would mean that one processor; older compilers know no better word than "avx2".
 * The sanitizers' runtimes do not like the resolvers.  ZS_WIDE_CLONES is for the few loops of
 * encoding that AVX-512 makes twice as fast.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(ZS_NO_CLONES)
#if __GNUC__ >= 12
#define ZS_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define ZS_WIDE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ZS_CLONES __attribute__((target_clones("avx2", "default")))
#define ZS_WIDE_CLONES ZS_CLONES
#endif
#else
#define ZS_CLONES
#define ZS_WIDE_CLONES
#endif

/* Unaligned little-endian access. */
static inline uint16
load16(const uint8 *p)
{
	uint16		v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32
load32(const uint8 *p)
{
	uint32		v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64
load64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void
store16(uint8 *p, uint16 v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void
store32(uint8 *p, uint32 v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void
store64(uint8 *p, uint64 v)
{
	memcpy(p, &v, sizeof(v));
}

/* Bits needed for v: 0 for 0. */
static inline int
bit_width(uint64 v)
{
	return v == 0 ? 0 : 64 - __builtin_clzll(v);
}

/* Up to eight bytes as an integer, the first in its low byte; what is missing is 0. */
static inline uint64
load_first(const uint8 *p, size_t len)
{
	if (len >= 8)
		return load64(p);
	if (len >= 4)
		return load32(p) | (uint64) load32(p + len - 4) << (8 * (len - 4));
	if (len > 0)
		return p[0] | (uint64) p[len / 2] << (8 * (len / 2)) |
			(uint64) p[len - 1] << (8 * (len - 1));
	return 0;
}

/* Are len bytes equal?  Mostly they are few, too few to call somebody for. */
static inline bool
bytes_equal(const uint8 *a, const uint8 *b, size_t len)
{
	if (len > 16)
		return memcmp(a, b, len) == 0;
	if (len >= 8)
		return ((load64(a) ^ load64(b)) | (load64(a + len - 8) ^ load64(b + len - 8))) == 0;
	return load_first(a, len) == load_first(b, len);
}

/* What is left to read. */
typedef struct ZsReader
{
	const uint8 *p;
	const uint8 *end;
} ZsReader;

static inline size_t
reader_left(const ZsReader *r)
{
	return (size_t) (r->end - r->p);
}

/* A varlena in an arena may take this much besides its bytes: a 4-byte header and its alignment. */
#define ZS_VARLENA_OVERHEAD		8

/*
 * Begins a varlena of len bytes at *p or the next address that suits: writes the header, sets *data
 * to where the bytes go and returns the address of the varlena.  The headers are those of
 * PostgreSQL's varatt.h on little-endian machines: total << 1 | 1 in one byte, or total << 2 in
 * four.
 */
static inline uint64
zscodec_varlena_start(uint8 **p, uint64 len, uint8 **data)
{
	uint8	   *start = *p;

	if (len + 1 <= 0x7F)
	{
		*start = (uint8) (((len + 1) << 1) | 1);
		*data = start + 1;
	}
	else
	{
		start = (uint8 *) (((uintptr_t) start + 3) & ~(uintptr_t) 3);
		store32(start, (uint32) ((len + 4) << 2));
		*data = start + 4;
	}
	return (uint64) (uintptr_t) start;
}

/* Length of what a varlena contains that zscodec_varlena_start() began. */
static inline uint32
zscodec_varlena_len(uint64 value)
{
	const uint8 *p = (const uint8 *) (uintptr_t) value;

	return (*p & 1) != 0 ? (uint32) (*p >> 1) - 1 : (load32(p) >> 2) - 4;
}

static inline const uint8 *
zscodec_varlena_data(uint64 value)
{
	const uint8 *p = (const uint8 *) (uintptr_t) value;

	return (*p & 1) != 0 ? p + 1 : p + 4;
}

/* A coded dictionary that is open. */
typedef struct ZsCodedDict
{
	uint64	   *values;			/* 0 = not formed */
	uint32	   *lens;
	uint32	   *bits;			/* where the blocks' codes begin */
	uint32	   *places;			/* where the blocks' entries are formed in the arena */
	uint8	   *arena;			/* NULL until the first is formed */
	uint32		arena_size;
	uint32		codes_len;
	const uint8 *codes;
} ZsCodedDict;

StaticAssertDecl(sizeof(ZsCodedDict) % 8 == 0, "values behind it are aligned");

/* Of a coded dictionary: strings that words do not shorten become up to three times as long. */
#define ZS_DICT_CODED_SIZE_MAX	(3 * ZS_DICT_CODED_BYTES)

/* codec_dict_coded.c */
extern size_t zscodec_dict_coded_size(uint32 n);
extern const char *zscodec_dict_open_coded(ZsReader *r, ZsSharedState *shared);
extern const char *zscodec_dict_need(const ZsSharedState *shared, const uint64 *codes, uint32 n);
extern const char *zscodec_dict_one(const ZsSharedState *shared, uint64 code, ZsVectorOut *out,
									uint64 *value);

/* The length of an entry's bytes, formed or not. */
static inline uint32
zscodec_dict_len(const ZsSharedState *shared, uint64 code)
{
	Assert(code < shared->ndict);
	return shared->coded != NULL ? shared->coded->lens[code] :
		zscodec_varlena_len(shared->dict_values[code]);
}

/* codec_buf.c */
extern bool zscodec_buf_reserve(ZsCodecBuf *buf, size_t size);
extern bool zscodec_buf_append(ZsCodecBuf *buf, const void *bytes, size_t len);
extern bool zscodec_arena_reserve(const ZsAllocator *alloc, uint8 **mem, size_t *size, size_t need);

/* codec_bitpack.c */
#define ZS_WIDTH_MAX			64

/* Widths 57..63 are stored as 64, so that 8 bytes always hold a whole value at any bit offset. */
static inline int
packed_width(int width)
{
	return width > 56 ? 64 : width;
}

static inline size_t
packed_size(uint32 n, int width)
{
	return ((size_t) n * width + 7) / 8;
}

extern void zscodec_bits_pack(const uint64 *in, uint32 n, int width, uint64 base, uint8 *out);
extern void zscodec_bits_unpack(const uint8 *in, uint32 n, int width, uint64 base, uint64 *out);
extern uint64 zscodec_bits_get(const uint8 *in, size_t len, uint32 idx, int width);

/* codec_posset.c */
extern size_t zscodec_posset_encode(const uint16 *pos, uint32 k, uint32 n, uint8 *out);
extern size_t zscodec_posset_size(uint32 k, uint32 n);
extern const char *zscodec_posset_decode(ZsReader *r, uint32 n, uint16 *pos, uint32 *k);
extern const char *zscodec_posset_skip(ZsReader *r, uint32 n, uint32 *k);

/* codec_int.c, codec_int_decode.c */
extern size_t zscodec_ints_encode(const uint64 *vals, uint32 n, uint8 *out);
extern size_t zscodec_ints_encode_bounds(const uint64 *vals, uint32 n, uint8 *out, int64 *min,
										 int64 *max);
extern size_t zscodec_ints_encode_codes(const uint64 *codes, uint32 n, uint8 *out);
extern size_t zscodec_ints_encode_flat(const uint64 *vals, uint32 n, uint8 *out);
extern const char *zscodec_ints_decode(ZsReader *r, uint32 n, uint64 *out);

/* Is the stream at p CONST or FOR, so that any part of it can be had alone? */
static inline bool
zscodec_ints_flat(const uint8 *p)
{
	return (*p & 0x0F) == ZS_ENC_CONST || (*p & 0x0F) == ZS_ENC_FOR;
}

extern bool zscodec_ints_part(ZsReader *r, uint32 n, uint32 idx, const uint8 *head, uint64 *from,
							  uint64 *to);
extern const char *zscodec_ints_get_some(ZsReader *r, uint32 n, uint32 first, uint32 count,
										 uint64 *out);
extern const char *zscodec_ints_get(ZsReader *r, uint32 n, uint32 idx, uint64 *value);

/* 16 decimals of a numeric are four digits of base 10000 that fit 64 bits. */
#define ZS_NUMERIC_SCALE_MAX	16

/* codec_zone.c */
extern void zscodec_zone_from_scaled(int64 min, int64 max, int scale, int64 *lower, int64 *upper);

#endif							/* CODEC_INTERNAL_H */
