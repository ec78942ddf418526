/*-------------------------------------------------------------------------
 *
 * node_row_filter.c
 *	  Takes rows out of a batch that a row filter says nobody wants.
 *
 * This is a scan's side of sideways information passing; who gives filters is none of its business.
 * A filter is asked about the zone map of the batch's column first; then the column is decoded and
 * its values are looked up.  Values that have no vector stay.  Where no clause of the scan can
 * raise an error zone maps of segments are asked before anything of these is read (scan_zone.c),
 * and those of all filters' vectors before a clause is applied.
 *
 * Strings are looked up by hashes of their bytes: each entry of a dictionary once, others one by
 * one.
 *
 * A filter that removes hardly any row costs more than it saves: it rests for some batches, then is
 * tried again, for rows that lie together often have similar values.  Of several the one comes
 * first that lately left the fewest rows for what it costs, and integers are looked up alone where
 * few rows are left.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/node/node_row_filter.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "zs_compat.h"

#include "commands/explain.h"
#include ZS_EXPLAIN_FORMAT_H
#include "common/hashfn.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "node_scan_internal.h"
#include "zs_attr.h"
#include "zs_codec.h"
#include "zs_cost_const.h"
#include "zs_kernel.h"
#include "zs_node_filter.h"

/* So many batches are looked at before a filter that passed this share of rows rests. */
#define TRIED_BATCHES	8
#define RESTING_BATCHES	56
#define USELESS_SHARE	0.9

/* Two filters change places if they then take less than this share of the time. */
#define BETTER_SHARE	0.98

/* Of fewer rows values are looked up by themselves, not with all others of the vector. */
#define FEW_ROWS		(ZS_KERNEL_ROWS / 8)

/* What is known of an entry of a dictionary. */
typedef enum EntryWanted
{
	ENTRY_UNKNOWN = 0,			/* memory is cleared */
	ENTRY_WANTED,
	ENTRY_UNWANTED
} EntryWanted;

/*
 * The number by which a filter of the form knows a value of a type of that length, which is not
 * NULL: integers, strings, name, or fixed bytes.  A value that is stored elsewhere is fetched.
 */
int64
zsnode_row_filter_number(ZsRowFilterForm form, bool strips_blanks, Datum value, int16 typlen)
{
	const char *bytes = DatumGetPointer(value);
	struct varlena *v = NULL;
	size_t		len;
	int64		result;

	if (form == ZS_ROW_FILTER_INT)
		return zsattr_value_to_int(value, typlen);
	Assert(typlen == -1 || typlen > 0);
	if (typlen == -1)
	{
		v = PG_DETOAST_DATUM_PACKED(value);
		bytes = VARDATA_ANY(v);
		len = VARSIZE_ANY_EXHDR(v);
	}
	else
		len = typlen == NAMEDATALEN ? strnlen(bytes, NAMEDATALEN) : (size_t) typlen;
	while (strips_blanks && len > 0 && bytes[len - 1] == ' ')
		len--;
	result = form == ZS_ROW_FILTER_IMAGE ? zscodec_zone_from_bytes((const uint8 *) bytes, len) :
		(int64) hash_bytes_extended((const unsigned char *) bytes, (int) len, 0);
	if (v != NULL && (Pointer) v != DatumGetPointer(value))
		pfree(v);
	return result;
}

/* Can the filter be asked about the rows of this batch? */
static bool
is_ready(ZsRowFilter *filter)
{
	return filter->methods->is_ready(filter);
}

/* Does the zone map of the batch's column say that no row is wanted? */
static bool
excludes(const ZsRowFilter *filter, ZsInput *input)
{
	ZsColumnBounds bounds;

	return filter->form != ZS_ROW_FILTER_HASH &&
		zsexpr_input_bounds(input, filter->attno, &bounds) && bounds.has_zone &&
		!bounds.is_unsigned && filter->methods->excludes(filter, bounds.min, bounds.max);
}

/*
 * Do zone maps alone say that a filter of the list (of ZsRowFilter) wants no row of the input's
 * present batch?
 */
bool
zsnode_row_filters_exclude(List *filters, ZsInput *input)
{
	ListCell   *lc;

	foreach(lc, filters)
	{
		if (is_ready(lfirst(lc)) && excludes(lfirst(lc), input))
			return true;
	}
	return false;
}

/* A ZsZoneTest; arg is a filter. */
bool
zsnode_row_filter_excludes_zone(void *arg, AttrNumber attno, int64 min, int64 max)
{
	ZsRowFilter *filter = arg;

	Assert(filter->attno == attno);
	return is_ready(filter) && filter->methods->excludes(filter, min, max);
}

/* Which of the rows of passed, which are few, have values that are wanted? */
static void
test_few(const ZsRowFilter *filter, const ZsColumnVector *vector, const uint64 *passed,
		 uint64 *bits)
{
	int64		values[FEW_ROWS];
	uint16		rows[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(passed, rows);
	uint64		found[ZS_KERNEL_WORDS];

	Assert(n <= FEW_ROWS);
	for (uint32 i = 0; i < n; i++)
		values[i] = vector->vals[rows[i]];
	filter->methods->test(filter, values, n, found);
	zskernel_bits_clear(bits);
	for (uint32 i = 0; i < n; i++)
	{
		if (zskernel_bits_get(found, i))
			zskernel_bits_set(bits, rows[i]);
	}
}

/* Which of the integers of passed, nrows rows, are wanted?  False: the filter cannot tell. */
static bool
test_integers(const ZsRowFilter *filter, ZsInput *input, uint64 *passed, uint32 nrows)
{
	const ZsColumnVector *vector = zsexpr_input_column(input, filter->attno, ZS_WANT_INT, passed);
	uint64		bits[ZS_KERNEL_WORDS];

	if (vector == NULL || vector->vals == NULL)
		return false;
	Assert(vector->nrows <= ZS_KERNEL_ROWS);
	if (nrows <= FEW_ROWS)
		test_few(filter, vector, passed, bits);
	else
		filter->methods->test(filter, vector->vals, vector->nrows, bits);
	if (vector->has_nulls)
		zskernel_bits_andnot(bits, vector->nulls);
	if (vector->has_odd)
		zskernel_bits_or(bits, vector->odd);
	zskernel_bits_and(passed, bits);
	return true;
}

/* Makes room for what is found out of the entries of the vector's dictionary. */
static void
know_dictionary(ZsRowFilter *filter, const ZsColumnVector *vector)
{
	if (filter->dict_serial == vector->serial)
		return;
	if (filter->dict_max < vector->ndict)
	{
		if (filter->dict_wanted != NULL)
			pfree(filter->dict_wanted);
		filter->dict_max = 0;
		filter->dict_wanted = MemoryContextAlloc(GetMemoryChunkContext(filter), vector->ndict);
		filter->dict_max = vector->ndict;
	}
	memset(filter->dict_wanted, ENTRY_UNKNOWN, vector->ndict);
	filter->dict_serial = vector->serial;
}

/* Is the entry, which the value is, wanted? */
static bool
entry_is_wanted(ZsRowFilter *filter, uint32 entry, Datum value, int16 typlen)
{
	uint64		bits[ZS_KERNEL_WORDS];
	int64		number;

	if (filter->dict_wanted[entry] == ENTRY_UNKNOWN)
	{
		number = zsnode_row_filter_number(filter->form, filter->strips_blanks, value, typlen);
		filter->methods->test(filter, &number, 1, bits);
		filter->dict_wanted[entry] = zskernel_bits_get(bits, 0) ? ENTRY_WANTED : ENTRY_UNWANTED;
	}
	return filter->dict_wanted[entry] == ENTRY_WANTED;
}

/* Takes those strings from passed that are not wanted; false: the filter cannot tell. */
static bool
test_strings(ZsRowFilter *filter, ZsInput *input, uint64 *passed)
{
	Form_pg_attribute att = TupleDescAttr(input->desc, filter->attno - 1);
	const ZsColumnVector *vector = zsexpr_input_column(input, filter->attno, att->attlen == -1 ?
													   ZS_WANT_TEXT : ZS_WANT_DATUM, passed);
	const uint32 *entries;
	uint64		unwanted[ZS_KERNEL_WORDS] = {0};
	uint64		bits[ZS_KERNEL_WORDS];
	int64		numbers[ZS_KERNEL_ROWS];
	uint16		rows[ZS_KERNEL_ROWS];
	uint16		list[ZS_KERNEL_ROWS];
	uint32		nrows = 0;
	uint32		n;

	if (vector == NULL || (vector->codes == NULL && vector->datums == NULL))
		return false;
	if (vector->has_nulls)
		zskernel_bits_andnot(passed, vector->nulls);
	entries = vector->codes != NULL ? vector->codes : vector->entries;
	if (entries != NULL)
		know_dictionary(filter, vector);
	zskernel_bits_copy(bits, passed);
	if (vector->has_odd)
		zskernel_bits_andnot(bits, vector->odd);
	n = zskernel_bits_list(bits, list);
	for (uint32 i = 0; i < n; i++)
	{
		uint16		row = list[i];
		uint32		entry = entries == NULL ? ZS_NO_ENTRY : entries[row];
		Datum		value = (Datum) (vector->codes != NULL ? vector->dict[entry] :
									 vector->datums[row]);

		if (entry == ZS_NO_ENTRY)
		{
			numbers[nrows] = zsnode_row_filter_number(filter->form, filter->strips_blanks, value,
													  att->attlen);
			rows[nrows++] = row;
		}
		else if (!entry_is_wanted(filter, entry, value, att->attlen))
			zskernel_bits_set(unwanted, row);
	}
	if (nrows > 0)
	{
		filter->methods->test(filter, numbers, nrows, bits);
		for (uint32 i = 0; i < nrows; i++)
		{
			if (!zskernel_bits_get(bits, i))
				zskernel_bits_set(unwanted, rows[i]);
		}
	}
	zskernel_bits_andnot(passed, unwanted);
	return true;
}

/* Applies one filter to the nrows rows of passed; false if it cannot tell. */
static bool
apply(ZsRowFilter *filter, ZsInput *input, uint64 *passed, uint32 nrows, bool zones_asked)
{
	if (!zones_asked && excludes(filter, input))
	{
		zskernel_bits_clear(passed);
		return true;
	}
	switch (filter->form)
	{
		case ZS_ROW_FILTER_INT:
			return test_integers(filter, input, passed, nrows);
		case ZS_ROW_FILTER_HASH:
			return test_strings(filter, input, passed);
		case ZS_ROW_FILTER_IMAGE:
			break;
	}
	return true;
}

/* The hash table that the filters look into may be another one from now on. */
void
zsnode_row_filters_forget(List *filters)
{
	ListCell   *lc;

	foreach(lc, filters)
		((ZsRowFilter *) lfirst(lc))->dict_serial = 0;
}

/* Looks at the rows of before that are not in passed any more: is one of them wanted? */
static void
verify_removed(const ZsRowFilter *filter, ZsInput *input, ZsBatchScan *bs, const uint64 *before,
			   const uint64 *passed)
{
	Form_pg_attribute att = TupleDescAttr(input->desc, filter->attno - 1);
	uint16		list[ZS_KERNEL_ROWS];
	uint32		n = zskernel_bits_list(before, list);

	for (uint32 i = 0; i < n; i++)
	{
		uint64		found[ZS_KERNEL_WORDS];
		Datum		datum;
		bool		isnull;
		int64		value;

		if (zskernel_bits_get(passed, list[i]))
			continue;
		zsscan_batch_store(bs, list[i], input->slot);
		datum = slot_getattr(input->slot, filter->attno, &isnull);
		if (isnull)
			continue;
		value = zsnode_row_filter_number(filter->form, filter->strips_blanks, datum, att->attlen);
		/* a Bloom filter may take one for a key that lies before the first or behind the last */
		if (filter->form != ZS_ROW_FILTER_HASH && filter->methods->excludes(filter, value, value))
			continue;
		zskernel_bits_clear(found);
		if (filter->form == ZS_ROW_FILTER_IMAGE)
			found[0] = 1;
		else
			filter->methods->test(filter, &value, 1, found);
		if (zskernel_bits_any(found))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg_internal("join filter removed a row with key " INT64_FORMAT, value)));
	}
	ExecClearTuple(input->slot);
}

/* What asking the filter about a row costs, an integer being one. */
static double
cost(const ZsRowFilter *filter)
{
	return filter->form == ZS_ROW_FILTER_HASH ? ZS_STRING_KEY_FACTOR : 1.0;
}

/* What it costs to ask one filter, and another one about the rows that it leaves. */
static double
cost_of_both(const ZsRowFilter *first, const ZsRowFilter *second)
{
	return cost(first) + (1.0 - first->removes) * cost(second);
}

/* Remembers what the filter did in the last batches; true if that says something new. */
static bool
judge(ZsRowFilter *filter)
{
	Assert(filter->rows_out <= filter->rows_in);
	if (++filter->nbatches < TRIED_BATCHES)
		return false;
	filter->removes = 1.0 - (double) filter->rows_out / filter->rows_in;
	if (filter->rows_out > filter->rows_in * USELESS_SHARE)
		filter->npaused = RESTING_BATCHES;
	filter->nbatches = 0;
	filter->rows_in = filter->rows_out = 0;
	return true;
}

/* Moves filters in front of others where that makes the two of them cheaper. */
static void
order_filters(List *filters)
{
	for (int i = 1; i < list_length(filters); i++)
	{
		for (int k = i; k > 0; k--)
		{
			ListCell   *before = list_nth_cell(filters, k - 1);
			ListCell   *cell = list_nth_cell(filters, k);
			ZsRowFilter *filter = lfirst(cell);

			if (cost_of_both(filter, lfirst(before)) >=
				cost_of_both(lfirst(before), filter) * BETTER_SHARE)
				break;
			lfirst(cell) = lfirst(before);
			lfirst(before) = filter;
		}
	}
}

/*
 * Takes those rows of the input's present batch from passed that a filter of the list (of
 * ZsRowFilter) does not want; how many these are.  Filters that are not ready do nothing.  The list
 * may be brought into another order.  zones_asked: zsnode_row_filters_exclude() was called for the
 * batch.  verify: the scan that makes the batches, if values of rows that are taken out are to be
 * looked up once more, by slots of their own; else NULL.  Errors: such a value is wanted.
 */
uint32
zsnode_row_filters_apply(List *filters, ZsInput *input, uint64 *passed, bool zones_asked,
						ZsBatchScan *verify)
{
	uint32		before = zskernel_bits_count(passed);
	uint32		rows = before;
	bool		news = false;
	ListCell   *lc;

	foreach(lc, filters)
	{
		ZsRowFilter *filter = lfirst(lc);
		uint64		tested[ZS_KERNEL_WORDS];
		uint32		left;

		if (rows == 0)
			break;
		if (!is_ready(filter))
			continue;
		if (filter->npaused > 0)
		{
			filter->npaused--;
			continue;
		}
		zskernel_bits_copy(tested, passed);
		if (!apply(filter, input, passed, rows, zones_asked))
			continue;
		if (verify != NULL)
			verify_removed(filter, input, verify, tested, passed);
		left = zskernel_bits_count(passed);
		filter->rows_in += rows;
		filter->rows_out += left;
		rows = left;
		news |= judge(filter);
	}
	if (news)
		order_filters(filters);
	return before - rows;
}

/* Tells EXPLAIN which columns of the table the filters look at, and how many rows they removed. */
void
zsnode_row_filters_explain(List *filters, Relation rel, uint64 removed, struct ExplainState *es)
{
	Bitmapset  *seen = NULL;
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, filters)
	{
		AttrNumber	attno = ((ZsRowFilter *) lfirst(lc))->attno;

		Assert(attno > 0 && attno <= RelationGetNumberOfAttributes(rel));
		if (bms_is_member(attno, seen))
			continue;
		seen = bms_add_member(seen, attno);
		names = lappend(names, NameStr(TupleDescAttr(RelationGetDescr(rel), attno - 1)->attname));
	}
	ExplainPropertyList("Join Filter Keys", names, es);
	if (es->analyze && (es->format != EXPLAIN_FORMAT_TEXT || removed > 0))
		ExplainPropertyUInteger("Rows Removed by Join Filter Keys", NULL, removed, es);
}
