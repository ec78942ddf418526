/*-------------------------------------------------------------------------
 *
 * io_heap_turns.c
 *	  Sequential scans of heap tables take turns with other scans (zedstore.scan_scheduling).
 *
 * Heap's scans are core's, and know nothing of turns.  But they can be looked at from outside: when
 * a query starts, a function is put in front of what each large SeqScan does for a row.  It
 * asks for ASK_BLOCKS before the first row, and again whenever the process has read so many blocks.
 * Blocks that were in shared buffers cost nothing and are not asked for.
 *
 * With a filter the function stands in front of that, which sees all rows; else in front of the
 * node, which would return to us too rarely with a filter.  A filter's first evaluation chooses how
 * the others go (and compiled code its entry), so its function is looked at anew after each call.
 *
 * Reads ahead of a scan are counted when they start, so the scan that waits has read ahead as far
 * as core does.  What is left is what the scan has not come to; of a parallel scan what it has not
 * handed out.
 *
 * Locks: none are held when the arbiter is asked; a pin of the scan's page is.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_heap_turns.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "catalog/pg_am_d.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "io_internal.h"
#include "zs_io_hooks.h"

/* Blocks that are asked for at a time; smaller tables are read without. */
#define ASK_BLOCKS		32
#define LEAST_BLOCKS	256

/* A scan that takes turns; in its query's memory. */
typedef struct HeapTurn
{
	SeqScanState *node;
	ExecProcNodeMtd next_node;	/* what stood there before; one of the two */
	ExprStateEvalFunc next_qual;
	ZsIoScan	scan;
	bool		asked;
	int64		reads_seen;		/* of the process, when it asked last */
	MemoryContextCallback callback;
	struct HeapTurn *next;
} HeapTurn;

/* Those of this process; the one that had a row last comes first. */
static HeapTurn *turns = NULL;


/* ---- one row -------------------------------------------------------------------- */

/* Blocks that the scan has not come to. */
static double
blocks_left(const HeapTurn *turn)
{
	HeapScanDesc scan = (HeapScanDesc) turn->node->ss.ss_currentScanDesc;
	BlockNumber at;

	if (scan == NULL)
		return RelationGetNumberOfBlocks(turn->node->ss.ss_currentRelation);
	if (scan->rs_base.rs_parallel != NULL)
	{
		ParallelBlockTableScanDesc parallel =
			(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;
		uint64		given = pg_atomic_read_u64(&parallel->phs_nallocated);

		return parallel->phs_nblocks - Min(given, parallel->phs_nblocks);
	}
	if (!scan->rs_inited || !BlockNumberIsValid(scan->rs_cblock))
		return scan->rs_nblocks;
	at = scan->rs_cblock >= scan->rs_startblock ? scan->rs_cblock - scan->rs_startblock :
		scan->rs_nblocks - scan->rs_startblock + scan->rs_cblock;
	return scan->rs_nblocks - Min(at, scan->rs_nblocks);
}

/* The turn of that node. */
static HeapTurn *
find_turn(const PlanState *node)
{
	HeapTurn  **link = &turns;
	HeapTurn   *turn;

	while (*link != NULL && &(*link)->node->ss.ps != node)
		link = &(*link)->next;
	turn = *link;
	if (turn != NULL && turn != turns)
	{
		*link = turn->next;
		turn->next = turns;
		turns = turn;
	}
	Assert(turn != NULL);
	return turn;
}

/* Asks when enough was read. */
static inline void
ask(HeapTurn *turn)
{
	if (turn->asked && pgBufferUsage.shared_blks_read - turn->reads_seen < ASK_BLOCKS)
		return;
	turn->asked = true;
	turn->reads_seen = pgBufferUsage.shared_blks_read;
	zsio_scan_ask(&turn->scan, ASK_BLOCKS, blocks_left(turn));
}

static TupleTableSlot *
ask_and_scan(PlanState *pstate)
{
	HeapTurn   *turn = find_turn(pstate);

	ask(turn);
	return turn->next_node(pstate);
}

static Datum
ask_and_filter(ExprState *state, ExprContext *econtext, bool *isnull)
{
	HeapTurn   *turn = find_turn(state->parent);
	Datum		result;

	ask(turn);
	state->evalfunc = turn->next_qual;
	result = turn->next_qual(state, econtext, isnull);
	turn->next_qual = state->evalfunc;
	state->evalfunc = ask_and_filter;
	return result;
}

/* ---- a query -------------------------------------------------------------------- */

/* The query's memory goes away, in whatever way the query ended. */
static void
end_turn(void *arg)
{
	HeapTurn   *turn = arg;
	HeapTurn  **link = &turns;

	while (*link != NULL && *link != turn)
		link = &(*link)->next;
	if (*link != NULL)
		*link = turn->next;
	zsio_scan_close(&turn->scan);
}

/* Puts the function in front of a large scan of a heap table. */
static void
take_turns(SeqScanState *node, EState *estate)
{
	Relation	rel = node->ss.ss_currentRelation;
	ExprState  *qual = node->ss.ps.qual;
	HeapTurn   *turn;

	if (rel == NULL || rel->rd_rel->relam != HEAP_TABLE_AM_OID ||
		RelationGetNumberOfBlocks(rel) < LEAST_BLOCKS)
		return;
	turn = MemoryContextAllocZero(estate->es_query_cxt, sizeof(HeapTurn));
	turn->node = node;
	turn->scan.volume = -1;
	turn->callback.func = end_turn;
	turn->callback.arg = turn;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &turn->callback);
	zsio_scan_open(&turn->scan, rel->rd_locator.spcOid);
	if (turn->scan.volume < 0)
		return;
	turn->next = turns;
	turns = turn;
	Assert(!turn->asked);

	if (qual != NULL && qual->parent == &node->ss.ps)
	{
		turn->next_qual = qual->evalfunc;
		qual->evalfunc = ask_and_filter;
	}
	else
	{
		turn->next_node = node->ss.ps.ExecProcNodeReal;
		ExecSetExecProcNode(&node->ss.ps, ask_and_scan);
	}
}

static bool
walk(PlanState *node, void *estate)
{
	if (node == NULL)
		return false;
	if (IsA(node, SeqScanState))
		take_turns((SeqScanState *) node, estate);
	return planstate_tree_walker(node, walk, estate);
}

/* A step of ExecutorStart: a query has started, and its scans of heap tables take turns. */
void
zsio_heap_turns_start(QueryDesc *queryDesc, int eflags)
{
	if (zsio_scan_scheduling && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		(void) walk(queryDesc->planstate, queryDesc->estate);
}
