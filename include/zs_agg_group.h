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

extern bool zsagg_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop,
								 ZsGroupKey *key);
extern bool zsagg_group_classify_unbound(TupleDesc desc, Index varno, Node *expr, Oid eqop,
										 ZsGroupKey *key);

/* ---- group.c ---- */

extern ZsGroups *zsagg_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys);
extern void zsagg_groups_freeze(ZsGroups *groups);
extern bool zsagg_groups_frozen(const ZsGroups *groups);
extern bool zsagg_groups_ready(const ZsGroups *groups, ZsInput *input, const uint64 *sel);
extern void zsagg_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel,
								const uint16 *list, uint32 n, const uint32 *given,
								uint32 *numbers);
extern void zsagg_groups_assign_vectors(ZsGroups *groups, const ZsColumnVector *const *vectors,
										const uint16 *list, uint32 n, uint32 *numbers);
extern void zsagg_groups_read_keys(ZsGroups *groups, ZsInput *input, const uint64 *sel);
extern bool zsagg_groups_vectors(const ZsGroups *groups, const ZsColumnVector **vectors);
extern uint32 zsagg_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull);

/* The size that an array of n members grows to: less than twice where that would waste much. */
static inline uint32
zsagg_groups_grown(uint32 n)
{
	return n < 8192 ? n * 2 : n + n / 4;
}

extern uint32 zsagg_groups_count(const ZsGroups *groups);
extern uint32 zsagg_groups_room(const ZsGroups *groups);
extern bool zsagg_groups_int(const ZsGroups *groups, uint32 group, int key, int64 *value);
extern bool zsagg_groups_direct(const ZsGroups *groups);

/* ---- group_word.c ---- */

extern uint64 zsagg_groups_hash_row(const ZsGroups *groups, const Datum *values,
									const bool *isnull);
extern void zsagg_groups_hash_rows(ZsGroups *groups, const uint16 *list, uint32 n,
								   uint64 *hashes);
extern Datum zsagg_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull);

#endif							/* ZS_AGG_GROUP_H */
