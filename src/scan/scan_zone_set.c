/*-------------------------------------------------------------------------
 *
 * scan_zone_set.c
 *	  Sets of values in the zone domain, and the images of constants.
 *
 * Zone maps show the smallest and the largest image of the values of a segment or a vector
 * (zs_codec.h).  What a condition lets pass is a set of images: ranges that ascend and do not
 * overlap, and whether NULL is among it.  Sets may be too large, never too small: the images of
 * strings are their first eight bytes, padded with zeroes, those of numerics an interval around
 * them.  Strings of type char(n) are equal to those with other blanks at their ends, so theirs
 * reach from the string padded with zeroes to the string padded with blanks.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/scan/scan_zone_set.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "utils/lsyscache.h"
#include "varatt.h"

#include "scan_zone_set.h"
#include "zs_codec.h"

/* ---- sets ------------------------------------------------------------------------------ */

/* Nothing, or NULL alone. */
void
zsscan_set_none(ZsZoneSet *set, bool nulls)
{
	set->nulls = nulls;
	set->nranges = 0;
	set->ranges = NULL;
}

/* Images low .. high, of values that are not NULL. */
void
zsscan_set_range(ZsZoneSet *set, int64 low, int64 high)
{
	Assert(low <= high);
	set->nulls = false;
	set->nranges = 1;
	set->ranges = palloc_object(ZsZoneRange);
	set->ranges[0].low = low;
	set->ranges[0].high = high;
}

/* All values; NULL, too, if it may pass. */
void
zsscan_set_all(ZsZoneSet *set, bool nulls)
{
	zsscan_set_range(set, PG_INT64_MIN, PG_INT64_MAX);
	set->nulls = nulls;
}

static int
compare_ranges(const void *a, const void *b)
{
	return pg_cmp_s64(((const ZsZoneRange *) a)->low, ((const ZsZoneRange *) b)->low);
}

/* Puts ranges in order, and those together that touch. */
void
zsscan_set_normalize(ZsZoneSet *set)
{
	uint32		n = 0;

	if (set->nranges > 1)
		qsort(set->ranges, set->nranges, sizeof(ZsZoneRange), compare_ranges);
	for (uint32 i = 0; i < set->nranges; i++)
	{
		const ZsZoneRange range = set->ranges[i];

		if (n > 0 && (set->ranges[n - 1].high == PG_INT64_MAX ||
					  range.low <= set->ranges[n - 1].high + 1))
			set->ranges[n - 1].high = Max(set->ranges[n - 1].high, range.high);
		else
			set->ranges[n++] = range;
	}
	set->nranges = n;
	while (set->nranges > ZS_ZONE_MAX_RANGES)
	{
		n = 0;
		for (uint32 i = 0; i < set->nranges; i += 2)
		{
			set->ranges[n].low = set->ranges[i].low;
			set->ranges[n++].high = set->ranges[Min(i + 1, set->nranges - 1)].high;
		}
		set->nranges = n;
	}
}

/* Adds what is in other, at the end; *room says for how many ranges there is memory. */
void
zsscan_set_append(ZsZoneSet *set, uint32 *room, const ZsZoneSet *other)
{
	if (set->nranges + other->nranges > *room)
	{
		*room = Max(64, 2 * (set->nranges + other->nranges));
		set->ranges = set->ranges == NULL ? palloc_array(ZsZoneRange, *room) :
			repalloc_array(set->ranges, ZsZoneRange, *room);
	}
	if (other->nranges > 0)
		memcpy(set->ranges + set->nranges, other->ranges, other->nranges * sizeof(ZsZoneRange));
	set->nulls = set->nulls || other->nulls;
	set->nranges += other->nranges;
	if (set->nranges >= 4 * ZS_ZONE_MAX_RANGES)
		zsscan_set_normalize(set);
}

/* Leaves what is in other, too. */
void
zsscan_set_intersect(ZsZoneSet *set, const ZsZoneSet *other)
{
	ZsZoneRange *ranges = palloc_array(ZsZoneRange, set->nranges + other->nranges + 1);
	uint32		n = 0;
	uint32		i = 0;
	uint32		k = 0;

	Assert(set != other);
	while (i < set->nranges && k < other->nranges)
	{
		int64		low = Max(set->ranges[i].low, other->ranges[k].low);
		int64		high = Min(set->ranges[i].high, other->ranges[k].high);

		if (low <= high)
		{
			ranges[n].low = low;
			ranges[n++].high = high;
		}
		if (set->ranges[i].high < other->ranges[k].high)
			i++;
		else
			k++;
	}
	Assert(n <= set->nranges + other->nranges);
	set->nulls = set->nulls && other->nulls;
	set->nranges = n;
	set->ranges = ranges;
}

/* Does the set say nothing? */
bool
zsscan_set_is_all(const ZsZoneSet *set)
{
	return set->nulls && set->nranges == 1 && set->ranges[0].low == PG_INT64_MIN &&
		set->ranges[0].high == PG_INT64_MAX;
}

/*
 * Does the set have an image of min .. max?  The values that are asked about have no smaller and no
 * larger ones.
 */
bool
zsscan_zone_set_meets(const ZsZoneSet *set, int64 min, int64 max)
{
	uint32		low = 0;
	uint32		high = set->nranges;

	Assert(min <= max);
	/* the first range that does not end in front of min */
	while (low < high)
	{
		uint32		mid = (low + high) / 2;

		if (set->ranges[mid].high < min)
			low = mid + 1;
		else
			high = mid;
	}
	return low < set->nranges && set->ranges[low].low <= max;
}

/* ---- the images of constants ----------------------------------------------------------- */

/* The bytes of a constant of a type of strings; false if it has none. */
static bool
bytes_of(Datum value, Oid type, const uint8 **bytes, size_t *len)
{
	int16		typlen = get_typlen(type);

	if (typlen == -1)
	{
		struct varlena *v = PG_DETOAST_DATUM_PACKED(value);

		*bytes = (const uint8 *) VARDATA_ANY(v);
		*len = VARSIZE_ANY_EXHDR(v);
		return true;
	}
	*bytes = (const uint8 *) DatumGetPointer(value);
	*len = type == NAMEOID ? strlen(NameStr(*DatumGetName(value))) : (size_t) typlen;
	return typlen > 0;
}

/* The image of a string that begins with the bytes and goes on with nothing but `rest`. */
int64
zsscan_image_of_beginning(const uint8 *bytes, size_t len, uint8 rest)
{
	uint8		first[8];

	memset(first, rest, sizeof(first));
	memcpy(first, bytes, Min(len, sizeof(first)));
	return zscodec_zone_from_bytes(first, sizeof(first));
}

/*
 * The images of values of a column of that kind and type that are equal to the constant; false:
 * they are not known.
 */
static bool
images_of(const ZsAttrKind *kind, Oid column_type, Datum value, Oid type, int64 *low, int64 *high)
{
	const uint8 *bytes;
	size_t		len;
	int16		typlen;
	bool		typbyval;

	get_typlenbyval(type, &typlen, &typbyval);
	switch (kind->kind)
	{
		case ZS_KIND_INT:
			if (!typbyval)
				return false;
			*low = *high = zscodec_zone_from_int64(zsattr_value_to_int(value, typlen),
												   kind->width,
												   kind->is_unsigned);
			return true;
		case ZS_KIND_FLOAT4:
		case ZS_KIND_FLOAT8:
			*low = *high = zscodec_zone_from_float8(getBaseType(type) == FLOAT4OID ?
													(double) DatumGetFloat4(value) :
													DatumGetFloat8(value));
			return true;
		case ZS_KIND_NUMERIC:
			return bytes_of(value, type, &bytes, &len) &&
				zscodec_zone_from_numeric(bytes, len, low, high);
		case ZS_KIND_BYTES:
		case ZS_KIND_FIXED:
			if (!bytes_of(value, type, &bytes, &len))
				return false;
			while (column_type == BPCHAROID && len > 0 && bytes[len - 1] == ' ')
				len--;
			*low = zsscan_image_of_beginning(bytes, len, 0);
			*high = column_type == BPCHAROID ? zsscan_image_of_beginning(bytes, len, ' ') : *low;
			return true;
		case ZS_KIND_INVALID:
			break;
	}
	return false;
}

/*
 * Values of a column of that kind and base type that compare so with the constant, which is not
 * NULL: by a B-tree strategy, or by <> (InvalidStrategy).
 */
void
zsscan_set_compared(const ZsAttrKind *kind, Oid type, int strategy, Datum value, Oid value_type,
					ZsZoneSet *set)
{
	int64		low;
	int64		high;

	/* have different values different images? */
	bool		exact = zsattr_kind_is_by_value(kind);

	/* all these operators are strict */
	zsscan_set_all(set, false);
	if (!images_of(kind, type, value, value_type, &low, &high))
		return;
	switch (strategy)
	{
		case BTLessStrategyNumber:
			if (exact && high == PG_INT64_MIN)
				zsscan_set_none(set, false);
			else
				set->ranges[0].high = exact ? high - 1 : high;
			break;
		case BTLessEqualStrategyNumber:
			set->ranges[0].high = high;
			break;
		case BTEqualStrategyNumber:
			zsscan_set_range(set, low, high);
			break;
		case BTGreaterEqualStrategyNumber:
			set->ranges[0].low = low;
			break;
		case BTGreaterStrategyNumber:
			if (exact && low == PG_INT64_MAX)
				zsscan_set_none(set, false);
			else
				set->ranges[0].low = exact ? low + 1 : low;
			break;
		case InvalidStrategy:
			if (!exact)
				break;
			zsscan_set_none(set, false);
			set->ranges = palloc_array(ZsZoneRange, 2);
			if (low > PG_INT64_MIN)
				set->ranges[set->nranges++] = (ZsZoneRange) {PG_INT64_MIN, low - 1};
			if (high < PG_INT64_MAX)
				set->ranges[set->nranges++] = (ZsZoneRange) {high + 1, PG_INT64_MAX};
			break;
	}
}
