/*-------------------------------------------------------------------------
 *
 * zs_join.h
 *	  Filters from hash joins, and joins that lose little where estimates are wrong.
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

/* ---- join_tap.c ---- */

/* Installs the executor hook that lets hash joins tell scans what they look for; from _PG_init. */
extern void zsjoin_tap_init(void);

/* ---- join_plan.c ---- */

/* Installs the hook that offers hash joins whose costs know these filters; from _PG_init. */
extern void zsjoin_plan_init(void);

/* ---- join_exists.c ---- */

/*
 * Installs the hooks that choose between the two plans of EXISTS.  To be called last, so that its
 * hook is called first.
 */
extern void zsjoin_exists_init(void);

#endif							/* ZS_JOIN_H */
