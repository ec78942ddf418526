/*-------------------------------------------------------------------------
 *
 * buffer_model.c
 *	  src/io/io_buffer_19.c with threads on the header of one buffer.
 *
 * Writers change the page under an exclusive lock, as core's code does, marking the buffer dirty
 * before or after; setters of hint bits lock it share-exclusively; core's flush writes it, too; and
 * the worker under test begins and ends writes.  Whenever the buffer is clean, nobody writes it and
 * nobody has its contents locked exclusively, the page and what was written last must be equal, but
 * for hint bits and checksum.  At the end some writes must have left the buffer clean, and some
 * must have found that they may not.  Before, checksums are enabled during a write.
 *
 * Threads pause at random in the steps between which others may do something.  Sanitizers of
 * threads are of no use here: pages are compared without a lock by design.
 *
 *	  make build/buffer_model PG_CONFIG=...
 *
 *	  usage: buffer_model seconds seed
 *
 * With the headers of a server before 19 there is nothing to run.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * fuzz/buffer_model.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/condition_variable.h"
#include "utils/resowner.h"

#include "zs_compat.h"

/* no libpgport here */
#undef fprintf
#undef printf

#if ZS_BUFFER_STATE_HAS_LOCK

/* ---- what the file under test includes -------------------------------------------------- */

static int	compare_pausing(const void *a, const void *b, size_t len);

#define memcmp(a, b, len)	compare_pausing((a), (b), (len))
#include "../src/io/io_buffer_19.c"
#undef memcmp

/* ---- the server ------------------------------------------------------------------------- */

static PGAlignedBlock shared_page;
static PGAlignedBlock disk;
static BufferDescPadded header;
static ConditionVariableMinimallyPadded io_cv;

char	   *BufferBlocks = shared_page.data;
BufferDescPadded *BufferDescriptors = &header;
ConditionVariableMinimallyPadded *BufferIOCVArray = &io_cv;
int			NBuffers = 1;
int			NLocBuffer = 0;
Block	   *LocalBufferBlockPointers = NULL;
ResourceOwner CurrentResourceOwner = (ResourceOwner) &header;
const ResourceOwnerDesc buffer_io_resowner_desc = {.name = "buffer io"};

static volatile bool stopped;
static int	nclean;
static int	nkept;
static uint64 nfast_checks;

static __thread uint64 rng_state;

static uint32
rnd(uint32 limit)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32) ((rng_state >> 11) % limit);
}

/* Lets others run, now and then. */
static void
pause_maybe(void)
{
	uint32		n = rnd(8);

	if (n == 0)
		sched_yield();
	else if (n == 1)
	{
		for (volatile int i = rnd(2000); i > 0; i--)
			;
	}
}

static int
compare_pausing(const void *a, const void *b, size_t len)
{
	size_t		half = len / 2;
	int			result;

	pause_maybe();
	result = memcmp(a, b, half);
	pause_maybe();
	if (result == 0)
		result = memcmp((const char *) a + half, (const char *) b + half, len - half);
	pause_maybe();
	return result;
}

static void
fail(const char *what)
{
	fprintf(stderr, "buffer_model: %s\n", what);
	abort();
}

#ifdef USE_ASSERT_CHECKING
void
ExceptionalCondition(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
	abort();
}
#endif

/* As bufmgr.c, but for who sleeps there. */
uint64
LockBufHdr(BufferDesc *desc)
{
	for (;;)
	{
		uint64		state = pg_atomic_fetch_or_u64(&desc->state, BM_LOCKED);

		if ((state & BM_LOCKED) == 0)
			return state | BM_LOCKED;
		sched_yield();
	}
}

uint64
WaitBufHdrUnlocked(BufferDesc *desc)
{
	uint64		state;

	while ((state = pg_atomic_read_u64(&desc->state)) & BM_LOCKED)
		sched_yield();
	return state;
}

StartBufferIOResult
StartSharedBufferIO(BufferDesc *desc, bool for_input, bool wait, PgAioWaitRef *io_wref)
{
	for (;;)
	{
		uint64		state = LockBufHdr(desc);

		if ((state & BM_IO_IN_PROGRESS) == 0)
		{
			if ((state & BM_DIRTY) == 0)
			{
				UnlockBufHdr(desc);
				return BUFFER_IO_ALREADY_DONE;
			}
			UnlockBufHdrExt(desc, state, BM_IO_IN_PROGRESS, 0, 0);
			return BUFFER_IO_READY_FOR_IO;
		}
		UnlockBufHdr(desc);
		if (!wait)
			return BUFFER_IO_IN_PROGRESS;
		sched_yield();
	}
}

void
TerminateBufferIO(BufferDesc *desc, bool clear_dirty, uint64 set_flag_bits, bool forget_owner,
				  bool release_aio)
{
	uint64		state = LockBufHdr(desc);
	uint64		unset = BM_IO_IN_PROGRESS | BM_IO_ERROR;

	if (clear_dirty)
		unset |= BM_DIRTY | BM_CHECKPOINT_NEEDED;
	UnlockBufHdrExt(desc, state, set_flag_bits, unset, 0);
}

/* Locks the contents if nobody has what conflicts. */
static bool
lock_contents(uint64 mode)
{
	uint64		conflict = BM_LOCK_VAL_EXCLUSIVE | BM_LOCK_VAL_SHARE_EXCLUSIVE;
	uint64		state = pg_atomic_read_u64(&header.bufferdesc.state);

	while ((state & conflict) == 0)
	{
		if (pg_atomic_compare_exchange_u64(&header.bufferdesc.state, &state, state + mode))
			return true;
	}
	return false;
}

static void
wait_for_contents(uint64 mode)
{
	while (!lock_contents(mode))
		sched_yield();
}

static void
unlock_contents(uint64 mode)
{
	pg_atomic_fetch_sub_u64(&header.bufferdesc.state, mode);
}

/* As MarkBufferDirty(): waits for who has the header locked. */
static void
mark_dirty(void)
{
	BufferDesc *desc = &header.bufferdesc;
	uint64		state = pg_atomic_read_u64(&desc->state);

	for (;;)
	{
		if (state & BM_LOCKED)
			state = WaitBufHdrUnlocked(desc);
		if (pg_atomic_compare_exchange_u64(&desc->state, &state, state | BM_DIRTY))
			return;
	}
}

bool
zsbase_pin_recent(const RelFileLocator *locator, ForkNumber forknum, BlockNumber blkno,
				  Buffer buffer)
{
	BufferDesc *desc = &header.bufferdesc;
	uint64		state = pg_atomic_read_u64(&desc->state);

	for (;;)
	{
		uint64		to;

		if (state & BM_LOCKED)
			state = WaitBufHdrUnlocked(desc);
		to = state + BUF_REFCOUNT_ONE;
		if (BUF_STATE_GET_USAGECOUNT(state) < BM_MAX_USAGE_COUNT)
			to += BUF_USAGECOUNT_ONE;
		if (pg_atomic_compare_exchange_u64(&desc->state, &state, to))
			return true;
	}
}

void
ReleaseBuffer(Buffer buffer)
{
	pg_atomic_fetch_sub_u64(&header.bufferdesc.state, BUF_REFCOUNT_ONE);
}

bool
zsbase_lock_buffer_if_free(Buffer buffer)
{
	return lock_contents(BM_LOCK_VAL_EXCLUSIVE);
}

void
UnlockBuffer(Buffer buffer)
{
	unlock_contents(BM_LOCK_VAL_EXCLUSIVE);
}

void
LockBufferInternal(Buffer buffer, BufferLockMode mode)
{
	fail("nothing is to wait for a lock of the contents");
}

static bool checksums = true;

bool
DataChecksumsNeedWrite(void)
{
	return checksums;
}

void
PageSetChecksum(Page page, BlockNumber blkno)
{
	if (checksums)
		((PageHeader) page)->pd_checksum = (uint16) rnd(65535) + 1;
}

void
ResourceOwnerForget(ResourceOwner owner, Datum value, const ResourceOwnerDesc *kind)
{
}

void
ConditionVariableBroadcast(ConditionVariable *cv)
{
}

/* ---- threads ---------------------------------------------------------------------------- */

/* The page: a header, hint bits in one byte, and copies of a number at its ends. */
#define HINT_AT		64
#define VALUE_AT	128

static void
change_page(void)
{
	uint64		value;

	memcpy(&value, shared_page.data + VALUE_AT, sizeof(value));
	value++;
	memcpy(shared_page.data + VALUE_AT, &value, sizeof(value));
	pause_maybe();
	memcpy(shared_page.data + BLCKSZ - sizeof(value), &value, sizeof(value));
	PageSetLSN((Page) shared_page.data, value);
}

/* Are page and disk the same for all that must not get lost? */
static bool
is_written(void)
{
	return PageGetLSN((Page) shared_page.data) == PageGetLSN((Page) disk.data) &&
		memcmp(shared_page.data + VALUE_AT, disk.data + VALUE_AT, BLCKSZ - VALUE_AT) == 0;
}

static void *
run_writer(void *arg)
{
	rng_state = (uintptr_t) arg;
	while (!stopped)
	{
		bool		before = rnd(2) == 0;

		wait_for_contents(BM_LOCK_VAL_EXCLUSIVE);
		/* share locks are not part of the model, so nobody is left to wait for */
		if (before)
			mark_dirty();
		pause_maybe();
		change_page();
		pause_maybe();
		if (!before)
			mark_dirty();
		unlock_contents(BM_LOCK_VAL_EXCLUSIVE);
		for (int i = rnd(20); i > 0; i--)
			pause_maybe();
	}
	return NULL;
}

static void *
run_hints(void *arg)
{
	rng_state = (uintptr_t) arg;
	while (!stopped)
	{
		if (lock_contents(BM_LOCK_VAL_SHARE_EXCLUSIVE))
		{
			shared_page.data[HINT_AT]++;
			pause_maybe();
			if ((pg_atomic_read_u64(&header.bufferdesc.state) & BM_DIRTY) == 0)
				mark_dirty();
			unlock_contents(BM_LOCK_VAL_SHARE_EXCLUSIVE);
		}
		for (int i = rnd(100); i > 0; i--)
			pause_maybe();
	}
	return NULL;
}

/* Core: writes the page under a share-exclusive lock, and looks whether a clean one is written. */
static void *
run_flusher(void *arg)
{
	BufferDesc *desc = &header.bufferdesc;

	rng_state = (uintptr_t) arg;
	while (!stopped)
	{
		uint64		state;

		wait_for_contents(BM_LOCK_VAL_SHARE_EXCLUSIVE);
		if (rnd(4) == 0 && StartSharedBufferIO(desc, false, true, NULL) == BUFFER_IO_READY_FOR_IO)
		{
			memcpy(disk.data, shared_page.data, BLCKSZ);
			pause_maybe();
			TerminateBufferIO(desc, true, 0, true, false);
		}
		state = LockBufHdr(desc);
		if ((state & (BM_IO_IN_PROGRESS | BM_DIRTY)) == 0)
		{
			if (!is_written())
				fail("a clean buffer differs from what was written");
			nfast_checks++;
		}
		UnlockBufHdr(desc);
		unlock_contents(BM_LOCK_VAL_SHARE_EXCLUSIVE);
		for (int i = rnd(20); i > 0; i--)
			pause_maybe();
	}
	return NULL;
}

static void *
run_worker(void *arg)
{
	static PGIOAlignedBlock aligned;
	char	   *copy = aligned.data;
	ZsIoItem	item = {.blkno = 7,.buf_id = 0};

	rng_state = (uintptr_t) arg;
	while (!stopped)
	{
		XLogRecPtr	lsn = InvalidXLogRecPtr;
		ZsIoResult	result = rnd(16) == 0 ? ZSIO_FAILED : ZSIO_WRITTEN;

		if (!zsio_buffer_begin(&item, copy, &lsn))
		{
			pause_maybe();
			continue;
		}
		if (lsn != PageGetLSN((Page) copy))
			fail("the LSN is not the copy's");
		pause_maybe();
		if (result == ZSIO_WRITTEN)
			memcpy(disk.data, copy, BLCKSZ);
		pause_maybe();
		/* as zsio_buffer_end(), but counted */
		if (result == ZSIO_WRITTEN && end_clean(&header.bufferdesc, copy))
		{
			nclean++;
			ReleaseBuffer(1);
		}
		else
		{
			nkept++;
			zsio_buffer_end(0, copy, result == ZSIO_WRITTEN ? ZSIO_GIVEN_UP : result);
		}
		for (int i = rnd(10); i > 0; i--)
			pause_maybe();
	}
	return NULL;
}

/* A write that began without checksums must not leave the page clean when there are some. */
static void
enable_checksums(void)
{
	static PGIOAlignedBlock copy;
	ZsIoItem	item = {.blkno = 7,.buf_id = 0};
	XLogRecPtr	lsn = InvalidXLogRecPtr;

	for (int i = 0; i < 2; i++)
	{
		pg_atomic_fetch_or_u64(&header.bufferdesc.state, BM_DIRTY);
		checksums = i > 0;
		if (!zsio_buffer_begin(&item, copy.data, &lsn))
			fail("nobody else uses the buffer");
		checksums = true;
		zsio_buffer_end(0, copy.data, ZSIO_WRITTEN);
		if (((pg_atomic_read_u64(&header.bufferdesc.state) & BM_DIRTY) != 0) != (i == 0))
			fail(i == 0 ? "the page is clean without a checksum" : "the page is not clean");
	}
}

int
main(int argc, char **argv)
{
	typedef void *(*Thread) (void *);
	const Thread run[] = {run_writer, run_writer, run_hints, run_flusher, run_worker};
	pthread_t	threads[lengthof(run)];
	int			seconds = argc > 1 ? atoi(argv[1]) : 5;
	uint64		seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	((PageHeader) shared_page.data)->pd_pagesize_version = BLCKSZ | PG_PAGE_LAYOUT_VERSION;
	((PageHeader) shared_page.data)->pd_upper = BLCKSZ;
	memcpy(disk.data, shared_page.data, BLCKSZ);
	pg_atomic_init_u64(&header.bufferdesc.state, BM_VALID | BM_TAG_VALID | BM_PERMANENT);
	rng_state = seed + 1;
	enable_checksums();
	for (int i = 0; i < (int) lengthof(run); i++)
	{
		uintptr_t	start = (seed + i) * UINT64CONST(0x9E3779B97F4A7C15) + 1;

		if (pthread_create(&threads[i], NULL, run[i], (void *) start) != 0)
			fail("could not start a thread");
	}
	sleep(seconds);
	stopped = true;
	for (int i = 0; i < (int) lengthof(run); i++)
		pthread_join(threads[i], NULL);

	if ((pg_atomic_read_u64(&header.bufferdesc.state) &
		 (BUF_REFCOUNT_MASK | BM_LOCK_MASK | BM_LOCKED | BM_IO_IN_PROGRESS)) != 0)
		fail("a pin, a lock or a write was left behind");
	if (nclean == 0 || nkept == 0 || nfast_checks == 0)
		fail("something never happened");
	printf("ok: %d writes left the buffer clean, %d did not; %llu looks at a clean one; seed %llu\n",
		   nclean, nkept, (unsigned long long) nfast_checks, (unsigned long long) seed);
	return 0;
}

#else

int
main(int argc, char **argv)
{
	printf("ok: nothing to run with the headers of this server\n");
	return 0;
}

#endif
