#!/usr/bin/env bash
#
# Runs the tests of the runtime on a processor that this machine has not: in
# Bochs, which emulates AVX-512, under Debian's kernel. Needs a release build.
#
#   scripts/emulate.sh [MODEL [ARGUMENT...]]
#
# MODEL is one that `bochs --help cpu` lists: corei7_skylake_x has AVX-512, and
# corei3_cnl, which is the default, VBMI too. The arguments are those of
# TesseraRuntimeTests, such as --gtest_filter='Runtime.Gathers'. Instructions
# take about a hundred times as long as on the machine itself: the fewest
# repetitions (TESSERA_FEW) of all tests take hours, those of one some minutes.
# What is printed stands in build/emulate/console.txt, too.

source "$(dirname "$0")/common.sh"

usage() { sed -n '3,14s/^# \{0,1\}//p' scripts/emulate.sh; }
case "${1:-}" in -h | --help) usage && exit ;; esac
model=${1:-corei3_cnl}
shift || true
folder=build/emulate
tests=build/release/unittests/TesseraRuntimeTests
[ -x $tests ] || fail "there is no $tests; run scripts/test.sh, or build it"

packages=(bochs bochs-term bochsbios busybox-static cpio isolinux syslinux-common vgabios xorriso)
install_packages

# Debian's kernel for virtual machines, which has a driver for serial ports.
fetch_kernel() {
  local image
  compgen -G "$folder/kernel/boot/vmlinuz-*" >/dev/null && return
  image=$(apt-cache depends linux-image-cloud-amd64 |
    sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p')
  note "downloading $image"
  (cd $folder && apt-get download -q "$image")
  dpkg-deb -x $folder/"$image"_*.deb $folder/kernel
}

# copy_program FILE: and the libraries that it needs, to the root of the guest.
copy_program() {
  local file
  cp "$1" $folder/root/bin/
  for file in $(ldd "$1" | sed -nE 's/^(.*=> )?[[:space:]]*(\/[^ ]*) .*/\2/p'); do
    mkdir -p "$folder/root$(dirname "$file")"
    cp -L "$file" "$folder/root$file"
  done
}

# The arguments as one word each of a shell's text.
quote() { [ $# -eq 0 ] || printf '%q ' "$@"; }

# The first program of the guest.
write_init() {
  cat >$folder/root/init <<END
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs devices /dev
exec >/dev/ttyS0 2>&1
if ! /bin/busybox grep -q avx512bw /proc/cpuinfo; then
  echo "status: 1, the kernel sees no AVX-512"
  /bin/busybox sleep 2
  /bin/busybox poweroff -f
fi
export TESSERA_FEW=1
/bin/TesseraRuntimeTests --gtest_color=no $(quote "$@")
echo "status: \$?"
/bin/busybox sleep 2 # until the port has sent that
/bin/busybox poweroff -f
END
  chmod +x $folder/root/init
}

# A CD that boots the kernel. Bochs 2.7 and Linux agree about how large saved
# registers are if they are saved in the plain format and there are no protection
# keys. Without bits 321, 323 and 515 Linux takes no other format, and no keys;
# else it would do without AVX.
write_cd() {
  local cd=$folder/cd
  mkdir -p $cd/isolinux
  (cd $folder/root && find . | cpio -o -H newc --quiet | gzip -1) >$cd/initrd.gz
  cp $folder/kernel/boot/vmlinuz-* $cd/vmlinuz
  cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 $cd/isolinux/
  cat >$cd/isolinux/isolinux.cfg <<END
DEFAULT linux
LABEL linux
  KERNEL /vmlinuz
  APPEND initrd=/initrd.gz console=ttyS0 quiet mitigations=off nosmp tsc=reliable clearcpuid=321,323,515
END
  xorriso -as mkisofs -quiet -o $folder/cd.iso -b isolinux/isolinux.bin -c isolinux/boot.cat \
    -no-emul-boot -boot-load-size 4 -boot-info-table $cd
}

write_machine() {
  cat >$folder/machine.txt <<END
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=$model, count=1, ips=100000000, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=1024, host=1024
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$folder/cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$folder/console.txt
log: $folder/bochs.log
panic: action=fatal
clock: sync=none
END
}

mkdir -p $folder
fetch_kernel
rm -rf $folder/root
mkdir -p $folder/root/{bin,dev,proc}
cp /bin/busybox $folder/root/bin/
copy_program $tests
write_init "$@"
write_cd
write_machine
note "booting $model"
# Its debugger waits for a command, and its display is a terminal.
echo c >$folder/commands.txt
: >$folder/console.txt
TERM=xterm setsid script -qc "bochs -q -f $folder/machine.txt -rc $folder/commands.txt" /dev/null \
  >$folder/display.txt 2>&1 </dev/null &
emulator=$!
trap 'kill -- -$emulator 2>/dev/null || true' EXIT
# tail is ended by a signal when nobody reads any more.
tail -n +1 -f --pid=$emulator $folder/console.txt | sed -u '/^status: /q' || true
# A console ends lines by both characters.
grep -q $'^status: 0\r' $folder/console.txt ||
  fail "the tests failed, or $model did not run them: see $folder/console.txt and $folder/bochs.log"
