/*-------------------------------------------------------------------------
 *
 * zs_order.h
 *	  A scan by batches in the order of a column, as far as zone maps tell it.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_order.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_ORDER_H
#define ZS_ORDER_H

#include "postgres.h"

#include "utils/rel.h"

#include "zs_batch.h"

typedef struct ZsScanOrder ZsScanOrder;

/* scan_order.c */

extern ZsScanOrder *zsscan_order_begin(ZsBatchScan *bs, AttrNumber attno, bool descending);
extern zstid zsscan_order_loose(ZsScanOrder *order);
extern bool zsscan_order_bound(ZsScanOrder *order, int64 *bound, zstid *first);
extern zstid zsscan_order_next(ZsScanOrder *order);
extern zstid zsscan_order_nulls(ZsScanOrder *order, bool whole);
extern uint64 zsscan_order_skipped(const ZsScanOrder *order);

#endif							/* ZS_ORDER_H */
