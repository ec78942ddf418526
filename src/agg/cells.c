/*-------------------------------------------------------------------------
 *
 * cells.c
 *	  Counts of rows by hashes.
 *
 * A count-min sketch of one row (Cormode, Muthukrishnan: An Improved Data Stream Summary: The
 * Count-Min Sketch and its Applications, Journal of Algorithms 55, 2005).  All rows of a group are
 * in one cell, so it has no more rows than the cell.  Where few rows come
 * to a cell a count needs only two bits, and there are so many cells that most rows have one of
 * their own.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/agg/cells.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "zs_agg_cells.h"

/* Cells take no more than this part of the memory. */
#define CELLS_SHARE		8
#define MIN_BITS		10
#define MAX_BITS		24

/* Narrow cells in a word of 64 bits: the low bit of each. */
#define LOW_BITS		UINT64CONST(0x5555555555555555)

/* How many cells a byte has, or the part of one. */
static double
cells_of_byte(ZsCellSize size)
{
	return size == ZS_CELLS_WIDE ? 1.0 / sizeof(uint16) : 4;
}

/* So many there would be, about. */
double
zsagg_cells_number(ZsCellSize size)
{
	return (double) get_hash_memory_limit() / CELLS_SHARE * cells_of_byte(size);
}

/* Cells in which nothing was counted, in the context. */
ZsCells *
zsagg_cells_create(MemoryContext context, ZsCellSize size)
{
	ZsCells    *cells = MemoryContextAllocZero(context, sizeof(ZsCells));

	cells->bits = MIN_BITS;
	while (cells->bits < MAX_BITS && (double) (2 << cells->bits) <= zsagg_cells_number(size))
		cells->bits++;
	cells->size = (Size) ((1 << cells->bits) / cells_of_byte(size));
	if (size == ZS_CELLS_WIDE)
		cells->wide = MemoryContextAllocZero(context, cells->size);
	else
		cells->narrow = MemoryContextAllocZero(context, cells->size);
	return cells;
}

/* The largest of some wide cells. */
static uint64
most_of_wide(const uint16 *cells, uint64 n)
{
	uint16		most = 0;

	for (uint64 i = 0; i < n; i++)
		most = Max(most, cells[i]);
	return most < ZS_WIDE_CELL_MAX ? most : PG_UINT64_MAX;
}

/* No group has more rows whose hash begins with these nbits (part), as far as cells tell. */
uint64
zsagg_cells_most_of(const ZsCells *cells, int nbits, uint64 part)
{
	uint64		n = UINT64CONST(1) << (cells->bits - nbits);

	Assert(nbits >= 0 && nbits <= cells->bits && part >> nbits == 0);
	if (cells->wide != NULL)
		return most_of_wide(cells->wide + part * n, n);
	/* of some hundred rows one meets another, and nobody has to look */
	return PG_UINT64_MAX;
}

/* The largest number of rows that a cell may have. */
uint64
zsagg_cells_most(const ZsCells *cells)
{
	const uint64 *words = (const uint64 *) cells->narrow;
	uint64		any = 0;
	uint64		two = 0;
	uint64		full = 0;

	if (cells->wide != NULL)
		return most_of_wide(cells->wide, UINT64CONST(1) << cells->bits);
	for (Size i = 0; i < cells->size / sizeof(uint64); i++)
	{
		any |= words[i];
		two |= words[i] >> 1 & LOW_BITS;
		full |= words[i] & words[i] >> 1 & LOW_BITS;
	}
	return full != 0 ? PG_UINT64_MAX : two != 0 ? 2 : any != 0 ? 1 : 0;
}

StaticAssertDecl((1 << MIN_BITS) / 4 % sizeof(uint64) == 0, "narrow cells are whole words");
