--
-- Foreign keys between tables of both kinds: whatever the two access methods are, statements end as
-- between two heap tables.
--
\set VERBOSITY terse
create schema write_foreign;
set search_path = write_foreign, public;

-- The outcome of a statement: ok, or the error; names of tables without what tells pairs apart.
create function outcome(sql text) returns text language plpgsql as $$
begin
	execute sql;
	set constraints all immediate;
	return 'ok';
exception when others then
	return sqlstate || ' ' || regexp_replace(sqlerrm, '_(heap|zedstore)+', '', 'g');
end $$;

create table results (pair text, step int, sql text, outcome text, content text);

-- P and F stand for the two tables.
create procedure run(pk_am text, fk_am text, deferred text) language plpgsql as $$
declare
	pair text := pk_am || fk_am;
	p text := 'p_' || pair;
	f text := 'f_' || pair;
	step int := 0;
	line text;
	result text;
	content text;
begin
	execute format('drop table if exists %s, %s', f, p);
	execute format('create table %s (a int primary key, b int unique, t text) using %s', p, pk_am);
	execute format('create table %s (id int primary key, a int, b int default 3, t text) using %s', f, fk_am);
	execute format('insert into %s select i, i * 10, repeat(''p'', i * 300) from generate_series(1, 30) i', p);
	execute format('insert into %s select i, i %% 20 + 1, (i %% 10 + 1) * 10, repeat(''f'', i * 200) from generate_series(1, 60) i', f);
	execute format('insert into %s values (99, 99, null, ''nobody'')', f);
	commit;
	foreach line in array array[
		'alter table F add constraint fk foreign key (a) references P on delete cascade on update cascade ' || deferred,
		'alter table F add constraint fk foreign key (a) references P on delete cascade on update cascade ' || deferred || ' not valid',
		'insert into F values (100, 98)',
		'alter table F validate constraint fk',
		'delete from F where a = 99',
		'alter table F validate constraint fk',
		'alter table F add constraint fk2 foreign key (b) references P (b) on delete set null on update set default ' || deferred,
		'insert into F values (101, 1, 10), (102, 2, 7)',
		'insert into F values (101, 1, 10), (102, 2, 70)',
		'update F set a = 77 where id = 5',
		'update F set a = 7 where id = 5',
		'update F set t = t || ''x''',
		'update P set t = t || ''y'' where a < 10',
		'update P set a = a + 1000 where a in (3, 4)',
		'delete from P where a in (5, 6)',
		'update P set b = 11 where b = 10',
		'update P set b = 30 where b = 11',
		'delete from P where b = 70',
		'insert into P values (7, 70) on conflict do nothing',
		'insert into F values (103, 7, 70) on conflict (id) do update set a = excluded.a',
		'insert into F values (103, 8, 80) on conflict (id) do update set a = 500',
		'with gone as (delete from P where a = 9 returning a) insert into F select 104, a from gone',
		'truncate P',
		'delete from P',
		'alter table F drop constraint fk, drop constraint fk2']
	loop
		step := step + 1;
		result := outcome(replace(regexp_replace(line, '\mF\M', f, 'g'), ' P', ' ' || p));
		commit;
		execute format('select md5(string_agg(r, '','' order by r)) from (select p::text from %s p union all select f::text from %s f) x (r)', p, f)
			into content;
		insert into results values (pair, step, line, result, content);
		commit;
	end loop;
end $$;

-- All pairs; the two heap tables tell how each statement is to end.
create procedure run_all(deferred text) language plpgsql as $$
declare
	pk_am text;
	fk_am text;
begin
	truncate results;
	foreach pk_am in array array['heap', 'zedstore'] loop
		foreach fk_am in array array['heap', 'zedstore'] loop
			call run(pk_am, fk_am, deferred);
		end loop;
	end loop;
end $$;
create view differences as
	select r.*, h.outcome as on_heap from results r join results h using (step)
	where h.pair = 'heapheap' and (r.outcome, r.content) is distinct from (h.outcome, h.content);

set client_min_messages = warning;
call run_all('');
select sql, outcome from results where pair = 'heapheap' order by step;
select pair, count(*) from results group by pair order by pair;
select * from differences;
call run_all('deferrable initially deferred');
select sql, outcome from results where pair = 'heapheap' order by step;
select * from differences;
