/*-------------------------------------------------------------------------
 *
 * zs_base.h
 *	  What every module above the format uses: row numbers, settings, table
 *	  options, the error for wrong bytes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_base.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_H
#define ZS_BASE_H

#include "postgres.h"

#include "fmgr.h"
#include "storage/buf.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "zs_compat.h"
#include "zs_compression.h"
#include "zs_format.h"

/*
 * Version of the library, and of the SQL objects that come with it: default_version of the control
 * file.
 */
#define ZS_VERSION				"0.2.0"

/* ---- row numbers and TIDs ---------------------------------------------- */

/* First row number of a logical block. */
static inline zstid
zs_block_first_row(BlockNumber block)
{
	return (zstid) block * ZS_ROWS_PER_BLOCK;
}

/* Logical block of a row number below ZS_MAX_ROW. */
static inline BlockNumber
zs_row_block(zstid row)
{
	return (BlockNumber) (row / ZS_ROWS_PER_BLOCK);
}

/* Row number of a TID.  The TID must be valid. */
static inline zstid
zs_row_from_tid(const ItemPointerData *tid)
{
	return zs_block_first_row(ItemPointerGetBlockNumberNoCheck(tid)) +
		(ItemPointerGetOffsetNumberNoCheck(tid) - 1);
}

/* TID of a row number below ZS_MAX_ROW. */
static inline void
zs_tid_from_row(zstid row, ItemPointer tid)
{
	Assert(row < ZS_MAX_ROW);
	ItemPointerSet(tid, zs_row_block(row), (OffsetNumber) (row % ZS_ROWS_PER_BLOCK + 1));
}

/*
 * Can this TID name a row at all?  TIDs come from users too (WHERE ctid = ...),
 * and an offset above 256 would otherwise alias a row of the next block.
 */
static inline bool
zs_tid_is_sane(const ItemPointerData *tid)
{
	return ItemPointerIsValid(tid) &&
		ItemPointerGetBlockNumberNoCheck(tid) < MaxBlockNumber &&
		ItemPointerGetOffsetNumberNoCheck(tid) <= ZS_ROWS_PER_BLOCK;
}

/* ---- settings (base_guc.c) ---------------------------------------------- */

/* zedstore.wal_compression */
typedef enum ZsWalCompression
{
	ZS_WAL_COMPRESSION_SERVER,	/* as wal_compression says */
	ZS_WAL_COMPRESSION_AUTO		/* by the kind of page */
} ZsWalCompression;

extern int	zs_write_buffer_size;	/* kB, all tables of a backend together */
extern int	zs_min_segment_rows;	/* smaller flushes go to the row tree */
extern int	zs_default_compression; /* ZsCompression */
extern int	zs_wal_compression; /* ZsWalCompression */
extern bool zs_enable_column_projection;	/* needed-column mask */
extern bool zs_enable_lazy_decode;	/* decode columns when first looked at */
extern bool zs_enable_read_stream;	/* look-ahead in scans */
extern bool zs_enable_zone_maps;	/* skip segments by their min and max */
extern bool zs_enable_topn;		/* custom scan for ORDER BY ... LIMIT */
extern bool zs_enable_column_costs; /* plans know what columns cost */
extern bool zs_enable_partial_vectors;	/* form strings of selected rows only */
extern bool zs_enable_fetch_cache;	/* keep decoded vectors between fetches */
extern bool zs_enable_late_row_numbers; /* bulk loads number rows as they are written */
extern int	zs_debug_format_version;	/* of files that are made; for tests */
extern bool zs_enable_value_sharing;	/* UPDATE does not write unchanged large values */
extern bool zs_enable_kept_choices; /* loads go on with the encodings chosen before */
extern bool zs_enable_compaction;	/* VACUUM writes segments */
extern bool zs_enable_relocation;	/* VACUUM moves pages to the file's front */
extern bool zs_enable_result_cache; /* correlated subqueries remember results */
extern bool zs_enable_window;	/* ZedstoreWindow */
extern bool zs_enable_zone_lookups; /* scans whose zone maps are asked for each outer row */
extern bool zs_enable_robust_joins; /* no loops that save little and may cost much */
extern bool zs_enable_inlined_ctes; /* parts of WITH instead of all of it */
extern bool zs_enable_adaptive_join;	/* nested loops turn to a hash join */
extern int	zs_debug_switch_after;	/* ... after so many rows; 0: as costs say */
extern bool zs_ignore_options;	/* leave our options out where they do not fit */
extern bool zs_ignore_foreign_pages;	/* only warn of pages that are not ours */

extern void zsbase_guc_init(void);

/*
 * Reserves the prefix "zedstore".  To be called in _PG_init behind the init
 * functions of all modules that define settings: reserving throws away what
 * the configuration file says about names that are not defined yet.
 */
extern void zsbase_guc_reserve(void);

/* ---- table options (base_options.c) ----------------------------------- */

typedef struct ZsTableOptions
{
	int			rel_extension_factor;	/* blocks; 0 = grow with the table */
	ZsCompression compression;
	int			compression_level;	/* 0 = the method's default */
	bool		has_sort_key;	/* zsbase_sort_key() says which */
} ZsTableOptions;

extern void zsbase_table_options(Relation rel, ZsTableOptions *options);

/* ---- which tables are ours (base_am.c) ------------------------------------ */

extern void zsbase_set_table_am(const struct TableAmRoutine *routine);
extern bool zsbase_is_zedstore(Relation rel);

/*
 * The table's file, to remember something of it.  A temporary table's may have the locator of
 * another table's: it is the backend that tells them apart.
 */
static inline RelFileLocatorBackend
zsbase_file(Relation rel)
{
	RelFileLocatorBackend file = {.locator = rel->rd_locator, .backend = rel->rd_backend};

	return file;
}

/* Is it the table's file? */
static inline bool
zsbase_has_file(Relation rel, const RelFileLocatorBackend *file)
{
	return RelFileLocatorEquals(file->locator, rel->rd_locator) && file->backend == rel->rd_backend;
}

/*
 * Same for a pg_class.relam value: is it an access method with our handler,
 * whatever its name?  Cached.
 */
extern bool zsbase_is_zedstore_am(Oid amoid);

/* Is the extension created in this database?  Needs a transaction. */
extern bool zsbase_is_installed(void);

/* ---- invalidations (base_inval.c) ---------------------------------------- */

/*
 * Told which table's entry of the relation cache was invalidated, InvalidOid = all of them.  It
 * runs whenever invalidations are processed, so it looks at no catalog and raises no error.
 */
typedef void (*ZsRelcacheListener) (Oid relid);
extern void zsbase_listen_relcache(ZsRelcacheListener listener);

/* Takes the library's slot for invalidations.  For _PG_init. */
extern void zsbase_inval_init(void);

/* ---- copies of values (base_copy.c) --------------------------------------- */

extern void zsbase_copy_long(void *to, const void *from, Size len);

/* memcpy() for lengths that are mostly small and differ all the time. */
static pg_attribute_always_inline void
zs_copy_short(void *to, const void *from, Size len)
{
	char	   *dst = to;
	const char *src = from;

	if (len > 64)
		zsbase_copy_long(to, from, len);
	else if (len >= 16)
	{
		for (Size at = 0; at + 16 < len; at += 16)
			memcpy(dst + at, src + at, 16);
		memcpy(dst + len - 16, src + len - 16, 16);
	}
	else if (len >= 8)
	{
		uint64		words[2];

		memcpy(&words[0], src, 8);
		memcpy(&words[1], src + len - 8, 8);
		memcpy(dst, &words[0], 8);
		memcpy(dst + len - 8, &words[1], 8);
	}
	else if (len >= 4)
	{
		uint32		words[2];

		memcpy(&words[0], src, 4);
		memcpy(&words[1], src + len - 4, 4);
		memcpy(dst, &words[0], 4);
		memcpy(dst + len - 4, &words[1], 4);
	}
	else if (len > 0)
	{
		dst[0] = src[0];
		dst[len / 2] = src[len / 2];
		dst[len - 1] = src[len - 1];
	}
}

/* ---- functions that return sets (base_srf.c) ------------------------------ */

extern void zsbase_srf_init(FunctionCallInfo fcinfo, int ncolumns);

/* ---- buffers (base_buffer.c) --------------------------------------------- */

/* Locks the contents of a pinned shared buffer, shared, if that is possible at once. */
extern bool zsbase_lock_buffer_if_free(Buffer buffer);

/* Pins a buffer that had the block when it was read last, if it has it still. */
extern bool zsbase_pin_recent(const RelFileLocator *locator, ForkNumber forknum,
							  BlockNumber blkno, Buffer buffer);

/* Brings a shared buffer's descriptor, the ends of its page, and these bytes near. */
extern void zsbase_expect_buffer(Buffer buffer, uint32 offset, uint32 len);

/* Do the settings ask for look-ahead in this table, of queries or of maintenance? */
extern bool zsbase_ahead_is_wanted(Relation rel, bool maintenance);

/* How many requests may a reader of the table have under way by these settings? */
extern int	zsbase_io_concurrency(Relation rel, bool maintenance);

/* The index of the shared buffer that has the block, -1: none. */
extern int	zsbase_find_buffer(const RelFileLocator *locator, ForkNumber forknum,
							   BlockNumber blkno);

/* ---- asserts (base_assert.c) --------------------------------------------- */

/* Is an assert due that reads a whole page after the change of one row? */
extern bool zsbase_check_due(void);

/* ---- errors (base_error.c) ----------------------------------------------- */

/*
 * Bytes on a page are wrong: ERRCODE_DATA_CORRUPTED naming table and block,
 * detail formatted from fmt, which tells the page's kind, attribute and what
 * was wrong.  The caller may hold content locks; transaction abort frees them.
 */
ZS_NORETURN extern void zsbase_corrupted(Relation rel, BlockNumber blkno,
										 const char *fmt,...) pg_attribute_printf(3, 4);

/* Error of every path that needs the library preloaded when it is not. */
extern void zsbase_require_preload(void);

/* True once _PG_init ran within shared_preload_libraries. */
extern bool zs_preloaded;

#endif							/* ZS_BASE_H */
