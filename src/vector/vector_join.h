/*-------------------------------------------------------------------------
 *
 * vector_join.h
 *	  Run-time filters from hash joins; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_JOIN_H
#define VECTOR_JOIN_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "utils/rel.h"

#include "vector_input.h"

struct ExplainState;

/* ---- sets of keys (vector_join_keys.c) ---- */

/* The integers that a column of a hash join's inner side has. */
typedef struct ZsJoinKeys ZsJoinKeys;

/* An empty set.  Memory comes from a child of the context. */
extern ZsJoinKeys *zsvector_joinkeys_create(MemoryContext parent);

/* Forgets all keys. */
extern void zsvector_joinkeys_reset(ZsJoinKeys *keys);

/* Adds a key to a set that is not complete. */
extern void zsvector_joinkeys_add(ZsJoinKeys *keys, int64 key);

/* There are no more keys; from here on the set can be asked. */
extern void zsvector_joinkeys_complete(ZsJoinKeys *keys);

/* Can no integer in [min, max] be a key? */
extern bool zsvector_joinkeys_excludes(const ZsJoinKeys *keys, int64 min, int64 max);

/* Which of n values may be keys?  All that are, and maybe others. */
extern void zsvector_joinkeys_test(const ZsJoinKeys *keys, const int64 *values, uint32 n,
								   uint64 *bits);

/* With more keys than this a set may know their range only. */
extern double zsvector_joinkeys_most(void);

/* ---- filters on the columns of a scan (vector_join_filter.c) ---- */

/* A column of a scan whose rows are lost if they have no partner in the join. */
typedef struct ZsJoinFilter
{
	AttrNumber	attno;
	const HashJoinState *join;
	const ZsJoinKeys *keys;
	const bool *complete;		/* are the keys those of the join's hash table? */

	/* what it has done of late */
	uint32		nbatches;
	uint32		npaused;		/* batches for which it is not to be tried */
	uint64		rows_in;
	uint64		rows_out;
} ZsJoinFilter;

/*
 * Takes those rows of the input's present batch from passed that the filters (a list of
 * ZsJoinFilter) know to have no partner; how many these are.  Filters whose hash table is not there
 * do nothing.  verify: the scan that makes the batches, if values of rows that are taken out are to
 * be looked up once more, by slots of their own; else NULL.  Errors: a value is a key.
 */
extern uint32 zsvector_joinfilter_apply(List *filters, ZsInput *input, uint64 *passed,
										ZsBatchScan *verify);

/*
 * Tells EXPLAIN which columns of the table the filters look at, and how many rows they removed.
 */
extern void zsvector_joinfilter_explain(List *filters, Relation rel, uint64 removed,
										struct ExplainState *es);

/* ---- joins (vector_join_tap.c) ---- */

/*
 * Is the function equality of numbers that hash joins and our vectors have as integers, by their
 * values?
 */
extern bool zsvector_join_is_equality(Oid funcid);

/* ---- a scan's side (vector_scan_exec.c) ---- */

/* How many scans of ours this process has begun. */
extern uint64 zsvector_scans_begun;

/* Lets the scan leave out rows by the filter, which is in the memory of the query. */
extern void zsvector_scan_add_filter(CustomScanState *node, ZsJoinFilter *filter);

#endif							/* VECTOR_JOIN_H */
