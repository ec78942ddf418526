/*-------------------------------------------------------------------------
 *
 * base_options.c
 *	  Options of zedstore tables: their names and values, and where they are stored.
 *
 * Core parses the options of every table by one fixed list that an extension
 * cannot add to: an option registered for the kind "heap" is not among
 * the fields that core fills in, and breaks every CREATE TABLE of the server.
 * What core does allow are unknown entries in pg_class.reloptions: it
 * ignores them when it builds a relcache entry, copies them when it rewrites a
 * table, and psql and pg_dump show them.  It refuses them only in commands that
 * set options.  So our options stand in pg_class.reloptions behind core's
 * own, ddl_utility.c keeps them out of core's sight in these commands, and
 * ddl_options.c writes them, and this file reads them.
 *
 * Nothing here looks at rd_options, which does not have our options.  Instead,
 * what was read is kept in a backend-local hash table by relation OID; storing
 * options updates the table's pg_class row, hence invalidates its relcache
 * entry, which removes it from the hash table too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/syscache.h"

#include "zs_base.h"
#include "zs_base_options.h"
#include "zs_base_sort.h"

/* ---- the options ---------------------------------------------------------- */

/* By ZsOption: name, type, and the least and largest value. */
const ZsOptionDesc zsbase_option_descs[ZS_OPTION_COUNT] = {
	[ZS_OPTION_EXTENSION_FACTOR] = {"zedstore_rel_extension_factor", ZS_OPTION_INT, 1, 65536},
	[ZS_OPTION_COMPRESSION] = {"zedstore_compression", ZS_OPTION_METHOD, 0, 0},
	[ZS_OPTION_COMPRESSION_LEVEL] = {"zedstore_compression_level", ZS_OPTION_INT, 0, 22},
	[ZS_OPTION_SORT_KEY] = {ZS_SORT_KEY_OPTION, ZS_OPTION_KEY, 0, 0},
};

/* Finds the option that "name=value" sets; -1 when it is not ours. */
static int
option_find(const char *text, size_t len)
{
	for (int i = 0; i < ZS_OPTION_COUNT; i++)
	{
		size_t		name_len = strlen(zsbase_option_descs[i].name);

		if (len > name_len && text[name_len] == '=' &&
			strncmp(text, zsbase_option_descs[i].name, name_len) == 0)
			return i;
	}
	return -1;
}

/*
 * The option that an element of a table's options sets, -1 if it is none of ours, and its value, in
 * the current context.
 */
int
zsbase_option_split(Datum element, const char **value)
{
	char	   *setting = TextDatumGetCString(element);
	int			option = option_find(setting, strlen(setting));

	*value = option < 0 ? setting : setting + strlen(zsbase_option_descs[option].name) + 1;
	return option;
}

/* Converts an option's value; false when it is none or out of bounds.  A key is itself. */
bool
zsbase_option_parse(int option, const char *value, int *result)
{
	const ZsOptionDesc *desc = &zsbase_option_descs[option];

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

/* ---- option arrays -------------------------------------------------------- */

/*
 * Appends to "to" those elements of "from" that are ours, or those that are
 * not.
 */
ArrayBuildState *
zsbase_options_accumulate(ArrayBuildState *to, Datum from, bool ours)
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
		int			option = option_find(VARDATA_ANY(elem), VARSIZE_ANY_EXHDR(elem));

		if ((option >= 0) == ours)
			to = accumArrayResult(to, elems[i], false, TEXTOID,
								  CurrentMemoryContext);
	}
	return to;
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
		ours = zsbase_options_accumulate(NULL, stored, true);
	ReleaseSysCache(tuple);

	return ours == NULL ? (Datum) 0 : makeArrayResult(ours, CurrentMemoryContext);
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
		const char *value;
		int			option = zsbase_option_split(elems[i], &value);

		Assert(option >= 0);	/* zsbase_options_fetch() selects ours */
		result->is_set[option] = zsbase_option_parse(option, value, &result->values[option]);
	}
}

/*
 * Options of a zedstore table as stored in pg_class.reloptions, defaults filled in.  Cached; cheap
 * enough for every flush, not for every row.  What is not cached is read from the catalog, so the
 * caller holds no lock on a page.
 */
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
