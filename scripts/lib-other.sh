# shellcheck shell=bash
#
# Tests beside other extensions: building one of them from its sources, for
# the server that scripts/run-tests takes, and running the tests of its folder
# in t/.  Sourced after lib.sh, never run.
#
# Another extension is built from a copy of its tree, and installed into a
# folder of the cache, as "make install DESTDIR=" does it.  run-tests copies
# that folder over its private copy of the server, so the server in the cache
# and the tree stay as they are.  The folder is named after a hash of the
# tree, of the recipe and of the server: when one of them changes, the
# extension is built anew.

# End without having tested anything, which must not look like success.
# Each further argument is a line of advice.
other_skip() {
	local line
	printf '\nSKIPPED: %s\n' "$1"
	shift
	for line in "$@"; do
		printf '         %s\n' "$line"
	done
	printf '\nNOTHING WAS TESTED\n'
	exit 0
}

# The pg_config of the server that scripts/run-tests will take.
other_pg_config() {
	"$ZS_ROOT/scripts/setup-postgres" --print assert ${PG:+--pg "$PG"}
}

# Does the server come with the extension $2?
other_is_installed() {
	[ -f "$("$1" --sharedir)/extension/$2.control" ]
}

# Hash of a source tree, a function and a server.
other_hash() {
	local source=$1 recipe=$2 pg_config=$3
	{
		(cd "$source" && find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z |
			xargs -0 sha256sum)
		declare -f "$recipe"
		echo "$pg_config"
		"$pg_config" --version --configure
	} | sha256sum | cut -c1-16
}

# Build an extension once, and print the folder that it is installed in.
# $1 its name, $2 its source tree, $3 the function that builds it, $4 pg_config.
# The function gets: a copy of the tree, in which it is run, pg_config, and the DESTDIR.
other_build() {
	local name=$1 source=$2 recipe=$3 pg_config=$4 home hash
	hash=$(other_hash "$source" "$recipe" "$pg_config")
	home=$(zs_cache_dir)/others/$name-$hash
	mkdir -p "$home"
	exec 9>"$home/.lock"
	if ! flock -n 9; then
		say "another run builds $name, waiting for it (lock: $home/.lock)"
		flock 9
	fi
	if [ ! -f "$home/.complete" ]; then
		say "building $name for $("$pg_config" --version), once; log: $home/build.log"
		rm -rf "$home/source" "$home/root"
		mkdir -p "$home/source" "$home/root"
		tar -C "$source" --exclude=./.git -cf - . | tar -C "$home/source" -xf - --no-same-owner
		: >"$home/build.log"
		# in a shell of its own: "set -e" does not work in functions that are part of a condition
		if ! run_logged "building $name" "$home/build.log" \
			bash -euo pipefail -c "$(declare -f "$recipe" njobs)
				cd \"\$1\"
				$recipe \"\$@\"" build "$home/source" "$pg_config" "$home/root"; then
			tail -20 "$home/build.log" >&2
			die "$name did not build; see $home/build.log"
		fi
		rm -rf "$home/source"
		touch "$home/.complete"
	fi
	exec 9>&-
	echo "$home/root"
}

# Fetch the source package $1 of Debian from the first of the suites given that
# has it, and print the folder of its tree.  False if there is none to be had.
other_debian_source() {
	local package=$1 folder
	shift
	have apt-get && have dpkg-source || return 1
	folder=$("$ZS_ROOT/scripts/setup-postgres" --fetch "$package" "$@") || return 1
	if [ ! -f "$folder/.unpacked" ]; then
		rm -rf "$folder/tree"
		dpkg-source --no-check -x "$folder"/*.dsc "$folder/tree" >&2 || return 1
		touch "$folder/.unpacked"
	fi
	echo "$folder/tree"
}

# Run tests with what is installed in the folder $1 (or nothing) added to the
# server.  $2 the folder of the tests, rest: tests, or none for all.
other_run() {
	local root=$1 folder=$2
	shift 2
	[ $# -gt 0 ] || set -- "$folder"
	TESTS_OVERLAY=$root exec "$ZS_ROOT/scripts/run-tests" "$@"
}
