/*-------------------------------------------------------------------------
 *
 * codec_numeric_decode.c
 *	  Numerics from scaled integers.
 *
 * The bytes of a vector are described in codec_numeric.c.  A numeric is formed as a complete
 * varlena in the arena, all of one width, so that small ones of a usual scale are made by a loop
 * that vectorises: first all divisions, then all numerics.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_numeric_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_numeric.h"
#include "codec_numeric_form.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* ---- one numeric ----------------------------------------------------------- */

/* The short header of a numeric. */
static inline uint16
make_header(bool negative, uint32 dscale, int weight)
{
	return (uint16) (NUM_SHORT | (negative ? NUM_SHORT_NEGATIVE : 0) | (dscale << 7) |
					 (weight & 0x7F));
}

/*
 * Writes a complete varlena of up to four digits of base 10000, the first in the low bits of word.
 * The varlena header has four bytes although one would do: the server's numeric functions copy a
 * value with a short header before they look at it.
 */
static pg_attribute_always_inline void
write_numeric(uint8 *p, uint64 word, int weight, bool negative, uint32 dscale)
{
	int			leading;
	int			ndigits;

	if (word == 0)
	{
		store64(p, (uint64) (6 << 2) | ((uint64) make_header(false, dscale, 0) << 32));
		return;
	}
	leading = __builtin_ctzll(word) / 16;
	word >>= leading * 16;
	ndigits = (79 - __builtin_clzll(word)) / 16;

	/* Header of the varlena, header of the numeric, digits: 4 + 2 + 8 bytes in two stores. */
	store64(p, (uint64) ((6 + 2 * ndigits) << 2) |
			((uint64) make_header(negative, dscale, weight - leading) << 32) | (word << 48));
	store64(p + 8, word >> 16);
}

StaticAssertDecl(ZS_NUMERIC_STRIDE >= 4 + 2 + 12 && ZS_NUMERIC_STRIDE % 8 == 0,
				 "room for the headers and six digits, aligned");

/* The general form of build_numeric(): any scale, any size. */
static pg_noinline void
build_large_numeric(uint8 *p, uint64 v, bool negative, int scale, uint32 dscale)
{
	uint16		digits[16];
	int			nfraction = (scale + 3) / 4;
	uint64		whole = v / zscodec_powers[scale];
	uint64		fraction = (v % zscodec_powers[scale]) * zscodec_powers[4 * nfraction - scale];
	int			first = 16;
	int			last = 16;
	int			weight;

	Assert(scale <= ZS_NUMERIC_SCALE_MAX && v < NUM_INT_LIMIT && dscale <= 0x3F);
	for (int i = 0; i < nfraction; i++, fraction /= 10000)
		digits[--first] = (uint16) (fraction % 10000);
	weight = -1;
	for (; whole > 0; whole /= 10000, weight++)
		digits[--first] = (uint16) (whole % 10000);
	for (; first < last && digits[first] == 0; first++)
		weight--;
	for (; last > first && digits[last - 1] == 0; last--)
		;
	if (first == last)
	{
		write_numeric(p, 0, 0, false, dscale);
		return;
	}
	Assert(last - first <= 6);
	store64(p, (uint64) ((6 + 2 * (last - first)) << 2) |
			((uint64) make_header(negative, dscale, weight) << 32));
	memcpy(p + 6, &digits[first], 2 * (last - first));
}

/*
 * Writes value / 10^scale with a display scale as a complete varlena of at most ZS_NUMERIC_STRIDE
 * bytes.
 */
static inline void
build_numeric(uint8 *p, int64 value, int scale, uint32 dscale)
{
	bool		negative = value < 0;
	uint64		v = negative ? -(uint64) value : (uint64) value;
	uint32		small = (uint32) v;
	uint32		whole;
	uint32		fraction;

	if (scale > 4 || v >= SMALL_LIMIT)
	{
		build_large_numeric(p, v, negative, scale, dscale);
		return;
	}
	whole = small / (uint32) zscodec_powers[scale];
	fraction = scale == 0 ? 0 : (small - whole * (uint32) zscodec_powers[scale]) *
		(uint32) zscodec_powers[4 - scale];
	write_numeric(p, (whole / 10000) | ((whole % 10000) << 16) | ((uint64) fraction << 32), 1,
				  negative, dscale);
}

/*
 * Writes the numeric value * 10^-scale as a payload, without a varlena header; returns its length.
 */
size_t
zscodec_numeric_from_int(int64 value, int scale, uint8 *payload)
{
	uint8		varlena[ZS_NUMERIC_STRIDE];
	size_t		len;

	Assert(scale >= 0 && scale <= ZS_NUMERIC_SCALE_MAX);
	build_numeric(varlena, value, scale, (uint32) scale);
	len = (load32(varlena) >> 2) - 4;
	Assert(len <= ZS_NUMERIC_PAYLOAD_MAX);
	memcpy(payload, varlena + 4, len);
	return len;
}

/* ---- all of a vector -------------------------------------------------------- */

/* Any scale, any size. */
static void
build_any(const uint64 *ints, const uint64 *scales, uint32 n, int scale, uint8 *arena,
		  uint64 *values)
{
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *p = arena + (size_t) i * ZS_NUMERIC_STRIDE;

		build_numeric(p, (int64) ints[i], scale, scales ? (uint32) scales[i] : (uint32) scale);
		values[i] = (uint64) (uintptr_t) p;
	}
}

/* The sign of a number rides on its digits. */
#define WORD_NEGATIVE		(UINT64CONST(1) << 63)

/*
 * Integers below 10^8 in size, one scale of at most 4: first all divisions, which vectorise, then
 * all numerics.
 */
static pg_attribute_always_inline void
build_small_loop(const uint64 *restrict ints, uint32 n, int scale, uint8 *restrict arena,
				 uint64 *restrict values)
{
	uint64		words[ZS_VECTOR_ROWS];

	Assert(n <= ZS_VECTOR_ROWS);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		sign = (uint64) ((int64) ints[i] >> 63);
		uint32		v = (uint32) ((ints[i] ^ sign) - sign);
		uint32		whole = v / (uint32) zscodec_powers[scale];
		uint32		fraction = scale == 0 ? 0 : (v - whole * (uint32) zscodec_powers[scale]) *
			(uint32) zscodec_powers[4 - scale];
		uint32		high = whole / 10000;

		words[i] = (high | ((whole - high * 10000) << 16)) | ((uint64) fraction << 32) |
			(sign & WORD_NEGATIVE);
	}
	for (uint32 i = 0; i < n; i++)
	{
		uint8	   *p = arena + (size_t) i * ZS_NUMERIC_STRIDE;

		write_numeric(p, words[i] & ~WORD_NEGATIVE, 1, (words[i] & WORD_NEGATIVE) != 0,
					  (uint32) scale);
		values[i] = (uint64) (uintptr_t) p;
	}
}

/* The usual scales are known at compile time, so that divisions become multiplications. */
static ZS_CLONES void
build_small(const uint64 *ints, uint32 n, int scale, uint8 *arena, uint64 *values)
{
	switch (scale)
	{
		case 0:
			build_small_loop(ints, n, 0, arena, values);
			break;
		case 1:
			build_small_loop(ints, n, 1, arena, values);
			break;
		case 2:
			build_small_loop(ints, n, 2, arena, values);
			break;
		case 3:
			build_small_loop(ints, n, 3, arena, values);
			break;
		default:
			Assert(scale == 4);
			build_small_loop(ints, n, 4, arena, values);
	}
}

/* ---- vectors ------------------------------------------------------------------ */

/* The parts of a numeric vector in front of its integers. */
typedef struct NumericParts
{
	int			scale;
	bool		mixed;
	uint32		nexceptions;
	uint64		except_total;
	const uint8 *except_bytes;
	uint16		pos[ZS_VECTOR_ROWS];
	uint64		except_lens[ZS_VECTOR_ROWS];
	uint64		scales[ZS_VECTOR_ROWS];
} NumericParts;

static const char *
read_parts(ZsReader *r, uint32 n, NumericParts *parts)
{
	const char *err;
	int			flags;

	if (reader_left(r) < 2)
		return ZS_ERR_SHORT;
	flags = r->p[0];
	parts->scale = r->p[1];
	r->p += 2;
	if (parts->scale > ZS_NUMERIC_SCALE_MAX || flags > (NUM_FLAG_EXCEPTIONS | NUM_FLAG_SCALES))
		return "numeric header is invalid";
	parts->mixed = (flags & NUM_FLAG_SCALES) != 0;
	parts->nexceptions = 0;
	parts->except_total = 0;
	if (flags & NUM_FLAG_EXCEPTIONS)
	{
		if ((err = zscodec_posset_decode(r, n, parts->pos, &parts->nexceptions)) != NULL)
			return err;
		if (parts->nexceptions == 0)
			return "numeric header is invalid";
		if ((err = zscodec_ints_decode(r, parts->nexceptions, parts->except_lens)) != NULL)
			return err;
		for (uint32 i = 0; i < parts->nexceptions; i++)
		{
			if (parts->except_lens[i] > reader_left(r) - parts->except_total)
				return ZS_ERR_SHORT;
			parts->except_total += parts->except_lens[i];
		}
		parts->except_bytes = r->p;
		r->p += parts->except_total;
	}
	if (parts->mixed)
	{
		if ((err = zscodec_ints_decode(r, n, parts->scales)) != NULL)
			return err;
		for (uint32 i = 0; i < n; i++)
		{
			if (parts->scales[i] > 63)
				return "display scale out of range";
		}
	}
	return NULL;
}

/* Are all integers below limit in size? */
static ZS_CLONES bool
ints_below(const uint64 *ints, uint32 n, uint64 limit)
{
	uint64		bad = 0;

	for (uint32 i = 0; i < n; i++)
		bad |= (ints[i] + (limit - 1)) > 2 * (limit - 1);
	return bad == 0;
}

/* Forms n numerics in the arena and out->values[0 .. n). */
static const char *
build_values(const NumericParts *parts, const uint64 *ints, uint32 n, bool small, ZsVectorOut *out)
{
	const uint8 *except = parts->except_bytes;
	uint8	   *p;

	if (!zscodec_arena_reserve(&out->alloc, &out->arena, &out->arena_size,
							   (size_t) n * ZS_NUMERIC_STRIDE + parts->except_total +
							   (size_t) parts->nexceptions * ZS_VARLENA_OVERHEAD + ZS_SLACK))
		return ZS_ERR_MEMORY;
	if (small)
		build_small(ints, n, parts->scale, out->arena, out->values);
	else
		build_any(ints, parts->mixed ? parts->scales : NULL, n, parts->scale, out->arena,
				  out->values);

	p = out->arena + (size_t) n * ZS_NUMERIC_STRIDE;
	for (uint32 i = 0; i < parts->nexceptions; i++)
	{
		uint8	   *data;

		out->values[parts->pos[i]] = zscodec_varlena_start(&p, parts->except_lens[i], &data);
		memcpy(data, except, parts->except_lens[i]);
		p = data + parts->except_lens[i];
		except += parts->except_lens[i];
	}
	Assert(p <= out->arena + out->arena_size);
	return NULL;
}

/*
 * Reads a vector of n numerics: values into out->values[0 .. n) and the arena, integers into
 * out->scaled[0 .. n), where odd_pos[0 .. *nodd) are not to be had as such.  Nulls are put between
 * them by the caller.
 */
const char *
zscodec_numeric_decode(ZsReader *r, uint32 n, uint32 want, ZsVectorOut *out, uint16 *odd_pos,
					   uint32 *nodd)
{
	NumericParts parts;
	uint64		local[ZS_VECTOR_ROWS];
	uint64	   *ints = want & ZS_FORM_SCALED ? (uint64 *) out->scaled : local;
	const char *err;
	bool		small;

	if ((err = read_parts(r, n, &parts)) != NULL)
		return err;
	if ((err = zscodec_ints_decode(r, n, ints)) != NULL)
		return err;
	small = !parts.mixed && parts.scale <= 4 && ints_below(ints, n, SMALL_LIMIT);
	/* No valid integer is this large, and six digits would not hold it. */
	if (!small && !ints_below(ints, n, NUM_INT_LIMIT))
		return "scaled numeric out of range";
	if ((want & ZS_FORM_VALUES) && (err = build_values(&parts, ints, n, small, out)) != NULL)
		return err;
	if ((want & ZS_FORM_SCALED) == 0)
		return NULL;
	out->scale = parts.scale;
	out->same_dscale = !parts.mixed;
	for (uint32 i = 0; i < n && parts.mixed; i++)
		out->dscales[i] = (uint8) parts.scales[i];
	memcpy(odd_pos, parts.pos, parts.nexceptions * sizeof(uint16));
	*nodd = parts.nexceptions;
	return NULL;
}

/*
 * The integers of a vector of n numerics, if all of them have the display scale *scale; else *found
 * is false.
 */
const char *
zscodec_numeric_decode_ints(ZsReader *r, uint32 n, uint64 *ints, int *scale, bool *found)
{
	NumericParts parts;
	const char *err;

	if ((err = read_parts(r, n, &parts)) != NULL)
		return err;
	*scale = parts.scale;
	*found = !parts.mixed && parts.nexceptions == 0;
	return *found ? zscodec_ints_decode(r, n, ints) : NULL;
}

/*
 * The payload that is left to read, the value of n rows, as an integer: for CONST in
 * out->const_scaled, for SCALED in out->scaled[0 .. n).  False if it is none.
 */
bool
zscodec_numeric_decode_const(const ZsReader *r, uint32 n, uint32 want, ZsVectorOut *out)
{
	int			scale;
	int64		value;
	bool		found = zscodec_numeric_to_int(r->p, reader_left(r), &scale, &value);

	if (want & ZS_FORM_CONST)
		out->has_const_scaled = found;
	if (!found)
		return false;
	out->scale = scale;
	out->same_dscale = true;
	if (want & ZS_FORM_CONST)
		out->const_scaled = value;
	for (uint32 i = 0; i < n && (want & ZS_FORM_SCALED); i++)
		out->scaled[i] = value;
	return true;
}

/* Numeric idx of n alone. */
const char *
zscodec_numeric_decode_one(ZsReader *r, uint32 n, uint32 idx, ZsVectorOut *out, uint64 *value)
{
	NumericParts parts;
	const uint8 *except;
	const char *err;
	uint64		v;

	if ((err = read_parts(r, n, &parts)) != NULL)
		return err;
	if (!zscodec_arena_reserve(&out->alloc, &out->arena, &out->arena_size,
							   ZS_NUMERIC_STRIDE + parts.except_total + ZS_VARLENA_OVERHEAD +
							   ZS_SLACK))
		return ZS_ERR_MEMORY;
	except = parts.except_bytes;
	for (uint32 i = 0; i < parts.nexceptions && parts.pos[i] <= idx; i++)
	{
		if (parts.pos[i] == idx)
		{
			uint8	   *p = out->arena;
			uint8	   *data;

			*value = zscodec_varlena_start(&p, parts.except_lens[i], &data);
			memcpy(data, except, parts.except_lens[i]);
			return NULL;
		}
		except += parts.except_lens[i];
	}
	if ((err = zscodec_ints_get(r, n, idx, &v)) != NULL)
		return err;
	if (!ints_below(&v, 1, NUM_INT_LIMIT))
		return "scaled numeric out of range";
	build_numeric(out->arena, (int64) v, parts.scale,
				  parts.mixed ? (uint32) parts.scales[idx] : (uint32) parts.scale);
	*value = (uint64) (uintptr_t) out->arena;
	return NULL;
}
