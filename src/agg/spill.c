/*-------------------------------------------------------------------------
 *
 * spill.c
 *	  Rows that wait on disk until there is memory for their groups.
 *
 * The scheme is that of core's hash aggregation.  Where memory ends, rows whose groups are not
 * there yet are written to one of several tapes, which the first bits of a hash of their keys
 * choose; so a tape has all rows of its groups that are left.  When the groups in memory are done
 * with, the tapes are read one after the other, and a tape that has too many groups again is
 * divided by the next bits.
 *
 * How many tapes there are depends on the number of groups to be expected: the planner's first,
 * then what a HyperLogLog counter says of each tape.  Their write buffers never take more than a
 * quarter of the memory.
 *
 * Whoever wants only groups of many rows need not see most of them again.  While rows are written
 * for the first time they are counted, in cells that the first bits of their hashes choose.  All
 * rows of a group are in one cell, so it has no more rows than the cell; rows of cells that have
 * too few are left out, and tapes that have no others are not read at all.  Where few are expected
 * to have enough and the input can be read twice, rows are only counted at first, and those of
 * cells that have enough are written when the input is read again.
 *
 * Files are temporary ones of core's (logtape.c): temp_file_limit, log_temp_files and
 * temp_tablespaces hold, and they go away with the statement however it ends.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/spill.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "executor/nodeHash.h"
#include "lib/hyperloglog.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/logtape.h"
#include "utils/memutils.h"

#include "zs_agg_spill.h"

#define MIN_BITS		2		/* of hashes that choose a tape */
#define MAX_BITS		8
#define HASH_BITS		ZS_HASH_BITS
#define COUNTER_BITS	5		/* of a HyperLogLog counter: errors of some 18 % */
#define TAPE_BUFFER		BLCKSZ

/* Rows were counted in vain if so many, and this part of them, came to cells of many rows. */
#define VAIN_ROWS		1024
#define VAIN_PART		4

/* In the length of a row: it is packed by the caller, and no tuple. */
#define PACKED_FLAG		((uint32) 0x80000000)
StaticAssertDecl(MaxAllocSize < PACKED_FLAG, "the length of a tuple does not have the flag");

/* A tape to be read. */
typedef struct WaitingTape
{
	LogicalTape *tape;
	int			used_bits;		/* of hashes, the same in all rows */
	double		ngroups;
	uint64		nrows;
	uint64		most;			/* no group has more rows */
} WaitingTape;

struct ZsSpill
{
	MemoryContext context;
	double		group_size;
	TupleTableSlot *write_slot;
	TupleTableSlot *read_slot;
	LogicalTapeSet *tapes;		/* NULL: nothing was written yet */
	List	   *waiting;

	LogicalTape *input;			/* what is read, or NULL */
	int			used_bits;		/* of what is read */
	double		ngroups;		/* in what is read, or 0 */
	uint64		most;			/* no group of what is read has more rows */

	ZsCells    *cells;			/* rows that were written, or NULL: they are not counted */
	bool		only_counts;	/* nothing is written yet */
	bool		again;			/* rows come that have been counted */
	uint64		usual;			/* groups that are wanted are expected to have more rows */
	uint64		ncounted;
	uint64		nmany;			/* rows that came to a cell that has more */
	uint64		least;			/* groups of fewer rows than these are left out */
	uint64		nleft_out;		/* rows */
	char	   *unread;			/* room for one of them */
	Size		unread_size;

	int			nbits;			/* 0: no row was written since input was opened */
	LogicalTape **outputs;		/* 2^nbits */
	hyperLogLogState *counters;
	uint64	   *nrows;
	Size		memory;			/* of cells */
	Size		buffers;
	uint64		nblocks;
};

/*
 * Nothing is written yet.  Rows have the columns of desc.  group_size: about what a group takes in
 * memory, in bytes.  Memory comes from a context of its own below the current one, which a failing
 * statement gives back together with the files.
 */
ZsSpill *
zsagg_spill_create(TupleDesc desc, double group_size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "zedstore spilled rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ZsSpill    *spill = palloc0(sizeof(ZsSpill));

	Assert(desc->natts > 0);
	spill->context = context;
	spill->group_size = group_size;
	spill->write_slot = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	spill->read_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	MemoryContextSwitchTo(old);
	return spill;
}

/* Gives back memory and files. */
void
zsagg_spill_free(ZsSpill *spill)
{
	ExecDropSingleTupleTableSlot(spill->write_slot);
	ExecDropSingleTupleTableSlot(spill->read_slot);
	if (spill->tapes != NULL)
		LogicalTapeSetClose(spill->tapes);
	MemoryContextDelete(spill->context);
}

/*
 * Counts rows so that those of groups of few rows can be left out; called before the first row is
 * written.  Takes up to 1/8 of the memory for hash tables.  usual: groups of so many rows are few,
 * as far as is known.  only: none is written until all have been counted, and come again.
 */
void
zsagg_spill_count_groups(ZsSpill *spill, ZsCellSize size, uint64 usual, bool only)
{
	Assert(spill->tapes == NULL && spill->cells == NULL);
	spill->only_counts = only;
	spill->usual = usual;
	spill->cells = zsagg_cells_create(spill->context, size);
	spill->memory += spill->cells->size;
}

/*
 * From what is opened next on, rows of groups that have fewer rows than least, all together, may be
 * left out; least never gets smaller.  Only where rows are counted.
 */
void
zsagg_spill_leave_out(ZsSpill *spill, uint64 least)
{
	Assert(spill->cells != NULL && least >= spill->least);
	spill->least = least;
}

/* For EXPLAIN: rows that were left out. */
uint64
zsagg_spill_left_out(const ZsSpill *spill)
{
	return spill->nleft_out;
}

/*
 * Is a row with the hash to be written?  Counts it.  Asked once for each row that did not come from
 * here, before it is written.
 */
bool
zsagg_spill_wants(ZsSpill *spill, uint64 hash)
{
	if (spill->cells == NULL || spill->input != NULL)
		return true;
	if (!spill->again)
	{
		zsagg_cells_count(spill->cells, hash);
		spill->ncounted++;
		spill->nmany += zsagg_cells_rows(spill->cells, hash) >= spill->usual ? 1 : 0;
		return !spill->only_counts;
	}
	if (zsagg_cells_rows(spill->cells, hash) < spill->least)
		return false;
	spill->nleft_out--;
	return true;
}

/*
 * Which of n rows with these hashes are to be written?  Counts all of them.  Their positions go to
 * list, which has room for n; returns how many.
 */
uint32
zsagg_spill_choose(ZsSpill *spill, const uint64 *hashes, uint32 n, uint16 *list)
{
	uint32		nwanted = 0;

	for (uint32 i = 0; i < n; i++)
	{
		if (spill->cells != NULL)
			zsagg_cells_fetch(spill->cells, hashes[Min(i + ZS_CELLS_AHEAD, n - 1)]);
		list[nwanted] = (uint16) i;
		nwanted += zsagg_spill_wants(spill, hashes[i]) ? 1 : 0;
	}
	return nwanted;
}

/* The rows that were counted; NULL: none are. */
const ZsCells *
zsagg_spill_counts(const ZsSpill *spill)
{
	return spill->cells;
}

/* Were rows counted, and none of them written? */
bool
zsagg_spill_only_counted(const ZsSpill *spill)
{
	return spill->only_counts;
}

/* Will many rows that were only counted have to come again? */
bool
zsagg_spill_counts_in_vain(const ZsSpill *spill)
{
	return spill->nmany > VAIN_ROWS + spill->ncounted / VAIN_PART;
}

/* Rows that were only counted have to come again, all of them; false: none of them is wanted. */
bool
zsagg_spill_start_again(ZsSpill *spill)
{
	Assert(spill->only_counts && spill->tapes == NULL);
	spill->only_counts = false;
	spill->again = true;
	spill->nleft_out += spill->ncounted;
	return spill->ncounted > 0 && zsagg_cells_most(spill->cells) >= spill->least;
}

/* No group on the tape has more rows. */
static uint64
most_of_output(const ZsSpill *spill, int output)
{
	if (spill->cells == NULL)
		return PG_UINT64_MAX;
	if (spill->used_bits > 0)
		return spill->most;
	Assert(spill->nbits > 0);
	return zsagg_cells_most_of(spill->cells, spill->nbits, (uint64) output);
}

/*
 * Can rows of what is being read be told apart by further bits of their hashes?
 */
bool
zsagg_spill_can_divide(const ZsSpill *spill)
{
	return spill->used_bits + MIN_BITS <= HASH_BITS;
}

/* Of so many groups some can be kept in memory at a time; how many bits should choose a tape? */
static int
choose_bits(const ZsSpill *spill, double ngroups)
{
	double		limit = (double) get_hash_memory_limit();
	double		wanted = 1 + 1.5 * ngroups * spill->group_size / limit;
	double		most = (limit / 4 - TAPE_BUFFER) / TAPE_BUFFER;
	int			nbits;

	Assert(spill->used_bits + MIN_BITS <= HASH_BITS);
	wanted = Max(Min(wanted, most), 1 << MIN_BITS);
	nbits = wanted >= 1 << MAX_BITS ? MAX_BITS : (int) pg_ceil_log2_32((uint32) wanted);
	return Min(nbits, HASH_BITS - spill->used_bits);
}

/* Opens tapes for the rows to come, of about so many groups. */
static void
open_outputs(ZsSpill *spill, double ngroups)
{
	int			n;

	Assert(spill->nbits == 0);
	spill->nbits = choose_bits(spill, ngroups);
	Assert(spill->nbits >= MIN_BITS && spill->used_bits + spill->nbits <= HASH_BITS);
	n = 1 << spill->nbits;
	if (spill->tapes == NULL)
	{
		/* blocks that a tape has in advance would be filled with zeros first */
		spill->tapes = LogicalTapeSetCreate(false, NULL, -1);
	}
	spill->outputs = palloc(n * sizeof(LogicalTape *));
	spill->counters = palloc0(n * sizeof(hyperLogLogState));
	spill->nrows = palloc0(n * sizeof(uint64));
	for (int i = 0; i < n; i++)
	{
		spill->outputs[i] = LogicalTapeCreate(spill->tapes);
		initHyperLogLog(&spill->counters[i], COUNTER_BITS);
	}
	spill->buffers = Max(spill->buffers, (Size) (n + 1) * TAPE_BUFFER);
}

/* The tape for a row with the hash, which it counts. */
static LogicalTape *
take_output(ZsSpill *spill, uint64 hash, double ngroups)
{
	int			output;

	if (spill->nbits == 0)
		open_outputs(spill, Max(ngroups, spill->ngroups));
	output = (int) (hash << spill->used_bits >> (HASH_BITS - spill->nbits));
	Assert(output >= 0 && output < 1 << spill->nbits);
	spill->nrows[output]++;
	/* hashes on a tape have bits in common, which the counter would not like */
	addHyperLogLog(&spill->counters[output],
				   hash_bytes_uint32((uint32) hash ^ (uint32) (hash >> 32)));
	return spill->outputs[output];
}

/* Writes a row in a form of the caller's; else as zsagg_spill_write(). */
void
zsagg_spill_write_packed(ZsSpill *spill, uint64 hash, const void *bytes, Size len,
						 double ngroups)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	LogicalTape *tape = take_output(spill, hash, ngroups);
	uint32		flagged = (uint32) len | PACKED_FLAG;
	char		head[sizeof(hash) + sizeof(flagged)];

	/* what would be too long for a tuple, too */
	if (len > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of %zu bytes is too long to be written out", len)));
	memcpy(head, &hash, sizeof(hash));
	memcpy(head + sizeof(hash), &flagged, sizeof(flagged));
	LogicalTapeWrite(tape, head, sizeof(head));
	LogicalTapeWrite(tape, bytes, len);
	MemoryContextSwitchTo(old);
}

/*
 * Writes a row.  hash: of its keys, the same for equal ones.  ngroups: how many groups there are,
 * for the first row behind what was read.  Errors: ERRCODE_CONFIGURATION_LIMIT_EXCEEDED
 * (temp_file_limit), I/O errors.
 */
void
zsagg_spill_write(ZsSpill *spill, uint64 hash, const Datum *values, const bool *isnull,
				  double ngroups)
{
	TupleTableSlot *slot = spill->write_slot;
	int			natts = slot->tts_tupleDescriptor->natts;
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	MinimalTuple tuple;
	bool		should_free;
	LogicalTape *tape;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	tuple = ExecFetchSlotMinimalTuple(slot, &should_free);

	tape = take_output(spill, hash, ngroups);
	LogicalTapeWrite(tape, &hash, sizeof(hash));
	LogicalTapeWrite(tape, tuple, tuple->t_len);
	if (should_free)
		pfree(tuple);
	ExecClearTuple(slot);
	MemoryContextSwitchTo(old);
}

/* What was written becomes something to be read. */
static void
close_outputs(ZsSpill *spill)
{
	if (spill->nbits == 0)
		return;
	for (int i = 0; i < 1 << spill->nbits; i++)
	{
		uint64		most = most_of_output(spill, i);

		if (spill->nrows[i] == 0 || most < spill->least)
		{
			LogicalTapeClose(spill->outputs[i]);
			spill->nleft_out += spill->nrows[i];
		}
		else
		{
			WaitingTape *next = palloc(sizeof(WaitingTape));

			LogicalTapeRewindForRead(spill->outputs[i], TAPE_BUFFER);
			next->tape = spill->outputs[i];
			next->used_bits = spill->used_bits + spill->nbits;
			next->ngroups = estimateHyperLogLog(&spill->counters[i]);
			next->nrows = spill->nrows[i];
			next->most = most;
			spill->waiting = lappend(spill->waiting, next);
		}
		freeHyperLogLog(&spill->counters[i]);
	}
	pfree(spill->outputs);
	pfree(spill->counters);
	pfree(spill->nrows);
	spill->nbits = 0;
	spill->nblocks = Max(spill->nblocks, (uint64) LogicalTapeSetBlocks(spill->tapes));
}

/*
 * All rows of what was read are written; then the next rows to be read are opened; false: there are
 * none.
 */
bool
zsagg_spill_next(ZsSpill *spill)
{
	MemoryContext old = MemoryContextSwitchTo(spill->context);
	WaitingTape *next;

	ExecClearTuple(spill->read_slot);
	if (spill->input != NULL)
	{
		LogicalTapeClose(spill->input);
		spill->input = NULL;
	}
	close_outputs(spill);
	while (spill->waiting != NIL && ((WaitingTape *) llast(spill->waiting))->most < spill->least)
	{
		next = llast(spill->waiting);
		spill->waiting = list_delete_last(spill->waiting);
		LogicalTapeClose(next->tape);
		spill->nleft_out += next->nrows;
		pfree(next);
	}
	if (spill->waiting == NIL)
	{
		MemoryContextSwitchTo(old);
		return false;
	}
	/* the youngest first: fewer tapes are open */
	next = llast(spill->waiting);
	spill->waiting = list_delete_last(spill->waiting);
	spill->input = next->tape;
	spill->used_bits = next->used_bits;
	spill->ngroups = next->ngroups;
	spill->most = next->most;
	Assert(spill->nbits == 0 && spill->used_bits <= HASH_BITS);
	pfree(next);
	MemoryContextSwitchTo(old);
	return true;
}

/* Reads so many bytes.  Errors: there are fewer. */
static void
read_all(LogicalTape *tape, void *to, size_t len)
{
	size_t		got = LogicalTapeRead(tape, to, len);

	if (got != len)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg_internal("unexpected end of tape: requested %zu bytes, read %zu bytes", len, got)));
}

/* Moves over bytes of the row that is next. */
static void
skip_row(ZsSpill *spill, Size len)
{
	if (len > spill->unread_size)
	{
		if (spill->unread != NULL)
			pfree(spill->unread);
		spill->unread = MemoryContextAllocHuge(spill->context, len);
		spill->unread_size = len;
	}
	read_all(spill->input, spill->unread, len);
	spill->nleft_out++;
}

/* As zsagg_spill_look(), of all rows. */
static ZsSpilled
read_head(ZsSpill *spill, uint64 *hash, uint32 *len)
{
	char		head[sizeof(uint64) + sizeof(uint32)];
	size_t		got;

	Assert(spill->input != NULL);
	ExecClearTuple(spill->read_slot);
	got = LogicalTapeRead(spill->input, head, sizeof(head));
	if (got == 0)
		return ZS_SPILLED_END;
	if (got < sizeof(head))
		read_all(spill->input, head + got, sizeof(head) - got);
	memcpy(hash, head, sizeof(*hash));
	memcpy(len, head + sizeof(*hash), sizeof(*len));
	if ((*len & PACKED_FLAG) == 0)
		return ZS_SPILLED_TUPLE;
	*len &= ~PACKED_FLAG;
	return ZS_SPILLED_PACKED;
}

/*
 * Which kind of row is next, its hash and its length.  The row itself must be read then, by
 * zsagg_spill_read_tuple() or zsagg_spill_read_packed().
 */
ZsSpilled
zsagg_spill_look(ZsSpill *spill, uint64 *hash, uint32 *len)
{
	ZsSpilled	what;

	while ((what = read_head(spill, hash, len)) != ZS_SPILLED_END && spill->least > 1 &&
		   zsagg_cells_rows(spill->cells, *hash) < spill->least)
	{
		CHECK_FOR_INTERRUPTS();
		skip_row(spill, what == ZS_SPILLED_PACKED ? *len : *len - sizeof(*len));
	}
	return what;
}

/* Reads the row that is next, len bytes in the caller's form. */
void
zsagg_spill_read_packed(ZsSpill *spill, void *to, uint32 len)
{
	read_all(spill->input, to, len);
}

/* Reads the row that is next, a tuple of len bytes; valid until the next call. */
void
zsagg_spill_read_tuple(ZsSpill *spill, uint32 len, Datum *values, bool *isnull)
{
	TupleTableSlot *slot = spill->read_slot;
	int			natts = slot->tts_tupleDescriptor->natts;
	MinimalTuple tuple;

	Assert(spill->input != NULL && TTS_EMPTY(slot));
	tuple = MemoryContextAlloc(spill->context, len);
	tuple->t_len = len;
	read_all(spill->input, (char *) tuple + sizeof(len), len - sizeof(len));
	ExecStoreMinimalTuple(tuple, slot, true);
	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, natts * sizeof(Datum));
	memcpy(isnull, slot->tts_isnull, natts * sizeof(bool));
}

/*
 * The next row, valid until the next call; false at the end.  All rows of a group come, in the
 * order in which they were written.
 */
bool
zsagg_spill_read(ZsSpill *spill, Datum *values, bool *isnull)
{
	uint64		hash;
	uint32		len;
	ZsSpilled	what = zsagg_spill_look(spill, &hash, &len);

	Assert(what != ZS_SPILLED_PACKED);
	if (what == ZS_SPILLED_END)
		return false;
	zsagg_spill_read_tuple(spill, len, values, isnull);
	return true;
}

/* For EXPLAIN: what the files took at most, in bytes. */
uint64
zsagg_spill_disk(const ZsSpill *spill)
{
	return spill->nblocks * BLCKSZ;
}

/* Memory for buffers and counts, in bytes. */
Size
zsagg_spill_memory(const ZsSpill *spill)
{
	return spill->memory + spill->buffers;
}
