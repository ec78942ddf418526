/*-------------------------------------------------------------------------
 *
 * write_command.c
 *	  Which command wrote a row by itself last.
 *
 * The first row of a command is written with one WAL record where that can be, and needs no buffer.
 * If more rows follow, the command is one of many rows: its row numbers are reserved accordingly.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/write/write_command.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "write_internal.h"
#include "zs_compat.h"

/* The command that wrote a row this way last. */
static struct
{
	Oid			relid;
	TransactionId xid;
	CommandId	cid;
}			last_command;

/* Was the command's first row in the table written by itself? */
bool
zswrite_command_wrote_single(Relation rel, TransactionId xid, CommandId cid)
{
	return last_command.relid == RelationGetRelid(rel) && last_command.xid == xid &&
		last_command.cid == cid;
}

/* The command is about to write its first row by itself. */
void
zswrite_command_remember(Relation rel, TransactionId xid, CommandId cid)
{
	last_command.relid = RelationGetRelid(rel);
	last_command.xid = xid;
	last_command.cid = cid;
}

/* The row will not be written by itself after all. */
void
zswrite_command_forget(void)
{
	last_command.relid = InvalidOid;
}
