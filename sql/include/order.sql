\set ECHO none
-- Rows in every kind of order, with columns of all ordered types: tables <prefix>_h and <prefix>_z,
-- and a function <prefix>_rows() that makes rows of them.  The variable prefix names the test's.
\set h :prefix '_h'
\set z :prefix '_z'
\set row :prefix '_row'
\set rows :prefix '_rows'
CREATE TABLE :h (id int, kind text, i int, b bigint, o oid, f float8, n numeric, t text
	COLLATE "C",
	ts timestamp, d date, u uuid, bo bool, few int, v varchar COLLATE "C", late_h int) USING heap;
CREATE TABLE :z (LIKE :h) USING zedstore;
CREATE TABLE :row (LIKE :h);
-- k: what the columns are made of; p: position in the load
CREATE FUNCTION :rows(kind text, first int, n int) RETURNS SETOF :row LANGUAGE sql AS $$
	SELECT first + p, kind, CASE WHEN k % 13 = 0 AND kind = 'nulls' THEN NULL ELSE k - n / 2 END,
		k * 10000000019, (k::bigint * 400000)::oid,
		CASE k % 501 WHEN 500 THEN 'NaN' WHEN 499 THEN '-Infinity' WHEN 498 THEN 'Infinity' WHEN 0
		THEN -0.0 ELSE k / 7.0 - 99 END::float8,
		CASE k % 503 WHEN 500 THEN 'NaN' WHEN 7 THEN NULL ELSE (k - n / 2) * 1.010 ^ (k % 3)
		END::numeric,
		CASE WHEN k % 97 = 0 THEN NULL ELSE 'same 8 b' || lpad(k::text, 6, '0') END, timestamp
		'2020-01-01' + k * interval '7 min',
		CASE WHEN k % 5 = 0 AND kind <> 'sorted' THEN NULL ELSE date '2020-01-01' + k / 9 END,
		(lpad(to_hex(k), 8, '0') || lpad('', 24, '7'))::uuid, k % 3 = 0, k / (n / 4 + 1),
		left(md5(k::text), 9)::varchar, NULL::int
	FROM (SELECT p, CASE kind WHEN 'sorted' THEN p WHEN 'reverse' THEN n - p WHEN 'runs' THEN p %
	1500 * 3 + p / 1500
		WHEN 'near' THEN greatest(p + hashint4(p) % 300, 0) ELSE abs(hashint4(p)) % n END AS k FROM
		generate_series(0, n - 1) p) s
$$;
\set ECHO all
