/*-------------------------------------------------------------------------
 *
 * vacuum_leaks.c
 *	  VACUUM: blocks that are in no free page map and on no tree.
 *
 * A block is taken from a map with one WAL record and linked into its tree
 * with another.  A crash, an error or a cancelled statement in between leaves
 * it to nobody.  VACUUM finds such blocks by looking at all others (vacuum_search.c).
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
 * Where the file could be much shorter but for blocks at its end that no tree has, these are the
 * candidates, whatever the table's size.
 *
 * Candidates are read.  Leaves whose split was not finished have no downlink,
 * but are found by their key.  Pages of values (overflow pages) may belong to
 * a row: only a VACUUM with DISABLE_PAGE_SKIPPING, or against wraparound, or of
 * a small table, follows the pointers of all rows (vacuum_search_value.c); others
 * leave such pages alone.
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
#include "storage/lmgr.h"
#include "utils/memutils.h"

#include "vacuum_internal.h"
#include "vacuum_search.h"
#include "zs_btree.h"
#include "zs_page.h"

/* A table with at most so many blocks in use is searched thoroughly in any case. */
#define THOROUGH_ALWAYS		4096

/* So many pages of values are looked at unless VACUUM is thorough. */
#define MAX_VALUES			1024

/* A candidate that has been looked at. */
typedef struct Leak
{
	BlockNumber blkno;
	uint16		treeno;			/* what the page says, 0 if nothing */
} Leak;

/* ---- candidates ----------------------------------------------------------------------- */

typedef enum Verdict
{
	LEAKED = 1,
	IN_USE,						/* found by its key */
	A_VALUE,					/* perhaps of a row, perhaps leaked */
} Verdict;

/* Looks at a candidate's page. */
static Verdict
judge(ZsLeakSearch *search, Leak *leak)
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
	valid = zspage_verify(page, opaque.page_type, opaque.treeno, NULL) == ZS_PAGE_OK;
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
				zsvacuum_search_see(search, opaque.treeno, found, 1, true);
				return IN_USE;
			}
			return LEAKED;
		case ZS_PAGE_OVERFLOW:
			return opaque.treeno > ZS_TREE_ROW ? A_VALUE : LEAKED;
		default:
			return LEAKED;
	}
}

/* Blocks that a search did not find, from this one on; palloc'd. */
static Leak *
list_candidates(const ZsLeakSearch *search, BlockNumber from, int64 *nleaks)
{
	Leak	   *leaks = NULL;
	int64		max = 0;

	*nleaks = 0;
	for (BlockNumber blkno = Max(from, ZS_META_BLKNO + 1); blkno < search->nblocks; blkno++)
	{
		if (blkno % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		if (zsvacuum_was_seen(search, blkno))
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

/* Pages of values that nobody looked at may be any such tree's. */
static void
mark_unclear(const ZsLeakSearch *search, bool *unclear)
{
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
		unclear[treeno] |= zsvacuum_search_has_values(search->rel, (uint16) treeno);
}

/*
 * Looks at the candidates and keeps those that have leaked, as far as pages can tell; returns
 * how many. unclear[] says for which trees there are pages of values that were not followed.
 *
 * From the end of the file down, since what lies there keeps it long.  After MAX_VALUES pages of
 * values that are not followed the rest are left alone, and any tree may have more of these.
 */
static int64
judge_candidates(ZsLeakSearch *search, Leak *leaks, int64 nleaks, bool follow_values, bool *unclear)
{
	bool		followed = false;
	int64		nvalues = 0;
	int64		first = nleaks;

	memset(unclear, 0, ZS_MAX_TREES * sizeof(bool));
	for (int64 i = nleaks - 1; i >= 0; i--)
	{
		Verdict		verdict;

		if (nvalues > MAX_VALUES)
		{
			mark_unclear(search, unclear);
			break;
		}
		vacuum_delay_point_compat();
		Assert(leaks[i].blkno != ZS_META_BLKNO && leaks[i].blkno < search->nblocks);
		if (zsvacuum_was_seen(search, leaks[i].blkno))
			continue;
		verdict = judge(search, &leaks[i]);
		if (verdict == A_VALUE && follow_values && !followed)
		{
			follow_values = followed = zsvacuum_search_values(search);
			if (followed && zsvacuum_was_seen(search, leaks[i].blkno))
				continue;
		}
		if (verdict == A_VALUE && !followed)
		{
			unclear[leaks[i].treeno] = true;
			nvalues++;
		}
		else if (verdict != IN_USE)
			leaks[--first] = leaks[i];
	}
	memmove(leaks, leaks + first, (nleaks - first) * sizeof(Leak));
	return nleaks - first;
}

/* Keeps of the leaks those that the search before did not find either. */
static int64
keep_candidates_of(const ZsLeakSearch *first, Leak *leaks, int64 nleaks)
{
	int64		n = 0;

	for (int64 i = 0; i < nleaks; i++)
	{
		if (leaks[i].blkno < first->nblocks && !zsvacuum_was_seen(first, leaks[i].blkno))
			leaks[n++] = leaks[i];
	}
	return n;
}

/* ---- giving back ----------------------------------------------------------------------- */

/*
 * How many leaked blocks each tree can be sure to miss.
 */
static void
count_missing(const ZsLeakSearch *search, int64 nleaks, const bool *unclear, int64 *missing)
{
	int64		total = 0;

	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		missing[treeno] = zsvacuum_search_missing(search, treeno);
		total += missing[treeno];
	}
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
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
give_blocks(ZsLeakSearch *search, Leak *leaks, int64 nleaks, int64 *missing, bool any_tree)
{
	int64		n = 0;
	int			any = 0;

	for (int64 i = 0; i < nleaks;)
	{
		int			treeno = leaks[i].treeno;
		uint32		length = 1;

		while (any_tree && any < ZS_MAX_TREES && missing[any] == 0)
			any++;
		if (any_tree)
			treeno = any;
		if (treeno >= ZS_MAX_TREES || missing[treeno] == 0)
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
has_many_values(const ZsLeakSearch *search)
{
	int64		missing = 0;

	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		if (zsvacuum_search_has_values(search->rel, (uint16) treeno))
			missing += zsvacuum_search_missing(search, treeno);
	}
	return missing > MAX_VALUES;
}

/*
 * The search, the wait, the search again, for blocks from this one on; returns how many were given
 * back.
 */
static uint64
find_leaks(ZsReclaim *reclaim, BufferAccessStrategy strategy, BlockNumber from)
{
	ZsLeakSearch *search = zsvacuum_search_run(reclaim->rel, strategy);
	bool		thorough = reclaim->thorough ||
		zspage_used_blocks(reclaim->rel) <= THOROUGH_ALWAYS;
	Leak	   *leaks;
	int64		nleaks;
	int64		nleft;
	bool	   *unclear = palloc_array(bool, ZS_MAX_TREES);
	int64	   *missing = palloc_array(int64, ZS_MAX_TREES);

	leaks = list_candidates(search, from, &nleaks);
	if (nleaks == 0 || (!thorough && from == 0 && has_many_values(search)))
		return 0;

	nleaks = judge_candidates(search, leaks, nleaks, search->quiet && thorough, unclear);
	if (!search->quiet)
	{
		ZsLeakSearch *first = search;

		if ((nleaks == 0 && !thorough) || !zsvacuum_search_writers_are_gone(first))
			return 0;
		search = zsvacuum_search_run(reclaim->rel, strategy);
		leaks = list_candidates(search, from, &nleaks);
		nleaks = judge_candidates(search, leaks, nleaks, thorough, unclear);

		/* with nobody writing one search decides */
		if (!search->quiet)
			nleaks = keep_candidates_of(first, leaks, nleaks);
	}

	if (from > 0)
		mark_unclear(search, unclear);
	count_missing(search, nleaks, unclear, missing);
	nleft = give_blocks(search, leaks, nleaks, missing, false);
	nleft = give_blocks(search, leaks, nleft, missing, true);
	Assert(nleft >= 0 && nleft <= nleaks);
	return nleaks - nleft;
}

/*
 * Finds blocks that no tree and no map has, and gives them back to maps: all of them (from is 0),
 * unless that takes too long, or those at the end of the file, from this block on.
 */
void
zsvacuum_find_leaks(ZsReclaim *reclaim, BufferAccessStrategy strategy, BlockNumber from)
{
	Relation	rel = reclaim->rel;
	bool		local = RELATION_IS_LOCAL(rel);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore leak search",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	if (!local)
		LockPage(rel, ZS_META_BLKNO, ShareLock);
	reclaim->blocks_leaked += find_leaks(reclaim, strategy, from);
	if (!local)
		UnlockPage(rel, ZS_META_BLKNO, ShareLock);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
