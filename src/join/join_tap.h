/*-------------------------------------------------------------------------
 *
 * join_tap.h
 *	  What notes the keys of rows that make a hash table; private to join_tap*.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_tap.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef JOIN_TAP_H
#define JOIN_TAP_H

#include "postgres.h"

#include "join_filter.h"

/* A column of the rows that pass a tap. */
typedef struct TapKey
{
	AttrNumber	attno;			/* in the rows */
	int16		typlen;
	ZsRowFilterForm form;
	bool		strips_blanks;
	bool		parallel;		/* other processes have others of the keys */
	ZsJoinKeys *keys;
} TapKey;

/* In front of a node whose rows make a hash table. */
struct ZsJoinTap
{
	PlanState  *node;
	ExecProcNodeMtd real;
	bool		complete;		/* all rows of the present table have passed */
	int			nkeys;
	int			maxkeys;
	TapKey	   *keys;
	MemoryContextCallback forget;
};

/* ---- join_tap.c ---- */
extern ZsJoinTap *zsjoin_tap_find(PlanState *node);

#endif							/* JOIN_TAP_H */
