/*-------------------------------------------------------------------------
 *
 * zs_compat.h
 *	  Differences between the supported PostgreSQL majors.
 *
 * The only file of the project that looks at PG_VERSION_NUM.  Others use what is defined here: a
 * function or macro that takes what the newest version takes, or, where that would not do, a macro
 * named after what is different.  A difference that came with version N is asked for by
 * ZS_PG_AT_LEAST(N), so that it holds for those behind N, too.
 *
 * Headers that a macro needs are the user's to include.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_H
#define ZS_COMPAT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "access/tupmacs.h"

#if PG_VERSION_NUM < 170000 || PG_VERSION_NUM >= 190000
#error "zedstore_io supports PostgreSQL 17 and 18"
#endif

#if SIZEOF_DATUM < 8
#error "zedstore_io needs a 64-bit platform"
#endif

#if BLCKSZ != 8192
#error "zedstore_io needs a server with 8 kB pages"
#endif

#define ZS_PG_AT_LEAST(major)	(PG_VERSION_NUM >= (major) * 10000)

/* 17 takes char pointers */
#if !ZS_PG_AT_LEAST(18)
#include "access/xloginsert.h"
#define XLogRegisterData(data, len) XLogRegisterData((char *) (data), (len))
#define XLogRegisterBufData(id, data, len) \
	XLogRegisterBufData((id), (char *) (data), (len))
#endif

/* 17 looks at content locks of local buffers, too, which have none */
#if !ZS_PG_AT_LEAST(18)
#include "storage/bufmgr.h"
#define BufferIsExclusiveLocked(buf) \
	(BufferIsLocal(buf) || (BufferIsExclusiveLocked) (buf))
#endif

/* 17 has one limit of combined requests, and its statistics of the WAL in one struct */
#if ZS_PG_AT_LEAST(18)
#define zs_io_combine_limit()	Min(io_combine_limit, io_max_combine_limit)
#define zs_io_max_combine_limit()	io_max_combine_limit
#define zs_wal_stat(stats, field)	((stats)->wal_counters.field)
#define ZS_WAL_IS_IN_IO_STATS	1	/* writes and syncs of the WAL, in pg_stat_io */
#else
#define zs_io_combine_limit()	io_combine_limit
#define zs_io_max_combine_limit()	io_combine_limit
#define zs_wal_stat(stats, field)	((stats)->field)
#endif

/* in no header of 17 */
#if !ZS_PG_AT_LEAST(18)
extern PGDLLIMPORT bool ignore_checksum_failure;
extern PGDLLIMPORT int CommitDelay;
extern PGDLLIMPORT int CommitSiblings;
#endif

/*
 * A place where tests stop, fail or crash a session; nothing unless the server
 * was built for that.  Not in critical sections.
 *
 * The second kind passes something on that a test may change; 17 has no means for that.
 */
#ifndef USE_INJECTION_POINTS
#define ZS_INJECTION_POINT(name)	((void) 0)
#define ZS_INJECTION_POINT_ARG(name, arg)	((void) (arg))
#else
#include "utils/injection_point.h"
#if ZS_PG_AT_LEAST(18)
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#define ZS_INJECTION_POINT_ARG(name, arg)	INJECTION_POINT(name, arg)
#else
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name)
#define ZS_INJECTION_POINT_ARG(name, arg)	((void) (arg), INJECTION_POINT(name))
#endif
#endif

/* a kind of join that 17 does not have */
#if ZS_PG_AT_LEAST(18)
#define zs_join_is_right_semi(type)	((type) == JOIN_RIGHT_SEMI)
#else
#define zs_join_is_right_semi(type)	false
#endif

/* 18 renamed these */
#if !ZS_PG_AT_LEAST(18)
#define ReorderBufferAllocChange	ReorderBufferGetChange
#define ReorderBufferAllocTupleBuf	ReorderBufferGetTupleBuf
#endif

/* Are all rows known to have a value? 18 has constraints that are not valid for old rows. */
#if ZS_PG_AT_LEAST(18)
#define zs_attr_is_not_null(desc, i) \
	(TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define zs_attr_is_not_null(desc, i)	(TupleDescAttr(desc, i)->attnotnull)
#endif

/* 18 counts bytes, too */
#if ZS_PG_AT_LEAST(18)
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT, 1, 0)
#define zs_count_io_extend(object, nblocks) \
	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_EXTEND, 1, (uint64) (nblocks) * BLCKSZ)
#else
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT)
#define zs_count_io_extend(object, nblocks) \
	pgstat_count_io_op_n((object), IOCONTEXT_NORMAL, IOOP_EXTEND, (nblocks))
#endif

/* goes in front of a declaration */
#if ZS_PG_AT_LEAST(18)
#define ZS_NORETURN pg_noreturn
#else
#define ZS_NORETURN __attribute__((noreturn))
#endif

/*
 * Keeps a bitmap heap scan from prefetching on its own.  PostgreSQL 17 does it
 * in the executor node, by the block numbers of TIDs; from 18 on it is up to
 * the access method.
 */
#if ZS_PG_AT_LEAST(18)
#define zs_bitmap_scan_disable_prefetch(node)	((void) (node))
#else
#define zs_bitmap_scan_disable_prefetch(node)	((void) ((node)->prefetch_maximum = 0))
#endif

/* 18 can log locks that could not be had at once */
#if ZS_PG_AT_LEAST(18)
#define zs_log_lock_failures	log_lock_failures
#define ZsConditionalXactLockTableWait(xid, log) ConditionalXactLockTableWait((xid), (log))
#define ZsConditionalLockTuple(rel, tid, mode, log) \
	ConditionalLockTuple((rel), (tid), (mode), (log))
#else
#define zs_log_lock_failures	false
#define ZsConditionalXactLockTableWait(xid, log) \
	((void) (log), ConditionalXactLockTableWait(xid))
#define ZsConditionalLockTuple(rel, tid, mode, log) \
	((void) (log), ConditionalLockTuple((rel), (tid), (mode)))
#endif

/* 18 submits the requests of a stream together if its callback takes no locks */
#if ZS_PG_AT_LEAST(18)
#define ZS_READ_STREAM_USE_BATCHING READ_STREAM_USE_BATCHING
#else
#define ZS_READ_STREAM_USE_BATCHING 0
#endif

/* 18 wants to know how long the forks were */
#if ZS_PG_AT_LEAST(18)
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate(reln, forks, nforks, old_blocks, blocks)
#else
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate2(reln, forks, nforks, old_blocks, blocks)
#endif

/* VACUUM: 18 counts all-frozen pages, measures delays and takes a start time */
#if ZS_PG_AT_LEAST(18)
#define vacuum_delay_point_compat() vacuum_delay_point(false)
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
								   xid_updated, multi_updated) \
	vac_update_relstats(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
						xid_updated, multi_updated, false)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead, starttime)
#else
#define vacuum_delay_point_compat() vacuum_delay_point()
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
								   xid_updated, multi_updated) \
	vac_update_relstats(rel, pages, tuples, visible, hasindex, xid, multi, \
						xid_updated, multi_updated, false)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead)
#endif

/*
 * What VACUUM reports: from 18 on pages that were scanned eagerly (heap only), bits of the
 * visibility map, WAL buffers that were full, and the time of delays, if that is measured.  What 18
 * calls reads were misses.
 */
#if ZS_PG_AT_LEAST(18)
#define ZS_VACUUM_EAGER_PAGES	", 0 eagerly scanned"
#define ZS_VACUUM_REPORTS_VISMAP	1
#define ZS_WAL_USAGE_HAS_FULL	1
#define ZS_VACUUM_READS	"reads"
#define zs_vacuum_times_delays()	track_cost_delay_timing
#define zs_vacuum_delay_ms() \
	((double) MyBEEntry->st_progress_param[PROGRESS_VACUUM_DELAY_TIME] / 1000000.0)
#else
#define ZS_VACUUM_EAGER_PAGES	""
#define ZS_VACUUM_REPORTS_VISMAP	0
#define ZS_WAL_USAGE_HAS_FULL	0
#define ZS_VACUUM_READS	"misses"
#define zs_vacuum_times_delays()	false
#define zs_vacuum_delay_ms()	0.0
#endif

/*
 * Length, passing and alignment of an attribute: 18 has a copy of these that is quick to walk
 * through.
 */
#if ZS_PG_AT_LEAST(18)
typedef CompactAttribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescCompactAttr(desc, i)
#define ZsShapeAlign(offset, att)	TYPEALIGN((att)->attalignby, offset)
#else
typedef FormData_pg_attribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescAttr(desc, i)
#define ZsShapeAlign(offset, att)	att_align_nominal(offset, (att)->attalign)
#endif

/* The ordering operator of a pathkey for a type; needs optimizer and lsyscache headers. */
#if ZS_PG_AT_LEAST(18)
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member_for_cmptype((pk)->pk_opfamily, type, type, (pk)->pk_cmptype)
#else
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member((pk)->pk_opfamily, type, type, (pk)->pk_strategy)
#endif

/* What a path does against settings such as enable_seqscan: 18 counts it beside the costs. */
#if ZS_PG_AT_LEAST(18)
#define zs_path_disabled(path)	((path)->disabled_nodes)
#define zs_path_add_disabled(path, n)	((void) ((path)->disabled_nodes += (n)))
#else
#define zs_path_disabled(path)	0
#define zs_path_add_disabled(path, n) \
	((void) ((path)->startup_cost += (n) * disable_cost, \
			 (path)->total_cost += (n) * disable_cost))
#endif

/* What formats the output of EXPLAIN; 18 has a header for it. */
#if ZS_PG_AT_LEAST(18)
#define ZS_EXPLAIN_FORMAT_H	"commands/explain_format.h"
#else
#define ZS_EXPLAIN_FORMAT_H	"commands/explain.h"
#endif

/* Does this collation compare strings as memcmp() does?  InvalidOid does not. */
#if ZS_PG_AT_LEAST(18)
#define zs_collation_is_c(collation) \
	(OidIsValid(collation) && pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define zs_collation_is_c(collation)	lc_collate_is_c(collation)
#endif

/* 18 can leave room in front of a tuple */
#if ZS_PG_AT_LEAST(18)
#define zs_heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple((desc), (values), (isnull), (extra))
#define ZS_COPY_MINIMAL_TUPLE_ARGS	TupleTableSlot *slot, Size extra
#else
#define zs_heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple((desc), (values), (isnull))
#define ZS_COPY_MINIMAL_TUPLE_ARGS	TupleTableSlot *slot
#endif

/* 18 can count what an index scan does */
#if ZS_PG_AT_LEAST(18)
#define zs_index_beginscan(rel, index, snapshot, nkeys, norderbys) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), (norderbys))
#else
#define zs_index_beginscan(rel, index, snapshot, nkeys, norderbys) \
	index_beginscan((rel), (index), (snapshot), (nkeys), (norderbys))
#endif

/* By what a parallel scan knows its table. */
#if ZS_PG_AT_LEAST(18)
#define zs_parallelscan_set_table(pscan, rel)	((void) ((pscan)->phs_locator = (rel)->rd_locator))
#else
#define zs_parallelscan_set_table(pscan, rel) \
	((void) ((pscan)->phs_relid = RelationGetRelid(rel)))
#endif

/*
 * Who walks over the bitmap in a bitmap heap scan: from 18 on the access method, before that the
 * executor node, which hands over one page after the other.
 */
#if ZS_PG_AT_LEAST(18)
#define ZS_BITMAP_SCAN_ITERATES	1
#else
#define ZS_BITMAP_SCAN_ITERATES	0
#endif

/* The offsets of a block of dead TIDs, at most max; how many. */
#if ZS_PG_AT_LEAST(18)
#define zs_tidstore_block_offsets(result, offsets, max) \
	TidStoreGetBlockOffsets((result), (offsets), (max))
#else
#define zs_tidstore_block_offsets(result, to, max) \
	(AssertMacro((result)->num_offsets <= (max)), \
	 memcpy((to), (result)->offsets, (result)->num_offsets * sizeof(OffsetNumber)), \
	 (result)->num_offsets)
#endif

/* 18 shows name and version of a library */
#if ZS_PG_AT_LEAST(18)
#define ZS_MODULE_MAGIC(library, its_version) \
	PG_MODULE_MAGIC_EXT(.name = library, .version = its_version)
#else
#define ZS_MODULE_MAGIC(library, its_version) PG_MODULE_MAGIC
#endif

/* The path of a permanent relation's first file, copied: 18 returns a struct, 17 memory. */
#if ZS_PG_AT_LEAST(18)
#define zs_copy_relpath(dst, locator, forknum) \
	do { \
		RelPathStr	zs_path = relpathperm((locator), (forknum)); \
		strlcpy((dst), zs_path.str, MAXPGPATH); \
	} while (0)
#else
#define zs_copy_relpath(dst, locator, forknum) \
	do { \
		char	   *zs_path = relpathperm((locator), (forknum)); \
		strlcpy((dst), zs_path, MAXPGPATH); \
		pfree(zs_path); \
	} while (0)
#endif

/* Counts one write of adjacent blocks of a relation: 18 counts requests and bytes, 17 blocks. */
#if ZS_PG_AT_LEAST(18)
#define zs_count_io_write(nblocks) \
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, 1, \
					   (uint64) (nblocks) * BLCKSZ)
#else
#define zs_count_io_write(nblocks) \
	pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, (nblocks))
#endif

/* Does a backend with that wait event wait for a read that was started before?  Not in 17. */
#if ZS_PG_AT_LEAST(18)
#define ZS_WAITS_FOR_STARTED_READ(event)	((event) == WAIT_EVENT_AIO_IO_COMPLETION)
#else
#define ZS_WAITS_FOR_STARTED_READ(event)	false
#endif

/*
 * Do other processes read for read streams, a few of them at a time for all backends?  Else
 * streams ask the kernel for as much as the settings say.
 */
#if ZS_PG_AT_LEAST(18)
#include "storage/aio.h"
#define ZS_READS_BY_IO_WORKERS	(io_method == IOMETHOD_WORKER)
#else
#define ZS_READS_BY_IO_WORKERS	false
#endif

/* StartBufferIO() and TerminateBufferIO() are there for others from 18 on. */
#if ZS_PG_AT_LEAST(18)
#define ZS_BUFFER_IO_IS_EXTERN	1
#else
#define ZS_BUFFER_IO_IS_EXTERN	0
#endif

#endif							/* ZS_COMPAT_H */
