\set ECHO none
-- VACUUM keeps what a snapshot of anybody in the database might see, autovacuum's ANALYZE of some other table
-- included.  A test that looks at what VACUUM did says ":vacuum t;": it waits first until such snapshots are gone.
set client_min_messages = warning;
create schema if not exists test;
create or replace procedure test.await_horizon() language plpgsql as $$
begin
	while exists (select from pg_stat_activity
				  where pid <> pg_backend_pid() and datname = current_database()
					and greatest(age(backend_xmin), age(backend_xid)) > age(pg_current_xact_id()::xid)) loop
		perform pg_stat_clear_snapshot();
		perform pg_sleep(0.01);
	end loop;
end $$;
reset client_min_messages;
\set vacuum 'call test.await_horizon(); vacuum'
\set ECHO all
