# shellcheck shell=bash
#
# DuckDB beside the server, for scripts of this folder that measure against it.  Sourced after
# lib.sh, never run.
#
# It comes from PyPI into a virtual environment that goes with the stage.

# A virtual environment with DuckDB, and the extension if a version is given.  $1 name, $2 version.
duckdb_venv() {
	local venv=$BENCH_STAGE/venv_$1 packages=(duckdb)
	[ -z "${2:-}" ] || packages=("duckdb==$2" "duckdb-extension-tpcds==$2")
	[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >/dev/null 2>&1
	"$venv/bin/pip" -q install "${packages[@]}" >/dev/null 2>&1
}

# Start it with the tables and queries of a folder: $1 folder, $2 process_time if processor time is
# to be measured, $3 options of COPY if the files are not CSV.  False if it cannot be had.
serve_queries() {
	duckdb_venv newest || return 1
	coproc DUCKDB {
		"$BENCH_STAGE/venv_newest/bin/python" "$ZS_ROOT/bench/duckdb_queries.py" serve "$@"
	}
	read -r _ <&"${DUCKDB[0]}" || return 1
	say "DuckDB $(ask_duckdb version)"
}

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
