/*-------------------------------------------------------------------------
 *
 * node_agg_block.c
 *	  Groups that go from one node of ours to another many at a time.
 *
 * Where workers make many groups, most of what it takes to combine them is the way there: a group
 * becomes a row, the row a tuple, the tuple is sent, and taken apart again.  All of that the leader
 * does alone, or waits for.  So a partial node puts some hundred groups into a block, column by
 * column, as batches have them, and the node that combines them (expr_input_rows.c) takes it as
 * a batch:
 *
 *		head | column 0: NULLs, scale, entries | column 1: ... | ...
 *
 * A row that has a block has it in the carrier, the first column whose states are images
 * (agg_combine.c), and NULL in all others.  An image begins with a count, a block with a
 * number that is none.  Rows of single groups and blocks may come in any order.
 *
 * Keys and states have to be of fixed length, and one of the states has to be an image.  Groups
 * whose states are not (sums that core keeps, numerics that are no integers of the block's scale)
 * go as rows, and so do the groups of nodes that have few.
 *
 * EXPLAIN ANALYZE counts a block as one row.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_block.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "varatt.h"

#include "node_agg.h"
#include "zs_attr.h"
#include "zs_expr_block.h"
#include "zs_expr_guc.h"

/* A block has no more bytes: a quarter of what a tuple queue holds, so that both ends work. */
#define MAX_BYTES		16384

/* Fewer groups go as rows. */
#define MIN_GROUPS		16

/* After a block that became no larger than that, so many groups go as rows. */
#define PAUSE_GROUPS	1024

struct ZsAggBlocks
{
	ZsBlockColumn *columns;
	int			carrier;
	uint32		maxgroups;
	uint32		pause;			/* groups that go as rows, before there may be a block again */
	Size		size;
	char	   *varlena;		/* the block's, from its header on */
	char	   *block;			/* aligned */
};

/* How states of the aggregate come to the node, or leave it. */
static ZsAggState
kind_of_state(const AggNodeState *state, int aggno)
{
	return state->split == ZS_SPLIT_COMBINING ? state->aggs[aggno].agg.state :
		zsagg_state_of(list_nth_node(Aggref, state->aggrefs, aggno));
}

/*
 * Describes the columns of rows of groups, keys and then states, that the node makes or combines;
 * NULL: they do not go in blocks.  *carrier is the column in which blocks go.
 */
static ZsBlockColumn *
describe(const AggNodeState *state, TupleDesc desc, int *carrier)
{
	ZsBlockColumn *columns = palloc0(desc->natts * sizeof(ZsBlockColumn));

	Assert(desc->natts == state->nkeys + state->naggs);
	*carrier = -1;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		ZsBlockColumn *column = &columns[i];
		int			aggno = i - state->nkeys;

		column->entry = sizeof(int64);
		if (aggno >= 0 && kind_of_state(state, aggno) == ZS_STATE_IMAGE)
		{
			column->kind = ZS_BLOCK_IMAGE;
			column->image = zsagg_value_size(&state->aggs[aggno].agg);
			column->entry = sizeof(uint64) + column->image;
			if (*carrier < 0)
				*carrier = i;
		}
		else if (att->attbyval)
			column->kind = ZS_BLOCK_INT;
		else if (aggno >= 0 && att->atttypid == NUMERICOID)
			column->kind = ZS_BLOCK_DECIMAL;
		else
			return NULL;
	}
	return *carrier < 0 ? NULL : columns;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Makes a partial node return blocks if it can. */
static void
return_blocks(AggNodeState *state)
{
	TupleDesc	desc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	ZsAggBlocks *blocks = palloc0(sizeof(ZsAggBlocks));
	Size		group_size = 0;

	blocks->columns = describe(state, desc, &blocks->carrier);
	if (blocks->columns == NULL)
		return;
	for (int i = 0; i < desc->natts; i++)
		group_size += blocks->columns[i].entry;
	blocks->maxgroups = Min(MAX_BYTES / group_size, ZS_BLOCK_GROUPS);
	if (blocks->maxgroups < MIN_GROUPS)
		return;
	blocks->size = sizeof(ZsBlockHead);
	for (int i = 0; i < desc->natts; i++)
		blocks->size += zsexpr_block_column_size(&blocks->columns[i], blocks->maxgroups);
	blocks->varlena = (char *) palloc0(sizeof(uint64) + blocks->size) + ZS_BLOCK_VARLENA;
	blocks->block = VARDATA(blocks->varlena);
	SET_VARSIZE(blocks->varlena, VARHDRSZ + blocks->size);
	state->result.blocks = blocks;
}

/*
 * Lets a partial node return blocks, and the input of one that combines groups, whose rows are
 * desc, take them.  Called when slot and input are there.
 */
void
zsnode_agg_blocks_init(AggNodeState *state, TupleDesc desc)
{
	if (state->split == ZS_SPLIT_COMBINING)
	{
		int			carrier;
		ZsBlockColumn *columns = describe(state, desc, &carrier);

		if (columns != NULL)
			zsexpr_input_rows_expect_blocks(state->input, columns, carrier);
	}
	else if (zs_enable_group_blocks && state->split == ZS_SPLIT_FOR_OURS && state->nkeys > 0)
		return_blocks(state);
}

/* Puts the value of a group into the entry; false if it has none that fits there. */
static bool
put_value(AggNodeState *state, uint32 group, int i, const ZsBlockColumn *column, uint32 at,
		  ZsBlockColumnHead *head)
{
	Form_pg_attribute att = TupleDescAttr(state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor, i);
	char	   *entry = (char *) (head + 1) + at * column->entry;
	bool		isnull;
	const NodeAgg *agg;
	ZsAggValue *value;

	if (i < state->nkeys)
	{
		Datum		key = zsagg_groups_key(state->store.groups, group, i, &isnull);

		*(int64 *) entry = isnull ? 0 : zsattr_value_to_int(key, att->attlen);
	}
	else
	{
		agg = &state->aggs[i - state->nkeys];
		value = zsnode_agg_value_of(state, group, agg);
		if (column->kind == ZS_BLOCK_IMAGE)
		{
			if (!zsagg_put_image(&agg->agg, value, entry + sizeof(uint64), &isnull))
				return false;
			SET_VARSIZE(entry + ZS_BLOCK_VARLENA, VARHDRSZ + column->image);
		}
		else if (column->kind == ZS_BLOCK_DECIMAL)
		{
			Assert(agg->agg.domain == ZS_DOMAIN_DECIMAL);
			isnull = value->count == 0;
			if (!isnull && (value->is_large || value->scale != value->dscale ||
							(head->scale >= 0 && head->scale != value->scale)))
				return false;
			if (!isnull)
				head->scale = value->scale;
			*(int64 *) entry = isnull ? 0 : value->best;
		}
		else
		{
			Datum		result = zsagg_result(&agg->agg, value, &isnull);

			*(int64 *) entry = isnull ? 0 : zsattr_value_to_int(result, att->attlen);
		}
	}
	if (isnull)
		head->nulls[at / 64] |= UINT64CONST(1) << (at % 64);
	else
		head->nulls[at / 64] &= ~(UINT64CONST(1) << (at % 64));
	return true;
}

/* Puts the group into the block; false if it does not fit there. */
static bool
put_group(AggNodeState *state, uint32 group, uint32 at)
{
	ZsAggBlocks *blocks = state->result.blocks;
	char	   *place = blocks->block + sizeof(ZsBlockHead);

	for (int i = 0; i < state->nkeys + state->naggs; i++)
	{
		if (!put_value(state, group, i, &blocks->columns[i], at, (ZsBlockColumnHead *) place))
			return false;
		place += zsexpr_block_column_size(&blocks->columns[i], blocks->maxgroups);
	}
	return true;
}

/*
 * The next groups of the node, of which there is one at least, as a block in its slot; NULL if the
 * next one has to be a row.
 */
TupleTableSlot *
zsnode_agg_store_block(AggNodeState *state)
{
	ZsAggBlocks *blocks = state->result.blocks;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	ZsBlockHead *head = (ZsBlockHead *) blocks->block;
	char	   *place = blocks->block + sizeof(ZsBlockHead);
	uint32		n = 0;

	Assert(state->result.left > 0 && state->result.kept == NULL);
	if (blocks->pause > 0)
	{
		blocks->pause--;
		return NULL;
	}
	if (state->result.left < MIN_GROUPS)
		return NULL;
	for (int i = 0; i < state->nkeys + state->naggs; i++)
	{
		memset(place, 0, sizeof(ZsBlockColumnHead));
		((ZsBlockColumnHead *) place)->scale = -1;
		place += zsexpr_block_column_size(&blocks->columns[i], blocks->maxgroups);
	}
	while (n < blocks->maxgroups && n < state->result.left &&
		   put_group(state, state->result.next + n, n))
		n++;
	if (n < MIN_GROUPS)
	{
		blocks->pause = PAUSE_GROUPS;
		return NULL;
	}
	if (state->verifier != NULL)
	{
		for (uint32 i = 0; i < n; i++)
			(void) zsnode_agg_store_group(state, state->result.next + i);
	}
	head->mark = ZS_BLOCK_MARK;
	head->ngroups = n;
	head->maxgroups = blocks->maxgroups;
	state->result.next += n;
	state->result.left -= n;
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	slot->tts_values[blocks->carrier] = PointerGetDatum(blocks->varlena);
	slot->tts_isnull[blocks->carrier] = false;
	return ExecStoreVirtualTuple(slot);
}
