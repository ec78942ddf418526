# shellcheck shell=bash
#
# Functions shared by the scripts of this folder.  Sourced, never run.
#
# Progress and errors go to stderr, because the stdout of some scripts is an
# answer (a pg_config path, a connection string) that others capture.

# Root of the checkout that the calling script belongs to.
# shellcheck disable=SC2034  # used by the scripts that source this file
ZS_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# PostgreSQL majors this extension supports, newest first.
# shellcheck disable=SC2034
ZS_PG_MAJORS="19 18 17"

# Progress with the seconds since the script started.
say() {
	printf '[%4ds] %s\n' "$SECONDS" "$*" >&2
}

warn() {
	printf '[%4ds] warning: %s\n' "$SECONDS" "$*" >&2
}

# End the script.  Each further argument is a line of advice.
die() {
	printf 'error: %s\n' "$1" >&2
	shift
	local line
	for line in "$@"; do
		printf '       %s\n' "$line" >&2
	done
	exit 1
}

is_root() {
	[ "$(id -u)" -eq 0 ]
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# Number of processors, for parallel make.
njobs() {
	nproc 2>/dev/null || echo 2
}

# Folder for everything that outlives a run: sources, built servers.  It lies
# outside the checkout so that "git clean" does not throw away an hour of CPU.
zs_cache_dir() {
	if [ -n "${ZEDSTORE_CACHE:-}" ]; then
		echo "$ZEDSTORE_CACHE"
	elif is_root; then
		echo /var/cache/zedstore_io
	elif [ -n "${XDG_CACHE_HOME:-}${HOME:-}" ]; then
		echo "${XDG_CACHE_HOME:-$HOME/.cache}/zedstore_io"
	else
		die "there is no home folder for the cache of PostgreSQL builds" \
			"Set HOME, or ZEDSTORE_CACHE to a folder you may write to."
	fi
}

# PostgreSQL refuses to run as root, so root hands the servers to another
# user; ZS_USER is its name.  Anybody else runs them as himself.
zs_pick_user() {
	if ! is_root; then
		ZS_USER=$(id -un)
		return
	fi
	ZS_USER=${ZEDSTORE_USER:-postgres}
	if ! id "$ZS_USER" >/dev/null 2>&1; then
		ZS_USER=zedstore_io
		if ! id "$ZS_USER" >/dev/null 2>&1; then
			say "creating the system user $ZS_USER, because PostgreSQL refuses to run as root"
			useradd --system --no-create-home --shell /usr/sbin/nologin "$ZS_USER" \
				|| die "could not create the user $ZS_USER" \
					"Set ZEDSTORE_USER to an existing unprivileged user."
		fi
	fi
	have runuser || die "runuser is missing (Debian package util-linux)"
}

# Variables of a calling make must not reach the makes that scripts start.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES

# Run a command as ZS_USER.
as_user() {
	if is_root; then
		runuser -u "$ZS_USER" -- "$@"
	else
		"$@"
	fi
}

# New temporary folder named after a purpose, owned by ZS_USER.  Below
# /var/tmp, because /tmp is often small and in memory.
zs_make_stage() {
	local purpose=$1 dir
	dir=$(mktemp -d "${ZEDSTORE_TMP:-/var/tmp}/zedstore_io.$purpose.XXXXXX")
	chmod 755 "$dir"
	if is_root; then
		chown "$ZS_USER:" "$dir"
	fi
	echo "$dir"
}

# Copy what git would see of the checkout into a folder ZS_USER can read.
# Build products stay behind: another server's objects must not be linked.
zs_copy_tree() {
	local to=$1
	mkdir -p "$to"
	tar -C "$ZS_ROOT" -cf - \
		--exclude=./.git --exclude='*.o' --exclude='*.so' --exclude='*.bc' \
		--exclude='*.[ad]' --exclude=./results --exclude=./output_iso \
		--exclude=./tmp_check --exclude=./log . \
		| tar -C "$to" -xf - --no-same-owner
	if is_root; then
		chown -R "$ZS_USER:" "$to"
	fi
}

# Bring the copy of the checkout in the folder $1 up to date, and leave its build products
# where they are.  The list beside the folder tells what was copied before: a file that has
# another size or time than then is copied with the time of now, even if it became older.
zs_sync_tree() {
	local to=$1 now
	mkdir -p "$to"
	touch "$to.files"
	now=$(mktemp)
	(cd "$ZS_ROOT" &&
		find . \( -path ./.git -o -path ./results -o -path ./output_iso -o -path ./tmp_check \
		-o -path ./log \) -prune -o -type f ! -name '*.[oad]' ! -name '*.so' ! -name '*.bc' \
		-printf '%P\t%s\t%T@\t%m\n') | LC_ALL=C sort >"$now"
	LC_ALL=C comm -13 <(cut -f1 "$now") <(cut -f1 "$to.files") |
		(cd "$to" && tr '\n' '\0' | xargs -0r rm -f)
	LC_ALL=C comm -23 "$now" "$to.files" | cut -f1 \
		| tar -C "$ZS_ROOT" -cf - --verbatim-files-from -T - | tar -C "$to" -xmf - --no-same-owner
	if is_root; then
		chown -R "$ZS_USER:" "$to"
	fi
	cat "$now" >"$to.files"
	rm -f "$now"
}

# Build the checkout for the server of pg_config $1, with the further arguments for make, and
# install it below the folder $2; what make says goes to the file $3.  The build is kept in the
# cache for the next time, when only what has changed is compiled, and what it installs, which is
# copied where nothing has changed.  Runs of one checkout wait for each other here.
zs_build() {
	local pg_config=$1 destdir=$2 log=$3 dir lock old state status=0
	shift 3
	dir=$(zs_cache_dir)/build
	mkdir -p "$dir"
	# those of checkouts that are gone
	for old in "$dir"/*.checkout; do
		if [ -f "$old" ] && [ ! -d "$(cat "$old")" ]; then
			rm -rf "${old%.checkout}" "${old%.checkout}".*
		fi
	done
	dir=$dir/$(printf '%s\n' "$ZS_ROOT" "$pg_config" "$("$pg_config" --version)" "$*" | cksum |
		cut -d' ' -f1)
	echo "$ZS_ROOT" >"$dir.checkout"
	exec {lock}>"$dir.lock"
	flock "$lock"
	zs_sync_tree "$dir"
	state="$(cksum <"$dir.files") $(zs_server_state "$pg_config")"
	if [ "$(cat "$dir.built" 2>/dev/null || true)" != "$state" ]; then
		rm -rf "$dir.built" "$dir.install"
		zs_make_folder "$dir.install"
		{
			as_user make -s -C "$dir" -j"$(njobs)" PG_CONFIG="$pg_config" "$@" && as_user \
				make -s -C "$dir" install PG_CONFIG="$pg_config" "$@" DESTDIR="$dir.install"
		} >"$log" 2>&1 {lock}>&- && echo "$state" >"$dir.built" || status=1
	else
		echo "nothing has changed" >"$log"
	fi
	if [ $status -eq 0 ]; then
		as_user cp -R --remove-destination "$dir.install/." "$destdir/" >>"$log" 2>&1 || status=1
	fi
	exec {lock}>&-
	return $status
}

# What tells one build of the server of pg_config $1 from the next.
zs_server_state() {
	stat -L -c '%n %Y %s' "$1" "$("$1" --bindir)/postgres" "$("$1" --sharedir)/postgres.bki" |
		tr '\n' ' '
}

# A folder that ZS_USER may write to.
zs_make_folder() {
	mkdir -p "$1"
	if is_root; then
		chown "$ZS_USER:" "$1"
	fi
}

# As initdb of the server of pg_config $1 with the further options, for the folder $2.  Clusters
# that were made once are kept in the folder ZS_CLUSTERS, if there is one, and copied: initdb takes
# longer than a short test.
zs_initdb() {
	local pg_config=$1 data=$2 template state
	shift 2
	if [ -z "${ZS_CLUSTERS:-}" ]; then
		"$("$pg_config" --bindir)/initdb" -D "$data" "$@"
		return
	fi
	template=$ZS_CLUSTERS/$(printf '%s\n' "$pg_config" "$(id -un)" "$@" | cksum | cut -d' ' -f1)
	state=$(zs_server_state "$pg_config")
	(
		flock 9
		if [ "$(cat "$template.state" 2>/dev/null || true)" != "$state" ]; then
			rm -rf "$template" "$template.state"
			"$("$pg_config" --bindir)/initdb" -D "$template" "$@"
			echo "$state" >"$template.state"
		fi
		cp -a "$template" "$data"
	) 9>"$template.lock"
}

# Make a private copy of an installed server below the folder $2, laid out as
# "make install DESTDIR=$2" lays it out, and print the bin folder of the copy.
# PostgreSQL finds its files relative to its executable, so the copy is a
# server of its own: two checkouts can install into theirs at the same time,
# and the shared one stays clean.  Hard links make it instant.
zs_copy_server() {
	local pg_config=$1 root=$2 dir
	as_user test -x "$pg_config" ||
		die "the user $ZS_USER, who runs the servers, cannot reach $pg_config" \
		"Choose a cache folder below one that everybody may enter (ZEDSTORE_CACHE)."
	for dir in "$("$pg_config" --bindir)" "$("$pg_config" --pkglibdir)" \
		"$("$pg_config" --sharedir)"; do
		mkdir -p "$root$dir"
		# A hard link needs the same file system and, for files of others,
		# their ownership.
		if ! cp -al "$dir/." "$root$dir/" 2>/dev/null; then
			rm -rf "${root:?}$dir"
			mkdir -p "$root$dir"
			cp -aL "$dir/." "$root$dir/"
		fi
	done
	if is_root; then
		# Only the folders: a chown of a hard link would reach the original.
		find "$root" -type d -exec chown "$ZS_USER:" {} +
	fi
	echo "$root$("$pg_config" --bindir)"
}

# Major version of the server that a pg_config belongs to.
pg_major() {
	"$1" --version 2>/dev/null | sed -nE 's/^PostgreSQL ([0-9]+).*/\1/p'
}

# Run a command with its output in a log file, and say every 20 seconds that
# it is still running.  $1 title, $2 log file, rest the command.
run_logged() {
	local title=$1 log=$2 pid began=$SECONDS next compiled
	shift 2
	"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	next=$((SECONDS + 20))
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		if [ "$SECONDS" -ge "$next" ]; then
			compiled=$(grep -c -e ' -c ' "$log" || true)
			say "$title: $((SECONDS - began)) s, $compiled files compiled so far"
			next=$((SECONDS + 20))
		fi
	done
	wait "$pid"
}
