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
 * The cache needs no invalidation: a head is found by the whole item that the
 * tree has for the segment at this moment, random stamp included, and a
 * segment is never changed in place.  Heads of segments that are gone are
 * just not asked for again, and leave as the least recently used.
 *
 * Invariants:
 *	1. a head with users is never freed;
 *	2. heads without users count for at most CACHE_SIZE bytes after every entry.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_head.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "attr_internal.h"

/* Bytes that all heads together may take, those in use excepted. */
#define CACHE_SIZE			((Size) 16 * 1024 * 1024)

/* Stamps are random, so they are good hash values. */
#define NBUCKETS			4096

static MemoryContext cache_context = NULL;
static ZsAllocator cache_alloc;
static ZsSegmentHead **buckets;
static dlist_head lru = DLIST_STATIC_INIT(lru);
static Size cache_used = 0;

static void
create_cache(void)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "zedstore segment heads",
												  ALLOCSET_DEFAULT_SIZES);

	buckets = MemoryContextAllocZero(context, NBUCKETS * sizeof(ZsSegmentHead *));
	zsattr_allocator(context, &cache_alloc);
	cache_context = context;
}

static ZsSegmentHead **
bucket_of(const ZsSegmentItem *item)
{
	return &buckets[item->stamp % NBUCKETS];
}

static void
drop_head(ZsSegmentHead *head)
{
	ZsSegmentHead **link = bucket_of(&head->item);

	Assert(head->cached && head->nusers == 0);

	while (*link != head)
		link = &(*link)->next;
	*link = head->next;
	dlist_delete(&head->lru);
	Assert(cache_used >= head->size);
	cache_used -= head->size;
	zscodec_shared_free(&head->shared);
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

ZsSegmentHead *
zsattr_head_lookup(Relation rel, uint16 treeno, const ZsSegmentItem *item)
{
	if (cache_context == NULL)
		return NULL;
	for (ZsSegmentHead *head = *bucket_of(item); head != NULL; head = head->next)
	{
		if (memcmp(&head->item, item, sizeof(ZsSegmentItem)) == 0 && head->treeno == treeno &&
			RelFileLocatorEquals(head->locator, rel->rd_locator))
		{
			head->nusers++;
			dlist_move_head(&lru, &head->lru);
			return head;
		}
	}
	return NULL;
}

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
	entry->locator = rel->rd_locator;
	entry->treeno = treeno;
	entry->cached = true;
	entry->nusers = 1;
	entry->size = sizeof(ZsSegmentHead);
	zscodec_shared_init(&entry->shared, &cache_alloc);

	link = bucket_of(&entry->item);
	entry->next = *link;
	*link = entry;
	dlist_push_head(&lru, &entry->lru);
	cache_used += entry->size;
	return entry;
}

void
zsattr_head_grown(ZsSegmentHead *head)
{
	Assert(head->shared_open);

	if (!head->cached)
		return;
	Assert(head->nusers > 0);
	evict(head->shared.mem_size);
	head->size += head->shared.mem_size;
	cache_used += head->shared.mem_size;
}

void
zsattr_head_release(ZsSegmentHead *head)
{
	if (!head->cached)
		return;
	Assert(head->nusers > 0);
	head->nusers--;
}
