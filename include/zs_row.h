/*-------------------------------------------------------------------------
 *
 * zs_row.h
 *	  The row tree: whole rows that are not yet turned into columns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_row.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_ROW_H
#define ZS_ROW_H

#include "postgres.h"

#include "access/htup.h"
#include "access/htup_details.h"
#include "access/xlogreader.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_compat.h"
#include "zs_format.h"
#include "zs_kernel.h"
#include "zs_walrec.h"

struct ZsBottomAhead;

/* Row number in a row-tree item: the tuple's padding bytes, low byte first. */
static inline zstid
zsrow_item_row(const MinimalTupleData *item)
{
	uint64		row = 0;

	StaticAssertStmt(MINIMAL_TUPLE_PADDING == 6 && ZS_ROW_BITS <= 48,
					 "row number fits the padding");
#ifdef WORDS_BIGENDIAN
	for (int i = MINIMAL_TUPLE_PADDING - 1; i >= 0; i--)
		row = row << 8 | (uint8) item->mt_padding[i];
#else
	StaticAssertStmt(offsetof(MinimalTupleData, mt_padding) + sizeof(row) <=
					 SizeofMinimalTupleHeader, "eight bytes are there");
	/* one load: what lies behind the padding is taken off again */
	memcpy(&row, (const char *) item + offsetof(MinimalTupleData, mt_padding), sizeof(row));
	row &= (UINT64CONST(1) << 8 * MINIMAL_TUPLE_PADDING) - 1;
#endif
	return row;
}

/* row_leaf.c */

extern void zsrow_item_set_row(MinimalTuple item, zstid row);
extern TransactionId zsrow_item_xmin(const MinimalTupleData *item);

/* row_form.c */

extern Size zsrow_item_size(TupleDesc desc, const Datum *values, const bool *isnull,
							TransactionId xmin);
extern MinimalTuple zsrow_form_item(TupleDesc desc, const Datum *values, const bool *isnull,
									TransactionId xmin);

/* row_insert.c */

extern void zsrow_insert(Relation rel, MinimalTuple *items, int nitems, int *ndone);

/*
 * Place for one row on a leaf, for a caller that changes and logs other pages with it
 * (write_single.c).
 *
 * find: takes the leaf's lock if it is free and the row simply goes behind the leaf's last one;
 * else returns false, with nothing held.  Within a critical section: put stores the row, register
 * adds the leaf to the record in the making, as block 0, finish sets the LSN if it is valid.
 * Behind it, end unlocks the leaf.
 */
typedef struct ZsRowPlace
{
	Buffer		buf;
	OffsetNumber offset;
	MinimalTuple item;
	xl_zs_row_single xlrec;
	XLogRecPtr *lsn;			/* what is remembered of the leaf */
} ZsRowPlace;

/* row_single.c */
extern bool zsrow_place_find(Relation rel, MinimalTuple item, ZsRowPlace *place);
extern void zsrow_place_put(ZsRowPlace *place);
extern void zsrow_place_register(ZsRowPlace *place);
extern void zsrow_place_finish(ZsRowPlace *place, XLogRecPtr lsn);
extern void zsrow_place_end(ZsRowPlace *place);

/* row_fetch.c */

extern MinimalTuple zsrow_fetch(Relation rel, zstid row);

/*
 * All rows of [first, end) copied into *batch, ascending.  A batch is reused
 * from call to call; its memory belongs to the context it was created in.
 */
typedef struct ZsRowBatch
{
	int			nitems;
	MinimalTuple *items;		/* point into arena */
	/* private */
	int			maxitems;
	zstid		near_row;		/* behind the range, ... */
	BlockNumber near;			/* ... and the block that is likely to have it; 0: not known */
	char	   *arena;
	Size		arena_used;
	Size		arena_size;
	MemoryContext memory;		/* of items and arena */
} ZsRowBatch;

extern ZsRowBatch *zsrow_batch_create(MemoryContext context);
extern int	zsrow_fetch_range(Relation rel, zstid first, zstid end, ZsRowBatch *batch);
extern int	zsrow_fetch_range_ahead(Relation rel, zstid first, zstid end, ZsRowBatch *batch,
									struct ZsBottomAhead *ahead);
extern void zsrow_batch_free(ZsRowBatch *batch);
extern zstid zsrow_next(Relation rel, zstid row);

/* row_delete.c */

extern uint64 zsrow_delete_range(Relation rel, zstid first, zstid end);

/*
 * A walk over the attributes of an item as it is stored, within its bytes, whatever they are.  The
 * item's header has been checked (that of every item which this module hands out has); desc is the
 * table's.
 *
 * next: true with the next attribute that the item has and that is not null; else false, with
 * reason set if what stands at attno goes beyond the item or cannot be.
 */
typedef struct ZsRowWalk
{
	TupleDesc	desc;
	const MinimalTupleData *item;
	int			natts;			/* to look at */
	const char *data;			/* first attribute */
	uint32		len;			/* bytes from there on */
	uint32		off;			/* behind the attribute */
	AttrNumber	attno;
	const char *value;			/* its bytes */
	bool		is_pointer;		/* an overflow pointer */
	const char *reason;
} ZsRowWalk;

/* row_attrs.c */
extern void zsrow_walk_begin(ZsRowWalk *walk, TupleDesc desc, const MinimalTupleData *item);
extern bool zsrow_walk_next(ZsRowWalk *walk);

ZS_NORETURN extern void zsrow_corrupted(Relation rel, TupleDesc desc, const MinimalTupleData *item);

/* row_vector.c */

/* How far a row has been taken apart; all zero: not at all. */
typedef struct ZsRowProgress
{
	uint16		natts;			/* attributes before this one are behind */
	uint32		off;			/* where the next one's bytes, or their padding, begin */
} ZsRowProgress;

extern void zsrow_deform_on(Relation rel, TupleDesc desc, const MinimalTupleData *item,
							ZsRowProgress *progress, int natts, Datum *values, bool *isnull);

/* All attributes of desc. */
static inline void
zsrow_deform(Relation rel, TupleDesc desc, const MinimalTupleData *item, Datum *values,
			 bool *isnull)
{
	ZsRowProgress progress = {0};

	zsrow_deform_on(rel, desc, item, &progress, desc->natts, values, isnull);
}

/*
 * One attribute of the rows of a stripe, by their places in it.  A caller may add rows that are not
 * in the row tree.
 */
typedef struct ZsRowVector
{
	uint64		have[ZS_KERNEL_WORDS];	/* rows that are there */
	uint64		nulls[ZS_KERNEL_WORDS];
	uint64		odd[ZS_KERNEL_WORDS];	/* external or compressed: values[] leads to the pointer */
	uint64		values[ZS_STRIPE_ROWS];	/* datums */
} ZsRowVector;

/* Rows of a stripe that are taken apart together. */
typedef struct ZsRowVectors
{
	uint64		rows[ZS_KERNEL_WORDS];	/* which */
	/* private */
	Relation	rel;
	TupleDesc	desc;
	MemoryContext context;
	int			nfixed;			/* attributes at fixed places in rows without NULLs, ... */
	uint32	   *fixed;			/* ... and these */
	uint32		walk_from;		/* behind the last but one of these attributes */
	ZsRowVector **vectors;		/* by attribute; NULL: nobody has asked */
	int			nasked;
	AttrNumber *asked;			/* those that somebody has asked for */
	MinimalTuple items[ZS_STRIPE_ROWS];
	ZsRowProgress progress[ZS_STRIPE_ROWS];
} ZsRowVectors;

extern ZsRowVectors *zsrow_vectors_create(Relation rel, TupleDesc desc);
extern bool zsrow_vectors_start(ZsRowVectors *vectors, const ZsRowBatch *batch, zstid stripe,
								const uint64 *sel);
extern ZsRowVector *zsrow_vectors_get(ZsRowVectors *vectors, int attno, const uint64 *sel);

/* row_leaf.c */

extern const char *zsrow_leaf_check(Page page);

/* row_merge.c */

extern const char *zsrow_merge_leaves(Page left, Page right, Page image, bool *merged);

/* row_redo.c */
extern void zsrow_redo(XLogReaderState *record);
extern void zsrow_mask_page(char *page);

/* row_single.c */

extern void zsrow_single_redo(XLogReaderState *record, zstid row);

#endif							/* ZS_ROW_H */
