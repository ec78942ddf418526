/*-------------------------------------------------------------------------
 *
 * zs_convert.h
 *	  Conversion of a table that is in use to another access method.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_convert.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_CONVERT_H
#define ZS_CONVERT_H

/* convert_slot.c */

/* Asks for the shared memory of conversions.  For _PG_init. */
extern void zsconvert_init(void);

#endif							/* ZS_CONVERT_H */
