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
-- Values of compressed vectors: of few vectors again and again, and all over the table; rows written
-- meanwhile, and a table whose vectors take more memory than is kept.
create table packed_h (id int, a text, b text) using heap;
insert into packed_h select i, case when i % 7 > 0 then repeat(md5(i::text), 5) end,
	case when i % 500 = 3 then repeat(md5(i::text), 400) else repeat(md5((i * 3)::text), i % 4 + 2) end
from generate_series(1, 60000) i;
create table packed_z (like packed_h) using zedstore with (autovacuum_enabled = off);
insert into packed_z select * from packed_h order by id;
create index on packed_h (id);
create index on packed_z (id);
vacuum analyze packed_h, packed_z;
create function lookups(which text, n int, step int, modulo int) returns text language plpgsql as $$
declare
	sum text := '';
	r record;
begin
	for i in 1 .. n loop
		execute format('select * from packed_%s where id = $1', which) into r using (i::bigint * step) % modulo + 1;
		sum := md5(sum || coalesce(r::text, ''));
	end loop;
	return sum;
end $$;
select attname, bool_or(encodings ~ 'lz4|zstd') as compressed from pg_zs_segments('packed_z') where attname in ('a', 'b') group by 1 order by 1;
select lookups('h', 600, 1031, 2500) = lookups('z', 600, 1031, 2500) as few_vectors,
	lookups('h', 600, 7919, 60000) = lookups('z', 600, 7919, 60000) as all_over;
update packed_h set a = 'new ' || a where id % 10 = 4;
update packed_z set a = 'new ' || a where id % 10 = 4;
delete from packed_h where id % 10 = 5;
delete from packed_z where id % 10 = 5;
select lookups('h', 600, 1031, 2500) = lookups('z', 600, 1031, 2500) as few_vectors,
	lookups('h', 600, 7919, 60000) = lookups('z', 600, 7919, 60000) as all_over;
vacuum packed_z;
select lookups('h', 600, 1031, 2500) = lookups('z', 600, 1031, 2500) as few_vectors,
	lookups('h', 600, 7919, 60000) = lookups('z', 600, 7919, 60000) as all_over;
select total_bytes between 100000 and 18000000 as bounded from pg_backend_memory_contexts where name = 'zedstore vector bodies';
-- the same numbers for other rows
truncate packed_h, packed_z;
insert into packed_h select i, repeat(md5((i + 7)::text), 5), null from generate_series(1, 3000) i;
insert into packed_z select * from packed_h order by id;
select lookups('h', 300, 1031, 2500) = lookups('z', 300, 1031, 2500) as few_vectors;
