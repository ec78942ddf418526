/*-------------------------------------------------------------------------
 *
 * ddl_command.c
 *	  Takes options of zedstore tables out of CREATE and ALTER commands.
 *
 * The hooks of ddl_utility.c call these functions, before core sees a command and while core
 * executes it.
 *
 * CREATE TABLE, CREATE TABLE AS, CREATE MATERIALIZED VIEW, and the same below
 * EXPLAIN: our options are removed from the command.  Core calls the object
 * access hook when the table is in the catalogs and before it holds a row; the
 * hook stores the options there.  Only then it is certain which
 * access method the table has.  If it is not ours, core's own validation is
 * called for the options that were removed, which refuses them in core's words.
 * A new partition gets the options of its parent, which its own override.  So do those that SPLIT
 * PARTITION and MERGE PARTITIONS make (19).
 *
 * ALTER ... SET, RESET, SET ACCESS METHOD:
 *
 *		SET (fillfactor = 70, zedstore_compression = zstd), RESET (parallel_workers)
 *
 *	becomes
 *
 *		RESET (<all our options>), SET (fillfactor = 70), RESET (parallel_workers)
 *
 * and afterwards our options are put back as they were before, changed as the
 * command says.  The RESET in front, which core executes like any RESET of
 * names that it does not know, takes our options out of the catalog within the
 * command's own course, under its lock, and after its permission checks, so that
 * core's validation of the rest passes.  Core executes subcommands of
 * this kind in the order given.  The lock that core takes for options that it
 * does not know is the weakest one of ALTER TABLE, ShareUpdateExclusiveLock.
 *
 * What event triggers of the command itself see of the table's options is
 * without ours; pg_event_trigger_ddl_commands() shows the command as one.
 *
 * With zedstore.ignore_options, options of ours for other tables are left out with a notice. Tools
 * that copy a table's options to one of another access method need that.
 *
 * A table that leaves our access method loses our options: the RESET is put in
 * front and nothing is put back.  Options belong to the access method
 * that the table has at the end, so that one command may change to ours
 * and set them.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/ddl/ddl_command.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "ddl_command.h"
#include "ddl_internal.h"
#include "zs_base.h"
#include "zs_base_options.h"
#include "zs_compat.h"
#include "zs_ddl.h"

/* ---- lists of options ------------------------------------------------------ */

/* The elements of WITH (...) or SET (...) that are ours, or those that are not. */
static List *
select_options(List *defs, bool ours)
{
	List	   *result = NIL;

	Assert(defs == NIL || IsA(defs, List));
	foreach_node(DefElem, def, defs)
	{
		if (zsddl_options_is_ours(def) == ours)
			result = lappend(result, def);
	}
	return result;
}

/* Applies SET or RESET to a text array, as core does. */
static Datum
apply_options(Datum options, List *defs, bool is_reset)
{
	return transformRelOptions(options, defs, NULL, NULL, false, is_reset);
}

/*
 * Says that options of ours are not given to a table of another access method.
 */
static void
ignore_options(const char *relname, Datum options)
{
	Datum	   *elems;
	int			nelems;
	StringInfoData names;

	if (options == (Datum) 0)
		return;
	initStringInfo(&names);
	deconstruct_array_builtin(DatumGetArrayTypeP(options), TEXTOID, &elems, NULL, &nelems);
	for (int i = 0; i < nelems; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", TextDatumGetCString(elems[i]));
	ereport(NOTICE,
			(errmsg("ignoring options of zedstore for table \"%s\"", relname),
			 errdetail_internal("%s", names.data)));
}

/* ---- creation -------------------------------------------------------------- */

/*
 * If the command creates a table, returns where its options stand in the parse
 * tree, the table's name, and the parent that it is a partition of.
 */
static List **
find_creation(Node *stmt, const RangeVar **relation, const RangeVar **parent)
{
	*relation = NULL;
	*parent = NULL;

	switch (nodeTag(stmt))
	{
		case T_CreateStmt:
			{
				CreateStmt *create = (CreateStmt *) stmt;

				*relation = create->relation;
				if (create->partbound != NULL)
					*parent = linitial_node(RangeVar, create->inhRelations);
				return &create->options;
			}
		case T_CreateTableAsStmt:
			{
				IntoClause *into = ((CreateTableAsStmt *) stmt)->into;

				*relation = into->rel;
				return &into->options;
			}
		case T_ExplainStmt:
			{
				Query	   *query = castNode(Query, ((ExplainStmt *) stmt)->query);

				if (query->utilityStmt != NULL &&
					IsA(query->utilityStmt, CreateTableAsStmt))
					return find_creation(query->utilityStmt, relation, parent);
				return NULL;
			}
		default:
			return NULL;
	}
}

/*
 * Removes our options from a command that creates a table.  Returns the
 * command for core: the given one, or a changed copy.
 */
PlannedStmt *
zsddl_prepare_creation(PlannedStmt *pstmt, ZsDdlCommand *command)
{
	const RangeVar *relation;
	const RangeVar *parent;
	List	  **options;
	List	   *ours;

	Assert(command->creates == NULL && command->creating == NULL);
	options = find_creation(pstmt->utilityStmt, &relation, &parent);
	if (options == NULL)
		return pstmt;
	command->creates = relation;

	ours = select_options(*options, true);
	if ((ours == NIL && parent == NULL) || !(zs_ignore_options || zsbase_is_installed()))
		return pstmt;

	command->creating = relation;
	command->parent = parent;
	command->options = apply_options((Datum) 0, ours, false);

	if (ours != NIL)
	{
		pstmt = copyObject(pstmt);
		options = find_creation(pstmt->utilityStmt, &relation, &parent);
		*options = select_options(*options, false);
	}
	return pstmt;
}

/*
 * The table of the CREATE command, or a partition that ALTER TABLE makes, is in the catalogs:
 * stores its options.  Errors: options that core refuses, or that are out of range.
 */
void
zsddl_finish_creation(ZsDdlCommand *command, Oid relid, char relkind, Oid amoid)
{
	Datum		options = command->options;
	Oid			parent = InvalidOid;

	Assert(command->creating != NULL || command->divides);

	if (command->creating == NULL && !zsddl_options_allowed(relkind, amoid))
		return;
	if (!zsddl_options_allowed(relkind, amoid))
	{
		/* nothing to inherit then, and nothing to be given */
		if (zs_ignore_options)
			ignore_options(command->creating->relname, options);
		else if (relkind == RELKIND_PARTITIONED_TABLE)
			(void) partitioned_table_reloptions(options, true);
		else
			(void) heap_reloptions(relkind, options, true);
		return;
	}

	zsddl_options_validate(options);

	/* core holds a lock on the parent by now, so its name stays what it is */
	if (command->parent != NULL)
		parent = RangeVarGetRelid(command->parent, NoLock, true);
	if (OidIsValid(parent))
	{
		Datum		inherited = zsbase_options_fetch(parent);

		/* SET of what the command gives onto what the parent has */
		options = options == (Datum) 0 ? inherited :
			apply_options(inherited, untransformRelOptions(options), false);
	}

	if (options != (Datum) 0)
		zsddl_options_store(relid, options, (Datum) 0);
}

/* ---- alteration ------------------------------------------------------------ */

/* Does ALTER TABLE have anything to do with options? */
static bool
touches_options(const AlterTableStmt *stmt)
{
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype == AT_SetRelOptions ||
			cmd->subtype == AT_ResetRelOptions ||
			cmd->subtype == AT_SetAccessMethod)
			return true;
	}
	return false;
}

/* Does ALTER TABLE split or merge partitions? */
static bool
divides_partitions(const AlterTableStmt *stmt)
{
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
	{
		if (zs_makes_partitions(cmd->subtype))
			return true;
	}
	return false;
}

/*
 * The access method that a table has when the command is done.  Errors about
 * names are left to core.
 */
static Oid
final_access_method(const AlterTableStmt *stmt, char relkind, Oid amoid)
{
	foreach_node(AlterTableCmd, cmd, stmt->cmds)
	{
		if (cmd->subtype != AT_SetAccessMethod)
			continue;
		if (cmd->name != NULL)
			amoid = get_am_oid(cmd->name, true);
		else if (relkind == RELKIND_PARTITIONED_TABLE)
			amoid = InvalidOid;
		else
			amoid = get_am_oid(default_table_access_method, true);
	}
	return amoid;
}

/*
 * Executes the command's SETs and RESETs of our options on *options.  Returns
 * the subcommands without these SETs.  (The RESETs may stay, core takes
 * unknown names there.)  *nset receives the number of SETs that had ours,
 * *nkept the number of subcommands for options that core is left with.
 */
static List *
apply_subcommands(List *cmds, Datum *options, int *nset, int *nkept)
{
	List	   *result = NIL;

	Assert(options != NULL);
	*nset = 0;
	*nkept = 0;
	foreach_node(AlterTableCmd, cmd, cmds)
	{
		bool		is_reset = (cmd->subtype == AT_ResetRelOptions);
		List	   *ours = NIL;

		if (cmd->subtype == AT_SetRelOptions || is_reset)
		{
			ours = select_options((List *) cmd->def, true);
			if (ours == NIL || is_reset)
				(*nkept)++;
		}

		if (ours != NIL)
		{
			if (!is_reset)
				zsddl_options_validate(apply_options((Datum) 0, ours, false));
			*options = apply_options(*options, ours, is_reset);
		}

		if (ours != NIL && !is_reset)
		{
			List	   *others = select_options((List *) cmd->def, false);

			(*nset)++;
			if (others == NIL)
				continue;
			(*nkept)++;
			cmd = copyObject(cmd);
			cmd->def = (Node *) others;
		}
		result = lappend(result, cmd);
	}
	return result;
}

/*
 * The subcommands without the SETs of our options; *options receives these.
 */
static List *
drop_options(List *cmds, Datum *options)
{
	List	   *result = NIL;

	foreach_node(AlterTableCmd, cmd, cmds)
	{
		List	   *ours = NIL;

		if (cmd->subtype == AT_SetRelOptions)
			ours = select_options((List *) cmd->def, true);
		if (ours != NIL)
		{
			List	   *others = select_options((List *) cmd->def, false);

			*options = apply_options(*options, ours, false);
			if (others == NIL)
				continue;
			cmd = copyObject(cmd);
			cmd->def = (Node *) others;
		}
		result = lappend(result, cmd);
	}
	return result;
}

/*
 * Looks at the options toast.* that SET gives to a zedstore table, as heap does to hand them to its
 * TOAST table.  Here they have no effect, but a wrong name or value is an error all the same.
 *
 * The caller holds the lock that the command takes.
 */
static void
check_toast_options(Oid relid, const List *cmds)
{
	ZS_RELOPT_NAMESPACE namespaces[] = HEAP_RELOPT_NAMESPACES;
	Relation	rel = table_open(relid, NoLock);
	bool		needs_toast = GetHeapamTableAmRoutine()->relation_needs_toast_table(rel);

	table_close(rel, NoLock);
	if (!needs_toast)
		return;
	foreach_node(AlterTableCmd, cmd, cmds)
	{
		if (cmd->subtype == AT_SetRelOptions)
			(void) heap_reloptions(RELKIND_TOASTVALUE,
								   transformRelOptions((Datum) 0, (List *) cmd->def, "toast",
													   namespaces, false, false), true);
	}
}

/* Does a relation of this kind have options that a zedstore table might have, too? */
static bool
is_table(char relkind)
{
	return relkind == RELKIND_RELATION || relkind == RELKIND_MATVIEW ||
		relkind == RELKIND_PARTITIONED_TABLE;
}

/*
 * Removes our options from an ALTER command and from core's view of the
 * table.  Returns the command for core: the given one, or a changed copy.
 *
 * This locks the table, as core is about to do, because what the table
 * is and has must not change until core comes to it.
 */
PlannedStmt *
zsddl_prepare_alteration(PlannedStmt *pstmt, ZsDdlCommand *command)
{
	AlterTableStmt *stmt = (AlterTableStmt *) pstmt->utilityStmt;
	AlterTableCmd *reset;
	List	   *cmds;
	Oid			relid;
	Oid			amoid;
	Oid			final_amoid;
	char		relkind;
	bool		allowed;
	Datum		stored;
	Datum		wanted;
	int			nset;
	int			nkept;

	Assert(!OidIsValid(command->altering) && !OidIsValid(command->leaving));

	command->divides = divides_partitions(stmt);
	if (command->divides)
		command->parent = stmt->relation;

	/* where core will refuse the command for the session's state, let it */
	if (XactReadOnly || IsInParallelMode() ||
		!touches_options(stmt) || !(zs_ignore_options || zsbase_is_installed()))
		return pstmt;

	relid = AlterTableLookupRelation(stmt, AlterTableGetLockLevel(stmt->cmds));
	if (!OidIsValid(relid))
		return pstmt;			/* IF EXISTS */
	Assert(CheckRelationOidLockedByMe(relid, ShareUpdateExclusiveLock, true));

	relkind = get_rel_relkind(relid);
	amoid = get_rel_relam(relid);
	final_amoid = final_access_method(stmt, relkind, amoid);
	if (zsbase_is_zedstore_am(amoid) && OidIsValid(final_amoid) &&
		!zsbase_is_zedstore_am(final_amoid))
	{
		command->leaving = relid;
		command->leaving_for = final_amoid;
	}
	if (zsbase_is_zedstore_am(amoid) && relkind != RELKIND_PARTITIONED_TABLE)
		check_toast_options(relid, stmt->cmds);
	allowed = zsddl_options_allowed(relkind, final_amoid);
	stored = zsbase_options_fetch(relid);
	wanted = stored;

	if (allowed)
	{
		cmds = apply_subcommands(stmt->cmds, &wanted, &nset, &nkept);
		if (nset == 0 && (nkept == 0 || stored == (Datum) 0))
			return pstmt;
		command->options = wanted;
		command->before = stored;
	}
	else
	{
		Datum		given = (Datum) 0;

		/* core refuses what is given and has to lose sight of what is stored */
		cmds = stmt->cmds;
		if (zs_ignore_options && is_table(relkind))
			cmds = drop_options(cmds, &given);
		if (stored == (Datum) 0 && given == (Datum) 0)
			return pstmt;
		ignore_options(get_rel_name(relid), given);
	}
	command->altering = relid;

	reset = makeNode(AlterTableCmd);
	reset->subtype = AT_ResetRelOptions;
	reset->def = (Node *) zsddl_options_all_names();
	reset->behavior = DROP_RESTRICT;

	pstmt = copyObject(pstmt);
	((AlterTableStmt *) pstmt->utilityStmt)->cmds =
		lcons(reset, copyObject(cmds));
	return pstmt;
}
