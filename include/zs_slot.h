/*-------------------------------------------------------------------------
 *
 * zs_slot.h
 *	  Tuple table slots of zedstore tables.
 *
 * A slot does not hold a row but knows where to get it: columns are decoded when
 * somebody looks at them.  What is in a slot besides what all slots have is
 * known to src/scan only (scan_slot.h).
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_slot.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_SLOT_H
#define ZS_SLOT_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "utils/rel.h"

#include "zs_format.h"
#include "zs_projection.h"

extern const TupleTableSlotOps TTSOpsZedstore;

#define TTS_IS_ZEDSTORE(slot) ((slot)->tts_ops == &TTSOpsZedstore)

/* scan_slot.c */

extern zstid zsslot_row(const TupleTableSlot *slot);
extern const ZsVisSlot *zsslot_vis(TupleTableSlot *slot);
extern void zsslot_want_vis(TupleTableSlot *slot, bool wanted);

extern void zsslot_set_inserted(TupleTableSlot *slot, TransactionId xmin, TransactionId xmax,
								CommandId cmin);
extern void zsslot_store_values(TupleTableSlot *slot, Relation rel, zstid row,
								const ZsVisSlot *vis, int n, const AttrNumber *attnos,
								const Datum *values, const bool *isnull);

/* scan_stage.c */

struct ZsRowStage;

extern void zsslot_use_stage(Relation rel, TupleTableSlot **slots, int nslots);
extern int	zsslot_count_staged(TupleTableSlot **slots, int nslots, struct ZsRowStage **stage);

#endif							/* ZS_SLOT_H */
