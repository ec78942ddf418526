/*-------------------------------------------------------------------------
 *
 * node_agg_join.h
 *	  Joins by batches below a node that aggregates; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_AGG_JOIN_H
#define NODE_AGG_JOIN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_expr_input.h"
#include "zs_probe.h"

struct ExplainState;

typedef struct ZsAggJoins ZsAggJoins;

/* ---- node_agg_spine.c ---- */

/* More joins than that are core's. */
#define ZS_SPINE_MAX_JOINS	32

/* One hash join of core's, the lowest first. */
typedef struct ZsSpineJoin
{
	HashJoinState *state;
	HashState  *hash;
	PlanState  *build;			/* below hash */
	bool		rereads;		/* may it, and the scan, be read many times? */
	int			nbefore;		/* columns of all that is below the join */
	int			nbuild;			/* columns of build */
	List	   *joinqual;		/* over all columns below and those of build */
	List	   *qual;
	List	   *key_exprs;		/* of the probe side, the same */
	List	   *build_exprs;	/* over build: columns that are needed, and keys */
	List	   *build_keys;		/* numbers of these (int) */
	AttrNumber *columns;		/* for each column of build its number there, or 0 */
} ZsSpineJoin;

/* Hash joins on each other's outer sides, maybe none, and a scan of ours below all of them. */
typedef struct ZsSpine
{
	CustomScanState *scan;
	int			njoins;
	ZsSpineJoin *joins;
	Bitmapset  *used;			/* columns of the scan and of all builds that are needed */
	List	   *exprs;			/* what was asked for, over these columns */
} ZsSpine;

extern ZsSpine *zsnode_spine_find(PlanState *top, List *exprs, int least);
extern TupleDesc zsnode_spine_desc(const ZsSpine *spine, int njoins);

/* ---- node_agg_build.c ---- */

extern ZsInput *zsnode_build_input_create(PlanState *node, List *exprs, ZsInput *below);

/* ---- node_agg_join_make.c ---- */

/* One join. */
typedef struct ZsAggJoin
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
	double		expected;		/* bytes of the table, by the planner's estimates */
	bool		may_divide;		/* into parts */
	uint32		part;			/* the present one */
	uint32		nparts;
	ZsAggJoins *all;			/* of which it is one */
} ZsAggJoin;

/* Those of a spine, and in them those of inner sides. */
struct ZsAggJoins
{
	int			njoins;
	ZsAggJoin  *joins;			/* the lowest first */
	ZsInput    *input;			/* NULL: for EXPLAIN only */
	bool		given_up;
	ZsAggJoin  *above;			/* whose inner side they are; NULL: the node's child */
	int			nall;			/* with those of inner sides, in all of the node */
};

extern ZsAggJoins *zsnode_agg_joins_create(PlanState *node, PlanState *child, List *exprs,
										   bool explain_only);
extern ZsInput *zsnode_agg_joins_input(const ZsAggJoins *joins);
extern void zsnode_agg_joins_explain(const ZsAggJoins *joins, struct ExplainState *es);

/* ---- node_agg_join.c ---- */

extern Size zsnode_agg_joins_memory_limit(int njoins);
extern bool zsnode_agg_joins_start(ZsAggJoins *joins);
extern void zsnode_agg_join_first_part(void *arg);
extern bool zsnode_agg_join_next_part(void *arg);

#endif							/* NODE_AGG_JOIN_H */
