--
-- Every type comes out as it went in, bit for bit
--
\getenv abs_srcdir PG_ABS_SRCDIR
\set include :abs_srcdir '/sql/include/twins.sql'
\i :include
create schema write_types;
set search_path = write_types, public;

-- Values of a type, stored in several ways (row tree, segment, with NULLs), are those of a heap table: as text,
-- and down to the last bit by the type's send function where it has one.
create function roundtrip(type text, query text) returns text language plpgsql as $$
declare
	result text;
	way text;
	bits text;
	n bigint;
begin
	execute format('create table v (i int, v %s) using heap', type);
	execute format('insert into v select row_number() over (), q.* from (%s) q', query);
	select case when typsend = 0 or type = 'aclitem[]' then 'null' else typsend::regproc || '(v)' end into bits
	from pg_type where oid = (select atttypid from pg_attribute where attrelid = 'v'::regclass and attname = 'v');
	foreach way in array array['small', 'tail', 'segment', 'nulls'] loop
		execute format('create table s (i int, v %s) using zedstore', type);
		execute format('create table c (i int, v %s) using heap', type);
		if way = 'small' then
			insert into c select * from v order by i limit 60;
		elsif way = 'tail' then
			insert into c select v.* from generate_series(1, 3) g, (select * from v order by i limit 500) v;
		elsif way = 'segment' then
			insert into c select v.* from v, generate_series(1, (select 2600 / count(*) + 1 from v)) g;
		else
			insert into c select v.i, case when (v.i + g) % 5 > 1 then v.v end
			from v, generate_series(1, (select 2600 / count(*) + 1 from v)) g;
		end if;
		insert into s select * from c;
		execute format('with h as materialized (select i, %1$s, v::text, count(*) from c group by 1, 2, 3),
			z as materialized (select i, %1$s, v::text, count(*) from s group by 1, 2, 3)
			select count(*) from ((table h except table z) union all (table z except table h)) x',
			bits) into n;
		if n > 0 then
			result := concat(result, way, ': ', n, ' values differ ');
		end if;
		if exists (select from zs_check('s')) then
			result := concat(result, way, ': zs_check ');
		end if;
		drop table s, c;
	end loop;
	drop table v;
	return coalesce(result, 't');
end $$;

-- two stripes and a part of one are enough for a segment
set zedstore.min_segment_rows = 2000;

create type mood as enum ('sad', 'ok', 'happy', 'a much longer label than the other ones have');
create domain posint as int check (value > 0);
create domain shorttext as varchar(20);
create type pair as (a int, b text);
create type nested as (p pair, d numeric, l pair[]);
create type textrange as range (subtype = text);
create type passed;
-- the notices about shell types differ between servers
set client_min_messages = warning;
create function passed_in(cstring) returns passed strict immutable language internal as 'int4in';
create function passed_out(passed) returns cstring strict immutable language internal as 'int4out';
create type passed (input = passed_in, output = passed_out, internallength = 4, passedbyvalue, alignment = int4);
reset client_min_messages;

select type, roundtrip(type, query) from (values
	(1, 'bool', 'select i % 3 = 0 from generate_series(1, 500) i'),
	(1, 'bool', 'select true from generate_series(1, 500) i'),
	(2, 'int2', 'select (i * 131)::int2 from generate_series(-250, 249) i union all select v::int2 from (values (32767::int2), (-32768)) v (v)'),
	(3, 'int4', 'select i from generate_series(1, 3000) i'),
	(3, 'int4', 'select -i * 3 from generate_series(1, 3000) i'),
	(3, 'int4', 'select (i * 7919::bigint % 2147483647)::int from generate_series(1, 3000) i union all select v::int4 from (values (2147483647), (-2147483648)) v (v)'),
	(3, 'int4', 'select case when i % 100 = 0 then 2000000000 else i % 10 end from generate_series(1, 3000) i'),
	(4, 'int8', 'select i * 1000000007 * 97 from generate_series(1::bigint, 3000) i'),
	(4, 'int8', 'select v::int8 from (values (9223372036854775807), (-9223372036854775808), (0), (-1)) v (v)'),
	(4, 'int8', 'select 9223372036854775807 - i * i from generate_series(1::bigint, 3000) i'),
	(5, 'float4', 'select i / 3.0 from generate_series(-250, 250) i union all select v::float4 from (values (''nan''), (''inf''), (''-inf''), (''-0''), (''0''), (1e-45), (3.4e38), (1e-38)) v (v)'),
	(6, 'float8', 'select i / 100.0 from generate_series(-1500, 1500) i'),
	(6, 'float8', 'select sqrt(i) from generate_series(1, 3000) i'),
	(6, 'float8', 'select v::float8 from (values (''nan''::float8), (''inf''), (''-inf''), (''-0''), (''0''), (5e-324), (1.7e308), (0.1), (0.2 + 0.1), (1e22), (1e23), (123456789.123456789)) v (v)'),
	(6, 'float8', 'select case i % 10 when 0 then ''nan''::float8 when 1 then ''-0'' when 2 then 0 else i / 10.0 end from generate_series(1, 3000) i'),
	(7, 'numeric', 'select i / 100.0 from generate_series(-1500, 1500) i'),
	(7, 'numeric', 'select v::numeric from (values (''nan''::numeric), (''inf''), (''-inf''), (0), (0.0), (0.00), (-0.000), (1), (1.0), (1.00), (100), (1e2), (1e100), (1e-100), (1.5e1000), (99999999999999999999.99), (0.1), (10000), (100000000), (0.0001), (0.00010000), (12345678901234567890123456789012345678901234567890)) v (v)'),
	(7, 'numeric', 'select trunc((i * 7919 % 100000) / 100.0, i % 6) from generate_series(1, 3000) i'),
	(7, 'numeric', 'select power(10::numeric, i) + 1 from generate_series(-150, 150) i'),
	(7, 'numeric(12, 4)', 'select i / 7.0 from generate_series(-1500, 1500) i union all select v::numeric(12, 4) from (values (''nan'')) v (v)'),
	(7, 'numeric(7, 2)', 'select (i * i % 99999) / 100.0 from generate_series(1, 3000) i'),
	(7, 'numeric(5, -2)', 'select i * 100 from generate_series(1, 900) i'),
	(8, 'money', 'select i::money / 7 from generate_series(-100, 400) i'),
	(9, 'text', 'select ''text '' || i from generate_series(1, 3000) i'),
	(9, 'text', 'select v::text from (values (''''), ('' ''), (''  x  ''), (''\''), (U&''\00e4\00f6 \4e2d\6587 \+01f600''), (chr(1)), (repeat(''a'', 126)), (repeat(''b'', 127)), (repeat(''c'', 128)), (repeat(''d'', 255)), (repeat(''e'', 256)), (repeat(''f'', 2000)), (repeat(''g'', 8000)), (repeat(''h'', 8192)), (repeat(''i'', 100000))) v (v)'),
	(9, 'text', 'select repeat(md5(i::text), i % 40) from generate_series(1, 1000) i'),
	(9, 'text', 'select ''http://www.example.com/products/'' || i * 7919 || ''?session='' || md5(i::text) from generate_series(1, 3000) i'),
	(9, 'text', 'select (array[''red'', ''green'', ''blue'', '''', ''a longer colour name''])[i % 5 + 1] from generate_series(1, 3000) i'),
	(10, 'varchar(30)', 'select rpad('''', i % 31, ''xy '') from generate_series(0, 500) i'),
	(11, 'char(10)', 'select rpad('''', i % 11, ''x'') from generate_series(0, 500) i'),
	(11, 'char(1)', 'select chr(32 + i % 90) from generate_series(0, 500) i'),
	(11, 'char(300)', 'select ''padded '' || i from generate_series(0, 500) i'),
	(12, '"char"', 'select i::"char" from generate_series(-128, 127) i'),
	(13, 'name', 'select left(repeat(md5(i::text), 2), i % 64) from generate_series(0, 500) i'),
	(14, 'bytea', 'select decode(repeat(lpad(to_hex(i % 256), 2, ''0''), i % 50), ''hex'') from generate_series(0, 500) i'),
	(14, 'bytea', 'select decode(repeat(lpad(to_hex(i % 256), 2, ''0''), i), ''hex'') from unnest(array[0, 1, 126, 127, 1999, 2000, 2001, 2047, 2048, 2049, 8100, 8191, 8192, 8193, 20000, 65535, 65536]) i'),
	(15, 'date', 'select date ''1970-01-01'' + i * 3 from generate_series(-200, 400) i union all select v::date from (values (''infinity''), (''-infinity''), (''4713-01-01 BC''), (''5874897-12-31'')) v (v)'),
	(16, 'time', 'select time ''00:00'' + i * interval ''17.123456 s'' from generate_series(0, 500) i union all select v::time from (values (''24:00'')) v (v)'),
	(17, 'timetz', 'select format(''%s:%s:%s.%s%s'', i % 24, i % 60, i % 59, i, (array[''+00'', ''-07:30'', ''+14''])[i % 3 + 1])::timetz from generate_series(0, 500) i'),
	(18, 'timestamp', 'select timestamp ''2000-01-01'' + i * interval ''1 day 1.000001 s'' from generate_series(-200, 800) i union all select v::timestamp from (values (''infinity''), (''-infinity'')) v (v)'),
	(19, 'timestamptz', 'select timestamptz ''2000-01-01 UTC'' + i * interval ''1 hour'' from generate_series(-200, 800) i union all select v::timestamptz from (values (''infinity''), (''-infinity'')) v (v)'),
	(20, 'interval', 'select i * interval ''1 month 3 days 00:00:00.5'' from generate_series(-200, 300) i union all select v::interval from (values (''infinity''), (''-infinity''), (''1 day''), (''24 h'')) v (v)'),
	(21, 'uuid', 'select md5(i::text)::uuid from generate_series(1, 1000) i'),
	(22, 'inet', 'select (format(''10.%s.%s.1/%s'', i % 256, i / 256, i % 33))::inet from generate_series(0, 400) i union all select v::inet from (values (''::1''), (''2001:db8::/32''), (''1.2.3.4'')) v (v)'),
	(22, 'cidr', 'select v::cidr from (values (''10.0.0.0/8''::cidr), (''2001:db8::/32''), (''0.0.0.0/0'')) v (v)'),
	(22, 'macaddr', 'select (''08:00:2b:01:02:'' || lpad(to_hex(i % 256), 2, ''0''))::macaddr from generate_series(0, 400) i'),
	(22, 'macaddr8', 'select v::macaddr8 from (values (''08:00:2b:01:02:03:04:05''::macaddr8)) v (v)'),
	(23, 'bit(5)', 'select i::bit(5) from generate_series(0, 31) i'),
	(23, 'varbit', 'select substring(repeat(i::bit(13)::text, 20), 1, i)::varbit from generate_series(0, 250) i'),
	(24, 'point', 'select point(i, -i / 3.0) from generate_series(-100, 300) i'),
	(24, 'lseg', 'select lseg(point(i, 0), point(0, i)) from generate_series(0, 300) i'),
	(24, 'box', 'select box(point(i, 0), point(0, i)) from generate_series(0, 300) i'),
	(24, 'line', 'select v::line from (values (''{1,2,3}''::line)) v (v)'),
	(24, 'circle', 'select circle(point(i, 0), i) from generate_series(0, 300) i'),
	(24, 'path', 'select v::path from (values (''((0,0),(1,1),(2,0))''::path), (''[(0,0),(1,1)]'')) v (v)'),
	(24, 'polygon', 'select v::polygon from (values (''((0,0),(1,1),(2,0))''::polygon)) v (v)'),
	(25, 'json', 'select format(''{"b": %s, "a":  [1,%s], "b": null}'', i, i)::json from generate_series(0, 1000) i'),
	(25, 'jsonb', 'select format(''{"key": %s, "list":  [1,%s], "s": "%s", "big": "%s"}'', i, i, md5(i::text), repeat(''x'', i * 3))::jsonb from generate_series(0, 1000) i'),
	(25, 'jsonpath', 'select v::jsonpath from (values (''$.a[*] ? (@ > 1)''::jsonpath)) v (v)'),
	(26, 'tsvector', 'select to_tsvector(''simple'', ''word '' || i || '' and '' || md5(i::text)) from generate_series(0, 500) i'),
	(26, 'tsquery', 'select v::tsquery from (values (''a & !b | c <-> d''::tsquery)) v (v)'),
	(27, 'int4[]', 'select array[i, null, -i] from generate_series(0, 500) i union all select v::int4[] from (values (''{}''), (''[5:6]={1,2}''), (''{{1,2},{3,4}}'')) v (v)'),
	(27, 'int4[]', 'select array(select generate_series(1, i * 7)) from generate_series(0, 400) i'),
	(27, 'text[]', 'select array[''a'' || i, null, '''', repeat(''long '', i)] from generate_series(0, 500) i'),
	(27, 'numeric[]', 'select array[i / 3.0, ''nan''] from generate_series(0, 300) i'),
	(28, 'oid', 'select (4294967295 - i)::oid from generate_series(0::bigint, 500) i'),
	(28, 'oidvector', 'select ''1 2 3''::oidvector from generate_series(0, 50) i union all select v::oidvector from (values ('''')) v (v)'),
	(28, 'int2vector', 'select v::int2vector from (values (''1 2 3''::int2vector), ('''')) v (v)'),
	(28, 'tid', 'select format(''(%s,%s)'', i, i % 10 + 1)::tid from generate_series(0, 500) i'),
	(28, 'xid', 'select i::text::xid from generate_series(0, 500) i'),
	(28, 'xid8', 'select i::text::xid8 from generate_series(0, 500) i'),
	(28, 'cid', 'select i::text::cid from generate_series(0, 500) i'),
	(28, 'pg_lsn', 'select ''0/0''::pg_lsn + i * 1000 from generate_series(0, 500) i'),
	(28, 'pg_snapshot', 'select v::pg_snapshot from (values (''10:20:10,14,15''::pg_snapshot)) v (v)'),
	(28, 'regclass', 'select v::regclass from (values (''pg_class''::regclass), (''pg_type'')) v (v)'),
	(29, 'mood', 'select (enum_range(null::mood))[i % 4 + 1] from generate_series(0, 500) i'),
	(29, 'posint', 'select i from generate_series(1, 500) i'),
	(29, 'shorttext', 'select ''v'' || i from generate_series(1, 500) i'),
	(29, 'pair', 'select row(i, ''x'' || i)::pair from generate_series(1, 500) i union all select row(null, null)::pair'),
	(29, 'pair[]', 'select array[row(i, ''x'' || i)::pair, null, row(null, '''')::pair] from generate_series(1, 500) i'),
	(29, 'nested', 'select row(row(i, repeat(''y'', i)), i / 10.0, array[row(1, ''z'')::pair])::nested from generate_series(1, 500) i'),
	(30, 'int4range', 'select int4range(i, i + 10) from generate_series(1, 500) i union all select v::int4range from (values (''empty''), (''(,)''), (''[5,)'')) v (v)'),
	(30, 'numrange', 'select numrange(i / 10.0, i, ''(]'') from generate_series(1, 500) i'),
	(30, 'tstzrange', 'select v::tstzrange from (values (tstzrange(''2000-01-01 UTC'', ''infinity''))) v (v)'),
	(30, 'textrange', 'select textrange(''a'' || i, ''b'') from generate_series(1, 500) i'),
	(30, 'int4multirange', 'select int4multirange(int4range(1, i), int4range(i + 5, i + 9)) from generate_series(2, 300) i union all select v::int4multirange from (values (''{}'')) v (v)'),
	(31, 'passed', 'select i::text::passed from generate_series(-100, 300) i'),
	(31, 'aclitem[]', 'select ''{pg_monitor=r/pg_monitor}''::aclitem[]')
) as x (n, type, query) order by n, query;

-- xml where the server has it
select roundtrip('text', 'select 1');
create function roundtrip_xml() returns text language plpgsql as $$
begin
	perform '<a/>'::xml;
	return roundtrip('xml', 'select (''<a b="'' || i || ''"> <c/> </a>'')::xml from generate_series(1, 500) i');
exception when feature_not_supported then
	return 't';
end $$;
select roundtrip_xml();

-- arrays of records come from CREATE TABLE AS of a composite type only
create table rec_h using heap as select array[row(1, 'x')::pair] as r, row(2, null)::pair as p;
create table rec_z using zedstore as select * from rec_h;
select * from rec_z;
select (p).a, r[1] from rec_z;

-- NaN with a payload and a denormal, from the binary format
create table nan_z (f8 float8, f4 float4) using zedstore;
create table nan_h (f8 float8, f4 float4) using heap;
select current_setting('data_directory') || '/zedstore_write_types.data' as file \gset
create function bin_file(path text) returns void language plpgsql as $$
declare
	rows bytea := '\x5047434f50590aff0d0a000000000000000000';
	oid_ oid;
begin
	for i in 1..200 loop
		rows := rows || '\x000200000008'::bytea || decode((array['7ff8000000000001', 'fff800000000abcd', '8000000000000000',
			'0000000000000001', '3ff0000000000000', '7ff0000000000000'])[i % 6 + 1], 'hex') || '\x00000004'::bytea ||
			decode((array['7fc00001', 'ffc0abcd', '80000000', '00000001', '3f800000'])[i % 5 + 1], 'hex');
	end loop;
	oid_ := lo_from_bytea(0, rows || '\xffff'::bytea);
	perform lo_export(oid_, path);
	perform lo_unlink(oid_);
end $$;
select bin_file(:'file');
copy nan_h from :'file' (format binary);
select count(*) from nan_h;
insert into nan_z select nan_h.* from nan_h, generate_series(1, 30);
insert into nan_h select nan_h.* from nan_h, generate_series(1, 29);
insert into nan_z select * from nan_h limit 5;
insert into nan_h select * from nan_h limit 5;
select count(*), count(distinct float8send(f8)), count(distinct float4send(f4)) from nan_z;
select test.same('select float8send(f8), float4send(f4) from nan_@');

-- large values, compressible and not, up to 100 MB
create table big_h (i int, t text, b bytea) using heap;
create table big_z (i int, t text, b bytea) using zedstore;
create function noise(n int) returns text language sql as
	'select string_agg(md5(i::text), '''') from generate_series(1, $1 / 32) i';
insert into big_h values (1, repeat('a', 1000000), null), (2, noise(1000000), '\x'), (3, noise(100), decode(noise(3000000), 'hex')),
	(4, noise(8000), decode(noise(4000), 'hex'));
insert into big_z select * from big_h;
insert into big_z select * from big_h where i < 3;
insert into big_h select * from big_h where i < 3;
select test.same('select i, md5(t), length(t), md5(b), length(b), left(t, 10), substr(t, 500000, 10) from big_@');
insert into big_z select g + 10, t, b from big_h, generate_series(1, 10) g;
insert into big_h select g + 10, t, b from big_h, generate_series(1, 10) g;
select test.same('select i, md5(t), length(t), md5(b), length(b) from big_@');
select count(*), sum(length(t)), sum(length(b)) from big_z where i = 12;
insert into big_z select 100, null, decode(repeat(md5('x'), 100 * 1024 * 1024 / 16), 'hex');
insert into big_z select 101, repeat('0123456789', 10 * 1024 * 1024), null;
select i, length(t), length(b), md5(t), md5(b), substr(b, 1000000, 3) from big_z where i >= 100;
update big_z set i = i + 1000 where i >= 100;
select i, length(t), length(b) from big_z where i >= 100 and i < 2000 order by i desc limit 2;
select test.check_tight('big_z');

-- values that were compressed or stored apart by heap arrive plain
create table src_h (t text, u text compression pglz, w text) using heap;
alter table src_h alter t set storage external, alter w set storage main;
insert into src_h select noise(10000), repeat(noise(500), 30), repeat('w', 5000) from generate_series(1, 200);
create table src_z using zedstore as select * from src_h;
select test.same('select md5(t), md5(u), md5(w), length(t) from src_@');
select test.check_tight('src_z');

-- patterns of NULLs
\set ECHO none
select format('create table null_%s (a int, %s) using %s', am, string_agg(format('n%s %s', i, (array['int', 'text', 'float8', 'numeric'])[i % 4 + 1]), ', '),
	case am when 'h' then 'heap' else 'zedstore' end)
from generate_series(1, 12) i, unnest(array['h', 'z']) am group by am order by am \gexec
\set ECHO all
insert into null_h select i, case when i % 2 = 0 then i::text end, case when i % 3 = 0 then i end, case when i % 1024 = 0 then i end,
	case when i % 1024 <> 0 then i end, case when i < 1024 then i::text end, case when i >= 1024 then i end, case when i / 1024 % 2 = 0 then i end, null,
	case when i % 5 in (1, 2) then i::text end, case when i = 5000 then i end, case when i <> 5000 then i end, case when i % 64 > 60 then i end
from generate_series(0, 9999) i;
insert into null_z select * from null_h;
select test.same('select * from null_@');
select test.same('select * from null_@ where n4 is null');
select test.same('select count(n1), count(n2), count(n3), count(n4), count(n5), count(n6), count(n7), count(n8), count(n9), count(n10), count(n11), count(n12) from null_@');
select test.check_tight(oid) from pg_class
where relnamespace = 'write_types'::regnamespace and relkind = 'r' and relname like '%\_z' order by relname;
