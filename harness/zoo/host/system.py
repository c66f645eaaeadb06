"""Processor, memory and operating system of this machine."""

import os
import platform
import re
from pathlib import Path

import psutil

# Words of DMI fields and where they come from.
HYPERVISORS = {
    "amazon ec2": "Amazon EC2",
    "google": "Google Compute Engine",
    "microsoft corporation virtual machine": "Hyper-V",
    "vmware": "VMware",
    "virtualbox": "VirtualBox",
    "qemu": "KVM/QEMU",
    "kvm": "KVM",
    "xen": "Xen",
    "openstack": "OpenStack",
    "parallels": "Parallels",
}

FAMILIES = {
    "debian": {"debian", "ubuntu"},
    "fedora": {"fedora", "rhel", "centos"},
    "suse": {"suse", "opensuse"},
    "arch": {"arch"},
    "alpine": {"alpine"},
}


def read_text(path: str) -> str:
    """A file's text; empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parse_cpu_model(cpuinfo: str) -> str | None:
    """The first model name of /proc/cpuinfo (x86, or some ARM kernels)."""
    found = re.search(r"^(?:model name|Model|cpu model)[ \t]*:[ \t]*(\S[^\n]*)", cpuinfo, re.MULTILINE)
    return found.group(1).strip() if found else None


def parse_os_release(text: str) -> dict[str, str]:
    """/etc/os-release, quotes taken off."""
    fields = re.findall(r"^([A-Z_][A-Z0-9_]*)=(.*)$", text, re.MULTILINE)
    return {key: value.strip().strip("\"'") for key, value in fields}


def family_of(os_release: dict[str, str]) -> str | None:
    """Which package manager to expect: debian, fedora, suse, arch or alpine."""
    words = f"{os_release.get('ID', '')} {os_release.get('ID_LIKE', '')}".lower().split()
    for word in words:
        for family, members in FAMILIES.items():
            if any(word == member or word.startswith(f"{member}-") for member in members):
                return family
    return None


def parse_virtualization(cpuinfo: str, dmi: str, kernel: str) -> str | None:
    """A hint, from the DMI names, the kernel's name and the processor's hypervisor flag."""
    if "microsoft" in kernel.lower():
        return "WSL"
    for word, name in HYPERVISORS.items():
        if word in dmi.lower():
            return name
    if re.search(r"^(?:flags|Features)\s*:.*\bhypervisor\b", cpuinfo, re.MULTILINE):
        return "virtual machine"
    return None


def parse_choice(text: str) -> str | None:
    """The bracketed word of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", text)
    return found.group(1) if found else None


def cpu_model() -> str | None:
    return parse_cpu_model(read_text("/proc/cpuinfo")) or platform.processor() or None


def distribution() -> tuple[str | None, str | None]:
    """The name people know, and the family of package managers."""
    if platform.system() == "Darwin":
        return f"macOS {platform.mac_ver()[0]}", "macos"
    fields = parse_os_release(read_text("/etc/os-release") or read_text("/usr/lib/os-release"))
    return fields.get("PRETTY_NAME") or fields.get("NAME"), family_of(fields)


def virtualization() -> str | None:
    dmi = " ".join(read_text(f"/sys/class/dmi/id/{name}").strip() for name in ("sys_vendor", "product_name"))
    return parse_virtualization(read_text("/proc/cpuinfo"), dmi, platform.release())


def in_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()


def governor() -> str | None:
    return read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or None


def turbo() -> bool | None:
    """Whether the clock may rise above nominal; None where the kernel does not say."""
    off = read_text("/sys/devices/system/cpu/intel_pstate/no_turbo").strip()
    on = read_text("/sys/devices/system/cpu/cpufreq/boost").strip()
    if off in ("0", "1"):
        return off == "0"
    return on == "1" if on in ("0", "1") else None


def huge_pages() -> str | None:
    return parse_choice(read_text("/sys/kernel/mm/transparent_hugepage/enabled"))


def libc() -> str | None:
    name, version = platform.libc_ver()
    if name:
        return f"{name} {version}"
    return "musl" if any(Path("/lib").glob("ld-musl-*")) else None


def memory_kb() -> tuple[int | None, int | None]:
    """Physical memory and swap."""
    try:
        return psutil.virtual_memory().total // 1024, psutil.swap_memory().total // 1024
    except (OSError, RuntimeError):
        return None, None


def logical_cores() -> int | None:
    return os.cpu_count()
