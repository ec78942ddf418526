/*
 * codec_gen.c
 *	  Random and adversarial columns; see codec_gen.h.
 */
#include "codec_gen.h"

size_t		gen_allocated = 0;
size_t		gen_largest = 0;

/* Sizes are kept in front, so that leaks show as gen_allocated != 0. */
void *
gen_alloc(void *ctx, size_t size)
{
	size_t	   *p = malloc(size + 16);

	(void) ctx;
	if (p == NULL)
		return NULL;
	*p = size;
	gen_allocated += size;
	if (size > gen_largest)
		gen_largest = size;
	/* Nothing may rely on zeros. */
	memset((uint8 *) p + 16, 0xA5, size < 4096 ? size : 4096);
	return (uint8 *) p + 16;
}

void
gen_free(void *ctx, void *ptr)
{
	size_t	   *p = (size_t *) ((uint8 *) ptr - 16);

	(void) ctx;
	gen_allocated -= *p;
	free(p);
}

const ZsAllocator gen_allocator = {gen_alloc, gen_free, NULL};

static void *
xmalloc(size_t size)
{
	void	   *p = malloc(size > 0 ? size : 1);

	if (p == NULL)
		abort();
	return p;
}

void
gen_column_free(GenColumn *col)
{
	free(col->isnull);
	free(col->isext);
	free(col->ints);
	free(col->bytes);
	free(col->offsets);
	memset(col, 0, sizeof(*col));
}

/* Adds bytes to the value under construction. */
void
gen_append(GenColumn *col, const void *bytes, size_t len)
{
	uint64		at = col->offsets[col->in.nrows];

	if (at + len > col->bytes_size)
	{
		col->bytes_size = (at + len) * 2 + 64;
		col->bytes = realloc(col->bytes, col->bytes_size);
		if (col->bytes == NULL)
			abort();
	}
	memcpy(col->bytes + at, bytes, len);
	col->offsets[col->in.nrows] += len;
}

size_t
gen_numeric(__int128 value, int scale, int dscale, uint8 *out)
{
	bool		negative = value < 0;
	unsigned __int128 v = negative ? -(unsigned __int128) value : (unsigned __int128) value;
	uint16		digits[40];
	int			first = 40;
	int			last = 40;
	int			weight = -(scale + 3) / 4 - 1;
	uint16		header;

	for (int pad = (4 - scale % 4) % 4; pad > 0; pad--)
		v *= 10;
	weight = -(scale + 3) / 4;
	for (; v > 0; v /= 10000)
	{
		digits[--first] = (uint16) (v % 10000);
		weight++;
	}
	weight--;
	while (last > first && digits[last - 1] == 0)
		last--;
	if (first == last)
	{
		weight = 0;
		negative = false;
	}
	if (dscale <= 0x3F && weight >= -64 && weight <= 63)
	{
		header = (uint16) (0x8000 | (negative ? 0x2000 : 0) | (dscale << 7) |
						   (weight < 0 ? 0x40 : 0) | (weight & 0x3F));
		memcpy(out, &header, 2);
		memcpy(out + 2, &digits[first], 2 * (last - first));
		return 2 + 2 * (size_t) (last - first);
	}
	header = (uint16) ((negative ? 0x4000 : 0) | (dscale & 0x3FFF));
	memcpy(out, &header, 2);
	header = (uint16) weight;
	memcpy(out + 2, &header, 2);
	memcpy(out + 4, &digits[first], 2 * (last - first));
	return 4 + 2 * (size_t) (last - first);
}

/* Which rows are null: none, few, many, all, in stretches. */
static void
gen_nulls(GenRandom *r, uint32 nrows, GenColumn *col)
{
	int			percent;
	uint32		stretch;

	if (gen_chance(r, 40))
		return;
	col->isnull = xmalloc(nrows);
	percent = (int[]) {0, 1, 5, 30, 50, 95, 99, 100}[gen_below(r, 8)];
	stretch = gen_chance(r, 70) ? 1 : 1 + (uint32) gen_below(r, 2000);
	for (uint32 i = 0; i < nrows; i++)
		col->isnull[i] = i % stretch != 0 ? col->isnull[i - 1] : (uint8) gen_chance(r, percent);
	col->in.isnull = col->isnull;
}

/* One column of integers of a width, one pattern of many. */
static void
gen_ints(GenRandom *r, uint32 nrows, int bits, GenColumn *col)
{
	int			pattern = (int) gen_below(r, 15);
	int			shift = 64 - bits;
	uint64		base = gen_next(r);
	uint64		range = UINT64CONST(1) << gen_below(r, 63);
	uint64		step = gen_below(r, 1000);
	uint64		ndistinct = 1 + gen_below(r, gen_chance(r, 50) ? 20 : 3000);
	uint64		v = base;
	uint64		salt = gen_next(r);

	snprintf(col->what, sizeof(col->what), "ints of %d bits, pattern %d", bits, pattern);
	col->ints = xmalloc(nrows * sizeof(int64));
	col->in.ints = col->ints;
	for (uint32 i = 0; i < nrows; i++)
	{
		switch (pattern)
		{
			case 0:				/* constant */
				break;
			case 1:				/* anything */
				v = gen_next(r);
				break;
			case 2:				/* a range */
				v = base + gen_below(r, range);
				break;
			case 3:				/* ascending, steady */
				v += step;
				break;
			case 4:				/* ascending, unsteady, now and then a jump */
				v += gen_chance(r, 99) ? gen_below(r, 10) : gen_next(r) >> 20;
				break;
			case 5:				/* runs */
				if (gen_chance(r, 8))
					v = gen_below(r, range);
				break;
			case 6:				/* few values */
				v = (salt + gen_below(r, ndistinct)) * UINT64CONST(0x9E3779B97F4A7C15);
				break;
			case 7:				/* extremes */
				v = (uint64[])
				{
					0, 1, (uint64) -1, (uint64) PG_INT64_MIN, (uint64) PG_INT64_MAX, 127, 128,
					(uint64) -128,
						0x7FFFFFFF, 0x80000000
				}[gen_below(r, 10)];
				break;
			case 8:				/* small with outliers above */
				v = gen_chance(r, 97) ? gen_below(r, 30) : gen_next(r);
				break;
			case 9:				/* with outliers below */
				v = gen_chance(r, 98) ? 1000000 + gen_below(r, 30) : gen_below(r, 3);
				break;
			case 10:			/* multiples */
				v = base + (step + 2) * gen_below(r, range >> 12);
				break;
			case 11:			/* descending */
				v -= gen_below(r, 5);
				break;
			case 14:			/* many values that repeat */
				v = (salt + gen_below(r, nrows / 5 + 1)) * UINT64CONST(0x9E3779B97F4A7C15);
				v ^= v >> 29;
				break;
			case 12:			/* alternating extremes: differences overflow */
				v = i % 2 ? (uint64) PG_INT64_MIN : (uint64) PG_INT64_MAX;
				break;
			default:			/* anything, few bits */
				v = gen_below(r, UINT64CONST(1) << gen_below(r, 12));
		}
		col->ints[i] = shift > 0 ? (int64) (v << shift) >> shift : (int64) v;
	}
}

/* Floats: decimals, patterns, special values. */
static void
gen_floats(GenRandom *r, uint32 nrows, ZsValueKind kind, GenColumn *col)
{
	int			pattern = (int) gen_below(r, 7);
	int			scale = (int) gen_below(r, 8);
	double		divisor = 1;
	static const uint64 specials[] = {
		0, UINT64CONST(0x8000000000000000), UINT64CONST(0x7FF0000000000000),
		UINT64CONST(0xFFF0000000000000),
		UINT64CONST(0x7FF8000000000000), UINT64CONST(0xFFF8000000000001),
		UINT64CONST(0x7FF0000000000001), 1,
		UINT64CONST(0x7FEFFFFFFFFFFFFF)
	};
	static const uint32 specials4[] = {
		0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 1, 0x7F7FFFFF
	};

	snprintf(col->what, sizeof(col->what), "float%d, pattern %d", kind == ZS_KIND_FLOAT4 ? 4 : 8,
			 pattern);
	col->ints = xmalloc(nrows * sizeof(int64));
	col->in.ints = col->ints;
	for (int i = 0; i < scale; i++)
		divisor *= 10;
	for (uint32 i = 0; i < nrows; i++)
	{
		double		d = ((double) (int64) gen_below(r, 2000000) - 1000000) / divisor;
		uint64		bits;

		if (pattern == 0)
			d = (double) gen_next(r) * 1e-3;
		if (pattern == 1)
			d = (double) gen_below(r, 5) / 4;
		memcpy(&bits, &d, 8);
		if (pattern == 2 || (pattern == 3 && gen_chance(r, 5)))
			bits = specials[gen_below(r, 9)];
		if (pattern == 4)
			bits = gen_next(r);
		if (kind == ZS_KIND_FLOAT4)
		{
			float		f = (float) d;
			uint32		bits4;

			memcpy(&bits4, &f, 4);
			if (pattern == 2 || (pattern == 3 && gen_chance(r, 5)))
				bits4 = specials4[gen_below(r, 9)];
			if (pattern == 4)
				bits4 = (uint32) gen_next(r);
			bits = (uint64) (int64) (int32) bits4;
		}
		col->ints[i] = (int64) bits;
	}
}

/* One numeric payload. */
static void
gen_one_numeric(GenRandom *r, int pattern, int scale, GenColumn *col)
{
	static const uint16 specials[] = {0xC000, 0xD000, 0xF000};
	uint8		payload[4096];
	size_t		len;
	int			dscale = scale;
	__int128	value = (int64) gen_below(r, 2000000) - 1000000;

	switch (pattern)
	{
		case 1:					/* any size that fits, sometimes more */
			value = (__int128) (gen_next(r) >> gen_below(r, 64)) * (gen_chance(r, 50) ? 1 : -1);
			break;
		case 2:					/* scales of the values differ */
			scale = dscale = (int) gen_below(r, 6);
			break;
		case 3:					/* special values among others */
			if (gen_chance(r, 10))
			{
				gen_append(col, &specials[gen_below(r, 3)], 2);
				return;
			}
			break;
		case 4:					/* large scales, long headers */
			dscale = scale = (int) gen_below(r, 30);
			if (gen_chance(r, 20))
				dscale += 1000;
			break;
		case 5:					/* garbage, many digits */
			len = gen_chance(r, 70) ? gen_below(r, 12) : gen_below(r, sizeof(payload));
			for (size_t i = 0; i < len; i++)
				payload[i] = (uint8) gen_next(r);
			gen_append(col, payload, len);
			return;
		case 6:					/* few values */
			value = (int64) gen_below(r, 12);
			break;
		case 7:					/* whole numbers, multiples of 100 */
			value = (__int128) gen_below(r, 1000) * 100;
			break;
		case 8:					/* valid but longer display scale than digits need */
			value = (__int128) gen_below(r, 1000) * 10000;
			dscale = scale + (int) gen_below(r, 2);
			break;
		case 9:					/* nearly garbage: a bit flipped now and then */
			len = gen_numeric(value, scale, dscale, payload);
			if (gen_chance(r, 10))
				payload[gen_below(r, len)] ^= (uint8) (1 << gen_below(r, 8));
			gen_append(col, payload, len);
			return;
	}
	len = gen_numeric(value, scale, dscale, payload);
	gen_append(col, payload, len);
}

/* One string or fixed-length value. */
static void
gen_one_string(GenRandom *r, int pattern, size_t width, uint64 salt, GenColumn *col)
{
	static const char *const words[] = {
		"http://", "www.", "example", ".com/", "index", ".html", "?q=", "zedstore", " furiously", " ideas",
		" carefully", " deposits", " sleep", "the ", "of ", "and "
	};
	uint8		buf[256];
	size_t		len = 0;
	char		text[64];

	switch (pattern)
	{
		case 0:					/* few values */
			len = (size_t) snprintf(text, sizeof(text), "value %d",
									(int) ((salt + gen_below(r, 20)) % 97));
			gen_append(col, text, width ? 0 : len);
			break;
		case 1:					/* words */
			for (int i = (int) gen_below(r, 12); i > 0; i--)
			{
				const char *w = words[gen_below(r, 16)];

				gen_append(col, w, width ? 0 : strlen(w));
			}
			break;
		case 2:					/* noise */
			len = gen_below(r, 40);
			for (size_t i = 0; i < len; i++)
				buf[i] = (uint8) gen_next(r);
			gen_append(col, buf, width ? 0 : len);
			break;
		case 3:					/* around the header sizes */
			memset(buf, 'x', sizeof(buf));
			gen_append(col, buf, width ? 0 : 120 + gen_below(r, 12));
			break;
		case 4:					/* mostly empty */
			if (gen_chance(r, 5) && !width)
				gen_append(col, "y", 1);
			break;
		case 5:					/* one value */
			gen_append(col, "constant", width ? 0 : 8);
			break;
		case 6:					/* numbers as text, ascending */
			len = (size_t) snprintf(text, sizeof(text), "Customer#%09u", col->in.nrows);
			gen_append(col, text, width ? 0 : len);
			break;
		case 7:					/* some repeat, others do not */
			if (gen_chance(r, 60))
			{
				uint64		v = (salt + gen_below(r, 300)) * UINT64CONST(0x9E3779B97F4A7C15);

				len = (size_t) snprintf(text, sizeof(text), "/page/%llu/%llu.html",
										(unsigned long long) (v >> 50), (unsigned long long) v);
			}
			else
				len = (size_t) snprintf(text, sizeof(text), "/visit/%llu",
										(unsigned long long) gen_next(r));
			gen_append(col, text, width ? 0 : len);
			break;
		case 8:					/* text that has no end of different words */
			for (int i = 2 + (int) gen_below(r, 8); i > 0; i--)
			{
				static const char syllables[] = "ka ro mitu lesanovipodequxy fum in. Erst";
				uint64		v = gen_below(r, 40) * gen_below(r, 40);

				for (; v > 0; v /= 10)
					gen_append(col, syllables + v % 10 * 4, width ? 0 : 3 + v % 2);
				if (gen_chance(r, 1))
				{
					buf[0] = (uint8) gen_next(r);
					gen_append(col, buf, width ? 0 : 1);
				}
			}
			break;
		case 10:				/* long text, half of which repeats anywhere */
			{
				static const char *const syllables[] = {"ka", "ro", "mi ", "tul", "es", "an ", "vi",
														"po", "de ", "qua", "zh", "ym "};
				GenRandom	text_random =
					{salt + gen_below(r, gen_chance(r, 60) ? 400 : UINT64CONST(1) << 40)};

				for (int i = 20 + (int) gen_below(&text_random, 60); i > 0 && !width; i--)
				{
					const char *w = syllables[gen_below(&text_random, 12)];

					gen_append(col, w, strlen(w));
				}
			}
			break;
		default:				/* now and then a long one */
			for (int i = gen_chance(r, 1) ? 1 + (int) gen_below(r, 16000) : 1; i > 0; i--)
			{
				uint64		v = gen_next(r);

				for (int b = 0; b < 8; b++)
					buf[b] = (uint8) ("0123456789abcdef"[(v >> (b * 4)) & 15]);
				gen_append(col, buf, width ? 0 : 8);
			}
	}
	if (width > 0)
	{
		for (size_t i = 0; i < width; i++)
			buf[0] = (uint8) (pattern == 5 ? i : pattern == 0 ? (salt >> (i & 63)) +
							  gen_below(r, 2) * (i == 0) :
							  pattern < 3 ? gen_below(r, 3) : gen_next(r)),
				gen_append(col, buf, 1);
	}
}

bool		gen_long_texts = false;

static void
gen_strings(GenRandom *r, ZsValueKind kind, uint32 nrows, GenColumn *col)
{
	int			pattern = gen_long_texts ? 10 : (int) gen_below(r, kind == ZS_KIND_BYTES ? 11 : 10);
	int			scale = (int) gen_below(r, gen_chance(r, 80) ? 6 : 20);
	int			ext_percent = kind != ZS_KIND_FIXED &&
		gen_chance(r, 20) ? (int) gen_below(r, 100) + 1 : 0;
	uint64		salt = gen_next(r);

	gen_long_texts = false;
	snprintf(col->what, sizeof(col->what),
			 "kind %d, pattern %d, scale %d, width %d, overflow %d %%",
			 (int) kind, pattern, scale, col->in.width, ext_percent);
	col->offsets = xmalloc((nrows + 1) * sizeof(uint64));
	col->bytes = xmalloc(1);
	if (ext_percent > 0)
	{
		col->isext = xmalloc(nrows);
		memset(col->isext, 0, nrows);
	}
	/* Offsets need not begin at 0. */
	col->offsets[0] = 0;
	col->in.nrows = 0;
	if (gen_chance(r, 30))
		gen_append(col, "skip this", gen_below(r, 10));
	for (uint32 i = 0; i < nrows; i++)
	{
		col->in.nrows = i + 1;
		col->offsets[i + 1] = col->offsets[i];
		if (col->isnull != NULL && col->isnull[i])
			continue;
		if (gen_chance(r, ext_percent))
		{
			uint64		pointer[2] = {gen_next(r), 7};

			col->isext[i] = 1;
			gen_append(col, pointer, 12);
		}
		else if (kind == ZS_KIND_NUMERIC)
			gen_one_numeric(r, pattern, scale, col);
		else
			gen_one_string(r, pattern, kind == ZS_KIND_FIXED ? (size_t) col->in.width : 0, salt,
						   col);
	}
	/* No room behind the last byte, so that reading on is noticed. */
	if (col->offsets[nrows] > 0)
		col->bytes = realloc(col->bytes, col->offsets[nrows]);
	col->in.isext = col->isext;
	col->in.bytes = col->bytes;
	col->in.offsets = col->offsets;
}

/* Makes a column of a kind. */
void
gen_column(GenRandom *r, ZsValueKind kind, uint32 nrows, GenColumn *col)
{
	memset(col, 0, sizeof(*col));
	col->in.kind = kind;
	col->in.align = 1;
	gen_nulls(r, nrows, col);
	switch (kind)
	{
		case ZS_KIND_INT:
			col->in.width = 1 << gen_below(r, 4);
			col->in.is_unsigned = gen_chance(r, 25);
			gen_ints(r, nrows, col->in.width * 8, col);
			break;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			gen_floats(r, nrows, kind, col);
			break;
		default:
			if (kind == ZS_KIND_FIXED)
			{
				col->in.width = (int[]) {1, 6, 8, 12, 16, 24, 64, 200}[gen_below(r, 8)];
				col->in.align = (uint8) (1 << gen_below(r, 4));
			}
			gen_strings(r, kind, nrows, col);
	}
	col->in.nrows = nrows;
}
