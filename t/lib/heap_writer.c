/*-------------------------------------------------------------------------
 *
 * heap_writer.c
 *	  For t/beside_foreign_writes.pl, which builds it: functions that treat tables as libraries do
 *	  that know of no access method but heap.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/heap_writer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/regproc.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(heap_writer_insert);
PG_FUNCTION_INFO_V1(heap_writer_create);

/*
 * heap_writer_insert(table regclass, first int, nrows int): inserts rows by heap_insert(), with an
 * integer in the first column.
 */
Datum
heap_writer_insert(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), RowExclusiveLock);

	for (int i = 0; i < PG_GETARG_INT32(2); i++)
	{
		Datum		values[MaxHeapAttributeNumber] = {Int32GetDatum(PG_GETARG_INT32(1) + i)};
		bool		nulls[MaxHeapAttributeNumber];
		HeapTuple	tuple;

		memset(nulls, true, sizeof(nulls));
		nulls[0] = false;
		tuple = heap_form_tuple(RelationGetDescr(rel), values, nulls);
		heap_insert(rel, tuple, GetCurrentCommandId(true), 0, NULL);
		heap_freetuple(tuple);
	}
	table_close(rel, NoLock);
	PG_RETURN_VOID();
}

/*
 * heap_writer_create(name text, access_method text, parent text): a table made without a statement,
 * with one column a, or with those of the parent if there is one.  NULL stands for the default
 * access method.
 */
Datum
heap_writer_create(PG_FUNCTION_ARGS)
{
	CreateStmt *stmt = makeNode(CreateStmt);
	ObjectAddress address;

	stmt->relation =
		makeRangeVarFromNameList(stringToQualifiedNameList(text_to_cstring(PG_GETARG_TEXT_PP(0)),
														   NULL));
	if (!PG_ARGISNULL(1))
		stmt->accessMethod = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (PG_ARGISNULL(2))
		stmt->tableElts = list_make1(makeColumnDef("a", INT4OID, -1, InvalidOid));
	else
		stmt->inhRelations =
			list_make1(makeRangeVar(NULL, text_to_cstring(PG_GETARG_TEXT_PP(2)), -1));
	stmt->oncommit = ONCOMMIT_NOOP;
	address = DefineRelation(stmt, RELKIND_RELATION, GetUserId(), NULL, NULL);
	CommandCounterIncrement();
	PG_RETURN_OID(address.objectId);
}
