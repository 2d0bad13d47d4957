"""A guest: one virtual machine, which runs what is put into a folder that it shares with the host."""
import os, pathlib, shutil, signal, subprocess, sys, time


class Guest:
    def __init__(self, to, name):
        self.folder = pathlib.Path(to) / name
        self.image = pathlib.Path(to) / "root.img"
        if not (self.folder / "vmlinuz").exists() or not self.image.exists():
            sys.exit(f"lab/guest: {name}: no such kernel was made: lab/guest make")
        self.share = self.folder / "share"

    def up(self, patience=300):
        """Boots it, and waits until it answers."""
        if self.is_up():
            return
        shutil.rmtree(self.share, ignore_errors=True)
        (self.share / "jobs").mkdir(parents=True)
        machine = ["-accel", "tcg,thread=multi", "-cpu", "max"] if self.is_emulated() else ["-enable-kvm", "-cpu", "host,-arch-capabilities"]
        log = open(self.folder / "console", "wb")
        process = subprocess.Popen(
            ["qemu-system-x86_64", *machine, "-m", "1536", "-smp", "1", "-nographic", "-nodefaults", "-serial", "stdio", "-net", "none",
             "-device", "virtio-rng-pci", "-kernel", self.folder / "vmlinuz", "-initrd", self.folder / "initrd",
             "-append", "root=/dev/vda rw console=ttyS0 quiet panic=-1", "-no-user-config",
             "-drive", f"file={self.image},format=raw,if=virtio,snapshot=on",
             "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(process.pid))
        self.wait_until_up(patience)

    @staticmethod
    def is_emulated():
        """Returns whether there is no KVM that runs an ordinary kernel: the processor must have the extensions for it."""
        flags = pathlib.Path("/proc/cpuinfo").read_text().split()
        return not os.access("/dev/kvm", os.W_OK) or not {"svm", "vmx"} & set(flags)

    def wait_until_up(self, patience):
        ends = time.monotonic() + patience
        while not (self.share / "up").exists():
            if time.monotonic() > ends or not self.is_up():
                sys.exit(f"lab/guest: it did not come up in {patience} s: {self.folder}/console")
            time.sleep(0.1)

    def is_up(self):
        """Whether its process runs."""
        try:
            pid = int((self.folder / "pid").read_text())
            return "qemu-system" in os.readlink(f"/proc/{pid}/exe")
        except (OSError, ValueError):
            return False

    def run(self, command, patience=300):
        """Runs a shell command in it as root; returns its exit code and what it said. After `patience` the code is 124."""
        if not self.is_up():
            sys.exit(f"lab/guest: {self.folder.name} is not up")
        name = self.share / "jobs" / f"{time.monotonic_ns()}-{os.getpid()}"
        part = name.with_suffix(".new")
        part.write_text(command + "\n")
        part.rename(name.with_suffix(".sh"))
        ends = time.monotonic() + patience
        said, code = name.with_suffix(".out"), name.with_suffix(".code")
        while not code.exists():
            if time.monotonic() > ends or not self.is_up():
                return 124, said.read_text(errors="replace") if said.exists() else ""
            time.sleep(0.05)
        return int(code.read_text()), said.read_text(errors="replace")

    def put(self, files):
        """Copies files and folders to its /root."""
        for file in files:
            shared = self.share / pathlib.Path(file).name
            (shutil.copytree if os.path.isdir(file) else shutil.copy)(file, shared)
            code, said = self.run(f"cp -r /share/{shared.name} /root/")
            (shutil.rmtree if shared.is_dir() else os.unlink)(shared)
            if code:
                sys.exit(f"lab/guest: {file}: {said}")

    def reboot(self, patience=300):
        """Starts it again in good order; what it wrote stays."""
        (self.share / "up").unlink(missing_ok=True)
        self.run("systemctl reboot", 5)
        self.wait_until_up(patience)

    def down(self):
        """Ends its process."""
        if self.is_up():
            pid = int((self.folder / "pid").read_text())
            os.kill(pid, signal.SIGTERM)
            while self.is_up():
                time.sleep(0.05)
        (self.folder / "pid").unlink(missing_ok=True)
