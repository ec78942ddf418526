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

/*
 * Restarts after which a stale pointer is taken for a wrong one.  Each needs a concurrent
 * change at the right moment.
 */
#define ZSBTREE_MAX_RESTARTS	1000

static inline void
zsbtree_set_nitems(Page page, int nitems)
{
	((PageHeader) page)->pd_lower = (char *) (zsbtree_items(page) + nitems) - (char *) page;
}

/* btree_stay.c */

extern void zsbtree_wait_from_below(void);
extern bool zsbtree_keep_pages(Relation rel);
extern void zsbtree_let_pages_go(Relation rel);
extern bool zsbtree_removal_begin(Relation rel);
extern void zsbtree_removal_end(Relation rel);

/* btree_search.c */

extern ZsPageVerdict zsbtree_check_page(Page page, uint16 treeno, const char **reason);
extern int	zsbtree_find_item(Page page, uint64 key);

/* btree_split.c */

extern void zsbtree_put_item(Page page, int index, const ZsInnerItem *item);

/* btree_merge.c */

extern void zsbtree_drop_item(Page page, int index, uint32 left_flags);

/* btree_search.c */

extern Buffer zsbtree_search_level(Relation rel, uint16 treeno, uint64 key,
								   int level, int lockmode);
extern Buffer zsbtree_search_parent(Relation rel, uint16 treeno, uint64 key, int level);

/* btree_merge.c */

extern Buffer zsbtree_lock_right(Relation rel, uint16 treeno, const ZsPageOpaque *left);

/* btree_split.c */

extern void zsbtree_finish_split(Relation rel, uint16 treeno, Buffer leftbuf);

#endif							/* BTREE_INTERNAL_H */
