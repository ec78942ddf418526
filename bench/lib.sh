# shellcheck shell=bash
#
# Functions shared by the scripts of this folder.  Sourced, never run.
#
# bench/run starts the server and hands over where it is; a script called alone
# refuses.  Figures go to a file of results, one per line:
#
#	key <tab> heap <tab> zedstore <tab> unit
#
# "-" stands for a figure that does not exist.  bench/targets.tsv says what each
# key means and what it should reach.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"
# shellcheck source=bench/results.sh
. "$ZS_ROOT/bench/results.sh"

: "${BENCH_CONNINFO:?start this script by bench/run}" "${BENCH_BIN:?}" "${BENCH_STAGE:?}" \
	"${BENCH_RESULTS:?}"

ROWS=${ROWS:-2000000}
REPEAT=${REPEAT:-3}

# Set for every session: no parallel workers and no JIT, so that the figures
# compare the storage and not the plans.
PGOPTIONS="-c jit=off -c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0"
export PGOPTIONS="$PGOPTIONS -c client_min_messages=warning"

# One statement or more; prints the rows unadorned.
sql() {
	"$BENCH_BIN/psql" -XAtq -v ON_ERROR_STOP=1 "$BENCH_CONNINFO" "$@"
}

# Milliseconds that the last statement of the arguments takes; those before it
# only prepare.
time_of() {
	local prepare=() last=${!#}
	while [ $# -gt 1 ]; do
		prepare+=(-c "$1")
		shift
	done
	sql "${prepare[@]}" -c '\timing on' -c '\o /dev/null' -c "$last" \
		| sed -nE 's/^Time: ([0-9.]+) ms.*/\1/p' | tail -1
}

# The processor time of the backend so far, in nanoseconds, behind the word "cpu".
CPU_CLOCK="select 'cpu ' || split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint"

# For scripts that measure processor time.
need_clock() {
	[ -r /proc/self/schedstat ] ||
		die "this kernel does not tell the processor time of a process (/proc/self/schedstat)"
}

# Milliseconds between the first and the last time that the input tells, divided by $1 (1).
cpu_between() {
	awk -v n="${1:-1}" '/^cpu / { last = $2; if (!from) from = $2 }
		END { printf "%.4g\n", (last - from) / n / 1e6 }'
}

# Milliseconds of processor time of the last statement of the arguments.
cpu_of() {
	local prepare=() last=${!#}
	while [ $# -gt 1 ]; do
		prepare+=(-c "$1")
		shift
	done
	sql "${prepare[@]}" -c "$CPU_CLOCK" -c "$last" -c "$CPU_CLOCK" | cpu_between
}

# Milliseconds of processor time that a statement takes on average in a session that has run it
# before: $1 how many times it is measured, $2 the statement.
cpu_each() {
	local runs=() i
	for ((i = 0; i < $1; i++)); do runs+=(-c "$2"); done
	sql -c "$2" -c "$2" -c "$CPU_CLOCK" "${runs[@]}" -c "$CPU_CLOCK" | cpu_between "$1"
}

# Is one of these figures wanted?  BENCH_ONLY may name the keys of those that are.
wanted() {
	local key
	[ -n "${BENCH_ONLY:-}" ] || return 0
	for key in "$@"; do
		[[ " $BENCH_ONLY " != *" $key "* ]] || return 0
	done
	return 1
}

# Remember a figure: $1 key, $2 heap, $3 zedstore, $4 unit.
record() {
	wanted "$1" || return 0
	printf '%s\t%s\t%s\t%s\n' "$@" >>"$BENCH_RESULTS"
	say "$1: heap $2, zedstore $3 $4 ($(awk -v h="$2" -v z="$3" 'BEGIN {
		if (h > 0) printf "%.3f", z / h; else print "-" }'))"
}

# The definition, and the values, of 40 text columns: hashes, states, sentences, addresses, letters.
wide_columns() {
	local i
	for i in {1..40}; do
		printf ', c%d text' "$i"
	done
}

wide_values() {
	local i
	for ((i = 1; i <= 40; i += 5)); do
		printf ", md5((g * %d)::text), 'status ' || g %% %d" "$i" "$i"
		printf ", 'customer number ' || g || ' of region ' || g * %d %% 17" "$i"
		printf ", left(md5((g * %d + 1)::text), 8) || '@example.com'" "$i"
		printf ", repeat(chr(65 + g * %d %% 26), g %% 9)" "$i"
	done
}

# Run a function for heap and zedstore in turn, REPEAT times, and record the
# medians of what it prints.  $1 key, $2 unit, rest the function and its
# arguments; AM in them stands for heap or zs.
compare() {
	local key=$1 unit=$2 heap='' zs='' i
	shift 2
	wanted "$key" || return 0
	for ((i = 0; i < REPEAT; i++)); do
		heap+="$("${@//AM/heap}")"$'\n'
		zs+="$("${@//AM/zs}")"$'\n'
	done
	record "$key" "$(grep . <<<"$heap" | median)" "$(grep . <<<"$zs" | median)" "$unit"
}

# Text of a query of a file of this folder: $1 file, $2 name of the query, which stands in a line
# "-- name ..." in front of it.
named_query() {
	awk -v want="$2" '$1 == "--" { on = $2 == want; next } on' "$ZS_ROOT/bench/$1"
}

# Adds up queries: $1 expression of awk for the keys of their figures, $2 what sum, geometric mean
# and the worst ratio are recorded as.
record_sums() {
	local key heap zs unit
	while read -r key heap zs unit; do
		record "$2_$key" "$heap" "$zs" "$unit"
	done < <(awk -F'\t' -v keys="$1" '
		$1 ~ keys {
			h += $2; z += $3; l += log($3 / $2); n++
			if ($3 / $2 > worst) worst = $3 / $2
		}
		END {
			printf "sum %.0f %.0f ms\n", h, z
			printf "mean 1 %.3f ratio\nworst 1 %.3f ratio\n", exp(l / n), worst
		}' "$BENCH_RESULTS")
}

# Name of the access method that a suffix stands for.
access_method() {
	if [ "$1" = zs ]; then echo zedstore; else echo heap; fi
}

# Generate rows of a table once: $1 generator, $2 rows.  Prints the file's name.
data_file() {
	local name=$1 rows=$2 file=$BENCH_STAGE/$1.dat
	if [ ! -f "$file" ]; then
		say "generating $rows rows of $name"
		cc -O2 -std=gnu11 -o "$BENCH_STAGE/gen_$name" "$ZS_ROOT/bench/gen_$name.c" -lm
		"$BENCH_STAGE/gen_$name" "$rows" >"$file"
		chmod 644 "$file"
	fi
	echo "$file"
}

# Columns of a generated table.
columns_of() {
	"$BENCH_STAGE/gen_$1" --ddl
}

# Make an empty table: $1 generator, $2 heap or zs, $3 more for the end of CREATE TABLE.
create_table() {
	sql -c "drop table if exists $1_$2" \
		-c "create table $1_$2 ($(columns_of "$1")) using $(access_method "$2") ${3:-}"
}

copy_command() {
	echo "copy $1 from '$2' with (delimiter '|')"
}

# Cut so many copies of a file into so many parts: $1 copies, $2 parts, $3 file.
cut_data() {
	local bytes
	rm -f "$BENCH_STAGE"/part_*
	bytes=$(stat -c %s "$3")
	for ((i = 0; i < $1; i++)); do cat "$3"; done \
		| split -C $((bytes * $1 / $2 + 1000)) -a 2 -d - "$BENCH_STAGE/part_"
	chmod 644 "$BENCH_STAGE"/part_*
}

# Load the parts into store_sales, each by a session of its own: milliseconds from the start of the
# sessions to the end of the last.  $1 heap or zs.
load_parts() {
	local am=$1 part pids=() pid began
	create_table store_sales "$am"
	sql -c checkpoint
	began=$(date +%s%N)
	for part in "$BENCH_STAGE"/part_*; do
		sql -c "$(copy_command "store_sales_$am" "$part")" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || die "a COPY failed"
	done
	echo $((($(date +%s%N) - began) / 1000000))
}

# store_sales in both kinds, loaded and vacuumed, for scripts that only read.
need_store_sales() {
	local am file
	file=$(data_file store_sales "$ROWS")
	for am in heap zs; do
		if [ "$(sql -c "select count(*) from pg_class where relname = 'store_sales_$am'")" = 0 ]; \
			then
			create_table store_sales $am
			say "loading store_sales_$am"
			sql -c "$(copy_command store_sales_$am "$file")"
		fi
		sql -c "vacuum (analyze) store_sales_$am"
	done
}

# The queries of hits.sql, one a line.
hits_queries() {
	local sums
	sums=$(seq 0 89 | sed 's/.*/sum(ResolutionWidth + &)/' | paste -sd,)
	grep -v '^--' "$ZS_ROOT/bench/hits.sql" | sed "s/:sums/$sums/"
}

megabytes() {
	sql -c "select round(pg_table_size('$1') / 1e6, 3)"
}
