/*-------------------------------------------------------------------------
 *
 * io_guc.c
 *	  Settings of the I/O workers: zedstore.io_*.
 *
 * A new setting is a variable, its declaration in io_internal.h, and a row of one of the tables;
 * docs/io.md lists them.  Those of storage profiles, whose values are checked, are in io_profile.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_guc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "io_internal.h"
#include "io_profile.h"

int			zsio_workers = 0;
int			zsio_method = ZSIO_METHOD_AUTO;
int			zsio_request_blocks = -1;
int			zsio_queue_depth = -1;
int			zsio_max_iops = -1;
int			zsio_max_bandwidth = -1;
bool		zsio_direct = true;
bool		zsio_keep_cached = true;
bool		zsio_own_writes = true;
int			zsio_write_back_delay = 30000;
bool		zsio_checkpoint = true;
bool		zsio_scan_scheduling = false;
bool		zsio_cleaner = true;
bool		zsio_vacuum = true;
bool		zsio_guard = true;
bool		zsio_rest = true;
int			zsio_nice = 5;
bool		zsio_throttle = true;
bool		zsio_group_commit = true;
int			zsio_priority = ZSIO_PRIORITY_NONE;
int			zsio_write_hint = 0;

static const struct config_enum_entry methods[] = {
	{"auto", ZSIO_METHOD_AUTO, false},
	{"io_uring", ZSIO_METHOD_URING, false},
	{"pwritev", ZSIO_METHOD_PWRITEV, false},
	{NULL, 0, false}
};

static const struct config_enum_entry priorities[] = {
	{"none", ZSIO_PRIORITY_NONE, false},
	{"low", ZSIO_PRIORITY_LOW, false},
	{"idle", ZSIO_PRIORITY_IDLE, false},
	{NULL, 0, false}
};

/* the values of RWH_WRITE_LIFE_* */
static const struct config_enum_entry write_hints[] = {
	{"none", 0, false},
	{"short", 2, false},
	{"medium", 3, false},
	{"long", 4, false},
	{"extreme", 5, false},
	{NULL, 0, false}
};

/* What all settings have; more is NULL if there is nothing to add. */
typedef struct Setting
{
	const char *name;
	const char *what;
	const char *more;
} Setting;

typedef struct BoolSetting
{
	Setting		setting;
	bool	   *variable;
	bool		boot_value;
	GucContext	context;
} BoolSetting;

typedef struct IntSetting
{
	Setting		setting;
	int		   *variable;
	int			boot_value;
	int			min;
	int			max;
	int			flags;
} IntSetting;

typedef struct EnumSetting
{
	Setting		setting;
	int		   *variable;
	int			boot_value;
	const struct config_enum_entry *options;
} EnumSetting;

#define FOR_EACH_DEVICE \
	"It holds for each device.  0 means no limit, -1 takes the limit from the storage profile."

static const BoolSetting bools[] = {
	{{"zedstore.io_direct", "Writes around the page cache.",
			"Where the file system refuses that, files are written through it."},
	&zsio_direct, true, PGC_SIGHUP},
	{{"zedstore.io_keep_cached", "Writes blocks through the page cache that it holds.",
			"A direct write would drop them, and who needs them next would have to read them from "
			"the device."},
	&zsio_keep_cached, true, PGC_SIGHUP},
	{{"zedstore.io_own_writes", "Lets an I/O worker write to the page cache itself.",
			"Only to fast devices without limits.  Else threads of the worker do that."},
	&zsio_own_writes, true, PGC_SIGHUP},
	{{"zedstore.io_checkpoint", "Lets the I/O workers write for checkpoints.", NULL},
	&zsio_checkpoint, true, PGC_SIGHUP},
	{{"zedstore.scan_scheduling", "Lets large sequential scans read one after the other.",
			"Only on devices whose storage profile has a limit: the scan with the least left to "
			"read goes first."},
	&zsio_scan_scheduling, false, PGC_SUSET},
	{{"zedstore.io_cleaner", "Lets the I/O workers clean buffers before backends need them.", NULL},
	&zsio_cleaner, true, PGC_SIGHUP},
	{{"zedstore.io_vacuum", "Lets the I/O workers write what VACUUM and bulk writers leave dirty.",
			NULL},
	&zsio_vacuum, true, PGC_SIGHUP},
	{{"zedstore.io_guard", "Lets the I/O workers slow down when clients wait for I/O.", NULL},
	&zsio_guard, true, PGC_SIGHUP},
	{{"zedstore.io_rest", "Lets the I/O workers leave cleaning alone while clients hardly wait.",
			"Clients then write to the page cache what they evict, as without workers."},
	&zsio_rest, true, PGC_SIGHUP},
	{{"zedstore.io_vacuum_throttle",
			"Lets the I/O workers slow VACUUM down when clients wait for I/O.",
			"Also when they cannot write behind it as fast as it goes."},
	&zsio_throttle, true, PGC_SIGHUP},
	{{"zedstore.io_group_commit",
			"Lets commits wait for each other where a sync of the WAL is slow.",
			"As if commit_delay were set, unless it is."},
	&zsio_group_commit, true, PGC_SIGHUP},
};

static const IntSetting ints[] = {
	{{"zedstore.io_workers",
			"Sets the number of processes that write dirty buffers for the checkpointer, backends "
			"and VACUUM.",
			"0 leaves all writing to the server's own processes."},
	&zsio_workers, 0, 0, ZSIO_MAX_WORKERS, 0},
	{{"zedstore.io_request_size",
			"Sets how much the I/O workers write with one request at most.",
			"-1 takes the size from the storage profile."},
	&zsio_request_blocks, -1, -1, ZSIO_MAX_RUN_BLOCKS, GUC_UNIT_BLOCKS},
	{{"zedstore.io_queue_depth", "Sets how many requests an I/O worker keeps in flight.",
			"-1 takes the number from the storage profile."},
	&zsio_queue_depth, -1, -1, ZSIO_MAX_DEPTH, 0},
	{{"zedstore.io_max_iops", "Limits the requests per second of all I/O workers together.",
	FOR_EACH_DEVICE},
	&zsio_max_iops, -1, -1, INT_MAX, 0},
	{{"zedstore.io_max_bandwidth", "Limits what all I/O workers together write per second.",
	FOR_EACH_DEVICE},
	&zsio_max_bandwidth, -1, -1, INT_MAX, GUC_UNIT_KB},
	{{"zedstore.io_write_back_delay",
			"Sets how long cleaned blocks stay in the page cache until they are written out.",
			"Only those that it held before.  0 has them written at once."},
	&zsio_write_back_delay, 30000, 0, 600000, GUC_UNIT_MS},
	{{"zedstore.io_nice", "Lowers the processor priority of the I/O workers' threads by so much.",
			"0 leaves it as it is."},
	&zsio_nice, 5, 0, 19, 0},
};

static const EnumSetting enums[] = {
	{{"zedstore.io_method", "Selects how the I/O workers write.",
			"\"auto\" takes io_uring where the system has it."},
	&zsio_method, ZSIO_METHOD_AUTO, methods},
	{{"zedstore.io_priority", "Sets the I/O priority of the I/O workers' requests.",
			"Only some I/O schedulers of the system heed it."},
	&zsio_priority, ZSIO_PRIORITY_NONE, priorities},
	{{"zedstore.io_write_hint",
			"Tells devices how long what the I/O workers write is going to live.", NULL},
	&zsio_write_hint, 0, write_hints},
};

/* Defines all settings of src/io: in _PG_init, before the prefix is reserved. */
void
zsio_guc_init(void)
{
	for (int i = 0; i < lengthof(bools); i++)
	{
		const BoolSetting *it = &bools[i];

		Assert(*it->variable == it->boot_value);
		DefineCustomBoolVariable(it->setting.name, it->setting.what, it->setting.more,
								 it->variable, it->boot_value, it->context, 0, NULL, NULL, NULL);
	}
	for (int i = 0; i < lengthof(ints); i++)
	{
		const IntSetting *it = &ints[i];

		Assert(*it->variable == it->boot_value);
		DefineCustomIntVariable(it->setting.name, it->setting.what, it->setting.more,
								it->variable, it->boot_value, it->min, it->max,
								PGC_SIGHUP, it->flags, NULL, NULL, NULL);
	}
	for (int i = 0; i < lengthof(enums); i++)
	{
		const EnumSetting *it = &enums[i];

		Assert(*it->variable == it->boot_value);
		DefineCustomEnumVariable(it->setting.name, it->setting.what, it->setting.more,
								 it->variable, it->boot_value, it->options,
								 PGC_SIGHUP, 0, NULL, NULL, NULL);
	}
	zsio_profile_guc_init();
}
