\set ECHO none
-- Heap is the oracle: a test has each table twice, t_h USING heap and t_z USING
-- zedstore, and writes t_@ where both are meant.
set client_min_messages = warning;
create schema if not exists test;

-- Runs a statement on both twins: "ok N" with the number of rows, or the error
-- that both give.
create or replace function test.both(sql text) returns text language plpgsql as $$
declare
	outcome text[];
	n bigint;
	twin text;
begin
	foreach twin in array array['h', 'z'] loop
		begin
			execute replace(sql, '_@', '_' || twin);
			get diagnostics n = row_count;
			outcome := outcome || ('ok ' || n);
		exception when others then
			outcome := outcome || replace(sqlstate || ' ' || sqlerrm, '_' || twin, '_@');
		end;
	end loop;
	if outcome[1] is distinct from outcome[2] then
		return format('DIFFERENT: heap: %s, zedstore: %s', outcome[1], outcome[2]);
	end if;
	return outcome[1];
end $$;

-- Does a query give the same rows, in any order, from both twins?  Rows are
-- compared as text, which shows more than = does (-0, 1.0 and 1.00, padding).
-- If not, up to three rows of each kind are shown.  The query is planned by itself
-- and runs once on each twin.
create or replace function test.same(sql text) returns text language plpgsql as $$
declare
	missing text;
	extra text;
	differs constant text := 'with same_h as materialized (select q::text as r from (%s) q),
			same_z as materialized (select q::text as r from (%s) q),
			d as (select r, sum(n) as n from (select r, 1 as n from same_h union all select r, -1 from same_z) a
				group by r having sum(n) <> 0),
			k as (select *, row_number() over (partition by n > 0 order by r) as k from d)
		select coalesce(sum(n) filter (where n > 0), 0) || '' rows missing'' ||
				coalesce('': '' || string_agg(r, '', '') filter (where n > 0 and k <= 3), ''''),
			coalesce(-sum(n) filter (where n < 0), 0) || '' rows too many'' ||
				coalesce('': '' || string_agg(r, '', '') filter (where n < 0 and k <= 3), '''') from k';
begin
	execute format(differs, replace(sql, '_@', '_h'), replace(sql, '_@', '_z')) into missing, extra;
	if missing like '0 %' and extra like '0 %' then
		return 't';
	end if;
	return format('DIFFERENT: %s; %s', missing, extra);
end $$;

-- What a query returns from a twin, h or z: the number of rows and the md5 of all of them, in any
-- order; or its error.
create or replace function test.digest(sql text, twin text) returns text language plpgsql as $$
declare
	result text;
begin
	execute 'select count(*) || '' '' || coalesce(md5(array_to_string(array_agg(q::text
		order by q::text), ''|'')), '''') from (' || replace(sql, '_@', '_' || twin) || ') q'
		into result;
	return result;
exception when others then
	return sqlstate || ' ' || replace(sqlerrm, '_' || twin, '_@');
end $$;

-- Did the query return rows, or none, and no error?
create or replace function test.succeeded(digest text) returns bool language sql as $$
	select digest ~ '^[0-9]+ ([0-9a-f]{32})?$'
$$;

-- What a test shows of it: the number of rows, or the error.
create or replace function test.count_of(digest text) returns text language sql as $$
	select case when test.succeeded(digest) then split_part(digest, ' ', 1) else digest end
$$;

-- The same, and in the same order.
create or replace function test.same_order(sql text) returns text language sql as $$
	select test.same('select row_number() over () as n, r from (' || sql || ') r')
$$;

-- A statement on both twins, again and again, in the present subtransaction; $1 is the round.
create or replace function test.again(sql text, rounds int) returns text language plpgsql as $$
declare
	nh bigint;
	nz bigint;
begin
	for i in 1 .. rounds loop
		execute replace(replace(sql, '_@', '_h'), '$1', i::text);
		get diagnostics nh = row_count;
		execute replace(replace(sql, '_@', '_z'), '$1', i::text);
		get diagnostics nz = row_count;
		if nh <> nz then
			return format('DIFFERENT in round %s: %s rows, not %s', i, nz, nh);
		end if;
	end loop;
	return 'ok ' || nh;
end $$;

-- What zs_check() says about a table; silent when it is well.  Blocks that nothing
-- points to are well where a transaction was rolled back; "tight" names them.
create or replace function test.check(rel regclass) returns setof text language sql as $$
	select rel::text || ': ' || k::text from zs_check(rel) k where severity <> 'notice'
$$;
create or replace function test.check_tight(rel regclass) returns setof text language sql as $$
	select rel::text || ': ' || k::text from zs_check(rel) k
$$;
reset client_min_messages;
\set ECHO all
