/*-------------------------------------------------------------------------
 *
 * zs_node.h
 *	  Custom scans: tables, top-N and aggregates by batches, the cache of subqueries' results.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_node.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_NODE_H
#define ZS_NODE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* ---- node_ours.c ---- */
extern bool zsnode_query_is_ours(PlannerInfo *root);

/* ---- node_cache_plan.c ---- */

/* Registers the node, and installs the hook that puts it on top of subqueries; from _PG_init. */
extern void zsnode_cache_init(void);

/* ---- node_scan_plan.c ---- */

/*
 * Registers the node, and installs the hook for its paths; from _PG_init, behind zscost_init():
 * what it offers has its own costs, and others look for core's sequential scan.
 */
extern void zsnode_scan_init(void);

/* ---- node_topn_plan.c ---- */

/* Registers the node, and installs the hook for its paths; from _PG_init. */
extern void zsnode_topn_init(void);

/* ---- node_agg_plan.c ---- */

/* Registers the node, and installs the hooks for its paths; from _PG_init. */
extern void zsnode_agg_init(void);

#endif							/* ZS_NODE_H */
