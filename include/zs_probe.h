/*-------------------------------------------------------------------------
 *
 * zs_probe.h
 *	  Joins by batches.
 *
 * A join takes the batches of one input, the probe side, and looks its rows up in a table of the
 * rows of another one, the build side, by keys that are equal.  It is an input itself: so joins
 * stand on joins, and on each other's columns.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_probe.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_PROBE_H
#define ZS_PROBE_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "zs_agg_group.h"
#include "zs_expr_filter.h"
#include "zs_expr_input.h"

/* Row of the build side that there is not. */
#define ZS_NO_ROW	PG_UINT32_MAX

/* Rows of a build side: columns that are wanted of them, found by keys. */
typedef struct ZsProbeTable ZsProbeTable;

/* How it went to make one. */
typedef enum ZsProbeFill
{
	ZS_PROBE_FILLED,
	ZS_PROBE_TOO_LARGE,			/* for the memory that it may take */
	ZS_PROBE_NEEDS_ROWS			/* the input has values that only rows give */
} ZsProbeFill;

/* ---- probe_key.c ---- */

extern bool zsprobe_is_integer_equality(Oid funcid);
extern bool zsprobe_key_classify(TupleDesc desc, Node *expr, const Node *clause, ZsGroupKey *key);
extern bool zsprobe_keys_match(const ZsGroupKey *a, const ZsGroupKey *b);

/* ---- probe_pack.c ---- */

extern bool zsprobe_keys_can_pack(int nkeys, const ZsGroupKey *keys);
extern double zsprobe_table_expected_size(double nrows, int width, bool pack);

/* ---- probe_part.c ---- */

extern bool zsprobe_keys_can_divide(int nkeys, const ZsGroupKey *keys);

/* ---- probe_kind.c ---- */

extern bool zsprobe_join_fills_build(JoinType jointype);
extern int	zsprobe_join_keeps(JoinType jointype, bool has_joinqual);
extern bool zsprobe_join_needs_build(JoinType jointype);

/* ---- probe_table.c ---- */

/* What a table keeps beside one row for each combination of keys: bits. */
typedef enum ZsProbeKeep
{
	ZS_PROBE_COPIES = 1 << 0,	/* all rows with the same keys */
	ZS_PROBE_KEYLESS = 1 << 1,	/* rows with a NULL among their keys, which have no partner */
	ZS_PROBE_MATCHED = 1 << 2	/* which of its rows have had a partner */
} ZsProbeKeep;

extern ZsProbeTable *zsprobe_table_create(MemoryContext parent, TupleDesc desc,
										  const Bitmapset *wanted, int nkeys,
										  const ZsGroupKey *build_keys,
										  const ZsGroupKey *probe_keys, int keep);
extern ZsProbeFill zsprobe_table_fill(ZsProbeTable *table, ZsInput *input, bool by_rows,
									  Size limit, uint64 *kept, uint64 *total);
extern void zsprobe_table_forget(ZsProbeTable *table);
extern void zsprobe_table_set_part(ZsProbeTable *table, uint32 part, uint32 nparts);
extern uint64 zsprobe_table_rows(const ZsProbeTable *table);
extern bool zsprobe_table_is_array(const ZsProbeTable *table);
extern Size zsprobe_table_memory(const ZsProbeTable *table);

/* ---- probe_join.c ---- */

/* What a join is made of; its maker's until zsprobe_join_create() returns. */
typedef struct ZsProbeSpec
{
	JoinType	jointype;		/* the probe side is the outer one */
	ZsInput    *probe;
	ZsProbeTable *table;
	TupleDesc	desc;			/* columns of the probe side, then nbuild of the build side's */
	int			nbuild;
	const AttrNumber *columns;	/* of the table, for each of these; 0: nobody wants it */
	const Bitmapset *used;		/* columns of desc that somebody may look at */
	int			nkeys;
	const ZsGroupKey *keys;		/* of the probe side, over its columns */
	List	   *key_exprs;		/* the same as expressions */
	ZsFilter   *joinqual;		/* for pairs, by desc; NULL: none */
	ZsFilter   *qual;			/* for rows of the join; NULL: none */
	PlanState  *node;			/* that is told of by instrumentation, or NULL */

	/*
	 * The build side may come in parts.  Called when the join starts: the table has to have the
	 * first one.  At the end of the probe side: fills the table with the next one and rescans the
	 * probe side, or is false.
	 */
	void		(*first_part) (void *arg);
	bool		(*next_part) (void *arg);
	void	   *arg;
} ZsProbeSpec;

extern ZsInput *zsprobe_join_create(const ZsProbeSpec *spec, EState *estate);

/* ---- probe_project.c ---- */

extern ZsInput *zsprobe_project_create(ZsInput *below, List *exprs, TupleDesc desc,
									   EState *estate);
extern bool zsprobe_can_project(TupleDesc below, List *exprs);

#endif							/* ZS_PROBE_H */
