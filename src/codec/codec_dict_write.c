/*-------------------------------------------------------------------------
 *
 * codec_dict_write.c
 *	  A dictionary as bytes of the shared area.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_write.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_dict.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* Appends how many entries there are, and their lengths or integers; there is room. */
static void
write_numbers(const ZsDictBuild *dict, ZsCodecBuf *body)
{
	uint64		chunk[ZS_VECTOR_ROWS];

	body->data[body->len] = dict->sorted;
	store32(body->data + body->len + 1, dict->n);
	body->len += 5;
	for (uint32 start = 0; start < dict->n; start += ZS_VECTOR_ROWS)
	{
		uint32		n = Min(dict->n - start, ZS_VECTOR_ROWS);

		for (uint32 i = 0; i < n; i++)
			chunk[i] = dict->by_ref ? dict->entries[start + i].len : dict->entries[start + i].value;
		body->len += zscodec_ints_encode(chunk, n, body->data + body->len);
	}
}

/* Appends the dictionary to the body of a shared area. */
const char *
zscodec_dict_write(const ZsDictBuild *dict, ZsCodecBuf *body)
{
	Assert(dict->n >= 1 && dict->n <= ZS_DICT_ENTRIES_MAX && dict->raw_bytes <= ZS_DICT_BYTES_MAX);
	if (!zscodec_buf_reserve(body, body->len + 5 + dict->raw_bytes +
							 (dict->n / ZS_VECTOR_ROWS + 1) * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS)))
		return ZS_ERR_MEMORY;
	write_numbers(dict, body);
	if (dict->by_ref)
	{
		for (uint32 i = 0; i < dict->n; i++)
		{
			memcpy(body->data + body->len, dict->entries[i].ptr, dict->entries[i].len);
			body->len += dict->entries[i].len;
		}
	}
	return NULL;
}

/* Appends the dictionary to the body of a shared area, its entries coded by the words. */
const char *
zscodec_dict_write_coded(const ZsDictBuild *dict, const ZsWordTable *words, const uint8 *limit,
						 ZsCodecBuf *body)
{
	uint32		nblocks = (dict->n + ZS_DICT_CODED_BLOCK - 1) / ZS_DICT_CODED_BLOCK;
	size_t		room = 9 + (2 * dict->n / ZS_VECTOR_ROWS + 3) * ZS_INTS_SIZE_MAX(ZS_VECTOR_ROWS);
	ZsBitWriter w = {NULL, 0, 0};
	uint64		block_bits[ZS_DICT_SMALL_ENTRIES / ZS_DICT_CODED_BLOCK];
	uint8	   *codes;
	uint64		before = 0;

	Assert(dict->by_ref && dict->n <= ZS_DICT_SMALL_ENTRIES &&
		   dict->raw_bytes <= ZS_DICT_CODED_BYTES);
	if (!zscodec_buf_reserve(body, body->len + room + ZS_WORDS_ENCODED_MAX(dict->raw_bytes)))
		return ZS_ERR_MEMORY;

	/*
	 * the codes go behind the largest room that the numbers in front of them may take, and are
	 * moved then
	 */
	codes = body->data + body->len + room;
	w.p = codes;
	for (uint32 i = 0; i < dict->n; i++)
	{
		zscodec_words_encode(words, dict->entries[i].ptr, dict->entries[i].len, limit, &w);
		if ((i + 1) % ZS_DICT_CODED_BLOCK == 0 || i + 1 == dict->n)
		{
			uint64		bit = (uint64) (w.p - codes) * 8 + (uint64) w.nbits;

			block_bits[i / ZS_DICT_CODED_BLOCK] = bit - before;
			before = bit;
		}
	}
	if (w.nbits > 0)
		w.p++;

	write_numbers(dict, body);
	for (uint32 start = 0; start < nblocks; start += ZS_VECTOR_ROWS)
		body->len += zscodec_ints_encode(block_bits + start, Min(nblocks - start, ZS_VECTOR_ROWS),
										 body->data + body->len);
	store32(body->data + body->len, (uint32) (w.p - codes));
	body->len += 4;
	Assert(body->data + body->len <= codes);
	memmove(body->data + body->len, codes, (size_t) (w.p - codes));
	body->len += (size_t) (w.p - codes);
	return NULL;
}
