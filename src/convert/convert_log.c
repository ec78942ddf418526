/*-------------------------------------------------------------------------
 *
 * convert_log.c
 *	  The trigger that follows a table's changes, and the log that it writes.
 *
 * The log is a list of keys, not of changes: a row of it says that the table's row of this key, as
 * it is now, may differ from the copy's (convert_apply.c).  So its order does not matter, and a key
 * that stands there for nothing does no harm.  An entry becomes visible together with the change
 * that it tells of, since both belong to one transaction.
 *
 * The log is unlogged: nothing of a conversion is of use after a crash, replication must not
 * see it, and writers pay less.  It has "relrewrite" of the table that is converted; core's own
 * tables of that kind live within one transaction, so those that are found committed are ours.
 *
 * The trigger is an internal one, which dumps and ALTER TABLE ... TRIGGER USER leave alone, and it
 * fires for replicated changes, too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_log.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/toasting.h"
#include "commands/trigger.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "convert_internal.h"
#include "zs_compat.h"

PG_FUNCTION_INFO_V1(zs_convert_log);

/* Name of the trigger, behind which core puts its OID. */
#define TRIGGER_NAME "zs_convert"

/* The SQL function that the trigger calls; in the schema of the function `caller`. */
Oid
zsconvert_trigger_function(Oid caller)
{
	char	   *schema = get_namespace_name(get_func_namespace(caller));

	return LookupFuncName(list_make2(makeString(schema), makeString("zs_convert_log")), 0, NULL,
						  false);
}

/*
 * Creates the log of a table for a key.  It goes with the table, if that is dropped after an
 * interrupted conversion.  The caller holds ShareUpdateExclusiveLock on the table.
 */
Oid
zsconvert_log_create(Relation rel, const ZsConvertKey *key)
{
	TupleDesc	desc = CreateTemplateTupleDesc(key->n);
	char		name[NAMEDATALEN];
	ObjectAddress log;
	ObjectAddress table;
	Oid			oid;

	Assert(key->n > 0);
	for (int i = 0; i < key->n; i++)
		TupleDescCopyEntry(desc, (AttrNumber) (i + 1), RelationGetDescr(rel), key->attnos[i]);
	zs_tupledesc_finalize(desc);
	snprintf(name, sizeof(name), "zs_convert_log_%u", RelationGetRelid(rel));
	oid = heap_create_with_catalog(name, RelationGetNamespace(rel), rel->rd_rel->reltablespace,
								   InvalidOid, InvalidOid, InvalidOid, rel->rd_rel->relowner,
								   HEAP_TABLE_AM_OID, desc, NIL, RELKIND_RELATION,
								   RELPERSISTENCE_UNLOGGED, false, false, ONCOMMIT_NOOP, (Datum) 0,
								   false, true, true, RelationGetRelid(rel), NULL);
	CommandCounterIncrement();
	NewHeapCreateToastTable(oid, (Datum) 0, AccessExclusiveLock, InvalidOid);

	ObjectAddressSet(log, RelationRelationId, oid);
	ObjectAddressSet(table, RelationRelationId, RelationGetRelid(rel));
	recordDependencyOn(&log, &table, DEPENDENCY_AUTO);
	return oid;
}

/* Creates the trigger.  The caller holds ShareRowExclusiveLock on the table. */
void
zsconvert_trigger_create(Oid relid, Oid log, Oid function)
{
	CreateTrigStmt *stmt = makeNode(CreateTrigStmt);

	stmt->trigname = TRIGGER_NAME;
	stmt->args = list_make1(makeString(psprintf("%u", log)));
	stmt->row = true;
	stmt->timing = TRIGGER_TYPE_AFTER;
	stmt->events = TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE;
	(void) CreateTriggerFiringOn(stmt, NULL, relid, InvalidOid, InvalidOid, InvalidOid, function,
								 InvalidOid, NULL, true, false, TRIGGER_FIRES_ALWAYS);
	CommandCounterIncrement();
}

/* The trigger of the table that calls `function`, InvalidOid if there is none. */
Oid
zsconvert_trigger_find(Oid relid, Oid function)
{
	Relation	catalog = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, TriggerRelidNameIndexId, true, NULL, 1, &key);
	while (!OidIsValid(result) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);

		if (form->tgfoid == function && form->tgisinternal)
			result = form->oid;
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

/* ---- the trigger ---------------------------------------------------------------- */

/* The key's values of a row of the table, without pointers to elsewhere. */
static void
key_values(const ZsConvertKey *key, HeapTuple tuple, TupleDesc desc, Datum *values, bool *isnull)
{
	for (int i = 0; i < key->n; i++)
	{
		values[i] = heap_getattr(tuple, key->attnos[i], desc, &isnull[i]);
		Assert(!isnull[i]);
		if (!isnull[i] && TupleDescAttr(desc, key->attnos[i] - 1)->attlen == -1)
			values[i] = PointerGetDatum(PG_DETOAST_DATUM(values[i]));
	}
}

static void
log_key(Relation log, Datum *values, bool *isnull)
{
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(log), values, isnull);

	simple_heap_insert(log, tuple);
	heap_freetuple(tuple);
}

/* Are the keys of two rows the same, byte by byte? */
static bool
same_key(const ZsConvertKey *key, TupleDesc desc, const Datum *a, const Datum *b)
{
	for (int i = 0; i < key->n; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, key->attnos[i] - 1);

		if (!datumIsEqual(a[i], b[i], attr->attbyval, attr->attlen))
			return false;
	}
	return true;
}

/*
 * zs_convert_log(): trigger function, AFTER each row.  Its argument is the OID of the log.  It
 * writes to no table but to one that a conversion of this table has named in shared memory, so
 * that nobody can have others written to by a trigger of his own.
 */
Datum
zs_convert_log(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Datum		values[2][INDEX_MAX_KEYS];
	bool		isnull[2][INDEX_MAX_KEYS];
	ZsConvertKey key;
	TupleDesc	desc;
	Relation	log;
	Oid			oid;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		!TRIGGER_FIRED_AFTER(data->tg_event) || data->tg_trigger->tgnargs != 1)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("zs_convert_log() is called by the trigger of a conversion only")));

	oid = DatumGetObjectId(DirectFunctionCall1(oidin,
											   CStringGetDatum(data->tg_trigger->tgargs[0])));
	if (!zsconvert_slot_find(RelationGetRelid(data->tg_relation), oid, &key))
		return PointerGetDatum(NULL);

	desc = RelationGetDescr(data->tg_relation);
	log = table_open(key.log, RowExclusiveLock);
	key_values(&key, data->tg_trigtuple, desc, values[0], isnull[0]);
	log_key(log, values[0], isnull[0]);
	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		key_values(&key, data->tg_newtuple, desc, values[1], isnull[1]);
		if (!same_key(&key, desc, values[0], values[1]))
			log_key(log, values[1], isnull[1]);
	}
	table_close(log, NoLock);
	return PointerGetDatum(NULL);
}
