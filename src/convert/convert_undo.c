/*-------------------------------------------------------------------------
 *
 * convert_undo.c
 *	  Locks that are tried for a short time, and the removal of what a conversion made.
 *
 * What can be left of a conversion is a trigger, which does nothing without a conversion that lives
 * (convert_slot.c), the log, and the transient table, with the copy or, after the exchange, with
 * the old file.  The table itself is right at any moment.  The three are found by what they are, so
 * this serves conversions of which nobody knows more: tables with "relrewrite" that are committed,
 * and the internal trigger that calls our function.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_undo.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "convert_internal.h"

PG_FUNCTION_INFO_V1(zs_convert_cleanup);

/* Between two tries to get a lock. */
#define PAUSE_MS 100

/*
 * Locks relations, each within timeout_ms.  False if one was not to be had, or a deadlock; none is
 * locked then.  It is a subtransaction that fails, since the end of a transaction by an error would
 * take the session's locks, too.
 */
bool
zsconvert_try_locks(const List *relids, LOCKMODE lockmode, int timeout_ms)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool got = false;
	char		timeout[32];

	Assert(timeout_ms > 0);
	snprintf(timeout, sizeof(timeout), "%d", timeout_ms);
	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		(void) set_config_option("lock_timeout", timeout, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_LOCAL, true, 0, false);
		foreach_oid(relid, relids)
			LockRelationOid(relid, lockmode);
		ReleaseCurrentSubTransaction();
		got = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE &&
			error->sqlerrcode != ERRCODE_T_R_DEADLOCK_DETECTED)
			ReThrowError(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return got;
}

/* Committed tables with "relrewrite", of one table or (InvalidOid) of all. */
List *
zsconvert_leftovers(Oid relid)
{
	Relation	catalog = table_open(RelationRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(catalog, 0, NULL);
	HeapTuple	tuple;
	List	   *result = NIL;

	while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);

		CHECK_FOR_INTERRUPTS();
		if (form->relkind == RELKIND_RELATION && OidIsValid(form->relrewrite) &&
			(!OidIsValid(relid) || form->relrewrite == relid))
			result = lappend_oid(result, form->oid);
	}
	table_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

/* Drops a table that a conversion made, with its indexes. */
void
zsconvert_drop_table(Oid relid)
{
	ObjectAddress object;

	Assert(OidIsValid(relid));
	ObjectAddressSet(object, RelationRelationId, relid);
	performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
}

/*
 * Removes the trigger that calls `function` and the tables of a conversion of relid; no conversion
 * of it lives.  Tries to lock the table as often as `tries` says, for lock_timeout ms each; false
 * if that failed.  Runs in the caller's transaction.
 */
bool
zsconvert_remove(Oid relid, Oid function, int lock_timeout, int tries)
{
	Oid			trigger = zsconvert_trigger_find(relid, function);

	if (OidIsValid(trigger))
	{
		ObjectAddress object;

		while (!zsconvert_try_locks(list_make1_oid(relid), AccessExclusiveLock, lock_timeout))
		{
			if (--tries <= 0)
				return false;
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PAUSE_MS,
							 PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		ObjectAddressSet(object, TriggerRelationId, trigger);
		performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	}
	foreach_oid(leftover, zsconvert_leftovers(relid))
		zsconvert_drop_table(leftover);
	return true;
}

/* The table that a leftover belongs to; it may be gone. */
static Oid
leftover_table(Oid leftover)
{
	Relation	rel = try_relation_open(leftover, AccessShareLock);
	Oid			relid = InvalidOid;

	if (rel != NULL)
	{
		relid = rel->rd_rel->relrewrite;
		relation_close(rel, AccessShareLock);
	}
	return relid;
}

/*
 * zs_convert_cleanup(regclass): drops what interrupted conversions left, of one table or of all
 * tables that the caller owns.  Returns how many tables were freed of something.
 */
Datum
zs_convert_cleanup(PG_FUNCTION_ARGS)
{
	Oid			wanted = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0);
	Oid			function = zsconvert_trigger_function(fcinfo->flinfo->fn_oid);
	List	   *relids = NIL;
	int64		n = 0;

	if (OidIsValid(wanted) && !object_ownercheck(RelationRelationId, wanted, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(wanted)),
					   get_rel_name(wanted));
	if (OidIsValid(wanted) && zsconvert_slot_is_busy(wanted))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the table is being converted by another session")));

	foreach_oid(leftover, zsconvert_leftovers(wanted))
	{
		if (object_ownercheck(RelationRelationId, leftover, GetUserId()))
			relids = list_append_unique_oid(relids, leftover_table(leftover));
	}
	foreach_oid(relid, relids)
	{
		CHECK_FOR_INTERRUPTS();
		if (!OidIsValid(relid) || zsconvert_slot_is_busy(relid))
			continue;
		LockRelationOid(relid, AccessExclusiveLock);
		(void) zsconvert_remove(relid, function, 1, 1);
		n++;
	}
	PG_RETURN_INT64(n);
}
