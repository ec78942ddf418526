/*-------------------------------------------------------------------------
 *
 * zs_agg_cells.h
 *	  Counts of rows by hashes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_agg_cells.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_AGG_CELLS_H
#define ZS_AGG_CELLS_H

#include "postgres.h"

#define ZS_HASH_BITS		64

/* How far a cell counts.  A count that has come so far says nothing. */
typedef enum ZsCellSize
{
	ZS_CELLS_WIDE,				/* 16 bits */
	ZS_CELLS_NARROW				/* 2 bits: eight times as many cells */
} ZsCellSize;

#define ZS_WIDE_CELL_MAX	PG_UINT16_MAX
#define ZS_NARROW_CELL_MAX	3

/* The first bits of a hash choose a cell. */
typedef struct ZsCells
{
	int			bits;
	Size		size;			/* bytes */
	uint16	   *wide;			/* or NULL */
	uint8	   *narrow;			/* or NULL; four to a byte */
} ZsCells;

/* ---- cells.c ---- */

extern ZsCells *zsagg_cells_create(MemoryContext context, ZsCellSize size);
extern double zsagg_cells_number(ZsCellSize size);
extern uint64 zsagg_cells_most(const ZsCells *cells);
extern uint64 zsagg_cells_most_of(const ZsCells *cells, int nbits, uint64 part);

/* A row with the hash comes. */
static inline void
zsagg_cells_count(ZsCells *cells, uint64 hash)
{
	uint64		at = hash >> (ZS_HASH_BITS - cells->bits);

	if (cells->wide != NULL)
		cells->wide[at] += cells->wide[at] < ZS_WIDE_CELL_MAX ? 1 : 0;
	else
	{
		int			shift = (int) (at % 4) * 2;
		uint8	   *four = &cells->narrow[at / 4];

		*four += (uint8) ((*four >> shift & 3) < ZS_NARROW_CELL_MAX ? 1 << shift : 0);
	}
}

/* So many rows with the hash, and others like it, may have come at most. */
static inline uint64
zsagg_cells_rows(const ZsCells *cells, uint64 hash)
{
	uint64		at = hash >> (ZS_HASH_BITS - cells->bits);
	uint64		count;

	if (cells->wide != NULL)
	{
		count = cells->wide[at];
		return count < ZS_WIDE_CELL_MAX ? count : PG_UINT64_MAX;
	}
	count = cells->narrow[at / 4] >> (at % 4 * 2) & 3;
	return count < ZS_NARROW_CELL_MAX ? count : PG_UINT64_MAX;
}

/* The cell of the hash is going to be looked at, behind so many others. */
#define ZS_CELLS_AHEAD		32

static inline void
zsagg_cells_fetch(const ZsCells *cells, uint64 hash)
{
	uint64		at = hash >> (ZS_HASH_BITS - cells->bits);

	if (cells->wide != NULL)
		__builtin_prefetch(&cells->wide[at], 1);
	else
		__builtin_prefetch(&cells->narrow[at / 4], 1);
}

#endif							/* ZS_AGG_CELLS_H */
