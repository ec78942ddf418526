/*-------------------------------------------------------------------------
 *
 * vacuum_compact.h
 *	  Private to src/vacuum: compaction and overflow values.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_compact.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VACUUM_COMPACT_H
#define VACUUM_COMPACT_H

#include "postgres.h"

#include "utils/rel.h"

#include "zs_attr.h"
#include "zs_base.h"
#include "zs_page.h"
#include "zs_row.h"
#include "zs_tid.h"

/* ---- overflow values (vacuum_overflow.c) ----------------------------------- */

/* Values whose pages are to be freed when nothing points to them any more. */
typedef struct ZsDoomedValue
{
	AttrNumber	attno;
	ZsOverflowPointer pointer;
} ZsDoomedValue;

typedef struct ZsDoomedList
{
	Relation	rel;
	MemoryContext context;
	ZsDoomedValue *values;
	int			n;
	int			max;
	uint64		nfreed;
} ZsDoomedList;

extern void zsvacuum_doomed_init(ZsDoomedList *list, Relation rel);
extern void zsvacuum_doomed_add(ZsDoomedList *list, AttrNumber attno,
								const ZsOverflowPointer *pointer);
extern void zsvacuum_doomed_free(ZsDoomedList *list);

/*
 * Calls fn for each overflow pointer of a row of the row tree.  The row may be a dead one whose
 * attributes had other types, so bytes that cannot be a value end the walk, and what looks like a
 * pointer need not be one.  False if the row does not look like one of today's attributes, so that
 * it may have others.
 */
typedef void (*ZsItemPointerVisitor) (AttrNumber attno, const ZsOverflowPointer *pointer,
									  void *arg);
extern bool zsvacuum_visit_item(Relation rel, const MinimalTupleData *item, ZsItemPointerVisitor fn,
								void *arg);
extern void zsvacuum_doom_rows(ZsDoomedList *list, zstid first, zstid end, ZsRowBatch *batch);
extern void zsvacuum_doom_dropped(ZsDoomedList *list, const MinimalTupleData *item);

/* ---- compaction (vacuum_compact.c) ------------------------------------------ */

/* Ascending ranges of rows. */
typedef struct ZsRanges
{
	MemoryContext context;		/* NULL: the current one at the first use */
	int			n;
	int			max;
	struct ZsRange
	{
		zstid		first;
		zstid		end;
	}		   *ranges;
} ZsRanges;

extern void zsvacuum_add_range(ZsRanges *ranges, zstid first, zstid end);
extern void zsvacuum_sort_ranges(ZsRanges *ranges);

typedef struct ZsCompaction
{
	Relation	rel;
	BufferAccessStrategy strategy;
	bool		force;			/* move few rows, too */
	bool		drop_only;		/* nothing is written anew */
	MemoryContext context;		/* of one step; reset by each */
	ZsDoomedList doomed;
	struct ZsColumnBuilder **builders;	/* columns that are being rewritten */
	int			nbuilders;
	ZsRanges	changed;		/* where segments are looked at */
	ZsRanges	moved;			/* rows that left the row tree */
	ZsRanges	covered;		/* stripes whose rows may have come into all
								 * columns */
	zstid		next_row;
	zstid		cursors[ZS_INSERT_CURSORS];

	/* results */
	uint64		rows_moved;		/* from the row tree to columns */
	uint64		rows_left;		/* in the row tree, as they are too few for columns */
	uint64		rows_rewritten; /* from segments to others, once a column */
	uint64		nreplaced;		/* segments that gave way to others */
	uint64		ndropped;		/* segments that were dropped */
} ZsCompaction;

/* What is known about the row numbers of a stripe. */
typedef enum ZsFate
{
	ZS_FATE_NONE = 0,			/* no row */
	ZS_FATE_DEAD,				/* a row that nobody will see, its index entries
								 * may remain */
	ZS_FATE_LIVE,				/* a row that somebody may ask for */
} ZsFate;

typedef struct ZsStripe
{
	zstid		first;
	bool		settled;		/* no inserter is running */
	bool		unused;			/* some row number may be handed out */
	uint32		nlive;
	uint8		fates[ZS_STRIPE_ROWS];
} ZsStripe;

extern void zsvacuum_load_stripe(ZsCompaction *compaction, zstid first, ZsStripe *stripe);
extern bool zsvacuum_close_stripe(ZsCompaction *compaction, zstid first, ZsStripe *stripe,
								  ZsRowBatch *batch);
extern bool zsvacuum_stripe_is_open(const ZsCompaction *compaction, zstid first);
extern uint32 zsvacuum_count_live(const ZsStripe *stripe, const ZsRowBatch *batch, int *natts);
extern void zsvacuum_forget_rows(ZsCompaction *compaction, const ZsStripe *stripe);
extern void zsvacuum_segment_gone(AttrNumber attno, const ZsSegmentItem *item, void *arg);

/* ---- columns that are put together (vacuum_column.c) -------------------------- */

typedef struct ZsColumnBuilder
{
	Relation	rel;
	AttrNumber	attno;
	ZsAttrKind	kind;
	int16		attlen;
	bool		by_value;
	bool		as_ints;		/* values are in ints: by value, or numerics of one scale so far */
	int			scale;			/* of those numerics; -1 = there was none yet */
	zstid		first;			/* row number of the first row */
	uint32		nrows;
	int			natts;			/* attributes that all rows have at least */
	Size		size;			/* bytes of memory */
	bool		any_null;
	bool		any_ext;
	uint32		maxrows;
	uint8	   *isnull;			/* 0, ZS_NULL_VALUE, ZS_NULL_HOLE */
	uint8	   *isext;
	int64	   *ints;
	uint8	   *bytes;
	uint64	   *offsets;
	Size		nbytes;			/* of bytes; about what they were of numerics that are integers */
	Size		maxbytes;

	/* where values come from that are in segments */
	ZsAttrReader *reader;
	bool		own_reader;
	zstid		stripe;			/* that vector is of */
	const ZsVectorOut *vector;
} ZsColumnBuilder;

extern ZsColumnBuilder *zsvacuum_builder_create(Relation rel, AttrNumber attno, zstid first,
												ZsAttrReader *reader);
extern void zsvacuum_builder_end(ZsColumnBuilder *builder);
extern void zsvacuum_builder_add(ZsColumnBuilder *builder, Datum value, bool isnull, bool isext);
extern uint32 zsvacuum_gather(ZsColumnBuilder **builders, int nbuilders, const ZsStripe *stripe,
							  uint32 nrows, const ZsRowBatch *batch);
extern void zsvacuum_builder_rewrite(ZsColumnBuilder *builder, ZsAttrRewrite *rewrite);

/* ---- the two passes (vacuum_move.c) -------------------------------------------- */

extern void zsvacuum_move_rows(ZsCompaction *compaction);

/* vacuum_merge.c */

extern void zsvacuum_merge_segments(ZsCompaction *compaction);

/* vacuum_compact.c */

extern void zsvacuum_compact(Relation rel, BufferAccessStrategy strategy, bool force,
							 ZsRanges *changed, ZsCompaction *result);

/* Tells where pages may have become empty by it. */
struct ZsReclaim;
extern void zsvacuum_touch_moved(ZsCompaction *compaction, struct ZsReclaim *reclaim);

#endif							/* VACUUM_COMPACT_H */
