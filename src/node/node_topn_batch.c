/*-------------------------------------------------------------------------
 *
 * node_topn_batch.c
 *	  The rows of a top-N scan by batches.
 *
 * Where there are programs for all of the filter, it is applied to batches as aggregates do it
 * (expr_filter.c): they, too, look at all rows before they return one.  Of what passes, rows
 * whose first key is worse than the worst one kept are left out: by zone maps, and by a program
 * that compares the key with it, if it is a number or a time.  That comes behind the filter, which
 * may have to raise an error for a row whatever its key is.
 *
 * Where no clause of the filter can raise an error, and zone maps follow the order of the first
 * key, batches come in their order (scan_order.c), the best bound first; as soon as the next bound
 * is worse than the worst row kept, the others are left alone.  First come stripes of which nothing
 * is known, and those with NULLs if these come first; with NULLs last they come at the end, if rows
 * are missing.  Rows that compare equal are told apart by their numbers, whatever the order in
 * which they come: so a bound that is equal ends nothing, but where all further rows have larger
 * numbers and there is no other key.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_topn_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "node_topn.h"
#include "zs_base.h"
#include "zs_clause.h"
#include "zs_expr_guc.h"
#include "zs_expr_qual.h"
#include "zs_kernel.h"
#include "zs_order.h"
#include "zs_slot.h"
#include "zs_zone.h"

/* Is the first key a column whose zone maps follow the order that is asked for? */
static bool
key_has_zones(TopNState *state, TupleDesc desc)
{
	const ZsTopNKey *key = &state->keys[0];
	ZsAttrKind	kind;

	zsattr_kind(TupleDescAttr(desc, key->attno - 1), &kind);
	state->is_unsigned = kind.is_unsigned;
	state->is_exact = zsattr_kind_is_by_value(&kind);
	return zsnode_key_has_zones(desc, key);
}

/*
 * Finds the images of the worst value of the first key; false if it is NULL or has none, or there
 * is room in the heap.
 */
static bool
find_worst(TopNState *state)
{
	const ZsBestEntry *entry;

	if (!state->has_zones || !zsnode_best_is_full(&state->best))
		return false;
	entry = zsnode_best_worst(&state->best);
	if (entry->isnull[0])
		return false;
	if (!state->worst_known || state->worst_row != entry->row)
	{
		if (!zsscan_zone_image(state->input->desc, state->keys[0].attno, entry->values[0],
							   &state->worst_low, &state->worst_high))
			return false;
		state->worst_known = true;
		state->worst_row = entry->row;
	}
	return true;
}

/*
 * Is a row worse than the worst one kept, whose first key has no better image than bound, and whose
 * number is not below first?
 */
static bool
is_worse(const TopNState *state, int64 bound, zstid first)
{
	bool		ties_lose = state->nkeys == 1 && state->is_exact && first > state->worst_row;

	Assert(state->worst_known);
	if (state->sortkeys[0].ssup_reverse)
		return ties_lose ? bound <= state->worst_low : bound < state->worst_low;
	return ties_lose ? bound >= state->worst_high : bound > state->worst_high;
}

/*
 * Are there programs that compare the first key, with operator `better` or with better_or_equal?
 * Not for strings: a dictionary takes longer than the rows of a batch, for each new worst value.
 */
static bool
find_operators(TopNState *state)
{
	Oid			left;
	Oid			right;

	(void) zsexpr_column_of(state->input->desc, state->input->varno, (Node *) state->first_key,
							&state->domain);
	if (state->domain == ZS_DOMAIN_NONE || state->domain == ZS_DOMAIN_TEXT ||
		state->domain == ZS_DOMAIN_BPCHAR)
		return false;
	state->better_op = state->keys[0].sortop;
	state->better_or_equal_op = get_negator(get_commutator(state->better_op));
	op_input_types(state->better_op, &left, &right);
	return OidIsValid(state->better_or_equal_op) && left == right && !IsPolymorphicType(left);
}

/*
 * Makes the program that finds rows whose first key is better than the worst one kept, or_equal: or
 * like it, in a context of its own; there is none for some values.
 */
static void
compile_better(TopNState *state, const ZsBestEntry *worst, bool or_equal)
{
	const ZsTopNKey *key = &state->keys[0];
	Form_pg_attribute att = TupleDescAttr(state->input->desc, key->attno - 1);
	Oid			op = or_equal ? state->better_or_equal_op : state->better_op;
	Oid			type;
	Oid			right;
	Expr	   *left;
	MemoryContext old;

	MemoryContextReset(state->better_context);
	old = MemoryContextSwitchTo(state->better_context);
	op_input_types(op, &type, &right);
	left = state->first_key;
	if (type != att->atttypid)
		left = (Expr *) makeRelabelType(left, type, -1, key->collation, COERCE_IMPLICIT_CAST);
	left = make_opclause(op, BOOLOID, false, left,
						 (Expr *) makeConst(type, -1, key->collation, att->attlen,
											worst->values[0], false, att->attbyval),
						 InvalidOid, key->collation);
	set_opfuncid((OpExpr *) left);
	state->better = zsexpr_qual_compile(state->input->desc, state->input->varno, (Node *) left);
	state->better_known = true;
	state->better_row = worst->row;
	state->better_or_equal = or_equal;
	MemoryContextSwitchTo(old);
}

/* Takes rows of the batch out of passed whose first key is worse than the worst one kept. */
static void
leave_out_by_program(TopNState *state, const ZsBatch *batch, uint64 *passed)
{
	const ZsBestEntry *worst = zsnode_best_worst(&state->best);
	bool		or_equal = state->nkeys > 1 || batch->first <= worst->row;
	const ZsColumnVector *vector;
	uint64		rows[ZS_KERNEL_WORDS];
	uint64		out[ZS_KERNEL_WORDS];
	ZsTruth		truth;

	if (worst->isnull[0])
		return;
	if (!state->better_known || state->better_row != worst->row ||
		state->better_or_equal != or_equal)
		compile_better(state, worst, or_equal);
	if (state->better == NULL)
		return;
	vector = zsexpr_input_column(state->input, state->keys[0].attno, zsexpr_want_of(state->domain),
								 passed);
	if (vector == NULL)
		return;
	/* rows whose values the vector does not know stay */
	zskernel_bits_copy(rows, passed);
	if (vector->has_odd)
		zskernel_bits_andnot(rows, vector->odd);
	if (!zsexpr_qual_run(state->better, state->input, rows, &truth, &state->counts))
		return;
	zskernel_bits_copy(out, rows);
	zskernel_bits_andnot(out, truth.yes);
	/* of NULL nothing is known */
	if (state->keys[0].nulls_first)
		zskernel_bits_and(out, truth.no);
	zskernel_bits_andnot(passed, out);
}

/* Takes rows of the batch out of passed that cannot have a place in the heap. */
static void
leave_out_worse(TopNState *state, const ZsBatch *batch, uint64 *passed)
{
	bool		reverse = state->sortkeys[0].ssup_reverse;
	ZsColumnBounds bounds;

	if (zs_enable_zone_maps && find_worst(state) &&
		zsexpr_input_bounds(state->input, state->keys[0].attno, &bounds) &&
		bounds.has_zone && bounds.is_unsigned == state->is_unsigned &&
		(bounds.nnulls == 0 || !state->keys[0].nulls_first) &&
		is_worse(state, reverse ? bounds.max : bounds.min, batch->first))
		zskernel_bits_clear(passed);
	else if (state->leaves_out && zsnode_best_is_full(&state->best) && zskernel_bits_any(passed))
		leave_out_by_program(state, batch, passed);
}

/* Tells the scan what it may skip by the values that the filter's parameters have by now. */
static void
set_scan_filter(TopNState *state)
{
	ScanState  *ss = &state->css.ss;
	MemoryContext old;

	ResetExprContext(ss->ps.ps_ExprContext);
	old = MemoryContextSwitchTo(ss->ps.ps_ExprContext->ecxt_per_tuple_memory);
	zsexpr_input_batch_set_filters(state->input, zsexpr_filter_clauses(state->programs),
								   ss->ps.state->es_param_list_info);
	MemoryContextSwitchTo(old);
}

/* The rows of the batch that pass; false: its rows have to be looked at one by one. */
static bool
filter_batch(TopNState *state, const ZsBatch *batch, uint64 *passed)
{
	bool		changed = false;
	bool		decided;

	decided = zsexpr_filter_run(state->programs, state->input, batch, passed, &state->counts,
								&changed);
	if (changed)
		set_scan_filter(state);
	return decided && !(zsexpr_filter_has_rest(state->programs) && zskernel_bits_any(passed));
}

/*
 * Looks at rows of the batch that pass the filter, one by one.  In rows that were left out the
 * verifier must not find one that has a place in the heap: what is there becomes better only.
 */
static void
look_at_rows(TopNState *state, const uint64 *passed, const uint64 *left)
{
	uint16		list[ZS_KERNEL_ROWS];
	bool		verify = zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	uint32		n = zskernel_bits_list(verify ? passed : left, list);

	for (uint32 i = 0; i < n; i++)
	{
		zsexpr_input_store(state->input, list[i]);
		if (zsnode_topn_look_at_row(state) && verify && !zskernel_bits_get(left, list[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("row " UINT64_FORMAT " was left out of the best ones",
									 zsslot_row(state->keyslot))));
	}
}

static void
look_at_batch(TopNState *state, const ZsBatch *batch)
{
	uint64		passed[ZS_KERNEL_WORDS];
	uint64		left[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		nremoved = 0;
	uint32		n;

	if (filter_batch(state, batch, passed))
	{
		nremoved = batch->nsel - zskernel_bits_count(passed);
		zskernel_bits_copy(left, passed);
		leave_out_worse(state, batch, left);
		look_at_rows(state, passed, left);
	}
	else
	{
		n = zskernel_bits_list(batch->sel, list);
		for (uint32 i = 0; i < n; i++)
		{
			zsexpr_input_store(state->input, list[i]);
			if (zsnode_topn_row_passes(state))
				(void) zsnode_topn_look_at_row(state);
			else
				nremoved++;
		}
	}
	InstrCountFiltered1(&state->css.ss.ps, nremoved);
}

/* ---- in the order of zone maps ------------------------------------------------------------ */

static void
look_at_stripe(TopNState *state, zstid stripe)
{
	const ZsBatch *batch = zsexpr_input_batch_seek(state->input, stripe);

	CHECK_FOR_INTERRUPTS();
	if (batch != NULL)
		look_at_batch(state, batch);
}

/* Is the heap full of rows, the worst of which has NULL in its first key? */
static bool
worst_is_null(const TopNState *state)
{
	return zsnode_best_is_full(&state->best) && zsnode_best_worst(&state->best)->isnull[0];
}

/* Is no row with NULL wanted of the stripes from this one on? */
static bool
nulls_are_worse(const TopNState *state, zstid stripe)
{
	const ZsBestEntry *worst;

	if (!zsnode_best_is_full(&state->best))
		return false;
	worst = zsnode_best_worst(&state->best);
	if (!worst->isnull[0])
		return !state->keys[0].nulls_first;
	return state->nkeys == 1 && stripe > worst->row;
}

static void
look_at_nulls(TopNState *state, ZsScanOrder *order)
{
	zstid		stripe;

	while ((stripe = zsscan_order_nulls(order, true)) != ZS_INVALID_ROW &&
		   !nulls_are_worse(state, stripe))
		look_at_stripe(state, stripe);
}

/* Looks at stripes, the best first, until no further one can have a place in the heap. */
static void
choose_in_order(TopNState *state)
{
	ZsScanOrder *order = zsexpr_input_batch_order(state->input, state->keys[0].attno,
												  state->sortkeys[0].ssup_reverse);
	bool		nulls_first = state->keys[0].nulls_first;
	zstid		stripe;
	int64		bound;

	while ((stripe = zsscan_order_loose(order)) != ZS_INVALID_ROW)
		look_at_stripe(state, stripe);
	if (nulls_first)
		look_at_nulls(state, order);
	while (!(nulls_first && worst_is_null(state)) &&
		   zsscan_order_bound(order, &bound, &stripe) &&
		   !(find_worst(state) && is_worse(state, bound, stripe)))
		look_at_stripe(state, zsscan_order_next(order));
	if (!nulls_first)
		look_at_nulls(state, order);
	state->nleft += zsscan_order_skipped(order);
}

/* May stripes be looked at in another order than that of rows, or not at all? */
static bool
order_is_free(const TopNState *state)
{
	return state->has_zones && zs_enable_zone_maps && zs_debug_vector != ZS_DEBUG_VECTOR_ROWS &&
		!zsscan_expression_may_raise((Node *) zsexpr_filter_clauses(state->programs),
									 state->css.ss.ps.state->es_param_list_info);
}

/* Looks at all rows, by batches.  Errors: the filter's. */
void
zsnode_topn_choose_by_batches(TopNState *state)
{
	const ZsBatch *batch;

	state->worst_known = false;
	state->better_known = false;
	(void) zsexpr_filter_start(state->programs);
	set_scan_filter(state);
	zsexpr_input_start(state->input);
	if (order_is_free(state))
		choose_in_order(state);
	else
	{
		while ((batch = zsexpr_input_next(state->input)) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			look_at_batch(state, batch);
		}
	}
	zsexpr_input_end(state->input);
}

/* Gets ready to read batches of the table, and to apply the filter's programs to them. */
void
zsnode_topn_begin_batches(TopNState *state, CustomScan *cscan, Relation rel, EState *estate)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Index		varno = cscan->scan.scanrelid;
	List	   *exprs = NIL;

	for (int i = 0; i < state->nkeys; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, state->keys[i].attno - 1);

		exprs = lappend(exprs, makeVar(varno, state->keys[i].attno, att->atttypid, att->atttypmod,
									   att->attcollation, 0));
	}
	state->programs = zsexpr_filter_create(desc, varno, cscan->scan.plan.qual,
										   list_length(cscan->scan.plan.qual),
										   &state->css.ss.ps, NULL);
	state->input = zsexpr_input_batch_create(rel, varno, exprs, cscan->scan.plan.qual, estate);
	state->keyslot = state->input->slot;
	state->has_zones = key_has_zones(state, desc);
	state->first_key = linitial(exprs);
	state->leaves_out = find_operators(state);
	state->better_context = AllocSetContextCreate(CurrentMemoryContext, "zedstore top-N program",
												  ALLOCSET_SMALL_SIZES);
}
