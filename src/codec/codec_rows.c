/*-------------------------------------------------------------------------
 *
 * codec_rows.c
 *	  The rows of a vector that is to be encoded: nulls set aside, values side by side.
 *
 * Encodings see the non-null rows only.  Those of integer columns are copied together, eight at a
 * time; of by-reference values addresses and lengths are gathered, and where overflow pointers are.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/codec/codec_rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "codec_encode.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

static inline bool
is_set(const uint8 *flags, uint32 row)
{
	return flags != NULL && flags[row] != 0;
}

static ZS_CLONES bool
any_set(const uint8 *flags, uint32 n)
{
	uint8		any = 0;

	for (uint32 i = 0; i < n; i++)
		any |= flags[i];
	return any != 0;
}

/* Splits the rows into nulls and values. */
static void
split_nulls(const ZsColumnInput *in, uint32 first, ZsVectorRows *v)
{
	uint32		n = 0;
	uint32		nnulls = 0;

	if (in->isnull == NULL || !any_set(in->isnull + first, v->nrows))
	{
		for (uint32 i = 0; i < v->nrows; i++)
			v->rows[i] = (uint16) i;
		v->n = v->nrows;
		v->nnulls = 0;
		return;
	}
	for (uint32 i = 0; i < v->nrows; i++)
	{
		bool		null = in->isnull[first + i] != 0;

		v->rows[n] = (uint16) i;
		v->null_pos[nnulls] = (uint16) i;
		n += !null;
		nnulls += null;
	}
	Assert(n + nnulls == v->nrows);
	v->n = n;
	v->nnulls = nnulls;
}

/* Splits the rows of an integer column into nulls and values. */
static void
split_ints(const ZsColumnInput *in, uint32 first, bool want_rows, ZsVectorRows *v)
{
	const uint64 *ints = (const uint64 *) in->ints + first;
	uint32		n = 0;
	uint32		nnulls = 0;

	if (in->isnull == NULL || !any_set(in->isnull + first, v->nrows))
	{
		v->vals = ints;
		v->n = v->nrows;
		v->nnulls = 0;
	}
	else
	{
		const uint8 *isnull = in->isnull + first;
		uint32		i = 0;

		/*
		 * Eight rows at a time: eight values are copied from where the last NULL was, and those too
		 * many are overwritten.
		 */
		for (; i + 16 <= v->nrows; i += 8)
		{
			uint64		nulls = load64(isnull + i);
			uint32		from = i;

			memcpy(&v->dense[n], &ints[from], 8 * sizeof(uint64));
			while (nulls != 0)
			{
				int			bit = __builtin_ctzll(nulls) & ~7;
				uint32		null = i + bit / 8;

				v->null_pos[nnulls++] = (uint16) null;
				n += null - from;
				from = null + 1;
				memcpy(&v->dense[n], &ints[from], 8 * sizeof(uint64));
				nulls &= ~(UINT64CONST(0xFF) << bit);
			}
			n += i + 8 - from;
		}
		for (; i < v->nrows; i++)
		{
			bool		null = isnull[i] != 0;

			v->dense[n] = ints[i];
			v->null_pos[nnulls] = (uint16) i;
			n += !null;
			nnulls += null;
		}
		v->vals = v->dense;
		v->n = n;
		v->nnulls = nnulls;
	}
	if (want_rows)
		split_nulls(in, first, v);
}

/* Addresses and lengths of by-reference values. */
static const char *
gather_bytes(const ZsColumnInput *in, uint32 first, ZsVectorRows *v)
{
	const uint64 *offsets = in->offsets + first;
	bool		all_equal = true;

	v->bytes = in->bytes + offsets[0];
	if (offsets[v->nrows] < offsets[0] || offsets[v->nrows] - offsets[0] > ZS_VECTOR_RAW_MAX)
		return "values of one vector exceed 1 GB";
	v->total = (size_t) (offsets[v->nrows] - offsets[0]);
	for (uint32 i = 0; i < v->n; i++)
	{
		uint64		off = offsets[v->rows[i]];
		uint64		len = offsets[v->rows[i] + 1] - off;

		if (len > ZS_VALUE_SIZE_MAX)
			return "value exceeds 1 GB";
		if (in->kind == ZS_KIND_FIXED && len != (uint64) in->width)
			return "value has the wrong length";
		v->ptrs[i] = in->bytes + off;
		v->lens[i] = (uint32) len;
		if (all_equal && (v->lens[i] != v->lens[0] || !bytes_equal(v->ptrs[i], v->ptrs[0], len)))
			all_equal = false;
	}
	v->all_equal = all_equal;
	return NULL;
}

static bool
ints_equal(const uint64 *vals, uint32 n)
{
	for (uint32 i = 1; i < n; i++)
	{
		if (vals[i] != vals[0])
			return false;
	}
	return true;
}

/* Fills se->rows with the rows of a vector, the first maxrows at most. */
const char *
zscodec_rows_gather(ZsSegmentEncoder *se, uint32 vecno, uint32 maxrows)
{
	const ZsColumnInput *in = se->in;
	ZsVectorRows *v = &se->rows;
	uint32		first = vecno * ZS_VECTOR_ROWS;
	const char *err;

	v->vecno = vecno;
	Assert(maxrows > 0);
	v->nrows = Min(Min(in->nrows - first, ZS_VECTOR_ROWS), maxrows);
	v->next = 0;
	v->all_equal = false;
	if (!se->by_ref)
	{
		split_ints(in, first, se->use_dict, v);
		if (in->kind == ZS_KIND_NUMERIC)
			v->all_equal = ints_equal(v->vals, v->n);
		return NULL;
	}
	split_nulls(in, first, v);
	if ((err = gather_bytes(in, first, v)) != NULL)
		return err;
	for (uint32 i = 0; i < v->n; i++)
	{
		bool		ext = is_set(in->isext, first + v->rows[i]);

		v->isext[i] = ext;
		v->ext_pos[v->next] = (uint16) i;
		v->next += ext;
	}
	if (v->next > 0 && v->next < v->n)
		v->all_equal = false;
	return NULL;
}
