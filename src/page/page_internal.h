/*-------------------------------------------------------------------------
 *
 * page_internal.h
 *	  Private to src/page.
 *
 * Blocks are taken in three steps, each of which may call the ones before: from
 * the tree's own entry (page_fpm.c), from its FPM pages (page_chain.c), from the
 * table's map or by extending the file (page_extend.c).  What the entries have
 * no room for goes to FPM pages and comes back.  A new directory page
 * (page_directory.c) is a block that is taken, too.
 *
 * So these files call each other, and it is the order of locks that keeps them
 * apart, the same in all of them:
 *
 *	  relation extension lock	page_extend.c; nothing below is held on entry
 *	  -> metapage				first, if a change concerns it and a directory page
 *	  -> directory page			that of the tree's entry
 *	  -> FPM pages				from the head of the chain on, under the page with the entry
 *
 * A step lets go of all its pages before it calls the next one: no function of
 * these files is called with a metapage, directory page or FPM page locked,
 * but zspage_change_*(), zspage_chain_lock() and zspage_entry_*().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef PAGE_INTERNAL_H
#define PAGE_INTERNAL_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_format.h"
#include "zs_page.h"
#include "zs_walrec.h"

/*
 * What a backend remembers of a table's file, in rd_amcache; gone with every
 * relcache invalidation, and emptied when the file was shortened (zspage_rel_cache()).
 * VACUUM may move a root: the page where it was tells.
 */
typedef struct ZsRelCache
{
	BlockNumber file_blocks;	/* file length seen last */
	BlockNumber length_checked; /* file length up to which no page is foreign */
	int			extension_factor;	/* zedstore_rel_extension_factor, 0 = not set; -1 = not known */
	bool		directory_checked;	/* zspage_directory_verify() has found nothing */
	uint16		version;		/* of the format, from the metapage; 0 = not known */
	int			ntrees;			/* length of roots[] */
	BlockNumber roots[FLEXIBLE_ARRAY_MEMBER];	/* 0 = not known; [0]: ZS_TREE_XMIN */
} ZsRelCache;

/* page_cache.c */

extern ZsRelCache *zspage_rel_cache(Relation rel);
extern BlockNumber *zspage_cached_root(ZsRelCache *cache, uint16 treeno);

/* page_meta.c */

extern Buffer zspage_lock_meta(Relation rel, int lockmode);
extern void zspage_make_file(Relation rel, BlockNumber nblocks, BlockNumber file_blocks);
extern void zspage_report_short(Relation rel, BlockNumber nblocks, BlockNumber file_blocks);

/* Directory geometry: page of a tree (-1 = metapage), its first tree. */
static inline int
zspage_directory_index(uint16 treeno)
{
	return treeno < ZS_META_ENTRIES || treeno == ZS_TREE_XMIN ? -1 :
		(treeno - ZS_META_ENTRIES) / ZS_DIRECTORY_ENTRIES;
}

static inline uint16
zspage_directory_first(int directory)
{
	return directory < 0 ? 0 :
		(uint16) (ZS_META_ENTRIES + directory * ZS_DIRECTORY_ENTRIES);
}

/* Contents of a metapage or directory page that was verified. */
static inline ZsMetaPageData *
zspage_meta_data(Page page)
{
	return (ZsMetaPageData *) PageGetContents(page);
}

/* page_directory.c */

extern ZsTreeEntry *zspage_page_entry(Page page, uint16 first, uint16 treeno);
extern void zspage_entry_verify(Relation rel, Buffer buf, uint16 treeno, const ZsTreeEntry *entry);
extern void zspage_directory_verify(Relation rel);
extern Buffer zspage_lock_directory(Relation rel, uint16 treeno, int lockmode, bool create);
extern Buffer zspage_lock_directory_and_meta(Relation rel, uint16 treeno, int lockmode,
											 int meta_lockmode, bool create, Buffer *metabuf);

/* Extents on an FPM page that was verified. */
static inline ZsExtent *
zspage_fpm_extents(Page page)
{
	return (ZsExtent *) PageGetContents(page);
}

static inline int
zspage_fpm_count(Page page)
{
	return (int) ((((PageHeader) page)->pd_lower -
				   MAXALIGN(SizeOfPageHeaderData)) / sizeof(ZsExtent));
}

static inline void
zspage_fpm_set_count(Page page, int n)
{
	((PageHeader) page)->pd_lower = (char *) (zspage_fpm_extents(page) + n) - (char *) page;
}

/* page_extent.c */

extern const char *zspage_fpm_page_check(Page page);
extern void zspage_fpm_page_add(Page image, ZsExtent add);
extern bool zspage_fpm_page_cut(Page image, BlockNumber start, uint32 length);
extern bool zspage_entry_apply(ZsTreeEntry *entry, const ZsFpmOp *op);
extern BlockNumber zspage_entry_find(const ZsTreeEntry *entry, uint32 nblocks);

/* FPM pages of a chain that are pinned before their directory page is locked, at most. */
#define ZSPAGE_MAX_PINNED	30

/*
 * One change of directory entries: collected first, then applied and logged.
 * Operations are about trees of dirbuf, and about the table's own map if the
 * metapage is locked.
 */
typedef struct ZsFpmChange
{
	Buffer		dirbuf;			/* metapage or directory page, exclusively locked */
	uint16		first_treeno;	/* of dirbuf */
	Buffer		metabuf;		/* exclusively locked, when it changes; may be
								 * dirbuf; else Invalid */
	BlockNumber file_blocks;	/* new end of the known file, 0 = unchanged */
	Buffer		chainbuf;		/* FPM page, exclusively locked, or Invalid */
	Page		chainimage;		/* its new contents */
	int			nops;
	int			maxops;
	ZsFpmOp    *ops;
} ZsFpmChange;

/* page_change.c */
extern void zspage_change_add(ZsFpmChange *change, uint16 treeno, uint8 op,
							  BlockNumber start, uint32 length);
extern void zspage_change_apply(Relation rel, ZsFpmChange *change);
extern void zspage_change_lock_both(Relation rel, uint16 treeno, ZsFpmChange *change);
extern void zspage_change_unlock(ZsFpmChange *change);

/* The tree's entry on a locked page of the change. */
static inline ZsTreeEntry *
zspage_change_entry(ZsFpmChange *change, uint16 treeno)
{
	if (treeno < change->first_treeno)
		return zspage_page_entry(BufferGetPage(change->metabuf), 0, treeno);
	return zspage_page_entry(BufferGetPage(change->dirbuf), change->first_treeno, treeno);
}

/* page_chain.c */

/* FPM pages (page_chain.c); no lock held on entry. */
extern void zspage_chain_out(Relation rel, uint16 treeno);
extern void zspage_chain_push(Relation rel, uint16 treeno);
extern BlockNumber zspage_chain_take(Relation rel, uint16 from, uint16 treeno, uint32 nblocks);
extern void zspage_chain_lock(Relation rel, uint16 treeno, Buffer buf, int lockmode);

/* page_extend.c */

extern BlockNumber zspage_obtain_run(Relation rel, uint16 treeno, uint32 nblocks,
									 ZsAllocAhead ahead);

/* page_return.c */

extern bool zspage_take_away(Relation rel, uint16 treeno, ZsExtent extent, uint32 length,
							 bool to_table, bool *full);

#endif							/* PAGE_INTERNAL_H */
