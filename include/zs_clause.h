/*-------------------------------------------------------------------------
 *
 * zs_clause.h
 *	  What may be skipped by a filter's clause.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_clause.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_CLAUSE_H
#define ZS_CLAUSE_H

#include "postgres.h"

#include "nodes/nodes.h"

struct ParamListInfoData;

/* scan_clause.c */

/*
 * May evaluating the expression (or a list of them) raise an error, or have an effect of another
 * kind?  False only if it is known that it does not.  params: those of the execution; NULL = not
 * known, such as at plan time, when external parameters count as what may raise.  Reads system
 * catalogs.
 */
extern bool zsscan_expression_may_raise(Node *node, struct ParamListInfoData *params);

#endif							/* ZS_CLAUSE_H */
