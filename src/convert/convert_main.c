/*-------------------------------------------------------------------------
 *
 * convert_main.c
 *	  zs_convert(): which tables, and whether they can be converted.
 *
 * A partitioned table is converted partition by partition, each in a conversion of its own; of a
 * table that is partitioned by range, on request, only those that end at or below a value.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_main.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "convert_internal.h"
#include "zs_base.h"
#include "zs_ddl.h"

PG_FUNCTION_INFO_V1(zs_convert);

/* ---- partitions ------------------------------------------------------------------- */

/* Does a partition end at or below the value of the key's first column? */
static bool
ends_below(Oid partition, PartitionKey key, Datum value)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(partition));
	PartitionBoundSpec *spec;
	PartitionRangeDatum *upper;
	Datum		bound;
	bool		isnull;
	int			order;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", partition);
	bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &isnull);
	if (isnull)
		elog(ERROR, "partition %u has no bound", partition);
	spec = stringToNode(TextDatumGetCString(bound));
	ReleaseSysCache(tuple);
	Assert(spec->strategy == PARTITION_STRATEGY_RANGE);
	if (spec->is_default)
		return false;
	upper = linitial_node(PartitionRangeDatum, spec->upperdatums);
	if (upper->kind != PARTITION_RANGE_DATUM_VALUE)
		return upper->kind == PARTITION_RANGE_DATUM_MINVALUE;
	order = DatumGetInt32(FunctionCall2Coll(&key->partsupfunc[0], key->partcollation[0],
											castNode(Const, upper->value)->constvalue, value));
	/* with more columns, rows that have the value itself may lie below the bound */
	return key->partnatts == 1 ? order <= 0 : order < 0;
}

/* The tables with rows below a partitioned table, to which older_than (if not NULL) applies. */
static List *
leaf_tables(Oid relid, const char *older_than)
{
	Relation	rel = table_open(relid, AccessShareLock);
	PartitionKey key = RelationGetPartitionKey(rel);
	PartitionDesc partitions = RelationGetPartitionDesc(rel, true);
	Datum		value = (Datum) 0;
	List	   *result = NIL;

	if (older_than != NULL)
	{
		Oid			input;
		Oid			param;

		if (key->strategy != PARTITION_STRATEGY_RANGE || key->partattrs[0] == 0)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"older_than\" needs a table that is partitioned by range of a column")));
		getTypeInputInfo(key->parttypid[0], &input, &param);
		/* the procedure's argument is text; the error of a value that is none is the type's */
		value = OidInputFunctionCall(input, unconstify(char *, older_than), param,
									 key->parttypmod[0]);
	}
	for (int i = 0; i < partitions->nparts; i++)
	{
		Oid			child = partitions->oids[i];

		CHECK_FOR_INTERRUPTS();
		if (older_than != NULL && !ends_below(child, key, value))
			continue;
		if (get_rel_relkind(child) == RELKIND_PARTITIONED_TABLE)
			result = list_concat(result, leaf_tables(child, NULL));
		else if (get_rel_relkind(child) == RELKIND_RELATION)
			result = lappend_oid(result, child);
	}
	table_close(rel, AccessShareLock);
	return result;
}

/* ---- one table -------------------------------------------------------------------- */

static void
require_owner(Oid relid)
{
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
}

/* Refuses tables that cannot be converted.  It is open and locked. */
static void
check_table(const ZsConversion *conv, Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION || IsSystemRelation(rel))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table that can be converted",
						RelationGetRelationName(rel)),
				 errdetail_relkind_not_supported(rel->rd_rel->relkind)));
	if (RelationUsesLocalBuffers(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot convert temporary table \"%s\"", RelationGetRelationName(rel)),
				 errhint("Use ALTER TABLE ... SET ACCESS METHOD.")));
	if (OidIsValid(rel->rd_rel->relrewrite))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" belongs to a conversion", RelationGetRelationName(rel))));
	if (!conv->to_zedstore && !zsbase_is_zedstore(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("neither the access method of table \"%s\" nor the new one is zedstore",
						RelationGetRelationName(rel))));
	CheckTableNotInUse(rel, "zs_convert");
}

/* Locks and checks the table.  False, with a notice, if it has the access method already. */
static bool
prepare_conversion(ZsConversion *conv)
{
	Relation	rel = table_open(conv->relid, ShareUpdateExclusiveLock);

	require_owner(conv->relid);
	if (rel->rd_rel->relam == conv->method)
	{
		ereport(NOTICE,
				(errmsg("table \"%s\" has access method \"%s\" already",
						RelationGetRelationName(rel), get_am_name(conv->method))));
		table_close(rel, ShareUpdateExclusiveLock);
		return false;
	}
	check_table(conv, rel);
	conv->owner = rel->rd_rel->relowner;
	conv->lockid = rel->rd_lockInfo.lockRelId;
	zsconvert_key_choose(conv, rel);
	table_close(rel, NoLock);
	return true;
}

/*
 * Converts a table; the current transaction ends, and there is another one afterwards.
 *
 * The slot comes before the lock.  A second conversion that waited for the lock would have a
 * snapshot, for whose end the first one waits.
 */
static void
convert_table(const ZsConversion *what, Oid relid)
{
	ZsConversion *conv = MemoryContextAlloc(what->context, sizeof(ZsConversion));

	*conv = *what;
	conv->relid = relid;
	require_owner(relid);
	zsconvert_slot_claim(relid, conv->method);
	PG_TRY();
	{
		if (prepare_conversion(conv))
			zsconvert_run(conv);
	}
	PG_FINALLY();
	{
		zsconvert_slot_release();
	}
	PG_END_TRY();
}

/* ---- the procedure ------------------------------------------------------------------ */

/* Options given as text[], checked, in memory of the conversion. */
static Datum
given_options(const ZsConversion *conv, FunctionCallInfo fcinfo, int arg)
{
	Datum		options;

	if (PG_ARGISNULL(arg))
		return (Datum) 0;
	if (!conv->to_zedstore)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"options\" are those of zedstore tables")));
	options = PointerGetDatum(PG_GETARG_ARRAYTYPE_P_COPY(arg));
	if (array_contains_nulls(DatumGetArrayTypeP(options)))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("\"options\" must not contain null values")));
	if (ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(options)),
					   ARR_DIMS(DatumGetArrayTypeP(options))) == 0)
		return (Datum) 0;
	zsddl_options_validate(options);
	return options;
}

/* An argument that must be a number above 0. */
static int
positive_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg) || PG_GETARG_INT32(arg) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"%s\" must be greater than zero", name)));
	return PG_GETARG_INT32(arg);
}

/* Error unless the procedure is called where it may end transactions. */
static void
require_top_level(FunctionCallInfo fcinfo)
{
	PreventCommandIfReadOnly("CALL zs_convert");
	PreventCommandDuringRecovery("CALL zs_convert");
	if (fcinfo->context == NULL || !IsA(fcinfo->context, CallContext) ||
		castNode(CallContext, fcinfo->context)->atomic || SPI_inside_nonatomic_context())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("zs_convert() cannot be called in a transaction block, a function or a procedure")));
}

/*
 * zs_convert(relation, method, options, older_than, lock_timeout, timeout): see
 * docs/adopt-convert.md.
 */
Datum
zs_convert(PG_FUNCTION_ARGS)
{
	ZsConversion what = {0};
	List	   *relids;
	Oid			relid;

	require_top_level(fcinfo);
	zsbase_require_preload();
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("table and access method must not be null")));
	relid = PG_GETARG_OID(0);

	/* the portal's memory, in which we are called, outlives the transactions */
	what.context = AllocSetContextCreate(CurrentMemoryContext, "zedstore conversion",
										 ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(what.context);
	what.method = get_table_am_oid(NameStr(*PG_GETARG_NAME(1)), false);
	what.to_zedstore = zsbase_is_zedstore_am(what.method);
	what.options = given_options(&what, fcinfo, 2);
	what.lock_timeout = positive_argument(fcinfo, 4, "lock_timeout");
	what.timeout = Min(positive_argument(fcinfo, 5, "timeout"), INT_MAX / 1000);
	what.trigger_function = zsconvert_trigger_function(fcinfo->flinfo->fn_oid);

	if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
	{
		require_owner(relid);
		relids = leaf_tables(relid, PG_ARGISNULL(3) ? NULL :
							 text_to_cstring(PG_GETARG_TEXT_PP(3)));
	}
	else if (!PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"older_than\" needs a table that is partitioned by range of a column")));
	else
		relids = list_make1_oid(relid);

	foreach_oid(leaf, relids)
	{
		CHECK_FOR_INTERRUPTS();
		/* a partition may have been dropped while others were converted */
		if (leaf == relid || get_rel_relkind(leaf) == RELKIND_RELATION)
			convert_table(&what, leaf);
	}
	PG_RETURN_VOID();
}
