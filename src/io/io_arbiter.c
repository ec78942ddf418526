/*-------------------------------------------------------------------------
 *
 * io_arbiter.c
 *	  Which of several large scans reads first (zedstore.scan_scheduling).
 *
 * Scans ask before they read a segment ahead; io_turn.c decides, and says by what.  Here are the
 * processes: their slots in shared memory, how they wait, and what they have read.
 *
 * Nobody waits for a scan, only for time or its turn: a scan that is held up, or whose
 * cursor nobody fetches from, takes nothing out of the bucket, and stops counting after a second.
 * What is in the buffer cache is not asked for after the first two segments.
 * The processes of a parallel query have the same turn.
 *
 * Locks: the arbiter's LWLock, for a look at all slots; no other lock is taken
 * under it.  A slot is given back when the last stream of its process is closed, also by
 * an error (memory context callback of the stream), and before the process leaves
 * shared memory.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_arbiter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/condition_variable.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
#include "utils/wait_event.h"

#include "io_internal.h"
#include "io_profile.h"
#include "io_turn.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(pg_stat_get_zedstore_scans);
PG_FUNCTION_INFO_V1(pg_stat_get_zedstore_scan_volumes);

#define TRANCHE_NAME	"zedstore scan arbiter"

#define MAX_SLOTS		64

/* Milliseconds between two looks of a scan that waits. */
#define NAP_MS			10

/* Segments in a row without a read from the file, from which on a scan need not ask. */
#define CACHED_ASKS		2

typedef struct ScanVolume
{
	char		name[ZSIO_VOLUME_NAME_LEN]; /* empty: free */
	ZsIoTurnBucket bucket;
	ConditionVariable turn;		/* a scan ended */
	uint64		grants;
	uint64		waits;			/* grants that were waited for */
	uint64		overdue;		/* of these, those that were not its turn */
	double		wait_seconds;
} ScanVolume;

/* All under the lock. */
typedef struct ScanArbiter
{
	ScanVolume	volumes[ZSIO_MAX_VOLUMES];
	ZsIoTurn	slots[MAX_SLOTS];
} ScanArbiter;

/* In shared memory; NULL: the library is not preloaded. */
static ScanArbiter *arbiter = NULL;
static LWLock *arbiter_lock = NULL;

/* This process, which has a slot from the first question until its last stream is closed. */
typedef struct ScanProcess
{
	ZsIoTurn   *slot;			/* NULL: none */
	int			open_scans;
	double		remaining_blocks;	/* of all that are open */
	int64		reads_seen;
	double		blocks_granted; /* and not seen to be read yet */
	int			cached_asks;
	uint32		wait_event;
	bool		registered;		/* to give the slot back at exit */
} ScanProcess;

static ScanProcess mine;

/* ---- shared memory ------------------------------------------------------------------ */

/* In shmem_request_hook. */
void
zsio_arbiter_request_shmem(void)
{
	RequestAddinShmemSpace(MAXALIGN(sizeof(ScanArbiter)));
	RequestNamedLWLockTranche(TRANCHE_NAME, 1);
}

/* In shmem_startup_hook, under AddinShmemInitLock. */
void
zsio_arbiter_startup_shmem(void)
{
	bool		found;

	arbiter = ShmemInitStruct(TRANCHE_NAME, sizeof(ScanArbiter), &found);
	arbiter_lock = &GetNamedLWLockTranche(TRANCHE_NAME)->lock;
	if (found)
		return;
	memset(arbiter, 0, sizeof(ScanArbiter));
	for (int i = 0; i < ZSIO_MAX_VOLUMES; i++)
		ConditionVariableInit(&arbiter->volumes[i].turn);
}

/* ---- slots and volumes; all under the lock ------------------------------------------------ */

static double
seconds_between(TimestampTz from, TimestampTz to)
{
	return to > from ? (to - from) / 1000000.0 : 0;
}

/* The entry of a volume, made when there is none; -1: no room. */
static int
find_volume(const char *name)
{
	int			room = -1;

	Assert(LWLockHeldByMe(arbiter_lock));
	Assert(name[0] != '\0');
	for (int i = 0; i < ZSIO_MAX_VOLUMES; i++)
	{
		if (strcmp(arbiter->volumes[i].name, name) == 0)
			return i;
		if (room < 0 && arbiter->volumes[i].name[0] == '\0')
			room = i;
	}
	if (room >= 0)
		strlcpy(arbiter->volumes[room].name, name, ZSIO_VOLUME_NAME_LEN);
	return room;
}

/* May this process read now?  The bucket is refilled first. */
static bool
may_read(ScanVolume *volume, TimestampTz now)
{
	Assert(LWLockHeldByMeInMode(arbiter_lock, LW_EXCLUSIVE));
	zsio_turn_refill(&volume->bucket, now);
	return zsio_turn_may_read(&volume->bucket, arbiter->slots, MAX_SLOTS, mine.slot, now);
}

/* ---- this process --------------------------------------------------------------------------- */

static void
give_slot_back(void)
{
	int			volume;

	if (mine.slot == NULL)
		return;
	LWLockAcquire(arbiter_lock, LW_EXCLUSIVE);
	Assert(mine.slot->pid == MyProcPid);
	volume = mine.slot->volume;
	memset(mine.slot, 0, sizeof(ZsIoTurn));
	LWLockRelease(arbiter_lock);
	mine.slot = NULL;
	ConditionVariableBroadcast(&arbiter->volumes[volume].turn);
}

/* before_shmem_exit callback */
static void
scan_exit(int code, Datum arg)
{
	LWLockReleaseAll();
	give_slot_back();
}

/* Under the lock; false: all are taken, so this process is not scheduled. */
static bool
get_slot(void)
{
	Assert(LWLockHeldByMeInMode(arbiter_lock, LW_EXCLUSIVE));
	for (int i = 0; i < MAX_SLOTS && mine.slot == NULL; i++)
	{
		if (arbiter->slots[i].pid == 0)
		{
			mine.slot = &arbiter->slots[i];
			mine.slot->pid = MyProcPid;
			mine.slot->leader = MyProc->lockGroupLeader != NULL ?
				MyProc->lockGroupLeader->pid : MyProcPid;
		}
	}
	return mine.slot != NULL;
}

/*
 * A stream of reads from a tablespace begins.  It is scheduled only if zedstore.scan_scheduling is
 * on and the tablespace's device has a limit of reads.  Reads catalogs.
 */
void
zsio_scan_open(ZsIoScan *scan, Oid tablespace)
{
	const ZsIoLimits *limits;
	double		rate;
	int			volume;

	scan->volume = -1;
	scan->remaining = 0;
	if (!zsio_scan_scheduling || arbiter == NULL || !IsUnderPostmaster)
		return;
	zsio_volumes_refresh_if_old();
	volume = zsio_volume_of(tablespace);
	limits = zsio_volume_limits(volume);
	rate = limits->read_bytes;
	if (limits->read_iops > 0)
	{
		double		by_requests = limits->read_iops * io_combine_limit * BLCKSZ;

		rate = rate > 0 ? Min(rate, by_requests) : by_requests;
	}
	if (rate <= 0)
		return;

	if (!mine.registered)
	{
		before_shmem_exit(scan_exit, (Datum) 0);
		mine.wait_event = WaitEventExtensionNew("ZedstoreScanTurn");
		mine.registered = true;
	}
	LWLockAcquire(arbiter_lock, LW_EXCLUSIVE);
	scan->volume = find_volume(zsio_volume_name(volume));
	if (scan->volume >= 0)
		arbiter->volumes[scan->volume].bucket.rate = rate;
	LWLockRelease(arbiter_lock);
	if (scan->volume < 0)
		return;
	if (mine.open_scans++ == 0)
	{
		mine.remaining_blocks = mine.blocks_granted = 0;
		mine.cached_asks = 0;
		mine.reads_seen = pgBufferUsage.shared_blks_read;
	}
}

/* What it has still to read, in blocks. */
void
zsio_scan_expect(ZsIoScan *scan, double remaining)
{
	if (scan->volume < 0)
		return;
	mine.remaining_blocks += remaining - scan->remaining;
	scan->remaining = remaining;
}

/* It ends; the last one gives the slot back. */
void
zsio_scan_close(ZsIoScan *scan)
{
	if (scan->volume < 0)
		return;
	scan->volume = -1;
	mine.remaining_blocks -= scan->remaining;
	Assert(mine.open_scans > 0);
	if (--mine.open_scans == 0)
		give_slot_back();
}

/*
 * Compares what was granted with what was read: what came from the cache is given
 * back.  False: all does, there is nothing to ask for.
 */
static bool
note_reads(ScanVolume *volume)
{
	int64		reads = pgBufferUsage.shared_blks_read - mine.reads_seen;

	mine.reads_seen += reads;
	if (reads > 0 || mine.blocks_granted == 0)
	{
		mine.cached_asks = 0;
		mine.blocks_granted = Max(mine.blocks_granted - reads, 0);
	}
	else if (++mine.cached_asks >= CACHED_ASKS)
	{
		zsio_turn_refill(&volume->bucket, GetCurrentTimestamp());
		zsio_turn_give_back(&volume->bucket, mine.blocks_granted * BLCKSZ);
		mine.blocks_granted = 0;
		return false;
	}
	return true;
}

/* Waits for the turn or for what others leave.  Called and left with the lock held. */
static void
wait_for_turn(ScanVolume *volume, double bytes)
{
	ZsIoTurn   *slot = mine.slot;
	TimestampTz start = GetCurrentTimestamp();
	TimestampTz now = start;

	Assert(LWLockHeldByMeInMode(arbiter_lock, LW_EXCLUSIVE));
	Assert(!slot->waiting);
	slot->waiting = true;
	slot->waits++;
	volume->waits++;
	PG_TRY();
	{
		for (;;)
		{
			TimestampTz before = now;
			double		most = zsio_turn_longest_wait(&volume->bucket, arbiter->slots, MAX_SLOTS,
													  slot, bytes);

			LWLockRelease(arbiter_lock);
			(void) ConditionVariableTimedSleep(&volume->turn, NAP_MS, mine.wait_event);
			LWLockAcquire(arbiter_lock, LW_EXCLUSIVE);

			now = GetCurrentTimestamp();
			slot->waited += seconds_between(before, now);
			volume->wait_seconds += seconds_between(before, now);
			if (may_read(volume, now))
				break;
			if (seconds_between(start, now) >= most)
			{
				volume->overdue++;
				break;
			}
		}
	}
	PG_FINALLY();
	{
		/* an error left the sleep without the lock; one word, of our own slot */
		slot->waiting = false;
	}
	PG_END_TRY();
	ConditionVariableCancelSleep();
}

/*
 * Asks whether the scan may read nblocks more; remaining is an estimate of what there is still to
 * read, these included.  May wait, interruptibly, and for a bounded time: no content lock or LWLock
 * may be held.
 */
void
zsio_scan_ask(ZsIoScan *scan, uint32 nblocks, double remaining)
{
	ScanVolume *volume;
	TimestampTz now;
	double		bytes = (double) nblocks * BLCKSZ;
	bool		may_wait = INTERRUPTS_CAN_BE_PROCESSED();

	if (scan->volume < 0)
		return;
	Assert(scan->volume < ZSIO_MAX_VOLUMES && mine.open_scans > 0);
	volume = &arbiter->volumes[scan->volume];
	zsio_scan_expect(scan, remaining);

	LWLockAcquire(arbiter_lock, LW_EXCLUSIVE);
	if (mine.slot == NULL && !get_slot())
	{
		LWLockRelease(arbiter_lock);
		return;
	}
	if (note_reads(volume))
	{
		now = GetCurrentTimestamp();
		mine.slot->volume = scan->volume;
		mine.slot->remaining = mine.remaining_blocks * BLCKSZ;
		mine.slot->active = now;
		if (!may_read(volume, now) && may_wait)
		{
			wait_for_turn(volume, bytes);
			mine.slot->active = GetCurrentTimestamp();
		}
		zsio_turn_take(&volume->bucket, bytes);
		mine.blocks_granted += nblocks;
		mine.slot->grants++;
		volume->grants++;
	}
	LWLockRelease(arbiter_lock);
}

/* ---- statistics ------------------------------------------------------------------ */

#define SCAN_COLUMNS	8
#define SCAN_VOLUME_COLUMNS 6

/* Prepares the result of a function with so many columns; returns what it is to show. */
static ScanArbiter *
begin_statistics(FunctionCallInfo fcinfo, int ncolumns)
{
	ScanArbiter *copy = palloc(sizeof(ScanArbiter));

	zsbase_require_preload();
	zsbase_srf_init(fcinfo, ncolumns);
	LWLockAcquire(arbiter_lock, LW_SHARED);
	memcpy(copy, arbiter, sizeof(ScanArbiter));
	LWLockRelease(arbiter_lock);
	return copy;
}

/* One row for each process that has asked and still scans. */
Datum
pg_stat_get_zedstore_scans(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ScanArbiter *copy = begin_statistics(fcinfo, SCAN_COLUMNS);

	for (int i = 0; i < MAX_SLOTS; i++)
	{
		ZsIoTurn   *slot = &copy->slots[i];
		Datum		values[SCAN_COLUMNS];
		bool		nulls[SCAN_COLUMNS] = {0};
		int			n = 0;

		if (slot->pid == 0)
			continue;
		values[n++] = Int32GetDatum(slot->pid);
		values[n++] = Int32GetDatum(slot->leader);
		values[n++] = CStringGetTextDatum(copy->volumes[slot->volume].name);
		values[n++] = Int64GetDatum((int64) (slot->remaining / BLCKSZ));
		values[n++] = BoolGetDatum(slot->waiting);
		values[n++] = Int64GetDatum((int64) slot->grants);
		values[n++] = Int64GetDatum((int64) slot->waits);
		values[n++] = Float8GetDatum(slot->waited * 1000);
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* One row for each volume where scans were scheduled since the server started. */
Datum
pg_stat_get_zedstore_scan_volumes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ScanArbiter *copy = begin_statistics(fcinfo, SCAN_VOLUME_COLUMNS);

	for (int i = 0; i < ZSIO_MAX_VOLUMES; i++)
	{
		ScanVolume *volume = &copy->volumes[i];
		Datum		values[SCAN_VOLUME_COLUMNS];
		bool		nulls[SCAN_VOLUME_COLUMNS] = {0};
		int			n = 0;

		if (volume->name[0] == '\0')
			continue;
		values[n++] = CStringGetTextDatum(volume->name);
		values[n++] = Float8GetDatum(volume->bucket.rate / (1024 * 1024));
		values[n++] = Int64GetDatum((int64) volume->grants);
		values[n++] = Int64GetDatum((int64) volume->waits);
		values[n++] = Int64GetDatum((int64) volume->overdue);
		values[n++] = Float8GetDatum(volume->wait_seconds * 1000);
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
