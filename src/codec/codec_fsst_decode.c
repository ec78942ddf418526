/*-------------------------------------------------------------------------
 *
 * codec_fsst_decode.c
 *	  Reading a table of symbols (codec_fsst.c), and decoding by it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_fsst_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_fsst.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Reads a table into arrays of 256; codes without symbol get length 0, which decoding refuses. */
const char *
zscodec_fsst_read(ZsReader *r, uint64 *symbols, uint8 *lens, uint32 *nsymbols)
{
	size_t		total = 0;

	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	*nsymbols = *r->p++;
	if (reader_left(r) < *nsymbols)
		return ZS_ERR_SHORT;
	memset(symbols, 0, 256 * sizeof(uint64));
	memset(lens, 0, 256);
	for (uint32 i = 0; i < *nsymbols; i++)
	{
		lens[i] = r->p[i];
		if (lens[i] < 1 || lens[i] > 8)
			return "symbol length out of range";
		total += lens[i];
	}
	r->p += *nsymbols;
	if (reader_left(r) < total)
		return ZS_ERR_SHORT;
	for (uint32 i = 0; i < *nsymbols; i++)
	{
		memcpy(&symbols[i], r->p, lens[i]);
		r->p += lens[i];
	}
	return NULL;
}

/*
 * Decodes a string of exactly len bytes; up to 8 bytes behind it are scribbled over.  False when
 * the codes end early, are unknown or do not add up.
 */
bool
zscodec_fsst_decode(ZsReader *r, const uint64 *symbols, const uint8 *lens, uint8 *out, size_t len)
{
	const uint8 *p = r->p;
	const uint8 *p_end = r->end;
	uint8	   *end = out + len;

	while (out < end)
	{
		uint8		code;

		if (p >= p_end)
			return false;
		code = *p++;
		if (likely(code != ZS_FSST_ESCAPE))
		{
			if (unlikely(lens[code] == 0))
				return false;
			store64(out, symbols[code]);
			out += lens[code];
		}
		else
		{
			if (p >= p_end)
				return false;
			*out++ = *p++;
		}
	}
	r->p = p;
	return out == end;
}

/* Codes that are looked at together. */
#define BLOCK_CODES		64

/* Fewer decoded bytes are skipped code by code. */
#define BLOCKS_MIN		1024

/*
 * Which codes stand for more than 1, 2, .. 7 bytes: those from limits[0], limits[1] .. on; from
 * limits[7] on there are none.  False if symbols are not in the order of their lengths.
 */
static bool
length_limits(const uint8 *lens, uint8 *limits)
{
	int			n = 0;

	for (int len = 1; len <= 8; len++)
	{
		while (lens[n] == len)
			n++;
		limits[len - 1] = (uint8) n;
	}
	return n == ZS_FSST_ESCAPE || lens[n] == 0;
}

/* Codes, or what is made of them, side by side; a comparison gives 0 and 0xFF. */
typedef uint8 CodeVector __attribute__((vector_size(BLOCK_CODES / 2)));

/* The sum of 32 bytes' words, each byte of which is at most 127. */
static inline uint32
sum_bytes(uint64 words)
{
	words = (words & UINT64CONST(0x00FF00FF00FF00FF)) +
		((words >> 8) & UINT64CONST(0x00FF00FF00FF00FF));
	return (uint32) ((words * UINT64CONST(0x0001000100010001)) >> 48);
}

/*
 * The bytes that the codes of a block stand for, escaped ones with their escapes: that of an escape
 * at its end, too, which lies behind it.  The byte before the block is looked at as well.  0: they
 * have to be looked at one by one.
 */
static ZS_CLONES uint32
block_bytes(const uint8 *p, const uint8 *limits)
{
	CodeVector	bad = {0};
	uint64		words[BLOCK_CODES / 2 / sizeof(uint64)];
	uint64		sum = 0;

	if (p[-1] == ZS_FSST_ESCAPE)
		return 0;
	for (int half = 0; half < 2; half++)
	{
		CodeVector	code;
		CodeVector	before;
		CodeVector	escape;
		CodeVector	escaped;
		CodeVector	len;

		memcpy(&code, p + half * sizeof(code), sizeof(code));
		memcpy(&before, p + half * sizeof(code) - 1, sizeof(code));
		escape = (CodeVector) (code == ZS_FSST_ESCAPE);
		escaped = (CodeVector) (before == ZS_FSST_ESCAPE);
		len = 1 - (CodeVector) (code >= limits[0]);
		for (int i = 1; i < 7; i++)
			len -= (CodeVector) (code >= limits[i]);

		/* an escape behind another may be the byte that this one is for */
		bad |= (escape & escaped) | ((CodeVector) (code >= limits[7]) & ~escape & ~escaped);
		/* an escape is above all limits, and stands for one byte */
		len = (len - (escape & 7)) & ~escaped;
		memcpy(words, &len, sizeof(len));
		sum += words[0] + words[1] + words[2] + words[3];
	}
	memcpy(words, &bad, sizeof(bad));
	return (words[0] | words[1] | words[2] | words[3]) != 0 ? 0 : sum_bytes(sum);
}

StaticAssertDecl(BLOCK_CODES == 2 * 4 * sizeof(uint64), "a half is four words");

/*
 * Moves over the codes of len decoded bytes.  Those of a vector that LZ4 or zstd has packed may be
 * many.  There is a byte before the first one.
 */
bool
zscodec_fsst_skip(ZsReader *r, const uint8 *lens, uint64 len)
{
	const uint8 *p = r->p;
	const uint8 *end = r->end;
	uint64		done = 0;
	uint8		limits[8];

	if (len >= BLOCKS_MIN && length_limits(lens, limits))
	{
		while (done + BLOCK_CODES * 8 <= len && end - p >= BLOCK_CODES + 1)
		{
			uint32		sum = block_bytes(p, limits);
			const uint8 *block_end = p + BLOCK_CODES;

			if (likely(sum > 0))
			{
				done += sum;
				p = block_end + (block_end[-1] == ZS_FSST_ESCAPE);
				continue;
			}
			while (p < block_end)
			{
				if (lens[*p] == 0 && *p != ZS_FSST_ESCAPE)
					return false;
				done += *p == ZS_FSST_ESCAPE ? 1 : lens[*p];
				p += *p == ZS_FSST_ESCAPE ? 2 : 1;
			}
		}
	}
	while (done < len)
	{
		uint8		code;

		if (p >= end)
			return false;
		code = *p++;
		if (code == ZS_FSST_ESCAPE)
		{
			if (p >= end)
				return false;
			p++;
			done++;
		}
		else if (lens[code] == 0)
			return false;
		else
			done += lens[code];
	}
	r->p = p;
	return done == len;
}
