--
-- Values that repeat within a segment: large dictionaries of integers, and of strings that are coded
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_repeats;
set search_path = write_repeats, public;

-- 20,000 users of 64 bits, 40,000 hashes, half of which come once, addresses of 32 bits with NULLs; texts half of which
-- repeat, some NULL, and a few that are large values.
create table h (i int, usr bigint, hash bigint, addr int, phrase text, title text) using heap;
insert into h
select i, hashint8extended(u, 1), hashint8extended(p, 2),
	case when i % 10 <> 0 then hashint4(u) end,
	case when i % 20 = 0 then concat_ws(' ', md5((p % 500)::text), md5((p % 700)::text)) else '' end,
	case when i % 7000 = 0 then repeat(md5(i::text), 300)
		 when i % 50 <> 1 then concat_ws(' ', md5((p % 91)::text), 'page', p, 'of the site', md5((p % 97)::text), md5(p::text)) end
from (select i, (hashint4(i) & 32767) % 20000 as u,
			 case when i % 2 = 0 then hashint4(i) & 8191 else i end as p
	  from generate_series(1, 70000) i) s
order by i;
create table z (like h) using zedstore;
insert into z select * from h;
vacuum z;

-- What the segments hold: dictionaries, and their size against that of the values.
select attname, bool_or(encodings ~ 'dict|mixed') as has_dictionary,
	sum(stored_bytes) < sum(raw_bytes) * 0.9 as is_smaller
from pg_zs_segments('z') where attname <> 'i' group by attno, attname order by attno;

-- All rows, by a scan of each column and by one of all.
select count(*) from h join z using (i)
where (h.usr, h.hash, h.addr, h.phrase, h.title) is distinct from (z.usr, z.hash, z.addr, z.phrase, z.title);
select (select sum(hashtext(title)::bigint) from h) = (select sum(hashtext(title)::bigint) from z) as title,
	(select sum(hash) from h) = (select sum(hash) from z) as hash,
	(select sum(length(phrase)) from h) = (select sum(length(phrase)) from z) as phrase;

-- Single rows, in no order: values without their neighbours.
create index on z (i);
set enable_seqscan = off;
set enable_bitmapscan = off;
select count(*), count(*) filter (where (h.usr, h.hash, h.addr, h.phrase, h.title) is not distinct from
										(z.usr, z.hash, z.addr, z.phrase, z.title)) as same
from (select hashint4(g) & 65535 as i from generate_series(1, 400) g) k
	cross join lateral (select * from h where h.i = k.i) h
	cross join lateral (select * from z where z.i = k.i offset 0) z;
reset enable_seqscan;
reset enable_bitmapscan;

-- VACUUM writes them anew, and nothing is wrong.
delete from h where i % 3 = 0;
delete from z where i % 3 = 0;
vacuum z;
select count(*) from h join z using (i)
where (h.usr, h.hash, h.addr, h.phrase, h.title) is distinct from (z.usr, z.hash, z.addr, z.phrase, z.title);
select * from zs_check('z');
