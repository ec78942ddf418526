/*-------------------------------------------------------------------------
 *
 * node_window.h
 *	  The node of ranking window functions; private to src/node.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_window.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_WINDOW_H
#define NODE_WINDOW_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/*
 * Members of custom_private.  Of a path: those up to ORDER are lists of SortGroupClause, FUNCTIONS
 * are the functions themselves.  Of a plan: keys are three lists one in the other, of integers
 * (columns of the plan below), functions that compare, and collations; functions are numbers.
 */
typedef enum ZsWindowPrivate
{
	ZS_WINDOW_NAME,
	ZS_WINDOW_PARTITION,
	ZS_WINDOW_ORDER,
	ZS_WINDOW_FUNCTIONS,
	ZS_WINDOW_RUN_CONDITION,	/* of a path only: custom_exprs of a plan */
	ZS_WINDOW_QUAL				/* of a path only */
} ZsWindowPrivate;

/* A function that needs nothing but what has been counted so far; the numbers stand in plans. */
typedef enum ZsWindowFunction
{
	ZS_WINDOW_ROW_NUMBER = 1,
	ZS_WINDOW_RANK,
	ZS_WINDOW_DENSE_RANK
} ZsWindowFunction;

/* node_window_plan.c */
extern const CustomScanMethods zsnode_window_scan_methods;

/* node_window_exec.c */
extern Node *zsnode_window_create_state(CustomScan *cscan);

#endif							/* NODE_WINDOW_H */
