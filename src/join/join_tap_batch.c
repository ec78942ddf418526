/*-------------------------------------------------------------------------
 *
 * join_tap_batch.c
 *	  Notes the keys of batches whose rows make a hash table.
 *
 * Joins by batches take those of a scan, or of other joins, for their tables, without rows: what
 * would have passed the tap in front of the node (join_tap.c) comes here.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_tap_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "join_tap.h"
#include "zs_join.h"
#include "zs_node.h"

/* The number of the input's column that is this one of the node's rows. */
static AttrNumber
column_of(const List *exprs, AttrNumber attno)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		const Node *expr = lfirst(lc);

		/* under another name for its type it has the same values */
		while (IsA(expr, RelabelType))
			expr = (const Node *) ((const RelabelType *) expr)->arg;
		if (IsA(expr, Var) && ((const Var *) expr)->varattno == attno)
			return (AttrNumber) (foreach_current_index(lc) + 1);
	}
	elog(ERROR, "key %d of a hash table is not among its columns", attno);
}

/* Notes the keys of a column of the batch. */
static void
add_keys(TapKey *key, ZsInput *input, AttrNumber column, const ZsBatch *batch)
{
	bool		is_int = key->form == ZS_ROW_FILTER_INT;
	const ZsColumnVector *vector = zsexpr_input_column(input, column, is_int ? ZS_WANT_INT :
													   ZS_WANT_DATUM, batch->sel);
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);
	bool		by_rows = vector == NULL ||
		(is_int ? vector->vals == NULL : vector->datums == NULL) ||
		zs_vector_has_odd(vector, batch->sel);

	Assert(column > 0 && column <= input->desc->natts);
	for (uint32 i = 0; i < n; i++)
	{
		uint16		row = list[i];
		Datum		value;
		bool		isnull = false;

		if (by_rows)
		{
			zsexpr_input_store(input, row);
			value = slot_getattr(input->slot, column, &isnull);
		}
		else if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
			continue;
		else if (is_int)
		{
			zsjoin_keys_add(key->keys, vector->vals[row]);
			continue;
		}
		else
			value = (Datum) vector->datums[row];
		if (!isnull)
			zsjoin_keys_add(key->keys,
							zsnode_row_filter_number(key->form, key->strips_blanks, value,
													 key->typlen));
	}
	if (by_rows)
		ExecClearTuple(input->slot);
}

/* ZsBuildTap */
static void
tap_batch(PlanState *node, ZsInput *input, const List *exprs, const ZsBatch *batch)
{
	ZsJoinTap  *tap = zsjoin_tap_find(node);

	if (tap == NULL)
		return;
	Assert(tap->node == node && tap->nkeys > 0);
	for (int i = 0; i < tap->nkeys; i++)
	{
		TapKey	   *key = &tap->keys[i];

		/* those of another table */
		if (tap->complete)
			zsjoin_keys_reset(key->keys);
		if (batch == NULL)
			zsjoin_keys_end(key->keys, node->state->es_query_dsa);
		else
			add_keys(key, input, column_of(exprs, key->attno), batch);
	}
	tap->complete = batch == NULL;
}

/* Joins by batches show what they make tables of to taps. */
void
zsjoin_tap_register(void)
{
	zsnode_build_tap = tap_batch;
}
