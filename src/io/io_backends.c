/*-------------------------------------------------------------------------
 *
 * io_backends.c
 *	  What other processes show of what they do.
 *
 * This file alone knows the array of backend status entries.  Core exports a copy of it
 * only, made of all entries with their texts: too much to look at every few
 * milliseconds.  But each process has a pointer to its own entry, whose place in the array is
 * its proc number.  Entries are read as core does: changed ones again, by their change count.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_backends.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/wait_event.h"

#include "io_worker.h"

/* How often an entry that changes all the time is read again. */
#define MAX_TRIES	10

static BlockNumber
block_param(int64 value)
{
	return (BlockNumber) Min(Max(value, 0), MaxBlockNumber);
}

/* False if the entry shows no VACUUM. */
static bool
read_vacuum(volatile PgBackendStatus *entry, ZsIoVacuum *vacuum)
{
	for (int i = 0; i < MAX_TRIES; i++)
	{
		int			before;
		int			after;
		int64		phase;
		int64		scanned;
		int64		vacuumed;
		bool		is_vacuum;

		pgstat_begin_read_activity(entry, before);
		is_vacuum = entry->st_procpid > 0 &&
			entry->st_progress_command == PROGRESS_COMMAND_VACUUM;
		vacuum->pid = entry->st_procpid;
		vacuum->database = entry->st_databaseid;
		vacuum->relid = entry->st_progress_command_target;
		phase = entry->st_progress_param[PROGRESS_VACUUM_PHASE];
		scanned = entry->st_progress_param[PROGRESS_VACUUM_HEAP_BLKS_SCANNED];
		vacuumed = entry->st_progress_param[PROGRESS_VACUUM_HEAP_BLKS_VACUUMED];
		pgstat_end_read_activity(entry, after);
		if (!pgstat_read_activity_complete(before, after))
			continue;
		vacuum->scanned = block_param(scanned);
		vacuum->vacuumed = block_param(vacuumed);
		vacuum->in_indexes = phase == PROGRESS_VACUUM_PHASE_VACUUM_INDEX ||
			phase == PROGRESS_VACUUM_PHASE_INDEX_CLEANUP;
		return is_vacuum;
	}
	return false;
}

/* Those that go on now, at most max. */
int
zsio_list_vacuums(ZsIoVacuum *vacuums, int max)
{
	volatile PgBackendStatus *entries = MyBEEntry - MyProcNumber;
	int			n = 0;

	Assert(MyBEEntry != NULL && max > 0);
	for (int i = 0; i < MaxBackends && n < max; i++)
	{
		/* a look without care first */
		if (entries[i].st_progress_command == PROGRESS_COMMAND_VACUUM &&
			read_vacuum(&entries[i], &vacuums[n]))
			n++;
	}
	Assert(n <= max);
	return n;
}

/* Does the client of that wait event wait for the device? */
static bool
waits_for_wal(uint32 event)
{
	return event == WAIT_EVENT_WAL_SYNC || event == WAIT_EVENT_WAL_WRITE ||
		event == (PG_WAIT_LWLOCK | WALWriteLock->tranche);
}

static bool
waits_for_read(uint32 event)
{
	return event == WAIT_EVENT_DATA_FILE_READ || ZS_WAITS_FOR_STARTED_READ(event);
}

static bool
waits_for_write(uint32 event)
{
	return event == WAIT_EVENT_DATA_FILE_WRITE || event == WAIT_EVENT_DATA_FILE_FLUSH;
}

/* Does the process of that wait event make WAL durable?  Some methods do it by writing. */
static bool
syncs_wal(uint32 event)
{
	if (wal_sync_method == WAL_SYNC_METHOD_OPEN || wal_sync_method == WAL_SYNC_METHOD_OPEN_DSYNC)
		return event == WAIT_EVENT_WAL_WRITE;
	return event == WAIT_EVENT_WAL_SYNC;
}

static uint32
wait_event_of(int procno)
{
	return *(volatile uint32 *) &GetPGProcByNumber(procno)->wait_event_info;
}

/* One look at all clients: see io_worker.h. */
void
zsio_look_at_clients(TimestampTz *waited, TimestampTz now, ZsIoClients *clients)
{
	volatile PgBackendStatus *entries = MyBEEntry - MyProcNumber;

	Assert(MyBEEntry != NULL && waited != NULL);
	memset(clients, 0, sizeof(ZsIoClients));
	for (int i = 0; i < MaxBackends; i++)
	{
		uint32		event;
		bool		wal;
		bool		read;

		if (entries[i].st_procpid <= 0)
		{
			waited[i] = 0;
			continue;
		}
		event = wait_event_of(i);
		clients->syncing |= syncs_wal(event);

		/* that is background work, whoever does it */
		if (zsio_is_maintenance(entries[i].st_progress_command))
		{
			clients->nvacuums++;
			continue;
		}
		if (entries[i].st_backendType != B_BACKEND)
		{
			waited[i] = 0;
			continue;
		}
		wal = waits_for_wal(event);
		read = waits_for_read(event);
		if (wal || read)
			waited[i] = now;
		Assert(!(wal && read));
		clients->nwal += wal;
		clients->nreads += read;
		clients->nwrites += waits_for_write(event);
		if (now - waited[i] < ZSIO_ACTIVE_US &&
			event != WAIT_EVENT_CHECKPOINT_START && event != WAIT_EVENT_CHECKPOINT_DONE)
			clients->active = true;
	}

	/* the WAL writer and others, which come behind backends */
	for (int i = MaxBackends; i < MaxBackends + NUM_AUXILIARY_PROCS; i++)
		clients->syncing |= syncs_wal(wait_event_of(i));
}
