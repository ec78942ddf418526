/*-------------------------------------------------------------------------
 *
 * inspect_relation.c
 *	  What the inspection functions share: opening a table, names, flags.
 *
 * The functions read pages the way everybody does: a short share lock and a
 * copy.  They see each page at another moment, so on a table that changes the
 * result is no snapshot.  Who may call them is said in the install script.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_relation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "storage/lmgr.h"

#include "inspect_internal.h"
#include "zs_attr.h"
#include "zs_page.h"
#include "zs_write.h"

/*
 * Opens a zedstore table for inspection; core's errors for everything else.
 * Rows that this transaction has buffered are written first.
 */
Relation
zsinspect_open(Oid relid, LOCKMODE lockmode)
{
	Relation	rel = relation_open(relid, lockmode);

	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a zedstore table", RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	if (!zsbase_is_zedstore(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a zedstore table", RelationGetRelationName(rel))));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	if (RecoveryInProgress() && !RelationIsPermanent(rel))
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot access temporary or unlogged relations during recovery")));

	Assert(CheckRelationLockedByMe(rel, lockmode, true));
	zswrite_flush(rel);
	return rel;
}

/* attno of a tree as shown; *isnull for the table's own entry. */
Datum
zsinspect_tree_attno(uint16 treeno, bool *isnull)
{
	Assert(treeno < ZS_MAX_TREES);
	*isnull = treeno == ZS_TREE_TABLE;
	if (treeno == ZS_TREE_TID)
		return Int32GetDatum(ZS_SHOWN_TID_TREE);
	if (treeno == ZS_TREE_ROW)
		return Int32GetDatum(ZS_SHOWN_ROW_TREE);
	return Int32GetDatum(ZsAttrOfTree(treeno));
}

/*
 * Name of attribute attno, which may be ZS_XMIN_ATTNO, as a text datum; *isnull when the table
 * has no such attribute.
 */
Datum
zsinspect_attname(Relation rel, int attno, bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(rel);

	*isnull = (attno < 1 && attno != ZS_XMIN_ATTNO) || attno > desc->natts;
	if (*isnull)
		return (Datum) 0;
	return CStringGetTextDatum(NameStr(zsattr_form(desc, attno)->attname));
}

/* Appends a name to a comma-separated list. */
static void
add_name(StringInfo list, const char *name)
{
	if (list->len > 0)
		appendStringInfoChar(list, ',');
	appendStringInfoString(list, name);
}

/* Names of the visibility flags of a slot, comma-separated, palloc'd. */
char *
zsinspect_slot_flags(uint16 slotno, const ZsVisSlot *vis)
{
	static const struct
	{
		uint16		bit;
		const char *name;
	}			masks[] = {
		{HEAP_XMIN_COMMITTED, "xmin_committed"},
		{HEAP_XMIN_INVALID, "xmin_invalid"},
		{HEAP_XMAX_COMMITTED, "xmax_committed"},
		{HEAP_XMAX_INVALID, "xmax_invalid"},
		{HEAP_XMAX_IS_MULTI, "xmax_is_multi"},
		{HEAP_XMAX_LOCK_ONLY, "xmax_lock_only"},
		{HEAP_XMAX_KEYSHR_LOCK, "xmax_keyshr_lock"},
		{HEAP_XMAX_EXCL_LOCK, "xmax_excl_lock"},
	},			masks2[] =
	{
		{HEAP_KEYS_UPDATED, "keys_updated"},
		{ZS_VIS2_UPDATED, "updated"},
		{ZS_VIS2_MOVED_PARTITION, "moved_partition"},
		{ZS_VIS2_SPECULATIVE, "speculative"},
	};
	StringInfoData list;

	initStringInfo(&list);
	if (slotno < ZS_FIRST_REAL_SLOT)
	{
		add_name(&list, slotno == ZS_SLOT_FROZEN ? "frozen" :
				 slotno == ZS_SLOT_DEAD ? "dead" :
				 slotno == ZS_SLOT_UNUSED ? "unused" : "retired");
		return list.data;
	}
	Assert(vis != NULL);
	for (int i = 0; i < (int) lengthof(masks); i++)
	{
		if ((vis->infomask & masks[i].bit) != 0)
			add_name(&list, masks[i].name);
	}
	for (int i = 0; i < (int) lengthof(masks2); i++)
	{
		if ((vis->infomask2 & masks2[i].bit) != 0)
			add_name(&list, masks2[i].name);
	}
	return list.data;
}

/*
 * All directory entries of the table, ZS_MAX_TREES of them, palloc'd; entries
 * of directory pages that do not exist are zero.
 */
ZsTreeEntry *
zsinspect_tree_entries(Relation rel, const ZsMetaPageData *meta)
{
	ZsTreeEntry *entries = palloc0(ZS_MAX_TREES * sizeof(ZsTreeEntry));

	for (int treeno = 0; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(meta, treeno))
		zspage_tree_entry(rel, treeno, &entries[treeno]);
	return entries;
}

/*
 * Counts an extent of a tree's free page map, which begins with *nextents = 0.  Error: a circle of
 * its pages, which would fill the disk.
 */
void
zsinspect_count_extent(Relation rel, uint16 treeno, ZsExtent extent, uint64 *nextents)
{
	if (++*nextents % ZS_FPM_PAGE_EXTENTS == 0 && *nextents > zspage_physical_blocks(rel))
		zsbase_corrupted(rel, extent.start,
						 "The free page map of tree %u has more extents than the file has blocks.",
						 treeno);
}
