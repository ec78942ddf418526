/*-------------------------------------------------------------------------
 *
 * base_inval.c
 *	  The library's one callback for invalidations of the relation cache.
 *
 * A process has ten slots for such callbacks (inval.c), for core's own caches, of which a session
 * uses two to four and an apply worker more, and for all libraries together.  Whoever asks for an
 * eleventh one ends the process.  So there is one callback for the whole library, registered by the
 * postmaster and inherited by every process, and behind it a list of the modules' functions.
 *
 * scripts/check-layers refuses further registrations.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_inval.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"

#include "zs_base.h"

/* one for each cache that follows relations: heads, fetches, options, cursors, and some to come */
#define MAX_LISTENERS	8

static ZsRelcacheListener listeners[MAX_LISTENERS];
static int	nlisteners = 0;

static void
relcache_callback(Datum arg, Oid relid)
{
	for (int i = 0; i < nlisteners; i++)
		listeners[i] (relid);
}

/*
 * Has the listener called from now on in this process and its children.  Naming it again changes
 * nothing.  Libraries must not register callbacks of their own with core, see base_inval.c.
 */
void
zsbase_listen_relcache(ZsRelcacheListener listener)
{
	Assert(listener != NULL);

	for (int i = 0; i < nlisteners; i++)
	{
		if (listeners[i] == listener)
			return;
	}
	Assert(nlisteners < MAX_LISTENERS);
	listeners[nlisteners++] = listener;
}

/*
 * Takes the slot.  To be called in _PG_init of the postmaster.
 */
void
zsbase_inval_init(void)
{
	CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
}
