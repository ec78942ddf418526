-- Versions of the library and of the SQL objects: what each knows of the other.
CREATE TABLE inspect_version_t (id int, a text) USING zedstore;
INSERT INTO inspect_version_t SELECT i, i::text FROM generate_series(1, 5000) i;
SELECT v.library = a.default_version AS library, v.extension = e.extversion AS extension,
       v.extension = v.library AS same, m.version = v.format AS format
FROM zs_version() v, pg_available_extensions a, pg_extension e, pg_zs_meta_page('inspect_version_t') m
WHERE a.name = 'zedstore_io' AND e.extname = 'zedstore_io';
CREATE ROLE regress_zs_anybody;
SET ROLE regress_zs_anybody;
SELECT count(*) FROM zs_version();
RESET ROLE;
DROP ROLE regress_zs_anybody;

-- Definitions of an older version name the first columns only, those of a newer one more than there are.  So it is
-- for each function that returns a set.
CREATE FUNCTION defined_otherwise(fn regproc, shift int) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    p pg_proc;
    columns text[];
    arguments text;
    hint text;
BEGIN
    SELECT * INTO STRICT p FROM pg_proc WHERE oid = fn;
    SELECT array_agg(format('OUT c%s %s', n, format_type(t, NULL)) ORDER BY n) INTO columns
    FROM unnest(p.proallargtypes, p.proargmodes) WITH ORDINALITY u(t, mode, n) WHERE mode = 'o';
    IF shift > 0 THEN
        columns := columns || 'OUT more text'::text;
    ELSIF shift < 0 THEN
        columns := columns[:cardinality(columns) + shift];
    END IF;
    arguments := oidvectortypes(p.proargtypes);
    EXECUTE format('CREATE FUNCTION other_%s(%s) RETURNS SETOF record AS %L, %L LANGUAGE C %s',
                   p.proname, concat_ws(', ', nullif(arguments, ''), array_to_string(columns, ', ')),
                   p.probin, p.prosrc, CASE WHEN p.proisstrict THEN 'STRICT' END);
    BEGIN
        EXECUTE format('SELECT count(*) FROM other_%s(%s)', p.proname,
                       CASE WHEN p.pronargs > 0 THEN quote_literal('inspect_version_t') ||
                       CASE WHEN p.pronargs > 1 THEN CASE p.proargtypes[1] WHEN 'bool'::regtype THEN ', false'
                                               ELSE ', NULL' END ELSE '' END ELSE '' END);
        hint := 'works';
    EXCEPTION WHEN object_not_in_prerequisite_state THEN
        GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
        hint := concat_ws(': ', regexp_replace(SQLERRM, '\(.*\)', '()'), hint);
    END;
    EXECUTE format('DROP FUNCTION other_%s', p.proname);
    RETURN hint;
END $$;
SELECT older, replace(newer, p.proname, '...') AS newer, count(*) > 10 AS many
FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'zedstore_io',
    defined_otherwise(p.oid, -1) older, defined_otherwise(p.oid, 1) newer
WHERE p.proretset AND p.probin IS NOT NULL AND p.proname NOT IN ('zs_io_calibrate', 'zs_overlap')
GROUP BY 1, 2 ORDER BY 1, 2;

-- what an older definition shows are the first columns
CREATE FUNCTION inspect_old_meta(regclass, OUT version int4, OUT next_row int8) RETURNS SETOF record
AS '$libdir/zedstore_io', 'pg_zs_meta_page' LANGUAGE C STRICT;
SELECT next_row >= 5000 AS next_row, version = (SELECT format FROM zs_version()) AS same FROM inspect_old_meta('inspect_version_t');
DROP FUNCTION inspect_old_meta;
DROP FUNCTION defined_otherwise;
DROP TABLE inspect_version_t;
