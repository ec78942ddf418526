/*-------------------------------------------------------------------------
 *
 * node_scan_internal.h
 *	  The state of a scan with a filter by batches; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_scan_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_SCAN_INTERNAL_H
#define NODE_SCAN_INTERNAL_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "port/atomics.h"

#include "zs_batch.h"
#include "zs_expr_input.h"
#include "zs_expr_qual.h"
#include "zs_node_filter.h"

/* Members of custom_private of a ZedstoreScan. */
typedef enum ZsScanPrivate
{
	ZS_SCAN_NAME,
	ZS_SCAN_CLAUSES,			/* only of paths: RestrictInfo that have programs */
	ZS_SCAN_NFIRST = ZS_SCAN_CLAUSES,	/* only of plans: Integer, see node_scan_plan.c */
	ZS_SCAN_TOLD				/* only of plans: columns whose keys joins tell it (int) */
} ZsScanPrivate;

/* A clause of the filter. */
typedef struct ZsScanClause
{
	Node	   *expr;
	ExprState  *rowwise;
	List	   *parts;			/* without columns: ZsFoldedPart */
	bool		has_program;	/* may it have one, whatever its parts turn out to be? */

	/* since the last rescan */
	bool		by_batch;		/* applied to batches */
	ZsQual	   *program;		/* NULL: not made yet */
	bool		movable;		/* cannot raise an error, and has its program */

	/* what was measured of the program */
	uint64		nruns;
	uint64		time_ns;
	uint64		rows_in;
	uint64		rows_out;
	double		rank;			/* time for each row of a batch that it removes, about */
} ZsScanClause;

/* In dynamic shared memory, behind what core has there of a parallel scan. */
typedef struct ZsScanShared
{
	/* what workers have counted, until the leader takes it */
	pg_atomic_uint64 skipped;	/* segments */
	pg_atomic_uint64 segments;	/* read */
	pg_atomic_uint64 vectors;	/* read */
	pg_atomic_uint64 decided;	/* comparisons, by zone maps */
	pg_atomic_uint64 redone;	/* batches */
	pg_atomic_uint64 unjoined;	/* rows that join filters removed */

	/* of join filters that say so, in their order */
	int			nkeys;
	ZsSharedJoinKeys keys[FLEXIBLE_ARRAY_MEMBER];
} ZsScanShared;

typedef struct ZsScanNode
{
	CustomScanState css;		/* first */
	int			nfirst;			/* clauses that may be taken out of order */
	int			nclauses;
	int			nvectors;		/* that the clauses' programs need so far */
	ZsScanClause *clauses;
	int		   *order;			/* in which programs run: numbers of clauses that are applied to
								 * batches */
	int			norder;
	uint64		nbatches;		/* that they ran for */
	bool		has_rest;		/* some clauses are tested row by row */
	bool		rest_may_raise; /* one of these may raise an error */
	List	   *join_filters;	/* ZsJoinFilter */
	bool		keys_first;		/* these may come before all clauses */
	bool		prepared;		/* since the last rescan */
	MemoryContext context;		/* programs and values that a rescan changes */
	bool		by_rows;		/* zedstore.debug_vector = rows */
	bool		verify;

	TableScanDesc scan;
	ZsBatchScan *batches;
	ZsInput    *input;			/* the present batch, for programs */
	bool		row_mode;		/* the batch is taken row by row */
	int			nlist;			/* rows of the batch to be looked at */
	int			position;		/* of the present one in list */
	uint16		list[ZS_KERNEL_ROWS];

	/* for EXPLAIN */
	ZsQualCounts counts;
	uint64		nredone;
	ZsBatchCounts ended;		/* of scans that have ended */
	uint64		nunjoined;		/* rows that join filters removed */
	ZsScanShared *shared;		/* of a parallel scan; NULL: none, or gone */
	ZsBatchCounts worker_scans; /* what was in shared */
	uint64		worker_decided;
	uint64		worker_redone;
	uint64		worker_unjoined;
} ZsScanNode;

/* ---- the filter (node_scan_clause.c) ---- */

/* Makes a clause of the node's filter, all zeros, ready.  Errors: those of initializing it. */
extern void zsnode_scan_init_clause(ZsScanNode *state, ZsScanClause *clause, Node *expr);

/* Decides which clauses are applied to batches, at the start and after each rescan. */
extern void zsnode_scan_prepare_clauses(ZsScanNode *state);

/*
 * Applies programs to the batch: passed are the rows that they leave.  False if it has to be taken
 * row by row.  Errors: those of parts of clauses that look at no column.
 */
extern bool zsnode_scan_filter_batch(ZsScanNode *state, const ZsBatch *batch, uint64 *passed);

/* ---- what it tells (node_scan_report.c) ---- */

/* What scans of this process have come to. */
extern ZsBatchCounts zsnode_scan_counts(const ZsScanNode *state);

/* A worker says what it has counted; the leader takes what has been said. */
extern void zsnode_scan_exchange_counts(ZsScanNode *state);

/* ExplainCustomScan. */
extern void zsnode_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* NODE_SCAN_INTERNAL_H */
