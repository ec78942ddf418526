/*-------------------------------------------------------------------------
 *
 * scan_batch.h
 *	  What scan_batch.c and scan_batch_form.c share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_BATCH_H
#define SCAN_BATCH_H

#include "postgres.h"

#include "scan_desc.h"
#include "zs_batch.h"

/* A column in the form of one want, with memory for what is made here. */
typedef struct ZsBatchColumn
{
	ZsColumnVector vector;
	uint64		generation;		/* of the batch that vector is of */
	uint64		sel[ZS_KERNEL_WORDS];	/* rows that were formed, where that may be some: DECIMAL,
										 * DATUM, all of batches with rows of the row tree */
	struct ZsBatchColumn *next; /* the same formed for other rows; NULL: none */
	ZsAttrKind	kind;
	int64		vals[ZS_STRIPE_ROWS];
	uint8		dscales[ZS_STRIPE_ROWS];
	uint64		datums[ZS_STRIPE_ROWS];
} ZsBatchColumn;

/* What is known of the rows to come (scan_ahead.c). */
typedef struct ZsScanAhead ZsScanAhead;

struct ZsBatchScan
{
	ZsScanDesc	scan;
	ZsSlot	   *slot;
	MemoryContext context;
	ZsBatch		batch;
	uint64		generation;		/* counts batches */
	bool		has_run;		/* run is what comes behind the batch */
	ZsRunView	run;
	ZsRunView  *views;			/* the runs of the batch */
	int			nviews;
	int			maxviews;
	int			view;			/* that of the row stored last */
	zstid		backward_to;	/* where batches going backward end; INVALID = the scan's end */
	bool		turned;			/* the last step was one backward ... */
	zstid		forward_from;	/* ... and one forward starts here */
	ZsRowVectors *rows;			/* of the batch that are in the row tree; NULL: none had any yet */
	uint64		rows_look;		/* row_looks of the source when they were taken, ... */
	uint64		rows_sel[ZS_KERNEL_WORDS];	/* ... of these; ... */
	bool		rows_mixed;		/* ... values of segments stand beside them */
	ZsBatchColumn **columns;	/* ZS_WANT_COUNT for each attribute; NULL: not asked for yet */
	ZsScanAhead *ahead;			/* NULL: not asked for yet */
};

/* What the head of a segment says of one of its vectors. */
static inline ZsColumnBounds
zsscan_bounds_of(const ZsSegmentInfo *info, const ZsVectorInfo *vector)
{
	ZsColumnBounds bounds = {
		.has_zone = vector->has_zone,
		.is_unsigned = info->is_unsigned,
		.min = vector->zone_min,
		.max = vector->zone_max,
		.nrows = vector->nrows,
		.nnulls = vector->nnulls
	};

	return bounds;
}

/* scan_batch_rows.c */

extern bool zsscan_batch_take_rows(ZsBatchScan *bs, const ZsRowBatch *rows);
extern ZsRowVector *zsscan_batch_row_vector(ZsBatchScan *bs, AttrNumber attno, const uint64 *sel);

#endif							/* SCAN_BATCH_H */
