/*-------------------------------------------------------------------------
 *
 * node_agg_join.c
 *	  Does core's hash joins below a node that aggregates by batches.
 *
 * The plan is core's, and is printed as such: hash joins on each other's outer sides over a scan of
 * ours (node_agg_spine.c).  The node makes tables of the inner sides (probe_table.c), and looks up
 * the scan's batches in them (probe_join.c).  Where an inner side is a scan of ours, or such joins
 * over one, it gives batches as well; else its rows are taken from the plan below the Hash node.
 * The joins themselves do not run; what EXPLAIN ANALYZE tells of their rows is told for them.
 *
 * Parts.  Tables are in memory, and take together what core's may take, each of them
 * work_mem * hash_mem_multiplier.  Where one of them does not fit, its rows are counted, and it is
 * filled with one part of them after the other, by their keys; the inner side and all below the
 * join's outer side are read again for each.  Core writes both sides to files instead, row by row,
 * which takes as long as some such rounds.  So it goes if keys are integers, the inner side
 * consists of scans and joins of these, the outer side is not shared with other processes, and the
 * parts are few.  What aggregates, sorts or takes the first rows may take longer than core's files,
 * and may have other rows each time; functions that are dear take longer, too.
 *
 * Giving up.  Else all tables are thrown away, the plans below are rescanned, and core's joins run
 * as if nothing had been tried, now and for all further rescans: what is lost is reading the inner
 * side.  An inner side whose batches have values that only rows give (such as are stored out of
 * line) is read by rows, too, from its first row on.  Reading twice must not be seen, so all this
 * is not tried in queries with volatile functions, nor under row locks.
 *
 * Join filters stay what they are: the tap stands in front of the plan that is read, or sees its
 * batches (join_tap.c), and knows by zsnode_join_is_by_batches() that there is a table, though not
 * core's.
 *
 * Rescans.  Where no parameter of an inner side changes its table stays, as it does in core.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "zs_compat.h"

#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/instrument.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "storage/shmem.h"

#include "node_agg_join.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_node_scan.h"
#include "zs_probe.h"

/* Tables that are expected to take so many times what they may are not begun. */
#define HOPELESS_FACTOR	1.5

/* Into so many parts zedstore.debug_vector_groups divides tables of more rows than that. */
#define DEBUG_PARTS		2

/* Parts are so much larger than the memory for them would be if keys were all alike. */
#define PARTS_FACTOR	1.3

/* What a row of a table takes beside its columns. */
#define ROW_OVERHEAD	24

/* One join. */
typedef struct AggJoin
{
	HashJoinState *state;
	HashState  *hash;
	PlanState  *build;
	ExecProcNodeMtd real;		/* of state, while it does not run */
	ZsAggJoins *below;			/* gives batches of build; NULL: its rows are taken */
	ZsInput    *batches;		/* these */
	ZsInput    *rows;			/* of build */
	ZsProbeTable *table;
	ZsInput    *input;			/* what it returns */
	bool		read;			/* build was, since it was rescanned */
	bool		filled;			/* the table is there */
	uint64		nrows;			/* of the table filled last, all parts of it */
	bool		is_array;
	bool		may_divide;		/* into parts */
	uint32		part;			/* the present one */
	uint32		nparts;
	struct ZsAggJoins *all;		/* of which it is one */
} AggJoin;

struct ZsAggJoins
{
	int			njoins;
	AggJoin    *joins;			/* the lowest first */
	ZsInput    *input;			/* NULL: for EXPLAIN only */
	bool		given_up;
};

/* ---- nodes that do not run ----------------------------------------------------------------- */

/* ExecProcNode of a join whose work is done elsewhere. */
static TupleTableSlot *
done_by_batches(PlanState *node)
{
	elog(ERROR, "hash join that is done by batches was asked for a row");
	return NULL;
}

/* Is there a table of the join's inner side, though not in its own hash table? */
bool
zsnode_join_is_by_batches(const HashJoinState *join)
{
	return join->js.ps.ExecProcNodeReal == done_by_batches;
}

/* ---- making them ---------------------------------------------------------------------------- */

/* Bytes that the tables of so many joins may take together. */
static Size
memory_limit(int njoins)
{
	return mul_size(get_hash_memory_limit(), njoins);
}

/* Is the table expected to take far more memory than all of them may, if need be in parts? */
static bool
is_hopeless(const ZsSpineJoin *join, int njoins, bool may_divide)
{
	const Plan *plan = join->build->plan;
	double		width = plan->plan_width + ROW_OVERHEAD;

	return plan->plan_rows * width > (may_divide ? ZS_JOIN_PARTS : HOPELESS_FACTOR) *
		(double) memory_limit(njoins);
}

/* Describes the keys of both sides; false if rows cannot be joined by them here. */
static bool
classify_keys(const ZsSpineJoin *join, TupleDesc desc, TupleDesc build_desc, ZsGroupKey *probe,
			  ZsGroupKey *build)
{
	const HashJoin *plan = (const HashJoin *) join->state->js.ps.plan;
	ListCell   *lc;

	foreach(lc, plan->hashclauses)
	{
		int			k = foreach_current_index(lc);
		int			column = list_nth_int(join->build_keys, k);
		const Node *expr = list_nth(join->build_exprs, column - 1);
		Var		   *var = makeVar(ZS_ROWS_VARNO, (AttrNumber) column, exprType(expr),
								  exprTypmod(expr), exprCollation(expr), 0);

		if (!zsprobe_key_classify(desc, list_nth(join->key_exprs, k), lfirst(lc), &probe[k]) ||
			!zsprobe_key_classify(build_desc, (Node *) var, lfirst(lc), &build[k]) ||
			!zsprobe_keys_match(&probe[k], &build[k]))
			return false;
	}
	return true;
}

/* A filter of pairs; NULL if there are no clauses. */
static ZsFilter *
make_filter(List *clauses, TupleDesc desc, PlanState *node)
{
	return clauses == NIL ? NULL :
		zsexpr_filter_create(desc, ZS_ROWS_VARNO, clauses, list_length(clauses), node, NULL);
}

static ZsAggJoins *create_joins(PlanState *node, PlanState *child, List *exprs, int least,
								bool explain_only);
static void first_part(void *arg);
static bool next_part(void *arg);

/*
 * Makes a join ready over probe (NULL: for EXPLAIN only); false if it cannot be done here.
 */
static bool
create_join(AggJoin *join, const ZsSpine *spine, int i, ZsInput *probe, PlanState *node)
{
	const ZsSpineJoin *from = &spine->joins[i];
	TupleDesc	desc = zsnode_spine_desc(spine, i + 1);
	TupleDesc	build_desc = ExecTypeFromExprList(from->build_exprs);
	int			nkeys = list_length(from->key_exprs);
	ZsGroupKey *probe_keys = palloc0(nkeys * sizeof(ZsGroupKey));
	ZsGroupKey *build_keys = palloc0(nkeys * sizeof(ZsGroupKey));
	JoinType	jointype = ((HashJoin *) from->state->js.ps.plan)->join.jointype;
	Bitmapset  *wanted = NULL;
	List	   *guards = NIL;
	ZsProbeSpec spec;

	if (nkeys == 0 || nkeys > ZS_MAX_GROUP_KEYS ||
		!classify_keys(from, desc, build_desc, probe_keys, build_keys))
		return false;
	join->may_divide = !spine->scan->ss.ps.plan->parallel_aware && from->rereads &&
		zsprobe_keys_can_divide(nkeys, build_keys);
	if (is_hopeless(from, spine->njoins, join->may_divide))
		return false;
	join->state = from->state;
	join->hash = from->hash;
	join->build = from->build;
	join->below = create_joins(node, from->build, from->build_exprs, 0, probe == NULL);
	if (probe == NULL)
		return true;
	for (int k = 0; k < from->nbuild; k++)
	{
		if (from->columns[k] > 0)
			wanted = bms_add_member(wanted, from->columns[k]);
	}
	for (int k = 0; k < list_length(from->build_exprs); k++)
		guards = lappend_int(guards, -1);
	join->rows = zsexpr_input_rows_create(join->build, from->build_exprs, guards, node->state);
	if (join->below != NULL)
		join->batches = zsnode_build_input_create(join->build, from->build_exprs,
												  join->below->input);
	join->table = zsprobe_table_create(CurrentMemoryContext, build_desc, wanted, nkeys, build_keys,
									   probe_keys,
									   zsprobe_join_keeps(jointype, from->joinqual != NIL));
	spec = (ZsProbeSpec) {
		.jointype = jointype,
		.probe = probe,
		.table = join->table,
		.desc = desc,
		.nbuild = from->nbuild,
		.columns = from->columns,
		.used = spine->used,
		.nkeys = nkeys,
		.keys = probe_keys,
		.key_exprs = from->key_exprs,
		.joinqual = make_filter(from->joinqual, desc, node),
		.qual = make_filter(from->qual, desc, node),
		.node = &join->state->js.ps,
		.first_part = first_part,
		.next_part = next_part,
		.arg = join,
	};
	join->input = zsprobe_join_create(&spec, node->state);
	return true;
}

/* As zsnode_agg_joins_create(); least: so many joins, or the child's rows are to be taken. */
static ZsAggJoins *
create_joins(PlanState *node, PlanState *child, List *exprs, int least, bool explain_only)
{
	ZsSpine    *spine;
	ZsAggJoins *joins;
	ZsInput    *input = NULL;

	check_stack_depth();
	spine = zsnode_spine_find(child, exprs, least);
	if (spine == NULL ||
		!zsprobe_can_project(zsnode_spine_desc(spine, spine->njoins), spine->exprs))
		return NULL;
	joins = palloc0(sizeof(ZsAggJoins));
	joins->njoins = spine->njoins;
	joins->joins = palloc0(Max(spine->njoins, 1) * sizeof(AggJoin));
	if (!explain_only)
		input = zsnode_scan_input_create(spine->scan);
	for (int i = 0; i < spine->njoins; i++)
	{
		joins->joins[i].all = joins;
		joins->joins[i].nparts = 1;
		if (!create_join(&joins->joins[i], spine, i, input, node))
			return NULL;
		input = joins->joins[i].input;
	}
	if (!explain_only)
		joins->input = zsprobe_project_create(input, spine->exprs, ExecTypeFromExprList(exprs),
											  node->state);
	return joins;
}

/*
 * The joins below a node's child that can be done by batches, to return the expressions over the
 * child's rows (OUTER_VAR); NULL: the child's rows have to be taken as they come.  Memory comes
 * from the current context.
 */
ZsAggJoins *
zsnode_agg_joins_create(PlanState *node, PlanState *child, List *exprs, bool explain_only)
{
	if (!zs_enable_vector_join || node->state->es_epq_active != NULL)
		return NULL;
	return create_joins(node, child, exprs, 1, explain_only);
}

/* What they return. */
ZsInput *
zsnode_agg_joins_input(const ZsAggJoins *joins)
{
	Assert(joins->input != NULL);
	return joins->input;
}

/* ---- tables --------------------------------------------------------------------------------- */

/*
 * Bytes that the join's table may take, beside those of the others.  One that can be divided leaves
 * some to those that are filled later.
 */
static Size
table_limit(const ZsAggJoins *joins, const AggJoin *join)
{
	Size		limit = memory_limit(joins->njoins);

	for (int i = 0; i < joins->njoins; i++)
	{
		const AggJoin *other = &joins->joins[i];
		Size		taken = other->filled ? zsprobe_table_memory(other->table) :
			join->may_divide ? get_hash_memory_limit() / 2 : 0;

		if (other != join)
			limit -= Min(limit, taken);
	}
	return limit;
}

/* Hands the joins back to core, as if they had not been touched. */
static void
give_up(ZsAggJoins *joins)
{
	check_stack_depth();
	if (joins->given_up)
		return;
	joins->given_up = true;
	for (int i = 0; i < joins->njoins; i++)
	{
		AggJoin    *join = &joins->joins[i];

		if (join->below != NULL)
			give_up(join->below);
		zsprobe_table_forget(join->table);
		join->filled = false;
		if (join->read && join->hash->ps.instrument != NULL)
			InstrEndLoop(join->hash->ps.instrument);
		if (join->read && join->build->chgParam == NULL)
			ExecReScan(join->build);
		if (join->real != NULL)
			ExecSetExecProcNode(&join->state->js.ps, join->real);
	}
}

/* So many parts may there be of the join's table: those of the others multiply what is read. */
static uint32
most_parts(const AggJoin *join)
{
	uint32		others = 1;

	for (int i = 0; i < join->all->njoins; i++)
	{
		const AggJoin *other = &join->all->joins[i];

		if (other != join && other->filled)
			others *= other->nparts;
	}
	Assert(others <= ZS_JOIN_PARTS);
	return ZS_JOIN_PARTS / others;
}

/*
 * Fills the join's table with what the input has, which is build, or with the present part of it.
 * If that is too large there are more parts from now on, as long as none has been joined.
 */
static ZsProbeFill
fill_from(AggJoin *join, ZsInput *input, bool by_rows)
{
	/* one that has been begun has to be ended, however many rows have the same key */
	Size		limit = join->filled ? MaxAllocHugeSize : table_limit(join->all, join);
	uint64		kept;
	uint64		total;
	ZsProbeFill result;

	zsexpr_input_start(input);
	zsprobe_table_set_part(join->table, join->part, join->nparts);
	result = zsprobe_table_fill(join->table, input, by_rows, limit, &kept, &total);
	if (result == ZS_PROBE_NEEDS_ROWS || join->filled)
		return result;
	if (join->nparts == 1)
		join->nrows = total;
	if (result == ZS_PROBE_FILLED && join->nparts == 1 && join->may_divide &&
		zs_debug_vector_groups > 0 && total > (uint64) zs_debug_vector_groups &&
		most_parts(join) >= DEBUG_PARTS)
	{
		join->nparts = DEBUG_PARTS;
		return ZS_PROBE_TOO_LARGE;
	}
	if (result == ZS_PROBE_TOO_LARGE && join->may_divide)
		join->nparts = join->nparts > 1 ? join->nparts * 2 :
			(uint32) Max(Min(ceil(total * PARTS_FACTOR / Max(kept, 1)), ZS_JOIN_PARTS + 1), 2);
	return result;
}

/* Fills the join's table with what build has, from its first row on, or a part of it. */
static ZsProbeFill
read_build(AggJoin *join)
{
	ZsProbeFill result;

	if (join->read)
		ExecReScan(join->build);
	zsprobe_table_forget(join->table);
	join->read = true;
	if (join->below != NULL && !join->below->given_up)
	{
		if (zsnode_agg_joins_start(join->below))
		{
			result = fill_from(join, join->batches, false);
			if (result != ZS_PROBE_NEEDS_ROWS)
				return result;
			give_up(join->below);
			zsprobe_table_forget(join->table);
		}
		ExecReScan(join->build);
	}
	return fill_from(join, join->rows, true);
}

/* Fills the join's table with its present part; false if that is too large. */
static bool
fill_part(AggJoin *join)
{
	NodeInstrumentation *instrument = join->hash->ps.instrument;
	ZsProbeFill result;

	if (instrument != NULL)
		InstrStartNode(instrument);
	result = read_build(join);
	join->is_array = zsprobe_table_is_array(join->table);
	if (instrument != NULL)
		InstrStopNode(instrument, (double) zsprobe_table_rows(join->table));
	return result == ZS_PROBE_FILLED;
}

/* Fills the join's table, unless the one that is there is still right; false if it is too large. */
static bool
fill_table(AggJoin *join)
{
	if (join->hash->ps.chgParam != NULL)
	{
		ExecReScan(&join->hash->ps);
		join->filled = join->read = false;
	}
	if (join->filled)
		return true;
	join->part = 0;
	join->nparts = 1;
	do
		join->filled = fill_part(join);
	while (!join->filled && join->nparts > 1 && join->nparts <= most_parts(join));
	return join->filled;
}

/* Fills the table with another part. */
static void
turn_to_part(AggJoin *join, uint32 part)
{
	Assert(join->filled && part < join->nparts);
	join->part = part;
	if (join->hash->ps.instrument != NULL)
		InstrEndLoop(join->hash->ps.instrument);
	if (!fill_part(join))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows of a hash join have the same key"),
				 errhint("Turn zedstore.enable_vector_join off.")));
}

/* ZsProbeSpec.first_part */
static void
first_part(void *arg)
{
	AggJoin    *join = arg;

	if (join->part > 0)
		turn_to_part(join, 0);
}

/* ZsProbeSpec.next_part */
static bool
next_part(void *arg)
{
	AggJoin    *join = arg;

	if (join->part + 1 >= join->nparts)
		return false;
	turn_to_part(join, join->part + 1);
	/* core's joins below it have no hash tables; ours stay */
	ExecReScan(outerPlanState(&join->state->js.ps));
	return true;
}

/* Is there no row in the join, whatever the probe side has? */
static bool
is_empty(const AggJoin *join)
{
	JoinType	jointype = ((HashJoin *) join->state->js.ps.plan)->join.jointype;

	return join->nrows == 0 && zsprobe_join_needs_build(jointype);
}

/*
 * Makes the tables for the input, which is to be started then.  False if core's joins have to run.
 * Errors: those of the inner sides.
 */
bool
zsnode_agg_joins_start(ZsAggJoins *joins)
{
	if (joins->given_up)
		return false;
	/* as the first row that is asked for would */
	for (int i = joins->njoins - 1; i >= 0; i--)
	{
		PlanState  *ps = &joins->joins[i].state->js.ps;

		if (ps->chgParam != NULL)
			ExecReScan(ps);
	}
	for (int i = joins->njoins - 1; i >= 0; i--)
	{
		AggJoin    *join = &joins->joins[i];

		if (!fill_table(join))
		{
			give_up(joins);
			return false;
		}
		if (join->real == NULL)
		{
			join->real = join->state->js.ps.ExecProcNodeReal;
			ExecSetExecProcNode(&join->state->js.ps, done_by_batches);
		}
		/* nobody asks those below it for a row */
		if (is_empty(join))
			break;
	}
	return true;
}

/* ---- EXPLAIN -------------------------------------------------------------------------------- */

/* How many joins they are, with those of inner sides. */
static int
count_joins(const ZsAggJoins *joins)
{
	int			n = joins == NULL ? 0 : joins->njoins;

	for (int i = 0; joins != NULL && i < joins->njoins; i++)
		n += count_joins(joins->joins[i].below);
	return n;
}

/* Adds to the list what is known of the tables, in the order in which they are needed. */
static List *
describe_tables(const ZsAggJoins *joins, List *tables)
{
	for (int i = 0; joins != NULL && !joins->given_up && i < joins->njoins; i++)
	{
		const AggJoin *join = &joins->joins[i];

		if (!join->filled)
			continue;
		tables = describe_tables(join->below, tables);
		tables = lappend(tables, psprintf("%s of " UINT64_FORMAT " rows%s",
										  join->is_array ? "array" : "hash", join->nrows,
										  join->nparts == 1 ? "" :
										  psprintf(" in %u parts", join->nparts)));
	}
	return tables;
}

/* What EXPLAIN tells of them: how many, and with ANALYZE how they went. */
void
zsnode_agg_joins_explain(const ZsAggJoins *joins, struct ExplainState *es)
{
	int			njoins = count_joins(joins);

	if (es->format != EXPLAIN_FORMAT_TEXT || njoins > 0)
		ExplainPropertyInteger("Joins by Batches", NULL, njoins, es);
	if (!es->analyze || njoins == 0)
		return;
	if (joins->given_up)
		ExplainPropertyText("Join Tables", "too large", es);
	else
		ExplainPropertyList("Join Tables", describe_tables(joins, NIL), es);
}
