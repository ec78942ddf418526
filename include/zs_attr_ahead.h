/*-------------------------------------------------------------------------
 *
 * zs_attr_ahead.h
 *	  Look-ahead in the trees of columns (attr_ahead.c), for whoever knows the rows or stripes that
 *	  are going to be read.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_attr_ahead.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_ATTR_AHEAD_H
#define ZS_ATTR_AHEAD_H

#include "zs_attr.h"

/*
 * Brings pages of columns to shared buffers before readers ask for them.  It
 * never decides what is read, and errors only where a reader of these columns would, too.  Memory
 * comes from the context that is current at begin.
 */
typedef struct ZsAttrAhead ZsAttrAhead;

/* A reader is going to ask for this row's value, or for the vector of its stripe. */
typedef struct ZsAttrWish
{
	uint64		tag;			/* does not get smaller from wish to wish */
	zstid		row;
	AttrNumber	attno;			/* not of a dropped column */
	bool		single;			/* zsattr_reader_value() */
} ZsAttrWish;

typedef enum ZsWishResult
{
	ZS_WISH_GIVEN,
	ZS_WISH_LATER,				/* more when the reader has come further */
	ZS_WISH_END
} ZsWishResult;

/* Gives the next wish, in the order in which the reader will ask. */
typedef ZsWishResult (*ZsWishSource) (void *arg, ZsAttrWish *wish);

/* What look-ahead of this backend has come to, since it began. */
typedef struct ZsAheadCounts
{
	uint64		streams;		/* of columns of sequential scans and VACUUM */
	uint64		asked;			/* pages that those were asked for ... */
	uint64		used;			/* ... and that a reader took from them */
	uint64		missed;			/* pages that a reader with such a stream read himself */
	uint64		restarts;		/* streams that went on elsewhere */
	uint64		wishes;			/* of other readers */
	uint64		wish_pages;		/* asked for because of them */
	uint64		farthest;		/* blocks, or rows of a top-N scan, that a wish was ahead at most */
} ZsAheadCounts;

extern ZsAheadCounts zsattr_ahead_counts;

/* Pages that this backend has read so far that were in no buffer, of whatever relation. */
static inline uint64
zsattr_ahead_pages_read(void)
{
	return (uint64) (pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read);
}

/* attr_ahead.c */

extern ZsAttrAhead *zsattr_ahead_begin(Relation rel, TupleDesc desc, bool maintenance,
									   BufferAccessStrategy strategy);
extern void zsattr_ahead_count_io(ZsAttrAhead *ahead, ZsIoCounts *io);
extern void zsattr_ahead_fetch(ZsAttrAhead *ahead, const ZsAttrWish *wishes, int n);
extern void zsattr_ahead_start(ZsAttrAhead *ahead, ZsWishSource source, void *arg);
extern void zsattr_ahead_reach(ZsAttrAhead *ahead, uint64 tag);
extern void zsattr_ahead_end(ZsAttrAhead *ahead);

#endif							/* ZS_ATTR_AHEAD_H */
