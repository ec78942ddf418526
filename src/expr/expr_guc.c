/*-------------------------------------------------------------------------
 *
 * expr_guc.c
 *	  Settings of plans that go by batches.
 *
 * Which kinds of plans may be made, and zedstore.debug_vector, by which tests
 * choose how they go.  All may be set in a session: plans that are cached were
 * made by the values of then, nodes look at debug_vector when they start.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_guc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "zs_expr_guc.h"

bool		zs_enable_vector_agg = true;
bool		zs_enable_vector_scan = true;
bool		zs_enable_join_filters = true;
bool		zs_enable_vector_join = true;
bool		zs_enable_early_groups = true;
bool		zs_enable_top_groups = true;
bool		zs_enable_rare_groups = true;
bool		zs_enable_known_strings = true;
bool		zs_enable_packed_rows = true;
bool		zs_enable_ordered_scan = true;
bool		zs_enable_vector_totals = true;
bool		zs_enable_combined_groups = true;
int			zs_debug_vector = ZS_DEBUG_VECTOR_OFF;
int			zs_debug_vector_groups = 0;

static const struct config_enum_entry debug_modes[] = {
	{"off", ZS_DEBUG_VECTOR_OFF, false},
	{"force", ZS_DEBUG_VECTOR_FORCE, false},
	{"verify", ZS_DEBUG_VECTOR_VERIFY, false},
	{"rows", ZS_DEBUG_VECTOR_ROWS, false},
	{NULL, 0, false}
};

/* Defines the settings; from _PG_init. */
void
zsexpr_guc_init(void)
{
	DefineCustomBoolVariable("zedstore.enable_vector_agg",
							 "Enables aggregation of zedstore tables by batches.",
							 "When off, aggregates are computed row by row.",
							 &zs_enable_vector_agg, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_vector_scan",
							 "Enables filters on zedstore tables by batches.",
							 "When off, scans apply filters row by row.",
							 &zs_enable_vector_scan, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_ordered_scan",
							 "Enables scans that return rows in the order of columns.",
							 "They merge stripes in the order of their zone maps.  When off, rows "
							 "are sorted.",
							 &zs_enable_ordered_scan, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_join_filters",
							 "Lets scans by batches leave out rows that find no partner in a hash join.",
							 "When off, all rows that pass the filter go to the join.",
							 &zs_enable_join_filters, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_vector_join",
							 "Lets aggregates do the hash joins below them by batches.",
							 "When off, core's hash joins hand up their rows one by one.",
							 &zs_enable_vector_join, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_vector_totals",
							 "Lets aggregates by batches take a column's vector as a whole.",
							 "When off, all values are decoded and added row by row.",
							 &zs_enable_vector_totals, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_top_groups",
							 "Leaves out groups that ORDER BY ... LIMIT does not want.",
							 "When off, aggregation by batches hands all groups to the sort.",
							 &zs_enable_top_groups, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_rare_groups",
							 "Counts rows of groups that ORDER BY count(*) DESC LIMIT is not going to want.",
							 "When off, all groups are made.",
							 &zs_enable_rare_groups, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_known_strings",
							 "Lets grouping look up once what a dictionary has of a column's strings.",
							 "When off, strings are looked up for each row where some are in no dictionary.",
							 &zs_enable_known_strings, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_packed_rows",
							 "Lets aggregation by batches write out rows by columns when memory is short.",
							 "When off, rows are written and read one by one.",
							 &zs_enable_packed_rows, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_early_groups",
							 "Enables groups that are returned before all rows have been read.",
							 "These are groups that zone maps of the rows to come exclude. "
							 "When off, all groups are kept until the end.",
							 &zs_enable_early_groups, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_combined_groups",
							 "Enables combining the groups of parallel workers by batches.",
							 "When off, core's Finalize node combines them.",
							 &zs_enable_combined_groups, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomEnumVariable("zedstore.debug_vector",
							 "Tests plans that go by batches.",
							 "\"force\" prefers them whatever they cost, \"verify\" computes everything "
							 "row by row as well and compares, \"rows\" goes row by row in such plans. "
							 "Where parallel_setup_cost is 0, they prefer parallel ones.",
							 &zs_debug_vector,
							 ZS_DEBUG_VECTOR_OFF, debug_modes,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomIntVariable("zedstore.debug_vector_groups",
							"Sets the number of groups from which on rows of others are written out, as if memory were short.",
							"For tests; 0 stands for what memory allows.",
							&zs_debug_vector_groups,
							0, 0, INT_MAX,
							PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}
