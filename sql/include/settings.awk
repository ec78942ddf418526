# The settings of sql/include/settings.conf for one major version of PostgreSQL, as options of a
# session:
#
#   awk -v major=18 -f sql/include/settings.awk sql/include/settings.conf
#
# A line may begin with the majors that it is for: 17-18, or 19- for that and later ones.

/^[0-9]/ {
	split($1, range, "-")
	if (major < range[1] || (range[2] != "" && major > range[2]))
		next
	sub(/^[^ ]+ /, "")
}
/^[a-z]/ { print "-c " $0 }
