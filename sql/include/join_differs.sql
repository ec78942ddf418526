-- Compares heap with zedstore, without filters, with them, verified, and row by row.  "f" in
-- front: some scan has a filter,
-- "F": one that removed rows.  _@ stands for _h and _z.
create function differs(query text) returns text language plpgsql as $$
declare
	mode text;
	expected text := test.digest(query, 'h');
	got text;
	line text;
	filtered text := '-';
begin
	foreach mode in array array['off', 'force', 'verify', 'rows'] loop
		perform set_config('zedstore.enable_join_filters', case mode when 'off'
			then 'off' else 'on' end, true);
		perform set_config('zedstore.debug_vector', replace(mode, 'off', 'force'), true);
		got := test.digest(query, 'z');
		if mode in ('off', 'force') and test.succeeded(got) then
			for line in execute 'explain (analyze, costs off, timing off, summary off,
				buffers off) ' || replace(query, '_@', '_z') loop
				if line like '%Rows Removed by Join Filter Keys%' then
					filtered := 'F';
				elsif line like '%Join Filter Keys%' and filtered = '-' then
					filtered := 'f';
				end if;
			end loop;
		end if;
		if mode = 'off' and filtered <> '-' then
			got := 'a filter though there should be none';
		end if;
		perform set_config('zedstore.enable_join_filters', 'on', true);
		perform set_config('zedstore.debug_vector', 'off', true);
		if got is distinct from expected then
			return format('DIFFERENT (%s): %s instead of %s', mode, got, expected);
		end if;
	end loop;
	return filtered || ' ' || test.count_of(expected);
end $$;
