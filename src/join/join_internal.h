/*-------------------------------------------------------------------------
 *
 * join_internal.h
 *	  Private to src/join.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/join/join_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef JOIN_INTERNAL_H
#define JOIN_INTERNAL_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* What there is to know of a pair of relations that are being joined. */
typedef struct ZsJoinPair
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	RelOptInfo *outerrel;
	RelOptInfo *innerrel;
	JoinType	jointype;		/* INNER, LEFT, SEMI or ANTI */
	JoinPathExtraData *extra;
	List	   *hashclauses;	/* RestrictInfo, not NIL */
} ZsJoinPair;

/* ---- join_pair.c ---- */

/* Is it certain that a path returns one row at most?  That it is estimated is no proof. */
extern bool zsjoin_path_is_single_row(const Path *path);

/*
 * Has one of the sides a row at most, by whose columns a row of the other side, a table, is looked
 * up in a unique index?  Then no path need be added to those of core.  False if a developer's
 * setting asks for others.
 */
extern bool zsjoin_is_looked_up(const RelOptInfo *outerrel, const RelOptInfo *innerrel,
								JoinType jointype);

extern bool zsjoin_pair_init(ZsJoinPair *pair, PlannerInfo *root, RelOptInfo *joinrel,
							 RelOptInfo *outerrel, RelOptInfo *innerrel, JoinType jointype,
							 JoinPathExtraData *extra);
extern Path *zsjoin_pair_hash(const ZsJoinPair *pair, Path *outer, Path *inner, bool swapped);
extern bool zsjoin_pair_has(const ZsJoinPair *pair, const JoinPath *path);

/* ---- join_choice.c ---- */
extern void zsjoin_choice_drop_loops(const ZsJoinPair *pair);

/* ---- join_adaptive_plan.c ---- */
extern void zsjoin_adaptive_add_paths(const ZsJoinPair *pair);

/* Members of custom_private of a ZedstoreAdaptiveJoin. */
typedef enum ZsAdaptivePrivate
{
	ZS_ADAPTIVE_NAME,			/* zsbase_private_name() */
	ZS_ADAPTIVE_ID,				/* Integer, the same as that of its two tees */
	ZS_ADAPTIVE_LIMIT			/* Integer: after so many outer rows it turns to the hash join */
} ZsAdaptivePrivate;

/* Its children, in custom_plans and custom_ps. */
typedef enum ZsAdaptiveChild
{
	ZS_ADAPTIVE_OUTER,
	ZS_ADAPTIVE_LOOP,
	ZS_ADAPTIVE_HASH,
	ZS_ADAPTIVE_NCHILDREN
} ZsAdaptiveChild;

/* Members of custom_private of a ZedstoreTee. */
typedef enum ZsTeePrivate
{
	ZS_TEE_NAME,				/* zsbase_private_name() */
	ZS_TEE_ID					/* Integer */
} ZsTeePrivate;

/* ---- join_adaptive_exec.c ---- */
extern Node *zsjoin_adaptive_create_state(CustomScan *cscan);
extern Node *zsjoin_tee_create_state(CustomScan *cscan);

/* ---- join_tap.c ---- */
extern void zsjoin_tap_connect_part(PlanState *node);

/* ---- join_rules.c ---- */

/* Does a join of this type drop rows of the outer side that have no partner? */
extern bool zsjoin_drops_lonely_rows(JoinType type);

/* Does each row come from an outer row, and is none but those that it comes from changed by it? */
extern bool zsjoin_goes_by_outer_rows(JoinType type);

/*
 * Is the function equality of numbers that hash joins and our vectors have as integers, by their
 * values?
 */
extern bool zsjoin_is_equality(Oid funcid);

/*
 * The clauses (RestrictInfo) by which outer and inner rows can be hashed, as hash_inner_and_outer()
 * finds them; sets their outer_is_left.
 */
extern List *zsjoin_hashclauses(const RelOptInfo *joinrel, const RelOptInfo *outer,
								const RelOptInfo *inner, JoinType jointype,
								List *restrictlist);

#endif							/* JOIN_INTERNAL_H */
