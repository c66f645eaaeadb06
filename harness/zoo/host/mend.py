"""The command that fixes a missing tool or a low limit, by kind of system. It is printed, never run."""

from zoo.host.engine import EngineError
from zoo.plan.feasible import SERVER_DESCRIPTORS, Setting

# For systems that do not pack a tool, or not a usable one.
BY_HAND = {
    "jdk": "unpack Eclipse Temurin 21 or newer and set JAVA_HOME, or with SDKMAN: sdk install java",
    "cargo": "install Rust with rustup (see rustup.rs)",
    "maven": "unpack Apache Maven and put its bin folder on PATH",
    "wrk": "build wrk from its sources (github.com/wg/wrk): make, then put wrk on PATH",
    "docker": "install Docker Engine as its documentation says",
    "compose": "install docker-compose-plugin (Docker's own packages), docker-compose-v2 (Ubuntu), docker-compose "
    "(Debian 13, Arch) or docker-cli-compose (Alpine)",
    "qemu": "RUNTIME=vm takes Debian on x86_64, with its packages qemu-system-x86 and busybox-static",
}

PACKAGES = {
    "debian": {
        "jdk": "sudo apt-get install -y openjdk-21-jdk-headless",
        "maven": "sudo apt-get install -y maven",
        "wrk": "sudo apt-get install -y wrk",
        "docker": "sudo apt-get install -y docker.io",
        "qemu": "sudo apt-get install -y --no-install-recommends qemu-system-x86 busybox-static",
    },
    "fedora": {
        "jdk": "sudo dnf install -y java-21-openjdk-devel",
        "cargo": "sudo dnf install -y cargo",
        "maven": "sudo dnf install -y maven",
    },
    "suse": {
        "jdk": "sudo zypper install -y java-21-openjdk-devel",
        "cargo": "sudo zypper install -y cargo",
        "maven": "sudo zypper install -y maven",
        "docker": "sudo zypper install -y docker",
    },
    "arch": {
        "jdk": "sudo pacman -S --needed jdk21-openjdk",
        "cargo": "sudo pacman -S --needed rust",
        "maven": "sudo pacman -S --needed maven",
        "wrk": "sudo pacman -S --needed wrk",
        "docker": "sudo pacman -S --needed docker",
    },
    "alpine": {
        "jdk": "sudo apk add openjdk21",
        "cargo": "sudo apk add cargo",
        "maven": "sudo apk add maven",
        "wrk": "sudo apk add wrk",
        "docker": "sudo apk add docker",
    },
    "macos": {
        "jdk": "brew install openjdk@21",
        "cargo": "brew install rust",
        "maven": "brew install maven",
        "wrk": "brew install wrk",
        "docker": "brew install --cask docker",
    },
}

# Releases whose packages have no JDK 21.
WITHOUT_JDK_21 = ("Debian GNU/Linux 12", "Debian GNU/Linux 11", "Ubuntu 20.04")


def install(tool: str, family: str | None, distribution: str | None = None) -> str:
    """How to get `jdk`, `cargo`, `maven`, `wrk`, `docker`, `compose` or `qemu`."""
    if tool == "jdk" and (distribution or "").startswith(WITHOUT_JDK_21):
        return BY_HAND[tool]
    return PACKAGES.get(family or "", {}).get(tool, BY_HAND[tool])


def engine(error: EngineError, family: str | None) -> str:
    """How to get a container engine that can be used."""
    if error.lacks:
        return install(error.lacks, family)
    if "permission denied" in str(error).lower():
        return "sudo usermod -aG docker $USER, and log in again"
    return "start Docker Desktop" if family == "macos" else "sudo systemctl start docker"


def raise_nofile(wanted: int, family: str | None) -> str:
    """For this shell and what it starts; to keep it, `hard nofile` in /etc/security/limits.d."""
    if family == "macos":
        return f"sudo launchctl limit maxfiles {wanted} {wanted}"
    return f"sudo prlimit --pid $$ --nofile={wanted}:{wanted}"


def keep_nofile(wanted: int, family: str | None) -> str | None:
    """For good, from the next log-in on; `*` leaves root out. (A systemd service: LimitNOFILE=.)"""
    if family in ("macos", "alpine"):
        return None
    return f"printf '%s - nofile {wanted}\\n' '*' root | sudo tee /etc/security/limits.d/zoo.conf"


def sysctl(name: str, value: str) -> str:
    """Until the next boot."""
    quoted = f'"{value}"' if " " in value else value
    return f"sudo sysctl -w {name}={quoted}"


def on_host(setting: Setting, connections: int) -> str:
    """For a host whose engine holds, or opens, so many connections of containers."""
    wanted = connections + SERVER_DESCRIPTORS
    if setting == "ports":
        return sysctl("net.ipv4.ip_local_port_range", "1024 65535")
    if setting == "files":
        return sysctl("fs.file-max", str(2 * wanted))
    return f"dockerd --default-ulimit nofile={wanted}:{wanted}, or default-ulimits in its /etc/docker/daemon.json"
