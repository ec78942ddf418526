# shellcheck shell=bash
#
# Files of figures, for bench/run and bench/io.  Sourced, never run.
#
#	key <tab> heap or core <tab> zedstore or workers <tab> unit
#
# and behind these, when they are kept: build, date, machine, and of workers the method that they
# wrote with.

# Lines at the head of such a file: $1 folder of the server's programs, $2 what else to say
describe_machine() {
	echo "# date $(date -u +%Y-%m-%d)"
	echo "# build $(this_build)"
	echo "# server $("$1/postgres" --version)"
	echo "# machine $(sed -nE 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, $(awk '/^MemTotal:/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo) GB"
	echo "# settings $2"
}

# The commit of the checkout, with a plus if something is not committed.
this_build() {
	local commit
	commit=$(git -C "$ZS_ROOT" rev-parse --short=7 HEAD 2>/dev/null) || commit=unknown
	if [ "$commit" != unknown ] \
		&& ! git -C "$ZS_ROOT" diff --quiet HEAD -- src include sql 2>/dev/null; then
		commit=$commit+
	fi
	echo "$commit"
}

# The new figures ("key, heap, zedstore, unit" and perhaps a method) come first, with build, date and machine; of the old ones those that were not
# measured now.
merge_results() {
	local new=$1 all=$2
	mkdir -p "$(dirname "$all")"
	[ -f "$all" ] || touch "$all"
	awk -F'\t' -v OFS='\t' '
		NR == FNR && /^# / {
			print
			value = $0
			sub(/^# [a-z]+ /, "", value)
			split($0, word, " ")
			of[word[2]] = value
			next
		}
		NR == FNR {
			$8 = $5
			$5 = of["build"]
			$6 = of["date"]
			$7 = of["machine"]
			if ($8 == "") NF = 7
			print
			seen[$1] = 1
			next
		}
		!/^#/ && !($1 in seen)' "$new" "$all" >"$new.merged"
	cp "$new.merged" "$all"
}

# Median of the lines of standard input.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
