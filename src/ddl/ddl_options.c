/*-------------------------------------------------------------------------
 *
 * ddl_options.c
 *	  Options that commands give to tables: checked in core's words, and written to the catalog.
 *
 * What options there are, and how they are read: base_options.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "ddl_internal.h"
#include "zs_base.h"
#include "zs_base_options.h"
#include "zs_base_sort.h"
#include "zs_ddl.h"

/* Raises the error that core would raise for this value of such an option. */
static void
report_bad_value(int option, const char *value)
{
	const ZsOptionDesc *desc = &zsbase_option_descs[option];
	int			number;

	Assert(option >= 0 && option < ZS_OPTION_COUNT);

	if (desc->type == ZS_OPTION_METHOD)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for enum option \"%s\": %s",
						desc->name, value),
				 errdetail("Valid values are \"%s\", \"%s\", and \"%s\".",
						   "none", "lz4", "zstd")));

	if (!parse_int(value, &number, 0, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for integer option \"%s\": %s",
						desc->name, value)));

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("value %s out of bounds for option \"%s\"",
					value, desc->name),
			 errdetail("Valid values are between \"%d\" and \"%d\".",
					   desc->min, desc->max)));
}

/* Is this element of WITH (...) or SET (...) one of our options? */
bool
zsddl_options_is_ours(const DefElem *def)
{
	Assert(def->defname != NULL);
	if (def->defnamespace != NULL)
		return false;
	for (int i = 0; i < ZS_OPTION_COUNT; i++)
		if (strcmp(def->defname, zsbase_option_descs[i].name) == 0)
			return true;
	return false;
}

/* A list of DefElem that names all our options, as RESET takes it. */
List *
zsddl_options_all_names(void)
{
	List	   *names = NIL;

	for (int i = 0; i < ZS_OPTION_COUNT; i++)
		names = lappend(names, makeDefElem(pstrdup(zsbase_option_descs[i].name), NULL, -1));
	return names;
}

/*
 * Checks options that one command gives.  All of them must be ours.  Raises
 * core's errors for a wrong value and for an option that is given twice.
 */
void
zsddl_options_validate(Datum options)
{
	Datum	   *elems;
	int			nelems;
	bool		seen[ZS_OPTION_COUNT] = {0};

	if (options == (Datum) 0)
		return;

	deconstruct_array_builtin(DatumGetArrayTypeP(options), TEXTOID,
							  &elems, NULL, &nelems);
	for (int i = 0; i < nelems; i++)
	{
		const char *value;
		int			option = zsbase_option_split(elems[i], &value);
		int			result;

		Assert(!ARR_HASNULL(DatumGetArrayTypeP(options)));
		if (option < 0)
			elog(ERROR, "unexpected table option \"%s\"", value);
		if (seen[option])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameter \"%s\" specified more than once",
							zsbase_option_descs[option].name)));
		seen[option] = true;

		if (!zsbase_option_parse(option, value, &result))
			report_bad_value(option, value);
		if (option == ZS_OPTION_SORT_KEY)
			(void) zsbase_sort_key_parse(value);
	}
}

/*
 * Does a relation of this kind and access method take our options?
 *
 * A partitioned table has no storage; what it has is handed to new partitions.
 * It may be without an access method, then the partitions get the default one.
 * pg_dump creates every partitioned table in this way and sets its access
 * method afterwards, so these have to be accepted.
 */
bool
zsddl_options_allowed(char relkind, Oid amoid)
{
	switch (relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
			return zsbase_is_zedstore_am(amoid);
		case RELKIND_PARTITIONED_TABLE:
			return !OidIsValid(amoid) || zsbase_is_zedstore_am(amoid);
		default:
			return false;
	}
}

/*
 * Replaces our options of a table in pg_class.reloptions, behind core's own,
 * which stay, and makes the change visible to this command.
 *
 * The caller created the table or holds ShareUpdateExclusiveLock or more on it
 * and has checked permissions.  Does nothing if the table is gone.
 */
void
zsddl_options_write(Oid relid, Datum options)
{
	Relation	pg_class;
	HeapTuple	oldtuple;
	HeapTuple	newtuple;
	ItemPointerData otid;
	ArrayBuildState *merged = NULL;
	Datum		stored;
	bool		isnull;
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {0};
	bool		replaces[Natts_pg_class] = {0};

	/* see our own changes of the row, or the insertion of it */
	CommandCounterIncrement();

	Assert(OidIsValid(relid));
	pg_class = table_open(RelationRelationId, RowExclusiveLock);
	oldtuple = SearchSysCacheLockedCopy1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(oldtuple))
	{
		table_close(pg_class, RowExclusiveLock);
		return;
	}
	otid = oldtuple->t_self;

	stored = SysCacheGetAttr(RELOID, oldtuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
		merged = zsbase_options_accumulate(NULL, stored, false);
	merged = zsbase_options_accumulate(merged, options, true);

	values[Anum_pg_class_reloptions - 1] = merged == NULL ? (Datum) 0 :
		makeArrayResult(merged, CurrentMemoryContext);
	nulls[Anum_pg_class_reloptions - 1] = (merged == NULL);
	replaces[Anum_pg_class_reloptions - 1] = true;
	newtuple = heap_modify_tuple(oldtuple, RelationGetDescr(pg_class),
								 values, nulls, replaces);

	CatalogTupleUpdate(pg_class, &otid, newtuple);
	UnlockTuple(pg_class, &otid, InplaceUpdateTupleLock);

	heap_freetuple(newtuple);
	heap_freetuple(oldtuple);
	table_close(pg_class, RowExclusiveLock);

	CommandCounterIncrement();
}
