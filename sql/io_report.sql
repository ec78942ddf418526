--
-- zs_io_report(): every item on every host, whatever can be found out there.
--
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE io_report_ts LOCATION '';

SELECT item, count(*), bool_and(setting <> '') AS has_setting, bool_and(reason <> '') AS has_reason
FROM zs_io_report() WHERE object IS NULL AND item NOT LIKE 'vm.dirty%' GROUP BY 1 ORDER BY item COLLATE "C";

-- kernels know each limit as a ratio and as a number of bytes; one of them counts
SELECT regexp_replace(item, '(ratio|bytes)$', 'limit') AS item, count(*)
FROM zs_io_report() WHERE item LIKE 'vm.dirty%' GROUP BY 1 ORDER BY 1;

-- each tablespace, and where the WAL is
SELECT item, string_agg(object, ' ' ORDER BY object COLLATE "C") AS objects, bool_and(setting <> '') AS has_setting
FROM zs_io_report()
WHERE object IN ('pg_default', 'pg_global', 'pg_wal', 'io_report_ts') GROUP BY 1 ORDER BY item COLLATE "C";

-- nothing in it to ask about
SELECT item, setting FROM zs_io_report()
WHERE object = 'io_report_ts' AND item IN ('direct I/O', 'untorn writes', 'write hints') ORDER BY item COLLATE "C";
CREATE TABLE io_report_t (a int) TABLESPACE io_report_ts;
SELECT r.setting = d.setting AS same FROM zs_io_report() r, zs_io_report() d
WHERE r.object = 'io_report_ts' AND d.object = 'pg_default' AND r.item = 'direct I/O' AND d.item = 'direct I/O';
DROP TABLE io_report_t;
DROP TABLESPACE io_report_ts;

-- may a crash tear a page?  What cannot be found out is no promise.
SELECT object, setting ~ '^(possible|never|unknown)' AS verdict FROM zs_io_report()
WHERE item = 'torn pages' ORDER BY object COLLATE "C";
SELECT (r.advice IS NULL) = EXISTS (SELECT FROM zs_io_report() WHERE item = 'torn pages'
		AND object <> 'pg_wal' AND setting NOT LIKE 'never%') AS as_verdicts
FROM zs_io_report() r WHERE item = 'full_page_writes';

-- whole pages in the WAL: a bulk load has them, too
SELECT pg_stat_reset_shared('wal');
CREATE TABLE io_report_w (a int);
CHECKPOINT;
INSERT INTO io_report_w SELECT generate_series(1, 100);
SELECT pg_stat_force_next_flush();
SELECT setting ~ '^[0-9]+ in [0-9]+ MB of WAL, (about|at most) [0-9]+ %$' AS form,
	split_part(setting, ' ', 1)::int > 0 AS some
FROM zs_io_report() WHERE item = 'full page images';
DROP TABLE io_report_w;

-- settings are the server's
SELECT item, setting = current_setting(item) AS same, advice FROM zs_io_report()
WHERE item IN ('full_page_writes', 'checkpoint_completion_target') ORDER BY item;

-- for those who watch the server
CREATE ROLE io_report_user;
CREATE ROLE io_report_monitor IN ROLE pg_monitor;
SET ROLE io_report_user;
SELECT count(*) FROM zs_io_report();
SET ROLE io_report_monitor;
SELECT count(*) > 20 AS many FROM zs_io_report();
RESET ROLE;
DROP ROLE io_report_user, io_report_monitor;
