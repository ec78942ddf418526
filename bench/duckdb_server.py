"""Loads files of rows into DuckDB, then answers each line of standard input, a query, with its milliseconds.

duckdb_server.py TABLE FILE COLUMNS [TABLE FILE COLUMNS ...]
"""
import sys
import time

import duckdb

con = duckdb.connect()
con.execute("set threads = 1")
for table, file, columns in zip(*[iter(sys.argv[1:])] * 3):
    con.execute(f"create table {table} ({columns})")
    con.execute(f"copy {table} from '{file}' (delimiter '|', header false, quote '', escape '', nullstr '\\N')")
for line in sys.stdin:
    if line.strip() == "version":
        print(duckdb.__version__)
        continue
    start = time.perf_counter()
    con.execute(line).fetchall()
    print(f"{(time.perf_counter() - start) * 1000:.3f}")
