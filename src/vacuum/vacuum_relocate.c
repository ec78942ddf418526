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
 * stays, and the limit is raised beyond it.
 *
 * If too little would be gained because free space is in pieces, the whole file,
 * or its upper part, is packed: from its front to its end everything moves down
 * to the first free place where it fits, so that free space comes together.
 * That may write several times as many blocks as it frees at the end, the other
 * way never more than these.
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
#include "utils/memutils.h"

#include "vacuum_internal.h"
#include "zs_attr.h"
#include "zs_base.h"
#include "zs_btree.h"
#include "zs_page.h"

/* At least so many blocks must be gained, and this part of the file. */
#define RELOCATE_MINIMUM	64
#define RELOCATE_FRACTION	32

/* This part of the blocks in use is left free, so that there is some choice. */
#define SLACK_FRACTION		64

/* How often it is tried when writers come in between. */
#define MAX_ROUNDS			3

/* How often the limit is raised for what finds no place. */
#define MAX_PLANS			16

/* The file is packed if the other way gains less than this part of what is free. */
#define GOOD_GAIN(x)		((x) / 4 * 3)

/* For packing, so many blocks may be moved for each that is gained, and so many pieces looked at. */
#define PACKING_COST		4
#define PACKING_MAX_PIECES	100000

/* Packing begins at one of so many places: the front of the file, or in the midst of it. */
#define PACKING_STARTS		8

/* What is to be moved: a page of a tree, a segment, or (treeno 0) a page of the tree directory. */
typedef struct Movable
{
	BlockNumber start;
	uint32		nblocks;
	BlockNumber to;				/* its new place */
	uint16		treeno;
	uint8		level;			/* of a page; 0 in attribute trees: a segment */
	bool		is_root;
	uint64		key;			/* first row, or number in the directory */
} Movable;

typedef struct Relocation
{
	Relation	rel;
	BufferAccessStrategy strategy;
	BlockNumber end_blocks;		/* what lies behind is free */
	uint64		least_gain;
	BlockNumber limit;			/* what lies at or beyond is to be moved */

	Movable    *movables;
	Size		n;
	Size		max;
	bool		overflow;		/* there are more than memory holds */

	/* blocks from first_bit on that are free or can be moved */
	BlockNumber first_bit;
	uint64	   *known;

	/* free extents below limit, by length and place */
	ZsExtent   *extents;
	int			nextents;
	int			first_extent;	/* those before are used up */
} Relocation;

/* ---- is it worth it? --------------------------------------------------------------- */

/* Blocks that are in no map; also where the last of them ends, and how many trees there are. */
static BlockNumber
used_blocks(Relation rel, BlockNumber *end, int *ntrees)
{
	ZsMetaPageData meta;
	uint64		nfree = 0;

	*ntrees = 0;
	zspage_meta_read(rel, &meta);
	for (int treeno = 0; treeno < zspage_tree_count(&meta); treeno++)
	{
		ZsTreeEntry entry;

		zspage_tree_entry(rel, (uint16) treeno, &entry);
		nfree += entry.nfree;
		*ntrees += entry.root != 0;
	}
	*end = Min(zspage_free_tail(rel), meta.file_blocks);
	return (BlockNumber) (meta.file_blocks - Min(nfree, (uint64) meta.file_blocks - 1));
}

static bool
is_worth_it(const Relocation *reloc, BlockNumber limit)
{
	BlockNumber gain = reloc->end_blocks - Min(limit, reloc->end_blocks);

	return gain >= reloc->least_gain && gain >= reloc->end_blocks / RELOCATE_FRACTION;
}

/* ---- what lies where ------------------------------------------------------------------ */

static void
mark_known(Relocation *reloc, BlockNumber start, uint32 nblocks)
{
	BlockNumber end = Min(start + nblocks, reloc->end_blocks);

	for (BlockNumber blkno = Max(start, reloc->first_bit); blkno < end; blkno++)
		reloc->known[(blkno - reloc->first_bit) / 64] |= UINT64CONST(1) << (blkno - reloc->first_bit) % 64;
}

static void
add_movable(Relocation *reloc, uint16 treeno, uint8 level, bool is_root, uint64 key,
			BlockNumber start, uint32 nblocks)
{
	Movable    *movable;

	if ((uint64) start + nblocks <= reloc->limit || start >= reloc->end_blocks)
		return;
	mark_known(reloc, start, nblocks);
	if (reloc->n == reloc->max)
	{
		Size		limit = Max((Size) maintenance_work_mem * 1024 / sizeof(Movable), 1024);

		if (reloc->max >= limit)
		{
			reloc->overflow = true;
			return;
		}
		reloc->max = Min(Max(reloc->max * 2, 1024), limit);
		reloc->movables = reloc->movables == NULL ?
			palloc_extended(reloc->max * sizeof(Movable), MCXT_ALLOC_HUGE) :
			repalloc_huge(reloc->movables, reloc->max * sizeof(Movable));
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
add_items(Relocation *reloc, uint16 treeno, Page page)
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
			add_movable(reloc, treeno, 0, false, items[i].first_row, items[i].start,
						items[i].nblocks);
	}
}

static void
add_tree(Relocation *reloc, uint16 treeno)
{
	int			root_level = zsbtree_root_level(reloc->rel, treeno);
	PGAlignedBlock page;
	BlockNumber blkno;

	if (root_level >= 0 &&
		zsbtree_copy_page(reloc->rel, treeno, root_level, 0, page.data, &blkno) &&
		(ZsPageGetOpaque((Page) page.data)->flags & ZS_PAGEF_ROOT))
		add_movable(reloc, treeno, (uint8) root_level, true, 0, blkno, 1);
	for (int level = root_level; level > 0; level--)
	{
		uint64		key = 0;

		while (zsbtree_copy_page(reloc->rel, treeno, level, key, page.data, NULL))
		{
			vacuum_delay_point_compat();
			add_items(reloc, treeno, page.data);
			key = ZsPageGetOpaque((Page) page.data)->hikey;
			if (key == PG_UINT64_MAX)
				break;
		}
	}
}

/* By length, then by place. */
static int
compare_extents(const void *a, const void *b)
{
	const ZsExtent *x = a;
	const ZsExtent *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * The table's free extents below the limit; those of other trees are known, but have become
 * free only now.
 */
static void
load_extents(Relocation *reloc)
{
	ZsFpmCopy	map;
	int			n = 0;

	zspage_fpm_copy(reloc->rel, ZS_TREE_TABLE, &map);
	reloc->extents = palloc_extended(Max(map.nextents, 1) * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	for (int i = 0; i < map.nextents; i++)
	{
		ZsExtent	extent = map.extents[i];

		if (extent.start >= reloc->limit)
			continue;
		extent.length = Min(extent.length, reloc->limit - extent.start);
		reloc->extents[n++] = extent;
	}
	if (n > 0)
		qsort(reloc->extents, n, sizeof(ZsExtent), compare_extents);
	reloc->nextents = n;
	reloc->first_extent = 0;
	zspage_fpm_copy_free(&map);
}

/*
 * Finds out what lies at or beyond the limit.  Returns one past the last block there that can neither be
 * moved nor is free, or the limit if there is none.
 */
static BlockNumber
look_around(Relocation *reloc)
{
	ZsMetaPageData meta;
	BlockNumber result = reloc->limit;

	reloc->first_bit = reloc->limit;
	reloc->known = palloc_extended(((Size) (reloc->end_blocks - reloc->limit) / 64 + 1) * sizeof(uint64),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	zspage_meta_read(reloc->rel, &meta);

	for (int i = 0; i < (int) meta.ndirectory; i++)
		add_movable(reloc, ZS_TREE_TABLE, 0, false, i, meta.directory[i], 1);

	/* what moves from a tree to a map meanwhile is seen in one of them */
	for (int treeno = ZS_TREE_TID; treeno < zspage_tree_count(&meta); treeno++)
		add_tree(reloc, (uint16) treeno);
	for (int treeno = 0; treeno < zspage_tree_count(&meta); treeno++)
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

/* ---- places ------------------------------------------------------------------------------- */

/* Columns one after the other, each in the order of its rows. */
static int
compare_by_key(const void *a, const void *b)
{
	const Movable *x = a;
	const Movable *y = b;
	bool		x_run = x->nblocks > 1;
	bool		y_run = y->nblocks > 1;

	if (x_run != y_run)
		return x_run ? -1 : 1;
	if (x->treeno != y->treeno)
		return x->treeno < y->treeno ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* Long ones first. */
static int
compare_by_length(const void *a, const void *b)
{
	const Movable *x = a;
	const Movable *y = b;

	if (x->nblocks != y->nblocks)
		return x->nblocks > y->nblocks ? -1 : 1;
	return compare_by_key(a, b);
}

/* From the front of the file on, ... */
static int
compare_by_place(const void *a, const void *b)
{
	BlockNumber x = ((const Movable *) a)->start;
	BlockNumber y = ((const Movable *) b)->start;

	return x < y ? -1 : x > y;
}

/* ... and from its end down. */
static int
compare_by_end(const void *a, const void *b)
{
	return compare_by_place(b, a);
}

/* Takes nblocks from the shortest extent that has them; 0 if none has. */
static BlockNumber
find_place(Relocation *reloc, uint32 nblocks)
{
	int			low = reloc->first_extent;
	int			high = reloc->nextents;
	ZsExtent	extent;
	BlockNumber result;
	int			i;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (reloc->extents[mid].length < nblocks)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == reloc->nextents)
		return 0;

	/* what is left of it moves to where its length belongs */
	extent = reloc->extents[low];
	result = extent.start;
	extent.start += nblocks;
	extent.length -= nblocks;
	for (i = low; i > reloc->first_extent && compare_extents(&reloc->extents[i - 1], &extent) > 0; i--)
		reloc->extents[i] = reloc->extents[i - 1];
	reloc->extents[i] = extent;
	if (extent.length == 0)
	{
		Assert(i == reloc->first_extent);
		reloc->first_extent++;
	}
	return result;
}

/*
 * Gives a place to everything beyond the limit, in the order of the array. Returns one past the last block
 * of what found none, or the limit.
 */
static BlockNumber
give_places(Relocation *reloc)
{
	BlockNumber result = reloc->limit;

	load_extents(reloc);
	for (Size i = 0; i < reloc->n; i++)
	{
		Movable    *movable = &reloc->movables[i];

		movable->to = InvalidBlockNumber;
		if (movable->start + movable->nblocks <= reloc->limit)
			continue;
		movable->to = find_place(reloc, movable->nblocks);
		if (movable->to == 0)
			result = Max(result, movable->start + movable->nblocks);
	}
	pfree(reloc->extents);
	return result;
}

/* Plans all moves; false if there is too little to gain. */
static bool
plan_moves(Relocation *reloc)
{
	for (int i = 0; i < MAX_PLANS; i++)
	{
		BlockNumber needed;

		CHECK_FOR_INTERRUPTS();
		if (!is_worth_it(reloc, reloc->limit))
			return false;

		/* neighbours stay together if there is room enough */
		qsort(reloc->movables, reloc->n, sizeof(Movable), compare_by_key);
		needed = give_places(reloc);
		if (needed > reloc->limit)
		{
			qsort(reloc->movables, reloc->n, sizeof(Movable), compare_by_length);
			needed = give_places(reloc);
		}
		if (needed == reloc->limit)
			return true;

		/* a higher limit leaves more room, and less to move */
		reloc->limit = Min(needed, reloc->limit +
						   Max((reloc->end_blocks - reloc->limit) / MAX_PLANS, 1));
	}
	return false;
}

/* ---- packing ------------------------------------------------------------------------------ */

static int
compare_places(const void *a, const void *b)
{
	BlockNumber x = ((const ZsExtent *) a)->start;
	BlockNumber y = ((const ZsExtent *) b)->start;

	return x < y ? -1 : x > y;
}

/* Takes nblocks below end from the first extent that has them; 0 if none has. Extents are in order. */
static BlockNumber
first_place(Relocation *reloc, uint32 nblocks, BlockNumber end)
{
	for (int i = reloc->first_extent; i < reloc->nextents; i++)
	{
		ZsExtent   *e = &reloc->extents[i];
		BlockNumber result = e->start;

		if (e->start >= end)
			break;
		if (e->length < nblocks)
			continue;
		e->start += nblocks;
		e->length -= nblocks;
		if (i == reloc->first_extent && e->length == 0)
			reloc->first_extent++;
		return result;
	}
	return 0;
}

/* Blocks become free; there is room for another extent. */
static void
add_place(Relocation *reloc, BlockNumber start, uint32 nblocks)
{
	ZsExtent   *e = reloc->extents;
	int			low = reloc->first_extent;
	int			high = reloc->nextents;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (e[mid].start < start)
			low = mid + 1;
		else
			high = mid;
	}
	/* an extent that was used up stays as an empty one, so all ends are where they were */
	if (low > reloc->first_extent && e[low - 1].start + e[low - 1].length == start)
	{
		e[low - 1].length += nblocks;
		if (low < reloc->nextents && e[low].start == start + nblocks)
		{
			e[low - 1].length += e[low].length;
			e[low].start += e[low].length;
			e[low].length = 0;
		}
	}
	else if (low < reloc->nextents && e[low].start == start + nblocks)
	{
		e[low].start = start;
		e[low].length += nblocks;
	}
	else
	{
		memmove(&e[low + 1], &e[low], (reloc->nextents - low) * sizeof(ZsExtent));
		e[low].start = start;
		e[low].length = nblocks;
		reloc->nextents++;
	}
}

/*
 * Gives everything from block `from` on the first place below where it is. The array is in the order of
 * places. Returns the end of the file afterwards, unless something else ends behind; *cost is how
 * many blocks are moved.
 */
static BlockNumber
pack(Relocation *reloc, const ZsFpmCopy *map, BlockNumber from, uint64 *cost)
{
	BlockNumber end = 0;

	*cost = 0;
	reloc->first_extent = 0;
	reloc->nextents = map->nextents;
	memcpy(reloc->extents, map->extents, map->nextents * sizeof(ZsExtent));
	for (Size i = 0; i < reloc->n; i++)
	{
		Movable    *movable = &reloc->movables[i];
		BlockNumber place;

		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		movable->to = InvalidBlockNumber;
		if (movable->start >= from &&
			(place = first_place(reloc, movable->nblocks, movable->start)) != 0)
		{
			movable->to = place;
			add_place(reloc, movable->start, movable->nblocks);
			*cost += movable->nblocks;
		}
		else
			place = movable->start;
		end = Max(end, place + movable->nblocks);
	}
	return end;
}

/*
 * Plans to pack the file so that it ends before block better_than; false if that cannot be done, or gains too
 * little for what it costs.
 */
static bool
plan_packing(Relocation *reloc, BlockNumber target, BlockNumber better_than)
{
	ZsFpmCopy	map;
	BlockNumber unmovable;
	BlockNumber best_end = better_than;
	BlockNumber best_from = 0;
	uint64		cost;

	reloc->limit = ZS_META_BLKNO + 1;
	reloc->n = 0;
	reloc->overflow = false;
	unmovable = look_around(reloc);
	if (reloc->overflow || reloc->n > PACKING_MAX_PIECES)
		return false;
	qsort(reloc->movables, reloc->n, sizeof(Movable), compare_by_place);
	zspage_fpm_copy(reloc->rel, ZS_TREE_TABLE, &map);
	if (map.nextents == 0)
		return false;
	qsort(map.extents, map.nextents, sizeof(ZsExtent), compare_places);
	reloc->extents = palloc_extended((map.nextents + reloc->n) * sizeof(ZsExtent), MCXT_ALLOC_HUGE);
	for (int i = 0; i < PACKING_STARTS; i++)
	{
		BlockNumber from = target / PACKING_STARTS * i;
		BlockNumber end;

		CHECK_FOR_INTERRUPTS();
		end = Max(pack(reloc, &map, from, &cost), unmovable);
		if (end < best_end && is_worth_it(reloc, end) &&
			cost <= PACKING_COST * (uint64) (reloc->end_blocks - end))
		{
			best_end = end;
			best_from = from;
		}
	}
	if (best_end < better_than)
		(void) pack(reloc, &map, best_from, &cost);
	return best_end < better_than;
}

/* ---- moving ------------------------------------------------------------------------------- */

/* Moves one page or segment; false if it is not there any more, or its place was taken. */
static bool
move(Relocation *reloc, const Movable *movable)
{
	Relation	rel = reloc->rel;
	uint16		treeno = movable->treeno;
	bool		moved;

	if (!zspage_take_free(rel, treeno, movable->to, movable->nblocks))
	{
		/* the blocks may be free and stand in different places of the map */
		(void) zspage_fpm_tidy(rel, ZS_TREE_TABLE);
		if (!zspage_take_free(rel, treeno, movable->to, movable->nblocks))
			return false;
	}
	if (treeno == ZS_TREE_TABLE)
		moved = zspage_move_directory(rel, (int) movable->key, movable->start, movable->to);
	else if (movable->is_root)
		moved = zsbtree_move_root(rel, treeno, movable->start, movable->to, reloc->strategy);
	else if (treeno > ZS_TREE_ROW && movable->level == 0)
	{
		ZsSegmentItem item;

		moved = zsattr_find_segment(rel, ZsAttrOfTree(treeno), movable->key, true, &item) &&
			item.first_row == movable->key && item.start == movable->start &&
			item.nblocks == movable->nblocks &&
			zsattr_move_segment(rel, ZsAttrOfTree(treeno), &item, movable->to, reloc->strategy);
	}
	else
		moved = zsbtree_move_page(rel, treeno, movable->level, movable->key, movable->start,
								  movable->to, reloc->strategy);
	zspage_free_to_table(rel, treeno, moved ? movable->start : movable->to, movable->nblocks);
	return moved;
}

/* Moves what was given a place, unless somebody took that. */
static void
move_all(Relocation *reloc, ZsReclaim *reclaim)
{
	for (Size i = 0; i < reloc->n; i++)
	{
		vacuum_delay_point_compat();
		if (reloc->movables[i].to == InvalidBlockNumber)
			continue;
		if (move(reloc, &reloc->movables[i]))
			reclaim->blocks_moved += reloc->movables[i].nblocks;
	}
}

/*
 * Plans to empty the end of the file from the limit on, or from a higher one; false if that gains too little.
 */
static bool
plan_tail(Relocation *reloc)
{
	BlockNumber needed;

	/* what memory does not hold is left for the next VACUUM */
	for (;;)
	{
		reloc->n = 0;
		reloc->overflow = false;
		needed = look_around(reloc);
		if (!reloc->overflow)
			break;
		reloc->limit += (reloc->end_blocks - reloc->limit) / 2;
		if (!is_worth_it(reloc, reloc->limit))
			return false;
	}
	reloc->limit = needed;
	if (!plan_moves(reloc))
		return false;

	/* freed blocks join the file's free end at once */
	qsort(reloc->movables, reloc->n, sizeof(Movable), compare_by_end);
	return true;
}

/* One round; returns whether another one may help. */
static bool
run_round(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	Relation	rel = reclaim->rel;
	Relocation *reloc = palloc0_object(Relocation);
	ZsTableOptions options;
	int			ntrees;
	BlockNumber used = used_blocks(rel, &reloc->end_blocks, &ntrees);
	BlockNumber target = used + used / SLACK_FRACTION + 1;
	bool		planned;

	/* trees that are to grow in steps keep one each */
	zsbase_table_options(rel, &options);
	reloc->least_gain = Max((uint64) Max(options.rel_extension_factor, 0) * ntrees, RELOCATE_MINIMUM);
	if (!is_worth_it(reloc, target))
		return false;
	zsvacuum_return_all(reclaim);

	reloc->rel = rel;
	reloc->strategy = strategy;
	reloc->limit = target;
	planned = plan_tail(reloc);
	if (!planned ||
		reloc->end_blocks - reloc->limit < GOOD_GAIN(reloc->end_blocks - target))
	{
		BlockNumber limit = reloc->limit;

		if (!plan_packing(reloc, target, planned ? limit : reloc->end_blocks))
		{
			reloc->limit = limit;
			if (!planned || !plan_tail(reloc))
				return false;
		}
	}
	ZS_INJECTION_POINT("zs-relocate-planned");
	move_all(reloc, reclaim);

	/* what is left may be worth another round: places were taken, or free pieces have come together */
	return true;
}

void
zsvacuum_relocate(ZsReclaim *reclaim, BufferAccessStrategy strategy)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore relocation",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	bool		again = zs_enable_relocation && reclaim->truncate && !VacuumFailsafeActive;

	for (int round = 0; again && round < MAX_ROUNDS; round++)
	{
		again = run_round(reclaim, strategy);
		MemoryContextReset(context);
	}
	if (reclaim->blocks_moved > 0)
	{
		/* freed blocks may have filled pages of the map */
		(void) zspage_fpm_tidy(reclaim->rel, ZS_TREE_TABLE);
		zspage_fpm_lower(reclaim->rel, zspage_free_tail(reclaim->rel));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
