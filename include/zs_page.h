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

#include "access/xact.h"
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

extern void zspage_init(Page page, ZsPageType type, uint16 treeno, uint8 level,
						uint64 lokey, uint64 hikey);
extern ZsPageVerdict zspage_verify(Page page, ZsPageType type, uint16 treeno,
								   const char **reason);
extern const char *zspage_type_name(int type);
extern Buffer zspage_new_buffer(Relation rel, BlockNumber blkno,
								BufferAccessStrategy strategy);
extern bool zspage_exists(Relation rel, BlockNumber blkno);
extern void zspage_expect(Relation rel, BlockNumber blkno, uint32 offset);
extern Buffer zspage_read(Relation rel, BlockNumber blkno,
						  BufferAccessStrategy strategy);
extern bool zspage_try_lock(Buffer buf, int lockmode);
extern BlockNumber zspage_physical_blocks(Relation rel);

/* ---- pages of others (page_foreign.c) ------------------------------------- */

extern BlockNumber zspage_find_foreign(Relation rel, BlockNumber start, BlockNumber end);
extern bool zspage_has_our_page(Relation rel, BlockNumber blkno);
extern void zspage_report_foreign(Relation rel, BlockNumber blkno, bool may_ignore);
extern bool zspage_check_foreign(Relation rel);
extern void zspage_check_file_end(Relation rel);

/* page_exchange.c */

extern void zspage_exchange_init(void);
extern void zspage_exchange_transaction(XactEvent event);

/* page_basic.c */

extern void zspage_write_images(Relation rel, int npages, const BlockNumber *blocks,
								char **images, BufferAccessStrategy strategy);

/* ---- metapage (page_meta.c) ------------------------------------------------ */

extern void zspage_meta_create(const RelFileLocator *locator, char persistence,
							   ForkNumber forknum);
extern void zspage_meta_read(Relation rel, ZsMetaPageData *meta);
extern bool zspage_keeps_xmin(Relation rel);
extern int	zspage_next_tree(const ZsMetaPageData *meta, int treeno);
extern void zspage_ensure_blocks(Relation rel, BlockNumber start, uint32 nblocks);

/* page_cache.c */
extern void zspage_forget_roots(Relation rel);
extern void zspage_forget_root(Relation rel, uint16 treeno);

/* ---- tree directory (page_directory.c) -------------------------------------- */

extern BlockNumber zspage_tree_root(Relation rel, uint16 treeno);
extern BlockNumber zspage_used_blocks(Relation rel);
extern void zspage_tree_entry(Relation rel, uint16 treeno, ZsTreeEntry *entry);
extern void zspage_tree_blocks(Relation rel, int ntrees, BlockNumber *blocks);
extern bool zspage_tree_create(Relation rel, uint16 treeno, Buffer rootbuf,
							   Page image);
extern void zspage_tree_move_root(Relation rel, uint16 treeno, Buffer oldbuf, Buffer newbuf);
extern bool zspage_move_directory(Relation rel, int directory, BlockNumber from, BlockNumber to);

/* ---- records with images (page_wal.c) ---------------------------------------- */

extern XLogRecPtr zspage_log_tree(uint8 info);
extern XLogRecPtr zspage_log_data(uint8 info, const char *sample);

/* ---- row numbers (page_rows.c) ----------------------------------------------- */

extern uint64 zspage_next_row(Relation rel);
extern BlockNumber zspage_logical_blocks(Relation rel);
extern uint64 zspage_reserve_rows(Relation rel, uint64 nrows);
extern bool zspage_unreserve_rows(Relation rel, uint64 first, uint64 end);
extern uint64 zspage_cursor_stripe(Relation rel, int cursorno, uint64 old_stripe);
extern void zspage_cursor_move(Relation rel, int cursorno, uint64 stripe);

/* ---- free page maps and extension (page_fpm.c, page_extend.c) -------------- */

typedef struct ZsAllocRequest
{
	uint16		treeno;
	uint32		nblocks;		/* adjacent blocks wanted */
	BlockNumber start;			/* out: first block */
} ZsAllocRequest;

/* What is likely to follow a request for blocks, and how much a tree gets beyond it. */
typedef enum ZsAllocAhead
{
	ZS_ALLOC_SINGLE = 0,		/* single requests now and then: a share of what it has */
	ZS_ALLOC_AHEAD,				/* others like it: a few times what they take */
	ZS_ALLOC_LAST				/* no others for a while: nothing */
} ZsAllocAhead;

/*
 * Heavyweight pages that zspage_order_begin() and zsbtree_search_parent() lock; no such blocks are
 * ever there.
 */
#define ZS_ORDER_BLKNO		MaxBlockNumber
#define ZS_STAY_BLKNO		(MaxBlockNumber - 1)

extern void zspage_order_begin(Relation rel);
extern void zspage_order_end(Relation rel);
extern BlockNumber zspage_alloc(Relation rel, uint16 treeno);
extern void zspage_alloc_runs(Relation rel, ZsAllocRequest *requests, int nrequests,
							  ZsAllocAhead ahead);
extern void zspage_free_run(Relation rel, uint16 treeno, BlockNumber start,
							uint32 nblocks);
extern void zspage_give_back(Relation rel, uint16 treeno, BlockNumber blkno);
extern void zspage_prepare_extension(Relation rel);
extern uint32 zspage_extension_blocks(Relation rel, uint32 tree_blocks, uint32 nblocks,
									  ZsAllocAhead ahead);

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
extern int	zspage_fpm_tidy(Relation rel, uint16 treeno);

/* page_return.c */

extern uint64 zspage_return_extents(Relation rel, uint16 treeno, uint32 minblocks);
extern bool zspage_take_free(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks);
extern void zspage_free_to_table(Relation rel, uint16 treeno, BlockNumber start, uint32 nblocks);

/* page_tidy.c */

extern void zspage_fpm_lower(Relation rel, BlockNumber limit);

/* page_truncate.c */

extern BlockNumber zspage_free_tail(Relation rel);
extern BlockNumber zspage_truncate_tail(Relation rel, BlockNumber *old_blocks, bool *suspended);

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
