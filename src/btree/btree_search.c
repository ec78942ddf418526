/*-------------------------------------------------------------------------
 *
 * btree_search.c
 *	  Descent from the root to the page that holds a row number.
 *
 * One page is locked at a time.  Between reading a pointer and locking the
 * page behind it anything may happen to that page: it may have split (the key
 * lies to the right: follow the right link), or it may have been freed and
 * used for something else (its identity tells: start again from the root).
 * A backend that holds a page and looks for its parent waits for no lock, but begins again; in the
 * end it waits, with all pages kept in their places (btree_stay.c).
 * Only VACUUM moves a root; a cached root that is none any more is told by its page, and the
 * directory is read again.
 *
 * Invariants that each step checks:
 *	  1. the page belongs to the tree and has the level the pointer promised
 *	  2. lokey <= key; key < hikey, or there is a right sibling
 *	  3. an inner page has at least one item, and the first has the page's lokey
 *	  4. lokey and hikey are what the pointer promised: a split that changes hikey is incomplete
 *	  until the parent
 *		 says so too, and a merge changes both pages at once
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/btree/btree_search.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/s_lock.h"
#include "utils/rel.h"

#include "btree_internal.h"

/* A search from below tries that often to lock a page, and as often from the root on. */
#define BUSY_SPINS		100
#define BUSY_ROUNDS		100

/* Page type and level of a tree's bottom pages. */
ZsPageType
zsbtree_bottom_type(uint16 treeno)
{
	Assert(treeno != ZS_TREE_TABLE);
	if (treeno == ZS_TREE_TID)
		return ZS_PAGE_TID_LEAF;
	if (treeno == ZS_TREE_ROW)
		return ZS_PAGE_ROW_LEAF;
	return ZS_PAGE_SEGMENT_INDEX;
}

/*
 * Level of a tree's bottom pages: 1 in attribute trees, whose segments count
 * as level 0, else 0.
 */
uint8
zsbtree_bottom_level(uint16 treeno)
{
	return treeno <= ZS_TREE_ROW ? 0 : 1;
}

/* Index of the last item with lokey <= key; the page must hold key. */
int
zsbtree_find_item(Page page, uint64 key)
{
	const ZsInnerItem *items = zsbtree_items(page);
	int			low = 0;
	int			high = zsbtree_nitems(page);

	Assert(high > 0 && items[0].lokey <= key);
	while (high - low > 1)
	{
		int			mid = (low + high) / 2;

		if (items[mid].lokey <= key)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/*
 * Is this a page of the tree, sound as far as can be seen?  Sets *reason
 * otherwise.
 */
ZsPageVerdict
zsbtree_check_page(Page page, uint16 treeno, const char **reason)
{
	ZsPageVerdict verdict = zspage_verify(page, ZS_PAGE_INNER, treeno, reason);
	ZsPageOpaque *opaque;

	if (verdict == ZS_PAGE_OTHER && !PageIsNew(page))
		verdict = zspage_verify(page, zsbtree_bottom_type(treeno), treeno, reason);
	if (verdict != ZS_PAGE_OK)
		return verdict;

	opaque = ZsPageGetOpaque(page);
	if (opaque->level < zsbtree_bottom_level(treeno) ||
		(opaque->page_type == ZS_PAGE_INNER) != (opaque->level > zsbtree_bottom_level(treeno)))
	{
		*reason = "level does not fit the page type";
		return ZS_PAGE_BROKEN;
	}
	if ((opaque->flags & ZS_PAGEF_ROOT) != 0 &&
		(opaque->lokey != 0 || opaque->hikey != PG_UINT64_MAX || opaque->right != 0 ||
		 (opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT) != 0))
	{
		*reason = "root has neighbours";
		return ZS_PAGE_BROKEN;
	}
	if (opaque->page_type == ZS_PAGE_INNER)
	{
		int			nitems = zsbtree_nitems(page);

		if (nitems < 1 || nitems > (int) ZS_INNER_CAPACITY ||
			zsbtree_items(page)[0].lokey != opaque->lokey)
		{
			*reason = "invalid inner page items";
			return ZS_PAGE_BROKEN;
		}
	}
	return ZS_PAGE_OK;
}

/*
 * Where to go from a locked page.
 */
typedef enum Step
{
	STEP_RESTART = 1,			/* stale pointer */
	STEP_RIGHT,					/* to *next on the same level */
	STEP_DOWN,					/* to *next one level below */
	STEP_HERE,					/* this is the page */
	STEP_NONE,					/* the tree is lower than the wanted level */
} Step;

/* What a pointer promises of the page; level -1: that it is the root. */
typedef struct Promise
{
	int			level;
	uint64		lokey;
	uint64		hikey;			/* less, if a split is not complete */
} Promise;

/*
 * For STEP_RIGHT and STEP_DOWN *next is the pointer to follow, and *promise becomes what it
 * promises.
 */
static Step
choose_step(Relation rel, Buffer buf, uint16 treeno, uint64 key, int level,
			Promise *promise, BlockNumber *next, const char **reason)
{
	Page		page = BufferGetPage(buf);
	ZsPageOpaque *opaque;
	const ZsInnerItem *items;
	int			index;

	switch (zsbtree_check_page(page, treeno, reason))
	{
		case ZS_PAGE_BROKEN:
			zsbase_corrupted(rel, BufferGetBlockNumber(buf),
							 "Page of tree %u: %s.", treeno, *reason);
			break;
		case ZS_PAGE_OTHER:
			return STEP_RESTART;
		case ZS_PAGE_OK:
			break;
	}
	opaque = ZsPageGetOpaque(page);
	if (promise->level < 0 && !(opaque->flags & ZS_PAGEF_ROOT))
	{
		*reason = "page is not the root";
		return STEP_RESTART;
	}
	if ((promise->level >= 0 && opaque->level != promise->level) ||
		opaque->lokey != promise->lokey || opaque->hikey > promise->hikey ||
		(opaque->hikey < promise->hikey && !(opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT)))
	{
		*reason = "page has another level or key range than its downlink";
		return STEP_RESTART;
	}
	if (key >= opaque->hikey)
	{
		if (opaque->right == 0)
			zsbase_corrupted(rel, BufferGetBlockNumber(buf),
							 "Page of tree %u, level %d ends before row " UINT64_FORMAT " and has no right sibling.",
							 treeno, opaque->level, key);
		*next = opaque->right;
		promise->level = opaque->level;
		promise->lokey = opaque->hikey;
		return STEP_RIGHT;
	}
	if (opaque->level == level)
		return STEP_HERE;
	if (opaque->level < level)
		return STEP_NONE;

	items = zsbtree_items(page);
	index = zsbtree_find_item(page, key);
	*next = items[index].child;
	promise->level = opaque->level - 1;
	promise->lokey = items[index].lokey;
	promise->hikey = index + 1 < zsbtree_nitems(page) ? items[index + 1].lokey : opaque->hikey;
	return STEP_DOWN;
}

/* How an attempt ends. */
typedef enum Descent
{
	DESCENT_DONE = 1,			/* the page, or the tree is too low */
	DESCENT_STALE,				/* a pointer was */
	DESCENT_BUSY,				/* a page on the way was locked (from_below) */
} Descent;

/*
 * Locks a page on the way, whose pointer may be stale: from below only if it is free, or becomes
 * free at once.
 */
static bool
lock_page(Buffer buf, int lockmode, bool from_below)
{
	if (!from_below)
		LockBuffer(buf, lockmode);
	else
	{
		int			first = 0;

		ZS_INJECTION_POINT_ARG("zs-btree-busy", &first);
		for (int i = first; i == BUSY_SPINS || !zspage_try_lock(buf, lockmode); i++)
		{
			if (i == BUSY_SPINS)
				return false;
			SPIN_DELAY();
		}
	}
	return true;
}

/*
 * One attempt.  *result is the page or InvalidBuffer.  From below (the caller holds a page of the
 * level below the wanted one) it never waits for a lock.
 */
static Descent
try_descent(Relation rel, uint16 treeno, uint64 key, int level, int lockmode, bool from_below,
			Buffer *result, BlockNumber *where, const char **reason)
{
	BlockNumber blkno = zspage_tree_root(rel, treeno);
	Promise		promise = {.level = -1, .lokey = 0, .hikey = PG_UINT64_MAX};
	bool		finish = lockmode == BUFFER_LOCK_EXCLUSIVE;
	uint64		passed = 0;		/* largest hikey passed on this level */

	*result = InvalidBuffer;
	if (blkno == 0)
		return DESCENT_DONE;
	if (from_below)
		ZS_INJECTION_POINT_ARG("zs-btree-from-below", &blkno);

	for (;;)
	{
		int			mode = promise.level == level ? lockmode : BUFFER_LOCK_SHARE;
		Buffer		buf = zspage_read(rel, blkno, NULL);
		ZsPageOpaque *opaque;
		Step		step;

		*where = blkno;
		if (!lock_page(buf, mode, from_below))
		{
			ReleaseBuffer(buf);
			return DESCENT_BUSY;
		}
		step = choose_step(rel, buf, treeno, key, level, &promise, &blkno, reason);

		/* only now it is known that the root is the page wanted */
		if (step == STEP_HERE && mode != lockmode)
		{
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
			mode = lockmode;
			if (!lock_page(buf, mode, from_below))
			{
				ReleaseBuffer(buf);
				return DESCENT_BUSY;
			}
			step = choose_step(rel, buf, treeno, key, level, &promise, &blkno, reason);
		}

		/* a page that is not what it should be may have no special space to look at */
		if (step == STEP_RESTART)
		{
			UnlockReleaseBuffer(buf);
			return DESCENT_STALE;
		}
		opaque = ZsPageGetOpaque(BufferGetPage(buf));

		if (finish && mode == BUFFER_LOCK_EXCLUSIVE && (step == STEP_HERE || step == STEP_RIGHT) &&
			(opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT))
			zsbtree_finish_split(rel, treeno, buf);

		switch (step)
		{
			case STEP_HERE:
				*result = buf;
				return DESCENT_DONE;
			case STEP_RESTART:
				Assert(false);
				break;
			case STEP_NONE:
				UnlockReleaseBuffer(buf);
				return DESCENT_DONE;
			case STEP_DOWN:
				passed = 0;
				break;
			case STEP_RIGHT:

				/*
				 * Right links lead to higher keys.  One that does not is stale,
				 * its page was merged and the block used again, or the links
				 * form a circle, which the next attempts will find too.
				 */
				if (opaque->hikey <= passed)
				{
					UnlockReleaseBuffer(buf);
					*reason = "right links do not ascend";
					return DESCENT_STALE;
				}
				passed = opaque->hikey;
				break;
		}
		UnlockReleaseBuffer(buf);
	}
}

static Buffer
search_level(Relation rel, uint16 treeno, uint64 key, int level, int lockmode, bool from_below)
{
	const char *reason = "";
	BlockNumber where = 0;
	int			nstale = 0;
	int			nbusy = 0;
	bool		stay = false;

	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	while (nstale < ZSBTREE_MAX_RESTARTS)
	{
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		switch (try_descent(rel, treeno, key, level, lockmode, from_below, &buf, &where, &reason))
		{
			case DESCENT_DONE:
				if (stay)
					zsbtree_let_pages_go(rel);
				return buf;
			case DESCENT_STALE:
				/* perhaps a root that is none any more: it moved, or the cache outlived the file */
				nstale++;
				zspage_forget_roots(rel);
				break;
			case DESCENT_BUSY:
				/* perhaps because the pointer is stale */
				zsbtree_wait_from_below();
				zspage_forget_root(rel, treeno);
				stay = ++nbusy >= BUSY_ROUNDS && zsbtree_keep_pages(rel);
				from_below = !stay;
				break;
		}
	}
	zsbase_corrupted(rel, where, "Page on the way to row " UINT64_FORMAT " of tree %u: %s.",
					 key, treeno, reason);
}

/*
 * The page of the given level that holds key, locked; InvalidBuffer if the
 * tree is empty or not that high.
 */
Buffer
zsbtree_search_level(Relation rel, uint16 treeno, uint64 key, int level, int lockmode)
{
	if (lockmode == BUFFER_LOCK_EXCLUSIVE)
		zspage_prepare_extension(rel);
	return search_level(rel, treeno, key, level, lockmode, false);
}

/*
 * The page of the given level that holds key, exclusively locked, for a caller
 * that holds a page of the level below; InvalidBuffer if the tree is not that
 * high.
 *
 * Any pointer on the way may be stale when the page behind it is to be locked,
 * and the block may by then be a page whose owner waits for one that our
 * caller holds. So nothing is waited for here: what is locked is looked for
 * again from the root on, which is not taken from the cache.
 *
 * Readers side by side may keep a lock from ever being free.  So after a while the search keeps
 * pages in their places and waits (btree_stay.c).
 */
Buffer
zsbtree_search_parent(Relation rel, uint16 treeno, uint64 key, int level)
{
	zspage_forget_root(rel, treeno);
	return search_level(rel, treeno, key, level, BUFFER_LOCK_EXCLUSIVE, true);
}

/*
 * The page of a level that holds key, which is likely to be blkno, locked.  The right link or the
 * memory that leads there may be stale: the page may have been split, or merged with its neighbour.
 */
static Buffer
page_at(Relation rel, uint16 treeno, int level, BlockNumber blkno, uint64 key, int lockmode)
{
	Buffer		buf = zspage_read(rel, blkno, NULL);
	const char *reason;

	Assert(lockmode == BUFFER_LOCK_SHARE || lockmode == BUFFER_LOCK_EXCLUSIVE);
	LockBuffer(buf, lockmode);
	if (zsbtree_check_page(BufferGetPage(buf), treeno, &reason) == ZS_PAGE_OK)
	{
		ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

		if (opaque->level == level && opaque->lokey <= key && key < opaque->hikey &&
			(lockmode == BUFFER_LOCK_SHARE || !(opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT)))
			return buf;
	}
	UnlockReleaseBuffer(buf);
	return zsbtree_search_level(rel, treeno, key, level, lockmode);
}

/* Where a search of a TID tree ended last: a statement comes to the leaf of a row several times. */
static struct
{
	RelFileLocator locator;
	BlockNumber blkno;			/* 0: not known */
	uint64		lokey;			/* what the page held then */
	uint64		hikey;
}			last_leaf;

/*
 * Finds the bottom page whose [lokey, hikey) holds key and returns it pinned
 * and locked in lockmode (BUFFER_LOCK_SHARE or BUFFER_LOCK_EXCLUSIVE);
 * InvalidBuffer when the tree is empty.  The page's identity has been
 * verified.  With BUFFER_LOCK_EXCLUSIVE incomplete splits on the way are
 * finished.  The caller holds no lock on any page of this tree. Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
Buffer
zsbtree_search(Relation rel, uint16 treeno, uint64 key, int lockmode)
{
	int			level = zsbtree_bottom_level(treeno);
	Buffer		buf;

	Assert(treeno != ZS_TREE_TABLE);
	if (lockmode == BUFFER_LOCK_EXCLUSIVE)
		zspage_prepare_extension(rel);
	if (treeno != ZS_TREE_TID || !zs_enable_fetch_cache)
		return zsbtree_search_level(rel, treeno, key, level, lockmode);

	if (last_leaf.blkno != 0 && last_leaf.lokey <= key && key < last_leaf.hikey &&
		RelFileLocatorEquals(last_leaf.locator, rel->rd_locator) &&
		zspage_exists(rel, last_leaf.blkno))
		buf = page_at(rel, treeno, level, last_leaf.blkno, key, lockmode);
	else
		buf = zsbtree_search_level(rel, treeno, key, level, lockmode);
	if (BufferIsValid(buf))
	{
		const ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

		last_leaf.locator = rel->rd_locator;
		last_leaf.blkno = BufferGetBlockNumber(buf);
		last_leaf.lokey = opaque->lokey;
		last_leaf.hikey = opaque->hikey;
	}
	return buf;
}

/*
 * The bottom page in block blkno, exclusively locked, if it is the one that
 * holds key and its lock is free; else InvalidBuffer.  Never waits for a lock,
 * so the caller may hold others, those of pages of this tree too (but not of
 * this page).
 */
Buffer
zsbtree_try_bottom(Relation rel, uint16 treeno, uint64 key, BlockNumber blkno)
{
	const char *reason;
	ZsPageOpaque *opaque;
	Buffer		buf;

	if (!zspage_exists(rel, blkno))
		return InvalidBuffer;
	buf = zspage_read(rel, blkno, NULL);
	if (!ConditionalLockBuffer(buf))
	{
		ReleaseBuffer(buf);
		return InvalidBuffer;
	}
	if (zsbtree_check_page(BufferGetPage(buf), treeno, &reason) == ZS_PAGE_OK)
	{
		opaque = ZsPageGetOpaque(BufferGetPage(buf));
		if (opaque->level == zsbtree_bottom_level(treeno) &&
			opaque->lokey <= key && key < opaque->hikey &&
			!(opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT))
			return buf;
	}
	UnlockReleaseBuffer(buf);
	return InvalidBuffer;
}

/*
 * Same as zsbtree_search(), but creates the root, empty, when the tree is
 * empty; always exclusive. An empty bottom page is made by zspage_init() alone
 * (pd_lower right behind the page header); each module takes that for an empty
 * page.
 */
Buffer
zsbtree_search_or_create(Relation rel, uint16 treeno, uint64 key)
{
	for (;;)
	{
		Buffer		buf = zsbtree_search(rel, treeno, key, BUFFER_LOCK_EXCLUSIVE);
		PGAlignedBlock image;
		BlockNumber blkno;
		bool		created;

		if (BufferIsValid(buf))
			return buf;

		blkno = zspage_alloc(rel, treeno);
		ZS_INJECTION_POINT("zs-btree-root-block");
		buf = zspage_new_buffer(rel, blkno, NULL);
		zspage_init(image.data, zsbtree_bottom_type(treeno), treeno,
					zsbtree_bottom_level(treeno), 0, PG_UINT64_MAX);
		ZsPageGetOpaque(image.data)->flags = ZS_PAGEF_ROOT;
		created = zspage_tree_create(rel, treeno, buf, image.data);
		UnlockReleaseBuffer(buf);
		if (!created)
			zspage_give_back(rel, treeno, blkno);
	}
}

/*
 * zsbtree_search() for one who goes from page to page and keeps no lock meanwhile: the page is
 * likely to be blkno, by the right link of the one before it.  It is looked at first.
 */
Buffer
zsbtree_search_near(Relation rel, uint16 treeno, BlockNumber blkno, uint64 key, int lockmode)
{
	if (blkno == 0 || !zspage_exists(rel, blkno))
		return zsbtree_search(rel, treeno, key, lockmode);
	return page_at(rel, treeno, zsbtree_bottom_level(treeno), blkno, key, lockmode);
}

/*
 * Calls fn for each page of one level, left to right, on a copy.  A page that is merged while
 * the walk is on its way may be seen twice, within its neighbour the second time.
 */
static void
visit_level(Relation rel, uint16 treeno, int level, ZsTreePageVisitor fn, void *arg)
{
	Buffer		buf = zsbtree_search_level(rel, treeno, 0, level, BUFFER_LOCK_SHARE);

	while (BufferIsValid(buf))
	{
		PGAlignedBlock copy;
		BlockNumber blkno = BufferGetBlockNumber(buf);
		ZsPageOpaque *opaque = ZsPageGetOpaque(copy.data);

		memcpy(copy.data, BufferGetPage(buf), BLCKSZ);
		UnlockReleaseBuffer(buf);
		CHECK_FOR_INTERRUPTS();

		fn(rel, blkno, copy.data, arg);
		if (opaque->right == 0)
			break;

		/* keys ascend from step to step, so this comes to an end */
		buf = page_at(rel, treeno, level, opaque->right, opaque->hikey, BUFFER_LOCK_SHARE);
	}
}

/*
 * Calls fn with a copy of each page, top level first, left to right; for
 * inspection.  Locks one page at a time, shared, and none while fn runs.
 */
void
zsbtree_visit_pages(Relation rel, uint16 treeno, ZsTreePageVisitor fn, void *arg)
{
	int			level = zsbtree_root_level(rel, treeno);

	for (; level >= zsbtree_bottom_level(treeno); level--)
		visit_level(rel, treeno, level, fn, arg);
}
