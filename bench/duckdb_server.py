"""Loads files of rows into DuckDB, then answers each line of standard input, a query, with its milliseconds: those of the
clock on the wall, or with DUCKDB_CLOCK=cpu processor time.

duckdb_server.py TABLE FILE COLUMNS [TABLE FILE COLUMNS ...]
"""
import os
import sys
import time

import duckdb

clock = time.process_time if os.environ.get("DUCKDB_CLOCK") == "cpu" else time.perf_counter
con = duckdb.connect()
con.execute("set threads = 1")
for table, file, columns in zip(*[iter(sys.argv[1:])] * 3):
    con.execute(f"create table {table} ({columns})")
    con.execute(f"copy {table} from '{file}' (delimiter '|', header false, quote '', escape '', nullstr '\\N')")
for line in sys.stdin:
    if line.strip() == "version":
        print(duckdb.__version__)
        continue
    start = clock()
    con.execute(line).fetchall()
    print(f"{(clock() - start) * 1000:.3f}")
