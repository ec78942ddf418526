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
from pg_zs_segments('z') where attno > 0 and attname <> 'i' group by attno, attname order by attno;

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

-- One statement fills the write buffer many times, and texts change their nature on the way: what was chosen for a column
-- goes on from one buffer to the next, and is given up where it does not suit.
create table h_long (i int, t text, u text) using heap;
insert into h_long
select i,
	case when i <= 40000 then concat_ws(' ', left(md5((hashint4(i) & 255)::text), 6), 'visits page', i % 777, 'of', left(md5((i % 91)::text), 9),
			'in section', left(md5((i % 53)::text), 12), 'of the older part')
		 when i <= 60000 then md5(i::text)
		 when i <= 70000 then case when i % 3 = 0 then (i % 5)::text end
		 else repeat(md5((i % 9000)::text), i % 4) || i end,
	case when i % 2 = 0 then 'http://site' || (hashint4(i) & 63) || '.net/' || left(md5((hashint4(-i) & 4095)::text), 12) || '?id=' || i else '' end
from generate_series(1, 100000) i;
create table z_long (like h_long) using zedstore;
set zedstore.write_buffer_size = '1MB';
insert into z_long select * from h_long order by i;
create table z_anew (like h_long) using zedstore;
set zedstore.enable_kept_choices = off;
insert into z_anew select * from h_long order by i;
reset zedstore.enable_kept_choices;
reset zedstore.write_buffer_size;
select attname, count(*) > 8 as many, count(distinct regexp_replace(encodings, ':.*', '')) > 1 as ways
from pg_zs_segments('z_long') where attno > 0 and attname <> 'i' group by attno, attname order by attno;
select count(*) from h_long h join z_long z using (i) where (h.t, h.u) is distinct from (z.t, z.u);
select count(*), count(t), sum(hashtext(t)::bigint) = (select sum(hashtext(t)::bigint) from h_long) as t,
	sum(hashtext(u)::bigint) = (select sum(hashtext(u)::bigint) from h_long) as u from z_long;
select * from zs_check('z_long');

-- The same rows with a choice for each buffer: other segments, of about the same size.
select count(*) from h_long h join z_anew z using (i) where (h.t, h.u) is distinct from (z.t, z.u);
select kept.stored <> anew.stored as differ, kept.stored < anew.stored * 1.05 as as_small
from (select sum(stored_bytes) from pg_zs_segments('z_long')) kept (stored),
	(select sum(stored_bytes) from pg_zs_segments('z_anew')) anew (stored);
select * from zs_check('z_anew');
