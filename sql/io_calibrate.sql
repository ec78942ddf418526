--
-- zs_io_calibrate(): the shape of its result, what it refuses, and that nothing stays behind.
-- Figures depend on the host; many requests in flight need io_uring.
--
CREATE TEMP TABLE calibration AS SELECT * FROM zs_io_calibrate(seconds => 0.3);
SELECT operation, array_agg(request_kb ORDER BY request_kb) AS request_kb, bool_and(requests > 0) AS requests,
	bool_and(abs(bandwidth - iops * request_kb / 1024) < 0.001 * bandwidth) AS consistent,
	bool_and(latency > 0 AND max_latency >= latency * 0.999) AS latency
FROM calibration WHERE queue_depth = 1 GROUP BY 1 ORDER BY 1;
SELECT count(*) AS advice, bool_and(operation = 'write') AS of_writes FROM calibration WHERE advice IS NOT NULL;
SELECT count(*) IN (8, 24) AS complete FROM calibration;

SELECT count(*) FROM pg_ls_tmpdir() WHERE name ~ 'calibrate';
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE io_calibrate_ts LOCATION '';
SELECT count(*) IN (8, 24) AS complete FROM zs_io_calibrate('io_calibrate_ts', 0.1);
SELECT count(*) FROM pg_ls_tmpdir((SELECT oid FROM pg_tablespace WHERE spcname = 'io_calibrate_ts'));
DROP TABLESPACE io_calibrate_ts;

-- ways of making WAL durable, by one writer and by eight
CREATE TEMP TABLE wal AS SELECT * FROM zs_io_calibrate('pg_wal', 0.3);
SELECT operation, array_agg(queue_depth ORDER BY queue_depth) AS writers,
	bool_and(requests >= queue_depth) AS requests,
	bool_and(latency > 0 AND max_latency >= latency * 0.999) AS latency
FROM wal WHERE operation NOT LIKE '%direct' GROUP BY 1 ORDER BY 1;
SELECT bool_and(request_kb = 8) AS pages, count(advice) AS advice,
	bool_and(queue_depth = 1) FILTER (WHERE advice IS NOT NULL) AS for_one_writer,
	bool_and(advice = 'wal_sync_method = ' || operation) AS as_measured
FROM wal;
SET statement_timeout = '100ms';
SELECT * FROM zs_io_calibrate('pg_wal', 600);
RESET statement_timeout;
SELECT count(*) FROM pg_ls_waldir() WHERE name ~ 'calibrate';

SELECT * FROM zs_io_calibrate('nowhere');
SELECT * FROM zs_io_calibrate(seconds => 0);
SELECT * FROM zs_io_calibrate(seconds => 4000);
SELECT * FROM zs_io_calibrate(seconds => 'NaN');

-- not even with the right to execute it
CREATE ROLE io_calibrate_user;
SET ROLE io_calibrate_user;
SELECT * FROM zs_io_calibrate();
RESET ROLE;
GRANT EXECUTE ON FUNCTION zs_io_calibrate(name, float8) TO io_calibrate_user;
SET ROLE io_calibrate_user;
SELECT * FROM zs_io_calibrate();
RESET ROLE;
REVOKE EXECUTE ON FUNCTION zs_io_calibrate(name, float8) FROM io_calibrate_user;
DROP ROLE io_calibrate_user;
