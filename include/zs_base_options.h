/*-------------------------------------------------------------------------
 *
 * zs_base_options.h
 *	  Options of zedstore tables as commands give them and catalogs keep them.
 *
 * What the values mean to those who work with a table: zsbase_table_options() of zs_base.h.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * include/zs_base_options.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ZS_BASE_OPTIONS_H
#define ZS_BASE_OPTIONS_H

#include "postgres.h"

#include "utils/array.h"

/* index of zsbase_option_descs and of what is kept per option */
typedef enum ZsOptionId
{
	ZS_OPTION_EXTENSION_FACTOR,
	ZS_OPTION_COMPRESSION,
	ZS_OPTION_COMPRESSION_LEVEL,
	ZS_OPTION_SORT_KEY,
} ZsOptionId;

#define ZS_OPTION_COUNT	(ZS_OPTION_SORT_KEY + 1)

typedef enum ZsOptionType
{
	ZS_OPTION_INVALID,
	ZS_OPTION_INT,
	ZS_OPTION_METHOD,			/* of compression */
	ZS_OPTION_KEY,				/* base_sort_key.c */
} ZsOptionType;

/* min and max are those of integers */
typedef struct ZsOptionDesc
{
	const char *name;
	ZsOptionType type;
	int			min;
	int			max;
} ZsOptionDesc;

/* ---- base_options.c ---- */
extern const ZsOptionDesc zsbase_option_descs[ZS_OPTION_COUNT];

extern int	zsbase_option_split(Datum element, const char **value);
extern bool zsbase_option_parse(int option, const char *value, int *result);
extern ArrayBuildState *zsbase_options_accumulate(ArrayBuildState *to, Datum from, bool ours);
extern Datum zsbase_options_fetch(Oid relid);

#endif							/* ZS_BASE_OPTIONS_H */
