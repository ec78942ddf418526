/*-------------------------------------------------------------------------
 *
 * base_sort_key.c
 *	  The order that a table's rows are to be written in: the option zedstore_sort_key.
 *
 * The option is what stands behind ORDER BY, with nothing but columns: core's parser reads it.
 * Names of columns are stored, so that pg_dump has them; a column that is renamed gets its new name
 * there, and the option goes when one of its columns does, or gets a type that has no order.
 *
 * Strings are sorted by their bytes, whatever their collation: so zone maps have them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_sort_key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_index.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base_internal.h"
#include "zs_base.h"
#include "zs_base_sort.h"

/* What the parser is given in front of the option's value. */
#define BEFORE_KEY		"SELECT ORDER BY "

/* A member of the option's value. */
typedef struct KeyName
{
	char	   *name;
	bool		descending;
	bool		nulls_first;
} KeyName;

/* ---- the value as text ----------------------------------------------------- */

/* Errors of the parser point into the value, and not into the command. */
static void
point_into_value(void *arg)
{
	const char *value = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(Max(position - (int) strlen(BEFORE_KEY), 1));
		internalerrquery(value);
	}
	errcontext("option \"%s\"", ZS_SORT_KEY_OPTION);
}

static Node *
parse_value(const char *value)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = point_into_value,
		.arg = unconstify(char *, value)
	};
	List	   *parsed;

	error_context_stack = &callback;
	parsed = raw_parser(psprintf(BEFORE_KEY "%s", value), RAW_PARSE_DEFAULT);
	error_context_stack = callback.previous;
	return list_length(parsed) == 1 ? linitial_node(RawStmt, parsed)->stmt : NULL;
}

/* Has the statement that was parsed an ORDER BY, and nothing else? */
static bool
is_order_alone(Node *stmt)
{
	SelectStmt	expected = {.type = T_SelectStmt};

	if (stmt == NULL || !IsA(stmt, SelectStmt))
		return false;
	expected.sortClause = ((SelectStmt *) stmt)->sortClause;
	expected.limitOption = ((SelectStmt *) stmt)->limitOption;
	return expected.sortClause != NIL && equal(stmt, &expected);
}

/* NULL if it is not a column in an order. */
static KeyName *
key_name(const SortBy *by)
{
	KeyName    *key = palloc(sizeof(KeyName));
	ColumnRef  *column = (ColumnRef *) by->node;

	if (!IsA(column, ColumnRef) || list_length(column->fields) != 1 ||
		!IsA(linitial(column->fields), String) || by->sortby_dir == SORTBY_USING)
		return NULL;
	key->name = strVal(linitial(column->fields));
	key->descending = by->sortby_dir == SORTBY_DESC;
	key->nulls_first = by->sortby_nulls == SORTBY_NULLS_DEFAULT ? key->descending :
		by->sortby_nulls == SORTBY_NULLS_FIRST;
	return key;
}

static void
report_bad_value(const char *value)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": %s", ZS_SORT_KEY_OPTION, value),
			 errdetail("A sort key is a list of columns, each with ASC or DESC and NULLS FIRST or NULLS LAST, as in ORDER BY.")));
}

/* The members of the value, as a list of KeyName.  Errors: it is no sort key. */
static List *
parse_key(const char *value)
{
	List	   *result = NIL;
	Node	   *stmt;
	ListCell   *lc;

	if (strspn(value, " \t\n\r\f\v") == strlen(value))
		report_bad_value(value);
	stmt = parse_value(value);
	if (!is_order_alone(stmt))
		report_bad_value(value);
	foreach(lc, ((SelectStmt *) stmt)->sortClause)
	{
		KeyName    *key = key_name(lfirst_node(SortBy, lc));
		ListCell   *lc2;

		if (key == NULL)
			report_bad_value(value);
		foreach(lc2, result)
		{
			if (strcmp(((KeyName *) lfirst(lc2))->name, key->name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" appears twice in option \"%s\"", key->name,
								ZS_SORT_KEY_OPTION)));
		}
		result = lappend(result, key);
	}
	if (list_length(result) > INDEX_MAX_KEYS)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot have more than %d columns in option \"%s\"", INDEX_MAX_KEYS,
						ZS_SORT_KEY_OPTION)));
	return result;
}

/* The value for these members. */
static char *
format_key(List *keys)
{
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, keys)
	{
		KeyName    *key = lfirst(lc);

		appendStringInfo(&text, "%s%s%s", text.len > 0 ? ", " : "", quote_identifier(key->name),
						 key->descending ? " desc" : "");
		if (key->nulls_first != key->descending)
			appendStringInfoString(&text, key->nulls_first ? " nulls first" : " nulls last");
	}
	return text.data;
}

/* See base_internal.h. */
void
zsbase_sort_key_validate(const char *value)
{
	(void) parse_key(value);
}

/* ---- the value among a table's options -------------------------------------- */

/* The place of the option in an array of options; -1 if it is not there.  *value: what it is. */
static int
find_value(Datum options, Datum **elems, int *nelems, char **value)
{
	const char *prefix = ZS_SORT_KEY_OPTION "=";

	Assert(elems != NULL && value != NULL);
	*nelems = 0;
	if (options == (Datum) 0)
		return -1;
	deconstruct_array_builtin(DatumGetArrayTypeP(options), TEXTOID, elems, NULL, nelems);
	for (int i = 0; i < *nelems; i++)
	{
		char	   *setting = TextDatumGetCString((*elems)[i]);

		if (strncmp(setting, prefix, strlen(prefix)) == 0)
		{
			*value = setting + strlen(prefix);
			return i;
		}
	}
	return -1;
}

/* Options with another value of this one; NULL: without it. */
static Datum
replace_value(Datum *elems, int nelems, int place, const char *value)
{
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

/* Why rows cannot be sorted by the column. */
typedef enum KeyFault
{
	KEY_FAULT_NONE,
	KEY_FAULT_MISSING,
	KEY_FAULT_NOT_STORED,
	KEY_FAULT_NO_ORDER
} KeyFault;

static KeyFault
fault_of(Form_pg_attribute att)
{
	if (att->attisdropped || att->attnum <= 0)
		return KEY_FAULT_MISSING;
	if (att->attgenerated != '\0' && att->attgenerated != ATTRIBUTE_GENERATED_STORED)
		return KEY_FAULT_NOT_STORED;
	if (!OidIsValid(lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR)->lt_opr))
		return KEY_FAULT_NO_ORDER;
	return KEY_FAULT_NONE;
}

static void
report_fault(KeyFault fault, const KeyName *key, Oid type)
{
	switch (fault)
	{
		case KEY_FAULT_NONE:
			break;
		case KEY_FAULT_MISSING:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" named in option \"%s\" does not exist", key->name,
							ZS_SORT_KEY_OPTION)));
			break;
		case KEY_FAULT_NOT_STORED:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot sort by virtual generated column \"%s\"", key->name),
					 errhint("Name columns in option \"%s\" that the table stores.",
							 ZS_SORT_KEY_OPTION)));
			break;
		case KEY_FAULT_NO_ORDER:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("could not identify an ordering operator for type %s",
							format_type_be(type)),
					 errdetail("Column \"%s\" is named in option \"%s\".", key->name,
							   ZS_SORT_KEY_OPTION)));
			break;
	}
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
Datum
zsbase_sort_key_check(Oid relid, Datum options, Datum before)
{
	Datum	   *elems;
	Datum	   *elems_before;
	int			nelems;
	int			nelems_before;
	char	   *value;
	char	   *value_before;
	int			place = find_value(options, &elems, &nelems, &value);
	bool		is_new;
	ListCell   *lc;

	if (place < 0)
		return options;
	is_new = find_value(before, &elems_before, &nelems_before, &value_before) < 0 ||
		strcmp(value, value_before) != 0;
	foreach(lc, parse_key(value))
	{
		KeyName    *key = lfirst(lc);
		HeapTuple	tuple = SearchSysCacheAttName(relid, key->name);
		KeyFault	fault = KEY_FAULT_MISSING;
		Oid			type = InvalidOid;

		if (HeapTupleIsValid(tuple))
		{
			fault = fault_of((Form_pg_attribute) GETSTRUCT(tuple));
			type = ((Form_pg_attribute) GETSTRUCT(tuple))->atttypid;
			ReleaseSysCache(tuple);
		}
		if (fault == KEY_FAULT_NONE)
			continue;
		if (is_new)
			report_fault(fault, key, type);
		say_dropped(relid);
		return replace_value(elems, nelems, place, NULL);
	}
	return options;
}

/* ---- columns that change ---------------------------------------------------- */

/* The table's sort key names the column: does it stay, and by which name? */
static void
change_column(Oid relid, const char *name, const char *new_name)
{
	Datum	   *elems;
	int			nelems;
	char	   *value;
	int			place = find_value(zsbase_options_fetch(relid), &elems, &nelems, &value);
	List	   *keys;
	ListCell   *lc;
	bool		found = false;

	Assert(name != NULL);
	if (place < 0)
		return;
	keys = parse_key(value);
	foreach(lc, keys)
	{
		KeyName    *key = lfirst(lc);

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
	zsbase_options_store(relid, replace_value(elems, nelems, place,
											  new_name == NULL ? NULL : format_key(keys)),
						 (Datum) 0);
}

/* The column is about to be dropped: the sort key goes with it. */
void
zsbase_sort_key_column_dropped(Oid relid, AttrNumber attno)
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
zsbase_sort_key_column_altered(Oid relid, AttrNumber attno)
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
		sortable = fault_of(att) == KEY_FAULT_NONE;
	}
	systable_endscan(scan);
	table_close(pg_attribute, AccessShareLock);
	if (!sortable)
		change_column(relid, old_name, NULL);
	else if (strcmp(old_name, new_name) != 0)
		change_column(relid, old_name, new_name);
}

/* ---- the key of a table ----------------------------------------------------- */

static void
set_key(ZsSortKey *key, Form_pg_attribute att, bool descending, bool nulls_first)
{
	TypeCacheEntry *type = lookup_type_cache(att->atttypid,
											 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	Assert(fault_of(att) == KEY_FAULT_NONE);
	key->attno = att->attnum;
	key->descending = descending;
	key->nulls_first = nulls_first;
	key->sortop = descending ? type->gt_opr : type->lt_opr;
	Assert(OidIsValid(key->sortop));
	key->collation = OidIsValid(att->attcollation) ? C_COLLATION_OID : InvalidOid;
}

/* By the index that CLUSTER marked, if it is a B-tree of columns. */
static int
key_of_index(Relation rel, ZsSortKey *keys)
{
	TupleDesc	desc = RelationGetDescr(rel);
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;
	int			nkeys = 0;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (form->indisclustered && form->indisvalid && index->rd_rel->relam == BTREE_AM_OID)
		{
			for (int i = 0; i < form->indnkeyatts; i++)
			{
				AttrNumber	attno = form->indkey.values[i];
				int16		option = index->rd_indoption[i];

				if (attno <= 0 || fault_of(TupleDescAttr(desc, attno - 1)) != KEY_FAULT_NONE)
					break;
				set_key(&keys[nkeys++], TupleDescAttr(desc, attno - 1),
						(option & INDOPTION_DESC) != 0, (option & INDOPTION_NULLS_FIRST) != 0);
			}
		}
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return nkeys;
}

/*
 * What the table's rows are to be sorted by: keys has room for INDEX_MAX_KEYS; returns how many
 * there are, 0 for no order.  with_index: else by the index that CLUSTER marked.  Reads the
 * catalog.
 */
int
zsbase_sort_key(Relation rel, bool with_index, ZsSortKey *keys)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *elems;
	int			nelems;
	char	   *value;
	int			nkeys = 0;
	ListCell   *lc;

	Assert(zsbase_is_zedstore(rel) && keys != NULL);
	if (find_value(zsbase_options_fetch(RelationGetRelid(rel)), &elems, &nelems, &value) < 0)
		return with_index ? key_of_index(rel, keys) : 0;
	foreach(lc, parse_key(value))
	{
		KeyName    *name = lfirst(lc);
		int			i = 0;

		while (i < desc->natts && (TupleDescAttr(desc, i)->attisdropped ||
								   strcmp(NameStr(TupleDescAttr(desc, i)->attname),
										  name->name) != 0))
			i++;
		/* somebody wrote it into the catalog by hand */
		if (i == desc->natts || fault_of(TupleDescAttr(desc, i)) != KEY_FAULT_NONE)
			return 0;
		set_key(&keys[nkeys++], TupleDescAttr(desc, i), name->descending, name->nulls_first);
	}
	return nkeys;
}
