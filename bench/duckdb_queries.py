"""TPC-DS and TPC-H by DuckDB: tables as files, queries, its own times, and a comparison of rows.

duckdb_queries.py generate EXTENSION SCALE FOLDER
	writes the tables of TPC-DS as FOLDER/<table>.csv, schema.tsv, and the queries as q<n>.sql
duckdb_queries.py serve FOLDER [CLOCK [OPTIONS]]
	loads the files of such a folder, of COPY's options if they are not CSV; then answers each
	line of standard input: "version"; or "<n> <file>": runs query n, writes its rows to the
	file, and prints milliseconds, of processor time if CLOCK is process_time
duckdb_queries.py compare FILE FILE
	exit status 1 and the first difference, if rows differ

Rows are compared in any order; numbers may differ by a billionth, for DuckDB has averages of
decimals as floating point numbers.
"""
import csv
import sys
import time
from pathlib import Path


def generate(extension, scale, folder):
    import duckdb

    con = duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": "true"})
    con.execute(f"load '{extension}'")
    con.execute(f"call dsdgen(sf = {scale})")
    folder = Path(folder)
    with open(folder / "schema.tsv", "w") as schema:
        tables = con.execute("select table_name from duckdb_tables() order by 1").fetchall()
        for (table,) in tables:
            columns = con.execute(
                "select column_name || ' ' || data_type from duckdb_columns() "
                "where table_name = ? order by column_index", [table]).fetchall()
            schema.write(table + "\t" + ", ".join(column for (column,) in columns) + "\n")
            con.execute(f"copy {table} to '{folder}/{table}.csv' (header false, nullstr '\\N')")
    for number, query in con.execute("select query_nr, query from tpcds_queries()").fetchall():
        (folder / f"q{number}.sql").write_text(query.strip().rstrip(";") + "\n")


def serve(folder, clock="perf_counter", options="header false"):
    import duckdb

    folder = Path(folder)
    now = getattr(time, clock)
    con = duckdb.connect()
    con.execute("set threads = 1")
    for line in (folder / "schema.tsv").read_text().splitlines():
        table, columns = line.split("\t")
        con.execute(f"create table {table} ({columns})")
        con.execute(f"copy {table} from '{folder}/{table}.csv' ({options}, nullstr '\\N')")
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words == ["version"]:
            print(duckdb.__version__, flush=True)
            continue
        query = (folder / f"q{words[0]}.sql").read_text()
        best = None
        for _ in range(2):
            start = now()
            rows = con.execute(query).fetchall()
            took = (now() - start) * 1000
            best = took if best is None else min(best, took)
        with open(words[1], "w", newline="") as out:
            writer = csv.writer(out)
            for row in rows:
                writer.writerow(["" if value is None else value for value in row])
        print(f"{best:.3f}", flush=True)


def normal(value):
    try:
        return float(value)
    except ValueError:
        return value.strip()


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1)
    return a == b


def rows_of(file):
    with open(file, newline="") as rows:
        parsed = [[normal(value) for value in row] for row in csv.reader(rows) if row]
    return sorted(parsed, key=lambda row: [f"{v:.4f}" if isinstance(v, float) else v for v in row])


def compare(one, other):
    a, b = rows_of(one), rows_of(other)
    if len(a) != len(b):
        sys.exit(f"{len(a)} rows instead of {len(b)}")
    for x, y in zip(a, b):
        if len(x) != len(y) or not all(map(same, x, y)):
            sys.exit(f"{x} instead of {y}")


{"generate": generate, "serve": serve, "compare": compare}[sys.argv[1]](*sys.argv[2:])
