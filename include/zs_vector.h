/*-------------------------------------------------------------------------
 *
 * zs_vector.h
 *	  Plans of our own for queries that columns can answer better than rows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_vector.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_VECTOR_H
#define ZS_VECTOR_H

#include "postgres.h"

/* Installs the planner hook and registers the custom scan. */
extern void zsvector_topn_init(void);

#endif							/* ZS_VECTOR_H */
