/*-------------------------------------------------------------------------
 *
 * write_stage.c
 *	  Rows of a loader on their way from slots into the column part.
 *
 * COPY fills a slot, asks it to keep its values (materialize), and hands over up to a thousand
 * slots at once.  A slot that keeps its values as a row is written and read value by value, and by
 * the time the rows become columns they have left the processor's nearest cache.  So the slots of a
 * loader keep their values in a stage, which holds the rows as columns: a by-value column as
 * integers, a numeric as an image of 16 bytes, others as bytes one behind the other.  A column of a
 * group of rows moves to the part with one copy then, and numerics become integers many at a time.
 *
 *		slot 0		slot 1		slot 2				stage
 *		1 a 7.5		2 b 8		3 c 9.25	->		1 2 3 | a b c | 7.5 8 9.25
 *
 * The rows of a stage belong to the slots of one group, in their order, and live until the first of
 * these slots is filled again.  A slot can still show its values: zswrite_stage_get() makes datums.
 *
 * What is unusual (large or compressed values, numerics of many digits) a stage does not take; such
 * a row and those behind it in the group stay in their slots.  A stage that meets these all the
 * time gives up.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_stage.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "write_internal.h"

/* Groups in a row that met something unusual, after which the stage gives up. */
#define MAX_FAILURES	4

/* Room for the bytes of a column at first. */
#define FIRST_BYTES		1024

static ZsStageForm
form_of(Form_pg_attribute att)
{
	ZsAttrKind	kind;

	if (att->attisdropped)
		return ZS_STAGE_DROPPED;
	zsattr_kind(att, &kind);
	if (att->attbyval)
		return ZS_STAGE_INT;
	if (kind.kind == ZS_KIND_NUMERIC)
		return ZS_STAGE_NUMERIC;
	return att->attlen == -1 ? ZS_STAGE_VARLENA : att->attlen == -2 ? ZS_STAGE_CSTRING :
		ZS_STAGE_FIXED;
}

/*
 * Would a stage help to load the table?
 *
 * Not if the slots will be asked for all their values, row by row. Indexes ask
 * for a few.
 */
bool
zswrite_stage_helps(Relation rel)
{
	return rel->trigdesc == NULL;
}

/*
 * A stage for groups of up to nrows rows, in a memory context of its own below
 * parent.  It has one user; it is freed when the last user leaves.
 */
ZsRowStage *
zswrite_stage_create(TupleDesc desc, int nrows, MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent, "zedstore stage", ALLOCSET_DEFAULT_SIZES);
	ZsRowStage *stage = MemoryContextAllocZero(context, offsetof(ZsRowStage, columns) +
											   desc->natts * sizeof(ZsStageColumn));

	stage->context = context;
	stage->natts = desc->natts;
	stage->bytes = MemoryContextAlloc(context, desc->natts * sizeof(int16));
	stage->nusers = 1;

	/*
	 * an odd number of cache lines a column: else the columns' ends would compete for few places in
	 * the cache
	 */
	stage->maxrows = TYPEALIGN(8, nrows) | 8;
	for (int i = 0; i < desc->natts; i++)
	{
		ZsStageColumn *column = &stage->columns[i];

		column->form = form_of(TupleDescAttr(desc, i));
		column->attlen = TupleDescAttr(desc, i)->attlen;
		if (column->form == ZS_STAGE_INT)
			column->shift = 64 - 8 * column->attlen;
		else if (column->form != ZS_STAGE_NUMERIC && column->form != ZS_STAGE_DROPPED)
			stage->bytes[stage->nbytes++] = i;
	}
	return stage;
}

/* One more user of the stage. */
void
zswrite_stage_join(ZsRowStage *stage)
{
	stage->nusers++;
}

/* One user less; the last one frees the stage. */
void
zswrite_stage_leave(ZsRowStage *stage)
{
	Assert(stage->nusers > 0);
	if (--stage->nusers == 0)
		MemoryContextDelete(stage->context);
}

/* The memory, when the first row comes: one piece for all that does not grow. */
static void
make_arrays(ZsRowStage *stage)
{
	Size		n = stage->maxrows;
	Size		size = 0;
	char	   *p;

	for (int i = 0; i < stage->natts; i++)
		size += n * (1 + ZS_NUMERIC_IMAGE_SIZE) + PG_CACHE_LINE_SIZE;
	size += n;
	p = MemoryContextAllocAligned(stage->context, size, PG_CACHE_LINE_SIZE, MCXT_ALLOC_HUGE);
	for (int i = 0; i < stage->natts; i++)
	{
		ZsStageColumn *column = &stage->columns[i];

		if (column->form == ZS_STAGE_DROPPED)
			continue;
		if (column->form == ZS_STAGE_NUMERIC)
		{
			column->u.images = (uint64 *) p;
			p += n * ZS_NUMERIC_IMAGE_SIZE;
		}
		else if (column->form == ZS_STAGE_INT)
		{
			column->u.ints = (int64 *) p;
			p += n * sizeof(int64);
		}
		else
		{
			column->u.ends = (uint32 *) p;
			p += CACHELINEALIGN((n + 1) * sizeof(uint32));
			column->u.ends[0] = 0;
			column->maxbytes = FIRST_BYTES;
			column->bytes = MemoryContextAlloc(stage->context, column->maxbytes);
		}
	}
	stage->nulls = (uint8 *) p;
	for (int i = 0; i < stage->natts; i++)
		stage->columns[i].isnull = stage->nulls + i * n;
	stage->has_null = stage->nulls + stage->natts * n;
	stage->any_null = true;		/* for all that is known */
	stage->ready = true;
}

static pg_noinline void
grow_bytes(ZsStageColumn *column, Size needed)
{
	Size		size = column->maxbytes;

	while (size < needed)
		size *= 2;
	column->bytes = repalloc(column->bytes, size);
	column->maxbytes = size;
}

/* Appends the bytes of row number row. */
static pg_attribute_always_inline void
add_bytes(ZsStageColumn *column, int row, const char *data, Size len)
{
	uint32		start = column->u.ends[row];
	uint32		end = start + (uint32) len;

	if (unlikely(end > column->maxbytes))
		grow_bytes(column, end);
	zs_copy_short(column->bytes + start, data, len);
	column->u.ends[row + 1] = end;
}

/* Copies a numeric of 6 to 16 bytes, header included, and fills up with zeros. */
static pg_attribute_always_inline void
copy_image(uint64 *image, const char *v, Size size)
{
	uint64		word;

	image[0] = image[1] = 0;
	if (likely(size >= 8))
	{
		memcpy(&word, v, 8);
		memcpy(image, &word, 8);
		memcpy(&word, v + size - 8, 8);
		memcpy((char *) image + size - 8, &word, 8);
	}
	else
		memcpy(image, v, size);
}

/*
 * Adds a value of a type that is not by value; false if it is unusual.
 */
static pg_attribute_always_inline bool
add_by_reference(ZsStageColumn *column, int row, Datum value)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);

	if (column->form == ZS_STAGE_NUMERIC)
	{
		if (unlikely(!VARATT_IS_4B_U(v) || VARSIZE_4B(v) - 6 > ZS_NUMERIC_IMAGE_SIZE - 6))
			return false;
		copy_image(column->u.images + 2 * row, (char *) v, VARSIZE_4B(v));
	}
	else if (column->form == ZS_STAGE_VARLENA)
	{
		if (unlikely(!VARATT_IS_4B_U(v) || VARSIZE_4B(v) - VARHDRSZ > ZS_OVERFLOW_THRESHOLD))
			return false;
		add_bytes(column, row, VARDATA_4B(v), VARSIZE_4B(v) - VARHDRSZ);
	}
	else if (column->form == ZS_STAGE_FIXED)
		add_bytes(column, row, DatumGetPointer(value), column->attlen);
	else
	{
		Size		len = strlen(DatumGetCString(value)) + 1;

		if (unlikely(len > ZS_OVERFLOW_THRESHOLD))
			return false;
		add_bytes(column, row, DatumGetCString(value), len);
	}
	return true;
}

static pg_attribute_always_inline void
add_null(ZsStageColumn *column, int row)
{
	column->isnull[row] = true;
	if (column->form == ZS_STAGE_INT)
		column->u.ints[row] = 0;
	else if (column->form == ZS_STAGE_NUMERIC)
		column->u.images[2 * row] = column->u.images[2 * row + 1] = 0;
	else
		column->u.ends[row + 1] = column->u.ends[row];
}

/* Begins with the rows of a new group. */
static void
begin_group(ZsRowStage *stage)
{
	stage->nrows = 0;
	stage->group++;
	stage->nfailures = stage->failed ? stage->nfailures + 1 : 0;
	stage->failed = false;
	if (!stage->ready)
		make_arrays(stage);
	/* of a wide table, few rows make a group, and most have no NULL */
	if (stage->any_null)
		memset(stage->nulls, 0, (Size) (stage->natts + 1) * stage->maxrows);
	stage->any_null = false;
}

/*
 * Adds row number row of a group; 0 begins a new group.  False if the stage
 * does not take it, which has to be kept elsewhere then.
 */
bool
zswrite_stage_add(ZsRowStage *stage, int row, const Datum *values, const bool *isnull)
{
	if (unlikely(stage->nfailures >= MAX_FAILURES))
		return false;
	if (row == 0)
		begin_group(stage);
	if (unlikely(row != stage->nrows || row >= stage->maxrows || stage->failed))
		return false;
	for (int i = 0; i < stage->natts; i++)
	{
		ZsStageColumn *column = &stage->columns[i];
		Datum		value = values[i];

		if (column->form == ZS_STAGE_DROPPED)
			continue;
		if (isnull[i])
		{
			add_null(column, row);
			stage->has_null[row] = true;
			stage->any_null = true;
		}
		else if (column->form == ZS_STAGE_INT)
			column->u.ints[row] = (int64) (value << column->shift) >> column->shift;
		else if (unlikely(!add_by_reference(column, row, value)))
		{
			stage->failed = true;
			return false;
		}
	}
	stage->nrows++;
	return true;
}

/* The number of the group whose rows the stage holds. */
uint64
zswrite_stage_group(const ZsRowStage *stage)
{
	return stage->group;
}

/* A by-reference value, palloc'd. */
static Datum
form_datum(const ZsStageColumn *column, int row)
{
	if (column->form == ZS_STAGE_NUMERIC)
	{
		const struct varlena *image = (const struct varlena *) (column->u.images + 2 * row);

		return zswrite_form_datum(-1, VARDATA_4B(image), VARSIZE_4B(image) - VARHDRSZ);
	}
	return zswrite_form_datum(column->attlen, column->bytes + column->u.ends[row],
							  column->u.ends[row + 1] - column->u.ends[row]);
}

/*
 * The values first .. natts - 1 (counted from 0) of a row that was added;
 * by-reference ones are palloc'd.
 */
void
zswrite_stage_get(const ZsRowStage *stage, uint64 group, int row, int first, int natts,
				  Datum *values, bool *isnull)
{
	if (group != stage->group || row >= stage->nrows)
		elog(ERROR, "row %d of a loader's group is gone", row);
	for (int i = first; i < natts; i++)
	{
		const ZsStageColumn *column = &stage->columns[i];

		isnull[i] = column->form == ZS_STAGE_DROPPED || column->isnull[row];
		if (isnull[i])
			values[i] = (Datum) 0;
		else if (column->form == ZS_STAGE_INT)
			values[i] = fetch_att(&column->u.ints[row], true, column->attlen);
		else
			values[i] = form_datum(column, row);
	}
}
