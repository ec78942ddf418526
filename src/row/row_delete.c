/*-------------------------------------------------------------------------
 *
 * row_delete.c
 *	  Rows leave the row tree: they became segments, or nobody can see them.
 *
 * Empty leaves stay in the tree.
 *
 * Locks: one leaf exclusively at a time.
 *
 * WAL: XLOG_ZS_ROW_DELETE, one record a leaf.  A crash in between leaves the
 * rows of the leaves that were not reached; whoever removed them removes them
 * again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_delete.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/itup.h"
#include "access/xloginsert.h"
#include "miscadmin.h"

#include "row_internal.h"
#include "zs_btree.h"
#include "zs_walrec.h"

/*
 * Takes nitems items from offset first on off a leaf.  No WAL; may be called
 * in a critical section when the leaf was checked before (row_delete.c).
 */
void
zsrow_leaf_delete(Page page, OffsetNumber first, int nitems)
{
	OffsetNumber offsets[MaxIndexTuplesPerPage];

	Assert(nitems > 0 && nitems <= (int) MaxIndexTuplesPerPage);
	Assert(first + nitems - 1 <= PageGetMaxOffsetNumber(page));

	for (int i = 0; i < nitems; i++)
		offsets[i] = first + i;
	PageIndexMultiDelete(page, offsets, nitems);
}

static void
log_delete(Buffer buf, OffsetNumber first, int nitems)
{
	xl_zs_row_delete xlrec;
	XLogRecPtr	lsn;

	xlrec.offset = first;
	xlrec.nitems = (uint16) nitems;
	XLogBeginInsert();
	XLogRegisterData(&xlrec, SizeOfZsRowDelete);
	XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
	lsn = zspage_log_tree(XLOG_ZS_ROW_DELETE);
	PageSetLSN(BufferGetPage(buf), lsn);
}

/* Removes the rows of [first, end) from the leaf in buf; returns how many. */
static int
delete_from_leaf(Relation rel, Buffer buf, zstid first, zstid end)
{
	Page		page = BufferGetPage(buf);
	OffsetNumber from;
	OffsetNumber to;

	zsrow_leaf_verify(rel, buf);
	from = zsrow_leaf_search(rel, buf, first);
	to = zsrow_leaf_search(rel, buf, end);
	if (from == to)
		return 0;

	START_CRIT_SECTION();
	zsrow_leaf_delete(page, from, to - from);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
		log_delete(buf, from, to - from);
	END_CRIT_SECTION();

	Assert(zsrow_leaf_check(page) == NULL);
	return to - from;
}

/*
 * Removes the rows of [first, end) from the row tree; their overflow values
 * are NOT freed here.  Returns how many.  For VACUUM and the move into
 * segments.
 */
uint64
zsrow_delete_range(Relation rel, zstid first, zstid end)
{
	uint64		ndeleted = 0;

	while (first < end)
	{
		Buffer		buf;
		zstid		hikey;

		CHECK_FOR_INTERRUPTS();
		buf = zsbtree_search(rel, ZS_TREE_ROW, first, BUFFER_LOCK_EXCLUSIVE);
		if (!BufferIsValid(buf))
			break;
		hikey = ZsPageGetOpaque(BufferGetPage(buf))->hikey;
		ndeleted += delete_from_leaf(rel, buf, first, end);
		UnlockReleaseBuffer(buf);
		ZS_INJECTION_POINT("zs-row-delete");
		first = hikey;
	}
	return ndeleted;
}
