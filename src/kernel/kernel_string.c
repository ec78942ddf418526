/*-------------------------------------------------------------------------
 *
 * kernel_string.c
 *	  Patterns of LIKE over bytes; hashes of strings.
 *
 * A pattern whose only wildcard is "%" is a list of pieces.  The first one has to stand at the
 * beginning of a string and the last one at its end; the others are looked for from left to right,
 * each at the first place behind the one before, which leaves most room for those that follow.
 *
 * Bytes may be compared where no character's bytes appear within another one's: in UTF-8 and in
 * encodings of one byte.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_string.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* memmem() */
#endif
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kernel_internal.h"

#ifdef __SSE2__
#define BLOCK			16

/* So many places may look like the piece and not be it, then memmem() takes over. */
#define MISSES_MAX		32
#endif

/*
 * Where the piece is first, or NULL.  Sixteen places at a time are asked whether the piece's first
 * and last byte are there, which leaves few of them.  A text that is made against that is
 * memmem()'s, which takes no longer for any.
 */
static const char *
find_piece(const char *bytes, size_t len, const char *piece, size_t piece_len)
{
#ifdef __SSE2__
	const char *place = bytes;
	const char *end;
	int			nmisses = 0;
	__m128i		first;
	__m128i		last;

	if (piece_len < 2 || len < piece_len + BLOCK - 1)
		return memmem(bytes, len, piece, piece_len);
	end = bytes + len - piece_len + 1;	/* behind the last place */
	first = _mm_set1_epi8(piece[0]);
	last = _mm_set1_epi8(piece[piece_len - 1]);
	for (;;)
	{
		__m128i		a = _mm_loadu_si128((const __m128i *) place);
		__m128i		b = _mm_loadu_si128((const __m128i *) (place + piece_len - 1));
		uint32		found = (uint32) _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(a, first),
																	 _mm_cmpeq_epi8(b, last)));

		for (; found != 0; found &= found - 1)
		{
			const char *p = place + __builtin_ctz(found);

			if (memcmp(p + 1, piece + 1, piece_len - 2) == 0)
				return p;
			if (++nmisses > MISSES_MAX)
				return memmem(p + 1, (size_t) (bytes + len - p - 1), piece, piece_len);
		}
		place += BLOCK;
		if (place >= end)
			return NULL;
		/* the last block again has places of the one before */
		if (end - place < BLOCK)
			place = end - BLOCK;
	}
#else
	return memmem(bytes, len, piece, piece_len);
#endif
}

/* Most patterns begin and end with %: nothing has to be there then. */
static inline bool
same_bytes(const char *a, const char *b, size_t len)
{
	return len == 0 || memcmp(a, b, len) == 0;
}

/* Does the string match the pattern, see ZsLikePattern in zs_kernel.h? */
bool
zskernel_like(const ZsLikePattern *pattern, const char *bytes, size_t len)
{
	int			last = pattern->npieces - 1;
	const char *end;

	Assert(pattern->npieces > 0);
	if (len < pattern->min_len)
		return false;
	if (!same_bytes(bytes, pattern->pieces[0], pattern->lens[0]))
		return false;
	if (last == 0)
		return len == pattern->lens[0];
	end = bytes + len - pattern->lens[last];
	if (!same_bytes(end, pattern->pieces[last], pattern->lens[last]))
		return false;
	bytes += pattern->lens[0];
	for (int i = 1; i < last; i++)
	{
		bytes = find_piece(bytes, (size_t) (end - bytes), pattern->pieces[i], pattern->lens[i]);
		if (bytes == NULL)
			return false;
		bytes += pattern->lens[i];
	}
	return true;
}

/*
 * Are these bytes ASCII?  Then there are as many characters, in every encoding that a server can
 * have.
 */
bool
zskernel_is_ascii(const char *bytes, size_t len)
{
	const uint64 high_bits = UINT64CONST(0x8080808080808080);
	const char *end = bytes + len;
	uint8		bits = 0;
	uint64		word;
	uint64		next;
	uint64		all = 0;

	if (len < sizeof(uint64))
	{
		for (; bytes < end; bytes++)
			bits |= (uint8) *bytes;
		return bits < 0x80;
	}
	for (; (size_t) (end - bytes) >= 2 * sizeof(uint64); bytes += 2 * sizeof(uint64))
	{
		memcpy(&word, bytes, sizeof(word));
		memcpy(&next, bytes + sizeof(word), sizeof(next));
		all |= word | next;
	}
	/* the rest, with some of the bytes before it */
	if ((size_t) (end - bytes) >= sizeof(uint64))
	{
		memcpy(&word, bytes, sizeof(word));
		all |= word;
	}
	memcpy(&next, end - sizeof(next), sizeof(next));
	return ((all | next) & high_bits) == 0;
}

/* Odd, and without a pattern. */
#define HASH_A	UINT64CONST(0x9E3779B97F4A7C15)
#define HASH_B	UINT64CONST(0xD6E8FEB86659FD93)
#define HASH_C	UINT64CONST(0xC2B2AE3D27D4EB4F)

/* Each bit of both reaches each bit of the result. */
static inline uint64
fold_product(uint64 a, uint64 b)
{
	unsigned __int128 product = (unsigned __int128) a * b;

	return (uint64) product ^ (uint64) (product >> 64);
}

static inline uint64
load_bytes(const char *p, size_t n)
{
	uint64		word = 0;
	uint32		half;

	if (n == 8)
		memcpy(&word, p, 8);
	else
	{
		memcpy(&half, p, 4);
		word = half;
	}
	return word;
}

/*
 * A hash of a string, whose upper bits are as good as the lower ones.  It goes into no file that
 * outlives a process, so it may change.
 */
uint64
zskernel_hash(const char *bytes, size_t len)
{
	uint64		hash = (uint64) len * HASH_A;
	uint64		first = 0;
	uint64		last = 0;
	size_t		left = len;

	for (; left > 16; left -= 16, bytes += 16)
		hash = fold_product(load_bytes(bytes, 8) ^ HASH_B, load_bytes(bytes + 8, 8) ^ hash);
	/* words at both ends, which may have bytes in common */
	if (left >= 8)
	{
		first = load_bytes(bytes, 8);
		last = load_bytes(bytes + left - 8, 8);
	}
	else if (left >= 4)
	{
		first = load_bytes(bytes, 4);
		last = load_bytes(bytes + left - 4, 4);
	}
	else if (left > 0)
		first = (uint64) (uint8) bytes[0] << 16 | (uint64) (uint8) bytes[left / 2] << 8 |
			(uint8) bytes[left - 1];
	hash = fold_product(first ^ HASH_B, last ^ hash);
	return fold_product(hash ^ HASH_C, HASH_A);
}
