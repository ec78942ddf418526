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
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/inspect/check_overflow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "check_internal.h"

/* Larger values are not decompressed. */
#define MAX_DECOMPRESS		(64 * 1024 * 1024)

typedef struct ValueCheck
{
	uint16		treeno;
	zstid		row;
	const ZsOverflowPointer *pointer;
	BlockNumber blkno;			/* where it went wrong */
	bool		needed;
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
	ValueCheck *value = arg;
	Buffer		buf = ReadBufferExtended(check->rel, MAIN_FORKNUM, value->blkno, RBM_NORMAL,
										 check->strategy);

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	memcpy(value->page, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);
}

/* What is wrong with the copied page `position` of nblocks; NULL = nothing. */
static const char *
check_page(const ValueCheck *value, uint32 position, uint32 nblocks)
{
	uint32		stored = value->pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		len = position + 1 < nblocks ? ZS_PAGE_CAPACITY : stored - position * (uint32) ZS_PAGE_CAPACITY;
	const ZsPageOpaque *opaque;
	const char *reason;

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

void
zscheck_overflow(ZsCheck *check, uint16 treeno, zstid row, const ZsOverflowPointer *pointer)
{
	PGAlignedBlock copy;
	ValueCheck	value = {
		.treeno = treeno,
		.row = row,
		.pointer = pointer,
		.page = copy.data
	};
	const char *reason = walk_chain(check, &value);

	if (reason == NULL && pointer->raw_size <= MAX_DECOMPRESS &&
		(pointer->stored_size & ~ZS_OVERFLOW_SIZE_MASK) != ZS_OVERFLOW_PLAIN)
	{
		value.blkno = pointer->start;
		reason = zscheck_protect(check, read_value, &value);
	}
	if (reason == NULL)
		return;

	value.needed = true;
	(void) zscheck_protect(check, ask_whether_needed, &value);
	if (value.needed)
		zscheck_error(check, value.blkno, treeno, "overflow value of row " UINT64_FORMAT ": %s",
					  row, reason);
}
