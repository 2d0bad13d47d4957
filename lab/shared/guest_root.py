"""The disk of a guest: Debian 12 by mmdebstrap, with the kernels that Debian's archives have."""
import os, pathlib, re, shutil, subprocess, sys

MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# Each kernel, and the suite whose newest it is or the package that has it.
KERNELS = {
    "5.10": ("bullseye", None),
    "6.1": ("bookworm", None),
    "6.12": ("bookworm-backports", None),
    "6.16": ("trixie-backports", "linux-image-6.16.12+deb13-amd64"),
    "7.3": ("trixie-backports", None),
}
PACKAGES = ["systemd", "systemd-sysv", "dbus", "udev", "kmod", "python3", "iproute2", "procps", "initramfs-tools", "netbase",
            "podman", "crun", "netavark", "man-db"]
# What no guest has a device for.
UNUSED = ["sound", "drivers/gpu", "drivers/media", "drivers/infiniband", "drivers/usb", "drivers/staging", "drivers/iio", "drivers/scsi",
          "drivers/net/wireless", "drivers/net/ethernet"]
# What the first stage of the boot needs.
MODULES = "virtio_pci\nvirtio_blk\next4\n9p\n9pnet_virtio\n"
AGENT = """#!/bin/sh
# Runs what is put into /share/jobs, each job beside the others.
mkdir -p /share && mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=262144 share /share || exit 1
cat /proc/sys/kernel/random/boot_id > /share/up
while :; do
  for job in /share/jobs/*.sh; do
    [ -e "$job" ] || continue
    name=${job%.sh}
    mv "$job" "$name.run"
    ( cd /root; setsid bash "$name.run" > "$name.out" 2>&1 < /dev/null; echo $? > "$name.part"; mv "$name.part" "$name.code" ) &
  done
  sleep 0.1
done
"""
UNIT = """[Unit]
Description=runs commands for lab/guest
[Service]
ExecStart=/usr/local/bin/guest-agent
KillMode=process
Environment=HOME=/root
[Install]
WantedBy=multi-user.target
"""


def make(to, names):
    """Makes TO/root.img, and TO/NAME/{vmlinuz,initrd} of each kernel."""
    for tool in ["mmdebstrap", "mke2fs", "dpkg"]:
        if not shutil.which(tool):
            sys.exit(f"lab/guest: {tool} is missing")
    for name in names:
        if name not in KERNELS:
            sys.exit(f"lab/guest: {name}: no such kernel; there are {', '.join(KERNELS)}")
    to.mkdir(parents=True, exist_ok=True)
    root = to / "root"
    if not root.exists():
        tar = to / "root.tar"
        call("mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(PACKAGES)}", "bookworm", tar, MIRROR)
        root.mkdir()
        call("tar", "-xf", tar, "-C", root)
        tar.unlink()
        furnish(root)
    archive = Archive(to)
    for name in names:
        print(f"{name}: {install(to, root, name, archive)}", flush=True)
    image = to / "root.img"
    image.unlink(missing_ok=True)
    call("mke2fs", "-q", "-t", "ext4", "-d", root, image, "6G")


def furnish(root):
    """Lets the root boot as a guest."""
    agent = root / "usr/local/bin/guest-agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    units = root / "etc/systemd/system"
    (units / "guest-agent.service").write_text(UNIT)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "guest-agent.service").symlink_to("/etc/systemd/system/guest-agent.service")
    (root / "etc/hostname").write_text("guest\n")
    (root / "etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")
    (root / "etc/initramfs-tools/modules").write_text(MODULES)
    (root / "etc/initramfs-tools/conf.d/guest").write_text("MODULES=list\nCOMPRESS=gzip\n")
    # The journal is kept over a reboot.
    (root / "var/log/journal").mkdir(exist_ok=True)


def install(to, root, name, archive):
    """Puts a kernel's modules into the root, and the kernel with its first stage beside it; returns its release."""
    folder = to / name
    folder.mkdir(exist_ok=True)
    scratch = folder / "unpacked"
    for package in archive.fetch(*KERNELS[name]):
        call("dpkg", "-x", package, scratch)
    modules = scratch / "lib/modules"
    if not modules.exists():
        modules = scratch / "usr/lib/modules"
    [release] = os.listdir(modules)
    for unused in UNUSED:
        shutil.rmtree(modules / release / "kernel" / unused, ignore_errors=True)
    shutil.copytree(modules / release, root / "lib/modules" / release, symlinks=True, dirs_exist_ok=True)
    boot = next(path for path in [scratch / "boot", scratch / "usr/lib/modules" / release] if list(path.glob("vmlinuz*")))
    [kernel] = boot.glob("vmlinuz*")
    shutil.copy(kernel, folder / "vmlinuz")
    config = [*boot.glob("config*"), *(scratch / "boot").glob("config*")][0]
    shutil.copy(config, root / f"boot/config-{release}")
    call("chroot", root, "depmod", release)
    call("chroot", root, "mkinitramfs", "-o", "/boot/initrd", release)
    shutil.move(root / "boot/initrd", folder / "initrd")
    shutil.rmtree(scratch)
    (folder / "release").write_text(release)
    return release


class Archive:
    """Debian's archive with the suites that have the kernels; this machine's own list of packages stays as it is."""

    def __init__(self, to):
        self.to = to / "apt"
        for folder in ["state/lists/partial", "cache/archives/partial", "debs"]:
            (self.to / folder).mkdir(parents=True, exist_ok=True)
        suites = sorted({suite for suite, _ in KERNELS.values()})
        (self.to / "sources").write_text("".join(f"deb {MIRROR} {suite} main\n" for suite in suites))
        self.settings = ["-o", f"Dir::Etc::sourcelist={self.to}/sources", "-o", "Dir::Etc::sourceparts=/dev/null", "-o",
                         f"Dir::State={self.to}/state", "-o", f"Dir::Cache={self.to}/cache", "-o", "Acquire::Languages=none",
                         "-o", "APT::Sandbox::User=root"]
        if not list((self.to / "state/lists").glob("*Packages*")):
            call("apt-get", *self.settings, "-qq", "update")

    def fetch(self, suite, package):
        """Returns the files of a kernel: of the newest one of a suite, or of the package."""
        wanted, found = [package or f"linux-image-amd64={self.newest(suite)}"], []
        while wanted:
            shown = call("apt-cache", *self.settings, "show", "--no-all-versions", wanted.pop(0))
            name = re.search(r"^Package: (.*)$", shown, re.M).group(1)
            depends = re.search(r"^Depends: (.*)$", shown, re.M)
            wanted += re.findall(r"linux-(?:image|binary|modules|base)-[0-9][^ ,]*", depends.group(1) if depends else "")
            if name != "linux-image-amd64":
                call("apt-get", *self.settings, "-qq", "download", name, at=self.to / "debs")
                found += (self.to / "debs").glob(f"{name}_*.deb")
        return found

    def newest(self, suite):
        """Returns the version of the suite's newest kernel."""
        rows = call("apt-cache", *self.settings, "madison", "linux-image-amd64").splitlines()
        return next(row.split("|")[1].strip() for row in rows if f" {suite}/main " in row)


def call(*words, at=None):
    done = subprocess.run([str(word) for word in words], cwd=at, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"lab/guest: {' '.join(str(word) for word in words[:3])}: {done.stderr.strip()[-400:]}")
    return done.stdout
