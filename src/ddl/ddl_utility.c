/*-------------------------------------------------------------------------
 *
 * ddl_utility.c
 *	  Takes the options of zedstore tables out of the commands that give them.
 *
 * Core validates the complete list of options whenever a command creates a
 * table or sets or resets options, and refuses ours as unrecognized.  Two
 * steps of hooks (src/hooks.c) keep them apart: that of ProcessUtility changes a copy of the
 * command before core sees it (ddl_command.c), the object access hook acts while
 * core executes it: it stores the options of a new table, when the table is in
 * the catalogs and before it holds a row.
 *
 * When an ALTER command rewrites the table, core copies the options of the
 * catalog to the transient table that receives the rows, at a time when ours
 * are out.  There the object access hook sees the transient table and gives
 * it the options that are about to be put back.
 *
 * The rewrite of a table that leaves gives the new file a TOAST table only if
 * the old one has one, and zedstore tables have none.  Core looks whether a table
 * needs a TOAST table after the catalog changes of ALTER TABLE and before the
 * rewrite; zsddl_leaving_for() tells our callback then to answer for the
 * access method to come.
 *
 * Commands that run inside others (event triggers, functions called by CREATE
 * TABLE AS, parts of CREATE SCHEMA, sequences of serial columns) pass
 * through the ProcessUtility hook themselves; current_command is the innermost.
 *
 * Which access method new tables may get is a matter of ddl_creation.c; the
 * steps here ask it.
 *
 * In databases without the extension every command passes unchanged.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_utility.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "tcop/utility.h"

#include "ddl_command.h"
#include "ddl_internal.h"
#include "zs_base.h"
#include "zs_ddl.h"

/* the innermost utility command, NULL when it does not concern us */
static ZsDdlCommand *current_command = NULL;

/* how many commands that create a table are being executed, one within the other */
static int	ncreations = 0;

/*
 * The access method that the ALTER TABLE being executed gives to this zedstore table, InvalidOid if
 * there is none.
 */
Oid
zsddl_leaving_for(Oid relid)
{
	Assert(OidIsValid(relid));
	if (current_command == NULL || current_command->leaving != relid)
		return InvalidOid;
	return current_command->leaving_for;
}

/* ---- hooks ----------------------------------------------------------------- */

/*
 * OAT_POST_CREATE comes with the relation's rows inserted into the catalogs but
 * not yet visible, and explicitly allows for a CommandCounterIncrement.
 */
void
zsddl_object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId, void *arg)
{
	ZsDdlCommand *command = current_command;
	Relation	rel;
	char		relkind;
	Oid			amoid;
	bool		created;
	bool		rewritten;

	if (classId == RelationRelationId && subId > 0)
	{
		if (access == OAT_DROP)
			zsddl_sort_key_column_dropped(objectId, subId);
		else if (access == OAT_POST_ALTER)
			zsddl_sort_key_column_altered(objectId, subId);
	}
	if (access != OAT_POST_CREATE || classId != RelationRelationId || subId != 0 ||
		(command == NULL && !zsddl_creation_default_is_ours()))
		return;

	/* the new relation is in the relcache only, and not locked yet */
	rel = RelationIdGetRelation(objectId);
	if (!RelationIsValid(rel))
		elog(ERROR, "could not open relation with OID %u", objectId);
	relkind = rel->rd_rel->relkind;
	amoid = rel->rd_rel->relam;
	if (!((ObjectAccessPostCreate *) arg)->is_internal && (command == NULL || !command->divides))
		zsddl_creation_check(rel, command == NULL ? NULL : command->creates, ncreations > 0);
	if (command == NULL)
	{
		RelationClose(rel);
		return;
	}

	created = false;
	rewritten = false;
	if (((ObjectAccessPostCreate *) arg)->is_internal)
	{
		char		transient[NAMEDATALEN];

		/* make_new_heap() names it like this */
		snprintf(transient, sizeof(transient), "pg_temp_%u", command->altering);
		rewritten = OidIsValid(command->altering) &&
			command->options != (Datum) 0 &&
			relkind == RELKIND_RELATION &&
			strcmp(RelationGetRelationName(rel), transient) == 0;
	}
	else if (command->creating != NULL)
		created = (relkind == RELKIND_RELATION ||
				   relkind == RELKIND_MATVIEW ||
				   relkind == RELKIND_PARTITIONED_TABLE) &&
			strncmp(RelationGetRelationName(rel), command->creating->relname,
					NAMEDATALEN - 1) == 0;
	else
		created = command->divides && relkind == RELKIND_RELATION;
	RelationClose(rel);

	Assert(!created || !rewritten);
	if (created)
	{
		zsddl_finish_creation(command, objectId, relkind, amoid);
		command->creating = NULL;
	}
	else if (rewritten)
		zsddl_options_store(objectId, command->options, command->before);
}

/* Calls next with current_command set to command for as long as it takes. */
static void
call_next_within(ProcessUtility_hook_type next, ZsDdlCommand *command, PlannedStmt *pstmt,
				 const char *queryString, bool readOnlyTree, ProcessUtilityContext context,
				 ParamListInfo params, QueryEnvironment *queryEnv, DestReceiver *dest,
				 QueryCompletion *qc)
{
	ZsDdlCommand *outer = current_command;
	int			outer_ncreations = ncreations;

	Assert(next != NULL);
	PG_TRY();
	{
		current_command = command;
		Assert(ncreations >= 0);
		if (command != NULL && command->creates != NULL)
			ncreations++;
		next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);
	}
	PG_FINALLY();
	{
		current_command = outer;
		ncreations = outer_ncreations;
	}
	PG_END_TRY();
}

/*
 * May the command change the columns of an existing table, or drop some with their type: ALTER
 * TABLE, DROP, DROP OWNED, DISCARD TEMP?  Of those that alter types only ALTER TYPE ...  ATTRIBUTE
 * does, to typed tables, and that is an ALTER TABLE here.  Scripts of extensions and CREATE SCHEMA
 * come here with each of their commands.
 */
bool
zsddl_may_change_columns(const Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_AlterTableStmt:
		case T_DropStmt:
		case T_DropOwnedStmt:
			return true;
		case T_DiscardStmt:
			/* temporary tables go with their row types */
			return ((const DiscardStmt *) stmt)->target == DISCARD_TEMP;
		default:
			return false;
	}
}

/*
 * Calls next with the command without our options, which are stored while it is executed or after
 * it.  Errors: options that are unknown or out of range.
 */
void
zsddl_utility(ProcessUtility_hook_type next, PlannedStmt *pstmt, const char *queryString,
			  bool readOnlyTree, ProcessUtilityContext context, ParamListInfo params,
			  QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	ZsDdlCommand command = {0};

	pstmt = zsddl_creation_for_script(pstmt);
	if (IsA(pstmt->utilityStmt, AlterTableStmt))
		pstmt = zsddl_prepare_alteration(pstmt, &command);
	else
		pstmt = zsddl_prepare_creation(pstmt, &command);

	Assert(command.creating == NULL || !OidIsValid(command.altering));
	if (command.creates != NULL || command.divides || OidIsValid(command.altering) ||
		OidIsValid(command.leaving))
		call_next_within(next, &command, pstmt, queryString, readOnlyTree, context, params,
						 queryEnv, dest, qc);
	else if (current_command != NULL)
		call_next_within(next, NULL, pstmt, queryString, readOnlyTree, context, params,
						 queryEnv, dest, qc);
	else
		next(pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc);

	if (OidIsValid(command.altering) && command.options != (Datum) 0)
		zsddl_options_store(command.altering, command.options, command.before);
}
