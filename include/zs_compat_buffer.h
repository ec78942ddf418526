/*-------------------------------------------------------------------------
 *
 * zs_compat_buffer.h
 *	  Differences between the supported PostgreSQL majors: buffers and I/O.
 *
 * Headers and locks of buffers, counts of I/O, read streams, files.  Included by zs_compat.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_compat_buffer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_COMPAT_BUFFER_H
#define ZS_COMPAT_BUFFER_H

#include "postgres.h"

#include "zs_compat.h"

/* Is the contents' lock held exclusively?  Local buffers have none: then yes. */
#if ZS_PG_AT_LEAST(19)
#define zs_buffer_is_exclusive(buf)	BufferIsLockedByMeInMode((buf), BUFFER_LOCK_EXCLUSIVE)
#else
#define zs_buffer_is_exclusive(buf)	(BufferIsLocal(buf) || BufferIsExclusiveLocked(buf))
#endif

/*
 * The state of a shared buffer's header: 19 keeps the lock of the contents in it, too, and has no
 * BM_JUST_DIRTIED.
 */
#if ZS_PG_AT_LEAST(19)
#define ZS_BUFFER_STATE_HAS_LOCK	1
typedef uint64 ZsBufferState;

#define zs_buffer_state(hdr)	pg_atomic_read_u64(&(hdr)->state)
#define zs_unlock_buffer_header(hdr, state)	((void) (state), UnlockBufHdr(hdr))
#else
#define ZS_BUFFER_STATE_HAS_LOCK	0
typedef uint32 ZsBufferState;

#define zs_buffer_state(hdr)	pg_atomic_read_u32(&(hdr)->state)
#define zs_unlock_buffer_header(hdr, state)	UnlockBufHdr((hdr), (state))
#endif

/*
 * What read streams count for EXPLAIN (IO), which came with 19: streams that have the same counts
 * add up in them.  Before, nothing is counted.
 */
#if ZS_PG_AT_LEAST(19)
#include "executor/instrument_node.h"
#include "storage/read_stream.h"

#define ZS_STREAMS_COUNT_IO	1
typedef IOStats ZsIoCounts;

#define zs_io_counts_add(sum, counts)	AccumulateIOStats((sum), (IOStats *) (counts))

/* Has the stream count from now on; counts may be NULL. */
static inline void
zs_stream_count_io(ReadStream *stream, ZsIoCounts *counts)
{
	int16		capacity;

	if (counts == NULL)
		return;
	capacity = counts->distance_capacity;
	read_stream_enable_stats(stream, counts);
	counts->distance_capacity = Max(counts->distance_capacity, capacity);
}
#else
#define ZS_STREAMS_COUNT_IO	0
typedef struct ZsIoCounts
{
	uint64		unused;
} ZsIoCounts;

#define zs_io_counts_add(sum, counts)	((void) (sum), (void) (counts))
#define zs_stream_count_io(stream, counts)	((void) (stream), (void) (counts))
#endif

/* StartBufferIO() and TerminateBufferIO() are there for others from 18 on. */
#if ZS_PG_AT_LEAST(18)
#define ZS_BUFFER_IO_IS_EXTERN	1
#else
#define ZS_BUFFER_IO_IS_EXTERN	0
#endif

/* Locks the contents of a shared buffer, shared or, in 19, in a way that others read; if free. */
#if ZS_PG_AT_LEAST(19)
#define zs_lock_buffer_if_free(buf)	ConditionalLockBuffer(buf)
#else
#define zs_lock_buffer_if_free(buf) \
	LWLockConditionalAcquire(BufferDescriptorGetContentLock(GetBufferDescriptor((buf) - 1)), \
							 LW_SHARED)
#endif

/*
 * Around the setting of hint bits in a page that is locked shared: 19 asks for a lock that keeps
 * others from setting some or writing the page, and may refuse it.
 */
#if ZS_PG_AT_LEAST(19)
#define zs_begin_hint_bits(buf)	BufferBeginSetHintBits(buf)
#define zs_end_hint_bits(buf)	BufferFinishSetHintBits((buf), true, true)
#else
#define zs_begin_hint_bits(buf)	true
#define zs_end_hint_bits(buf)	MarkBufferDirtyHint((buf), true)
#endif

/* 18 counts bytes, too */
#if ZS_PG_AT_LEAST(18)
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT, 1, 0)
#define zs_count_io_extend(object, nblocks) \
	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_EXTEND, 1, (uint64) (nblocks) * BLCKSZ)
#else
#define zs_count_io_hit(object)	pgstat_count_io_op((object), IOCONTEXT_NORMAL, IOOP_HIT)
#define zs_count_io_extend(object, nblocks) \
	pgstat_count_io_op_n((object), IOCONTEXT_NORMAL, IOOP_EXTEND, (nblocks))
#endif

/* Counts one write of adjacent blocks of a relation: 18 counts requests and bytes, 17 blocks. */
#if ZS_PG_AT_LEAST(18)
#define zs_count_io_write(nblocks) \
	pgstat_count_io_op(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, 1, \
					   (uint64) (nblocks) * BLCKSZ)
#else
#define zs_count_io_write(nblocks) \
	pgstat_count_io_op_n(IOOBJECT_RELATION, IOCONTEXT_NORMAL, IOOP_WRITE, (nblocks))
#endif

/* 18 submits the requests of a stream together if its callback takes no locks */
#if ZS_PG_AT_LEAST(18)
#define ZS_READ_STREAM_USE_BATCHING READ_STREAM_USE_BATCHING
#else
#define ZS_READ_STREAM_USE_BATCHING 0
#endif

/* 18 wants to know how long the forks were */
#if ZS_PG_AT_LEAST(18)
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate(reln, forks, nforks, old_blocks, blocks)
#else
#define zs_smgrtruncate(reln, forks, nforks, old_blocks, blocks) \
	smgrtruncate2(reln, forks, nforks, old_blocks, blocks)
#endif

/* Does a backend with that wait event wait for a read that was started before?  Not in 17. */
#if ZS_PG_AT_LEAST(18)
#define ZS_WAITS_FOR_STARTED_READ(event)	((event) == WAIT_EVENT_AIO_IO_COMPLETION)
#else
#define ZS_WAITS_FOR_STARTED_READ(event)	false
#endif

/*
 * Do other processes read for read streams, a few of them at a time for all backends?  Else
 * streams ask the kernel for as much as the settings say.
 */
#if ZS_PG_AT_LEAST(18)
#include "storage/aio.h"
#define ZS_READS_BY_IO_WORKERS	(io_method == IOMETHOD_WORKER)
#else
#define ZS_READS_BY_IO_WORKERS	false
#endif

#endif							/* ZS_COMPAT_BUFFER_H */
