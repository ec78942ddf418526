/*-------------------------------------------------------------------------
 *
 * scan_any.c
 *	  Who may see rows of every kind, dead ones too.
 *
 * A subscription of PostgreSQL 19 with retain_dead_tuples looks for deleted versions of a row that
 * a change is for and that is not there, by scans under SnapshotAny, to tell a conflict
 * update_deleted from update_missing.  update_most_recent_deletion_info() (execReplication.c)
 * takes the slot of such a row for one of heap's, whatever the table's access method, and locks
 * the buffer that it finds there: it must not get one of ours.  So for it there are none, and the
 * conflict is reported as update_missing.
 *
 * Statements of triggers run in the same process.  Scans under SnapshotAny of our own, which copy
 * a table or build an index, therefore say that they are ours.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_any.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "replication/logicalworker.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "scan_desc.h"
#include "zs_compat_am.h"

/*
 * Must a scan of the table under SnapshotAny that is not ours return no row?  Says so in the log,
 * once in the life of a worker.
 */
bool
zsscan_any_is_hidden(Relation rel)
{
	static bool told = false;

	if (!ZS_DELETED_ROWS_ARE_HEAPS || !IsLogicalWorker())
		return false;
	if (!told)
		ereport(LOG,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot tell deleted rows of table \"%s\" from missing ones",
						RelationGetRelationName(rel)),
				 errdetail("PostgreSQL finds the deletions that retain_dead_tuples keeps in tables of access method \"heap\" only."),
				 errhint("Conflicts that would be update_deleted are reported as update_missing.")));
	told = true;
	return true;
}

/* The scan, which has been begun under SnapshotAny and has returned no row, is ours. */
void
zsscan_show_any(TableScanDesc sscan)
{
	((ZsScanDesc) sscan)->hides_any = false;
}
