/*-------------------------------------------------------------------------
 *
 * zs_join.h
 *	  Joins that lose little where the number of rows was estimated wrong.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_JOIN_H
#define ZS_JOIN_H

/* ---- join_hook.c ---- */

/*
 * Registers the nodes, and installs the hook that looks through a join's paths; from _PG_init,
 * behind other functions that install this hook, so that it sees their paths.
 */
extern void zsjoin_init(void);

#endif							/* ZS_JOIN_H */
