/*-------------------------------------------------------------------------
 *
 * base_copy.c
 *	  Copies of values.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_copy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_base.h"

/*
 * memcpy(), as a call.  Where a compiler knows that a length is below some thousand it may take
 * string instructions instead, which take longer to begin than most values to copy.
 */
void
zsbase_copy_long(void *to, const void *from, Size len)
{
	memcpy(to, from, len);
}
