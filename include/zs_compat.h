/*-------------------------------------------------------------------------
 *
 * zs_compat.h
 *	  Differences between the supported PostgreSQL majors.
 *
 * This header and those by matter that it includes (zs_compat_am.h, zs_compat_buffer.h,
 * zs_compat_plan.h, zs_compat_vacuum.h) are the only files of the project that look at
 * PG_VERSION_NUM.  Others use what is defined in them: a function or macro that takes what the
 * newest version takes, or, where that would not do, a macro named after what is different.  A
 * difference that came with version N is asked for by ZS_PG_AT_LEAST(N), so that it holds for those
 * behind N, too.
 *
 * Files that are for some majors only have the major in their name: am_callbacks_17.c,
 * io_buffer_18.c and io_buffer_19.c.
 *
 * Headers that a macro needs are the user's to include.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_H
#define ZS_COMPAT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "access/tupmacs.h"
#include "catalog/pg_attribute.h"

#if PG_VERSION_NUM < 170000 || PG_VERSION_NUM >= 200000
#error "zedstore_io supports PostgreSQL 17, 18 and 19"
#endif

#if SIZEOF_DATUM < 8
#error "zedstore_io needs a 64-bit platform"
#endif

#if BLCKSZ != 8192
#error "zedstore_io needs a server with 8 kB pages"
#endif

#define ZS_PG_AT_LEAST(major)	(PG_VERSION_NUM >= (major) * 10000)

/* 17 takes char pointers */
#if !ZS_PG_AT_LEAST(18)
#include "access/xloginsert.h"
#define XLogRegisterData(data, len) XLogRegisterData((char *) (data), (len))
#define XLogRegisterBufData(id, data, len) \
	XLogRegisterBufData((id), (char *) (data), (len))
#endif

/* an element of what transformRelOptions() takes as namespaces */
#if ZS_PG_AT_LEAST(18)
#define ZS_RELOPT_NAMESPACE	const char *const
#else
#define ZS_RELOPT_NAMESPACE	char *
#endif

/* 17 has one limit of combined requests, and its statistics of the WAL in one struct */
#if ZS_PG_AT_LEAST(18)
#define zs_io_combine_limit()	Min(io_combine_limit, io_max_combine_limit)
#define zs_io_max_combine_limit()	io_max_combine_limit
#define zs_wal_stat(stats, field)	((stats)->wal_counters.field)
#define ZS_WAL_IS_IN_IO_STATS	1	/* writes and syncs of the WAL, in pg_stat_io */
#else
#define zs_io_combine_limit()	io_combine_limit
#define zs_io_max_combine_limit()	io_combine_limit
#define zs_wal_stat(stats, field)	((stats)->field)
#endif

/* in no header of 17 */
#if !ZS_PG_AT_LEAST(18)
extern PGDLLIMPORT bool ignore_checksum_failure;
extern PGDLLIMPORT int CommitDelay;
extern PGDLLIMPORT int CommitSiblings;
#endif

/*
 * A place where tests stop, fail or crash a session; nothing unless the server
 * was built for that.  Not in critical sections.
 *
 * The second kind passes something on that a test may change; 17 has no means for that.
 */
#ifndef USE_INJECTION_POINTS
#define ZS_INJECTION_POINT(name)	((void) 0)
#define ZS_INJECTION_POINT_ARG(name, arg)	((void) (arg))
#else
#include "utils/injection_point.h"
#if ZS_PG_AT_LEAST(18)
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#define ZS_INJECTION_POINT_ARG(name, arg)	INJECTION_POINT(name, arg)
#else
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name)
#define ZS_INJECTION_POINT_ARG(name, arg)	((void) (arg), INJECTION_POINT(name))
#endif
#endif

/* 18 renamed these */
#if !ZS_PG_AT_LEAST(18)
#define ReorderBufferAllocChange	ReorderBufferGetChange
#define ReorderBufferAllocTupleBuf	ReorderBufferGetTupleBuf
#endif

/* Are all rows known to have a value? 18 has constraints that are not valid for old rows. */
#if ZS_PG_AT_LEAST(18)
#define zs_attr_is_not_null(desc, i) \
	(TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define zs_attr_is_not_null(desc, i)	(TupleDescAttr(desc, i)->attnotnull)
#endif

/* Is a column generated when it is read (its attgenerated)?  17 has no such columns. */
static inline bool
zs_is_virtual(char attgenerated)
{
	return attgenerated != '\0' && attgenerated != ATTRIBUTE_GENERATED_STORED;
}

/* Do rows have values of the column? */
#define zs_attr_is_stored(att) \
	(!(att)->attisdropped && !zs_is_virtual((att)->attgenerated))

/* Does this subcommand of ALTER TABLE make partitions?  19 splits and merges them. */
#if ZS_PG_AT_LEAST(19)
#define zs_makes_partitions(subtype) \
	((subtype) == AT_SplitPartition || (subtype) == AT_MergePartitions)
#else
#define zs_makes_partitions(subtype)	((void) (subtype), false)
#endif

/* Goes on with the next case of a switch; 19 wants more than a comment. */
#if ZS_PG_AT_LEAST(19)
#define ZS_FALLTHROUGH	pg_fallthrough
#else
#define ZS_FALLTHROUGH	__attribute__((fallthrough))
#endif

/* goes in front of a declaration */
#if ZS_PG_AT_LEAST(18)
#define ZS_NORETURN pg_noreturn
#else
#define ZS_NORETURN __attribute__((noreturn))
#endif

/*
 * Length, passing and alignment of an attribute: 18 has a copy of these that is quick to walk
 * through.
 */
#if ZS_PG_AT_LEAST(18)
typedef CompactAttribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescCompactAttr(desc, i)
#define ZsShapeAlign(offset, att)	TYPEALIGN((att)->attalignby, offset)
#else
typedef FormData_pg_attribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescAttr(desc, i)
#define ZsShapeAlign(offset, att)	att_align_nominal(offset, (att)->attalign)
#endif

/* 19 wants to hear that a descriptor is complete, and works out then how its tuples are read. */
#if ZS_PG_AT_LEAST(19)
#define zs_tupledesc_finalize(desc)	TupleDescFinalize(desc)
#else
#define zs_tupledesc_finalize(desc)	((void) 0)
#endif

/* Does this collation compare strings as memcmp() does?  InvalidOid does not. */
#if ZS_PG_AT_LEAST(18)
#define zs_collation_is_c(collation) \
	(OidIsValid(collation) && pg_newlocale_from_collation(collation)->collate_is_c)
#else
#define zs_collation_is_c(collation)	lc_collate_is_c(collation)
#endif

/* The same point in time in the session's zone; false: there is none.  19 tells errors apart. */
#if ZS_PG_AT_LEAST(19)
#define ZS_TIMESTAMP_ERROR_CONTEXT(name)	ErrorSaveContext name = {T_ErrorSaveContext}
#define zs_timestamp_to_timestamptz(timestamp, context) \
	timestamp2timestamptz_safe((timestamp), (Node *) (context))
#define zs_timestamp_failed(context)	((context)->error_occurred)
#else
#define ZS_TIMESTAMP_ERROR_CONTEXT(name)	int name = 0
#define zs_timestamp_to_timestamptz(timestamp, context) \
	timestamp2timestamptz_opt_overflow((timestamp), (context))
#define zs_timestamp_failed(context)	(*(context) != 0)
#endif

/* How serial functions of aggregates write sums of integers: as such since 19, else as numerics. */
#if ZS_PG_AT_LEAST(19)
#define ZS_STATES_HAVE_INTEGERS	1
#else
#define ZS_STATES_HAVE_INTEGERS	0
#endif

/* What is logged of this process: 19 has a level for each kind of process. */
#if ZS_PG_AT_LEAST(19)
#define zs_log_min_messages()	log_min_messages[MyBackendType]
#else
#define zs_log_min_messages()	log_min_messages
#endif

/* 18 can leave room in front of a tuple */
#if ZS_PG_AT_LEAST(18)
#define zs_heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple((desc), (values), (isnull), (extra))
#define ZS_COPY_MINIMAL_TUPLE_ARGS	TupleTableSlot *slot, Size extra
#else
#define zs_heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple((desc), (values), (isnull))
#define ZS_COPY_MINIMAL_TUPLE_ARGS	TupleTableSlot *slot
#endif

/* 18 shows name and version of a library */
#if ZS_PG_AT_LEAST(18)
#define ZS_MODULE_MAGIC(library, its_version) \
	PG_MODULE_MAGIC_EXT(.name = library, .version = its_version)
#else
#define ZS_MODULE_MAGIC(library, its_version) PG_MODULE_MAGIC
#endif

/* The path of a permanent relation's first file, copied: 18 returns a struct, 17 memory. */
#if ZS_PG_AT_LEAST(18)
#define zs_copy_relpath(dst, locator, forknum) \
	do { \
		RelPathStr	zs_path = relpathperm((locator), (forknum)); \
		strlcpy((dst), zs_path.str, MAXPGPATH); \
	} while (0)
#else
#define zs_copy_relpath(dst, locator, forknum) \
	do { \
		char	   *zs_path = relpathperm((locator), (forknum)); \
		strlcpy((dst), zs_path, MAXPGPATH); \
		pfree(zs_path); \
	} while (0)
#endif

#include "zs_compat_am.h"
#include "zs_compat_buffer.h"
#include "zs_compat_plan.h"
#include "zs_compat_vacuum.h"

#endif							/* ZS_COMPAT_H */
