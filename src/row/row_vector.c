/*-------------------------------------------------------------------------
 *
 * row_vector.c
 *	  Attributes of many rows of the row tree, as arrays.
 *
 * Readers of batches want one attribute of all rows of a stripe, then another one, of fewer rows.
 * A row is taken apart as far as it was asked for and remembers how far that is; on the way values
 * of all attributes are stored that have been asked for in this stripe or one before.
 *
 * Attributes at the beginning that are of fixed length lie at the same place in all rows that have
 * no NULL before them.  They are read from there, without a walk.
 *
 * Lengths are not trusted, see row_attrs.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_vector.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "row_internal.h"
#include "zs_compat.h"

/* ---- one row ---------------------------------------------------------------------- */

/* Bytes of the varlena of which left are there, at least one; more than left if it is none. */
static inline uint32
varlena_size(const MinimalTupleData *item, const char *datum, uint32 left)
{
	if (likely(VARATT_IS_1B(datum) && !VARATT_IS_1B_E(datum)))
		return VARSIZE_1B(datum);
	if (VARATT_IS_1B_E(datum))
		return left >= ZS_OVERFLOW_DATUM_SIZE && VARTAG_EXTERNAL(datum) == VARTAG_ONDISK &&
			(item->t_infomask & HEAP_HASEXTERNAL) != 0 ? ZS_OVERFLOW_DATUM_SIZE : left + 1;
	return left < VARHDRSZ || VARSIZE_4B(datum) < VARHDRSZ ? left + 1 : VARSIZE_4B(datum);
}

/*
 * The attribute that is not NULL and begins behind *off of the len bytes at data; moves *off behind
 * it.  NULL if it is not within these.
 */
static pg_attribute_always_inline const char *
next_value(const MinimalTupleData *item, const ZsAttrShape *att, const char *data, uint32 len,
		   uint32 *off)
{
	const char *value;
	uint32		size;

	/* a zero byte is padding in front of a varlena's four-byte header */
	if (att->attlen != -1 || (*off < len && !VARATT_NOT_PAD_BYTE(data + *off)))
		*off = (uint32) ZsShapeAlign(*off, att);
	if (unlikely(*off >= len))
		return NULL;
	value = data + *off;
	if (att->attlen > 0)
		size = att->attlen;
	else if (att->attlen == -1)
		size = varlena_size(item, value, len - *off);
	else
		size = (uint32) strnlen(value, len - *off) + 1;
	if (unlikely(size > len - *off))
		return NULL;
	*off += size;
	return value;
}

/* Where the values are, and how many bytes. */
static inline const char *
item_data(const MinimalTupleData *item, uint32 *len)
{
	uint32		hoff = item->t_hoff - MINIMAL_TUPLE_OFFSET;

	*len = item->t_len - zsrow_item_tail(item) - hoff;
	return (const char *) item + hoff;
}

/*
 * Takes an item apart as core takes a tuple, from where the last call left off (progress) up to
 * natts attributes of desc; what the item lacks are missing values.  Values by reference point into
 * the item, large ones are external varlenas.  Error (data corrupted) if lengths in it lead beyond
 * its end.
 */
void
zsrow_deform_on(Relation rel, TupleDesc desc, const MinimalTupleData *item,
				ZsRowProgress *progress, int natts, Datum *values, bool *isnull)
{
	int			stored = Min(HeapTupleHeaderGetNatts(item), natts);
	bool		has_nulls = (item->t_infomask & HEAP_HASNULL) != 0;
	uint32		off = progress->off;
	uint32		len;
	const char *data = item_data(item, &len);
	int			i;

	Assert(natts <= desc->natts);
	for (i = progress->natts; i < stored; i++)
	{
		const ZsAttrShape *att = ZsTupleDescShape(desc, i);
		const char *value;

		if (has_nulls && att_isnull(i, item->t_bits))
		{
			values[i] = (Datum) 0;
			isnull[i] = true;
			continue;
		}
		value = next_value(item, att, data, len, &off);
		if (unlikely(value == NULL))
			zsrow_corrupted(rel, desc, item);
		values[i] = fetch_att(value, att->attbyval, att->attlen);
		isnull[i] = false;
	}
	for (; i < natts; i++)
		values[i] = getmissingattr(desc, i + 1, &isnull[i]);
	progress->natts = (uint16) Max(natts, progress->natts);
	progress->off = off;
}

/* ---- many rows ------------------------------------------------------------------------ */

/* Finds the places of attributes in rows without NULLs, as far as they are the same in all. */
static void
find_fixed(ZsRowVectors *vectors)
{
	uint32		off = 0;

	vectors->fixed = palloc(Max(vectors->desc->natts, 1) * sizeof(uint32));
	for (int i = 0; i < vectors->desc->natts; i++)
	{
		const ZsAttrShape *att = ZsTupleDescShape(vectors->desc, i);
		uint32		aligned = (uint32) ZsShapeAlign(off, att);

		/* a short varlena is not aligned, others are */
		if (att->attlen == -1 && aligned != off)
			break;
		vectors->walk_from = off;
		vectors->fixed[vectors->nfixed++] = aligned;
		if (att->attlen < 0)
			break;
		off = aligned + att->attlen;
	}
}

/*
 * For rows that desc describes, which lives as long as the result.  Memory comes from the current
 * context; nothing is to be freed.
 */
ZsRowVectors *
zsrow_vectors_create(Relation rel, TupleDesc desc)
{
	ZsRowVectors *vectors = palloc0(sizeof(ZsRowVectors));

	vectors->rel = rel;
	vectors->desc = desc;
	vectors->context = CurrentMemoryContext;
	vectors->vectors = palloc0(Max(desc->natts, 1) * sizeof(ZsRowVector *));
	vectors->asked = palloc(Max(desc->natts, 1) * sizeof(AttrNumber));
	find_fixed(vectors);
	return vectors;
}

static void
clear_vector(ZsRowVector *vector)
{
	zskernel_bits_clear(vector->have);
	zskernel_bits_clear(vector->nulls);
	zskernel_bits_clear(vector->odd);
}

/*
 * Takes those rows of the batch, all of one stripe, that are in sel; vectors of others are
 * forgotten.  The batch stays as it is meanwhile.  False if there are none.
 */
bool
zsrow_vectors_start(ZsRowVectors *vectors, const ZsRowBatch *batch, zstid stripe, const uint64 *sel)
{
	bool		any = false;

	Assert(stripe % ZS_STRIPE_ROWS == 0);
	zskernel_bits_clear(vectors->rows);
	for (int i = 0; i < batch->nitems; i++)
	{
		uint32		place = (uint32) (zsrow_item_row(batch->items[i]) - stripe);

		Assert(place < ZS_STRIPE_ROWS);
		vectors->rows[place / 64] |= UINT64CONST(1) << place % 64;
		vectors->items[place] = batch->items[i];
		vectors->progress[place].natts = 0;
		vectors->progress[place].off = 0;
	}
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		vectors->rows[w] &= sel[w];
		any |= vectors->rows[w] != 0;
	}
	for (int i = 0; i < vectors->nasked; i++)
		clear_vector(vectors->vectors[vectors->asked[i]]);
	return any;
}

static inline void
set_bit(uint64 *bits, uint32 place)
{
	bits[place / 64] |= UINT64CONST(1) << place % 64;
}

/* A value that is passed by value, with its sign, which fetch_att() drops where char has none. */
static inline uint64
value_with_sign(Datum value, const ZsAttrShape *att)
{
	return att->attlen == 1 ? (uint64) (int64) (int8) DatumGetChar(value) : (uint64) value;
}

/* value points to the stored bytes. */
static inline void
set_value(ZsRowVector *vector, uint32 place, const ZsAttrShape *att, const char *value)
{
	Datum		fetched = fetch_att(value, att->attbyval, att->attlen);

	vector->values[place] = att->attbyval ? value_with_sign(fetched, att) : (uint64) fetched;
	if (att->attlen == -1 &&
		unlikely(VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value)))
		set_bit(vector->odd, place);
}

/* The row was stored before the attribute was added to the table. */
static void
set_missing(ZsRowVectors *vectors, ZsRowVector *vector, int attno, uint32 place)
{
	const ZsAttrShape *att = ZsTupleDescShape(vectors->desc, attno);
	bool		isnull;
	Datum		value = getmissingattr(vectors->desc, attno + 1, &isnull);

	if (isnull)
		set_bit(vector->nulls, place);
	else if (att->attbyval)
		vector->values[place] = value_with_sign(value, att);
	else
		set_value(vector, place, att, DatumGetPointer(value));
}

/* Is none of the first n attributes of the item, which has more of them, NULL? */
static inline bool
begins_full(const MinimalTupleData *item, int n)
{
	int			i = 0;

	if ((item->t_infomask & HEAP_HASNULL) == 0)
		return true;
	for (; i + 8 <= n; i += 8)
	{
		if (item->t_bits[i / 8] != 0xFF)
			return false;
	}
	return i == n || (~item->t_bits[i / 8] & ((1 << (n - i)) - 1)) == 0;
}

/*
 * Attribute attno of the row at place where it has a fixed place.  False: it has none.
 */
static inline bool
take_fixed(ZsRowVectors *vectors, ZsRowVector *vector, const ZsAttrShape *att, int attno,
		   uint32 place)
{
	const MinimalTupleData *item = vectors->items[place];
	uint32		off = vectors->fixed[attno];
	uint32		len;
	const char *data = item_data(item, &len);
	const char *value;

	if (HeapTupleHeaderGetNatts(item) <= attno || !begins_full(item, attno))
		return false;
	if ((item->t_infomask & HEAP_HASNULL) != 0 && att_isnull(attno, item->t_bits))
	{
		set_bit(vector->nulls, place);
		return true;
	}
	value = next_value(item, att, data, len, &off);
	if (unlikely(value == NULL))
		zsrow_corrupted(vectors->rel, vectors->desc, item);
	set_value(vector, place, att, value);
	return true;
}

/* Goes on in the row at place, behind attribute attno. */
static inline void
walk_row(ZsRowVectors *vectors, int attno, uint32 place)
{
	const MinimalTupleData *item = vectors->items[place];
	ZsRowProgress *progress = &vectors->progress[place];
	bool		has_nulls = (item->t_infomask & HEAP_HASNULL) != 0;
	int			natts = HeapTupleHeaderGetNatts(item);
	uint32		len;
	const char *data = item_data(item, &len);

	/* nobody had asked for it when the walk came by */
	if (progress->natts > attno)
		progress->natts = progress->off = 0;
	/* attributes at fixed places are read from there */
	if (progress->natts == 0 && vectors->nfixed > 0 && attno >= vectors->nfixed &&
		natts >= vectors->nfixed && begins_full(item, vectors->nfixed - 1))
	{
		progress->natts = (uint16) (vectors->nfixed - 1);
		progress->off = vectors->walk_from;
	}
	for (; progress->natts <= attno; progress->natts++)
	{
		int			i = progress->natts;
		const ZsAttrShape *att = ZsTupleDescShape(vectors->desc, i);
		ZsRowVector *vector = vectors->vectors[i];
		const char *value;

		if (vector != NULL)
			set_bit(vector->have, place);
		if (unlikely(i >= natts))
		{
			if (vector != NULL)
				set_missing(vectors, vector, i, place);
			continue;
		}
		if (has_nulls && att_isnull(i, item->t_bits))
		{
			if (vector != NULL)
				set_bit(vector->nulls, place);
			continue;
		}
		value = next_value(item, att, data, len, &progress->off);
		if (unlikely(value == NULL))
			zsrow_corrupted(vectors->rel, vectors->desc, item);
		if (vector != NULL)
			set_value(vector, place, att, value);
	}
}

static ZsRowVector *
add_vector(ZsRowVectors *vectors, int attno)
{
	ZsRowVector *vector = MemoryContextAllocZero(vectors->context, sizeof(ZsRowVector));

	vectors->vectors[attno] = vector;
	vectors->asked[vectors->nasked++] = attno;
	return vector;
}

/*
 * Attribute attno (from 0) of the rows of sel that are among those taken, see ZsRowVector.  What it
 * has of other rows stays.  Valid until rows of another batch are taken.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
ZsRowVector *
zsrow_vectors_get(ZsRowVectors *vectors, int attno, const uint64 *sel)
{
	const ZsAttrShape *att = ZsTupleDescShape(vectors->desc, attno);
	ZsRowVector *vector = vectors->vectors[attno];
	bool		is_fixed = attno < vectors->nfixed;

	Assert(attno >= 0 && attno < vectors->desc->natts);
	CHECK_FOR_INTERRUPTS();
	if (vector == NULL)
		vector = add_vector(vectors, attno);
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		wanted = sel[w] & vectors->rows[w] & ~vector->have[w];

		for (uint64 word = wanted; word != 0; word &= word - 1)
		{
			uint32		place = w * 64 + __builtin_ctzll(word);

			if (!is_fixed || !take_fixed(vectors, vector, att, attno, place))
				walk_row(vectors, attno, place);
		}
		vector->have[w] |= wanted;
	}
	return vector;
}
