/*-------------------------------------------------------------------------
 *
 * qual_run.c
 *	  Runs filters on batches.
 *
 * SQL's logic has three values, so each node gives two bitmaps: rows for which it is true, and rows
 * for which it is false.  AND and OR ask their next argument only about rows that it can still
 * decide.
 *
 * A comparison looks at the batch's zone map first: it may tell that all rows pass, or none.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/qual_run.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "qual_internal.h"

typedef struct QualRun
{
	ZsInput    *input;
	ZsQualCounts *counts;
} QualRun;

static bool run_qual(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth);

/* Splits sel into rows that have pass set and those that have not, without NULLs. */
static void
set_truth(ZsTruth *truth, const uint64 *pass, const ZsColumnVector *vector)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		truth->yes[w] = pass[w];
		truth->no[w] = ~pass[w];
	}
	if (vector->has_nulls)
	{
		zskernel_bits_andnot(truth->yes, vector->nulls);
		zskernel_bits_andnot(truth->no, vector->nulls);
	}
}

static void
set_all(ZsTruth *truth, bool yes, bool no)
{
	memset(truth->yes, yes ? 0xFF : 0, sizeof(truth->yes));
	memset(truth->no, no ? 0xFF : 0, sizeof(truth->no));
}

/* Does the vector know all rows of sel? */
static bool
is_clean(const ZsColumnVector *vector, const uint64 *sel)
{
	return vector != NULL && (!vector->has_odd || !zskernel_bits_meet(vector->odd, sel));
}

/*
 * The node's value for the rows of sel, in a form of `want`; NULL if the batch has to be taken row
 * by row.
 */
static const ZsColumnVector *
get_value(QualRun *run, const ZsQual *qual, ZsColumnWant want, const uint64 *sel)
{
	const ZsColumnVector *vector;

	if (qual->expr != NULL)
		return zsexpr_run(qual->expr, run->input, sel, run->counts);
	Assert(qual->attno > 0);
	vector = zsexpr_input_column(run->input, qual->attno, want, sel);
	return is_clean(vector, sel) ? vector : NULL;
}

/* ---- comparisons ------------------------------------------------------------- */

/* Does the zone map of the batch decide the comparison for all of its rows? */
static bool
decide_by_zone(QualRun *run, const ZsQual *qual, ZsTruth *truth)
{
	ZsColumnBounds bounds;
	bool		all = false;
	bool		none = false;

	Assert(qual->has_zone && qual->attno > 0 && qual->expr == NULL);
	if (!zs_enable_zone_maps || !zsexpr_input_bounds(run->input, qual->attno, &bounds))
		return false;
	if (bounds.nnulls == bounds.nrows)
	{
		set_all(truth, false, false);
		return true;
	}
	if (!bounds.has_zone || bounds.nnulls > 0 || bounds.is_unsigned != qual->zone_unsigned)
		return false;
	switch (qual->op)
	{
		case ZS_CMP_LT:
			all = bounds.max < qual->zone;
			none = bounds.min >= qual->zone;
			break;
		case ZS_CMP_LE:
			all = bounds.max <= qual->zone;
			none = bounds.min > qual->zone;
			break;
		case ZS_CMP_EQ:
		case ZS_CMP_NE:
			none = qual->zone < bounds.min || qual->zone > bounds.max;
			all = bounds.min == bounds.max && bounds.min == qual->zone;
			if (qual->op == ZS_CMP_NE)
			{
				bool		swap = all;

				all = none;
				none = swap;
			}
			break;
		case ZS_CMP_GE:
			all = bounds.min >= qual->zone;
			none = bounds.max < qual->zone;
			break;
		case ZS_CMP_GT:
			all = bounds.min > qual->zone;
			none = bounds.max <= qual->zone;
			break;
	}
	if (!all && !none)
		return false;
	run->counts->skipped++;
	set_all(truth, all, none);
	return true;
}

/*
 * Numerics: brings the constant to the vector's scale, or to the integer below it with another
 * operator where it has more digits.
 */
static void
compare_decimals(const ZsQual *qual, const ZsColumnVector *vector, uint64 *pass)
{
	int64		c = qual->integer;
	ZsCompare	op = qual->op;
	int			scale = qual->scale;
	bool		rest = false;

	Assert(vector->scale >= 0 && qual->scale >= 0);
	for (; scale < vector->scale; scale++)
	{
		if (pg_mul_s64_overflow(c, 10, &c))
		{
			/* farther from zero than any value of the vector */
			bool		above = qual->integer > 0;

			zskernel_bits_clear(pass);
			if (op == ZS_CMP_NE || (above ? op == ZS_CMP_LT || op == ZS_CMP_LE :
									op == ZS_CMP_GT || op == ZS_CMP_GE))
				zskernel_bits_set_range(pass, 0, vector->nrows);
			return;
		}
	}
	for (; scale > vector->scale; scale--)
	{
		rest |= c % 10 != 0;
		c = c / 10 - (c % 10 < 0);
	}
	if (rest)
	{
		/* between c and c + 1 */
		switch (op)
		{
			case ZS_CMP_LT:
				op = ZS_CMP_LE;
				break;
			case ZS_CMP_GE:
				op = ZS_CMP_GT;
				break;
			case ZS_CMP_EQ:
			case ZS_CMP_NE:
				zskernel_bits_clear(pass);
				if (op == ZS_CMP_NE)
					zskernel_bits_set_range(pass, 0, vector->nrows);
				return;
			case ZS_CMP_LE:
			case ZS_CMP_GT:
				break;
		}
	}
	zskernel_compare_int64(vector->vals, vector->nrows, op, c, pass);
}

/*
 * Does the string at datum compare so with the node's?  With <>: is it equal?  With LIKE: does it
 * match?
 */
static inline bool
string_passes(ZsQual *qual, uint64 datum)
{
	const char *v = (const char *) datum;
	size_t		len = VARSIZE_ANY_EXHDR(v);
	const char *bytes = VARDATA_ANY(v);
	int			order;

	if (qual->kind == ZS_QUAL_LIKE)
		return zsexpr_qual_is_like(qual, datum);
	if (qual->domain == ZS_DOMAIN_BPCHAR)
	{
		while (len > 0 && bytes[len - 1] == ' ')
			len--;
	}
	if (qual->op == ZS_CMP_EQ || qual->op == ZS_CMP_NE)
		return len == qual->nbytes && memcmp(bytes, qual->bytes, len) == 0;
	order = memcmp(bytes, qual->bytes, Min(len, qual->nbytes));
	if (order == 0)
		order = len < qual->nbytes ? -1 : len > qual->nbytes;
	switch (qual->op)
	{
		case ZS_CMP_LT:
			return order < 0;
		case ZS_CMP_LE:
			return order <= 0;
		case ZS_CMP_GE:
			return order >= 0;
		default:
			return order > 0;
	}
}

/*
 * Which entries of the vector's dictionary pass?  Of an expression's dictionary only those that the
 * rows of sel have are known, and of a column's, where it takes long to find out.
 */
static const uint8 *
dictionary_table(ZsQual *qual, const ZsColumnVector *vector, const uint64 *sel)
{
	/* core's function takes long */
	bool		one_by_one = qual->expr != NULL ||
		(qual->kind == ZS_QUAL_LIKE && qual->like.npieces == 0);
	uint8	   *known;

	Assert(vector->codes != NULL && vector->dict != NULL);
	if (qual->table != NULL && vector->serial == qual->table_serial && !one_by_one)
		return qual->table;
	if (vector->ndict > qual->table_size)
	{
		MemoryContext context = GetMemoryChunkContext(qual);

		if (qual->table != NULL)
			pfree(qual->table);
		qual->table = NULL;
		qual->table_size = 0;
		qual->table = MemoryContextAlloc(context, 2 * (Size) vector->ndict);
		qual->table_size = vector->ndict;
		qual->table_serial = 0;
	}
	Assert(vector->ndict <= qual->table_size);
	if (!one_by_one)
	{
		for (uint32 i = 0; i < vector->ndict; i++)
			qual->table[i] = string_passes(qual, vector->dict[i]);
		qual->table_serial = vector->serial;
		return qual->table;
	}

	known = qual->table + qual->table_size;
	if (vector->serial != qual->table_serial)
		memset(qual->table, 0, 2 * (Size) qual->table_size);
	qual->table_serial = vector->serial;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = sel[w]; word != 0; word &= word - 1)
		{
			uint32		code = vector->codes[w * 64 + __builtin_ctzll(word)];

			if (!known[code])
				qual->table[code] = string_passes(qual, vector->dict[code]);
			known[code] = 1;
		}
	}
	return qual->table;
}

/* Which of the rows pass, if their strings are looked at one by one? */
static void
look_at_strings(ZsQual *qual, const ZsColumnVector *vector, const uint64 *rows, uint64 *pass)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		for (uint64 word = rows[w]; word != 0; word &= word - 1)
		{
			uint32		row = w * 64 + __builtin_ctzll(word);

			if (vector->codes == NULL)
				zsexpr_fetch_ahead(vector->datums, row);
			if (string_passes(qual, vector->codes == NULL ? vector->datums[row] :
							  vector->dict[vector->codes[row]]))
				pass[w] |= word & -word;
		}
	}
}

static void
invert(uint64 *bits)
{
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		bits[w] = ~bits[w];
}

/*
 * Strings: equal ones have equal codes, and equal lengths; only where these do not decide are the
 * strings looked at.  False if the batch has to be taken row by row.
 */
static bool
compare_strings(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	const ZsColumnVector *vector;
	uint64		pass[ZS_KERNEL_WORDS];
	uint64		left[ZS_KERNEL_WORDS];

	/* the length of a bpchar says nothing */
	bool		by_length = qual->domain == ZS_DOMAIN_TEXT && qual->kind == ZS_QUAL_COMPARE &&
		(qual->op == ZS_CMP_EQ || qual->op == ZS_CMP_NE);

	Assert(qual->domain == ZS_DOMAIN_TEXT || qual->domain == ZS_DOMAIN_BPCHAR);
	vector = get_value(run, qual, by_length ? ZS_WANT_STRING : ZS_WANT_TEXT, sel);
	if (vector == NULL)
		return false;
	if (qual->no_pattern)
	{
		set_all(truth, false, false);
		return true;
	}
	zskernel_bits_copy(left, sel);
	if (vector->has_nulls)
		zskernel_bits_andnot(left, vector->nulls);
	zskernel_bits_clear(pass);
	if (vector->codes != NULL && !qual->no_table)
	{
		zskernel_in_table(vector->codes, vector->nrows, dictionary_table(qual, vector, left), pass);
		zskernel_bits_clear(left);
	}
	else if (vector->lengths != NULL && by_length)
	{
		uint64		same[ZS_KERNEL_WORDS];

		zskernel_equal_uint32(vector->lengths, vector->nrows, (uint32) qual->nbytes, same);
		zskernel_bits_and(left, same);
		if (qual->nbytes == 0)
		{
			zskernel_bits_copy(pass, left);
			zskernel_bits_clear(left);
		}
	}
	if (zskernel_bits_any(left) && vector->datums == NULL && vector->codes == NULL)
		vector = get_value(run, qual, ZS_WANT_DATUM, left);
	if (vector == NULL)
		return false;
	look_at_strings(qual, vector, left, pass);
	if (qual->op == ZS_CMP_NE)
		invert(pass);
	set_truth(truth, pass, vector);
	return true;
}

static bool
run_compare(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	const ZsColumnVector *vector;
	uint64		pass[ZS_KERNEL_WORDS];

	if (qual->has_zone && decide_by_zone(run, qual, truth))
		return true;
	if (qual->domain == ZS_DOMAIN_TEXT || qual->domain == ZS_DOMAIN_BPCHAR)
		return compare_strings(run, qual, sel, truth);
	vector = get_value(run, qual, zsexpr_want_of(qual->domain), sel);
	if (vector == NULL)
		return false;
	Assert(vector->vals != NULL);
	switch (qual->domain)
	{
		case ZS_DOMAIN_INT:
			zskernel_compare_int64(vector->vals, vector->nrows, qual->op, qual->integer, pass);
			break;
		case ZS_DOMAIN_UINT:
			zskernel_compare_uint64(vector->vals, vector->nrows, qual->op, qual->integer, pass);
			break;
		case ZS_DOMAIN_FLOAT4:
			zskernel_compare_float4(vector->vals, vector->nrows, qual->op, qual->real, pass);
			break;
		case ZS_DOMAIN_FLOAT8:
			zskernel_compare_float8(vector->vals, vector->nrows, qual->op, qual->real, pass);
			break;
		case ZS_DOMAIN_DECIMAL:
			compare_decimals(qual, vector, pass);
			break;
		case ZS_DOMAIN_TEXT:
		case ZS_DOMAIN_BPCHAR:
		case ZS_DOMAIN_NONE:
			return false;
	}
	set_truth(truth, pass, vector);
	return true;
}

static bool
run_in(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	const ZsColumnVector *vector = get_value(run, qual, ZS_WANT_INT, sel);
	uint64		pass[ZS_KERNEL_WORDS];

	if (vector == NULL)
		return false;
	Assert(qual->nlist > 0 && qual->list[0] <= qual->list[qual->nlist - 1]);
	Assert(qual->op == ZS_CMP_EQ || qual->op == ZS_CMP_NE);
	zskernel_in_int64(vector->vals, vector->nrows, qual->list, qual->nlist, pass);
	if (qual->op == ZS_CMP_NE)
		invert(pass);
	set_truth(truth, pass, vector);
	return true;
}

/* Value by value of two vectors. */
static void
compare_vectors(const ZsQual *qual, const ZsColumnVector *a, const ZsColumnVector *b,
				ZsTruth *truth)
{
	uint32		n = Min(a->nrows, b->nrows);
	uint64		pass[ZS_KERNEL_WORDS];

	Assert(qual->domain == ZS_DOMAIN_INT || qual->domain == ZS_DOMAIN_UINT ||
		   qual->domain == ZS_DOMAIN_FLOAT8);
	Assert(a->vals != NULL && b->vals != NULL);
	if (qual->domain == ZS_DOMAIN_FLOAT8)
		zskernel_compare_float8s(a->vals, b->vals, n, qual->op, pass);
	else if (qual->domain == ZS_DOMAIN_UINT)
		zskernel_compare_uint64s(a->vals, b->vals, n, qual->op, pass);
	else
		zskernel_compare_int64s(a->vals, b->vals, n, qual->op, pass);
	set_truth(truth, pass, a);
	if (b->has_nulls)
	{
		zskernel_bits_andnot(truth->yes, b->nulls);
		zskernel_bits_andnot(truth->no, b->nulls);
	}
}

static bool
run_columns(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	const ZsColumnVector *a = zsexpr_input_column(run->input, qual->attno, ZS_WANT_INT, sel);
	const ZsColumnVector *b = zsexpr_input_column(run->input, qual->attno2, ZS_WANT_INT, sel);

	if (!is_clean(a, sel) || !is_clean(b, sel))
		return false;
	compare_vectors(qual, a, b, truth);
	return true;
}

static bool
run_values(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	const ZsColumnVector *a = zsexpr_run(qual->expr, run->input, sel, run->counts);
	const ZsColumnVector *b;

	if (a == NULL)
		return false;
	b = zsexpr_run(qual->expr2, run->input, sel, run->counts);
	if (b == NULL)
		return false;
	compare_vectors(qual, a, b, truth);
	return true;
}

static bool
run_null(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	ZsColumnBounds bounds;
	const ZsColumnVector *vector;

	if (zs_enable_zone_maps && qual->expr == NULL &&
		zsexpr_input_bounds(run->input, qual->attno, &bounds) &&
		(bounds.nnulls == 0 || bounds.nnulls == bounds.nrows))
	{
		run->counts->skipped++;
		set_all(truth, bounds.nnulls == bounds.nrows, bounds.nnulls == 0);
		return true;
	}
	if (qual->expr != NULL)
		vector = zsexpr_run(qual->expr, run->input, sel, run->counts);
	else
		vector = zsexpr_input_column(run->input, qual->attno, ZS_WANT_NULLS, sel);
	if (vector == NULL)
		return false;
	if (!vector->has_nulls)
	{
		set_all(truth, false, true);
		return true;
	}
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		truth->yes[w] = vector->nulls[w];
		truth->no[w] = ~vector->nulls[w];
	}
	return true;
}

/* ---- connectives --------------------------------------------------------------- */

/* AND; OR is the same with true and false exchanged. */
static bool
run_connective(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	bool		is_and = qual->kind == ZS_QUAL_AND;
	uint64	   *every = is_and ? truth->yes : truth->no;
	uint64	   *any = is_and ? truth->no : truth->yes;
	uint64		left[ZS_KERNEL_WORDS];

	Assert(is_and || qual->kind == ZS_QUAL_OR);
	zskernel_bits_copy(left, sel);
	zskernel_bits_copy(every, sel);
	zskernel_bits_clear(any);
	for (int i = 0; i < qual->nargs; i++)
	{
		ZsTruth		arg;

		if (i > 0 && !zskernel_bits_any(left))
			break;
		CHECK_FOR_INTERRUPTS();
		if (!run_qual(run, qual->args[i], left, &arg))
			return false;
		for (int w = 0; w < ZS_KERNEL_WORDS; w++)
		{
			any[w] |= (is_and ? arg.no[w] : arg.yes[w]) & left[w];
			every[w] &= is_and ? arg.yes[w] : arg.no[w];
			left[w] &= ~any[w];
		}
	}
	zskernel_bits_andnot(every, any);
	return true;
}

static bool
run_qual(QualRun *run, ZsQual *qual, const uint64 *sel, ZsTruth *truth)
{
	ZsTruth		arg;

	switch (qual->kind)
	{
		case ZS_QUAL_CONST:
			set_all(truth, qual->is_true, qual->is_false);
			return true;
		case ZS_QUAL_COMPARE:
			return run_compare(run, qual, sel, truth);
		case ZS_QUAL_COLUMNS:
			return run_columns(run, qual, sel, truth);
		case ZS_QUAL_VALUES:
			return run_values(run, qual, sel, truth);
		case ZS_QUAL_LIKE:
			return compare_strings(run, qual, sel, truth);
		case ZS_QUAL_IN:
			return run_in(run, qual, sel, truth);
		case ZS_QUAL_NULL:
			return run_null(run, qual, sel, truth);
		case ZS_QUAL_AND:
		case ZS_QUAL_OR:
			return run_connective(run, qual, sel, truth);
		case ZS_QUAL_NOT:
		case ZS_QUAL_IS_TRUE:
		case ZS_QUAL_IS_FALSE:
		case ZS_QUAL_IS_UNKNOWN:
			break;
	}
	Assert(qual->nargs == 1);
	if (!run_qual(run, qual->args[0], sel, &arg))
		return false;
	for (int w = 0; w < ZS_KERNEL_WORDS; w++)
	{
		uint64		yes = qual->kind == ZS_QUAL_IS_TRUE ? arg.yes[w] :
			qual->kind == ZS_QUAL_IS_UNKNOWN ? ~(arg.yes[w] | arg.no[w]) : arg.no[w];

		truth->yes[w] = yes;
		truth->no[w] = qual->kind == ZS_QUAL_NOT ? arg.yes[w] : ~yes;
	}
	return true;
}

/* Runs the program for the rows of sel, others are undefined; false if it must not decide. */
bool
zsexpr_qual_run(ZsQual *qual, ZsInput *input, const uint64 *sel, ZsTruth *truth,
				ZsQualCounts *counts)
{
	QualRun		run = {.input = input, .counts = counts};

	Assert(input->serial != 0);
	return run_qual(&run, qual, sel, truth);
}
