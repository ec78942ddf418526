/*-------------------------------------------------------------------------
 *
 * attr_overflow.c
 *	  Values that are too large for a vector or a row-tree item.
 *
 * A value's bytes, compressed if that helps, lie on overflow pages of its
 * attribute's tree.  Nothing but its ZsOverflowPointer leads there.  The
 * pages form runs of ZS_OVERFLOW_RUN_BLOCKS adjacent blocks, the last one
 * shorter; each page's `right` leads to the next, across the runs:
 *
 *		pointer -> [0]-[1]- ... -[4095]   ->   [4096]-[4097]- ... -[n-1] -> 0
 *				   '------ run 0 ------'       '-------- run 1 --------'
 *
 * Every page carries the value's stamp and its position, and is compared with
 * them on reading.  A pointer that is followed stands in a row that somebody may
 * see, so a page that is not the one wanted is corruption here, other than
 * with segments.  Freeing is more careful: the bytes of a dead row may be those of an
 * aborted transaction with other columns, and what does not lead to a value is left alone.
 *
 * A version of a row may have the same pointer as the one before, if it has the same value
 * (write_keep.c).  The first page counts these further pointers in its lokey, which has no other
 * use.  Freeing a shared value takes one off; the last one frees the pages.
 *
 * WAL: XLOG_ZS_PAGE_FPM and XLOG_ZS_PAGE_IMAGES; XLOG_ZS_ATTR_SHARE.  A crash before a row with the
 * pointer was written, or between steps of freeing, leaks blocks until VACUUM finds them.  A crash
 * before a row that shares a value was written leaves it counted once too often: it leaks then.
 *
 * Locks: one page's share lock, for the time of a memcpy; the first page's exclusive lock to change
 * its count.  Who holds one takes no other lock, so leaves may be locked.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_overflow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/read_stream.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "attr_internal.h"
#include "zs_walrec.h"

/* Largest payload of a varlena that palloc() can hold. */
#define MAX_OVERFLOW_SIZE	(MaxAllocSize - VARHDRSZ)

/* Runs shorter than this are not worth setting up a read stream. */
#define MIN_STREAM_BLOCKS	8

static uint32
blocks_of(Size size)
{
	return (uint32) ((size + ZS_PAGE_CAPACITY - 1) / ZS_PAGE_CAPACITY);
}

/* ---- pointers ---------------------------------------------------------- */

/* Are the pointer's sizes possible? */
static bool
pointer_is_sane(const ZsOverflowPointer *pointer)
{
	uint32		stored = pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	uint32		compression = pointer->stored_size & ~ZS_OVERFLOW_SIZE_MASK;

	return pointer->start != ZS_META_BLKNO && BlockNumberIsValid(pointer->start) &&
		pointer->raw_size > 0 && pointer->raw_size <= MAX_OVERFLOW_SIZE && stored > 0 &&
		stored <= pointer->raw_size && compression <= ZS_OVERFLOW_ZSTD &&
		(compression != ZS_OVERFLOW_PLAIN || stored == pointer->raw_size);
}

/* Errors unless they are. */
static void
check_pointer(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer)
{
	if (!pointer_is_sane(pointer))
		zsbase_corrupted(rel, pointer->start,
						 "Overflow pointer of attribute %d: sizes are out of range.", attno);
}

/* ---- writing ----------------------------------------------------------- */

/* Takes the runs for nblocks pages; returns an array of requests, one a run. */
static ZsAllocRequest *
allocate_runs(Relation rel, AttrNumber attno, uint32 nblocks)
{
	uint32		nruns = (nblocks + ZS_OVERFLOW_RUN_BLOCKS - 1) / ZS_OVERFLOW_RUN_BLOCKS;
	ZsAllocRequest *runs = palloc_array(ZsAllocRequest, nruns);

	Assert(attno > 0 && nblocks > 0);

	for (uint32 i = 0; i < nruns; i++)
	{
		runs[i].treeno = ZsTreeOfAttr(attno);
		runs[i].nblocks = Min(nblocks - i * ZS_OVERFLOW_RUN_BLOCKS, ZS_OVERFLOW_RUN_BLOCKS);
		runs[i].start = 0;
	}
	zspage_alloc_runs(rel, runs, nruns, ZS_ALLOC_SINGLE);
	return runs;
}

/* Block of page `position` of a value that lies on runs. */
static BlockNumber
block_at(const ZsAllocRequest *runs, uint32 position)
{
	return runs[position / ZS_OVERFLOW_RUN_BLOCKS].start + position % ZS_OVERFLOW_RUN_BLOCKS;
}

static void
write_pages(Relation rel, AttrNumber attno, const ZsAllocRequest *runs, uint32 stamp,
			const char *stored, Size size)
{
	uint32		nblocks = blocks_of(size);
	ZsPageImages images;

	Assert(size > 0 && size <= MAX_OVERFLOW_SIZE);

	zsattr_images_begin(&images, rel, NULL);
	for (uint32 position = 0; position < nblocks; position++)
	{
		Size		start = (Size) position * ZS_PAGE_CAPACITY;
		Size		len = Min(size - start, ZS_PAGE_CAPACITY);
		Page		page = zsattr_images_page(&images, block_at(runs, position));
		ZsPageOpaque *opaque;

		zspage_init(page, ZS_PAGE_OVERFLOW, ZsTreeOfAttr(attno), 0, 0, PG_UINT64_MAX);
		opaque = ZsPageGetOpaque(page);
		opaque->stamp = stamp;
		opaque->position = position;
		opaque->right = position + 1 < nblocks ? block_at(runs, position + 1) : 0;
		memcpy(PageGetContents(page), stored + start, len);
		((PageHeader) page)->pd_lower = MAXALIGN(SizeOfPageHeaderData) + len;
	}
	zsattr_images_end(&images);
}

/*
 * Writes a value's payload bytes (no varlena header), compressed when that helps, to overflow pages
 * of attribute attno.  Fills *pointer.  Size up to 1 GB.  A crash before something points to the
 * value leaks the blocks until VACUUM finds it.
 */
void
zsattr_overflow_write(Relation rel, AttrNumber attno, const char *data, Size size,
					  ZsCompression compression, int level, ZsOverflowPointer *pointer)
{
	char	   *packed = NULL;
	Size		stored_size = size;
	ZsAllocRequest *runs;

	Assert(size > 0);
	if (size > MAX_OVERFLOW_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("value of %zu bytes exceeds the limit of %zu bytes",
						size, (Size) MAX_OVERFLOW_SIZE)));

	if (compression != ZS_COMPRESSION_NONE)
		packed = zsattr_overflow_pack(data, size, compression, level, &stored_size);

	runs = allocate_runs(rel, attno, blocks_of(stored_size));
	ZS_INJECTION_POINT("zs-attr-overflow-allocate");
	pointer->start = runs[0].start;
	pointer->stamp = pg_prng_uint32(&pg_global_prng_state);
	pointer->raw_size = (uint32) size;
	pointer->stored_size = (uint32) stored_size;
	if (packed != NULL)
		pointer->stored_size |= compression == ZS_COMPRESSION_LZ4 ?
			ZS_OVERFLOW_LZ4 : ZS_OVERFLOW_ZSTD;

	write_pages(rel, attno, runs, pointer->stamp, packed != NULL ? packed : data, stored_size);
	ZS_INJECTION_POINT("zs-attr-overflow-write");
	pfree(runs);
	if (packed != NULL)
		pfree(packed);
}

/* ---- reading ----------------------------------------------------------- */

/* A walk along the pages of a value. */
typedef struct OverflowChain
{
	Relation	rel;
	AttrNumber	attno;
	uint32		stamp;
	uint32		stored;			/* bytes on the pages */
	uint32		nblocks;
	BlockNumber next;			/* block of the next page */
	uint32		position;		/* of the next page */
	ReadStream *stream;			/* over the rest of the current run, or NULL */
	BlockNumber stream_next;	/* what the stream's callback returns next */
	BlockNumber stream_end;
	uint32		nread;			/* bytes of page consumed */
	uint32		npage;			/* bytes in page */
	char		page[ZS_PAGE_CAPACITY];
} OverflowChain;

static void
begin_chain(OverflowChain *chain, Relation rel, AttrNumber attno,
			const ZsOverflowPointer *pointer)
{
	check_pointer(rel, attno, pointer);
	chain->rel = rel;
	chain->attno = attno;
	chain->stamp = pointer->stamp;
	chain->stored = pointer->stored_size & ZS_OVERFLOW_SIZE_MASK;
	chain->nblocks = blocks_of(chain->stored);
	chain->next = pointer->start;
	chain->position = 0;
	chain->stream = NULL;
	chain->nread = chain->npage = 0;
}

/*
 * Looks at page `position` of the value in buf (locked): its identity is checked, its bytes are
 * copied to dst (may be NULL) and its right link returned.  *reason: what is wrong, or NULL.
 */
static BlockNumber
look_at_locked_page(const OverflowChain *chain, Buffer buf, uint32 position, char *dst,
					const char **reason_p)
{
	Page		page = BufferGetPage(buf);
	Size		start = (Size) position * ZS_PAGE_CAPACITY;
	uint32		len = Min(chain->stored - start, ZS_PAGE_CAPACITY);
	BlockNumber right = 0;
	const ZsPageOpaque *opaque;
	const char *reason;

	if (zspage_verify(page, ZS_PAGE_OVERFLOW, ZsTreeOfAttr(chain->attno), &reason) == ZS_PAGE_OK)
	{
		opaque = ZsPageGetOpaque(page);
		right = opaque->right;
		if (opaque->stamp != chain->stamp || opaque->position != position)
			reason = "page belongs to another value";
		else if (((PageHeader) page)->pd_lower != MAXALIGN(SizeOfPageHeaderData) + len)
			reason = "payload length is wrong";
		else if ((right == 0) != (position + 1 == chain->nblocks) ||
				 ((position + 1) % ZS_OVERFLOW_RUN_BLOCKS != 0 && right != 0 &&
				  right != BufferGetBlockNumber(buf) + 1))
			reason = "link to the next page is wrong";
	}
	if (reason == NULL && dst != NULL)
		memcpy(dst, PageGetContents(page), len);
	*reason_p = reason;
	return right;
}

/* Same, of a page that is pinned only. */
static BlockNumber
look_at_page(const OverflowChain *chain, Buffer buf, uint32 position, char *dst,
			 const char **reason)
{
	BlockNumber right;

	LockBuffer(buf, BUFFER_LOCK_SHARE);
	right = look_at_locked_page(chain, buf, position, dst, reason);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
	return right;
}

static void
page_failed(const OverflowChain *chain, Buffer buf, uint32 position, const char *reason)
{
	zsbase_corrupted(chain->rel, BufferGetBlockNumber(buf), "Overflow page %u of attribute %d: %s.",
					 position, chain->attno, reason);
}

/* Same as look_at_page(); what is wrong is an error. */
static BlockNumber
visit_page(const OverflowChain *chain, Buffer buf, uint32 position, char *dst)
{
	const char *reason;
	BlockNumber right = look_at_page(chain, buf, position, dst, &reason);

	if (reason != NULL)
		page_failed(chain, buf, position, reason);
	return right;
}

static BlockNumber
next_block_of_run(ReadStream *stream, void *callback_private_data, void *per_buffer_data)
{
	OverflowChain *chain = callback_private_data;

	return chain->stream_next < chain->stream_end ? chain->stream_next++ : InvalidBlockNumber;
}

/* Pins the next page; a run that is long enough is read through a stream. */
static Buffer
pin_next(OverflowChain *chain)
{
	uint32		in_run = chain->position % ZS_OVERFLOW_RUN_BLOCKS;
	uint32		left = Min(chain->nblocks - chain->position,
						   (uint32) ZS_OVERFLOW_RUN_BLOCKS - in_run);
	Buffer		buf;

	if (zs_enable_read_stream && in_run == 0 && left >= MIN_STREAM_BLOCKS &&
		chain->next < InvalidBlockNumber - left &&
		chain->next + left <= zspage_physical_blocks(chain->rel))
	{
		Assert(chain->stream == NULL);
		chain->stream_next = chain->next;
		chain->stream_end = chain->next + left;
		chain->stream = read_stream_begin_relation(READ_STREAM_FULL, NULL, chain->rel,
												   MAIN_FORKNUM, next_block_of_run, chain, 0);
	}
	if (chain->stream == NULL)
		return zspage_read(chain->rel, chain->next, NULL);

	buf = read_stream_next_buffer(chain->stream, NULL);
	if (!BufferIsValid(buf) || BufferGetBlockNumber(buf) != chain->next)
		elog(ERROR, "read stream over overflow pages is out of step");
	return buf;
}

/* Copies the next page's bytes to dst, ZS_PAGE_CAPACITY or what is left. */
static uint32
read_next_page(OverflowChain *chain, char *dst)
{
	Size		start = (Size) chain->position * ZS_PAGE_CAPACITY;
	Buffer		buf;

	CHECK_FOR_INTERRUPTS();
	Assert(chain->position < chain->nblocks);

	buf = pin_next(chain);
	chain->next = visit_page(chain, buf, chain->position, dst);
	ReleaseBuffer(buf);
	chain->position++;
	if (chain->stream != NULL && chain->stream_end == chain->stream_next &&
		(chain->position % ZS_OVERFLOW_RUN_BLOCKS == 0 || chain->position == chain->nblocks))
	{
		read_stream_end(chain->stream);
		chain->stream = NULL;
	}
	return Min(chain->stored - start, ZS_PAGE_CAPACITY);
}

/* Next len bytes of the value as stored; false when there are no more. */
static bool
read_bytes(OverflowChain *chain, char *dst, Size len)
{
	while (len > 0)
	{
		Size		n;

		if (chain->nread == chain->npage)
		{
			if (chain->position == chain->nblocks)
				return false;
			if (len >= ZS_PAGE_CAPACITY)
			{
				/* whole pages go where they belong at once */
				n = read_next_page(chain, dst);
				dst += n;
				len -= n;
				continue;
			}
			chain->npage = read_next_page(chain, chain->page);
			chain->nread = 0;
		}
		n = Min(len, chain->npage - chain->nread);
		memcpy(dst, chain->page + chain->nread, n);
		chain->nread += n;
		dst += n;
		len -= n;
	}
	return true;
}

/* Reads and unpacks a chunk of size raw bytes; NULL or what is wrong. */
static const char *
read_chunk(OverflowChain *chain, uint32 compression, char *scratch, char *dst, Size size)
{
	uint32		header;
	uint32		len;

	if (!read_bytes(chain, (char *) &header, ZS_OVERFLOW_CHUNK_HEADER))
		return "value ends too early";
	len = header & ~ZS_OVERFLOW_CHUNK_PLAIN;
	if (len == 0 || len > size || ((header & ZS_OVERFLOW_CHUNK_PLAIN) != 0 && len != size))
		return "chunk length is out of range";
	if ((header & ZS_OVERFLOW_CHUNK_PLAIN) != 0)
		return read_bytes(chain, dst, len) ? NULL : "value ends too early";
	if (!read_bytes(chain, scratch, len))
		return "value ends too early";
	return zsattr_overflow_unpack_chunk(compression, scratch, len, dst, size);
}

/* As zsattr_overflow_read(), without a header, to dst, which has room for raw_size bytes. */
void
zsattr_overflow_read_to(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer, char *dst)
{
	uint32		compression = pointer->stored_size & ~ZS_OVERFLOW_SIZE_MASK;
	Size		size = pointer->raw_size;
	OverflowChain chain;
	const char *reason = NULL;

	ZS_INJECTION_POINT("zs-attr-overflow-read");
	begin_chain(&chain, rel, attno, pointer);
	if (compression == ZS_OVERFLOW_PLAIN)
		(void) read_bytes(&chain, dst, size);
	else
	{
		char	   *scratch = palloc(Min(size, (Size) ZS_OVERFLOW_CHUNK));

		for (Size done = 0; done < size && reason == NULL; done += ZS_OVERFLOW_CHUNK)
			reason = read_chunk(&chain, compression, scratch, dst + done,
								Min(size - done, (Size) ZS_OVERFLOW_CHUNK));
		pfree(scratch);
	}
	if (reason == NULL && (chain.position < chain.nblocks || chain.nread < chain.npage))
		reason = "value is longer than expected";
	if (reason)
		zsbase_corrupted(rel, pointer->start, "Overflow value of attribute %d: %s.", attno, reason);
	Assert(chain.stream == NULL);
}

/* Reads a value back: a plain 4-byte-header varlena palloc'd in the current context. */
struct varlena *
zsattr_overflow_read(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer)
{
	struct varlena *result;

	check_pointer(rel, attno, pointer);
	result = palloc(pointer->raw_size + VARHDRSZ);
	SET_VARSIZE(result, pointer->raw_size + VARHDRSZ);
	zsattr_overflow_read_to(rel, attno, pointer, VARDATA(result));
	return result;
}

/* ---- sharing ----------------------------------------------------------- */

/* How many pointers beyond one a value has, from its first page, which was verified. */
uint64
zsattr_overflow_shares(Page page)
{
	return ZsPageGetOpaque(page)->lokey;
}

/*
 * Changes what zsattr_overflow_shares() says; the caller holds the page's lock and logs the change.
 */
void
zsattr_overflow_change_shares(Page page, int change)
{
	ZsPageGetOpaque(page)->lokey += change;
}

/* Changes and logs the count on a value's first page, which is locked exclusively. */
static void
change_shares(Relation rel, Buffer buf, int change)
{
	Page		page = BufferGetPage(buf);

	START_CRIT_SECTION();
	zsattr_overflow_change_shares(page, change);
	MarkBufferDirty(buf);
	if (RelationNeedsWAL(rel))
	{
		xl_zs_attr_share xlrec = {.change = (int8) change};

		XLogBeginInsert();
		XLogRegisterData(&xlrec, SizeOfZsAttrShare);
		XLogRegisterBuffer(0, buf, REGBUF_STANDARD);
		/* whether the page can be compressed is worth a look if it goes into the record */
		PageSetLSN(page, XLogCheckBufferNeedsBackup(buf) ?
				   zspage_log_data(XLOG_ZS_ATTR_SHARE, page) :
				   zspage_log_tree(XLOG_ZS_ATTR_SHARE));
	}
	END_CRIT_SECTION();
}

/*
 * Reads the first page of the value, which is returned pinned and not locked, for
 * zsattr_overflow_share().
 */
Buffer
zsattr_overflow_pin(Relation rel, const ZsOverflowPointer *pointer)
{
	return zspage_read(rel, pointer->start, NULL);
}

/*
 * The value gets one pointer more, in a row that is going to be written.  The caller has another
 * row with the pointer that cannot be removed meanwhile: its snapshot sees it, or it has locked it.
 * buf: from zsattr_overflow_pin(); it stays pinned.  Takes that page's lock for the time of a WAL
 * record, and nothing else, so the caller may hold locks of TID and row leaves.
 * zsattr_overflow_free() takes it back.
 */
void
zsattr_overflow_share(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer, Buffer buf)
{
	OverflowChain chain;
	const char *reason;

	begin_chain(&chain, rel, attno, pointer);
	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	(void) look_at_locked_page(&chain, buf, 0, NULL, &reason);
	if (reason != NULL)
		page_failed(&chain, buf, 0, reason);
	change_shares(rel, buf, 1);
	LockBuffer(buf, BUFFER_LOCK_UNLOCK);
}

/*
 * Takes one off the count of a value that several rows have.  False, with nothing changed, if it is
 * only one, or the pointer leads to no value.
 */
static bool
unshare(const OverflowChain *chain)
{
	Buffer		buf = zspage_read(chain->rel, chain->next, NULL);
	bool		shared = false;
	const char *reason;

	LockBuffer(buf, BUFFER_LOCK_EXCLUSIVE);
	(void) look_at_locked_page(chain, buf, 0, NULL, &reason);
	if (reason == NULL)
		shared = zsattr_overflow_shares(BufferGetPage(buf)) > 0;
	if (shared)
		change_shares(chain->rel, buf, -1);
	UnlockReleaseBuffer(buf);
	return shared;
}

/* ---- freeing ----------------------------------------------------------- */

/*
 * The first and the last page of a run tell where it lies and where the next one begins; the pages
 * in between need not be read.  All runs are looked at before the first one is freed.
 */
bool
zsattr_overflow_free(Relation rel, AttrNumber attno, const ZsOverflowPointer *pointer)
{
	BlockNumber limit = zspage_physical_blocks(rel);
	OverflowChain chain;
	BlockNumber *starts;
	uint32		nruns = 0;
	const char *reason = NULL;

	if (!pointer_is_sane(pointer))
		return false;
	begin_chain(&chain, rel, attno, pointer);
	if (chain.next >= limit || unshare(&chain))
		return false;
	starts = palloc_array(BlockNumber, chain.nblocks / ZS_OVERFLOW_RUN_BLOCKS + 1);
	while (chain.position < chain.nblocks && reason == NULL)
	{
		uint32		len = Min(chain.nblocks - chain.position, (uint32) ZS_OVERFLOW_RUN_BLOCKS);
		BlockNumber start = chain.next;
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		if (start >= limit || len > limit - start)
			reason = "value reaches beyond the end of the file";
		else
			starts[nruns++] = start;
		for (uint32 i = 0; i < len && reason == NULL; i += Max(len - 1, 1))
		{
			buf = zspage_read(rel, start + i, NULL);
			chain.next = look_at_page(&chain, buf, chain.position + i, NULL, &reason);
			ReleaseBuffer(buf);
		}
		chain.position += len;
	}

	for (uint32 i = 0; i < nruns && reason == NULL; i++)
		zspage_free_run(rel, ZsTreeOfAttr(attno), starts[i],
						Min(chain.nblocks - i * ZS_OVERFLOW_RUN_BLOCKS, ZS_OVERFLOW_RUN_BLOCKS));
	pfree(starts);
	return reason == NULL;
}
