/*-------------------------------------------------------------------------
 *
 * zs_scan.h
 *	  Rows out: the scan callbacks of the table access method.
 *
 * Functions are named after the TableAmRoutine members that they serve; their
 * contracts are those of tableam.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_SCAN_H
#define ZS_SCAN_H

#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "nodes/execnodes.h"
#include "storage/read_stream.h"

#include "zs_compat.h"
#include "zs_format.h"

/* scan_seq.c */
extern TableScanDesc zsscan_begin(Relation rel, Snapshot snapshot, int nkeys,
								  struct ScanKeyData *key, ParallelTableScanDesc pscan,
								  uint32 flags);
extern void zsscan_end(TableScanDesc sscan);
extern void zsscan_rescan(TableScanDesc sscan, struct ScanKeyData *key, bool set_params,
						  bool allow_strat, bool allow_sync, bool allow_pagemode);
extern bool zsscan_getnextslot(TableScanDesc sscan, ScanDirection direction,
							   TupleTableSlot *slot);
extern void zsscan_set_tidrange(TableScanDesc sscan, ItemPointer mintid, ItemPointer maxtid);
extern bool zsscan_getnextslot_tidrange(TableScanDesc sscan, ScanDirection direction,
										TupleTableSlot *slot);

/* scan_any.c */
extern void zsscan_show_any(TableScanDesc sscan);

/* scan_chunk.c */
extern Size zsscan_parallel_estimate(Relation rel);
extern Size zsscan_parallel_initialize(Relation rel, ParallelTableScanDesc pscan);
extern void zsscan_parallel_reinitialize(Relation rel, ParallelTableScanDesc pscan);

/* scan_block.c */
#if ZS_BITMAP_SCAN_ITERATES
extern bool zsscan_bitmap_next_tuple(TableScanDesc sscan, TupleTableSlot *slot,
									 bool *recheck, uint64 *lossy_pages,
									 uint64 *exact_pages);
#else
struct TBMIterateResult;
extern bool zsscan_bitmap_next_block(TableScanDesc sscan, struct TBMIterateResult *tbmres);
extern bool zsscan_bitmap_next_tuple(TableScanDesc sscan, struct TBMIterateResult *tbmres,
									 TupleTableSlot *slot);
#endif
extern bool zsscan_sample_next_block(TableScanDesc sscan, SampleScanState *scanstate);
extern bool zsscan_sample_next_tuple(TableScanDesc sscan, SampleScanState *scanstate,
									 TupleTableSlot *slot);

/* scan_analyze.c */
extern bool zsscan_analyze_next_block(TableScanDesc sscan, ReadStream *stream);
extern bool zsscan_analyze_next_tuple(TableScanDesc sscan, double *liverows,
									  double *deadrows, TupleTableSlot *slot);

/* scan_fetch.c */
extern IndexFetchTableData *zsscan_index_begin(Relation rel, uint32 flags);
extern void zsscan_index_show_any(IndexFetchTableData *fetch);
extern void zsscan_index_reset(IndexFetchTableData *fetch);
extern void zsscan_index_end(IndexFetchTableData *fetch);
extern bool zsscan_index_tuple(IndexFetchTableData *fetch, ItemPointer tid, Snapshot snapshot,
							   TupleTableSlot *slot, bool *call_again, bool *all_dead);
extern bool zsscan_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
									 TupleTableSlot *slot);
extern void zsscan_get_latest_tid(TableScanDesc sscan, ItemPointer tid);
extern bool zsscan_tid_valid(TableScanDesc sscan, ItemPointer tid);
extern bool zsscan_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot);
extern void zsscan_fetch_init(void);
extern void zsscan_fetch_transaction(XactEvent event);
extern void zsscan_forget_version(Relation rel, zstid row);
extern void zsscan_forget_rows(Relation rel);
extern void zsscan_store_version(Relation rel, zstid row, const ZsVisSlot *vis,
								 TupleTableSlot *slot);
extern void zsscan_prefetch_versions(Relation rel, zstid *rows, int n, const TupleTableSlot *slot);
extern TupleTableSlot *zsscan_stored_version(Relation rel, zstid row);
extern void zsscan_version_changed(Relation rel, zstid row, TransactionId xmax, CommandId cmax);

/* scan_delete.c */

extern TransactionId zsscan_index_delete_tuples(Relation rel, TM_IndexDeleteOp *delstate);

/*
 * Scans that are begun again and again, and index scans that look up many rows, keep the vectors
 * that they decode of a small table, if all have room in the memory of a hash table
 * (scan_source_reader.c): of so many blocks of the file, and so many stripes.  What a vector takes
 * there, beside its strings; rows of each stripe that an index scan finds before; how often a
 * bitmap scan is begun again before.
 */
#define ZS_KEPT_MAX_BLOCKS		2048
#define ZS_KEPT_STRIPES			64
#define ZS_KEPT_VECTOR_SIZE		(36 * 1024)
#define ZS_ROWS_BEFORE_KEEPING	16
#define ZS_LOOPS_BEFORE_KEEPING	8

/* scan_index_build.c */

extern zstid zsscan_summarizable_end(Relation rel);

extern double zsscan_index_build_range(Relation rel, Relation index, IndexInfo *info,
									   bool allow_sync, bool anyvisible, bool progress,
									   BlockNumber start_blockno, BlockNumber numblocks,
									   IndexBuildCallback callback, void *callback_state,
									   TableScanDesc sscan);
extern void zsscan_index_validate(Relation rel, Relation index, IndexInfo *info,
								  Snapshot snapshot, struct ValidateIndexState *state);

#endif							/* ZS_SCAN_H */
