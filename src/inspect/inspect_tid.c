/*-------------------------------------------------------------------------
 *
 * inspect_tid.c
 *	  pg_zs_tid_items: the runs of the TID tree and their visibility slots.
 *
 * A run of rows with the same slot is one row of the result.  Leaves are copied
 * one by one under a share lock (zsbtree_visit_pages()) and taken apart without
 * it; a leaf that cannot be read is an error with the block's number, as the page
 * may be damaged: zs_check() is what tells all that is wrong.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_tid.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "inspect_internal.h"
#include "zs_btree.h"
#include "zs_page.h"
#include "zs_tid.h"

PG_FUNCTION_INFO_V1(pg_zs_tid_items);

#define RUN_COLUMNS	9

/*
 * One row.  vis is NULL for the slots with a fixed meaning.  Rows of a run that was updated have
 * successors one after the other; shown is that of the run's first row.
 */
static void
put_run(ReturnSetInfo *rsinfo, const ZsTidRun *run, const ZsVisSlot *vis, zstid successor)
{
	Datum		values[RUN_COLUMNS];
	bool		nulls[RUN_COLUMNS] = {0};

	Assert((vis == NULL) == (run->slotno < ZS_FIRST_REAL_SLOT));
	values[0] = Int64GetDatum((int64) run->first);
	values[1] = Int64GetDatum((int64) run->count);
	values[2] = Int32GetDatum(run->slotno);
	values[7] = CStringGetTextDatum(zsinspect_slot_flags(run->slotno, vis));
	if (vis == NULL)
	{
		for (int i = 3; i <= 6; i++)
			nulls[i] = true;
		nulls[8] = true;
	}
	else
	{
		values[3] = TransactionIdGetDatum(vis->xmin);
		values[4] = TransactionIdGetDatum(vis->xmax);
		values[5] = CommandIdGetDatum(vis->cmin);
		values[6] = CommandIdGetDatum(vis->cmax);
		values[8] = Int64GetDatum((int64) successor);
		nulls[8] = successor == ZS_INVALID_ROW;
	}
	zsinspect_put(rsinfo, values, nulls);
}

/* Callback of zsbtree_visit_pages(). */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	ReturnSetInfo *rsinfo = arg;
	MemoryContext context;
	MemoryContext old;
	ZsVisSlot  *slots;
	ZsTidRun   *runs;
	zstid	   *successors;
	int			nslots;
	int			nruns;
	const char *reason;

	CHECK_FOR_INTERRUPTS();
	if (ZsPageGetOpaque(copy)->page_type != ZS_PAGE_TID_LEAF)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "zedstore TID leaf",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	reason = zstid_leaf_unpack(copy, &nslots, &slots, &nruns, &runs, &successors);
	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "TID tree leaf: %s.", reason);
	for (int i = 0; i < nruns; i++)
	{
		uint16		slotno = runs[i].slotno;

		Assert(slotno < ZS_FIRST_REAL_SLOT + nslots);
		put_run(rsinfo, &runs[i],
				slotno < ZS_FIRST_REAL_SLOT ? NULL : &slots[slotno - ZS_FIRST_REAL_SLOT],
				successors[i]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* pg_zs_tid_items(regclass): see docs/inspection.md. */
Datum
pg_zs_tid_items(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);

	zsbase_srf_init(fcinfo, RUN_COLUMNS);
	zsbtree_visit_pages(rel, ZS_TREE_TID, visit_page, rsinfo);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
