/*-------------------------------------------------------------------------
 *
 * base_guc.c
 *	  Settings of tables and queries: zedstore.<noun>.
 *
 * Everything here may be changed by any user at any time; nothing here changes
 * what a query returns, only how fast and with how much memory it does so.
 * The enable_* switches exist to compare plans and to find out which part
 * of the reader a wrong or slow result comes from.
 *
 * Modules with settings of their own define them in their own init function.
 * The prefix is reserved after all of them: reserving it throws away what the
 * configuration file says about names that are not defined yet.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_guc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "zs_base.h"

int			zs_write_buffer_size = 131072;
int			zs_min_segment_rows = 4096;
int			zs_wal_compression = ZS_WAL_COMPRESSION_AUTO;
int			zs_default_compression = ZS_COMPRESSION_LZ4;
bool		zs_enable_column_projection = true;
bool		zs_enable_lazy_decode = true;
bool		zs_enable_read_stream = true;
bool		zs_enable_zone_maps = true;
bool		zs_enable_topn = true;
bool		zs_enable_column_costs = true;
bool		zs_enable_fetch_cache = true;
bool		zs_enable_late_row_numbers = true;
bool		zs_enable_partial_vectors = true;
bool		zs_enable_value_sharing = true;
bool		zs_enable_kept_choices = true;
bool		zs_enable_compaction = true;
bool		zs_enable_relocation = true;
bool		zs_enable_result_cache = true;
bool		zs_enable_window = true;
bool		zs_enable_zone_lookups = true;
bool		zs_enable_inlined_ctes = true;
bool		zs_enable_adaptive_join = true;
bool		zs_enable_robust_joins = true;
int			zs_debug_switch_after = 0;
bool		zs_ignore_options = false;
bool		zs_ignore_foreign_pages = false;
int			zs_debug_format_version = ZS_FORMAT_VERSION;

/* also the spellings of the table option zedstore_compression */
static const struct config_enum_entry wal_compression_methods[] = {
	{"server", ZS_WAL_COMPRESSION_SERVER, false},
	{"auto", ZS_WAL_COMPRESSION_AUTO, false},
	{NULL, 0, false}
};

static const struct config_enum_entry compression_methods[] = {
	{"none", ZS_COMPRESSION_NONE, false},
	{"lz4", ZS_COMPRESSION_LZ4, false},
	{"zstd", ZS_COMPRESSION_ZSTD, false},
	{NULL, 0, false}
};

/* A switch that shows in EXPLAIN (SETTINGS). */
static void
define_switch(const char *name, const char *short_desc, const char *long_desc,
			  bool *variable)
{
	DefineCustomBoolVariable(name, short_desc, long_desc, variable, true,
							 PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}

/*
 * Defines the settings of zs_base.h.  To be called once, from _PG_init.
 */
void
zsbase_guc_init(void)
{
	DefineCustomIntVariable("zedstore.write_buffer_size",
							"Sets the memory that collects rows before they are written as columns.",
							"All zedstore tables that a session writes to share it.  Larger "
							"buffers make longer runs of each column.",
							&zs_write_buffer_size,
							131072, 1024, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);

	DefineCustomIntVariable("zedstore.min_segment_rows",
							"Sets the number of rows from which on a write is stored as columns.",
							"Smaller writes are stored as whole rows; VACUUM turns these "
							"into columns when there are as many of them.",
							&zs_min_segment_rows,
							4096, 1, ZS_MAX_SEGMENT_ROWS,
							PGC_USERSET, 0,
							NULL, NULL, NULL);

	DefineCustomEnumVariable("zedstore.default_compression",
							 "Sets the compression method of zedstore tables that name none.",
							 "Tables name one by the storage parameter \"zedstore_compression\".  "
							 "A change concerns what is written from then on.",
							 &zs_default_compression,
							 ZS_COMPRESSION_LZ4, compression_methods,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	DefineCustomEnumVariable("zedstore.wal_compression",
							 "Sets whether images of pages in the WAL are compressed.",
							 "\"auto\" compresses pages of trees, with LZ4 where wal_compression "
							 "is off, and no pages of columns that are compressed already; "
							 "\"server\" does what wal_compression says.",
							 &zs_wal_compression,
							 ZS_WAL_COMPRESSION_AUTO, wal_compression_methods,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);

	define_switch("zedstore.enable_column_projection",
				  "Enables reading only the columns that a query needs.",
				  "When off, scans of zedstore tables read all columns.",
				  &zs_enable_column_projection);
	define_switch("zedstore.enable_lazy_decode",
				  "Enables decoding a column only when a row's value is looked at.",
				  "When off, all columns that a query needs are decoded as rows are read.",
				  &zs_enable_lazy_decode);
	define_switch("zedstore.enable_read_stream",
				  "Enables reading ahead in scans of zedstore tables.",
				  "When off, every page is read when it is needed.",
				  &zs_enable_read_stream);
	define_switch("zedstore.enable_zone_maps",
				  "Enables skipping segments by their smallest and largest values.",
				  "When off, filters are applied to every row.",
				  &zs_enable_zone_maps);
	define_switch("zedstore.enable_topn",
				  "Enables a scan of its own for ORDER BY ... LIMIT.",
				  "It reads the columns of the sort keys first and the other columns "
				  "only for the rows that remain.",
				  &zs_enable_topn);
	define_switch("zedstore.enable_column_costs",
				  "Enables costs of plans that count the columns which are read.",
				  "When off, index scans, bitmap scans and sequential scans of zedstore tables "
				  "are taken to cost what they would if a row lay in one page.",
				  &zs_enable_column_costs);
	define_switch("zedstore.enable_fetch_cache",
				  "Enables keeping what was found between fetches of single rows.",
				  "When off, every row that an index points to is looked up and decoded anew.",
				  &zs_enable_fetch_cache);
	define_switch("zedstore.enable_partial_vectors",
				  "Enables decoding only the strings of rows that a filter has left.",
				  "When off, plans by batches decode whole vectors of 1024 strings.",
				  &zs_enable_partial_vectors);
	define_switch("zedstore.enable_value_sharing",
				  "Enables new versions of rows to share large values with the old ones.",
				  "When off, an UPDATE writes large values again that it does not change.",
				  &zs_enable_value_sharing);
	define_switch("zedstore.enable_kept_choices",
				  "Enables loads to go on with encodings that they chose before.",
				  "When off, the encoding of strings is chosen anew each time that the write "
				  "buffer is full.",
				  &zs_enable_kept_choices);
	define_switch("zedstore.enable_late_row_numbers",
				  "Enables bulk loads to number their rows when they write them.",
				  "When off, loads into tables without indexes and triggers reserve row numbers "
				  "in advance, too, and sessions that load side by side write shorter runs.",
				  &zs_enable_late_row_numbers);

	DefineCustomBoolVariable("zedstore.enable_compaction",
							 "Enables VACUUM to write columns.",
							 "When off, VACUUM neither turns rows into columns nor takes space "
							 "back that deleted rows have in columns.",
							 &zs_enable_compaction, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.enable_relocation",
							 "Enables VACUUM to move pages from the end of a file to its front.",
							 "When off, VACUUM shortens a file only by what is free at its end already.",
							 &zs_enable_relocation, true,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	define_switch("zedstore.enable_result_cache",
				  "Enables remembering the results of correlated subqueries.",
				  "When off, subqueries of expressions are run for each row.",
				  &zs_enable_result_cache);

	define_switch("zedstore.enable_window",
				  "Enables computing ranking window functions while rows go by.",
				  "When off, core puts all rows into a tuplestore.",
				  &zs_enable_window);

	define_switch("zedstore.enable_zone_lookups",
				  "Enables looking rows up by zone maps for each row of a join's other side.",
				  "When off, joins look rows up by indexes alone.",
				  &zs_enable_zone_lookups);

	define_switch("zedstore.enable_robust_joins",
				  "Avoids plans that are far worse than others if estimates are wrong.",
				  "When off, the cheapest plan is taken, however little it saves.",
				  &zs_enable_robust_joins);

	define_switch("zedstore.enable_inlined_ctes",
				  "Enables computing the parts of WITH queries that references to them need.",
				  "When off, what is referred to more than once is computed as a whole.",
				  &zs_enable_inlined_ctes);

	define_switch("zedstore.enable_adaptive_join",
				  "Enables nested loops that turn to a hash join when there are many rows.",
				  "When off, a nested loop goes on with however many rows there are.",
				  &zs_enable_adaptive_join);

	DefineCustomIntVariable("zedstore.debug_switch_after",
							"Sets the number of rows after which adaptive joins turn to a hash join.",
							"For tests; 0 stands for what costs say.",
							&zs_debug_switch_after,
							0, 0, INT_MAX,
							PGC_USERSET, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.ignore_options",
							 "Leaves out options of zedstore for tables of other access methods.",
							 "When off, such a table is not created or altered: its access method does "
							 "not know the option.",
							 &zs_ignore_options, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);

	DefineCustomBoolVariable("zedstore.ignore_foreign_pages",
							 "Reads zedstore tables in whose files other code has written pages.",
							 "When off, reading such a table is an error.  What these pages hold is "
							 "not part of the table in any case.",
							 &zs_ignore_foreign_pages, false,
							 PGC_SUSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);

	DefineCustomIntVariable("zedstore.debug_format_version",
							"Sets the format version of files that are made.",
							"For tests of what older releases made.",
							&zs_debug_format_version,
							ZS_FORMAT_VERSION, ZS_FORMAT_VERSION_MIN, ZS_FORMAT_VERSION,
							PGC_USERSET, GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
}

/*
 * Refuses settings zedstore.* that nobody defined.  To be called in _PG_init
 * after the init functions of all modules that define settings.
 */
void
zsbase_guc_reserve(void)
{
	MarkGUCPrefixReserved("zedstore");
}
