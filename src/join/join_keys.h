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

/*
 * The values that a column of a hash join's inner side has, as numbers by which a row filter knows
 * them (zs_node_filter.h).
 */
typedef struct ZsJoinKeys ZsJoinKeys;

extern ZsJoinKeys *zsjoin_keys_create(MemoryContext parent);
extern void zsjoin_keys_reset(ZsJoinKeys *keys);
extern void zsjoin_keys_add(ZsJoinKeys *keys, int64 key);
extern void zsjoin_keys_end(ZsJoinKeys *keys, dsa_area *dsa);
extern bool zsjoin_keys_excludes(const ZsJoinKeys *keys, int64 min, int64 max);
extern void zsjoin_keys_test(const ZsJoinKeys *keys, const int64 *values, uint32 n,
								 uint64 *bits);
extern double zsjoin_keys_most(void);

/* With more keys than this it may not know whether one lies between two values. */
#define ZS_JOIN_KEYS_SORTED	4096

extern void zsjoin_keys_shared_reset(ZsRowFilterShared *shared, dsa_area *dsa);
extern void zsjoin_keys_share(ZsJoinKeys *keys, ZsRowFilterShared *shared);
extern bool zsjoin_keys_collect(ZsJoinKeys *keys, dsa_area *dsa);
extern bool zsjoin_keys_is_complete(const ZsJoinKeys *keys);

#endif							/* JOIN_KEYS_H */
