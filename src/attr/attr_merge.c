/*-------------------------------------------------------------------------
 *
 * attr_merge.c
 *	  Two neighbouring segment index pages become one.
 *
 * A segment of the left page may reach into the right one's key range; the
 * order of the items is the same on one page.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "attr_internal.h"

/* Segments that two index pages which both have some may hold together. */
#define MAX_MERGED_ITEMS	(ZS_SEGMENT_INDEX_CAPACITY * 6 / 10)

/*
 * ZsMergeFunc of zs_btree.h: index pages are merged when one is empty or the result leaves room.
 */
const char *
zsattr_merge_index_pages(Page left, Page right, Page image, bool *merged)
{
	const char *reason = zsattr_index_page_check(left);
	int			nleft;
	int			nright;

	*merged = false;
	if (reason == NULL)
		reason = zsattr_index_page_check(right);
	if (reason != NULL)
		return reason;
	nleft = zsattr_index_count(left);
	nright = zsattr_index_count(right);
	if (nleft > 0 && nright > 0 && nleft + nright > (int) MAX_MERGED_ITEMS)
		return NULL;

	Assert(nleft + nright <= (int) ZS_SEGMENT_INDEX_CAPACITY);
	memcpy(zsattr_index_items(image), zsattr_index_items(left), nleft * sizeof(ZsSegmentItem));
	memcpy(zsattr_index_items(image) + nleft, zsattr_index_items(right),
		   nright * sizeof(ZsSegmentItem));
	zsattr_index_set_count(image, nleft + nright);

	/* segments of the two pages that overlap each other show only now */
	*merged = true;
	return zsattr_index_page_check(image);
}
