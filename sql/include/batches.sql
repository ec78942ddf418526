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
-- A run is a mode of zedstore.debug_vector ("none": aggregates by batches are off, "single": they take no vector as a whole), zedstore.debug_vector_groups, and max_parallel_workers.
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
		perform set_config('zedstore.debug_vector', regexp_replace(run[1], 'none|single', 'off'), true);
		perform set_config('zedstore.debug_vector_groups', run[2], true);
		perform set_config('max_parallel_workers', run[3], true);
		got := test.outcome(replace(query, '@', 'z'));
		exit when got is distinct from expected;
	end loop;
	perform set_config('zedstore.enable_vector_agg', 'on', true);
	perform set_config('zedstore.enable_vector_totals', 'on', true);
	perform set_config('zedstore.debug_vector', 'off', true);
	perform set_config('zedstore.debug_vector_groups', '0', true);
	perform set_config('max_parallel_workers', '8', true);
	if got is distinct from expected then
		return format('DIFFERENT (%s): %s instead of %s', run, got, expected);
	end if;
	return case when plan ~ ours then mark else '-' end || ' ' ||
		case when length(expected) > longest then md5(expected) else coalesce(expected, 'no rows') end;
end $$;

-- Runs in which groups find their place in memory, and in which all but five do not.
create or replace function test.small_and_large() returns text[] language sql as $$
	select array[['none', '0', '8'], ['none', '5', '8'], ['off', '0', '8'], ['off', '5', '8'], ['force', '0', '8'], ['force', '5', '8'],
		['verify', '0', '8'], ['verify', '5', '8'], ['rows', '0', '8'], ['rows', '5', '8']]
$$;
reset client_min_messages;
\set ECHO all
