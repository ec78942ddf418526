\set ECHO none
-- Strings by batches in a database of its own with the encoding :'encoding'; :chars is an array of what its strings are made of.
\set home :DBNAME
SELECT 'CREATE DATABASE ' || :'database' || ' ENCODING ' || quote_literal(:'encoding') || ' LOCALE ''C'' TEMPLATE template0' \gexec
\c :database
SET client_min_messages = warning;
CREATE EXTENSION zedstore_io SCHEMA public;
\i :batches
\set ECHO none
SET max_parallel_workers_per_gather = 0;
SET zedstore.min_segment_rows = 1024;
-- all strings of up to three of them, and others of many
CREATE TABLE h_enc (id int, t text, v varchar, c char(12)) USING heap;
INSERT INTO h_enc SELECT row_number() OVER (ORDER BY s), s, s || 'x', s FROM (SELECT DISTINCT a || b || c FROM unnest((:chars)::text[]) a, unnest((:chars)::text[]) b, unnest((:chars)::text[]) c) x(s);
INSERT INTO h_enc SELECT 10000 + g, repeat(t, 1 + g % 40) || v || g % 3, t || v, c FROM h_enc, generate_series(1, 4) g;
CREATE TABLE z_enc (LIKE h_enc) USING zedstore;
INSERT INTO z_enc SELECT * FROM h_enc ORDER BY id;
\set ECHO all
SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database();
-- conditions with each of them: rows for which they are true; which ones ILIKE finds, on heap and here, is not the same in all versions of PostgreSQL
SELECT no, string_agg(left(test.by_batches('SELECT count(*) || ''/'' || sum(id) FROM @_enc WHERE ' || condition, 'Zedstore'), CASE WHEN condition LIKE '%ILIKE%' THEN 1 ELSE 100 END), ' ' ORDER BY k)
	FROM unnest((:chars)::text[]) WITH ORDINALITY c(ch, no), LATERAL unnest(ARRAY[format('t LIKE %L', '%' || ch || '%'), format('t NOT LIKE %L', ch || '%'), format('v LIKE %L', '%' || ch || 'x'),
		format('t LIKE %L', '_' || ch || '_'), format('c LIKE %L', ch || '%'), format('t LIKE %L', '%' || ch || '%' || ch || '%'), format('starts_with(t, %L)', ch), format('t = %L', repeat(ch, 2)),
		format('v > %L', ch), format('left(t, 1) = %L', ch), format('substr(t, 2, 1) = %L AND right(t, 1) <> %1$L', ch), format('upper(t) LIKE %L', '%' || ch || '%'), format('t IN (%L, %L)', ch, ch || 'a'),
		format('t ILIKE %L', '%' || ch || '_%')]) WITH ORDINALITY f(condition, k) WHERE ch <> '' GROUP BY no ORDER BY no;
-- keys and arguments
SELECT test.by_batches('SELECT md5(string_agg(r::text, '','' ORDER BY r::text COLLATE "C")) FROM (SELECT ' || e || ' AS k, count(*), min(t), max(v), min(c), sum(length(t)), max(length(c)), sum(octet_length(v)), count(DISTINCT left(v, 2)) FROM @_enc GROUP BY 1) r', 'ZedstoreAgg\) on', 'v', 60, test.small_and_large())
	FROM unnest('{t,c,"left(t, 2)","right(v, -1)","substr(t, 2, 2)","lower(t)","upper(v)","length(t)"}'::text[]) e;
\set ECHO none
\c :home
SELECT 'DROP DATABASE ' || :'database' \gexec
\set ECHO all
