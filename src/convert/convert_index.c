/*-------------------------------------------------------------------------
 *
 * convert_index.c
 *	  The key of a conversion, and indexes of the transient table.
 *
 * For each index of the table the transient table gets one whose file takes its place in the
 * exchange.  What a constraint is made of (unique, exclusion, primary, deferrable) belongs to the
 * catalog row of the table's index, which stays; the file of a unique index is that of any other.
 * So the new ones are plain indexes, which refuse nothing while changes are applied out of order.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/convert/convert_index.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_index.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "convert_internal.h"
#include "zs_compat.h"

/* ---- the key --------------------------------------------------------------------- */

/* Does an index tell each row from all others at any time? */
static bool
is_key(Relation rel, Relation index)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisunique || !form->indimmediate || !form->indisvalid || !form->indisready ||
		index->rd_rel->relam != BTREE_AM_OID ||
		!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		AttrNumber	attno = form->indkey.values[i];

		if (attno <= 0 || !zs_attr_is_not_null(RelationGetDescr(rel), attno - 1))
			return false;
	}
	return true;
}

/*
 * Chooses the index by which rows are found again, the primary key before others, and sets the
 * key's columns.  Error if the table has none.
 */
void
zsconvert_key_choose(ZsConversion *conv, Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);

	foreach_oid(oid, indexes)
	{
		Relation	index = index_open(oid, AccessShareLock);

		if (is_key(rel, index) && (!OidIsValid(conv->key_index) || index->rd_index->indisprimary))
		{
			conv->key_index = oid;
			conv->key.n = index->rd_index->indnkeyatts;
			for (int i = 0; i < conv->key.n; i++)
				conv->key.attnos[i] = index->rd_index->indkey.values[i];
		}
		index_close(index, NoLock);
	}
	list_free(indexes);
	if (!OidIsValid(conv->key_index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no key by which its changes can be followed",
						RelationGetRelationName(rel)),
				 errhint("Add a primary key or a unique index on columns that are NOT NULL, or use ALTER TABLE ... SET ACCESS METHOD.")));
	Assert(conv->key.n > 0);
}

/* ---- indexes ---------------------------------------------------------------------- */

/* Lists the table's indexes, that of the key first. */
void
zsconvert_index_list(ZsConversion *conv, Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	int			n = 0;

	conv->indexes = MemoryContextAllocZero(conv->context, list_length(indexes) * sizeof(Oid));
	conv->new_indexes = MemoryContextAllocZero(conv->context, list_length(indexes) * sizeof(Oid));
	conv->indexes[n++] = conv->key_index;
	foreach_oid(oid, indexes)
	{
		if (oid != conv->key_index)
			conv->indexes[n++] = oid;
	}
	conv->nindexes = n;
	Assert(n == list_length(indexes));
	list_free(indexes);
}

/* A list of expressions from the catalog, as the given attribute of pg_index has it. */
static List *
stored_expressions(HeapTuple tuple, AttrNumber attno)
{
	bool		isnull;
	Datum		datum = SysCacheGetAttr(INDEXRELID, tuple, attno, &isnull);

	return isnull ? NIL : (List *) stringToNode(TextDatumGetCString(datum));
}

/* What a plain index like this one is, for index_create(). */
static IndexInfo *
plain_index_info(Relation index, HeapTuple tuple, List **names)
{
	Form_pg_index form = index->rd_index;
	List	   *predicate = stored_expressions(tuple, Anum_pg_index_indpred);
	IndexInfo  *info;

	/* stored as one expression, wanted as a list */
	if (predicate != NIL)
		predicate = make_ands_implicit((Expr *) predicate);
	info = zs_make_index_info(form->indnatts, form->indnkeyatts, index->rd_rel->relam,
							  stored_expressions(tuple, Anum_pg_index_indexprs), predicate,
							  index->rd_indam->amsummarizing);
	*names = NIL;
	for (int i = 0; i < form->indnatts; i++)
	{
		info->ii_IndexAttrNumbers[i] = form->indkey.values[i];
		*names = lappend(*names, NameStr(TupleDescAttr(RelationGetDescr(index), i)->attname));
	}
	return info;
}

/*
 * Creates and builds the index of the transient table that is to take the place of the table's
 * index number n.  Locks the transient table against writers.
 */
void
zsconvert_index_create(ZsConversion *conv, int n)
{
	Relation	table = table_open(conv->transient, ShareLock);
	Relation	index = index_open(conv->indexes[n], AccessShareLock);
	HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(conv->indexes[n]));
	HeapTuple	class_tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(conv->indexes[n]));
	oidvector  *opclasses;
	int2vector *coloptions;
	Datum	   *opclass_options;
	Datum		options;
	List	   *names;
	IndexInfo  *info;
	char		name[NAMEDATALEN];
	bool		isnull;

	if (!HeapTupleIsValid(tuple) || !HeapTupleIsValid(class_tuple))
		elog(ERROR, "cache lookup failed for index %u", conv->indexes[n]);
	Assert(n >= 0 && n < conv->nindexes && !OidIsValid(conv->new_indexes[n]));
	opclasses = (oidvector *)
		DatumGetPointer(SysCacheGetAttrNotNull(INDEXRELID, tuple, Anum_pg_index_indclass));
	coloptions = (int2vector *)
		DatumGetPointer(SysCacheGetAttrNotNull(INDEXRELID, tuple, Anum_pg_index_indoption));
	options = SysCacheGetAttr(RELOID, class_tuple, Anum_pg_class_reloptions, &isnull);
	info = plain_index_info(index, tuple, &names);
	opclass_options = palloc0(info->ii_NumIndexAttrs * sizeof(Datum));
	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		opclass_options[i] = get_attoptions(conv->indexes[n], i + 1);

	snprintf(name, sizeof(name), "pg_temp_%u_index", conv->indexes[n]);
	conv->new_indexes[n] =
		index_create(table, name, InvalidOid, InvalidOid, InvalidOid, InvalidRelFileNumber, info,
					 names, index->rd_rel->relam, index->rd_rel->reltablespace,
					 index->rd_indcollation, opclasses->values, opclass_options,
					 coloptions->values, NULL, isnull ? (Datum) 0 : options, 0, 0, true, true,
					 NULL);
	if (n == 0)
		conv->new_key_index = conv->new_indexes[n];
	ReleaseSysCache(class_tuple);
	ReleaseSysCache(tuple);
	index_close(index, NoLock);
	table_close(table, NoLock);
}
