"""Loads a file of rows into DuckDB, then answers each line of standard input, a query, with its milliseconds.

duckdb_server.py FILE COLUMNS
"""
import sys
import time

import duckdb

con = duckdb.connect()
con.execute("set threads = 1")
con.execute(f"create table store_sales ({sys.argv[2]})")
con.execute(f"copy store_sales from '{sys.argv[1]}' (delimiter '|', header false, nullstr '\\N')")
for line in sys.stdin:
    if line.strip() == "version":
        print(duckdb.__version__)
        continue
    start = time.perf_counter()
    con.execute(line).fetchall()
    print(f"{(time.perf_counter() - start) * 1000:.3f}")
