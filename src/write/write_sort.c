/*-------------------------------------------------------------------------
 *
 * write_sort.c
 *	  Sorts the column part by the table's key.
 *
 * Only rows that have no numbers yet can be sorted: with them it would be seen that they changed
 * places (write_reserve.c).  So each part of a load becomes a run in the order of the key, of up
 * to 262,144 rows.
 *
 * The first column of the key gives each row an image of 64 bits, in the order of zone maps.  Pairs
 * of image and place are sorted; the values are looked at where images are equal.  Then each column
 * is put into the new order, by way of memory that is there before the first one is touched: an
 * error or a cancel leaves the part as it was.
 *
 * Where zone maps and the type do not agree about the order (enums; strings, but for the collation
 * C), the order is that of zone maps.  Values on overflow pages come behind all others.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_sort.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"
#include "zs_base_sort.h"

/* A column of the key. */
typedef struct SortColumn
{
	const ZsWriteColumn *column;
	bool		descending;
	bool		nulls_first;
} SortColumn;

typedef struct PartSort
{
	int			nkeys;
	SortColumn	keys[INDEX_MAX_KEYS];
} PartSort;

typedef struct SortEntry
{
	uint64		image;			/* of the first column's value */
	uint32		place;			/* of the row in the part */
} SortEntry;

/* Values without an image of their own: rows of a class are equal. */
typedef enum ValueClass
{
	CLASS_NULL_FIRST,
	CLASS_VALUE,
	CLASS_OVERFLOW,
	CLASS_NULL_LAST
} ValueClass;

static ValueClass
class_of(const SortColumn *key, uint32 n)
{
	const ZsWriteColumn *column = key->column;

	if (column->isnull[n])
		return key->nulls_first ? CLASS_NULL_FIRST : CLASS_NULL_LAST;
	return column->any_ext && column->isext[n] ? CLASS_OVERFLOW : CLASS_VALUE;
}

/* The value in the order of zone maps; false: there is no image. */
static bool
zone_image(const ZsWriteColumn *column, uint32 n, int64 *image)
{
	const uint8 *bytes;
	Size		len;
	int64		upper;

	if (column->as_ints)
	{
		int64		value = column->ints[n];

		switch (column->kind.kind)
		{
			case ZS_KIND_INT:
				*image = zscodec_zone_from_int64(value, column->kind.width,
												 column->kind.is_unsigned);
				break;
			case ZS_KIND_FLOAT4:
			case ZS_KIND_FLOAT8:
				*image = zscodec_zone_from_pattern(column->kind.kind, (uint64) value);
				break;
			default:
				/* numerics of one scale */
				Assert(column->kind.kind == ZS_KIND_NUMERIC);
				*image = value;
				break;
		}
		return true;
	}
	bytes = column->bytes + column->offsets[n];
	len = column->offsets[n + 1] - column->offsets[n];
	if (column->kind.kind == ZS_KIND_NUMERIC)
		return zscodec_zone_from_numeric(bytes, len, image, &upper);
	*image = zscodec_zone_from_bytes(bytes, len);
	return true;
}

static int
compare_numerics(const uint8 *a, Size alen, const uint8 *b, Size blen)
{
	Datum		x = zswrite_form_datum(-1, a, alen);
	Datum		y = zswrite_form_datum(-1, b, blen);
	int			result = DatumGetInt32(DirectFunctionCall2(numeric_cmp, x, y));

	pfree(DatumGetPointer(x));
	pfree(DatumGetPointer(y));
	return result;
}

/* Two values of a column, neither NULL nor on overflow pages, in ascending order. */
static int
compare_values(const ZsWriteColumn *column, uint32 a, uint32 b)
{
	const uint8 *abytes;
	const uint8 *bbytes;
	Size		alen;
	Size		blen;
	int			result;

	if (column->as_ints)
	{
		int64		aimage;
		int64		bimage;

		(void) zone_image(column, a, &aimage);
		(void) zone_image(column, b, &bimage);
		return pg_cmp_s64(aimage, bimage);
	}
	abytes = column->bytes + column->offsets[a];
	bbytes = column->bytes + column->offsets[b];
	alen = column->offsets[a + 1] - column->offsets[a];
	blen = column->offsets[b + 1] - column->offsets[b];
	if (column->kind.kind == ZS_KIND_NUMERIC)
		return compare_numerics(abytes, alen, bbytes, blen);
	result = memcmp(abytes, bbytes, Min(alen, blen));
	return result != 0 ? result : pg_cmp_size(alen, blen);
}

static int
compare_rows(const PartSort *sort, uint32 a, uint32 b)
{
	for (int i = 0; i < sort->nkeys; i++)
	{
		const SortColumn *key = &sort->keys[i];
		ValueClass	aclass = class_of(key, a);
		ValueClass	bclass = class_of(key, b);
		int			result;

		if (aclass != bclass)
			return aclass < bclass ? -1 : 1;
		if (aclass != CLASS_VALUE)
			continue;
		result = compare_values(key->column, a, b);
		if (result != 0)
			return key->descending ? -result : result;
	}
	return 0;
}

static inline int
compare_entries(const SortEntry *a, const SortEntry *b, const PartSort *sort)
{
	int			result = pg_cmp_u64(a->image, b->image);

	if (result == 0)
		result = compare_rows(sort, a->place, b->place);
	/* rows that are equal stay in the order in which they came */
	return result != 0 ? result : pg_cmp_u32(a->place, b->place);
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE SortEntry
#define ST_COMPARE_ARG_TYPE const PartSort
#define ST_COMPARE(a, b, arg) compare_entries(a, b, arg)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * The rows' images: what has none is first or last.  That a value's image may be the same does not
 * matter, since classes are compared, too.
 */
static void
make_entries(const PartSort *sort, SortEntry *entries, uint32 nrows)
{
	const SortColumn *key = &sort->keys[0];
	bool		all = true;

	for (uint32 n = 0; n < nrows; n++)
	{
		ValueClass	class = class_of(key, n);
		int64		zone = 0;

		entries[n].place = n;
		if (class != CLASS_VALUE)
		{
			entries[n].image = class == CLASS_NULL_FIRST ? 0 : PG_UINT64_MAX;
			continue;
		}
		all = all && zone_image(key->column, n, &zone);
		entries[n].image = (uint64) zone ^ (UINT64CONST(1) << 63);
		if (key->descending)
			entries[n].image = ~entries[n].image;
	}
	if (all)
		return;
	for (uint32 n = 0; n < nrows; n++)
		entries[n].image = 0;
}

/* Are the rows in order as they are? */
static bool
is_sorted(const PartSort *sort, const SortEntry *entries, uint32 nrows)
{
	for (uint32 n = 1; n < nrows; n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (compare_entries(&entries[n - 1], &entries[n], sort) > 0)
			return false;
	}
	return true;
}

/* ---- the new order ------------------------------------------------------------------------- */

/* Memory that putting a column into order takes, in bytes. */
static Size
scratch_size(const ZsWriteColumn *column, uint32 nrows)
{
	if (column->dropped)
		return 0;
	return column->as_ints ? nrows * sizeof(int64) :
		MAXALIGN((nrows + 1) * sizeof(uint64)) + column->offsets[nrows];
}

static void
reorder_flags(uint8 *flags, const SortEntry *entries, uint32 nrows, char *scratch)
{
	for (uint32 n = 0; n < nrows; n++)
		scratch[n] = flags[entries[n].place];
	memcpy(flags, scratch, nrows);
}

static void
reorder_column(ZsWriteColumn *column, const SortEntry *entries, uint32 nrows, char *scratch)
{
	if (column->any_null)
		reorder_flags(column->isnull, entries, nrows, scratch);
	if (column->any_ext)
		reorder_flags(column->isext, entries, nrows, scratch);
	if (column->as_ints)
	{
		int64	   *ints = (int64 *) scratch;

		for (uint32 n = 0; n < nrows; n++)
			ints[n] = column->ints[entries[n].place];
		memcpy(column->ints, ints, nrows * sizeof(int64));
	}
	else
	{
		uint64	   *offsets = (uint64 *) scratch;
		char	   *bytes = scratch + MAXALIGN((nrows + 1) * sizeof(uint64));

		offsets[0] = 0;
		for (uint32 n = 0; n < nrows; n++)
		{
			uint64		from = column->offsets[entries[n].place];
			uint64		len = column->offsets[entries[n].place + 1] - from;

			if (len > 0)
				memcpy(bytes + offsets[n], column->bytes + from, len);
			offsets[n + 1] = offsets[n] + len;
		}
		Assert(offsets[nrows] == column->offsets[nrows]);
		memcpy(column->offsets, offsets, (nrows + 1) * sizeof(uint64));
		if (offsets[nrows] > 0)
			memcpy(column->bytes, bytes, offsets[nrows]);
	}
}

/* Has the table a key that loads sort by? */
bool
zswrite_is_sorted_table(Relation rel)
{
	ZsTableOptions options;

	zsbase_table_options(rel, &options);
	return options.has_sort_key;
}

/* The key as columns of the part; false if there is none. */
static bool
find_key(Relation rel, const ZsWriteBuffer *buf, PartSort *sort)
{
	ZsSortKey	keys[INDEX_MAX_KEYS];

	if (!zswrite_is_sorted_table(rel))
		return false;
	sort->nkeys = zsbase_sort_key(rel, false, keys);
	for (int i = 0; i < sort->nkeys; i++)
	{
		/* the table has got the column since */
		if (keys[i].attno > buf->natts)
			return false;
		sort->keys[i].column = &buf->columns[keys[i].attno - 1];
		sort->keys[i].descending = keys[i].descending;
		sort->keys[i].nulls_first = keys[i].nulls_first;
		Assert(!sort->keys[i].column->dropped);
	}
	return sort->nkeys > 0;
}

/*
 * Sorts the rows of the column part, none of which has a number, if the table has a key.  Errors:
 * those of memory and a cancel, which leave the part as it was.
 */
void
zswrite_sort_columns(Relation rel, ZsWriteBuffer *buf)
{
	uint32		nrows = buf->nrows;
	PartSort	sort;
	SortEntry  *entries;
	char	   *scratch;
	Size		size = nrows;

	Assert(nrows > 0 && buf->nunnumbered == nrows);
	Assert(buf->ngaps == 0 && buf->nlinks == 0);
	if (!find_key(rel, buf, &sort))
		return;
	entries = MemoryContextAllocHuge(CurrentMemoryContext, nrows * sizeof(SortEntry));
	make_entries(&sort, entries, nrows);
	if (!is_sorted(&sort, entries, nrows))
	{
		sort_entries(entries, nrows, &sort);
		for (int i = 0; i < buf->ncolumns; i++)
			size = Max(size, scratch_size(&buf->columns[i], nrows));
		scratch = MemoryContextAllocHuge(CurrentMemoryContext, size);

		/* from here on nothing fails */
		for (int i = 0; i < buf->ncolumns; i++)
		{
			if (!buf->columns[i].dropped)
				reorder_column(&buf->columns[i], entries, nrows, scratch);
		}
		pfree(scratch);
	}
	pfree(entries);
}
