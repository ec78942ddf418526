/*-------------------------------------------------------------------------
 *
 * ddl_creation.c
 *	  Which new tables may have our access method when nobody named it.
 *
 * Tables that a library fills by heap_insert() must be heap tables: these functions do not ask for
 * the access method, and what they write into a zedstore table nobody finds again.  A library that
 * does so seldom says "heap", since for as long as it has existed the default has been that.  So
 * default_table_access_method = zedstore must not reach such tables.
 *
 * 1. The script of an extension (CREATE EXTENSION, ALTER EXTENSION UPDATE) makes the catalogs of a
 *	  library.  What it creates without USING is a heap table, and SET ACCESS METHOD DEFAULT there
 *	  means heap.  The command's parse tree is changed before core sees it.
 *
 * 2. A table that C code makes by itself, with the session's default, is refused when it stands in
 *	  the catalogs, before it holds a row.  These are allowed:
 *
 *	  - the table that a CREATE TABLE, CREATE TABLE AS, SELECT INTO or CREATE MATERIALIZED VIEW
 *		which is being executed names.  It is known by its name, since such a command may run
 *		functions;
 *	  - what core makes to rewrite a table (is_internal), or of the rows of other partitions (SPLIT
 *		PARTITION and MERGE PARTITIONS of 19);
 *	  - all tables as long as the default is another access method: then somebody named ours;
 *	  - tables of which all columns are inherited.  Rows come to them through the parent, by the
 *		executor.  Chunks of TimescaleDB's hypertables are such;
 *	  - what a library makes while it executes CREATE MATERIALIZED VIEW instead of core.  It is
 *		filled by a query then.  We do not see the command if the library's hook comes before ours,
 *		but the portal has it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_creation.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"

#include "ddl_internal.h"
#include "zs_base.h"

/* The access method of which nobody need be afraid. */
#define HEAP_NAME	"heap"

/* Is the session's default access method ours?  Needs a transaction. */
bool
zsddl_creation_default_is_ours(void)
{
	return zsbase_is_zedstore_am(get_am_oid(default_table_access_method, true));
}

/* ---- scripts of extensions -------------------------------------------------- */

/* Does a new partition get an access method from its parent? */
static bool
parent_decides(const CreateStmt *stmt)
{
	Oid			parent;

	if (stmt->partbound == NULL)
		return false;
	Assert(list_length(stmt->inhRelations) == 1);
	parent = RangeVarGetRelid(linitial_node(RangeVar, stmt->inhRelations), NoLock, true);
	return OidIsValid(parent) && OidIsValid(get_rel_relam(parent));
}

/*
 * Where the parse tree of a command that makes a table with storage names the access method; NULL
 * if it makes none.
 */
static char **
access_method_of(Node *stmt)
{
	switch (nodeTag(stmt))
	{
		case T_CreateStmt:
			if (((CreateStmt *) stmt)->partspec != NULL || parent_decides((CreateStmt *) stmt))
				return NULL;
			return &((CreateStmt *) stmt)->accessMethod;
		case T_CreateTableAsStmt:
			return &((CreateTableAsStmt *) stmt)->into->accessMethod;
		case T_ExplainStmt:
			{
				Query	   *query = castNode(Query, ((ExplainStmt *) stmt)->query);

				return query->utilityStmt == NULL ? NULL : access_method_of(query->utilityStmt);
			}
		default:
			return NULL;
	}
}

/* Does ALTER TABLE set the default access method of a table with storage? */
static bool
sets_default(const AlterTableStmt *stmt)
{
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype == AT_SetAccessMethod && cmd->name == NULL)
			return get_rel_relkind(RangeVarGetRelid(stmt->relation, NoLock, true)) !=
				RELKIND_PARTITIONED_TABLE;
	}
	return false;
}

/*
 * In an extension's script: the command for core, with heap where it would take our access method
 * because that is the default.  The given one, or a changed copy.
 */
PlannedStmt *
zsddl_creation_for_script(PlannedStmt *pstmt)
{
	char	  **method;

	Assert(pstmt->utilityStmt != NULL);
	if (!creating_extension)
		return pstmt;
	if (IsA(pstmt->utilityStmt, AlterTableStmt))
	{
		if (!sets_default((AlterTableStmt *) pstmt->utilityStmt) ||
			!zsddl_creation_default_is_ours())
			return pstmt;
		pstmt = copyObject(pstmt);
		foreach_node(AlterTableCmd, cmd, ((AlterTableStmt *) pstmt->utilityStmt)->cmds)
		{
			if (cmd->subtype == AT_SetAccessMethod && cmd->name == NULL)
				cmd->name = pstrdup(HEAP_NAME);
		}
		return pstmt;
	}

	method = access_method_of(pstmt->utilityStmt);
	if (method == NULL || *method != NULL || !zsddl_creation_default_is_ours())
		return pstmt;
	pstmt = copyObject(pstmt);
	*access_method_of(pstmt->utilityStmt) = pstrdup(HEAP_NAME);
	return pstmt;
}

/* ---- tables that C code makes ------------------------------------------------ */

/* Is each column of a new table inherited? */
static bool
inherits_all_columns(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	Assert(RelationIsValid(rel));
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attinhcount == 0)
			return false;
	}
	return desc->natts > 0;
}

/* Is a library executing the session's CREATE MATERIALIZED VIEW in core's place? */
static bool
library_makes_view(void)
{
	return ActivePortal != NULL && ActivePortal->commandTag == CMDTAG_CREATE_MATERIALIZED_VIEW;
}

/*
 * Refuses a table that has just been made with our access method if it is C code that made it and
 * nobody asked for the access method.
 *
 * creates: the table that the innermost utility command creates, NULL if there is none;
 * within: does any utility command that we know of create one?
 */
void
zsddl_creation_check(Relation rel, const RangeVar *creates, bool within)
{
	Assert(creates == NULL || within);

	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		return;
	if (!zsddl_creation_default_is_ours() ||
		get_am_oid(default_table_access_method, true) != rel->rd_rel->relam)
		return;
	if (creates != NULL && strncmp(RelationGetRelationName(rel), creates->relname,
								   NAMEDATALEN - 1) == 0)
		return;
	if (inherits_all_columns(rel) || (!within && library_makes_view()))
		return;

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot get the access method \"%s\" by default",
					RelationGetRelationName(rel), default_table_access_method),
			 errdetail("It is created by the code of a library, which may write to it as to a heap table."),
			 errhint("Set \"default_table_access_method\" to \"heap\" for this command.")));
}
