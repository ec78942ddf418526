/*-------------------------------------------------------------------------
 *
 * node_scan_report.c
 *	  What a scan with a filter by batches tells EXPLAIN.
 *
 * Each process counts for itself.  Workers put their counts into shared memory when they end, and
 * the leader takes them from there before that memory goes, which is before EXPLAIN asks.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include ZS_EXPLAIN_FORMAT_H
#include "access/parallel.h"
#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/ruleutils.h"

#include "node_scan_internal.h"
#include "zs_node_filter.h"
#include "zs_node_scan.h"

/* What scans of this process have come to. */
ZsBatchCounts
zsnode_scan_counts(const ZsScanNode *state)
{
	ZsBatchCounts counts = state->ended;

	if (state->batches != NULL)
		zsscan_batch_count(state->batches, &counts);
	return counts;
}

/* Adds counts to sum. */
void
zsnode_scan_add_counts(ZsBatchCounts *sum, const ZsBatchCounts *counts)
{
	sum->skipped += counts->skipped;
	sum->read.segments += counts->read.segments;
	sum->read.vectors += counts->read.vectors;
	zs_io_counts_add(&sum->io, &counts->io);
}

/* A worker says what it has counted; the leader takes what has been said. */
void
zsnode_scan_exchange_counts(ZsScanNode *state)
{
	ZsScanShared *shared = state->shared;

	if (shared == NULL)
		return;
	if (IsParallelWorker())
	{
		ZsBatchCounts counts = zsnode_scan_counts(state);

		pg_atomic_fetch_add_u64(&shared->skipped, counts.skipped);
		pg_atomic_fetch_add_u64(&shared->segments, counts.read.segments);
		pg_atomic_fetch_add_u64(&shared->vectors, counts.read.vectors);
		pg_atomic_fetch_add_u64(&shared->decided, state->counts.skipped);
		pg_atomic_fetch_add_u64(&shared->redone, state->nredone);
		pg_atomic_fetch_add_u64(&shared->unwanted, state->nunwanted);
		SpinLockAcquire(&shared->io_mutex);
		zs_io_counts_add(&shared->io, &counts.io);
		SpinLockRelease(&shared->io_mutex);
	}
	else
	{
		ZsBatchCounts *counts = &state->worker_scans;

		counts->skipped += pg_atomic_exchange_u64(&shared->skipped, 0);
		counts->read.segments += pg_atomic_exchange_u64(&shared->segments, 0);
		counts->read.vectors += pg_atomic_exchange_u64(&shared->vectors, 0);
		state->worker_decided += pg_atomic_exchange_u64(&shared->decided, 0);
		state->worker_redone += pg_atomic_exchange_u64(&shared->redone, 0);
		state->worker_unwanted += pg_atomic_exchange_u64(&shared->unwanted, 0);
		SpinLockAcquire(&shared->io_mutex);
		zs_io_counts_add(&counts->io, &shared->io);
		memset(&shared->io, 0, sizeof(ZsIoCounts));
		SpinLockRelease(&shared->io_mutex);
	}
}

/*
 * Tells EXPLAIN columns of the table: those in attrs, which are numbered as pull_varattnos() does.
 */
void
zsnode_explain_columns(Relation rel, const Bitmapset *attrs, ExplainState *es)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *names = NIL;
	bool		all = bms_is_member(-FirstLowInvalidHeapAttributeNumber, attrs);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped &&
			(all || bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber, attrs)))
			names = lappend(names, NameStr(att->attname));
	}
	if (names != NIL)
		ExplainPropertyList("Columns", names, es);
}

/* Tells EXPLAIN (IO) what look-ahead did, as core does of its scans; nothing before 19. */
void
zsnode_explain_io(const ZsIoCounts *io, ExplainState *es)
{
#if ZS_STREAMS_COUNT_IO
	double		distance = (double) io->distance_sum / Max(io->prefetch_count, 1);
	double		size = (double) io->io_nblocks / Max(io->io_count, 1);
	double		in_progress = (double) io->io_in_progress / Max(io->io_count, 1);

	if (!es->io || io->prefetch_count == 0)
		return;
	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyFloat("Average Prefetch Distance", NULL, distance, 3, es);
		ExplainPropertyInteger("Max Prefetch Distance", NULL, io->distance_max, es);
		ExplainPropertyInteger("Prefetch Capacity", NULL, io->distance_capacity, es);
		ExplainPropertyUInteger("I/O Count", NULL, io->io_count, es);
		ExplainPropertyUInteger("I/O Waits", NULL, io->wait_count, es);
		ExplainPropertyFloat("Average I/O Size", NULL, size, 3, es);
		ExplainPropertyFloat("Average I/Os In Progress", NULL, in_progress, 3, es);
		return;
	}
	ExplainPropertyText("Prefetch", psprintf("avg=%.2f max=%d capacity=%d", distance,
											 io->distance_max, io->distance_capacity), es);
	if (io->io_count > 0)
		ExplainPropertyText("I/O", psprintf("count=" UINT64_FORMAT " waits=" UINT64_FORMAT
											" size=%.2f in-progress=%.2f", io->io_count,
											io->wait_count, size, in_progress), es);
#endif
}

/* Tells EXPLAIN ANALYZE what scans by batches have come to. */
void
zsnode_explain_scan_counts(const ZsBatchCounts *counts, ExplainState *es)
{
	ExplainPropertyUInteger("Segments Read", NULL, counts->read.segments, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || counts->skipped > 0)
		ExplainPropertyUInteger("Segments Skipped", NULL, counts->skipped, es);
	ExplainPropertyUInteger("Vectors Read", NULL, counts->read.vectors, es);
	zsnode_explain_io(&counts->io, es);
}

/* The columns that the scan looks at. */
static void
explain_columns(CustomScanState *node, ExplainState *es)
{
	const Plan *plan = node->ss.ps.plan;
	Bitmapset  *attrs = NULL;

	pull_varattnos((Node *) plan->targetlist, ((const Scan *) plan)->scanrelid, &attrs);
	pull_varattnos((Node *) plan->qual, ((const Scan *) plan)->scanrelid, &attrs);
	zsnode_explain_columns(node->ss.ss_currentRelation, attrs, es);
}

/* ExplainCustomScan: core shows the whole filter and what it removed. */
void
zsnode_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	ZsScanNode *state = (ZsScanNode *) node;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	List	   *rest = zsexpr_filter_rest(state->filter);
	ZsBatchCounts counts = zsnode_scan_counts(state);
	uint64		decided = state->counts.skipped + state->worker_decided;
	uint64		redone = state->nredone + state->worker_redone;

	if (rest != NIL)
		ExplainPropertyText("Row-wise Filter",
							deparse_expression((Node *) make_ands_explicit(rest), context,
											   es->verbose, false), es);
	if (es->verbose)
		explain_columns(node, es);
	if (state->row_filters != NIL)
		zsnode_row_filters_explain(state->row_filters, node->ss.ss_currentRelation,
								  state->nunwanted + state->worker_unwanted, es);
	if (!es->analyze)
		return;
	zsnode_scan_add_counts(&counts, &state->worker_scans);
	zsnode_explain_scan_counts(&counts, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || decided > 0)
		ExplainPropertyUInteger("Comparisons Decided by Zone Maps", NULL, decided, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || redone > 0)
		ExplainPropertyUInteger("Batches Redone Row-wise", NULL, redone, es);
}
