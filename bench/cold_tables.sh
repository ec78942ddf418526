# shellcheck shell=bash
#
# Tables on a slow volume (volume.sh), and what statements over them cost when nothing is cached.
# Sourced, never run.

# shellcheck disable=SC2034  # whoever sources this uses them
bitmap_scan='select count(ss_sold_date_sk), sum(ss_quantity), sum(ss_net_profit) from T
	where ss_item_sk between 1000 and 1059'
only_bitmaps='set enable_seqscan = off; set enable_indexscan = off'
index_scan='select * from T where ss_item_sk = 1000'
only_indexes='set enable_seqscan = off; set enable_bitmapscan = off'
seq='set enable_indexscan = off; set enable_bitmapscan = off'
workers='set max_parallel_workers_per_gather = 2; set min_parallel_table_scan_size = 0;
	set parallel_setup_cost = 0; set parallel_tuple_cost = 0'

# store_sales in both kinds on the volume, cold_heap and cold_zs, with an index by item.
load_cold_tables() {
	local am
	file=$(data_file store_sales "$ROWS")
	for am in heap zs; do
		say "loading cold_$am"
		sql -c "create table cold_$am ($(columns_of store_sales))
				using $(access_method $am) tablespace bench_cold" \
			-c "$(copy_command "cold_$am" "$file")" -c "vacuum (analyze) cold_$am" \
			-c "create index cold_${am}_item on cold_$am (ss_item_sk) tablespace bench_cold"
	done
}

# Read requests that the volume has had.
volume_reads() {
	awk '{ print $1 }' "/sys/block/$(basename "$LOOP")/stat"
}

# What the last of some statements takes: $1 is ms, or reads for requests to the volume, which do
# not depend on what else the machine does, and say little where the kernel joins them.
cost_of() {
	local unit=$1 before ms
	shift
	# catalogs and plans
	[[ ${!#} != select* ]] || sql -c "explain ${!#}" >/dev/null
	before=$(volume_reads)
	[ -z "${DELAYED_FILE:-}" ] || switch_delayed_file slow
	ms=$(time_of "$@")
	[ -z "${DELAYED_FILE:-}" ] || switch_delayed_file fast
	case $unit in
		ms) echo "$ms" ;;
		reads) echo $(($(volume_reads) - before)) ;;
	esac
}

# What a statement takes, in which T stands for the table: $1 as above, $2 the table's suffix, $3
# the statement, rest statements before it.
statement_cost() {
	local unit=$1 table=cold_$2 statement
	statement=$(sed "s/\bT\b/$table/g" <<<"$3")
	shift 3
	make_cold "$table" "${table}_item"
	cost_of "$unit" "$@" "$statement"
}

# What VACUUM takes after three tenths of the rows were deleted here and there: $1 as above, $2 the
# suffix, rest statements before it.
vacuum_cost() {
	local unit=$1 table=cold_$2_vacuum
	sql -c "drop table if exists $table" \
		-c "create table $table ($(columns_of store_sales))
			using $(access_method "$2") tablespace bench_cold" \
		-c "$(copy_command "$table" "$file")" -c "vacuum $table" \
		-c "delete from $table where ss_item_sk % 10 < 3" -c checkpoint
	shift 2
	make_cold "$table"
	cost_of "$unit" "$@" "vacuum $table"
}
