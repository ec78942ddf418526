/*-------------------------------------------------------------------------
 *
 * vector_scan.h
 *	  Scans with filters by batches; private to src/vector.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/vector/vector_scan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_SCAN_H
#define VECTOR_SCAN_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "vector_qual.h"

extern const CustomScanMethods zsvector_scan_methods;

/* vector_scan_exec.c */
extern Node *zsvector_scan_create_state(CustomScan *cscan);

/* vector_scan_plan.c */

/* Is it a path of a scan by batches, without parameters? */
extern bool zsvector_scan_is_path(const Path *path);

/* ... and does it leave out rows that hash joins above it have no use for? */
extern bool zsvector_scan_leaves_out(const Path *path);

/*
 * A copy of such a path for a scan that returns a share of its rows, thanks to a join's keys of
 * these columns (list of attribute numbers), and for that looks at no more than that share of the
 * vectors of each column.
 */
extern Path *zsvector_scan_filtered_path(PlannerInfo *root, const Path *path, List *columns,
										 double share, double vectors);

/* vector_scan_report.c */

struct ExplainState;

/*
 * Tells EXPLAIN columns of the table: those in attrs, which are numbered as pull_varattnos() does.
 */
extern void zsvector_explain_columns(Relation rel, const Bitmapset *attrs,
									 struct ExplainState *es);

/* Adds counts to sum. */
extern void zsvector_scan_add_counts(ZsBatchCounts *sum, const ZsBatchCounts *counts);

/* Tells EXPLAIN ANALYZE what scans by batches have come to. */
extern void zsvector_explain_scan_counts(const ZsBatchCounts *counts, struct ExplainState *es);

/* ---- expressions without columns in a clause (vector_scan_fold.c) ---- */

/*
 * A part of a clause that looks at no column: its value stays the same until the scan starts anew.
 */
typedef struct ZsFoldedPart
{
	Expr	   *expr;
	ExprState  *state;			/* NULL: not initialized */
	bool		is_direct;		/* the executor comes to it whenever it comes to the clause */
	Const	   *value;			/* NULL: not known yet */
} ZsFoldedPart;

/*
 * The parts of the clause that look at no column and are no constants yet, as a list of
 * ZsFoldedPart.  Those that have a value other than the last time they were looked at (volatile
 * functions, SubPlans) stay what they are, and the clause has no program then; nor are there parts
 * within SubPlans, whose parameters are their own.
 */
extern List *zsvector_fold_find(Node *clause);

/* Can there be a program for a clause with such parts, whatever their values? */
extern bool zsvector_fold_is_possible(List *parts);

/* The clause with the values of its parts in their places; NULLs where they are not known. */
extern Node *zsvector_fold_replace(Node *clause, List *parts);

/* The clause with NULLs for its parts; NULL: there can be no program. */
extern Node *zsvector_fold_with_nulls(Node *clause);

/* Makes the expressions' states; parent: of the node, or NULL. */
extern void zsvector_fold_init(List *parts, PlanState *parent);

/* Sets the part's value, in the memory context.  Errors: the part's. */
extern void zsvector_fold_evaluate(ZsFoldedPart *part, ExprContext *econtext,
								   MemoryContext context);

/*
 * May the part be evaluated before the executor comes to it?  Only parameters whose values are
 * there: it cannot raise an error, nor run a subplan.  node: the plan node that has the expression;
 * a parameter that the planner does not know to be one of its has no value.
 */
extern bool zsvector_fold_is_ready(const ZsFoldedPart *part, const PlanState *node);

/*
 * Evaluates parts that have no value, into the memory context: those that are ready and, if a row
 * has reached the clause, those that the executor comes to with it; one below OR may never be
 * reached.  Have all a value now?  econtext is reset.  Errors: the parts'.
 */
extern bool zsvector_fold_complete(List *parts, bool reached, const PlanState *node,
								   ExprContext *econtext, MemoryContext context);

/* None of the parts has a value any more: they may have others now. */
extern void zsvector_fold_forget(List *parts);

#endif							/* VECTOR_SCAN_H */
