/*
 * codec_fuzz.c
 *	  Broken bytes give reasons, never a crash, an over-read, an endless loop or a huge allocation.
 *
 * Usage: codec_fuzz [iterations [seed]].  Valid segments are mutated (bits, bytes, words,
 * stretches, cuts) and decoded completely.  Half of the mutations hit a vector or the shared area,
 * where the checks of the head do not stop them.  Compressed vectors are mutated only as such;
 * ZS_COMPRESSION_NONE segments reach the inner decoders.  With -DZS_LIBFUZZER the input comes from
 * libFuzzer instead.
 */
#include "codec_gen.h"

/* What decoding may ask for: LZ4 expands 255 times at most, and symbols 8 times what LZ4 left. */
#define ALLOCATION_LIMIT(len)	((size_t) 1024 * 1024 + 300 * (len))

static ZsVectorOut *out;

/* Looks at every byte of a varlena or fixed-length value. */
static uint64
touch_value(const ZsSegmentInfo *info, uint64 value)
{
	const uint8 *p = (const uint8 *) (uintptr_t) value;
	uint64		sum = 0;
	size_t		len = info->width;

	if (info->kind != ZS_KIND_FIXED)
	{
		uint32		word;

		len = *p >> 1;
		if ((*p & 1) == 0)
		{
			memcpy(&word, p, 4);
			len = word >> 2;
		}
	}
	for (size_t i = 0; i < len; i++)
		sum += p[i];
	return sum;
}

static uint64
touch_row(const ZsSegmentInfo *info, uint32 row)
{
	if (out->isnull[row])
		return 0;
	return info->kind < ZS_KIND_NUMERIC ? out->values[row] : touch_value(info, out->values[row]);
}

/* Decodes whatever these bytes are; head says how many of them are offered as head. */
static uint64
decode_everything(const uint8 *bytes, size_t len, size_t head)
{
	GenRandom	r = {len + head + (len > 40 ? bytes[len / 2] + 256u * bytes[len - 1] : 0)};
	ZsSegmentInfo info;
	ZsSharedState shared;
	uint64		sum = 0;
	bool		have_shared;

	if (zscodec_segment_open(bytes, head, &info) != NULL)
		return 0;
	zscodec_shared_init(&shared, &gen_allocator);
	have_shared = (uint64) info.shared_off + info.shared_len <= len &&
		zscodec_shared_open(&info, bytes + info.shared_off, info.shared_len, &shared) == NULL;
	if (have_shared && gen_chance(&r, 50))
		(void) zscodec_shared_scale(&info, &shared);
	for (uint32 v = 0; v < info.nvectors; v++)
	{
		const ZsVectorInfo *vi = &info.vectors[v];
		uint8	   *copy;
		const char *err;
		uint32		have;

		if ((uint64) vi->off + vi->len > len)
			break;
		copy = malloc(vi->len > 0 ? vi->len : 1);
		memcpy(copy, bytes + vi->off, vi->len);
		if (zscodec_vector_decode(&info, (int) v, copy, vi->len, have_shared ? &shared : NULL,
								  ZS_FORM_VALUES, out) == NULL)
		{
			for (uint32 row = 0; row < out->nrows; row++)
				sum += touch_row(&info, row);
		}
		for (uint32 row = 0; row < vi->nrows; row += 1 + vi->nrows / 7)
		{
			if (zscodec_vector_decode_one(&info, (int) v, copy, vi->len, &shared, row,
										  row % 2 == 0, out) == NULL)
				sum += touch_row(&info, row);
		}
		err = gen_check_forms(&r, &info, (int) v, copy, vi->len, have_shared ? &shared : NULL,
							  false, &have);
		if (err != NULL)
		{
			fprintf(stderr, "not ok: forms of a vector of kind %d, encoding %s: %s\n",
					(int) info.kind, zscodec_encoding_name((ZsEncoding) vi->encoding), err);
			abort();
		}
		free(copy);
	}
	zscodec_shared_free(&shared);
	return sum;
}

#ifdef ZS_LIBFUZZER

int			LLVMFuzzerTestOneInput(const uint8 *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	if (out == NULL)
	{
		out = malloc(sizeof(ZsVectorOut));
		zscodec_vector_init(out, &gen_allocator);
	}
	decode_everything(data, size, size);
	return 0;
}

#else

/* Changes one place between from and to. */
static void
mutate(GenRandom *r, uint8 *bytes, size_t from, size_t to)
{
	static const uint8 interesting[] = {0, 1, 2, 0x0F, 0x10, 0x3F, 0x40, 0x7F, 0x80, 0x81, 0xC0,
										0xFE, 0xFF};
	size_t		at = from + gen_below(r, to - from);
	size_t		n = 1 + gen_below(r, 8);

	n = Min(n, to - at);
	switch (gen_below(r, 5))
	{
		case 0:
			bytes[at] ^= (uint8) (1 << gen_below(r, 8));
			break;
		case 1:
			bytes[at] = interesting[gen_below(r, sizeof(interesting))];
			break;
		case 2:
			bytes[at] += (uint8) (gen_below(r, 5) - 2);
			break;
		case 3:
			memset(bytes + at, interesting[gen_below(r, sizeof(interesting))], n);
			break;
		default:
			for (size_t i = 0; i < n; i++)
				bytes[at + i] = (uint8) gen_next(r);
	}
}

/* A valid segment, broken many times over. */
static void
fuzz_segment(GenRandom *r, ZsEncoder *enc, uint64 nmutations, uint64 *sum)
{
	static const uint32 sizes[] = {1, 5, 40, 200, 1000, 1024, 1030, 2500};
	ZsEncodeOptions options = {gen_chance(r, 60) ? ZS_COMPRESSION_NONE :
							   (ZsCompression) gen_below(r, 3), 0};
	GenColumn	col;
	ZsCodecBuf	buf;
	ZsSegmentInfo info;
	uint8	   *copy;
	const char *err;

	if (gen_chance(r, 3))
	{
		gen_long_texts = true;
		gen_column(r, ZS_KIND_BYTES, 2500 + (uint32) gen_below(r, 3000), &col);
	}
	else
		gen_column(r, (ZsValueKind) (1 + gen_below(r, 6)), sizes[gen_below(r, 8)], &col);
	zscodec_buf_init(&buf, &gen_allocator);
	if ((err = zscodec_segment_encode(enc, &col.in, &options, &buf)) != NULL ||
		(err = zscodec_segment_open(buf.data, buf.len, &info)) != NULL)
	{
		fprintf(stderr, "not ok: %s: %s\n", col.what, err);
		abort();
	}
	copy = malloc(buf.len);
	for (uint64 m = 0; m < nmutations; m++)
	{
		size_t		len = buf.len;

		memcpy(copy, buf.data, len);
		for (uint64 i = gen_below(r, 4); i < 4; i++)
		{
			uint32		v = (uint32) gen_below(r, info.nvectors);
			size_t		from = info.vectors[v].off;
			size_t		to = from + info.vectors[v].len;

			if (gen_chance(r, 15) && info.shared_len > 0)
			{
				from = info.shared_off;
				to = from + info.shared_len;
			}
			else if (gen_chance(r, 25))
			{
				from = 0;
				to = info.head_len;
			}
			else if (gen_chance(r, 60))
				to = Min(to, from + 24);	/* headers are in front */
			if (from < to)
				mutate(r, copy, from, to);
		}
		if (gen_chance(r, 5))
			len = gen_below(r, len + 1);
		gen_largest = 0;
		/* In memory of its own size, so that reading on is noticed. */
		if (len < buf.len)
		{
			uint8	   *cut = malloc(len > 0 ? len : 1);

			memcpy(cut, copy, len);
			*sum += decode_everything(cut, len, len);
			free(cut);
		}
		else
			*sum += decode_everything(copy, len, len);
		if (gen_largest > ALLOCATION_LIMIT(buf.len) + 16 * col.bytes_size)
		{
			fprintf(stderr, "not ok: %s: %zu bytes asked for\n", col.what, gen_largest);
			abort();
		}
	}
	free(copy);
	zscodec_buf_free(&buf);
	gen_column_free(&col);
}

int
main(int argc, char **argv)
{
	uint64		iterations = argc > 1 ? strtoull(argv[1], NULL, 10) : 60000;
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	uint64		done = 0;
	uint64		sum = 0;
	ZsEncoder	enc;

	out = calloc(1, sizeof(ZsVectorOut));
	zscodec_vector_init(out, &gen_allocator);
	zscodec_encoder_init(&enc, &gen_allocator);
	for (uint64 s = 0; done < iterations; s++)
	{
		GenRandom	r = {seed * 1000003 + s};

		fuzz_segment(&r, &enc, 60, &sum);
		done += 60;
	}
	zscodec_encoder_free(&enc);
	zscodec_vector_free(out);
	free(out);
	gen_free_forms();
	if (gen_allocated != 0)
	{
		fprintf(stderr, "not ok: %zu bytes not given back\n", gen_allocated);
		return 1;
	}
	printf("ok: %llu mutations, checksum %llx\n", (unsigned long long) done,
		   (unsigned long long) sum);
	return 0;
}

#endif
