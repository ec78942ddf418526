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

/* Steps of core's hooks (src/hooks.c). */

/* ---- convert_slot.c ---- */
extern void zsconvert_request_shmem(void);
extern void zsconvert_startup_shmem(void);

#endif							/* ZS_CONVERT_H */
