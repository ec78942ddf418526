/*-------------------------------------------------------------------------
 *
 * codec_bitpack.c
 *	  Integers of a fixed number of bits, side by side.
 *
 * Value i occupies bits [i * width, (i + 1) * width) of the byte string, low bits first.  A width
 * of at most 56 makes every value lie within the 8 bytes that start at its first byte, so one
 * unaligned load, a shift and a mask fetch it, and any value is found without its neighbours.
 * Interleaved layouts (Afroozeh and Boncz, "The FastLanes Compression Layout", 2023) decode faster
 * still, but only in blocks of 1024; vectors here lose their nulls before packing and end anywhere,
 * and the padding would cost more than the loads do.
 *
 * Packing and unpacking are written once and instantiated for each width; with the width known,
 * shifts and offsets are constants and the loops unroll.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_bitpack.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

#define PACK_BLOCK		64
#define UNPACK_BLOCK	32

/* Packs blocks of 64 values, each into exactly width 64-bit words. */
static pg_attribute_always_inline void
pack_blocks(const uint64 *restrict in, uint32 nblocks, int width, uint64 base, uint8 *restrict out)
{
	uint64		mask = width == 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << width) - 1;

	for (uint32 b = 0; b < nblocks; b++)
	{
		uint64		acc = 0;

#pragma GCC unroll 64
		for (int i = 0; i < PACK_BLOCK; i++)
		{
			uint64		v = (in[i] - base) & mask;
			int			shift = (i * width) & 63;

			acc |= v << shift;
			if (shift + width >= 64)
			{
				store64(out, acc);
				out += 8;
				acc = shift + width == 64 ? 0 : v >> (64 - shift);
			}
		}
		in += PACK_BLOCK;
	}
}

/* Unpacks blocks of 32 values; reads up to 7 bytes behind the last block. */
static pg_attribute_always_inline void
unpack_blocks(const uint8 *restrict in, uint32 nblocks, int width, uint64 base,
			  uint64 *restrict out)
{
	uint64		mask = width == 64 ? ~UINT64CONST(0) : (UINT64CONST(1) << width) - 1;

	for (uint32 b = 0; b < nblocks; b++)
	{
#pragma GCC unroll 32
		for (int i = 0; i < UNPACK_BLOCK; i++)
			out[i] = base + ((load64(in + ((i * width) >> 3)) >> ((i * width) & 7)) & mask);
		in += 4 * width;
		out += UNPACK_BLOCK;
	}
}

typedef void (*pack_function) (const uint64 *in, uint32 nblocks, uint64 base, uint8 *out);
typedef void (*unpack_function) (const uint8 *in, uint32 nblocks, uint64 base, uint64 *out);

#define DEFINE_WIDTH(w) \
static ZS_CLONES void \
pack_##w(const uint64 *in, uint32 nblocks, uint64 base, uint8 *out) \
{ \
	pack_blocks(in, nblocks, w, base, out); \
} \
static ZS_CLONES void \
unpack_##w(const uint8 *in, uint32 nblocks, uint64 base, uint64 *out) \
{ \
	unpack_blocks(in, nblocks, w, base, out); \
}

#define ALL_WIDTHS(X) \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
	X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) \
	X(47) X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(64)

ALL_WIDTHS(DEFINE_WIDTH)

#define PACK_ENTRY(w) [w] = pack_##w,
#define UNPACK_ENTRY(w) [w] = unpack_##w,

static const pack_function pack_functions[ZS_WIDTH_MAX + 1] = {ALL_WIDTHS(PACK_ENTRY)};
static const unpack_function unpack_functions[ZS_WIDTH_MAX + 1] = {ALL_WIDTHS(UNPACK_ENTRY)};

/*
 * Packs the low width bits of in[i] - base; writes packed_size(n, width) bytes and may touch up to
 * ZS_SLACK bytes behind them.
 */
void
zscodec_bits_pack(const uint64 *in, uint32 n, int width, uint64 base, uint8 *out)
{
	uint32		nblocks = n / PACK_BLOCK;
	uint64		mask;
	uint64		acc = 0;
	int			nbits = 0;

	Assert(width >= 0 && width <= ZS_WIDTH_MAX && width == packed_width(width));
	if (width == 0)
		return;
	if (nblocks > 0)
	{
		pack_functions[width] (in, nblocks, base, out);
		in += (size_t) nblocks * PACK_BLOCK;
		out += (size_t) nblocks * width * 8;
		n -= nblocks * PACK_BLOCK;
	}
	if (width == 64)
	{
		for (uint32 i = 0; i < n; i++)
			store64(out + i * 8, in[i] - base);
		return;
	}
	/* At most 7 bits wait when 56 come in. */
	Assert(n < PACK_BLOCK && width <= 56);
	mask = (UINT64CONST(1) << width) - 1;
	for (uint32 i = 0; i < n; i++)
	{
		acc |= ((in[i] - base) & mask) << nbits;
		nbits += width;
		store64(out, acc);
		out += nbits >> 3;
		acc = (nbits >> 3) == 8 ? 0 : acc >> (nbits & ~7);
		nbits &= 7;
	}
}

/* Unpacks n values and adds base; in has packed_size(n, width) bytes, no more are read. */
void
zscodec_bits_unpack(const uint8 *in, uint32 n, int width, uint64 base, uint64 *out)
{
	size_t		left = packed_size(n, width);
	size_t		block_size = (size_t) width * (UNPACK_BLOCK / 8);
	uint32		nblocks = 0;

	Assert(width >= 0 && width <= ZS_WIDTH_MAX && width == packed_width(width));
	if (width == 0)
	{
		for (uint32 i = 0; i < n; i++)
			out[i] = base;
		return;
	}

	/* All blocks behind which 7 more bytes may be read. */
	if (left >= block_size + 7)
		nblocks = (uint32) Min((left - 7) / block_size, n / UNPACK_BLOCK);
	Assert(nblocks * block_size <= left);
	if (nblocks > 0)
	{
		unpack_functions[width] (in, nblocks, base, out);
		in += nblocks * block_size;
		out += (size_t) nblocks * UNPACK_BLOCK;
		n -= nblocks * UNPACK_BLOCK;
		left -= nblocks * block_size;
	}
	while (n > 0)
	{
		uint8		bytes[UNPACK_BLOCK * 8 + 8] = {0};
		uint64		vals[UNPACK_BLOCK];
		uint32		m = Min(n, UNPACK_BLOCK);
		size_t		len = Min(left, block_size);

		Assert(len <= sizeof(bytes) - 8);
		memcpy(bytes, in, len);
		unpack_functions[width] (bytes, 1, base, vals);
		memcpy(out, vals, m * sizeof(uint64));
		in += len;
		left -= len;
		out += m;
		n -= m;
	}
}

/* Value idx alone; in has len bytes that contain it. */
uint64
zscodec_bits_get(const uint8 *in, size_t len, uint32 idx, int width)
{
	size_t		bit = (size_t) idx * width;
	size_t		byte = bit >> 3;
	uint64		v = 0;

	Assert(packed_size(idx + 1, width) <= len);
	if (width == 0)
		return 0;
	if (byte + 8 <= len)
		v = load64(in + byte);
	else
		memcpy(&v, in + byte, len - byte);
	v >>= bit & 7;
	return width == 64 ? v : v & ((UINT64CONST(1) << width) - 1);
}
