/*-------------------------------------------------------------------------
 *
 * take_slots.c
 *	  For t/beside_callback_slots.pl, which builds it: a library that takes many of the slots
 *	  that a process has for callbacks of the relation cache.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * t/lib/take_slots.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"
#include "utils/inval.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

static int	count = 0;

static void
do_nothing(Datum arg, Oid relid)
{
}

void
_PG_init(void)
{
	DefineCustomIntVariable("take_slots.count", "How many slots to take.", NULL, &count,
							0, 0, 10, PGC_POSTMASTER, 0, NULL, NULL, NULL);
	for (int i = 0; i < count; i++)
		CacheRegisterRelcacheCallback(do_nothing, (Datum) 0);
}
