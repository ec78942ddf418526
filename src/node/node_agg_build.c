/*-------------------------------------------------------------------------
 *
 * node_agg_build.c
 *	  The batches of a join's inner side, as an input.
 *
 * They are those of another input.  Each is shown to whoever wants to know of the rows that make
 * the join's table: ExecProcNode of the plan that would return them is not called.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "node_agg_join.h"
#include "zs_node.h"

ZsBuildTap	zsnode_build_tap = NULL;

typedef struct BuildInput
{
	ZsInput		base;			/* first */
	ZsInput    *below;
	PlanState  *node;
	List	   *exprs;			/* its columns, over node's */
} BuildInput;

/* ZsInputMethods.start */
static void
start_build(ZsInput *input)
{
	zsexpr_input_start(((BuildInput *) input)->below);
}

/* ZsInputMethods.next */
static const ZsBatch *
next_batch(ZsInput *input)
{
	BuildInput *build = (BuildInput *) input;
	const ZsBatch *batch = zsexpr_input_next(build->below);

	if (zsnode_build_tap != NULL)
		zsnode_build_tap(build->node, build->below, build->exprs, batch);
	return batch;
}

/* ZsInputMethods.column */
static const ZsColumnVector *
build_column(ZsInput *input, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	return zsexpr_input_column(((BuildInput *) input)->below, attno, want, sel);
}

/* ZsInputMethods.bounds */
static bool
build_bounds(ZsInput *input, AttrNumber attno, ZsColumnBounds *bounds)
{
	return zsexpr_input_bounds(((BuildInput *) input)->below, attno, bounds);
}

/* ZsInputMethods.store */
static void
store_row(ZsInput *input, uint32 position)
{
	zsexpr_input_store(((BuildInput *) input)->below, position);
}

/* ZsInputMethods.end */
static void
end_build(ZsInput *input)
{
	zsexpr_input_end(((BuildInput *) input)->below);
}

static const ZsInputMethods build_methods = {
	.start = start_build,
	.next = next_batch,
	.column = build_column,
	.bounds = build_bounds,
	.store = store_row,
	.end = end_build,
};

/*
 * The rows of node as the batches of below, whose columns are the expressions over node's rows
 * (OUTER_VAR).  Memory comes from the current context.
 */
ZsInput *
zsnode_build_input_create(PlanState *node, List *exprs, ZsInput *below)
{
	BuildInput *build = palloc0(sizeof(BuildInput));

	Assert(list_length(exprs) == below->desc->natts);
	build->base.methods = &build_methods;
	build->base.desc = below->desc;
	build->base.varno = below->varno;
	build->base.slot = below->slot;
	build->below = below;
	build->node = node;
	build->exprs = exprs;
	return &build->base;
}
