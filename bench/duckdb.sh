# shellcheck shell=bash
#
# DuckDB beside the server, for scripts of this folder that measure against it.  Sourced after
# lib.sh, never run.
#
# It comes from PyPI into a virtual environment that goes with the stage.

# Start it with the rows of a file: $1 table, $2 file, $3 columns.  False if it cannot be had.
start_duckdb() {
	local venv=$BENCH_STAGE/venv
	if ! python3 -m venv "$venv" >/dev/null 2>&1 ||
		! "$venv/bin/pip" -q install duckdb >/dev/null 2>&1; then
		warn "DuckDB cannot be installed here; nothing is measured against it"
		return 1
	fi
	coproc DUCKDB { "$venv/bin/python" -u "$ZS_ROOT/bench/duckdb_server.py" "$@"; }
	say "DuckDB $(ask_duckdb version)"
}

# One line in, one line out: the milliseconds that a query takes.
ask_duckdb() {
	local answer
	printf '%s\n' "$1" >&"${DUCKDB[1]}"
	read -r answer <&"${DUCKDB[0]}"
	echo "$answer"
}
