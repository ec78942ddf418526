# shellcheck shell=bash
#
# A file of which each read and write takes its time, 128 of them side by side (delayed_file.c), to
# put a loop device on.  Sourced, never run.  That takes root and FUSE.

# Makes the file $1/volume, fast for now: $1 folder, $2 bytes, $3 microseconds that a request is to
# take.  Sets DELAYED_FILE, the process that serves it; else DELAYED_WHY_NOT, and returns false.
start_delayed_file() {
	DELAYED_WHY_NOT=''
	is_root || DELAYED_WHY_NOT="it needs root"
	[ -c /dev/fuse ] || DELAYED_WHY_NOT="there is no /dev/fuse"
	pkg-config --exists fuse3 || DELAYED_WHY_NOT="libfuse3 is missing, make setup installs it"
	[ -z "$DELAYED_WHY_NOT" ] || return 1
	mkdir -p "$1"
	# shellcheck disable=SC2046  # lists of words
	cc -O2 $(pkg-config --cflags fuse3) -o "$1.program" "$ZS_ROOT/bench/delayed_file.c" \
		$(pkg-config --libs fuse3)
	truncate -s "$2" "$1.img"
	"$1.program" "$1" "$1.img" "$3" 128 &
	DELAYED_FILE=$!
	DELAYED_FOLDER=$1
	until [ -f "$1/volume" ]; do
		kill -0 "$DELAYED_FILE" 2>/dev/null \
			|| { DELAYED_FILE='' DELAYED_WHY_NOT="FUSE does not work here"; return 1; }
		sleep 0.1
	done
}

# $1: slow or fast
switch_delayed_file() {
	case $1 in
		slow) kill -USR1 "$DELAYED_FILE" ;;
		fast) kill -USR2 "$DELAYED_FILE" ;;
	esac
}

# Nothing may use the file any more.
stop_delayed_file() {
	[ -n "${DELAYED_FILE:-}" ] || return 0
	umount "$DELAYED_FOLDER"
	wait "$DELAYED_FILE" || true
	rm -f "$DELAYED_FOLDER.img" "$DELAYED_FOLDER.program"
	DELAYED_FILE=''
}
