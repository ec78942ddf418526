/*-------------------------------------------------------------------------
 *
 * zs_write.h
 *	  Rows in: the write buffer, insert, update.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_write.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_WRITE_H
#define ZS_WRITE_H

#include "postgres.h"

#include "access/tableam.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "zs_compression.h"
#include "zs_format.h"

/* Rows of a loader's slots, as columns (write_stage.c). */
typedef struct ZsRowStage ZsRowStage;

/* write_insert.c */

/*
 * Reserves a row number for the slot's row, visible as "insert in progress" to
 * others from now on, and keeps the values in the write buffer.  Sets
 * slot->tts_tid.  options: TABLE_INSERT_*.  bulk: the caller is a bulk loader,
 * which gets stripes of its own.
 */
extern void zswrite_insert(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
						   bool bulk);

/*
 * The same for many rows.  Those of the first nstaged slots are the first ones of a stage as well,
 * which may be NULL with 0.
 */
extern void zswrite_multi_insert(Relation rel, TupleTableSlot **slots, int ntuples,
								 const ZsRowStage *stage, int nstaged,
								 CommandId cid, int options, bool bulk);

/* write_stage.c */

/* Would a stage help to load the table? */
extern bool zswrite_stage_helps(Relation rel);

/*
 * A stage for groups of up to nrows rows, in a memory context of its own below parent.  It has one
 * user; it is freed when the last user leaves.
 */
extern ZsRowStage *zswrite_stage_create(TupleDesc desc, int nrows, MemoryContext parent);
extern void zswrite_stage_join(ZsRowStage *stage);
extern void zswrite_stage_leave(ZsRowStage *stage);

/* The number of the group whose rows the stage holds. */
extern uint64 zswrite_stage_group(const ZsRowStage *stage);

/*
 * Adds row number row of a group; 0 begins a new group.  False if the stage does not take it, which
 * has to be kept elsewhere then.
 */
extern bool zswrite_stage_add(ZsRowStage *stage, int row, const Datum *values, const bool *isnull);

/*
 * The values first .. natts - 1 (counted from 0) of a row that was added; by-reference ones are
 * palloc'd.
 */
extern void zswrite_stage_get(const ZsRowStage *stage, uint64 group, int row, int first, int natts,
							  Datum *values, bool *isnull);

/* write_insert.c */

/* Inserts speculatively: the row is written through at once. */
extern void zswrite_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
									   int options, uint32 token);

/*
 * Values of rows in the row tree that are larger than this, header included, may leave for overflow
 * pages.
 */
#define ZSWRITE_PUSH_OUT_THRESHOLD	(4 * ZS_OVERFLOW_DATUM_SIZE)

/*
 * Large values of an updated row that the new version may share with the old one (write_keep.c),
 * for the columns attno (ascending).  find is called at most once, when the new row is a wide one;
 * it sets n and values, which the caller of zswrite_update() frees.
 */
typedef struct ZsKeptValue
{
	AttrNumber	attno;
	ZsOverflowPointer pointer;	/* the old row's */
	Buffer		buf;			/* the value's first page, while it is pinned */
} ZsKeptValue;

typedef struct ZsKeptValues
{
	void		(*find) (struct ZsKeptValues *kept);
	void	   *arg;			/* find's */
	bool		asked;
	int			n;
	ZsKeptValue *values;		/* palloc'd, or NULL */
} ZsKeptValues;

/* write_keep.c */

/*
 * The overflow pointers that the columns attrs (as RelationGetIndexAttrBitmap() returns them) of a
 * stored row have; returns how many.  values has room for one a column.
 */
extern int	zswrite_stored_pointers(Relation rel, zstid row, const Bitmapset *attrs,
									ZsKeptValue *values);

/* write_insert.c */

/*
 * tuple_update of the table access method; lockmode is LockTupleExclusive when a key that
 * foreign keys may refer to changes, else LockTupleNoKeyExclusive.
 */
extern TM_Result zswrite_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
								CommandId cid, Snapshot crosscheck, bool wait,
								LockTupleMode lockmode, ZsKeptValues *kept, TM_FailureData *tmfd,
								TU_UpdateIndexes *update_indexes);

/* write_buffer.c */

/*
 * Writes this transaction's buffered rows of the table, and gives reserved row numbers
 * back that were not used.  Called before this backend reads the table.  Cheap
 * when there is nothing to do.
 */
extern void zswrite_flush(Relation rel);

/* Same, if the row is in the buffer. */
extern void zswrite_flush_row(Relation rel, zstid row);

/* write_batch.c */

/* How values of a column are to be compressed. */
extern void zswrite_compression(Relation rel, AttrNumber attno, ZsCompression *compression,
								int *level);

/* write_buffer.c */

/* Writes the buffers of all tables. */
extern void zswrite_flush_all(void);

/* ---- row images for logical decoding (write_logical.c) ---------------------- */

/*
 * Logs inserted rows unless that is not asked for (wal_level, kind of table, options).  The first
 * nstaged are the first rows of the stage, too.
 */
extern void zswrite_log_insert(Relation rel, TupleTableSlot **slots, int nslots,
							   const ZsRowStage *stage, int nstaged, int options);

/*
 * Log an update or delete of a table for which RelationIsLogicallyLogged() is true.  oldslot: the
 * old row, of which at least the replica identity must be readable; NULL if the table has none.
 * key_changed: the update changes a column of the replica identity.  kept: values that the new row
 * shares with the old one, which are left out where heap leaves out unchanged TOASTed values.
 */
extern void zswrite_log_update(Relation rel, TupleTableSlot *oldslot, TupleTableSlot *newslot,
							   bool key_changed, const ZsKeptValues *kept);
extern void zswrite_log_delete(Relation rel, TupleTableSlot *oldslot);

/* Error if the table has the storage parameter user_catalog_table. */
extern void zswrite_refuse_catalog(Relation rel);

/* write_buffer.c */

/* Ends a bulk load (finish_bulk_insert). */
extern void zswrite_finish_bulk(Relation rel, int options);

/* write_redo.c */

/* Redo of XLOG_ZS_WRITE_ROW. */
extern void zswrite_redo(XLogReaderState *record);

/* write_buffer.c */

/* Installs the transaction callbacks. */
extern void zswrite_init(void);

#endif							/* ZS_WRITE_H */
