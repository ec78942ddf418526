/*-------------------------------------------------------------------------
 *
 * btree_stay.c
 *	  Who is on the way to a parent, and who takes pages out of trees.
 *
 * A backend that holds a page and looks for its parent must not wait for a lock: the pointer that
 * it follows may be stale, and the page behind it by now be another one, whose owner waits for the
 * page held.  So it tries, and begins again (zsbtree_search_parent()).  Where many readers come
 * through the parent, each for an instant, its lock may never be free when it is tried, while those
 * who want the page below wait.
 *
 * So after a while the search keeps all pages of the table's trees in their places until it ends,
 * by a heavyweight lock on a page number that no file has, in share mode.  Pages leave their places
 * by merges and moves only, which only VACUUM makes, under this lock in exclusive mode.  What the
 * search reads under it, from the root on, is no stale pointer: it comes to pages of this tree
 * above the one held, and may wait for them, since nobody waits for a page with one above it
 * locked.
 *
 * Neither waits for the other: a search for which the lock is not free goes on trying, and VACUUM
 * leaves the pages where they are.  VACUUM locks the pages below before, so that it does not keep
 * searches out while it waits for these.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_stay.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/lmgr.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "btree_internal.h"
#include "zs_page.h"

#define BUSY_SLEEP_US	100

/* Waits a moment for a page on the way to a parent, whose lock is not free. */
void
zsbtree_wait_from_below(void)
{
	static uint32 wait_event = 0;

	if (wait_event == 0)
		wait_event = WaitEventExtensionNew("ZedstoreParentPage");
	pgstat_report_wait_start(wait_event);
	pg_usleep(BUSY_SLEEP_US);
	pgstat_report_wait_end();
}

/*
 * Keeps VACUUM from taking pages out of the table's trees until zsbtree_let_pages_go(), or the end
 * of the transaction after an error.  Waits for nothing, so pages may be locked: false if VACUUM is
 * just doing that.
 */
bool
zsbtree_keep_pages(Relation rel)
{
	return RELATION_IS_LOCAL(rel) || ConditionalLockPage(rel, ZS_STAY_BLKNO, ShareLock);
}

/* See zsbtree_keep_pages(). */
void
zsbtree_let_pages_go(Relation rel)
{
	if (!RELATION_IS_LOCAL(rel))
		UnlockPage(rel, ZS_STAY_BLKNO, ShareLock);
}

/*
 * For VACUUM: may a page leave its place, until zsbtree_removal_end()?  It is locked, and so is its
 * left sibling; false if somebody keeps pages in their places, and waits for nothing.
 */
bool
zsbtree_removal_begin(Relation rel)
{
	return RELATION_IS_LOCAL(rel) || ConditionalLockPage(rel, ZS_STAY_BLKNO, ExclusiveLock);
}

/* See zsbtree_removal_begin(); nothing leads to the page any more. */
void
zsbtree_removal_end(Relation rel)
{
	if (!RELATION_IS_LOCAL(rel))
		UnlockPage(rel, ZS_STAY_BLKNO, ExclusiveLock);
}
