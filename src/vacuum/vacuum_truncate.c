/*-------------------------------------------------------------------------
 *
 * vacuum_truncate.c
 *	  VACUUM: free space goes back to the table and to the operating system.
 *
 * When to truncate and how to get the lock is heap's (vacuumlazy.c): only for
 * a goodly number of blocks, since the lock is disruptive, on standbys above
 * all; never waiting for it for long, nor letting others wait; not in failsafe mode, and not when
 * vacuum_truncate says no.
 *
 * Crash: see page_truncate.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_truncate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/progress.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/wait_event.h"

#include "vacuum_internal.h"
#include "zs_base.h"
#include "zs_page.h"

/* heap's numbers */
#define TRUNCATE_MINIMUM			1000	/* blocks, or ... */
#define TRUNCATE_FRACTION			16	/* ... this part of the file, ... */
#define TRUNCATE_MOVED_FRACTION		32	/* ... or this one after what lay there was moved */
#define TRUNCATE_LOCK_WAIT_INTERVAL 50	/* ms */
#define TRUNCATE_LOCK_TIMEOUT		5000	/* ms */

/* Shorter free extents stay with their tree in any case. */
#define MIN_RETURNED_EXTENT			64

/*
 * A table that is to grow in steps keeps one for each tree, if these are this part of its file at
 * most, or so many blocks.
 */
#define STEPS_FRACTION				32
#define STEPS_ALWAYS				2048

/*
 * Blocks that VACUUM leaves to each tree because the table is to grow by as many, or 0.  Reads the
 * catalog.
 */
uint32
zsvacuum_kept_step(Relation rel)
{
	ZsTableOptions options;
	uint64		steps;

	zsbase_table_options(rel, &options);
	if (options.rel_extension_factor <= 0)
		return 0;
	steps = (uint64) options.rel_extension_factor *
		(ZsTreeOfAttr(RelationGetNumberOfAttributes(rel)) + 1);
	if (steps > Max(STEPS_ALWAYS, zspage_physical_blocks(rel) / STEPS_FRACTION))
		return 0;
	return (uint32) options.rel_extension_factor;
}

/* Is the tree that of a column that was dropped? */
static bool
is_dropped(Relation rel, uint16 treeno)
{
	int			attno = ZsAttrOfTree(treeno);

	return attno >= 1 && attno <= RelationGetNumberOfAttributes(rel) &&
		TupleDescAttr(RelationGetDescr(rel), attno - 1)->attisdropped;
}

/*
 * Puts free page maps in order and moves long free extents of trees, and all
 * of dropped columns, to the table's map.
 *
 * What is shorter than an extension of the file is left over from the last
 * one, and the tree is going to use it; longer extents come from pages that
 * were freed.  If the table's steps are large for what is in it, they are returned, too.
 */
void
zsvacuum_return_space(ZsReclaim *reclaim)
{
	Relation	rel = reclaim->rel;
	ZsTableOptions options;
	ZsMetaPageData meta;
	bool		large_steps;

	Assert(CheckRelationLockedByMe(rel, ShareUpdateExclusiveLock, true));
	zsbase_table_options(rel, &options);
	large_steps = options.rel_extension_factor > 0 && zsvacuum_kept_step(rel) == 0;
	zspage_meta_read(rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(&meta, treeno))
	{
		ZsTreeEntry entry;
		uint32		minblocks;

		vacuum_delay_point_compat();
		zspage_tree_entry(rel, (uint16) treeno, &entry);
		if (entry.chain != 0)
		{
			(void) zspage_fpm_tidy(rel, (uint16) treeno);
			zspage_tree_entry(rel, (uint16) treeno, &entry);
		}
		if (treeno == ZS_TREE_TABLE)
			continue;
		if (is_dropped(rel, (uint16) treeno))
			minblocks = 1;
		else if (large_steps)
			minblocks = MIN_RETURNED_EXTENT;
		else
			minblocks = Max(zspage_extension_blocks(rel, entry.nblocks, 1, ZS_ALLOC_SINGLE),
							MIN_RETURNED_EXTENT);
		if (entry.nfree >= minblocks)
			reclaim->blocks_returned += zspage_return_extents(rel, (uint16) treeno, minblocks);
	}
}

/*
 * As zsvacuum_return_space(), for all free extents, however short: other trees
 * are to move in there.
 */
void
zsvacuum_return_all(ZsReclaim *reclaim)
{
	Relation	rel = reclaim->rel;
	ZsMetaPageData meta;

	zspage_meta_read(rel, &meta);
	for (int treeno = ZS_TREE_TID; treeno < ZS_MAX_TREES;
		 treeno = zspage_next_tree(&meta, treeno))
	{
		ZsTreeEntry entry;

		vacuum_delay_point_compat();
		zspage_tree_entry(rel, (uint16) treeno, &entry);
		if (entry.nfree > 0)
			reclaim->blocks_returned += zspage_return_extents(rel, (uint16) treeno, 1);

		/* pages of a map that is empty now */
		if (entry.chain != 0 && zspage_fpm_tidy(rel, (uint16) treeno) > 0)
			reclaim->blocks_returned += zspage_return_extents(rel, (uint16) treeno, 1);
	}
	(void) zspage_fpm_tidy(rel, ZS_TREE_TABLE);
}

/* Is it worth the lock to cut off what lies behind tail? */
static bool
is_worth_truncating(const ZsReclaim *reclaim, BlockNumber tail)
{
	Relation	rel = reclaim->rel;
	int			fraction = reclaim->blocks_moved > 0 ? TRUNCATE_MOVED_FRACTION : TRUNCATE_FRACTION;
	BlockNumber nblocks = zspage_physical_blocks(rel);
	BlockNumber freeable = nblocks - Min(tail, nblocks);

	/* a table that is to grow in steps keeps one */
	return freeable > zsvacuum_kept_step(rel) &&
		(freeable >= TRUNCATE_MINIMUM || freeable >= nblocks / fraction);
}

/* Takes the lock if that is possible without keeping others waiting. */
static bool
lock_for_truncation(ZsReclaim *reclaim)
{
	for (int waited = 0; !ConditionalLockRelation(reclaim->rel, AccessExclusiveLock);
		 waited += TRUNCATE_LOCK_WAIT_INTERVAL)
	{
		CHECK_FOR_INTERRUPTS();
		if (waited >= TRUNCATE_LOCK_TIMEOUT)
		{
			ereport(reclaim->verbose ? INFO : DEBUG2,
					(errmsg("\"%s\": stopping truncate due to conflicting lock request",
							RelationGetRelationName(reclaim->rel))));
			return false;
		}
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 TRUNCATE_LOCK_WAIT_INTERVAL, WAIT_EVENT_VACUUM_TRUNCATE);
		ResetLatch(MyLatch);
	}
	return true;
}

/*
 * Cuts off what is free at the end of the file, if that is worth it and the lock is to be had.
 * Returns whether it was suspended, since somebody wants the table.
 */
static bool
truncate_once(ZsReclaim *reclaim)
{
	Relation	rel = reclaim->rel;
	int			elevel = reclaim->verbose ? INFO : DEBUG2;
	BlockNumber old_blocks;
	BlockNumber new_blocks;
	bool		suspended;

	if (!is_worth_truncating(reclaim, zspage_free_tail(rel)) || !lock_for_truncation(reclaim))
		return false;
	if (!is_worth_truncating(reclaim, zspage_free_tail(rel)))
	{
		UnlockRelation(rel, AccessExclusiveLock);
		return false;
	}
	new_blocks = zspage_truncate_tail(rel, &old_blocks, &suspended);
	Assert(new_blocks > ZS_META_BLKNO && new_blocks <= old_blocks);

	/* as heap: whoever gets a lock now has heard that the file is shorter */
	UnlockRelation(rel, AccessExclusiveLock);
	reclaim->blocks_truncated += old_blocks - new_blocks;
	ereport(elevel,
			(errmsg("table \"%s\": truncated %u to %u pages",
					RelationGetRelationName(rel), old_blocks, new_blocks)));
	if (suspended)
		ereport(elevel,
				(errmsg("table \"%s\": suspending truncate due to conflicting lock request",
						RelationGetRelationName(rel))));
	return suspended;
}

/* Shortens the file if its end is free and that is worth it. */
void
zsvacuum_truncate(ZsReclaim *reclaim)
{
	if (!reclaim->truncate || VacuumFailsafeActive ||
		!is_worth_truncating(reclaim, zspage_free_tail(reclaim->rel)))
		return;
	pgstat_progress_update_param(PROGRESS_VACUUM_PHASE, PROGRESS_VACUUM_PHASE_TRUNCATE);
	while (truncate_once(reclaim))
		CHECK_FOR_INTERRUPTS();
}
