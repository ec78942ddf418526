/*-------------------------------------------------------------------------
 *
 * codec_int.c
 *	  Choosing and writing integer streams.
 *
 * Every by-value column, every scaled numeric or float, and every list of codes and lengths ends as
 * a stream of up to 1024 integers, so the choice made here decides most of the size of a table.
 * One pass over the values finds minimum, maximum, smallest and largest difference and the number
 * of runs; that says which encodings can win, and only those are worked out.  Their exact sizes are
 * compared, cheapest to decode first, and a more expensive one must be 3 % smaller:
 *
 *		CONST	all equal
 *		FOR		value - base in the fewest bits (frame of reference, Goldstein, Ramakrishnan and
 *				Shaft 1998); outliers keep their low bits and get the rest as patches (PFOR,
 *				Zukowski et al., "Super-Scalar RAM-CPU Cache Compression", 2006; here patches are a
 *				position set and a second packed list)
 *		RLE		few runs: run lengths and run values, each again one of these
 *		DELTA	neighbours are close: differences, again as FOR
 *		SCALED	all values share a factor (seconds in a timestamp column): the quotients, as one of
 *				these
 *
 * All arithmetic is modulo 2^64, so INT64_MIN .. INT64_MAX needs no special care: a difference that
 * overflows wraps back when it is added.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_int.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Patches beyond this share of the values are slower than the bits they save. */
#define PATCH_SHARE		3

/* Widths below the largest for which values are counted before a histogram is made. */
#define WIDE_LEVELS		4

/* What one pass over the values tells. */
typedef struct IntStats
{
	int64		min;
	int64		max;
	int64		min_delta;
	int64		max_delta;
	uint32		nruns;
} IntStats;

/* How to pack values as FOR. */
typedef struct ForPlan
{
	uint64		base;
	int			width;
	int			patch_width;
	uint32		npatches;
	size_t		size;			/* behind tag, width and base */
} ForPlan;

static ZS_WIDE_CLONES void
collect_stats(const uint64 *restrict vals, uint32 n, IntStats *restrict st)
{
	int64		min = (int64) vals[0];
	int64		max = (int64) vals[0];
	int64		min_delta = PG_INT64_MAX;
	int64		max_delta = PG_INT64_MIN;
	uint64		nsteps = 0;

	for (uint32 i = 1; i < n; i++)
	{
		int64		v = (int64) vals[i];
		int64		d = (int64) (vals[i] - vals[i - 1]);

		min = v < min ? v : min;
		max = v > max ? v : max;
		min_delta = d < min_delta ? d : min_delta;
		max_delta = d > max_delta ? d : max_delta;
		nsteps += d != 0;
	}
	st->min = min;
	st->max = max;
	st->min_delta = min_delta;
	st->max_delta = max_delta;
	st->nruns = (uint32) nsteps + 1;
	Assert(min <= max && st->nruns <= n);
}

/* Bytes that hold v when sign-extended. */
static int
signed_bytes(uint64 v)
{
	int			n = 0;

	while (n < 8 && (n == 0 ? v != 0 : (uint64) ((int64) (v << (64 - 8 * n)) >> (64 - 8 * n)) != v))
		n++;
	return n;
}

/* Tag byte; returns the bytes of the base, which the caller writes. */
static int
write_tag(uint8 *out, ZsEncoding encoding, uint64 base)
{
	int			nbytes = signed_bytes(base);

	*out = (uint8) (encoding | (nbytes << 4));
	return nbytes;
}

/* counts[w] = values whose distance from base needs exactly w bits. */
static ZS_CLONES void
count_widths(const uint64 *restrict vals, uint32 n, uint64 base, uint32 *restrict counts)
{
	uint16		tables[4][65];
	uint32		i = 0;

	/*
	 * Four tables: neighbours often fall into one class, and a counter cannot be bumped twice at
	 * once.
	 */
	memset(tables, 0, sizeof(tables));
	for (; i + 4 <= n; i += 4)
	{
		tables[0][bit_width(vals[i] - base)]++;
		tables[1][bit_width(vals[i + 1] - base)]++;
		tables[2][bit_width(vals[i + 2] - base)]++;
		tables[3][bit_width(vals[i + 3] - base)]++;
	}
	for (; i < n; i++)
		tables[0][bit_width(vals[i] - base)]++;
	for (int w = 0; w <= 64; w++)
		counts[w] = (uint32) tables[0][w] + tables[1][w] + tables[2][w] + tables[3][w];
}

/* The bits that any distance from base has. */
static ZS_WIDE_CLONES uint64
all_bits(const uint64 *restrict vals, uint32 n, uint64 base)
{
	uint64		bits = 0;

	for (uint32 i = 0; i < n; i++)
		bits |= vals[i] - base;
	return bits;
}

/*
 * tops[k]: how many distances from base, of which the largest has `full` bits, need at least full -
 * k bits.
 */
static ZS_WIDE_CLONES void
count_wide(const uint64 *restrict vals, uint32 n, uint64 base, int full, uint32 *restrict tops)
{
	uint64		limits[WIDE_LEVELS];
	uint64		k0 = 0;
	uint64		k1 = 0;
	uint64		k2 = 0;
	uint64		k3 = 0;

	StaticAssertDecl(WIDE_LEVELS == 4, "one counter a level");
	for (int k = 0; k < WIDE_LEVELS; k++)
		limits[k] = UINT64CONST(1) << Max(full - 1 - k, 0);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		distance = vals[i] - base;

		k0 += distance >= limits[0];
		k1 += distance >= limits[1];
		k2 += distance >= limits[2];
		k3 += distance >= limits[3];
	}
	tops[0] = (uint32) k0;
	tops[1] = (uint32) k1;
	tops[2] = (uint32) k2;
	tops[3] = (uint32) k3;
}

/* The best width for values over this base, of which the largest distance has `full` bits. */
static void
plan_for_base(const uint64 *vals, uint32 n, uint64 base, int full, ForPlan *plan)
{
	uint32		tops[WIDE_LEVELS];
	uint32		counts[65];
	uint32		above = 0;
	size_t		plain;

	Assert(n <= ZS_VECTOR_ROWS);
	plan->base = base;
	plan->width = packed_width(full);
	plan->patch_width = 0;
	plan->npatches = 0;
	plan->size = plain = packed_size(n, plan->width);
	if (full < 1)
		return;
	count_wide(vals, n, base, full, tops);
	Assert(tops[0] > 0);

	/*
	 * Can patches save anything?  To save one bit of each value, few may need all bits, since a
	 * position and a patch take five and more; to save more, no more than may be patched at all.
	 */
	if (full >= 2 && tops[0] > n / 6 && tops[1] > n / PATCH_SHARE)
		return;
	for (int w = full - 1; w >= 0; w--)
	{
		int			patch_width = packed_width(full - w);
		int			level = full - 1 - w;
		size_t		size;

		/* mostly the first widths tell; a histogram takes longer */
		if (level == WIDE_LEVELS)
			count_widths(vals, n, base, counts);
		if (level < WIDE_LEVELS)
			above = tops[level];
		else
			above += counts[w + 1];
		if (above > n / PATCH_SHARE)
			break;
		if (w != packed_width(w))
			continue;
		size = packed_size(n, w) + zscodec_posset_size(above, n) + 1 +
			packed_size(above, patch_width);
		/* The first patch must pay for itself, further ones only compete among each other. */
		if (size < plan->size && size + size / 32 < plain)
		{
			plan->width = w;
			plan->patch_width = patch_width;
			plan->npatches = above;
			plan->size = size;
		}
	}
}

/*
 * The best FOR for values between min and max.  The base is the minimum, unless a few very small
 * values stretch the frame: then it is a low quantile, and what lies below wraps around and becomes
 * a patch.
 */
static void
plan_for(const uint64 *vals, uint32 n, int64 min, int64 max, ForPlan *plan)
{
	int			width = bit_width((uint64) max - (uint64) min);
	int64		sample[16];
	uint64		base;
	ForPlan		other;

	plan_for_base(vals, n, (uint64) min, width, plan);
	if (n < 128 || width < 4)
		return;
	for (uint32 i = 0; i < 16; i++)
	{
		int64		v = (int64) vals[(n - 1) * i / 15];
		uint32		j = i;

		for (; j > 0 && sample[j - 1] > v; j--)
			sample[j] = sample[j - 1];
		sample[j] = v;
	}
	/* Worth a look only if the middle of the sample is much narrower than the frame. */
	if (bit_width((uint64) sample[14] - (uint64) sample[1]) + 3 > plan->width)
		return;
	base = (uint64) sample[1] - ((uint64) sample[14] - (uint64) sample[1]) / 4;
	plan_for_base(vals, n, base, bit_width(all_bits(vals, n, base)), &other);
	if (other.size + 8 < plan->size)
		*plan = other;
}

/* Writes a FOR stream; returns its length. */
static size_t
write_for(const uint64 *vals, uint32 n, const ForPlan *plan, uint8 *out)
{
	uint8	   *start = out;
	int			nbytes = write_tag(out, ZS_ENC_FOR, plan->base);

	out[1] = (uint8) (plan->width | (plan->npatches > 0 ? 0x80 : 0));
	store64(out + 2, plan->base);
	Assert(nbytes <= 8 && plan->width == packed_width(plan->width));
	out += 2 + nbytes;
	zscodec_bits_pack(vals, n, plan->width, plan->base, out);
	out += packed_size(n, plan->width);
	if (plan->npatches > 0)
	{
		uint16		pos[ZS_VECTOR_ROWS];
		uint64		patches[ZS_VECTOR_ROWS];
		uint32		k = 0;

		for (uint32 i = 0; i < n; i++)
		{
			uint64		high = (vals[i] - plan->base) >> plan->width;

			pos[k] = (uint16) i;
			patches[k] = high;
			k += high != 0;
		}
		Assert(k == plan->npatches);
		out += zscodec_posset_encode(pos, k, n, out);
		*out++ = (uint8) plan->patch_width;
		zscodec_bits_pack(patches, k, plan->patch_width, 0, out);
		out += packed_size(k, plan->patch_width);
	}
	return (size_t) (out - start);
}

static size_t
write_const(uint64 value, uint8 *out)
{
	int			nbytes = write_tag(out, ZS_ENC_CONST, value);

	store64(out + 1, value);
	return 1 + (size_t) nbytes;
}

/* CONST or FOR, whatever the values are. */
static size_t
encode_flat(const uint64 *vals, uint32 n, int64 min, int64 max, const ForPlan *plan, uint8 *out)
{
	if (min == max)
		return write_const((uint64) min, out);
	return write_for(vals, n, plan, out);
}

/* Do most of a few sampled differences need clearly fewer bits than the frame? */
static bool
deltas_look_small(const uint64 *vals, uint32 n, int frame_width)
{
	uint32		nsmall = 0;
	uint32		nseen = 0;
	uint32		step = n / 64 + 1;

	for (uint32 i = 1; i < n; i += step)
	{
		int64		d = (int64) (vals[i] - vals[i - 1]);
		uint64		zigzag = ((uint64) d << 1) ^ (uint64) (d >> 63);

		nsmall += bit_width(zigzag) + 1 < frame_width;
		nseen++;
	}
	return nsmall * 5 >= nseen * 4;
}

/* Writes a DELTA stream if it is smaller than limit; returns its length or 0. */
static size_t
try_delta(const uint64 *vals, uint32 n, const IntStats *st, size_t limit, uint8 *out)
{
	uint64		deltas[ZS_VECTOR_ROWS];
	int			frame_width = bit_width((uint64) st->max - (uint64) st->min);
	ForPlan		plan = {0};
	int			nbytes;

	if (n < 3)
		return 0;
	if (bit_width((uint64) st->max_delta - (uint64) st->min_delta) >= frame_width &&
		!deltas_look_small(vals, n, frame_width))
		return 0;
	for (uint32 i = 1; i < n; i++)
		deltas[i - 1] = vals[i] - vals[i - 1];
	if (st->min_delta != st->max_delta)
		plan_for(deltas, n - 1, st->min_delta, st->max_delta, &plan);
	if (plan.size + 2 + 2 * 2 >= limit)
		return 0;
	nbytes = write_tag(out, ZS_ENC_DELTA, vals[0]);
	store64(out + 1, vals[0]);
	return 1 + (size_t) nbytes +
		encode_flat(deltas, n - 1, st->min_delta, st->max_delta, &plan, out + 1 + nbytes);
}

/* CONST, FOR or DELTA: what the parts of an RLE stream may be. */
static size_t
encode_simple(const uint64 *vals, uint32 n, const IntStats *st, uint8 *out)
{
	ForPlan		plan;
	size_t		size;

	if (st->min == st->max)
		return write_const(vals[0], out);
	plan_for(vals, n, st->min, st->max, &plan);
	size = try_delta(vals, n, st, plan.size - plan.size / 32, out);
	if (size > 0)
		return size;
	return write_for(vals, n, &plan, out);
}

/*
 * Writes an RLE stream; returns its length.  Room: both parts are no longer than n packed values.
 */
static size_t
encode_rle(const uint64 *vals, uint32 n, const IntStats *st, uint8 *out)
{
	uint64		run_vals[ZS_VECTOR_ROWS];
	uint64		run_lens[ZS_VECTOR_ROWS];
	uint32		nruns = 0;
	uint64		done = 0;
	uint8	   *p = out;
	IntStats	sub;

	/* the present run ends here or goes on: no branch, which would often be guessed wrong */
	for (uint32 i = 0; i < n - 1; i++)
	{
		run_vals[nruns] = vals[i];
		run_lens[nruns] = i;
		nruns += vals[i] != vals[i + 1];
	}
	run_vals[nruns] = vals[n - 1];
	run_lens[nruns++] = n - 1;
	Assert(nruns == st->nruns);

	/* from where runs end to how long they are, less one */
	for (uint32 i = 0; i < nruns; i++)
	{
		uint64		end = run_lens[i];

		run_lens[i] = end - done;
		done = end + 1;
	}
	*p = ZS_ENC_RLE;
	store16(p + 1, (uint16) nruns);
	p += 3;
	collect_stats(run_lens, nruns, &sub);
	p += encode_simple(run_lens, nruns, &sub, p);
	collect_stats(run_vals, nruns, &sub);
	p += encode_simple(run_vals, nruns, &sub, p);
	return (size_t) (p - out);
}

/*
 * May runs take less than half of what a frame takes?  Four bits for the length of each.  Where
 * there are hardly any, differences may be smaller still.
 */
static bool
runs_are_few(uint32 n, const IntStats *st)
{
	int			width = bit_width((uint64) st->max - (uint64) st->min);

	return st->nruns >= 16 && st->nruns <= n / 4 &&
		(uint64) st->nruns * (width + 4) < (uint64) n * width / 2;
}

/* Everything but SCALED and DICT. */
static size_t
encode_unscaled(const uint64 *vals, uint32 n, const IntStats *st, uint8 *out)
{
	uint8		temp[ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)];
	size_t		best;
	size_t		size;

	/* Runs long enough to make the frame half as large need no rivals. */
	if (st->min != st->max && runs_are_few(n, st))
	{
		ForPlan		plan;

		plan_for(vals, n, st->min, st->max, &plan);
		size = encode_rle(vals, n, st, out);
		if (size < plan.size / 2)
			return size;
	}
	best = encode_simple(vals, n, st, out);
	if (st->min == st->max || st->nruns > n / 2)
		return best;
	/* A run takes a bit for its length and one for its value at least. */
	if (st->nruns / 4 + 4 >= best - best / 16)
		return best;
	size = encode_rle(vals, n, st, temp);
	if (out[0] % 16 == ZS_ENC_DELTA ? size <= best : size < best - best / 32)
	{
		Assert(size + ZS_SLACK <= sizeof(temp));
		memcpy(out, temp, size);
		return size;
	}
	return best;
}

/* A factor common to all differences from the minimum, 1 if none is worth the trouble. */
static uint64
common_factor(const uint64 *vals, uint32 n, const IntStats *st)
{
	uint64		range = (uint64) st->max - (uint64) st->min;
	uint64		g = range;

	if (n < 4)
		return 1;
	for (uint32 i = 0; i < 16 && g > 1; i++)
	{
		uint64		a = vals[(n - 1) * i / 15] - (uint64) st->min;

		while (a != 0)
		{
			uint64		rest = g % a;

			g = a;
			a = rest;
		}
	}
	if (g <= 1 || g == range)
		return 1;
	for (uint32 i = 0; i < n; i++)
	{
		if ((vals[i] - (uint64) st->min) % g != 0)
			return 1;
	}
	return g;
}

/* Writes a SCALED stream; returns its length. */
static size_t
encode_scaled(const uint64 *vals, uint32 n, const IntStats *st, uint64 factor, uint8 *out)
{
	uint64		quotients[ZS_VECTOR_ROWS];
	IntStats	sub;
	int			nbytes = write_tag(out, ZS_ENC_SCALED, (uint64) st->min);
	int			factor_bytes = (bit_width(factor) + 7) / 8;
	uint8	   *p = out + 1;

	Assert(factor > 1 && factor_bytes <= 8);
	store64(p, (uint64) st->min);
	p += nbytes;
	*p++ = (uint8) factor_bytes;
	store64(p, factor);
	p += factor_bytes;
	for (uint32 i = 0; i < n; i++)
		quotients[i] = (vals[i] - (uint64) st->min) / factor;
	collect_stats(quotients, n, &sub);
	return (size_t) (p - out) + encode_unscaled(quotients, n, &sub, p);
}

/*
 * Writes 1 to 1024 integers as a stream; returns its length.  out has ZS_INTS_SIZE_MAX(n) bytes, of
 * which the last ZS_SLACK may be scribbled over.
 */
size_t
zscodec_ints_encode(const uint64 *vals, uint32 n, uint8 *out)
{
	int64		min;
	int64		max;

	return zscodec_ints_encode_bounds(vals, n, out, &min, &max);
}

/* The same, and says what it found on the way: the smallest and the largest. */
size_t
zscodec_ints_encode_bounds(const uint64 *vals, uint32 n, uint8 *out, int64 *min, int64 *max)
{
	IntStats	st;
	uint64		factor;

	Assert(n >= 1 && n <= ZS_VECTOR_ROWS);
	collect_stats(vals, n, &st);
	*min = st.min;
	*max = st.max;
	if (st.min != st.max && st.nruns > 2)
	{
		factor = common_factor(vals, n, &st);
		if (factor > 1)
			return encode_scaled(vals, n, &st, factor, out);
	}
	return encode_unscaled(vals, n, &st, out);
}

/* The same for dictionary codes, which have no common factor worth finding. */
size_t
zscodec_ints_encode_codes(const uint64 *codes, uint32 n, uint8 *out)
{
	IntStats	st;

	Assert(n >= 1 && n <= ZS_VECTOR_ROWS);
	collect_stats(codes, n, &st);
	return encode_unscaled(codes, n, &st, out);
}

/* As CONST or FOR. */
size_t
zscodec_ints_encode_flat(const uint64 *vals, uint32 n, uint8 *out)
{
	IntStats	st;
	ForPlan		plan = {0};

	Assert(n >= 1 && n <= ZS_VECTOR_ROWS);
	collect_stats(vals, n, &st);
	if (st.min != st.max)
		plan_for(vals, n, st.min, st.max, &plan);
	return encode_flat(vals, n, st.min, st.max, &plan, out);
}
