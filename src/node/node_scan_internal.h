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
#include "zs_expr_filter.h"
#include "zs_expr_input.h"
#include "zs_node_filter.h"

/* Members of custom_private of a ZedstoreScan. */
typedef enum ZsScanPrivate
{
	ZS_SCAN_NAME,
	ZS_SCAN_CLAUSES,			/* only of paths: RestrictInfo that have programs */
	ZS_SCAN_NFIRST = ZS_SCAN_CLAUSES,	/* only of plans: Integer, see node_scan_plan.c */
	ZS_SCAN_TOLD				/* only of plans: columns whose keys joins tell it (int) */
} ZsScanPrivate;

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
	ZsFilter   *filter;
	List	   *join_filters;	/* ZsJoinFilter */
	bool		keys_first;		/* these may come before all clauses */
	bool		prepared;		/* the filter, since parameters changed */
	bool		verify;			/* zedstore.debug_vector = verify */

	TableScanDesc scan;
	ZsBatchScan *batches;
	ZsInput    *input;			/* the present batch, for programs */
	bool		row_mode;		/* the batch is taken row by row */
	bool		tests_rows;		/* the same, or some clauses are tested row by row */
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

/* ---- what it tells (node_scan_report.c) ---- */

/* What scans of this process have come to. */
extern ZsBatchCounts zsnode_scan_counts(const ZsScanNode *state);

/* A worker says what it has counted; the leader takes what has been said. */
extern void zsnode_scan_exchange_counts(ZsScanNode *state);

/* ExplainCustomScan. */
extern void zsnode_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* NODE_SCAN_INTERNAL_H */
