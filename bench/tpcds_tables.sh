# shellcheck shell=bash
#
# Tables and queries of TPC-DS, for scripts of this folder that measure them.  Sourced after lib.sh
# and duckdb.sh, never run.
#
# They come from DuckDB's extension, of the newest version that PyPI has.
#
# Environment: TPCDS_SCALE (1), TPCDS_TIMEOUT (15000).

SCALE=${TPCDS_SCALE:-1}
TIMEOUT=${TPCDS_TIMEOUT:-15000}
FOLDER=$BENCH_STAGE/tpcds_$SCALE

# The columns of each table's primary key.
primary_key() {
	case $1 in
		catalog_returns) echo cr_item_sk, cr_order_number ;;
		catalog_sales) echo cs_item_sk, cs_order_number ;;
		inventory) echo inv_date_sk, inv_item_sk, inv_warehouse_sk ;;
		store_returns) echo sr_item_sk, sr_ticket_number ;;
		store_sales) echo ss_item_sk, ss_ticket_number ;;
		web_returns) echo wr_item_sk, wr_order_number ;;
		web_sales) echo ws_item_sk, ws_order_number ;;
		*) sed -nE "s/^$1\t([a-z_]+) .*/\1/p" "$FOLDER/schema.tsv" ;;
	esac
}

# Tables and queries as files, once.
generate_tpcds() {
	local version
	[ ! -f "$FOLDER/complete" ] || return 0
	python3 -m venv "$BENCH_STAGE/venv_tpcds" >/dev/null 2>&1 || return 1
	version=$("$BENCH_STAGE/venv_tpcds/bin/pip" index versions duckdb-extension-tpcds 2>/dev/null |
		sed -nE '1s/.*\((.*)\).*/\1/p')
	[ -n "$version" ] && duckdb_venv tpcds "$version" || return 1
	say "generating TPC-DS at scale $SCALE by DuckDB $version"
	mkdir -p "$FOLDER"
	"$BENCH_STAGE/venv_tpcds/bin/python" "$ZS_ROOT/bench/duckdb_queries.py" generate \
		"$(find "$BENCH_STAGE/venv_tpcds" -name tpcds.duckdb_extension)" "$SCALE" "$FOLDER" ||
		return 1
	chmod -R a+rX "$FOLDER"
	touch "$FOLDER/complete"
}

load() {
	local am=$1 table columns
	sql -c "drop schema if exists loading_$am cascade" -c "create schema loading_$am"
	while IFS=$'\t' read -r table columns; do
		say "loading $table into $am"
		sql -c "set search_path = loading_$am" -c "set maintenance_work_mem = '256MB'" \
			-c "create table $table ($columns) using $(access_method "$am")" \
			-c "\\copy $table from '$FOLDER/$table.csv' (format csv, null '\\N')" \
			-c "alter table $table add primary key ($(primary_key "$table"))" \
			-c "vacuum (analyze) $table"
	done <"$FOLDER/schema.tsv"
	sql -c "alter schema loading_$am rename to tpcds_${SCALE//./_}_$am"
}

# Load those of the access methods (heap, zs) that are not there, each into a schema of its own.
need_tpcds() {
	local am
	for am in "$@"; do
		[ "$(sql -c "select count(*) from pg_namespace
			where nspname = 'tpcds_${SCALE//./_}_$am'")" = 1 ] || load "$am"
	done
}

# Statements for a session on the tables of $1, heap or zs, with the settings "name=value ..." $2.
tpcds_settings() {
	local setting
	echo "set search_path = tpcds_${SCALE//./_}_$1; set statement_timeout = $TIMEOUT;"
	for setting in $2; do
		echo "set $setting;"
	done
}
