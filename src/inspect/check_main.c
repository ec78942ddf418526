/*-------------------------------------------------------------------------
 *
 * check_main.c
 *	  zs_check(): does a table keep every promise of its format?
 *
 * A verifier that trusts nothing.  It goes through the file by every way
 * there is and compares what it finds:
 *
 *	1. metapage and tree directory (check_space.c);
 *	2. each tree from its root: identity of each page, key ranges that cover all
 *	   rows without gap or overlap, downlinks, right links (check_tree.c);
 *	3. what stands on the bottom pages: visibility slots and runs (check_tid.c),
 *	   rows (check_row.c), segments and every value in them (check_segment.c,
 *	   check_vector.c), overflow values (check_overflow.c);
 *	4. every row that somebody may see has data in every column (check_cover.c);
 *	5. visibility map bits are true (check_vismap.c);
 *	6. every block of the file is one thing, and the counters agree
 *	   (check_space.c).
 *
 * Problems go to a list (check_report.c), which is shown at the end.
 *
 * Wrong bytes become rows of the result, never errors: pages are read, and
 * functions of other modules called, inside subtransactions whose errors
 * about data are caught.  Nothing loops: a block is entered once, levels go
 * down, keys go up.
 *
 * The default lock lets writers go on, so the pass sees a page before and
 * its neighbour after a change.  A problem counts only when further passes
 * find it in the same words again; what is in motion does not stay the same
 * for three passes.  With strict, writers are kept out, and one pass decides.
 *
 * Memory: two bits a block, one segment, one vector.  Locks: one page at a time, shared.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_main.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "check_internal.h"
#include "inspect_internal.h"

PG_FUNCTION_INFO_V1(zs_check);

/* How often a problem must be seen when writers are active, and the time between. */
#define PASSES				3
#define PASS_DELAY_MS		100

/* ---- problems -------------------------------------------------------------------- */

static bool
same_problem(const ZsProblem *a, const ZsProblem *b)
{
	return a->severity == b->severity && a->blkno == b->blkno && a->treeno == b->treeno &&
		strcmp(a->message, b->message) == 0;
}

/* Keeps the problems of list that are in again too. */
static void
keep_repeated(ZsProblemList *list, const ZsProblemList *again)
{
	int			n = 0;

	Assert(list != again);
	for (int i = 0; i < list->nproblems; i++)
	{
		int			j = 0;

		while (j < again->nproblems && !same_problem(&list->problems[i], &again->problems[j]))
			j++;
		if (j < again->nproblems)
			list->problems[n++] = list->problems[i];
	}
	list->nproblems = n;
	list->complete = list->complete && again->complete;
}

#define PROBLEM_COLUMNS	4

static void
put_problem(ReturnSetInfo *rsinfo, const ZsProblem *problem)
{
	Datum		values[PROBLEM_COLUMNS];
	bool		nulls[PROBLEM_COLUMNS] = {0};

	Assert(problem->message != NULL && problem->treeno < ZS_MAX_TREES);
	values[0] = CStringGetTextDatum(problem->severity == ZS_SEVERITY_ERROR ? "error" : "notice");
	values[1] = Int64GetDatum(problem->blkno);
	nulls[1] = problem->blkno == InvalidBlockNumber;
	values[2] = zsinspect_tree_attno(problem->treeno, &nulls[2]);
	values[3] = CStringGetTextDatum(problem->message);
	zsinspect_put(rsinfo, values, nulls);
}

/* ---- passes ---------------------------------------------------------------------------- */

static void
check_trees(ZsCheck *check)
{
	Assert(check->entries != NULL && check->nfound != NULL);
	for (int treeno = ZS_TREE_TID; treeno < ZS_MAX_TREES; treeno++)
	{
		CHECK_FOR_INTERRUPTS();
		if (check->entries[treeno].root != 0)
			zscheck_tree(check, (uint16) treeno);
	}
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		const ZsTreeEntry *entry = &check->entries[treeno];

		if (entry->nblocks > 0 || entry->nfree > 0 || entry->nextents > 0 || entry->chain != 0)
			zscheck_free_space(check, (uint16) treeno);
	}
	zscheck_overflow_counts(check);
	zscheck_account_blocks(check);
}

static void
run_pass(Relation rel, MemoryContext problem_context, ZsProblemList *list)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ZsCheck    *check = palloc0(sizeof(ZsCheck));
	Size		bitmap_size;

	Assert(CheckRelationLockedByMe(rel, AccessShareLock, true));
	list->nproblems = 0;
	list->complete = true;
	check->rel = rel;
	check->list = list;
	check->problem_context = problem_context;
	check->strategy = GetAccessStrategy(BAS_BULKREAD);
	check->nblocks = zspage_physical_blocks(rel);
	check->entries = palloc0(ZS_MAX_TREES * sizeof(ZsTreeEntry));
	check->nfound = palloc0(ZS_MAX_TREES * sizeof(uint64));
	bitmap_size = ((Size) check->nblocks / 64 + 1) * sizeof(uint64);
	check->used = palloc_extended(bitmap_size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	check->overflow = palloc_extended(bitmap_size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	if (zscheck_directory(check))
		check_trees(check);

	FreeAccessStrategy(check->strategy);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
wait_between_passes(void)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PASS_DELAY_MS,
					 PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* zs_check(regclass, strict): see docs/inspection.md. */
Datum
zs_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			relid = PG_GETARG_OID(0);
	bool		strict = PG_GETARG_BOOL(1);
	LOCKMODE	lockmode = strict ? ShareLock : AccessShareLock;
	ZsProblemList list = {0};
	Relation	rel;

	/* keeping writers out is more than watching */
	if (strict && pg_class_aclcheck(relid, GetUserId(), ACL_MAINTAIN) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));

	rel = zsinspect_open(relid, lockmode);
	zsbase_srf_init(fcinfo, PROBLEM_COLUMNS);
	run_pass(rel, CurrentMemoryContext, &list);
	for (int pass = 1; pass < PASSES && !strict && list.nproblems > 0; pass++)
	{
		ZsProblemList again = {0};

		wait_between_passes();
		run_pass(rel, CurrentMemoryContext, &again);
		keep_repeated(&list, &again);
	}

	for (int i = 0; i < list.nproblems; i++)
		put_problem(rsinfo, &list.problems[i]);
	if (!list.complete)
	{
		ZsProblem	more = {
			.severity = ZS_SEVERITY_NOTICE,
			.blkno = InvalidBlockNumber,
			.treeno = ZS_TREE_TABLE,
			.message = "there are more problems than are listed here"
		};

		put_problem(rsinfo, &more);
	}
	relation_close(rel, lockmode);
	return (Datum) 0;
}
