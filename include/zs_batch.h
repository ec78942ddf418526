/*-------------------------------------------------------------------------
 *
 * zs_batch.h
 *	  Scans by batches of rows instead of row by row.
 *
 * A batch is a stripe: up to 1024 neighbouring row numbers.  It comes with a bitmap of those rows
 * that the snapshot sees; columns are decoded when they are asked for.  What is said of heap's
 * order holds: batches come in ascending order, and so do rows in them.  A scan that is not
 * parallel may turn round between two batches.
 *
 * A column of a batch has one of few forms, which the encoding decides and which may differ from
 * batch to batch.  Where there is none that fits what the caller wants, he takes the batch row by
 * row, by a slot, as an ordinary scan would.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BATCH_H
#define ZS_BATCH_H

#include "postgres.h"

#include "access/relscan.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "zs_format.h"
#include "zs_kernel.h"

struct ParamListInfoData;
struct ScanState;

StaticAssertDecl(ZS_KERNEL_ROWS == ZS_STRIPE_ROWS, "a batch is a stripe");

typedef struct ZsBatchScan ZsBatchScan;

/* Valid until the next one of its scan. */
typedef struct ZsBatch
{
	zstid		first;			/* row number of its first row: a stripe's */
	uint32		nsel;
	uint64		sel[ZS_KERNEL_WORDS];	/* rows that the snapshot sees */
	bool		has_rows;		/* some of these are in the row tree: by slot only */
} ZsBatch;

/* What a caller wants of a column. */
typedef enum ZsColumnWant
{
	ZS_WANT_INT,				/* vals: integers, patterns of floats */
	ZS_WANT_DECIMAL,			/* vals and scale: numerics as integers */
	ZS_WANT_DATUM,				/* datums: addresses of varlenas */
	ZS_WANT_STRING,				/* the first of codes, lengths and datums that is to be had */
	ZS_WANT_NULLS,				/* nothing else */
	ZS_WANT_COUNT
} ZsColumnWant;

/*
 * A column of a batch.  Arrays have ZS_KERNEL_ROWS members.  What stands at rows that are NULL, odd
 * or were not asked for is undefined.
 */
typedef struct ZsColumnVector
{
	uint32		nrows;			/* rows from here on have nothing, and are not selected */
	bool		has_nulls;
	uint64		nulls[ZS_KERNEL_WORDS];	/* if has_nulls */
	bool		has_odd;		/* there are rows of which only a slot gives the value */
	uint64		odd[ZS_KERNEL_WORDS];	/* if has_odd */
	const int64 *vals;
	int			scale;			/* DECIMAL: value = vals / 10^scale */
	const uint8 *dscales;		/* DECIMAL: display scale of each row; NULL = scale, for all rows */
	const uint64 *datums;
	const uint32 *lengths;		/* of the bytes of strings, which have no datums then */
	const uint32 *codes;		/* below ndict at all rows that have values; no datums then */
	const uint64 *dict;			/* addresses of varlenas */
	uint32		ndict;
	uint64		serial;			/* of the dictionary: no other has had the same */
} ZsColumnVector;

/* What is known of a column of a batch without decoding it. */
typedef struct ZsColumnBounds
{
	bool		has_zone;		/* all values that are not NULL lie in [min, max] of the zone
								 * domain */
	bool		is_unsigned;
	int64		min;
	int64		max;
	bool		no_nulls;
	bool		all_nulls;
} ZsColumnBounds;

/* scan_batch.c */

/*
 * slot: of the table's type, for rows that are looked at one by one.  Its columns
 * (zsslot_set_needed()) are those that the caller will ask for, and what its filters exclude
 * (zsscan_set_filters()) is left out.  The scan is one of table_beginscan() or
 * table_beginscan_parallel() with an MVCC snapshot, and is not used for anything else meanwhile.
 * Memory comes from the current context; nothing is to be freed.
 */
extern ZsBatchScan *zsscan_batch_begin(TableScanDesc scan, TupleTableSlot *slot);

/* After table_rescan(). */
extern void zsscan_batch_restart(ZsBatchScan *bs);

/* The next batch with at least one row, or NULL.  Clears the slot. */
extern ZsBatch *zsscan_batch_next(ZsBatchScan *bs);

/*
 * The one before it, or before the end; the last batch if the scan has not begun.  Not of a
 * parallel scan.
 */
extern ZsBatch *zsscan_batch_previous(ZsBatchScan *bs);

/*
 * Instead of batches: the number of rows of the next run, without looking at their columns; 0 at
 * the end.
 */
extern uint64 zsscan_batch_next_run(ZsBatchScan *bs);

/* scan_batch_form.c */

/*
 * A column of the present batch, which has no rows of the row tree.  sel: rows whose values matter,
 * some of the batch's.  NULL: there is no such form; the batch has to be taken row by row.  Valid
 * until the next batch; with DECIMAL, until the column is asked for rows that were not in sel.
 * Errors: ERRCODE_DATA_CORRUPTED.
 */
extern const ZsColumnVector *zsscan_batch_column(ZsBatchScan *bs, AttrNumber attno,
												 ZsColumnWant want, const uint64 *sel);

/*
 * What its zone map says of a column of the present batch, which has no rows of the row tree;
 * false: nothing.
 */
extern bool zsscan_batch_bounds(ZsBatchScan *bs, AttrNumber attno, ZsColumnBounds *bounds);

/* scan_batch.c */

/*
 * The caller is going to store n rows of the present batch at most: of few rows, single values are
 * decoded instead of vectors.
 */
extern void zsscan_batch_expect(ZsBatchScan *bs, uint32 n);

/* Stores a row of the present batch (a position in it, of a row that is visible) in the slot. */
extern void zsscan_batch_store(ZsBatchScan *bs, uint32 position, TupleTableSlot *slot);

/* How many segments zone maps have excluded; one that the scan came to again counts again. */
extern uint64 zsscan_batch_skipped(const ZsBatchScan *bs);

/* scan_projection.c */

/*
 * Tells the slot of a node that scans a zedstore table which columns the plan looks at, by the
 * node's target list and filter.  To be called after the node's projection was made.
 */
extern void zsscan_set_needed(struct ScanState *node);

/* scan_zone.c */

/*
 * Puts those clauses of qual that can skip segments into the slot, in place of those that are
 * there.  All clauses are applied by somebody else, too.  scanrelid: the varno of the table's
 * columns in qual.  params: as in zs_clause.h.
 */
extern void zsscan_set_filters(TupleTableSlot *slot, Relation rel, Index scanrelid, List *qual,
							   struct ParamListInfoData *params);

#endif							/* ZS_BATCH_H */
