--
-- Storage profiles: the table, what is refused as a setting, and who may look.
-- What holds for tablespaces is tested by t/io_profiles.pl.
--
SELECT count(*) = count(DISTINCT profile) AS differ, bool_and(profile = lower(profile)) AS lower_case,
	bool_and(request_kb BETWEEN 8 AND 1024) AS requests, bool_and(queue_depth BETWEEN 1 AND 128) AS depths
FROM zs_io_profiles();

-- published limits of some
SELECT * FROM zs_io_profiles() WHERE profile IN ('none', 'gp3', 'st1', 'pd-ssd', 'azure-premium-p30') ORDER BY profile COLLATE "C";

-- tiers grow
SELECT split_part(profile, '-', 2) AS kind, bool_and(grows) AS grow FROM (
	SELECT profile, tier_gib > lag(tier_gib) OVER w AND iops >= lag(iops) OVER w AND bandwidth >= lag(bandwidth) OVER w AS grows
	FROM zs_io_profiles() WHERE tier_gib IS NOT NULL
	WINDOW w AS (PARTITION BY split_part(profile, '-', 2), split_part(profile, '-', 3) = 'ssd' ORDER BY tier_gib)) t
GROUP BY 1 ORDER BY 1;

SELECT tablespace, setting, request_kb > 0 AS request, queue_depth > 0 AS depth
FROM zs_io_volumes() WHERE tablespace IN ('pg_default', 'pg_global') ORDER BY 1;

-- settings
SHOW zedstore.io_profile;
SHOW zedstore.io_tablespace_profiles;
SHOW zedstore.io_max_iops;
SHOW zedstore.io_max_bandwidth;
SHOW zedstore.io_request_size;
SHOW zedstore.io_queue_depth;
ALTER SYSTEM SET zedstore.io_profile = 'floppy';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = 'pg_default';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = 'pg_default=gp3,';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = 'pg_default=floppy';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = 'pg_default=';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = ' = gp3';
ALTER SYSTEM SET zedstore.io_tablespace_profiles = 'a=gp3, =ssd';
ALTER SYSTEM SET zedstore.io_max_iops = -2;
SET zedstore.io_profile = 'ssd';

CREATE ROLE io_profiles_user;
SET ROLE io_profiles_user;
SELECT count(*) > 0 AS visible FROM zs_io_profiles();
SELECT count(*) FROM zs_io_volumes();
RESET ROLE;
DROP ROLE io_profiles_user;
