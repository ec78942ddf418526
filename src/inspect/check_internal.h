/*-------------------------------------------------------------------------
 *
 * check_internal.h
 *	  Private to src/inspect: the verifier behind zs_check().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_internal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef CHECK_INTERNAL_H
#define CHECK_INTERNAL_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "zs_attr.h"
#include "zs_format.h"
#include "zs_page.h"
#include "zs_tid.h"

/* Levels of a tree: 2 to the power of 40 rows need far less. */
#define ZS_CHECK_MAX_LEVELS		32

typedef enum ZsSeverity
{
	ZS_SEVERITY_ERROR = 1,
	ZS_SEVERITY_NOTICE,			/* legal, but worth knowing */
} ZsSeverity;

/* The problems that one pass found. */
typedef struct ZsProblem
{
	ZsSeverity	severity;
	BlockNumber blkno;			/* InvalidBlockNumber: no particular block */
	uint16		treeno;			/* ZS_TREE_TABLE: no particular tree */
	char	   *message;
} ZsProblem;

typedef struct ZsProblemList
{
	int			nproblems;
	bool		complete;		/* false: there were too many */
	ZsProblem  *problems;
} ZsProblemList;

/* State of one pass over a table. */
typedef struct ZsCheck
{
	Relation	rel;
	BufferAccessStrategy strategy;
	ZsProblemList *list;
	MemoryContext problem_context;	/* outlives the pass */

	BlockNumber nblocks;		/* of the file, when the pass began */
	ZsMetaPageData meta;
	ZsTreeEntry *entries;		/* ZS_MAX_TREES */
	uint64	   *nfound;			/* per tree: blocks that were found */
	uint64	   *used;			/* bitmap: block was found */
	uint64	   *overflow;		/* bitmap: as part of an overflow value */
	struct check_values_hash *values;	/* check_overflow.c: the values met */

	struct ZsCover *cover;		/* check_cover.c */
	struct ZsDecoder *decoder;	/* check_vector.c */
} ZsCheck;

/* What the check thinks of the rows that share a visibility slot. */
typedef struct ZsRowFate
{
	bool		needed;			/* somebody may ask for their data */
	bool		all_visible;
	bool		all_frozen;
} ZsRowFate;

/* ---- reporting, protection (check_report.c) ---------------------------------- */

extern void zscheck_report(ZsCheck *check, ZsSeverity severity, BlockNumber blkno, uint16 treeno,
						   const char *fmt,...) pg_attribute_printf(5, 6);

#define zscheck_error(check, blkno, treeno, ...) \
	zscheck_report(check, ZS_SEVERITY_ERROR, blkno, treeno, __VA_ARGS__)

/*
 * Runs step(check, arg) in a subtransaction.  An error about wrong data is
 * caught: returns its text, palloc'd; NULL if there was none.  All other errors go on.
 */
typedef void (*ZsCheckStep) (ZsCheck *check, void *arg);
extern char *zscheck_protect(ZsCheck *check, ZsCheckStep step, void *arg);

/* ---- pages and blocks (check_space.c) ------------------------------------------- */

extern void zscheck_copy_page(ZsCheck *check, BlockNumber blkno, Page copy);
extern bool zscheck_read_page(ZsCheck *check, uint16 treeno, BlockNumber blkno, const char *what,
							  Page copy);
extern bool zscheck_claim(ZsCheck *check, uint16 treeno, BlockNumber start, uint32 nblocks,
						  const char *what);
extern void zscheck_claim_overflow(ZsCheck *check, uint16 treeno, BlockNumber blkno);
extern bool zscheck_directory(ZsCheck *check);

extern void zscheck_free_space(ZsCheck *check, uint16 treeno);
extern void zscheck_account_blocks(ZsCheck *check);

/* ---- trees (check_tree.c) --------------------------------------------------------- */

extern void zscheck_tree(ZsCheck *check, uint16 treeno);

/* ---- TID tree (check_tid.c, check_vismap.c) ----------------------------------------- */

extern void zscheck_tid_leaf(ZsCheck *check, BlockNumber blkno, Page page, bool marked_frozen);
extern void zscheck_row_fate(ZsCheck *check, uint16 slotno, const ZsVisSlot *vis, ZsRowFate *fate);
extern bool zscheck_row_needed(ZsCheck *check, zstid row);
extern bool zscheck_range_needed(ZsCheck *check, zstid first, zstid end);
extern void zscheck_vismap(ZsCheck *check, BlockNumber blkno, Page page, int nruns,
						   const ZsTidRun *runs, const ZsRowFate *fates);

/* ---- data (check_row.c, check_segment.c, check_vector.c, check_overflow.c) ------------ */

extern void zscheck_row_leaf(ZsCheck *check, BlockNumber blkno, Page page);
extern void zscheck_index_page(ZsCheck *check, uint16 treeno, BlockNumber blkno, Page page,
							   zstid *end);
extern void zscheck_payload(ZsCheck *check, uint16 treeno, const ZsSegmentItem *item,
							const uint8 *payload);
extern void zscheck_overflow(ZsCheck *check, uint16 treeno, zstid row,
							 const ZsOverflowPointer *pointer, bool in_segment);
extern void zscheck_overflow_counts(ZsCheck *check);

/* ---- completeness (check_cover.c) ------------------------------------------------------ */

extern void zscheck_cover(ZsCheck *check, BlockNumber blkno, int nruns, const ZsTidRun *runs,
						  const ZsRowFate *fates);

#endif							/* CHECK_INTERNAL_H */
