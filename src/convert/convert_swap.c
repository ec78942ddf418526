/*-------------------------------------------------------------------------
 *
 * convert_swap.c
 *	  The exchange: the table gets the files of the transient table.
 *
 * What it changes in the catalogs is what core's swap_relation_files() (cluster.c) does, which is
 * private to core; finish_heap_swap() would build the indexes anew under the lock.  Table and
 * indexes keep their OIDs, and so everything that hangs on these.
 *
 * Core tells the relation cache that the table's new file was made by this transaction.  Ours
 * was made by an earlier one, and is logged since; nothing must take it for new.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_swap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/heap.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_am.h"
#include "commands/tablecmds.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "convert_internal.h"
#include "zs_base.h"
#include "zs_compat.h"
#include "zs_ddl.h"
#include "zs_write.h"

#define SWAP(type, a, b) \
	do { \
		type		swapped = (a); \
		(a) = (b); \
		(b) = swapped; \
	} while (0)

/* Exchanges what belongs to the files in two rows of pg_class. */
static void
swap_fields(Form_pg_class a, Form_pg_class b)
{
	SWAP(RelFileNumber, a->relfilenode, b->relfilenode);
	SWAP(Oid, a->reltablespace, b->reltablespace);
	SWAP(Oid, a->relam, b->relam);
	SWAP(char, a->relpersistence, b->relpersistence);
	SWAP(Oid, a->reltoastrelid, b->reltoastrelid);
	SWAP(TransactionId, a->relfrozenxid, b->relfrozenxid);
	SWAP(TransactionId, a->relminmxid, b->relminmxid);
	SWAP(int32, a->relpages, b->relpages);
	SWAP(float4, a->reltuples, b->reltuples);
	SWAP(int32, a->relallvisible, b->relallvisible);
	zs_swap_all_frozen(a, b);
}

/* The table depends on its access method. */
static void
change_access_method(Oid relid, Oid from, Oid to)
{
	if (changeDependencyFor(RelationRelationId, relid, AccessMethodRelationId, from, to) != 1)
		elog(ERROR, "could not change access method dependency for relation %u", relid);
}

/* The TOAST table, if there is one, belongs to relid from now on. */
static void
change_toast_owner(Oid toast, Oid relid)
{
	ObjectAddress table;
	ObjectAddress toast_table;

	if (!OidIsValid(toast))
		return;
	if (deleteDependencyRecordsFor(RelationRelationId, toast, false) != 1)
		elog(ERROR, "expected one dependency record for TOAST table %u", toast);
	ObjectAddressSet(toast_table, RelationRelationId, toast);
	ObjectAddressSet(table, RelationRelationId, relid);
	recordDependencyOn(&toast_table, &table, DEPENDENCY_INTERNAL);
}

/* Exchanges the files of two relations, which are locked against everybody. */
static void
swap_files(Relation catalog, Oid a, Oid b)
{
	HeapTuple	tuple_a = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(a));
	HeapTuple	tuple_b = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(b));
	Form_pg_class form_a;
	Form_pg_class form_b;
	CatalogIndexState state;

	if (!HeapTupleIsValid(tuple_a) || !HeapTupleIsValid(tuple_b))
		elog(ERROR, "cache lookup failed for relation %u or %u", a, b);
	Assert(CheckRelationOidLockedByMe(a, AccessExclusiveLock, false));
	Assert(CheckRelationOidLockedByMe(b, AccessExclusiveLock, false));
	form_a = (Form_pg_class) GETSTRUCT(tuple_a);
	form_b = (Form_pg_class) GETSTRUCT(tuple_b);
	if (!RelFileNumberIsValid(form_a->relfilenode) || !RelFileNumberIsValid(form_b->relfilenode))
		elog(ERROR, "cannot exchange mapped relations");
	swap_fields(form_a, form_b);

	state = CatalogOpenIndexes(catalog);
	CatalogTupleUpdateWithInfo(catalog, &tuple_a->t_self, tuple_a, state);
	CatalogTupleUpdateWithInfo(catalog, &tuple_b->t_self, tuple_b, state);
	CatalogCloseIndexes(state);

	if (form_a->relam != form_b->relam)
	{
		change_access_method(a, form_b->relam, form_a->relam);
		change_access_method(b, form_a->relam, form_b->relam);
	}
	change_toast_owner(form_a->reltoastrelid, a);
	change_toast_owner(form_b->reltoastrelid, b);
	InvokeObjectPostAlterHookArg(RelationRelationId, a, 0, InvalidOid, false);
	InvokeObjectPostAlterHookArg(RelationRelationId, b, 0, InvalidOid, true);
	heap_freetuple(tuple_a);
	heap_freetuple(tuple_b);
}

/*
 * Exchanges the files of the table and its indexes for those of the transient table.  The caller
 * holds AccessExclusiveLock on all of them.
 */
void
zsconvert_swap(ZsConversion *conv)
{
	Relation	rel = table_open(conv->relid, NoLock);
	Relation	catalog;

	CheckTableNotInUse(rel, "zs_convert");

	/* predicate locks on rows and pages mean nothing in another file */
	TransferPredicateLocksToHeapRelation(rel);
	table_close(rel, NoLock);

	/* rows that wait to be written are for the file that the transient table has now */
	zswrite_flush_all();

	zsddl_options_store(conv->relid, conv->to_zedstore ? conv->options : (Datum) 0, (Datum) 0);
	catalog = table_open(RelationRelationId, RowExclusiveLock);
	swap_files(catalog, conv->relid, conv->transient);
	for (int i = 0; i < conv->nindexes; i++)
		swap_files(catalog, conv->indexes[i], conv->new_indexes[i]);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();

	/* each row has all columns now */
	rel = table_open(conv->relid, NoLock);
	RelationClearMissing(rel);
	Assert(rel->rd_rel->relam == conv->method);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

/*
 * Gives the TOAST table of a table that was converted, if it has one, the name that it would have
 * from the beginning.  Nothing depends on it.
 */
void
zsconvert_rename_toast(Oid relid)
{
	Relation	rel = table_open(relid, AccessShareLock);
	Oid			toast = rel->rd_rel->reltoastrelid;
	char		name[NAMEDATALEN];

	table_close(rel, NoLock);
	if (!OidIsValid(toast))
		return;
	snprintf(name, sizeof(name), "pg_toast_%u", relid);
	RenameRelationInternal(toast, name, true, false);
	snprintf(name, sizeof(name), "pg_toast_%u_index", relid);
	RenameRelationInternal(toast_get_valid_index(toast, AccessExclusiveLock), name, true, true);
}
