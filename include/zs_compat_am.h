/*-------------------------------------------------------------------------
 *
 * zs_compat_am.h
 *	  Differences between the supported PostgreSQL majors: the table access method.
 *
 * Callbacks, scans, slots, visibility, locks.  Included by zs_compat.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_am.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_AM_H
#define ZS_COMPAT_AM_H

#include "postgres.h"

#include "zs_compat.h"

/*
 * Callbacks have the newest version's signatures.  What older ones call stands beside them, with
 * the major's number behind its name (am_callbacks_17.c).
 */
#if ZS_PG_AT_LEAST(19)
#define ZS_CALLBACKS_ARE_WRAPPED	0
#define ZS_CALLBACK(function)	function
#else
#define ZS_CALLBACKS_ARE_WRAPPED	1
#define ZS_CALLBACK(function)	function##_17
#endif

/* Options of the callbacks that 19 has and older ones do not: they never give them. */
#if !ZS_PG_AT_LEAST(19)
#define TABLE_DELETE_CHANGING_PARTITION		(1 << 0)
#define TABLE_DELETE_NO_LOGICAL				(1 << 1)
#define TABLE_UPDATE_NO_LOGICAL				(1 << 0)
#define SO_NONE								0
#define SO_SCAN_INSTRUMENT					0
#endif

/*
 * Does core take rows of each access method for heap's where it looks for deleted ones, for
 * subscriptions with retain_dead_tuples (19)?
 */
#define ZS_DELETED_ROWS_ARE_HEAPS	ZS_PG_AT_LEAST(19)

/*
 * EXPLAIN (IO) of 19: the flags by which a node begins its scans, the scan's counts, or NULL, which
 * scan_begin makes if the flags ask for it.  Needs the headers of executor and table access method.
 */
#if ZS_PG_AT_LEAST(19)
#define zs_scan_flags(estate) \
	(((estate)->es_instrument & INSTRUMENT_IO) != 0 ? SO_SCAN_INSTRUMENT : SO_NONE)
#define zs_scan_io_counts(scan) \
	((scan)->rs_instrument != NULL ? &(scan)->rs_instrument->io : NULL)
#define zs_scan_begin_io_counts(scan) \
	((void) ((scan)->rs_instrument = palloc0_object(TableScanInstrumentation)))
#define zs_scan_end_io_counts(scan)	pfree((scan)->rs_instrument)
#else
#define zs_scan_flags(estate)	((void) (estate), SO_NONE)
#define zs_scan_io_counts(scan)	((void) (scan), (ZsIoCounts *) NULL)
#define zs_scan_begin_io_counts(scan)	((void) (scan))
#define zs_scan_end_io_counts(scan)	((void) (scan))
#endif

/* Logical decoding on behalf of REPACK (CONCURRENTLY), which 19 has, wants one table's changes. */
#if ZS_PG_AT_LEAST(19)
#define ZS_DECODES_FOR_REPACK	1
#else
#define ZS_DECODES_FOR_REPACK	0
#endif

/* Scans begin with flags in 19: those that are a user's to give. */
#if ZS_PG_AT_LEAST(19)
#define zs_table_beginscan(rel, snapshot, flags) \
	table_beginscan((rel), (snapshot), 0, NULL, (flags))
#define zs_table_beginscan_parallel(rel, pscan, flags) \
	table_beginscan_parallel((rel), (pscan), (flags))
#define zs_index_beginscan(rel, index, snapshot, nkeys, norderbys, flags) \
	index_beginscan((rel), (index), (snapshot), NULL, (nkeys), (norderbys), (flags))
#define zs_table_beginscan_tidrange(rel, snapshot, low, high) \
	table_beginscan_tidrange((rel), (snapshot), (low), (high), SO_NONE)
#else
#define zs_table_beginscan_tidrange(rel, snapshot, low, high) \
	table_beginscan_tidrange((rel), (snapshot), (low), (high))
#define zs_table_beginscan(rel, snapshot, flags) \
	((void) (flags), table_beginscan((rel), (snapshot), 0, NULL))
#define zs_table_beginscan_parallel(rel, pscan, flags) \
	((void) (flags), table_beginscan_parallel((rel), (pscan)))
#if ZS_PG_AT_LEAST(18)
#define zs_index_beginscan(rel, index, snapshot, nkeys, norderbys, flags) \
	((void) (flags), index_beginscan((rel), (index), (snapshot), NULL, (nkeys), (norderbys)))
#else
#define zs_index_beginscan(rel, index, snapshot, nkeys, norderbys, flags) \
	((void) (flags), index_beginscan((rel), (index), (snapshot), (nkeys), (norderbys)))
#endif
#endif

/* Transient tables are made by REPACK's code in 19. */
#if ZS_PG_AT_LEAST(19)
#define ZS_REWRITE_H	"commands/repack.h"
#else
#define ZS_REWRITE_H	"commands/cluster.h"
#endif

/* Adds entries of a row to all indexes, as for a new row; 19 has another order of arguments. */
#if ZS_PG_AT_LEAST(19)
#define zs_insert_index_tuples(result, slot, estate) \
	((void) ExecInsertIndexTuples((result), (estate), 0, (slot), NIL, NULL))
#else
#define zs_insert_index_tuples(result, slot, estate) \
	((void) ExecInsertIndexTuples((result), (slot), (estate), false, false, NULL, NIL, false))
#endif

/* Description of a plain index, for index_create(). */
#if ZS_PG_AT_LEAST(18)
#define zs_make_index_info(natts, nkeys, am, expressions, predicates, summarizing) \
	makeIndexInfo((natts), (nkeys), (am), (expressions), (predicates), false, false, true, false, \
				  (summarizing), false)
#else
#define zs_make_index_info(natts, nkeys, am, expressions, predicates, summarizing) \
	makeIndexInfo((natts), (nkeys), (am), (expressions), (predicates), false, false, true, false, \
				  (summarizing))
#endif

/* Exchanges what two rows of pg_class say of pages that are all frozen; 17 does not count them. */
#if ZS_PG_AT_LEAST(18)
#define zs_swap_all_frozen(a, b) \
	do { \
		int32		zs_frozen = (a)->relallfrozen; \
		(a)->relallfrozen = (b)->relallfrozen; \
		(b)->relallfrozen = zs_frozen; \
	} while (0)
#else
#define zs_swap_all_frozen(a, b) ((void) 0)
#endif

/* Slots have flags in 19. */
#if ZS_PG_AT_LEAST(19)
#define zs_alloc_table_slot(table, desc, ops)	ExecAllocTableSlot((table), (desc), (ops), 0)
#else
#define zs_alloc_table_slot(table, desc, ops)	ExecAllocTableSlot((table), (desc), (ops))
#endif

/* Is a transaction over for all who look at the relation?  19 says whether to look at it anew. */
#if ZS_PG_AT_LEAST(19)
#define zs_xid_is_removable(vistest, xid)	GlobalVisTestIsRemovableXid((vistest), (xid), true)
#else
#define zs_xid_is_removable(vistest, xid)	GlobalVisTestIsRemovableXid((vistest), (xid))
#endif

/* Progress of REPACK, which was CLUSTER's before 19. */
#if !ZS_PG_AT_LEAST(19)
#define PROGRESS_REPACK_PHASE					PROGRESS_CLUSTER_PHASE
#define PROGRESS_REPACK_INDEX_RELID				PROGRESS_CLUSTER_INDEX_RELID
#define PROGRESS_REPACK_HEAP_TUPLES_SCANNED		PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED
#define PROGRESS_REPACK_HEAP_TUPLES_INSERTED	PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN
#define PROGRESS_REPACK_TOTAL_HEAP_BLKS			PROGRESS_CLUSTER_TOTAL_HEAP_BLKS
#define PROGRESS_REPACK_HEAP_BLKS_SCANNED		PROGRESS_CLUSTER_HEAP_BLKS_SCANNED
#define PROGRESS_REPACK_PHASE_SEQ_SCAN_HEAP		PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP
#define PROGRESS_REPACK_PHASE_INDEX_SCAN_HEAP	PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP
#define PROGRESS_REPACK_PHASE_SORT_TUPLES		PROGRESS_CLUSTER_PHASE_SORT_TUPLES
#define PROGRESS_REPACK_PHASE_WRITE_NEW_HEAP	PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP
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

/*
 * Who walks over the bitmap in a bitmap heap scan: from 18 on the access method, before that the
 * executor node, which hands over one page after the other.
 */
#if ZS_PG_AT_LEAST(18)
#define ZS_BITMAP_SCAN_ITERATES	1
#else
#define ZS_BITMAP_SCAN_ITERATES	0
#endif

/* By what a parallel scan knows its table. */
#if ZS_PG_AT_LEAST(18)
#define zs_parallelscan_set_table(pscan, rel)	((void) ((pscan)->phs_locator = (rel)->rd_locator))
#else
#define zs_parallelscan_set_table(pscan, rel) \
	((void) ((pscan)->phs_relid = RelationGetRelid(rel)))
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

#endif							/* ZS_COMPAT_AM_H */
