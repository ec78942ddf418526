/*-------------------------------------------------------------------------
 *
 * node_cache.h
 *	  The result cache of correlated subqueries: its node and its table.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_cache.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_CACHE_H
#define NODE_CACHE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "nodes/extensible.h"

/* ---- node_cache_plan.c ---- */

extern const CustomScanMethods zsnode_cache_scan_methods;

/* ---- node_cache_exec.c ---- */
extern Node *zsnode_cache_create_state(CustomScan *cscan);

/* ---- node_cache_table.c ---- */

/* A row of a result. */
typedef struct ZsCachedRow
{
	struct ZsCachedRow *next;
	MinimalTuple tuple;
} ZsCachedRow;

/* What a subquery returned for the values of its parameters. */
typedef struct ZsCachedResult
{
	uint32		hash;			/* of the values */
	ZsCachedRow *first;			/* its rows, in their order */
	ZsCachedRow *last;
	Datum	   *values;			/* one for each key */
	bool	   *isnull;
} ZsCachedResult;

/* The type of a key. */
typedef struct ZsCacheKey
{
	int			paramid;		/* PARAM_EXEC */
	int16		typlen;
	bool		typbyval;
} ZsCacheKey;

typedef struct ZsCacheTable ZsCacheTable;

extern ZsCacheTable *zsnode_cache_table_create(const ZsCacheKey *keys, int nkeys, Size limit);
extern void zsnode_cache_table_reset(ZsCacheTable *table);
extern const ZsCachedResult *zsnode_cache_table_find(ZsCacheTable *table, const Datum *values,
													 const bool *isnull);
extern void zsnode_cache_table_begin(ZsCacheTable *table, const Datum *values, const bool *isnull);
extern bool zsnode_cache_table_add(ZsCacheTable *table, MinimalTuple tuple);
extern void zsnode_cache_table_finish(ZsCacheTable *table);
extern void zsnode_cache_table_abandon(ZsCacheTable *table);
extern bool zsnode_cache_table_is_filling(const ZsCacheTable *table);
extern uint64 zsnode_cache_table_evictions(const ZsCacheTable *table);
extern Size zsnode_cache_table_peak(const ZsCacheTable *table);

#endif							/* NODE_CACHE_H */
