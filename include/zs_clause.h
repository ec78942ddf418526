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

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

struct ParamListInfoData;

/* scan_clause.c */

extern bool zsscan_param_is_ready(const Param *param, struct ParamListInfoData *params);
extern bool zsscan_expression_may_raise(Node *node, struct ParamListInfoData *params);
extern bool zsscan_any_may_raise(List *exprs, struct ParamListInfoData *params);
extern const Const *zsscan_constant_of(Node *node, struct ParamListInfoData *params);

#endif							/* ZS_CLAUSE_H */
