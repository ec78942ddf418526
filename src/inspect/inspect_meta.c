/*-------------------------------------------------------------------------
 *
 * inspect_meta.c
 *	  pg_zs_meta_page, pg_zs_trees, pg_zs_free_pages.
 *
 * What stands on the metapage and the directory pages, as of one moment for each
 * page, not for all of them.  Trees are shown that a column of the table has or
 * that own anything.  Nothing is locked while rows are formed.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_meta.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "inspect_internal.h"
#include "zs_page.h"

PG_FUNCTION_INFO_V1(pg_zs_meta_page);
PG_FUNCTION_INFO_V1(pg_zs_trees);
PG_FUNCTION_INFO_V1(pg_zs_free_pages);

/* The stripes that small inserts fill, as int8[]; cursors that point nowhere are NULL. */
static Datum
cursors_array(const ZsMetaPageData *meta)
{
	Datum		values[ZS_INSERT_CURSORS];
	bool		nulls[ZS_INSERT_CURSORS];
	int			dims[1] = {ZS_INSERT_CURSORS};
	int			lbounds[1] = {1};

	for (int i = 0; i < ZS_INSERT_CURSORS; i++)
	{
		values[i] = Int64GetDatum((int64) meta->cursors[i]);
		nulls[i] = meta->cursors[i] == ZS_INVALID_ROW;
	}
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, lbounds, INT8OID,
											  sizeof(int64), true, TYPALIGN_DOUBLE));
}

/* pg_zs_meta_page(regclass): see docs/inspection.md. */
Datum
pg_zs_meta_page(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	ZsMetaPageData meta;
	Datum		values[6];
	bool		nulls[6] = {0};
	int			n = 0;

	zsbase_srf_init(fcinfo, lengthof(values));
	zspage_meta_read(rel, &meta);
	values[n++] = Int32GetDatum(meta.version);
	values[n++] = Int64GetDatum((int64) meta.next_row);
	values[n++] = cursors_array(&meta);
	values[n++] = Int64GetDatum(meta.file_blocks);
	values[n++] = Int64GetDatum(zspage_physical_blocks(rel));
	values[n++] = Int32GetDatum((int32) meta.ndirectory);
	Assert(n == lengthof(values));
	zsinspect_put(rsinfo, values, nulls);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

#define TREE_COLUMNS	8

/* One row of pg_zs_trees. */
static void
put_tree(ReturnSetInfo *rsinfo, Relation rel, uint16 treeno, const ZsTreeEntry *entry)
{
	Datum		values[TREE_COLUMNS];
	bool		nulls[TREE_COLUMNS] = {0};

	Assert(treeno < ZS_MAX_TREES);
	values[0] = Int32GetDatum(treeno);
	values[1] = zsinspect_tree_attno(treeno, &nulls[1]);
	nulls[2] = treeno <= ZS_TREE_ROW;
	if (!nulls[2])
		values[2] = zsinspect_attname(rel, ZsAttrOfTree(treeno), &nulls[2]);
	values[3] = Int64GetDatum(entry->root);
	nulls[3] = entry->root == 0;
	values[4] = Int64GetDatum(entry->nblocks);
	values[5] = Int64GetDatum(entry->nfree);
	values[6] = Int32GetDatum(entry->nextents);
	values[7] = Int64GetDatum(entry->chain);
	nulls[7] = entry->chain == 0;
	zsinspect_put(rsinfo, values, nulls);
}

/* Does the tree have an entry worth showing?  Also those of columns that never came to be. */
static bool
tree_is_shown(Relation rel, uint16 treeno, const ZsTreeEntry *entry)
{
	return treeno <= ZsTreeOfAttr(RelationGetNumberOfAttributes(rel)) ||
		entry->root != 0 || entry->nblocks != 0;
}

/* pg_zs_trees(regclass): see docs/inspection.md. */
Datum
pg_zs_trees(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	ZsMetaPageData meta;
	ZsTreeEntry *entries;

	zsbase_srf_init(fcinfo, TREE_COLUMNS);
	zspage_meta_read(rel, &meta);
	entries = zsinspect_tree_entries(rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		if (tree_is_shown(rel, treeno, &entries[treeno]))
			put_tree(rsinfo, rel, treeno, &entries[treeno]);
	}
	pfree(entries);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

#define EXTENT_COLUMNS	3

typedef struct ExtentList
{
	ReturnSetInfo *rsinfo;
	Relation	rel;
	uint64		nextents;		/* of the present tree */
} ExtentList;

/* One row of pg_zs_free_pages. */
static void
put_extent(uint16 treeno, ZsExtent extent, void *arg)
{
	ExtentList *list = arg;
	Datum		values[EXTENT_COLUMNS];
	bool		nulls[EXTENT_COLUMNS] = {0};

	zsinspect_count_extent(list->rel, treeno, extent, &list->nextents);
	CHECK_FOR_INTERRUPTS();
	values[0] = zsinspect_tree_attno(treeno, &nulls[0]);
	values[1] = Int64GetDatum(extent.start);
	values[2] = Int64GetDatum(extent.length);
	zsinspect_put(list->rsinfo, values, nulls);
}

/* pg_zs_free_pages(regclass): see docs/inspection.md. */
Datum
pg_zs_free_pages(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = zsinspect_open(PG_GETARG_OID(0), AccessShareLock);
	ExtentList	list = {.rsinfo = rsinfo, .rel = rel};
	ZsMetaPageData meta;
	ZsTreeEntry *entries;

	zsbase_srf_init(fcinfo, EXTENT_COLUMNS);
	zspage_meta_read(rel, &meta);
	entries = zsinspect_tree_entries(rel, &meta);
	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno++)
	{
		list.nextents = 0;
		if (entries[treeno].nfree > 0 || entries[treeno].chain != 0)
			zspage_fpm_visit(rel, treeno, put_extent, &list);
	}
	pfree(entries);

	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}
