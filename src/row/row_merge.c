/*-------------------------------------------------------------------------
 *
 * row_merge.c
 *	  Two neighbouring row tree leaves become one.
 *
 * Only the image of the page that both become; VACUUM's merge of pages
 * (btree_merge.c) locks them, asks for the image, and logs it.  Leaves that both
 * have rows are merged if a tenth of the page stays free, so that the next insert
 * does not split them again.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/row/row_merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "row_internal.h"

/* What two leaves that both have rows may take together: rows seldom come to them later. */
#define MAX_MERGED_SIZE		(ZS_PAGE_CAPACITY * 9 / 10)

/* Bytes that the items of a leaf take, line pointers included. */
static Size
used_space(Page page)
{
	Size		used = 0;

	for (OffsetNumber offset = FirstOffsetNumber; offset <= PageGetMaxOffsetNumber(page); offset++)
		used += zsrow_item_space(zsrow_leaf_item(page, offset));
	return used;
}

static void
append_items(Page image, Page page)
{
	for (OffsetNumber offset = FirstOffsetNumber; offset <= PageGetMaxOffsetNumber(page); offset++)
	{
		MinimalTuple item = zsrow_leaf_item(page, offset);

		if (PageAddItem(image, (void *) item, item->t_len, InvalidOffsetNumber, false, false) ==
			InvalidOffsetNumber)
			elog(ERROR, "row tree leaf overflows while it is merged");
	}
}

/*
 * ZsMergeFunc of zs_btree.h: leaves are merged when one is empty or the result leaves room.
 */
const char *
zsrow_merge_leaves(Page left, Page right, Page image, bool *merged)
{
	const char *reason = zsrow_leaf_check(left);
	Size		nleft;
	Size		nright;

	*merged = false;
	if (reason == NULL)
		reason = zsrow_leaf_check(right);
	if (reason != NULL)
		return reason;
	nleft = used_space(left);
	nright = used_space(right);
	if (nleft > 0 && nright > 0 && nleft + nright > MAX_MERGED_SIZE)
		return NULL;

	append_items(image, left);
	append_items(image, right);
	Assert(zsrow_leaf_check(image) == NULL);
	*merged = true;
	return NULL;
}
