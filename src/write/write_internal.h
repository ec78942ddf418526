/*-------------------------------------------------------------------------
 *
 * write_internal.h
 *	  Private to src/write.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef WRITE_INTERNAL_H
#define WRITE_INTERNAL_H

#include "postgres.h"

#include "access/htup.h"
#include "executor/tuptable.h"
#include "lib/ilist.h"
#include "utils/rel.h"

#include "zs_attr.h"
#include "zs_base.h"
#include "zs_row.h"
#include "zs_write.h"

/*
 * Rows of a full column part, if the write buffer has memory for them: what one call writes.  A
 * share of them waits for the next one where that leaves less of the pages empty.
 */
#define ZSWRITE_PART_ROWS	ZS_ATTR_WRITE_ROWS

/* Values of one column, row after row; the form that the codec takes. */
typedef struct ZsWriteColumn
{
	ZsAttrKind	kind;
	int16		attlen;
	bool		dropped;
	bool		any_null;
	bool		any_ext;
	uint8	   *isnull;			/* one byte a row */
	uint8	   *isext;			/* NULL until the first overflow value */
	bool		as_ints;		/* values are in ints: by-value types, and numerics as long as
								 * all have one scale and fit (zscodec_numeric_to_int()) */
	int			scale;			/* of these numerics; -1 = none yet */
	int64	   *ints;
	uint8	   *bytes;			/* others */
	uint64	   *offsets;		/* maxrows + 1 */
	Size		nbytes;			/* numerics as integers: about what they would take */
	Size		maxbytes;
	uint32		stripe_bytes;	/* what a stripe took in the last segment; 0 = none yet */
	ZsColumnChoice choice;		/* what it was written by */
	Size		choice_size;	/* memory of the choice that is accounted for */
} ZsWriteColumn;

/* Rows in a buffer that one (sub)transaction wrote, those of its children that ended included. */
typedef struct ZsSubxactRows
{
	SubTransactionId subid;
	uint64		nrows;
} ZsSubxactRows;

struct ZsItemSet;

/* Row numbers within the column part that are not rows of the part. */
typedef struct ZsWriteGap
{
	zstid		first;
	uint32		count;
} ZsWriteGap;

/* A buffered row's pointer to a value that it shares, which does not count it yet. */
typedef struct ZsKeptPointer
{
	zstid		row;
	AttrNumber	attno;
	ZsOverflowPointer pointer;
} ZsKeptPointer;

/* Row numbers that are reserved and not used yet: [next, end). */
typedef struct ZsReserved
{
	zstid		next;
	zstid		end;
	bool		owned;			/* in stripes of our own */
	uint32		step;			/* size of the last reservation of the kind in this command */
} ZsReserved;

/*
 * Rows of one table that this transaction inserted and that are not written
 * yet.  Two parts: columns of rows in stripes of our own, and whole rows for
 * the row tree.
 */
typedef struct ZsWriteBuffer
{
	Oid			relid;			/* hash key */
	RelFileLocator locator;
	MemoryContext context;		/* all of the below */
	int			natts;
	int			ncolumns;		/* natts, or one more: the last is xmin then */
	bool		write_through;	/* rows must be written before the index entries
								 * for them are made */

	/* column part: rows [first, first + nrows), but the last ones may have no numbers yet */
	ZsWriteColumn *columns;
	zstid		first;
	uint32		nrows;
	uint32		nunnumbered;	/* all are of one command then; see write_reserve.c */
	uint32		maxrows;
	bool		appending;		/* rows, or an error came then: columns may have more of them */
	bool		long_load;		/* a full part was written before */
	ZsWriteGap *gaps;			/* ascending */
	int			ngaps;
	int			maxgaps;
	ZsAttrLinks *links;			/* segments of the first nlinks rows, written but perhaps not all
								 * linked; or NULL */
	uint32		nlinks;

	/* row part */
	MinimalTuple *items;
	int			nitems;
	int			maxitems;
	int			nwritten;		/* the first ones that an interrupted write left in
								 * the row tree */
	struct ZsItemSet *item_set; /* see zswrite_has_item(); or NULL */
	int			nset;			/* items that are in it: the first ones */
	ZsKeptPointer *kept;		/* what they share */
	int			nkept;
	int			maxkept;

	Size		bytes;			/* memory of both parts */

	/* reserved row numbers */
	ZsReserved	reserved;
	ZsReserved	aside;			/* of the other kind, where rows of both follow each other */
	uint32		rows_only;		/* rows of the command that still go into the row tree */
	uint32		nwide;			/* wide ones among them */
	TransactionId xid;
	CommandId	cid;

	/* reserved as frozen since the last flush: all within this range */
	zstid		frozen_first;
	zstid		frozen_end;

	/* who wrote what is here */
	bool		any_aborted;	/* some rows are of a subtransaction that was
								 * rolled back */
	uint64		nlive;			/* rows of others */
	ZsSubxactRows *subxacts;	/* those that run, parents first; only who wrote some */
	int			nsubxacts;
	int			maxsubxacts;

	dlist_node	live;			/* among the buffers that have a context */
} ZsWriteBuffer;

/* Are row numbers reserved? */
static inline bool
zswrite_has_reserved(const ZsWriteBuffer *buf)
{
	return buf->reserved.next < buf->reserved.end || buf->aside.next < buf->aside.end;
}

/* The attribute that column i of the part is, from 0. */
static inline AttrNumber
zswrite_column_attno(const ZsWriteBuffer *buf, int i)
{
	return i < buf->natts ? (AttrNumber) (i + 1) : ZS_XMIN_ATTNO;
}

/* How a stage holds the values of a column. */
typedef enum ZsStageForm
{
	ZS_STAGE_INVALID = 0,
	ZS_STAGE_INT,				/* by value: integers, 0 at null rows */
	ZS_STAGE_NUMERIC,			/* images, see zscodec_numerics_to_ints(); all zero at null rows */
	ZS_STAGE_VARLENA,			/* bytes without header */
	ZS_STAGE_CSTRING,			/* bytes with the zero */
	ZS_STAGE_FIXED,				/* bytes */
	ZS_STAGE_DROPPED
} ZsStageForm;

/* What is looked at for each value stands in front, few columns to a cache line. */
typedef struct ZsStageColumn
{
	union
	{
		int64	   *ints;
		uint64	   *images;		/* two words a row */
		uint32	   *ends;		/* bytes of row i: bytes[ends[i] .. ends[i + 1]) */
	}			u;
	uint8		form;			/* ZsStageForm */
	uint8		shift;			/* INT: bits that a datum has too many */
	int16		attlen;
	uint32		maxbytes;
	char	   *bytes;
	uint8	   *isnull;			/* one byte a row */
} ZsStageColumn;

/* Rows of a loader's slots as columns: write_stage.c. */
struct ZsRowStage
{
	MemoryContext context;		/* all of it */
	int			nusers;
	bool		ready;			/* the arrays are there */
	bool		failed;			/* a row of this group was unusual */
	bool		any_null;		/* something is set in nulls */
	int			nfailures;		/* groups in a row that had one */
	uint64		group;			/* number of the group whose rows are here */
	int			nrows;
	int			maxrows;
	int			natts;
	int			nbytes;			/* columns whose values are bytes, from 0 */
	int16	   *bytes;
	uint8	   *nulls;			/* isnull of all columns, natts times maxrows, and has_null */
	uint8	   *has_null;		/* one byte a row */
	ZsStageColumn columns[FLEXIBLE_ARRAY_MEMBER];
};

/* ---- write_buffer.c: the buffers of this transaction ---- */

/*
 * All buffers have been written for the commit: a callback that inserts now writes its rows at
 * once.
 */
extern bool zswrite_committing;

extern ZsWriteBuffer *zswrite_buffer(Relation rel);
extern void zswrite_buffer_check_limit(Relation rel, ZsWriteBuffer *buf);
extern bool zswrite_buffer_make_room(ZsWriteBuffer *buf);
extern void zswrite_count_rows(ZsWriteBuffer *buf, int64 nrows);
extern bool zswrite_command_has_rows(Relation rel, TransactionId xid, CommandId cid);

/* ---- write_command.c: the command that wrote a row by itself last ---- */

extern bool zswrite_command_wrote_single(Relation rel, TransactionId xid, CommandId cid);
extern void zswrite_command_remember(Relation rel, TransactionId xid, CommandId cid);
extern void zswrite_command_forget(void);

/* ---- write_single.c: one row at a time ---- */

extern MinimalTuple zswrite_form_simple_item(Relation rel, TupleTableSlot *slot,
											 TransactionId xmin);
extern zstid zswrite_insert_item(Relation rel, MinimalTuple item, TransactionId xid,
								 CommandId cid, uint32 token);
extern bool zswrite_insert_single(Relation rel, TupleTableSlot *slot, TransactionId xid,
								  CommandId cid);
extern bool zswrite_update_single(Relation rel, zstid oldrow, TupleTableSlot *slot,
								  CommandId cid, Snapshot crosscheck, bool wait,
								  LockTupleMode lockmode, ZsKeptValues *kept,
								  TM_FailureData *tmfd, TM_Result *result);

/* ---- write_keep.c: values that an UPDATE leaves as they are ---- */

extern void zswrite_keep_find(ZsKeptValues *kept, Relation rel, TupleTableSlot *slot);
extern void zswrite_keep_pin(ZsKeptValues *kept, Relation rel);
extern void zswrite_keep_unpin(ZsKeptValues *kept);
extern void zswrite_keep_share(const ZsKeptValues *kept, Relation rel);
extern void zswrite_keep_unshare(const ZsKeptValues *kept, Relation rel);
extern void zswrite_keep_remember(ZsWriteBuffer *buf, zstid row, const ZsKeptValues *kept);
extern void zswrite_keep_forget(ZsWriteBuffer *buf, zstid row);
extern void zswrite_keep_share_buffered(Relation rel, ZsWriteBuffer *buf);

/* ---- write_catalog.c: what the catalog says ---- */

extern bool zswrite_has_exclusion_constraint(Relation rel);

/* ---- write_memory.c: memory of all buffers ---- */

extern void zswrite_account(ZsWriteBuffer *buf, int64 delta);
extern bool zswrite_memory_allows(Size more);
extern void zswrite_memory_forget(void);
extern void *zswrite_grow(ZsWriteBuffer *buf, void *old, Size old_size, Size new_size);

/* ---- write_columns.c: memory of the column part ---- */

extern void zswrite_init_columns(Relation rel, ZsWriteBuffer *buf);
extern void zswrite_grow_rows(ZsWriteBuffer *buf);
extern void zswrite_trim_columns(ZsWriteBuffer *buf);
extern bool zswrite_columns_accept(Relation rel, const ZsWriteBuffer *buf, zstid row);
extern bool zswrite_columns_full(const ZsWriteBuffer *buf);
extern void zswrite_columns_pop(ZsWriteBuffer *buf);
extern void zswrite_columns_drop(ZsWriteBuffer *buf, uint32 n);
extern void zswrite_columns_free(ZsWriteBuffer *buf);

/* ---- write_sort.c: the table's order ---- */

extern bool zswrite_is_sorted_table(Relation rel);
extern void zswrite_sort_columns(Relation rel, ZsWriteBuffer *buf);

/* ---- write_form.c: items, formed from values ---- */

extern Datum zswrite_pointer_datum(const ZsOverflowPointer *pointer);
extern Datum zswrite_form_datum(int16 attlen, const void *data, Size len);
extern bool zswrite_fits_item(Relation rel, TupleTableSlot *slot);
extern bool zswrite_is_wide(Relation rel, TupleTableSlot *slot);
extern MinimalTuple zswrite_form_values(Relation rel, MemoryContext context, Datum *values,
										const bool *isnull, TransactionId xmin, bool push_out);
extern MinimalTuple zswrite_form_item(Relation rel, MemoryContext context, TupleTableSlot *slot,
									  TransactionId xmin, const ZsKeptValues *kept, bool push_out);

/* ---- write_items.c: the row part ---- */

extern bool zswrite_row_may_live(Relation rel, const ZsWriteBuffer *buf, zstid row);
extern void zswrite_append_item(ZsWriteBuffer *buf, zstid row, MinimalTuple item);
extern bool zswrite_has_item(ZsWriteBuffer *buf, zstid row);
extern void zswrite_items_drop_last(ZsWriteBuffer *buf, int nitems);
extern void zswrite_write_items(Relation rel, ZsWriteBuffer *buf);

/* ---- write_parts.c: both parts, and what they become ---- */

extern void zswrite_parts_init(Relation rel, ZsWriteBuffer *buf);
extern void zswrite_pop(ZsWriteBuffer *buf, zstid row);
extern void zswrite_write_columns(Relation rel, ZsWriteBuffer *buf, bool full);
extern void zswrite_resume_columns(Relation rel, ZsWriteBuffer *buf);

/* ---- write_append.c: rows into the column part ---- */

extern int	zswrite_append_columns(Relation rel, ZsWriteBuffer *buf, zstid row,
								   TupleTableSlot **slots, int nslots, TransactionId xmin);
extern int	zswrite_append_staged(Relation rel, ZsWriteBuffer *buf, zstid row,
								  const ZsRowStage *stage, int start, int n,
								  TransactionId xmin);

/* ---- write_reserve.c: row numbers ---- */

extern int	zswrite_cursor(void);
extern zstid zswrite_reserve_row(Relation rel, ZsWriteBuffer *buf, TransactionId xid,
								 CommandId cid, TupleTableSlot *slot, bool bulk,
								 bool rows_only, bool *owned);
extern void zswrite_forget_reserved(ZsWriteBuffer *buf);
extern void zswrite_end_stripe(Relation rel, ZsWriteBuffer *buf, zstid end);
extern void zswrite_release_rows(Relation rel, ZsWriteBuffer *buf);
extern bool zswrite_begin_unnumbered(Relation rel, ZsWriteBuffer *buf, TransactionId xid,
									 CommandId cid);
extern void zswrite_end_unnumbered(Relation rel, ZsWriteBuffer *buf);
extern void zswrite_number_rows(Relation rel, ZsWriteBuffer *buf, uint32 nrows);

#endif							/* WRITE_INTERNAL_H */
