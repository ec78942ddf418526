# shellcheck shell=bash
#
# Building Citus from a source tree, for scripts/test-citus and bench/citus.
# Sourced after lib.sh and lib-other.sh, never run.

# The version that a source tree of Citus says it is.
citus_version() {
	[ -f "$1/src/backend/distributed/citus.control" ] ||
		die "there is no source tree of Citus in $1"
	sed -nE 's/^AC_INIT\(\[Citus\], \[([^]]*)\].*/\1/p' "$1/configure.ac"
}

# The recipe for other_build().  Usage statistics, which libcurl is for, are nothing for tests.
build_citus() {
	local pg_config=$2 root=$3
	# what a build in the tree has left belongs to another server
	rm -f Makefile.global config.status
	find . -type f \( -name '*.o' -o -name '*.so' -o -name '*.bc' -o -name '*.a' \) -delete
	./configure PG_CONFIG="$pg_config" --without-libcurl
	make -j"$(njobs)" extension
	make install-extension DESTDIR="$root"
}

# Build the tree $1 for the server of pg_config $2, once, and print the folder it is installed in.
citus_build() {
	other_build citus "$(cd "$1" && pwd)" build_citus "$2"
}
