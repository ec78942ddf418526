/*-------------------------------------------------------------------------
 *
 * zs_attr.h
 *	  Attribute trees: segments of vectors, and overflow values.
 *
 * Every segment starts at a stripe boundary, so a stripe has at most one
 * segment per attribute, and vector k of a segment is the stripe that starts
 * at first_row + k * 1024.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_attr.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_ATTR_H
#define ZS_ATTR_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "access/xlogreader.h"
#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "storage/read_stream.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_codec.h"
#include "zs_compat.h"
#include "zs_format.h"

/* ---- how a type maps to codec kinds (attr_kind.c) ---------------------- */

/* What the Datum of a BYTES or NUMERIC value looks like. */
typedef enum ZsValueLayout
{
	ZS_LAYOUT_NONE = 0,			/* other kinds */
	ZS_LAYOUT_PACKED,			/* varlena, short ones with a 1-byte header */
	ZS_LAYOUT_UNPACKED,			/* varlena, always with a 4-byte header (types
								 * with storage "plain", e.g. int2vector) */
	ZS_LAYOUT_CSTRING,			/* zero-terminated; the zero is stored */
} ZsValueLayout;

typedef struct ZsAttrKind
{
	ZsValueKind kind;
	ZsValueLayout layout;
	int			width;			/* attlen for by-value and fixed types */
	uint8		align;			/* bytes */
	bool		is_unsigned;	/* by-value type ordered as unsigned (oid) */
	bool		zone_ordered;	/* zone map order is the type's btree order
								 * under its default opclass and this
								 * collation */
	bool		zone_equal;		/* what the type's = calls equal has one image, or for char(n)
								 * those of the string and blanks behind it; of strings only
								 * with a deterministic collation */
} ZsAttrKind;

extern void zsattr_kind(Form_pg_attribute att, ZsAttrKind *kind);
extern Form_pg_attribute zsattr_form(TupleDesc desc, AttrNumber attno);

/* Does the codec take the type's values as integers? */
static inline bool
zsattr_kind_is_by_value(const ZsAttrKind *kind)
{
	return kind->kind == ZS_KIND_INT || kind->kind == ZS_KIND_FLOAT4 ||
		kind->kind == ZS_KIND_FLOAT8;
}

/* By-value datum as the codec wants it: sign-extended from the type's width. */
static pg_attribute_always_inline int64
zsattr_value_to_int(Datum value, int16 attlen)
{
	switch (attlen)
	{
		case 1:
			return (int8) DatumGetChar(value);
		case 2:
			return DatumGetInt16(value);
		case 4:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* ---- writing (attr_write.c) -------------------------------------------- */

/* What stands in ZsColumnInput.isnull. */
#define ZS_NULL_VALUE		1	/* the row's value is NULL */
#define ZS_NULL_HOLE		2	/* there is no such row */

typedef struct ZsAttrColumn
{
	AttrNumber	attno;
	int			natts;			/* attributes that the rows have at least; 0 =
								 * as many as the table */
	ZsColumnInput input;		/* input.nrows equal for all columns; values
								 * with isext set are 16 bytes, a
								 * ZsOverflowPointer; ZS_XMIN_ATTNO: holes
								 * have values */
	ZsCompression compression;
	int			compression_level;
	uint32		stripe_bytes;	/* in and out: bytes a stripe takes about; 0: not known, none */
	ZsColumnChoice *choice;		/* in and out: what the last segment was written by; or NULL */
} ZsAttrColumn;

/* The most rows that one call of zsattr_write_segments() takes. */
#define ZS_ATTR_WRITE_ROWS		(4 * ZS_SEGMENT_ROWS)

extern uint32 zsattr_expected_waste(uint32 nrows, uint32 stripe_bytes);

/*
 * Segments whose pages are written, in the order in which they are to be linked.
 */
typedef struct ZsAttrLink
{
	AttrNumber	attno;
	ZsSegmentItem item;
} ZsAttrLink;

typedef struct ZsAttrLinks
{
	int			n;
	int			next;			/* those before are linked */
	ZsAttrLink	links[FLEXIBLE_ARRAY_MEMBER];
} ZsAttrLinks;

/* The number of the first row, asked for when its blocks are allocated. */
typedef zstid (*ZsAttrNumberRows) (void *arg);

extern ZsAttrLinks *zsattr_write_segments(Relation rel, zstid first_row, uint32 nrows,
										  int natts, ZsAttrColumn *columns, int ncolumns,
										  bool last, ZsAttrNumberRows number, void *arg,
										  BufferAccessStrategy strategy);
extern void zsattr_link_segments(Relation rel, ZsAttrLinks *links);

/* ---- for and with the codec (attr_write.c) ---- */

extern void zsattr_allocator(MemoryContext context, ZsAllocator *alloc);
extern void zsattr_encode_column(Relation rel, zstid first_row, ZsEncoder *encoder,
								 const ZsAttrColumn *column, ZsCodecBuf *payload,
								 ZsSegmentInfo *info, ZsSegmentItem *item);

/* ---- replacing (attr_replace.c) ---- */

/*
 * One column of a rewrite: its rows from first_row on, column.input.nrows of them, are written
 * anew, and all segments that lie there go away.  No segment may lie there with a part of its rows.
 */
typedef struct ZsAttrRewrite
{
	ZsAttrColumn column;
	zstid		first_row;
	bool		done;			/* out: false if the tree changed meanwhile in a way
								 * that needs another attempt; nothing is changed */
} ZsAttrRewrite;

/* Called with a segment that has left the tree, before its blocks are freed. */
typedef void (*ZsSegmentVisitor) (AttrNumber attno, const ZsSegmentItem *item, void *arg);
extern void zsattr_rewrite(Relation rel, ZsAttrRewrite *rewrites, int nrewrites, ZsEncoder *encoder,
						   BufferAccessStrategy strategy, ZsSegmentVisitor gone, void *arg);
extern void zsattr_drop_segments(Relation rel, AttrNumber attno, zstid first, zstid end,
								 ZsSegmentVisitor gone, void *arg);
extern int	zsattr_index_page_items(Relation rel, AttrNumber attno, zstid row,
									ZsSegmentItem *items, zstid *end);

/* attr_move.c */

extern bool zsattr_move_segment(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
								BlockNumber to, BufferAccessStrategy strategy,
								ReadStream *stream);

/* ---- reading (attr_read.c, attr_value.c, attr_stream.c, attr_space.c) -- */

/*
 * Reads one attribute of one table.  Created once per scan and attribute;
 * keeps the segment it looked at last (its directory, shared dictionary,
 * payload pages read so far) and the vector decoded last.  Holds no buffer
 * lock between calls, and a pin only inside a read stream.
 *
 * What a reader keeps is a copy that VACUUM may replace behind its back.  A row that it covers is
 * right as long as anybody may see it; one that it does not cover may have come into a segment
 * since.  So a caller that finds no value for a row which is not in the row tree either calls
 * zsattr_reader_forget() and asks again.
 */
typedef struct ZsAttrReader ZsAttrReader;

#define ZS_READER_STREAM	0x01	/* sequential: look ahead */
#define ZS_READER_MAINTENANCE	0x02	/* by maintenance_io_concurrency, all of a range is read */
#define ZS_READER_TOAST			0x04	/* zsattr_reader_value(): TOAST pointers to large values */
#define ZS_READER_KEEP			0x08	/* keeps a stripe: little memory beside that */

/*
 * desc describes the rows as they are stored: the relation's own descriptor,
 * except during ALTER TABLE, which reads old rows when the catalog has the
 * new types already.
 */
extern ZsAttrReader *zsattr_reader_begin(Relation rel, TupleDesc desc, AttrNumber attno,
										 int flags, BufferAccessStrategy strategy);
extern Size zsattr_reader_size(const ZsAttrReader *reader);

/* What readers have read; what they come to again counts again. */
typedef struct ZsReadCounts
{
	uint64		segments;		/* opened */
	uint64		vectors;		/* decoded, in whatever forms */
} ZsReadCounts;

extern void zsattr_reader_count(ZsAttrReader *reader, ZsReadCounts *counts, ZsIoCounts *io);

/*
 * A scan that goes by several ranges of rows, in ascending order.  source gives the range of a
 * number, `number` is that of the present one.  The source is asked for the present range, one
 * behind it that it has given, or the one behind these.  It returns false if there is none, or none
 * yet.
 */
typedef bool (*ZsRangeSource) (void *arg, uint64 number, zstid *start, zstid *end);

typedef struct ZsRowRanges
{
	ZsRangeSource source;
	void	   *arg;
	uint64		number;			/* from 1 */
} ZsRowRanges;

extern void zsattr_reader_range(ZsAttrReader *reader, zstid start, zstid end,
								const ZsRowRanges *ranges);

/*
 * What a scan knows of the rows that it will ask for.  pick: of the rows [first, first + nrows),
 * ZS_SEGMENT_ROWS at most, beginning with a stripe's, a bit for each stripe that may be asked for,
 * from the lowest one on.
 */
typedef uint64 (*ZsStripePicker) (void *arg, zstid first, uint32 nrows);

typedef struct ZsStripePicks
{
	ZsStripePicker pick;
	void	   *arg;
} ZsStripePicks;

extern void zsattr_reader_picks(ZsAttrReader *reader, const ZsStripePicks *picks);
extern void zsattr_reader_take_turns(ZsAttrReader *reader, zstid scan_end);
extern const ZsVectorOut *zsattr_reader_forms(ZsAttrReader *reader, zstid stripe, uint32 want);
extern const ZsVectorOut *zsattr_reader_vector(ZsAttrReader *reader, zstid stripe);
extern const ZsVectorOut *zsattr_reader_some(ZsAttrReader *reader, zstid stripe,
											 const uint64 *rows);
extern bool zsattr_reader_at_hand(const ZsAttrReader *reader, zstid row, Datum *value,
								  bool *isnull);
extern bool zsattr_reader_totals(ZsAttrReader *reader, zstid stripe, bool extremes,
								 ZsVectorTotals *totals);
extern bool zsattr_reader_has_values(const ZsAttrReader *reader, zstid stripe);
extern const ZsSegmentInfo *zsattr_reader_info(ZsAttrReader *reader, zstid stripe, int *vecno);
extern const ZsSharedState *zsattr_reader_shared(ZsAttrReader *reader, bool scaled, uint64 *serial);
extern uint32 zsattr_reader_entries(const ZsAttrReader *reader, uint64 *serial);
extern bool zsattr_reader_value(ZsAttrReader *reader, zstid row, Datum *value, bool *isnull);
extern void zsattr_reader_expect(ZsAttrReader *reader, zstid row);
extern void zsattr_reader_forget(ZsAttrReader *reader);
extern int	zsattr_check_missing(Relation rel, TupleDesc desc, AttrNumber attno, zstid row);

extern void zsattr_reader_end(ZsAttrReader *reader);

/* attr_head.c */

extern void zsattr_forget_segments(Relation rel);
extern void zsattr_refuse_newer(Relation rel, const uint8 *head, size_t len);
extern bool zsattr_segment_is_known(Relation rel, AttrNumber attno, zstid row);

/* attr_index.c */

extern bool zsattr_find_segment(Relation rel, AttrNumber attno, zstid row, bool exact,
								ZsSegmentItem *item);

/* attr_payload.c */

extern bool zsattr_read_payload(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
								uint32 offset, uint32 len, uint8 *dst);

/* ---- overflow values (attr_overflow.c) --------------------------------- */

/*
 * Payload sizes above which a value leaves a segment's vectors or a row-tree
 * item.
 */
#define ZS_OVERFLOW_THRESHOLD	8000

/*
 * Blocks of an overflow value that are adjacent; the last run may be shorter.
 */
#define ZS_OVERFLOW_RUN_BLOCKS	4096

extern void zsattr_overflow_write(Relation rel, AttrNumber attno, const char *data, Size size,
								  ZsCompression compression, int level, ZsOverflowPointer *pointer);
extern struct varlena *zsattr_overflow_read(Relation rel, AttrNumber attno,
											const ZsOverflowPointer *pointer);
extern void zsattr_overflow_read_to(Relation rel, AttrNumber attno,
									const ZsOverflowPointer *pointer, char *dst);

/*
 * A row has no pointer to the value any more.  Frees the pages, and returns true, if it was the
 * last one.  False if other rows share the value, and if the pointer leads to no value, when
 * nothing is changed.  Takes the first page's lock exclusively.
 */
extern bool zsattr_overflow_free(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer);
extern Buffer zsattr_overflow_pin(Relation rel, const ZsOverflowPointer *pointer);
extern void zsattr_overflow_share(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer,
								  Buffer buf);
extern uint64 zsattr_overflow_shares(Page page);
extern void zsattr_overflow_change_shares(Page page, int change);

/* attr_pointers.c */

extern bool zsattr_find_pointer(Relation rel, AttrNumber attno, zstid row,
								ZsOverflowPointer *pointer);

/* Called for an overflow pointer; false: that is enough. */
typedef bool (*ZsPointerVisitor) (zstid row, const ZsOverflowPointer *pointer, void *arg);
extern void zsattr_visit_pointers(Relation rel, AttrNumber attno, const ZsSegmentItem *item,
								  ZsPointerVisitor fn, void *arg);

/* attr_toast.c */

extern void zsattr_overflow_to_datum(const ZsOverflowPointer *pointer, char *dst);
extern void zsattr_overflow_from_datum(const struct varlena *datum, ZsOverflowPointer *pointer);
extern void zsattr_overflow_from_vector(const ZsVectorOut *vec, uint32 idx,
										ZsOverflowPointer *pointer);

/* Bytes of a TOAST pointer of core's. */
#define ZS_TOAST_POINTER_SIZE	18

extern bool zsattr_toast_from_pointer(Relation rel, const ZsOverflowPointer *pointer, char *dst);
extern bool zsattr_toast_is_of(Relation rel, const struct varlena *datum);
extern bool zsattr_toast_leads_to(const struct varlena *datum, const ZsOverflowPointer *pointer);
extern void zsattr_toast_fetch(Relation rel, Oid valueid, int32 attrsize, int32 sliceoffset,
							   int32 slicelength, struct varlena *result);

/* ---- segment index pages ----------------------------------------------- */

/* Items of a page whose header was verified. */
static inline ZsSegmentItem *
zsattr_index_items(Page page)
{
	return (ZsSegmentItem *) PageGetContents(page);
}

static inline int
zsattr_index_count(Page page)
{
	return (int) ((((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData)) /
				  sizeof(ZsSegmentItem));
}

/*
 * Does the segment consist of its item alone?  It has no pages and no blocks: start and nblocks are
 * 0.  See attr_uniform.c.
 */
static inline bool
zsattr_item_is_uniform(const ZsSegmentItem *item)
{
	return (item->flags & ZS_SEGF_UNIFORM) != 0;
}

/* ---- checks and redo (attr_index.c) ------------------------------------ */

extern const char *zsattr_index_page_check(Page page);

/* attr_merge.c */

extern const char *zsattr_merge_index_pages(Page left, Page right, Page image, bool *merged);

/* attr_redo.c */
extern void zsattr_redo(XLogReaderState *record);

#endif							/* ZS_ATTR_H */
