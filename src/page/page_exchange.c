/*-------------------------------------------------------------------------
 *
 * page_exchange.c
 *	  Files that change hands between tables of different access methods.
 *
 * pg_repack writes a table's rows into a new one and then exchanges the numbers of the files of
 * both in pg_class, but not the access methods.  It makes the new table by the session's default.
 * If that is another access method than the table's, each of the two is left with a file that it
 * cannot read, and with the new table the rows go that could be read.
 *
 * So before a transaction commits we look for tables whose file number in pg_class is another than
 * before the transaction, without core having given them a new file.  The first block of such a
 * file must be what the access method writes, or the transaction fails.
 *
 * Candidates are tables of which the transaction has changed the definition while it had them
 * locked against everybody; they are noted when their relcache entries are invalidated.  For
 * each one pg_class is read as it was before the transaction.
 *
 * Locks: none but those that the transaction has; block 0 is locked shared.  No WAL.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_exchange.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "page_internal.h"
#include "zs_page.h"

/* OIDs of the candidates, in the transaction's memory; NULL = none */
static HTAB *candidates = NULL;

/* Notes a table of which this transaction may have changed the definition. */
static void
note_candidate(Oid relid)
{
	if (!OidIsValid(relid) || !IsTransactionState() || IsParallelWorker() ||
		!CheckRelationOidLockedByMe(relid, AccessExclusiveLock, false))
		return;

	if (candidates == NULL)
	{
		HASHCTL		ctl = {
			.keysize = sizeof(Oid),
			.entrysize = sizeof(Oid),
			.hcxt = TopTransactionContext,
		};

		candidates = hash_create("zedstore: tables to be altered", 32, &ctl,
								 HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(candidates, &relid, HASH_ENTER, NULL);
}

/* A table's file number before this transaction; InvalidRelFileNumber if it is new. */
static RelFileNumber
number_before(Relation pg_class, Snapshot before, Oid relid)
{
	RelFileNumber result = InvalidRelFileNumber;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, before, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		result = ((Form_pg_class) GETSTRUCT(tuple))->relfilenode;
	systable_endscan(scan);
	return result;
}

/* Raises an error if a table's file is not one that its access method writes. */
static void
check_file(Relation rel)
{
	bool		ours = zsbase_is_zedstore_am(rel->rd_rel->relam);

	if (zspage_physical_blocks(rel) == 0 || zspage_has_our_page(rel, 0) == ours)
		return;

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot get a file that its access method \"%s\" has not written",
					RelationGetRelationName(rel), get_am_name(rel->rd_rel->relam)),
			 errdetail("This transaction exchanges the files of two tables of different access methods."),
			 errhint("If the tool that does so makes one of them by default, set \"default_table_access_method\" to \"%s\" for it.",
					 get_am_name(rel->rd_rel->relam))));
}

/* Looks at all candidates. */
static void
check_candidates(void)
{
	HASH_SEQ_STATUS status;
	Relation	pg_class;
	Snapshot	before;
	Oid		   *relid;

	if (candidates == NULL || !zsbase_is_installed())
		return;

	pg_class = table_open(RelationRelationId, AccessShareLock);
	before = RegisterSnapshot(GetLatestSnapshot());
	before->curcid = FirstCommandId;

	hash_seq_init(&status, candidates);
	while ((relid = hash_seq_search(&status)) != NULL)
	{
		Relation	rel;
		RelFileNumber number;

		/* not if it was given back with a subtransaction */
		if (!CheckRelationOidLockedByMe(*relid, AccessExclusiveLock, false))
			continue;
		rel = try_relation_open(*relid, NoLock);
		if (rel == NULL)
			continue;
		if (RELKIND_HAS_TABLE_AM(rel->rd_rel->relkind) &&
			rel->rd_firstRelfilelocatorSubid == InvalidSubTransactionId)
		{
			number = number_before(pg_class, before, *relid);
			if (RelFileNumberIsValid(number) && number != rel->rd_rel->relfilenode)
				check_file(rel);
		}
		relation_close(rel, NoLock);
	}

	UnregisterSnapshot(before);
	table_close(pg_class, AccessShareLock);
}

/*
 * A step of transaction callbacks: checks before a commit what has been exchanged, and forgets it
 * at the end.
 */
void
zspage_exchange_transaction(XactEvent event)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			check_candidates();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			/* the memory goes with the transaction's */
			candidates = NULL;
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
			break;
	}
}

/*
 * Has transactions fail that exchange the files of two tables of which one is
 * ours (page_exchange.c). For _PG_init.
 */
void
zspage_exchange_init(void)
{
	zsbase_listen_relcache(note_candidate);
}
