/*-------------------------------------------------------------------------
 *
 * attr_ahead.h
 *	  What attr_ahead.c and attr_ahead_plan.c share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_ahead.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ATTR_AHEAD_H
#define ATTR_AHEAD_H

#include "postgres.h"

#include "storage/read_stream.h"

#include "attr_internal.h"
#include "zs_attr_ahead.h"

/* Most wishes of a batch. */
#define ZS_AHEAD_BATCH		256

/* Most runs of pages that they may lead to, four each. */
#define ZS_AHEAD_RUNS		(ZS_AHEAD_BATCH * 4)

/* Adjacent blocks. */
typedef struct ZsAheadRun
{
	uint64		tag;
	BlockNumber next;			/* first that was not asked for */
	BlockNumber end;
} ZsAheadRun;

typedef struct ZsAheadWish
{
	ZsAttrWish	wish;
	bool		found;			/* item is the row's segment */
	ZsSegmentItem item;
} ZsAheadWish;

typedef struct ZsAheadColumn
{
	ZsAttrKind	kind;
	bool		started;		/* its tree's root was read */
	bool		found;			/* item is a segment of the column: the one found last */
	ZsSegmentItem item;

	/* the segment whose pages were asked for last */
	bool		entered;
	uint32		stamp;
	BlockNumber start;
	zstid		end;			/* behind its last row */
	uint32		done_from;		/* pages of it that were asked for */
	uint32		done_to;
	uint32		window;			/* pages asked for at a time */
	bool		reaches;		/* all of its pages, and of those behind it in front of far */
	ZsSegmentItem far;
	uint32		far_done;		/* pages of that one */
} ZsAheadColumn;

struct ZsAttrAhead
{
	Relation	rel;
	TupleDesc	desc;
	BufferAccessStrategy strategy;
	int			flags;			/* of read streams */
	ZsIoCounts *io;				/* what they count; NULL: nothing */
	MemoryContext context;
	ZsAheadColumn *columns;		/* one for each attribute */
	uint32		max_window;
	BlockNumber file_blocks;	/* file length seen last */

	/* a batch: what is known of its wishes, and where their pages are */
	int			batch_size;
	int			nwishes;
	int			nruns;
	int			run;			/* present one */

	/* look-ahead over the wishes of a source */
	ZsWishSource source;
	void	   *source_arg;
	ReadStream *stream;			/* NULL: not needed yet */
	bool		running;
	bool		source_ended;
	bool		any_block;		/* the stream got one */
	uint64		given_tag;		/* of the wish that was given last */
	uint64		reached_tag;	/* where the reader is */
	Buffer		pending;		/* delivered, of a later wish */
	uint64		pending_tag;
	uint64		seen_reads;		/* pages read when looked last */
	int			steps_to_rest;

	/* room for ZS_AHEAD_BATCH and ZS_AHEAD_RUNS of them; NULL: nothing was to be read yet */
	ZsAheadWish *wishes;
	ZsAheadRun *runs;
};

/* attr_ahead.c */

extern void zsattr_ahead_read_runs(ZsAttrAhead *ahead);

/* attr_ahead_plan.c */

extern void zsattr_ahead_plan(ZsAttrAhead *ahead);

#endif							/* ATTR_AHEAD_H */
