/*
 * codec_forms.c
 *	  Every form of a vector says the same as its values.
 *
 * The values are decoded into one structure and random choices of forms into another, whose arrays
 * were filled with a pattern: what is not wanted must stay as it is.  Valid or not, bytes whose
 * values can be decoded can be in every form, and all forms agree.
 */
#include "codec_gen.h"

#define PATTERN		0xA5

static ZsVectorOut *values;
static ZsVectorOut *out;
static ZsVectorOut *pattern;

/* Length and address of what a value contains. */
static uint32
contents(const ZsSegmentInfo *info, uint64 value, const uint8 **bytes)
{
	const uint8 *p = (const uint8 *) (uintptr_t) value;
	uint32		word;

	if (info->kind == ZS_KIND_FIXED)
	{
		*bytes = p;
		return info->width;
	}
	if (*p & 1)
	{
		*bytes = p + 1;
		return (uint32) (*p >> 1) - 1;
	}
	memcpy(&word, p, 4);
	*bytes = p + 4;
	return (word >> 2) - 4;
}

static bool
same_value(const ZsSegmentInfo *info, uint64 a, uint64 b)
{
	const uint8 *x;
	const uint8 *y;
	uint32		len;

	if (info->kind < ZS_KIND_NUMERIC)
		return a == b;
	len = contents(info, a, &x);
	return len == contents(info, b, &y) && memcmp(x, y, len) == 0;
}

/* Is the numeric value / 10^scale with this display scale? */
static bool
same_numeric(const ZsSegmentInfo *info, uint64 numeric, int64 value, int scale, int dscale)
{
	uint8		payload[64];
	size_t		len = gen_numeric(value, scale, dscale, payload);
	const uint8 *p;

	return contents(info, numeric, &p) == len && memcmp(payload, p, len) == 0;
}

static bool
bit(const uint64 *words, uint32 row)
{
	return (words[row / 64] >> (row % 64)) & 1;
}

/* One row of out, in the forms that it has, against its value. */
static const char *
check_row(const ZsSegmentInfo *info, const ZsSharedState *shared, uint32 row)
{
	bool		null = values->isnull[row];
	uint64		value = values->values[row];
	bool		odd = out->has_odd && bit(out->odd, row);
	const uint8 *bytes;

	if (out->isnull[row] != null || bit(out->nulls, row) != null)
		return "null flag";
	if (out->has_ext && !null && out->isext[row] != values->isext[row])
		return "overflow flag";
	if (null)
	{
		if (((out->have & ZS_FORM_VALUES) && out->values[row] != 0) ||
			((out->have & (ZS_FORM_CODES | ZS_FORM_ENTRIES)) && out->codes[row] != 0) ||
			((out->have & ZS_FORM_SCALED) &&
			 (out->scaled[row] != 0 || odd || (!out->same_dscale && out->dscales[row] != 0))) ||
			((out->have & ZS_FORM_LENGTHS) && (out->lengths[row] != 0 || odd)))
			return "form of a null";
		return NULL;
	}
	if ((out->have & ZS_FORM_VALUES) && !same_value(info, out->values[row], value))
		return "value";
	if ((out->have & ZS_FORM_CODES) &&
		(out->codes[row] >= shared->ndict ||
		 !same_value(info, shared->dict_values[out->codes[row]], value)))
		return "code";
	if ((out->have & ZS_FORM_ENTRIES) && out->codes[row] != ZS_NO_ENTRY &&
		(out->codes[row] >= shared->ndict ||
		 (shared->dict_values[out->codes[row]] != 0 &&
		  !same_value(info, shared->dict_values[out->codes[row]], value))))
		return "entry";
	if (out->have & ZS_FORM_SCALED)
	{
		if (odd ? out->scaled[row] != 0 :
			!same_numeric(info, value, out->scaled[row], out->scale,
						  out->same_dscale ? out->scale : out->dscales[row]))
			return "scaled integer";
		if (out->has_ext && values->isext[row] && !odd)
			return "overflow pointer as an integer";
	}
	if ((out->have & ZS_FORM_LENGTHS) &&
		(odd ? out->lengths[row] != 0 || !out->has_ext || !values->isext[row] :
		 out->lengths[row] != contents(info, value, &bytes)))
		return "length";
	if (out->have & ZS_FORM_CONST)
	{
		if (!same_value(info, out->constant, value))
			return "constant";
		if (out->has_const_scaled && !same_numeric(info, value, out->const_scaled, out->scale,
												   out->scale))
			return "constant as an integer";
		if (info->kind == ZS_KIND_BYTES && out->const_length != contents(info, value, &bytes))
			return "length of the constant";
	}
	return NULL;
}

/* Any that can be asked for; SOME comes of another function. */
static uint32
any_forms(GenRandom *r)
{
	return (uint32) gen_below(r, 2 * ZS_FORM_ENTRIES) & ~ZS_FORM_SOME;
}

/* Arrays of forms that are not there must be as they were. */
static const char *
check_untouched(void)
{
	if ((out->have & ZS_FORM_VALUES) == 0 &&
		memcmp(out->values, pattern->values, sizeof(out->values)) != 0)
		return "values were touched";
	if ((out->have & (ZS_FORM_CODES | ZS_FORM_ENTRIES)) == 0 &&
		memcmp(out->codes, pattern->codes, sizeof(out->codes)) != 0)
		return "codes were touched";
	if ((out->have & ZS_FORM_SCALED) == 0 &&
		memcmp(out->scaled, pattern->scaled, sizeof(out->scaled)) != 0)
		return "scaled integers were touched";
	if ((out->have & ZS_FORM_LENGTHS) == 0 &&
		memcmp(out->lengths, pattern->lengths, sizeof(out->lengths)) != 0)
		return "lengths were touched";
	return NULL;
}

static void
prepare(void)
{
	if (values == NULL)
	{
		values = calloc(3, sizeof(ZsVectorOut));
		out = values + 1;
		pattern = values + 2;
		zscodec_vector_init(values, &gen_allocator);
		zscodec_vector_init(out, &gen_allocator);
		memset(pattern, PATTERN, sizeof(ZsVectorOut));
	}
	memcpy(out->values, pattern->values, sizeof(out->values));
	memcpy(out->codes, pattern->codes, sizeof(out->codes));
	memcpy(out->scaled, pattern->scaled, sizeof(out->scaled));
	memcpy(out->lengths, pattern->lengths, sizeof(out->lengths));
	out->have = 0;
}

static const char *
check_rows(const ZsSegmentInfo *info, const ZsSharedState *shared)
{
	const char *err;

	for (uint32 row = 0; row < values->nrows; row++)
	{
		if ((err = check_row(info, shared, row)) != NULL)
			return err;
	}
	for (uint32 row = values->nrows; row < ZS_VECTOR_ROWS; row++)
	{
		if (bit(out->nulls, row))
			return "null beyond the rows";
	}
	return NULL;
}

/*
 * Totals of a vector whose rows are in values, against these; out has been decoded of the same
 * vector.
 */
static const char *
check_totals(const ZsSegmentInfo *info, int vecno, const uint8 *bytes, size_t len,
			 const ZsSharedState *shared, bool valid)
{
	ZsVectorTotals totals;
	bool		found;
	bool		scaled;
	uint32		nvalues = 0;
	int64		sum = 0;
	int64		min = PG_INT64_MAX;
	int64		max = PG_INT64_MIN;
	const char *err = zscodec_vector_totals(info, vecno, bytes, len, shared, true, values, &totals,
											&found);

	if (err != NULL)
		return valid || found ? err : NULL;
	if (!found || !valid)
		return NULL;
	if (info->kind == ZS_KIND_NUMERIC)
	{
		if ((err = zscodec_vector_decode(info, vecno, bytes, len, shared, ZS_FORM_SCALED,
										 values)) != NULL)
			return err;
	}
	scaled = (values->have & ZS_FORM_SCALED) != 0;
	if (info->kind != ZS_KIND_INT && !scaled)
		return "totals without integers";
	for (uint32 row = 0; row < values->nrows; row++)
	{
		int64		v = scaled ? values->scaled[row] : (int64) values->values[row];

		if (values->isnull[row])
			continue;
		if (v > (INT64CONST(1) << 52) || v < -(INT64CONST(1) << 52))
			return "total of large integers";
		nvalues++;
		sum += v;
		min = Min(min, v);
		max = Max(max, v);
	}
	if (totals.nrows != values->nrows || totals.nvalues != nvalues)
		return "number of values in the total";
	if (nvalues > 0 && (totals.sum != sum || totals.min != min || totals.max != max))
		return "total";
	if (nvalues > 0 && scaled &&
		(values->has_odd || !values->same_dscale || totals.scale != values->scale))
		return "scale of the total";
	return NULL;
}

/*
 * Values of some rows alone, and then of others: the same as in values, and what was given first
 * stays.
 */
static const char *
check_some(GenRandom *r, const ZsSegmentInfo *info, int vecno, const uint8 *bytes, size_t len,
		   const ZsSharedState *shared, bool valid, bool intact, uint32 *have)
{
	static uint64 before[ZS_VECTOR_ROWS];
	uint64		rows[ZS_VECTOR_WORDS] = {0};
	uint32		n = (uint32) gen_below(r, gen_below(r, 2) == 0 ? 8 : ZS_VECTOR_ROWS);
	uint64		had[ZS_VECTOR_WORDS];
	uint64		sum = 0;
	const char *err;

	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = (uint32) gen_below(r, ZS_VECTOR_ROWS);

		rows[row / 64] |= UINT64CONST(1) << (row % 64);
	}
	err = zscodec_vector_decode_some(info, vecno, bytes, len, shared, rows, out);
	*have |= out->have;
	if (err != NULL)
		return intact ? err : out->have != 0 ? "an error left forms" : NULL;
	if (!intact)
	{
		/* anchors, which decoding all does not look at, may lead astray, but not out of memory */
		for (uint32 row = 0; row < out->nrows && (out->have & ZS_FORM_SOME); row++)
		{
			const uint8 *p;
			uint32		size;

			if (!bit(out->some, row) || out->isnull[row])
				continue;
			size = contents(info, out->values[row], &p);
			for (uint32 i = 0; i < size; i++)
				sum += p[i];
		}
		return sum == PG_UINT64_MAX ? "sum" : NULL;
	}
	if (!valid)
		return "an intact vector";
	if ((out->have & ZS_FORM_SOME) == 0)
		return (out->have & ZS_FORM_VALUES) ? check_rows(info, shared) : "values are missing";
	memcpy(had, out->some, sizeof(had));
	for (uint32 row = 0; row < ZS_VECTOR_ROWS; row++)
	{
		if (bit(had, row) != (bit(rows, row) && row < out->nrows))
			return "rows that were made";
		before[row] = out->values[row];
	}
	zscodec_vector_keep(out);
	if ((err = zscodec_vector_decode(info, vecno, bytes, len, shared, ZS_FORM_VALUES, out)) != NULL)
		return err;
	for (uint32 row = 0; row < values->nrows; row++)
	{
		if (!bit(had, row))
			continue;
		if (values->isnull[row] ? before[row] != 0 :
			!same_value(info, before[row], values->values[row]))
			return "value of a row alone";
	}
	return check_rows(info, shared);
}

const char *
gen_check_forms(GenRandom *r, const ZsSegmentInfo *info, int vecno, const uint8 *bytes, size_t len,
				const ZsSharedState *shared, bool intact, uint32 *have)
{
	uint32		forms = zscodec_vector_forms(info, vecno);
	uint32		want = any_forms(r);
	bool		valid;
	const char *err;

	prepare();
	valid = zscodec_vector_decode(info, vecno, bytes, len, shared, ZS_FORM_VALUES, values) == NULL;
	if ((err = check_totals(info, vecno, bytes, len, shared, valid)) != NULL)
		return err;
	if (valid)
		(void) zscodec_vector_decode(info, vecno, bytes, len, shared, ZS_FORM_VALUES, values);
	*have = 0;
	if (gen_below(r, 2) == 0)
		return check_some(r, info, vecno, bytes, len, shared, valid, intact, have);
	err = zscodec_vector_decode(info, vecno, bytes, len, shared, want, out);
	*have = out->have;
	if (err != NULL)
		return valid ? err : out->have != 0 ? "an error left forms" : NULL;
	if (out->have & ~(want | ZS_FORM_NULLS))
		return "forms that were not wanted";
	if ((want & forms) != 0 && (out->have & ZS_FORM_NULLS) == 0)
		return "null flags are missing";
	if ((want & ZS_FORM_VALUES) && (out->have & (ZS_FORM_VALUES | ZS_FORM_CONST)) == 0)
		return "values are missing";
	if ((want & forms & ZS_FORM_CODES) && (out->have & ZS_FORM_CODES) == 0)
		return "codes are missing";
	if (!valid || out->have == 0)
		return check_untouched();
	if ((err = check_untouched()) != NULL || (err = check_rows(info, shared)) != NULL)
		return err;
	if (out->have & ZS_FORM_CODES)
	{
		if ((err = zscodec_vector_from_codes(info, shared, any_forms(r), out)) != NULL)
			return err;
		*have |= out->have;
		return check_rows(info, shared);
	}

	/* the rest by another call */
	want = out->have;
	if ((err = zscodec_vector_decode(info, vecno, bytes, len, shared,
									 any_forms(r) & ~want, out)) != NULL)
		return err;
	*have |= out->have;
	out->have |= want;
	return check_rows(info, shared);
}

void
gen_free_forms(void)
{
	if (values == NULL)
		return;
	zscodec_vector_free(values);
	zscodec_vector_free(out);
	free(values);
	values = NULL;
}
