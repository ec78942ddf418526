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

extern void zsattr_drafts_begin(ZsDrafts *drafts, Relation rel, ZsEncoder *encoder);
extern void zsattr_drafts_add(ZsDrafts *drafts, ZsAttrColumn *column, zstid first_row,
							  uint32 done, uint32 nrows);
extern void zsattr_drafts_write(ZsDrafts *drafts, BufferAccessStrategy strategy);

/* ---- page images (attr_images.c) ---------------------------------------- */

/*
 * Collects finished pages, so that each WAL record of images is as full as it
 * can be whichever column or value the pages belong to.
 */
typedef struct ZsPageImages
{
	Relation	rel;
	BufferAccessStrategy strategy;
	int			npages;
	BlockNumber blocks[XLR_MAX_BLOCK_ID];
	char	   *pages[XLR_MAX_BLOCK_ID];
	char	   *memory;
} ZsPageImages;

extern void zsattr_images_begin(ZsPageImages *images, Relation rel, BufferAccessStrategy strategy);
extern Page zsattr_images_page(ZsPageImages *images, BlockNumber blkno);
extern Page zsattr_images_segment_page(ZsPageImages *images, AttrNumber attno,
									   const ZsSegmentItem *item, uint32 position);
extern void zsattr_images_end(ZsPageImages *images);

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

extern int	zsattr_index_position(const ZsSegmentItem *items, int nitems, zstid row);
extern void zsattr_segment_link(Relation rel, AttrNumber attno, const ZsSegmentItem *item);

/*
 * Puts nitems items in the place of nold ones from position on; no WAL, no checks.  For redo, too.
 */
extern void zsattr_index_replace(Page page, int position, int nold, const ZsSegmentItem *items,
								 int nitems);
extern bool zsattr_segments_replace(Relation rel, AttrNumber attno, zstid first, zstid end,
									const ZsSegmentItem *items, int nitems,
									ZsSegmentItem *old, int *nold);
extern bool zsattr_segment_repoint(Relation rel, AttrNumber attno, const ZsSegmentItem *old,
								   const ZsSegmentItem *item);
extern bool zsattr_index_copy(Relation rel, AttrNumber attno, zstid row, Page copy);

/* ---- segments of one value (attr_uniform.c) ---------------------------- */

extern bool zsattr_uniform_set(ZsSegmentItem *item, const uint8 *payload,
							   const ZsSegmentInfo *info);
extern const char *zsattr_uniform_check(const ZsSegmentItem *item);
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

extern bool zsattr_page_copy(Relation rel, Buffer buf, uint16 treeno, const ZsSegmentItem *item,
							 uint32 position, uint32 from, uint32 to, uint8 *dst);
extern Buffer zsattr_page_pin(Relation rel, const ZsSegmentItem *item, uint32 position,
							  BufferAccessStrategy strategy);
extern bool zsattr_page_read(Relation rel, uint16 treeno, const ZsSegmentItem *item,
							 uint32 position, uint32 from, uint32 to,
							 BufferAccessStrategy strategy, uint8 *dst);

/* ---- overflow values (attr_pack.c) ------------------------------------- */

#define ZS_OVERFLOW_CHUNK			(1024 * 1024)
#define ZS_OVERFLOW_CHUNK_HEADER	4
#define ZS_OVERFLOW_CHUNK_PLAIN		0x80000000

extern char *zsattr_overflow_pack(const char *data, Size size, ZsCompression compression,
								  int level, Size *packed_size);
extern const char *zsattr_overflow_unpack_chunk(uint32 compression, const char *src, Size len,
												char *dst, Size size);

/* ---- look-ahead (attr_stream.c) ---------------------------------------- */

typedef struct ZsAttrStream ZsAttrStream;

/* NULL when look-ahead is switched off or too many streams are open. */
extern ZsAttrStream *zsattr_stream_begin(Relation rel, AttrNumber attno, bool maintenance,
										 BufferAccessStrategy strategy, ZsIoCounts *io,
										 const ZsStripePicks *picks);
extern void zsattr_stream_take_turns(ZsAttrStream *stream, zstid scan_end);
extern void zsattr_stream_range(ZsAttrStream *stream, zstid start, zstid end,
								const ZsRowRanges *ranges);
extern Buffer zsattr_stream_page(ZsAttrStream *stream, const ZsSegmentItem *item,
								 uint32 position);

extern void zsattr_stream_end(ZsAttrStream *stream);

/* ---- what look-ahead leaves out (attr_pick.c) -------------------------- */

/* Pages [from, to) of a segment. */
typedef struct ZsPageRun
{
	uint32		from;
	uint32		to;
} ZsPageRun;

/* In ascending order: of a head, with what vectors share, and of vectors. */
typedef struct ZsPageRuns
{
	int			n;				/* 0: all pages */
	int			at;				/* those in front of it have been read */
	ZsPageRun	runs[ZS_SEGMENT_VECTORS + 1];
} ZsPageRuns;

extern bool zsattr_pick_pages(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
							  const ZsStripePicks *picks, zstid from, zstid until,
							  BufferAccessStrategy strategy, ZsPageRuns *runs);
extern bool zsattr_runs_seek(ZsPageRuns *runs, uint32 *page);

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

extern ZsSegmentHead *zsattr_head_find(Relation rel, uint16 treeno, zstid row);
extern const char *zsattr_head_check(const ZsSegmentHead *head, const ZsAttrKind *kind);
extern void zsattr_head_gone(ZsSegmentHead *head);
extern ZsSegmentHead *zsattr_head_lookup(Relation rel, uint16 treeno, const ZsSegmentItem *item);
extern ZsSegmentHead *zsattr_head_enter(Relation rel, uint16 treeno, const ZsSegmentHead *head);
extern void zsattr_head_grown(ZsSegmentHead *head);
extern void zsattr_head_release(ZsSegmentHead *head);

/* ---- vectors without compression, for single values (attr_body.c) ------ */

extern const uint8 *zsattr_body_find(ZsSegmentHead *head, int vecno, size_t *len);
extern bool zsattr_body_wanted(const ZsSegmentHead *head, int vecno);
extern void zsattr_body_keep(ZsSegmentHead *head, int vecno, const uint8 *bytes, size_t len);
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
	ZsIoCounts *io;				/* the same of look-ahead; NULL: nobody asks */

	MemoryContext value_context;	/* overflow value returned last */

	ZsAttrStream *stream;
	MemoryContext stream_context;	/* of the stream, or NULL */
	const ZsStripePicks *picks; /* what the stream leaves out; NULL: nothing */
};

/* Bytes of this segment do not make sense. */
ZS_NORETURN extern void zsattr_segment_corrupted(ZsAttrReader *reader, const ZsSegmentItem *item,
												 const char *reason);
extern void zsattr_segment_close(ZsAttrReader *reader);
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

extern ZsSegmentHead *zsattr_segment_reload(ZsAttrReader *reader, zstid row, bool scan);
extern bool zsattr_segment_vector(ZsAttrReader *reader, int vecno, const uint8 **bytes);
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
