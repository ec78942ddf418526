/*-------------------------------------------------------------------------
 *
 * page_wal.c
 *	  Records with images of pages: whether the images are compressed.
 *
 * wal_compression says the same for all images, but ours are of two kinds.  Pages of trees compress
 * well, to a third; and with LZ4 that costs less than writing them.  Pages of segments and of large
 * values are compressed as a rule, and to try it again is in vain; they are most of what a load
 * writes.  So the server's setting is changed for the time of one XLogInsert(), unless
 * zedstore.wal_compression = server.  Redo reads whatever it finds: each image says how it was
 * compressed.
 *
 * Changing it is safe since nothing may fail in between: these calls stand in critical sections,
 * where an error ends the server, and no interrupt is processed.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_wal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "zs_page.h"
#include "zs_walrec.h"

/* One of so many bytes at least must be saved for compression to be worth it. */
#define WORTHWHILE		8

/* XLogInsert() with another value of wal_compression. */
static XLogRecPtr
insert_with(uint8 info, int compression)
{
	int			saved = wal_compression;
	XLogRecPtr	lsn;

	Assert(CritSectionCount > 0);
	wal_compression = compression;
	lsn = XLogInsert(ZS_RMGR_ID, info);
	wal_compression = saved;
	return lsn;
}

/*
 * XLogInsert() of a record of ours whose images, if any, are of pages of trees or maps.  Within a
 * critical section.
 */
XLogRecPtr
zspage_log_tree(uint8 info)
{
	int			compression = wal_compression;

#ifdef USE_LZ4
	if (zs_wal_compression == ZS_WAL_COMPRESSION_AUTO && compression == WAL_COMPRESSION_NONE)
		compression = WAL_COMPRESSION_LZ4;
#endif
	return insert_with(info, compression);
}

/* Would LZ4 make the page's contents smaller? */
static bool
is_compressible(const char *page)
{
	char		packed[BLCKSZ];
	int			len = ((const PageHeaderData *) page)->pd_lower;

	Assert(len >= (int) SizeOfPageHeaderData && len <= BLCKSZ);
	return LZ4_compress_default(page, packed, len, len - len / WORTHWHILE) > 0;
}

/*
 * The same for images of segments and large values, of which sample is one.  They are not
 * compressed unless that one can be: columns may be stored without compression.
 */
XLogRecPtr
zspage_log_data(uint8 info, const char *sample)
{
	int			compression = wal_compression;

	Assert(sample != NULL && CritSectionCount > 0);

	if (zs_wal_compression == ZS_WAL_COMPRESSION_AUTO && compression != WAL_COMPRESSION_NONE &&
		!is_compressible(sample))
		compression = WAL_COMPRESSION_NONE;
	return insert_with(info, compression);
}
