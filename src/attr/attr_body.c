/*-------------------------------------------------------------------------
 *
 * attr_body.c
 *	  Vectors without their compression, kept for single-value lookups.
 *
 * Of a compressed vector no value is to be had without undoing the compression of all, or of all
 * that lie before it, which takes a hundred times what decoding the value does.  So the bytes stay
 * in memory of the backend, beside the segment's head, for the next value of the same vector.
 *
 * Who looks up rows all over a table larger than that memory would only copy bytes to throw them
 * away again.  So a vector is kept when it was looked at twice within a while, as a small table of
 * those looked at last tells, in which each has one place that others may take.
 *
 * A segment is never changed in place, so bytes are right as long as the head is (attr_head.c).
 *
 * Invariant: all bodies together take at most BODIES_SIZE bytes.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/attr/attr_body.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "attr_internal.h"

#define BODIES_SIZE		((Size) 16 * 1024 * 1024)

/* Larger ones are not kept. */
#define BODY_MAX		((Size) 1024 * 1024)

#define NSEEN			256

/* Decoders may read so many bytes behind the end. */
#define SLACK			64

typedef struct ZsKeptBody
{
	dlist_node	lru;
	ZsSegmentHead *head;
	int			vecno;
	Size		len;
	uint8		bytes[FLEXIBLE_ARRAY_MEMBER];	/* and SLACK */
} ZsKeptBody;

static MemoryContext body_context = NULL;
static dlist_head body_lru = DLIST_STATIC_INIT(body_lru);
static Size bodies_used = 0;

/* Vectors that were looked at last, by hash; 0: none. */
static uint32 seen[NSEEN];

static Size
body_size(Size len)
{
	return offsetof(ZsKeptBody, bytes) + len + SLACK;
}

/* The bytes of a vector of a head in the cache, if they are kept, else NULL. */
const uint8 *
zsattr_body_find(ZsSegmentHead *head, int vecno, size_t *len)
{
	ZsKeptBody *body = head->bodies == NULL ? NULL : head->bodies[vecno];

	Assert(head->cached && vecno >= 0 && (uint32) vecno < head->info.nvectors);
	if (body == NULL)
		return NULL;
	Assert(body->head == head && body->vecno == vecno);
	dlist_move_head(&body_lru, &body->lru);
	*len = body->len;
	return body->bytes;
}

static void
drop_body(ZsKeptBody *body)
{
	body->head->bodies[body->vecno] = NULL;
	dlist_delete(&body->lru);
	Assert(bodies_used >= body_size(body->len));
	bodies_used -= body_size(body->len);
	pfree(body);
}

/*
 * Is the vector of the head to be kept, since it was looked at lately?  Remembers that it is looked
 * at now.
 */
bool
zsattr_body_wanted(const ZsSegmentHead *head, int vecno)
{
	uint32		hash = hash_combine(murmurhash32((uint32) head->item.stamp ^
												 (uint32) head->treeno << 16),
									murmurhash32((uint32) (head->item.first_row / ZS_STRIPE_ROWS) +
												 (uint32) vecno));
	uint32	   *place = &seen[hash % NSEEN];
	bool		found;

	/* about */
	if (head->info.raw_size / head->info.nvectors > BODY_MAX)
		return false;
	hash |= 1;
	found = *place == hash;
	*place = hash;
	return found;
}

/*
 * Keeps a copy of the bytes of a vector of the head, which zsattr_body_find() returns from now on.
 */
void
zsattr_body_keep(ZsSegmentHead *head, int vecno, const uint8 *bytes, size_t len)
{
	ZsKeptBody *body;

	Assert(head->cached && vecno >= 0 && (uint32) vecno < head->info.nvectors);
	if (len > BODY_MAX)
		return;
	if (body_context == NULL)
		body_context = AllocSetContextCreate(TopMemoryContext, "zedstore vector bodies",
											 ALLOCSET_DEFAULT_SIZES);
	if (head->bodies == NULL)
		head->bodies = MemoryContextAllocZero(body_context,
											  head->info.nvectors * sizeof(ZsKeptBody *));
	if (head->bodies[vecno] != NULL)
		return;
	while (bodies_used + body_size(len) > BODIES_SIZE)
		drop_body(dlist_tail_element(ZsKeptBody, lru, &body_lru));

	body = MemoryContextAlloc(body_context, body_size(len));
	body->head = head;
	body->vecno = vecno;
	body->len = len;
	memcpy(body->bytes, bytes, len);
	memset(body->bytes + len, 0, SLACK);
	dlist_push_head(&body_lru, &body->lru);
	bodies_used += body_size(len);
	head->bodies[vecno] = body;
}

/* Drops all vectors of the head that are kept: it goes. */
void
zsattr_bodies_drop(ZsSegmentHead *head)
{
	if (head->bodies == NULL)
		return;
	for (uint32 i = 0; i < head->info.nvectors; i++)
	{
		if (head->bodies[i] != NULL)
			drop_body(head->bodies[i]);
	}
	pfree(head->bodies);
	head->bodies = NULL;
}
