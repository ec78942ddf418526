/*-------------------------------------------------------------------------
 *
 * join_keys.h
 *	  Sets of the keys that a hash join looks for; private to src/join.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_keys.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef JOIN_KEYS_H
#define JOIN_KEYS_H

#include "postgres.h"

#include "utils/dsa.h"

#include "zs_node_filter.h"

/* ---- join_keys.c ---- */

/* The integers that a column of a hash join's inner side has. */
typedef struct ZsJoinKeys ZsJoinKeys;

/* An empty set.  Memory comes from a child of the context. */
extern ZsJoinKeys *zsjoin_keys_create(MemoryContext parent);

/* Forgets all keys. */
extern void zsjoin_keys_reset(ZsJoinKeys *keys);

/* Adds a key to a set that has not ended. */
extern void zsjoin_keys_add(ZsJoinKeys *keys, int64 key);

/*
 * There are no more keys of this process.  From here on the set can be asked; one that is shared is
 * left to all who share it, in dsa, and forgotten here.  Errors: those of making shared memory.
 */
extern void zsjoin_keys_end(ZsJoinKeys *keys, dsa_area *dsa);

/* Can no integer in [min, max] be a key? */
extern bool zsjoin_keys_excludes(const ZsJoinKeys *keys, int64 min, int64 max);

/* Which of n values may be keys?  All that are, and maybe others. */
extern void zsjoin_keys_test(const ZsJoinKeys *keys, const int64 *values, uint32 n,
								 uint64 *bits);

/* With more keys than this a set may know their range only. */
extern double zsjoin_keys_most(void);

/* With more keys than this it may not know whether one lies between two values. */
#define ZS_JOIN_KEYS_SORTED	4096

/* Frees what processes have left, for another hash table. */
extern void zsjoin_keys_shared_reset(ZsRowFilterShared *shared, dsa_area *dsa);

/* Forgets all keys; from here on the set is this process's view of shared (NULL: a set again). */
extern void zsjoin_keys_share(ZsJoinKeys *keys, ZsRowFilterShared *shared);

/*
 * Takes what all processes have left, when all have; then the set can be asked.  False if it
 * cannot, since it is not shared, or one process leaves nothing.
 */
extern bool zsjoin_keys_collect(ZsJoinKeys *keys, dsa_area *dsa);

/* Can the set be asked? */
extern bool zsjoin_keys_is_complete(const ZsJoinKeys *keys);

#endif							/* JOIN_KEYS_H */
