# shellcheck shell=bash
#
# A volume of its own on a loop device.  Either the kernel's block I/O controller holds the server's
# reads to BENCH_MBPS megabytes and BENCH_IOPS requests a second, or each request takes BENCH_DELAY
# microseconds, many of them side by side.  Sourced behind lib.sh, never run.  That takes root and a
# kernel that lets us; elsewhere the functions say so and return false.

# shellcheck source=bench/delayed_file.sh
. "$ZS_ROOT/bench/delayed_file.sh"

MBPS=${BENCH_MBPS:-50}
IOPS=${BENCH_IOPS:-1000}
DATA=$(sql -c 'show data_directory')
IMAGE=$BENCH_STAGE/volume.img
MOUNT=$BENCH_STAGE/volume

no_volume() {
	warn "there is no slow volume: $1"
	return 1
}

# Makes the volume and the tablespace bench_cold on it.  $1 bytes, $2 delayed or nothing
make_volume() {
	local backing=$IMAGE
	is_root || { no_volume "it needs root"; return 1; }
	sql -c 'create extension if not exists pg_buffercache' \
		-c "select 'pg_buffercache_evict_relation'::regproc" >/dev/null 2>&1 \
		|| { no_volume "pg_buffercache of PostgreSQL 18 is missing"; return 1; }
	if [ "${2:-}" = delayed ]; then
		start_delayed_file "$BENCH_STAGE/delayed" "$1" "${BENCH_DELAY:-1000}" \
			|| { no_volume "$DELAYED_WHY_NOT"; return 1; }
		backing=$BENCH_STAGE/delayed/volume
	else
		truncate -s "$1" "$IMAGE"
	fi
	LOOP=$(losetup -f --show --direct-io=on "$backing" 2>/dev/null) \
		|| { LOOP=''; no_volume "there is no loop device"; return 1; }
	mkfs.ext4 -q -E nodiscard "$LOOP" || { no_volume "mkfs.ext4 failed"; return 1; }
	mkdir -p "$MOUNT"
	mount "$LOOP" "$MOUNT" || { no_volume "it cannot be mounted"; return 1; }
	MOUNTED=yes
	# the kernel's usual value; a loop device may have that of the disk below it
	echo 128 >"/sys/block/${LOOP##*/}/queue/read_ahead_kb"
	mkdir "$MOUNT/space"
	chown "$(stat -c %U "$DATA"):" "$MOUNT/space"
	chmod 700 "$MOUNT/space"
	sql -c "create tablespace bench_cold location '$MOUNT/space'"
}

# The tablespace must be empty.
remove_volume() {
	set +e
	[ -z "${GROUP:-}" ] || leave_group
	sql -c 'drop tablespace if exists bench_cold' 2>/dev/null
	[ -z "${MOUNTED:-}" ] || umount "$MOUNT"
	[ -z "${LOOP:-}" ] || losetup -d "$LOOP"
	stop_delayed_file
	rm -f "$IMAGE"
}

# The server's processes, those of the future included.
server_processes() {
	echo "$POSTMASTER"
	pgrep -P "$POSTMASTER" || true
}

# From here on the server's reads are slow.
enter_group() {
	local device pid
	device=$(lsblk -ndo MAJ:MIN "$LOOP" | tr -d ' ')
	POSTMASTER=$(head -1 "$DATA/postmaster.pid")
	if [ -f /sys/fs/cgroup/blkio/blkio.throttle.read_bps_device ]; then
		GROUP=/sys/fs/cgroup/blkio/zedstore_bench.$$
		mkdir "$GROUP" || { GROUP=''; no_volume "cannot make a control group"; return 1; }
		echo "$device $((MBPS * 1000000))" >"$GROUP/blkio.throttle.read_bps_device"
		echo "$device $IOPS" >"$GROUP/blkio.throttle.read_iops_device"
	elif grep -qw io /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
		GROUP=/sys/fs/cgroup/zedstore_bench.$$
		echo +io >/sys/fs/cgroup/cgroup.subtree_control \
			|| { GROUP=''; no_volume "cannot switch the io controller on"; return 1; }
		mkdir "$GROUP" || { GROUP=''; no_volume "cannot make a control group"; return 1; }
		echo "$device rbps=$((MBPS * 1000000)) riops=$IOPS" >"$GROUP/io.max"
	else
		no_volume "there is no block I/O controller"
		return 1
	fi
	for pid in $(server_processes); do
		{ echo "$pid" >"$GROUP/cgroup.procs"; } 2>/dev/null || true
	done
}

leave_group() {
	local pid
	while read -r pid; do
		# it may have ended
		{ echo "$pid" >"$(dirname "$GROUP")/cgroup.procs"; } 2>/dev/null || true
	done <"$GROUP/cgroup.procs"
	sleep 0.2
	rmdir "$GROUP"
	GROUP=''
}

# Drops tables and indexes from shared buffers and from the operating system's cache.
make_cold() {
	local file name
	for name in "$@"; do
		sql -c "select pg_buffercache_evict_relation('$name')" >/dev/null
		for file in "$DATA/$(sql -c "select pg_relation_filepath('$name')")"*; do
			dd if="$file" iflag=nocache count=0 status=none
		done
	done
}
