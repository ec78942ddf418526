/*-------------------------------------------------------------------------
 *
 * vector_group.h
 *	  Numbers for groups of rows; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_group.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_GROUP_H
#define VECTOR_GROUP_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "vector_qual.h"

/* A column that rows are grouped by. */
typedef struct ZsGroupKey
{
	AttrNumber	attno;
	ZsDomain	domain;			/* INT, UINT, TEXT, BPCHAR */
	int			width;			/* of integers */
} ZsGroupKey;

typedef struct ZsGroups ZsGroups;

#define ZS_MAX_GROUP_KEYS	32

/* The row belongs to a part of the groups that is not looked at now. */
#define ZS_NO_GROUP		PG_UINT32_MAX

/*
 * Describes the key; false if rows cannot be grouped by it here.  eqop: what says that two values are equal.
 * Reads system catalogs.
 */
extern bool zsvector_group_classify(TupleDesc desc, Index varno, Node *expr, Oid eqop, ZsGroupKey *key);

/* Memory comes from the context, which may be reset together with all groups. */
extern ZsGroups *zsvector_groups_create(MemoryContext context, int nkeys, const ZsGroupKey *keys);

/* Only rows whose keys' hash begins with the nbits of part get groups. */
extern void zsvector_groups_restrict(ZsGroups *groups, int nbits, uint32 part);

/*
 * The groups of the n rows of list (positions in the present batch, ascending), some of which may be new.  False if the batch
 * has to be taken row by row; nothing has changed then but that strings were remembered.
 */
extern bool zsvector_groups_assign(ZsGroups *groups, ZsInput *input, const uint64 *sel, const uint16 *list,
								   uint32 n, uint32 *numbers);

/* The group of one row; its keys' values. */
extern uint32 zsvector_groups_assign_row(ZsGroups *groups, const Datum *values, const bool *isnull);

/* The size that an array of n members grows to: less than twice where that would waste much. */
static inline uint32
zsvector_groups_grown(uint32 n)
{
	return n < 8192 ? n * 2 : n + n / 4;
}

extern uint32 zsvector_groups_count(const ZsGroups *groups);

/* A key of a group, as long as groups lives. */
extern Datum zsvector_groups_key(const ZsGroups *groups, uint32 group, int key, bool *isnull);

#endif							/* VECTOR_GROUP_H */
