/*-------------------------------------------------------------------------
 *
 * ddl_extension.c
 *	  Where the extension's functions and views go: a schema of their own.
 *
 * Tools that reflect the tables and views of a user's schema would find ours among them.  So a
 * CREATE EXTENSION that names no schema gets the schema "zedstore", which is made if it is not
 * there, as core does for an extension whose control file names a schema.  The control file cannot
 * do it: core then refuses every other schema, and with it each dump of a database that has the
 * extension elsewhere (CREATE EXTENSION ... WITH SCHEMA public), those of earlier releases among
 * them.
 *
 * Everybody may use the schema, as with public: who may call what is a matter of the functions.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_extension.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/dest.h"
#include "tcop/utility.h"

#include "zs_ddl.h"

#define EXTENSION_NAME	"zedstore_io"
#define SCHEMA_NAME		"zedstore"

/* Executes a command that belongs to another one, through everybody's hooks. */
static void
execute_part(Node *stmt, const PlannedStmt *whole, const char *queryString)
{
	PlannedStmt *part = makeNode(PlannedStmt);

	part->commandType = CMD_UTILITY;
	part->utilityStmt = stmt;
	part->stmt_location = whole->stmt_location;
	part->stmt_len = whole->stmt_len;
	ProcessUtility(part, queryString, false, PROCESS_UTILITY_SUBCOMMAND, NULL, NULL,
				   None_Receiver, NULL);
	CommandCounterIncrement();
}

/* Makes the schema, which everybody may use. */
static void
make_schema(const PlannedStmt *whole, const char *queryString)
{
	CreateSchemaStmt *create = makeNode(CreateSchemaStmt);
	GrantStmt  *grant = makeNode(GrantStmt);
	AccessPriv *usage = makeNode(AccessPriv);
	RoleSpec   *everybody = makeNode(RoleSpec);

	create->schemaname = pstrdup(SCHEMA_NAME);
	create->if_not_exists = true;	/* another session may be faster */
	execute_part((Node *) create, whole, queryString);

	usage->priv_name = pstrdup("usage");
	everybody->roletype = ROLESPEC_PUBLIC;
	everybody->location = -1;
	grant->is_grant = true;
	grant->targtype = ACL_TARGET_OBJECT;
	grant->objtype = OBJECT_SCHEMA;
	grant->objects = list_make1(makeString(pstrdup(SCHEMA_NAME)));
	grant->privileges = list_make1(usage);
	grant->grantees = list_make1(everybody);
	execute_part((Node *) grant, whole, queryString);
}

/*
 * A CREATE EXTENSION of ours that names no schema: a copy with the schema zedstore, which is made
 * if it is missing.  Any other command: as it is.  What core refuses goes to it as it is, so that
 * its errors are core's, and nothing is made before.
 */
PlannedStmt *
zsddl_extension_place(PlannedStmt *pstmt, const char *queryString)
{
	CreateExtensionStmt *stmt = (CreateExtensionStmt *) pstmt->utilityStmt;

	if (!IsA(stmt, CreateExtensionStmt) || strcmp(stmt->extname, EXTENSION_NAME) != 0)
		return pstmt;
	foreach_node(DefElem, option, stmt->options)
	{
		if (strcmp(option->defname, "schema") == 0)
			return pstmt;
	}
	if (!superuser() || XactReadOnly || OidIsValid(get_extension_oid(EXTENSION_NAME, true)))
		return pstmt;

	if (!OidIsValid(get_namespace_oid(SCHEMA_NAME, true)))
		make_schema(pstmt, queryString);
	pstmt = copyObject(pstmt);
	stmt = (CreateExtensionStmt *) pstmt->utilityStmt;
	stmt->options = lappend(stmt->options,
							makeDefElem(pstrdup("schema"),
										(Node *) makeString(pstrdup(SCHEMA_NAME)), -1));
	ereport(NOTICE,
			(errmsg("functions and views of extension \"%s\" go to schema \"%s\"",
					EXTENSION_NAME, SCHEMA_NAME),
			 errhint("Put the schema at the end of \"search_path\" to call them by their bare names.")));
	return pstmt;
}
