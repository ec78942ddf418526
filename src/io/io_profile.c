/*-------------------------------------------------------------------------
 *
 * io_profile.c
 *	  Storage profiles: what kinds of volumes are limited to.
 *
 * The figures of cloud volumes are the vendors'; docs/io.md has the source and date of each.
 * Where performance is bought apart from size, the profile has what is included in
 * the price, or the most that can be bought, and zedstore.io_max_iops and
 * zedstore.io_max_bandwidth say what was.  What a volume can do for a time on credit is not
 * counted: that is left to the foreground.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_profile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/tuplestore.h"
#include <ctype.h>
#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "io_internal.h"
#include "io_profile.h"
#include "zs_base.h"

PG_FUNCTION_INFO_V1(zs_io_profiles);

/* Units of the vendors, in kB of 1024 bytes. */
#define MIB(n)		((n) * 1024.0)
#define MB(n)		((n) * 1000000.0 / 1024.0)

#define NO_LIMIT	{0, 0, 0}
#define FIXED(n)	{(n), 0, 0}

/*
 * Tiers follow the profile that they belong to, smallest first.
 */
const ZsIoProfile zsio_profiles[] = {
	{"none", NO_LIMIT, NO_LIMIT, 256, 256, 32},
	{"nvme", NO_LIMIT, NO_LIMIT, 256, 256, 32},
	{"ssd", NO_LIMIT, NO_LIMIT, 256, 256, 32},
	{"hdd", NO_LIMIT, NO_LIMIT, 256, 1024, 8, .rotational = true},

	/* Amazon EBS */
	{"gp2", {100, 3, 16000}, {MIB(128), MIB(250) / 334, MIB(250)}, 256, 256, 32},
	{"gp3", FIXED(3000), FIXED(MIB(125)), 256, 256, 32},
	{"io1", {0, 50, 64000}, FIXED(MIB(1000)), 256, 256, 32},
	{"io2", {0, 1000, 256000}, FIXED(MIB(4000)), 256, 256, 64},
	{"st1", FIXED(500), {MIB(5), MIB(40) / 1024, MIB(500)}, 1024, 1024, 4, .rotational = true},
	{"sc1", FIXED(250), {MIB(1.5), MIB(12) / 1024, MIB(192)}, 1024, 1024, 4, .rotational = true},

	/* Google Cloud */
	{"pd-standard", {0, 0.75, 7500}, {0, MIB(0.12), MIB(400)}, 0, 256, 16, .rotational = true},
	{"pd-balanced", {0, 6, 80000}, {0, MIB(0.28), MIB(1200)}, 0, 256, 16},
	{"pd-ssd", {0, 30, 100000}, {0, MIB(0.48), MIB(1200)}, 0, 256, 32},
	{"pd-extreme", NO_LIMIT, FIXED(MIB(3000)), 0, 256, 64},
	{"hyperdisk-balanced", FIXED(3000), FIXED(MIB(140)), 0, 256, 16},

	/* Azure */
	{"azure-premium", FIXED(20000), FIXED(MB(900)), 256, 256, 32},
	{"azure-premium-p4", FIXED(120), FIXED(MB(25)), 256, 256, 32, 32},
	{"azure-premium-p6", FIXED(240), FIXED(MB(50)), 256, 256, 32, 64},
	{"azure-premium-p10", FIXED(500), FIXED(MB(100)), 256, 256, 32, 128},
	{"azure-premium-p15", FIXED(1100), FIXED(MB(125)), 256, 256, 32, 256},
	{"azure-premium-p20", FIXED(2300), FIXED(MB(150)), 256, 256, 32, 512},
	{"azure-premium-p30", FIXED(5000), FIXED(MB(200)), 256, 256, 32, 1024},
	{"azure-premium-p40", FIXED(7500), FIXED(MB(250)), 256, 256, 32, 2048},
	{"azure-premium-p50", FIXED(7500), FIXED(MB(250)), 256, 256, 32, 4096},
	{"azure-premium-p60", FIXED(16000), FIXED(MB(500)), 256, 256, 32, 8192},
	{"azure-premium-p70", FIXED(18000), FIXED(MB(750)), 256, 256, 32, 16384},
	{"azure-premium-p80", FIXED(20000), FIXED(MB(900)), 256, 256, 32, 32767},
	{"azure-premium-v2", FIXED(3000), FIXED(MB(125)), 0, 256, 32},
	{"azure-standard-ssd", FIXED(6000), FIXED(MIB(750)), 256, 256, 32},
	{"azure-standard-ssd-e4", FIXED(120), FIXED(MIB(25)), 256, 256, 32, 32},
	{"azure-standard-ssd-e6", FIXED(240), FIXED(MIB(50)), 256, 256, 32, 64},
	{"azure-standard-ssd-e50", FIXED(500), FIXED(MIB(60)), 256, 256, 32, 4096},
	{"azure-standard-ssd-e60", FIXED(2000), FIXED(MIB(400)), 256, 256, 32, 8192},
	{"azure-standard-ssd-e70", FIXED(4000), FIXED(MIB(600)), 256, 256, 32, 16384},
	{"azure-standard-ssd-e80", FIXED(6000), FIXED(MIB(750)), 256, 256, 32, 32767},
	{"azure-standard-hdd", FIXED(2000), FIXED(MB(500)), 0, 1024, 8, .rotational = true},
	{"azure-standard-hdd-s50", FIXED(500), FIXED(MB(60)), 0, 1024, 8, 4096, .rotational = true},
	{"azure-standard-hdd-s60", FIXED(1300), FIXED(MB(300)), 0, 1024, 8, 8192, .rotational = true},
	{"azure-standard-hdd-s80", FIXED(2000), FIXED(MB(500)), 0, 1024, 8, 32767, .rotational = true},
};

const int	zsio_nprofiles = lengthof(zsio_profiles);

int			zsio_profile = ZSIO_PROFILE_AUTO;
const ZsIoOverrides *zsio_overrides = NULL;
uint64		zsio_overrides_generation = 0;

static char *tablespace_profiles = NULL;

/* By its name, in any case of letters. */
bool
zsio_profile_find(const char *name, int *profile)
{
	if (pg_strcasecmp(name, "auto") == 0)
	{
		*profile = ZSIO_PROFILE_AUTO;
		return true;
	}
	for (int i = 0; i < zsio_nprofiles; i++)
	{
		if (pg_strcasecmp(name, zsio_profiles[i].name) == 0)
		{
			*profile = i;
			return true;
		}
	}
	return false;
}

/* The name of a profile, or "auto". */
const char *
zsio_profile_name(int profile)
{
	Assert(profile == ZSIO_PROFILE_AUTO || (profile >= 0 && profile < zsio_nprofiles));
	return profile == ZSIO_PROFILE_AUTO ? "auto" : zsio_profiles[profile].name;
}

/* The profile itself, or its tier of that size. */
const ZsIoProfile *
zsio_profile_tier(int profile, double gib)
{
	const ZsIoProfile *family = &zsio_profiles[profile];

	Assert(profile >= 0 && profile < zsio_nprofiles);
	for (int i = profile + 1; i < zsio_nprofiles && gib > 0; i++)
	{
		if (zsio_profiles[i].tier_gib == 0 || family->tier_gib != 0)
			break;
		if (gib <= zsio_profiles[i].tier_gib)
			return &zsio_profiles[i];
	}
	return family;
}

/* What a volume of that size has of it. */
double
zsio_rate(const ZsIoRate *rate, double gib)
{
	double		value;

	Assert(rate->base >= 0 && rate->per_gib >= 0 && rate->max >= 0);
	/* of a volume of unknown size no more is known than its bounds */
	if (gib <= 0 && rate->per_gib > 0)
		return rate->base > 0 ? rate->base : rate->max;
	value = Max(rate->base, rate->per_gib * gib);
	return rate->max > 0 ? Min(value, rate->max) : value;
}

/* ---- settings -------------------------------------------------------------------------- */

static char *
trim(char *text)
{
	char	   *end = text + strlen(text);

	while (end > text && isspace((unsigned char) end[-1]))
		*--end = '\0';
	while (isspace((unsigned char) *text))
		text++;
	return text;
}

/* A tablespace's name as it is written in SQL: in quotes, or without. */
static bool
parse_name(char *text, char name[NAMEDATALEN])
{
	size_t		len = strlen(text);

	if (len >= 2 && text[0] == '"' && text[len - 1] == '"')
	{
		text[len - 1] = '\0';
		text++;
		len -= 2;
	}
	if (len == 0 || len >= NAMEDATALEN)
		return false;
	strcpy(name, text);
	return true;
}

/* One "name=profile". */
static bool
parse_override(char *text, ZsIoOverride *item)
{
	char	   *equals = strrchr(text, '=');

	if (equals == NULL)
	{
		GUC_check_errdetail("\"%s\" is not of the form \"tablespace=profile\".", trim(text));
		return false;
	}
	*equals = '\0';
	if (!parse_name(trim(text), item->name))
	{
		GUC_check_errdetail("There is a profile without a tablespace.");
		return false;
	}
	if (!zsio_profile_find(trim(equals + 1), &item->profile))
	{
		GUC_check_errdetail("There is no storage profile \"%s\".", trim(equals + 1));
		return false;
	}
	return true;
}

static bool
check_overrides(char **newval, void **extra, GucSource source)
{
	ZsIoOverrides *overrides;
	char	   *copy;
	char	   *rest;
	char	   *word;
	int			n = 1;

	if (trim(*newval)[0] == '\0')
		return true;
	for (const char *p = *newval; *p != '\0'; p++)
		n += *p == ',';
	overrides = guc_malloc(LOG, offsetof(ZsIoOverrides, items) + n * sizeof(ZsIoOverride));
	copy = guc_strdup(LOG, *newval);
	if (overrides == NULL || copy == NULL)
	{
		guc_free(overrides);
		guc_free(copy);
		return false;
	}
	overrides->n = 0;
	rest = copy;
	while ((word = strsep(&rest, ",")) != NULL)
	{
		if (!parse_override(word, &overrides->items[overrides->n]))
		{
			guc_free(overrides);
			guc_free(copy);
			return false;
		}
		Assert(overrides->n < n);
		overrides->n++;
	}
	guc_free(copy);
	*extra = overrides;
	return true;
}

static void
assign_overrides(const char *newval, void *extra)
{
	zsio_overrides = extra;
	zsio_overrides_generation++;
}

/* Defines zedstore.io_profile and zedstore.io_tablespace_profiles. */
void
zsio_profile_guc_init(void)
{
	static struct config_enum_entry choices[lengthof(zsio_profiles) + 2];

	choices[0].name = "auto";
	choices[0].val = ZSIO_PROFILE_AUTO;
	for (int i = 0; i < zsio_nprofiles; i++)
	{
		choices[i + 1].name = zsio_profiles[i].name;
		choices[i + 1].val = i;
	}
	DefineCustomEnumVariable("zedstore.io_profile",
							 "Names the kind of storage that tablespaces are on.",
							 "It has limits of requests and bytes per second, the best size of "
							 "requests, and how many to keep in flight.  \"auto\" looks at the "
							 "device and at limits of cgroups.",
							 &zsio_profile,
							 ZSIO_PROFILE_AUTO, choices,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("zedstore.io_tablespace_profiles",
							   "Names the kind of storage of single tablespaces.",
							   "A list of \"tablespace=profile\", separated by commas.",
							   &tablespace_profiles,
							   "",
							   PGC_SIGHUP, 0, check_overrides, assign_overrides, NULL);
}

/* ---- SQL ---------------------------------------------------------------------------------- */

/* A limit as SQL shows it: see io_profile.h. */
Datum
zsio_limit_datum(double value, bool *isnull)
{
	*isnull = value <= 0;
	return Float8GetDatum(rint(value * 1000) / 1000);
}

static int
put_rate(const ZsIoRate *rate, double unit, int n, Datum *values, bool *nulls)
{
	values[n] = zsio_limit_datum(rate->base / unit, &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(rate->per_gib / unit, &nulls[n]);
	n++;
	values[n] = zsio_limit_datum(rate->max / unit, &nulls[n]);
	return n + 1;
}

#define PROFILE_COLUMNS	11

/* The table of profiles; bandwidth in MiB/s. */
Datum
zs_io_profiles(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	zsbase_srf_init(fcinfo, PROFILE_COLUMNS);
	for (int i = 0; i < zsio_nprofiles; i++)
	{
		const ZsIoProfile *profile = &zsio_profiles[i];
		Datum		values[PROFILE_COLUMNS];
		bool		nulls[PROFILE_COLUMNS] = {0};
		int			n = 0;

		values[n++] = CStringGetTextDatum(profile->name);
		n = put_rate(&profile->iops, 1, n, values, nulls);
		n = put_rate(&profile->bandwidth, 1024, n, values, nulls);
		nulls[n] = profile->counted_kb == 0;
		values[n++] = Int32GetDatum(profile->counted_kb);
		values[n++] = Int32GetDatum(profile->request_kb);
		values[n++] = Int32GetDatum(profile->queue_depth);
		nulls[n] = profile->tier_gib == 0;
		values[n++] = Int32GetDatum(profile->tier_gib);
		Assert(n == lengthof(values));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
