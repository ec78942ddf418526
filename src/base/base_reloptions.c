/*-------------------------------------------------------------------------
 *
 * base_reloptions.c
 *	  Options of zedstore tables: their names and values, where they are
 *	  stored, and which tables have them.
 *
 * Core parses the options of every table by one fixed list that an extension
 * cannot add to: an option registered for the kind "heap" is not among
 * the fields that core fills in, and breaks every CREATE TABLE of the server.
 * What core does allow are unknown entries in pg_class.reloptions: it
 * ignores them when it builds a relcache entry, copies them when it rewrites a
 * table, and psql and pg_dump show them.  It refuses them only in commands that
 * set options.  So our options stand in pg_class.reloptions behind core's
 * own, base_utility.c keeps them out of core's sight in these commands, and
 * this file reads them.
 *
 * Nothing here looks at rd_options, which does not have our options.  Instead,
 * what was read is kept in a backend-local hash table by relation OID; storing
 * options updates the table's pg_class row, hence invalidates its relcache
 * entry, which removes it from the hash table too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_reloptions.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "base_internal.h"
#include "zs_base.h"
#include "zs_base_sort.h"

/* ---- the options ---------------------------------------------------------- */

/* name of the access method that CREATE EXTENSION makes */
#define ZS_AM_NAME			"zedstore"
/* C symbol of its handler */
#define ZS_HANDLER_SYMBOL	"zedstore_tableam_handler"

/* index of option_descs and of what is kept per option */
typedef enum ZsOptionId
{
	ZS_OPTION_EXTENSION_FACTOR,
	ZS_OPTION_COMPRESSION,
	ZS_OPTION_COMPRESSION_LEVEL,
	ZS_OPTION_SORT_KEY,
} ZsOptionId;

#define ZS_OPTION_COUNT	(ZS_OPTION_SORT_KEY + 1)

typedef enum ZsOptionType
{
	ZS_OPTION_INVALID,
	ZS_OPTION_INT,
	ZS_OPTION_METHOD,			/* of compression */
	ZS_OPTION_KEY,				/* base_sort_key.c */
} ZsOptionType;

/* min and max are those of integers */
typedef struct ZsOptionDesc
{
	const char *name;
	ZsOptionType type;
	int			min;
	int			max;
} ZsOptionDesc;

static const ZsOptionDesc option_descs[ZS_OPTION_COUNT] = {
	[ZS_OPTION_EXTENSION_FACTOR] = {"zedstore_rel_extension_factor", ZS_OPTION_INT, 1, 65536},
	[ZS_OPTION_COMPRESSION] = {"zedstore_compression", ZS_OPTION_METHOD, 0, 0},
	[ZS_OPTION_COMPRESSION_LEVEL] = {"zedstore_compression_level", ZS_OPTION_INT, 0, 22},
	[ZS_OPTION_SORT_KEY] = {ZS_SORT_KEY_OPTION, ZS_OPTION_KEY, 0, 0},
};

/* Finds the option that "name=value" sets; -1 when it is not ours. */
static int
find_option(const char *text, size_t len)
{
	for (int i = 0; i < ZS_OPTION_COUNT; i++)
	{
		size_t		name_len = strlen(option_descs[i].name);

		if (len > name_len && text[name_len] == '=' &&
			strncmp(text, option_descs[i].name, name_len) == 0)
			return i;
	}
	return -1;
}

/* Converts an option's value; false when it is none or out of bounds.  A key is itself. */
static bool
parse_value(int option, const char *value, int *result)
{
	const ZsOptionDesc *desc = &option_descs[option];

	Assert(option >= 0 && option < ZS_OPTION_COUNT);

	*result = 0;
	if (desc->type == ZS_OPTION_KEY)
		return true;
	if (desc->type == ZS_OPTION_INT)
		return parse_int(value, result, 0, NULL) &&
			*result >= desc->min && *result <= desc->max;

	if (pg_strcasecmp(value, "none") == 0)
		*result = ZS_COMPRESSION_NONE;
	else if (pg_strcasecmp(value, "lz4") == 0)
		*result = ZS_COMPRESSION_LZ4;
	else if (pg_strcasecmp(value, "zstd") == 0)
		*result = ZS_COMPRESSION_ZSTD;
	else
		return false;
	return true;
}

/* Raises the error that core would raise for this value of such an option. */
static void
report_bad_value(int option, const char *value)
{
	const ZsOptionDesc *desc = &option_descs[option];
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

/* ---- option arrays -------------------------------------------------------- */

/* Is this element of WITH (...) or SET (...) one of our options? */
bool
zsbase_options_is_ours(const DefElem *def)
{
	Assert(def->defname != NULL);

	if (def->defnamespace != NULL)
		return false;
	for (int i = 0; i < ZS_OPTION_COUNT; i++)
		if (strcmp(def->defname, option_descs[i].name) == 0)
			return true;
	return false;
}

/* A list of DefElem that names all our options, as RESET takes it. */
List *
zsbase_options_all_names(void)
{
	List	   *names = NIL;

	for (int i = 0; i < ZS_OPTION_COUNT; i++)
		names = lappend(names, makeDefElem(pstrdup(option_descs[i].name), NULL, -1));
	return names;
}

/*
 * Checks options that one command gives.  All of them must be ours.  Raises
 * core's errors for a wrong value and for an option that is given twice.
 */
void
zsbase_options_validate(Datum options)
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
		char	   *setting = TextDatumGetCString(elems[i]);
		int			option = find_option(setting, strlen(setting));
		const char *value;
		int			result;

		if (option < 0)
			elog(ERROR, "unexpected table option \"%s\"", setting);
		if (seen[option])
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("parameter \"%s\" specified more than once",
							option_descs[option].name)));
		seen[option] = true;

		value = setting + strlen(option_descs[option].name) + 1;
		if (!parse_value(option, value, &result))
			report_bad_value(option, value);
		if (option == ZS_OPTION_SORT_KEY)
			zsbase_sort_key_validate(value);
	}
}

/*
 * Appends to "to" those elements of "from" that are ours, or those that are
 * not.
 */
static ArrayBuildState *
accumulate_options(ArrayBuildState *to, Datum from, bool ours)
{
	Datum	   *elems;
	int			nelems;

	if (from == (Datum) 0)
		return to;

	deconstruct_array_builtin(DatumGetArrayTypeP(from), TEXTOID,
							  &elems, NULL, &nelems);
	for (int i = 0; i < nelems; i++)
	{
		text	   *elem = DatumGetTextPP(elems[i]);
		int			option = find_option(VARDATA_ANY(elem),
										 VARSIZE_ANY_EXHDR(elem));

		if ((option >= 0) == ours)
			to = accumArrayResult(to, elems[i], false, TEXTOID,
								  CurrentMemoryContext);
	}
	return to;
}

static Datum
finish_options(ArrayBuildState *astate)
{
	return astate == NULL ? (Datum) 0 :
		makeArrayResult(astate, CurrentMemoryContext);
}

/*
 * Our options of a table as stored, (Datum) 0 if it has none or does not
 * exist.  The result is palloc'd.
 */
Datum
zsbase_options_fetch(Oid relid)
{
	HeapTuple	tuple;
	Datum		stored;
	bool		isnull;
	ArrayBuildState *ours = NULL;

	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tuple))
		return (Datum) 0;

	stored = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	if (!isnull)
		ours = accumulate_options(NULL, stored, true);
	ReleaseSysCache(tuple);

	return finish_options(ours);
}

/*
 * Replaces our options of a table in pg_class.reloptions, behind core's own,
 * which stay, and makes the change visible to this command.  before: what the table had so far, of
 * which a sort key that does not fit any more is dropped.
 *
 * The caller created the table or holds ShareUpdateExclusiveLock or more on it
 * and has checked permissions.  Does nothing if the table is gone.
 */
void
zsbase_options_store(Oid relid, Datum options, Datum before)
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
	options = zsbase_sort_key_check(relid, options, before);
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
		merged = accumulate_options(NULL, stored, false);
	merged = accumulate_options(merged, options, true);

	values[Anum_pg_class_reloptions - 1] = finish_options(merged);
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

/* ---- reading, with a cache ------------------------------------------------ */

typedef struct ZsCachedOptions
{
	Oid			relid;			/* hash key, must be first */
	bool		is_set[ZS_OPTION_COUNT];
	int			values[ZS_OPTION_COUNT];
} ZsCachedOptions;

static HTAB *options_cache = NULL;

/* Listener to the relation cache: forgets one table, or all for InvalidOid. */
static void
forget_options(Oid relid)
{
	if (OidIsValid(relid))
		(void) hash_search(options_cache, &relid, HASH_REMOVE, NULL);
	else
	{
		HASH_SEQ_STATUS status;
		ZsCachedOptions *entry;

		hash_seq_init(&status, options_cache);
		while ((entry = hash_seq_search(&status)) != NULL)
			(void) hash_search(options_cache, &entry->relid, HASH_REMOVE, NULL);
	}
}

static void
create_options_cache(void)
{
	HASHCTL		ctl = {0};

	Assert(options_cache == NULL);
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(ZsCachedOptions);
	options_cache = hash_create("zedstore table options", 64, &ctl,
								HASH_ELEM | HASH_BLOBS);
	zsbase_listen_relcache(forget_options);
}

/*
 * Reads a table's options from the catalog.  Values were checked when they were
 * stored; one that makes no sense nevertheless counts as not set.
 */
static void
read_options(Oid relid, ZsCachedOptions *result)
{
	Datum		options = zsbase_options_fetch(relid);
	Datum	   *elems;
	int			nelems;

	Assert(OidIsValid(relid));
	memset(result, 0, sizeof(ZsCachedOptions));
	result->relid = relid;
	if (options == (Datum) 0)
		return;

	deconstruct_array_builtin(DatumGetArrayTypeP(options), TEXTOID,
							  &elems, NULL, &nelems);
	for (int i = 0; i < nelems; i++)
	{
		char	   *setting = TextDatumGetCString(elems[i]);
		int			option = find_option(setting, strlen(setting));
		const char *value;

		Assert(option >= 0);	/* zsbase_options_fetch() selects ours */
		value = setting + strlen(option_descs[option].name) + 1;
		result->is_set[option] = parse_value(option, value,
											 &result->values[option]);
	}
}

/* See zs_base.h. */
void
zsbase_table_options(Relation rel, ZsTableOptions *options)
{
	Oid			relid = RelationGetRelid(rel);
	ZsCachedOptions *entry;

	Assert(IsTransactionState());

	if (options_cache == NULL)
		create_options_cache();

	entry = hash_search(options_cache, &relid, HASH_FIND, NULL);
	if (entry == NULL)
	{
		ZsCachedOptions fresh;

		/*
		 * this may wait for a lock on pg_class, whose holder may wait for a page that the caller
		 * has locked
		 */
		Assert(InterruptHoldoffCount == 0);

		/*
		 * Reading may process invalidations, so enter the result afterwards;
		 * between the two nothing looks at the catalogs.
		 */
		read_options(relid, &fresh);
		entry = hash_search(options_cache, &relid, HASH_ENTER, NULL);
		*entry = fresh;
	}

	options->rel_extension_factor =
		entry->is_set[ZS_OPTION_EXTENSION_FACTOR] ?
		entry->values[ZS_OPTION_EXTENSION_FACTOR] : 0;
	options->compression = (ZsCompression)
		(entry->is_set[ZS_OPTION_COMPRESSION] ?
		 entry->values[ZS_OPTION_COMPRESSION] : zs_default_compression);
	options->compression_level =
		entry->is_set[ZS_OPTION_COMPRESSION_LEVEL] ?
		entry->values[ZS_OPTION_COMPRESSION_LEVEL] : 0;
	options->has_sort_key = entry->is_set[ZS_OPTION_SORT_KEY];
}

/* ---- which tables --------------------------------------------------------- */

/*
 * callbacks of zedstore's tables; modules below the access method know them by their address only
 */
static const struct TableAmRoutine *table_am = NULL;

/* an access method known to be ours, InvalidOid = none known */
static Oid	known_amoid = InvalidOid;

/* Syscache callback on pg_am. */
static void
forget_access_method(Datum arg, int cacheid, uint32 hashvalue)
{
	known_amoid = InvalidOid;
}

/* See zs_base.h. */
void
zsbase_set_table_am(const struct TableAmRoutine *routine)
{
	Assert(routine != NULL && table_am == NULL);
	table_am = routine;
}

/* See zs_base.h. */
bool
zsbase_is_zedstore(Relation rel)
{
	Assert(table_am != NULL);
	return rel->rd_tableam == table_am;
}

/*
 * An access method is ours when its handler is our C function, whatever the
 * access method is called.  Needs a transaction.
 */
bool
zsbase_is_zedstore_am(Oid amoid)
{
	static bool callback_registered = false;
	HeapTuple	am;
	HeapTuple	handler;
	bool		result = false;

	Assert(IsTransactionState());

	if (!OidIsValid(amoid) || amoid == HEAP_TABLE_AM_OID)
		return false;
	if (amoid == known_amoid)
		return true;

	if (!callback_registered)
	{
		CacheRegisterSyscacheCallback(AMOID, forget_access_method, (Datum) 0);
		callback_registered = true;
	}

	am = SearchSysCache1(AMOID, ObjectIdGetDatum(amoid));
	if (!HeapTupleIsValid(am))
		return false;

	handler = SearchSysCache1(PROCOID,
							  ObjectIdGetDatum(((Form_pg_am) GETSTRUCT(am))->amhandler));
	if (HeapTupleIsValid(handler))
	{
		if (((Form_pg_proc) GETSTRUCT(handler))->prolang == ClanguageId)
		{
			Datum		prosrc = SysCacheGetAttrNotNull(PROCOID, handler,
														Anum_pg_proc_prosrc);

			result = strcmp(TextDatumGetCString(prosrc), ZS_HANDLER_SYMBOL) == 0;
		}
		ReleaseSysCache(handler);
	}
	ReleaseSysCache(am);

	if (result)
		known_amoid = amoid;
	return result;
}

/*
 * Is the extension created in this database?  Needs a transaction.
 */
bool
zsbase_is_installed(void)
{
	return zsbase_is_zedstore_am(get_am_oid(ZS_AM_NAME, true));
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
zsbase_options_allowed(char relkind, Oid amoid)
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
