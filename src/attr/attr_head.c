/*-------------------------------------------------------------------------
 *
 * attr_head.c
 *	  Heads of segments, kept for single-value lookups.
 *
 * To fetch one value takes its segment's directory and often its dictionary;
 * parsing them costs many times what decoding the value does, and an index
 * lookup does it for each column, with readers that live for one query.  So
 * parsed heads stay in a cache of the backend.
 *
 * A head is found in two ways.  By the whole item that the tree has for the
 * segment at this moment, random stamp included: this needs no invalidation,
 * since a segment is never changed in place, and heads of segments that are
 * gone are just not asked for again, and leave as the least recently used.  An item of a segment
 * without pages has no stamp, but says all that is in the segment.
 *
 * And by row number, without a descent.  Such a head may be out of date, which
 * does no harm: the segment's pages carry its stamp, so a reader notices when
 * they are used for something else, and as long as they are not, what they say
 * of the rows that the segment covers is still right, because a row's values
 * never change and a number that a segment covers is not given to another row.  For
 * the same reason a row that such a head covers need not be looked for in the row
 * tree (zsattr_segment_is_known()).  What does change the meaning of a row number are another file
 * under the table's name and emptying the file in place: then, and whenever
 * else the relation cache is invalidated, the table's heads are not found by
 * row any more.
 *
 * Invariants:
 *	1. a head with users is never freed;
 *	2. heads without users count for at most CACHE_SIZE bytes after every entry;
 *	3. a head is in by_row_buckets if and only if its by_row is set.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_head.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "attr_internal.h"

/* Bytes that all heads together may take, those in use excepted. */
#define CACHE_SIZE			((Size) 16 * 1024 * 1024)

#define NBUCKETS			4096

static MemoryContext cache_context = NULL;
static ZsAllocator cache_alloc;
static ZsSegmentHead **buckets;
static ZsSegmentHead **by_row_buckets;
static dlist_head lru = DLIST_STATIC_INIT(lru);
static Size cache_used = 0;

/* Takes heads of a table, or of all with InvalidOid, out of the index by row. */
static void
forget_table(Oid relid)
{
	dlist_iter	iter;

	dlist_foreach(iter, &lru)
	{
		ZsSegmentHead *head = dlist_container(ZsSegmentHead, lru, iter.cur);

		if (!OidIsValid(relid) || head->relid == relid)
			zsattr_head_gone(head);
	}
}

/*
 * Forgets what this backend knows about the table's segments.  To be called when the
 * file is emptied in place.
 */
void
zsattr_forget_segments(Relation rel)
{
	forget_table(RelationGetRelid(rel));
}

/* Error if a newer release wrote the segment that begins with these bytes, as its head tells. */
void
zsattr_refuse_newer(Relation rel, const uint8 *head, size_t len)
{
	int			version = zscodec_segment_version(head, len);

	if (version > ZS_CODEC_VERSION_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" has segments of version %d, which this version of zedstore_io does not know",
						RelationGetRelationName(rel), version),
				 errdetail("The newest version it knows is %d.", ZS_CODEC_VERSION_MAX),
				 errhint("Install a newer release of zedstore_io and restart the server.")));
}

/*
 * What is wrong with a head that was parsed: it has to agree with its item and with the column's
 * type.  NULL = nothing.  NULLs alone are of any type: a virtual generated column has nothing else,
 * and its type changes without a rewrite.
 */
const char *
zsattr_head_check(const ZsSegmentHead *head, const ZsAttrKind *kind)
{
	const ZsSegmentInfo *info = &head->info;

	if (info->nrows != head->item.nrows || info->stored_size != head->item.payload_size)
		return "size differs from the tree's item";
	if (info->nnulls < info->nrows &&
		(info->kind != kind->kind ||
		 ((kind->kind == ZS_KIND_INT || kind->kind == ZS_KIND_FIXED) &&
		  info->width != kind->width) ||
		 (kind->kind == ZS_KIND_FIXED && info->align != kind->align)))
		return "values are of another type than the column";
	return NULL;
}

static void
create_cache(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "zedstore segment heads",
												  ALLOCSET_DEFAULT_SIZES);

	buckets = MemoryContextAllocZero(context, NBUCKETS * sizeof(ZsSegmentHead *));
	by_row_buckets = MemoryContextAllocZero(context, NBUCKETS * sizeof(ZsSegmentHead *));
	zsbase_listen_relcache(forget_table);
	zsattr_allocator(context, &cache_alloc);
	cache_context = context;
}

/* Stamps are random, but where there are no pages they are values: many segments have the same. */
static ZsSegmentHead **
bucket_of(uint16 treeno, const ZsSegmentItem *item)
{
	uint32		place = (uint32) (item->first_row / ZS_STRIPE_ROWS);

	return &buckets[(item->stamp ^ murmurhash32(place ^ (uint32) treeno << 21)) % NBUCKETS];
}

/*
 * Bucket of the segments that begin in one aligned range of ZS_SEGMENT_ROWS rows, which is
 * as long as a segment can be.
 */
static ZsSegmentHead **
by_row_bucket(RelFileNumber relnumber, uint16 treeno, uint64 range)
{
	return &by_row_buckets[hash_combine(murmurhash32(relnumber ^ (uint32) range),
										treeno) % NBUCKETS];
}

static ZsSegmentHead **
by_row_bucket_of(const ZsSegmentHead *head)
{
	return by_row_bucket(head->file.locator.relNumber, head->treeno,
						 head->item.first_row / ZS_SEGMENT_ROWS);
}

/* The head's segment is gone from the tree: zsattr_head_find() returns it no more. */
void
zsattr_head_gone(ZsSegmentHead *head)
{
	ZsSegmentHead **link;

	if (!head->by_row)
		return;
	link = by_row_bucket_of(head);
	while (*link != head)
		link = &(*link)->next_by_row;
	*link = head->next_by_row;
	head->by_row = false;
}

static ZsSegmentHead *
find_by_row(Relation rel, uint16 treeno, zstid row)
{
	uint64		range = row / ZS_SEGMENT_ROWS;

	if (cache_context == NULL)
		return NULL;

	/* it begins in the row's range or in the one before */
	for (int i = 0; i < 2 && range >= i; i++)
	{
		for (ZsSegmentHead *head = *by_row_bucket(rel->rd_locator.relNumber, treeno, range - i);
			 head != NULL; head = head->next_by_row)
		{
			if (head->treeno == treeno && zsattr_item_covers(&head->item, row) &&
				zsbase_has_file(rel, &head->file))
				return head;
		}
	}
	return NULL;
}

/*
 * The head of a segment that covers row, in use by the caller, or NULL when none is in the cache.
 * The tree may have another segment in its place meanwhile: while its pages are what they
 * were, its values are right all the same; else the caller learns it from them.
 */
ZsSegmentHead *
zsattr_head_find(Relation rel, uint16 treeno, zstid row)
{
	ZsSegmentHead *head = find_by_row(rel, treeno, row);

	if (head != NULL)
	{
		head->nusers++;
		dlist_move_head(&lru, &head->lru);
	}
	return head;
}

/*
 * Does this backend know of a segment of the column that covers row?  Then segments have the row's
 * values, unless there never was such a row.
 */
bool
zsattr_segment_is_known(Relation rel, AttrNumber attno, zstid row)
{
	return zs_enable_fetch_cache && find_by_row(rel, ZsTreeOfAttr(attno), row) != NULL;
}

static void
drop_head(ZsSegmentHead *head)
{
	ZsSegmentHead **link = bucket_of(head->treeno, &head->item);

	Assert(head->cached && head->nusers == 0);

	while (*link != head)
		link = &(*link)->next;
	*link = head->next;
	zsattr_head_gone(head);
	dlist_delete(&head->lru);
	Assert(cache_used >= head->size);
	cache_used -= head->size;
	zscodec_shared_free(&head->shared);
	zsattr_bodies_drop(head);
	pfree(head);
}

/* Makes room for size bytes, as far as unused heads allow. */
static void
evict(Size size)
{
	dlist_node *node = dlist_is_empty(&lru) ? NULL : dlist_tail_node(&lru);

	while (node != NULL && cache_used + size > CACHE_SIZE)
	{
		ZsSegmentHead *head = dlist_container(ZsSegmentHead, lru, node);

		node = dlist_has_prev(&lru, node) ? dlist_prev_node(&lru, node) : NULL;
		if (head->nusers == 0)
			drop_head(head);
	}
}

/* Enters a head in the index by row. */
static void
enter_by_row(ZsSegmentHead *head)
{
	ZsSegmentHead **link;

	if (head->by_row)
		return;
	link = by_row_bucket_of(head);
	head->next_by_row = *link;
	*link = head;
	head->by_row = true;
}

/* The head of exactly this segment, in use by the caller, or NULL. */
ZsSegmentHead *
zsattr_head_lookup(Relation rel, uint16 treeno, const ZsSegmentItem *item)
{
	if (cache_context == NULL)
		return NULL;
	for (ZsSegmentHead *head = *bucket_of(treeno, item); head != NULL; head = head->next)
	{
		if (memcmp(&head->item, item, sizeof(ZsSegmentItem)) == 0 && head->treeno == treeno &&
			zsbase_has_file(rel, &head->file))
		{
			head->nusers++;
			head->relid = RelationGetRelid(rel);
			enter_by_row(head);
			dlist_move_head(&lru, &head->lru);
			return head;
		}
	}
	return NULL;
}

/* Enters a copy of a head (without shared area); in use by the caller. */
ZsSegmentHead *
zsattr_head_enter(Relation rel, uint16 treeno, const ZsSegmentHead *head)
{
	ZsSegmentHead *entry;
	ZsSegmentHead **link;

	if (cache_context == NULL)
		create_cache();
	evict(sizeof(ZsSegmentHead));

	entry = MemoryContextAllocZero(cache_context, sizeof(ZsSegmentHead));
	entry->item = head->item;
	entry->info = head->info;
	entry->relid = RelationGetRelid(rel);
	entry->file = zsbase_file(rel);
	entry->treeno = treeno;
	entry->cached = true;
	entry->nusers = 1;
	entry->size = sizeof(ZsSegmentHead);
	zscodec_shared_init(&entry->shared, &cache_alloc);

	link = bucket_of(entry->treeno, &entry->item);
	entry->next = *link;
	*link = entry;
	enter_by_row(entry);
	dlist_push_head(&lru, &entry->lru);
	cache_used += entry->size;
	return entry;
}

/* The head's shared area may have more memory than before. */
void
zsattr_head_grown(ZsSegmentHead *head)
{
	Size		bytes = zscodec_shared_memory(&head->shared);

	Assert(head->shared_open);
	bytes -= head->shared_size;
	if (bytes == 0)
		return;
	head->shared_size += bytes;

	if (!head->cached)
		return;
	Assert(head->nusers > 0);
	evict(bytes);
	head->size += bytes;
	cache_used += bytes;
}

/* The caller does not use the head any more. */
void
zsattr_head_release(ZsSegmentHead *head)
{
	if (!head->cached)
		return;
	Assert(head->nusers > 0);
	head->nusers--;
}
