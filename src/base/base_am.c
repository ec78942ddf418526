/*-------------------------------------------------------------------------
 *
 * base_am.c
 *	  Which tables are zedstore's.
 *
 * A table of ours has the callbacks of our access method.  Modules below the access method cannot
 * name these; they know the address that _PG_init gives to this file, and compare it.  Nothing is
 * called through it.
 *
 * In catalogs an access method is ours when its handler is our C function, whatever it is called.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_am.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "zs_base.h"

/* name of the access method that CREATE EXTENSION makes */
#define ZS_AM_NAME			"zedstore"
/* C symbol of its handler */
#define ZS_HANDLER_SYMBOL	"zedstore_tableam_handler"

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

/*
 * The callbacks of the access method, whose address tells zedstore's tables from others.  For
 * _PG_init.
 */
void
zsbase_set_table_am(const struct TableAmRoutine *routine)
{
	Assert(routine != NULL && table_am == NULL);
	table_am = routine;
}

/* Is this relation stored by the zedstore access method? */
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
