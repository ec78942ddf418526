/*-------------------------------------------------------------------------
 *
 * codec_numeric.c
 *	  Numerics as scaled integers.
 *
 * A numeric payload is a header (sign, display scale, weight) and digits of base 10000.  Nearly all
 * numerics of a column are of one scale, so value * 10^scale is an integer, often of two or three
 * bytes, and the integer encodings apply.  The payload is a function of that integer and the
 * display scale as long as it is in the form that PostgreSQL itself writes: short header, no
 * leading or trailing zero digits, no negative zero, weight 0 for zero.  What is not, or does not
 * fit 18 digits, or is an overflow pointer, is an exception and kept byte for byte.  NaN and
 * infinities are exceptions too.
 *
 *		u8	flags: 1 exceptions, 2 display scales differ
 *		u8	scale of the integers, at most 16
 *		[exceptions: position set; integer stream of lengths; bytes]
 *		[integer stream of display scales]
 *		integer stream of value * 10^scale
 *
 * Where display scales differ (a numeric column without type modifier), the integers are scaled by
 * the largest and the display scales are a stream of their own: the digits depend on the value
 * only.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_numeric.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_numeric.h"
#include "codec_numeric_form.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* More exceptions than one in this many: plain bytes are better. */
#define EXCEPTION_SHARE			4

/*
 * Has this payload a short header and the canonical form?  Digits are checked in scale_payload().
 */
static inline bool
is_canonical(const uint8 *payload, uint32 len)
{
	uint16		h;

	if (len < 2 || len % 2 != 0 || len > 2 + 2 * 6)
		return false;
	h = load16(payload);
	if ((h & NUM_KIND_MASK) != NUM_SHORT)
		return false;
	if (len == 2)
		return (h & NUM_SHORT_NEGATIVE) == 0 && NUM_SHORT_WEIGHT(h) == 0;
	return load16(payload + 2) != 0 && load16(payload + len - 2) != 0;
}

/*
 * Division by 10, 100, 1000 with a rest; the usual last digit of base 10000 reaches beyond the
 * scale.
 */
static inline bool
divide_exactly(uint64 *v, int exponent)
{
	uint64		q;

	switch (exponent)
	{
		case 1:
			q = *v / 10;
			break;
		case 2:
			q = *v / 100;
			break;
		case 3:
			q = *v / 1000;
			break;
		default:
			if (exponent > 18)
				return false;
			q = *v / zscodec_powers[exponent];
			break;
	}
	if (q * zscodec_powers[exponent] != *v)
		return false;
	*v = q;
	return true;
}

/* value * 10^scale of a canonical payload; false when it is no integer of less than 18 digits. */
static inline bool
scale_payload(const uint8 *payload, uint32 len, int scale, int64 *result)
{
	uint16		h = load16(payload);
	int			ndigits = (int) (len - 2) / 2;
	int			exponent = 4 * (NUM_SHORT_WEIGHT(h) - ndigits + 1) + scale;
	uint64		v = 0;

	Assert(is_canonical(payload, len) && scale <= ZS_NUMERIC_SCALE_MAX);
	for (int i = 0; i < ndigits; i++)
	{
		uint16		digit = load16(payload + 2 + 2 * i);

		if (digit > 9999 || v >= NUM_INT_LIMIT / 10000)
			return false;
		v = v * 10000 + digit;
	}
	if (ndigits == 0)
	{
		*result = 0;
		return true;
	}
	if (exponent < 0)
	{
		if (!divide_exactly(&v, -exponent))
			return false;
	}
	else if (exponent > 0)
	{
		if (exponent > 18 || v >= NUM_INT_LIMIT / zscodec_powers[exponent])
			return false;
		v *= zscodec_powers[exponent];
	}
	*result = (h & NUM_SHORT_NEGATIVE) ? -(int64) v : (int64) v;
	return true;
}

/*
 * The scale of the integers.  One display scale for nearly all: that one, the rest are exceptions.
 * Else the largest that at least one value in 128 has.
 */
static int
choose_scale(const uint8 *const *ptrs, const uint32 *lens, const uint8 *isext, uint32 n,
			 bool *mixed)
{
	uint32		counts[64] = {0};
	uint32		ncanonical = 0;
	int			mode = 0;
	int			largest = 0;

	for (uint32 i = 0; i < n; i++)
	{
		if (isext[i] || !is_canonical(ptrs[i], lens[i]))
			continue;
		counts[NUM_SHORT_DSCALE(load16(ptrs[i]))]++;
		ncanonical++;
	}
	for (int s = 0; s <= ZS_NUMERIC_SCALE_MAX; s++)
	{
		if (counts[s] > counts[mode])
			mode = s;
		if (counts[s] > ncanonical / 128)
			largest = s;
	}
	*mixed = counts[mode] < ncanonical - ncanonical / 64;
	Assert(mode <= ZS_NUMERIC_SCALE_MAX && largest <= ZS_NUMERIC_SCALE_MAX);
	return *mixed ? largest : mode;
}

static pg_noinline bool
slow_to_int(const uint8 *payload, size_t len, int *scale, int64 *value)
{
	if (unlikely(len > ZS_NUMERIC_PAYLOAD_MAX || !is_canonical(payload, (uint32) len)))
		return false;
	*scale = NUM_SHORT_DSCALE(load16(payload));
	return *scale <= ZS_NUMERIC_SCALE_MAX && scale_payload(payload, (uint32) len, *scale, value);
}

/*
 * Most have one to three digits and a few decimals.  Which of these varies from value to value, so
 * that a branch would often be guessed wrong: weights by the number of digits instead, and the
 * power of ten by a table.
 */
bool
zscodec_numeric_to_int(const uint8 *payload, size_t len, int *scale, int64 *value)
{
	static const uint32 weights[3][3] = {{1, 0, 0}, {10000, 0, 1}, {100000000, 10000, 1}};

	if (likely(len == 4 || len == 6 || len == 8))
	{
		uint16		h = load16(payload);
		int			ndigits = (int) len / 2 - 1;
		const uint32 *weight = weights[ndigits - 1];
		uint64		first = load16(payload + 2);
		uint64		middle = load16(payload + 2 + 2 * (ndigits > 1));
		uint64		last = load16(payload + len - 2);
		uint64		v = first * weight[0] + middle * weight[1] + last * weight[2];
		int			dscale = NUM_SHORT_DSCALE(h);
		uint32		exponent = (uint32) (4 * (NUM_SHORT_WEIGHT(h) - ndigits + 1) + dscale + 3);

		if (likely((h & NUM_KIND_MASK) == NUM_SHORT &&
				   (first - 1 < 9999) & (last - 1 < 9999) & (middle <= 9999) &&
				   dscale <= ZS_NUMERIC_SCALE_MAX && exponent <= 6))
		{
			/* at most 10^12 times 10^6 */
			uint64		thousandths = v * zscodec_powers[exponent];
			int64		sign = -(int64) ((h & NUM_SHORT_NEGATIVE) != 0);

			v = thousandths / 1000;
			*scale = dscale;
			*value = ((int64) v ^ sign) - sign;
			return v * 1000 == thousandths;
		}
	}
	return slow_to_int(payload, len, scale, value);
}

/*
 * Numerics below 10^8 of one scale of at most 4.  Digits of base 10000 go to lanes of 16 bits by
 * what they are worth, and each lane has its factor:
 *
 *		lane	  1				  2				  3
 *		worth	  10000^1		  10000^0		  10000^-1
 *
 * Whatever an image has against this, or against the canonical form, ends as some bit of `bad` or
 * as the sign of `negative`: no branches, and one width for all, so that the loop vectorises.
 */
#define ALL_LANES(v)	((v) * UINT64CONST(0x0001000100010001))

static pg_attribute_always_inline bool
images_to_ints_loop(const uint64 *restrict images, uint32 n, int scale, uint64 inverse,
					int inverse_shift, int64 *restrict ints, uint64 *nbytes)
{
	uint64		header = NUM_SHORT | (uint64) scale << 7;
	uint64		bad = 0;
	uint64		negative = 0;
	uint64		total = 0;

	for (uint32 i = 0; i < n; i++)
	{
		uint64		w0 = images[2 * i];
		uint64		w1 = images[2 * i + 1];
		uint64		size = (w0 >> 2) & 0x3FFFFFFF;
		uint64		h = (w0 >> 32) & 0xFFFF;
		uint64		digits = (w0 >> 48) | (w1 << 16);
		uint64		rank = (h + 1) & 0x7F;	/* weight + 1 */
		uint64		shift = (48 - 16 * rank) & 63;
		uint64		lanes = digits << shift;
		uint64		d1 = (lanes >> 16) & 0xFFFF;
		uint64		d2 = (lanes >> 32) & 0xFFFF;
		uint64		d3 = lanes >> 48;
		uint64		q = (d3 * inverse) >> inverse_shift;
		uint64		v = (d1 * 10000 + d2) * zscodec_powers[scale] + q;
		uint64		sign = -((h >> 13) & 1);
		uint64		present = w0 != 0 ? PG_UINT64_MAX : 0;
		uint64		some = digits != 0 ? PG_UINT64_MAX : 0;

		/* too many digits, or too large ones, or behind the decimal point */
		bad |= (w1 >> 48) | ((digits >> 1) >> (63 - shift)) | (d3 - q * zscodec_powers[4 - scale]);
		bad |= (digits | (digits + ALL_LANES(0x4000 - 10000))) & ALL_LANES(0xC000);
		negative |= 2 - rank;
		/* another form of header; a zero of weight and sign */
		bad |= ((h & 0xDF80) ^ header) & present;
		bad |= ((h ^ header) | (size ^ 6)) & present & ~some;
		/* zero digits at the ends, as the size says where these are */
		negative |= (((digits & 0xFFFF) - 1) |
					 (((digits >> ((8 * size) & 63)) & 0xFFFF) - 1)) & some;
		bad |= (size & 1) | (w0 & 3);
		negative |= ((size - 6) & present) | (14 - size);
		ints[i] = (int64) ((v ^ sign) - sign);
		total += size + (4 & ~present);
	}
	*nbytes = total - 4 * (uint64) n;
	return bad == 0 && (int64) negative >= 0;
}

/* The usual scales are known at compile time. */
static ZS_WIDE_CLONES bool
images_to_ints(const uint64 *images, uint32 n, int scale, int64 *ints, uint64 *nbytes)
{
	switch (scale)
	{
		case 0:
			return images_to_ints_loop(images, n, 0, 0, 0, ints, nbytes);
		case 1:
			return images_to_ints_loop(images, n, 1, 8389, 23, ints, nbytes);
		case 2:
			return images_to_ints_loop(images, n, 2, 5243, 19, ints, nbytes);
		case 3:
			return images_to_ints_loop(images, n, 3, 52429, 19, ints, nbytes);
		default:
			Assert(scale == 4);
			return images_to_ints_loop(images, n, 4, 1, 0, ints, nbytes);
	}
}

/*
 * Integers of many numerics at once.  An image is a numeric in memory, its header of four bytes
 * included, with zeros behind up to ZS_NUMERIC_IMAGE_SIZE bytes; all zeros stand for NULL, which
 * becomes 0.  False if some are no integers of this scale as zscodec_numeric_to_int() has it, or
 * not such as are found quickly; then ints is undefined.  *nbytes: length of the payloads.
 */
bool
zscodec_numerics_to_ints(const uint64 *images, uint32 n, int scale, int64 *ints, uint64 *nbytes)
{
	return scale <= 4 && images_to_ints(images, n, scale, ints, nbytes);
}

/* Writes a vector of integers of one scale, which must fit it; returns its length. */
size_t
zscodec_numeric_encode_ints(const uint64 *ints, uint32 n, int scale, uint8 *out, int64 *zone_min,
							int64 *zone_max)
{
	int64		min;
	int64		max;
	size_t		size;

	out[0] = 0;
	out[1] = (uint8) scale;
	size = zscodec_ints_encode_bounds(ints, n, out + 2, &min, &max);
	zscodec_zone_from_scaled(min, max, scale, zone_min, zone_max);
	return 2 + size;
}

/*
 * Writes a vector of n payloads; isext marks overflow pointers among them.  Returns its length, 0
 * when too many values resist.  The zone map is set when all values are finite numbers.
 */
size_t
zscodec_numeric_encode(const uint8 *const *ptrs, const uint32 *lens, const uint8 *isext, uint32 n,
					   uint8 *out, bool *has_zone, int64 *zone_min, int64 *zone_max)
{
	uint64		ints[ZS_VECTOR_ROWS];
	uint64		scales[ZS_VECTOR_ROWS];
	uint16		pos[ZS_VECTOR_ROWS];
	uint32		nexceptions = 0;
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	bool		mixed;
	int			scale = choose_scale(ptrs, lens, isext, n, &mixed);
	uint8	   *p = out;

	for (uint32 i = 0; i < n; i++)
	{
		int64		v;
		uint32		dscale = lens[i] >= 2 ? NUM_SHORT_DSCALE(load16(ptrs[i])) : 0;

		if (isext[i] || !is_canonical(ptrs[i], lens[i]) || (!mixed && dscale != (uint32) scale) ||
			!scale_payload(ptrs[i], lens[i], scale, &v))
		{
			/* Its slot repeats the value before. */
			pos[nexceptions++] = (uint16) i;
			ints[i] = i > 0 ? ints[i - 1] : 0;
			scales[i] = i > 0 ? scales[i - 1] : (uint64) scale;
			continue;
		}
		ints[i] = (uint64) v;
		scales[i] = dscale;
		min = Min(min, v);
		max = Max(max, v);
	}
	if (nexceptions > n / EXCEPTION_SHARE)
		return 0;

	*p++ = (uint8) ((nexceptions > 0 ? NUM_FLAG_EXCEPTIONS : 0) | (mixed ? NUM_FLAG_SCALES : 0));
	*p++ = (uint8) scale;
	if (nexceptions > 0)
	{
		uint64		except_lens[ZS_VECTOR_ROWS];

		p += zscodec_posset_encode(pos, nexceptions, n, p);
		for (uint32 i = 0; i < nexceptions; i++)
			except_lens[i] = lens[pos[i]];
		p += zscodec_ints_encode(except_lens, nexceptions, p);
		for (uint32 i = 0; i < nexceptions; i++)
		{
			memcpy(p, ptrs[pos[i]], lens[pos[i]]);
			p += lens[pos[i]];
		}
	}
	if (mixed)
		p += zscodec_ints_encode(scales, n, p);
	p += zscodec_ints_encode(ints, n, p);
	*has_zone = nexceptions == 0;
	if (*has_zone)
		zscodec_zone_from_scaled(min, max, scale, zone_min, zone_max);
	return (size_t) (p - out);
}

/*
 * The dictionary's largest display scale that integers may have; false if none of its entries is an
 * integer.
 */
static bool
choose_dict_scale(const ZsSharedState *shared, int *scale)
{
	bool		some = false;

	*scale = 0;
	for (uint32 i = 0; i < shared->ndict; i++)
	{
		int			entry_scale;
		int64		value;

		if (!zscodec_numeric_to_int(zscodec_varlena_data(shared->dict_values[i]),
									zscodec_varlena_len(shared->dict_values[i]), &entry_scale,
									&value))
			continue;
		*scale = Max(*scale, entry_scale);
		some = true;
	}
	return some;
}

/*
 * Makes the integers of a dictionary of numerics, for SCALED, if that did not happen yet; what is
 * not a dictionary of numerics stays as it is.
 */
const char *
zscodec_shared_scale(const ZsSegmentInfo *info, ZsSharedState *shared)
{
	uint32		n = shared->ndict;
	size_t		size = n * (sizeof(int64) + 1);
	int64	   *ints;
	uint8	   *dscales;
	int			scale;

	if (info->kind != ZS_KIND_NUMERIC || shared->dict_values == NULL ||
		shared->scaled_mem != NULL ||
		!choose_dict_scale(shared, &scale))
		return NULL;
	shared->scaled_mem = shared->alloc.alloc(shared->alloc.ctx, size);
	if (shared->scaled_mem == NULL)
		return ZS_ERR_MEMORY;
	shared->scaled_size = (uint32) size;
	ints = (int64 *) shared->scaled_mem;
	dscales = shared->scaled_mem + n * sizeof(int64);
	shared->dict_same_dscale = true;
	shared->dict_has_odd = false;
	for (uint32 i = 0; i < n; i++)
	{
		const uint8 *payload = zscodec_varlena_data(shared->dict_values[i]);
		uint32		len = zscodec_varlena_len(shared->dict_values[i]);

		if (is_canonical(payload, len) && scale_payload(payload, len, scale, &ints[i]))
		{
			dscales[i] = (uint8) NUM_SHORT_DSCALE(load16(payload));
			shared->dict_same_dscale = shared->dict_same_dscale && dscales[i] == scale;
		}
		else
		{
			ints[i] = 0;
			dscales[i] = ZS_DSCALE_ODD;
			shared->dict_has_odd = true;
		}
	}
	shared->dict_scale = scale;
	shared->dict_dscales = dscales;
	shared->dict_scaled = ints;
	return NULL;
}
