/*-------------------------------------------------------------------------
 *
 * write_catalog.c
 *	  What the catalog says about how rows are written.
 *
 * No lock on a page may be held here: a catalog is read, which may wait.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_catalog.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "write_internal.h"

/*
 * Has the table an exclusion constraint?  Then rows are written before the
 * index entries for them are made: others who check the constraint compare
 * their values with those of rows that are being inserted, unless the index
 * can tell for sure.
 */
bool
zswrite_has_exclusion_constraint(Relation rel)
{
	bool		result = false;
	List	   *indexes;
	ListCell   *lc;

	if (!rel->rd_rel->relhasindex)
		return false;
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for index %u", lfirst_oid(lc));
		result |= ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
	return result;
}

/*
 * How values of column attno are to be compressed: segments and overflow
 * values.  Cheap enough for every flush, not for every row.
 */
void
zswrite_compression(Relation rel, AttrNumber attno, ZsCompression *compression, int *level)
{
	ZsTableOptions options;
	char		attcompression = zsattr_form(RelationGetDescr(rel), attno)->attcompression;

	zsbase_table_options(rel, &options);
	*compression = options.compression;
	*level = options.compression_level;

	/* ALTER COLUMN SET COMPRESSION: pglz, which segments do not know, asks for a tight method */
	if (attcompression == 'l')
		*compression = ZS_COMPRESSION_LZ4;
	else if (attcompression == 'p')
		*compression = ZS_COMPRESSION_ZSTD;
}
