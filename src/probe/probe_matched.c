/*-------------------------------------------------------------------------
 *
 * probe_matched.c
 *	  Which rows of a join's build side have found a partner.
 *
 * A bit for each row of the table, as core has one in the header of each tuple of its hash tables
 * (HEAP_TUPLE_HAS_MATCH).  RIGHT and FULL joins return the rows without one behind all others,
 * with NULLs for the probe side, RIGHT ANTI joins return nothing else; RIGHT SEMI joins return a
 * row when it finds its first partner.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_matched.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "probe_internal.h"

/* No row has found one yet. */
void
zsprobe_matched_reset(ZsProbeTable *table)
{
	if (table->matched != NULL)
		memset(table->matched, 0, (Size) (table->nrows / 64 + 1) * sizeof(uint64));
}

/* ---- marks ----------------------------------------------------------------------------- */

/* The partners of these rows of the batch are matched. */
void
zsprobe_matched_mark(ZsProbeJoin *join, const uint64 *rows)
{
	uint64	   *matched = join->table->matched;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(rows, list);

	Assert(matched != NULL && !join->in_tail);
	for (uint32 i = 0; i < n; i++)
		zskernel_bits_set(matched, join->partners[list[i]]);
}

/* So are all partners of rows of the source, of whom the first ones were found. */
void
zsprobe_matched_mark_copies(ZsProbeJoin *join, const uint64 *found)
{
	uint64	   *matched = join->table->matched;
	const uint32 *next = join->table->next;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(found, list);

	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = join->partners[list[i]];

		/* a first one is marked only together with its copies */
		if (zskernel_bits_get(matched, row))
			continue;
		CHECK_FOR_INTERRUPTS();
		zskernel_bits_set(matched, row);
		while (next != NULL && (row = next[row]) != ZS_NO_ROW)
			zskernel_bits_set(matched, row);
	}
}

/* Takes those pairs from the batch whose partner is matched; mark: what stays is, from now on. */
static void
drop_matched(ZsProbeJoin *join, bool mark)
{
	ZsBatch    *batch = &join->batch;
	uint64	   *matched = join->table->matched;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(batch->sel, list);

	Assert(matched != NULL && n == batch->nsel);
	for (uint32 i = 0; i < n; i++)
	{
		uint32		row = join->partners[list[i]];

		if (zskernel_bits_get(matched, row))
		{
			zskernel_bits_unset(batch->sel, list[i]);
			batch->nsel--;
		}
		else if (mark)
			zskernel_bits_set(matched, row);
	}
}

/* Takes those pairs from the batch whose partner is matched. */
void
zsprobe_matched_leave(ZsProbeJoin *join)
{
	drop_matched(join, false);
}

/* Leaves the first pair of each partner that is not matched, which it is now. */
void
zsprobe_matched_take(ZsProbeJoin *join)
{
	drop_matched(join, true);
}

/* ---- rows without a partner ------------------------------------------------------------ */

/* Makes a batch of the next rows of the table that are not matched; false if there are none. */
bool
zsprobe_matched_tail(ZsProbeJoin *join)
{
	const ZsProbeTable *table = join->table;
	ZsBatch    *batch = &join->batch;
	uint32		n = 0;

	Assert(join->in_tail && !join->has_more && table->matched != NULL);
	while (n < ZS_KERNEL_ROWS && join->tail < table->nrows)
	{
		uint64		others = ~table->matched[join->tail / 64] >> (join->tail % 64);

		CHECK_FOR_INTERRUPTS();
		if (others == 0)
		{
			join->tail = (join->tail / 64 + 1) * 64;
			continue;
		}
		join->tail += (uint32) __builtin_ctzll(others);
		if (join->tail < table->nrows)
			join->partners[n++] = join->tail++;
	}
	join->in_pairs = join->lonely = false;
	batch->first = 0;
	batch->has_rows = false;
	zskernel_bits_clear(batch->sel);
	if (n > 0)
		zskernel_bits_set_range(batch->sel, 0, n);
	batch->nsel = n;
	zsprobe_join_turn(join);
	return n > 0;
}

/* A column of the probe side for such rows: NULL in all of them, in the form that is wanted. */
const ZsColumnVector *
zsprobe_matched_nulls(ZsColumnWant want)
{
	static const int64 zeros[ZS_KERNEL_ROWS];
	static ZsColumnVector vectors[ZS_WANT_COUNT];
	ZsColumnVector *vector = &vectors[want];

	Assert(want < ZS_WANT_COUNT);
	if (vector->has_nulls)
		return vector;
	vector->nrows = ZS_KERNEL_ROWS;
	vector->has_nulls = true;
	zskernel_bits_set_range(vector->nulls, 0, ZS_KERNEL_ROWS);
	switch (want)
	{
		case ZS_WANT_INT:
		case ZS_WANT_DECIMAL:
			vector->vals = zeros;
			break;
		case ZS_WANT_DATUM:
		case ZS_WANT_STRING:
		case ZS_WANT_TEXT:
			vector->datums = (const uint64 *) zeros;
			break;
		default:
			break;
	}
	return vector;
}
