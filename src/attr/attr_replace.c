/*-------------------------------------------------------------------------
 *
 * attr_replace.c
 *	  Segments in the place of others.
 *
 * VACUUM rewrites ranges of rows: rows of the row tree become segments, segments
 * that lost rows or are small give way to one that is neither.  A column's tree
 * changes in one step, on one index page under its lock, from the old
 * items to the new ones; a range that spans index pages is cut at their
 * borders before it is encoded.
 *
 * A reader that still has an old item finds blocks that carry another stamp, and
 * looks again.  What it has copied before stays right: old and new segments say the
 * same of every row that somebody may see.
 *
 * WAL: XLOG_ZS_PAGE_FPM, XLOG_ZS_PAGE_IMAGES, then for each column
 * XLOG_ZS_ATTR_REPLACE and XLOG_ZS_PAGE_FPM.  A crash in between leaks new
 * runs that are not linked yet, or old ones that are not free yet; some columns have
 * new segments, others old ones.
 *
 * Locks: none on entry; one page at a time inside.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_replace.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "attr_internal.h"
#include "zs_btree.h"

/*
 * The items of the index page that holds row, copied to items, which has room for
 * ZS_SEGMENT_INDEX_CAPACITY; returns how many.  *end is where the page's range ends.
 */
int
zsattr_index_page_items(Relation rel, AttrNumber attno, zstid row, ZsSegmentItem *items, zstid *end)
{
	PGAlignedBlock copy;
	int			n;

	*end = ZS_MAX_ROW;
	if (!zsattr_index_copy(rel, attno, row, copy.data))
		return 0;
	n = zsattr_index_count(copy.data);
	if (n > 0)
		memcpy(items, zsattr_index_items(copy.data), n * sizeof(ZsSegmentItem));
	*end = Min(ZsPageGetOpaque((Page) copy.data)->hikey, ZS_MAX_ROW);
	return n;
}

/* End of the index page that rows from first on belong to. */
static zstid
page_end(Relation rel, AttrNumber attno, zstid first)
{
	Buffer		buf = zsbtree_search(rel, ZsTreeOfAttr(attno), first, BUFFER_LOCK_SHARE);
	zstid		end = ZS_MAX_ROW;

	if (BufferIsValid(buf))
	{
		end = ZsPageGetOpaque(BufferGetPage(buf))->hikey;
		UnlockReleaseBuffer(buf);
	}
	return end;
}

/* Encodes a column, cut at the borders of index pages. */
static void
add_drafts(ZsDrafts *drafts, ZsAttrRewrite *rewrite)
{
	uint32		nrows = rewrite->column.input.nrows;
	uint32		done = 0;

	while (done < nrows)
	{
		zstid		row = rewrite->first_row + done;
		zstid		end = page_end(drafts->rel, rewrite->column.attno, row);
		uint32		count = (uint32) Min(end - row, (uint64) (nrows - done));

		if (count < nrows - done && end % ZS_STRIPE_ROWS != 0)
			zsbase_corrupted(drafts->rel,
							 zspage_tree_root(drafts->rel, ZsTreeOfAttr(rewrite->column.attno)),
							 "Segment index page of attribute %d ends at row " UINT64_FORMAT ".",
							 rewrite->column.attno, end);
		zsattr_drafts_add(drafts, &rewrite->column, row, done, count);
		done += count;
	}
}

/* Frees the blocks of a segment, if it has any. */
static void
free_run(Relation rel, AttrNumber attno, const ZsSegmentItem *item)
{
	if (!zsattr_item_is_uniform(item))
		zspage_free_run(rel, ZsTreeOfAttr(attno), item->start, item->nblocks);
}

/* Frees the runs of segments that are not linked any more. */
static void
free_segments(Relation rel, AttrNumber attno, const ZsSegmentItem *items, int nitems,
			  ZsSegmentVisitor gone, void *arg)
{
	for (int i = 0; i < nitems; i++)
	{
		if (gone != NULL)
			gone(attno, &items[i], arg);
		free_run(rel, attno, &items[i]);
	}
}

/*
 * Puts the drafts of one column from number i on in their place, page by page.  Returns the number
 * of the draft behind them.
 */
static int
replace_column(ZsDrafts *drafts, int i, ZsAttrRewrite *rewrite, ZsSegmentVisitor gone, void *arg)
{
	Relation	rel = drafts->rel;
	AttrNumber	attno = rewrite->column.attno;
	zstid		first = rewrite->first_row;
	zstid		end = first + rewrite->column.input.nrows;
	ZsSegmentItem *old = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);
	int			nold;

	rewrite->done = true;
	while (first < end)
	{
		zstid		part_end = Min(end, page_end(rel, attno, first));
		ZsSegmentItem items[ZS_REWRITE_MAX_SEGMENTS];
		int			nitems = 0;
		zstid		new_end = first;

		while (rewrite->done && i < drafts->n && drafts->drafts[i].attno == attno &&
			   drafts->drafts[i].item.first_row < part_end &&
			   nitems < ZS_REWRITE_MAX_SEGMENTS)
		{
			items[nitems++] = drafts->drafts[i++].item;
			new_end = items[nitems - 1].first_row + items[nitems - 1].nrows;
		}
		if (nitems == ZS_REWRITE_MAX_SEGMENTS)
			part_end = Min(part_end, new_end);

		/* a page that was split since the rows were encoded */
		if (rewrite->done && (new_end != part_end ||
							  !zsattr_segments_replace(rel, attno, first, part_end, items, nitems,
													   old, &nold)))
		{
			rewrite->done = false;
			i -= nitems;
		}
		if (!rewrite->done)
		{
			/* parts before this one are in their place, which is fine by itself */
			for (; i < drafts->n && drafts->drafts[i].attno == attno; i++)
				free_run(rel, attno, &drafts->drafts[i].item);
			break;
		}
		ZS_INJECTION_POINT("zs-compact-replaced");
		free_segments(rel, attno, old, nold, gone, arg);
		first = part_end;
	}
	pfree(old);
	return i;
}

/*
 * Writes the segments of all columns, then replaces column by column: each change is one WAL
 * record, so that readers find old or new segments at any moment.  The old ones' blocks are freed
 * at once.  gone may be NULL.  The caller made sure that nobody else writes to these rows.
 *
 * encoder may be NULL; with one, which the caller has begun and frees, the first column may
 * continue (column.input.continues) the last one of the call before.
 */
void
zsattr_rewrite(Relation rel, ZsAttrRewrite *rewrites, int nrewrites, ZsEncoder *encoder,
			   BufferAccessStrategy strategy, ZsSegmentVisitor gone, void *arg)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore segment rewrite",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ZsDrafts	drafts;
	int			next = 0;

	zsattr_drafts_begin(&drafts, rel, encoder);
	for (int i = 0; i < nrewrites; i++)
	{
		Assert(rewrites[i].first_row % ZS_STRIPE_ROWS == 0);
		Assert(rewrites[i].column.input.nrows > 0);
		add_drafts(&drafts, &rewrites[i]);
	}
	zsattr_drafts_write(&drafts, strategy);
	ZS_INJECTION_POINT("zs-compact-written");
	for (int i = 0; i < nrewrites; i++)
	{
		CHECK_FOR_INTERRUPTS();
		next = replace_column(&drafts, next, &rewrites[i], gone, arg);
	}
	Assert(next == drafts.n);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

/*
 * Takes the segments that start in [first, end), none of which may reach beyond, out of the tree
 * and frees their blocks.  For rows that nobody will ask for any more.
 */
void
zsattr_drop_segments(Relation rel, AttrNumber attno, zstid first, zstid end,
					 ZsSegmentVisitor gone, void *arg)
{
	ZsSegmentItem *old = palloc_array(ZsSegmentItem, ZS_SEGMENT_INDEX_CAPACITY);

	while (first < end)
	{
		zstid		part_end = Min(end, page_end(rel, attno, first));
		int			nold;

		/* false: the page was split meanwhile */
		if (!zsattr_segments_replace(rel, attno, first, part_end, NULL, 0, old, &nold))
			continue;
		free_segments(rel, attno, old, nold, gone, arg);
		first = part_end;
	}
	pfree(old);
}
