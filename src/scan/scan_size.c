/*-------------------------------------------------------------------------
 *
 * scan_size.c
 *	  How much a scan reads, for the planner.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "scan_desc.h"
#include "zs_page.h"

static BlockNumber
used_blocks(Relation rel, uint16 treeno)
{
	ZsTreeEntry entry;

	zspage_tree_entry(rel, treeno, &entry);
	return entry.nblocks - Min(entry.nfree, entry.nblocks);
}

/*
 * Blocks of the file that hold a column, free ones left out; with attno 0
 * those that say which rows there are (TID tree and row tree).  Takes a share
 * lock on the metapage or a directory page.
 */
BlockNumber
zsscan_column_blocks(Relation rel, AttrNumber attno)
{
	if (attno == 0)
		return used_blocks(rel, ZS_TREE_TID) + used_blocks(rel, ZS_TREE_ROW);
	Assert(attno > 0 && attno <= RelationGetNumberOfAttributes(rel));
	return used_blocks(rel, ZsTreeOfAttr(attno));
}

/* Blocks of the row tree, free ones left out; locks as above. */
BlockNumber
zsscan_row_tree_blocks(Relation rel)
{
	return used_blocks(rel, ZS_TREE_ROW);
}
