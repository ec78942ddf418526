/*-------------------------------------------------------------------------
 *
 * node_agg_pack.c
 *	  Rows of batches that find no group in memory, written out and read back by columns.
 *
 * The problem: a row that goes through a slot, core's expressions and a tuple, and later comes back
 * one by one, takes several times as long as one that is added to a group.  So what a batch has as
 * vectors is packed as it is: of a row the integers of its keys and arguments, or the bytes of
 * datums, and which aggregates take it.  Expressions and FILTER have run already.  What comes back
 * is collected into batches again, whose vectors go the way of those of the input.
 *
 * A packed row is an array of 64-bit words: which aggregates take the row (bit i: aggregate i),
 * which keys are NULL (bit k: key k), then for each column a word, of decimals two; the bytes of
 * datums follow, each at a multiple of 8.  Columns are the keys and the arguments of aggregates
 * other than counts.  The word of a value by reference is its length, with the header.  The second
 * word of a decimal has its scale and its display scale.
 *
 * Rows that were read one by one are written as tuples (node_agg_single.c) to the same tapes;
 * the order of all rows of a tape is kept.  DISTINCT aggregates and plans that verify themselves
 * need rows one by one, and pack none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_agg_pack.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "varatt.h"

#include "node_agg.h"
#include "zs_expr_guc.h"

/* A batch has no more rows once it has so many bytes. */
#define MAX_BYTES		((Size) 128 * 1024)

/* Words in front of those of columns. */
#define TAKEN_WORD		0
#define NULLS_WORD		1
#define FIRST_WORD		2

StaticAssertDecl(ZS_MAX_GROUP_KEYS <= 64, "a word has a bit for each key");

typedef struct PackColumn
{
	int			key;			/* or -1 */
	int			agg;			/* or -1 */
	int			word;			/* in a row */
	bool		is_decimal;
	bool		is_datum;		/* of the form of datums, not of integers */
	bool		by_value;
	int16		typlen;

	/* of the batch that is read */
	ZsColumnVector vector;
	uint64	   *values;
	uint8	   *dscales;
} PackColumn;

struct ZsAggPack
{
	MemoryContext context;
	int			ncolumns;
	PackColumn *columns;
	int			nwords;			/* of a row, without bytes */

	char	   *row;			/* that is written */
	Size		row_size;

	/* rows that were read */
	uint32		n;
	char	   *bytes;
	Size		nbytes;
	Size		size;
	Size		places[ZS_KERNEL_ROWS];
	uint32		lens[ZS_KERNEL_ROWS];
	uint64		hashes[ZS_KERNEL_ROWS];
	const ZsColumnVector **key_vectors;
};

/* Can rows of this node be packed at all? */
static bool
can_pack(const AggNodeState *state)
{
	if (!zs_enable_packed_rows || state->nkeys == 0 || state->has_sets ||
		state->verifier != NULL || state->by_rows || state->naggs > 64)
		return false;
	for (int i = 0; i < state->row.desc->natts; i++)
	{
		if (TupleDescAttr(state->row.desc, i)->attlen == -2)
			return false;
	}
	return true;
}

/* Does the aggregate look at values?  Counts do not, but those that combine what others counted. */
static inline bool
has_values(const ZsAgg *agg)
{
	return agg->state != ZS_STATE_NONE || zsagg_ops_of(agg)->sums != ZS_SUMS_COUNT;
}

/* The form in which get_argument() of node_agg_batch.c asks for them. */
static inline ZsColumnWant
wanted_form(const ZsAgg *agg)
{
	Assert(has_values(agg));
	return agg->state == ZS_STATE_NONE ? zsexpr_want_of(agg->domain) :
		agg->state == ZS_STATE_INT ? ZS_WANT_INT : ZS_WANT_DATUM;
}

/* Gives a key or an argument its place in packed rows. */
static void
add_column(ZsAggPack *pack, int key, int agg, ZsColumnWant want, const Form_pg_attribute att)
{
	PackColumn *column = &pack->columns[pack->ncolumns++];

	Assert((key < 0) != (agg < 0));
	column->key = key;
	column->agg = agg;
	column->word = pack->nwords;
	column->is_decimal = want == ZS_WANT_DECIMAL;
	column->is_datum = want == ZS_WANT_DATUM;
	column->by_value = att->attbyval;
	column->typlen = att->attlen;
	column->values = palloc(ZS_KERNEL_ROWS * sizeof(uint64));
	column->dscales = palloc(ZS_KERNEL_ROWS);
	pack->nwords += column->is_decimal ? 2 : 1;
}

/* What packing needs, in memory that lasts as long as the node. */
static ZsAggPack *
create_pack(AggNodeState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	ZsAggPack  *pack = palloc0(sizeof(ZsAggPack));

	pack->context = CurrentMemoryContext;
	pack->columns = palloc0((state->nkeys + state->naggs) * sizeof(PackColumn));
	pack->key_vectors = palloc(state->nkeys * sizeof(ZsColumnVector *));
	pack->nwords = FIRST_WORD;
	for (int k = 0; k < state->nkeys; k++)
		add_column(pack, k, -1, zsexpr_want_of(state->keys[k].domain),
				   TupleDescAttr(state->row.desc, k));
	for (int i = 0; i < state->naggs; i++)
	{
		const NodeAgg *agg = &state->aggs[i];

		if (has_values(&agg->agg))
			add_column(pack, -1, i, wanted_form(&agg->agg),
					   TupleDescAttr(state->row.desc, agg->arg_column));
	}
	pack->row_size = pack->nwords * sizeof(uint64);
	pack->row = palloc(pack->row_size);
	MemoryContextSwitchTo(old);
	return pack;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* Does the vector have the column's values in its form? */
static bool
has_form(const PackColumn *column, const ZsColumnVector *vector)
{
	if (!column->is_datum)
		return vector->vals != NULL;
	return vector->datums != NULL || (vector->codes != NULL && vector->dict != NULL);
}

/* Puts one value into the row, which is *len bytes long. */
static void
put_value(ZsAggPack *pack, const PackColumn *column, const ZsColumnVector *vector, uint32 row,
		  Size *len)
{
	uint64	   *words = (uint64 *) pack->row;
	uint64		datum;
	Size		size;
	Size		need;

	if (!column->is_datum)
	{
		words[column->word] = (uint64) vector->vals[row];
		if (column->is_decimal)
			words[column->word + 1] = (uint64) vector->scale << 8 |
				(vector->dscales != NULL ? vector->dscales[row] : (uint64) vector->scale);
		return;
	}
	datum = vector->codes != NULL && vector->dict != NULL ? vector->dict[vector->codes[row]] :
		vector->datums[row];
	if (column->by_value)
	{
		words[column->word] = datum;
		return;
	}
	size = column->typlen > 0 ? (Size) column->typlen : VARSIZE_ANY((char *) datum);
	need = *len + TYPEALIGN64(sizeof(uint64), size);
	if (need > pack->row_size)
	{
		pack->row_size = need * 2;
		pack->row = repalloc_huge(pack->row, pack->row_size);
		words = (uint64 *) pack->row;
	}
	words[column->word] = size;
	*(uint64 *) (pack->row + need - sizeof(uint64)) = 0;
	memcpy(pack->row + *len, (char *) datum, size);
	*len = need;
}

/* The present batch's row as a packed one; returns its length. */
static Size
pack_row(const AggNodeState *state, ZsAggPack *pack, uint32 row)
{
	Size		len = pack->nwords * sizeof(uint64);
	uint64	   *words = (uint64 *) pack->row;
	uint64		taken = 0;
	uint64		nulls = 0;

	memset(words, 0, len);
	for (int i = 0; i < state->naggs; i++)
		taken |= (uint64) zskernel_bits_get(state->batch.sels + i * ZS_KERNEL_WORDS, row) << i;
	for (int c = 0; c < pack->ncolumns; c++)
	{
		const PackColumn *column = &pack->columns[c];

		if (column->key >= 0)
		{
			const ZsColumnVector *vector = pack->key_vectors[column->key];

			if (vector->has_nulls && zskernel_bits_get(vector->nulls, row))
				nulls |= UINT64CONST(1) << column->key;
			else
				put_value(pack, column, vector, row, &len);
		}
		else if (taken >> column->agg & 1)
			put_value(pack, column, state->batch.vectors[column->agg], row, &len);
	}
	words = (uint64 *) pack->row;
	words[TAKEN_WORD] = taken;
	words[NULLS_WORD] = nulls;
	return len;
}

/*
 * Writes out the n rows of list (positions in the present batch) from its vectors, which are those
 * that groups were found by and that aggregates have just added.  False, and nothing was written,
 * if they have to be written one by one.  Errors: as zsagg_spill_write().
 */
static bool
pack_rows(AggNodeState *state, const uint16 *list, uint32 n)
{
	ZsAggPack  *pack = state->written.pack;
	uint64		hashes[ZS_KERNEL_ROWS];
	uint16		wanted[ZS_KERNEL_ROWS];
	uint32		nwanted;

	if (!can_pack(state))
		return false;
	if (pack == NULL)
		pack = state->written.pack = create_pack(state);
	if (!zsagg_groups_vectors(state->store.groups, pack->key_vectors))
		return false;
	for (int c = 0; c < pack->ncolumns; c++)
	{
		const PackColumn *column = &pack->columns[c];
		const ZsColumnVector *vector = column->key >= 0 ? pack->key_vectors[column->key] :
			state->batch.vectors[column->agg];

		/* an aggregate without a vector takes no row */
		if (vector != NULL && !has_form(column, vector))
			return false;
	}
	zsagg_groups_hash_rows(state->store.groups, list, n, hashes);
	zsnode_agg_open_spill(state);
	nwanted = zsagg_spill_choose(state->written.spill, hashes, n, wanted);
	for (uint32 i = 0; i < nwanted; i++)
	{
		Size		len = pack_row(state, pack, list[wanted[i]]);

		zsagg_spill_write_packed(state->written.spill, hashes[wanted[i]], pack->row, len,
								 state->css.ss.ps.plan->plan_rows);
	}
	return true;
}

/*
 * Writes out those of the batch's n rows of list whose group is not in memory: they have no number.
 * Called when the batch has been added to groups.  list is used up.  Errors: as
 * zsagg_spill_write().
 */
void
zsnode_agg_write_absent(AggNodeState *state, uint16 *list, uint32 n, const uint32 *numbers)
{
	uint32		nabsent = 0;

	Assert(zsagg_groups_frozen(state->store.groups));
	for (uint32 i = 0; i < n; i++)
	{
		list[nabsent] = list[i];
		nabsent += numbers[i] == ZS_NO_GROUP ? 1 : 0;
	}
	state->fill.absent_rows += nabsent;
	if (nabsent == 0 || pack_rows(state, list, nabsent))
		return;

	/* last, since a row's values may be decoded where the vectors are */
	for (uint32 i = 0; i < nabsent; i++)
	{
		ResetExprContext(state->row.econtext);
		zsexpr_input_store(state->input, list[i]);
		zsnode_agg_read_row(state);
		zsnode_agg_spill_row(state);
	}
	ExecClearTuple(state->input->slot);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* The words of row i of those that were read. */
static inline const uint64 *
row_words(const ZsAggPack *pack, uint32 i)
{
	return (const uint64 *) (pack->bytes + pack->places[i]);
}

/* Have the decimals of both rows the same scales? */
static bool
same_scales(const ZsAggPack *pack, uint32 a, uint32 b)
{
	for (int c = 0; c < pack->ncolumns; c++)
	{
		const PackColumn *column = &pack->columns[c];

		if (column->is_decimal &&
			row_words(pack, a)[column->word + 1] >> 8 != row_words(pack, b)[column->word + 1] >> 8)
			return false;
	}
	return true;
}

/* The vector of a column of n rows from row first on; ends: where their bytes go on. */
static void
make_vector(ZsAggPack *pack, PackColumn *column, uint32 first, uint32 n, Size *ends)
{
	ZsColumnVector *vector = &column->vector;
	bool		common = true;

	memset(vector, 0, sizeof(*vector));
	vector->nrows = n;
	for (uint32 i = 0; i < n; i++)
	{
		const uint64 *words = row_words(pack, first + i);
		uint64		value = words[column->word];

		if (column->key >= 0 && (words[NULLS_WORD] >> column->key & 1))
		{
			vector->has_nulls = true;
			zskernel_bits_set(vector->nulls, i);
		}
		if (column->is_decimal)
		{
			column->dscales[i] = (uint8) words[column->word + 1];
			common = common && column->dscales[i] == words[column->word + 1] >> 8;
		}
		if (column->is_datum && !column->by_value)
		{
			column->values[i] = (uint64) (uintptr_t) (pack->bytes + ends[i]);
			ends[i] += TYPEALIGN64(sizeof(uint64), value);
		}
		else
			column->values[i] = value;
	}
	if (column->is_datum)
		vector->datums = column->values;
	else
		vector->vals = (const int64 *) column->values;
	if (column->is_decimal)
	{
		vector->scale = (int) (row_words(pack, first)[column->word + 1] >> 8);
		vector->dscales = common ? NULL : column->dscales;
	}
}

/* Adds n rows from row first on, whose decimals have the same scales. */
static void
add_rows(AggNodeState *state, uint32 first, uint32 n)
{
	ZsAggPack  *pack = state->written.pack;
	uint16		list[ZS_KERNEL_ROWS];
	uint32		numbers[ZS_KERNEL_ROWS];
	Size		ends[ZS_KERNEL_ROWS];
	MemoryContext old = MemoryContextSwitchTo(state->store.context);

	Assert(n > 0 && first + n <= pack->n);
	for (uint32 i = 0; i < n; i++)
	{
		list[i] = (uint16) i;
		ends[i] = pack->places[first + i] + pack->nwords * sizeof(uint64);
	}
	for (int c = 0; c < pack->ncolumns; c++)
	{
		PackColumn *column = &pack->columns[c];

		make_vector(pack, column, first, n, ends);
		if (column->key >= 0)
			pack->key_vectors[column->key] = &column->vector;
		else
			state->batch.vectors[column->agg] = &column->vector;
	}
	zsagg_groups_assign_vectors(state->store.groups, pack->key_vectors, list, n, numbers);
	zsnode_agg_start_groups(state, list, n, numbers);
	for (int i = 0; i < state->naggs; i++)
	{
		NodeAgg    *agg = &state->aggs[i];
		char	   *values = state->store.values + agg->offset;
		uint64	   *sel = state->batch.sels + i * ZS_KERNEL_WORDS;

		zskernel_bits_clear(sel);
		for (uint32 j = 0; j < n; j++)
			sel[j / 64] |= (row_words(pack, first + j)[TAKEN_WORD] >> i & 1) << (j % 64);
		zsnode_agg_add_batch_groups(&agg->agg, values, state->store.value_size,
									has_values(&agg->agg) ? state->batch.vectors[i] : NULL,
									sel, state->batch.groups);
	}
	for (uint32 i = 0; i < n && zsagg_groups_frozen(state->store.groups); i++)
	{
		if (numbers[i] == ZS_NO_GROUP)
			zsagg_spill_write_packed(state->written.spill, pack->hashes[first + i],
									 pack->bytes + pack->places[first + i],
									 pack->lens[first + i],
									 state->css.ss.ps.plan->plan_rows);
	}
	MemoryContextSwitchTo(old);
}

/* Adds the rows that were collected, or writes them out again, and forgets them. */
void
zsnode_agg_add_packed(AggNodeState *state)
{
	ZsAggPack  *pack = state->written.pack;
	uint32		first = 0;

	if (pack == NULL)
		return;
	for (uint32 i = 1; i <= pack->n; i++)
	{
		if (i < pack->n && same_scales(pack, first, i))
			continue;
		add_rows(state, first, i - first);
		first = i;
	}
	pack->n = 0;
	pack->nbytes = 0;
}

/*
 * Collects the packed row of len bytes that is next in what is read.  Returns whether it is time to
 * add those that there are.
 */
bool
zsnode_agg_collect_packed(AggNodeState *state, uint64 hash, uint32 len)
{
	ZsAggPack  *pack = state->written.pack;

	Assert(pack != NULL && pack->n < ZS_KERNEL_ROWS && len % sizeof(uint64) == 0);
	if (pack->nbytes + len > pack->size)
	{
		pack->size = Max(2 * pack->size, pack->nbytes + len);
		pack->bytes = pack->bytes == NULL ? MemoryContextAllocHuge(pack->context, pack->size) :
			repalloc_huge(pack->bytes, pack->size);
	}
	zsagg_spill_read_packed(state->written.spill, pack->bytes + pack->nbytes, len);
	pack->places[pack->n] = pack->nbytes;
	pack->lens[pack->n] = len;
	pack->hashes[pack->n++] = hash;
	pack->nbytes += len;
	return pack->n == ZS_KERNEL_ROWS || pack->nbytes >= MAX_BYTES;
}

/* Forgets rows that were collected. */
void
zsnode_agg_forget_packed(AggNodeState *state)
{
	if (state->written.pack != NULL)
	{
		state->written.pack->n = 0;
		state->written.pack->nbytes = 0;
	}
}
