/*-------------------------------------------------------------------------
 *
 * zs_node_scan.h
 *	  ZedstoreScan: scans whose filters go by batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_node_scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_NODE_SCAN_H
#define ZS_NODE_SCAN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "zs_compat.h"
#include "zs_expr_qual.h"

extern const CustomScanMethods zsnode_scan_methods;

/* node_scan_exec.c */
extern Node *zsnode_scan_create_state(CustomScan *cscan);

/* node_scan_input.c */

extern ZsInput *zsnode_scan_input_create(CustomScanState *node);

/* node_scan_plan.c */

extern bool zsnode_scan_is_path(const Path *path);
extern bool zsnode_scan_is_lookup(const Path *path);
extern bool zsnode_scan_leaves_out(const Path *path);
extern Path *zsnode_scan_filtered_path(PlannerInfo *root, const Path *path, List *columns,
									   double share, double vectors);
extern Path *zsnode_scan_whole_path(PlannerInfo *root, const Path *path);
extern Path *zsnode_scan_batches_path(const Path *path);

/* node_scan_report.c */

struct ExplainState;

extern void zsnode_explain_columns(Relation rel, const Bitmapset *attrs,
								   struct ExplainState *es);
extern void zsnode_scan_add_counts(ZsBatchCounts *sum, const ZsBatchCounts *counts);
extern void zsnode_explain_io(const ZsIoCounts *io, struct ExplainState *es);
extern void zsnode_explain_scan_counts(const ZsBatchCounts *counts, struct ExplainState *es);

#endif							/* ZS_NODE_SCAN_H */
