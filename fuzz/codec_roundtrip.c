/*
 * codec_roundtrip.c
 *	  What goes into the codec comes out, bit for bit.
 *
 * Usage: codec_roundtrip [columns [seed]].  Random and adversarial columns of every kind are
 * encoded with every compression, decoded whole and value by value, and compared; zone maps must
 * bound the values, memory must all be given back.  From 1000 columns on, each encoding of the
 * table must have been written.
 */
#include "codec_gen.h"
#include "codec_ops.h"
#include "codec_words_find.h"

#include <float.h>
#include <math.h>

static const GenColumn *current;
static uint64 current_seed;
static const char *current_step = "";

#define CHECK(cond, ...) \
	do { \
		if (!(cond)) \
		{ \
			fprintf(stderr, "not ok: seed %llu, %s, %u rows, %s: ", \
					(unsigned long long) current_seed, current->what, current->in.nrows, \
					current_step); \
			fprintf(stderr, __VA_ARGS__); \
			fprintf(stderr, "\n"); \
			abort(); \
		} \
	} while (0)

static uint64 counts[ZS_ENC_COUNT];
static uint64 ncompressed;
static uint64 nparts;
static uint64 nforms[7];
static uint64 nversion2;
static uint64 nuniform;
static uint64 nrecalled_words;
static uint64 nnarrow;
static uint64 nlarge_groups;
static uint64 nnumeric_ints;

/* Does the value of a row equal the input? */
static void
check_value(const GenColumn *col, uint32 row, const ZsVectorOut *out, uint32 idx)
{
	const ZsColumnInput *in = &col->in;
	bool		null = in->isnull != NULL && in->isnull[row];
	const uint8 *p = (const uint8 *) (uintptr_t) out->values[idx];
	uint64		len;

	CHECK(out->isnull[idx] == null, "row %u: null flag", row);
	if (null)
	{
		CHECK(out->values[idx] == 0, "row %u: value of a null", row);
		return;
	}
	if (in->kind < ZS_KIND_NUMERIC)
	{
		CHECK((int64) out->values[idx] == in->ints[row], "row %u: %lld instead of %lld", row,
			  (long long) out->values[idx], (long long) in->ints[row]);
		return;
	}
	len = in->offsets[row + 1] - in->offsets[row];
	if (in->kind == ZS_KIND_FIXED)
		CHECK(out->values[idx] % in->align == 0, "row %u: alignment", row);
	else
	{
		uint32		total;
		uint32		header = (*p & 1) ? 1 : 4;

		memcpy(&total, p, header == 1 ? 1 : 4);
		total = header == 1 ? *p >> 1 : total >> 2;
		CHECK(header == (len + 1 <= 127 ? 1 : 4) || (in->kind == ZS_KIND_NUMERIC && header == 4),
			  "row %u: header size", row);
		CHECK(header == 1 || out->values[idx] % 4 == 0, "row %u: alignment", row);
		CHECK(total == len + header, "row %u: length %u instead of %llu", row, total,
			  (unsigned long long) len);
		p += header;
		CHECK(!out->has_ext || out->isext[idx] == (in->isext != NULL && in->isext[row]),
			  "row %u: overflow flag", row);
		CHECK(out->has_ext || in->isext == NULL || !in->isext[row], "row %u: overflow flag", row);
	}
	CHECK(len == 0 || memcmp(p, in->bytes + in->offsets[row], len) == 0, "row %u: bytes differ",
		  row);
}

/* Does the zone map bound the value? */
static void
check_zone(const GenColumn *col, uint32 row, const ZsVectorInfo *vi)
{
	const ZsColumnInput *in = &col->in;
	int64		lower = 0;
	int64		upper = 0;
	double		d;
	float		f;

	if (!vi->has_zone || (in->isnull != NULL && in->isnull[row]))
		return;
	switch (in->kind)
	{
		case ZS_KIND_INT:
			lower = upper = zscodec_zone_from_int64(in->ints[row], in->width, in->is_unsigned);
			break;
		case ZS_KIND_FLOAT4:
			memcpy(&f, &in->ints[row], 4);
			lower = upper = zscodec_zone_from_float8(f);
			break;
		case ZS_KIND_FLOAT8:
			memcpy(&d, &in->ints[row], 8);
			lower = upper = zscodec_zone_from_float8(d);
			break;
		case ZS_KIND_NUMERIC:
			CHECK(zscodec_zone_from_numeric(in->bytes + in->offsets[row],
											in->offsets[row + 1] - in->offsets[row], &lower,
											&upper), "row %u: numeric has no image", row);
			break;
		default:
			lower = upper = zscodec_zone_from_bytes(in->bytes + in->offsets[row],
													in->offsets[row + 1] - in->offsets[row]);
	}
	CHECK(lower <= upper, "row %u: interval", row);
	CHECK(vi->zone_min <= upper && lower <= vi->zone_max, "row %u: zone map", row);
}

/*
 * Codes must ascend with the values where the dictionary says so, and integers must be near the
 * zone map's images.
 */
static void
check_extras(const GenColumn *col, const ZsVectorOut *out, const ZsSharedState *shared)
{
	for (uint32 i = 0; i < out->nrows; i++)
	{
		if (out->isnull[i])
			continue;
		if (out->have & ZS_FORM_CODES)
		{
			CHECK(out->codes[i] < shared->ndict &&
				  shared->dict_values[out->codes[i]] == out->values[i], "code of %u", i);
			if (shared->dict_sorted && out->codes[i] > 0 && col->in.kind < ZS_KIND_NUMERIC)
				CHECK((int64) shared->dict_values[out->codes[i] - 1] < (int64) out->values[i],
					  "order of code %u", i);
		}
		if ((out->have & ZS_FORM_SCALED) && !(out->has_odd && (out->odd[i / 64] >> (i % 64)) & 1))
		{
			const uint8 *p = (const uint8 *) (uintptr_t) out->values[i];
			int64		lower;
			int64		upper;
			int64		image = zscodec_zone_from_float8((double) out->scaled[i] / pow(10,
																					   out->scale));

			uint32		total;

			memcpy(&total, p, sizeof(total));
			CHECK((*p & 1) ? zscodec_zone_from_numeric(p + 1, (size_t) (*p >> 1) - 1, &lower,
													   &upper) :
				  zscodec_zone_from_numeric(p + 4, (size_t) (total >> 2) - 4, &lower, &upper),
				  "numeric %u", i);
			CHECK(lower <= image && image <= upper, "scaled integer of %u", i);
		}
	}
}

/* Copies to memory of exactly that size, so that a read outside is noticed. */
static uint8 *
exact_copy(const uint8 *bytes, size_t len)
{
	uint8	   *copy = malloc(len > 0 ? len : 1);

	memcpy(copy, bytes, len);
	return copy;
}

/* A payload that need not be stored must come out of what stands for it, in any parts. */
static void
check_uniform(const ZsCodecBuf *buf, const ZsSegmentInfo *info, GenRandom *r)
{
	ZsUniform	uniform;
	uint8		bytes[ZS_UNIFORM_PAYLOAD_MAX];

	if (!zscodec_uniform_find(buf->data, info, &uniform))
		return;
	nuniform++;
	CHECK(zscodec_uniform_size(&uniform) == buf->len && buf->len <= sizeof(bytes),
		  "size of a payload of one value");
	for (int i = 0; i < 8; i++)
	{
		uint32		from = (uint32) gen_below(r, buf->len);
		uint32		to = from + (uint32) gen_below(r, buf->len - from + 1);

		zscodec_uniform_bytes(&uniform, from, to, bytes);
		CHECK(memcmp(bytes, buf->data + from, to - from) == 0, "payload of one value");
	}
}

/* Another value from the bytes that a compressed vector has without compression. */
static void
check_body(GenRandom *r, const ZsSegmentInfo *info, int vecno, const ZsSharedState *shared,
		   ZsVectorOut *out, const GenColumn *col, uint32 first)
{
	const ZsVectorInfo *vi = &info->vectors[vecno];
	uint32		idx = (uint32) gen_below(r, vi->nrows);
	size_t		len = out->body_len;
	const char *err;
	uint8	   *copy;

	CHECK(out->body == NULL || vi->compression != ZS_COMPRESSION_NONE, "vector %d: body", vecno);
	if (out->body == NULL)
		return;
	copy = calloc(1, len + 64);
	memcpy(copy, out->body, len);
	out->body = copy;
	err = zscodec_vector_decode_one(info, vecno, NULL, vi->len, shared, idx, false, out);
	CHECK(err == NULL, "vector %d, body: %s", vecno, err);
	check_value(col, first + idx, out, idx);
	out->body = NULL;
	free(copy);
}

/* Encodes the input, which stands for the column, and compares what comes back with the column. */
static void
check_column(const GenColumn *col, const ZsColumnInput *in, ZsEncoder *enc, ZsVectorOut *out,
			 const ZsEncodeOptions *options, GenRandom *r)
{
	ZsCodecBuf	buf;
	ZsSegmentInfo info;
	ZsSharedState shared;
	const char *err;
	uint8	   *bytes;

	zscodec_buf_init(&buf, &gen_allocator);
	zscodec_shared_init(&shared, &gen_allocator);
	current_step = "encode";
	err = zscodec_segment_encode(enc, in, options, &buf);
	CHECK(err == NULL, "%s", err);
	CHECK(buf.len <= zscodec_segment_max_size(in), "larger than promised");
	current_step = "open";
	err = zscodec_segment_open(buf.data, buf.len, &info);
	CHECK(err == NULL, "%s", err);
	CHECK(info.nrows == col->in.nrows && info.kind == col->in.kind && info.stored_size == buf.len,
		  "info");
	bytes = exact_copy(buf.data + info.shared_off, info.shared_len);
	err = zscodec_shared_open(&info, bytes, info.shared_len, &shared);
	free(bytes);
	CHECK(err == NULL, "shared: %s", err);
	nversion2 += buf.data[1] == 2;
	check_uniform(&buf, &info, r);
	if (gen_chance(r, 70))
	{
		err = zscodec_shared_scale(&info, &shared);
		CHECK(err == NULL, "scaling: %s", err);
	}

	for (uint32 v = 0; v < info.nvectors; v++)
	{
		const ZsVectorInfo *vi = &info.vectors[v];
		uint32		first = v * ZS_VECTOR_ROWS;

		counts[vi->encoding]++;
		ncompressed += vi->compression != 0;
		bytes = exact_copy(buf.data + vi->off, vi->len);
		current_step = zscodec_encoding_name((ZsEncoding) vi->encoding);
		err = zscodec_vector_decode(&info, (int) v, bytes, vi->len,
									vi->needs_shared ? &shared : NULL,
									gen_chance(r, 50) ? ZS_FORM_VALUES : ZS_FORM_VALUES |
									ZS_FORM_CODES | ZS_FORM_SCALED, out);
		CHECK(err == NULL, "vector %u: %s", v, err);
		CHECK(out->nrows == vi->nrows, "vector %u: rows", v);
		for (uint32 i = 0; i < out->nrows; i++)
		{
			check_value(col, first + i, out, i);
			check_zone(col, first + i, vi);
		}
		check_extras(col, out, &shared);
		for (int n = 0; n < 3; n++)
		{
			uint32		have;

			err = gen_check_forms(r, &info, (int) v, bytes, vi->len,
								  vi->needs_shared ? &shared : NULL, true, &have);
			CHECK(err == NULL, "vector %u, forms: %s", v, err);
			for (int f = 0; f < 7; f++)
				nforms[f] += (have >> f) & 1;
		}
		for (int n = 0; n < 12; n++)
		{
			uint32		idx = n == 0 ? 0 : n == 1 ? vi->nrows - 1u :
				(uint32) gen_below(r, vi->nrows);
			bool		whole = n % 2 == 0;

			err = zscodec_vector_decode_one(&info, (int) v, bytes, vi->len, &shared, idx, whole,
											out);
			CHECK(err == NULL, "vector %u, one: %s", v, err);
			check_value(col, first + idx, out, idx);
			check_body(r, &info, (int) v, &shared, out, col, first);

			/* the same with no more bytes than it is said to take */
			if (vi->len > 1)
			{
				uint32		head = 1 + (uint32) gen_below(r, Min(vi->len - 1, 1000));
				uint32		from;
				uint32		to;
				uint8	   *part;

				if (!zscodec_vector_part(&info, (int) v, bytes, head, idx, &from, &to))
					continue;
				nparts++;
				CHECK(from >= head && from <= to && to <= vi->len, "vector %u: part", v);
				part = malloc(vi->len);
				memset(part, 0x7F, vi->len);
				memcpy(part, bytes, head);
				memcpy(part + from, bytes + from, to - from);
				err = zscodec_vector_decode_one(&info, (int) v, part, vi->len, &shared, idx, whole,
												out);
				CHECK(err == NULL, "vector %u, part: %s", v, err);
				check_value(col, first + idx, out, idx);
				free(part);
			}
		}
		free(bytes);
	}
	zscodec_shared_free(&shared);
	zscodec_buf_free(&buf);
}

/*
 * The numerics of a column as integers, as many rows as have one scale from the first on.  The
 * result lives in ints, which has room for all rows.
 */
static bool
numerics_as_ints(const GenColumn *col, int64 *ints, ZsColumnInput *in)
{
	int			scale = -1;
	uint32		n;

	*in = col->in;
	for (n = 0; n < col->in.nrows; n++)
	{
		uint64		off = col->in.offsets[n];
		uint64		len = col->in.offsets[n + 1] - off;
		uint8		payload[ZS_NUMERIC_PAYLOAD_MAX];
		int			s;

		ints[n] = (int64) n * 77;
		if (col->in.isnull != NULL && col->in.isnull[n])
			continue;
		if ((col->in.isext != NULL && col->in.isext[n]) ||
			!zscodec_numeric_to_int(col->in.bytes + off, len, &s, &ints[n]) ||
			(scale >= 0 && s != scale))
			break;
		scale = s;
		CHECK(zscodec_numeric_from_int(ints[n], s, payload) == len &&
			  memcmp(payload, col->in.bytes + off, len) == 0, "row %u: payload of an integer", n);
	}
	in->ints = ints;
	in->scale = Max(scale, 0);
	in->raw_bytes = n > 0 ? col->in.offsets[n] - col->in.offsets[0] : 0;
	in->nrows = n;
	in->isext = NULL;
	in->bytes = NULL;
	in->offsets = NULL;
	return n > 0;
}

/* Numerics whose value is known: the interval must contain it. */
static void
check_numeric_images(GenRandom *r)
{
	for (int i = 0; i < 20000; i++)
	{
		int			scale = (int) gen_below(r, 17);
		int64		value = (int64) gen_next(r) >> gen_below(r, 60);
		uint8		payload[64];
		size_t		len = gen_numeric(value, scale, scale, payload);
		int64		lower;
		int64		upper;
		int64		image = zscodec_zone_from_float8((double) ((long double) value / powl(10.0L,
																						  scale)));

		if (!zscodec_zone_from_numeric(payload, len, &lower, &upper) || lower > image ||
			upper < image)
		{
			fprintf(stderr, "not ok: image of %lld, scale %d\n", (long long) value, scale);
			abort();
		}
	}
}

/*
 * zscodec_numerics_to_ints() against its plain sister: what it accepts must be the same, and it
 * must accept all numerics below 10^8 of its scale.  Some bits are wrong in every fourth.
 */
static void
check_memory_images(GenRandom *r)
{
	for (int i = 0; i < 200000; i++)
	{
		int			scale = (int) gen_below(r, 6);
		int64		value = (int64) gen_next(r) >> (gen_below(r, 60) + 4);
		uint64		image[3 * 2] = {0};
		uint8	   *p = (uint8 *) (image + 2);
		size_t		len = gen_numeric(value, scale, scale, p + 4);
		bool		broken = gen_chance(r, 25);
		bool		small;
		int			s;
		int64		expected;
		int64		ints[3];
		uint64		nbytes;

		if (len + 4 > ZS_NUMERIC_IMAGE_SIZE)
			continue;
		*(uint32 *) p = (uint32) (len + 4) << 2;
		if (broken)
			p[4 + gen_below(r, (uint32) len)] ^= (uint8) (1 << gen_below(r, 8));
		small = zscodec_numeric_to_int(p + 4, len, &s, &expected) && s == scale;
		if (zscodec_numerics_to_ints(image, 3, scale, ints, &nbytes) ?
			!small || ints[0] != 0 || ints[1] != expected || ints[2] != 0 || nbytes != len :
			!broken && scale <= 4 && llabs(value) < pow(10, 8 + scale))
		{
			fprintf(stderr, "not ok: memory image of %lld, scale %d\n", (long long) value, scale);
			abort();
		}
	}
}

/* Encodes rows of a column of strings; returns the size. */
static size_t
encode_part(ZsEncoder *enc, const GenColumn *col, uint32 first, uint32 nrows, bool continues)
{
	ZsColumnInput in = col->in;
	ZsEncodeOptions options = {ZS_COMPRESSION_LZ4, 0};
	ZsCodecBuf	buf;
	size_t		size;
	const char *err;

	in.offsets += first;
	in.isnull += in.isnull != NULL ? first : 0;
	in.isext += in.isext != NULL ? first : 0;
	in.nrows = nrows;
	in.continues = continues;
	zscodec_buf_init(&buf, &gen_allocator);
	err = zscodec_segment_encode(enc, &in, &options, &buf);
	CHECK(err == NULL, "%s", err);
	size = buf.len;
	zscodec_buf_free(&buf);
	return size;
}

/*
 * A choice that is recalled behind another column must be as good as one that was never lost: the
 * same way of writing, and about the same size.  It must not last for ever.
 */
static void
check_recall(GenRandom *r)
{
	GenColumn	col;
	GenColumn	other;
	ZsEncoder	enc;
	ZsEncoder	apart;
	ZsColumnChoice choice;
	size_t		size;
	size_t		without;
	size_t		with;
	uint32		n;

	zscodec_encoder_init(&enc, &gen_allocator);
	zscodec_encoder_init(&apart, &gen_allocator);
	zscodec_choice_init(&choice, &gen_allocator);
	gen_long_texts = true;
	gen_column(r, ZS_KIND_BYTES, 12000, &col);
	gen_column(r, ZS_KIND_BYTES, 500, &other);
	current = &col;
	current_step = "recall";
	CHECK(!zscodec_choice_recall(&enc, &choice, 6000), "there is nothing to recall");
	encode_part(&enc, &col, 0, 6000, false);
	without = encode_part(&enc, &col, 6000, 6000, true);

	size = encode_part(&apart, &col, 0, 6000, false);
	CHECK(zscodec_choice_keep(&apart, 6000, 100000, size, &choice), "out of memory");
	encode_part(&apart, &other, 0, 500, false);
	CHECK(!zscodec_choice_recall(&apart, &choice, 2000), "recalled for few rows");
	CHECK(zscodec_choice_recall(&apart, &choice, 6000), "not recalled");
	with = encode_part(&apart, &col, 6000, 6000, true);
	CHECK(enc.last_mode == apart.last_mode, "another way");
	CHECK(enc.has_words || choice.words.len == 0, "words from nowhere");
	CHECK(with <= without + without / 50, "%zu bytes instead of %zu", with, without);
	nrecalled_words += choice.words.len > 0;

	CHECK(zscodec_choice_keep(&apart, 6000, 100000, size, &choice), "out of memory");
	for (n = 0; zscodec_choice_recall(&apart, &choice, 6000) && apart.last_mode >= 0; n++)
		CHECK(n < 100, "recalled for ever");
	CHECK(n > 1 && apart.last_mode < 0, "recalled once only");
	CHECK(apart.has_words == (choice.words.len > 0), "words are lost");
	encode_part(&apart, &col, 6000, 6000, true);
	CHECK(apart.last_mode >= 0, "nothing was chosen afresh");
	CHECK(zscodec_choice_recall(&apart, &choice, 6000) && apart.last_mode >= 0, "not recalled");
	CHECK(zscodec_choice_keep(&apart, 6000, 80000, size, &choice), "out of memory");
	CHECK(!zscodec_choice_recall(&apart, &choice, 6000), "recalled though it is bad");
	gen_column_free(&other);
	gen_column_free(&col);
	zscodec_encoder_free(&enc);
	zscodec_encoder_free(&apart);
	zscodec_buf_free(&choice.words);
}

/*
 * Integers of a narrow range get the codes that the same ones get when they lie far apart and are
 * found by their hashes.
 */
static void
check_narrow(GenRandom *r)
{
	GenColumn	col;
	ZsColumnInput wide;
	ZsEncoder	enc[2];
	ZsDictBuild near;
	ZsDictBuild far;
	uint64		nvalues = 2 + gen_below(r, 60);
	uint64		step = 10 + gen_below(r, 20);
	int64		base = (int64) gen_next(r) >> gen_below(r, 60);
	uint32		nrows = 2000 + (uint32) gen_below(r, 40000);
	int			nulls = gen_chance(r, 50) ? 0 : (int) gen_below(r, 60);

	gen_column(r, ZS_KIND_INT, nrows, &col);
	current = &col;
	current_step = "dictionary of a narrow range";
	wide = col.in;
	wide.isnull = NULL;
	wide.ints = malloc(nrows * sizeof(int64));
	if (nulls > 0)
	{
		uint8	   *isnull = malloc(nrows);

		for (uint32 i = 0; i < nrows; i++)
			isnull[i] = gen_chance(r, nulls);
		wide.isnull = isnull;
	}
	col.in.isnull = wide.isnull;
	for (uint32 i = 0; i < nrows; i++)
	{
		int64		v = (int64) (gen_below(r, 1 + gen_below(r, nvalues)) * step);

		((int64 *) col.in.ints)[i] = (int64) ((uint64) base + (uint64) v);
		((int64 *) wide.ints)[i] = v * 1000000007 - 7;
	}
	for (int i = 0; i < 2; i++)
		zscodec_encoder_init(&enc[i], &gen_allocator);
	CHECK(zscodec_dict_build(&enc[0], &col.in, &near) == NULL, "out of memory");
	CHECK(zscodec_dict_build(&enc[1], &wide, &far) == NULL, "out of memory");
	if (near.n > 0 && far.n > 0)
	{
		nnarrow++;
		CHECK(near.n == far.n && near.raw_bytes == far.raw_bytes, "%u values", near.n);
		CHECK(near.complete && near.sorted && far.complete && far.sorted, "not all codes");
		for (uint32 i = 0; i < near.n; i++)
			CHECK((int64) far.entries[i].value + 7 ==
				  (int64) (near.entries[i].value - (uint64) base) * 1000000007, "entry %u", i);
		for (uint32 i = 0; i < nrows; i++)
			CHECK((nulls > 0 && wide.isnull[i]) || near.codes[i] == far.codes[i], "code of %u", i);
	}
	for (int i = 0; i < 2; i++)
		zscodec_encoder_free(&enc[i]);
	free((void *) wide.ints);
	free((void *) wide.isnull);
	col.in.isnull = col.isnull;
	gen_column_free(&col);
}

/* Few letters, so that symbols begin alike. */
static void
fill_letters(GenRandom *r, uint8 *bytes, uint32 len)
{
	for (uint32 i = 0; i < len; i++)
		bytes[i] = (uint8) ('a' + (gen_chance(r, 90) ? 0 : gen_below(r, 3)));
}

/* The symbol that is found must be the longest of all that fit. */
static void
check_words_find(GenRandom *r)
{
	ZsWordTable *table = malloc(sizeof(ZsWordTable));
	uint32		wanted = 1 + (uint32) gen_below(r, ZS_WORDS_SYMBOLS_MAX);
	uint8		text[3000];
	uint64		napart = 0;

	table->nsymbols = 0;
	for (uint32 i = 0; i < wanted; i++)
	{
		ZsWordSymbol s = {.len = (uint8) (1 + gen_below(r, ZS_WORDS_LEN_MAX))};
		uint8		bytes[ZS_WORDS_LEN_MAX] = {0};
		bool		known = false;

		fill_letters(r, bytes, s.len);
		s.low = load64(bytes);
		s.high = load64(bytes + 8);
		for (uint32 k = 0; k < table->nsymbols && !known; k++)
			known = table->symbols[k].len == s.len && table->symbols[k].low == s.low &&
				table->symbols[k].high == s.high;
		if (!known)
			table->symbols[table->nsymbols++] = s;
	}
	zscodec_words_index(table);
	for (uint32 h = 0; h < lengthof(table->long_groups); h++)
		napart += (table->long_groups[h] & ZS_WORDS_LONGER) != 0;
	nlarge_groups += napart;
	fill_letters(r, text, sizeof(text));
	for (uint32 at = 0; at < sizeof(text); at++)
	{
		size_t		most = 1 + gen_below(r, 40);
		size_t		left = Min(sizeof(text) - at, most);
		int			found = find_symbol(table, text + at, left, text + sizeof(text));
		uint32		longest = 0;

		for (uint32 k = 0; k < table->nsymbols; k++)
		{
			const ZsWordSymbol *s = &table->symbols[k];
			uint8		bytes[16];

			memcpy(bytes, &s->low, 8);
			memcpy(bytes + 8, &s->high, 8);
			if (s->len > longest && s->len <= left && memcmp(bytes, text + at, s->len) == 0)
				longest = s->len;
		}
		if ((found < 0 ? 0 : table->symbols[found].len) != longest)
		{
			fprintf(stderr, "not ok: a symbol of %u bytes is not found\n", longest);
			abort();
		}
	}
	free(table);
}

int
main(int argc, char **argv)
{
	int			ncolumns = argc > 1 ? atoi(argv[1]) : 3000;
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	ZsEncoder	enc;
	ZsVectorOut *out = malloc(sizeof(ZsVectorOut));
	GenRandom	images = {seed};
	ZsColumnChoice choice;

	check_numeric_images(&images);
	check_memory_images(&images);
	zscodec_encoder_init(&enc, &gen_allocator);
	zscodec_vector_init(out, &gen_allocator);
	zscodec_choice_init(&choice, &gen_allocator);
	for (int i = 0; i < 20; i++)
		check_recall(&images);
	for (int i = 0; i < 40; i++)
		check_narrow(&images);
	for (int i = 0; i < 10; i++)
		check_words_find(&images);
	if (nrecalled_words == 0 || nnarrow == 0 || nlarge_groups == 0)
	{
		fprintf(stderr, "not ok: no words recalled, no narrow dictionary, or no large group\n");
		return 1;
	}
	for (int c = 0; c < ncolumns; c++)
	{
		GenRandom	r = {current_seed = seed + (uint64) c};
		GenColumn	col;
		static const uint32 sizes[] = {1, 2, 3, 15, 63, 64, 65, 100, 1000, 1023, 1024, 1025, 2048,
									   3000, 8000};
		uint32		nrows = gen_chance(&r, 1) ? 20000 + (uint32) gen_below(&r, 45537) :
			sizes[gen_below(&r, 15)];
		ZsEncodeOptions options = {(ZsCompression) gen_below(&r, 3),
								   gen_chance(&r, 90) ? 0 : (int) gen_below(&r, 10)};

		gen_long_texts = gen_chance(&r, 2);
		if (gen_long_texts)
			nrows = 3000 + (uint32) gen_below(&r, 6000);
		gen_column(&r, gen_long_texts ? ZS_KIND_BYTES : (ZsValueKind) (1 + gen_below(&r, 6)), nrows,
				   &col);
		/* a hint that is mostly wrong here must do no harm */
		col.in.continues = gen_chance(&r, 50) ||
			(gen_chance(&r, 50) && zscodec_choice_recall(&enc, &choice, nrows));
		current = &col;
		check_column(&col, &col.in, &enc, out, &options, &r);
		if (col.in.kind == ZS_KIND_NUMERIC)
		{
			int64	   *ints = malloc(nrows * sizeof(int64));
			ZsColumnInput in;

			if (numerics_as_ints(&col, ints, &in))
			{
				col.in.nrows = in.nrows;
				nnumeric_ints++;
				check_column(&col, &in, &enc, out, &options, &r);
			}
			free(ints);
		}
		if (gen_chance(&r, 50) && !zscodec_choice_keep(&enc, nrows, nrows * 10, nrows, &choice))
			abort();
		gen_column_free(&col);
	}
	zscodec_encoder_free(&enc);
	zscodec_buf_free(&choice.words);
	zscodec_vector_free(out);
	free(out);
	gen_free_forms();
	if (gen_allocated != 0)
	{
		fprintf(stderr, "not ok: %zu bytes not given back\n", gen_allocated);
		return 1;
	}
	for (int e = 1; e < ZS_ENC_COUNT && ncolumns >= 1000; e++)
	{
		if (counts[e] == 0 && zscodec_encoding_ops[e].kinds != 0)
		{
			fprintf(stderr, "not ok: no vector was %s; codec_gen.c has no columns for it\n",
					zscodec_encoding_name((ZsEncoding) e));
			return 1;
		}
	}
	printf("ok: %d columns;", ncolumns);
	for (int e = 1; e < ZS_ENC_COUNT; e++)
		printf(" %s %llu", zscodec_encoding_name((ZsEncoding) e), (unsigned long long) counts[e]);
	printf("; compressed %llu; columns of numerics as integers %llu; values from parts %llu",
		   (unsigned long long) ncompressed, (unsigned long long) nnumeric_ints,
		   (unsigned long long) nparts);
	printf("; segments of version 2 %llu, of one value %llu", (unsigned long long) nversion2,
		   (unsigned long long) nuniform);
	printf("; with codes %llu, integers %llu, lengths %llu, constants %llu, some rows %llu\n",
		   (unsigned long long) nforms[2], (unsigned long long) nforms[3],
		   (unsigned long long) nforms[4], (unsigned long long) nforms[5],
		   (unsigned long long) nforms[6]);
	return 0;
}
