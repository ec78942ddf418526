/*-------------------------------------------------------------------------
 *
 * base_assert.c
 *	  How often asserts look at a whole page.
 *
 * Reading all items of a page after each change of one row makes a statement of many rows fifty
 * times as slow as it is without asserts.  A page that a change spoils stays spoiled, so later
 * changes of the same page find it, too.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_assert.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_base.h"

/* Changes of a process that are checked one and all: most tests make fewer. */
#define ALL_CHECKED		1000

/* Of those that come after them, one of so many is. */
#define ONE_CHECKED_OF	16

/*
 * Is an assert that costs far more than the change before it due?  Only called with asserts.
 */
bool
zsbase_check_due(void)
{
	static uint64 nchanges = 0;

	nchanges++;
	return nchanges <= ALL_CHECKED || nchanges % ONE_CHECKED_OF == 0;
}
