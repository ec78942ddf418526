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
 * readily the less the ones before were used.  Behind its end it is made longer.  There is one for
 * MVCC snapshots and one for dirty ones, since an update asks by both.
 *
 * What is in a window stays true as long as it is asked about (is_current()).  A row that is
 * deleted in the eyes of a snapshot is so in those of later ones, and of a dirty one, until the
 * subtransaction ends, which may take an own deletion back; so mostly the next commands of a
 * transaction use the window, too.  A row that is not yet there in the eyes of an MVCC snapshot may
 * be there for the next one: such a window is for equal snapshots only.  A dirty one sees a row as
 * soon as it is there, perhaps by a row number that an inserter gave up before.
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
	/* of MVCC snapshots, which are equal if these are */
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	CommandId	curcid;
	uint64		completed;
} UnseenKey;

typedef struct UnseenWindow
{
	UnseenKey	key;
	zstid		last;			/* row that was not seen; ZS_INVALID_ROW: the key is not valid */
	int			misses;			/* rows like that, close to each other, without an answer */
	int			wanted;			/* so many make a window */
	bool		has_window;
	bool		exact;			/* for equal snapshots only */
	int			used;			/* answers of the window */
	zstid		end;			/* of the window, which begins with the first run */
	int			nruns;
	int			at;				/* run that was asked about last */
	UnseenRun	runs[WINDOW_RUNS];
} UnseenWindow;

static UnseenWindow mvcc_window = {.last = ZS_INVALID_ROW, .wanted = FIRST_MISSES};
static UnseenWindow dirty_window = {.last = ZS_INVALID_ROW, .wanted = FIRST_MISSES};

/* The window for snapshots of this type; NULL if there is none. */
static inline UnseenWindow *
window_of(Snapshot snapshot)
{
	if (snapshot->snapshot_type == SNAPSHOT_MVCC)
		return &mvcc_window;
	return snapshot->snapshot_type == SNAPSHOT_DIRTY ? &dirty_window : NULL;
}

/* Is what was remembered an answer to a question about rel and snapshot? */
static inline bool
is_current(const UnseenWindow *window, Relation rel, Snapshot snapshot)
{
	const UnseenKey *key = &window->key;

	if (window->last == ZS_INVALID_ROW || !zsbase_has_file(rel, &key->file) ||
		key->lxid != MyProc->vxid.lxid || key->subid != GetCurrentSubTransactionId())
		return false;
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return true;

	/* later ones have higher numbers; one that was not taken by this transaction has none */
	if (!window->exact && key->completed != 0)
		return snapshot->snapXactCompletionCount >= key->completed &&
			snapshot->curcid >= key->curcid;
	return key->curcid == snapshot->curcid &&
		key->completed == snapshot->snapXactCompletionCount && key->xmin == snapshot->xmin &&
		key->xmax == snapshot->xmax && key->xcnt == snapshot->xcnt &&
		key->subxcnt == snapshot->subxcnt;
}

/* Ends the window, if there is one, and learns from it. */
static void
end_window(UnseenWindow *window)
{
	if (window->has_window)
		window->wanted = window->used >= GOOD_USE ? FIRST_MISSES :
			Min(2 * window->wanted, MAX_MISSES);
	window->has_window = window->exact = false;
	window->nruns = window->at = window->used = 0;
	window->end = 0;
}

static void
forget(UnseenWindow *window)
{
	end_window(window);
	window->last = ZS_INVALID_ROW;
	window->misses = 0;
}

/* Forgets everything: a table is emptied in place. */
void
zstid_forget_unseen(void)
{
	forget(&mvcc_window);
	forget(&dirty_window);
}

static void
set_key(UnseenKey *key, Relation rel, Snapshot snapshot)
{
	key->file = zsbase_file(rel);
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
find_run(UnseenWindow *window, zstid row)
{
	int			low = 0;
	int			high = window->nruns;

	/* mostly the one that was asked about last, or the next */
	for (int i = window->at; i < Min(window->at + 2, window->nruns); i++)
	{
		if (row >= window->runs[i].first && row < window->runs[i].end)
		{
			window->at = i;
			return &window->runs[i];
		}
	}
	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (row < window->runs[mid].first)
			high = mid;
		else if (row >= window->runs[mid].end)
			low = mid + 1;
		else
		{
			window->at = mid;
			return &window->runs[mid];
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
	UnseenWindow *window = window_of(snapshot);
	const UnseenRun *run;

	Assert(row < ZS_MAX_ROW);
	if (window == NULL || likely(window->nruns == 0) || row < window->runs[0].first ||
		row >= window->end || !is_current(window, rel, snapshot))
		return false;
	run = find_run(window, row);
	if (run == NULL)
		return false;
	window->used++;
	window->last = row;
	if (all_dead != NULL)
		*all_dead = run->all_dead;
	if (window == &dirty_window)
		zstid_dirty_set(snapshot, NULL);
	return true;
}

/* ---- windows ----------------------------------------------------------------------- */

/* What a snapshot makes of a run's rows. */
typedef enum Verdict
{
	VERDICT_NONE = 0,
	VERDICT_OTHER,				/* seen, or not for long enough */
	VERDICT_ABSENT,				/* not there in the eyes of an MVCC snapshot: not yet, or never */
	VERDICT_DELETED,
	VERDICT_DEAD,				/* to everybody */
} Verdict;

/* An MVCC snapshot does not see the row: does it see the inserter? */
static bool
sees_inserter(const ZsVisSlot *slot, Snapshot snapshot)
{
	if (zstid_xmin_frozen(slot))
		return true;
	if (zstid_xmin_committed(slot))
		return !XidInMVCCSnapshot(slot->xmin, snapshot);
	return !zstid_xmin_invalid(slot) && TransactionIdIsCurrentTransactionId(slot->xmin) &&
		slot->cmin < snapshot->curcid;
}

/* slot: in the page in buf, which is locked; NULL for fixed numbers. */
static Verdict
judge(const ZsTidRun *run, ZsVisSlot *slot, Snapshot snapshot, Buffer buf, GlobalVisState *vistest)
{
	bool		is_mvcc = snapshot->snapshot_type == SNAPSHOT_MVCC;

	if (slot == NULL)
		return run->slotno == ZS_SLOT_DEAD || run->slotno == ZS_SLOT_RETIRED ?
			VERDICT_DEAD : VERDICT_OTHER;
	if (zstid_satisfies(slot, snapshot, buf))
		return VERDICT_OTHER;
	if (is_mvcc && !sees_inserter(slot, snapshot))
		return VERDICT_ABSENT;
	if (!is_mvcc && zstid_xmin_invalid(slot))
		return VERDICT_OTHER;
	return zstid_is_surely_dead(slot, vistest) ? VERDICT_DEAD : VERDICT_DELETED;
}

/* Adds the run to the window, which has room for it. */
static void
add_run(UnseenWindow *window, const ZsTidRun *run, bool all_dead)
{
	UnseenRun  *last = &window->runs[window->nruns - 1];

	Assert(window->nruns == 0 || last->end <= run->first);
	window->end = run->first + run->count;
	if (window->nruns > 0 && last->end == run->first && last->all_dead == all_dead)
	{
		last->end = window->end;
		return;
	}
	Assert(window->nruns < WINDOW_RUNS);
	window->runs[window->nruns++] = (UnseenRun) {run->first, window->end, all_dead};
}

/*
 * Adds what the snapshot does not see from the row on to the window, from one leaf.  Only a window
 * that begins with rows that are not there has any of these.
 */
static void
fill_window(UnseenWindow *window, Relation rel, zstid row, Snapshot snapshot)
{
	bool		is_new = window->nruns == 0;
	GlobalVisState *vistest = GlobalVisTestFor(rel);
	uint8		verdicts[ZS_TID_MAX_SLOTS] = {VERDICT_NONE};
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason;
	Page		page;
	Buffer		buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_SHARE);

	if (!BufferIsValid(buf))
		return;
	page = BufferGetPage(buf);
	reason = zstid_walk_begin(&walk, page);
	if (reason == NULL && row > walk.row)
		zstid_walk_seek(&walk, BufferGetLSNAtomic(buf), row - 1);
	for (int n = 0; n < WINDOW_RUNS && window->nruns < WINDOW_RUNS && reason == NULL; n++)
	{
		ZsVisSlot  *slot;
		uint8		fixed = VERDICT_NONE;
		uint8	   *verdict;

		if (!zstid_walk_next(&walk, &run, &reason))
			break;
		if (run.first + run.count <= row)
			continue;
		if (run.first < row)
		{
			run.count -= row - run.first;
			run.first = row;
		}
		slot = zstid_walk_slot(&walk, run.slotno);
		verdict = slot == NULL ? &fixed : &verdicts[run.slotno - ZS_FIRST_REAL_SLOT];
		if (*verdict == VERDICT_NONE)
			*verdict = judge(&run, slot, snapshot, buf, vistest);
		if (*verdict == VERDICT_ABSENT && is_new && window->nruns == 0)
			window->exact = true;
		if (*verdict == VERDICT_OTHER || (*verdict == VERDICT_ABSENT && !window->exact))
			continue;
		add_run(window, &run, *verdict == VERDICT_DEAD ||
				(*verdict == VERDICT_ABSENT && zstid_is_surely_dead(slot, vistest)));
	}
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	UnlockReleaseBuffer(buf);
	if (window == &dirty_window)
		zstid_dirty_set(snapshot, NULL);
}

/* Makes the window longer, so that it reaches the row, or makes another one, from the row on. */
static void
make_window(UnseenWindow *window, Relation rel, zstid row, Snapshot snapshot)
{
	bool		longer = window->used >= GOOD_USE && row >= window->end &&
		row - window->end <= NEAR_ROWS && window->nruns < WINDOW_RUNS / 2;

	if (!longer)
		end_window(window);
	set_key(&window->key, rel, snapshot);
	fill_window(window, rel, longer ? window->end : row, snapshot);
	window->has_window = true;

	/* do not look at what lies in between again and again */
	if (longer && window->end <= row)
		window->used = 0;
}

/*
 * An index has led to the row, which the snapshot does not see, and zstid_is_unseen() did not know
 * it.  If that happens often, makes a window: locks a TID leaf shared then.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
void
zstid_note_unseen(Relation rel, zstid row, Snapshot snapshot)
{
	UnseenWindow *window = window_of(snapshot);

	/* serializable transactions test and lock each row that they meet */
	if (window == NULL || CheckForSerializableConflictOutNeeded(rel, snapshot))
		return;
	if (!is_current(window, rel, snapshot))
	{
		forget(window);
		set_key(&window->key, rel, snapshot);
	}
	else if (row < window->last || row - window->last > NEAR_ROWS)
		window->misses = 0;
	window->last = row;
	if (++window->misses < window->wanted && (window->used < GOOD_USE || row < window->end))
		return;
	make_window(window, rel, row, snapshot);
	window->misses = 0;
}
