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
 * batch to batch.  Where there is none that fits what the caller wants, it takes the batch row by
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

#include "zs_attr.h"
#include "zs_codec.h"
#include "zs_compat.h"
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
	bool		has_rows;		/* some of these are in the row tree: no zone map says anything */
} ZsBatch;

/* What a caller wants of a column. */
typedef enum ZsColumnWant
{
	ZS_WANT_INT,				/* vals: integers, patterns of floats */
	ZS_WANT_DECIMAL,			/* vals and scale: numerics as integers */
	ZS_WANT_DATUM,				/* datums: addresses of varlenas */
	ZS_WANT_STRING,				/* the first of codes, lengths and datums that is to be had */
	ZS_WANT_TEXT,				/* the first of codes and datums: the strings matter */
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
	const uint32 *entries;		/* of datums: numbers of those that are entries of a dictionary,
								 * below ndict; ZS_NO_ENTRY at others */
	const uint64 *dict;			/* addresses of varlenas; NULL where there are only entries */
	uint32		ndict;
	uint64		serial;			/* of the dictionary: no other has had the same */
} ZsColumnVector;

/* Are there rows of sel, a bitmap of the batch's rows, of which only a slot gives the value? */
static inline bool
zs_vector_has_odd(const ZsColumnVector *vector, const uint64 *sel)
{
	return vector->has_odd && zskernel_bits_meet(vector->odd, sel);
}

/* What is known of a column of a batch without decoding it. */
typedef struct ZsColumnBounds
{
	bool		has_zone;		/* all values that are not NULL lie in [min, max] of the zone
								 * domain */
	bool		is_unsigned;
	int64		min;
	int64		max;
	uint32		nrows;			/* that its vector has, which may be fewer than the batch has
								 * room for */
	uint32		nnulls;			/* of these */
} ZsColumnBounds;

/* What a scan has come to; what it came to again counts again. */
typedef struct ZsBatchCounts
{
	uint64		skipped;		/* segments, for what zone maps say */
	ZsReadCounts read;
	ZsIoCounts	io;				/* of look-ahead, for EXPLAIN (IO) */
} ZsBatchCounts;

/* scan_batch.c */

extern ZsBatchScan *zsscan_batch_begin(TableScanDesc scan, TupleTableSlot *slot);
extern void zsscan_batch_restart(ZsBatchScan *bs);
extern ZsBatch *zsscan_batch_next(ZsBatchScan *bs);
extern ZsBatch *zsscan_batch_previous(ZsBatchScan *bs);
extern ZsBatch *zsscan_batch_seek(ZsBatchScan *bs, zstid stripe);
extern uint64 zsscan_batch_next_run(ZsBatchScan *bs);

/* scan_batch_form.c */

extern const ZsColumnVector *zsscan_batch_column(ZsBatchScan *bs, AttrNumber attno,
												 ZsColumnWant want, const uint64 *sel);
extern bool zsscan_batch_bounds(ZsBatchScan *bs, AttrNumber attno, ZsColumnBounds *bounds);
extern bool zsscan_batch_excluded(ZsBatchScan *bs);
extern bool zsscan_batch_totals(ZsBatchScan *bs, AttrNumber attno, bool extremes,
								ZsVectorTotals *totals);

/* scan_ahead.c */

extern bool zsscan_batch_ahead(ZsBatchScan *bs, AttrNumber attno, int64 *min, int64 *max);

/* scan_batch.c */

extern void zsscan_batch_expect(ZsBatchScan *bs, uint32 n);
extern void zsscan_batch_store(ZsBatchScan *bs, uint32 position, TupleTableSlot *slot);
extern void zsscan_batch_count(const ZsBatchScan *bs, ZsBatchCounts *counts);

/* scan_projection.c */

extern void zsscan_set_needed(struct ScanState *node);

/* scan_zone.c */

/* Is no row wanted whose value in the column lies in [min, max], nor one where it is NULL? */
typedef bool (*ZsZoneTest) (void *arg, AttrNumber attno, int64 min, int64 max);

extern void zsscan_add_zone_test(TupleTableSlot *slot, Relation rel, AttrNumber attno,
								 ZsZoneTest test, void *arg);
extern void zsscan_set_filters(TupleTableSlot *slot, Relation rel, Index scanrelid, List *qual,
							   struct ParamListInfoData *params);

#endif							/* ZS_BATCH_H */
