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

#include "zs_node_filter.h"

/* What there is to know of a pair of relations that are being joined. */
typedef struct ZsJoinPair
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	RelOptInfo *outerrel;
	RelOptInfo *innerrel;
	Path	   *outer;			/* cheapest of outerrel, without duplicates if they must go */
	Path	   *inner;			/* the same of innerrel */
	List	   *partial_outer;	/* partial paths of outerrel that may be joined */
	JoinType	jointype;		/* INNER, LEFT, SEMI or ANTI */
	bool		is_unique;		/* SEMI by way of INNER: a side is rid of its duplicates first */
	JoinPathExtraData *extra;
	List	   *hashclauses;	/* RestrictInfo, not NIL */
} ZsJoinPair;

/* ---- join_pair.c ---- */

extern bool zsjoin_path_is_single_row(const Path *path);
extern bool zsjoin_is_looked_up(const RelOptInfo *outerrel, const RelOptInfo *innerrel,
								JoinType jointype);

extern bool zsjoin_pair_init(ZsJoinPair *pair, PlannerInfo *root, RelOptInfo *joinrel,
							 RelOptInfo *outerrel, RelOptInfo *innerrel, JoinType jointype,
							 JoinPathExtraData *extra);
extern bool zsjoin_pair_may_adapt(const ZsJoinPair *pair);
extern bool zsjoin_pair_can_swap(const ZsJoinPair *pair);
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

/* How a scan is told the keys of a clause of a hash join. */
typedef struct ZsJoinKeyForm
{
	ZsRowFilterForm form;		/* INT, or HASH */
	bool		strips_blanks;	/* char(n): those at the ends do not count */
	bool		has_images;		/* HASH: equal keys have one image in zone maps */
} ZsJoinKeyForm;

extern bool zsjoin_drops_lonely_rows(JoinType type);
extern bool zsjoin_goes_by_outer_rows(JoinType type);
extern bool zsjoin_key_form(const Node *clause, ZsJoinKeyForm *form);
extern List *zsjoin_hashclauses(const RelOptInfo *joinrel, const RelOptInfo *outer,
								const RelOptInfo *inner, JoinType jointype,
								List *restrictlist);

#endif							/* JOIN_INTERNAL_H */
