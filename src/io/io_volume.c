/*-------------------------------------------------------------------------
 *
 * io_volume.c
 *	  Volumes: which device a tablespace is on, and the limits that hold there.
 *
 * Each process that needs them keeps its own small table; it is made from settings,
 * pg_tablespace and what io_host.c finds.  A volume keeps its number, so that others can keep
 * counters by it.
 *
 * Invariant: each tablespace of the table is on a volume of the table.
 *
 * I/O workers belong to no database and cannot open pg_tablespace as others do;
 * they read its pages, as CREATE DATABASE reads another database's pg_class.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_volume.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/tuplestore.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_tablespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/relmapper.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "io_host.h"
#include "io_internal.h"
#include "io_profile.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(zs_io_volumes);

#define MAX_TABLESPACES		64
#define REFRESH_SECONDS		60

typedef struct Volume
{
	char		key[ZSIO_VOLUME_NAME_LEN + 16]; /* device and profile */
	char		name[ZSIO_VOLUME_NAME_LEN]; /* device, or what stands for it */
	const ZsIoProfile *profile; /* in effect */
	double		gib;			/* 0: unknown */
	ZsIoHostVolume	host;
	ZsIoLimits	limits;
} Volume;

/* What is known of a tablespace. */
typedef struct Tablespace
{
	Oid			oid;
	int			volume;
} Tablespace;

/* Tablespaces that zedstore.io_tablespace_profiles names. */
typedef struct Named
{
	Oid			oid;
	int			profile;
} Named;

/* Settings that the table was made from. */
typedef struct Settings
{
	int			profile;
	uint64		overrides;
	int			max_iops;
	int			max_bandwidth;
	int			request_blocks;
	int			queue_depth;
} Settings;

/* The table of this process. */
typedef struct VolumeTable
{
	Volume		volumes[ZSIO_MAX_VOLUMES];
	int			nvolumes;
	Tablespace	tablespaces[MAX_TABLESPACES];
	int			ntablespaces;
	Named		named[MAX_TABLESPACES];
	int			nnamed;
	TimestampTz refreshed;		/* 0: never */
	Settings	made_from;
} VolumeTable;

static VolumeTable table;

/* ---- names of tablespaces ------------------------------------------------------------ */

/* A tablespace that may be one of those the settings name. */
static void
note_name(Oid oid, const char *name)
{
	for (int i = 0; i < zsio_overrides->n && table.nnamed < MAX_TABLESPACES; i++)
	{
		if (strcmp(zsio_overrides->items[i].name, name) == 0)
		{
			table.named[table.nnamed].oid = oid;
			table.named[table.nnamed++].profile = zsio_overrides->items[i].profile;
			return;
		}
	}
}

/* The usual way, of a process that belongs to a database. */
static void
read_names(void)
{
	Relation	rel = table_open(TableSpaceRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_tablespace form = (Form_pg_tablespace) GETSTRUCT(tuple);

		note_name(form->oid, NameStr(form->spcname));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static void
read_names_of_page(Buffer buf, Snapshot snapshot)
{
	Page		page = BufferGetPage(buf);

	if (PageIsNew(page) || PageIsEmpty(page))
		return;
	for (OffsetNumber off = FirstOffsetNumber; off <= PageGetMaxOffsetNumber(page); off++)
	{
		ItemId		item = PageGetItemId(page, off);
		HeapTupleData tuple;
		Form_pg_tablespace form;

		if (!ItemIdIsNormal(item))
			continue;
		ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buf), off);
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = TableSpaceRelationId;
		if (!HeapTupleSatisfiesVisibility(&tuple, snapshot, buf))
			continue;
		form = (Form_pg_tablespace) GETSTRUCT(&tuple);
		note_name(form->oid, NameStr(form->spcname));
	}
}

/*
 * Without a database.  False when the catalog or a page of it is locked: nobody is waited for,
 * since requests may be in flight.
 */
static bool
read_names_raw(void)
{
	RelFileLocator locator = {.spcOid = GLOBALTABLESPACE_OID};
	SnapshotData snapshot;
	BlockNumber nblocks;
	bool		complete = true;

	if (!ConditionalLockRelationOid(TableSpaceRelationId, AccessShareLock))
		return false;
	locator.relNumber = RelationMapOidToFilenumber(TableSpaceRelationId, true);
	nblocks = smgrnblocks(smgropen(locator, INVALID_PROC_NUMBER), MAIN_FORKNUM);

	/*
	 * Registering it would take memory of a transaction, of which there is none.  The catalog
	 * snapshot holds back what it sees until it is invalidated; who looks at rows wants a count.
	 */
	snapshot = *GetCatalogSnapshot(TableSpaceRelationId);
	snapshot.regd_count = 1;
	for (BlockNumber blkno = 0; blkno < nblocks && complete; blkno++)
	{
		Buffer		buf = ReadBufferWithoutRelcache(locator, MAIN_FORKNUM, blkno, RBM_NORMAL,
													NULL, true);

		complete = zsbase_lock_buffer_if_free(buf);
		if (complete)
		{
			read_names_of_page(buf, &snapshot);
			LockBuffer(buf, BUFFER_LOCK_UNLOCK);
		}
		ReleaseBuffer(buf);
	}
	InvalidateCatalogSnapshot();
	UnlockRelationOid(TableSpaceRelationId, AccessShareLock);
	return complete;
}

/* ---- a volume ------------------------------------------------------------------------ */

static bool
starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* What a device looks like.  Virtual disks are no evidence of what is behind them. */
static int
guess_profile(const ZsIoHostVolume *host)
{
	const char *name = "none";
	int			profile;

	if (host->rotational == 0)
		name = starts_with(host->device, "nvme") ? "nvme" : "ssd";
	else if (host->rotational == 1 && starts_with(host->device, "sd") &&
			 !starts_with(host->model, "QEMU") && strstr(host->model, "irtual") == NULL &&
			 !starts_with(host->model, "PersistentDisk"))
		name = "hdd";
	if (!zsio_profile_find(name, &profile))
		elog(ERROR, "there is no storage profile \"%s\"", name);
	return profile;
}

static double
size_in_gib(const char *path, const ZsIoHostVolume *host)
{
	char		name[MAXPGPATH];
	char		line[64];
	struct statvfs st;

	snprintf(name, sizeof(name), "/sys/block/%s/size", host->device);
	if (host->device[0] != '\0' && zsio_host_line(name, line, sizeof(line)))
		return strtod(line, NULL) * 512 / (1024.0 * 1024 * 1024);
	if (statvfs(path, &st) == 0)
		return (double) st.f_blocks * st.f_frsize / (1024.0 * 1024 * 1024);
	return 0;
}

static double
smaller_limit(double a, uint64 b)
{
	return b == 0 ? a : a == 0 ? b : Min(a, b);
}

static void
set_limits(Volume *volume, bool automatic)
{
	ZsIoLimits *limits = &volume->limits;
	const ZsIoProfile *profile = volume->profile;

	Assert(profile != NULL && volume->gib >= 0);
	memset(limits, 0, sizeof(ZsIoLimits));
	limits->read_iops = limits->write_iops = zsio_rate(&profile->iops, volume->gib);
	limits->read_bytes = limits->write_bytes = zsio_rate(&profile->bandwidth, volume->gib) * 1024;
	limits->counted_bytes = profile->counted_kb * 1024;
	if (automatic)
	{
		ZsIoCgroupLimits group;

		zsio_host_cgroup(&volume->host, &group);
		limits->read_iops = smaller_limit(limits->read_iops, group.read_iops);
		limits->write_iops = smaller_limit(limits->write_iops, group.write_iops);
		limits->read_bytes = smaller_limit(limits->read_bytes, group.read_bytes);
		limits->write_bytes = smaller_limit(limits->write_bytes, group.write_bytes);
	}
	if (zsio_max_iops >= 0)
		limits->read_iops = limits->write_iops = zsio_max_iops;
	if (zsio_max_bandwidth >= 0)
		limits->read_bytes = limits->write_bytes = zsio_max_bandwidth * 1024.0;
	limits->request_blocks = zsio_request_blocks > 0 ? zsio_request_blocks :
		profile->request_kb * 1024 / BLCKSZ;
	limits->queue_depth = zsio_queue_depth > 0 ? zsio_queue_depth : profile->queue_depth;
	Assert(limits->request_blocks > 0 && limits->queue_depth > 0);
	Assert(limits->write_iops >= 0 && limits->write_bytes >= 0);
	Assert(limits->request_blocks <= ZSIO_MAX_RUN_BLOCKS && limits->queue_depth <= ZSIO_MAX_DEPTH);
}

/* The entry for a key; the last one is shared by all that find no room. */
static Volume *
find_volume(const char *key)
{
	Volume	   *volume;

	Assert(key[0] != '\0');
	for (int i = 0; i < table.nvolumes; i++)
	{
		if (strcmp(table.volumes[i].key, key) == 0)
			return &table.volumes[i];
	}
	if (table.nvolumes < ZSIO_MAX_VOLUMES)
		table.nvolumes++;
	volume = &table.volumes[table.nvolumes - 1];
	strlcpy(volume->key, key, sizeof(volume->key));
	return volume;
}

static int
profile_of(Oid tablespace)
{
	for (int i = 0; i < table.nnamed; i++)
	{
		if (table.named[i].oid == tablespace)
			return table.named[i].profile;
	}
	return zsio_profile;
}

static Tablespace *
add_tablespace(Oid oid)
{
	Tablespace *entry;
	int			profile = profile_of(oid);
	Volume	   *volume;
	ZsIoHostVolume	host;
	char		path[MAXPGPATH];
	char		name[ZSIO_VOLUME_NAME_LEN];
	char		key[ZSIO_VOLUME_NAME_LEN + 16];
	struct stat st;

	/* those that find no room share the last entry */
	if (table.ntablespaces < MAX_TABLESPACES)
		table.ntablespaces++;
	entry = &table.tablespaces[table.ntablespaces - 1];

	zsio_host_tablespace_path(oid, path);
	zsio_host_volume(path, &host);
	if (host.device[0] != '\0')
		strlcpy(name, host.device, sizeof(name));
	else if (stat(path, &st) == 0)
		snprintf(name, sizeof(name), "file system " UINT64_FORMAT, (uint64) st.st_dev);
	else
		snprintf(name, sizeof(name), "tablespace %u", oid);
	snprintf(key, sizeof(key), "%s %d", name, profile);
	volume = find_volume(key);
	strlcpy(volume->name, name, sizeof(volume->name));
	volume->host = host;
	volume->gib = size_in_gib(path, &host);
	volume->profile = zsio_profile_tier(profile == ZSIO_PROFILE_AUTO ?
										guess_profile(&host) : profile, volume->gib);
	set_limits(volume, profile == ZSIO_PROFILE_AUTO);
	entry->oid = oid;
	entry->volume = volume - table.volumes;
	Assert(entry->volume >= 0 && entry->volume < table.nvolumes);
	return entry;
}

/* ---- the table -------------------------------------------------------------------------- */

/* Was the table made from other settings than those of now? */
static bool
settings_changed(void)
{
	const Settings *from = &table.made_from;

	return table.refreshed == 0 || from->profile != zsio_profile ||
		from->overrides != zsio_overrides_generation || from->max_iops != zsio_max_iops ||
		from->max_bandwidth != zsio_max_bandwidth ||
		from->request_blocks != zsio_request_blocks || from->queue_depth != zsio_queue_depth;
}

static void
note_settings(void)
{
	Settings   *from = &table.made_from;

	from->profile = zsio_profile;
	from->overrides = zsio_overrides_generation;
	from->max_iops = zsio_max_iops;
	from->max_bandwidth = zsio_max_bandwidth;
	from->request_blocks = zsio_request_blocks;
	from->queue_depth = zsio_queue_depth;
}

/* The server's own, and those that have a link or a directory. */
static void
add_all_tablespaces(void)
{
	DIR		   *dir = AllocateDir("pg_tblspc");
	struct dirent *entry;

	(void) add_tablespace(DEFAULTTABLESPACE_OID);
	(void) add_tablespace(GLOBALTABLESPACE_OID);
	while ((entry = ReadDirExtended(dir, "pg_tblspc", LOG)) != NULL)
	{
		Oid			oid = atooid(entry->d_name);

		if (OidIsValid(oid))
			(void) add_tablespace(oid);
	}
	FreeDir(dir);
}

/* Makes the table anew: see io_profile.h. */
void
zsio_volumes_refresh(void)
{
	Named		old[MAX_TABLESPACES];
	int			nold = table.nnamed;
	bool		same_names = table.made_from.overrides == zsio_overrides_generation;
	bool		complete = true;

	memcpy(old, table.named, sizeof(table.named));
	table.ntablespaces = 0;
	table.nnamed = 0;
	if (zsio_overrides != NULL)
	{
		if (OidIsValid(MyDatabaseId))
			read_names();
		else if (!read_names_raw())
		{
			complete = false;
			if (same_names)
			{
				memcpy(table.named, old, sizeof(table.named));
				table.nnamed = nold;
			}
		}
	}
	add_all_tablespaces();
	note_settings();
	table.refreshed = GetCurrentTimestamp();

	/* else try it again in a second */
	if (!complete)
		table.refreshed -= (REFRESH_SECONDS - 1) * INT64CONST(1000000);
}

/* The same if it is old, or made from other settings. */
void
zsio_volumes_refresh_if_old(void)
{
	if (settings_changed() ||
		TimestampDifferenceExceeds(table.refreshed, GetCurrentTimestamp(),
								   REFRESH_SECONDS * 1000))
		zsio_volumes_refresh();
}

/* The number of the volume that a tablespace is on. */
int
zsio_volume_of(Oid tablespace)
{
	for (int i = 0; i < table.ntablespaces; i++)
	{
		Assert(table.tablespaces[i].volume < table.nvolumes);
		if (table.tablespaces[i].oid == tablespace)
			return table.tablespaces[i].volume;
	}
	return add_tablespace(tablespace)->volume;
}

/* What holds for it. */
const ZsIoLimits *
zsio_volume_limits(int volume)
{
	Assert(volume >= 0 && volume < table.nvolumes);
	return &table.volumes[volume].limits;
}

/* The name of its device. */
const char *
zsio_volume_name(int volume)
{
	Assert(volume >= 0 && volume < table.nvolumes);
	return table.volumes[volume].name;
}

/* The largest of what the volumes want. */
void
zsio_volumes_largest(int *request_blocks, int *queue_depth)
{
	Assert(table.refreshed != 0);
	*request_blocks = *queue_depth = 1;
	for (int i = 0; i < table.ntablespaces; i++)
	{
		const ZsIoLimits *limits = zsio_volume_limits(table.tablespaces[i].volume);

		*request_blocks = Max(*request_blocks, limits->request_blocks);
		*queue_depth = Max(*queue_depth, limits->queue_depth);
	}
}

/* Whether more is known of a volume than that it is there: see io_profile.h. */
bool
zsio_volumes_have_profile(bool *rotational)
{
	bool		found = false;

	Assert(table.refreshed != 0);
	*rotational = false;
	for (int i = 0; i < table.ntablespaces; i++)
	{
		const ZsIoProfile *profile = table.volumes[table.tablespaces[i].volume].profile;

		found = found || strcmp(profile->name, "none") != 0;
		*rotational = *rotational || profile->rotational;
	}
	return found;
}

/* ---- SQL ---------------------------------------------------------------------------------- */

#define VOLUME_COLUMNS	12

static void
put_tablespace(ReturnSetInfo *rsinfo, Form_pg_tablespace form)
{
	const Volume *volume = &table.volumes[zsio_volume_of(form->oid)];
	const ZsIoLimits *limits = &volume->limits;
	Datum		values[VOLUME_COLUMNS];
	bool		nulls[VOLUME_COLUMNS] = {0};
	int			n = 0;

	values[n++] = CStringGetTextDatum(NameStr(form->spcname));
	values[n++] = CStringGetTextDatum(zsio_profile_name(profile_of(form->oid)));
	values[n++] = CStringGetTextDatum(volume->profile->name);
	nulls[n] = volume->host.device[0] == '\0';
	values[n++] = CStringGetTextDatum(volume->host.device);
	values[n] = zsio_limit_datum(volume->gib, &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(limits->read_iops, &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(limits->write_iops, &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(limits->read_bytes / (1024 * 1024), &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(limits->write_bytes / (1024 * 1024), &nulls[n]);
	n++;
	nulls[n] = limits->counted_bytes == 0;
	values[n++] = Int32GetDatum(limits->counted_bytes / 1024);
	values[n++] = Int32GetDatum(limits->request_blocks * (BLCKSZ / 1024));
	values[n++] = Int32GetDatum(limits->queue_depth);
	Assert(n == lengthof(values));
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/* What holds for each tablespace now. */
Datum
zs_io_volumes(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	zsbase_srf_init(fcinfo, VOLUME_COLUMNS);
	zsio_volumes_refresh();
	rel = table_open(TableSpaceRelationId, AccessShareLock);
	scan = systable_beginscan(rel, TablespaceOidIndexId, true, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		put_tablespace(rsinfo, (Form_pg_tablespace) GETSTRUCT(tuple));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return (Datum) 0;
}
