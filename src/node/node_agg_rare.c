/*-------------------------------------------------------------------------
 *
 * node_agg_rare.c
 *	  Groups of few rows that ORDER BY count(*) DESC LIMIT does not want.
 *
 * The problem: most groups of URLs or visitors have a row or two.  There is no memory for them, so
 * their rows are written out, read again and grouped, and then the groups are left out, since those
 * that were in memory from the beginning have hundreds of rows.
 *
 * Rows whose groups have no memory are counted by cells of their hashes (spill.c), which
 * bounds the rows of each of these groups.  When the best groups in memory are known, so is what a
 * group must have to be among the first, and rows of lesser cells are left out: they are not read
 * again.  Where that is likely to be so for nearly all of them they are not even written: should
 * some be wanted the input is read a second time.  That needs an input that gives the same rows
 * again: a scan of this process alone, whose expressions are not volatile.
 *
 * Where all groups have a row or two, the order of their keys decides: ORDER BY count(*) DESC, id.
 * Then cells count to three, and are so many that most rows have one of their own; these are left
 * out when they come again if they are behind the groups that are wanted by their keys.
 *
 * If a few thousand groups in memory tell that much, no more of them are made, even if there is
 * memory: the others are only counted.  Should too many of these turn out to have many rows, all
 * is begun again, and all groups are made.
 *
 * No group is left out that could raise an error, or that HAVING looks at.
 *
 * Counting by hashes before groups are made is coarse counting of Fang, Shivakumar, Garcia-Molina,
 * Motwani, Ullman: Computing Iceberg Queries Efficiently, VLDB 1998.  Their threshold is given;
 * here it is what the groups in memory say.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_rare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "node_agg.h"
#include "node_agg_full.h"
#include "zs_expr_guc.h"

/* Counts of groups are told apart below that. */
#define COUNTS			2048

/* Rows are only counted if the least count is so many times that of a cell. */
#define ENOUGH_TIMES	4

/*
 * Groups that have few rows: so many on average, as far as they are known, and for each of the rows
 * to come so many cells.
 */
#define MOST_ROWS_OF_FEW	1.25
#define MOST_OF_CELLS		0.25

/* With so many groups in memory it is asked for the first time whether more are needed. */
#define FIRST_LOOK			4096

/* Is nothing lost if a group that is not among the first is never made? */
static bool
is_harmless(const ZsAgg *agg)
{
	return zsagg_ops_of(agg)->raises_nothing && agg->state == ZS_STATE_NONE && !agg->distinct;
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

	if (!zs_enable_rare_groups || !state->result.choosing || state->split != ZS_SPLIT_NONE ||
		state->css.ss.ps.qual != NULL || state->verifier != NULL || state->has_sets ||
		!zsnode_top_largest(state->result.top, &column, bound) || column < state->nkeys)
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
	if (state->rel == NULL || state->workers.shared != NULL ||
		state->css.ss.ps.state->es_epq_active != NULL || state->counts.nearly > 0)
		return false;
	for (int i = 0; i < (int) lengthof(exprs); i++)
	{
		if (contain_volatile_functions(exprs[i]) || contain_subplans(exprs[i]))
			return false;
	}
	return true;
}

/* What the groups in memory tell of those that are not. */
typedef struct Known
{
	int			least;			/* count of the best of them; 0 if they are too few */
	double		rows_of_group;
} Known;

/* Looks at all groups in memory. */
static Known
look_at_counts(const AggNodeState *state, const NodeAgg *agg, int bound)
{
	uint32		counts[COUNTS] = {0};	/* groups with this count; the last one: or more */
	uint32		ngroups = zsagg_groups_count(state->store.groups);
	uint64		nlarger = 0;
	double		nrows = 0;
	Known		known;

	for (uint32 group = 0; group < ngroups; group++)
	{
		int64		count = zsnode_agg_value_of(state, group, agg)->count;

		counts[Min(count, COUNTS - 1)]++;
		nrows += (double) count;
	}
	for (known.least = COUNTS - 1; known.least > 0; known.least--)
	{
		nlarger += counts[known.least];
		if (nlarger >= (uint64) bound)
			break;
	}
	known.rows_of_group = nrows / Max(ngroups, 1);
	return known;
}

/* The key that the groups are sorted by in that place, if its values can be compared here. */
static const ZsGroupKey *
sort_key(const AggNodeState *state, int place, int *key)
{
	*key = zsnode_top_column(state->result.top, place);
	if (*key < 0 || *key >= state->nkeys ||
		(state->keys[*key].domain != ZS_DOMAIN_INT && state->keys[*key].domain != ZS_DOMAIN_UINT))
		return NULL;
	return &state->keys[*key];
}

/* Forming keys a second time takes as long as making groups of them, unless they are integers. */
static bool
has_dear_keys(const AggNodeState *state)
{
	for (int k = 0; k < state->nkeys; k++)
	{
		ZsDomain	domain = state->keys[k].domain;

		if (domain != ZS_DOMAIN_INT && domain != ZS_DOMAIN_UINT)
			return true;
	}
	return false;
}

/*
 * May rows be counted in so few bits that cells have rows of one group, mostly?  Then groups of one
 * or two rows can be told from others, which is of use where the best ones have no more.
 */
static bool
may_count_few(const AggNodeState *state, const Known *known, double nrows)
{
	int			key;

	return !has_dear_keys(state) &&
		known->least > 0 && known->least < ZS_NARROW_CELL_MAX &&
		known->rows_of_group <= MOST_ROWS_OF_FEW &&
		nrows <= zsagg_cells_number(ZS_CELLS_NARROW) * MOST_OF_CELLS &&
		(known->least > 1 || sort_key(state, 1, &key) != NULL);
}

/* Is it of use to count the rows of groups without memory, and how?  *only: they may come again. */
static bool
choose_counts(const AggNodeState *state, ZsCellSize *size, uint64 *usual, bool *only)
{
	int			bound;
	const NodeAgg *agg = find_count(state, &bound);
	Relation	rel = state->rel;
	double		nrows = rel != NULL ? rel->rd_rel->reltuples : -1;	/* -1: unknown */
	double		rows_of_cell = 1 + Max(nrows, 0) / zsagg_cells_number(ZS_CELLS_WIDE);
	Known		known;

	if (agg == NULL)
		return false;
	known = look_at_counts(state, agg, bound);
	*size = ZS_CELLS_WIDE;
	*usual = (uint64) known.least;
	*only = nrows >= 0 && known.least >= ENOUGH_TIMES * rows_of_cell && is_repeatable(state);

	/* with as many rows as a cell has a group would be among the best: counts tell nothing */
	if (known.least > rows_of_cell)
		return true;
	*size = ZS_CELLS_NARROW;
	*usual = 2;
	*only = true;
	return nrows >= 0 && may_count_few(state, &known, nrows) && is_repeatable(state);
}

/* ---- the answer's functions ----------------------------------------------------------- */

typedef struct Rare
{
	uint32		look;			/* with so many groups more may not be needed */
	bool		in_vain;		/* they were counted, and are not again before there is need */
	bool		was_full;		/* there was no memory for more */
} Rare;

/* Whether it is of use is known when groups are many. */
static void *
rare_begin(AggNodeState *state)
{
	return state->nkeys > 0 ? palloc0(sizeof(Rare)) : NULL;
}

/* Nothing has been counted in vain yet. */
static void
rare_start(AggNodeState *state, void *own)
{
	((Rare *) own)->in_vain = false;
}

/* No group has been looked at. */
static void
rare_start_fill(AggNodeState *state, void *own)
{
	Rare	   *rare = own;

	rare->look = 0;
	rare->was_full = false;
}

/*
 * Rows will be counted, if that may be of use.  What a group must have grows with the rows to come,
 * which is not counted on here.
 */
static void
rare_spill_opened(AggNodeState *state, void *own)
{
	ZsCellSize	size;
	uint64		usual;
	bool		only;

	if (choose_counts(state, &size, &usual, &only))
		zsagg_spill_count_groups(state->written.spill, size, usual, only);
}

/* Do the groups in memory tell which ones will be wanted? */
static bool
know_wanted(AggNodeState *state, Rare *rare)
{
	uint32		ngroups = zsagg_groups_count(state->store.groups);
	ZsCellSize	size;
	uint64		usual;
	bool		only;

	if (!state->result.choosing || rare->in_vain || ngroups < Max(rare->look, FIRST_LOOK) ||
		zsagg_groups_frozen(state->store.groups))
		return false;
	Assert(state->written.spill == NULL);
	rare->look = ngroups * 2;
	return choose_counts(state, &size, &usual, &only) && only;
}

/*
 * Where it is known which groups will be wanted no others are made, though there is memory for
 * them, and rows of others are counted.  Should so many of these get many rows that it was wrong
 * not to make them, it is begun again.
 */
static AggAdvice
rare_advise(AggNodeState *state, void *own, bool full)
{
	Rare	   *rare = own;
	ZsSpill    *spill = state->written.spill;

	rare->was_full = rare->was_full || full;
	if (full)
		return ZS_AGG_GO_ON;
	if (know_wanted(state, rare))
		return ZS_AGG_FREEZE;
	if (!rare->was_full && spill != NULL && zsagg_spill_only_counted(spill) &&
		zsagg_spill_counts_in_vain(spill))
	{
		Assert(!rare->in_vain);
		rare->in_vain = true;
		return ZS_AGG_BEGIN_AGAIN;
	}
	return ZS_AGG_GO_ON;
}

/*
 * Leaves out rows whose groups cannot be among the first any more.  True: rows that are wanted were
 * not written, and the input has to be read again, with the groups that are in memory.
 */
static bool
rare_wants_input(AggNodeState *state, void *own)
{
	ZsSpill    *spill = state->written.spill;
	int			bound;

	if (find_count(state, &bound) == NULL || zsagg_spill_counts(spill) == NULL)
		return false;
	zsagg_spill_leave_out(spill, (uint64) zsnode_top_least(state->result.top));
	return zsagg_spill_only_counted(spill) && zsagg_spill_start_again(spill);
}

/*
 * Is the group of a row, which has as many rows as the last of those that are wanted, behind that
 * one all the same?
 */
static bool
is_behind(const AggNodeState *state, const ZsColumnVector *const *vectors, uint32 row)
{
	const ZsGroupKey *sorted;
	int			key;

	for (int place = 1; (sorted = sort_key(state, place, &key)) != NULL; place++)
	{
		const ZsColumnVector *vector = vectors[key];
		bool		isnull = vector->has_nulls && zskernel_bits_get(vector->nulls, row);
		Datum		value = isnull ? (Datum) 0 :
			zsexpr_int_to_datum(sorted->width, vector->vals[row]);
		int			c = zsnode_top_compare(state->result.top, place, value, isnull);

		if (c != 0)
			return c > 0;
	}
	return false;
}

/*
 * Takes rows out of passed whose groups cannot be among the first, of rows that have been counted
 * and come again.  Rows of groups in memory, which have been returned, may go or stay.
 */
static void
rare_leave_rows(AggNodeState *state, void *own, uint64 *passed)
{
	const ZsColumnVector *vectors[ZS_MAX_GROUP_KEYS];
	uint16		list[ZS_KERNEL_ROWS];
	uint64		hashes[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(passed, list);
	uint64		least = (uint64) zsnode_top_least(state->result.top);
	const ZsCells *cells = zsagg_spill_counts(state->written.spill);

	if (n == 0)
		return;
	zsagg_groups_read_keys(state->store.groups, state->input, passed);
	if (!zsagg_groups_vectors(state->store.groups, vectors))
		return;
	zsagg_groups_hash_rows(state->store.groups, list, n, hashes);
	for (uint32 i = 0; i < n; i++)
	{
		uint64		nrows = zsagg_cells_rows(cells, hashes[i]);

		zsagg_cells_fetch(cells, hashes[Min(i + ZS_CELLS_AHEAD, n - 1)]);
		if (nrows < least || (nrows == least && least > 0 && is_behind(state, vectors, list[i])))
			zskernel_bits_unset(passed, list[i]);
	}
}

const AggAnswer zsnode_agg_rare = {
	.begin = rare_begin,
	.start = rare_start,
	.start_fill = rare_start_fill,
	.advise = rare_advise,
	.spill_opened = rare_spill_opened,
	.wants_input = rare_wants_input,
	.leave_rows = rare_leave_rows,
};
