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
#include "nodes/pathnodes.h"
#include "port/atomics.h"
#include "storage/spin.h"

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
	pg_atomic_uint64 unwanted;	/* rows that row filters removed */
	slock_t		io_mutex;		/* protects io */
	ZsIoCounts	io;				/* of look-ahead */

	/* of row filters that share, in their order */
	int			nfilters;
	ZsRowFilterShared filters[FLEXIBLE_ARRAY_MEMBER];
} ZsScanShared;

typedef struct ZsScanNode
{
	CustomScanState css;		/* first */
	ZsFilter   *filter;
	List	   *row_filters;	/* ZsRowFilter */
	List	   *tried_filters;	/* the same, in the order in which they are applied */
	bool		zones_first;	/* their zone maps may be asked before all clauses */
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
	uint64		nunwanted;		/* rows that row filters removed */
	ZsScanShared *shared;		/* of a parallel scan; NULL: none, or gone */
	ZsBatchCounts worker_scans; /* what was in shared */
	uint64		worker_decided;
	uint64		worker_redone;
	uint64		worker_unwanted;
} ZsScanNode;

/* ---- paths (node_scan_plan.c) ---- */

extern bool zsnode_scan_is_possible(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern List *zsnode_scan_vector_clauses(Relation table, Index varno, List *clauses);
extern Path *zsnode_scan_lookup_path(PlannerInfo *root, RelOptInfo *rel, List *vector_clauses,
									 Relids outer, double share);

/* ---- batches (node_scan_exec.c) ---- */
extern bool zsnode_scan_next_batch(ZsScanNode *state, bool forward);

/* ---- rows that others do not want (node_row_filter.c) ---- */
extern bool zsnode_row_filters_exclude(List *filters, ZsInput *input);
extern bool zsnode_row_filter_excludes_zone(void *arg, AttrNumber attno, int64 min, int64 max);
extern uint32 zsnode_row_filters_apply(List *filters, ZsInput *input, uint64 *passed,
									   bool zones_asked, ZsBatchScan *verify);
extern void zsnode_row_filters_forget(List *filters);
extern void zsnode_row_filters_explain(List *filters, Relation rel, uint64 removed,
									   struct ExplainState *es);

/* ---- what it tells (node_scan_report.c) ---- */

extern ZsBatchCounts zsnode_scan_counts(const ZsScanNode *state);
extern void zsnode_scan_exchange_counts(ZsScanNode *state);
extern void zsnode_scan_explain(CustomScanState *node, List *ancestors, ExplainState *es);

#endif							/* NODE_SCAN_INTERNAL_H */
