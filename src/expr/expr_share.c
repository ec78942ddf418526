/*-------------------------------------------------------------------------
 *
 * expr_share.c
 *	  Expressions that are parts of several programs are computed once.
 *
 * A node keeps its vector for the batch, so it is enough that programs have the same node where
 * they compute the same.  That is so only where all of them ask for the same rows: what a node
 * gives may change when more rows are asked for (numerics have a scale for all of them), and a
 * program that was run before would not know.  So branches of CASE and COALESCE and conditions keep
 * nodes of their own, and so do programs that other rows than those of the batch come to.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/expr/expr_share.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "varatt.h"

#include "expr_internal.h"

/* Do the nodes, whose arguments are shared already, compute the same? */
static bool
same_node(const ZsExpr *a, const ZsExpr *b)
{
	if (a->kind != b->kind || a->domain != b->domain || a->width != b->width ||
		a->nargs != b->nargs || a->nconds > 0 || b->nconds > 0)
		return false;
	for (int i = 0; i < a->nargs; i++)
	{
		if (a->args[i] != b->args[i])
			return false;
	}
	switch (a->kind)
	{
		case ZS_EXPR_TEXT_CALL:
		case ZS_EXPR_CASE:
		case ZS_EXPR_COALESCE:
		case ZS_EXPR_NULLIF:
		case ZS_EXPR_BOOL:
			return false;
		case ZS_EXPR_COLUMN:
			return a->attno == b->attno;
		case ZS_EXPR_CONST:
			if (a->isnull || b->isnull)
				return a->isnull && b->isnull;
			if (a->domain != ZS_DOMAIN_TEXT && a->domain != ZS_DOMAIN_BPCHAR)
				return a->value == b->value && a->scale == b->scale;
			return VARSIZE_ANY((void *) a->value) == VARSIZE_ANY((void *) b->value) &&
				memcmp((void *) a->value, (void *) b->value, VARSIZE_ANY((void *) a->value)) == 0;
		default:
			return a->scale == b->scale && a->op == b->op && a->limit == b->limit &&
				a->usecs == b->usecs && a->field == b->field && a->value == b->value &&
				a->divisor_first == b->divisor_first &&
				a->divisor_weight == b->divisor_weight &&
				a->divisor_scale == b->divisor_scale;
	}
}

/* Nodes that compute the same have the same hash. */
static uint32
hash_node(const ZsExpr *expr)
{
	uint32		hash = hash_combine((uint32) expr->kind, (uint32) expr->attno);

	hash = hash_combine(hash, (uint32) expr->nargs);
	for (int i = 0; i < expr->nargs; i++)
		hash = hash_combine(hash, murmurhash32((uint32) ((uintptr_t) expr->args[i] >> 4)));
	/* strings are told apart by same_node() */
	if (expr->kind == ZS_EXPR_CONST && !expr->isnull && expr->domain != ZS_DOMAIN_TEXT &&
		expr->domain != ZS_DOMAIN_BPCHAR)
		hash = hash_combine(hash, murmurhash32((uint32) expr->value));
	return murmurhash32(hash) % ZS_SHARED_BUCKETS;
}

/*
 * The node that stands for the expression, which may be part of another one; what is below is
 * shared first.
 */
static ZsExpr *
share_node(ZsExpr *expr, ZsSharedNodes *nodes)
{
	List	  **bucket;
	ListCell   *lc;

	check_stack_depth();
	for (int i = 0; i < expr->nargs && expr->nconds == 0 && expr->kind != ZS_EXPR_COALESCE; i++)
		expr->args[i] = share_node(expr->args[i], nodes);
	bucket = &nodes->buckets[hash_node(expr)];
	foreach(lc, *bucket)
	{
		ZsExpr	   *other = lfirst(lc);

		if (other == expr || same_node(other, expr))
		{
			other->is_shared = true;
			return other;
		}
	}
	*bucket = lappend(*bucket, expr);
	return expr;
}

/*
 * Replaces nodes of the program by those of *nodes which compute the same, and adds the others to
 * these; returns the program.  All programs of the list have to be run for the same rows of each
 * batch.  Lists are made in the current context.
 */
ZsExpr *
zsexpr_share(ZsExpr *expr, ZsSharedNodes *nodes)
{
	Assert(expr != NULL && expr->serial == 0);
	return share_node(expr, nodes);
}
