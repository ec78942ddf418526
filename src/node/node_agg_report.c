/*-------------------------------------------------------------------------
 *
 * node_agg_report.c
 *	  What a node that aggregates by batches tells EXPLAIN, and what processes of a parallel plan
 *	  tell each other.
 *
 * In dynamic shared memory are the counts of the workers, each written by its own when it is done,
 * and behind them the descriptor of the parallel scan.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_report.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "access/tableam.h"
#include ZS_EXPLAIN_FORMAT_H
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "node_agg.h"
#include "zs_node_scan.h"

/* ---- EXPLAIN ------------------------------------------------------------------------------- */

/* Adds what one process counted to what others did. */
static void
add_counts(AggCounts *sum, const AggCounts *counts)
{
	sum->nredone += counts->nredone;
	sum->ntotals += counts->ntotals;
	sum->nremoved += counts->nremoved;
	sum->nfills += counts->nfills;
	sum->nearly += counts->nearly;
	sum->memory = Max(sum->memory, counts->memory);
	sum->disk = Max(sum->disk, counts->disk);
	sum->nignored += counts->nignored;
	zsnode_scan_add_counts(&sum->scan, &counts->scan);
	sum->ndirect += counts->ndirect;
	sum->nhash += counts->nhash;
	sum->nleft_out += counts->nleft_out;
	sum->nleft_rows += counts->nleft_rows;
	sum->nagain += counts->nagain;
	sum->qual.skipped += counts->qual.skipped;
}

/* As hash aggregation of core's shows it. */
static void
explain_memory(const AggCounts *counts, ExplainState *es)
{
	uint64		memory = (counts->memory + 1023) / 1024;
	StringInfoData line;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyUInteger("Batches", NULL, counts->nfills + 1, es);
		ExplainPropertyUInteger("Memory Usage", "kB", memory, es);
		ExplainPropertyUInteger("Disk Usage", "kB", counts->disk / 1024, es);
		return;
	}
	initStringInfo(&line);
	appendStringInfo(&line, UINT64_FORMAT "  Memory Usage: " UINT64_FORMAT "kB", counts->nfills + 1,
					 memory);
	if (counts->disk > 0)
		appendStringInfo(&line, "  Disk Usage: " UINT64_FORMAT "kB", counts->disk / 1024);
	ExplainPropertyText("Batches", line.data, es);
}

/* The table's columns that are looked at. */
static void
explain_columns(AggNodeState *state, ExplainState *es)
{
	Index		varno = ((Scan *) state->css.ss.ps.plan)->scanrelid;
	Bitmapset  *attrs = NULL;

	pull_varattnos((Node *) state->key_exprs, varno, &attrs);
	pull_varattnos((Node *) state->aggrefs, varno, &attrs);
	pull_varattnos((Node *) state->filter_clauses, varno, &attrs);
	zsnode_explain_columns(state->rel, attrs, es);
}

/* ExplainCustomScan: what the node does, and with ANALYZE what it did, in all processes. */
void
zsnode_agg_explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	AggNodeState *state = (AggNodeState *) node;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	bool		prefix = es->verbose;
	AggCounts	total;

	if (state->split != ZS_SPLIT_NONE || es->format != EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Partial Mode", state->partial ? "Partial" :
							state->split == ZS_SPLIT_COMBINING ? "Finalize" : "Simple", es);
	if (state->nkeys > 0)
	{
		List	   *names = NIL;
		ListCell   *lc;

		foreach(lc, state->shown_keys)
			names = lappend(names, deparse_expression(lfirst(lc), context, prefix, true));
		ExplainPropertyList("Group Key", names, es);
	}
	if (state->result.top != NULL)
		zsnode_top_explain(state->result.top, (CustomScan *) node->ss.ps.plan, context, es);
	if (state->filter_clauses != NIL)
	{
		ExplainPropertyText("Scan Filter",
							deparse_expression((Node *) make_ands_explicit(state->filter_clauses),
											   context, prefix, false), es);
	}
	if (es->verbose && state->rel != NULL)
		explain_columns(state, es);
	if (node->custom_ps != NIL)
		zsnode_agg_joins_explain(state->joins, es);
	if (!es->analyze)
		return;
	total = state->counts;
	total.scan = zsexpr_input_batch_counts(state->input);
	add_counts(&total, &state->workers.counts);
	if (state->filter_clauses != NIL && (es->format != EXPLAIN_FORMAT_TEXT || total.nremoved > 0))
		ExplainPropertyFloat("Rows Removed by Scan Filter", NULL,
							 (double) total.nremoved / Max(node->ss.ps.instrument->nloops, 1), 0,
							 es);
	if (es->format != EXPLAIN_FORMAT_TEXT || total.qual.skipped > 0)
		ExplainPropertyUInteger("Comparisons Decided by Zone Maps", NULL, total.qual.skipped, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || total.ntotals > 0)
		ExplainPropertyUInteger("Vectors Added Whole", NULL, total.ntotals, es);
	if (state->rel != NULL)
		zsnode_explain_scan_counts(&total.scan, es);
	if (es->format != EXPLAIN_FORMAT_TEXT || total.nignored > 0)
		ExplainPropertyUInteger("Batches Left Out by Zone Maps", NULL, total.nignored, es);
	if (state->result.top != NULL)
		ExplainPropertyFloat("Groups Left Out", NULL,
							 (double) total.nleft_out / Max(node->ss.ps.instrument->nloops, 1), 0,
							 es);
	if (state->result.top != NULL && (es->format != EXPLAIN_FORMAT_TEXT || total.nleft_rows > 0))
		ExplainPropertyFloat("Rows of Rare Groups Left Out", NULL,
							 (double) total.nleft_rows / Max(node->ss.ps.instrument->nloops, 1), 0,
							 es);
	if (state->result.top != NULL && (es->format != EXPLAIN_FORMAT_TEXT || total.nagain > 0))
		ExplainPropertyUInteger("Scanned Again", NULL, total.nagain, es);
	if (state->nkeys > 0)
	{
		if (es->format != EXPLAIN_FORMAT_TEXT || total.ndirect + total.nhash > 0)
			ExplainPropertyText("Grouping",
								total.nhash == 0 ? "direct" : total.ndirect == 0 ? "hash" :
								"direct and hash", es);
	}
	if (state->nkeys > 0 || state->has_sets)
		explain_memory(&total, es);
	if (state->nkeys > 0)
	{
		if (es->format != EXPLAIN_FORMAT_TEXT || total.nearly > 0)
			ExplainPropertyUInteger("Groups Returned Early", NULL, total.nearly, es);
	}
	if (es->format != EXPLAIN_FORMAT_TEXT || total.nredone > 0)
		ExplainPropertyUInteger("Batches Redone Row-wise", NULL, total.nredone, es);
}

/* ---- parallel plans ------------------------------------------------------------------------ */

/* Bytes of the shared state without the scan's. */
static Size
shared_size(int nworkers)
{
	Assert(nworkers >= 0);
	return BUFFERALIGN(add_size(offsetof(SharedAgg, counts),
								mul_size(nworkers, sizeof(AggCounts))));
}

/* EstimateDSMCustomScan: bytes of the shared state, with that of the parallel scan. */
Size
zsnode_agg_estimate_dsm(CustomScanState *node, ParallelContext *pcxt)
{
	return add_size(shared_size(pcxt->nworkers),
					table_parallelscan_estimate(((AggNodeState *) node)->rel,
												node->ss.ps.state->es_snapshot));
}

/* Core's part of the shared memory. */
static ParallelTableScanDesc
parallel_scan(SharedAgg *shared)
{
	return (ParallelTableScanDesc) ((char *) shared + shared->scan_offset);
}

/* InitializeDSMCustomScan: in the leader, before there are workers. */
void
zsnode_agg_initialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	AggNodeState *state = (AggNodeState *) node;

	Assert(state->partial && node->custom_ps == NIL);
	state->workers.shared = coordinate;
	state->workers.shared->nworkers = pcxt->nworkers;
	state->workers.shared->scan_offset = shared_size(pcxt->nworkers);
	memset(state->workers.shared->counts, 0, pcxt->nworkers * sizeof(AggCounts));
	table_parallelscan_initialize(state->rel, parallel_scan(state->workers.shared),
								  node->ss.ps.state->es_snapshot);
	zsexpr_input_batch_share(state->input, parallel_scan(state->workers.shared));
}

/* ReInitializeDSMCustomScan: the workers are going to read the table again. */
void
zsnode_agg_reinitialize_dsm(CustomScanState *node, ParallelContext *pcxt, void *coordinate)
{
	AggNodeState *state = (AggNodeState *) node;

	state->workers.shared = coordinate;
	table_parallelscan_reinitialize(state->rel, parallel_scan(coordinate));
}

/* InitializeWorkerCustomScan: takes part in the leader's scan. */
void
zsnode_agg_initialize_worker(CustomScanState *node, shm_toc *toc, void *coordinate)
{
	AggNodeState *state = (AggNodeState *) node;

	state->workers.shared = coordinate;
	zsexpr_input_batch_share(state->input, parallel_scan(state->workers.shared));
}

/*
 * A worker says what it has counted; the leader, whose memory outlives the shared one, remembers
 * it.
 */
void
zsnode_agg_shutdown(CustomScanState *node)
{
	AggNodeState *state = (AggNodeState *) node;
	SharedAgg  *shared = state->workers.shared;

	if (shared == NULL)
		return;
	if (IsParallelWorker())
	{
		Assert(ParallelWorkerNumber >= 0 && ParallelWorkerNumber < shared->nworkers);
		state->counts.scan = zsexpr_input_batch_counts(state->input);
		add_counts(&shared->counts[ParallelWorkerNumber], &state->counts);
	}
	else
	{
		for (int i = 0; i < shared->nworkers; i++)
		{
			add_counts(&state->workers.counts, &shared->counts[i]);
			memset(&shared->counts[i], 0, sizeof(AggCounts));
		}
	}
	state->workers.shared = NULL;
}
