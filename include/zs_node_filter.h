/*-------------------------------------------------------------------------
 *
 * zs_node_filter.h
 *	  What hash joins may ask a scan to leave out: rows without a partner.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_node_filter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_NODE_FILTER_H
#define ZS_NODE_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "port/atomics.h"
#include "utils/dsa.h"
#include "utils/rel.h"

#include "zs_expr_input.h"

struct ExplainState;

/* ---- sets of keys (node_join_keys.c) ---- */

/* The integers that a column of a hash join's inner side has. */
typedef struct ZsJoinKeys ZsJoinKeys;

/* An empty set.  Memory comes from a child of the context. */
extern ZsJoinKeys *zsnode_joinkeys_create(MemoryContext parent);

/* Forgets all keys. */
extern void zsnode_joinkeys_reset(ZsJoinKeys *keys);

/* Adds a key to a set that has not ended. */
extern void zsnode_joinkeys_add(ZsJoinKeys *keys, int64 key);

/*
 * There are no more keys of this process.  From here on the set can be asked; one that is shared is
 * left to all who share it, in dsa, and forgotten here.  Errors: those of making shared memory.
 */
extern void zsnode_joinkeys_end(ZsJoinKeys *keys, dsa_area *dsa);

/* Can no integer in [min, max] be a key? */
extern bool zsnode_joinkeys_excludes(const ZsJoinKeys *keys, int64 min, int64 max);

/* Which of n values may be keys?  All that are, and maybe others. */
extern void zsnode_joinkeys_test(const ZsJoinKeys *keys, const int64 *values, uint32 n,
								 uint64 *bits);

/* With more keys than this a set may know their range only. */
extern double zsnode_joinkeys_most(void);

/* With more keys than this it may not know whether one lies between two values. */
#define ZS_JOINKEYS_SORTED	4096

/* In dynamic shared memory: where processes that make a hash table together leave their keys. */
typedef struct ZsSharedJoinKeys
{
	pg_atomic_uint64 parts;		/* dsa_pointer to the first */
	pg_atomic_uint32 unusable;	/* some process leaves none */
	int			plan_node_id;	/* whose rows have the keys */
	AttrNumber	attno;			/* in which column */
} ZsSharedJoinKeys;

/* Nobody has left keys yet, of the column of the plan node. */
extern void zsnode_joinkeys_shared_init(ZsSharedJoinKeys *shared, int plan_node_id,
										AttrNumber attno);

/* Frees what was left, for another hash table. */
extern void zsnode_joinkeys_shared_reset(ZsSharedJoinKeys *shared, dsa_area *dsa);

/* Some process will not leave its keys: nobody may use those of the others. */
extern void zsnode_joinkeys_shared_disable(ZsSharedJoinKeys *shared);

/* Forgets all keys; from here on the set is this process's view of shared (NULL: a set again). */
extern void zsnode_joinkeys_share(ZsJoinKeys *keys, ZsSharedJoinKeys *shared);

/*
 * Takes what all processes have left, when all have; then the set can be asked.  False if it
 * cannot, since it is not shared, or one process leaves nothing.
 */
extern bool zsnode_joinkeys_collect(ZsJoinKeys *keys, dsa_area *dsa);

/* Can the set be asked? */
extern bool zsnode_joinkeys_is_complete(const ZsJoinKeys *keys);

/* ---- filters on the columns of a scan (node_join_filter.c) ---- */

/* Notes the keys of rows on their way to a hash table (join_tap.c). */
typedef struct ZsJoinTap ZsJoinTap;

/* A column of a scan whose rows are lost if they have no partner in the join. */
typedef struct ZsJoinFilter
{
	AttrNumber	attno;
	const HashJoinState *join;
	ZsJoinKeys *keys;
	const ZsJoinTap *tap;		/* notes them */
	bool		(*is_in_place) (const ZsJoinTap *tap);	/* do all rows pass it? */
	int			tap_plan_node;	/* whose rows it sees */
	AttrNumber	tap_attno;		/* of this column of them */
	bool		shares;			/* has the scan to see to shared memory for the keys? */

	/* what it has done of late */
	uint32		nbatches;
	uint32		npaused;		/* batches for which it is not to be tried */
	uint64		rows_in;
	uint64		rows_out;
} ZsJoinFilter;

/*
 * Takes those rows of the input's present batch from passed that the filters (a list of
 * ZsJoinFilter) know to have no partner; how many these are.  Filters whose hash table is not there
 * do nothing.  zones_asked: zsnode_joinfilter_excludes() was called for the batch.  verify: the
 * scan that makes the batches, if values of rows that are taken out are to be looked up once more,
 * by slots of their own; else NULL.  Errors: a value is a key.
 */
extern uint32 zsnode_joinfilter_apply(List *filters, ZsInput *input, uint64 *passed,
									  bool zones_asked, ZsBatchScan *verify);

/* Do zone maps alone say that no row of the input's present batch has a partner? */
extern bool zsnode_joinfilter_excludes(List *filters, ZsInput *input);

/* A ZsZoneTest; arg is a filter. */
extern bool zsnode_joinfilter_excludes_zone(void *arg, AttrNumber attno, int64 min, int64 max);

/*
 * Tells EXPLAIN which columns of the table the filters look at, and how many rows they removed.
 */
extern void zsnode_joinfilter_explain(List *filters, Relation rel, uint64 removed,
									  struct ExplainState *es);

/* ---- a scan's side (node_scan_exec.c) ---- */

/* How many scans of ours this process has begun. */
extern uint64 zsnode_scans_begun;

#ifdef USE_ASSERT_CHECKING
/* Has the scan a filter for each column that the planner counts on one for? */
extern bool zsnode_scan_has_filters(const CustomScanState *node);
#endif

/* Lets the scan leave out rows by the filter, which is in the memory of the query. */
extern void zsnode_scan_add_filter(CustomScanState *node, ZsJoinFilter *filter);

#endif							/* ZS_NODE_FILTER_H */
