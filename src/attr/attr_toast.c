/*-------------------------------------------------------------------------
 *
 * attr_toast.c
 *	  Pointers to overflow values as datums: as vectors have them, and as TOAST pointers.
 *
 * A slot that is asked for a large value may give a pointer to it, as heap's slots do.  All of core
 * knows how to handle one: projections, triggers and tuples copy it, and whoever wants the value
 * calls detoast_attr(), which asks the access method of the table that the pointer names for it
 * (relation_fetch_toast_slice).  For a pointer of ours that is the table itself.
 *
 *		va_rawsize		size of the value, with a varlena header
 *		va_extinfo		size of the value, which reads as "not compressed"
 *		va_valueid		block of the value's first page, and how it is compressed
 *		va_toastrelid	the table
 *
 * The rest of a ZsOverflowPointer is found out from the value's pages.  Such a pointer is good for
 * as long as one of heap is: while somebody may see the row that it came from, its pages stay where
 * they are.  It never reaches a page: what is written is made from the ZsOverflowPointer of the old
 * row (write_keep.c), or from the value.
 *
 * Locks: one page's share lock, for a look.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_toast.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "varatt.h"

#include "attr_internal.h"

/* The bits of va_valueid that name the compression, as in ZsOverflowPointer.stored_size. */
#define COMPRESSION_BITS	((uint32) ~ZS_OVERFLOW_SIZE_MASK)

/* ---- in vectors and rows --------------------------------------------- */

/*
 * Makes an external varlena (VARTAG_ONDISK) that carries pointer, at dst (ZS_OVERFLOW_DATUM_SIZE
 * bytes).  Core's own TOAST pointers never reach a tree.
 */
void
zsattr_overflow_to_datum(const ZsOverflowPointer *pointer, char *dst)
{
	StaticAssertStmt(ZS_OVERFLOW_DATUM_SIZE == VARHDRSZ_EXTERNAL + sizeof(ZsOverflowPointer),
					 "size of an overflow datum");

	SET_VARTAG_EXTERNAL(dst, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(dst), pointer, sizeof(ZsOverflowPointer));
}

/* The pointer that a varlena of zsattr_overflow_to_datum() carries. */
void
zsattr_overflow_from_datum(const struct varlena *datum, ZsOverflowPointer *pointer)
{
	Assert(VARATT_IS_EXTERNAL_ONDISK(datum));
	memcpy(pointer, VARDATA_EXTERNAL((const char *) datum), sizeof(ZsOverflowPointer));
}

/* The pointer that stands at a row of a decoded vector whose isext is set. */
void
zsattr_overflow_from_vector(const ZsVectorOut *vec, uint32 idx, ZsOverflowPointer *pointer)
{
	const char *datum = (const char *) vec->values[idx];

	Assert(vec->has_ext && vec->isext[idx] && !vec->isnull[idx]);

	if (VARSIZE_ANY_EXHDR(datum) != sizeof(ZsOverflowPointer))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("overflow pointer in a segment has wrong length %zu",
						(Size) VARSIZE_ANY_EXHDR(datum))));
	memcpy(pointer, VARDATA_ANY(datum), sizeof(ZsOverflowPointer));
}

/* ---- in the form of core's TOAST pointers ----------------------------- */

static Oid
value_id(const ZsOverflowPointer *pointer)
{
	return (pointer->stored_size & COMPRESSION_BITS) | pointer->start;
}

/*
 * Writes a TOAST pointer to the value to dst (ZS_TOAST_POINTER_SIZE bytes).  False if there is
 * none: the value lies beyond the first 8 TB of the file, or is none at all.
 */
bool
zsattr_toast_from_pointer(Relation rel, const ZsOverflowPointer *pointer, char *dst)
{
	varatt_external toast = {
		.va_rawsize = (int32) (pointer->raw_size + VARHDRSZ),
		.va_extinfo = pointer->raw_size,
		.va_valueid = value_id(pointer),
		.va_toastrelid = RelationGetRelid(rel)
	};

	StaticAssertStmt(ZS_TOAST_POINTER_SIZE == TOAST_POINTER_SIZE, "size of a TOAST pointer");
	if ((pointer->start & COMPRESSION_BITS) != 0 || pointer->raw_size == 0 ||
		(pointer->raw_size & ~VARLENA_EXTSIZE_MASK) != 0)
		return false;
	Assert(!VARATT_EXTERNAL_IS_COMPRESSED(toast));
	SET_VARTAG_EXTERNAL(dst, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(dst), &toast, sizeof(toast));
	return true;
}

/* Is the datum a TOAST pointer to a value of this table? */
bool
zsattr_toast_is_of(Relation rel, const struct varlena *datum)
{
	varatt_external toast;

	if (!VARATT_IS_EXTERNAL_ONDISK(datum))
		return false;
	VARATT_EXTERNAL_GET_POINTER(toast, datum);
	return toast.va_toastrelid == RelationGetRelid(rel);
}

/* Does one of them, which zsattr_toast_is_of() has approved, lead to this value? */
bool
zsattr_toast_leads_to(const struct varlena *datum, const ZsOverflowPointer *pointer)
{
	varatt_external toast;

	VARATT_EXTERNAL_GET_POINTER(toast, datum);
	return toast.va_valueid == value_id(pointer) &&
		toast.va_rawsize == (int32) (pointer->raw_size + VARHDRSZ);
}

/*
 * Looks at page `position` of a value: NULL and what the page has, or what is wrong.  Position 0
 * tells tree and stamp.
 */
static const char *
look_at_page(Relation rel, BlockNumber blkno, uint32 position, uint16 *treeno, uint32 *stamp,
			 BlockNumber *right, uint32 *len)
{
	Buffer		buf = zspage_read(rel, blkno, NULL);
	Page		page = BufferGetPage(buf);
	const ZsPageOpaque *opaque = (ZsPageOpaque *) (page + BLCKSZ - sizeof(ZsPageOpaque));
	const char *reason = NULL;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (position == 0)
	{
		/* zspage_verify() finds out whether this is a page of ours */
		*treeno = opaque->treeno;
		*stamp = opaque->stamp;
	}
	if (zspage_verify(page, ZS_PAGE_OVERFLOW, *treeno, &reason) == ZS_PAGE_OK)
	{
		*right = opaque->right;
		*len = ((PageHeader) page)->pd_lower - MAXALIGN(SizeOfPageHeaderData);
		if (ZsAttrOfTree(*treeno) < 1 || opaque->position != position || opaque->stamp != *stamp)
			reason = "page belongs to another value";
		else if (((PageHeader) page)->pd_lower <= MAXALIGN(SizeOfPageHeaderData) ||
				 *len > ZS_PAGE_CAPACITY)
			reason = "payload length is wrong";
	}
	UnlockReleaseBuffer(buf);
	return reason;
}

/*
 * The overflow pointer, and the attribute, of the value that a TOAST pointer with this va_valueid
 * leads to.  Errors: the pages are not those of such a value, as when its row is gone.
 */
static void
find_pointer(Relation rel, Oid valueid, uint32 raw_size, AttrNumber *attno,
			 ZsOverflowPointer *pointer)
{
	BlockNumber limit = zspage_physical_blocks(rel);
	BlockNumber next = valueid & ZS_OVERFLOW_SIZE_MASK;
	uint64		stored = 0;
	uint16		treeno = 0;
	const char *reason = NULL;

	pointer->start = next;
	pointer->stamp = 0;
	pointer->raw_size = raw_size;

	/* the length of what is not compressed is known from the first page on */
	for (uint32 position = 0; reason == NULL && next != 0; position++)
	{
		uint32		len = 0;

		CHECK_FOR_INTERRUPTS();
		if (next >= limit)
			reason = "value reaches beyond the end of the file";
		else
			reason = look_at_page(rel, next, position, &treeno, &pointer->stamp, &next, &len);
		stored += len;
		if ((valueid & COMPRESSION_BITS) == ZS_OVERFLOW_PLAIN)
		{
			stored = raw_size;
			next = 0;
		}
		else if (reason == NULL && stored > raw_size)
			reason = "value is longer than expected";
	}
	if (reason == NULL && stored == 0)
		reason = "value has no pages";
	if (reason != NULL)
		zsbase_corrupted(rel, pointer->start, "Large value that a row points to: %s.", reason);
	pointer->stored_size = (uint32) stored | (valueid & COMPRESSION_BITS);
	*attno = ZsAttrOfTree(treeno);
}

/*
 * relation_fetch_toast_slice of the table access method: contract in tableam.h.  Reads the whole
 * value.
 */
void
zsattr_toast_fetch(Relation rel, Oid valueid, int32 attrsize, int32 sliceoffset,
				   int32 slicelength, struct varlena *result)
{
	ZsOverflowPointer pointer;
	AttrNumber	attno;

	Assert(attrsize > 0 && sliceoffset >= 0 && slicelength <= attrsize - sliceoffset);
	find_pointer(rel, valueid, (uint32) attrsize, &attno, &pointer);
	if (sliceoffset == 0 && slicelength == attrsize)
		zsattr_overflow_read_to(rel, attno, &pointer, VARDATA(result));
	else
	{
		struct varlena *whole = zsattr_overflow_read(rel, attno, &pointer);

		memcpy(VARDATA(result), VARDATA(whole) + sliceoffset, slicelength);
		pfree(whole);
	}
}
