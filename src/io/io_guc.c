/*-------------------------------------------------------------------------
 *
 * io_guc.c
 *	  Settings of the I/O workers: zedstore.io_*.
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
bool		zsio_checkpoint = true;
bool		zsio_scan_scheduling = false;
bool		zsio_cleaner = true;
bool		zsio_vacuum = true;
bool		zsio_guard = true;
bool		zsio_throttle = true;
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

void
zsio_guc_init(void)
{
	DefineCustomIntVariable("zedstore.io_workers",
							"Sets the number of processes that write dirty buffers for the checkpointer, backends and VACUUM.",
							"0 leaves all writing to the server's own processes.",
							&zsio_workers,
							0, 0, ZSIO_MAX_WORKERS,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("zedstore.io_method",
							 "Selects how the I/O workers write.",
							 "\"auto\" takes io_uring where the system has it.",
							 &zsio_method,
							 ZSIO_METHOD_AUTO, methods,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("zedstore.io_request_size",
							"Sets how much the I/O workers write with one request at most.",
							"-1 takes the size from the storage profile.",
							&zsio_request_blocks,
							-1, -1, ZSIO_MAX_RUN_BLOCKS,
							PGC_SIGHUP, GUC_UNIT_BLOCKS, NULL, NULL, NULL);
	DefineCustomIntVariable("zedstore.io_queue_depth",
							"Sets how many requests an I/O worker keeps in flight.",
							"-1 takes the number from the storage profile.",
							&zsio_queue_depth,
							-1, -1, ZSIO_MAX_DEPTH,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("zedstore.io_max_iops",
							"Limits the requests per second of all I/O workers together.",
							"It holds for each device.  0 means no limit, -1 takes the limit from the "
							"storage profile.",
							&zsio_max_iops,
							-1, -1, INT_MAX,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("zedstore.io_max_bandwidth",
							"Limits what all I/O workers together write per second.",
							"It holds for each device.  0 means no limit, -1 takes the limit from the "
							"storage profile.",
							&zsio_max_bandwidth,
							-1, -1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_direct",
							 "Writes around the page cache.",
							 "Where the file system refuses that, files are written through it.",
							 &zsio_direct,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_keep_cached",
							 "Writes blocks through the page cache that it holds.",
							 "A direct write would drop them, and who needs them next would have to "
							 "read them from the device.",
							 &zsio_keep_cached,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_checkpoint",
							 "Lets the I/O workers write for checkpoints.",
							 NULL,
							 &zsio_checkpoint,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.scan_scheduling",
							 "Lets large scans of zedstore tables read one after the other.",
							 "Only on devices whose storage profile has a limit: the scan with the "
							 "least left to read goes first.",
							 &zsio_scan_scheduling,
							 false,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_cleaner",
							 "Lets the I/O workers clean buffers before backends need them.",
							 NULL,
							 &zsio_cleaner,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_vacuum",
							 "Lets the I/O workers write what VACUUM and bulk writers leave dirty.",
							 NULL,
							 &zsio_vacuum,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_guard",
							 "Lets the I/O workers slow down when clients wait for I/O.",
							 NULL,
							 &zsio_guard,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("zedstore.io_vacuum_throttle",
							 "Lets the I/O workers slow VACUUM down when clients wait for I/O.",
							 "Also when they cannot write behind it as fast as it goes.",
							 &zsio_throttle,
							 true,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("zedstore.io_priority",
							 "Sets the I/O priority of the I/O workers' requests.",
							 "Only some I/O schedulers of the system heed it.",
							 &zsio_priority,
							 ZSIO_PRIORITY_NONE, priorities,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("zedstore.io_write_hint",
							 "Tells devices how long what the I/O workers write is going to live.",
							 NULL,
							 &zsio_write_hint,
							 0, write_hints,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	zsio_profile_guc_init();
}
