/*-------------------------------------------------------------------------
 *
 * page_tidy.c
 *	  Reading a whole free page map, and putting it in order.
 *
 * Extents that lie next to each other may stand on different FPM pages, or in
 * the entry and on one, and FPM pages that have run empty stay in their chain.
 * VACUUM gathers a map, merges neighbours and writes it back: the lowest
 * extents to the directory entry, the others to as few FPM pages as they need;
 * the pages left over become free blocks themselves.
 *
 * Locks: directory page, then the chain's pages in order, all at once.  The
 * pages are read and pinned before.
 *
 * WAL: one XLOG_ZS_PAGE_FPM with full images, so there is no crash in between.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_tidy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "page_internal.h"
#include "zs_page.h"
#include "zs_walrec.h"

/* How often the chain may change on the way. */
#define MAX_RETRIES		1000

/* Pages of a chain that are put in order at once go into one record, behind two others. */
StaticAssertDecl(2 + ZSPAGE_MAX_PINNED <= XLR_MAX_BLOCK_ID + 1, "one record has a chain");

/* Extents that the entry and an FPM page get, so that there is room for more. */
#define ENTRY_FILL		(ZS_ENTRY_EXTENTS / 2)
#define PAGE_FILL		((int) ZS_FPM_PAGE_EXTENTS * 9 / 10)

/* The first pages of a chain, pinned. */
typedef struct Chain
{
	int			npages;
	Buffer		pages[ZSPAGE_MAX_PINNED];
	BlockNumber next;			/* behind them, 0 = nothing */
} Chain;

/* Extents in memory. */
typedef struct ExtentArray
{
	int			n;
	int			max;
	ZsExtent   *e;
} ExtentArray;

static void
release_chain(Chain *chain)
{
	for (int i = 0; i < chain->npages; i++)
		ReleaseBuffer(chain->pages[i]);
	chain->npages = 0;
}

/*
 * Pins the pages from head on. Since nothing keeps the chain from changing, it is compared
 * again under the directory page's lock.
 */
static void
pin_chain(Relation rel, uint16 treeno, BlockNumber head, Chain *chain)
{
	chain->npages = 0;
	chain->next = head;
	while (chain->next != 0 && chain->npages < ZSPAGE_MAX_PINNED)
	{
		Buffer		buf = zspage_read(rel, chain->next, NULL);

		chain->pages[chain->npages++] = buf;
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		chain->next = zspage_verify(BufferGetPage(buf), ZS_PAGE_FPM, treeno, NULL) == ZS_PAGE_OK ?
			ZsPageGetOpaque(BufferGetPage(buf))->right : 0;
		LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	}
}

static void
unlock_chain(Chain *chain, int nlocked)
{
	Assert(nlocked <= chain->npages);
	for (int i = 0; i < nlocked; i++)
		LockBuffer(chain->pages[i], BUFFER_LOCK_UNLOCK);
}

/*
 * Locks the pinned pages. The directory page is locked, so a page whose predecessor leads to
 * it is the tree's FPM page for now. False, with nothing locked, when the chain has changed.
 */
static bool
lock_chain(Relation rel, uint16 treeno, BlockNumber head, Chain *chain, int lockmode)
{
	BlockNumber expected = head;

	Assert(chain->npages >= 0 && chain->npages <= ZSPAGE_MAX_PINNED);
	for (int i = 0; i < chain->npages; i++)
	{
		if (BufferGetBlockNumber(chain->pages[i]) != expected)
		{
			unlock_chain(chain, i);
			return false;
		}
		zspage_chain_lock(rel, treeno, chain->pages[i], lockmode);
		expected = ZsPageGetOpaque(BufferGetPage(chain->pages[i]))->right;
	}
	if (expected != chain->next)
	{
		unlock_chain(chain, chain->npages);
		return false;
	}
	return true;
}

static void
add_extents(ExtentArray *array, const ZsExtent *extents, int n)
{
	Assert(n >= 0 && array->n <= array->max);
	if (array->n + n > array->max)
	{
		array->max = Max(2 * array->max, array->n + n);
		array->e = array->e == NULL ?
			palloc_extended(array->max * sizeof(ZsExtent), MCXT_ALLOC_HUGE) :
			repalloc_huge(array->e, array->max * sizeof(ZsExtent));
	}
	if (n > 0)
		memcpy(array->e + array->n, extents, n * sizeof(ZsExtent));
	array->n += n;
}

static int
compare_extents(const void *a, const void *b)
{
	BlockNumber x = ((const ZsExtent *) a)->start;
	BlockNumber y = ((const ZsExtent *) b)->start;

	return x < y ? -1 : x > y;
}

/* Sorts the extents and merges those that touch. */
static void
normalize(ExtentArray *array)
{
	int			n = 0;

	if (array->n == 0)
		return;
	qsort(array->e, array->n, sizeof(ZsExtent), compare_extents);
	for (int i = 1; i < array->n; i++)
	{
		if (array->e[n].start + array->e[n].length == array->e[i].start)
			array->e[n].length += array->e[i].length;
		else
			array->e[++n] = array->e[i];
	}
	array->n = n + 1;
}

/* ---- reading ------------------------------------------------------------------- */

static void
add_page(ZsFpmCopy *copy, BlockNumber blkno)
{
	/* powers of two */
	if ((copy->npages & (copy->npages - 1)) == 0)
		copy->pages = copy->pages == NULL ? palloc_array(BlockNumber, 2) :
			repalloc_array(copy->pages, BlockNumber, Max(2 * copy->npages, 2));
	copy->pages[copy->npages++] = blkno;
}

/* Adds the locked chain, and what is behind it, to the copy. */
static void
copy_chain(Relation rel, uint16 treeno, const Chain *chain, ExtentArray *array, ZsFpmCopy *copy)
{
	BlockNumber limit = zspage_physical_blocks(rel);

	for (int i = 0; i < chain->npages; i++)
	{
		Page		page = BufferGetPage(chain->pages[i]);

		add_extents(array, zspage_fpm_extents(page), zspage_fpm_count(page));
		add_page(copy, BufferGetBlockNumber(chain->pages[i]));
	}

	/* what could not be pinned before is read now */
	for (BlockNumber blkno = chain->next; blkno != 0;)
	{
		Buffer		buf = zspage_read(rel, blkno, NULL);

		zspage_chain_lock(rel, treeno, buf, BUFFER_LOCK_SHARE);
		add_extents(array, zspage_fpm_extents(BufferGetPage(buf)),
					zspage_fpm_count(BufferGetPage(buf)));
		add_page(copy, blkno);
		blkno = ZsPageGetOpaque(BufferGetPage(buf))->right;
		UnlockReleaseBuffer(buf);
		if (copy->npages > (int64) limit)
			zsbase_corrupted(rel, blkno, "The free page map pages of tree %u form a circle.",
							 treeno);
	}
}

/*
 * Copies the tree's free page map as of one moment; zspage_fpm_copy_free()
 * frees it.  Takes share locks on the page with the entry and on the FPM
 * pages; no lock of a metapage, directory or FPM page held on entry.  Errors:
 * ERRCODE_DATA_CORRUPTED.
 */
void
zspage_fpm_copy(Relation rel, uint16 treeno, ZsFpmCopy *copy)
{
	uint16		first = zspage_directory_first(zspage_directory_index(treeno));

	for (int retry = 0; retry < MAX_RETRIES; retry++)
	{
		ExtentArray array = {0};
		Chain		chain;
		Buffer		dirbuf;
		bool		done;

		CHECK_FOR_INTERRUPTS();
		memset(copy, 0, sizeof(ZsFpmCopy));
		zspage_tree_entry(rel, treeno, &copy->entry);
		if (copy->entry.chain == 0)
		{
			add_extents(&array, copy->entry.extents, copy->entry.nextents);
			copy->nextents = array.n;
			copy->extents = array.e;
			return;
		}

		pin_chain(rel, treeno, copy->entry.chain, &chain);
		dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_SHARE, true);
		copy->entry = *zspage_page_entry(BufferGetPage(dirbuf), first, treeno);
		zspage_entry_verify(rel, dirbuf, treeno, &copy->entry);
		done = lock_chain(rel, treeno, copy->entry.chain, &chain, BUFFER_LOCK_SHARE);
		if (done)
		{
			add_extents(&array, copy->entry.extents, copy->entry.nextents);
			copy_chain(rel, treeno, &chain, &array, copy);
			unlock_chain(&chain, chain.npages);
			copy->nextents = array.n;
			copy->extents = array.e;
		}
		UnlockReleaseBuffer(dirbuf);
		release_chain(&chain);
		if (done)
			return;
	}
	zsbase_corrupted(rel, ZS_META_BLKNO, "The free page map pages of tree %u are not in order.",
					 treeno);
}

/* Frees what zspage_fpm_copy() filled. */
void
zspage_fpm_copy_free(ZsFpmCopy *copy)
{
	if (copy->extents != NULL)
		pfree(copy->extents);
	if (copy->pages != NULL)
		pfree(copy->pages);
}

/*
 * Calls fn for every extent in the tree's free page map, in ascending order,
 * as of one moment.  For inspection and VACUUM.  Nothing is locked while fn
 * runs.
 */
void
zspage_fpm_visit(Relation rel, uint16 treeno, ZsExtentVisitor fn, void *arg)
{
	ZsFpmCopy	copy;

	zspage_fpm_copy(rel, treeno, &copy);
	if (copy.nextents > 0)
		qsort(copy.extents, copy.nextents, sizeof(ZsExtent), compare_extents);
	for (int i = 0; i < copy.nextents; i++)
		fn(treeno, copy.extents[i], arg);
	zspage_fpm_copy_free(&copy);
}

/* ---- putting in order ---------------------------------------------------------------- */

/* What a map is going to look like. */
typedef struct Layout
{
	ExtentArray extents;		/* in order */
	int			nentry;			/* of these, in the entry */
	int			nkept;			/* pages that stay, ... */
	Buffer		kept[ZSPAGE_MAX_PINNED];
	int			ndropped;		/* ... and go */
	Buffer		dropped[ZSPAGE_MAX_PINNED];
} Layout;

static int
compare_buffers(const void *a, const void *b)
{
	BlockNumber x = BufferGetBlockNumber(*(const Buffer *) a);
	BlockNumber y = BufferGetBlockNumber(*(const Buffer *) b);

	return x < y ? -1 : x > y;
}

/*
 * How the extents of a map fit on the lowest nkept pages of the chain, the other pages
 * becoming free; false if they do not.
 */
static bool
lay_out(const ExtentArray *all, const Chain *chain, int nkept, Layout *layout)
{
	layout->nkept = nkept;
	layout->ndropped = chain->npages - nkept;
	memcpy(layout->kept, chain->pages, chain->npages * sizeof(Buffer));
	qsort(layout->kept, chain->npages, sizeof(Buffer), compare_buffers);
	layout->extents.n = 0;
	add_extents(&layout->extents, all->e, all->n);
	for (int i = 0; i < layout->ndropped; i++)
	{
		ZsExtent	block = {.length = 1};

		layout->dropped[i] = layout->kept[nkept + i];
		block.start = BufferGetBlockNumber(layout->dropped[i]);
		add_extents(&layout->extents, &block, 1);
	}
	normalize(&layout->extents);
	layout->nentry = Min(layout->extents.n, nkept == 0 && chain->next == 0 ?
						 ZS_ENTRY_EXTENTS : ENTRY_FILL);
	return layout->extents.n - layout->nentry <= nkept * PAGE_FILL;
}

/* Forms the new entry and the images of all pages: kept ones first, then dropped ones. */
static void
form_images(const Layout *layout, const Chain *chain, uint16 treeno, ZsTreeEntry *entry,
			PGAlignedBlock *images)
{
	const ZsExtent *e = layout->extents.e;
	int			n = layout->extents.n;
	int			done = layout->nentry;
	uint32		maxlen = chain->next != 0 ? entry->chain_maxlen : 0;

	memset(entry->extents, 0, sizeof(entry->extents));
	memcpy(entry->extents, e, layout->nentry * sizeof(ZsExtent));
	entry->nextents = layout->nentry;
	entry->nfree += layout->ndropped;
	entry->chain = layout->nkept > 0 ? BufferGetBlockNumber(layout->kept[0]) : chain->next;

	for (int i = 0; i < layout->nkept; i++)
	{
		Page		image = images[i].data;
		int			count = Min(n - done, (n - layout->nentry + layout->nkept - 1) / layout->nkept);

		zspage_init(image, ZS_PAGE_FPM, treeno, 0, 0, PG_UINT64_MAX);
		ZsPageGetOpaque(image)->right = i + 1 < layout->nkept ?
			BufferGetBlockNumber(layout->kept[i + 1]) : chain->next;
		memcpy(zspage_fpm_extents(image), e + done, count * sizeof(ZsExtent));
		zspage_fpm_set_count(image, count);
		done += count;
	}
	for (int i = layout->nentry; i < n; i++)
		maxlen = Max(maxlen, e[i].length);
	entry->chain_maxlen = maxlen;
	for (int i = 0; i < layout->ndropped; i++)
		zspage_init(images[layout->nkept + i].data, ZS_PAGE_FREE, treeno, 0, 0, PG_UINT64_MAX);
	Assert(done == n);
}

/* Writes what form_images() made; all pages are exclusively locked. */
static void
install_layout(Relation rel, Buffer dirbuf, uint16 treeno, const Layout *layout,
			   const ZsTreeEntry *entry, PGAlignedBlock *images)
{
	uint16		first = zspage_directory_first(zspage_directory_index(treeno));
	int			npages = layout->nkept + layout->ndropped;

	if (RelationNeedsWAL(rel))
		XLogEnsureRecordSpace(npages + 1, 0);

	START_CRIT_SECTION();
	*zspage_page_entry(BufferGetPage(dirbuf), first, treeno) = *entry;
	MarkBufferDirty(dirbuf);
	for (int i = 0; i < npages; i++)
	{
		Buffer		buf = i < layout->nkept ? layout->kept[i] : layout->dropped[i - layout->nkept];

		memcpy(BufferGetPage(buf), images[i].data, BLCKSZ);
		MarkBufferDirty(buf);
	}
	if (RelationNeedsWAL(rel))
	{
		xl_zs_page_fpm xlrec = {.first_treeno = first, .flags = ZS_FPMF_CHAIN};
		XLogRecPtr	lsn;

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsPageFpm);
		XLogRegisterBuffer(0, dirbuf, REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		for (int i = 0; i < npages; i++)
			XLogRegisterBuffer(2 + i, i < layout->nkept ? layout->kept[i] :
							   layout->dropped[i - layout->nkept],
							   REGBUF_FORCE_IMAGE | REGBUF_STANDARD);
		lsn = zspage_log_tree(XLOG_ZS_PAGE_FPM);
		PageSetLSN(BufferGetPage(dirbuf), lsn);
		for (int i = 0; i < npages; i++)
			PageSetLSN(BufferGetPage(i < layout->nkept ? layout->kept[i] :
									 layout->dropped[i - layout->nkept]), lsn);
	}
	END_CRIT_SECTION();
}

/* With everything locked: is there anything to gain?  Then does it. */
static int
tidy_locked(Relation rel, uint16 treeno, Buffer dirbuf, ZsTreeEntry entry, Chain *chain)
{
	ExtentArray all = {0};
	Layout	   *layout = palloc0(sizeof(Layout));
	PGAlignedBlock *images;
	int			before;
	int			nkept = 0;
	int			result = 0;

	add_extents(&all, entry.extents, entry.nextents);
	for (int i = 0; i < chain->npages; i++)
		add_extents(&all, zspage_fpm_extents(BufferGetPage(chain->pages[i])),
					zspage_fpm_count(BufferGetPage(chain->pages[i])));
	before = all.n;
	normalize(&all);
	while (nkept <= chain->npages && !lay_out(&all, chain, nkept, layout))
		nkept++;

	if (nkept < chain->npages || (nkept == chain->npages && all.n < before))
	{
		images = palloc_extended(chain->npages * sizeof(PGAlignedBlock), 0);
		form_images(layout, chain, treeno, &entry, images);

		/* extents of different pages may contradict each other, or the count in the entry */
		zspage_entry_verify(rel, dirbuf, treeno, &entry);
		for (int i = 0; i < layout->nkept; i++)
		{
			const char *reason = zspage_fpm_page_check(images[i].data);

			if (reason != NULL)
				zsbase_corrupted(rel, BufferGetBlockNumber(layout->kept[i]),
								 "Free page map page of tree %u: %s.", treeno, reason);
		}
		install_layout(rel, dirbuf, treeno, layout, &entry, images);
		pfree(images);
		result = layout->ndropped;
	}
	if (layout->extents.e != NULL)
		pfree(layout->extents.e);
	pfree(layout);
	if (all.e != NULL)			/* no extent is free, all pages are empty */
		pfree(all.e);
	return result;
}

/*
 * Puts the tree's free page map in order: neighbours are merged, the lowest
 * extents stand in the directory entry, FPM pages that are not needed become
 * free blocks. One WAL record, or none when there is nothing to gain. For
 * VACUUM. Returns how many FPM pages were freed.
 */
int
zspage_fpm_tidy(Relation rel, uint16 treeno)
{
	for (int retry = 0; retry < MAX_RETRIES; retry++)
	{
		ZsTreeEntry entry;
		Chain		chain;
		Buffer		dirbuf;
		int			result = -1;

		CHECK_FOR_INTERRUPTS();
		zspage_tree_entry(rel, treeno, &entry);
		if (entry.chain == 0)
			return 0;
		pin_chain(rel, treeno, entry.chain, &chain);
		dirbuf = zspage_lock_directory(rel, treeno, BUFFER_LOCK_EXCLUSIVE, true);
		entry = *zspage_page_entry(BufferGetPage(dirbuf),
								   zspage_directory_first(zspage_directory_index(treeno)), treeno);
		zspage_entry_verify(rel, dirbuf, treeno, &entry);
		if (lock_chain(rel, treeno, entry.chain, &chain, BUFFER_LOCK_EXCLUSIVE))
		{
			result = tidy_locked(rel, treeno, dirbuf, entry, &chain);
			unlock_chain(&chain, chain.npages);
		}
		UnlockReleaseBuffer(dirbuf);
		release_chain(&chain);
		ZS_INJECTION_POINT("zs-page-tidy");
		if (result >= 0)
			return result;
	}
	zsbase_corrupted(rel, ZS_META_BLKNO, "The free page map pages of tree %u are not in order.",
					 treeno);
}

/*
 * Moves the FPM pages of the table's map that lie at or beyond limit to lower
 * blocks, if that can be done without ado.  For VACUUM.
 */
void
zspage_fpm_lower(Relation rel, BlockNumber limit)
{
	ZsFpmCopy	map;
	bool		high = false;

	zspage_fpm_copy(rel, ZS_TREE_TABLE, &map);
	for (int i = 0; i < map.npages; i++)
		high |= map.pages[i] >= limit;
	zspage_fpm_copy_free(&map);
	if (!high)
		return;

	/* the highest pages are those that go, so one more low page is enough for one of them */
	if (map.npages < ZSPAGE_MAX_PINNED)
		zspage_chain_push(rel, ZS_TREE_TABLE);
	(void) zspage_fpm_tidy(rel, ZS_TREE_TABLE);
}
