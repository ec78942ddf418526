/*-------------------------------------------------------------------------
 *
 * vacuum_relocate.c
 *	  VACUUM: what lies at the end of the file moves to free blocks at its front.
 *
 * Free space in the middle of a file is of no use to anybody but the table.
 * When a good part of the file is free, VACUUM chooses a limit, the blocks in
 * use and a little more, and moves what lies at or beyond it into free blocks
 * below; then the file's end is free and can be cut off (vacuum_truncate.c).
 *
 *		[T][.......free.......][a a a][b b b b]
 *		[T][a a a][b b b b][.......free.......]
 *
 * First all trees give their free extents to the table's map, where they join.
 * The pages above the bottom tell what lies where: pages of trees, and segments,
 * which need adjacent blocks.  All of them are given places in memory before the
 * first one is moved; if some segment finds none, the limit is raised.  What is
 * neither free nor found, such as pages of large values, to which rows point,
 * stays, and the limit is raised beyond it, unless it turns out to belong to nobody
 * (vacuum_leaks.c).
 *
 * If too little would be gained because free space is in pieces, the whole file
 * is looked at: short pieces may make room for a long segment (vacuum_place.c).  That
 * may write several times as many blocks as it gains, the other way never more than these.
 *
 * What is going to move is read ahead in the order in which it does.
 *
 * Readers and writers go on.  A writer may take a block that was meant for a
 * page, or put something new at the end; so there are a few rounds, and what
 * is still there then stays until the next VACUUM.
 *
 * Locks: those of the moves (btree_move.c, attr_move.c), one at a time.
 *
 * WAL and crash: for each move a block or run is taken from the table's map, the
 * page or segment moves, the old blocks go to the table's map.  A crash in
 * between leaks one of the two.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vacuum/vacuum_relocate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/read_stream.h"
#include "utils/memutils.h"

#include "vacuum_internal.h"
#include "vacuum_relocate.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_btree.h"
#include "zs_page.h"

/* At least so many blocks must be gained, and this part of the file. */
#define RELOCATE_MINIMUM	64
#define RELOCATE_FRACTION	32

/* This part of the blocks in use is left free, so that there is some choice. */
#define SLACK_FRACTION		64

/* With more pieces than that the whole file is not looked at. */
#define MAX_PIECES			100000

/* How often it is tried when writers come in between. */
#define MAX_ROUNDS			3

/* ---- is it worth it? --------------------------------------------------------------- */

/* How many trees there are; also where the last block ends that is in no map. */
static int
count_trees(Relation rel, BlockNumber *end)
{
	ZsMetaPageData meta;
	int			ntrees = 0;

	zspage_meta_read(rel, &meta);
	for (int treeno = ZS_TREE_TID; treeno < ZS_MAX_TREES; treeno = zspage_next_tree(&meta, treeno))
		ntrees += zspage_tree_root(rel, (uint16) treeno) != 0;
	*end = Min(zspage_free_tail(rel), meta.file_blocks);
	return ntrees;
}

/* Is it worth it to make the file end at the limit? */
bool
zsvacuum_is_worth_relocating(const ZsRelocation *reloc, BlockNumber limit)
{
	BlockNumber gain = reloc->end_blocks - Min(limit, reloc->end_blocks);

	return gain >= reloc->least_gain && gain >= reloc->end_blocks / RELOCATE_FRACTION;
}

/* ---- what lies where ------------------------------------------------------------------ */

static void
mark_known(ZsRelocation *reloc, BlockNumber start, uint32 nblocks)
{
	BlockNumber end = Min(start + nblocks, reloc->end_blocks);

	Assert(reloc->known != NULL && reloc->first_bit <= reloc->end_blocks);
	for (BlockNumber blkno = Max(start, reloc->first_bit); blkno < end; blkno++)
		reloc->known[(blkno - reloc->first_bit) / 64] |=
			UINT64CONST(1) << (blkno - reloc->first_bit) % 64;
}

static void
add_movable(ZsRelocation *reloc, uint16 treeno, uint8 level, bool is_root, uint64 key,
			BlockNumber start, uint32 nblocks)
{
	ZsMovable  *movable;

	if ((uint64) start + nblocks <= reloc->limit || start >= reloc->end_blocks)
		return;
	mark_known(reloc, start, nblocks);
	if (reloc->n >= reloc->max_pieces)
	{
		reloc->overflow = true;
		return;
	}
	if (reloc->n == reloc->max)
	{
		reloc->max = Max(reloc->max * 2, 1024);
		reloc->movables = reloc->movables == NULL ?
			palloc_extended(reloc->max * sizeof(ZsMovable), MCXT_ALLOC_HUGE) :
			repalloc_huge(reloc->movables, reloc->max * sizeof(ZsMovable));
	}
	movable = &reloc->movables[reloc->n++];
	movable->start = start;
	movable->nblocks = nblocks;
	movable->to = InvalidBlockNumber;
	movable->treeno = treeno;
	movable->level = level;
	movable->is_root = is_root;
	movable->key = key;
}

/* What the items of a page lead to. */
static void
add_items(ZsRelocation *reloc, uint16 treeno, Page page)
{
	uint8		level = ZsPageGetOpaque(page)->level;

	if (ZsPageGetOpaque(page)->page_type == ZS_PAGE_INNER)
	{
		const ZsInnerItem *items = zsbtree_items(page);

		for (int i = 0; i < zsbtree_nitems(page); i++)
			add_movable(reloc, treeno, level - 1, false, items[i].lokey, items[i].child, 1);
	}
	else
	{
		const ZsSegmentItem *items = zsattr_index_items(page);

		Assert(ZsPageGetOpaque(page)->page_type == ZS_PAGE_SEGMENT_INDEX);
		for (int i = 0; i < zsattr_index_count(page); i++)
		{
			if (!zsattr_item_is_uniform(&items[i]))
				add_movable(reloc, treeno, 0, false, items[i].first_row, items[i].start,
							items[i].nblocks);
		}
	}
}

static void
add_tree(ZsRelocation *reloc, uint16 treeno)
{
	int			root_level = zsbtree_root_level(reloc->rel, treeno);
	ZsLevelWalk walk;

	if (root_level >= 0 &&
		zsbtree_copy_page(reloc->rel, treeno, root_level, 0, walk.page.data, &walk.blkno) &&
		(ZsPageGetOpaque((Page) walk.page.data)->flags & ZS_PAGEF_ROOT))
		add_movable(reloc, treeno, (uint8) root_level, true, 0, walk.blkno, 1);
	for (int level = root_level; level > 0; level--)
	{
		zsbtree_walk_begin(&walk, reloc->rel, treeno, level, 0);
		while (!reloc->overflow && zsbtree_walk_next(&walk))
		{
			vacuum_delay_point_compat();
			add_items(reloc, treeno, walk.page.data);
		}
	}
}

/*
 * Finds out what lies at or beyond the limit.  Returns one past the last block there that can
 * neither be moved nor is free, or the limit if there is none.  With more than max_pieces of them
 * the result means nothing.
 */
static BlockNumber
look_around(ZsRelocation *reloc)
{
	ZsMetaPageData meta;
	BlockNumber result = reloc->limit;

	Assert(reloc->limit > ZS_META_BLKNO && reloc->limit <= reloc->end_blocks);
	Assert(reloc->n == 0 && reloc->max_pieces > 0);
	reloc->first_bit = reloc->limit;
	reloc->known = palloc_extended(((Size) (reloc->end_blocks - reloc->limit) / 64 + 1) *
								   sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	zspage_meta_read(reloc->rel, &meta);

	for (int i = 0; i < (int) meta.ndirectory; i++)
		add_movable(reloc, ZS_TREE_TABLE, 0, false, i, meta.directory[i], 1);

	/* what moves from a tree to a map meanwhile is seen in one of them */
	for (int treeno = ZS_TREE_TID; treeno < ZS_MAX_TREES && !reloc->overflow;
		 treeno = zspage_next_tree(&meta, treeno))
		add_tree(reloc, (uint16) treeno);
	for (int treeno = 0; treeno < ZS_MAX_TREES && !reloc->overflow;
		 treeno = zspage_next_tree(&meta, treeno))
	{
		ZsFpmCopy	map;

		CHECK_FOR_INTERRUPTS();
		zspage_fpm_copy(reloc->rel, (uint16) treeno, &map);
		for (int i = 0; i < map.nextents; i++)
			mark_known(reloc, map.extents[i].start, map.extents[i].length);
		/* zspage_fpm_lower() */
		for (int i = 0; i < map.npages; i++)
			mark_known(reloc, map.pages[i], 1);
		zspage_fpm_copy_free(&map);
	}
	for (BlockNumber blkno = reloc->limit; blkno < reloc->end_blocks; blkno++)
	{
		BlockNumber bit = blkno - reloc->first_bit;

		if (!(reloc->known[bit / 64] & UINT64CONST(1) << bit % 64))
			result = blkno + 1;
	}
	pfree(reloc->known);
	return result;
}

/* ---- moving ------------------------------------------------------------------------------- */

/* What is read next; all before is on its way. */
typedef struct MoveReads
{
	const ZsRelocation *reloc;
	Size		next;
	uint32		position;		/* its next page */
} MoveReads;

/* ReadStreamBlockNumberCB: the pages of all that moves. */
static BlockNumber
next_block(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	MoveReads  *reads = callback_private_data;

	for (; reads->next < reads->reloc->n; reads->next++, reads->position = 0)
	{
		const ZsMovable *movable = &reads->reloc->movables[reads->next];

		if (movable->to != InvalidBlockNumber && reads->position < movable->nblocks)
			return movable->start + reads->position++;
	}
	return InvalidBlockNumber;
}

/* Lets the stream (may be NULL) deliver pages to shared buffers only. */
static void
drop_pages(ReadStream *stream, uint32 n)
{
	for (uint32 i = 0; i < n && stream != NULL; i++)
	{
		Buffer		buf = read_stream_next_buffer(stream, NULL);

		CHECK_FOR_INTERRUPTS();
		if (BufferIsValid(buf))
			ReleaseBuffer(buf);
	}
}

/* Moves a segment as move() does, if it is the one that the movable was. */
static bool
move_segment(ZsRelocation *reloc, const ZsMovable *movable, ReadStream *stream)
{
	AttrNumber	attno = ZsAttrOfTree(movable->treeno);
	ZsSegmentItem item;

	if (!zsattr_find_segment(reloc->rel, attno, movable->key, true, &item) ||
		item.first_row != movable->key || item.start != movable->start ||
		item.nblocks != movable->nblocks)
	{
		drop_pages(stream, movable->nblocks);
		return false;
	}
	return zsattr_move_segment(reloc->rel, attno, &item, movable->to, reloc->strategy, stream);
}

/*
 * Moves one page or segment; false if it is not there any more, or its place was taken.  stream
 * (may be NULL) delivers its pages next, and has delivered them on return.
 */
static bool
move(ZsRelocation *reloc, const ZsMovable *movable, ReadStream *stream)
{
	bool		is_segment = movable->treeno > ZS_TREE_ROW && movable->level == 0;
	Relation	rel = reloc->rel;
	uint16		treeno = movable->treeno;
	bool		moved;

	Assert(movable->to != ZS_META_BLKNO && movable->to != movable->start);
	Assert(movable->to + movable->nblocks <= reloc->limit);
	if (!zspage_take_free(rel, treeno, movable->to, movable->nblocks))
	{
		bool		taken = false;

		/* a full page of the map cannot divide an extent */
		if (!reloc->tidied)
		{
			reloc->tidied = true;
			(void) zspage_fpm_tidy(rel, ZS_TREE_TABLE);
			taken = zspage_take_free(rel, treeno, movable->to, movable->nblocks);
		}
		if (!taken)
		{
			drop_pages(stream, movable->nblocks);
			return false;
		}
	}
	if (!is_segment)
		drop_pages(stream, movable->nblocks);
	if (treeno == ZS_TREE_TABLE)
		moved = zspage_move_directory(rel, (int) movable->key, movable->start, movable->to);
	else if (movable->is_root)
		moved = zsbtree_move_root(rel, treeno, movable->start, movable->to, reloc->strategy);
	else if (is_segment)
		moved = move_segment(reloc, movable, stream);
	else
		moved = zsbtree_move_page(rel, treeno, movable->level, movable->key, movable->start,
								  movable->to, reloc->strategy);
	zspage_free_to_table(rel, treeno, moved ? movable->start : movable->to, movable->nblocks);
	return moved;
}

/* Moves what was given a place, unless somebody took that. */
static void
move_all(ZsRelocation *reloc, ZsReclaim *reclaim)
{
	MoveReads	reads = {.reloc = reloc};
	ReadStream *stream = NULL;

	if (zs_enable_read_stream)
		stream = read_stream_begin_relation(READ_STREAM_MAINTENANCE, reloc->strategy, reloc->rel,
											MAIN_FORKNUM, next_block, &reads, 0);
	for (Size i = 0; i < reloc->n; i++)
	{
		vacuum_delay_point_compat();
		if (reloc->movables[i].to == InvalidBlockNumber)
			continue;
		if (move(reloc, &reloc->movables[i], stream))
			reclaim->blocks_moved += reloc->movables[i].nblocks;
	}
	if (stream != NULL)
		read_stream_end(stream);
}

/* From the end of the file down. */
static int
compare_by_end(const void *a, const void *b)
{
	BlockNumber x = ((const ZsMovable *) a)->start;
	BlockNumber y = ((const ZsMovable *) b)->start;

	return x > y ? -1 : x < y;
}

/*
 * Plans to empty the end of the file from the limit on, or from a higher one; false if that gains
 * too little.
 */
static bool
plan_tail(ZsRelocation *reloc)
{
	BlockNumber needed;

	/* what memory does not hold is left for the next VACUUM */
	reloc->max_pieces = Max((Size) maintenance_work_mem * 1024 / sizeof(ZsMovable), 1024);
	for (;;)
	{
		reloc->n = 0;
		reloc->overflow = false;
		needed = look_around(reloc);
		if (!reloc->overflow)
			break;
		reloc->limit += (reloc->end_blocks - reloc->limit) / 2;
		if (!zsvacuum_is_worth_relocating(reloc, reloc->limit))
			return false;
	}
	reloc->has_unknown = needed > reloc->limit;
	reloc->limit = needed;
	if (!zsvacuum_place_tail(reloc))
		return false;

	/* freed blocks join the file's free end at once */
	qsort(reloc->movables, reloc->n, sizeof(ZsMovable), compare_by_end);
	return true;
}

/*
 * Plans to move anything anywhere, so that the file ends before block better_than, with the target
 * as the best end; false if that cannot be done, or gains too little for what it costs.
 */
static bool
plan_all(ZsRelocation *reloc, BlockNumber target, BlockNumber better_than)
{
	BlockNumber unmovable;

	reloc->limit = ZS_META_BLKNO + 1;
	reloc->n = 0;
	reloc->max_pieces = Min(reloc->max_pieces, MAX_PIECES);
	reloc->overflow = false;
	unmovable = look_around(reloc);
	if (reloc->overflow)
		return false;
	reloc->limit = Max(target, unmovable);
	return zsvacuum_place_all(reloc, better_than);
}

/* One round; returns whether another one may help. */
static bool
run_round(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	Relation	rel = reclaim->rel;
	ZsRelocation *reloc = palloc0_object(ZsRelocation);
	BlockNumber used = zspage_used_blocks(rel);
	int			ntrees = count_trees(rel, &reloc->end_blocks);
	BlockNumber target = used + used / SLACK_FRACTION + 1;
	bool		planned;

	/* trees that are to grow in steps keep one each */
	reloc->least_gain = Max((uint64) zsvacuum_kept_step(rel) * ntrees, RELOCATE_MINIMUM);
	if (!zsvacuum_is_worth_relocating(reloc, target))
		return false;
	zsvacuum_return_all(reclaim);

	reloc->rel = rel;
	reloc->strategy = strategy;
	reloc->limit = target;
	planned = plan_tail(reloc);

	/* a crash may have left it there, at the end of a table of any size */
	if (reloc->has_unknown && !reclaim->tail_searched)
	{
		uint64		nleaked = reclaim->blocks_leaked;

		reclaim->tail_searched = true;
		zsvacuum_find_leaks(reclaim, strategy, target);
		if (reclaim->blocks_leaked > nleaked)
			return true;
	}
	if (!planned || reloc->limit - target >= target / RELOCATE_FRACTION)
	{
		BlockNumber limit = reloc->limit;

		if (!plan_all(reloc, target, planned ? limit : reloc->end_blocks))
		{
			reloc->limit = limit;
			if (!planned || !plan_tail(reloc))
				return false;
		}
	}
	ZS_INJECTION_POINT("zs-relocate-planned");
	move_all(reloc, reclaim);

	/*
	 * what is left may be worth another round: places were taken, or free pieces have come together
	 */
	return true;
}

/*
 * Moves what lies at the end of the file to free blocks at its front, if the
 * file can be made a good deal shorter by that.
 */
void
zsvacuum_relocate(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore relocation",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		again = zs_enable_relocation && reclaim->truncate && !VacuumFailsafeActive;
	bool		planned = false;

	Assert(CheckRelationLockedByMe(reclaim->rel, ShareUpdateExclusiveLock, true));
	for (int round = 0; again && round < MAX_ROUNDS; round++)
	{
		again = run_round(reclaim, strategy);
		planned |= again;
		MemoryContextReset(context);
	}
	if (planned)
	{
		/* freed blocks may have filled pages of the map */
		(void) zspage_fpm_tidy(reclaim->rel, ZS_TREE_TABLE);
		zspage_fpm_lower(reclaim->rel, zspage_free_tail(reclaim->rel));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
