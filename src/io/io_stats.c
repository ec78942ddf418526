/*-------------------------------------------------------------------------
 *
 * io_stats.c
 *	  pg_stat_zedstore_io: what the I/O workers did.
 *
 * Counters live in shared memory, written by one worker each and read without
 * locks; they start from zero with the server.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "io_internal.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(pg_stat_get_zedstore_io);
PG_FUNCTION_INFO_V1(pg_stat_get_zedstore_io_clients);

static const char *const role_names[ZSIO_ROLES] = {"checkpoint", "cleaner", "vacuum"};

static Datum
counter(pg_atomic_uint64 *value)
{
	return Int64GetDatum((int64) pg_atomic_read_u64(value));
}

/* Milliseconds. */
static Datum
duration(pg_atomic_uint64 *us)
{
	return Float8GetDatum(pg_atomic_read_u64(us) / 1000.0);
}

static Datum
latency_array(ZsIoWorkerShared *worker)
{
	Datum		values[ZSIO_LATENCY_BUCKETS];

	for (int i = 0; i < ZSIO_LATENCY_BUCKETS; i++)
		values[i] = counter(&worker->latency[i]);
	return PointerGetDatum(construct_array_builtin(values, ZSIO_LATENCY_BUCKETS, INT8OID));
}

/* Does a worker with that number run, or did one? */
static bool
has_run(const ZsIoWorkerShared *worker)
{
	Assert(worker->method >= 0 && worker->method <= ZSIO_METHOD_PWRITEV);
	return worker->method != 0;
}

#define ROLE_COLUMNS	21

/* One row for each role of each worker that runs or ever ran. */
Datum
pg_stat_get_zedstore_io(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	zsbase_require_preload();
	zsbase_srf_init(fcinfo, ROLE_COLUMNS);
	for (int i = 0; i < ZSIO_MAX_WORKERS; i++)
	{
		ZsIoWorkerShared *worker = &zsio_shared->workers[i];
		pid_t		pid;

		SpinLockAcquire(&zsio_shared->mutex);
		pid = worker->pid;
		SpinLockRelease(&zsio_shared->mutex);
		if (!has_run(worker))
			continue;
		for (int role = 0; role < ZSIO_ROLES; role++)
		{
			ZsIoRoleStats *stats = &worker->roles[role];
			bool		in_round = role == ZSIO_ROLE_CHECKPOINT &&
				pg_atomic_read_u32(&worker->round_active) != 0;
			Datum		values[ROLE_COLUMNS];
			bool		nulls[ROLE_COLUMNS] = {0};
			uint32		rate = pg_atomic_read_u32(&worker->rate);
			int			n = 0;

			values[n++] = Int32GetDatum(i + 1);
			nulls[n] = pid == 0;
			values[n++] = Int32GetDatum(pid);
			values[n++] = CStringGetTextDatum(worker->method == ZSIO_METHOD_URING ?
											  "io_uring" : "pwritev");
			values[n++] = CStringGetTextDatum(role_names[role]);
			values[n++] = counter(&stats->rounds);
			values[n++] = counter(&stats->requests);
			values[n++] = counter(&stats->blocks);
			values[n++] = Int64GetDatum((int64) pg_atomic_read_u64(&stats->blocks) * BLCKSZ);
			values[n++] = duration(&stats->write_us);
			values[n++] = duration(&stats->pace_us);
			values[n++] = counter(&stats->skipped);
			values[n++] = counter(&stats->cached);
			values[n++] = counter(&worker->errors);
			values[n++] = counter(&worker->fallbacks);
			values[n++] = counter(&worker->sync_requests_refused);
			values[n++] = Int32GetDatum(pg_atomic_read_u32(&worker->window));
			nulls[n] = rate == 0;
			values[n++] = Int32GetDatum(rate);
			values[n++] = Float8GetDatum(pg_atomic_read_u32(&worker->vacuum_sleep) / 1000.0);
			nulls[n] = !in_round;
			values[n++] = counter(&worker->round_total);
			nulls[n] = !in_round;
			values[n++] = counter(&worker->round_done);
			values[n++] = latency_array(worker);
			Assert(n == lengthof(values));
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
	return (Datum) 0;
}

#define CLIENT_COLUMNS	8

/*
 * What workers have made of looking at clients, in the same rows.  A function of its own, since
 * older versions of the extension call the other one.
 */
Datum
pg_stat_get_zedstore_io_clients(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	zsbase_require_preload();
	zsbase_srf_init(fcinfo, CLIENT_COLUMNS);
	for (int i = 0; i < ZSIO_MAX_WORKERS * ZSIO_ROLES; i++)
	{
		ZsIoWorkerShared *worker = &zsio_shared->workers[i / ZSIO_ROLES];
		ZsIoRole	role = i % ZSIO_ROLES;
		bool		commits = worker == zsio_shared->workers;
		uint64		sync_us = pg_atomic_read_u64(&zsio_shared->wal_sync_us);
		Datum		values[CLIENT_COLUMNS];
		bool		nulls[CLIENT_COLUMNS] = {0};
		int			n = 0;

		if (!has_run(worker))
			continue;
		values[n++] = Int32GetDatum(i / ZSIO_ROLES + 1);
		values[n++] = CStringGetTextDatum(role_names[role]);
		nulls[n] = nulls[n + 1] = nulls[n + 2] = role != ZSIO_ROLE_CLEANER;
		values[n++] = counter(&worker->rests);
		values[n++] = duration(&worker->rest_us);
		values[n++] = BoolGetDatum(pg_atomic_read_u32(&worker->resting) != 0);
		nulls[n] = !commits || sync_us == 0;
		values[n++] = Float8GetDatum(sync_us / 1000.0);
		nulls[n] = nulls[n + 1] = !commits;
		values[n++] = Float8GetDatum(pg_atomic_read_u32(&zsio_shared->commit_delay) / 1000.0);
		values[n++] = counter(&zsio_shared->commits_delayed);
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
