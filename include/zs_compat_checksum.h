/*-------------------------------------------------------------------------
 *
 * zs_compat_checksum.h
 *	  Differences between the supported PostgreSQL majors: data checksums.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_checksum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_CHECKSUM_H
#define ZS_COMPAT_CHECKSUM_H

#include "postgres.h"

#include "miscadmin.h"

#include "zs_compat.h"

/* Does this process give checksums to the blocks of all files?  19 can do that while it runs. */
#if ZS_PG_AT_LEAST(19)
#define zs_computes_checksums()	(MyBackendType == B_DATACHECKSUMSWORKER_WORKER)
#else
#define zs_computes_checksums()	false
#endif

#endif							/* ZS_COMPAT_CHECKSUM_H */
