/*-------------------------------------------------------------------------
 *
 * zs_agg_group.h
 *	  Numbers for groups of rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_agg_group.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_AGG_GROUP_H
#define ZS_AGG_GROUP_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "zs_expr.h"
#include "zs_expr_qual.h"

/* A column or expression that rows are grouped by. */
typedef struct ZsGroupKey
{
	AttrNumber	attno;			/* 0, without an expression: numbers that the caller gives, in
								 * front of the columns */
	ZsExpr	   *expr;			/* instead of attno, or NULL */
	ZsDomain	domain;			/* NONE: bytes, as many as width or with a header */
	int			width;			/* the type's length */
	bool		has_form;		/* equal values may look different; the first one is shown */
} ZsGroupKey;

typedef struct ZsGroups ZsGroups;

#define ZS_MAX_GROUP_KEYS	32

/* There is no such group, and no new ones are made. */
#define ZS_NO_GROUP		PG_UINT32_MAX

/* ---- group_key.c ---- */

/*
 * Describes the key; false if rows cannot be grouped by it here.  eqop: what says that two values
 * are equal.  Reads system catalogs.
 */
extern bool zsagg_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop,
								 ZsGroupKey *key);

/*
 * The same with NULLs in the place of parts that look at no column: can rows be grouped by it,
 * whatever the values of these turn out to be?  The key's program is not to run if there are any.
 */
extern bool zsagg_group_classify_folded(TupleDesc desc, Index varno, Node *expr, Oid eqop,
										ZsGroupKey *key);

/* ---- group.c ---- */

/* Memory comes from the context, which may be reset together with all groups. */
extern ZsGroups *zsagg_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys);

/* From now on no group is added: rows of others have ZS_NO_GROUP. */
extern void zsagg_groups_freeze(ZsGroups *groups);
extern bool zsagg_groups_frozen(const ZsGroups *groups);

/*
 * Can the rows of sel of the present batch be taken by columns?  Else they have to be taken one by
 * one.
 */
extern bool zsagg_groups_ready(const ZsGroups *groups, ZsInput *input, const uint64 *sel);

/*
 * The groups of the n rows of list (positions in the present batch, ascending), some of which may
 * be new.  sel: as above, with all of these rows.  given: values of the key without a column, for
 * each row of list, or NULL.
 */
extern void zsagg_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel,
								const uint16 *list, uint32 n, const uint32 *given,
								uint32 *numbers);

/* The same where the keys' vectors are at hand, which have no codes. */
extern void zsagg_groups_assign_vectors(ZsGroups *groups, const ZsColumnVector *const *vectors,
										const uint16 *list, uint32 n, uint32 *numbers);

/* Reads the keys of the present batch, for the next two functions; no group is assigned. */
extern void zsagg_groups_read_keys(ZsGroups *groups, ZsInput *input, const uint64 *sel);

/* The vectors of the keys that were read last; false if one has none. */
extern bool zsagg_groups_vectors(const ZsGroups *groups, const ZsColumnVector **vectors);

/* The group of one row; its keys' values. */
extern uint32 zsagg_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull);

/* The size that an array of n members grows to: less than twice where that would waste much. */
static inline uint32
zsagg_groups_grown(uint32 n)
{
	return n < 8192 ? n * 2 : n + n / 4;
}

extern uint32 zsagg_groups_count(const ZsGroups *groups);

/* How many more there can be without memory for their keys; strings need some all the same. */
extern uint32 zsagg_groups_room(const ZsGroups *groups);

/* The value of a key of domain INT; false if it is NULL. */
extern bool zsagg_groups_int(const ZsGroups *groups, uint32 group, int key, int64 *value);

/* Are rows found by ranges of their keys, without a hash table? */
extern bool zsagg_groups_direct(const ZsGroups *groups);

/* ---- group_word.c ---- */

/* A hash of the keys, the same for equal ones in whatever groups. */
extern uint64 zsagg_groups_hash_row(const ZsGroups *groups, const Datum *values,
									const bool *isnull);

/* The same of n rows of list, of the batch whose keys were read last. */
extern void zsagg_groups_hash_rows(ZsGroups *groups, const uint16 *list, uint32 n,
								   uint64 *hashes);

/* A key of a group, in the current context or as long as groups lives. */
extern Datum zsagg_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull);

#endif							/* ZS_AGG_GROUP_H */
