/*-------------------------------------------------------------------------
 *
 * io_profile.h
 *	  Kinds of storage, their limits, and which of them a tablespace is on.
 *
 * A profile says what a kind of volume is sold as; a volume is a device that tablespaces
 * are on, with limits that follow from its profile, its size, its cgroup and the
 * settings that override them.  Tablespaces on one device are one volume.
 *
 * Portions Copyright (c) 2026, zedstore_io contributors
 *
 * src/io/io_profile.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef IO_PROFILE_H
#define IO_PROFILE_H

#include "postgres.h"

#include "utils/guc.h"

/* ---- profiles (io_profile.c) ---------------------------------------------------------- */

/*
 * A rate is Max(base, size in GiB * per_gib), at most max; 0 = no limit known.
 */
typedef struct ZsIoRate
{
	double		base;
	double		per_gib;
	double		max;
} ZsIoRate;

typedef struct ZsIoProfile
{
	const char *name;
	ZsIoRate	iops;
	ZsIoRate	bandwidth;		/* kB a second */
	int			counted_kb;		/* largest request that counts as one; 0: any size does */
	int			request_kb;
	int			queue_depth;
	int			tier_gib;		/* a tier of the profile it is named after, up to that size; or 0 */
	bool		rotational;		/* behind it are disks that turn */
} ZsIoProfile;

extern const ZsIoProfile zsio_profiles[];
extern const int zsio_nprofiles;

/* Values of zedstore.io_profile: a position in the table, or one of these. */
#define ZSIO_PROFILE_AUTO	(-1)

extern int	zsio_profile;

/* Position of a profile; false: there is none of that name.  Knows "auto", too. */
extern bool zsio_profile_find(const char *name, int *profile);
extern const char *zsio_profile_name(int profile);

/* The profile that holds for a volume of that size: a tier, if it has some. */
extern const ZsIoProfile *zsio_profile_tier(int profile, double gib);

/* A limit as SQL shows it, rounded; *isnull: none. */
extern Datum zsio_limit_datum(double value, bool *isnull);

extern double zsio_rate(const ZsIoRate *rate, double gib);

/* zedstore.io_tablespace_profiles, parsed. */
typedef struct ZsIoOverride
{
	char		name[NAMEDATALEN];	/* of the tablespace */
	int			profile;
} ZsIoOverride;

typedef struct ZsIoOverrides
{
	int			n;
	ZsIoOverride items[FLEXIBLE_ARRAY_MEMBER];
} ZsIoOverrides;

extern const ZsIoOverrides *zsio_overrides; /* NULL: none */
extern uint64 zsio_overrides_generation;	/* counts its changes */

extern void zsio_profile_guc_init(void);

/* ---- volumes (io_volume.c) ------------------------------------------------------------- */

#define ZSIO_MAX_VOLUMES	16
#define ZSIO_VOLUME_NAME_LEN	48

/* 0 = no limit */
typedef struct ZsIoLimits
{
	double		read_iops;
	double		write_iops;
	double		read_bytes;		/* a second */
	double		write_bytes;
	int			counted_bytes;	/* largest request that counts as one; 0: any size does */
	int			request_blocks;
	int			queue_depth;
} ZsIoLimits;

/*
 * The volume of a tablespace: 0 .. ZSIO_MAX_VOLUMES - 1, the same number as long as the
 * process lives.  InvalidOid is the default tablespace of the server's own files.
 */
extern int	zsio_volume_of(Oid tablespace);
extern const ZsIoLimits *zsio_volume_limits(int volume);

/* Names the device, the same in all processes. */
extern const char *zsio_volume_name(int volume);

/* The largest requests and the deepest queue of the volumes that are known. */
extern void zsio_volumes_largest(int *request_blocks, int *queue_depth);

/* Is there a volume with a profile other than "none"?  And one with disks that turn? */
extern bool zsio_volumes_have_profile(bool *rotational);

/*
 * Finds out anew what tablespaces are on, and which profiles are theirs.  Reads
 * pg_tablespace when the settings name tablespaces.  Needs a transaction.
 */
extern void zsio_volumes_refresh(void);

/* The same, when a setting changed or the last time was a minute ago. */
extern void zsio_volumes_refresh_if_old(void);

/* How many requests a request of that size counts as. */
static inline int
zsio_requests_counted(const ZsIoLimits *limits, Size bytes)
{
	if (limits->counted_bytes == 0)
		return 1;
	return (bytes + limits->counted_bytes - 1) / limits->counted_bytes;
}

#endif							/* IO_PROFILE_H */
