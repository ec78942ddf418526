/*-------------------------------------------------------------------------
 *
 * tid_own.c
 *	  What the current transaction wrote itself.
 *
 * Which transaction ids are its own is asked for each slot that it meets; PostgreSQL searches those
 * of all its subtransactions then.  So a backend remembers those that it has found to be its own,
 * until a subtransaction is rolled back.
 *
 * Rows that nobody but their own transaction could see, and it neither: a transaction that updates
 * a row a thousand times leaves a thousand versions, and a thousand entries in each index.  What a
 * transaction inserted and deleted itself, no other one will ever see, whether it commits or
 * aborts.  It sees it itself only by snapshots that were taken between the two commands.  If none
 * of these is left, the row is dead to everybody long before the transaction ends, and nbtree may
 * mark its entries dead and delete them.  Heap needs no such thing, since most of its versions have
 * no entries (HOT).
 *
 * The row itself stays as it is: other sessions and triggers follow the versions by their TIDs.
 *
 * Which snapshots are left?  The registered ones are in a heap, from each of which all others can
 * be reached.  Those of the active stack that are not registered are known to PostgreSQL only; so
 * the stack is taken off, by the functions that everybody uses, its snapshots being registered
 * meanwhile, and put back.  That takes as long as a lookup or two, and is done once a command at
 * most: snapshots that are taken later do not see what was deleted before, so what was found stays
 * true of rows that were deleted by earlier commands.
 *
 * A subtransaction may be rolled back alone.  So inserter and deleter have to be the same
 * transaction id, and it is asked for that of the top-level transaction only.
 *
 * No locks, no WAL.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_own.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "lib/pairingheap.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"

#include "tid_internal.h"

/* Ids that are known to be the transaction's own, by their last bits. */
#define OWN_XIDS	4096

typedef struct OwnXid
{
	TransactionId xid;
	uint32		epoch;			/* of the time when it was noted */
} OwnXid;

static OwnXid own_xids[OWN_XIDS];
static uint32 own_epoch = 1;	/* another one for each transaction, and after a rollback in it */
static LocalTransactionId own_lxid = InvalidLocalTransactionId;

/*
 * As TransactionIdIsCurrentTransactionId(), of which the answer "yes" is remembered.
 */
bool
zstid_xid_is_own(TransactionId xid)
{
	OwnXid	   *known = &own_xids[xid % OWN_XIDS];

	if (unlikely(own_lxid != MyProc->vxid.lxid))
	{
		own_lxid = MyProc->vxid.lxid;
		own_epoch++;
	}
	if (known->xid == xid && known->epoch == own_epoch)
	{
		Assert(TransactionIdIsCurrentTransactionId(xid));
		return true;
	}
	if (!TransactionIdIsCurrentTransactionId(xid))
		return false;
	Assert(TransactionIdIsNormal(xid));
	*known = (OwnXid) {xid, own_epoch};
	return true;
}

/* A subtransaction is rolled back: its ids are not the transaction's any more. */
void
zstid_own_forget_xids(void)
{
	own_epoch++;
}

/* With more snapshots than that no row is known to be dead. */
#define MAX_SNAPSHOTS	32

/* The snapshots that there were when command cid ran. */
static struct
{
	LocalTransactionId lxid;	/* Invalid: nothing is known */
	CommandId	cid;
	int			n;				/* MAX_SNAPSHOTS + 1: too many */
	CommandId	curcids[MAX_SNAPSHOTS + 1];
} left_over;

/* Notes the snapshots of the subtree of PostgreSQL's heap of registered ones. */
static void
note_registered(const pairingheap_node *node)
{
	for (; node != NULL && left_over.n <= MAX_SNAPSHOTS; node = node->next_sibling)
	{
		const SnapshotData *snapshot = pairingheap_const_container(SnapshotData, ph_node, node);

		/* that of catalog scans is not counted */
		if (snapshot->regd_count > 0)
			left_over.curcids[left_over.n++] = snapshot->curcid;
		note_registered(node->first_child);
	}
}

/* Notes all snapshots; one of them is registered. */
static void
note_snapshots(const SnapshotData *registered)
{
	const pairingheap_node *root = &registered->ph_node;

	Assert(registered->regd_count > 0);
	left_over.n = 0;
	while (root->prev_or_parent != NULL)
		root = root->prev_or_parent;
	note_registered(root);
}

/*
 * Looks for the snapshots that are left, if that has not been done for the present command.
 * Without it zstid_own_is_dead() knows less.  Allocates memory, so no page is locked.
 */
void
zstid_own_prepare(void)
{
	CommandId	cid;
	Snapshot	stack[MAX_SNAPSHOTS];
	int			n = 0;

	/* outside of subtransactions the level of all snapshots is known */
	if (!TransactionIdIsValid(GetTopTransactionIdIfAny()) || !ActiveSnapshotSet() ||
		GetCurrentTransactionNestLevel() != 1 || IsInParallelMode())
		return;
	cid = GetCurrentCommandId(false);
	if (left_over.lxid == MyProc->vxid.lxid && left_over.cid == cid)
		return;

	left_over.lxid = InvalidLocalTransactionId;
	while (ActiveSnapshotSet() && n < MAX_SNAPSHOTS)
	{
		stack[n++] = RegisterSnapshot(GetActiveSnapshot());
		PopActiveSnapshot();
	}
	if (ActiveSnapshotSet())
		left_over.n = MAX_SNAPSHOTS + 1;
	else
		note_snapshots(stack[0]);
	Assert(n > 0);
	for (int i = n - 1; i >= 0; i--)
		PushActiveSnapshotWithLevel(stack[i], 1);
	for (int i = 0; i < n; i++)
		UnregisterSnapshot(stack[i]);
	left_over.cid = cid;
	left_over.lxid = MyProc->vxid.lxid;
}

/* Is all that matters which snapshots the current transaction has? */
static inline bool
only_own(const ZsVisSlot *vis)
{
	return zstid_is_deleted_by_inserter(vis, GetTopTransactionIdIfAny()) &&
		TransactionIdIsNormal(vis->xmin);
}

/*
 * Is a row with this history dead to everybody, since the current transaction inserted and deleted
 * it, and has no snapshot that sees it?  Answers as far as zstid_own_prepare() has looked; false
 * says nothing.
 */
bool
zstid_own_is_dead(const ZsVisSlot *vis)
{
	if (likely(vis->xmin != vis->xmax) || !only_own(vis) || IsInParallelMode() ||
		left_over.lxid != MyProc->vxid.lxid || vis->cmax >= left_over.cid ||
		left_over.n > MAX_SNAPSHOTS)
		return false;
	for (int i = 0; i < left_over.n; i++)
	{
		Assert(left_over.curcids[i] <= left_over.cid);
		if (vis->cmin < left_over.curcids[i] && vis->cmax >= left_over.curcids[i])
			return false;
	}
	return true;
}

/* The same; looks for the snapshots if need be, with no page locked. */
bool
zstid_own_check_dead(const ZsVisSlot *vis)
{
	if (likely(vis->xmin != vis->xmax) || !only_own(vis))
		return false;
	if (left_over.lxid != MyProc->vxid.lxid || vis->cmax >= left_over.cid)
		zstid_own_prepare();
	return zstid_own_is_dead(vis);
}
