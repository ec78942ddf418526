/*-------------------------------------------------------------------------
 *
 * check_tree.c
 *	  zs_check(): the shape of the trees.
 *
 * Depth first from the root, so that the pages of each level are met in key
 * order:
 *
 *				[0 ......................................... max)	root
 *				[0 ........... 5000)[5000 ................. max)	level 1
 *				[0 . 900)[900 . 5000)[5000 . 7000)[7000 ... max)	level 0
 *
 * Invariants:
 *	1. a page is what its downlink says: tree, level, first key;
 *	2. pages under one parent cover its range without gap or overlap;
 *	3. so do the pages of a level, and right links lead along them;
 *	4. a page that ends before its downlink does has an incomplete split, and
 *	   its right sibling goes on from there;
 *	5. only the root says that it is one.
 *
 * A page that cannot be read hides what is below it, but not its neighbours.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "check_internal.h"
#include "zs_btree.h"

#define KNOWN_PAGE_FLAGS \
	(ZS_PAGEF_ROOT | ZS_PAGEF_INCOMPLETE_SPLIT | ZS_PAGEF_ALL_FROZEN | ZS_PAGEF_ANY_VISIBLE)

/* The page of a level that was met last. */
typedef struct Edge
{
	bool		known;			/* else it could not be read */
	BlockNumber blkno;
	BlockNumber right;
	uint64		hikey;
} Edge;

typedef struct TreeWalk
{
	ZsCheck    *check;
	uint16		treeno;
	int			bottom;			/* bottom level */
	bool		started[ZS_CHECK_MAX_LEVELS];
	Edge		edges[ZS_CHECK_MAX_LEVELS];
	zstid		segment_end;	/* attribute trees: where segments so far end */
} TreeWalk;

/* A downlink, or a right link that stands in for one. */
typedef struct Link
{
	BlockNumber child;
	int			level;			/* -1: root */
	uint64		lokey;
	uint64		end;			/* where the next downlink begins */
	bool		frozen;
} Link;

static bool visit_page(TreeWalk *walk, const Link *link);

static const char *
page_name(const TreeWalk *walk, int level)
{
	return zspage_type_name(level > walk->bottom ? ZS_PAGE_INNER :
							zsbtree_bottom_type(walk->treeno));
}

/* Identity of a page that link leads to; false: do not look any further. */
static bool
check_identity(TreeWalk *walk, const Link *link, Page page)
{
	ZsCheck    *check = walk->check;
	const ZsPageOpaque *opaque;
	const char *reason;
	ZsPageVerdict verdict = zspage_verify(page, ZS_PAGE_INNER, walk->treeno, &reason);

	if (verdict == ZS_PAGE_OTHER && !PageIsNew(page))
		verdict = zspage_verify(page, zsbtree_bottom_type(walk->treeno), walk->treeno, &reason);
	if (verdict != ZS_PAGE_OK)
	{
		zscheck_error(check, link->child, walk->treeno, "%s: %s",
					  link->level < 0 ? "root" : page_name(walk, link->level), reason);
		return false;
	}
	opaque = ZsPageGetOpaque(page);
	if (opaque->level >= ZS_CHECK_MAX_LEVELS || opaque->level < walk->bottom ||
		(opaque->page_type == ZS_PAGE_INNER) != (opaque->level > walk->bottom))
	{
		zscheck_error(check, link->child, walk->treeno, "%s has level %u",
					  zspage_type_name(opaque->page_type), opaque->level);
		return false;
	}
	if (link->level >= 0 && opaque->level != link->level)
	{
		zscheck_error(check, link->child, walk->treeno, "page has level %u, its parent expects %d",
					  opaque->level, link->level);
		return false;
	}
	if (opaque->lokey != link->lokey)
	{
		zscheck_error(check, link->child, walk->treeno,
					  "page begins at row " UINT64_FORMAT ", its parent says " UINT64_FORMAT,
					  opaque->lokey, link->lokey);
		return false;
	}
	return true;
}

/* The rest of what the special space says. */
static void
check_opaque(TreeWalk *walk, const Link *link, const ZsPageOpaque *opaque)
{
	ZsCheck    *check = walk->check;
	bool		is_root = link->level < 0;

	if (((opaque->flags & ZS_PAGEF_ROOT) != 0) != is_root)
		zscheck_error(check, link->child, walk->treeno,
					  is_root ? "root is not marked as one" :
					  "page is marked as root but is not the root");
	if ((opaque->flags & ~KNOWN_PAGE_FLAGS) != 0 ||
		((opaque->flags & (ZS_PAGEF_ALL_FROZEN | ZS_PAGEF_ANY_VISIBLE)) != 0 &&
		 opaque->page_type != ZS_PAGE_TID_LEAF))
		zscheck_error(check, link->child, walk->treeno, "page has invalid flags 0x%04X",
					  opaque->flags);
	if (opaque->unused != 0 || opaque->stamp != 0 || opaque->position != 0)
		zscheck_error(check, link->child, walk->treeno,
					  "unused fields of the special space are not zero");
	if (opaque->hikey > link->end)
		zscheck_error(check, link->child, walk->treeno,
					  "page ends at row " UINT64_FORMAT ", but the next one begins at " UINT64_FORMAT,
					  opaque->hikey, link->end);
	if (opaque->hikey == link->end && (opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT) != 0)
		zscheck_error(check, link->child, walk->treeno,
					  "page is marked for an incomplete split, but its right sibling has a downlink");
	if ((opaque->right == 0) != (opaque->hikey == PG_UINT64_MAX))
		zscheck_error(check, link->child, walk->treeno,
					  "page ends at row " UINT64_FORMAT " and has right link %u",
					  opaque->hikey, opaque->right);
}

/* Does the page follow the one that was met before on its level? */
static void
check_neighbour(TreeWalk *walk, const Link *link, const ZsPageOpaque *opaque)
{
	int			level = opaque->level;
	Edge	   *edge = &walk->edges[level];

	Assert(level >= walk->bottom && level < ZS_CHECK_MAX_LEVELS);
	if (!walk->started[level] && opaque->lokey != 0)
		zscheck_error(walk->check, link->child, walk->treeno,
					  "first page of level %d begins at row " UINT64_FORMAT, level, opaque->lokey);
	if (walk->started[level] && edge->known)
	{
		if (edge->right != link->child)
			zscheck_error(walk->check, edge->blkno, walk->treeno,
						  "right link leads to block %u, the next page is block %u",
						  edge->right, link->child);
		if (edge->hikey != opaque->lokey)
			zscheck_error(walk->check, edge->blkno, walk->treeno,
						  "page ends at row " UINT64_FORMAT ", the next one, block %u, begins at " UINT64_FORMAT,
						  edge->hikey, link->child, opaque->lokey);
	}
	walk->started[level] = true;
	edge->known = true;
	edge->blkno = link->child;
	edge->right = opaque->right;
	edge->hikey = opaque->hikey;
}

/* The pages that one downlink stands for: its child, and right siblings without a downlink. */
static void
visit_child(TreeWalk *walk, Link link)
{
	Assert(link.level >= walk->bottom && link.level < ZS_CHECK_MAX_LEVELS);
	for (;;)
	{
		const Edge *edge = &walk->edges[link.level];

		if (!visit_page(walk, &link))
		{
			walk->started[link.level] = true;
			walk->edges[link.level].known = false;
			return;
		}
		Assert(edge->known && edge->hikey > link.lokey);
		if (edge->hikey >= link.end || edge->right == 0)
			return;

		/* keys ascend, so this comes to an end */
		link.child = edge->right;
		link.lokey = edge->hikey;
		link.frozen = false;
	}
}

/* Items of an inner page, and what is below. */
static void
visit_children(TreeWalk *walk, BlockNumber blkno, Page page)
{
	const ZsPageOpaque *opaque = ZsPageGetOpaque(page);
	const ZsInnerItem *items = zsbtree_items(page);
	int			nitems = zsbtree_nitems(page);

	if (((PageHeader) page)->pd_lower != (char *) (items + nitems) - (char *) page || nitems == 0)
	{
		zscheck_error(walk->check, blkno, walk->treeno, "inner page: item array has a broken end");
		return;
	}
	if (items[0].lokey != opaque->lokey)
		zscheck_error(walk->check, blkno, walk->treeno,
					  "inner page: first item begins at row " UINT64_FORMAT ", the page at " UINT64_FORMAT,
					  items[0].lokey, opaque->lokey);
	for (int i = 0; i < nitems; i++)
	{
		Link		link = {
			.child = items[i].child,
			.level = opaque->level - 1,
			.lokey = items[i].lokey,
			.end = i + 1 < nitems ? items[i + 1].lokey : opaque->hikey,
			.frozen = (items[i].flags & ZS_INNERF_ALL_FROZEN) != 0
		};

		if (link.lokey >= link.end)
		{
			zscheck_error(walk->check, blkno, walk->treeno,
						  "inner page: items are not in ascending order at row " UINT64_FORMAT,
						  link.lokey);
			return;
		}
		if ((items[i].flags & ~ZS_INNERF_ALL_FROZEN) != 0 ||
			(link.frozen && (walk->treeno != ZS_TREE_TID || opaque->level != walk->bottom + 1)))
			zscheck_error(walk->check, blkno, walk->treeno,
						  "inner page: item at row " UINT64_FORMAT " has invalid flags 0x%X",
						  link.lokey, items[i].flags);
		visit_child(walk, link);
	}
}

/* Page that link leads to, and everything below; false when it is not what link says. */
static bool
visit_page(TreeWalk *walk, const Link *link)
{
	ZsCheck    *check = walk->check;
	PGAlignedBlock copy;
	const ZsPageOpaque *opaque;
	const char *what = link->level < 0 ? "root" : page_name(walk, link->level);

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();

	if (!zscheck_claim(check, walk->treeno, link->child, 1, what) ||
		!zscheck_read_page(check, walk->treeno, link->child, what, copy.data) ||
		!check_identity(walk, link, copy.data))
		return false;
	opaque = ZsPageGetOpaque(copy.data);
	check_opaque(walk, link, opaque);
	check_neighbour(walk, link, opaque);

	/* a page that ends too early is legal only as the left half of an incomplete split */
	if (opaque->hikey < link->end)
	{
		if ((opaque->flags & ZS_PAGEF_INCOMPLETE_SPLIT) != 0)
			zscheck_report(check, ZS_SEVERITY_NOTICE, link->child, walk->treeno,
						   "incomplete split: block %u has no downlink yet; the next writer will finish it",
						   opaque->right);
		else
			zscheck_error(check, link->child, walk->treeno,
						  "page ends at row " UINT64_FORMAT ", before the next downlink's " UINT64_FORMAT,
						  opaque->hikey, link->end);
	}

	switch (opaque->page_type)
	{
		case ZS_PAGE_INNER:
			visit_children(walk, link->child, copy.data);
			break;
		case ZS_PAGE_TID_LEAF:
			zscheck_tid_leaf(check, link->child, copy.data, link->frozen);
			break;
		case ZS_PAGE_ROW_LEAF:
			zscheck_row_leaf(check, link->child, copy.data);
			break;
		default:
			Assert(opaque->page_type == ZS_PAGE_SEGMENT_INDEX);
			zscheck_index_page(check, walk->treeno, link->child, copy.data, &walk->segment_end);
	}
	return true;
}

/* Does the last page of each level end the tree? */
static void
check_ends(TreeWalk *walk)
{
	for (int level = walk->bottom; level < ZS_CHECK_MAX_LEVELS; level++)
	{
		const Edge *edge = &walk->edges[level];

		if (walk->started[level] && edge->known && edge->hikey != PG_UINT64_MAX)
			zscheck_error(walk->check, edge->blkno, walk->treeno,
						  "last page of level %d ends at row " UINT64_FORMAT, level, edge->hikey);
	}
}

/* All pages of a tree from the root down, and what hangs on its bottom pages. */
void
zscheck_tree(ZsCheck *check, uint16 treeno)
{
	TreeWalk   *walk = palloc0(sizeof(TreeWalk));
	Link		root = {
		.child = check->entries[treeno].root,
		.level = -1,
		.lokey = 0,
		.end = PG_UINT64_MAX
	};

	Assert(treeno != ZS_TREE_TABLE && root.child != 0);
	walk->check = check;
	walk->treeno = treeno;
	walk->bottom = zsbtree_bottom_level(treeno);
	visit_page(walk, &root);
	check_ends(walk);
	pfree(walk);
}
