# shellcheck shell=bash
#
# Volumes of bench/io, and hosts as small as those that have such volumes.  Sourced, never run.
#
# A volume is a file system on a loop device, one at a time.  Either the kernel's block I/O
# controller holds it to so many requests a second, or each request takes its time and many are
# under way side by side (delayed_file.sh).

# ---- volumes ------------------------------------------------------------------------------------

no_volume() {
	warn "no $1 volume: $2"
	return 1
}

# Puts a file system on the file $1 and mounts it; rest: options of mkfs.ext4
mount_volume() {
	local file=$1
	shift
	LOOP=$(losetup -f --show --direct-io=on "$file" 2>/dev/null) || { LOOP=''; return 1; }
	mkfs.ext4 -q "$@" "$LOOP"
	mkdir -p "$STAGE/volume"
	mount "$LOOP" "$STAGE/volume"
	VOLUME=$STAGE/volume
	DEVICE=$(lsblk -ndo MAJ:MIN "$LOOP" | tr -d ' ')
	chown "$ZS_USER:" "$VOLUME"
}

release_volume() {
	[ -z "${VOLUME:-}" ] || umount "$VOLUME"
	[ -z "${LOOP:-}" ] || losetup -d "$LOOP"
	stop_delayed_file
	rm -f "$STAGE/volume.img"
	VOLUME='' LOOP='' DEVICE=''
}

# The volume with a limit of requests.
make_volume() {
	[ -z "${DELAYED_FILE:-}" ] || release_volume
	[ -z "${VOLUME:-}" ] || return 0
	is_root || { no_volume throttled "it needs root"; return 1; }
	[ -f "$THROTTLE.write_iops_device" ] \
		|| { no_volume throttled "no block I/O controller of the first version"; return 1; }
	truncate -s 16G "$STAGE/volume.img"
	mount_volume "$STAGE/volume.img" || { no_volume throttled "no loop device"; return 1; }
}

# The volume with a latency, and 128 requests at a time.
make_delayed_volume() {
	[ -z "${VOLUME:-}" ] || release_volume
	start_delayed_file "$STAGE/delayed" 8G "$DELAY" \
		|| { no_volume delayed "$DELAYED_WHY_NOT"; return 1; }
	mount_volume "$STAGE/delayed/volume" -N 65536 -E nodiscard,lazy_itable_init=0 \
		|| { no_volume delayed "no loop device"; return 1; }
	# what was answered is done
	echo 'write through' >"/sys/block/${LOOP##*/}/queue/write_cache"
}

# Makes the volume slow, or fast.  The rule stands in the root group, so it holds for the kernel's
# writeback too.  $1: requests, 0 = no limit; the volume with a latency is slow with any number
throttle() {
	[ -n "${DEVICE:-}" ] || return 0
	if [ -n "${DELAYED_FILE:-}" ]; then
		switch_delayed_file "$([ "$1" = 0 ] && echo fast || echo slow)"
		return 0
	fi
	echo "$DEVICE $1" >"$THROTTLE.write_iops_device"
	echo "$DEVICE $1" >"$THROTTLE.read_iops_device"
}

# Reads and writes of the volume so far.
volume_requests() {
	awk '{ print $1, $5 }' "/sys/block/$(basename "$LOOP")/stat"
}

# ---- hosts --------------------------------------------------------------------------------------

# Makes this host like one with 1 GB of memory: for the servers started from here on a memory
# control group, and for everybody as few dirty pages as Linux allows there (10 and 20 % of 640 MB;
# shared buffers aside).  Without the first version of the memory controller only that.
small_host() {
	local group=/sys/fs/cgroup/memory/$(basename "$STAGE")
	[ -n "${DIRTY_RATIOS:-}" ] \
		|| DIRTY_RATIOS="$(cat /proc/sys/vm/dirty_background_ratio) $(cat /proc/sys/vm/dirty_ratio)"
	# of another run, whose limits in bytes hold now: the kernel's defaults
	[ "$DIRTY_RATIOS" != '0 0' ] || DIRTY_RATIOS='10 20'
	echo $((128 << 20)) >/proc/sys/vm/dirty_bytes
	echo $((64 << 20)) >/proc/sys/vm/dirty_background_bytes
	if mkdir -p "$group" 2>/dev/null && echo $((1 << 30)) >"$group/memory.limit_in_bytes"; then
		MEMORY_GROUP=$group
	else
		warn "no memory controller of the first version: all data are in the page cache"
	fi
}

large_host() {
	[ -z "${DIRTY_RATIOS:-}" ] || {
		echo "${DIRTY_RATIOS% *}" >/proc/sys/vm/dirty_background_ratio
		echo "${DIRTY_RATIOS#* }" >/proc/sys/vm/dirty_ratio
	}
	[ -z "${MEMORY_GROUP:-}" ] || rmdir "$MEMORY_GROUP"
	DIRTY_RATIOS=''
	MEMORY_GROUP=''
}

# A small cloud instance around the volume: $1 of memory for the server and its page cache, a tenth
# of that may be dirty there for the volume; the kernel joins up to 256 kB in one request, as such
# volumes count them, and reads 128 kB ahead.
limit_instance() {
	[ -d "$MEMORY" ] || {
		warn "no memory controller of the first version: the page cache is not bounded"
		return 1
	}
	GROUP=$MEMORY/$(basename "$STAGE")
	mkdir -p "$GROUP"
	MEMORY_GROUP=$GROUP
	echo "$1" >"$GROUP/memory.limit_in_bytes"
	echo 256 >"/sys/block/${LOOP##*/}/queue/max_sectors_kb"
	echo 128 >"/sys/block/${LOOP##*/}/queue/read_ahead_kb"
	echo $(($(cat "$GROUP/memory.limit_in_bytes") / 10)) >"/sys/class/bdi/$DEVICE/max_bytes"
	echo 1 >"/sys/class/bdi/$DEVICE/strict_limit"
}

make_instance() {
	make_volume && limit_instance "$1"
}

leave_instance() {
	rmdir "$GROUP"
	GROUP='' MEMORY_GROUP=''
	echo 0 >"/sys/class/bdi/$DEVICE/strict_limit"
}
