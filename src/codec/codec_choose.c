/*-------------------------------------------------------------------------
 *
 * codec_choose.c
 *	  What the vectors of a segment have in common: dictionary, symbol table, prefix, float
 *	  exponents.
 *
 * By-reference columns can be written in several ways whose sizes no statistic predicts, so a few
 * vectors, spread over the segment, are encoded in each, and their sizes scaled up plus the cost of
 * what would be shared decide.  The ways are ordered by the cost of decoding, and a slower one must
 * save 3 % over the best before it.  What is tried is a small part of the segment, of one with few
 * vectors fewer of them, and of long values the first ones of each: all ways together must not take
 * longer than writing the segment by the best of them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_choose.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"

/* Vectors that are encoded by all ways: one of so many, up to three. */
#define TRIAL_VECTORS		3
#define TRIAL_STRIDE		8

/* Of each of them so many bytes, some windows of LZ4, but so many rows at least. */
#define TRIAL_BYTES			(192 * 1024)
#define TRIAL_ROWS_MIN		32

/* Fewer bytes than these do not repay a symbol table, a prefix. */
#define MIN_FSST_BYTES		4096
#define MIN_PREFIX_BYTES	65536

/*
 * Nor a table of words: it takes some kilobytes, and building it as long as encoding so many.
 * VACUUM makes larger segments of small ones.  Those of a dictionary stand for more bytes than they
 * have.
 */
#define MIN_WORDS_BYTES			(256 * 1024)
#define MIN_DICT_WORDS_BYTES	(128 * 1024)

/* Strings sampled for the table of words. */
#define WORDS_STRINGS		8192

/* They are this share of the text at most, but so many bytes at least. */
#define WORDS_SHARE			8
#define WORDS_SAMPLE_MIN	(32 * 1024)

/* A new table of words is refined once for each so many bytes of text, up to this many rounds. */
#define WORDS_ROUND_BYTES	(512 * 1024)
#define WORDS_ROUNDS		8

/* What words must save over what is as easy to look up. */
#define WORDS_SAVING		8

/* The prefix: pieces from all over the segment, together at most this share of it. */
#define PREFIX_SHARE		24
#define PREFIX_PIECES		48

/* Strings sampled for the symbol table; they are this share of a small segment, of short ones. */
#define FSST_STRINGS		1024
#define FSST_SHARE			32
#define FSST_SAMPLE_MIN		8192
#define FSST_STRING_BYTES	16

/*
 * Builds a symbol table from strings all over the segment; se->symbols stays NULL when there is
 * nothing in it.
 */
static const char *
build_symbols(ZsSegmentEncoder *se)
{
	const ZsColumnInput *in = se->in;
	ZsCodecBuf *buf = &se->enc->bufs[ZS_BUF_SYMBOLS];
	ZsCodecBuf *scratch = &se->enc->bufs[ZS_BUF_COUNTS];
	const uint8 *strings[FSST_STRINGS];
	uint32		lens[FSST_STRINGS];
	uint32		n = 0;
	uint32		sample = (uint32) Min(Max((in->offsets[in->nrows] - in->offsets[0]) / FSST_SHARE,
										  FSST_SAMPLE_MIN), ZS_FSST_SAMPLE_MAX);
	uint32		step = in->nrows / Min(FSST_STRINGS, sample / FSST_STRING_BYTES) + 1;
	uint32		share;

	if (!zscodec_buf_reserve(buf, sizeof(ZsSymbolTable)) ||
		!zscodec_buf_reserve(scratch, zscodec_fsst_scratch_size()))
		return ZS_ERR_MEMORY;
	for (uint32 row = 0; row < in->nrows; row += step)
	{
		uint64		len = in->offsets[row + 1] - in->offsets[row];

		if (len == 0 || (in->isext != NULL && in->isext[row]))
			continue;
		Assert(n < FSST_STRINGS);
		strings[n] = in->bytes + in->offsets[row];
		lens[n++] = (uint32) len;
	}
	if (n == 0)
		return NULL;

	/* The sample is limited; let every string have its share, long ones only their beginning. */
	share = Max(sample / n, FSST_STRING_BYTES);
	for (uint32 i = 0; i < n; i++)
		lens[i] = Min(lens[i], 4 * share);
	zscodec_fsst_build((ZsSymbolTable *) buf->data, scratch->data, strings, lens, n,
					   in->bytes + in->offsets[in->nrows], sample);
	se->symbols = (const ZsSymbolTable *) buf->data;
	return NULL;
}

/*
 * Is the row's value one that a coded dictionary has, and that came before?  seen: a bit for each
 * entry.
 */
static bool
is_repeated(const ZsSegmentEncoder *se, uint32 row, uint64 *seen)
{
	uint32		code;
	uint64		bit;
	bool		repeated;

	if (!zscodec_mode_coded(se->mode) || (code = se->dict.codes[row]) == ZS_DICT_NO_CODE)
		return false;
	bit = UINT64CONST(1) << (code % 64);
	repeated = (seen[code / 64] & bit) != 0;
	seen[code / 64] |= bit;
	return repeated;
}

/*
 * Takes each step'th string from `first` on, of long ones a part, at most `bytes` in all; returns
 * how many.  What stands in a coded dictionary is written once, however often it occurs.
 */
static uint32
sample_strings(const ZsSegmentEncoder *se, uint32 first, uint32 step, uint32 bytes,
			   const uint8 **strings, uint32 *lens)
{
	const ZsColumnInput *in = se->in;
	uint32		most = 4 * Max(bytes / (in->nrows / step + 1), 16);
	uint32		left = bytes;
	uint32		n = 0;
	uint64		seen[ZS_DICT_SMALL_ENTRIES / 64] = {0};

	Assert(first < step);
	for (uint32 row = first; row < in->nrows && left > 0; row += step)
	{
		uint64		len = in->offsets[row + 1] - in->offsets[row];

		if (len == 0 || (in->isext != NULL && in->isext[row]) || is_repeated(se, row, seen))
			continue;
		Assert(n < WORDS_STRINGS);
		strings[n] = in->bytes + in->offsets[row];
		lens[n] = (uint32) Min(len, Min(most, left));
		left -= lens[n++];
	}
	return n;
}

/*
 * Builds a table of words from strings all over the segment, or refines the one of the segment
 * before.  Where there is much text, a new table is refined with others of its strings, in further
 * rounds: se->words_rounds in all, of which those up to `last` are done now.
 */
static const char *
build_words(ZsSegmentEncoder *se, uint32 last)
{
	const ZsColumnInput *in = se->in;
	ZsCodecBuf *buf = &se->enc->bufs[ZS_BUF_WORDS];
	ZsCodecBuf *scratch = &se->enc->bufs[ZS_BUF_WORD_COUNTS];
	uint64		total = zscodec_mode_coded(se->mode) ? se->dict.raw_bytes + se->dict.rest_bytes :
		in->offsets[in->nrows] - in->offsets[0];
	uint32		sample = (uint32) Min(Max(total / WORDS_SHARE, WORDS_SAMPLE_MIN),
									  ZS_WORDS_SAMPLE_MAX);
	uint32		step = Max((uint32) (total / sample), in->nrows / WORDS_STRINGS) + 1;
	const uint8 **strings;
	uint32	   *lens;

	if (!zscodec_buf_reserve(buf, sizeof(ZsWordTable)) ||
		!zscodec_buf_reserve(scratch, zscodec_words_scratch_size() +
							 WORDS_STRINGS * (sizeof(*strings) + sizeof(*lens))))
		return ZS_ERR_MEMORY;
	strings = (const uint8 **) (scratch->data + zscodec_words_scratch_size());
	lens = (uint32 *) (strings + WORDS_STRINGS);
	if (se->words_built == 0)
		se->words_rounds = se->enc->has_words ? 1 :
			1 + (uint32) Min(total / WORDS_ROUND_BYTES, Min(step, WORDS_ROUNDS) - 1);
	for (; se->words_built < Min(se->words_rounds, last); se->words_built++)
	{
		uint32		n = sample_strings(se, se->words_built * step / se->words_rounds, step, sample,
									   strings, lens);

		if (n == 0)
			break;
		zscodec_words_build((ZsWordTable *) buf->data, scratch->data, strings, lens, n,
							in->bytes + in->offsets[in->nrows], total, se->enc->has_words);
		se->enc->has_words = true;
		se->words = (const ZsWordTable *) buf->data;
	}
	return NULL;
}

/* Takes pieces of the column's bytes as compression prefix. */
static const char *
build_prefix(ZsSegmentEncoder *se)
{
	const ZsColumnInput *in = se->in;
	ZsCodecBuf *buf = &se->enc->bufs[ZS_BUF_PREFIX];
	uint64		start = in->offsets[0];
	uint64		total = in->offsets[in->nrows] - start;
	size_t		piece = (size_t) Min(total / PREFIX_SHARE, ZS_PREFIX_MAX) / PREFIX_PIECES;

	buf->len = 0;
	if (!zscodec_buf_reserve(buf, ZS_PREFIX_MAX))
		return ZS_ERR_MEMORY;
	for (uint32 i = 0; i < PREFIX_PIECES; i++)
	{
		const uint8 *from = in->bytes + start + total / PREFIX_PIECES * i;

		memcpy(buf->data + buf->len, from, piece);
		buf->len += piece;
	}
	/* zstd would take this for a trained dictionary. */
	if (buf->len >= 4 && load32(buf->data) == 0xEC30A437)
		buf->data[0] ^= 1;
	Assert(buf->len <= ZS_PREFIX_MAX);
	se->prefix = buf->data;
	se->prefix_len = buf->len;
	return NULL;
}

/* The bytes of a would-be shared area. */
static const char *
shared_cost(ZsSegmentEncoder *se, const ZsSharedParts *parts, uint64 *cost)
{
	const uint8 *area;
	size_t		len;
	const char *err;

	if (cost == NULL)
		return NULL;
	err = zscodec_shared_write(se->enc, se->options, parts, &area, &len);
	*cost = len;
	return err;
}

/* Can this way be tried here? */
static bool
mode_applies(const ZsSegmentEncoder *se, ZsStringMode mode, uint64 total)
{
	bool		compress = se->options->compression != ZS_COMPRESSION_NONE;

	switch (mode)
	{
		case ZS_STRINGS_DICT:
			return se->dict.n > 0 && se->dict.complete && se->dict.raw_bytes <= ZS_DICT_BYTES_MAX;
		case ZS_STRINGS_MIXED:
			return se->dict.n > 0 && !se->dict.complete && se->dict.n <= ZS_DICT_MIXED_ENTRIES &&
				se->dict.raw_bytes <= ZS_DICT_MIXED_BYTES;
		case ZS_STRINGS_DICT_WORDS:
		case ZS_STRINGS_MIXED_WORDS:
			return se->dict.n > 0 && se->dict.complete == (mode == ZS_STRINGS_DICT_WORDS) &&
				se->in->kind == ZS_KIND_BYTES &&
				se->dict.raw_bytes + se->dict.rest_bytes >= MIN_DICT_WORDS_BYTES;
		case ZS_STRINGS_PLAIN:
			return true;
		case ZS_STRINGS_FSST:
			return total >= MIN_FSST_BYTES;
		case ZS_STRINGS_WORDS:
			return total >= MIN_WORDS_BYTES;
		case ZS_STRINGS_PACKED:
			return compress;
		case ZS_STRINGS_PREFIXED:
			return compress && total >= MIN_PREFIX_BYTES && se->nvectors > 1;
		case ZS_STRINGS_FSST_PACKED:
			return compress && total >= MIN_FSST_BYTES;
		default:
			return false;
	}
}

/* Makes what the mode shares and, if cost is not NULL, says what it costs. */
static const char *
prepare_mode(ZsSegmentEncoder *se, ZsStringMode mode, uint64 *cost)
{
	ZsSharedParts parts = {0};
	const char *err;

	if (cost != NULL)
		*cost = 0;
	se->mode = mode;
	se->use_dict = mode == ZS_STRINGS_DICT || mode == ZS_STRINGS_MIXED || zscodec_mode_coded(mode);
	se->prefix_len = 0;
	if (mode == ZS_STRINGS_DICT)
	{
		parts.dict = &se->dict;
		return shared_cost(se, &parts, cost);
	}
	if (mode == ZS_STRINGS_FSST || mode == ZS_STRINGS_FSST_PACKED || mode == ZS_STRINGS_MIXED)
	{
		if (se->symbols == NULL && (err = build_symbols(se)) != NULL)
			return err;
		parts.symbols = se->symbols;
		parts.dict = mode == ZS_STRINGS_MIXED ? &se->dict : NULL;
		return shared_cost(se, &parts, cost);
	}
	if (mode == ZS_STRINGS_WORDS || zscodec_mode_coded(mode))
	{
		if (se->words == NULL && (err = build_words(se, cost != NULL && mode == ZS_STRINGS_WORDS ?
													1 : WORDS_ROUNDS)) != NULL)
			return err;
		parts.words = se->words;
		if (zscodec_mode_coded(mode) && se->words != NULL)
		{
			parts.dict = &se->dict;
			parts.coded = true;
			parts.limit = se->in->bytes + se->in->offsets[se->in->nrows];
		}
		return shared_cost(se, &parts, cost);
	}
	if (mode == ZS_STRINGS_PREFIXED)
	{
		if ((err = build_prefix(se)) != NULL)
			return err;
		parts.prefix = se->prefix;
		parts.prefix_len = se->prefix_len;
		return shared_cost(se, &parts, cost);
	}
	return NULL;
}

/* The bytes of the first nrows rows of a vector. */
static uint64
vector_bytes(const ZsColumnInput *in, uint32 vecno, uint32 nrows)
{
	const uint64 *offsets = in->offsets + vecno * ZS_VECTOR_ROWS;

	return offsets[nrows] - offsets[0];
}

/* How many rows of a vector are encoded for a trial. */
static uint32
trial_rows(const ZsColumnInput *in, uint32 vecno)
{
	uint32		n = Min(in->nrows - vecno * ZS_VECTOR_ROWS, ZS_VECTOR_ROWS);
	uint32		rows = Min(n, TRIAL_ROWS_MIN);

	while (rows < n && vector_bytes(in, vecno, rows) < TRIAL_BYTES)
		rows++;
	return rows;
}

/*
 * The vector for trial t of n: they are spread over the segment, but a single one must not be one
 * of those that have next to no bytes.
 */
static uint32
trial_vector(const ZsSegmentEncoder *se, uint32 t, uint32 n)
{
	const ZsColumnInput *in = se->in;
	uint64		mean = (in->offsets[in->nrows] - in->offsets[0]) / in->nrows;
	uint32		vecno;

	if (n > 1)
		return (se->nvectors - 1) * t / (n - 1);
	for (uint32 i = 0; i < se->nvectors; i++)
	{
		uint32		nrows;

		vecno = ((se->nvectors - 1) / 2 + i) % se->nvectors;
		nrows = Min(in->nrows - vecno * ZS_VECTOR_ROWS, ZS_VECTOR_ROWS);
		if (vector_bytes(in, vecno, nrows) >= mean * nrows)
			return vecno;
	}
	return 0;
}

/* Encodes the trial vectors; their size scaled up to the segment. */
static const char *
trial_size(ZsSegmentEncoder *se, uint64 *size)
{
	const ZsColumnInput *in = se->in;
	uint32		ntrials = Min((se->nvectors - 1) / TRIAL_STRIDE + 1, TRIAL_VECTORS);
	uint64		stored = 0;
	uint64		bytes = 0;
	uint64		rows = 0;

	for (uint32 t = 0; t < ntrials; t++)
	{
		uint32		vecno = trial_vector(se, t, ntrials);
		const uint8 *encoded;
		const char *err;

		if ((err = zscodec_rows_gather(se, vecno, trial_rows(in, vecno))) != NULL ||
			(err = zscodec_vector_encode(se, vecno, &encoded)) != NULL)
			return err;
		stored += se->vectors[vecno].len;
		bytes += se->rows.total;
		rows += se->rows.nrows;
	}
	Assert(rows > 0);
	/* what stands for bytes grows with them, what stands for none with the rows */
	*size = bytes > 0 ?
		(uint64) ((double) stored * (in->offsets[in->nrows] - in->offsets[0]) / bytes) :
		stored * in->nrows / rows;
	return NULL;
}

/*
 * The first table of words has given this size, and what was best before took best_size: if that
 * promises something the table gets its further rounds, and its size is found out again.
 */
static const char *
refine_words(ZsSegmentEncoder *se, uint64 best_size, uint64 *size, uint64 *cost)
{
	ZsSharedParts parts = {0};
	const char *err;

	if (se->words_built == se->words_rounds || se->words == NULL ||
		*size + *cost >= best_size)
		return NULL;
	if ((err = build_words(se, WORDS_ROUNDS)) != NULL)
		return err;
	parts.words = se->words;
	if ((err = shared_cost(se, &parts, cost)) != NULL)
		return err;
	return trial_size(se, size);
}

/* Settles on a mode. */
static const char *
take_mode(ZsSegmentEncoder *se, ZsStringMode mode)
{
	const char *err;

	if ((err = prepare_mode(se, mode, NULL)) != NULL)
		return err;
	if (zscodec_mode_coded(mode) && se->words == NULL)
	{
		/* nothing but empty strings came into the sample */
		mode = ZS_STRINGS_PACKED;
		se->mode = mode;
		se->use_dict = false;
	}
	if (mode != ZS_STRINGS_FSST && mode != ZS_STRINGS_FSST_PACKED && mode != ZS_STRINGS_MIXED)
		se->symbols = NULL;
	if (mode != ZS_STRINGS_WORDS && !zscodec_mode_coded(mode))
		se->words = NULL;
	se->enc->last_mode = (int) mode;
	return NULL;
}

/* Is the last segment's mode good for this one without further trial? */
static bool
repeat_mode(const ZsSegmentEncoder *se, uint64 total)
{
	ZsStringMode last = (ZsStringMode) se->enc->last_mode;

	/* where there was next to nothing, nothing was found that saves */
	return se->in->continues && se->enc->last_mode >= 0 && total / 4 <= se->enc->last_total &&
		mode_applies(se, last, total) &&
		(se->dict.n > 0) == (last == ZS_STRINGS_DICT || last == ZS_STRINGS_MIXED ||
							 zscodec_mode_coded(last));
}

/* Chooses the mode of a FIXED or BYTES segment. */
static const char *
choose_string_mode(ZsSegmentEncoder *se)
{
	uint64		total = se->in->offsets[se->in->nrows] - se->in->offsets[0];
	uint64		best_size = PG_UINT64_MAX;
	uint64		words_size = PG_UINT64_MAX;
	ZsStringMode best = ZS_STRINGS_PLAIN;
	const ZsSymbolTable *symbols;
	uint64		cost;
	const char *err;

	if (repeat_mode(se, total))
		return take_mode(se, (ZsStringMode) se->enc->last_mode);
	for (int m = 0; m < ZS_STRINGS_MODES; m++)
	{
		uint64		size;
		int			saving = m == ZS_STRINGS_WORDS ? WORDS_SAVING : 32;

		if (!mode_applies(se, (ZsStringMode) m, total))
			continue;
		/* where symbols find nothing, there are no words */
		if (m == ZS_STRINGS_WORDS && best == ZS_STRINGS_PLAIN)
			continue;
		if ((err = prepare_mode(se, (ZsStringMode) m, &cost)) != NULL)
			return err;
		if (zscodec_mode_coded(se->mode) && se->words == NULL)
			continue;
		symbols = se->symbols;
		if ((err = trial_size(se, &size)) != NULL ||
			(m == ZS_STRINGS_WORDS &&
			 (err = refine_words(se, best_size, &size, &cost)) != NULL))
			return err;
		se->symbols = symbols;
		size += cost;
		if (m == ZS_STRINGS_WORDS)
			words_size = size;
		if (best_size == PG_UINT64_MAX || size < best_size - best_size / saving)
		{
			best_size = size;
			best = (ZsStringMode) m;
		}
		/* Codes this much shorter than the strings need no rivals. */
		if (m == ZS_STRINGS_DICT && 4 * cost <= size && 3 * size <= total + se->in->nrows / 2)
			break;
	}
	/* words save too little over symbols, but these are no match without LZ4 or zstd */
	if (words_size <= best_size && best >= ZS_STRINGS_PACKED && best <= ZS_STRINGS_MIXED)
		best = ZS_STRINGS_WORDS;
	se->enc->last_total = total;
	return take_mode(se, best);
}

/* Float exponents, from a sample spread over the segment. */
static void
choose_exponents(ZsSegmentEncoder *se)
{
	const ZsColumnInput *in = se->in;
	uint64		sample[256];
	uint32		n = 0;
	uint32		step = in->nrows / 256 + 1;

	for (uint32 row = 0; row < in->nrows; row += step)
	{
		if (in->isnull == NULL || !in->isnull[row])
			sample[n++] = (uint64) in->ints[row];
	}
	Assert(n <= lengthof(sample));
	if (n > 0)
		zscodec_alp_choose(in->kind, sample, n, &se->alp);
}

/* Makes the choices of a segment; se starts zeroed but for its inputs. */
const char *
zscodec_segment_choose(ZsSegmentEncoder *se)
{
	const char *err;

	if ((err = zscodec_dict_build(se->enc, se->in, &se->dict)) != NULL)
		return err;
	se->use_dict = se->dict.n > 0;
	if (se->in->kind == ZS_KIND_FLOAT4 || se->in->kind == ZS_KIND_FLOAT8)
		choose_exponents(se);
	if (se->in->kind >= ZS_KIND_FIXED)
	{
		if ((err = choose_string_mode(se)) != NULL)
			return err;
	}
	else
		se->mode = ZS_STRINGS_PACKED;
	se->ntried = se->nsaved = 0;
	se->dict_saved = se->native_total = 0;
	return NULL;
}
