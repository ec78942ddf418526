/*-------------------------------------------------------------------------
 *
 * check_overflow.c
 *	  zs_check(): values on overflow pages.
 *
 * The pages are followed by their links and compared with the pointer that
 * led there: stamp, position, length.  Then the value is read as everybody
 * reads it, which proves that it decompresses.
 *
 * VACUUM may free the value of a row that is gone before the segment that
 * holds its pointer, so a chain that is broken counts only when somebody may
 * still ask for the row.
 *
 * Versions of a row may share a value, which counts its pointers.  They are counted here, too; the
 * value is asked after that, so that versions that come meanwhile make the sum too small rather
 * than too large.  More than it counts are an error: it would be freed too early.  Fewer are what a
 * crash leaves.  A row that stands in the row tree and in a segment counts once.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_overflow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "check_internal.h"
#include "zs_row.h"

/* Larger values are not decompressed. */
#define MAX_DECOMPRESS		(64 * 1024 * 1024)

/* A value that was met. */
typedef struct MetValue
{
	BlockNumber start;			/* hash key */
	char		status;			/* simplehash's */
	uint16		treeno;
	uint32		stamp;
	zstid		row;			/* one of those that have it */
	uint64		npointers;
} MetValue;

#define SH_PREFIX		check_values
#define SH_ELEMENT_TYPE	MetValue
#define SH_KEY_TYPE		BlockNumber
#define SH_KEY			start
#define SH_HASH_KEY(tb, key)	murmurhash32(key)
#define SH_EQUAL(tb, a, b)		((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

#define INITIAL_VALUES	64

typedef struct ValueCheck
{
	uint16		treeno;
	zstid		row;
	const ZsOverflowPointer *pointer;
	BlockNumber blkno;			/* where it went wrong */
	bool		needed;
	bool		in_row_tree;	/* the row tree has the same pointer for the row */
	Page		page;
} ValueCheck;

/* ZsCheckStep */
static void
ask_whether_needed(ZsCheck *check, void *arg)
{
	ValueCheck *value = arg;

	value->needed = zscheck_row_needed(check, value->row);
}

/* ZsCheckStep */
static void
read_value(ZsCheck *check, void *arg)
{
	ValueCheck *value = arg;

	pfree(zsattr_overflow_read(check->rel, ZsAttrOfTree(value->treeno), value->pointer));
}

/* ZsCheckStep */
static void
copy_value_page(ZsCheck *check, void *arg)
{
	const ValueCheck *value = arg;

	zscheck_copy_page(check, value->blkno, value->page);
}

/* What is wrong with the copied page `position` of nblocks; NULL = nothing. */
static const char *
check_page(const ValueCheck *value, uint32 position, uint32 nblocks)
{
	uint32		stored = value->pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		len = position + 1 < nblocks ? ZS_PAGE_CAPACITY : stored - position *
		(uint32) ZS_PAGE_CAPACITY;
	const ZsPageOpaque *opaque;
	const char *reason;

	Assert(position < nblocks && nblocks > 0);
	if (zspage_verify(value->page, ZS_PAGE_OVERFLOW, value->treeno, &reason) != ZS_PAGE_OK)
		return reason;
	opaque = ZsPageGetOpaque(value->page);
	if (opaque->stamp != value->pointer->stamp)
		return "page belongs to another value";
	if (opaque->position != position || opaque->level != 0 || opaque->flags != 0)
		return "page has another place in the value";
	if (((PageHeader) value->page)->pd_lower != MAXALIGN(SizeOfPageHeaderData) + len)
		return "page has another length";
	if ((opaque->right == 0) != (position + 1 == nblocks))
		return "chain has another length";
	if (opaque->right != 0 && (position + 1) % ZS_OVERFLOW_RUN_BLOCKS != 0 &&
		opaque->right != value->blkno + 1)
		return "pages of one run are not adjacent";
	if (opaque->hikey != PG_UINT64_MAX || (position > 0 && opaque->lokey != 0))
		return "page has a key range";
	return NULL;
}

/* Follows the chain; what is wrong (palloc'd or constant), with value->blkno set. */
static const char *
walk_chain(ZsCheck *check, ValueCheck *value)
{
	const ZsOverflowPointer *pointer = value->pointer;
	uint32		stored = pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		compression = pointer->stored_size & ~ZS_OVERFLOW_SIZE_MASK;
	uint32		nblocks = (stored + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY;
	BlockNumber next = pointer->start;

	value->blkno = pointer->start;
	if (stored == 0 || stored > pointer->raw_size || pointer->raw_size > MaxAllocSize ||
		compression > ZS_OVERFLOW_ZSTD ||
		(compression == ZS_OVERFLOW_PLAIN && stored != pointer->raw_size))
		return "sizes in the pointer are not possible";

	for (uint32 position = 0; position < nblocks; position++)
	{
		const char *reason;

		value->blkno = next;
		if (next == ZS_META_BLKNO ||
			(next >= check->nblocks && next >= zspage_physical_blocks(check->rel)))
			return "page lies beyond the end of the file";
		reason = zscheck_protect(check, copy_value_page, value);
		if (reason == NULL)
			reason = check_page(value, position, nblocks);
		if (reason != NULL)
			return reason;
		zscheck_claim_overflow(check, value->treeno, next);
		next = ZsPageGetOpaque(value->page)->right;
	}
	return NULL;
}

/* ---- counting ---------------------------------------------------------------- */

/* ZsCheckStep */
static void
look_into_row_tree(ZsCheck *check, void *arg)
{
	ValueCheck *value = arg;
	MinimalTuple item = zsrow_fetch(check->rel, value->row);
	ZsRowWalk	walk;

	if (item == NULL)
		return;
	zsrow_walk_begin(&walk, RelationGetDescr(check->rel), item);
	while (zsrow_walk_next(&walk))
	{
		ZsOverflowPointer pointer;

		if (!walk.is_pointer || ZsTreeOfAttr(walk.attno) != value->treeno)
			continue;
		zsattr_overflow_from_datum((const struct varlena *) walk.value, &pointer);
		value->in_row_tree = memcmp(&pointer, value->pointer, sizeof(pointer)) == 0;
	}
	pfree(item);
}

/*
 * One pointer more to a value that is in order.  The row tree was looked through before the
 * segments, so a row can only stand in both if its value was met.
 */
static void
count_pointer(ZsCheck *check, ValueCheck *value, bool in_segment)
{
	BlockNumber start = value->pointer->start;
	MetValue   *met;
	bool		found;

	Assert(value->pointer->start != ZS_META_BLKNO);
	if (check->values == NULL)
		check->values = check_values_create(CurrentMemoryContext, INITIAL_VALUES, NULL);
	if (in_segment && check_values_lookup(check->values, start) != NULL)
	{
		(void) zscheck_protect(check, look_into_row_tree, value);
		if (value->in_row_tree)
			return;
	}
	met = check_values_insert(check->values, start, &found);
	if (!found)
	{
		met->treeno = value->treeno;
		met->stamp = value->pointer->stamp;
		met->row = value->row;
		met->npointers = 0;
	}
	met->npointers++;
}

/* Compares what was found with what the value knows now. */
static void
check_count(ZsCheck *check, const MetValue *met)
{
	PGAlignedBlock copy;
	uint64		known;

	Assert(met->npointers > 0 && met->start != ZS_META_BLKNO);
	if (!zscheck_read_page(check, met->treeno, met->start, "overflow value", copy.data) ||
		zspage_verify(copy.data, ZS_PAGE_OVERFLOW, met->treeno, NULL) != ZS_PAGE_OK ||
		ZsPageGetOpaque(copy.data)->stamp != met->stamp)
		return;
	known = zsattr_overflow_shares(copy.data) + 1;
	if (met->npointers > known)
		zscheck_error(check, met->start, met->treeno,
					  "overflow value of row " UINT64_FORMAT " has " UINT64_FORMAT " pointers, but counts " UINT64_FORMAT,
					  met->row, met->npointers, known);
	else if (met->npointers < known)
		zscheck_report(check, ZS_SEVERITY_NOTICE, met->start, met->treeno,
					   "leaked: overflow value of row " UINT64_FORMAT " counts " UINT64_FORMAT " pointers, but has " UINT64_FORMAT "; VACUUM (DISABLE_PAGE_SKIPPING) frees it when these are gone",
					   met->row, known, met->npointers);
}

/* After all pointers: does each value know how many it has? */
void
zscheck_overflow_counts(ZsCheck *check)
{
	check_values_iterator iterator;
	MetValue   *met;

	if (check->values == NULL)
		return;
	check_values_start_iterate(check->values, &iterator);
	while ((met = check_values_iterate(check->values, &iterator)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		check_count(check, met);
	}
}

/*
 * Value of a row that stands on overflow pages; in_segment: the pointer does
 * not stand in the row tree.
 */
void
zscheck_overflow(ZsCheck *check, uint16 treeno, zstid row, const ZsOverflowPointer *pointer,
				 bool in_segment)
{
	PGAlignedBlock copy;
	ValueCheck	value = {
		.treeno = treeno,
		.row = row,
		.pointer = pointer,
		.page = copy.data
	};
	const char *reason = walk_chain(check, &value);

	Assert(ZsAttrOfTree(treeno) >= 1);
	if (reason == NULL && pointer->raw_size <= MAX_DECOMPRESS &&
		(pointer->stored_size & ~ZS_OVERFLOW_SIZE_MASK) != ZS_OVERFLOW_PLAIN)
	{
		value.blkno = pointer->start;
		reason = zscheck_protect(check, read_value, &value);
	}
	if (reason == NULL)
	{
		count_pointer(check, &value, in_segment);
		return;
	}

	value.needed = true;
	(void) zscheck_protect(check, ask_whether_needed, &value);
	if (value.needed)
		zscheck_error(check, value.blkno, treeno, "overflow value of row " UINT64_FORMAT ": %s",
					  row, reason);
}
