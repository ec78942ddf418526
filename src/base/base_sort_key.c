/*-------------------------------------------------------------------------
 *
 * base_sort_key.c
 *	  The order that a table's rows are to be written in: the option zedstore_sort_key.
 *
 * The option is what stands behind ORDER BY, with nothing but columns: core's parser reads it.
 * Names of columns are stored, so that pg_dump has them; what becomes of them when columns change
 * is a matter of ddl_sort_key.c.
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
#include "catalog/pg_am_d.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_index.h"
#include "nodes/parsenodes.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "zs_base.h"
#include "zs_base_options.h"
#include "zs_base_sort.h"
#include "zs_compat.h"

/* What the parser is given in front of the option's value. */
#define BEFORE_KEY		"SELECT ORDER BY "

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
static ZsSortKeyName *
key_name(const SortBy *by)
{
	ZsSortKeyName *key = palloc(sizeof(ZsSortKeyName));
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

/* The members of the value, as a list of ZsSortKeyName.  Errors: it is no sort key. */
List *
zsbase_sort_key_parse(const char *value)
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
		ZsSortKeyName *key = key_name(lfirst_node(SortBy, lc));
		ListCell   *lc2;

		if (key == NULL)
			report_bad_value(value);
		foreach(lc2, result)
		{
			if (strcmp(((ZsSortKeyName *) lfirst(lc2))->name, key->name) == 0)
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

/* ---- the value among a table's options -------------------------------------- */

/* The place of the option in an array of options; -1 if it is not there.  *value: what it is. */
int
zsbase_sort_key_find(Datum options, Datum **elems, int *nelems, char **value)
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

/* Can rows be sorted by the column, and if not, why?  Reads the type cache. */
ZsSortKeyFault
zsbase_sort_key_fault(Form_pg_attribute att)
{
	if (att->attisdropped || att->attnum <= 0)
		return ZS_KEY_FAULT_MISSING;
	if (!zs_attr_is_stored(att))
		return ZS_KEY_FAULT_NOT_STORED;
	if (!OidIsValid(lookup_type_cache(att->atttypid, TYPECACHE_LT_OPR)->lt_opr))
		return ZS_KEY_FAULT_NO_ORDER;
	return ZS_KEY_FAULT_NONE;
}

/*
 * Raises the error of a key's column that is not fit for one; none: nothing.  type: of the column,
 * if there is one.
 */
void
zsbase_sort_key_report(ZsSortKeyFault fault, const char *name, Oid type)
{
	switch (fault)
	{
		case ZS_KEY_FAULT_NONE:
			break;
		case ZS_KEY_FAULT_MISSING:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" named in option \"%s\" does not exist", name,
							ZS_SORT_KEY_OPTION)));
			break;
		case ZS_KEY_FAULT_NOT_STORED:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot sort by virtual generated column \"%s\"", name),
					 errhint("Name columns in option \"%s\" that the table stores.",
							 ZS_SORT_KEY_OPTION)));
			break;
		case ZS_KEY_FAULT_NO_ORDER:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("could not identify an ordering operator for type %s",
							format_type_be(type)),
					 errdetail("Column \"%s\" is named in option \"%s\".", name,
							   ZS_SORT_KEY_OPTION)));
			break;
	}
}

/* ---- the key of a table ----------------------------------------------------- */

static void
set_key(ZsSortKey *key, Form_pg_attribute att, bool descending, bool nulls_first)
{
	TypeCacheEntry *type = lookup_type_cache(att->atttypid,
											 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	Assert(zsbase_sort_key_fault(att) == ZS_KEY_FAULT_NONE);
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

				if (attno <= 0 ||
					zsbase_sort_key_fault(TupleDescAttr(desc, attno - 1)) != ZS_KEY_FAULT_NONE)
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
 * The value as keys of a table with these columns; how many there are.  *fault: what the first
 * column that is not fit for a key has, which *name and *type tell.
 */
static int
resolve_key(TupleDesc desc, const char *value, ZsSortKey *keys, ZsSortKeyFault *fault,
			const char **name, Oid *type)
{
	int			nkeys = 0;
	ListCell   *lc;

	*fault = ZS_KEY_FAULT_NONE;
	foreach(lc, zsbase_sort_key_parse(value))
	{
		ZsSortKeyName *key = lfirst(lc);
		int			i = 0;

		while (i < desc->natts && (TupleDescAttr(desc, i)->attisdropped ||
								   strcmp(NameStr(TupleDescAttr(desc, i)->attname),
										  key->name) != 0))
			i++;
		*name = key->name;
		*type = i == desc->natts ? InvalidOid : TupleDescAttr(desc, i)->atttypid;
		*fault = i == desc->natts ? ZS_KEY_FAULT_MISSING :
			zsbase_sort_key_fault(TupleDescAttr(desc, i));
		if (*fault != ZS_KEY_FAULT_NONE)
			return 0;
		set_key(&keys[nkeys++], TupleDescAttr(desc, i), key->descending, key->nulls_first);
	}
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
	int			nkeys;
	ZsSortKeyFault fault;
	const char *name;
	Oid			type;

	Assert(zsbase_is_zedstore(rel) && keys != NULL);
	if (zsbase_sort_key_find(zsbase_options_fetch(RelationGetRelid(rel)), &elems, &nelems,
							 &value) < 0)
		return with_index ? key_of_index(rel, keys) : 0;
	nkeys = resolve_key(desc, value, keys, &fault, &name, &type);
	/* somebody wrote it into the catalog by hand */
	return fault == ZS_KEY_FAULT_NONE ? nkeys : 0;
}

/*
 * The same for a value of the option that the table does not have.  Errors: it is no sort key, or
 * does not fit the table.
 */
int
zsbase_sort_key_of(Relation rel, const char *value, ZsSortKey *keys)
{
	ZsSortKeyFault fault;
	const char *name;
	Oid			type;
	int			nkeys = resolve_key(RelationGetDescr(rel), value, keys, &fault, &name, &type);

	zsbase_sort_key_report(fault, name, type);
	return nkeys;
}

/*
 * Begins a sort of rows of desc by the keys, whose attno is the place of the column there, with so
 * many kB of memory.  The caller ends it.
 */
Tuplesortstate *
zsbase_sort_begin(TupleDesc desc, const ZsSortKey *keys, int nkeys, int memory)
{
	AttrNumber	attnos[INDEX_MAX_KEYS];
	Oid			sortops[INDEX_MAX_KEYS];
	Oid			collations[INDEX_MAX_KEYS];
	bool		nulls_first[INDEX_MAX_KEYS];

	Assert(nkeys > 0 && nkeys <= INDEX_MAX_KEYS);
	for (int i = 0; i < nkeys; i++)
	{
		Assert(keys[i].attno > 0 && keys[i].attno <= desc->natts);
		attnos[i] = keys[i].attno;
		sortops[i] = keys[i].sortop;
		collations[i] = keys[i].collation;
		nulls_first[i] = keys[i].nulls_first;
	}
	return tuplesort_begin_heap(desc, nkeys, attnos, sortops, collations, nulls_first, memory, NULL,
								TUPLESORT_NONE);
}
