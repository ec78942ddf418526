/*-------------------------------------------------------------------------
 *
 * zs_compat_plan.h
 *	  Differences between the supported PostgreSQL majors: the planner.
 *
 * Paths, joins, hooks, EXPLAIN.  Included by zs_compat.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_plan.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_PLAN_H
#define ZS_COMPAT_PLAN_H

#include "postgres.h"

#include "zs_compat.h"

/* 19 has a type of its own for what a node of a plan counts */
#if !ZS_PG_AT_LEAST(19)
typedef struct Instrumentation NodeInstrumentation;
#endif

/* a kind of join that 17 does not have */
#if ZS_PG_AT_LEAST(18)
#define zs_join_is_right_semi(type)	((type) == JOIN_RIGHT_SEMI)
#define ZS_HAS_RIGHT_SEMI	true
#define ZS_JOIN_RIGHT_SEMI	JOIN_RIGHT_SEMI
#else
#define zs_join_is_right_semi(type)	false
#define ZS_HAS_RIGHT_SEMI	false
#define ZS_JOIN_RIGHT_SEMI	JOIN_SEMI	/* in vain: see ZS_HAS_RIGHT_SEMI */
#endif

/*
 * The cheapest path of the side that a pair of kind JOIN_UNIQUE_OUTER or JOIN_UNIQUE_INNER wants
 * without duplicates: 19 has a relation for it, 17 and 18 put a path on that of the duplicates,
 * whose partial paths have them; needs optimizer/pathnode.h.
 */
#if ZS_PG_AT_LEAST(19)
#define zs_unique_path(root, rel, sjinfo)	((rel)->cheapest_total_path)
#define zs_unique_partial_paths(rel)	((rel)->partial_pathlist)
#else
#define zs_unique_path(root, rel, sjinfo) \
	((Path *) create_unique_path(root, rel, (rel)->cheapest_total_path, sjinfo))
#define zs_unique_partial_paths(rel)	NIL
#endif

/* The ordering operator of a pathkey for a type; needs optimizer and lsyscache headers. */
#if ZS_PG_AT_LEAST(18)
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member_for_cmptype((pk)->pk_opfamily, type, type, (pk)->pk_cmptype)
#else
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member((pk)->pk_opfamily, type, type, (pk)->pk_strategy)
#endif

/* Members of an equivalence class, with those of children; needs the optimizer's headers. */
#if ZS_PG_AT_LEAST(18)
#define zs_foreach_member(em, ec, relids) \
	for (EquivalenceMemberIterator it_ = \
		 ({EquivalenceMemberIterator i_; setup_eclass_member_iterator(&i_, ec, relids); i_;}); \
		 ((em) = eclass_member_iterator_next(&it_)) != NULL;)
#else
#define zs_foreach_member(em, ec, relids) \
	for (int i_ = 0; i_ < list_length((ec)->ec_members) && \
		 ((em) = list_nth((ec)->ec_members, i_), true); i_++)
#endif

/*
 * What a path does against settings such as enable_seqscan, and does it: 18 counts it beside the
 * costs, 17 has it in the costs.
 */
#if ZS_PG_AT_LEAST(18)
#define zs_path_disabled(path)	((path)->disabled_nodes)
#define zs_path_is_avoided(path)	((path)->disabled_nodes > 0)
#define zs_path_add_disabled(path, n)	((void) ((path)->disabled_nodes += (n)))
#else
#define zs_path_disabled(path)	0
#define zs_path_is_avoided(path)	((path)->total_cost >= disable_cost)
#define zs_path_add_disabled(path, n) \
	((void) ((path)->startup_cost += (n) * disable_cost, \
			 (path)->total_cost += (n) * disable_cost))
#endif

/*
 * What a sequential scan of the relation, by so many workers, does against settings and against
 * what other libraries have planned, such as pg_plan_advice; and may relations be joined by hash?
 * 19 has the strategies that are allowed in a mask of each relation.  Needs the header of costs.
 */
#if ZS_PG_AT_LEAST(19)
#define zs_scan_disabled(rel, workers) \
	(((rel)->pgs_mask & PGS_SEQSCAN) != 0 && \
	 ((workers) > 0 || ((rel)->pgs_mask & PGS_CONSIDER_NONPARTIAL) != 0) ? 0 : 1)
#define zs_join_may_hash(extra)	(((extra)->pgs_mask & PGS_HASHJOIN) != 0)
#else
#define zs_scan_disabled(rel, workers)	(enable_seqscan ? 0 : 1)
#define zs_join_may_hash(extra)	enable_hashjoin
#endif

/*
 * Costs of a nested loop without Memoize or Material: 19 wants to know by which bits of pgs_mask it
 * is allowed.
 */
#if ZS_PG_AT_LEAST(19)
#define zs_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop((root), (workspace), (jointype), \
						  PGS_NESTLOOP_PLAIN | PGS_CONSIDER_NONPARTIAL, (outer), (inner), (extra))
#else
#define zs_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop((root), (workspace), (jointype), (outer), (inner), (extra))
#endif

/* What a column of GROUP BY stands for: since 18 it has an entry of its own in the range table. */
#if ZS_PG_AT_LEAST(18)
#define zs_grouping_expression(rte, attno) \
	((rte)->rtekind == RTE_GROUP ? (Node *) list_nth((rte)->groupexprs, (attno) - 1) : NULL)
#else
#define zs_grouping_expression(rte, attno)	((Node *) NULL)
#endif

/* An expression over groups of grouping sets, as it is for rows; 18 marks what such sets null. */
#if ZS_PG_AT_LEAST(18)
#define zs_before_grouping(root, node) \
	((root)->group_rtindex > 0 ? \
	 remove_nulling_relids(node, bms_make_singleton((int) (root)->group_rtindex), NULL) : (node))
#else
#define zs_before_grouping(root, node)	(node)
#endif

/* The hook around the planner: 19 passes on what EXPLAIN asks. */
#if ZS_PG_AT_LEAST(19)
#define ZS_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo params, \
	ExplainState *es
#define ZS_PLANNER_ARGS	parse, query_string, cursor_options, params, es
#else
#define ZS_PLANNER_PARAMETERS \
	Query *parse, const char *query_string, int cursor_options, ParamListInfo params
#define ZS_PLANNER_ARGS	parse, query_string, cursor_options, params
#endif

/* What formats the output of EXPLAIN; 18 has a header for it. */
#if ZS_PG_AT_LEAST(18)
#define ZS_EXPLAIN_FORMAT_H	"commands/explain_format.h"
#else
#define ZS_EXPLAIN_FORMAT_H	"commands/explain.h"
#endif

/*
 * The hook that is called when the planner has read about a relation.  Before 19 it is called for
 * tables alone; since, for all that can stand in FROM.
 */
#if ZS_PG_AT_LEAST(19)
#define ZsRelationInfoHook	build_simple_rel_hook_type
#define zs_relation_info_hook	build_simple_rel_hook
#define ZS_RELATION_INFO_PARAMETERS	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define ZS_RELATION_INFO_ARGS	root, rel, rte
#else
#define ZsRelationInfoHook	get_relation_info_hook_type
#define zs_relation_info_hook	get_relation_info_hook
#define ZS_RELATION_INFO_PARAMETERS	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define ZS_RELATION_INFO_ARGS	root, relid, inhparent, rel
#endif

/* Is the order of joins being searched for by GEQO?  19 keeps that beside what extensions keep. */
#if ZS_PG_AT_LEAST(19)
#define zs_geqo_is_at_work(root) \
	(Geqo_planner_extension_id >= 0 && GetGeqoPrivateData(root) != NULL)
#else
#define zs_geqo_is_at_work(root)	((root)->join_search_private != NULL)
#endif

/* The path that removes duplicates of sorted rows; 19 has its name for no other one any more. */
#if ZS_PG_AT_LEAST(19)
#define ZsUniquePath	UniquePath
#define T_ZsUniquePath	T_UniquePath
#else
#define ZsUniquePath	UpperUniquePath
#define T_ZsUniquePath	T_UpperUniquePath
#endif

/* Has the window function IGNORE NULLS or RESPECT NULLS?  Since 19. */
#if ZS_PG_AT_LEAST(19)
#define zs_window_function_has_nulls_clause(wfunc)	((wfunc)->ignore_nulls != 0)
#else
#define zs_window_function_has_nulls_clause(wfunc)	false
#endif

/* An Append of paths that are not partial; 19 takes them in a struct. */
#if ZS_PG_AT_LEAST(19)
#define zs_create_append_path(root, rel, paths, workers, parallel) \
	create_append_path((root), (rel), (AppendPathInput) {.subpaths = (paths)}, NIL, NULL, \
					   (workers), (parallel), -1)
#else
#define zs_create_append_path(root, rel, paths, workers, parallel) \
	create_append_path((root), (rel), (paths), NIL, NIL, NULL, (workers), (parallel), -1)
#endif

/*
 * Does the planner aggregate below joins?  Then a relation of the query may have another one, which
 * stands for its groups with partial aggregates (RelOptInfo.grouped_rel).
 */
#if ZS_PG_AT_LEAST(19)
#define ZS_PLANS_EAGER_AGGREGATES	1
#define zs_has_eager_groups(rel)	((rel)->grouped_rel != NULL)
#else
#define ZS_PLANS_EAGER_AGGREGATES	0
#define zs_has_eager_groups(rel)	false
#endif

#endif							/* ZS_COMPAT_PLAN_H */
