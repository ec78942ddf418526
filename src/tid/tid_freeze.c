/*-------------------------------------------------------------------------
 *
 * tid_freeze.c
 *	  Freezing: no transaction id or multixact older than the cut-offs may stay.
 *
 * Most slots never come here: rows that all see go to slot 0, dead ones to slot 1,
 * whatever their age.  What is left are slots with something still going on: a
 * running locker, a deleter that some snapshot does not see yet, an
 * inserter in progress.  The rules are those of heap_prepare_freeze_tuple() and
 * FreezeMultiXactId().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/tid/tid_freeze.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/multixact.h"
#include "access/transam.h"
#include "access/xact.h"
#include "storage/procarray.h"
#include "utils/rel.h"

#include "tid_internal.h"

/* Something on the page cannot be, judging by what VACUUM knows of the table. */
#define freeze_corruption(rel, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("table \"%s\" contains an invalid visibility slot", \
					RelationGetRelationName(rel)), \
			 errdetail_internal(__VA_ARGS__)))

static inline void
keep_xid(TransactionId *oldest, TransactionId xid)
{
	if (TransactionIdIsNormal(xid) && TransactionIdPrecedes(xid, *oldest))
		*oldest = xid;
}

/* The row is not locked, updated or deleted by anyone. */
static void
clear_xmax(ZsVisSlot *vis)
{
	vis->xmax = InvalidTransactionId;
	vis->infomask = (vis->infomask & ~HEAP_XMAX_BITS) | HEAP_XMAX_INVALID;
	vis->infomask2 &= ~(HEAP_KEYS_UPDATED | ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION);
}

/* The updater alone stays of a multixact. */
static void
keep_updater(ZsVisSlot *vis, TransactionId xid, bool committed)
{
	vis->xmax = xid;
	vis->infomask &= ~HEAP_XMAX_BITS;
	if (committed)
		vis->infomask |= HEAP_XMAX_COMMITTED;
}

/*
 * Members that must stay: lockers that run, and an updater that did not abort.
 * Returns how many were put into kept.
 */
static int
choose_members(Relation rel, const ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs,
			   const MultiXactMember *members, int nmembers, MultiXactMember *kept,
			   TransactionId *updater, bool *updater_committed)
{
	int			nkept = 0;

	*updater = InvalidTransactionId;
	*updater_committed = false;
	for (int i = 0; i < nmembers; i++)
	{
		TransactionId xid = members[i].xid;
		bool		running = zstid_xid_is_own(xid) ||
			TransactionIdIsInProgress(xid);

		if (!ISUPDATE_from_mxstatus(members[i].status))
		{
			if (!running)
				continue;
		}
		else
		{
			if (TransactionIdIsValid(*updater))
				freeze_corruption(rel, "Multixact %u has two updating members, %u and %u.",
								  vis->xmax, *updater, xid);
			*updater_committed = !running && TransactionIdDidCommit(xid);
			if (!running && !*updater_committed)
				continue;
			*updater = xid;
		}
		if (TransactionIdPrecedes(xid, cutoffs->oldest_xmin))
			freeze_corruption(rel,
							  "Multixact %u contains XID %u from before the removable cut-off %u.",
							  vis->xmax, xid, cutoffs->oldest_xmin);
		kept[nkept++] = members[i];
	}
	return nkept;
}

/* Replaces a multixact by what must stay of it. */
static void
shrink_multi(Relation rel, ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs,
			 const MultiXactMember *members, int nmembers)
{
	MultiXactMember *kept = palloc(sizeof(MultiXactMember) * nmembers);
	TransactionId updater;
	bool		committed;
	int			nkept = choose_members(rel, vis, cutoffs, members, nmembers, kept,
									   &updater, &committed);

	if (nkept == 0)
		clear_xmax(vis);
	else if (nkept == 1 && TransactionIdIsValid(updater))
		keep_updater(vis, updater, committed);
	else
	{
		uint16		infomask;
		uint16		infomask2;

		vis->xmax = MultiXactIdCreateFromMembers(nkept, kept);
		zstid_multi_infomask(vis->xmax, &infomask, &infomask2);
		vis->infomask = (vis->infomask & ~HEAP_XMAX_BITS) | infomask;
		vis->infomask2 = (vis->infomask2 & ~HEAP_KEYS_UPDATED) | infomask2;
		if (!TransactionIdIsValid(updater))
			vis->infomask2 &= ~(ZS_VIS2_UPDATED | ZS_VIS2_MOVED_PARTITION);
	}
	pfree(kept);
}

/*
 * A multixact whose members have all ended.  Returns true, since it never stays.
 */
static bool
freeze_old_multi(Relation rel, ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs)
{
	bool		lock_only = HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask);
	TransactionId updater;

	if (MultiXactIdIsRunning(vis->xmax, lock_only))
		freeze_corruption(rel, "Multixact %u from before the cut-off %u is still running.",
						  vis->xmax, cutoffs->oldest_mxact);
	updater = lock_only ? InvalidTransactionId : zstid_multi_update_xid(vis->xmax, vis->infomask);
	if (!TransactionIdIsValid(updater) || !TransactionIdDidCommit(updater))
		clear_xmax(vis);
	else if (TransactionIdPrecedes(updater, cutoffs->oldest_xmin))
		freeze_corruption(rel,
						  "Multixact %u contains committed update XID %u from before the removable cut-off %u.",
						  vis->xmax, updater, cutoffs->oldest_xmin);
	else
		keep_updater(vis, updater, true);
	return true;
}

/* xmax is a multixact.  Returns true if it was changed. */
static bool
freeze_multi(Relation rel, ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs)
{
	MultiXactMember *members;
	int			nmembers;
	bool		replace;

	if (!MultiXactIdIsValid(vis->xmax))
	{
		clear_xmax(vis);
		return true;
	}
	if (MultiXactIdPrecedes(vis->xmax, cutoffs->oldest_mxact))
		return freeze_old_multi(rel, vis, cutoffs);

	nmembers = GetMultiXactIdMembers(vis->xmax, &members, false,
									 HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask));
	if (nmembers <= 0)
	{
		clear_xmax(vis);
		return true;
	}
	replace = MultiXactIdPrecedes(vis->xmax, cutoffs->multixact_cutoff);
	for (int i = 0; i < nmembers && !replace; i++)
		replace = TransactionIdPrecedes(members[i].xid, cutoffs->freeze_limit);
	if (replace)
		shrink_multi(rel, vis, cutoffs, members, nmembers);
	pfree(members);
	return replace;
}

/* Notes the oldest ids that stay in xmax. */
static void
note_xmax(const ZsVisSlot *vis, TransactionId *oldest_xid, MultiXactId *oldest_mxid)
{
	MultiXactMember *members;
	int			nmembers;

	if (!(vis->infomask & HEAP_XMAX_IS_MULTI))
	{
		keep_xid(oldest_xid, vis->xmax);
		return;
	}
	if (MultiXactIdPrecedes(vis->xmax, *oldest_mxid))
		*oldest_mxid = vis->xmax;
	nmembers = GetMultiXactIdMembers(vis->xmax, &members, false,
									 HEAP_XMAX_IS_LOCKED_ONLY(vis->infomask));
	for (int i = 0; i < nmembers; i++)
		keep_xid(oldest_xid, members[i].xid);
	if (nmembers > 0)
		pfree(members);
}

/*
 * Freezes what is older than the cut-offs in a private copy of a slot that is
 * neither dead nor visible to all without a lock; zstid_satisfies_vacuum() was asked
 * about it.  Returns true if the slot changed.  *oldest_xid and *oldest_mxid move
 * back to what stays.  May make a multixact.
 */
bool
zstid_freeze_slot(Relation rel, ZsVisSlot *vis, const ZsTidVacuumCutoffs *cutoffs,
				  TransactionId *oldest_xid, MultiXactId *oldest_mxid)
{
	bool		changed = false;

	Assert(TransactionIdPrecedesOrEquals(cutoffs->freeze_limit, cutoffs->oldest_xmin));
	Assert(MultiXactIdPrecedesOrEquals(cutoffs->multixact_cutoff, cutoffs->oldest_mxact));
	if (TransactionIdIsNormal(vis->xmin) &&
		TransactionIdPrecedes(vis->xmin, cutoffs->freeze_limit))
	{
		if (!TransactionIdDidCommit(vis->xmin))
			freeze_corruption(rel, "XID %u to be frozen in xmin did not commit.", vis->xmin);
		vis->xmin = FrozenTransactionId;
		vis->infomask |= HEAP_XMIN_FROZEN;
		changed = true;
	}

	if (vis->infomask & HEAP_XMAX_IS_MULTI)
		changed |= freeze_multi(rel, vis, cutoffs);
	else if (TransactionIdIsNormal(vis->xmax) &&
			 TransactionIdPrecedes(vis->xmax, cutoffs->freeze_limit))
	{
		/* an ended locker, or a deleter that aborted */
		if (!(vis->infomask & HEAP_XMAX_INVALID))
			freeze_corruption(rel, "XID %u to be frozen in xmax has not ended without effect.",
							  vis->xmax);
		clear_xmax(vis);
		changed = true;
	}

	Assert(!TransactionIdIsNormal(vis->xmin) ||
		   !TransactionIdPrecedes(vis->xmin, cutoffs->freeze_limit));
	Assert((vis->infomask & HEAP_XMAX_IS_MULTI) == 0 ||
		   !MultiXactIdPrecedes(vis->xmax, cutoffs->multixact_cutoff));
	keep_xid(oldest_xid, vis->xmin);
	note_xmax(vis, oldest_xid, oldest_mxid);
	return changed;
}
