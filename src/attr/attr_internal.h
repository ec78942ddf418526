/*-------------------------------------------------------------------------
 *
 * attr_internal.h
 *	  Private to src/attr.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ATTR_INTERNAL_H
#define ATTR_INTERNAL_H

#include "postgres.h"

#include "access/xlog_internal.h"
#include "lib/ilist.h"
#include "storage/bufmgr.h"
#include "utils/palloc.h"
#include "utils/rel.h"

#include "zs_attr.h"
#include "zs_page.h"

/* ---- segments that are being written (attr_write.c) ---- */

/* A segment that is encoded and not linked yet. */
typedef struct ZsSegmentDraft
{
	AttrNumber	attno;
	ZsSegmentItem item;
	ZsCodecBuf	payload;
} ZsSegmentDraft;

/* Memory is that of the context which was current at begin. */
typedef struct ZsDrafts
{
	Relation	rel;
	ZsAllocator alloc;
	ZsEncoder  *encoder;
	ZsEncoder	own;			/* unless the caller has one */
	ZsSegmentDraft *drafts;
	int			n;
	int			max;
	ZsAllocAhead ahead;			/* see zsattr_write_segments() */
	ZsAttrNumberRows number;	/* see zsattr_write_segments() */
	void	   *number_arg;
} ZsDrafts;

/* Segments that are linked in one step. */
#define ZS_REWRITE_MAX_SEGMENTS		16

/* encoder: NULL, or one that the caller goes on with. */
extern void zsattr_drafts_begin(ZsDrafts *drafts, Relation rel, ZsEncoder *encoder);

/*
 * Encodes rows [first_row, first_row + nrows) of a column, which start at row `done` of its input,
 * as one draft or a few.
 */
extern void zsattr_drafts_add(ZsDrafts *drafts, ZsAttrColumn *column, zstid first_row,
							  uint32 done, uint32 nrows);

/* Gives the drafts their blocks and writes their pages; those of one column must be neighbours. */
extern void zsattr_drafts_write(ZsDrafts *drafts, BufferAccessStrategy strategy);

/* ---- page images (attr_batch.c) ---------------------------------------- */

/*
 * Collects finished pages, so that each WAL record of images is as full as it
 * can be whichever column or value the pages belong to.
 */
typedef struct ZsPageBatch
{
	Relation	rel;
	BufferAccessStrategy strategy;
	int			npages;
	BlockNumber blocks[XLR_MAX_BLOCK_ID];
	char	   *images[XLR_MAX_BLOCK_ID];
	char	   *memory;
} ZsPageBatch;

extern void zsattr_batch_begin(ZsPageBatch *batch, Relation rel, BufferAccessStrategy strategy);

/*
 * Adds a page to be written to blkno and returns its image, zeroed behind the
 * page header; the caller fills it in before the next call.
 */
extern Page zsattr_batch_page(ZsPageBatch *batch, BlockNumber blkno);

/*
 * Same for page `position` of a segment, whose special space is filled in; the payload is the
 * caller's.
 */
extern Page zsattr_batch_segment_page(ZsPageBatch *batch, AttrNumber attno,
									  const ZsSegmentItem *item, uint32 position);

/* Writes what is left and frees the memory. */
extern void zsattr_batch_end(ZsPageBatch *batch);

/* ---- segment index pages (attr_index.c) -------------------------------- */

static inline void
zsattr_index_set_count(Page page, int nitems)
{
	((PageHeader) page)->pd_lower =
		MAXALIGN(SizeOfPageHeaderData) + nitems * sizeof(ZsSegmentItem);
}

static inline bool
zsattr_item_covers(const ZsSegmentItem *item, zstid row)
{
	/* wraps around when row lies before the segment */
	return row - item->first_row < item->nrows;
}

/* How many of the items start at or before row. */
extern int	zsattr_index_position(const ZsSegmentItem *items, int nitems, zstid row);

/*
 * Puts a segment into its column's tree.  The caller holds no page lock.
 * An overlap with another segment is an error (corruption).
 */
extern void zsattr_segment_link(Relation rel, AttrNumber attno, const ZsSegmentItem *item);

/*
 * Puts nitems items in the place of nold ones from position on; no WAL, no checks.  For redo, too.
 */
extern void zsattr_index_replace(Page page, int position, int nold, const ZsSegmentItem *items,
								 int nitems);

/*
 * Takes the segments that lie in [first, end) out of the tree, and puts items (in order, within
 * that range) in their place, in one WAL record.  No segment may lie in the range with a part of
 * its rows.  The old ones are copied to old, which has room for ZS_SEGMENT_INDEX_CAPACITY; their
 * runs are the caller's to free.  Returns false, with nothing changed, if the range lies on two
 * index pages.
 */
extern bool zsattr_segments_replace(Relation rel, AttrNumber attno, zstid first, zstid end,
									const ZsSegmentItem *items, int nitems,
									ZsSegmentItem *old, int *nold);

/*
 * Puts another item, which differs in where the segment lies only, in the place of old.  False,
 * with nothing changed, if old is not in the tree any more.
 */
extern bool zsattr_segment_repoint(Relation rel, AttrNumber attno, const ZsSegmentItem *old,
								   const ZsSegmentItem *item);

/*
 * Copies the segment index page that holds row to copy (BLCKSZ bytes) and
 * checks it.  False when the tree is empty.
 */
extern bool zsattr_index_copy(Relation rel, AttrNumber attno, zstid row, Page copy);

/* ---- segments of one value (attr_uniform.c) ---------------------------- */

/*
 * Makes the item, which is filled in but for start, that of a segment without pages if its payload
 * is one that allows for it; info is what the payload says.  Else it stays as it is.
 */
extern bool zsattr_uniform_set(ZsSegmentItem *item, const uint8 *payload,
							   const ZsSegmentInfo *info);

/* What is wrong with such an item, which has a sane number of rows; NULL = nothing. */
extern const char *zsattr_uniform_check(const ZsSegmentItem *item);

/* Makes payload bytes [from, to), not none, of such a segment. */
extern void zsattr_uniform_read(const ZsSegmentItem *item, uint32 from, uint32 to, uint8 *dst);

/* ---- payload pages (attr_payload.c) ------------------------------------ */

/* Bytes of payload on page `position` of a segment. */
static inline uint32
zsattr_page_length(const ZsSegmentItem *item, uint32 position)
{
	uint32		start = position * (uint32) ZS_PAGE_CAPACITY;

	Assert(start < item->payload_size);
	return Min((uint32) ZS_PAGE_CAPACITY, item->payload_size - start);
}

/*
 * Copies payload bytes [from, to) of page `position`, counted from the page's
 * first, out of buf, which is pinned and not locked.  False when the page is
 * not that page any more.
 */
extern bool zsattr_page_copy(Relation rel, Buffer buf, uint16 treeno, const ZsSegmentItem *item,
							 uint32 position, uint32 from, uint32 to, uint8 *dst);

/* Pins a page of a segment; InvalidBuffer when the file does not reach that far any more. */
extern Buffer zsattr_page_pin(Relation rel, const ZsSegmentItem *item, uint32 position,
							  BufferAccessStrategy strategy);

/* As zsattr_page_copy(), of a page that is read first. */
extern bool zsattr_page_read(Relation rel, uint16 treeno, const ZsSegmentItem *item,
							 uint32 position, uint32 from, uint32 to,
							 BufferAccessStrategy strategy, uint8 *dst);

/* ---- overflow values (attr_pack.c) ------------------------------------- */

#define ZS_OVERFLOW_CHUNK			(1024 * 1024)
#define ZS_OVERFLOW_CHUNK_HEADER	4
#define ZS_OVERFLOW_CHUNK_PLAIN		0x80000000

/*
 * Compresses a value, palloc'd in the current context; NULL when that saves
 * too little.
 */
extern char *zsattr_overflow_pack(const char *data, Size size, ZsCompression compression,
								  int level, Size *packed_size);

/*
 * Decompresses one chunk of len bytes to exactly size bytes; compression is
 * ZS_OVERFLOW_*.  NULL or what is wrong.
 */
extern const char *zsattr_overflow_unpack_chunk(uint32 compression, const char *src, Size len,
												char *dst, Size size);

/* ---- look-ahead (attr_stream.c) ---------------------------------------- */

typedef struct ZsAttrStream ZsAttrStream;

/* NULL when look-ahead is switched off or too many streams are open. */
extern ZsAttrStream *zsattr_stream_begin(Relation rel, AttrNumber attno, bool maintenance,
										 BufferAccessStrategy strategy);

/* Takes turns with other scans; scan_end as for zsattr_reader_take_turns(). */
extern void zsattr_stream_take_turns(ZsAttrStream *stream, zstid scan_end);

/* Look ahead over the segments of [start, end), and what ranges leads to: see zs_attr.h. */
extern void zsattr_stream_range(ZsAttrStream *stream, zstid start, zstid end,
								const ZsRowRanges *ranges);

/*
 * Page `position` of the segment, pinned, when the stream has it at hand or
 * delivers it next; InvalidBuffer when the caller has to read it himself.
 */
extern Buffer zsattr_stream_page(ZsAttrStream *stream, const ZsSegmentItem *item,
								 uint32 position);

extern void zsattr_stream_end(ZsAttrStream *stream);

/* ---- heads of segments (attr_head.c) ----------------------------------- */

/*
 * What decoding needs beside the vector itself.
 */
typedef struct ZsSegmentHead
{
	ZsSegmentItem item;
	ZsSegmentInfo info;
	bool		shared_open;	/* shared is parsed */
	ZsSharedState shared;
	Size		shared_size;	/* as far as it counts */
	uint64		shared_serial;	/* no other one of this process has had it */

	/* of heads in the cache */
	bool		cached;
	bool		by_row;			/* zsattr_head_find() may return it */
	int			nusers;			/* readers that have it open */
	Size		size;			/* bytes it counts for */
	Oid			relid;
	RelFileLocatorBackend file;
	uint16		treeno;
	struct ZsSegmentHead *next; /* in its bucket */
	struct ZsSegmentHead *next_by_row;	/* the same, while by_row */
	dlist_node	lru;
	struct ZsKeptBody **bodies; /* of its vectors, where they are kept; NULL: of none */
} ZsSegmentHead;

/*
 * The head of a segment that covers row, in use by the caller, or NULL when none is in the cache.
 * The tree may have another segment in its place meanwhile: while its pages are what they
 * were, its values are right all the same; else the caller learns it from them.
 */
extern ZsSegmentHead *zsattr_head_find(Relation rel, uint16 treeno, zstid row);

/*
 * What is wrong with a head that was parsed: it has to agree with its item and with the column's
 * type.  NULL = nothing.
 */
extern const char *zsattr_head_check(const ZsSegmentHead *head, const ZsAttrKind *kind);

/* The head's segment is gone from the tree: zsattr_head_find() returns it no more. */
extern void zsattr_head_gone(ZsSegmentHead *head);

/* The head of exactly this segment, in use by the caller, or NULL. */
extern ZsSegmentHead *zsattr_head_lookup(Relation rel, uint16 treeno, const ZsSegmentItem *item);

/* Enters a copy of a head (without shared area); in use by the caller. */
extern ZsSegmentHead *zsattr_head_enter(Relation rel, uint16 treeno, const ZsSegmentHead *head);

/* The head's shared area may have more memory than before. */
extern void zsattr_head_grown(ZsSegmentHead *head);

/* The caller does not use the head any more. */
extern void zsattr_head_release(ZsSegmentHead *head);

/* ---- vectors without compression, for single values (attr_body.c) ------ */

/* The bytes of a vector of a head in the cache, if they are kept, else NULL. */
extern const uint8 *zsattr_body_find(ZsSegmentHead *head, int vecno, size_t *len);

/* Are they to be kept, since the vector was looked at lately?  It is now. */
extern bool zsattr_body_wanted(const ZsSegmentHead *head, int vecno);

/* They are these; keeps a copy. */
extern void zsattr_body_keep(ZsSegmentHead *head, int vecno, const uint8 *bytes, size_t len);

/* The head goes. */
extern void zsattr_bodies_drop(ZsSegmentHead *head);

/* ---- working memory of a reader (attr_space.c) ------------------------- */

typedef struct ZsReaderSpace
{
	MemoryContext context;		/* of this struct and what hangs on it */
	ZsAllocator alloc;
	struct ZsReaderSpace *next; /* while it is kept */
	struct ZsAttrReader *reader;	/* the struct of its user */
	char	   *index;			/* room for an index page, or NULL */
	uint8	   *window;			/* room for payload bytes */
	uint32		window_size;
	char	   *layout_mem;		/* room for reshaped values */
	Size		layout_size;
	ZsSegmentHead own;			/* head of a segment that is not in the cache */
	ZsVectorOut vec;
} ZsReaderSpace;

extern ZsReaderSpace *zsattr_space_get(void);
extern void zsattr_space_put(ZsReaderSpace *space, bool sound);

/* ---- open segments (attr_segment.c) ------------------------------------ */

typedef struct ZsReaderGuard ZsReaderGuard;

struct ZsAttrReader
{
	Relation	rel;
	AttrNumber	attno;
	uint16		treeno;
	int			flags;
	BufferAccessStrategy strategy;
	ZsAttrKind	kind;
	MemoryContext owner;		/* the reader does not outlive it */
	ZsReaderGuard *guard;		/* in owner */
	ZsReaderSpace *space;		/* of which this struct is a part */

	bool		index_valid;	/* space->index is a copy of an index page */
	ZsSegmentHead *head;		/* segment that is open, or NULL */
	uint32		window_start;	/* payload bytes of it that are in the window */
	uint32		window_len;
	zstid		vec_stripe;		/* decoded in space->vec, in some forms, or
								 * ZS_INVALID_ROW; of the open segment */
	uint32		vec_lacks;		/* forms that it has not got */
	zstid		value_row;		/* of the value decoded last, if it is still in
								 * space->vec */
	zstid		value_stripe;	/* of the single value decoded last */
	int			nvalues;		/* in a row in that stripe */
	ZsReadCounts *counts;		/* for the user of the reader */
	ZsReadCounts own_counts;	/* if that did not give any */

	MemoryContext value_context;	/* overflow value returned last */

	ZsAttrStream *stream;
	MemoryContext stream_context;	/* of the stream, or NULL */
};

/* Bytes of this segment do not make sense. */
ZS_NORETURN extern void zsattr_segment_corrupted(ZsAttrReader *reader, const ZsSegmentItem *item,
												 const char *reason);

/* Closes the open segment, if any. */
extern void zsattr_segment_close(ZsAttrReader *reader);

/* zsattr_segment_find() for a row that the open segment does not cover. */
extern ZsSegmentHead *zsattr_segment_load(ZsAttrReader *reader, zstid row, bool scan);

/*
 * The segment that covers row, opened if need be; NULL if there is none.
 * With scan, neighbouring rows are expected to follow: index page and payload
 * pages are kept for them.  Without, its head is shared through the cache.
 */
static inline ZsSegmentHead *
zsattr_segment_find(ZsAttrReader *reader, zstid row, bool scan)
{
	ZsSegmentHead *head = reader->head;

	if (likely(head != NULL && zsattr_item_covers(&head->item, row)))
		return head;
	return zsattr_segment_load(reader, row, scan);
}

/*
 * The pages of the open segment are gone: opens what took its place for row,
 * if anything did.
 */
extern ZsSegmentHead *zsattr_segment_reload(ZsAttrReader *reader, zstid row, bool scan);

/*
 * Encoded bytes of a vector of the open segment (NULL when it is all null),
 * after the shared area was opened if the vector needs it.  False when pages
 * are gone.
 */
extern bool zsattr_segment_vector(ZsAttrReader *reader, int vecno, const uint8 **bytes);

/* The same, but only those bytes are right that decoding row idx of the vector takes. */
extern bool zsattr_segment_value(ZsAttrReader *reader, int vecno, uint32 idx, const uint8 **bytes);

/* ---- values as PostgreSQL wants them (attr_reshape.c) ----------------------- */

/* Must values be reshaped after decoding? */
static inline bool
zsattr_needs_reshape(const ZsAttrKind *kind)
{
	return kind->kind >= ZS_KIND_NUMERIC &&
		(kind->layout > ZS_LAYOUT_PACKED ||
		 (kind->layout == ZS_LAYOUT_PACKED && kind->align > 4));
}

extern void zsattr_reshape_values(ZsAttrReader *reader, ZsVectorOut *vec, uint32 first,
								  uint32 last);

#endif							/* ATTR_INTERNAL_H */
