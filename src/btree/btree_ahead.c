/*-------------------------------------------------------------------------
 *
 * btree_ahead.c
 *	  Look-ahead over the bottom pages of a tree, for who visits them from left to right.
 *
 * A visitor goes from key to key: it searches the page that holds one, and goes on with the key
 * where that page ends.  Each search may have to wait for the disk.  The level above knows the
 * pages to come:
 *
 *		inner page   [leaf 5][leaf 6][leaf 7][leaf 8] ...
 *						^				 '-- callback: next page to read
 *						'-- visitor
 *
 * A read stream brings them to shared buffers.  A buffer is released when the visitor has come to
 * it; he finds the page by a search of his own, and verifies it.  So a page that was split, merged
 * or moved meanwhile is merely slow.  When the visitor leaves out what was asked for, or turns
 * back, the stream begins anew where he is.
 *
 * Locks: an inner page's share lock inside the callback, for a copy.  Pins: those of the read
 * stream; one delivered buffer between calls.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_ahead.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/read_stream.h"

#include "btree_internal.h"

/* A visitor that has gone to the next page so many times goes on like that. */
#define STEPS_BEFORE_AHEAD	2

struct ZsBottomAhead
{
	Relation	rel;
	uint16		treeno;
	bool		skip_frozen;
	uint64		end;			/* keys from here on are of no interest */
	ReadStream *stream;
	bool		begun;			/* reached is valid */
	bool		exhausted;		/* the stream has come to its end */
	uint64		reached;		/* where the visitor is */
	uint64		next;			/* the page that holds this key is asked for next */
	Buffer		pending;		/* delivered, of a page behind the visitor's */
	uint64		pending_key;	/* its first key */
	BlockNumber file_blocks;	/* file length seen last */
	bool		inner_valid;
	PGAlignedBlock inner;		/* copy of a page above the bottom */
};

/* Makes inner the page that has the downlink for ahead->next; false if there is none. */
static bool
load_inner(ZsBottomAhead *ahead)
{
	Page		page = ahead->inner.data;

	if (ahead->inner_valid && ahead->next >= ZsPageGetOpaque(page)->lokey &&
		ahead->next < ZsPageGetOpaque(page)->hikey)
		return true;
	ahead->inner_valid = zsbtree_copy_page(ahead->rel, ahead->treeno,
										   zsbtree_bottom_level(ahead->treeno) + 1, ahead->next,
										   page, NULL);
	return ahead->inner_valid;
}

/* Does the block lie in the file?  If not, the visitor says what is wrong. */
static bool
is_in_file(ZsBottomAhead *ahead, BlockNumber blkno)
{
	if (blkno >= ahead->file_blocks)
		ahead->file_blocks = zspage_physical_blocks(ahead->rel);
	return blkno < ahead->file_blocks;
}

/* ReadStreamBlockNumberCB; for each buffer the first key of the page. */
static BlockNumber
next_block(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	ZsBottomAhead *ahead = callback_private_data;
	Page		page = ahead->inner.data;

	while (ahead->next < ahead->end && load_inner(ahead))
	{
		const ZsInnerItem *items = zsbtree_items(page);
		int			i = zsbtree_find_item(page, ahead->next);
		uint64		next = i + 1 < zsbtree_nitems(page) ? items[i + 1].lokey :
			ZsPageGetOpaque(page)->hikey;

		Assert(next > ahead->next);
		ahead->next = next;
		if (ahead->skip_frozen && (items[i].flags & ZS_INNERF_ALL_FROZEN) != 0)
			continue;
		if (!is_in_file(ahead, items[i].child))
			break;
		*(uint64 *) per_buffer_data = items[i].lokey;
		return items[i].child;
	}
	return InvalidBlockNumber;
}

/*
 * Look-ahead for a visitor of the pages with keys up to end; NULL if the settings do not want it.
 * With maintenance, maintenance_io_concurrency counts.  skip_frozen: he leaves out pages whose
 * downlinks say that all is frozen.  strategy may be NULL.  Memory comes from the current context.
 * No page is read yet.
 */
ZsBottomAhead *
zsbtree_ahead_begin(Relation rel, uint16 treeno, uint64 end, bool maintenance, bool skip_frozen,
					BufferAccessStrategy strategy)
{
	ZsBottomAhead *ahead;

	if (!zsbase_ahead_is_wanted(rel, maintenance))
		return NULL;
	ahead = palloc_object(ZsBottomAhead);
	memset(ahead, 0, offsetof(ZsBottomAhead, inner));
	ahead->rel = rel;
	ahead->treeno = treeno;
	ahead->end = end;
	ahead->skip_frozen = skip_frozen;
	ahead->pending = InvalidBuffer;
	ahead->stream = read_stream_begin_relation(maintenance ? READ_STREAM_MAINTENANCE :
											   READ_STREAM_DEFAULT, strategy, rel, MAIN_FORKNUM,
											   next_block, ahead, sizeof(uint64));
	return ahead;
}

/* Gives back all pins.  The visitor may go on, which begins look-ahead anew. */
void
zsbtree_ahead_rest(ZsBottomAhead *ahead)
{
	if (BufferIsValid(ahead->pending))
		ReleaseBuffer(ahead->pending);
	ahead->pending = InvalidBuffer;
	read_stream_reset(ahead->stream);
	ahead->begun = false;
	ahead->inner_valid = false;
}

/*
 * The visitor is about to search the page that holds key: waits until it was read.  Locks none of
 * this tree's pages on entry or return.  Errors: those of reading.
 */
void
zsbtree_ahead_reach(ZsBottomAhead *ahead, uint64 key)
{
	if (ahead->begun && (key < ahead->reached || key > ahead->next))
		zsbtree_ahead_rest(ahead);
	if (!ahead->begun)
	{
		ahead->begun = true;
		ahead->exhausted = false;
		ahead->next = key;
	}
	ahead->reached = key;
	while (!ahead->exhausted)
	{
		void	   *first_key;

		CHECK_FOR_INTERRUPTS();
		if (!BufferIsValid(ahead->pending))
		{
			ahead->pending = read_stream_next_buffer(ahead->stream, &first_key);
			ahead->exhausted = !BufferIsValid(ahead->pending);
			if (ahead->exhausted)
				return;
			ahead->pending_key = *(uint64 *) first_key;
		}
		if (ahead->pending_key > key)
			return;
		ReleaseBuffer(ahead->pending);
		ahead->pending = InvalidBuffer;
	}
}

/* Gives back all pins and the memory. */
void
zsbtree_ahead_end(ZsBottomAhead *ahead)
{
	zsbtree_ahead_rest(ahead);
	read_stream_end(ahead->stream);
	pfree(ahead);
}

/* ---- visitors that come to pages side by side, or do not --------------------------- */

/*
 * The visitor is about to search the page that holds key; follows: it is next to what was visited
 * last.  If that was so before, waits until the page was read, with those behind it on their way:
 * true if there is look-ahead now, and zsbtree_ahead_reach() may be called.  Memory comes from the
 * context, once.  Locks none of this tree's pages on entry or return.  Errors: those of reading.
 */
bool
zsbtree_visit(ZsBottomVisitor *visitor, Relation rel, uint16 treeno, uint64 key, bool follows,
			  BufferAccessStrategy strategy, MemoryContext context)
{
	if (!follows)
	{
		zsbtree_visitor_rest(visitor);
		return false;
	}
	if (++visitor->nfollowing < STEPS_BEFORE_AHEAD)
		return false;
	if (!visitor->asked)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		visitor->asked = true;
		visitor->ahead = zsbtree_ahead_begin(rel, treeno, ZS_MAX_ROW, false, false, strategy);
		if (visitor->ahead != NULL)
			zs_stream_count_io(visitor->ahead->stream, visitor->io);
		MemoryContextSwitchTo(old);
	}
	if (visitor->ahead == NULL)
		return false;
	zsbtree_ahead_reach(visitor->ahead, key);
	return true;
}

/* Gives back all pins: the visitor goes on somewhere else, or not at all. */
void
zsbtree_visitor_rest(ZsBottomVisitor *visitor)
{
	if (visitor->nfollowing > 0 && visitor->ahead != NULL)
		zsbtree_ahead_rest(visitor->ahead);
	visitor->nfollowing = 0;
}

/* The same for good, with the memory. */
void
zsbtree_visitor_end(ZsBottomVisitor *visitor)
{
	if (visitor->ahead != NULL)
		zsbtree_ahead_end(visitor->ahead);
	visitor->ahead = NULL;
}
