/*-------------------------------------------------------------------------
 *
 * codec_dict.h
 *	  The dictionary that the vectors of a segment share, encoder side, and the shared area.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CODEC_DICT_H
#define CODEC_DICT_H

#include "codec_fsst.h"
#include "codec_internal.h"
#include "codec_words.h"

/* A distinct value while the dictionary is built; by reference: ptr and len, else value. */
typedef struct ZsDictEntry
{
	union
	{
		uint64		value;
		const uint8 *ptr;
	};
	uint32		len;
	uint32		hash;
	uint32		count;			/* rows that have it */
} ZsDictEntry;

typedef struct ZsDictBuild
{
	bool		by_ref;
	bool		sorted;			/* codes ascend with the values */
	bool		complete;		/* else some values have no code */
	uint32		n;
	uint64		raw_bytes;		/* of all entries */
	uint64		rest_bytes;		/* of strings without a code, overflow pointers included */
	ZsDictEntry *entries;
	uint32	   *codes;			/* of each row: 0 for nulls, ZS_DICT_NO_CODE for overflow
								 * pointers and values left out */
} ZsDictBuild;

/* codec_dict.c */
extern const char *zscodec_dict_build(ZsEncoder *enc, const ZsColumnInput *in, ZsDictBuild *dict);

/* codec_dict_write.c */
extern const char *zscodec_dict_write(const ZsDictBuild *dict, ZsCodecBuf *body);
extern const char *zscodec_dict_write_coded(const ZsDictBuild *dict, const ZsWordTable *words,
											const uint8 *limit, ZsCodecBuf *body);

/* Parts that a shared area is made of; NULL or 0 = not there. */
typedef struct ZsSharedParts
{
	const ZsDictBuild *dict;
	bool		coded;			/* by the words */
	const uint8 *limit;			/* end of the bytes that entries of a coded one point into */
	const ZsSymbolTable *symbols;
	const ZsWordTable *words;
	const uint8 *prefix;
	size_t		prefix_len;
} ZsSharedParts;

/* codec_shared.c */
extern const char *zscodec_shared_write(ZsEncoder *enc, const ZsEncodeOptions *options,
										const ZsSharedParts *parts, const uint8 **area,
										size_t *area_len);

#endif							/* CODEC_DICT_H */
