/*-------------------------------------------------------------------------
 *
 * probe_kind.c
 *	  What the kinds of joins ask of a join by batches.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_kind.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"
#include "zs_probe.h"

/* Does a join of that kind return rows of the build side that have no partner, at its end? */
bool
zsprobe_join_fills_build(JoinType jointype)
{
	return jointype == JOIN_RIGHT || jointype == JOIN_FULL || jointype == JOIN_RIGHT_ANTI;
}

/* What the table of a join of that kind keeps: bits of ZsProbeKeep. */
int
zsprobe_join_keeps(JoinType jointype, bool has_joinqual)
{
	bool		is_right_semi = zs_join_is_right_semi(jointype);
	int			keep = 0;

	if ((jointype != JOIN_SEMI && jointype != JOIN_ANTI) || has_joinqual)
		keep |= ZS_PROBE_COPIES;
	if (zsprobe_join_fills_build(jointype))
		keep |= ZS_PROBE_KEYLESS;
	if (zsprobe_join_fills_build(jointype) || is_right_semi)
		keep |= ZS_PROBE_MATCHED;
	return keep;
}

/*
 * Has a join of that kind no row if there is none on the build side?  Else it returns rows of the
 * probe side that have no partner.
 */
bool
zsprobe_join_needs_build(JoinType jointype)
{
	return jointype != JOIN_LEFT && jointype != JOIN_FULL && jointype != JOIN_ANTI;
}
