/*-------------------------------------------------------------------------
 *
 * scan_prewarm.c
 *	  zs_prewarm(): relations, or columns of a zedstore table, into the buffer
 *	  cache.
 *
 * As pg_prewarm, for any relation with storage; and for a zedstore table by column.
 * The runs of all segments wanted are collected from the index pages, sorted,
 * joined where they are adjacent, and read by one read stream in the order of the file, so that
 * requests are as large as the server lets them be.  The row tree and the TID tree,
 * which every scan reads, are walked page by page.
 *
 * Segments may be replaced meanwhile: then blocks are read that are somebody
 * else's by now, which does no harm.  The file does not become shorter under our lock.
 *
 * Locks: AccessShareLock on the table, and a share lock on each index page for a copy.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_prewarm.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/index.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/read_stream.h"
#include "storage/smgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "zs_attr.h"
#include "zs_btree.h"
#include "zs_page.h"
#include "zs_write.h"

PG_FUNCTION_INFO_V1(zs_prewarm);

typedef struct BlockRun
{
	BlockNumber start;
	BlockNumber end;			/* behind its last block */
} BlockRun;

/* What is to be read, in the order of the file, and how far it got. */
typedef struct BlockRuns
{
	BlockRun   *runs;
	int64		nruns;
	int64		maxruns;
	int64		pos;
	BlockNumber next;
} BlockRuns;

/* Collecting the segments of a table. */
typedef struct Collector
{
	BlockRuns  *blocks;
	BlockNumber file_blocks;
	AttrNumber	attno;			/* column whose tree is walked, 0: none */
	int64		pages;			/* of trees, read already */
} Collector;

/* ---- runs --------------------------------------------------------------------------- */

static void
add_run(BlockRuns *blocks, BlockNumber start, BlockNumber end)
{
	Assert(start < end);
	if (blocks->nruns == blocks->maxruns)
	{
		blocks->maxruns = Max(blocks->maxruns * 2, 64);
		blocks->runs = blocks->runs == NULL ?
			palloc_array(BlockRun, blocks->maxruns) :
			repalloc_huge(blocks->runs, blocks->maxruns * sizeof(BlockRun));
	}
	blocks->runs[blocks->nruns].start = start;
	blocks->runs[blocks->nruns++].end = end;
}

static int
compare_runs(const void *a, const void *b)
{
	const BlockRun *x = a;
	const BlockRun *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts, and joins what touches or overlaps. */
static void
sort_runs(BlockRuns *blocks)
{
	int64		n = 0;

	if (blocks->nruns == 0)
		return;
	qsort(blocks->runs, blocks->nruns, sizeof(BlockRun), compare_runs);
	for (int64 i = 1; i < blocks->nruns; i++)
	{
		if (blocks->runs[i].start <= blocks->runs[n].end)
			blocks->runs[n].end = Max(blocks->runs[n].end, blocks->runs[i].end);
		else
			blocks->runs[++n] = blocks->runs[i];
	}
	Assert(n < blocks->nruns);
	blocks->nruns = n + 1;
}

/* ReadStreamBlockNumberCB; takes no locks. */
static BlockNumber
next_block(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	BlockRuns  *blocks = callback_private_data;

	while (blocks->pos < blocks->nruns)
	{
		BlockRun   *run = &blocks->runs[blocks->pos];

		Assert(run->start < run->end);
		blocks->next = Max(blocks->next, run->start);
		if (blocks->next < run->end)
			return blocks->next++;
		blocks->pos++;
	}
	return InvalidBlockNumber;
}

/* ---- reading --------------------------------------------------------------------------- */

static int64
read_buffers(Relation rel, ForkNumber forknum, BlockRuns *blocks)
{
	int			flags = READ_STREAM_MAINTENANCE | READ_STREAM_FULL | ZS_READ_STREAM_USE_BATCHING;
	ReadStream *stream = read_stream_begin_relation(flags, NULL, rel, forknum, next_block, blocks,
													0);
	Buffer		buf;
	int64		n = 0;

	while (BufferIsValid(buf = read_stream_next_buffer(stream, NULL)))
	{
		CHECK_FOR_INTERRUPTS();
		ReleaseBuffer(buf);
		n++;
	}
	read_stream_end(stream);
	return n;
}

/* Only tells the kernel. */
static int64
prefetch(Relation rel, ForkNumber forknum, BlockRuns *blocks)
{
	int64		n = 0;

#ifdef USE_PREFETCH
	BlockNumber blkno;

	while ((blkno = next_block(NULL, blocks, NULL)) != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		PrefetchBuffer(rel, forknum, blkno);
		n++;
	}
#else
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("prefetch is not supported by this build")));
#endif
	return n;
}

/* ---- columns ---------------------------------------------------------------------------- */

/* ZsTreePageVisitor */
static void
visit_page(Relation rel, BlockNumber blkno, Page copy, void *arg)
{
	Collector  *collector = arg;
	const ZsSegmentItem *items = zsattr_index_items(copy);
	const char *reason;
	int			nitems;

	CHECK_FOR_INTERRUPTS();
	collector->pages++;
	if (collector->attno == 0 || ZsPageGetOpaque(copy)->page_type != ZS_PAGE_SEGMENT_INDEX)
		return;
	reason = zsattr_index_page_check(copy);
	if (reason != NULL)
		zsbase_corrupted(rel, blkno, "Segment index page of attribute %d: %s.",
						 collector->attno, reason);
	nitems = zsattr_index_count(copy);
	for (int i = 0; i < nitems; i++)
	{
		uint64		end = (uint64) items[i].start + items[i].nblocks;

		if (zsattr_item_is_uniform(&items[i]))
			continue;
		if (end > collector->file_blocks)
			collector->file_blocks = zspage_physical_blocks(rel);
		if (end > collector->file_blocks)
			zsbase_corrupted(rel, items[i].start,
							 "Segment of attribute %d at row " UINT64_FORMAT " lies beyond the end of the file.",
							 collector->attno, items[i].first_row);
		add_run(collector->blocks, items[i].start, (BlockNumber) end);
	}
}

/* Numbers of the columns that an array of names means. */
static Bitmapset *
columns_from_array(Relation rel, ArrayType *array)
{
	Bitmapset  *columns = NULL;
	Datum	   *names;
	bool	   *nulls;
	int			n;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("list of columns must be one-dimensional")));
	deconstruct_array_builtin(array, TEXTOID, &names, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		AttrNumber	attno;

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("name of a column must not be null")));
		name = TextDatumGetCString(names[i]);
		attno = get_attnum(RelationGetRelid(rel), name);
		if (attno == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							name, RelationGetRelationName(rel))));
		if (attno < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("system column \"%s\" has no storage of its own", name)));
		columns = bms_add_member(columns, attno);
	}
	return columns;
}

/* Reads the trees' pages, and collects the segments; returns how many pages were read. */
static int64
collect_columns(Relation rel, Bitmapset *columns, BlockRuns *blocks)
{
	Collector	collector = {.blocks = blocks};
	int			attno = -1;

	collector.file_blocks = zspage_physical_blocks(rel);
	zsbtree_visit_pages(rel, ZS_TREE_TID, visit_page, &collector);
	zsbtree_visit_pages(rel, ZS_TREE_ROW, visit_page, &collector);
	while ((attno = bms_next_member(columns, attno)) >= 0)
	{
		Assert(attno >= 1 && attno <= RelationGetNumberOfAttributes(rel));
		collector.attno = attno;
		zsbtree_visit_pages(rel, ZsTreeOfAttr(attno), visit_page, &collector);
	}
	sort_runs(blocks);
	return collector.pages;
}

/* ---- SQL ------------------------------------------------------------------------------------ */

/*
 * Opens the relation as pg_prewarm does: the right to read an index is that of its table.
 * *table is what else was locked, or InvalidOid.
 */
static Relation
open_relation(Oid relid, Oid *table)
{
	char		relkind = get_rel_relkind(relid);
	bool		is_index = relkind == RELKIND_INDEX || relkind == RELKIND_PARTITIONED_INDEX;
	Oid			owner = relid;
	Relation	rel;

	*table = InvalidOid;
	if (is_index)
	{
		/* the table before the index, as everybody does */
		owner = *table = IndexGetRelation(relid, true);
		if (OidIsValid(owner))
			LockRelationOid(owner, AccessShareLock);
	}
	rel = relation_open(relid, AccessShareLock);
	if (is_index && (!OidIsValid(owner) || owner != IndexGetRelation(relid, true)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("could not find parent table of index \"%s\"",
						RelationGetRelationName(rel))));
	if (pg_class_aclcheck(owner, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
	if (!RELKIND_HAS_STORAGE(rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" does not have storage", RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	if (RELATION_IS_OTHER_TEMP(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
	return rel;
}

/* One end of a range of blocks; NULL is the file's. */
static int64
block_argument(FunctionCallInfo fcinfo, int argno, int64 default_value, int64 nblocks,
			   const char *what)
{
	int64		block;

	if (PG_ARGISNULL(argno))
		return default_value;
	block = PG_GETARG_INT64(argno);
	if (block < 0 || block >= nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s block number must be between 0 and " INT64_FORMAT, what, nblocks - 1)));
	return block;
}

static void
collect_range(FunctionCallInfo fcinfo, Relation rel, ForkNumber forknum, BlockRuns *blocks)
{
	int64		nblocks;
	int64		first;
	int64		last;

	if (!smgrexists(RelationGetSmgr(rel), forknum))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fork \"%s\" does not exist for this relation", forkNames[forknum])));
	/* of the file: a zedstore table has more blocks for its TIDs */
	nblocks = smgrnblocks(RelationGetSmgr(rel), forknum);
	first = block_argument(fcinfo, 4, 0, nblocks, "starting");
	last = block_argument(fcinfo, 5, nblocks - 1, nblocks, "ending");
	if (first <= last)
		add_run(blocks, (BlockNumber) first, (BlockNumber) (last + 1));
}

static void
check_columns_possible(FunctionCallInfo fcinfo, Relation rel, ForkNumber forknum)
{
	if (!RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) || !zsbase_is_zedstore(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a zedstore table", RelationGetRelationName(rel)),
				 errdetail("Columns can be read by themselves in zedstore tables only.")));
	if (forknum != MAIN_FORKNUM || !PG_ARGISNULL(4) || !PG_ARGISNULL(5))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("columns cannot be combined with another fork or a range of blocks")));
}

/* zs_prewarm(relation, columns, mode, fork, first_block, last_block) */
Datum
zs_prewarm(PG_FUNCTION_ARGS)
{
	BlockRuns	blocks = {0};
	ForkNumber	forknum;
	char	   *mode;
	Oid			table;
	Relation	rel;
	int64		n = 0;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("relation, mode and fork must not be null")));
	mode = text_to_cstring(PG_GETARG_TEXT_PP(2));
	if (strcmp(mode, "buffer") != 0 && strcmp(mode, "prefetch") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid mode \"%s\"", mode),
				 errhint("Valid modes are \"buffer\" and \"prefetch\".")));
	forknum = forkname_to_number(text_to_cstring(PG_GETARG_TEXT_PP(3)));

	rel = open_relation(PG_GETARG_OID(0), &table);
	if (RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) && zsbase_is_zedstore(rel))
	{
		zsbase_require_preload();
		zswrite_flush(rel);
	}
	if (PG_ARGISNULL(1))
		collect_range(fcinfo, rel, forknum, &blocks);
	else
	{
		check_columns_possible(fcinfo, rel, forknum);
		n += collect_columns(rel, columns_from_array(rel, PG_GETARG_ARRAYTYPE_P(1)), &blocks);
	}
	n += strcmp(mode, "buffer") == 0 ? read_buffers(rel, forknum, &blocks) :
		prefetch(rel, forknum, &blocks);

	relation_close(rel, AccessShareLock);
	if (OidIsValid(table))
		UnlockRelationOid(table, AccessShareLock);
	PG_RETURN_INT64(n);
}
