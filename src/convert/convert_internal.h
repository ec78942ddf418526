/*-------------------------------------------------------------------------
 *
 * convert_internal.h
 *	  What the files of src/convert share.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CONVERT_INTERNAL_H
#define CONVERT_INTERNAL_H

#include "postgres.h"

#include "access/transam.h"
#include "datatype/timestamp.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"
#include "pg_config_manual.h"
#include "storage/block.h"
#include "storage/lock.h"
#include "utils/rel.h"

/* What a conversion does now, in this order. */
typedef enum ZsConvertPhase
{
	ZS_CONVERT_FREE = 0,		/* no conversion */
	ZS_CONVERT_STARTING,		/* tables and trigger are made */
	ZS_CONVERT_COPYING,
	ZS_CONVERT_INDEXING,
	ZS_CONVERT_CATCHING_UP,
	ZS_CONVERT_WAITING,			/* for older snapshots */
	ZS_CONVERT_EXCHANGING,
	ZS_CONVERT_DROPPING			/* the old file, or what an undone conversion made */
} ZsConvertPhase;

/* Numbers of the progress view. */
typedef enum ZsConvertCounter
{
	ZS_CONVERT_BLOCKS_TOTAL,
	ZS_CONVERT_BLOCKS_DONE,
	ZS_CONVERT_ROWS_COPIED,
	ZS_CONVERT_INDEXES_TOTAL,
	ZS_CONVERT_INDEXES_DONE,
	ZS_CONVERT_CHANGES_APPLIED,
	ZS_CONVERT_LOCK_TRIES,
	ZS_CONVERT_COUNTERS
} ZsConvertCounter;

/* The columns of the key by which changes are followed, and the table that lists them. */
typedef struct ZsConvertKey
{
	Oid			log;
	int			n;
	AttrNumber	attnos[INDEX_MAX_KEYS];
} ZsConvertKey;

/* A conversion, in memory that outlives its transactions. */
typedef struct ZsConversion
{
	MemoryContext context;
	Oid			relid;
	LockRelId	lockid;
	Oid			owner;
	Oid			method;			/* the access method to be */
	bool		to_zedstore;
	Datum		options;		/* of a zedstore table, (Datum) 0: none */
	int			lock_timeout;	/* ms, of each try */
	int			timeout;		/* s, to wait for others in the end */
	Oid			trigger_function;

	/* made by the conversion */
	Oid			transient;		/* table that gets the copy, and has the old file in the end */
	LockRelId	transient_lockid;
	ZsConvertKey key;
	Oid			key_index;		/* of the table */
	Oid			new_key_index;	/* of the transient table */
	int			nindexes;
	Oid		   *indexes;		/* of the table */
	Oid		   *new_indexes;	/* in the same order */
	TransactionId copied_xid;	/* wrote the last rows of the copy */
} ZsConversion;

/* A process that we wait for and that waits for us, as found last; pid 0: none. */
typedef struct ZsConvertCircle
{
	int			pid;
	TimestampTz since;
} ZsConvertCircle;

/* convert_slot.c */

extern void zsconvert_slot_claim(Oid relid, Oid method);
extern void zsconvert_slot_release(void);
extern void zsconvert_slot_follow(const ZsConvertKey *key);
extern void zsconvert_slot_ignore(void);
extern bool zsconvert_slot_find(Oid relid, Oid log, ZsConvertKey *key);
extern bool zsconvert_slot_is_busy(Oid relid);
extern void zsconvert_slot_phase(ZsConvertPhase phase);
extern void zsconvert_slot_set(ZsConvertCounter counter, int64 value);
extern void zsconvert_slot_add(ZsConvertCounter counter, int64 value);

/* convert_log.c */

extern Oid	zsconvert_log_create(Relation rel, const ZsConvertKey *key);
extern void zsconvert_trigger_create(Oid relid, Oid log, Oid function);
extern Oid	zsconvert_trigger_find(Oid relid, Oid function);
extern Oid	zsconvert_trigger_function(Oid caller);

/* convert_apply.c */

extern int64 zsconvert_apply_changes(ZsConversion *conv);

/* convert_copy.c */

extern Oid	zsconvert_table_create(ZsConversion *conv, Relation rel);
extern void zsconvert_copy_slot(TupleTableSlot *from, TupleTableSlot *to, TupleDesc desc);
extern void zsconvert_copy_blocks(ZsConversion *conv, BlockNumber first, BlockNumber last);
extern BlockNumber zsconvert_copy_step(const ZsConversion *conv, BlockNumber nblocks);

/* convert_index.c */

extern void zsconvert_key_choose(ZsConversion *conv, Relation rel);
extern void zsconvert_index_list(ZsConversion *conv, Relation rel);
extern void zsconvert_index_create(ZsConversion *conv, int n);

/* convert_swap.c */

extern void zsconvert_swap(ZsConversion *conv);
extern void zsconvert_rename_toast(Oid relid);

/* convert_run.c */

extern void zsconvert_run(ZsConversion *conv);

/* convert_wait.c */

extern VirtualTransactionId *zsconvert_older_transactions(const ZsConversion *conv, int *n);
extern int	zsconvert_still_older(const ZsConversion *conv, VirtualTransactionId *ids, int n);
extern void zsconvert_check_circle(ZsConvertCircle *circle, const VirtualTransactionId *ids, int n);
extern void zsconvert_check_holders(ZsConvertCircle *circle, const ZsConversion *conv,
									LOCKMODE lockmode);

/* convert_undo.c */

extern bool zsconvert_try_locks(const List *relids, LOCKMODE lockmode, int timeout_ms);
extern bool zsconvert_remove(Oid relid, Oid function, int lock_timeout, int tries);
extern void zsconvert_drop_table(Oid relid);
extern List *zsconvert_leftovers(Oid relid);

#endif							/* CONVERT_INTERNAL_H */
