/*-------------------------------------------------------------------------
 *
 * inspect_version.c
 *	  zs_version: what is loaded, and what the database has of it.
 *
 * After an upgrade the library is new with the restart of the server, the SQL
 * objects with ALTER EXTENSION UPDATE in each database.  This tells both.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/inspect_version.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_extension.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "inspect_internal.h"

PG_FUNCTION_INFO_V1(zs_version);

/* Version of the extension in this database as text, *isnull if it is not created here. */
static Datum
extension_version(bool *isnull)
{
	Relation	catalog = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Datum		version = (Datum) 0;

	*isnull = true;
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum("zedstore_io"));
	scan = systable_beginscan(catalog, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		version = heap_getattr(tuple, Anum_pg_extension_extversion, RelationGetDescr(catalog),
							   isnull);
		if (!*isnull)
			version = PointerGetDatum(DatumGetTextPCopy(version));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return version;
}

/* zs_version(): see docs/inspection.md. */
Datum
zs_version(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Datum		values[3];
	bool		nulls[3] = {0};
	int			n = 0;

	zsbase_srf_init(fcinfo, lengthof(values));
	values[n++] = CStringGetTextDatum(ZS_VERSION);
	values[n] = extension_version(&nulls[n]);
	n++;
	values[n++] = Int32GetDatum(ZS_FORMAT_VERSION);
	Assert(n == lengthof(values));
	zsinspect_put(rsinfo, values, nulls);
	return (Datum) 0;
}
