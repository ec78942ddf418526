/*-------------------------------------------------------------------------
 *
 * btree_internal.h
 *	  Private to src/btree.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BTREE_INTERNAL_H
#define BTREE_INTERNAL_H

#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_btree.h"
#include "zs_page.h"

static inline void
zsbtree_set_nitems(Page page, int nitems)
{
	((PageHeader) page)->pd_lower = (char *) (zsbtree_items(page) + nitems) - (char *) page;
}

/* btree_search.c */

/* Is this a page of the tree, sound as far as can be seen?  Sets *reason otherwise. */
extern ZsPageVerdict zsbtree_check_page(Page page, uint16 treeno, const char **reason);

/* Index of the last item with lokey <= key; the page must hold key. */
extern int	zsbtree_find_item(Page page, uint64 key);

/* btree_split.c */

/* Inserts item at index into a page that has room. */
extern void zsbtree_put_item(Page page, int index, const ZsInnerItem *item);

/* btree_merge.c */

/*
 * Takes the item at index out, and gives the one before it these flags: what a merge does to
 * the parent.
 */
extern void zsbtree_drop_item(Page page, int index, uint32 left_flags);

/* btree_search.c */

/*
 * The page of the given level that holds key, locked; InvalidBuffer if the
 * tree is empty or not that high.
 */
extern Buffer zsbtree_search_level(Relation rel, uint16 treeno, uint64 key,
								   int level, int lockmode);

/* The same, exclusively locked, for a caller that holds a page of the level below. */
extern Buffer zsbtree_search_parent(Relation rel, uint16 treeno, uint64 key, int level);

/* btree_merge.c */

/* The right sibling of a locked page, exclusively locked; nobody but VACUUM merges or moves it. */
extern Buffer zsbtree_lock_right(Relation rel, uint16 treeno, const ZsPageOpaque *left);

/* btree_split.c */

/*
 * Inserts the downlink of the right sibling of leftbuf (exclusively locked,
 * ZS_PAGEF_INCOMPLETE_SPLIT set) and clears the flag; leaves leftbuf locked.
 */
extern void zsbtree_finish_split(Relation rel, uint16 treeno, Buffer leftbuf);

#endif							/* BTREE_INTERNAL_H */
