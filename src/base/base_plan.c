/*-------------------------------------------------------------------------
 *
 * base_plan.c
 *	  What marks paths and plans as ours.
 *
 * Other libraries look at custom_private of every CustomPath and CustomScan for what they have put
 * there themselves, and take its first member for a node, even before they know whose it is.  So
 * ours have nothing but nodes there (NIL is an empty list), and begin with one that names us.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"

#include "zs_base_plan.h"

static const char our_name[] = "zedstore_io";

/* The first member of custom_private, in the current memory context. */
String *
zsbase_private_name(void)
{
	return makeString(pstrdup(our_name));
}

/* Is it a path of one of our nodes? */
bool
zsbase_is_path_of_ours(const Path *path)
{
	List	   *priv;
	Node	   *first;

	if (!IsA(path, CustomPath))
		return false;
	priv = ((const CustomPath *) path)->custom_private;
	if (priv == NIL || !IsA(priv, List))
		return false;
	first = linitial(priv);
	return first != NULL && IsA(first, String) && strcmp(strVal(first), our_name) == 0;
}
