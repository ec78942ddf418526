/*-------------------------------------------------------------------------
 *
 * codec_words_decode.c
 *	  Text back from prefix codes for frequent pieces.
 *
 * What the codes mean, and how the table is written: codec_words.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_words_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_string.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* The length of what is no code. */
#define NO_CODE			15
StaticAssertDecl(NO_CODE > ZS_WORDS_CODE_MAX, "no code is as long");

/* So many codes, and the byte behind an escape, are there when bits have been taken in. */
#define CODES_AT_HAND	4
StaticAssertDecl(CODES_AT_HAND * ZS_WORDS_CODE_MAX + 8 <= 56, "a word of bits has them");

/* The codes, as many of each length as num says. */
static const char *
fill_codes(ZsWordReader *table, const uint8 *num, uint32 n)
{
	uint32		at = 0;
	uint32		rank = 0;

	for (int l = 1; l <= ZS_WORDS_CODE_MAX; l++)
	{
		uint32		count = load16(num + 2 * (l - 1));
		uint32		width = 1u << (ZS_WORDS_CODE_MAX - l);

		if (count > n - rank || count * width > lengthof(table->codes) - at)
			return "word codes are too many";
		for (; count > 0; count--, rank++)
		{
			for (uint32 i = 0; i < width; i++)
				table->codes[at++] = (uint16) (rank << 4 | (uint32) l);
		}
	}
	if (rank != n)
		return "word codes are too few";
	/* looks like the escape */
	while (at < lengthof(table->codes))
		table->codes[at++] = (uint16) ((n - 1) << 4 | NO_CODE);
	return NULL;
}

/* Reads a table. */
const char *
zscodec_words_read(ZsReader *r, ZsWordReader *table)
{
	const char *err;
	const uint8 *lens;
	uint32		n;

	if (reader_left(r) < 2 + 2 * ZS_WORDS_CODE_MAX)
		return ZS_ERR_SHORT;
	n = load16(r->p);
	if (n < 1 || n > ZS_WORDS_SYMBOLS_MAX + 1)
		return "number of word codes out of range";
	if ((err = fill_codes(table, r->p + 2, n)) != NULL)
		return err;
	r->p += 2 + 2 * ZS_WORDS_CODE_MAX;
	table->nsymbols = --n;
	if (reader_left(r) < (n + 1) / 2)
		return ZS_ERR_SHORT;
	lens = r->p;
	r->p += (n + 1) / 2;
	for (uint32 i = 0; i < n; i++)
	{
		uint8		len = ((lens[i / 2] >> (4 * (i % 2))) & 15) + 1;

		if (reader_left(r) < len)
			return ZS_ERR_SHORT;
		table->lens[i] = len;
		if (reader_left(r) >= ZS_WORDS_LEN_MAX)
			memcpy(table->symbols[i], r->p, ZS_WORDS_LEN_MAX);
		else
			memcpy(table->symbols[i], r->p, len);
		r->p += len;
	}
	table->lens[n] = 0;
	return NULL;
}

/* Begins to read at a bit; false when there is none. */
bool
zscodec_words_start(ZsBitReader *b, const ZsReader *r, uint64 bit)
{
	if (bit / 8 > reader_left(r))
		return false;
	b->p = r->p + bit / 8;
	b->end = r->end;
	b->bits = 0;
	b->nbits = 0;
	if (bit % 8 != 0)
	{
		if (b->p == b->end)
			return false;
		b->bits = (uint64) *b->p++ << (56 + bit % 8);
		b->nbits = 8 - (int) (bit % 8);
	}
	return true;
}

/* At least 56 bits, as long as there are any. */
static inline void
refill(ZsBitReader *b)
{
	if (likely(b->end - b->p >= 8))
	{
		b->bits |= __builtin_bswap64(load64(b->p)) >> b->nbits;
		b->p += (63 - b->nbits) >> 3;
		b->nbits |= 56;
		return;
	}
	while (b->nbits <= 56 && b->p < b->end)
	{
		b->bits |= (uint64) *b->p++ << (56 - b->nbits);
		b->nbits += 8;
	}
}

/* The same; false if more has been taken than there was. */
static inline bool
refill_checked(ZsBitReader *b)
{
	if (unlikely(b->nbits < 0))
		return false;
	refill(b);
	return true;
}

/*
 * Takes the byte behind an escape, whose entry of the table it was, and what follows in; false if
 * it was no code, or none is left.
 */
static inline bool
take_escaped(ZsBitReader *b, uint32 entry, uint8 *byte)
{
	if ((entry & 15) == NO_CODE || b->nbits < 8)
		return false;
	*byte = (uint8) (b->bits >> 56);
	b->bits <<= 8;
	b->nbits -= 8;
	refill(b);
	return true;
}

/* Takes the next code: its entry of the table. */
static inline uint32
take_code(ZsBitReader *b, const ZsWordReader *table)
{
	uint32		entry = table->codes[b->bits >> (64 - ZS_WORDS_CODE_MAX)];

	b->bits <<= entry & 15;
	b->nbits -= (int) (entry & 15);
	return entry;
}

/*
 * The bytes of the next code go to *out, which moves behind them; false if it is none.  Whether
 * there were as many bits is checked when the next ones are taken in, or at the end.
 */
static inline bool
decode_next(ZsBitReader *b, const ZsWordReader *table, uint8 **out)
{
	uint32		entry = take_code(b, table);
	uint32		rank = entry >> 4;

	if (unlikely(rank == table->nsymbols))
		return take_escaped(b, entry, (*out)++);
	memcpy(*out, table->symbols[rank], ZS_WORDS_LEN_MAX);
	*out += table->lens[rank];
	return true;
}

/*
 * Decodes a string of exactly len bytes; up to 16 bytes behind it are scribbled over.  False when
 * the codes end early, are unknown or do not add up.
 */
bool
zscodec_words_decode(ZsBitReader *b, const ZsWordReader *table, uint8 *out, size_t len)
{
	uint8	   *end = out + len;
	ZsBitReader local = *b;

	while (out < end)
	{
		if (!refill_checked(&local))
			return false;
		for (int i = 0; i < CODES_AT_HAND && out < end; i++)
		{
			if (!decode_next(&local, table, &out))
				return false;
		}
	}
	*b = local;
	return out == end && local.nbits >= 0;
}

/*
 * Decodes strings of both runs until one of these that have begun is complete; beyond their ends if
 * the codes do not add up.
 */
static inline bool
decode_both(ZsStringRun *a, ZsStringRun *b, const ZsWordReader *table)
{
	while (a->out < a->end && b->out < b->end)
	{
		if (!refill_checked(&a->bits) || !refill_checked(&b->bits))
			return false;
		for (int i = 0; i < CODES_AT_HAND && a->out < a->end && b->out < b->end; i++)
		{
			if (!decode_next(&a->bits, table, &a->out) || !decode_next(&b->bits, table, &b->out))
				return false;
		}
	}
	return a->out <= a->end && b->out <= b->end;
}

/* What is left of the run. */
static bool
finish_run(const ZsWordReader *table, ZsStringRun *run)
{
	do
	{
		if (!zscodec_words_decode(&run->bits, table, run->out, (size_t) (run->end - run->out)))
			return false;
		run->out = run->end;
	} while (zscodec_run_begin(run));
	return true;
}

/*
 * Decodes both runs, whose first strings have begun; b may be NULL.  Up to 16 bytes behind a string
 * are scribbled over.  False when codes end early, are unknown or do not add up.
 */
bool
zscodec_runs_decode(const ZsWordReader *table, ZsStringRun *a, ZsStringRun *b)
{
	if (b != NULL)
	{
		ZsStringRun first = *a;
		ZsStringRun second = *b;

		do
		{
			if (!decode_both(&first, &second, table))
				return false;
		} while ((first.out < first.end || zscodec_run_begin(&first)) &&
				 (second.out < second.end || zscodec_run_begin(&second)));
		*a = first;
		*b = second;
	}
	return finish_run(table, a) && (b == NULL || finish_run(table, b));
}

/* Takes a code; false if it is none. */
static inline bool
piece_next(ZsWordPiece *piece, const ZsWordReader *table)
{
	uint8	   *out = piece->out;
	uint64		len;

	if (unlikely(!decode_next(&piece->bits, table, &out)))
		return false;
	len = (uint64) (out - piece->out);
	piece->out += len & piece->keep;
	piece->left -= (int64) len;
	return true;
}

/* Decodes the piece, or moves over it.  False when the codes end early or are unknown. */
bool
zscodec_words_piece(ZsWordPiece *piece, const ZsWordReader *table)
{
	ZsWordPiece local = *piece;

	while (local.left > 0)
	{
		if (!refill_checked(&local.bits))
			return false;
		for (int i = 0; i < CODES_AT_HAND && local.left > 0; i++)
		{
			if (!piece_next(&local, table))
				return false;
		}
	}
	*piece = local;
	return local.bits.nbits >= 0;
}

/* The same of two pieces, code by code, until one of them is complete. */
bool
zscodec_words_piece_both(ZsWordPiece *a, ZsWordPiece *b, const ZsWordReader *table)
{
	ZsWordPiece first = *a;
	ZsWordPiece second = *b;

	while (first.left > 0 && second.left > 0)
	{
		if (!refill_checked(&first.bits) || !refill_checked(&second.bits))
			return false;
		for (int i = 0; i < CODES_AT_HAND && first.left > 0 && second.left > 0; i++)
		{
			if (!piece_next(&first, table) || !piece_next(&second, table))
				return false;
		}
	}
	*a = first;
	*b = second;
	return first.bits.nbits >= 0 && second.bits.nbits >= 0;
}

/* Moves over the codes of len decoded bytes. */
bool
zscodec_words_skip(ZsBitReader *b, const ZsWordReader *table, uint64 len)
{
	uint64		done = 0;
	ZsBitReader local = *b;

	while (done < len)
	{
		if (!refill_checked(&local))
			return false;
		for (int i = 0; i < CODES_AT_HAND && done < len; i++)
		{
			uint32		entry = take_code(&local, table);
			uint32		rank = entry >> 4;
			uint8		byte;

			if (likely(rank != table->nsymbols))
				done += table->lens[rank];
			else if (take_escaped(&local, entry, &byte))
				done++;
			else
				return false;
		}
	}
	*b = local;
	return done == len && local.nbits >= 0;
}

/* Is nothing left but the padding of the last byte? */
bool
zscodec_words_at_end(const ZsBitReader *b)
{
	return b->end - b->p <= 8 && (b->end - b->p) * 8 + b->nbits < 8;
}
