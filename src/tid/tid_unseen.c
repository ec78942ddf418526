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
 * A window is made when rows that are not seen follow each other closely, of all of them and what
 * lies behind; it is made the less readily the less the ones before were used, unless the same
 * rows are asked about again.  Behind its end it is made longer.  There is one for MVCC snapshots
 * and one for dirty ones, since an update asks by both.
 *
 * What is in a window stays true as long as it is asked about (is_current()).  A row that is
 * deleted in the eyes of a snapshot is so in those of later ones, and of a dirty one; so the next
 * commands use the window, too, and so do the next transactions, except for what this one has
 * deleted itself: a rollback may take that back.  A row that is not yet there in the eyes of an
 * MVCC snapshot may be there for the next one: such a window is for equal snapshots only.  A dirty
 * one sees a row as soon as it is there, perhaps by a row number that an inserter gave up before.
 * Rows that are deleted become dead to everybody some day, which an index wants to know: so no
 * window gets old.
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

#include "access/transam.h"
#include "access/xact.h"
#include "miscadmin.h"
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

/* A leaf more may be looked at for a window, for so many of them: it takes less time. */
#define MISSES_PER_FILL	16

/* A window was worth its price if it answered that often. */
#define GOOD_USE		16

/* A window is used by that many transactions. */
#define MAX_XACTS		64

/* Rows [first, end) of a window, none of which is seen. */
typedef struct UnseenRun
{
	zstid		first;
	zstid		end;
	bool		all_dead;		/* to everybody */
	bool		own;			/* deleted by the transaction that made the window */
} UnseenRun;

/* Who asked last. */
typedef struct UnseenKey
{
	Oid			relid;
	RelFileLocatorBackend file;
	LocalTransactionId lxid;
	SubTransactionId subid;		/* none of the runs was added by a later one */
	/* of MVCC snapshots */
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	CommandId	curcid;
} UnseenKey;

typedef struct UnseenWindow
{
	UnseenKey	key;
	zstid		last;			/* row that was not seen; ZS_INVALID_ROW: the key is not valid */
	int			misses;			/* rows like that, close to each other, without an answer */
	zstid		first_miss;		/* the first of these, or of those that there were last */
	int			wanted;			/* so many make a window */
	bool		has_window;
	bool		exact;			/* for equal snapshots only */
	bool		has_own;		/* some runs are own ones */
	int			nxacts;			/* transactions that have used it since it was made */
	int			used;			/* answers of the window */
	zstid		end;			/* of the window, which begins with the first run */
	int			nruns;
	int			at;				/* run that was asked about last */
	UnseenRun	runs[WINDOW_RUNS];
} UnseenWindow;

#define NO_WINDOW	{.last = ZS_INVALID_ROW, .first_miss = ZS_INVALID_ROW, .wanted = FIRST_MISSES}

static UnseenWindow mvcc_window = NO_WINDOW;
static UnseenWindow dirty_window = NO_WINDOW;

/* The window for snapshots of this type; NULL if there is none. */
static inline UnseenWindow *
window_of(Snapshot snapshot)
{
	if (snapshot->snapshot_type == SNAPSHOT_MVCC)
		return &mvcc_window;
	return snapshot->snapshot_type == SNAPSHOT_DIRTY ? &dirty_window : NULL;
}

/* Ends the window, if there is one, and learns from it. */
static void
end_window(UnseenWindow *window)
{
	if (window->has_window)
		window->wanted = window->used >= GOOD_USE ? FIRST_MISSES :
			Min(2 * window->wanted, MAX_MISSES);
	window->has_window = window->exact = window->has_own = false;
	window->nruns = window->at = window->used = window->nxacts = 0;
	window->end = 0;
}

static void
forget(UnseenWindow *window)
{
	end_window(window);
	window->last = window->first_miss = ZS_INVALID_ROW;
	window->misses = 0;
}

/* Forgets everything: a table is emptied in place. */
void
zstid_forget_unseen(void)
{
	forget(&mvcc_window);
	forget(&dirty_window);
}

/* Forgets what the transaction deleted itself. */
static void
forget_own(UnseenWindow *window)
{
	int			n = 0;

	if (!window->has_own)
		return;
	for (int i = 0; i < window->nruns; i++)
	{
		if (!window->runs[i].own)
			window->runs[n++] = window->runs[i];
	}
	Assert(n < window->nruns);
	window->has_own = false;
	window->nruns = n;
	window->at = 0;
	window->end = n == 0 ? 0 : window->runs[n - 1].end;
}

/* Another transaction asks: what does it know by the window? */
static pg_noinline void
hand_over(UnseenWindow *window)
{
	if (window->exact || ++window->nxacts > MAX_XACTS)
		forget(window);
	forget_own(window);
	Assert(LocalTransactionIdIsValid(MyProc->vxid.lxid));
	window->key.lxid = MyProc->vxid.lxid;
	window->key.subid = TopSubTransactionId;
}

/*
 * Does the MVCC snapshot take all transactions for committed that the one of the key does, the
 * present one left aside?  It does if it was taken later.  xmax never goes back; and of the
 * transactions before it some have ended since, none has begun.
 */
static inline bool
is_later(Snapshot snapshot, const UnseenKey *key)
{
	return TransactionIdFollows(snapshot->xmax, key->xmax) ||
		(snapshot->xmax == key->xmax && snapshot->xcnt <= key->xcnt &&
		 snapshot->subxcnt <= key->subxcnt);
}

/* Is what was remembered an answer to a question about rel and snapshot? */
static pg_attribute_always_inline bool
is_current(UnseenWindow *window, Relation rel, Snapshot snapshot)
{
	const UnseenKey *key = &window->key;

	if (window->last == ZS_INVALID_ROW || !zsbase_has_file(rel, &key->file))
		return false;
	if (unlikely(key->lxid != MyProc->vxid.lxid))
	{
		hand_over(window);
		if (window->last == ZS_INVALID_ROW)
			return false;
	}
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return true;
	if (!window->exact)
		return is_later(snapshot, key) && (!window->has_own || snapshot->curcid >= key->curcid);
	return key->curcid == snapshot->curcid && key->xmin == snapshot->xmin &&
		key->xmax == snapshot->xmax && key->xcnt == snapshot->xcnt &&
		key->subxcnt == snapshot->subxcnt;
}

static void
set_key(UnseenKey *key, Relation rel, Snapshot snapshot)
{
	key->relid = RelationGetRelid(rel);
	key->file = zsbase_file(rel);
	key->lxid = MyProc->vxid.lxid;
	key->subid = GetCurrentSubTransactionId();
	key->xmin = snapshot->xmin;
	key->xmax = snapshot->xmax;
	key->xcnt = snapshot->xcnt;
	key->subxcnt = snapshot->subxcnt;
	key->curcid = snapshot->curcid;
}

/* Serializable transactions test each row that they meet for conflicts. */
static inline bool
tests_each_row(Relation rel, Snapshot snapshot)
{
	return IsolationIsSerializable() && CheckForSerializableConflictOutNeeded(rel, snapshot);
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
		row >= window->end || !is_current(window, rel, snapshot) ||
		tests_each_row(rel, snapshot))
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
	VERDICT_DELETED_OWN,		/* by the current transaction */
	VERDICT_DEAD,				/* to everybody */
} Verdict;

/* An MVCC snapshot does not see the row: does it see the inserter? */
static bool
sees_inserter(const ZsVisSlot *slot, Snapshot snapshot)
{
	if (zstid_xmin_frozen(slot))
		return true;
	if (zstid_xmin_invalid(slot))
		return false;
	if (!zstid_xmin_committed(slot) && zstid_xid_is_own(slot->xmin))
		return slot->cmin < snapshot->curcid;
	return !XidInMVCCSnapshot(slot->xmin, snapshot) &&
		(zstid_xmin_committed(slot) || TransactionIdDidCommit(slot->xmin));
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
	if (zstid_is_surely_dead(slot, vistest) || zstid_own_is_dead(slot))
		return VERDICT_DEAD;
	return zstid_xid_is_own(zstid_update_xid(slot)) ? VERDICT_DELETED_OWN : VERDICT_DELETED;
}

/* Adds the run to the window, which has room for it. */
static void
add_run(UnseenWindow *window, const ZsTidRun *run, bool all_dead, bool own)
{
	UnseenRun  *last = &window->runs[window->nruns - 1];

	Assert(window->nruns == 0 || last->end <= run->first);
	window->end = run->first + run->count;
	window->has_own |= own;
	if (window->nruns > 0 && last->end == run->first && last->all_dead == all_dead &&
		last->own == own)
	{
		last->end = window->end;
		return;
	}
	Assert(window->nruns < WINDOW_RUNS);
	window->runs[window->nruns++] = (UnseenRun) {run->first, window->end, all_dead, own};
}

/*
 * Adds what the snapshot does not see from the row on to the window, from one leaf.  Only a window
 * that begins with rows that are not there has any of these.  Returns the row behind the last one
 * that was looked at.
 */
static zstid
fill_window(UnseenWindow *window, Relation rel, zstid row, Snapshot snapshot)
{
	bool		is_new = window->nruns == 0;
	GlobalVisState *vistest = GlobalVisTestFor(rel);
	uint8		verdicts[ZS_TID_MAX_SLOTS] = {VERDICT_NONE};
	ZsTidWalk	walk;
	ZsTidRun	run;
	const char *reason;
	zstid		end;
	Page		page;
	Buffer		buf;

	zstid_own_prepare();
	buf = zsbtree_search(rel, ZS_TREE_TID, row, BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buf))
		return ZS_MAX_ROW;
	page = BufferGetPage(buf);
	reason = zstid_walk_begin(&walk, page);
	end = walk.limit;
	if (reason == NULL && row > walk.row)
		zstid_walk_seek(&walk, BufferGetLSNAtomic(buf), row - 1);
	for (int n = 0; reason == NULL; n++)
	{
		ZsVisSlot  *slot;
		uint8		fixed = VERDICT_NONE;
		uint8	   *verdict;

		if (n == WINDOW_RUNS || window->nruns == WINDOW_RUNS)
		{
			end = Max(walk.row, row);
			break;
		}
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
				(*verdict == VERDICT_ABSENT && zstid_is_surely_dead(slot, vistest)),
				*verdict == VERDICT_DELETED_OWN);
	}
	if (reason != NULL)
		zsbase_corrupted(rel, BufferGetBlockNumber(buf), "TID tree leaf: %s.", reason);
	UnlockReleaseBuffer(buf);
	if (window == &dirty_window)
		zstid_dirty_set(snapshot, NULL);
	return end;
}

/*
 * Makes the window longer, so that it reaches the row, or makes another one, of all the rows that
 * were missed: whoever comes back begins with the first of them.  What that takes is little beside
 * the misses.
 */
static void
make_window(UnseenWindow *window, Relation rel, zstid row, Snapshot snapshot)
{
	bool		longer = window->used >= GOOD_USE && window->nruns > 0 && row >= window->end &&
		row - window->end <= NEAR_ROWS && window->nruns < WINDOW_RUNS / 2;
	int			fills = 1 + window->misses / MISSES_PER_FILL;
	zstid		next = longer ? window->end : window->first_miss;

	Assert(next <= row);
	if (!longer)
		end_window(window);
	set_key(&window->key, rel, snapshot);
	for (; fills > 0 && next <= row && window->nruns < WINDOW_RUNS; fills--)
	{
		CHECK_FOR_INTERRUPTS();
		next = fill_window(window, rel, next, snapshot);
	}
	window->has_window = true;

	/* do not look at what lies in between again and again */
	if (longer && window->end <= row)
		window->used = 0;
}

/*
 * Another search begins with the row.  Did the one before, and found as many rows in vain?  Then
 * there is going to be one more.
 */
static void
begin_misses(UnseenWindow *window, zstid row)
{
	if (row == window->first_miss && window->misses >= FIRST_MISSES)
		window->wanted = FIRST_MISSES;
	window->misses = 0;
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

	if (window == NULL || tests_each_row(rel, snapshot))
		return;
	if (!is_current(window, rel, snapshot))
	{
		forget(window);
		set_key(&window->key, rel, snapshot);
	}
	else if (row < window->last || row - window->last > NEAR_ROWS || row < window->first_miss)
		begin_misses(window, row);
	if (window->misses == 0)
		window->first_miss = row;
	window->last = row;
	if (++window->misses < window->wanted && (window->used < GOOD_USE || row < window->end))
		return;
	make_window(window, rel, row, snapshot);
	window->misses = 0;
}

/* ---- events ------------------------------------------------------------------------ */

/* A step of core's hook: a subtransaction that is rolled back takes its deletions back. */
void
zstid_unseen_subtransaction(SubXactEvent event, SubTransactionId subid)
{
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	zstid_own_forget_xids();
	if (mvcc_window.key.subid >= subid)
		forget_own(&mvcc_window);
	if (dirty_window.key.subid >= subid)
		forget_own(&dirty_window);
}

/* Listener to the relation cache: a table that is dropped may leave its file's name to another. */
static void
unseen_relcache_callback(Oid relid)
{
	if (!OidIsValid(relid) || mvcc_window.key.relid == relid)
		forget(&mvcc_window);
	if (!OidIsValid(relid) || dirty_window.key.relid == relid)
		forget(&dirty_window);
}

/* To be called in _PG_init of the postmaster. */
void
zstid_unseen_init(void)
{
	zsbase_listen_relcache(unseen_relcache_callback);
}
