/*-------------------------------------------------------------------------
 *
 * ddl_sort_key.c
 *	  The option zedstore_sort_key, and columns that change.
 *
 * The option names columns.  A new one must fit the table.  A column that is renamed gets its new
 * name there, and the option goes when one of its columns does, or gets a type that has no order.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_sort_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "ddl_internal.h"
#include "zs_base_options.h"
#include "zs_base_sort.h"
#include "zs_ddl.h"

/* The value for these members. */
static char *
format_key(List *keys)
{
	StringInfoData text;
	ListCell   *lc;

	Assert(keys != NIL);
	initStringInfo(&text);
	foreach(lc, keys)
	{
		ZsSortKeyName *key = lfirst(lc);

		appendStringInfo(&text, "%s%s%s", text.len > 0 ? ", " : "", quote_identifier(key->name),
						 key->descending ? " desc" : "");
		if (key->nulls_first != key->descending)
			appendStringInfoString(&text, key->nulls_first ? " nulls first" : " nulls last");
	}
	return text.data;
}

/* Options with another value of this one; NULL: without it. */
static Datum
replace_value(Datum *elems, int nelems, int place, const char *value)
{
	Assert(place >= 0 && place < nelems);
	if (value != NULL)
		elems[place] = CStringGetTextDatum(psprintf(ZS_SORT_KEY_OPTION "=%s", value));
	else
	{
		for (int i = place + 1; i < nelems; i++)
			elems[i - 1] = elems[i];
		nelems--;
	}
	return nelems == 0 ? (Datum) 0 :
		PointerGetDatum(construct_array_builtin(elems, nelems, TEXTOID));
}

static void
say_dropped(Oid relid)
{
	ereport(NOTICE,
			(errmsg("dropping option \"%s\" of table \"%s\"", ZS_SORT_KEY_OPTION,
					get_rel_name(relid)),
			 errdetail("One of its columns is no longer there, or has no order any more.")));
}

/*
 * The options for the table without a sort key that it had before, if one of its columns is not
 * there any more.  Errors: a new sort key (not among before) that does not fit the table.
 */
static Datum
check_key(Oid relid, Datum options, Datum before)
{
	Datum	   *elems;
	Datum	   *elems_before;
	int			nelems;
	int			nelems_before;
	char	   *value;
	char	   *value_before;
	int			place = zsbase_sort_key_find(options, &elems, &nelems, &value);
	bool		is_new;
	ListCell   *lc;

	if (place < 0)
		return options;
	is_new = zsbase_sort_key_find(before, &elems_before, &nelems_before, &value_before) < 0 ||
		strcmp(value, value_before) != 0;
	foreach(lc, zsbase_sort_key_parse(value))
	{
		ZsSortKeyName *key = lfirst(lc);
		HeapTuple	tuple = SearchSysCacheAttName(relid, key->name);
		ZsSortKeyFault fault = ZS_KEY_FAULT_MISSING;
		Oid			type = InvalidOid;

		if (HeapTupleIsValid(tuple))
		{
			fault = zsbase_sort_key_fault((Form_pg_attribute) GETSTRUCT(tuple));
			type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
			ReleaseSysCache(tuple);
		}
		if (fault == ZS_KEY_FAULT_NONE)
			continue;
		if (is_new)
			zsbase_sort_key_report(fault, key->name, type);
		say_dropped(relid);
		return replace_value(elems, nelems, place, NULL);
	}
	return options;
}

/*
 * Replaces our options of a table in pg_class.reloptions, and makes the change visible to this
 * command.  before: what the table had so far, of which a sort key that does not fit any more is
 * dropped.  Errors: a new sort key that does not fit.  Locks: as zsddl_options_write().
 */
void
zsddl_options_store(Oid relid, Datum options, Datum before)
{
	/* see our own changes of the columns */
	CommandCounterIncrement();

	Assert(OidIsValid(relid));
	zsddl_options_write(relid, check_key(relid, options, before));
}

/* ---- columns that change ---------------------------------------------------- */

/* The table's sort key names the column: does it stay, and by which name? */
static void
change_column(Oid relid, const char *name, const char *new_name)
{
	Datum	   *elems;
	int			nelems;
	char	   *value;
	int			place = zsbase_sort_key_find(zsbase_options_fetch(relid), &elems, &nelems, &value);
	List	   *keys;
	ListCell   *lc;
	bool		found = false;

	Assert(name != NULL);
	if (place < 0)
		return;
	keys = zsbase_sort_key_parse(value);
	foreach(lc, keys)
	{
		ZsSortKeyName *key = lfirst(lc);

		if (strcmp(key->name, name) != 0)
			continue;
		found = true;
		if (new_name != NULL)
			key->name = pstrdup(new_name);
	}
	if (!found)
		return;
	if (new_name == NULL)
		say_dropped(relid);
	zsddl_options_write(relid, replace_value(elems, nelems, place,
											 new_name == NULL ? NULL : format_key(keys)));
}

/* The column is about to be dropped: the sort key goes with it. */
void
zsddl_sort_key_column_dropped(Oid relid, AttrNumber attno)
{
	char	   *name = get_attname(relid, attno, true);

	Assert(attno > 0);
	if (name != NULL)
		change_column(relid, name, NULL);
}

/*
 * The column has been altered, which this command does not see yet: it may have another name or
 * type.
 */
void
zsddl_sort_key_column_altered(Oid relid, AttrNumber attno)
{
	char	   *old_name;
	Relation	pg_attribute;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	char		new_name[NAMEDATALEN];
	bool		sortable = false;

	if (zsbase_options_fetch(relid) == (Datum) 0 ||
		(old_name = get_attname(relid, attno, true)) == NULL)
		return;
	pg_attribute = table_open(AttributeRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	ScanKeyInit(&key[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber, F_INT2EQ,
				Int16GetDatum(attno));
	scan = systable_beginscan(pg_attribute, AttributeRelidNumIndexId, true, SnapshotSelf, 2, key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_attribute att = (Form_pg_attribute) GETSTRUCT(tuple);

		strlcpy(new_name, NameStr(att->attname), NAMEDATALEN);
		sortable = zsbase_sort_key_fault(att) == ZS_KEY_FAULT_NONE;
	}
	systable_endscan(scan);
	table_close(pg_attribute, AccessShareLock);
	if (!sortable)
		change_column(relid, old_name, NULL);
	else if (strcmp(old_name, new_name) != 0)
		change_column(relid, old_name, new_name);
}
