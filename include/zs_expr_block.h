/*-------------------------------------------------------------------------
 *
 * zs_expr_block.h
 *	  Blocks of groups, which go from one node of ours to another.
 *
 * See node_agg_block.c.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_expr_block.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_EXPR_BLOCK_H
#define ZS_EXPR_BLOCK_H

#include "postgres.h"

#include "access/tupdesc.h"

#include "zs_kernel.h"

/* What a block has of a column of its groups' rows. */
typedef enum ZsBlockKind
{
	ZS_BLOCK_INT,				/* integers of 8 bytes, as vectors have them: by-value types */
	ZS_BLOCK_DECIMAL,			/* the same: numerics, all of one scale */
	ZS_BLOCK_IMAGE				/* images of states, as varlenas */
} ZsBlockKind;

typedef struct ZsBlockColumn
{
	ZsBlockKind kind;
	Size		image;			/* bytes of an image */
	Size		entry;			/* bytes for each group */
} ZsBlockColumn;

typedef struct ZsBlockHead
{
	int64		mark;			/* where images have a count, which is never negative: */
	uint32		ngroups;
	uint32		maxgroups;		/* that there is room for */
} ZsBlockHead;

#define ZS_BLOCK_MARK		INT64CONST(-1)

/* No block has more groups. */
#define ZS_BLOCK_GROUPS		256
StaticAssertDecl(ZS_BLOCK_GROUPS <= ZS_KERNEL_ROWS, "a block is a batch of whoever reads it");

/* In front of the entries of a column: which of the groups have NULL there, and the scale. */
typedef struct ZsBlockColumnHead
{
	uint64		nulls[ZS_BLOCK_GROUPS / 64];
	int64		scale;
} ZsBlockColumnHead;

/* In an entry the varlena of an image begins here, so that the image is aligned. */
#define ZS_BLOCK_VARLENA	(sizeof(uint64) - VARHDRSZ)

static inline Size
zsexpr_block_column_size(const ZsBlockColumn *column, uint32 maxgroups)
{
	return sizeof(ZsBlockColumnHead) + column->entry * maxgroups;
}

#endif							/* ZS_EXPR_BLOCK_H */
