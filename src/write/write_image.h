/*-------------------------------------------------------------------------
 *
 * write_image.h
 *	  Images of rows for logical decoding; private to src/write.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_image.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef WRITE_IMAGE_H
#define WRITE_IMAGE_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "zs_write.h"

/* A record of inserted rows is written when its images are this large. */
#define ZSWRITE_LOGICAL_RECORD_SIZE	(64 * 1024)

/* What forming a tuple has to know of a column. */
typedef struct ZsImageColumn
{
	int16		len;			/* attlen */
	bool		byval;
	bool		packable;		/* varlenas may get short headers */
	uint8		alignby;
} ZsImageColumn;

/* Images of one record, one behind the other. */
typedef struct ZsRowImages
{
	Relation	rel;
	MemoryContext context;		/* all of the below */
	Datum	   *values;			/* of the row in work, or the slot's own */
	bool	   *isnull;
	Datum	   *own_values;		/* room for a row that is not as in the slot */
	bool	   *own_isnull;
	ZsImageColumn *columns;
	Size		fixed_bound;	/* upper bound of what columns of fixed length take */
	bool		has_dropped;	/* the table has dropped columns */
	bool		has_cstrings;
	int			nvarlenas;		/* columns that may have values elsewhere, from 0 */
	int		   *varlenas;
	char	   *tuple;			/* a tuple behind its fixed header is formed here, aligned as in
								 * a page */
	Size		tuple_size;
	char	   *data;
	Size		len;
	Size		size;			/* allocated */
	int			nrows;
} ZsRowImages;

/* ---- images (write_image.c) ---- */

extern void zswrite_images_begin(ZsRowImages *images, Relation rel);
extern void zswrite_images_end(ZsRowImages *images);

/*
 * Appends the image of the slot's row; of the columns in attrs (as RelationGetIndexAttrBitmap()
 * returns it) if that is not NULL.  kept (or NULL): values that may be left out, but for the
 * columns of identity.  Errors: the row is too large for a record.
 */
extern void zswrite_images_append(ZsRowImages *images, TupleTableSlot *slot,
								  const Bitmapset *attrs, const ZsKeptValues *kept,
								  const Bitmapset *identity);

/* Appends the image of a row of the stage. */
extern void zswrite_images_append_staged(ZsRowImages *images, const ZsRowStage *stage, int row);

#endif							/* WRITE_IMAGE_H */
