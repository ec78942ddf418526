/*-------------------------------------------------------------------------
 *
 * scan_internal.h
 *	  Private to src/scan.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SCAN_INTERNAL_H
#define SCAN_INTERNAL_H

#include "postgres.h"

#include "access/htup.h"
#include "nodes/memnodes.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "scan_slot.h"
#include "zs_attr_ahead.h"
#include "zs_btree.h"
#include "zs_row.h"
#include "zs_scan.h"
#include "zs_tid.h"

/* A reader that comes back to its stripe. */
typedef struct ZsKeptReader
{
	ZsAttrReader *reader;		/* NULL: none yet */
	Size		size;			/* counted for it */
} ZsKeptReader;

/* One column as a source sees it. */
typedef struct ZsSourceColumn
{
	ZsAttrReader *reader;		/* of the present stripe; NULL until somebody looks at the column */
	ZsKeptReader *kept;			/* by stripe; behind these the first one, which serves all that
								 * have none.  NULL: there is no other */
	int			place;			/* of reader among these */
	ZsAttrReader *single;		/* scan: for single values; the same */
	zstid		stripe;			/* the stripe vector belongs to, or INVALID */
	const ZsVectorOut *vector;	/* NULL: no segment covers the stripe */
	uint32		ndirect;		/* rows of it whose values lie in these arrays:
								 * all, or none if some are stored elsewhere */
	const uint64 *values;
	const bool *isnull;
	uint64		asked_again;	/* row_looks when what vector lacks was looked up
								 * past all copies; 0 = never */
} ZsSourceColumn;

/*
 * Where rows of one table come from: the row tree first, then the segments of
 * the columns.  Used by scans (whole vectors, stripe after stripe) and by
 * fetches (single values).
 */
typedef struct ZsRowSource
{
	ZsSlotSource base;			/* first */
	Relation	rel;
	TupleDesc	desc;			/* the stored rows' */
	TupleDesc	slot_desc;		/* of the slot served last; only compared */
	MemoryContext context;
	BufferAccessStrategy strategy;
	bool		by_vector;		/* scan: decode whole vectors */
	bool		stream;			/* scan: look ahead */
	bool		gives_toast;	/* fetch: TOAST pointers to large values (attr_toast.c) */
	ZsSourceColumn *columns;	/* one per attribute */
	ZsSourceColumn xmin;		/* reader, stripe and vector of ZS_XMIN_ATTNO */
	zstid		range_start;	/* scan: rows it will read next */
	zstid		range_end;
	const ZsRowRanges *ranges;	/* scan: leads to the ranges behind; NULL = there are none */
	const ZsStripePicks *picks; /* scan: what look-ahead leaves out; NULL = nothing */
	zstid		scan_end;		/* scan: takes turns with others up to that row; 0:
								 * does not */
	bool		all_readers;	/* all that are needed were opened for that */
	bool		sparse;			/* scan: few rows of the present stripe are wanted */
	bool		keeps;			/* small table that is read again: readers keep their stripes */
	bool		asked_to_keep;	/* ... or it was found to be large */
	Size		kept_size;		/* of these readers */
	bool		cold;			/* the row before had pages that were in no buffer */
	ZsAttrAhead *ahead;			/* look-ahead for single rows; NULL: was not needed yet */
	ZsReadCounts counts;		/* of all readers */
	ZsIoCounts *io;				/* of all look-ahead; NULL: nobody asks */
	ZsBottomVisitor tree_visitor;	/* of leaves of the row tree */
	zstid		tree_stripe;	/* the last one with rows there */

	/* the row in the slot */
	bool		row_located;	/* is tuple known for the row? */
	zstid		row;
	bool		presumed;		/* fetch: the row is presumed to be in segments */
	bool		presumed_wrong; /* ... but a column has none for it */
	MinimalTuple tuple;			/* from the row tree, or NULL */
	bool		tuple_owned;	/* tuple is a copy of its own, not part of batch */
	ZsRowProgress progress;		/* of tuple into the slot */

	/* scan: the stripe's rows in the row tree */
	zstid		batch_stripe;
	ZsRowBatch *batch;
	int			batch_pos;
	uint64		row_looks;		/* counts how often rows were looked for in the
								 * row tree */
	zstid		next_tree_from; /* no row-tree row in [this, next_tree_row); a
								 * scan may go backward */
	zstid		next_tree_row;	/* 0 = not known */
	bool		trust_next_tree_row;	/* MVCC snapshot: rows that come later are
										 * not ours to see */
	zstid		missing_checked;	/* stripe whose missing columns were justified, ... */
	int			missing_natts;	/* ... those behind so many */
} ZsRowSource;

/* scan_source.c */

extern ZsRowSource *zsscan_source_create(Relation rel, bool by_vector, bool stream,
										 BufferAccessStrategy strategy);
extern void zsscan_source_copy_desc(ZsRowSource *source);
extern void zsscan_source_range(ZsRowSource *source, zstid start, zstid end,
								const ZsRowRanges *ranges);
extern void zsscan_source_end_readers(ZsRowSource *source);
extern void zsscan_attach(ZsRowSource *source, ZsSlot *slot);
extern void zsscan_source_free(ZsRowSource *source);

/* scan_source_reader.c */

extern double zsscan_source_stripes(const ZsRowSource *source);
extern void zsscan_source_again(ZsRowSource *source);
extern void zsscan_source_open(ZsRowSource *source, int nneeded, const AttrNumber *needed);
extern void zsscan_column_turn(ZsRowSource *source, ZsSourceColumn *column, zstid stripe);
extern ZsAttrReader *zsscan_source_reader(ZsRowSource *source, int attno, zstid stripe);
extern void zsscan_column_end_readers(ZsSourceColumn *column);

/* Makes the stripe the present one of attribute attno, whose reader may have to be begun yet. */
static inline void
zsscan_source_turn(ZsRowSource *source, int attno, zstid stripe)
{
	if (unlikely(source->keeps))
		zsscan_column_turn(source, &source->columns[attno], stripe);
}

/* Has the present stripe a reader of its own? */
static inline bool
zsscan_column_keeps(const ZsSourceColumn *column)
{
	return column->kept != NULL && column->place < ZS_KEPT_STRIPES;
}

/* The reader that looks ahead, where any does; NULL: it was not needed yet. */
static inline ZsAttrReader *
zsscan_column_first_reader(const ZsSourceColumn *column)
{
	return zsscan_column_keeps(column) ? column->kept[ZS_KEPT_STRIPES].reader : column->reader;
}

/* scan_xmin.c */

extern TransactionId zsscan_source_xmin(ZsSlotSource *base, ZsSlot *slot);
extern void zsscan_source_end_xmin(ZsRowSource *source);

/* scan_source_tree.c */

extern void zsscan_source_load_batch(ZsRowSource *source, zstid stripe);
extern MinimalTuple zsscan_source_tree_row(ZsRowSource *source, zstid row);
extern void zsscan_source_rest_tree(ZsRowSource *source);
extern void zsscan_source_rest(ZsRowSource *source);

/* ---- by stripe, for batches; scans only (scan_source_stripe.c) ---- */

extern const ZsRowBatch *zsscan_source_stripe(ZsRowSource *source, zstid stripe);
extern const ZsVectorOut *zsscan_source_forms(ZsRowSource *source, int attno, zstid stripe,
											  uint32 want, const uint64 *rows, bool again);
extern const ZsSharedState *zsscan_source_shared(ZsRowSource *source, int attno, uint64 *serial);
extern uint32 zsscan_source_entries(ZsRowSource *source, int attno, uint64 *serial);
extern const ZsSegmentInfo *zsscan_source_info(ZsRowSource *source, int attno, zstid stripe,
											   int *vecno);
extern bool zsscan_source_totals(ZsRowSource *source, int attno, zstid stripe, bool extremes,
								 ZsVectorTotals *totals);

/* ---- rows (scan_source.c) ---- */

extern void zsscan_store(ZsRowSource *source, TupleTableSlot *slot, zstid row,
						 const ZsVisSlot *vis);

/*
 * Moves a slot that holds the source's last row to another row with the same
 * visibility; false if it cannot be done that simply.  The way of most rows of
 * a sequential scan.
 */
static inline bool
zsscan_advance(ZsRowSource *source, TupleTableSlot *slot, zstid row)
{
	ZsSlot	   *zslot = (ZsSlot *) slot;

	if (unlikely(source->base.user != zslot || TTS_SHOULDFREE(slot) ||
				 (zslot->memory.context != NULL && !zslot->memory.context->isReset) ||
				 !zs_enable_lazy_decode))
		return false;
	Assert(!TTS_EMPTY(slot) && zslot->source == &source->base);
	zslot->row = row;
	zs_tid_from_row(row, &slot->tts_tid);
	slot->tts_nvalid = 0;
	return true;
}

/* scan_prefetch.c */

extern void zsscan_prefetch_row(ZsRowSource *source, ZsSlot *slot, int first, int natts,
								bool only_needed);
extern void zsscan_prefetch_rows(ZsRowSource *source, const ZsSlot *slot, const zstid *rows,
								 int nrows);

/* scan_missing.c */

extern Datum zsscan_missing_value(ZsRowSource *source, ZsSlot *slot, int attno, bool *isnull);
extern Datum zsscan_source_missing(ZsRowSource *source, int attno, zstid row, bool *isnull);

/* scan_any.c */
extern bool zsscan_any_is_hidden(Relation rel);

/* scan_zone.c */

struct ScanState;
extern void zsscan_stamp_filters(struct ScanState *node);

/* State of index_fetch_*. */
typedef struct ZsIndexFetch ZsIndexFetch;

#endif							/* SCAN_INTERNAL_H */
