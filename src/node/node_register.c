/*-------------------------------------------------------------------------
 *
 * node_register.c
 *	  Makes the nodes known to core, for plans that are read from text.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_register.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "node_agg_plan.h"
#include "node_cache.h"
#include "node_order.h"
#include "node_topn.h"
#include "node_window.h"
#include "zs_node.h"
#include "zs_node_scan.h"

/* Makes the nodes known to core; from _PG_init. */
void
zsnode_register(void)
{
	RegisterCustomScanMethods(&zsnode_scan_methods);
	RegisterCustomScanMethods(&zsnode_topn_scan_methods);
	RegisterCustomScanMethods(&zsnode_order_methods);
	RegisterCustomScanMethods(&zsnode_agg_scan_methods);
	RegisterCustomScanMethods(&zsnode_sets_scan_methods);
	RegisterCustomScanMethods(&zsnode_cache_scan_methods);
	RegisterCustomScanMethods(&zsnode_window_scan_methods);
}
