/*-------------------------------------------------------------------------
 *
 * join_filter.h
 *	  The row filter of a hash join; private to src/join.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_filter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef JOIN_FILTER_H
#define JOIN_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "join_keys.h"
#include "zs_node_filter.h"

/* Notes the keys of rows on their way to a hash table (join_tap.c). */
typedef struct ZsJoinTap ZsJoinTap;

/* A column of a scan whose rows are lost if they have no partner in the join. */
typedef struct ZsJoinFilter
{
	ZsRowFilter base;			/* its source is what the tap sees */
	const HashJoinState *join;
	ZsJoinKeys *keys;
	const ZsJoinTap *tap;		/* notes them */
	bool		(*is_in_place) (const ZsJoinTap *tap);	/* do all rows pass it? */
} ZsJoinFilter;

/* ---- join_filter.c ---- */
extern ZsJoinFilter *zsjoin_filter_create(HashJoinState *join, AttrNumber attno,
										  ZsRowFilterForm form, bool strips_blanks);

#endif							/* JOIN_FILTER_H */
