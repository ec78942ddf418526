/*-------------------------------------------------------------------------
 *
 * node_agg_full.h
 *	  Answers to full memory of a node that aggregates; private to src/node.
 *
 * Usually all groups are in memory until the last row was read.  Where they are too many, or more
 * than are wanted, several answers are possible.  Each has a file, and a row in the table of
 * node_agg_full.c; both can go, and nothing else of the node knows.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_full.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef NODE_AGG_FULL_H
#define NODE_AGG_FULL_H

#include "postgres.h"

#include "node_agg.h"

/* What an answer says behind a batch. */
typedef enum AggAdvice
{
	ZS_AGG_GO_ON,
	ZS_AGG_FREEZE,				/* no groups but those in memory: rows of others are written out */
	ZS_AGG_RETURN,				/* groups in memory are returned, and then the input goes on */
	ZS_AGG_BEGIN_AGAIN			/* it was begun in the wrong way */
} AggAdvice;

/*
 * An answer.  All functions but the first are called for nodes that begin() gave something for,
 * which they get as own; those that an answer has no use for are NULL.
 */
typedef struct AggAnswer
{
	/* The node begins, its input is there: what the answer keeps for it; NULL: no need to ask. */
	void	   *(*begin) (AggNodeState *state);

	/* The input is going to be read, for the first time or after a rescan. */
	void		(*start) (AggNodeState *state, void *own);

	/* There are no groups in memory any more, and others are going to be made. */
	void		(*start_fill) (AggNodeState *state, void *own);

	/* A batch was added.  full: memory has no room for more groups. */
	AggAdvice	(*advise) (AggNodeState *state, void *own, bool full);

	/* Advice was ZS_AGG_RETURN: is the group one of those?  NULL: all are. */
	bool		(*returns) (const AggNodeState *state, const void *own, uint32 group);

	/* ... and these have been returned: the others become all there are.  NULL: there are none. */
	void		(*forget_returned) (AggNodeState *state, void *own);

	/* Rows are going to be written out, the first of which is the next. */
	void		(*spill_opened) (AggNodeState *state, void *own);

	/*
	 * All rows of the input were taken, the groups in memory have been returned, and rows are
	 * written out: do rows have to be read again from the input, before these come?
	 */
	bool		(*wants_input) (AggNodeState *state, void *own);

	/* Takes rows that come again, and are not wanted, out of passed. */
	void		(*leave_rows) (AggNodeState *state, void *own, uint64 *passed);
} AggAnswer;

/* One that this node asks. */
typedef struct AggAsked
{
	const AggAnswer *answer;
	void	   *own;
} AggAsked;

/* ---- groups that are complete (node_agg_early.c) ---- */

extern const AggAnswer zsnode_agg_early;

/* ---- groups of few rows that nobody wants (node_agg_rare.c) ---- */

extern const AggAnswer zsnode_agg_rare;

/* ---- node_agg_full.c ---- */

extern void zsnode_agg_answers_begin(AggNodeState *state);
extern void zsnode_agg_answers_start(AggNodeState *state);
extern void zsnode_agg_answers_start_fill(AggNodeState *state);
extern AggAdvice zsnode_agg_ask_answers(AggNodeState *state);
extern void zsnode_agg_answers_spill_opened(AggNodeState *state);
extern bool zsnode_agg_answers_want_input(AggNodeState *state);
extern bool zsnode_agg_answers_leave_rows(AggNodeState *state, uint64 *passed);
extern void zsnode_agg_freeze_if_full(AggNodeState *state);
extern bool zsnode_agg_returns_all(const AggNodeState *state);
extern bool zsnode_agg_returns(const AggNodeState *state, uint32 group);

#endif							/* NODE_AGG_FULL_H */
