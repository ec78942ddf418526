/*-------------------------------------------------------------------------
 *
 * zs_node.h
 *	  Nodes of plans that answer for other plans: the cache of subqueries' results; and which
 *	  queries have such nodes.
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

#endif							/* ZS_NODE_H */
