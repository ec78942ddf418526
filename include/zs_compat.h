/*-------------------------------------------------------------------------
 *
 * zs_compat.h
 *	  Differences between the supported PostgreSQL majors.
 *
 * The only file of the project that looks at PG_VERSION_NUM.
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

#if PG_VERSION_NUM < 170000 || PG_VERSION_NUM >= 190000
#error "zedstore_io supports PostgreSQL 17 and 18"
#endif

#if SIZEOF_DATUM < 8
#error "zedstore_io needs a 64-bit platform"
#endif

#if BLCKSZ != 8192
#error "zedstore_io needs a server with 8 kB pages"
#endif

#if PG_VERSION_NUM >= 180000
#define ZS_PG18 1
#endif

/* 17 takes char pointers */
#ifndef ZS_PG18
#include "access/xloginsert.h"
#define XLogRegisterData(data, len) XLogRegisterData((char *) (data), (len))
#define XLogRegisterBufData(id, data, len) \
	XLogRegisterBufData((id), (char *) (data), (len))
#endif

/* in no header of 17 */
#ifndef ZS_PG18
extern PGDLLIMPORT bool ignore_checksum_failure;
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
#ifdef ZS_PG18
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name, NULL)
#define ZS_INJECTION_POINT_ARG(name, arg)	INJECTION_POINT(name, arg)
#else
#define ZS_INJECTION_POINT(name)	INJECTION_POINT(name)
#define ZS_INJECTION_POINT_ARG(name, arg)	((void) (arg), INJECTION_POINT(name))
#endif
#endif

/* 18 renamed these */
#ifndef ZS_PG18
#define ReorderBufferAllocChange	ReorderBufferGetChange
#define ReorderBufferAllocTupleBuf	ReorderBufferGetTupleBuf
#endif

/* Are all rows known to have a value? 18 has constraints that are not valid for old rows. */
#ifdef ZS_PG18
#define zs_attr_is_not_null(desc, i) \
	(TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define zs_attr_is_not_null(desc, i)	(TupleDescAttr(desc, i)->attnotnull)
#endif

/* 18 counts bytes, too */
#ifdef ZS_PG18
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT, 1, 0)
#else
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT)
#endif

/* goes in front of a declaration */
#ifdef ZS_PG18
#define ZS_NORETURN pg_noreturn
#else
#define ZS_NORETURN __attribute__((noreturn))
#endif

/*
 * Keeps a bitmap heap scan from prefetching on its own.  PostgreSQL 17 does it
 * in the executor node, by the block numbers of TIDs; from 18 on it is up to
 * the access method.
 */
#ifdef ZS_PG18
#define zs_bitmap_scan_disable_prefetch(node)	((void) (node))
#else
#define zs_bitmap_scan_disable_prefetch(node)	((void) ((node)->prefetch_maximum = 0))
#endif

/* 18 can log locks that could not be had at once */
#ifdef ZS_PG18
#define zs_log_lock_failures	log_lock_failures
#define ZsConditionalXactLockTableWait(xid, log) ConditionalXactLockTableWait((xid), (log))
#define ZsConditionalLockTuple(rel, tid, mode, log) \
	ConditionalLockTuple((rel), (tid), (mode), (log))
#else
#define zs_log_lock_failures	false
#define ZsConditionalXactLockTableWait(xid, log) \
	((void) (log), ConditionalXactLockTableWait(xid))
#define ZsConditionalLockTuple(rel, tid, mode, log) \
	((void) (log), ConditionalLockTuple((rel), (tid), (mode)))
#endif

/* 18 submits the requests of a stream together if its callback takes no locks */
#ifdef ZS_PG18
#define ZS_READ_STREAM_USE_BATCHING READ_STREAM_USE_BATCHING
#else
#define ZS_READ_STREAM_USE_BATCHING 0
#endif

/* 18 wants to know how long the forks were */
#ifdef ZS_PG18
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate(reln, forks, nforks, old_blocks, blocks)
#else
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate2(reln, forks, nforks, old_blocks, blocks)
#endif

/* VACUUM: 18 counts all-frozen pages, measures delays and takes a start time */
#ifdef ZS_PG18
#define vacuum_delay_point_compat() vacuum_delay_point(false)
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi) \
	vac_update_relstats(rel, pages, tuples, visible, frozen, hasindex, xid, multi, \
						NULL, NULL, false)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead, starttime)
#else
#define vacuum_delay_point_compat() vacuum_delay_point()
#define vac_update_relstats_compat(rel, pages, tuples, visible, frozen, hasindex, xid, multi) \
	vac_update_relstats(rel, pages, tuples, visible, hasindex, xid, multi, NULL, NULL, false)
#define pgstat_report_vacuum_compat(rel, live, dead, starttime) \
	pgstat_report_vacuum(RelationGetRelid(rel), (rel)->rd_rel->relisshared, live, dead)
#endif

/*
 * Length, passing and alignment of an attribute: 18 has a copy of these that is quick to walk
 * through.
 */
#ifdef ZS_PG18
typedef CompactAttribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescCompactAttr(desc, i)
#define ZsShapeAlign(offset, att)	TYPEALIGN((att)->attalignby, offset)
#else
typedef FormData_pg_attribute ZsAttrShape;

#define ZsTupleDescShape(desc, i)	TupleDescAttr(desc, i)
#define ZsShapeAlign(offset, att)	att_align_nominal(offset, (att)->attalign)
#endif

/* The ordering operator of a pathkey for a type; needs optimizer and lsyscache headers. */
#ifdef ZS_PG18
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member_for_cmptype((pk)->pk_opfamily, type, type, (pk)->pk_cmptype)
#else
#define zs_pathkey_operator(pk, type) \
	get_opfamily_member((pk)->pk_opfamily, type, type, (pk)->pk_strategy)
#endif

#endif							/* ZS_COMPAT_H */
