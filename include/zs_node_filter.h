/*-------------------------------------------------------------------------
 *
 * zs_node_filter.h
 *	  What others may ask a scan to leave out (sideways information passing).
 *
 * A row filter knows of the values of one column which ones may be wanted.  Whoever has one gives
 * it to a ZedstoreScan before that reads its first row: the scan asks it about zone maps of
 * segments before anything of these is read, about those of vectors, and about values, and leaves
 * rows out that nobody wants.  It may find that a filter is not worth while, and let it rest; and
 * it asks none where that could hide an error of its own filter.  A row that passes need not be
 * wanted.
 *
 * The first giver are hash joins (src/join/join_filter.c), which look for keys.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_node_filter.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_NODE_FILTER_H
#define ZS_NODE_FILTER_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "utils/dsa.h"
#include "utils/rel.h"

#include "zs_expr_input.h"

struct ExplainState;

typedef struct ZsRowFilter ZsRowFilter;

/* As what a filter knows values. */
typedef enum ZsRowFilterForm
{
	ZS_ROW_FILTER_INT,			/* integers, dates, times, enums, as vectors have them */
	ZS_ROW_FILTER_HASH,			/* hashes of the bytes of strings and the like; has no excludes */
	ZS_ROW_FILTER_IMAGE			/* their images in zone maps; has no test */
} ZsRowFilterForm;

/*
 * In dynamic shared memory of a parallel scan: where its processes may leave for each other what
 * their filters know.
 */
typedef struct ZsRowFilterShared
{
	pg_atomic_uint64 parts;		/* dsa_pointer, the giver's; invalid at first */
	pg_atomic_uint32 unusable;	/* some process leaves nothing */
	int			source_node;	/* as the filter says */
	AttrNumber	source_attno;
	ZsRowFilterForm form;
} ZsRowFilterShared;

/* Values are numbers as the filter's form says (zsnode_row_filter_number()). */
typedef struct ZsRowFilterMethods
{
	/*
	 * Can it be asked about the rows that come now?  Asked at each batch, since it may change with
	 * each.  The two functions below are called only if it can.
	 */
	bool		(*is_ready) (ZsRowFilter *filter);

	/* Is no value in [min, max] wanted? */
	bool		(*excludes) (const ZsRowFilter *filter, int64 min, int64 max);

	/* Which of n values may be wanted?  All that are, and maybe others. */
	void		(*test) (const ZsRowFilter *filter, const int64 *values, uint32 n, uint64 *bits);

	/*
	 * For filters that share: what this process knows and what the others leave is there from now
	 * on; NULL: no more.
	 */
	void		(*share) (ZsRowFilter *filter, ZsRowFilterShared *shared);

	/* ... and frees what was left there: the scan starts anew. */
	void		(*reset_shared) (ZsRowFilter *filter, ZsRowFilterShared *shared, dsa_area *dsa);
} ZsRowFilterMethods;

/* The giver's struct begins with this. */
struct ZsRowFilter
{
	const ZsRowFilterMethods *methods;
	AttrNumber	attno;			/* of the scan's table; NULLs are never wanted */
	ZsRowFilterForm form;
	bool		strips_blanks;	/* HASH: those at the ends of strings do not count */
	bool		shares;			/* has the scan to see to shared memory for it? */
	int			source_node;	/* if so: what it knows comes from rows of this plan node */
	AttrNumber	source_attno;	/* and this column of them */

	/* the scan's: what it has done of late */
	uint32		nbatches;
	uint32		npaused;		/* batches for which it is not to be tried */
	uint64		rows_in;
	uint64		rows_out;
	double		removes;		/* share of the rows that it was asked about */

	/* ... and of HASH, what was found out of the entries of a dictionary */
	uint64		dict_serial;	/* 0: none */
	uint32		dict_max;		/* that there is memory for */
	uint8	   *dict_wanted;
};

/* ---- node_row_filter.c ---- */

extern int64 zsnode_row_filter_number(ZsRowFilterForm form, bool strips_blanks, Datum value,
									  int16 typlen);

/* ---- a scan's side (node_scan_exec.c) ---- */

/* How many scans of ours this process has begun. */
extern uint64 zsnode_scans_begun;

#ifdef USE_ASSERT_CHECKING
extern bool zsnode_scan_has_filters(const CustomScanState *node);
#endif

extern void zsnode_scan_add_filter(CustomScanState *node, ZsRowFilter *filter);

#endif							/* ZS_NODE_FILTER_H */
