/*-------------------------------------------------------------------------
 *
 * write_logical.c
 *	  Row images in the WAL, for logical decoding.
 *
 * With wal_level = logical each change of a row writes an XLOG_ZS_LOGICAL record beside the records
 * that change pages.  It is written when the change is made, not when the write buffer is, so that
 * changes of all tables, heaps included, are decoded in the order in which they happened.  It
 * refers to no page, replay ignores it, and it counts only if the commit record follows: a crash
 * between it and the rest leaves nothing.
 *
 * The images are tuples in heap's form, since these are what the reorder buffer and output plugins
 * take.  What goes in follows heap: of a new row everything; of an old row what the table's replica
 * identity says, and the key only if the update changes it.  Large values that the new row shares
 * with the old one (write_keep.c) are left out of it as heap leaves TOASTed values out: an external
 * varlena stands for them, which output plugins know as unchanged.  They are not left out of the
 * replica identity, nor when that changes and the old row is not logged whole.
 *
 * Two things differ.  There is no TOAST table, so all other values stand in the image.  And a
 * speculative insertion is logged when it is confirmed, so decoding never hears of one that is not.
 *
 * Rows of one multi_insert share records of some ZSWRITE_LOGICAL_RECORD_SIZE bytes.  How images are
 * formed is the matter of write_image.c.  Those that are large enough for it are compressed, unless
 * the table's option says that nothing is to be.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_logical.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>

#include "access/xact.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "write_image.h"
#include "write_internal.h"
#include "zs_walrec.h"

/* Images below this size are not worth compressing. */
#define LOGICAL_COMPRESS_SIZE	1024

/*
 * LZ4's acceleration: it takes two thirds of the time of 1 for 3 % more bytes (store_sales).  The
 * images are written in addition to the columns, by whoever loads; with more acceleration, or none
 * compressed, a load of many sessions takes fewer instructions but waits longer for the WAL.
 */
#define LOGICAL_ACCELERATION	4

/*
 * Compresses the images if that saves something worth mentioning: returns what
 * to log instead, and its size.
 */
static char *
compress_images(ZsRowImages *images, Size *len)
{
	ZsTableOptions options;
	Size		limit = images->len - images->len / 8;
	char	   *packed;
	int			result;

	if (images->len < LOGICAL_COMPRESS_SIZE)
		return NULL;
	zsbase_table_options(images->rel, &options);
	if (options.compression == ZS_COMPRESSION_NONE)
		return NULL;
	packed = MemoryContextAlloc(images->context, limit);
	result = LZ4_compress_fast(images->data, packed, (int) images->len, (int) limit,
							   LOGICAL_ACCELERATION);
	if (result <= 0)
	{
		pfree(packed);
		return NULL;
	}
	*len = result;
	return packed;
}

/* Logs the images, and forgets them. */
static void
write_record(ZsRowImages *images, uint8 op, uint8 flags)
{
	xl_zs_logical xlrec = {0};
	Size		len = images->len;
	char	   *packed;

	/* COPY FREEZE needs no transaction id for its rows, but decoding does */
	(void) GetCurrentTransactionId();

	packed = compress_images(images, &len);
	xlrec.locator = images->rel->rd_locator;
	xlrec.raw_len = (uint32) images->len;
	xlrec.nrows = (uint16) images->nrows;
	xlrec.op = op;
	xlrec.flags = flags;
	if (packed != NULL)
		xlrec.flags |= ZS_LOGICALF_LZ4;

	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsLogical);
	if (len > 0)
		XLogRegisterData(packed != NULL ? packed : images->data, (uint32) len);
	/* output plugins skip what came from other nodes, row by row */
	XLogSetRecordFlags(XLOG_INCLUDE_ORIGIN);
	(void) XLogInsert(ZS_RMGR_ID, XLOG_ZS_LOGICAL);

	if (packed != NULL)
		pfree(packed);
	images->len = 0;
	images->nrows = 0;
}

/*
 * Logs inserted rows unless that is not asked for (wal_level, kind of table,
 * options).  The first nstaged are the first rows of the stage, too.
 */
void
zswrite_log_insert(Relation rel, TupleTableSlot **slots, int nslots, const ZsRowStage *stage,
				   int nstaged, uint32 options)
{
	ZsRowImages	images;

	if (likely(!RelationIsLogicallyLogged(rel)) || (options & TABLE_INSERT_NO_LOGICAL))
		return;
	zswrite_images_begin(&images, rel);
	for (int i = 0; i < nslots; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i < nstaged)
			zswrite_images_append_staged(&images, stage, i);
		else
			zswrite_images_append(&images, slots[i], NULL, NULL, NULL);
		if (i == nslots - 1 || images.len >= ZSWRITE_LOGICAL_RECORD_SIZE ||
			images.nrows == PG_UINT16_MAX)
			write_record(&images, ZS_LOGICAL_INSERT, 0);
	}
	zswrite_images_end(&images);
}

/*
 * Appends what the replica identity says of the old row: flag of what it was, or 0.
 */
static uint8
append_identity(ZsRowImages *images, TupleTableSlot *oldslot, bool key_required)
{
	Relation	rel = images->rel;
	Bitmapset  *key;

	if (rel->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		return 0;
	if (rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
	{
		zswrite_images_append(images, oldslot, NULL, NULL, NULL);
		return ZS_LOGICALF_OLD_ROW;
	}
	if (!key_required)
		return 0;
	key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
	if (bms_is_empty(key))
		return 0;
	zswrite_images_append(images, oldslot, key, NULL, NULL);
	bms_free(key);
	return ZS_LOGICALF_OLD_KEY;
}

/*
 * Log an update or delete of a table for which RelationIsLogicallyLogged() is
 * true.  oldslot: the old row, of which at least the replica identity must be
 * readable; NULL if the table has none. key_changed: the update changes a
 * column of the replica identity.  kept: values that the new row shares with
 * the old one, which are left out where heap leaves out unchanged TOASTed
 * values.
 */
void
zswrite_log_update(Relation rel, TupleTableSlot *oldslot, TupleTableSlot *newslot,
				   bool key_changed, const ZsKeptValues *kept)
{
	bool		full = rel->rd_rel->relreplident == REPLICA_IDENTITY_FULL;
	Bitmapset  *identity = NULL;
	ZsRowImages	images;
	uint8		flags = 0;

	Assert(RelationIsLogicallyLogged(rel));
	if (kept->n == 0 || (key_changed && !full))
		kept = NULL;
	else if (!full)
		identity = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
	zswrite_images_begin(&images, rel);
	zswrite_images_append(&images, newslot, NULL, kept, identity);
	bms_free(identity);
	if (oldslot != NULL)
		flags = append_identity(&images, oldslot, key_changed);
	write_record(&images, ZS_LOGICAL_UPDATE, flags);
	zswrite_images_end(&images);
}

/* Logs a delete of such a table; oldslot as for zswrite_log_update(). */
void
zswrite_log_delete(Relation rel, TupleTableSlot *oldslot)
{
	ZsRowImages	images;
	uint8		flags = 0;

	Assert(RelationIsLogicallyLogged(rel));
	zswrite_images_begin(&images, rel);
	if (oldslot != NULL)
		flags = append_identity(&images, oldslot, true);
	write_record(&images, ZS_LOGICAL_DELETE, flags);
	zswrite_images_end(&images);
}

/*
 * Error if the table has the storage parameter user_catalog_table.  Decoding reads catalog tables
 * as they were, by what heap logs for them; and output plugins read them with a snapshot that the
 * TID tree does not know.
 */
void
zswrite_refuse_catalog(Relation rel)
{
	if (unlikely(RelationIsUsedAsCatalogTable(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("zedstore table \"%s\" cannot be a catalog table for logical decoding",
						RelationGetRelationName(rel)),
				 errhint("Reset its storage parameter \"user_catalog_table\", or use a heap table.")));
}
