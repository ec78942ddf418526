/*-------------------------------------------------------------------------
 *
 * io_report.h
 *	  Rows of zs_io_report().
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_report.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_REPORT_H
#define IO_REPORT_H

#include "postgres.h"

#include "nodes/execnodes.h"

#define UNKNOWN		"unknown"

/* ---- io_report_settings.c ------------------------------------------------------------------ */

#define REPORT_COLUMNS	5

/* One row; object and advice may be NULL. */
extern void zsio_report_put(ReturnSetInfo *rsinfo, const char *item, const char *object,
							const char *setting, const char *advice, const char *reason);

/* never_torn: no crash can leave a page half written in any tablespace. */
extern void zsio_report_settings(ReturnSetInfo *rsinfo, bool never_torn);
extern void zsio_report_wal(ReturnSetInfo *rsinfo);

#endif							/* IO_REPORT_H */
