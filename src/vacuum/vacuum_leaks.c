/*-------------------------------------------------------------------------
 *
 * vacuum_leaks.c
 *	  VACUUM: blocks that are in no free page map and on no tree.
 *
 * A block is taken from a map with one WAL record and linked into its tree
 * with another.  A crash, an error or a cancelled statement in between leaves
 * it to nobody.  VACUUM finds such blocks by looking at all others: what maps
 * hold, what the pages above the bottom and the segments' items lead to.
 * Leaves, segments and values are not read for that.
 *
 * What is not found this way is a candidate.  It may also be in the hands of a
 * transaction that is about to link it, so the search goes on only when all
 * transactions have ended that had a lock for writing on the table after the maps were
 * read.  Then it is done once more, and what is a candidate again has leaked:
 *
 *	  At some moment of the first search the block was in no map.  From then on
 *	  nobody puts it into one: that is VACUUM's business, and the exception
 *	  (zspage_give_back()) is kept out by a lock.  What is in no map is not
 *	  taken.  Whoever had taken it before has ended.
 *
 * Candidates are read.  Leaves whose split was not finished have no downlink,
 * but are found by their key.  Pages of values (overflow pages) may belong to
 * a row: only a VACUUM with DISABLE_PAGE_SKIPPING, or against wraparound, or of
 * a small table, follows the pointers of all rows; others leave such pages alone.
 *
 * A leaked block goes back to the map of a tree that misses one: which it had been does not matter,
 * only the number does (ZsTreeEntry.nblocks).  When nobody writes meanwhile, the numbers are exact,
 * and one search is enough; else a tree gets as many as it must miss when all that others seem to
 * miss is really in use.
 *
 * Locks: those of searches.  A heavyweight page lock, see zspage_give_back().
 * WAL: PAGE_FPM for each run that goes back.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_leaks.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "vacuum_compact.h"
#include "vacuum_internal.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_btree.h"
#include "zs_page.h"
#include "zs_row.h"

/* How long to wait for transactions that were writing, in steps. */
#define WAIT_TIMEOUT_MS		1000
#define WAIT_STEP_MS		20

/* A table of at most so many blocks is searched thoroughly in any case. */
#define THOROUGH_ALWAYS		4096

/* With more pages of values than this they are left alone unless VACUUM is thorough. */
#define MAX_VALUES			1024

/* Rows of the row tree that are looked at together. */
#define ROW_BATCH			4096

/* One search. */
typedef struct Search
{
	Relation	rel;
	BufferAccessStrategy strategy;
	BlockNumber nblocks;		/* of the file that maps and trees may hold */
	int			ntrees;
	ZsTreeEntry *entries;		/* when the map was read */
	uint64	   *nfound;			/* blocks of each tree, free ones not counted */
	uint64	   *seen;			/* bitmap of all blocks that were found */
	BlockNumber maxseen;		/* bits of it */
	bool		quiet;			/* nobody had a block in hand */
	VirtualTransactionId *writers;	/* with a lock after the search */
	int			nwriters;
} Search;

/* A candidate that has been looked at. */
typedef struct Leak
{
	BlockNumber blkno;
	uint16		treeno;			/* what the page says, 0 if nothing */
} Leak;

static inline bool
was_seen(const Search *search, BlockNumber blkno)
{
	return blkno < search->maxseen &&
		(search->seen[blkno / 64] & UINT64CONST(1) << blkno % 64) != 0;
}

/* Blocks were found; those that are in use count for the tree. */
static void
see(Search *search, uint16 treeno, BlockNumber start, uint32 nblocks, bool used)
{
	uint64		end = (uint64) start + nblocks;

	Assert(treeno < search->ntrees);
	if (end > MaxBlockNumber)
		zsbase_corrupted(search->rel, start, "A run of %u blocks of tree %u begins here.",
						 nblocks, treeno);
	if (end > search->maxseen)
	{
		BlockNumber newmax = (BlockNumber) TYPEALIGN64(64,
													   Max(end,
														   search->maxseen + search->maxseen / 4));

		search->seen = repalloc_huge(search->seen, newmax / 8);
		memset(search->seen + search->maxseen / 64, 0, (newmax - search->maxseen) / 8);
		search->maxseen = newmax;
	}
	for (uint64 blkno = start; blkno < end; blkno++)
	{
		if (was_seen(search, (BlockNumber) blkno))
			continue;
		search->seen[blkno / 64] |= UINT64CONST(1) << blkno % 64;
		if (used)
			search->nfound[treeno]++;
	}
}

/* ---- trees ------------------------------------------------------------------------ */

/* What the items of a page lead to. */
static void
see_items(Search *search, uint16 treeno, BlockNumber blkno, Page page)
{
	const char *reason;

	switch (ZsPageGetOpaque(page)->page_type)
	{
		case ZS_PAGE_INNER:
			for (int i = 0; i < zsbtree_nitems(page); i++)
				see(search, treeno, zsbtree_items(page)[i].child, 1, true);
			break;
		case ZS_PAGE_SEGMENT_INDEX:
			reason = zsattr_index_page_check(page);
			if (reason != NULL)
				zsbase_corrupted(search->rel, blkno, "Segment index page of tree %u: %s.", treeno,
								 reason);
			for (int i = 0; i < zsattr_index_count(page); i++)
			{
				const ZsSegmentItem *item = &zsattr_index_items(page)[i];

				see(search, treeno, item->start, item->nblocks, true);
			}
			break;
		default:
			break;
	}
}

/*
 * All pages of a tree but leaves of the TID and row tree whose split was not finished.
 */
static void
see_tree(Search *search, uint16 treeno)
{
	Relation	rel = search->rel;
	int			level = zsbtree_root_level(rel, treeno);

	if (level == 0)
		see(search, treeno, zspage_tree_root(rel, treeno), 1, true);
	for (; level > 0; level--)
	{
		ZsLevelWalk walk;

		zsbtree_walk_begin(&walk, rel, treeno, level, 0);
		while (zsbtree_walk_next(&walk))
		{
			vacuum_delay_point_compat();
			see(search, treeno, walk.blkno, 1, true);
			see_items(search, treeno, walk.blkno, walk.page.data);
		}
	}
}

static void
see_map(Search *search, uint16 treeno)
{
	ZsFpmCopy	map;

	Assert(treeno < search->ntrees);
	zspage_fpm_copy(search->rel, treeno, &map);
	search->entries[treeno] = map.entry;
	for (int i = 0; i < map.npages; i++)
		see(search, treeno, map.pages[i], 1, true);
	for (int i = 0; i < map.nextents; i++)
		see(search, treeno, map.extents[i].start, map.extents[i].length, false);
	zspage_fpm_copy_free(&map);
}

/* Transactions that hold a lock with which blocks can be taken; others than ours. */
static VirtualTransactionId *
find_writers(Relation rel, int *nwriters)
{
	LOCKTAG		tag;

	*nwriters = 0;
	if (RELATION_IS_LOCAL(rel))
		return NULL;
	SET_LOCKTAG_RELATION(tag, rel->rd_lockInfo.lockRelId.dbId, rel->rd_lockInfo.lockRelId.relId);

	/* RowShareLock and whatever is stronger */
	return GetLockConflicts(&tag, ExclusiveLock, nwriters);
}

/*
 * Finds what can be found in the directory's trees. Trees come before maps, so that what was found
 * in a tree is counted as in use by its entry; the table's map comes before those of the trees,
 * into which blocks move from it.
 */
static Search *
search_trees(Relation rel, BufferAccessStrategy strategy)
{
	Search	   *search = palloc0(sizeof(Search));
	ZsTreeEntry *before;
	ZsMetaPageData meta;

	zspage_meta_read(rel, &meta);
	ZS_INJECTION_POINT("zs-vacuum-leaks");
	search->rel = rel;
	search->strategy = strategy;
	search->nblocks = meta.file_blocks;
	search->ntrees = zspage_tree_count(&meta);
	search->entries = palloc0_array(ZsTreeEntry, search->ntrees);
	search->nfound = palloc0_array(uint64, search->ntrees);
	search->maxseen = (BlockNumber) TYPEALIGN64(64, (uint64) meta.file_blocks + 1);
	search->seen = palloc_extended(search->maxseen / 8, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	before = palloc_array(ZsTreeEntry, search->ntrees);
	for (int treeno = 0; treeno < search->ntrees; treeno++)
		zspage_tree_entry(rel, (uint16) treeno, &before[treeno]);
	(void) find_writers(rel, &search->nwriters);
	search->quiet = search->nwriters == 0;

	/* the metapage is no tree's */
	see(search, ZS_TREE_TABLE, ZS_META_BLKNO, 1, false);
	for (int i = 0; i < (int) meta.ndirectory; i++)
		see(search, ZS_TREE_TABLE, meta.directory[i], 1, true);
	for (int treeno = ZS_TREE_TID; treeno < search->ntrees; treeno++)
	{
		if (before[treeno].root != 0)
			see_tree(search, (uint16) treeno);
	}
	for (int treeno = 0; treeno < search->ntrees; treeno++)
	{
		see_map(search, (uint16) treeno);
		if (before[treeno].nblocks != search->entries[treeno].nblocks ||
			before[treeno].nfree != search->entries[treeno].nfree)
			search->quiet = false;
	}
	pfree(before);
	search->writers = find_writers(rel, &search->nwriters);
	return search;
}

/*
 * A writer may have given the directory another page meanwhile.  That page, the trees that stand
 * there, and blocks in their maps would count as found nowhere; so the search begins anew.
 */
static Search *
run_search(Relation rel, BufferAccessStrategy strategy)
{
	for (;;)
	{
		Search	   *search = search_trees(rel, strategy);
		ZsMetaPageData meta;

		zspage_meta_read(rel, &meta);
		if (zspage_tree_count(&meta) == search->ntrees)
			return search;
		pfree(search->seen);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Blocks that a tree's entry counts as in use and that were not found. */
static int64
missing_blocks(const Search *search, int treeno)
{
	const ZsTreeEntry *entry = &search->entries[treeno];
	int64		missing = (int64) entry->nblocks - (int64) entry->nfree -
		(int64) search->nfound[treeno];

	Assert(treeno >= 0 && treeno < search->ntrees);
	/* zs_check() says more */
	if (missing < 0)
		ereport(DEBUG1,
				(errmsg_internal("tree %d of \"%s\" has " INT64_FORMAT " blocks more than its directory entry says",
								 treeno, RelationGetRelationName(search->rel), -missing)));
	return Max(missing, 0);
}

/* Waits a moment for the writers to end; false if some of them go on. */
static bool
writers_are_gone(Search *search)
{
	int			waited = 0;

	for (int i = 0; i < search->nwriters; i++)
	{
		while (!VirtualXactLock(search->writers[i], false))
		{
			CHECK_FOR_INTERRUPTS();
			if (waited >= WAIT_TIMEOUT_MS)
				return false;
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
							 WAIT_STEP_MS, WAIT_EVENT_VACUUM_DELAY);
			ResetLatch(MyLatch);
			waited += WAIT_STEP_MS;
		}
	}
	return true;
}

/* ---- values ----------------------------------------------------------------------- */

/* May values of this tree's attribute lie on overflow pages? */
static bool
has_values(Relation rel, uint16 treeno)
{
	int			attno = ZsAttrOfTree(treeno);

	return attno >= 1 && attno <= RelationGetNumberOfAttributes(rel) &&
		TupleDescAttr(RelationGetDescr(rel), attno - 1)->attlen == -1;
}

/*
 * Does the block hold this page of the value?  *right is where the next one is.
 */
static bool
is_page_of_value(Search *search, uint16 treeno, BlockNumber blkno, uint32 stamp, uint32 position,
				 BlockNumber *right)
{
	Buffer		buf;
	bool		result = false;

	if (blkno == ZS_META_BLKNO || blkno >= zspage_physical_blocks(search->rel))
		return false;
	buf = zspage_read(search->rel, blkno, search->strategy);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	if (zspage_verify(BufferGetPage(buf), ZS_PAGE_OVERFLOW, treeno, NULL) == ZS_PAGE_OK)
	{
		const ZsPageOpaque *opaque = ZsPageGetOpaque(BufferGetPage(buf));

		result = opaque->stamp == stamp && opaque->position == position;
		*right = opaque->right;
	}
	UnlockReleaseBuffer(buf);
	return result;
}

/*
 * Pages of a value. The pointer may stand in a row that is gone, and its pages may be
 * something else by now.
 */
static void
see_value(Search *search, uint16 treeno, const ZsOverflowPointer *pointer)
{
	uint32		stored = pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		nblocks = (stored + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY;
	BlockNumber start = pointer->start;

	Assert(ZsAttrOfTree(treeno) >= 1);
	for (uint32 position = 0; position < nblocks;)
	{
		uint32		n = Min(nblocks - position, ZS_OVERFLOW_RUN_BLOCKS);
		BlockNumber right;

		CHECK_FOR_INTERRUPTS();
		if (!is_page_of_value(search, treeno, start, pointer->stamp, position, &right) ||
			!is_page_of_value(search, treeno, start + n - 1, pointer->stamp, position + n - 1,
							  &right))
			return;
		/* a block, or a tree, that came after the maps were read is not counted there either */
		if (start + n <= search->nblocks && treeno < search->ntrees)
			see(search, treeno, start, n, true);
		position += n;
		start = right;
	}
}

/* ZsItemPointerVisitor */
static void
see_item_value(AttrNumber attno, const ZsOverflowPointer *pointer, void *arg)
{
	see_value(arg, ZsTreeOfAttr(attno), pointer);
}

/*
 * Values of the rows in the row tree; false if there may be others, of dead rows with other
 * attributes.
 */
static bool
see_row_values(Search *search)
{
	Relation	rel = search->rel;
	ZsRowBatch *batch = zsrow_batch_create(CurrentMemoryContext);
	bool		complete = true;

	for (zstid row = zsrow_next(rel, 0); row != ZS_INVALID_ROW;
		 row = zsrow_next(rel, row + ROW_BATCH))
	{
		vacuum_delay_point_compat();
		zsrow_fetch_range(rel, row, row + ROW_BATCH, batch);
		for (int i = 0; i < batch->nitems; i++)
			complete &= zsvacuum_visit_item(rel, batch->items[i], see_item_value, search);
	}
	zsrow_batch_free(batch);
	return complete;
}

/* The tree whose segments are looked at. */
typedef struct ValueTree
{
	Search	   *search;
	uint16		treeno;
} ValueTree;

/* ZsPointerVisitor */
static bool
see_segment_value(zstid row, const ZsOverflowPointer *pointer, void *arg)
{
	ValueTree  *tree = arg;

	see_value(tree->search, tree->treeno, pointer);
	return true;
}

/* Values of one tree's segments. */
static void
see_segment_values(Search *search, uint16 treeno)
{
	Relation	rel = search->rel;
	ValueTree	tree = {.search = search, .treeno = treeno};
	ZsLevelWalk walk;

	zsbtree_walk_begin(&walk, rel, treeno, zsbtree_bottom_level(treeno), 0);
	while (zsbtree_walk_next(&walk))
	{
		const ZsSegmentItem *items = zsattr_index_items(walk.page.data);
		int			nitems = zsattr_index_count(walk.page.data);

		for (int i = 0; i < nitems; i++)
		{
			vacuum_delay_point_compat();
			zsattr_visit_pointers(rel, ZsAttrOfTree(treeno), &items[i], see_segment_value, &tree);
		}
	}
}

/*
 * Follows all pointers to values.  Returns false if there may be others.
 *
 * Segments tell by themselves what they hold: a dropped column has some, and so has an attribute
 * number that a transaction added and that aborted, whether or not there is another column of that
 * number today.  They go some day and free their values then, which must not be free at that time.
 */
static bool
see_values(Search *search)
{
	for (int treeno = ZS_TREE_ROW + 1; treeno < search->ntrees; treeno++)
		see_segment_values(search, (uint16) treeno);
	return see_row_values(search);
}

/* ---- candidates ----------------------------------------------------------------------- */

typedef enum Verdict
{
	LEAKED = 1,
	IN_USE,						/* found by its key */
	A_VALUE,					/* perhaps of a row, perhaps leaked */
} Verdict;

/* Looks at a candidate's page. */
static Verdict
judge(Search *search, Leak *leak)
{
	Relation	rel = search->rel;
	Buffer		buf = zspage_read(rel, leak->blkno, search->strategy);
	Page		page = BufferGetPage(buf);
	ZsPageOpaque opaque;
	PGAlignedBlock copy;
	BlockNumber found;
	bool		valid;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	opaque = *ZsPageGetOpaque(page);
	valid = zspage_verify(page, opaque.page_type, opaque.treeno, NULL) == ZS_PAGE_OK &&
		opaque.treeno < search->ntrees;
	UnlockReleaseBuffer(buf);

	leak->treeno = valid ? opaque.treeno : 0;
	if (!valid)
		return LEAKED;
	switch (opaque.page_type)
	{
		case ZS_PAGE_INNER:
		case ZS_PAGE_TID_LEAF:
		case ZS_PAGE_ROW_LEAF:
		case ZS_PAGE_SEGMENT_INDEX:
			if (zsbtree_copy_page(rel, opaque.treeno, opaque.level, opaque.lokey, copy.data,
								  &found) &&
				found == leak->blkno)
			{
				see(search, opaque.treeno, found, 1, true);
				return IN_USE;
			}
			return LEAKED;
		case ZS_PAGE_OVERFLOW:
			return opaque.treeno > ZS_TREE_ROW ? A_VALUE : LEAKED;
		default:
			return LEAKED;
	}
}

/* Blocks that a search did not find, up to end; palloc'd. */
static Leak *
list_candidates(const Search *search, int64 *nleaks)
{
	Leak	   *leaks = NULL;
	int64		max = 0;

	*nleaks = 0;
	for (BlockNumber blkno = 1; blkno < search->nblocks; blkno++)
	{
		if (was_seen(search, blkno))
			continue;
		if (*nleaks == max)
		{
			max = Max(2 * max, 64);
			leaks = leaks == NULL ? palloc_array(Leak, max) :
				repalloc_huge(leaks, max * sizeof(Leak));
		}
		leaks[*nleaks].blkno = blkno;
		leaks[(*nleaks)++].treeno = 0;
	}
	return leaks;
}

/*
 * Looks at the candidates and keeps those that have leaked, as far as pages can tell; returns
 * how many. unclear[] says for which trees there are pages of values that were not followed.
 */
static int64
judge_candidates(Search *search, Leak *leaks, int64 nleaks, bool follow_values, bool *unclear)
{
	bool		followed = false;
	int64		n = 0;

	memset(unclear, 0, search->ntrees * sizeof(bool));
	for (int64 i = 0; i < nleaks; i++)
	{
		Verdict		verdict;

		vacuum_delay_point_compat();
		Assert(leaks[i].blkno != ZS_META_BLKNO && leaks[i].blkno < search->nblocks);
		if (was_seen(search, leaks[i].blkno))
			continue;
		verdict = judge(search, &leaks[i]);
		if (verdict == A_VALUE && follow_values && !followed)
		{
			follow_values = followed = see_values(search);
			if (followed && was_seen(search, leaks[i].blkno))
				continue;
		}
		if (verdict == A_VALUE && !followed)
			unclear[leaks[i].treeno] = true;
		else if (verdict != IN_USE)
			leaks[n++] = leaks[i];
	}
	return n;
}

/* Keeps of the leaks those that the search before did not find either. */
static int64
keep_candidates_of(const Search *first, Leak *leaks, int64 nleaks)
{
	int64		n = 0;

	for (int64 i = 0; i < nleaks; i++)
	{
		if (leaks[i].blkno < first->nblocks && !was_seen(first, leaks[i].blkno))
			leaks[n++] = leaks[i];
	}
	return n;
}

/* ---- giving back ----------------------------------------------------------------------- */

/*
 * How many leaked blocks each tree can be sure to miss.
 */
static void
count_missing(const Search *search, int64 nleaks, const bool *unclear, int64 *missing)
{
	int64		total = 0;

	for (int treeno = 0; treeno < search->ntrees; treeno++)
	{
		missing[treeno] = missing_blocks(search, treeno);
		total += missing[treeno];
	}
	for (int treeno = 0; treeno < search->ntrees; treeno++)
	{
		int64		others = total - missing[treeno];

		if (!search->quiet || unclear[treeno])
			missing[treeno] = Min(missing[treeno], Max(nleaks - others, 0));
	}
}

/*
 * Gives blocks to trees that miss some: to the one that the page names, or with any_tree to
 * whichever.  Blocks that found a tree are taken off the list.
 */
static int64
give_blocks(Search *search, Leak *leaks, int64 nleaks, int64 *missing, bool any_tree)
{
	int64		n = 0;
	int			any = 0;

	for (int64 i = 0; i < nleaks;)
	{
		int			treeno = leaks[i].treeno;
		uint32		length = 1;

		while (any_tree && any < search->ntrees && missing[any] == 0)
			any++;
		if (any_tree)
			treeno = any;
		if (treeno >= search->ntrees || missing[treeno] == 0)
		{
			leaks[n++] = leaks[i++];
			continue;
		}
		while (i + length < nleaks && length < missing[treeno] &&
			   leaks[i + length].blkno == leaks[i].blkno + length &&
			   (any_tree || leaks[i + length].treeno == treeno))
			length++;

		CHECK_FOR_INTERRUPTS();
		Assert(length <= missing[treeno]);
		zspage_free_run(search->rel, (uint16) treeno, leaks[i].blkno, length);
		missing[treeno] -= length;
		i += length;
	}
	return n;
}

/*
 * Are so many blocks missing where they may be values that looking at all of them would take long?
 */
static bool
has_many_values(const Search *search)
{
	int64		missing = 0;

	for (int treeno = 0; treeno < search->ntrees; treeno++)
	{
		if (has_values(search->rel, (uint16) treeno))
			missing += missing_blocks(search, treeno);
	}
	return missing > MAX_VALUES;
}

/* The search, the wait, the search again; returns how many blocks were given back. */
static uint64
find_leaks(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	Search	   *search = run_search(reclaim->rel, strategy);
	bool		thorough = reclaim->thorough || search->nblocks <= THOROUGH_ALWAYS;
	Leak	   *leaks;
	int64		nleaks;
	int64		nleft;
	bool	   *unclear = palloc_array(bool, ZS_MAX_TREES);
	int64	   *missing = palloc_array(int64, ZS_MAX_TREES);

	leaks = list_candidates(search, &nleaks);
	if (nleaks == 0 || (!thorough && has_many_values(search)))
		return 0;

	nleaks = judge_candidates(search, leaks, nleaks, search->quiet && thorough, unclear);
	if (!search->quiet)
	{
		Search	   *first = search;

		if ((nleaks == 0 && !thorough) || !writers_are_gone(first))
			return 0;
		search = run_search(reclaim->rel, strategy);
		leaks = list_candidates(search, &nleaks);
		nleaks = judge_candidates(search, leaks, nleaks, thorough, unclear);

		/* with nobody writing one search decides */
		if (!search->quiet)
			nleaks = keep_candidates_of(first, leaks, nleaks);
	}

	count_missing(search, nleaks, unclear, missing);
	nleft = give_blocks(search, leaks, nleaks, missing, false);
	nleft = give_blocks(search, leaks, nleft, missing, true);
	Assert(nleft >= 0 && nleft <= nleaks);
	return nleaks - nleft;
}

/* Finds blocks that no tree and no map has, and gives them back to maps. */
void
zsvacuum_find_leaks(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	Relation	rel = reclaim->rel;
	bool		local = RELATION_IS_LOCAL(rel);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore leak search",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	if (!local)
		LockPage(rel, ZS_META_BLKNO, ShareLock);
	reclaim->blocks_leaked += find_leaks(reclaim, strategy);
	if (!local)
		UnlockPage(rel, ZS_META_BLKNO, ShareLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
