/*-------------------------------------------------------------------------
 *
 * probe_pairs.c
 *	  Batches of pairs, where rows of a join's probe side have several partners.
 *
 * The pairs of a batch of the probe side come one after the other, up to 1024 at a time, until the
 * last one is out; until then that batch stays.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/probe/probe_pairs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "probe_internal.h"

/* Has any of the rows of found more than one partner? */
bool
zsprobe_pairs_needed(const ZsProbeJoin *join, const uint64 *found)
{
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = join->table->next == NULL ? 0 : zskernel_bits_list(found, list);

	for (uint32 i = 0; i < n; i++)
	{
		if (join->table->next[join->partners[list[i]]] != ZS_NO_ROW)
			return true;
	}
	return false;
}

/* The pairs of the source's rows come next; those without a partner are not in found. */
void
zsprobe_pairs_start(ZsProbeJoin *join, const uint64 *found)
{
	Assert(!join->has_more && join->source != NULL);
	join->has_more = true;
	zskernel_bits_copy(join->left, found);
	zskernel_bits_copy(join->unmatched, join->source->sel);
	memcpy(join->chain, join->partners, sizeof(join->chain));
}

/* Makes a batch of the pairs that are left, as many as it has room for. */
void
zsprobe_pairs_make(ZsProbeJoin *join)
{
	uint32		n = 0;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		nrows = zskernel_bits_list(join->left, list);

	Assert(join->has_more && nrows > 0 && join->table->next != NULL);

	for (uint32 i = 0; i < nrows && n < ZS_KERNEL_ROWS; i++)
	{
		uint32		partner = join->chain[list[i]];

		for (; partner != ZS_NO_ROW && n < ZS_KERNEL_ROWS; partner = join->table->next[partner])
		{
			join->places[n] = list[i];
			join->partners[n++] = partner;
		}
		join->chain[list[i]] = partner;
		if (partner == ZS_NO_ROW)
			zskernel_bits_unset(join->left, list[i]);
	}
	Assert(n > 0);
	join->in_pairs = true;
	join->lonely = false;
	join->batch.first = join->source->first;
	join->batch.has_rows = join->source->has_rows;
	zskernel_bits_clear(join->batch.sel);
	zskernel_bits_set_range(join->batch.sel, 0, n);
	join->batch.nsel = n;
	zsprobe_join_turn(join);
}

/* A column of the probe side for the rows of sel of a batch of pairs. */
const ZsColumnVector *
zsprobe_pairs_column(ZsProbeJoin *join, AttrNumber attno, ZsColumnWant want, const uint64 *sel)
{
	const ZsColumnVector *vector;
	ZsPicked  **picked = &join->picked[(attno - 1) * ZS_WANT_COUNT + want];
	uint64		rows[ZS_KERNEL_WORDS] = {0};
	uint64		all[ZS_KERNEL_WORDS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n;

	if (*picked == NULL)
		*picked = MemoryContextAllocZero(GetMemoryChunkContext(join), sizeof(ZsPicked));
	if (zsprobe_rows_are_known((*picked)->serial, (*picked)->sel, join->base.serial, sel, all))
		return &(*picked)->vector;
	n = zskernel_bits_list(all, list);
	for (uint32 i = 0; i < n; i++)
		zskernel_bits_set(rows, join->places[list[i]]);
	vector = zsexpr_input_column(join->probe, attno, want, rows);
	if (vector == NULL)
		return NULL;
	(*picked)->serial = join->base.serial;
	zskernel_bits_copy((*picked)->sel, all);
	zsprobe_pick(vector, join->places, list, n, *picked);
	return &(*picked)->vector;
}
