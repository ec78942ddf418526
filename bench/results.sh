# shellcheck shell=bash
#
# Files of figures, for bench/run and bench/io.  Sourced, never run.
#
#	key <tab> heap or core <tab> zedstore or workers <tab> unit

# Lines at the head of such a file: $1 folder of the server's programs, $2 what else to say
describe_machine() {
	echo "# date $(date -u +%Y-%m-%d)"
	echo "# server $("$1/postgres" --version)"
	echo "# machine $(sed -nE 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, $(awk '/^MemTotal:/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo) GB"
	echo "# settings $2"
}

# The new figures come first; of the old ones those that were not measured now.
merge_results() {
	local new=$1 all=$2
	mkdir -p "$(dirname "$all")"
	[ -f "$all" ] || touch "$all"
	awk -F'\t' 'NR == FNR { print; if (!/^#/) seen[$1] = 1; next } !/^#/ && !($1 in seen)' "$new" "$all" >"$new.merged"
	cp "$new.merged" "$all"
}

# Median of the lines of standard input.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
