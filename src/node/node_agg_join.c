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

#include "executor/executor.h"
#include "executor/hashjoin.h"
#include "executor/instrument.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "storage/shmem.h"

#include "node_agg_join.h"
#include "zs_cost_const.h"
#include "zs_expr_guc.h"
#include "zs_node.h"
#include "zs_probe.h"

/* Into so many parts zedstore.debug_vector_groups divides tables of more rows than that. */
#define DEBUG_PARTS		2

/* Parts are so much larger than the memory for them would be if keys were all alike. */
#define PARTS_FACTOR	1.3

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

/* ---- memory --------------------------------------------------------------------------------- */

/* Bytes that the tables of so many joins may take together. */
Size
zsnode_agg_joins_memory_limit(int njoins)
{
	return mul_size(get_hash_memory_limit(), njoins);
}

/* All joins of the node. */
static const ZsAggJoins *
all_joins(const ZsAggJoin *join)
{
	while (join->all->above != NULL)
		join = join->all->above;
	return join->all;
}

/*
 * Bytes that the tables of these joins and of those below them take, without that of one; those
 * that are not filled take so many, or what they are expected to.
 */
static Size
memory_beside(const ZsAggJoins *joins, const ZsAggJoin *one, Size unfilled)
{
	Size		memory = 0;

	check_stack_depth();
	for (int i = 0; i < joins->njoins; i++)
	{
		const ZsAggJoin *join = &joins->joins[i];

		if (join != one)
			memory = add_size(memory, join->filled ? zsprobe_table_memory(join->table) :
							  (Size) Min((double) unfilled, join->expected));
		if (join->below != NULL)
			memory = add_size(memory, memory_beside(join->below, one, unfilled));
	}
	return memory;
}

/*
 * Bytes that the join's table may take, beside those of the others.  One that can be divided leaves
 * some to those that are filled later.
 */
static Size
table_limit(const ZsAggJoin *join)
{
	Size		limit = zsnode_agg_joins_memory_limit(join->all->nall);
	Size		others = memory_beside(all_joins(join), join,
									   join->may_divide ? get_hash_memory_limit() / 2 : 0);

	return limit - Min(limit, others);
}

/* ---- tables --------------------------------------------------------------------------------- */

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
		ZsAggJoin  *join = &joins->joins[i];

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

/* By how many the tables beside one multiply what is read. */
static uint32
parts_beside(const ZsAggJoins *joins, const ZsAggJoin *one)
{
	uint32		parts = 1;

	check_stack_depth();
	for (int i = 0; i < joins->njoins; i++)
	{
		const ZsAggJoin *join = &joins->joins[i];

		if (join != one)
			parts *= join->nparts;
		if (join->below != NULL && !join->below->given_up)
			parts *= parts_beside(join->below, one);
	}
	return parts;
}

/* So many parts may there be of the join's table: those of the others multiply what is read. */
static uint32
most_parts(const ZsAggJoin *join)
{
	return ZS_JOIN_PARTS / parts_beside(all_joins(join), join);
}

/*
 * Fills the join's table with what the input has, which is build, or with the present part of it.
 * If that is too large there are more parts from now on, as long as none has been joined.
 */
static ZsProbeFill
fill_from(ZsAggJoin *join, ZsInput *input, bool by_rows)
{
	/* one that has been begun has to be ended, however many rows have the same key */
	Size		limit = join->filled ? MaxAllocHugeSize : table_limit(join);
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
read_build(ZsAggJoin *join)
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
fill_part(ZsAggJoin *join)
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
fill_table(ZsAggJoin *join)
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
turn_to_part(ZsAggJoin *join, uint32 part)
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
void
zsnode_agg_join_first_part(void *arg)
{
	ZsAggJoin  *join = arg;

	if (join->part > 0)
		turn_to_part(join, 0);
}

/* ZsProbeSpec.next_part */
bool
zsnode_agg_join_next_part(void *arg)
{
	ZsAggJoin  *join = arg;

	if (join->part + 1 >= join->nparts)
		return false;
	turn_to_part(join, join->part + 1);
	/* core's joins below it have no hash tables; ours stay */
	ExecReScan(outerPlanState(&join->state->js.ps));
	return true;
}

/* Is there no row in the join, whatever the probe side has? */
static bool
is_empty(const ZsAggJoin *join)
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
		ZsAggJoin  *join = &joins->joins[i];

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
