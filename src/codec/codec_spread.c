/*-------------------------------------------------------------------------
 *
 * codec_spread.c
 *	  Nulls and odd values of a decoded vector.
 *
 * Values of the non-null rows have been decoded into the first entries of their arrays.  If there
 * are nulls, the entries are moved apart, from the end, so that no second array is needed.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_spread.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_ops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Words that are moved at once. */
#define MOVE_BLOCK		4

/*
 * Moves words up, by at least a block.  Up to three words in front of either place are read and
 * written: there are only words that have been moved, or that others are going to be moved to.
 */
static inline void
move_up64(uint64 *dst, const uint64 *src, uint32 count)
{
	Assert(dst >= src + MOVE_BLOCK);
	for (int64 left = count; left > 0; left -= MOVE_BLOCK)
	{
		uint64		block[MOVE_BLOCK];

		memcpy(block, src + left - MOVE_BLOCK, sizeof(block));
		memcpy(dst + left - MOVE_BLOCK, block, sizeof(block));
	}
}

/*
 * Moves the first nrows - nnulls entries apart so that nulls get theirs, which are cleared.
 * isnull[] is set already.
 */
static ZS_CLONES void
spread64(uint64 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls, const bool *isnull)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	Assert(nnulls < nrows);
	if (nnulls > nrows / 16)
	{
		/* Short stretches: row by row, without asking. */
		for (uint32 row = nrows; row-- > 0;)
		{
			uint64		keep = (uint64) isnull[row] - 1;

			src -= (uint32) (keep & 1);
			vals[row] = vals[src] & keep;
		}
		return;
	}
	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		if (j + 1 >= MOVE_BLOCK && src >= MOVE_BLOCK)
			move_up64(vals + null_pos[j] + 1, vals + src, count);
		else
			memmove(vals + null_pos[j] + 1, vals + src, count * sizeof(uint64));
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
	Assert(src == dst);
}

static void
spread32(uint32 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		memmove(vals + null_pos[j] + 1, vals + src, count * sizeof(uint32));
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
}

static void
spread8(uint8 *vals, uint32 nrows, const uint16 *null_pos, uint32 nnulls)
{
	uint32		src = nrows - nnulls;
	uint32		dst = nrows;

	for (uint32 j = nnulls; j-- > 0;)
	{
		uint32		count = dst - null_pos[j] - 1;

		src -= count;
		memmove(vals + null_pos[j] + 1, vals + src, count);
		vals[null_pos[j]] = 0;
		dst = null_pos[j];
	}
}

/* The rows of ascending values pos[0 .. n), in place. */
static void
rows_of_values(const ZsVectorBody *body, uint16 *pos, uint32 n)
{
	uint32		before = 0;		/* nulls in front of the row */

	for (uint32 i = 0; i < n; i++)
	{
		while (before < body->nnulls && body->null_pos[before] <= pos[i] + before)
			before++;
		pos[i] += (uint16) before;
		Assert(pos[i] < body->vi->nrows);
	}
}

/* A bitmap of flags, eight at a time: the product has bit i of the result from byte i. */
static void
collect_nulls(const bool *isnull, uint32 nrows, uint64 *nulls)
{
	uint32		row = 0;

	for (; row + 8 <= nrows; row += 8)
		nulls[row / 64] |= (load64((const uint8 *) isnull + row) *
							UINT64CONST(0x0102040810204080)) >> 56 << (row % 64);
	for (; row < nrows; row++)
		nulls[row / 64] |= (uint64) isnull[row] << (row % 64);
}

/* Null flags and those of overflow pointers, whose positions become rows. */
void
zscodec_mark_nulls(ZsVectorBody *body, ZsVectorOut *out)
{
	uint32		nrows = body->vi->nrows;

	memset(out->isnull, false, nrows * sizeof(bool));
	memset(out->nulls, 0, sizeof(out->nulls));
	for (uint32 i = 0; i < body->nnulls; i++)
		out->isnull[body->null_pos[i]] = true;
	if (body->nnulls > ZS_VECTOR_ROWS / 16)
		collect_nulls(out->isnull, nrows, out->nulls);
	else
	{
		for (uint32 i = 0; i < body->nnulls; i++)
			out->nulls[body->null_pos[i] / 64] |= UINT64CONST(1) << (body->null_pos[i] % 64);
	}
	if (!out->has_ext)
		return;
	memset(out->isext, 0, nrows * sizeof(bool));
	rows_of_values(body, body->ext_pos, body->next);
	for (uint32 i = 0; i < body->next; i++)
		out->isext[body->ext_pos[i]] = true;
}

/* Moves what was decoded of the values to their rows. */
void
zscodec_spread_forms(const ZsVectorBody *body, uint32 have, ZsVectorOut *out)
{
	uint32		nrows = body->vi->nrows;
	uint32		nnulls = body->nnulls;

	if (have & ZS_FORM_VALUES)
		spread64(out->values, nrows, body->null_pos, nnulls, out->isnull);
	if (have & ZS_FORM_SCALED)
		spread64((uint64 *) out->scaled, nrows, body->null_pos, nnulls, out->isnull);
	if ((have & ZS_FORM_SCALED) && !out->same_dscale)
		spread8(out->dscales, nrows, body->null_pos, nnulls);
	if (have & (ZS_FORM_CODES | ZS_FORM_ENTRIES))
		spread32(out->codes, nrows, body->null_pos, nnulls);
	if (have & ZS_FORM_LENGTHS)
		spread32(out->lengths, nrows, body->null_pos, nnulls);
}

/* Rows that SCALED or LENGTHS say nothing of. */
static void
set_odd(const uint16 *rows, uint32 n, uint32 have, ZsVectorOut *out)
{
	for (uint32 i = 0; i < n; i++)
	{
		out->odd[rows[i] / 64] |= UINT64CONST(1) << (rows[i] % 64);
		if (have & ZS_FORM_LENGTHS)
			out->lengths[rows[i]] = 0;
		if (have & ZS_FORM_SCALED)
			out->scaled[rows[i]] = out->dscales[rows[i]] = 0;
	}
}

/* Marks them; the positions of overflow pointers are rows already. */
void
zscodec_mark_odd(ZsVectorBody *body, uint32 have, ZsVectorOut *out)
{
	out->has_odd = body->nodd + body->next > 0;
	if (!out->has_odd)
		return;
	memset(out->odd, 0, sizeof(out->odd));
	rows_of_values(body, body->odd_pos, body->nodd);
	set_odd(body->odd_pos, body->nodd, have, out);
	set_odd(body->ext_pos, body->next, have, out);
}

/* All rows of a vector without values. */
void
zscodec_fill_nulls(const ZsVectorInfo *vi, uint32 want, ZsVectorOut *out)
{
	uint32		nrows = vi->nrows;

	memset(out->isnull, true, nrows * sizeof(bool));
	memset(out->nulls, 0, sizeof(out->nulls));
	memset(out->nulls, 0xFF, nrows / 64 * sizeof(uint64));
	if (nrows % 64 != 0)
		out->nulls[nrows / 64] = (UINT64CONST(1) << (nrows % 64)) - 1;
	if (want & ZS_FORM_VALUES)
		memset(out->values, 0, nrows * sizeof(uint64));
	if (want & ZS_FORM_SCALED)
	{
		memset(out->scaled, 0, nrows * sizeof(int64));
		out->scale = 0;
		out->same_dscale = true;
	}
	if (want & ZS_FORM_LENGTHS)
		memset(out->lengths, 0, nrows * sizeof(uint32));
	if (want & (ZS_FORM_SCALED | ZS_FORM_LENGTHS))
		out->has_odd = false;
}
