/*-------------------------------------------------------------------------
 *
 * ddl_command.h
 *	  Commands with options of zedstore tables; private to src/ddl.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_command.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDL_COMMAND_H
#define DDL_COMMAND_H

#include "postgres.h"

#include "nodes/plannodes.h"
#include "nodes/primnodes.h"

/*
 * A command that has to do with options, tables that it creates, or access methods.
 */
typedef struct ZsDdlCommand
{
	const RangeVar *creates;	/* table that it creates, NULL = none */
	const RangeVar *creating;	/* the same if it needs our options, NULL when
								 * it exists by now */
	const RangeVar *parent;		/* its partitioned parent, NULL = none */
	bool		divides;		/* it splits or merges partitions of parent */
	Oid			altering;		/* table whose options core must not see */
	Datum		options;		/* our options, as a text array: those that
								 * the command gives (creating), or those that
								 * the table has afterwards (altering) */
	Datum		before;			/* ... and those that it had (altering) */
	Oid			leaving;		/* zedstore table that gets another access
								 * method */
	Oid			leaving_for;	/* that one */
} ZsDdlCommand;

/* ---- ddl_command.c ---- */

/*
 * Removes our options from a command that creates a table.  Returns the command for core: the given
 * one, or a changed copy.
 */
extern PlannedStmt *zsddl_prepare_creation(PlannedStmt *pstmt, ZsDdlCommand *command);
extern void zsddl_finish_creation(ZsDdlCommand *command, Oid relid, char relkind, Oid amoid);

/*
 * Removes our options from an ALTER command and from core's view of the table.  Returns the command
 * for core: the given one, or a changed copy.  Locks the table, as core is about to do, because
 * what the table is and has must not change until core comes to it.
 */
extern PlannedStmt *zsddl_prepare_alteration(PlannedStmt *pstmt, ZsDdlCommand *command);

#endif							/* DDL_COMMAND_H */
