/*-------------------------------------------------------------------------
 *
 * codec_int_decode.c
 *	  Reading integer streams, all values or one.
 *
 * Which stream may be nested in which is a fixed order (DICT and SCALED hold anything below, RLE
 * holds DELTA, DELTA holds FOR), carried as a level that only falls, so broken bytes cannot make
 * the recursion deep.  Counts come from outside and every length is checked before its bytes are
 * read; values are never trusted as positions except where the caller checks them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_int_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_internal.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* What may stand at a nesting level. */
typedef enum StreamLevel
{
	LEVEL_FLAT,					/* CONST, FOR */
	LEVEL_SIMPLE,				/* and DELTA */
	LEVEL_UNSCALED,				/* and RLE */
	LEVEL_TOP					/* and SCALED, DICT */
} StreamLevel;

static const char *decode_stream(ZsReader *r, uint32 n, StreamLevel level, uint64 *out);
static const char *get_value(ZsReader *r, uint32 n, uint32 idx, StreamLevel level, uint64 *value);

/* The lowest level an encoding belongs to, or a level above all. */
static int
level_of(int encoding)
{
	switch (encoding)
	{
		case ZS_ENC_CONST:
		case ZS_ENC_FOR:
			return LEVEL_FLAT;
		case ZS_ENC_DELTA:
			return LEVEL_SIMPLE;
		case ZS_ENC_RLE:
			return LEVEL_UNSCALED;
		case ZS_ENC_SCALED:
		case ZS_ENC_DICT:
			return LEVEL_TOP;
		default:
			return LEVEL_TOP + 1;
	}
}

/* A sign-extended number of nbytes. */
static const char *
read_base(ZsReader *r, int nbytes, uint64 *base)
{
	uint64		v = 0;

	if (nbytes > 8)
		return "base too long";
	if (reader_left(r) < (size_t) nbytes)
		return ZS_ERR_SHORT;
	if (nbytes > 0)
	{
		memcpy(&v, r->p, nbytes);
		v = (uint64) ((int64) (v << (64 - 8 * nbytes)) >> (64 - 8 * nbytes));
	}
	r->p += nbytes;
	*base = v;
	return NULL;
}

/* Tag byte of a stream that may stand at this level. */
static const char *
read_tag(ZsReader *r, StreamLevel level, int *encoding, int *nbytes)
{
	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	*encoding = *r->p & 0x0F;
	*nbytes = *r->p >> 4;
	r->p++;
	if (level_of(*encoding) > (int) level)
		return "integer encoding is unknown or misplaced";
	return NULL;
}

/* The parts of a FOR stream behind its tag. */
typedef struct ForParts
{
	uint64		base;
	int			width;
	const uint8 *packed;
	size_t		packed_len;
	uint32		npatches;
	int			patch_width;
	const uint8 *patches;
	uint16		pos[ZS_VECTOR_ROWS];
} ForParts;

static const char *
read_for(ZsReader *r, uint32 n, int nbytes, ForParts *f)
{
	const char *err;
	bool		has_patches;

	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	f->width = *r->p & 0x7F;
	has_patches = (*r->p & 0x80) != 0;
	r->p++;
	if (f->width > ZS_WIDTH_MAX || f->width != packed_width(f->width))
		return "bit width out of range";
	if ((err = read_base(r, nbytes, &f->base)) != NULL)
		return err;
	f->packed = r->p;
	f->packed_len = packed_size(n, f->width);
	if (reader_left(r) < f->packed_len)
		return ZS_ERR_SHORT;
	r->p += f->packed_len;
	f->npatches = 0;
	if (!has_patches)
		return NULL;
	if (f->width == ZS_WIDTH_MAX)
		return "bit width out of range";
	if ((err = zscodec_posset_decode(r, n, f->pos, &f->npatches)) != NULL)
		return err;
	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	f->patch_width = *r->p++;
	if (f->patch_width > ZS_WIDTH_MAX || f->patch_width != packed_width(f->patch_width))
		return "bit width out of range";
	f->patches = r->p;
	if (reader_left(r) < packed_size(f->npatches, f->patch_width))
		return ZS_ERR_SHORT;
	r->p += packed_size(f->npatches, f->patch_width);
	return NULL;
}

static const char *
decode_for(ZsReader *r, uint32 n, int nbytes, uint64 *out)
{
	ForParts	f;
	const char *err;

	if ((err = read_for(r, n, nbytes, &f)) != NULL)
		return err;
	Assert(f.packed + f.packed_len <= r->end);
	zscodec_bits_unpack(f.packed, n, f.width, f.base, out);
	if (f.npatches > 0)
	{
		uint64		patches[ZS_VECTOR_ROWS];

		Assert(f.pos[f.npatches - 1] < n);
		zscodec_bits_unpack(f.patches, f.npatches, f.patch_width, 0, patches);
		for (uint32 i = 0; i < f.npatches; i++)
			out[f.pos[i]] += patches[i] << f.width;
	}
	return NULL;
}

/* Turns n - 1 differences at out[1] into values, out[0] being the first. */
static void
prefix_sum(uint64 *out, uint32 n, uint64 first)
{
	uint64		v = first;

	out[0] = v;
	for (uint32 i = 1; i < n; i++)
	{
		v += out[i];
		out[i] = v;
	}
}

static const char *
decode_delta(ZsReader *r, uint32 n, int nbytes, uint64 *out)
{
	const char *err;
	uint64		first;

	if ((err = read_base(r, nbytes, &first)) != NULL)
		return err;
	if (n < 2)
		return "difference stream too short";
	if ((err = decode_stream(r, n - 1, LEVEL_FLAT, out + 1)) != NULL)
		return err;
	prefix_sum(out, n, first);
	return NULL;
}

/* Run lengths, checked to cover exactly n values; they come out as lengths, not lengths - 1. */
static const char *
read_run_lens(ZsReader *r, uint32 n, uint32 *nruns, uint64 *lens)
{
	const char *err;
	uint64		total = 0;

	if (reader_left(r) < 2)
		return ZS_ERR_SHORT;
	*nruns = load16(r->p);
	r->p += 2;
	if (*nruns < 1 || *nruns > n)
		return "run count out of range";
	if ((err = decode_stream(r, *nruns, LEVEL_SIMPLE, lens)) != NULL)
		return err;
	for (uint32 i = 0; i < *nruns; i++)
	{
		if (lens[i] >= n)
			return "run length out of range";
		total += ++lens[i];
	}
	if (total != n)
		return "run lengths do not add up";
	return NULL;
}

static const char *
decode_rle(ZsReader *r, uint32 n, uint64 *out)
{
	uint64		lens[ZS_VECTOR_ROWS];
	uint64		vals[ZS_VECTOR_ROWS];
	const char *err;
	uint32		nruns;
	uint64	   *end = out + n;

	if ((err = read_run_lens(r, n, &nruns, lens)) != NULL)
		return err;
	if ((err = decode_stream(r, nruns, LEVEL_SIMPLE, vals)) != NULL)
		return err;
	for (uint32 i = 0; i < nruns; i++)
	{
		uint64		v = vals[i];
		uint64		len = lens[i];

		Assert(len >= 1 && len <= (uint64) (end - out));
		/* Most runs are short: eight stores without asking, where there is room, then the rest. */
		if (end - out >= 8)
		{
			for (int j = 0; j < 8; j++)
				out[j] = v;
			for (uint64 j = 8; j < len; j++)
				out[j] = v;
		}
		else
		{
			for (uint64 j = 0; j < len; j++)
				out[j] = v;
		}
		out += len;
	}
	Assert(out == end);
	return NULL;
}

/* Base and factor of a SCALED stream. */
static const char *
read_scale(ZsReader *r, int nbytes, uint64 *base, uint64 *factor)
{
	const char *err;
	int			factor_bytes;

	if ((err = read_base(r, nbytes, base)) != NULL)
		return err;
	if (reader_left(r) < 1)
		return ZS_ERR_SHORT;
	factor_bytes = *r->p++;
	if (factor_bytes > 8)
		return "factor too long";
	if (reader_left(r) < (size_t) factor_bytes)
		return ZS_ERR_SHORT;
	*factor = 0;
	memcpy(factor, r->p, factor_bytes);
	r->p += factor_bytes;
	return NULL;
}

static ZS_CLONES void
scale_values(uint64 *restrict vals, uint32 n, uint64 base, uint64 factor)
{
	for (uint32 i = 0; i < n; i++)
		vals[i] = base + vals[i] * factor;
}

static const char *
decode_stream(ZsReader *r, uint32 n, StreamLevel level, uint64 *out)
{
	const char *err;
	int			encoding;
	int			nbytes;
	uint64		base;
	uint64		factor;

	if ((err = read_tag(r, level, &encoding, &nbytes)) != NULL)
		return err;
	switch (encoding)
	{
		case ZS_ENC_CONST:
			if ((err = read_base(r, nbytes, &base)) != NULL)
				return err;
			for (uint32 i = 0; i < n; i++)
				out[i] = base;
			return NULL;
		case ZS_ENC_FOR:
			return decode_for(r, n, nbytes, out);
		case ZS_ENC_DELTA:
			return decode_delta(r, n, nbytes, out);
		case ZS_ENC_RLE:
			return decode_rle(r, n, out);
		case ZS_ENC_DICT:
			return decode_stream(r, n, LEVEL_UNSCALED, out);
		case ZS_ENC_SCALED:
			if ((err = read_scale(r, nbytes, &base, &factor)) != NULL)
				return err;
			if ((err = decode_stream(r, n, LEVEL_UNSCALED, out)) != NULL)
				return err;
			scale_values(out, n, base, factor);
			return NULL;
	}
	return "integer encoding is unknown or misplaced";
}

/* One value of a FOR stream. */
static const char *
get_for(ZsReader *r, uint32 n, uint32 idx, int nbytes, uint64 *value)
{
	ForParts	f;
	const char *err;

	if ((err = read_for(r, n, nbytes, &f)) != NULL)
		return err;
	*value = f.base + zscodec_bits_get(f.packed, f.packed_len, idx, f.width);
	for (uint32 i = 0; i < f.npatches && f.pos[i] <= idx; i++)
	{
		if (f.pos[i] == idx)
			*value += zscodec_bits_get(f.patches, packed_size(f.npatches, f.patch_width), i,
									   f.patch_width) << f.width;
	}
	return NULL;
}

/* One value of an RLE stream: find the run, then its value. */
static const char *
get_rle(ZsReader *r, uint32 n, uint32 idx, uint64 *value)
{
	uint64		lens[ZS_VECTOR_ROWS];
	const char *err;
	uint32		nruns;
	uint32		run = 0;
	uint64		end;

	if ((err = read_run_lens(r, n, &nruns, lens)) != NULL)
		return err;
	for (end = lens[0]; end <= idx; end += lens[run])
		run++;
	Assert(run < nruns);
	return get_value(r, nruns, run, LEVEL_SIMPLE, value);
}

/* One value of a DELTA stream: the first one and the differences up to it. */
static const char *
get_delta(ZsReader *r, uint32 n, uint32 idx, int nbytes, uint64 *value)
{
	uint64		diffs[ZS_VECTOR_ROWS];
	ForParts	f;
	const char *err;
	int			encoding;
	uint64		diff;

	if ((err = read_base(r, nbytes, value)) != NULL)
		return err;
	if (n < 2)
		return "difference stream too short";
	if ((err = read_tag(r, LEVEL_FLAT, &encoding, &nbytes)) != NULL)
		return err;

	/* a sequence */
	if (encoding == ZS_ENC_CONST)
	{
		if ((err = read_base(r, nbytes, &diff)) != NULL)
			return err;
		*value += idx * diff;
		return NULL;
	}
	Assert(encoding == ZS_ENC_FOR);
	if ((err = read_for(r, n - 1, nbytes, &f)) != NULL)
		return err;
	if (f.width == 0)
		*value += idx * f.base; /* but for the patches a sequence, too */
	else
	{
		zscodec_bits_unpack(f.packed, idx, f.width, f.base, diffs);
		for (uint32 i = 0; i < idx; i++)
			*value += diffs[i];
	}
	for (uint32 i = 0; i < f.npatches && f.pos[i] < idx; i++)
		*value += zscodec_bits_get(f.patches, packed_size(f.npatches, f.patch_width), i,
								   f.patch_width) << f.width;
	return NULL;
}

static const char *
get_value(ZsReader *r, uint32 n, uint32 idx, StreamLevel level, uint64 *value)
{
	const char *err;
	int			encoding;
	int			nbytes;
	uint64		base;
	uint64		factor;

	Assert(idx < n && n <= ZS_VECTOR_ROWS);
	if ((err = read_tag(r, level, &encoding, &nbytes)) != NULL)
		return err;
	switch (encoding)
	{
		case ZS_ENC_CONST:
			return read_base(r, nbytes, value);
		case ZS_ENC_FOR:
			return get_for(r, n, idx, nbytes, value);
		case ZS_ENC_DELTA:
			return get_delta(r, n, idx, nbytes, value);
		case ZS_ENC_RLE:
			return get_rle(r, n, idx, value);
		case ZS_ENC_DICT:
			return get_value(r, n, idx, LEVEL_UNSCALED, value);
		case ZS_ENC_SCALED:
			if ((err = read_scale(r, nbytes, &base, &factor)) != NULL)
				return err;
			if ((err = get_value(r, n, idx, LEVEL_UNSCALED, value)) != NULL)
				return err;
			*value = base + *value * factor;
			return NULL;
	}
	return "integer encoding is unknown or misplaced";
}

/*
 * Reads a stream of n values (1 to 1024) into out and moves the reader behind it.  For a DICT
 * stream the codes come out; the caller looks at the tag to know.
 */
const char *
zscodec_ints_decode(ZsReader *r, uint32 n, uint64 *out)
{
	Assert(n >= 1 && n <= ZS_VECTOR_ROWS);
	return decode_stream(r, n, LEVEL_TOP, out);
}

/*
 * Reads values first .. first + count - 1 of a stream of n into out and moves the reader behind the
 * stream, which must be a flat one (zscodec_ints_flat()).
 */
const char *
zscodec_ints_get_some(ZsReader *r, uint32 n, uint32 first, uint32 count, uint64 *out)
{
	ForParts	f;
	const char *err;
	int			encoding;
	int			nbytes;
	uint64		base;

	Assert(n >= 1 && n <= ZS_VECTOR_ROWS && first + count <= n);
	if ((err = read_tag(r, LEVEL_FLAT, &encoding, &nbytes)) != NULL)
		return err;
	if (encoding == ZS_ENC_CONST)
	{
		if ((err = read_base(r, nbytes, &base)) != NULL)
			return err;
		for (uint32 i = 0; i < count; i++)
			out[i] = base;
		return NULL;
	}
	if ((err = read_for(r, n, nbytes, &f)) != NULL)
		return err;
	for (uint32 i = 0; i < count; i++)
		out[i] = f.base + zscodec_bits_get(f.packed, f.packed_len, first + i, f.width);
	for (uint32 i = 0; i < f.npatches; i++)
	{
		if (f.pos[i] >= first && f.pos[i] < first + count)
			out[f.pos[i] - first] += zscodec_bits_get(f.patches,
													  packed_size(f.npatches, f.patch_width), i,
													  f.patch_width) << f.width;
	}
	return NULL;
}

/* Reads value idx of a stream of n; where the reader stands afterwards is undefined. */
const char *
zscodec_ints_get(ZsReader *r, uint32 n, uint32 idx, uint64 *value)
{
	Assert(n >= 1 && n <= ZS_VECTOR_ROWS && idx < n);
	return get_value(r, n, idx, LEVEL_TOP, value);
}

/*
 * Which bytes of a stream of n values does zscodec_ints_get() look at for value idx?  The reader is
 * on the first bytes of the vector, from head on; the offsets are from there.  False: not known.
 */
bool
zscodec_ints_part(ZsReader *r, uint32 n, uint32 idx, const uint8 *head, uint64 *from, uint64 *to)
{
	uint64		base;
	int			encoding;
	int			nbytes;
	int			width;

	if (read_tag(r, LEVEL_TOP, &encoding, &nbytes) != NULL || encoding != ZS_ENC_FOR ||
		reader_left(r) < 1)
		return false;

	/* patches stand behind the values */
	width = *r->p++;
	if (width > ZS_WIDTH_MAX || width != packed_width(width) || read_base(r, nbytes, &base) != NULL)
		return false;
	*from = (uint64) (r->p - head) + (uint64) idx * width / 8;
	*to = Min(*from + 8, (uint64) (r->p - head) + packed_size(n, width));
	return true;
}
