/*-------------------------------------------------------------------------
 *
 * tid_unseen.c
 *	  Rows that an index leads to in vain.
 *
 * Every version of a row has an entry in each index.  Who looks for a row that was updated a
 * thousand times meets a thousand versions that its snapshot does not see, most of them on a few
 * leaves of the TID tree, one behind the other; a unique index meets them once more.  A descent
 * and a search in the leaf for each of them would be most of the work.
 *
 * So a backend remembers a *window*: what its snapshot makes of the rows from some row on, as far
 * as some hundred runs of the leaf reach.  Only those are known in it that the snapshot does not
 * see; neighbours with the same answer are one run, so thousands of dead versions are.  All
 * others, and what lies outside, are looked up as ever.
 *
 * A window is made when rows that are not seen follow each other closely, and it is made the less
 * readily the less the ones before were used.
 *
 * What is in a window stays true as long as it is asked about (is_current()): an MVCC snapshot does
 * not come to see a row that it did not see.  Other snapshots may, when an inserter who gave up a
 * row number hands it out again, or an own subtransaction that deleted a row is rolled back.  So
 * for them only rows count that were there and are deleted, and a window ends with its
 * subtransaction.
 *
 * Locks: a leaf of the TID tree shared, while a window is made.  No WAL.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_unseen.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"
#include "zs_base.h"
#include "zs_btree.h"

/* Runs of the leaf that a window is made of: takes as long as a dozen lookups. */
#define WINDOW_RUNS		512

/* Rows that are not seen belong together if that many numbers lie between them at most. */
#define NEAR_ROWS		4096

/* So many of them make a window; more when windows turned out to be of no use. */
#define FIRST_MISSES	4
#define MAX_MISSES		256

/* A window was worth its price if it answered that often. */
#define GOOD_USE		16

/* Rows [first, end) of a window, none of which is seen. */
typedef struct UnseenRun
{
	zstid		first;
	zstid		end;
	bool		all_dead;		/* to everybody */
} UnseenRun;

/* Who asks; a window answers nobody else. */
typedef struct UnseenKey
{
	RelFileLocatorBackend file;
	LocalTransactionId lxid;
	SubTransactionId subid;
	SnapshotType type;
	/* of MVCC snapshots, which are equal if these are */
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	CommandId	curcid;
	uint64		completed;
} UnseenKey;

static struct
{
	UnseenKey	key;
	zstid		last;			/* row that was not seen; ZS_INVALID_ROW: the key is not valid */
	int			misses;			/* rows like that, close to each other, without an answer */
	int			wanted;			/* so many make a window */
	bool		has_window;
	int			used;			/* answers of the window */
	zstid		end;			/* of the window, which begins with the first run */
	int			nruns;
	int			at;				/* run that was asked about last */
	UnseenRun	runs[WINDOW_RUNS];
}			unseen = {.last = ZS_INVALID_ROW, .wanted = FIRST_MISSES};

/* Is what was remembered an answer to a question about rel and snapshot? */
static inline bool
is_current(Relation rel, Snapshot snapshot)
{
	const UnseenKey *key = &unseen.key;

	if (unseen.last == ZS_INVALID_ROW || !zsbase_has_file(rel, &key->file) ||
		key->type != snapshot->snapshot_type || key->lxid != MyProc->vxid.lxid ||
		key->subid != GetCurrentSubTransactionId())
		return false;
	return key->type != SNAPSHOT_MVCC ||
		(key->curcid == snapshot->curcid && key->completed == snapshot->snapXactCompletionCount &&
		 key->xmin == snapshot->xmin && key->xmax == snapshot->xmax &&
		 key->xcnt == snapshot->xcnt && key->subxcnt == snapshot->subxcnt);
}

/* Ends the window, if there is one, and learns from it. */
static void
end_window(void)
{
	if (unseen.has_window)
		unseen.wanted = unseen.used >= GOOD_USE ? FIRST_MISSES :
			Min(2 * unseen.wanted, MAX_MISSES);
	unseen.has_window = false;
	unseen.nruns = unseen.at = unseen.used = 0;
	unseen.end = 0;
}

/* Forgets everything: another table or snapshot, or a table that is emptied in place. */
void
zstid_forget_unseen(void)
{
	end_window();
	unseen.last = ZS_INVALID_ROW;
	unseen.misses = 0;
}

static void
set_key(Relation rel, Snapshot snapshot)
{
	UnseenKey  *key = &unseen.key;

	zstid_forget_unseen();
	key->file = zsbase_file(rel);
	key->type = snapshot->snapshot_type;
	key->lxid = MyProc->vxid.lxid;
	key->subid = GetCurrentSubTransactionId();
	key->xmin = snapshot->xmin;
	key->xmax = snapshot->xmax;
	key->xcnt = snapshot->xcnt;
	key->subxcnt = snapshot->subxcnt;
	key->curcid = snapshot->curcid;
	key->completed = snapshot->snapXactCompletionCount;
}

/* What the window says of a row within it; NULL: nothing. */
static inline const UnseenRun *
find_run(zstid row)
{
	int			low = 0;
	int			high = unseen.nruns;

	/* mostly the one that was asked about last, or the next */
	for (int i = unseen.at; i < Min(unseen.at + 2, unseen.nruns); i++)
	{
		if (row >= unseen.runs[i].first && row < unseen.runs[i].end)
		{
			unseen.at = i;
			return &unseen.runs[i];
		}
	}
	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (row < unseen.runs[mid].first)
			high = mid;
		else if (row >= unseen.runs[mid].end)
			low = mid + 1;
		else
		{
			unseen.at = mid;
			return &unseen.runs[mid];
		}
	}
	return NULL;
}

/*
 * Is it known that the snapshot, of any type, does not see the row that an index leads to?  Then
 * *all_dead (may be NULL) is set as by zstid_fetch_visible(), and so are the fields of a dirty
 * snapshot.  False: look it up.  No locks.
 */
bool
zstid_is_unseen(Relation rel, zstid row, Snapshot snapshot, bool *all_dead)
{
	const UnseenRun *run;

	Assert(row < ZS_MAX_ROW);
	if (likely(unseen.nruns == 0) || row < unseen.runs[0].first || row >= unseen.end ||
		!is_current(rel, snapshot))
		return false;
	run = find_run(row);
	if (run == NULL)
		return false;
	unseen.used++;
	unseen.last = row;
	if (all_dead != NULL)
		*all_dead = run->all_dead;
	if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
		zstid_dirty_set(snapshot, NULL);
	return true;
}

/* ---- windows ----------------------------------------------------------------------- */

/* What a snapshot makes of a run's rows. */
typedef enum Verdict
{
	VERDICT_NONE = 0,
	VERDICT_OTHER,				/* seen, or not for long enough */
	VERDICT_UNSEEN,
	VERDICT_DEAD,				/* to everybody */
} Verdict;

/* slot: in the page in buf, which is locked; NULL for fixed numbers. */
static Verdict
judge(const ZsTidRun *run, ZsVisSlot *slot, Snapshot snapshot, Buffer buf, GlobalVisState *vistest)
{
	if (slot == NULL)
		return run->slotno == ZS_SLOT_DEAD || run->slotno == ZS_SLOT_RETIRED ?
			VERDICT_DEAD : VERDICT_OTHER;
	if (zstid_satisfies(slot, snapshot, buf))
		return VERDICT_OTHER;
	if (snapshot->snapshot_type != SNAPSHOT_MVCC && zstid_xmin_invalid(slot))
		return VERDICT_OTHER;
	return zstid_is_surely_dead(slot, vistest) ? VERDICT_DEAD : VERDICT_UNSEEN;
}

/* Adds the run to the window. */
static void
add_run(const ZsTidRun *run, bool all_dead)
{
	UnseenRun  *last = &unseen.runs[unseen.nruns - 1];

	Assert(unseen.nruns == 0 || last->end <= run->first);
	if (unseen.nruns > 0 && last->end == run->first && last->all_dead == all_dead)
	{
		last->end += run->count;
		return;
	}
	Assert(unseen.nruns < WINDOW_RUNS);
	unseen.runs[unseen.nruns++] = (UnseenRun) {run->first, run->first + run->count, all_dead};
}

/* Makes a window from the row on, which lies within the tree. */
static void
make_window(Relation rel, zstid row, Snapshot snapshot)
{
	GlobalVisState *vistest = GlobalVisTestFor(rel);
	uint8		verdicts[ZS_TID_MAX_SLOTS] = {VERDICT_NONE};
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason;
	Page		page;
	Buffer		buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_SHARE);

	end_window();
	if (!BufferIsValid(buf))
		return;
	page = BufferGetPage(buf);
	reason = zstid_walk_begin(&walk, page);
	if (reason == NULL && row > walk.row)
		zstid_walk_seek(&walk, BufferGetLSNAtomic(buf), row - 1);
	for (int n = 0; n < WINDOW_RUNS && reason == NULL; n++)
	{
		Verdict		verdict;

		if (!zstid_walk_next(&walk, &run, &reason))
			break;
		if (run.slotno < ZS_FIRST_REAL_SLOT)
			verdict = judge(&run, NULL, snapshot, buf, vistest);
		else
		{
			uint8	   *known = &verdicts[run.slotno - ZS_FIRST_REAL_SLOT];

			if (*known == VERDICT_NONE)
				*known = judge(&run, zstid_walk_slot(&walk, run.slotno), snapshot, buf, vistest);
			verdict = *known;
		}
		if (verdict != VERDICT_OTHER)
			add_run(&run, verdict == VERDICT_DEAD);
		unseen.end = run.first + run.count;
	}
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	UnlockReleaseBuffer(buf);
	Assert(unseen.nruns <= WINDOW_RUNS);
	unseen.has_window = true;
	if (snapshot->snapshot_type == SNAPSHOT_DIRTY)
		zstid_dirty_set(snapshot, NULL);
}

/*
 * An index has led to the row, which the snapshot does not see, and zstid_is_unseen() did not know
 * it.  If that happens often, makes a window from it on: locks a TID leaf shared then.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
void
zstid_note_unseen(Relation rel, zstid row, Snapshot snapshot)
{
	/* serializable transactions test and lock each row that they meet */
	if ((snapshot->snapshot_type != SNAPSHOT_MVCC && snapshot->snapshot_type != SNAPSHOT_DIRTY) ||
		CheckForSerializableConflictOutNeeded(rel, snapshot))
		return;
	if (!is_current(rel, snapshot))
		set_key(rel, snapshot);
	else if (row < unseen.last || row - unseen.last > NEAR_ROWS)
		unseen.misses = 0;
	unseen.last = row;
	if (++unseen.misses < unseen.wanted && (unseen.used < GOOD_USE || row < unseen.end))
		return;
	make_window(rel, row, snapshot);
	unseen.misses = 0;
}
