\set ECHO none
-- Heap is the oracle of what goes by batches, too: tables are h_<name> and z_<name>, and a query writes @ where h or z is meant.
set client_min_messages = warning;
create schema if not exists test;
grant usage on schema test to public;

-- The only value of a query, or its error.
create or replace function test.outcome(query text) returns text language plpgsql as $$
declare
	value text;
begin
	execute query into value;
	return value;
exception when others then
	return sqlstate || ' ' || sqlerrm;
end $$;

-- Is the only value of a query the same on heap and, in each run, on zedstore?  If so that value, or its md5 where it is longer than
-- "longest"; in front "mark" if with batches forced the plan matches "ours", else "-".
--
-- A run is a mode of zedstore.debug_vector ("none": aggregates by batches are off, "single": they take no vector as a whole, "core": verify, and core combines groups of workers),
-- zedstore.debug_vector_groups, and max_parallel_workers.
create or replace function test.by_batches(query text, ours text, mark text default 'v', longest int default null,
	runs text[] default array[['none', '0', '8'], ['single', '0', '8'], ['off', '0', '8'], ['force', '0', '8'], ['verify', '0', '8'], ['rows', '0', '8']])
returns text language plpgsql as $$
declare
	workers text := current_setting('max_parallel_workers_per_gather');
	expected text;
	got text;
	line text;
	plan text := '';
	run text[];
begin
	perform set_config('max_parallel_workers_per_gather', '0', true);
	expected := test.outcome(replace(query, '@', 'h'));
	perform set_config('max_parallel_workers_per_gather', workers, true);
	perform set_config('zedstore.debug_vector', 'force', true);
	for line in execute 'explain (costs off) ' || replace(query, '@', 'z') loop
		plan := plan || line || e'\n';
	end loop;
	foreach run slice 1 in array runs loop
		perform set_config('zedstore.enable_vector_agg', case run[1] when 'none' then 'off' else 'on' end, true);
		perform set_config('zedstore.enable_vector_totals', case run[1] when 'single' then 'off' else 'on' end, true);
		perform set_config('zedstore.enable_combined_groups', case run[1] when 'core' then 'off' else 'on' end, true);
		perform set_config('zedstore.debug_vector', replace(regexp_replace(run[1], 'none|single', 'off'), 'core', 'verify'), true);
		perform set_config('zedstore.debug_vector_groups', run[2], true);
		perform set_config('max_parallel_workers', run[3], true);
		got := test.outcome(replace(query, '@', 'z'));
		exit when got is distinct from expected;
	end loop;
	perform set_config('zedstore.enable_vector_agg', 'on', true);
	perform set_config('zedstore.enable_vector_totals', 'on', true);
	perform set_config('zedstore.enable_combined_groups', 'on', true);
	perform set_config('zedstore.debug_vector', 'off', true);
	perform set_config('zedstore.debug_vector_groups', '0', true);
	perform set_config('max_parallel_workers', '8', true);
	if got is distinct from expected then
		return format('DIFFERENT (%s): %s instead of %s', run, got, expected);
	end if;
	-- of some conditions it is known that they are never true, in 19 of more, and nothing is read then
	return case when plan ~ ours or plan ~ 'One-Time Filter: false' then mark else '-' end || ' ' ||
		case when length(expected) > longest then md5(expected) else coalesce(expected, 'no rows') end;
end $$;

-- Runs in which groups find their place in memory, and in which all but five do not.
create or replace function test.small_and_large() returns text[] language sql as $$
	select array[['none', '0', '8'], ['none', '5', '8'], ['off', '0', '8'], ['off', '5', '8'], ['force', '0', '8'], ['force', '5', '8'],
		['verify', '0', '8'], ['verify', '5', '8'], ['rows', '0', '8'], ['rows', '5', '8']]
$$;

-- Runs as a list of <mode>[:<groups>[:<workers>]], e.g. 'off force:20 verify:0:4'.
create or replace function test.runs(list text) returns text[] language sql as $$
	select array_agg(array[r[1], coalesce(r[2], '0'), coalesce(r[3], '8')] order by n)
	from string_to_table(list, ' ') with ordinality l(run, n), string_to_array(run, ':') r
$$;

-- Twins: what a query returns from h_<of> and from z_<of>, as test.by_batches() asks and answers.
-- The query is SELECT what FROM @_of t WHERE condition GROUP BY keys tail, or the one given as a
-- whole; its rows come as one string, sorted, or as they are where "ordered".  With a "switch" it
-- is asked a second time with that setting off, in "switch_runs", and must return the same, with
-- the mark "switch_mark" in front, if that is given.
create or replace function test.twins("of" text default null, what text default null, keys text default '',
	condition text default null, tail text default '', query text default null, ordered bool default false,
	plan text default 'ZedstoreAgg\) on', mark text default 'v', longest int default null,
	runs text[] default array[['none', '0', '8'], ['single', '0', '8'], ['off', '0', '8'], ['force', '0', '8'], ['verify', '0', '8'], ['rows', '0', '8']],
	switch text default null, switch_mark text default null, switch_runs text[] default array[['force', '0', '8']])
returns text language plpgsql as $$
declare
	rest constant text := format(' FROM @_%s t%s%s %s', "of", ' WHERE ' || condition, nullif(' GROUP BY ' || keys, ' GROUP BY '), tail);
	whole text;
	result text;
	off text;
begin
	if query is not null then
		whole := format('SELECT string_agg(r::text, '' '' ORDER BY r::text COLLATE "C") FROM (%s) r', query);
	elsif ordered then
		whole := format('SELECT string_agg(x::text, '' '') FROM (SELECT %s%s) x', what, rest);
	else
		whole := format('SELECT string_agg(r, '' '' ORDER BY r COLLATE "C") FROM (SELECT ROW(%s)::text AS r%s) s', what, rest);
	end if;
	result := test.by_batches(whole, plan, mark, longest, runs);
	if switch is not null then
		perform set_config(switch, 'off', true);
		off := test.by_batches(whole, plan, mark, longest, switch_runs);
		perform set_config(switch, 'on', true);
		if regexp_replace(off, '^[^ ]+ ', '') <> regexp_replace(result, '^[^ ]+ ', '') or off not like coalesce(switch_mark, '%') || ' %' then
			return format('DIFFERENT: %s and %s', result, off);
		end if;
	end if;
	return result;
end $$;

-- Makes z_<name> from h_<name>: a table of ours with the same columns and rows, loaded in this order.
create or replace procedure test.twin(name text, ordering text default null) language plpgsql as $$
begin
	execute format('create table z_%1$s (like h_%1$s) using zedstore', name);
	execute format('insert into z_%1$s select * from h_%1$s%2$s', name, ' order by ' || ordering);
end $$;

-- Is the only value of a query with parameters ($1, ...) of these types the same on heap and, in
-- each mode of zedstore.debug_vector, on zedstore, in custom and in generic plans?  If so that
-- value or its md5, as above; in front "v" if a generic plan goes by batches, else "-".
create or replace function test.prepared(query text, types text, vals text, longest int)
returns text language plpgsql as $$
declare
	statement constant text := 'prepare p' || types || ' as ' || query;
	run constant text := format('execute p(%s)', vals);
	kind text;
	mode text;
	expected text;
	got text;
	line text;
	ours bool := false;
begin
	foreach kind in array array['custom', 'generic'] loop
		perform set_config('plan_cache_mode', format('force_%s_plan', kind), true);
		execute replace(statement, '@', 'h');
		expected := test.outcome(run);
		deallocate p;
		-- "spill": three groups in memory
		foreach mode in array array['off', 'force', 'verify', 'rows', 'spill'] loop
			perform set_config('zedstore.debug_vector', replace(mode, 'spill', 'force'), true);
			perform set_config('zedstore.debug_vector_groups',
				case mode when 'spill' then '3' else '0' end, true);
			execute replace(statement, '@', 'z');
			got := test.outcome(run);
			if kind = 'generic' and mode = 'force' then
				for line in execute 'explain (costs off) ' || run loop
					ours := ours or line ~ 'ZedstoreAgg\) on';
				end loop;
			end if;
			deallocate p;
			if got is distinct from expected then
				return format('DIFFERENT (%s, %s): %s instead of %s', kind, mode, got, expected);
			end if;
		end loop;
	end loop;
	perform set_config('zedstore.debug_vector', 'off', true);
	perform set_config('zedstore.debug_vector_groups', '0', true);
	perform set_config('plan_cache_mode', 'auto', true);
	return case when ours then 'v ' else '- ' end ||
		case when length(expected) > longest then md5(expected)
		else coalesce(expected, 'no rows') end;
end $$;

-- The node at the top of a query's plan, as EXPLAIN with these options tells.
create or replace function test.top_node(query text, options text default 'analyze')
returns json language plpgsql as $$
declare
	plan json;
begin
	execute format('explain (%s, format json) %s', options, query) into plan;
	return plan -> 0 -> 'Plan';
end $$;

-- How many of its batches went row by row.
create or replace function test.redone(query text) returns int language sql as $$
	select (test.top_node(query) ->> 'Batches Redone Row-wise')::int
$$;

-- What the planner takes a query to cost.
create or replace function test.cost(query text) returns float8 language sql as $$
	select (test.top_node(query, 'costs') ->> 'Total Cost')::float8
$$;

-- The lines of EXPLAIN ANALYZE that match a pattern; "options" are further ones, e.g. "verbose, ".
create or replace function test.explained(query text, pattern text, options text default '')
returns setof text language plpgsql as $$
declare
	line text;
begin
	for line in execute 'explain (' || options ||
		'analyze, costs off, timing off, summary off, buffers off) ' || query loop
		if line ~ pattern then
			return next ltrim(line);
		end if;
	end loop;
end $$;

-- What EXPLAIN ANALYZE tells of joins, without what differs from one major to the next.
create or replace function test.joined(query text) returns setof text language sql as $$
	select regexp_replace(line, '(rows=\d+)\.00', '\1')
		from test.explained(query, 'Join|->  Hash|ZedstoreScan') line
$$;

-- How many temporary files this session has.
create or replace function test.temporary_files() returns bigint language sql as $$
	select count(*) from pg_ls_tmpdir() where name like 'pgsql_tmp' || pg_backend_pid() || '.%'
$$;
reset client_min_messages;
\set ECHO all
