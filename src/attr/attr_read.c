/*-------------------------------------------------------------------------
 *
 * attr_read.c
 *	  From segments on disk to decoded vectors.
 *
 * A reader works on three levels, each a copy that outlives the buffer lock
 * it was made under:
 *
 *	  index page	the items of the segments around, so that a scan descends
 *					the tree once in 127 segments
 *	  segment		the open one: its head (directory, shared dictionary), and a
 *					window of its payload
 *	  vector		the stripe decoded last
 *
 * A scan finds its next stripe in the open segment by a subtraction and a
 * comparison.  Lookups of single values read no more than the bytes of one
 * vector; heads come from a cache that all readers of a backend share.
 *
 * Locks: none held between calls.  Nothing is written.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_read.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "varatt.h"

#include "attr_internal.h"

/* ---- life of a reader -------------------------------------------------- */

/*
 * Stands in the memory context that a reader belongs to, and gives back what the reader has when
 * that goes first: after an error.
 */
struct ZsReaderGuard
{
	MemoryContextCallback callback;
	ZsAttrReader *reader;		/* NULL: has ended */
};

/* MemoryContextCallback; what the reader had in contexts below is gone already. */
static void
release_reader(void *arg)
{
	ZsReaderGuard *guard = arg;

	if (guard->reader == NULL)
		return;
	zsattr_segment_close(guard->reader);
	zsattr_space_put(guard->reader->space, false);
}

/*
 * The struct itself comes with the space, and a context of its own only has a reader that needs
 * one: lookups begin and end one for each column.
 */
ZsAttrReader *
zsattr_reader_begin(Relation rel, TupleDesc desc, AttrNumber attno, int flags,
					BufferAccessStrategy strategy)
{
	Form_pg_attribute att = zsattr_form(desc, attno);
	ZsReaderGuard *guard = palloc_object(ZsReaderGuard);
	ZsReaderSpace *space = zsattr_space_get();
	ZsAttrReader *reader = space->reader;

	memset(reader, 0, sizeof(*reader));
	reader->owner = CurrentMemoryContext;
	reader->guard = guard;
	reader->space = space;
	guard->reader = reader;
	guard->callback.func = release_reader;
	guard->callback.arg = guard;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &guard->callback);

	reader->rel = rel;
	reader->attno = attno;
	reader->treeno = ZsTreeOfAttr(attno);
	reader->flags = flags;
	reader->strategy = strategy;
	zsattr_kind(att, &reader->kind);
	reader->vec_stripe = ZS_INVALID_ROW;
	reader->value_row = ZS_INVALID_ROW;
	reader->value_stripe = ZS_INVALID_ROW;
	reader->counts = &reader->own_counts;
	return reader;
}

/*
 * Has the reader add what it reads from now on to counts, and what its look-ahead does to io, which
 * may be NULL.  Both outlive it.  Before its first range.
 */
void
zsattr_reader_count(ZsAttrReader *reader, ZsReadCounts *counts, ZsIoCounts *io)
{
	Assert(reader->stream == NULL);
	reader->counts = counts;
	reader->io = io;
}

/*
 * Tells a streaming reader the row range that will be read next, in ascending order.  Look-ahead
 * goes on to the ranges behind it where ranges (which outlives the reader's use, or is NULL) leads
 * to them, and never beyond.  May be called again at any time (rescan, next parallel chunk).
 */
void
zsattr_reader_range(ZsAttrReader *reader, zstid start, zstid end, const ZsRowRanges *ranges)
{
	if ((reader->flags & ZS_READER_STREAM) == 0)
		return;
	if (reader->stream == NULL)
	{
		MemoryContext oldcontext;

		if (reader->stream_context == NULL)
			reader->stream_context = AllocSetContextCreate(reader->owner,
														   "zedstore attribute stream",
														   ALLOCSET_SMALL_SIZES);
		oldcontext = MemoryContextSwitchTo(reader->stream_context);
		reader->stream = zsattr_stream_begin(reader->rel, reader->attno,
											 (reader->flags & ZS_READER_MAINTENANCE) != 0,
											 reader->strategy, reader->io, reader->picks);
		MemoryContextSwitchTo(oldcontext);
	}
	if (reader->stream != NULL)
		zsattr_stream_range(reader->stream, start, end, ranges);
}

/*
 * Lets look-ahead leave out pages of stripes that picks (which outlives the reader's use) says are
 * not going to be asked for.  They may be asked for all the same.  Before the first range.
 */
void
zsattr_reader_picks(ZsAttrReader *reader, const ZsStripePicks *picks)
{
	Assert(reader->stream == NULL);
	reader->picks = picks;
}

/*
 * Makes a streaming reader that has a range take turns with other scans of the same device
 * (zedstore.scan_scheduling).  The scan that it is part of goes on to scan_end, of which the range
 * may be a part.
 */
void
zsattr_reader_take_turns(ZsAttrReader *reader, zstid scan_end)
{
	if (reader->stream != NULL)
		zsattr_stream_take_turns(reader->stream, scan_end);
}

/*
 * Drops everything that was read: VACUUM may have put another segment in the place of what is kept.
 */
void
zsattr_reader_forget(ZsAttrReader *reader)
{
	zsattr_segment_close(reader);
	reader->index_valid = false;
	reader->value_stripe = ZS_INVALID_ROW;
}

/* Gives back all that the reader has, its pins included; it is gone then. */
void
zsattr_reader_end(ZsAttrReader *reader)
{
	if (reader->stream != NULL)
		zsattr_stream_end(reader->stream);
	if (reader->stream_context != NULL)
		MemoryContextDelete(reader->stream_context);
	if (reader->value_context != NULL)
		MemoryContextDelete(reader->value_context);
	reader->guard->reader = NULL;
	zsattr_segment_close(reader);
	zsattr_space_put(reader->space, true);
}

/* ---- decoding ---------------------------------------------------------- */

/* The dictionary of the open segment gets its integers, once. */
static void
scale_shared(ZsAttrReader *reader, ZsSegmentHead *head)
{
	const char *error;

	if (head->shared.scaled_mem != NULL || !head->shared_open)
		return;
	error = zscodec_shared_scale(&head->info, &head->shared);
	if (error != NULL)
		zsattr_segment_corrupted(reader, &head->item, error);
	zsattr_head_grown(head);
}

/*
 * Forms that the vector has by its codes, from the dictionary at hand: whoever holds that one would
 * not like to see it go, which reading the segment again may mean.
 */
static void
add_forms(ZsAttrReader *reader, uint32 want)
{
	ZsVectorOut *vec = &reader->space->vec;
	ZsSegmentHead *head = reader->head;
	const char *error;

	if (want & ZS_FORM_SCALED)
		scale_shared(reader, head);
	error = zscodec_vector_from_codes(&head->info, &head->shared, want, vec);
	if (unlikely(error != NULL))
		zsattr_segment_corrupted(reader, &head->item, error);
	zsattr_head_grown(head);
	if ((want & vec->have & ZS_FORM_VALUES) && unlikely(zsattr_needs_reshape(&reader->kind)))
		zsattr_reshape_values(reader, vec, 0, vec->nrows - 1);
	reader->vec_lacks |= want & ~vec->have;
}

/*
 * Decodes forms of a stripe that space->vec does not have yet; false when no segment covers it.
 * rows: of VALUES, which is all that is wanted, those of these rows are enough; NULL: all.
 */
static bool
decode_forms(ZsAttrReader *reader, zstid stripe, uint32 want, const uint64 *rows)
{
	ZsVectorOut *vec = &reader->space->vec;
	uint32		before = reader->vec_stripe == stripe ? vec->have : 0;
	uint32		lacks = reader->vec_stripe == stripe ? reader->vec_lacks : 0;
	bool		reshape = unlikely(zsattr_needs_reshape(&reader->kind));
	ZsSegmentHead *head = zsattr_segment_find(reader, stripe, true);
	uint32		forms;
	const uint8 *bytes = NULL;
	bool		kept = false;
	const char *error;
	int			vecno;

	for (;;)
	{
		if (head == NULL)
			return false;
		vecno = (int) ((stripe - head->item.first_row) / ZS_VECTOR_ROWS);
		forms = zscodec_vector_forms(&head->info, vecno);
		/* a constant would have to be reshaped, too */
		if (reshape)
			forms &= ~ZS_FORM_CONST;
		if ((want & forms) == 0 || likely(zsattr_segment_vector(reader, vecno, &bytes)))
			break;
		head = zsattr_segment_reload(reader, stripe, true);
		/* it may have more rows now */
		rows = before == 0 ? rows : NULL;
		if (before & ZS_FORM_SOME)
			want |= ZS_FORM_VALUES;
		want |= before & ~ZS_FORM_SOME;
		kept = kept || (before & ZS_FORM_SOME) != 0;
		before = lacks = 0;
	}

	/* some values may have been given out, which are going to be formed again */
	if (kept || ((before & ZS_FORM_SOME) && (want & ZS_FORM_VALUES)))
	{
		zscodec_vector_keep(vec);
		before &= ~ZS_FORM_SOME;
	}

	if (before == 0)
		reader->counts->vectors++;
	reader->vec_stripe = ZS_INVALID_ROW;
	reader->value_row = ZS_INVALID_ROW;
	if ((want & ZS_FORM_SCALED) && head->info.vectors[vecno].encoding == ZS_ENC_DICT)
		scale_shared(reader, head);
	if (rows != NULL && (want & forms) == ZS_FORM_VALUES)
		error = zscodec_vector_decode_some(&head->info, vecno, bytes,
										   head->info.vectors[vecno].len, &head->shared, rows, vec);
	else
		error = zscodec_vector_decode(&head->info, vecno, bytes, head->info.vectors[vecno].len,
									  &head->shared, want & forms, vec);
	if (unlikely(error != NULL))
		zsattr_segment_corrupted(reader, &head->item, error);
	if (head->shared_open)
		zsattr_head_grown(head);
	if (reshape && (vec->have & ZS_FORM_VALUES) && vec->nrows > 0)
		zsattr_reshape_values(reader, vec, 0, vec->nrows - 1);

	/* what a constant came for may be had yet */
	forms = vec->have;
	if (forms & ZS_FORM_CONST)
		forms |= ZS_FORM_VALUES | ZS_FORM_SCALED | ZS_FORM_LENGTHS;
	if (forms & ZS_FORM_SOME)
		forms |= ZS_FORM_VALUES;
	reader->vec_lacks = lacks | (want & ~forms);
	vec->have |= before;
	reader->vec_stripe = stripe;
	return true;
}

/*
 * The decoded vector of the stripe that starts at `stripe` (aligned), with the forms of `want`
 * (ZS_FORM_..., zs_codec.h) that its encoding has; out->have says which.  VALUES are always among
 * them when wanted; the others depend on the encoding, which differs from vector to vector.  What
 * was formed before for the same stripe stays valid and stands in out->have, too: a caller asks for
 * the cheapest forms that it can use first, and for values when these are not there or somebody
 * looks at them.  CONST comes instead of VALUES, SCALED and LENGTHS wanted by the same call.
 * Asking for forms that the vector does not have costs next to nothing.
 *
 * A dictionary that was asked for stays as long as the vector.  Should VACUUM replace the segment
 * between two calls, then the vector is decoded anew, in the forms that it had as far as the new
 * segment has them: a caller looks at out->have and out->nrows after each call.
 *
 * NULL when no segment covers the stripe.  Rows beyond the segment's end have out->nrows <= index.
 * Valid until a call for another stripe or a single value.  External (overflow) values are returned
 * as pointers, out->isext set.  Errors: ERRCODE_DATA_CORRUPTED.
 */
const ZsVectorOut *
zsattr_reader_forms(ZsAttrReader *reader, zstid stripe, uint32 want)
{
	ZsVectorOut *vec = &reader->space->vec;

	Assert(stripe % ZS_STRIPE_ROWS == 0);

	if (reader->vec_stripe == stripe)
	{
		want &= ~(vec->have | reader->vec_lacks);
		if (want != 0 && (vec->have & ZS_FORM_CODES))
		{
			add_forms(reader, want);
			want = 0;
		}
		if (want == 0)
			return vec;
	}
	return decode_forms(reader, stripe, want, NULL) ? vec : NULL;
}

/*
 * As zsattr_reader_forms() with VALUES, of which only those of rows, a bitmap of ZS_VECTOR_WORDS,
 * are needed: where out->have has SOME instead, others are undefined.  Values stay if more of the
 * same stripe are asked for, in whatever way but singly.
 */
const ZsVectorOut *
zsattr_reader_some(ZsAttrReader *reader, zstid stripe, const uint64 *rows)
{
	ZsVectorOut *vec = &reader->space->vec;

	if (unlikely(zsattr_needs_reshape(&reader->kind)))
		return zsattr_reader_forms(reader, stripe, ZS_FORM_VALUES);
	if (reader->vec_stripe == stripe)
	{
		bool		has_all = (vec->have & ZS_FORM_SOME) != 0;

		for (int w = 0; w < ZS_VECTOR_WORDS && has_all; w++)
			has_all = (rows[w] & ~vec->some[w]) == 0;
		if (has_all)
			return vec;
		/* who asks again may ask for more */
		if (vec->have & (ZS_FORM_VALUES | ZS_FORM_CODES | ZS_FORM_SOME))
			return zsattr_reader_forms(reader, stripe, ZS_FORM_VALUES);
	}
	return decode_forms(reader, stripe, ZS_FORM_VALUES, rows) ? vec : NULL;
}

/* The value of a row, if zsattr_reader_some() has made it; it lives as long as the vector. */
bool
zsattr_reader_at_hand(const ZsAttrReader *reader, zstid row, Datum *value, bool *isnull)
{
	const ZsVectorOut *vec = &reader->space->vec;
	uint32		idx = row % ZS_STRIPE_ROWS;

	if (reader->vec_stripe != row - idx || (vec->have & ZS_FORM_SOME) == 0 ||
		(vec->some[idx / 64] >> (idx % 64) & 1) == 0 || (vec->has_ext && vec->isext[idx]))
		return false;
	*isnull = vec->isnull[idx];
	*value = (Datum) vec->values[idx];
	return true;
}

/*
 * What the stripe's values come to (zscodec_vector_totals()), without making any form of them;
 * those that there are stay.  False: that cannot be said.  Errors: ERRCODE_DATA_CORRUPTED.
 */
bool
zsattr_reader_totals(ZsAttrReader *reader, zstid stripe, bool extremes, ZsVectorTotals *totals)
{
	ZsSegmentHead *head = zsattr_segment_find(reader, stripe, true);
	const uint8 *bytes;
	const char *error;
	bool		found;
	int			vecno;

	Assert(stripe % ZS_STRIPE_ROWS == 0);
	if (head == NULL)
		return false;
	vecno = (int) ((stripe - head->item.first_row) / ZS_VECTOR_ROWS);

	/*
	 * a segment that was replaced is read again by whoever asks for forms: others may hold the
	 * dictionary
	 */
	if (!zsattr_segment_vector(reader, vecno, &bytes))
		return false;
	if (reader->vec_stripe != stripe)
		reader->vec_stripe = reader->value_row = ZS_INVALID_ROW;
	if (head->info.kind == ZS_KIND_NUMERIC && head->info.vectors[vecno].encoding == ZS_ENC_DICT)
		scale_shared(reader, head);
	error = zscodec_vector_totals(&head->info, vecno, bytes, head->info.vectors[vecno].len,
								  &head->shared, extremes, &reader->space->vec, totals, &found);
	if (unlikely(error != NULL))
		zsattr_segment_corrupted(reader, &head->item, error);
	return found;
}

/* Does the reader have the stripe's values, or what they are made of at once? */
bool
zsattr_reader_has_values(const ZsAttrReader *reader, zstid stripe)
{
	return reader->vec_stripe == stripe &&
		(reader->space->vec.have & (ZS_FORM_VALUES | ZS_FORM_CODES | ZS_FORM_CONST)) != 0;
}

/* As zsattr_reader_forms() with VALUES. */
const ZsVectorOut *
zsattr_reader_vector(ZsAttrReader *reader, zstid stripe)
{
	return zsattr_reader_forms(reader, stripe, ZS_FORM_VALUES);
}

/*
 * Dictionary that the codes of the vector returned last refer to, which has them; valid as long as
 * that vector.  With scaled, dict_scaled is there if the column is of numerics some of which are
 * integers.  *serial is a number that no other open dictionary of this process has had: what was
 * computed for the entries may be kept under it.  The entries are as the codec forms them: of
 * columns with another layout they are varlenas with short headers, and no Datums.
 */
const ZsSharedState *
zsattr_reader_shared(ZsAttrReader *reader, bool scaled, uint64 *serial)
{
	const char *error;

	Assert(reader->vec_stripe != ZS_INVALID_ROW && (reader->space->vec.have & ZS_FORM_CODES) != 0);
	error = zscodec_shared_form(&reader->head->shared);
	if (error != NULL)
		zsattr_segment_corrupted(reader, &reader->head->item, error);
	zsattr_head_grown(reader->head);
	if (scaled)
		scale_shared(reader, reader->head);
	*serial = reader->head->shared_serial;
	return &reader->head->shared;
}

/*
 * As zsattr_reader_shared(), where the vector returned last has entries besides values: how many
 * entries there are.  They need not be formed.
 */
uint32
zsattr_reader_entries(const ZsAttrReader *reader, uint64 *serial)
{
	Assert((reader->space->vec.have & ZS_FORM_ENTRIES) != 0);
	*serial = reader->head->shared_serial;
	return reader->head->shared.ndict;
}

/*
 * Directory of the segment that covers the stripe, and the index of its vector there, without
 * decoding anything; NULL if none: null count, zone map and encoding are in ->vectors[*vecno], the
 * possible forms says zscodec_vector_forms().  Valid until the next call.
 */
const ZsSegmentInfo *
zsattr_reader_info(ZsAttrReader *reader, zstid stripe, int *vecno)
{
	ZsSegmentHead *head = zsattr_segment_find(reader, stripe, true);

	if (head == NULL)
		return NULL;
	*vecno = (int) ((stripe - head->item.first_row) / ZS_VECTOR_ROWS);
	return &head->info;
}
