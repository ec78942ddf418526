/*-------------------------------------------------------------------------
 *
 * zs_page.h
 *	  Pages, metapage, tree directory, free page maps, file extension.
 *
 * Lock order, everywhere in zedstore:
 *
 *	  row-tree / TID-tree / attribute-tree pages, children before parents,
 *	  left before right
 *	  -> relation extension lock (heavyweight; only in page_extend.c)
 *	  -> metapage or one directory page
 *	  -> FPM pages, in chain order
 *	  -> visibility map page
 *
 * The metapage and directory pages are never held over a read of another
 * page, a file extension or a page initialization.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_page.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_PAGE_H
#define ZS_PAGE_H

#include "postgres.h"

#include "access/xlogreader.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_format.h"

/* ---- pages (page_basic.c) ------------------------------------------------- */

/* What is wrong with a page; zspage_verify() */
typedef enum ZsPageVerdict
{
	ZS_PAGE_OK = 1,
	ZS_PAGE_OTHER,				/* well-formed, but not the page looked for: the
								 * pointer was stale, start again */
	ZS_PAGE_BROKEN,				/* no zedstore page at all, or inconsistent */
} ZsPageVerdict;

/*
 * Formats a page image of BLCKSZ bytes: page header, zeroed contents, special
 * space with the given identity.  No WAL, no locks.
 */
extern void zspage_init(Page page, ZsPageType type, uint16 treeno, uint8 level,
						uint64 lokey, uint64 hikey);

/*
 * Does the page carry zedstore's identity, this type and this tree, and sane
 * pd_lower / pd_upper / pd_special?  A zeroed page is ZS_PAGE_OTHER when
 * reached by a pointer that may be stale.  *reason (may be NULL) is set to a
 * static text unless ZS_PAGE_OK.  Caller holds a content lock or a copy.
 */
extern ZsPageVerdict zspage_verify(Page page, ZsPageType type, uint16 treeno,
								   const char **reason);

/* Name of a page type for messages, e.g. "TID tree leaf". */
extern const char *zspage_type_name(int type);

/*
 * Returns block blkno pinned and exclusively locked, zeroed; used for blocks
 * that were just allocated.  Reads nothing from disk.
 */
extern Buffer zspage_new_buffer(Relation rel, BlockNumber blkno,
								BufferAccessStrategy strategy);

/* Does the file have block blkno? */
extern bool zspage_exists(Relation rel, BlockNumber blkno);

/* zspage_read(): pins blkno, errors when it lies beyond the end of the file. */
extern Buffer zspage_read(Relation rel, BlockNumber blkno,
						  BufferAccessStrategy strategy);

/*
 * As LockBuffer() with BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE, but does not wait: false, and
 * not locked, if the lock is not free.
 */
extern bool zspage_try_lock(Buffer buf, int lockmode);

/* Blocks that the main fork has on disk. */
extern BlockNumber zspage_physical_blocks(Relation rel);

/* ---- pages of others (page_foreign.c) ------------------------------------- */

/*
 * First of the blocks [start, end) that holds something which is no page of ours,
 * InvalidBlockNumber if there is none.  The file has them all.  Reads them, one at a time, with a
 * share lock.
 */
extern BlockNumber zspage_find_foreign(Relation rel, BlockNumber start, BlockNumber end);

/*
 * Is a block of a relation of whatever access method a page of ours?  Reads it, with a share lock.
 */
extern bool zspage_has_our_page(Relation rel, BlockNumber blkno);

/*
 * Raises ERRCODE_DATA_CORRUPTED for a block that is not ours; with may_ignore it is but a warning
 * if zedstore.ignore_foreign_pages is set.
 */
extern void zspage_report_foreign(Relation rel, BlockNumber blkno, bool may_ignore);

/*
 * Looks at all blocks behind the known end of the file and reports the first that is not ours.
 * Returns whether all are ours, or raises the error.  No lock may be held on a page.
 */
extern bool zspage_check_foreign(Relation rel);

/*
 * The same for whoever is about to read the table: looks only if the file is longer than it was
 * the last time.  Costs a system call.
 */
extern void zspage_check_file_end(Relation rel);

/* page_exchange.c */

/*
 * Has transactions fail that exchange the files of two tables of which one is ours
 * (page_exchange.c).  For _PG_init.
 */
extern void zspage_exchange_init(void);

/* page_basic.c */

/*
 * Writes finished page images to the given blocks (just allocated, strictly
 * private to the caller), up to any number, and logs them as full images
 * without their holes, up to XLR_MAX_BLOCK_ID per record.  Takes and releases
 * each block's buffer lock; nothing else may be locked that a checkpoint needs.
 * Pages must have been made by zspage_init() with pd_lower set.
 */
extern void zspage_write_images(Relation rel, int npages, const BlockNumber *blocks,
								char **images, BufferAccessStrategy strategy);

/* ---- metapage and directory (page_meta.c) --------------------------------- */

/* Writes and logs the metapage of a new, empty main or init fork. */
extern void zspage_meta_create(const RelFileLocator *locator, char persistence,
							   ForkNumber forknum);

/*
 * Root of a tree, 0 if the tree is empty.  Uses the relation's cache, which VACUUM may have made
 * out of date: the page tells.
 */
extern BlockNumber zspage_tree_root(Relation rel, uint16 treeno);

/* Drops the cached roots of this relcache entry. */
extern void zspage_forget_roots(Relation rel);

/* Drops the cached root of one tree. */
extern void zspage_forget_root(Relation rel, uint16 treeno);

/* Copy of a tree's directory entry; zeroes when it has none yet. */
extern void zspage_tree_entry(Relation rel, uint16 treeno, ZsTreeEntry *entry);

/*
 * Makes blkno (from zspage_alloc(), its buffer exclusively locked by the
 * caller and holding image) the root of the empty tree treeno: one WAL record.
 * Returns false, and changes nothing, when another backend was faster.
 */
extern bool zspage_tree_create(Relation rel, uint16 treeno, Buffer rootbuf,
							   Page image);

/*
 * Moves the root of a tree from oldbuf to newbuf (from zspage_take_free()), both exclusively
 * locked: one WAL record.  The old page becomes a free page, by which those notice who come there.
 */
extern void zspage_tree_move_root(Relation rel, uint16 treeno, Buffer oldbuf, Buffer newbuf);

/*
 * Moves directory page number directory from one block to another (from zspage_take_free()), in one
 * WAL record; false, with nothing changed, if it is not there.  For VACUUM.
 */
extern bool zspage_move_directory(Relation rel, int directory, BlockNumber from, BlockNumber to);

/* First row number never handed out: the table's logical end. */
extern uint64 zspage_next_row(Relation rel);

/* Block numbers that TIDs of the table can have: those of its row numbers. */
extern BlockNumber zspage_logical_blocks(Relation rel);

/*
 * Hands out nrows consecutive row numbers, the first aligned to ZS_STRIPE_ROWS.
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED when the table is full.
 */
extern uint64 zspage_reserve_rows(Relation rel, uint64 nrows);

/*
 * Gives rows [first, end) of an earlier reservation back if nothing was handed out behind them
 * since; otherwise returns false, and they are still the caller's. first is aligned; the rows
 * must be unused in the TID tree.
 */
extern bool zspage_unreserve_rows(Relation rel, uint64 first, uint64 end);

/*
 * Stripe that small inserts of cursor cursorno fill (0 ..
 * ZS_INSERT_CURSORS - 1).  When it is still old_stripe, or there is none, a new
 * stripe is handed out and recorded first.  Pass ZS_INVALID_ROW to ask only: then a cursor
 * that has none shares the first stripe of a table that has no other.
 */
extern uint64 zspage_cursor_stripe(Relation rel, int cursorno, uint64 old_stripe);

/*
 * Points a cursor to a stripe that the caller owns and did not fill, so that small
 * inserts go on behind a bulk load.
 */
extern void zspage_cursor_move(Relation rel, int cursorno, uint64 stripe);

/* Copies of metapage fields, for inspection. */
extern void zspage_meta_read(Relation rel, ZsMetaPageData *meta);

/* How many trees the directory has entries for, empty ones included. */
extern int	zspage_tree_count(const ZsMetaPageData *meta);

/* ---- free page maps and extension (page_fpm.c, page_extend.c) -------------- */

typedef struct ZsAllocRequest
{
	uint16		treeno;
	uint32		nblocks;		/* adjacent blocks wanted */
	BlockNumber start;			/* out: first block */
} ZsAllocRequest;

/*
 * Takes one block from the tree's free page map, filling it up from the table's map or by extending
 * the file when it is empty.  The caller may hold locks on tree pages if it has called
 * zspage_prepare_extension(), none on the metapage or directory.  A crash before the block is
 * linked into its tree leaks it until a later VACUUM finds it.
 */
extern BlockNumber zspage_alloc(Relation rel, uint16 treeno);

/*
 * Takes adjacent blocks for several trees at once, with one WAL record per
 * directory page touched.  Requests may be in any order.
 */
extern void zspage_alloc_runs(Relation rel, ZsAllocRequest *requests, int nrequests);

/*
 * Gives blocks back to the tree's free page map.  The caller made sure that no
 * pointer to them is left; readers that still follow a stale one notice.
 */
extern void zspage_free_run(Relation rel, uint16 treeno, BlockNumber start,
							uint32 nblocks);

/*
 * Gives a block back that was taken for nothing: another backend was faster. For writers; all
 * other freeing is VACUUM's. While VACUUM looks for leaked blocks it is left for that: VACUUM
 * then holds ShareLock on heavyweight page 0 of the table and relies on nobody else filling
 * maps.
 */
extern void zspage_give_back(Relation rel, uint16 treeno, BlockNumber blkno);

/*
 * Has this relcache entry know how the file is to be extended.  Reads the catalog if need be, and
 * may wait for a lock there, so no page is locked: to be called before the first lock of each
 * change in which zspage_alloc() may be called.  Searches of the trees for a change do it.
 */
extern void zspage_prepare_extension(Relation rel);

/* Blocks by which the tree's map is filled up next time. */
extern uint32 zspage_extension_blocks(Relation rel, uint32 tree_blocks, uint32 nblocks);

/* A tree's free page map as of one moment; arrays are palloc'd or NULL. */
typedef struct ZsFpmCopy
{
	ZsTreeEntry entry;
	int			nextents;
	ZsExtent   *extents;		/* in no order */
	int			npages;
	BlockNumber *pages;			/* FPM pages */
} ZsFpmCopy;

/* page_tidy.c */
extern void zspage_fpm_copy(Relation rel, uint16 treeno, ZsFpmCopy *copy);
extern void zspage_fpm_copy_free(ZsFpmCopy *copy);

/*
 * Puts the tree's free page map in order: neighbours are merged, the lowest extents stand in
 * the directory entry, FPM pages that are not needed become free blocks. One WAL record, or
 * none when there is nothing to gain. For VACUUM. Returns how many FPM pages were freed.
 */
extern int	zspage_fpm_tidy(Relation rel, uint16 treeno);

/* page_return.c */

/*
 * Moves free extents of at least minblocks blocks from the tree's map to the table's, where
 * every tree finds them; one WAL record for each. For VACUUM. Returns how many blocks.
 */
extern uint64 zspage_return_extents(Relation rel, uint16 treeno, uint32 minblocks);

/*
 * For VACUUM, which moves what lies at the end of the file to its front: takes these blocks out of
 * the table's map for the use of the tree; false if they are not free there, or, with more than a
 * thousand extents, in the midst of one that the map has no room to divide.  One WAL record for
 * each piece of the map that they stand in; a crash in between leaks those taken.  And gives blocks
 * that the tree used to the table's map, with one record.
 */
extern bool zspage_take_free(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks);
extern void zspage_free_to_table(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks);

/* page_tidy.c */

/*
 * Moves the FPM pages of the table's map that lie at or beyond limit to lower blocks, if that can
 * be done without ado.  For VACUUM.
 */
extern void zspage_fpm_lower(Relation rel, BlockNumber limit);

/* page_return.c */

/*
 * First block of the file's free tail: all blocks from there on are free, or unknown to
 * the maps.  The length of the file when there is none.
 */
extern BlockNumber zspage_free_tail(Relation rel);

/*
 * Takes the free tail out of the maps, as of now, and shortens the file. The caller holds
 * AccessExclusiveLock on the table. Returns the new length in blocks; *old_blocks is the
 * length before.
 */
extern BlockNumber zspage_truncate_tail(Relation rel, BlockNumber *old_blocks);

/* page_tidy.c */

/*
 * Calls fn for every extent in the tree's free page map, in ascending order.  For inspection
 * and VACUUM.
 */
typedef void (*ZsExtentVisitor) (uint16 treeno, ZsExtent extent, void *arg);
extern void zspage_fpm_visit(Relation rel, uint16 treeno, ZsExtentVisitor fn, void *arg);

/* page_extent.c */

/* What is wrong with a directory entry; NULL = nothing (page_extent.c). */
extern const char *zspage_entry_check(const ZsTreeEntry *entry);

/* ---- redo (page_redo.c), called by wal/ ------------------------------------ */

extern void zspage_redo(XLogReaderState *record);

#endif							/* ZS_PAGE_H */
