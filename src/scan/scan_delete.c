/*-------------------------------------------------------------------------
 *
 * scan_delete.c
 *	  Which entries may an index delete?
 *
 * An index access method that finds a page full asks which of its entries belong
 * to rows that are dead to everyone (index_delete_tuples): simple deletion, of
 * entries that a scan marked, and bottom-up deletion, of versions of rows that
 * were updated.  Only the TID tree is read, in the order of rows, no column.  The
 * conflict horizon goes into the index's own WAL record.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_delete.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "zs_base.h"
#include "zs_scan.h"
#include "zs_tid.h"

/*
 * Leaves of the TID tree that bottom-up deletion looks at in vain before it gives up.  Versions
 * of a row that is updated often lie close together, so there is nothing behind them either.
 */
#define BOTTOMUP_MAX_FAILURES	4

static int
compare_deletes(const void *a, const void *b)
{
	return ItemPointerCompare(&((TM_IndexDelete *) unconstify(void *, a))->tid,
							  &((TM_IndexDelete *) unconstify(void *, b))->tid);
}

/*
 * Chooses the entries to look at and sorts them by row, the oldest first; returns how many there
 * are.
 *
 * Bottom-up deletion looks at rows that have several entries on the index page, which its caller
 * calls promising: the others are likely to be alive.
 */
static int
sort_deletes(TM_IndexDeleteOp *delstate)
{
	TM_IndexDelete *deltids = delstate->deltids;
	int			nchosen = 0;

	for (int i = 0; i < delstate->ndeltids; i++)
	{
		if (zs_tid_is_sane(&deltids[i].tid) &&
			(!delstate->bottomup || delstate->status[deltids[i].id].promising))
		{
			TM_IndexDelete chosen = deltids[i];

			deltids[i] = deltids[nchosen];
			deltids[nchosen++] = chosen;
		}
	}
	qsort(deltids, nchosen, sizeof(TM_IndexDelete), compare_deletes);
	return nchosen;
}

/*
 * Which index entries may be deleted?  Those of rows that are dead to everyone.
 *
 * The rows are looked at in their order, so that each leaf of the TID tree is visited once.
 * Simple deletion wants a verdict on all, and the conflict horizon of those that are known
 * to be dead.  Bottom-up deletion wants some space: it ends with a leaf that brought enough.
 */
TransactionId
zsscan_index_delete_tuples(Relation rel, TM_IndexDeleteOp *delstate)
{
	TM_IndexDelete *deltids = delstate->deltids;
	TransactionId horizon = InvalidTransactionId;
	int			ntids = sort_deletes(delstate);
	zstid	   *rows = palloc(Max(ntids, 1) * sizeof(zstid));
	bool	   *dead = palloc(Max(ntids, 1) * sizeof(bool));
	int			ndead = 0;
	int			freed = 0;
	int			failures = 0;
	int			done = 0;

	for (int i = 0; i < ntids; i++)
	{
		rows[i] = zs_row_from_tid(&deltids[i].tid);
		Assert(i == 0 || rows[i - 1] <= rows[i]);
	}
	while (done < ntids)
	{
		int			n = zstid_find_dead(rel, rows + done, ntids - done, dead + done, &horizon);
		int			ndead_before = ndead;

		for (int i = done; i < done + n; i++)
		{
			TM_IndexStatus *status = delstate->status + deltids[i].id;

			if (!dead[i])
				continue;
			status->knowndeletable = true;
			freed += status->freespace;
			ndead++;
			/* bottom-up callers get an array of those that are deletable */
			if (delstate->bottomup)
				deltids[ndead - 1] = deltids[i];
		}
		Assert(n > 0 && n <= ntids - done);
		done += n;
		if (delstate->bottomup)
		{
			failures = ndead > ndead_before ? 0 : failures + 1;
			if (freed >= delstate->bottomupfreespace || failures >= BOTTOMUP_MAX_FAILURES)
				break;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(rows);
	pfree(dead);
	if (delstate->bottomup)
		delstate->ndeltids = ndead;
	return horizon;
}
