--
-- What fetches of single rows keep
--
create schema scan_fetch;
set search_path = scan_fetch, public;
create table dict (id int primary key, a text, b numeric, c text) using zedstore with (autovacuum_enabled = off);
insert into dict select i, (array['apple', 'pear', 'plum'])[1 + (hashint4(i) & 1)], (hashint4(i) & 15) / 4.0, 'z' || (hashint4(i) & 7)
from generate_series(1, 400000) i;
vacuum analyze dict;
select attname, bool_and(encodings like '%dict%') as dictionaries, count(*) > 5 as segments
from pg_zs_segments('dict') where attname in ('a', 'b', 'c') group by attname order by attname;
-- a value of each segment: heads and dictionaries are small
set enable_seqscan = off;
set enable_bitmapscan = off;
select count(a), count(b), count(c) from generate_series(1, 400000, 30000) g, dict where id = g;
select total_bytes between 1 and 500000 as small from pg_backend_memory_contexts where name = 'zedstore segment heads';
