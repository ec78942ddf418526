/*-------------------------------------------------------------------------
 *
 * base_error.c
 *	  Errors that every module raises in the same words.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/base/base_error.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "zs_base.h"

bool		zs_preloaded = false;

/*
 * Raises the error for bytes on disk that cannot be right.
 *
 * fmt and what follows become the detail: the page's kind, the attribute and
 * what was wrong.  The text goes into the server log and to whoever repairs
 * the table, so it is not translated.  Not for critical sections.
 */
void
zsbase_corrupted(Relation rel, BlockNumber blkno, const char *fmt,...)
{
	StringInfoData detail;
	int			save_errno = errno;

	Assert(RelationIsValid(rel));
	initStringInfo(&detail);
	for (;;)
	{
		va_list		args;
		int			needed;

		errno = save_errno;		/* for %m */
		va_start(args, fmt);
		needed = appendStringInfoVA(&detail, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&detail, needed);
	}

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" contains corrupted page at block %u",
					RelationGetRelationName(rel), blkno),
			 errdetail_internal("%s", detail.data)));
	pg_unreachable();
}

/*
 * Raises an error unless the library was loaded when the server started.
 * WAL of zedstore tables cannot be replayed by a server without it.
 */
void
zsbase_require_preload(void)
{
	if (!zs_preloaded)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("zedstore_io must be loaded via \"shared_preload_libraries\""),
				 errhint("Add \"zedstore_io\" to \"shared_preload_libraries\" and restart the server.")));
}
