/*-------------------------------------------------------------------------
 *
 * write_logical.c
 *	  Row images in the WAL, for logical decoding.
 *
 * With wal_level = logical each change of a row writes an XLOG_ZS_LOGICAL record beside the records
 * that change pages.  It is written when the change is made, not when the write buffer is, so that
 * changes of all tables, heaps included, are decoded in the order in which they happened.  It
 * refers to no page, replay ignores it, and it counts only if the commit record follows: a crash
 * between it and the rest leaves nothing.
 *
 * The images are tuples in heap's form, since these are what the reorder buffer and output plugins
 * take.  What goes in follows heap: of a new row everything; of an old row what the table's replica
 * identity says, and the key only if the update changes it.  Large values that the new row shares
 * with the old one (write_keep.c) are left out of it as heap leaves TOASTed values out: an external
 * varlena stands for them, which output plugins know as unchanged.  They are not left out of the
 * replica identity, nor when that changes and the old row is not logged whole.
 *
 * Two things differ.  There is no TOAST table, so all other values stand in the image.  And a
 * speculative insertion is logged when it is confirmed, so decoding never hears of one that is not.
 *
 * Rows of one multi_insert share records of some LOGICAL_BATCH_SIZE bytes.  Where a loader's rows
 * are in a stage (write_stage.c) the tuples are formed from there.  Images that are large enough
 * for it are compressed, unless the table's option says that nothing is to be.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_logical.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "access/xloginsert.h"
#include "access/xlogrecord.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "write_internal.h"
#include "zs_walrec.h"

/* A record of inserted rows is written when its images are this large. */
#define LOGICAL_BATCH_SIZE	(64 * 1024)

/* Images below this size are not worth compressing. */
#define LOGICAL_COMPRESS_SIZE	1024

/*
 * LZ4's acceleration: it takes two thirds of the time of 1 for 3 % more bytes (store_sales).  The
 * images are written in addition to the columns, by whoever loads; with more acceleration, or none
 * compressed, a load of many sessions takes fewer instructions but waits longer for the WAL.
 */
#define LOGICAL_ACCELERATION	4

/* The most that the images of one record may take: the record's own limit, less its headers. */
#define LOGICAL_MAX_SIZE	((Size) XLogRecordMaxSize - 1024 * 1024)

/* What forming a tuple has to know of a column. */
typedef struct ImageColumn
{
	int16		len;			/* attlen */
	bool		byval;
	bool		packable;		/* varlenas may get short headers */
	uint8		alignby;
} ImageColumn;

/* Images of one record, one behind the other. */
typedef struct RowImages
{
	Relation	rel;
	MemoryContext context;		/* all of the below */
	Datum	   *values;			/* of the row in work, or the slot's own */
	bool	   *isnull;
	Datum	   *own_values;		/* room for a row that is not as in the slot */
	bool	   *own_isnull;
	ImageColumn *columns;
	Size		fixed_bound;	/* upper bound of what columns of fixed length take */
	bool		has_dropped;	/* the table has dropped columns */
	bool		has_cstrings;
	int			nvarlenas;		/* columns that may have values elsewhere, from 0 */
	int		   *varlenas;
	char	   *tuple;			/* a tuple behind its fixed header is formed here, aligned as in
								 * a page */
	Size		tuple_size;
	char	   *data;
	Size		len;
	Size		size;			/* allocated */
	int			nrows;
} RowImages;

static void
images_begin(RowImages *images, Relation rel)
{
	int			natts = Max(RelationGetNumberOfAttributes(rel), 1);

	images->rel = rel;
	images->context = AllocSetContextCreate(CurrentMemoryContext, "zedstore row images",
											ALLOCSET_DEFAULT_SIZES);
	images->own_values = MemoryContextAlloc(images->context, natts * sizeof(Datum));
	images->own_isnull = MemoryContextAlloc(images->context, natts * sizeof(bool));
	images->varlenas = MemoryContextAlloc(images->context, natts * sizeof(int));
	images->columns = MemoryContextAlloc(images->context, natts * sizeof(ImageColumn));
	images->fixed_bound = 0;
	images->has_dropped = false;
	images->has_cstrings = false;
	images->nvarlenas = 0;
	for (int i = 0; i < RelationGetNumberOfAttributes(rel); i++)
	{
		Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), i);

		images->columns[i].len = att->attlen;
		images->columns[i].byval = att->attbyval;
		images->columns[i].packable = att->attstorage != TYPSTORAGE_PLAIN;
		images->columns[i].alignby = (uint8) att_align_nominal(1, att->attalign);
		if (att->attisdropped)
			images->has_dropped = true;
		else if (att->attlen == -1)
			images->varlenas[images->nvarlenas++] = i;
		else if (att->attlen == -2)
			images->has_cstrings = true;
		else
			images->fixed_bound += att->attlen + MAXIMUM_ALIGNOF;
	}
	images->tuple = NULL;
	images->tuple_size = 0;
	images->data = NULL;
	images->len = images->size = 0;
	images->nrows = 0;
}

static void
images_end(RowImages *images)
{
	MemoryContextDelete(images->context);
}

/* Makes room for len more bytes. */
static char *
images_reserve(RowImages *images, Size len)
{
	Size		needed = images->len + len;

	if (needed > LOGICAL_MAX_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of table \"%s\" is too large to be logged for logical decoding",
						RelationGetRelationName(images->rel)),
				 errdetail("The row takes %zu bytes in the WAL, the maximum is %zu.",
						   needed, LOGICAL_MAX_SIZE)));
	if (needed > images->size)
	{
		/* one large row is exact, many small ones double */
		Size		size = Max(needed, Min(images->size * 2, 2 * LOGICAL_BATCH_SIZE));

		if (images->data == NULL)
			images->data = MemoryContextAlloc(images->context, size);
		else
			images->data = repalloc(images->data, size);
		images->size = size;
	}
	return images->data + images->len;
}

/*
 * Does column attno (from 1) belong into the image?  attrs as RelationGetIndexAttrBitmap() returns
 * it, NULL for all.
 */
static inline bool
wanted_column(TupleDesc desc, AttrNumber attno, const Bitmapset *attrs)
{
	return !TupleDescAttr(desc, attno - 1)->attisdropped &&
		(attrs == NULL || bms_is_member(attno - FirstLowInvalidHeapAttributeNumber, attrs));
}

/* Does a value of the slot's row stand elsewhere? */
static bool
has_external(const RowImages *images, TupleTableSlot *slot)
{
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!slot->tts_isnull[column] &&
			VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[column])))
			return true;
	}
	return false;
}

/*
 * Makes the slot's row the one in work: columns that are not wanted become NULL, and values
 * that stand elsewhere (overflow pages, TOAST tables of other tables, expanded objects) are
 * fetched.  Values that are compressed where they are stay so, output plugins know them.
 * With copy the row does not share the slot's arrays, even if it is the same.
 */
static void
load_row(RowImages *images, TupleTableSlot *slot, const Bitmapset *attrs, bool copy)
{
	TupleDesc	desc = RelationGetDescr(images->rel);

	if (attrs == NULL)
		slot_getallattrs(slot);
	if (attrs == NULL && !copy && !images->has_dropped && slot->tts_nvalid >= desc->natts &&
		!has_external(images, slot))
	{
		images->values = slot->tts_values;
		images->isnull = slot->tts_isnull;
		return;
	}

	images->values = images->own_values;
	images->isnull = images->own_isnull;
	for (int i = 0; i < desc->natts; i++)
	{
		struct varlena *v;

		images->isnull[i] = true;
		images->values[i] = (Datum) 0;
		if (!wanted_column(desc, i + 1, attrs))
			continue;
		images->values[i] = slot_getattr(slot, i + 1, &images->isnull[i]);
		if (images->isnull[i] || TupleDescAttr(desc, i)->attlen != -1)
			continue;
		v = (struct varlena *) DatumGetPointer(images->values[i]);
		if (VARATT_IS_EXTERNAL(v))
			images->values[i] = PointerGetDatum(detoast_external_attr(v));
	}
}

/*
 * Puts pointers in the place of values that the old row has, too, but for columns of identity.
 * Nobody follows them.
 */
static void
leave_kept_out(RowImages *images, TupleTableSlot *slot, const ZsKeptValues *kept,
			   const Bitmapset *identity)
{
	for (int i = 0; i < kept->n; i++)
	{
		int			column = kept->values[i].attno - 1;

		if (bms_is_member(column + 1 - FirstLowInvalidHeapAttributeNumber, identity))
			continue;
		if (images->values[column] != slot->tts_values[column])
			pfree(DatumGetPointer(images->values[column]));
		images->values[column] = zswrite_pointer_datum(&kept->values[i].pointer);
	}
}

/* Frees what load_row() fetched. */
static void
unload_row(RowImages *images, TupleTableSlot *slot)
{
	if (images->values == slot->tts_values)
		return;
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!images->isnull[column] && images->values[column] != slot->tts_values[column])
			pfree(DatumGetPointer(images->values[column]));
	}
}

#ifdef USE_ASSERT_CHECKING
/* Is what form_tuple() made as core would have made it? */
static bool
form_tuple_is_right(RowImages *images, const xl_zs_logical_row *header)
{
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(images->rel), images->values,
										images->isnull);
	bool		result = header->len == tuple->t_len - SizeofHeapTupleHeader &&
		header->infomask2 == tuple->t_data->t_infomask2 &&
		header->infomask == tuple->t_data->t_infomask &&
		header->hoff == tuple->t_data->t_hoff &&
		memcmp(images->tuple + SizeofHeapTupleHeader,
			   (char *) tuple->t_data + SizeofHeapTupleHeader, header->len) == 0;

	heap_freetuple(tuple);
	return result;
}
#endif

/* Zeroes up to the next multiple of alignby.  There is room for MAXIMUM_ALIGNOF bytes. */
static inline char *
pad_to(char *to, int alignby)
{
	memset(to, 0, MAXIMUM_ALIGNOF);
	return (char *) TYPEALIGN(alignby, to);
}

/*
 * Puts the header of a varlena of len bytes that is not compressed, and returns where the bytes go.
 */
static inline char *
put_varlena_header(char *to, const ImageColumn *column, Size len)
{
	if (column->packable && len + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		SET_VARSIZE_SHORT(to, len + VARHDRSZ_SHORT);
		return to + VARHDRSZ_SHORT;
	}
	to = pad_to(to, column->alignby);
	SET_VARSIZE(to, len + VARHDRSZ);
	return to + VARHDRSZ;
}

/* Puts a varlena where a tuple has it; returns the end. */
static inline char *
put_varlena(char *to, const ImageColumn *column, struct varlena *v, uint16 *infomask)
{
	Size		len;

	if (VARATT_IS_4B_U(v))
	{
		len = VARSIZE_4B(v) - VARHDRSZ;
		to = put_varlena_header(to, column, len);
		memcpy(to, VARDATA_4B(v), len);
		return to + len;
	}
	len = VARSIZE_ANY(v);
	if (VARATT_IS_EXTERNAL(v))
	{
		/* one that was left out; no alignment, and nobody follows it */
		*infomask |= HEAP_HASEXTERNAL;
	}
	else if (!VARATT_IS_SHORT(v))
		to = pad_to(to, column->alignby);
	memcpy(to, v, len);
	return to + len;
}

/* An upper bound of what the values of the row in work take in a tuple. */
static Size
bound_values(const RowImages *images)
{
	TupleDesc	desc = RelationGetDescr(images->rel);
	Size		bound = images->fixed_bound;

	/* strings of C are no columns of tables that people make */
	if (images->has_cstrings)
		return heap_compute_data_size(desc, images->values, images->isnull) + MAXIMUM_ALIGNOF;
	for (int i = 0; i < images->nvarlenas; i++)
	{
		int			column = images->varlenas[i];

		if (!images->isnull[column])
			bound += VARSIZE_ANY(DatumGetPointer(images->values[column])) + MAXIMUM_ALIGNOF;
	}
	return bound;
}

/*
 * Begins a tuple in images->tuple, without the fixed part of its header.  bound: of what the values
 * take.  Returns where the first of them goes.
 */
static char *
begin_tuple(RowImages *images, xl_zs_logical_row *header, bool has_null, Size bound)
{
	int			natts = RelationGetNumberOfAttributes(images->rel);
	int			hoff = MAXALIGN(SizeofHeapTupleHeader + (has_null ? BITMAPLEN(natts) : 0));

	bound += hoff - SizeofHeapTupleHeader;

	/*
	 * refuses a row that is too large before memory for it is asked for, which might fail less
	 * clearly
	 */
	(void) images_reserve(images, SizeOfZsLogicalRow + bound);

	/* the fixed header's place is kept, for the alignment of what follows */
	if (SizeofHeapTupleHeader + bound > images->tuple_size)
	{
		if (images->tuple != NULL)
			pfree(images->tuple);
		images->tuple_size = TYPEALIGN(1024, SizeofHeapTupleHeader + bound);
		images->tuple = palloc(images->tuple_size);
	}
	memset(images->tuple + SizeofHeapTupleHeader, 0, hoff - SizeofHeapTupleHeader);
	header->infomask2 = (uint16) natts;
	header->infomask = has_null ? HEAP_HASNULL : 0;
	header->hoff = (uint8) hoff;
	return images->tuple + hoff;
}

/*
 * Forms the row in work as a tuple; fills the image's header.
 *
 * What comes out is heap_form_tuple()'s (form_tuple_is_right()); but that takes three calls for
 * each value, and a load with wal_level = logical would spend an eighth of its time there.
 */
static void
form_tuple(RowImages *images, xl_zs_logical_row *header)
{
	int			natts = RelationGetNumberOfAttributes(images->rel);
	bool		has_null = memchr(images->isnull, true, natts) != NULL;
	char	   *to = begin_tuple(images, header, has_null, bound_values(images));
	bits8	   *bits = (bits8 *) images->tuple + SizeofHeapTupleHeader;

	for (int i = 0; i < natts; i++)
	{
		const ImageColumn *column = &images->columns[i];
		Datum		value = images->values[i];

		if (images->isnull[i])
			continue;
		if (has_null)
			bits[i >> 3] |= 1 << (i & 7);
		if (column->byval)
		{
			to = pad_to(to, column->alignby);
			store_att_byval(to, value, column->len);
			to += column->len;
		}
		else if (column->len == -1)
		{
			header->infomask |= HEAP_HASVARWIDTH;
			to = put_varlena(to, column, (struct varlena *) DatumGetPointer(value),
							 &header->infomask);
		}
		else
		{
			Size		len = column->len > 0 ? column->len : strlen(DatumGetCString(value)) + 1;

			if (column->len < 0)
				header->infomask |= HEAP_HASVARWIDTH;
			to = pad_to(to, column->alignby);
			memcpy(to, DatumGetPointer(value), len);
			to += len;
		}
	}
	header->len = (uint32) (to - images->tuple - SizeofHeapTupleHeader);
	Assert(form_tuple_is_right(images, header));
}

/* An upper bound of what the values of row number row of the stage take. */
static Size
bound_staged(const RowImages *images, const ZsRowStage *stage, int row)
{
	Size		bound = images->fixed_bound +
		(Size) images->nvarlenas * (ZS_NUMERIC_IMAGE_SIZE + MAXIMUM_ALIGNOF);

	for (int i = 0; i < stage->nbytes; i++)
	{
		const ZsStageColumn *column = &stage->columns[stage->bytes[i]];

		bound += column->u.ends[row + 1] - column->u.ends[row] + VARHDRSZ + MAXIMUM_ALIGNOF;
	}
	return bound;
}

/* Puts the value that the stage has at row; returns the end. */
static inline char *
put_staged(char *to, const ImageColumn *column, const ZsStageColumn *from, int row)
{
	const char *bytes;
	Size		len;

	if (from->form == ZS_STAGE_INT)
	{
		to = pad_to(to, column->alignby);
		store_att_byval(to, (Datum) from->u.ints[row], column->len);
		return to + column->len;
	}
	if (from->form == ZS_STAGE_NUMERIC)
	{
		/* all of the image at once: there is room, and what is too much is written over */
		bytes = (const char *) (from->u.images + 2 * row);
		len = VARSIZE_4B(bytes) - VARHDRSZ;
		to = put_varlena_header(to, column, len);
		memcpy(to, bytes + VARHDRSZ, ZS_NUMERIC_IMAGE_SIZE - VARHDRSZ);
		return to + len;
	}
	bytes = from->bytes + from->u.ends[row];
	len = from->u.ends[row + 1] - from->u.ends[row];
	if (from->form == ZS_STAGE_VARLENA)
		to = put_varlena_header(to, column, len);
	else
		to = pad_to(to, column->alignby);
	memcpy(to, bytes, len);
	return to + len;
}

#ifdef USE_ASSERT_CHECKING
/* Is the tuple what the values of the stage's row give? */
static bool
form_staged_is_right(RowImages *images, const ZsRowStage *stage, int row,
					 const xl_zs_logical_row *header)
{
	images->values = images->own_values;
	images->isnull = images->own_isnull;
	zswrite_stage_get(stage, stage->group, row, 0, stage->natts, images->values, images->isnull);
	return form_tuple_is_right(images, header);
}
#endif

/* The same as form_tuple() of a row of a stage. */
static void
form_staged(RowImages *images, const ZsRowStage *stage, int row, xl_zs_logical_row *header)
{
	bool		has_null = images->has_dropped || stage->has_null[row];
	char	   *to = begin_tuple(images, header, has_null, bound_staged(images, stage, row));
	bits8	   *bits = (bits8 *) images->tuple + SizeofHeapTupleHeader;

	for (int i = 0; i < stage->natts; i++)
	{
		const ZsStageColumn *from = &stage->columns[i];

		if (from->form == ZS_STAGE_DROPPED || from->isnull[row])
			continue;
		if (has_null)
			bits[i >> 3] |= 1 << (i & 7);
		if (images->columns[i].len < 0)
			header->infomask |= HEAP_HASVARWIDTH;
		to = put_staged(to, &images->columns[i], from, row);
	}
	header->len = (uint32) (to - images->tuple - SizeofHeapTupleHeader);
	Assert(form_staged_is_right(images, stage, row, header));
}

/* Adds the tuple that was formed to the images. */
static void
append_tuple(RowImages *images, const xl_zs_logical_row *header)
{
	char	   *dst = images_reserve(images, SizeOfZsLogicalRow + header->len);

	memcpy(dst, header, SizeOfZsLogicalRow);
	memcpy(dst + SizeOfZsLogicalRow, images->tuple + SizeofHeapTupleHeader, header->len);
	images->len += SizeOfZsLogicalRow + header->len;
	images->nrows++;
}

/*
 * Appends the image of the slot's row; of the columns in attrs if that is not NULL.  kept (or
 * NULL): values that may be left out, but for the columns of identity.
 */
static void
append_image(RowImages *images, TupleTableSlot *slot, const Bitmapset *attrs,
			 const ZsKeptValues *kept, const Bitmapset *identity)
{
	MemoryContext old = MemoryContextSwitchTo(images->context);
	xl_zs_logical_row header;

	load_row(images, slot, attrs, kept != NULL);
	if (kept != NULL)
		leave_kept_out(images, slot, kept, identity);
	form_tuple(images, &header);
	unload_row(images, slot);
	append_tuple(images, &header);
	MemoryContextSwitchTo(old);
}

/* Appends the image of a row of the stage. */
static void
append_staged_image(RowImages *images, const ZsRowStage *stage, int row)
{
	MemoryContext old = MemoryContextSwitchTo(images->context);
	xl_zs_logical_row header;

	form_staged(images, stage, row, &header);
	append_tuple(images, &header);
	MemoryContextSwitchTo(old);
}

/*
 * Compresses the images if that saves something worth mentioning: returns what
 * to log instead, and its size.
 */
static char *
compress_images(RowImages *images, Size *len)
{
	ZsTableOptions options;
	Size		limit = images->len - images->len / 8;
	char	   *packed;
	int			result;

	if (images->len < LOGICAL_COMPRESS_SIZE)
		return NULL;
	zsbase_table_options(images->rel, &options);
	if (options.compression == ZS_COMPRESSION_NONE)
		return NULL;
	packed = MemoryContextAlloc(images->context, limit);
	result = LZ4_compress_fast(images->data, packed, (int) images->len, (int) limit,
							   LOGICAL_ACCELERATION);
	if (result <= 0)
	{
		pfree(packed);
		return NULL;
	}
	*len = result;
	return packed;
}

/* Logs the images, and forgets them. */
static void
write_record(RowImages *images, uint8 op, uint8 flags)
{
	xl_zs_logical xlrec = {0};
	Size		len = images->len;
	char	   *packed;

	/* COPY FREEZE needs no transaction id for its rows, but decoding does */
	(void) GetCurrentTransactionId();

	packed = compress_images(images, &len);
	xlrec.locator = images->rel->rd_locator;
	xlrec.raw_len = (uint32) images->len;
	xlrec.nrows = (uint16) images->nrows;
	xlrec.op = op;
	xlrec.flags = flags;
	if (packed != NULL)
		xlrec.flags |= ZS_LOGICALF_LZ4;

	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsLogical);
	if (len > 0)
		XLogRegisterData(packed != NULL ? packed : images->data, (uint32) len);
	/* output plugins skip what came from other nodes, row by row */
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	(void) XLogInsert(ZS_RMGR_ID, XLOG_ZS_LOGICAL);

	if (packed != NULL)
		pfree(packed);
	images->len = 0;
	images->nrows = 0;
}

/*
 * Logs inserted rows unless that is not asked for (wal_level, kind of table,
 * options).  The first nstaged are the first rows of the stage, too.
 */
void
zswrite_log_insert(Relation rel, TupleTableSlot **slots, int nslots, const ZsRowStage *stage,
				   int nstaged, int options)
{
	RowImages	images;

	if (likely(!RelationIsLogicallyLogged(rel)) || (options & TABLE_INSERT_NO_LOGICAL))
		return;
	images_begin(&images, rel);
	for (int i = 0; i < nslots; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i < nstaged)
			append_staged_image(&images, stage, i);
		else
			append_image(&images, slots[i], NULL, NULL, NULL);
		if (i == nslots - 1 || images.len >= LOGICAL_BATCH_SIZE || images.nrows == PG_UINT16_MAX)
			write_record(&images, ZS_LOGICAL_INSERT, 0);
	}
	images_end(&images);
}

/*
 * Appends what the replica identity says of the old row: flag of what it was, or 0.
 */
static uint8
append_identity(RowImages *images, TupleTableSlot *oldslot, bool key_required)
{
	Relation	rel = images->rel;
	Bitmapset  *key;

	if (rel->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		return 0;
	if (rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
	{
		append_image(images, oldslot, NULL, NULL, NULL);
		return ZS_LOGICALF_OLD_ROW;
	}
	if (!key_required)
		return 0;
	key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
	if (bms_is_empty(key))
		return 0;
	append_image(images, oldslot, key, NULL, NULL);
	bms_free(key);
	return ZS_LOGICALF_OLD_KEY;
}

/*
 * Log an update or delete of a table for which RelationIsLogicallyLogged() is
 * true.  oldslot: the old row, of which at least the replica identity must be
 * readable; NULL if the table has none. key_changed: the update changes a
 * column of the replica identity.  kept: values that the new row shares with
 * the old one, which are left out where heap leaves out unchanged TOASTed
 * values.
 */
void
zswrite_log_update(Relation rel, TupleTableSlot *oldslot, TupleTableSlot *newslot,
				   bool key_changed, const ZsKeptValues *kept)
{
	bool		full = rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	Bitmapset  *identity = NULL;
	RowImages	images;
	uint8		flags = 0;

	Assert(RelationIsLogicallyLogged(rel));
	if (kept->n == 0 || (key_changed && !full))
		kept = NULL;
	else if (!full)
		identity = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
	images_begin(&images, rel);
	append_image(&images, newslot, NULL, kept, identity);
	bms_free(identity);
	if (oldslot != NULL)
		flags = append_identity(&images, oldslot, key_changed);
	write_record(&images, ZS_LOGICAL_UPDATE, flags);
	images_end(&images);
}

/* Logs a delete of such a table; oldslot as for zswrite_log_update(). */
void
zswrite_log_delete(Relation rel, TupleTableSlot *oldslot)
{
	RowImages	images;
	uint8		flags = 0;

	Assert(RelationIsLogicallyLogged(rel));
	images_begin(&images, rel);
	if (oldslot != NULL)
		flags = append_identity(&images, oldslot, true);
	write_record(&images, ZS_LOGICAL_DELETE, flags);
	images_end(&images);
}

/*
 * Error if the table has the storage parameter user_catalog_table.  Decoding reads catalog tables
 * as they were, by what heap logs for them; and output plugins read them with a snapshot that the
 * TID tree does not know.
 */
void
zswrite_refuse_catalog(Relation rel)
{
	if (unlikely(RelationIsUsedAsCatalogTable(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("zedstore table \"%s\" cannot be a catalog table for logical decoding",
						RelationGetRelationName(rel)),
				 errhint("Reset its storage parameter \"user_catalog_table\", or use a heap table.")));
}
