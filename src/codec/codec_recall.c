/*-------------------------------------------------------------------------
 *
 * codec_recall.c
 *	  What was chosen for a column, over segments of other columns.
 *
 * A loader writes some segments of each column, and then again some of each.  The first of them
 * would try all ways of writing strings, and build a table of words from nothing, which takes as
 * long as encoding the segment.  So the caller keeps for each column what the last segment was
 * written by, and the next one goes on with that, as segments in a row do.
 *
 * Data change, so now and then the choice is made afresh, and at once where segments do not shrink
 * any more as the one did for which it was made.  In the first case the table of words is refined
 * further: each segment trains it with other strings, so it is better than a new one.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_recall.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"

/* A choice is recalled so many times, then made afresh; words are recalled then, too. */
#define RECALLS_MAX		7

/* So much of its size may a segment be larger than the choice promised. */
#define WORSE_SHARE		20

/* The bytes of a symbol that are kept. */
typedef struct KeptWord
{
	uint64		low;
	uint64		high;
	uint64		len;
} KeptWord;

/* Makes a choice that has nothing to recall.  alloc is copied. */
void
zscodec_choice_init(ZsColumnChoice *choice, const ZsAllocator *alloc)
{
	choice->mode = -1;
	choice->total = 0;
	choice->nrows = 0;
	choice->nrecalls = 0;
	choice->raw = choice->stored = 0;
	zscodec_buf_init(&choice->words, alloc);
}

/*
 * Keeps what the encoder's last segment was written by: nrows rows, of raw bytes that became
 * stored ones.  False when out of memory, with nothing to recall.
 */
bool
zscodec_choice_keep(const ZsEncoder *enc, uint32 nrows, uint64 raw, uint64 stored,
					ZsColumnChoice *choice)
{
	const ZsWordTable *table = (const ZsWordTable *) enc->bufs[ZS_BUF_WORDS].data;
	KeptWord   *words;

	choice->words.len = 0;
	choice->mode = -1;
	choice->total = enc->last_total;
	choice->nrows = nrows;
	if (choice->nrecalls == 0)
	{
		choice->raw = raw;
		choice->stored = stored;
	}
	else if ((double) stored * choice->raw >
			 (double) (choice->stored + choice->stored / WORSE_SHARE) * raw)
	{
		choice->nrecalls = 0;
		return true;
	}
	if (enc->last_mode >= 0 && enc->has_words &&
		(enc->last_mode == ZS_STRINGS_WORDS || zscodec_mode_coded((ZsStringMode) enc->last_mode)))
	{
		if (!zscodec_buf_reserve(&choice->words, table->nsymbols * sizeof(KeptWord)))
			return false;
		words = (KeptWord *) choice->words.data;
		for (uint32 i = 0; i < table->nsymbols; i++)
			words[i] = (KeptWord)
		{
			table->symbols[i].low, table->symbols[i].high, table->symbols[i].len
		};
		choice->words.len = table->nsymbols * sizeof(KeptWord);
	}
	choice->mode = enc->last_mode;
	return true;
}

/*
 * Makes the encoder go on with what was kept; false if the next segment, of nrows rows, does not
 * continue a column then: nothing was kept, or it is of a larger segment, or there is no memory.
 */
bool
zscodec_choice_recall(ZsEncoder *enc, ZsColumnChoice *choice, uint32 nrows)
{
	uint32		n = (uint32) (choice->words.len / sizeof(KeptWord));
	const KeptWord *words = (const KeptWord *) choice->words.data;
	ZsCodecBuf *buf = &enc->bufs[ZS_BUF_WORDS];
	ZsWordTable *table;

	if (choice->mode < 0 || choice->nrows / 2 > nrows ||
		(n > 0 && !zscodec_buf_reserve(buf, sizeof(ZsWordTable))))
	{
		choice->nrecalls = 0;
		return false;
	}
	enc->has_words = n > 0;
	if (n > 0)
	{
		table = (ZsWordTable *) buf->data;
		Assert(n <= ZS_WORDS_SYMBOLS_MAX);
		for (uint32 i = 0; i < n; i++)
			table->symbols[i] = (ZsWordSymbol)
		{
			.low = words[i].low, .high = words[i].high, .len = (uint8) words[i].len
		};
		table->nsymbols = n;
		zscodec_words_index(table);
	}
	enc->last_total = choice->total;
	if (choice->nrecalls == RECALLS_MAX)
	{
		/* all ways are tried, but with the words that many segments have made good */
		enc->last_mode = -1;
		choice->nrecalls = 0;
		return true;
	}
	enc->last_mode = choice->mode;
	choice->nrecalls++;
	return true;
}
