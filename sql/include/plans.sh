#!/bin/bash
# Runs psql, or the isolation tester, and makes plans of PostgreSQL 19 look as those of older
# majors: subplans have numbers, and what a Result stands for is not said.  What CLUSTER says of
# itself, too.  A launcher of pg_regress (scripts/run-tests, Makefile), so that one expected file
# does for all majors.
set -o pipefail
"$@" 2>&1 | awk '
	function plain(line,   name, number, len, padded) {
		# the isolation tester fills lines up
		len = length(line)
		padded = line ~ / $/
		while (match(line, /(InitPlan|SubPlan) [a-z]+_[0-9]+/)) {
			name = number = substr(line, RSTART, RLENGTH)
			sub(/ [a-z]+_/, " ", number)
			line = substr(line, 1, RSTART - 1) number substr(line, RSTART + RLENGTH)
		}
		if (line ~ /^INFO:  repacking ".*" in physical order$/) {
			sub(/repacking/, "vacuuming", line)
			sub(/ in physical order$/, "", line)
		}
		return padded ? sprintf("%-" len "s", line) : line
	}
	# a table of one column ends: its width is that of its longest line
	function end_table(   i, width, title, left) {
		if (changed) {
			title = header
			gsub(/^ +| +$/, "", title)
			width = length(title)
			for (i = 1; i <= nrows; i++)
				if (length(rows[i]) - 1 > width)
					width = length(rows[i]) - 1
			left = int((width - length(title)) / 2)
			header = sprintf("%" left + 1 "s%s", "", title)
			header = sprintf("%-" width + 2 "s", header)
			dashes = sprintf("%" width + 2 "s", "")
			gsub(/ /, "-", dashes)
		}
		print header
		print dashes
		for (i = 1; i <= nrows; i++)
			print rows[i]
		in_table = nrows = changed = 0
	}
	in_table && /^ *Replaces: / { changed = 1; left_out++; next }
	in_table && /^ / {
		rows[++nrows] = plain($0)
		changed = changed || rows[nrows] != $0
		next
	}
	in_table {
		end_table()
		if (left_out > 0 && /^\([0-9]+ rows\)/)
			$0 = "(" substr($1, 2) - left_out " rows)"
		left_out = 0
	}
	/^---+$/ && held ~ /^ / {
		header = held
		dashes = $0
		in_table = 1
		is_held = 0
		next
	}
	{
		if (is_held)
			print held
		held = plain($0)
		is_held = 1
	}
	END {
		if (in_table)
			end_table()
		if (is_held)
			print held
	}'
