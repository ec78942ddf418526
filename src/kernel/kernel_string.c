/*-------------------------------------------------------------------------
 *
 * kernel_string.c
 *	  Patterns of LIKE over bytes.
 *
 * A pattern whose only wildcard is "%" is a list of pieces.  The first one has to stand at the
 * beginning of a string and the last one at its end; the others are looked for from left to right,
 * each at the first place behind the one before, which leaves most room for those that follow.
 *
 * Bytes may be compared where no character's bytes appear within another one's: in UTF-8 and in
 * encodings of one byte.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/kernel/kernel_string.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* memmem() */
#endif
#include "kernel_internal.h"

/* Does the string match the pattern, see ZsLikePattern in zs_kernel.h? */
bool
zskernel_like(const ZsLikePattern *pattern, const char *bytes, size_t len)
{
	int			last = pattern->npieces - 1;
	const char *end;

	Assert(pattern->npieces > 0);
	if (len < pattern->min_len)
		return false;
	if (memcmp(bytes, pattern->pieces[0], pattern->lens[0]) != 0)
		return false;
	if (last == 0)
		return len == pattern->lens[0];
	end = bytes + len - pattern->lens[last];
	if (memcmp(end, pattern->pieces[last], pattern->lens[last]) != 0)
		return false;
	bytes += pattern->lens[0];
	for (int i = 1; i < last; i++)
	{
		bytes = memmem(bytes, (size_t) (end - bytes), pattern->pieces[i], pattern->lens[i]);
		if (bytes == NULL)
			return false;
		bytes += pattern->lens[i];
	}
	return true;
}
