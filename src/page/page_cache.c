/*-------------------------------------------------------------------------
 *
 * page_cache.c
 *	  What a backend remembers of a table's file.
 *
 * Lengths, and where roots are, in the relcache entry (rd_amcache), which goes with every
 * invalidation.  What is remembered is only a hint for who reads: pages say what they are.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/page/page_cache.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "page_internal.h"
#include "zs_page.h"

/*
 * What is known of a file must be forgotten when VACUUM shortened it: before the next access, not
 * only when the invalidation that VACUUM's transaction sends at its end arrives.  The storage
 * manager hears at once of a file that was truncated, and resets its target block, of which tables
 * like ours make no other use.
 *
 * The block that stands there otherwise is one that no file has: a library that takes the table for
 * a heap fails to read it, instead of writing its row into a page of ours.
 */
#define CACHE_IS_VALID	MaxBlockNumber

/*
 * What the backend remembers of the table's file, made if there is nothing
 * yet.  Valid until the next relcache invalidation: not to be kept over
 * anything that may process one.  Forgets lengths and roots when the file was
 * shortened.
 */
ZsRelCache *
zspage_rel_cache(Relation rel)
{
	ZsRelCache *cache = (ZsRelCache *) rel->rd_amcache;
	int			ntrees = ZsTreeOfAttr(RelationGetNumberOfAttributes(rel)) + 1;

	if (unlikely(RelationGetTargetBlock(rel) != CACHE_IS_VALID))
	{
		if (cache != NULL)
		{
			cache->file_blocks = 0;
			cache->length_checked = 0;
			cache->version = 0;
			memset(cache->roots, 0, cache->ntrees * sizeof(BlockNumber));
		}
		RelationSetTargetBlock(rel, CACHE_IS_VALID);
	}

	/* a column added in this command may not have reached the cache's size */
	if (unlikely(cache == NULL || cache->ntrees < ntrees))
	{
		if (cache != NULL)
			pfree(cache);
		rel->rd_amcache = NULL;
		cache = MemoryContextAllocZero(CacheMemoryContext,
									   offsetof(ZsRelCache, roots) + ntrees * sizeof(BlockNumber));
		cache->ntrees = ntrees;
		cache->extension_factor = -1;
		rel->rd_amcache = cache;
	}
	return cache;
}

/* Drops the cached roots of this relcache entry. */
void
zspage_forget_roots(Relation rel)
{
	if (rel->rd_amcache != NULL)
		pfree(rel->rd_amcache);
	rel->rd_amcache = NULL;
}

/* Where the root of a tree is remembered; NULL if there is no place for it. */
BlockNumber *
zspage_cached_root(ZsRelCache *cache, uint16 treeno)
{
	/* the table itself has no root */
	if (treeno == ZS_TREE_XMIN)
		return &cache->roots[ZS_TREE_TABLE];
	return treeno != ZS_TREE_TABLE && treeno < cache->ntrees ? &cache->roots[treeno] : NULL;
}

/* Drops the cached root of one tree. */
void
zspage_forget_root(Relation rel, uint16 treeno)
{
	BlockNumber *root = zspage_cached_root(zspage_rel_cache(rel), treeno);

	if (root != NULL)
		*root = 0;
}
