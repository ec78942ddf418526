/*-------------------------------------------------------------------------
 *
 * codec_dict_encode.c
 *	  Vectors as codes of the segment's dictionary, all values or the frequent ones.
 *
 * The dictionary and the codes of all rows have been made before (codec_dict.c).  Overflow pointers
 * never have a code.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_dict_encode.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"
#include "codec_ops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

/* ZsEncodingOps of DICT: writes the codes. */
size_t
zscodec_dict_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	const uint32 *codes = se->dict.codes + v->vecno * ZS_VECTOR_ROWS;
	uint64		wide[ZS_VECTOR_ROWS];

	if (v->next > 0)
		return ZS_NOT_ENCODED;
	for (uint32 i = 0; i < v->n; i++)
	{
		wide[i] = codes[v->rows[i]];
		if (wide[i] == ZS_DICT_NO_CODE)
			return ZS_NOT_ENCODED;
	}
	if (se->in->kind >= ZS_KIND_NUMERIC)
		return zscodec_ints_encode_codes(wide, v->n, out);
	*out = ZS_ENC_DICT;
	return 1 + zscodec_ints_encode_codes(wide, v->n, out + 1);
}

/* The values in the first encoding that has a form for them; *tag says which. */
static size_t
encode_literals(ZsSegmentEncoder *se, const ZsLiterals *values, uint8 *out, uint8 *tag)
{
	size_t		size = ZS_NOT_ENCODED;

	for (const uint8 *e = zscodec_encoding_order; size == ZS_NOT_ENCODED; e++)
	{
		const ZsEncodingOps *ops = &zscodec_encoding_ops[*e];

		Assert(*e != ZS_ENC_INVALID);
		*tag = *e;
		if (ops->encode_literals != NULL)
			size = ops->encode_literals(se, values, out);
	}
	return size;
}

/* ZsEncodingOps of MIXED: writes codes and literals. */
size_t
zscodec_mixed_encode(ZsSegmentEncoder *se, ZsVectorInfo *vi, uint8 *out)
{
	const ZsVectorRows *v = &se->rows;
	const uint32 *codes = se->dict.codes + v->vecno * ZS_VECTOR_ROWS;
	uint64		known[ZS_VECTOR_ROWS];
	uint16		pos[ZS_VECTOR_ROWS];
	const uint8 *ptrs[ZS_VECTOR_ROWS];
	uint32		lens[ZS_VECTOR_ROWS];
	uint32		nknown = 0;
	uint32		nliterals = 0;
	ZsLiterals	literals = {.ptrs = ptrs,.lens = lens};
	uint8	   *p = out;
	uint8	   *tag;

	for (uint32 i = 0; i < v->n; i++)
	{
		uint32		code = codes[v->rows[i]];

		if (code != ZS_DICT_NO_CODE)
			known[nknown++] = code;
		else
		{
			pos[nliterals] = (uint16) i;
			ptrs[nliterals] = v->ptrs[i];
			lens[nliterals++] = v->lens[i];
			literals.total += v->lens[i];
		}
	}
	Assert(nknown + nliterals == v->n);
	if (nknown == 0 || nliterals == 0)
		return ZS_NOT_ENCODED;
	p += zscodec_posset_encode(pos, nliterals, v->n, p);
	p += zscodec_ints_encode_codes(known, nknown, p);
	tag = p++;
	literals.n = nliterals;
	p += encode_literals(se, &literals, p, tag);
	return (size_t) (p - out);
}
