/*-------------------------------------------------------------------------
 *
 * vector_agg_rare.c
 *	  Groups of few rows that ORDER BY count(*) DESC LIMIT does not want.
 *
 * The problem: most groups of URLs or visitors have a row or two.  There is no memory for them, so
 * their rows are written out, read again and grouped, and then the groups are left out, since those
 * that were in memory from the beginning have hundreds of rows.
 *
 * Rows whose groups have no memory are counted by cells of their hashes (vector_spill.c), which
 * bounds the rows of each of these groups.  When the best groups in memory are known, so is what a
 * group must have to be among the first, and rows of lesser cells are left out: they are not read
 * again.  Where that is likely to be so for nearly all of them they are not even written: should
 * some be wanted the input is read a second time.  That needs an input that gives the same rows
 * again: a scan of this process alone, whose expressions are not volatile.
 *
 * No group is left out that could raise an error, or that HAVING looks at.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_agg_rare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "vector_agg_node.h"

/* Counts of groups are told apart below that. */
#define COUNTS			2048

/* Rows are only counted if the least count is so many times that of a cell. */
#define ENOUGH_TIMES	4

/* Is nothing lost if a group that is not among the first is never made? */
static bool
is_harmless(const ZsAgg *agg)
{
	switch (agg->kind)
	{
		case ZS_AGG_COUNT_ROWS:
		case ZS_AGG_COUNT:
		case ZS_AGG_SUM_INT:
		case ZS_AGG_SUM_INT8:
		case ZS_AGG_AVG_INT:
		case ZS_AGG_AVG_INT8:
		case ZS_AGG_MIN:
		case ZS_AGG_MAX:
		case ZS_AGG_BIT_AND:
		case ZS_AGG_BIT_OR:
		case ZS_AGG_BIT_XOR:
			return agg->state == ZS_STATE_NONE && !agg->distinct;
		default:
			return false;
	}
}

/*
 * The count by which groups are wanted, NULL if that is not known.  *bound: how many groups.  It is
 * never larger than the number of a group's rows.
 */
static const NodeAgg *
find_count(const AggNodeState *state, int *bound)
{
	const NodeAgg *agg;
	int			column;

	if (!state->choosing || state->split != ZS_SPLIT_NONE || state->css.ss.ps.qual != NULL ||
		state->verifier != NULL || state->has_sets ||
		!zsvector_top_largest(state->top, &column, bound) || column < state->nkeys)
		return NULL;
	for (int i = 0; i < state->naggs; i++)
	{
		if (!is_harmless(&state->aggs[i].agg))
			return NULL;
	}
	agg = &state->aggs[column - state->nkeys];
	return agg->agg.kind == ZS_AGG_COUNT_ROWS || agg->agg.kind == ZS_AGG_COUNT ? agg : NULL;
}

/* Does the input give the same rows a second time? */
static bool
is_repeatable(const AggNodeState *state)
{
	Node	   *exprs[] = {(Node *) state->filter_clauses, (Node *) state->key_exprs,
	(Node *) state->aggrefs};

	/* groups that were returned early are not in memory, and none of their rows may come again */
	if (state->rel == NULL || state->shared != NULL ||
		state->css.ss.ps.state->es_epq_active != NULL || state->counts.nearly > 0)
		return false;
	for (int i = 0; i < (int) lengthof(exprs); i++)
	{
		if (contain_volatile_functions(exprs[i]) || contain_subplans(exprs[i]))
			return false;
	}
	return true;
}

/* The least count of the best groups in memory; 0 if they are too few. */
static int
least_count(const AggNodeState *state, const NodeAgg *agg, int bound)
{
	uint32		counts[COUNTS] = {0};	/* groups with this count; the last one: or more */
	uint32		ngroups = zsvector_groups_count(state->groups);
	uint64		nlarger = 0;
	int			least;

	for (uint32 group = 0; group < ngroups; group++)
		counts[Min(zsvector_agg_value_of(state, group, agg)->count, COUNTS - 1)]++;
	for (least = COUNTS - 1; least > 0; least--)
	{
		nlarger += counts[least];
		if (nlarger >= (uint64) bound)
			break;
	}
	return least;
}

/*
 * Called before the first row is written out: rows will be counted, if that may be of use.  What a
 * group must have grows with the rows to come, which is not counted on here.
 */
void
zsvector_agg_count_rare(AggNodeState *state)
{
	int			bound;
	const NodeAgg *agg = find_count(state, &bound);
	Relation	rel = state->rel;
	double		nrows = rel != NULL ? rel->rd_rel->reltuples : -1;	/* -1: unknown */
	double		usual = 1 + Max(nrows, 0) / zsvector_spill_cells();
	int			least = agg != NULL ? least_count(state, agg, bound) : 0;

	/* with as many rows as a cell has a group would be among the best: counts tell nothing */
	if (least > usual)
		zsvector_spill_count_groups(state->spill,
									nrows >= 0 && least >= ENOUGH_TIMES * usual &&
									is_repeatable(state));
}

/*
 * Leaves out rows whose groups cannot be among the first any more.  True: rows that are wanted were
 * not written, and the input has to be read again, with the groups that are in memory.
 */
bool
zsvector_agg_leave_rare(AggNodeState *state)
{
	int			bound;

	if (find_count(state, &bound) == NULL || !zsvector_spill_counts(state->spill))
		return false;
	zsvector_spill_leave_out(state->spill, (uint64) zsvector_top_least(state->top));
	return zsvector_spill_only_counted(state->spill) && zsvector_spill_start_again(state->spill);
}
