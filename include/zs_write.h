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
#include "access/xact.h"
#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "storage/buf.h"
#include "utils/rel.h"

#include "zs_compression.h"
#include "zs_format.h"

/* Rows of a loader's slots, as columns (write_stage.c). */
typedef struct ZsRowStage ZsRowStage;

/* write_insert.c */

extern void zswrite_insert(Relation rel, TupleTableSlot *slot, CommandId cid, uint32 options,
						   bool bulk);
extern void zswrite_copy_row(Relation rel, TupleTableSlot *slot, CommandId cid,
							 TransactionId xmin);
extern void zswrite_multi_insert(Relation rel, TupleTableSlot **slots, int ntuples,
								 const ZsRowStage *stage, int nstaged,
								 CommandId cid, uint32 options, bool bulk);

/* write_stage.c */

extern bool zswrite_stage_helps(Relation rel);
extern ZsRowStage *zswrite_stage_create(TupleDesc desc, int nrows, MemoryContext parent);
extern void zswrite_stage_join(ZsRowStage *stage);
extern void zswrite_stage_leave(ZsRowStage *stage);
extern uint64 zswrite_stage_group(const ZsRowStage *stage);
extern bool zswrite_stage_add(ZsRowStage *stage, int row, const Datum *values, const bool *isnull);
extern void zswrite_stage_get(const ZsRowStage *stage, uint64 group, int row, int first, int natts,
							  Datum *values, bool *isnull);

/* write_insert.c */

extern void zswrite_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid,
									   uint32 options, uint32 token);

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

extern int	zswrite_stored_pointers(Relation rel, zstid row, const Bitmapset *attrs,
									ZsKeptValue *values);

/* write_insert.c */

extern TM_Result zswrite_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
								CommandId cid, Snapshot crosscheck, bool wait,
								LockTupleMode lockmode, ZsKeptValues *kept, TM_FailureData *tmfd,
								TU_UpdateIndexes *update_indexes);

/* write_buffer.c */

extern void zswrite_flush(Relation rel);
extern void zswrite_flush_row(Relation rel, zstid row);

/* write_catalog.c */

extern void zswrite_compression(Relation rel, AttrNumber attno, ZsCompression *compression,
								int *level);

/* write_buffer.c */

extern void zswrite_flush_all(void);

/* ---- row images for logical decoding (write_logical.c) ---------------------- */

extern void zswrite_log_insert(Relation rel, TupleTableSlot **slots, int nslots,
							   const ZsRowStage *stage, int nstaged, uint32 options);
extern void zswrite_log_update(Relation rel, TupleTableSlot *oldslot, TupleTableSlot *newslot,
							   bool key_changed, const ZsKeptValues *kept);
extern void zswrite_log_delete(Relation rel, TupleTableSlot *oldslot);
extern void zswrite_refuse_catalog(Relation rel);

/* write_buffer.c */

extern void zswrite_finish_bulk(Relation rel, uint32 options);

/* write_redo.c */

extern void zswrite_redo(XLogReaderState *record);

/* write_buffer.c */

extern void zswrite_transaction(XactEvent event);
extern void zswrite_subtransaction(SubXactEvent event, SubTransactionId subid,
								   SubTransactionId parent);

#endif							/* ZS_WRITE_H */
