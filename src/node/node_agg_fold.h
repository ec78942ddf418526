/*-------------------------------------------------------------------------
 *
 * node_agg_fold.h
 *	  Keys and aggregates with parameters and stable functions; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_fold.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_AGG_FOLD_H
#define NODE_AGG_FOLD_H

#include "postgres.h"

#include "zs_agg.h"
#include "zs_agg_group.h"

/* A key, an argument or a FILTER clause. */
typedef struct ZsAggFold
{
	Node	   *expr;
	List	   *parts;			/* ZsFoldedPart; NIL: the program is there from the beginning */
	void	   *with_nulls;		/* the program with NULLs in their places */
	bool		waits;			/* for a program: rows that come to it are taken one by one */
	bool		known;			/* the parts have values; if it waits all the same, there is no
								 * program with them */
	bool		reached;		/* a row has come to it */
} ZsAggFold;

#endif							/* NODE_AGG_FOLD_H */
