/*-------------------------------------------------------------------------
 *
 * node_topn_batch.c
 *	  The rows of a top-N scan by batches.
 *
 * Where there are programs for all of the filter, it is applied to batches as aggregates do it
 * (expr_filter.c): they, too, look at all rows before they return one.  Of what passes, rows
 * whose first key is an integer worse than the worst one kept are left out, by zone maps and by
 * vectors.  That comes behind the filter, which may have to raise an error for a row whatever its
 * key is.
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
#include "utils/rel.h"
#include "utils/typcache.h"

#include "node_topn.h"
#include "zs_base.h"
#include "zs_expr_guc.h"
#include "zs_kernel.h"

/* Can the first key be compared with integers of a vector? */
static bool
key_is_integer(const TopNState *state, TupleDesc desc)
{
	const ZsTopNKey *key = &state->keys[0];
	Oid			type = TupleDescAttr(desc, key->attno - 1)->atttypid;
	TypeCacheEntry *cache;

	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			cache = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
			return key->sortop == cache->lt_opr || key->sortop == cache->gt_opr;
		default:
			return false;
	}
}

/* Could none of the values between these have a place in the heap? */
static bool
are_worse(const TopNState *state, int64 min, int64 max, int64 worst)
{
	bool		strict = state->nkeys > 1;

	if (state->sortkeys[0].ssup_reverse)
		return strict ? max < worst : max <= worst;
	return strict ? min > worst : min >= worst;
}

/* Takes rows of the batch out of passed that cannot have a place in the heap. */
static void
leave_out_worse(TopNState *state, uint64 *passed)
{
	const TopNEntry *entry;
	AttrNumber	attno = state->keys[0].attno;
	bool		nulls_first = state->keys[0].nulls_first;
	bool		reverse = state->sortkeys[0].ssup_reverse;
	uint64		bits[ZS_KERNEL_WORDS];
	const ZsColumnVector *vector;
	ZsColumnBounds bounds;
	int64		worst;

	if (!state->leaves_out || binaryheap_size(state->heap) < state->bound)
		return;
	entry = (const TopNEntry *) DatumGetPointer(binaryheap_first(state->heap));
	if (entry->isnull[0])
		return;
	worst = zsattr_value_to_int(entry->values[0],
								TupleDescAttr(state->input->desc, attno - 1)->attlen);
	if (zs_enable_zone_maps && zsexpr_input_bounds(state->input, attno, &bounds) &&
		bounds.has_zone && !bounds.is_unsigned && (bounds.nnulls == 0 || !nulls_first) &&
		are_worse(state, bounds.min, bounds.max, worst))
	{
		zskernel_bits_clear(passed);
		return;
	}
	vector = zsexpr_input_column(state->input, attno, ZS_WANT_INT, passed);
	if (vector == NULL || vector->vals == NULL || vector->has_odd)
		return;
	zskernel_compare_int64(vector->vals, vector->nrows,
						   reverse ? (state->nkeys > 1 ? ZS_CMP_GE : ZS_CMP_GT) :
						   (state->nkeys > 1 ? ZS_CMP_LE : ZS_CMP_LT), worst, bits);
	if (vector->has_nulls && nulls_first)
		zskernel_bits_or(bits, vector->nulls);
	else if (vector->has_nulls)
		zskernel_bits_andnot(bits, vector->nulls);
	zskernel_bits_and(passed, bits);
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

	if (zs_debug_vector == ZS_DEBUG_VECTOR_ROWS)
		return false;
	zskernel_bits_copy(passed, batch->sel);
	if (!zsexpr_filter_run(state->programs, state->input, passed, &state->counts, &changed))
		return false;
	if (changed)
		set_scan_filter(state);
	return true;
}

static void
look_at_batch(TopNState *state, const ZsBatch *batch)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint64		passed[ZS_KERNEL_WORDS];
	bool		filtered = filter_batch(state, batch, passed);
	bool		one_by_one = !filtered || zs_debug_vector == ZS_DEBUG_VECTOR_VERIFY;
	uint32		nremoved = 0;
	uint32		n;

	if (!one_by_one)
	{
		nremoved = batch->nsel - zskernel_bits_count(passed);
		leave_out_worse(state, passed);
	}
	n = zskernel_bits_list(one_by_one ? batch->sel : passed, list);
	for (uint32 i = 0; i < n; i++)
	{
		zsexpr_input_store(state->input, list[i]);
		if (one_by_one)
		{
			bool		pass = zsnode_topn_row_passes(state);

			if (filtered && pass != zskernel_bits_get(passed, list[i]))
				ereport(ERROR,
						(errcode(ERRCODE_INTERNAL_ERROR),
						 errmsg_internal("filter of row " UINT64_FORMAT " differs by batches",
										 batch->first + list[i])));
			if (!pass)
			{
				nremoved++;
				continue;
			}
		}
		zsnode_topn_look_at_row(state);
	}
	InstrCountFiltered1(&state->css.ss.ps, nremoved);
}

/* See node_topn.h. */
void
zsnode_topn_choose_by_batches(TopNState *state)
{
	const ZsBatch *batch;

	zsexpr_filter_start(state->programs);
	set_scan_filter(state);
	zsexpr_input_start(state->input);
	while ((batch = zsexpr_input_next(state->input)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		look_at_batch(state, batch);
	}
	zsexpr_input_end(state->input);
}

/* See node_topn.h. */
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
										   &state->css.ss.ps);
	state->input = zsexpr_input_batch_create(rel, varno, exprs, cscan->scan.plan.qual, estate);
	state->keyslot = state->input->slot;
	state->leaves_out = key_is_integer(state, desc);
}
