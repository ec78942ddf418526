/*-------------------------------------------------------------------------
 *
 * codec_posset.c
 *	  Sets of positions within a vector: nulls, overflow pointers, patches, exceptions.
 *
 * A bitmap costs one bit a row even when one row in twenty is null.  Elias-Fano coding (Elias 1974,
 * Fano 1971; Vigna, "Quasi-succinct indices", 2013) takes about 2 + log2(n / k) bits for each of k
 * ascending positions below n: the low l = floor(log2(n / k)) bits of each are packed side by side,
 * and the rest, which ascends slowly, is a bit string with a one for each position and a zero for
 * each step:
 *
 *		positions	3 5 14 15		n = 16, k = 4, l = 2
 *		low bits	3 1 2 3			packed, 2 bits each
 *		high part	0 1 3 3			0: "1", step to 1 "0", "1", steps to 3 "00", "1", "1" = 1010011
 *
 * A set of more than half of the positions is given by those that are not in it: of a segment
 * written anew, most rows can be holes.
 *
 * The sizes are exact functions of k and n, so the shortest form is taken without saying which.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_posset.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

/* Low bits of each position. */
static inline int
low_width(uint32 k, uint32 n)
{
	return k == 0 || n / k <= 1 ? 0 : bit_width(n / k) - 1;
}

/* Bits of the high part: one for each position and one for each step. */
static inline uint32
high_bits(uint32 k, uint32 n, int l)
{
	return k + ((n - 1) >> l) + 1;
}

static inline size_t
elias_fano_size(uint32 k, uint32 n)
{
	int			l = low_width(k, n);

	return packed_size(k, l) + (high_bits(k, n, l) + 7) / 8;
}

typedef enum PossetForm
{
	FORM_BITMAP,
	FORM_LIST,
	FORM_COMPLEMENT				/* list of the others */
} PossetForm;

/* The form of a set, and its size without the count. */
static inline PossetForm
choose_form(uint32 k, uint32 n, size_t *size)
{
	uint32		nlisted = Min(k, n - k);

	*size = nlisted == 0 ? 0 : elias_fano_size(nlisted, n);
	if (*size >= (n + 7) / 8 && nlisted > 0)
	{
		*size = (n + 7) / 8;
		return FORM_BITMAP;
	}
	return nlisted == k ? FORM_LIST : FORM_COMPLEMENT;
}

/* Bytes of the set, count included. */
size_t
zscodec_posset_size(uint32 k, uint32 n)
{
	size_t		size;

	Assert(k <= n);
	(void) choose_form(k, n, &size);
	return 2 + size;
}

/* Positions below n that are not among the k ascending ones; returns how many. */
static uint32
complement(const uint16 *pos, uint32 k, uint32 n, uint16 *others)
{
	uint32		nothers = 0;
	uint32		at = 0;

	for (uint32 i = 0; i < k; i++)
	{
		while (at < pos[i])
			others[nothers++] = (uint16) at++;
		at++;
	}
	while (at < n)
		others[nothers++] = (uint16) at++;
	return nothers;
}

/* Writes k ascending positions below n; returns the bytes written, zscodec_posset_size(k, n). */
size_t
zscodec_posset_encode(const uint16 *pos, uint32 k, uint32 n, uint8 *out)
{
	size_t		size;
	PossetForm	form = choose_form(k, n, &size);
	uint16		others[ZS_VECTOR_ROWS];
	uint8	   *high;
	int			l;

	Assert(k <= n && n <= ZS_VECTOR_ROWS);
	store16(out, (uint16) k);
	out += 2;
	memset(out, 0, size);
	if (size == 0)
		return 2;
	if (form == FORM_BITMAP)
	{
		for (uint32 i = 0; i < k; i++)
			out[pos[i] >> 3] |= (uint8) (1 << (pos[i] & 7));
		return 2 + size;
	}
	if (form == FORM_COMPLEMENT)
	{
		k = complement(pos, k, n, others);
		pos = others;
	}
	l = low_width(k, n);
	Assert(l <= 10 && high_bits(k, n, l) <= 2 * (uint32) ZS_VECTOR_ROWS);
	high = out + packed_size(k, l);
	for (uint32 i = 0; i < k; i++)
	{
		uint32		low = pos[i] & ((1u << l) - 1);
		uint32		bit = (uint32) (pos[i] >> l) + i;

		Assert(pos[i] < n && (i == 0 || pos[i] > pos[i - 1]));
		/*
		 * up to 10 bits, any position: four bytes have them, three of these perhaps of what follows
		 */
		store32(out + (i * l >> 3), load32(out + (i * l >> 3)) | (low << (i * l & 7)));
		high[bit >> 3] |= (uint8) (1 << (bit & 7));
	}
	return 2 + size;
}

/* Up to 8 bytes at p, zero-padded. */
static inline uint64
load_tail(const uint8 *p, size_t left)
{
	uint64		v = 0;

	if (left >= 8)
		return load64(p);
	memcpy(&v, p, left);
	return v;
}

/* Positions of the ones of a bitmap; false when they are not k or lie outside. */
static bool
decode_bitmap(const uint8 *p, uint32 n, uint32 k, uint16 *pos)
{
	uint32		found = 0;
	size_t		size = (n + 7) / 8;

	for (size_t off = 0; off < size; off += 8)
	{
		uint64		word = load_tail(p + off, size - off);

		while (word != 0)
		{
			uint32		at = (uint32) off * 8 + (uint32) __builtin_ctzll(word);

			if (found >= k || at >= n)
				return false;
			pos[found++] = (uint16) at;
			word &= word - 1;
		}
	}
	return found == k;
}

/* Positions of an Elias-Fano list; false when they are not k, do not ascend or lie outside. */
static bool
decode_elias_fano(const uint8 *p, uint32 n, uint32 k, uint16 *pos)
{
	int			l = low_width(k, n);
	size_t		low_size = packed_size(k, l);
	const uint8 *high = p + low_size;
	size_t		size = (high_bits(k, n, l) + 7) / 8;
	uint64		lows[ZS_VECTOR_ROWS];
	uint32		found = 0;
	int64		prev = -1;

	Assert(k >= 1 && k <= n);
	zscodec_bits_unpack(p, k, l, 0, lows);
	for (size_t off = 0; off < size; off += 8)
	{
		uint64		word = load_tail(high + off, size - off);

		while (word != 0)
		{
			uint32		bit = (uint32) off * 8 + (uint32) __builtin_ctzll(word);
			int64		at;

			if (found >= k)
				return false;
			at = ((int64) (bit - found) << l) | (int64) lows[found];
			if (at <= prev || at >= n)
				return false;
			pos[found++] = (uint16) at;
			prev = at;
			word &= word - 1;
		}
	}
	return found == k;
}

/* Moves the reader behind a set of positions below n; k: how many. */
const char *
zscodec_posset_skip(ZsReader *r, uint32 n, uint32 *k)
{
	size_t		size;

	if (reader_left(r) < 2)
		return ZS_ERR_SHORT;
	*k = load16(r->p);
	if (*k > n)
		return "position set has too many entries";
	(void) choose_form(*k, n, &size);
	if (reader_left(r) < 2 + size)
		return ZS_ERR_SHORT;
	r->p += 2 + size;
	return NULL;
}

/* Reads a set of positions below n into pos[], which has room for n; they ascend. */
const char *
zscodec_posset_decode(ZsReader *r, uint32 n, uint16 *pos, uint32 *k)
{
	uint16		others[ZS_VECTOR_ROWS];
	PossetForm	form;
	size_t		size;
	bool		ok = true;

	Assert(n <= ZS_VECTOR_ROWS);
	if (reader_left(r) < 2)
		return ZS_ERR_SHORT;
	*k = load16(r->p);
	if (*k > n)
		return "position set has too many entries";
	form = choose_form(*k, n, &size);
	if (reader_left(r) < 2 + size)
		return ZS_ERR_SHORT;
	if (form == FORM_BITMAP)
		ok = decode_bitmap(r->p + 2, n, *k, pos);
	else if (form == FORM_COMPLEMENT)
	{
		ok = size == 0 || decode_elias_fano(r->p + 2, n, n - *k, others);
		if (ok)
			(void) complement(others, n - *k, n, pos);
	}
	else if (size > 0)
		ok = decode_elias_fano(r->p + 2, n, *k, pos);
	if (!ok)
		return "position set is inconsistent";
	r->p += 2 + size;
	return NULL;
}
