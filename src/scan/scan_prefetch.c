/*-------------------------------------------------------------------------
 *
 * scan_prefetch.c
 *	  Look-ahead for scans that are not sequential.
 *
 * A row of a heap is one page; here it is a head and a vector, or two pages at least, for each
 * column.  Read one after the other they take as many times the latency of the disk.
 *
 * Two kinds of readers profit from what attr_ahead.c does:
 *
 *	- One who asks for a row and has not said anything before: index scans, fetches by TID, scans
 *	  by batches whose filter leaves few rows of a stripe.  When the first columns had to be read
 *	  from disk, the pages of all others are read side by side, and for the next row those of all
 *	  columns.  A top-N scan knows all its rows, and says so.
 *	- One who knows the blocks to come: bitmap scans (from PostgreSQL 18 on), ANALYZE, and samples
 *	  that go through all blocks.  They hand over a function that gives the next block, and take
 *	  blocks from a ring, some of which were asked for already:
 *
 *			  reader          wishes             blocks
 *				v                v                  v
 *			[ 70 ][ 71 ][ 75 ][ 76 ][ 90 ]      <- next block
 *
 * Columns are those that the slot needs.
 *
 * Nothing is locked between calls; the pins are those of attr_ahead.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_prefetch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "scan_desc.h"

/* ---- single rows ----------------------------------------------------------- */

/* Has a scan by vectors read the stripe's values of a column? */
static inline bool
has_stripe(const ZsSourceColumn *column, zstid stripe)
{
	return column->stripe == stripe ||
		(column->reader != NULL && zsattr_reader_has_values(column->reader, stripe));
}

/*
 * The columns that the slot, or NULL for all, needs, into attnos, which has room for all; returns
 * how many.
 */
static int
needed_columns(TupleDesc desc, const ZsSlot *slot, AttrNumber *attnos)
{
	bool		masked = slot != NULL && slot->nneeded >= 0;
	int			n = masked ? slot->nneeded : desc->natts;
	int			nattnos = 0;

	for (int k = 0; k < n; k++)
	{
		int			attno = masked ? slot->needed[k] : k;

		if (attno < desc->natts && !TupleDescAttr(desc, attno)->attisdropped)
			attnos[nattnos++] = attno + 1;
	}
	return nattnos;
}

/* The source's look-ahead for rows; NULL if the settings do not want it. */
static ZsAttrAhead *
need_ahead(ZsRowSource *source)
{
	if (!zsbase_ahead_is_wanted(source->rel, false))
		return NULL;
	if (source->ahead == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(source->context);

		source->ahead = zsattr_ahead_begin(source->rel, source->desc, false, source->strategy);
		zsattr_ahead_count_io(source->ahead, source->io);
		MemoryContextSwitchTo(old);
	}
	return source->ahead;
}

/*
 * Columns of the slot's row are about to be read, of which the first ones were not in shared
 * buffers: reads the pages of those from column `first` on side by side.  What
 * the source has already is left out.
 */
void
zsscan_prefetch_row(ZsRowSource *source, ZsSlot *slot, int first, int natts, bool only_needed)
{
	bool		masked = only_needed && slot->nneeded >= 0;
	zstid		stripe = slot->row - slot->row % ZS_STRIPE_ROWS;
	int			n = masked ? slot->nneeded : natts;
	ZsAttrAhead *ahead = need_ahead(source);
	ZsAttrWish *wishes;
	int			nwishes = 0;

	if (ahead == NULL)
		return;
	Assert(natts <= source->desc->natts && slot->row < ZS_MAX_ROW);
	wishes = palloc_array(ZsAttrWish, Max(n, 1));
	for (int k = 0; k < n; k++)
	{
		int			attno = masked ? slot->needed[k] : k;

		if (attno < first || attno >= natts ||
			TupleDescAttr(source->desc, attno)->attisdropped ||
			(source->by_vector && has_stripe(&source->columns[attno], stripe)))
			continue;
		wishes[nwishes].tag = 0;
		wishes[nwishes].row = slot->row;
		wishes[nwishes].attno = attno + 1;
		wishes[nwishes].single = !source->by_vector || source->sparse;
		nwishes++;
	}
	if (nwishes > 1)
		zsattr_ahead_fetch(ahead, wishes, nwishes);
	pfree(wishes);
}

/*
 * Reads the pages of the columns that the slot needs of all rows, which are in ascending order,
 * side by side.
 */
void
zsscan_prefetch_rows(ZsRowSource *source, const ZsSlot *slot, const zstid *rows, int nrows)
{
	ZsAttrAhead *ahead = need_ahead(source);
	AttrNumber *attnos;
	int			nattnos;
	ZsAttrWish *wishes;
	ZsAttrWish *wish;

	if (ahead == NULL)
		return;
	attnos = palloc_array(AttrNumber, Max(source->desc->natts, 1));
	nattnos = needed_columns(source->desc, slot, attnos);
	wish = wishes = palloc_array(ZsAttrWish, Max(nrows * nattnos, 1));
	for (int i = 0; i < nrows; i++)
	{
		Assert(rows[i] < ZS_MAX_ROW && (i == 0 || rows[i - 1] < rows[i]));
		for (int k = 0; k < nattnos; k++)
			*wish++ = (ZsAttrWish) {.row = rows[i],.attno = attnos[k],.single = true};
	}
	if (wish - wishes > 1)
	{
		zsattr_ahead_counts.farthest = Max(zsattr_ahead_counts.farthest,
										   (uint64) nrows - 1);
		zsattr_ahead_fetch(ahead, wishes, wish - wishes);
	}
	pfree(wishes);
	pfree(attnos);
}

/* ---- blocks ---------------------------------------------------------------- */

/*
 * Blocks that a scan may be ahead of its reader.  Where all pages are read, those of a column are
 * asked for in windows (attr_ahead.c), which have the values of some 200 blocks.  With less than
 * that all columns would be asked for at once, then none until the ring has room again, and the
 * read stream would forget its depth.
 */
#define RING_SIZE		512

/* The same where other processes take blocks from the same source, and may be idle at its end. */
#define RING_SHARED		32

/*
 * So many places get memory together: most bitmaps are of a few blocks, and loops read many of
 * them.
 */
#define RING_GROUP		4

struct ZsScanPrefetch
{
	ZsScanDesc	scan;
	ZsAttrAhead *ahead;			/* NULL: the settings do not want it */
	ZsBlockSource source;
	void	   *arg;
	bool		ended;			/* the source has no more blocks */
	int			nattnos;		/* columns that the reader looks at */
	AttrNumber *attnos;

	/* numbers of blocks, counted from 1; they stand in the ring at number % RING_SIZE */
	uint64		current;		/* where the reader is; 0 = before the first */
	uint64		wished;			/* of this one ... */
	int			wished_columns; /* ... so many columns were asked for */
	uint64		filled;			/* the last one that is there */
	uint64		depth;			/* places of the ring that are used */
	ZsScanBlock *groups[RING_SIZE / RING_GROUP];	/* those behind the first NULL are NULL, too */
};

/* The place of a block that has been in the ring. */
static inline ZsScanBlock *
place_of(ZsScanPrefetch *prefetch, uint64 number)
{
	uint32		place = number % RING_SIZE;

	return &prefetch->groups[place / RING_GROUP][place % RING_GROUP];
}

/* A place for the block behind the last one. */
static ZsScanBlock *
next_place(ZsScanPrefetch *prefetch)
{
	uint64		number = prefetch->filled + 1;
	ZsScanBlock **group = &prefetch->groups[number % RING_SIZE / RING_GROUP];

	if (*group == NULL)
		*group = MemoryContextAlloc(GetMemoryChunkContext(prefetch),
									RING_GROUP * sizeof(ZsScanBlock));
	return place_of(prefetch, number);
}

/* Makes a place in the ring hold the next block; false if there is none. */
static bool
fill_ring(ZsScanPrefetch *prefetch)
{
	Assert(prefetch->filled + 1 - prefetch->current < RING_SIZE);
	if (prefetch->ended)
		return false;
	if (!prefetch->source(prefetch->arg, next_place(prefetch)))
	{
		prefetch->ended = true;
		return false;
	}
	prefetch->filled++;
	return true;
}

/* ZsWishSource: all columns of one block, then those of the next. */
static ZsWishResult
next_wish(void *arg, ZsAttrWish *wish)
{
	ZsScanPrefetch *prefetch = arg;
	const ZsScanBlock *block;

	if (prefetch->wished < prefetch->current)
	{
		prefetch->wished = prefetch->current;
		prefetch->wished_columns = 0;
	}
	if (prefetch->wished_columns == prefetch->nattnos)
	{
		/* the place of the block that the reader has now must not be taken */
		if (prefetch->wished + 1 - prefetch->current >= prefetch->depth)
			return ZS_WISH_LATER;
		if (prefetch->wished == prefetch->filled && !fill_ring(prefetch))
			return ZS_WISH_END;
		prefetch->wished++;
		prefetch->wished_columns = 0;
	}
	Assert(prefetch->wished <= prefetch->filled);
	block = place_of(prefetch, prefetch->wished);
	wish->tag = prefetch->wished;
	wish->row = zs_block_first_row(block->block) + block->first;
	wish->attno = prefetch->attnos[prefetch->wished_columns++];
	wish->single = !block->by_vector;
	return ZS_WISH_GIVEN;
}

/*
 * A ring over the blocks that source gives, for a scan whose rows go to slot (NULL: whose columns
 * are all read).  With maintenance, maintenance_io_concurrency counts.  Memory is the scan's;
 * nothing else has to be freed but by zsscan_prefetch_end().
 */
ZsScanPrefetch *
zsscan_prefetch_begin(ZsScanDesc scan, TupleTableSlot *slot, bool maintenance,
					  ZsBlockSource source, void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(scan->source->context);
	ZsScanPrefetch *prefetch = palloc0_object(ZsScanPrefetch);

	Assert(slot == NULL || TTS_IS_ZEDSTORE(slot));
	prefetch->scan = scan;
	prefetch->source = source;
	prefetch->arg = arg;
	prefetch->depth = scan->rs_base.rs_parallel != NULL ? RING_SHARED : RING_SIZE;
	prefetch->attnos = palloc_array(AttrNumber, Max(scan->source->desc->natts, 1));
	prefetch->nattnos = needed_columns(scan->source->desc, (ZsSlot *) slot, prefetch->attnos);
	if (prefetch->nattnos > 0 && zsbase_ahead_is_wanted(scan->rs_base.rs_rd, maintenance))
	{
		prefetch->ahead = zsattr_ahead_begin(scan->rs_base.rs_rd, scan->source->desc, maintenance,
											 scan->source->strategy);
		zsattr_ahead_count_io(prefetch->ahead, scan->source->io);
		zsattr_ahead_start(prefetch->ahead, next_wish, prefetch);
	}
	MemoryContextSwitchTo(old);
	return prefetch;
}

/*
 * The next block, whose pages have been asked for; NULL at the end.  Valid until the next call.
 */
const ZsScanBlock *
zsscan_prefetch_next(ZsScanPrefetch *prefetch)
{
	if (prefetch->current == prefetch->filled && !fill_ring(prefetch))
		return NULL;
	prefetch->current++;
	if (prefetch->ahead != NULL)
		zsattr_ahead_reach(prefetch->ahead, prefetch->current);
	return place_of(prefetch, prefetch->current);
}

/* Gives back all pins and the memory. */
void
zsscan_prefetch_end(ZsScanPrefetch *prefetch)
{
	if (prefetch->ahead != NULL)
		zsattr_ahead_end(prefetch->ahead);
	for (int i = 0; i < RING_SIZE / RING_GROUP && prefetch->groups[i] != NULL; i++)
		pfree(prefetch->groups[i]);
	pfree(prefetch->attnos);
	pfree(prefetch);
}
