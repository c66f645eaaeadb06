"""Tests of the host's limits, JDKs and tools, and of what the doctor says about them."""

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from zoo import ROOT
from zoo.core import capacity
from zoo.core.host_facts import CgroupLimits, HostFacts, Jdk, JdkFacts, Limits, Tools, feature_release
from zoo.host import cgroup, doctor, facts, jdk
from zoo.host.engine import EngineError
from zoo.host.jdk import JdkError

calm = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])

V2_FILES = {
    "/proc/self/cgroup": "0::/user.slice/zoo.scope\n",
    "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    "/sys/fs/cgroup/user.slice/zoo.scope/memory.max": "max\n",
    "/sys/fs/cgroup/user.slice/memory.max": "4294967296\n",
    "/sys/fs/cgroup/user.slice/zoo.scope/cpu.max": "150000 100000\n",
    "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/zoo.scope/pids.max": "4915\n",
}
V1_FILES = {
    "/proc/self/cgroup": "8:pids:/docker/abc\n4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
    "/proc/self/mountinfo": (
        "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "39 31 0:36 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    ),
    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
    "/sys/fs/cgroup/pids/pids.max": "max\n",
}


def make_jdk(folder: Path, release: str | None, compiler: bool = True, prints: str = "") -> Path:
    (folder / "bin").mkdir(parents=True)
    for name in ["java", "javac"] if compiler else ["java"]:
        file = folder / "bin" / name
        file.write_text(f"#!/bin/sh\ncat >&2 <<'EOF'\n{prints}\nEOF\n")
        file.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(release)
    return folder


def fake(version: str, home: str) -> Jdk:
    return Jdk(Path(home), Path(home) / "bin/java", version, feature_release(version), "X")


class TestJdk:
    @pytest.mark.parametrize(
        ("text", "version", "major"),
        [
            ("25.0.1+8-LTS", "25.0.1+8", 25),
            ("17.0.15+6-Debian-1deb12u1", "17.0.15+6", 17),
            ("26-ea+10-1234", "26-ea+10", 26),
            ("1.8.0_402-b06", "1.8.0_402", 8),
            ("21", "21", 21),
        ],
    )
    def test_versions(self, text: str, version: str, major: int) -> None:
        assert jdk.tidy_version(text) == version
        assert feature_release(version) == major

    def test_version_of_the_launcher(self) -> None:
        text = 'openjdk version "21.0.5" 2024-10-15 LTS\nOpenJDK Runtime Environment (build 21.0.5+11-LTS)\n'
        assert jdk.parse_java_version(text) == "21.0.5+11"
        assert jdk.parse_java_version('java version "1.8.0_402"') == "1.8.0_402"
        assert jdk.parse_java_version("command not found") is None

    def test_release_file(self, tmp_path: Path) -> None:
        release = 'IMPLEMENTOR="Eclipse Adoptium"\nJAVA_RUNTIME_VERSION="25.0.3+9-LTS"\nSOURCE=""\n'
        found = jdk.read_jdk(make_jdk(tmp_path / "a", release))
        assert found is not None
        assert (found.version, found.major, found.vendor) == ("25.0.3+9", 25, "Eclipse Adoptium")

    def test_without_release_file_java_is_asked(self, tmp_path: Path) -> None:
        found = jdk.read_jdk(make_jdk(tmp_path / "a", None, prints='openjdk version "21.0.5" 2024-10-15'))
        assert found is not None
        assert (found.version, found.vendor) == ("21.0.5", "unknown")

    def test_a_runtime_without_compiler_is_no_jdk(self, tmp_path: Path) -> None:
        assert jdk.read_jdk(make_jdk(tmp_path / "a", 'JAVA_VERSION="21"', compiler=False)) is None
        assert jdk.read_jdk(tmp_path / "nothing") is None

    def test_found_once_although_linked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        home = make_jdk(tmp_path / "jdks" / "a", 'JAVA_VERSION="21.0.1"')
        (tmp_path / "jdks" / "link").symlink_to(home)
        (tmp_path / "jdks" / "loop").symlink_to(tmp_path / "jdks" / "loop")
        monkeypatch.setattr(jdk, "FOLDERS", (f"{tmp_path}/jdks/*",))
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdks" / "link"))
        monkeypatch.setenv("PATH", str(home / "bin"))
        monkeypatch.delenv("SDKMAN_DIR", raising=False)
        assert [found.home for found in jdk.find_jdks()] == [home.resolve()]

    def test_java_home_is_preferred_when_new_enough(self) -> None:
        old, mid, new = fake("17.0.1", "/j/17"), fake("21.0.9", "/j/21"), fake("25.0.1+8", "/j/25")
        assert jdk.choose_jdk([old, mid, new]) is new
        assert jdk.choose_jdk([old, mid, new], java_home=Path("/j/21")) is mid
        assert jdk.choose_jdk([old, mid, new], java_home=Path("/j/17")) is new

    def test_newest_is_by_number_not_by_text(self) -> None:
        assert jdk.choose_jdk([fake("21.0.9", "/a"), fake("21.0.10", "/b")]).home == Path("/b")

    @pytest.mark.parametrize("wanted", [21, "21", "21.0", "21.0.9", "21.0.9+10", "j21", "/x/j21"])
    def test_wanted(self, wanted: str | int) -> None:
        jdks = [fake("25.0.1+8", "/x/j25"), fake("21.0.9+10", "/x/j21")]
        assert jdk.choose_jdk(jdks, wanted).home == Path("/x/j21")

    @pytest.mark.parametrize("wanted", [17, "2", "21.0.90", 26])
    def test_wanted_but_not_there(self, wanted: str | int) -> None:
        with pytest.raises(JdkError, match=f"JDK {wanted} was requested"):
            jdk.choose_jdk([fake("21.0.9+10", "/x/j21"), fake("17.0.1", "/x/j17")], wanted)

    def test_complaint_names_what_was_found(self) -> None:
        with pytest.raises(JdkError) as caught:
            jdk.choose_jdk([fake("17.0.15+6", "/x/j17")], java_home=Path("/gone"))
        message = str(caught.value)
        assert "JAVA_HOME (/gone) is not a JDK" in message
        assert "found Java 17.0.15+6 in /x/j17; the zoo needs 21 or newer: install" in message
        assert "\n" not in message
        with pytest.raises(JdkError, match="found no JDK"):
            jdk.choose_jdk([])

    @calm
    @given(st.text())
    def test_odd_texts_do_no_harm(self, text: str) -> None:
        jdk.parse_release(text)
        jdk.parse_java_version(text)
        jdk.tidy_version(text)
        assert feature_release(text) >= 0


class TestCgroup:
    def test_version_2_takes_the_tightest_above(self) -> None:
        found = cgroup.read_cgroup(V2_FILES.get)
        assert found == CgroupLimits(version="v2", memory_kb=4 << 20, cpus=1.5, pids=4915)

    def test_version_1_in_a_container(self) -> None:
        found = cgroup.read_cgroup(V1_FILES.get)
        assert found == CgroupLimits(version="v1", memory_kb=1 << 20, cpus=None, pids=None)

    def test_levels_are_a_process_s_group_and_its_parents(self) -> None:
        files = V2_FILES | {"/proc/7/cgroup": "0::/system.slice/app.service\n"}
        assert cgroup.group_folders("cpu", 7, files.get) == [
            "/sys/fs/cgroup/system.slice/app.service",
            "/sys/fs/cgroup/system.slice",
            "/sys/fs/cgroup",
        ]

    def test_hybrid(self) -> None:
        unified = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        files = V1_FILES | {"/proc/self/mountinfo": V1_FILES["/proc/self/mountinfo"] + unified}
        assert cgroup.read_cgroup(files.get).version == "hybrid"

    def test_none(self) -> None:
        assert cgroup.read_cgroup(lambda _: None) == CgroupLimits()

    @pytest.mark.parametrize("text", ["max", "-1", "9223372036854771712", "", None, "٣"])
    def test_no_limit(self, text: str | None) -> None:
        assert cgroup.parse_amount(text) is None

    @calm
    @given(st.text(), st.text())
    def test_odd_texts_do_no_harm(self, membership: str, mounts: str) -> None:
        files = {"/proc/self/cgroup": membership, "/proc/self/mountinfo": mounts}
        cgroup.read_cgroup(files.get)
        cgroup.parse_cpu_max(membership)
        facts.parse_range(membership)


PORTS: dict[str, Any] = {"port_low": 32768, "port_high": 60999}


class TestFeasible:
    def test_descriptors(self) -> None:
        found = capacity.feasible_connections(Limits(nofile_hard=20_000, **PORTS), 25_000)
        assert found == capacity.Capacity(19_500, "nofile hard limit 20,000", "descriptors")

    def test_ports(self) -> None:
        found = capacity.feasible_connections(Limits(nofile_hard=1_048_576, **PORTS), 100_000)
        assert found == capacity.Capacity(27_200, "ip_local_port_range 32768-60999", "ports")
        more = capacity.feasible_connections(Limits(nofile_hard=1_048_576, **PORTS), 100_000, addresses=4)
        assert more == capacity.Capacity(100_000, None)

    def test_kernel(self) -> None:
        found = capacity.feasible_connections(Limits(file_max=30_000), 25_000)
        assert found == capacity.Capacity(14_500, "fs.file-max 30,000", "files")

    def test_nothing_known(self) -> None:
        assert capacity.feasible_connections(Limits(), 123) == capacity.Capacity(123, None)

    @calm
    @given(
        st.integers(1, 200_000),
        st.none() | st.integers(0, 2_000_000),
        st.none() | st.tuples(st.integers(1, 65_535), st.integers(1, 65_535)),
        st.integers(1, 8),
    )
    def test_never_more_than_asked_and_never_silent(
        self, requested: int, nofile: int | None, ports: tuple[int, int] | None, addresses: int
    ) -> None:
        low, high = ports or (None, None)
        limits = Limits(nofile_hard=nofile, port_low=low, port_high=high)
        found = capacity.feasible_connections(limits, requested, addresses)
        assert 0 <= found.actual <= requested
        assert (found.limited_by is None) == (found.actual == requested)
        assert found.limited_by is None or found.actual % 100 == 0
        if nofile is not None and found.actual:
            assert found.actual <= nofile - capacity.SERVER_DESCRIPTORS

    def test_threads(self) -> None:
        known = Limits(nproc=96_365, threads_max=192_731, pid_max=32_768, max_map_count=65_530)
        assert capacity.feasible_threads(known) == capacity.Capacity(32_765, "vm.max_map_count")

    def test_this_machine(self) -> None:
        found = facts.read_limits()
        assert found.nofile_soft is None or found.nofile_soft > 0
        assert capacity.feasible_connections(found, 1) == capacity.Capacity(1, None)


class TestSystem:
    def test_cpuinfo(self) -> None:
        text = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm\n"
        assert facts.parse_cpu_model(text) == "AMD EPYC"
        assert facts.parse_virtualization(text, "", "6.1.0") == "virtual machine"
        assert facts.parse_virtualization("", "QEMU Standard PC", "6.1.0") == "KVM/QEMU"
        assert facts.parse_virtualization("", "", "5.15-microsoft-standard-WSL2") == "WSL"
        assert facts.parse_virtualization("", "", "6.10.14-linuxkit") == "virtual machine of Docker Desktop"
        assert facts.parse_virtualization("flags : fpu", "Dell Inc.", "6.1.0") is None

    @pytest.mark.parametrize(
        ("changes", "unknown"),
        [
            ({"virtualization": "virtual machine"}, True),
            ({"virtualization": "virtual machine of Docker Desktop"}, True),
            ({"architecture": "aarch64"}, True),
            ({"virtualization": "KVM/QEMU"}, False),
            ({}, False),
            ({"virtualization": "virtual machine", "container": False}, False),
        ],
    )
    def test_the_machine_below_a_container_may_be_unknown(self, changes: dict[str, object], unknown: bool) -> None:
        assert bool(host(**{"container": True, **changes}).unknown_machine) is unknown

    def test_a_container_names_its_engine(self) -> None:
        engine = facts.parse_container_engine('engine="podman-5.4.2"\nname="zoo"\nrootless=1\n')
        assert (
            host(container=True, container_engine=engine).place
            == "in a container (podman 5.4.2), no virtualization detected"
        )
        assert facts.parse_container_engine("") is None

    @pytest.mark.parametrize(
        ("fields", "family"),
        [
            ({"ID": "debian"}, "debian"),
            ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "debian"),
            ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "fedora"),
            ({"ID": "opensuse-leap"}, "suse"),
            ({"ID": "alpine"}, "alpine"),
            ({"ID": "nixos"}, None),
            ({}, None),
        ],
    )
    def test_family(self, fields: dict[str, str], family: str | None) -> None:
        assert facts.family_of(fields) == family

    @calm
    @given(st.text())
    def test_odd_texts_do_no_harm(self, text: str) -> None:
        facts.parse_cpu_model(text)
        facts.family_of({"ID": text, "ID_LIKE": text})
        facts.parse_virtualization(text, text, text)
        facts.parse_choice(text)
        facts.parse_version(text)

    @pytest.mark.parametrize(
        ("text", "version"),
        [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-3+b2"),
            ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", "1.95.0"),
            ("\x1b[1mApache Maven 3.8.7\x1b[m\nMaven home: /usr/share/maven", "3.8.7"),
            ("Docker version 28.2.2, build e6534b4", "28.2.2"),
            ("wrk 05ac610 [epoll] Copyright (C) 2012 Will Glozer", "05ac610"),
            ("wrk 4.2.0-2-g05ac610 [epoll] Copyright (C) 2012 Will Glozer", "4.2.0-2-g05ac610"),
            ("wrk  [epoll] Copyright (C) 2012 Will Glozer", "unknown"),
            ("/bin/sh: 1: wrk: not found", None),
            ("Docker is not running", None),
            ("", None),
        ],
    )
    def test_tool_versions(self, text: str, version: str | None) -> None:
        assert facts.parse_version(text) == version

    def test_missing_tools(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        assert facts.find_tools() == Tools()


class TestFacts:
    def test_no_names_of_this_machine(self) -> None:
        text = facts.gather().model_dump_json()
        assert HostFacts.model_validate_json(text).system == os.uname().sysname
        node = os.uname().nodename
        assert f'"{node}"' not in text
        assert str(Path.home()) + "/" not in text

    def test_control_group_counts(self) -> None:
        small = Limits(cgroup=CgroupLimits(memory_kb=1 << 20))
        assert host(limits=small).memory_usable_kb == 1 << 20


def host(**changes: object) -> HostFacts:
    """Return a machine without faults."""
    used = JdkFacts(name="jdk-25", version="25.0.1+8", major=25, vendor="X")
    plenty = Limits(
        nofile_soft=1_024,
        nofile_hard=1_048_576,
        somaxconn=65_535,
        port_low=32_768,
        port_high=60_999,
        pid_max=4_194_304,
        threads_max=500_000,
        max_map_count=1_048_576,
        nproc=250_000,
    )
    sound = HostFacts(
        system="Linux",
        kernel="6.12",
        architecture="x86_64",
        distribution="Debian GNU/Linux 13 (trixie)",
        family="debian",
        virtualization=None,
        container=False,
        cpu_model="X",
        cores=16,
        cores_usable=16,
        governor="performance",
        turbo=True,
        memory_kb=32 << 20,
        swap_kb=0,
        huge_pages="madvise",
        libc="glibc 2.41",
        python="3.13.1",
        limits=plenty,
        jdk=used,
        jdks=[used],
        tools=Tools(wrk="4.1.0", cargo="1.95.0", rustc="1.95.0", maven="3.9.9", docker="28.2", engine="28.2"),
    )
    return sound.model_copy(update=changes)


def with_limits(**changes: object) -> HostFacts:
    return host(limits=host().limits.model_copy(update=changes))


def check(found: HostFacts, name: str) -> doctor.Check:
    return next(row for row in doctor.checks(found) if row.name == name)


class TestDoctor:
    def test_a_sound_machine(self) -> None:
        found = doctor.checks(host())
        assert doctor.worst_state(found) == "ok"
        assert all(row.fix is None for row in found)

    def test_descriptors(self) -> None:
        row = check(with_limits(nofile_hard=20_000, nofile_soft=1_024), "file descriptors")
        assert (row.state, row.meaning) == ("warn", "25k runs as 19.5k")
        assert row.fix is not None
        assert "prlimit" in row.fix
        few = check(with_limits(nofile_hard=1_024), "file descriptors")
        assert (few.state, few.meaning) == ("bad", "1k runs as 500, 25k runs as 500")

    def test_ports_and_backlog_and_threads(self) -> None:
        ports = check(with_limits(port_low=50_000, port_high=60_999), "local ports")
        assert (ports.state, ports.meaning) == ("warn", "25k runs as 10k")
        assert check(with_limits(port_low=1_024, port_high=60_999), "local ports").state == "warn"
        assert check(with_limits(somaxconn=128), "listen backlog").state == "warn"
        row = check(with_limits(nproc=1_000), "threads")
        assert (row.state, row.found) == ("warn", "1,000 by ulimit -u")

    def test_machine_too_small(self) -> None:
        assert check(host(cores=2, cores_usable=1), "cores").state == "bad"
        assert check(host(memory_kb=4 << 20), "memory").state == "warn"
        assert check(host(memory_kb=1 << 20), "memory").state == "bad"
        assert check(host(governor="powersave"), "clock").fix is not None

    @pytest.mark.parametrize(("quota", "state"), [(0.6, "bad"), (8.0, "warn")])
    def test_a_cpu_quota_is_named_and_what_raises_it(self, quota: float, state: str) -> None:
        limited = host(cores_usable=quota, limits=Limits(cgroup=CgroupLimits(cpus=quota)))
        row = check(limited, "cores")
        assert (row.state, row.found) == (state, f"{quota:g} of 16, by a control group's quota")
        assert row.fix == "raise CPUQuota= of the systemd unit, or --cpus of the container"
        above = host(limits=Limits(cgroup=CgroupLimits(cpus=32.0)))
        assert check(above, "cores").state == "ok"

    def test_the_machine_in_words_names_what_limits_its_cores(self) -> None:
        quota = Limits(cgroup=CgroupLimits(cpus=0.6))
        assert host().processors == "16 cores"
        assert host(cores_usable=0.6, limits=quota).processors == "16 cores, limited to 0.6 by a control group"
        assert host(cores_usable=6).processors == "16 cores, limited to 6 by its CPU affinity"
        assert (
            host(cores_usable=0.6, limits=quota)
            .processors_shared_by("A and B")
            .endswith("by a control group, shared by A and B")
        )
        assert host().processors_shared_by("A and B") == "16 cores shared by A and B"

    def test_an_old_jdk(self) -> None:
        old = JdkFacts(name="j", version="17.0.1", major=17, vendor="X")
        row = check(host(jdk=None, jdks=[old]), "JDK")
        assert (row.state, row.found) == ("bad", "17.0.1")
        assert row.fix == "sudo apt-get install -y openjdk-21-jdk-headless"
        bookworm = check(host(jdk=None, jdks=[old], distribution="Debian GNU/Linux 12 (bookworm)"), "JDK")
        assert bookworm.fix == doctor.BY_HAND["jdk"]

    @pytest.mark.parametrize("family", [*doctor.PACKAGES, None])
    def test_missing_tools_have_a_remedy_everywhere(self, family: str | None) -> None:
        bare = host(tools=Tools(), jdk=None, jdks=[], family=family)
        missing = [row for row in doctor.checks(bare) if row.state == "bad"]
        assert {row.name for row in missing} == {"JDK", "cargo", "Maven", "wrk"}
        assert all(row.fix for row in missing)
        engine = doctor.container_engine(bare, EngineError("there is no `docker` command", lacks="docker"))
        assert (engine.state, engine.found) == ("warn", "none")
        assert engine.fix

    @pytest.mark.parametrize(
        ("found", "state"), [("1.85.0", "bad"), ("1.88.0", "ok"), ("1.100.0", "ok"), (None, "bad")]
    )
    def test_a_compiler_that_is_too_old_for_the_rust_server_is_no_compiler(self, found: str | None, state: str) -> None:
        made = host(tools=host().tools.model_copy(update={"rustc": found}))
        row = next(row for row in doctor.checks(made, rust="1.88") if row.name == "cargo")
        assert row.state == state
        assert state == "ok" or row.fix == doctor.BY_HAND["cargo"]
        assert state == "ok" or "1.88" in row.meaning

    def test_the_compiler_that_the_servers_name_is_asked_for(self) -> None:
        assert re.fullmatch(r"1\.[0-9]+", facts.minimum_rust(ROOT) or "")

    def test_generators_of_other_scenarios_are_named(self) -> None:
        assert doctor.load_generators({"vegeta": True, "ab": True}).state == "ok"
        row = doctor.load_generators({"vegeta": False, "ab": True})
        assert (row.state, row.found) == ("warn", "ab; no vegeta")
        assert "make answer" in row.meaning
        assert row.fix == "make tools (vegeta needs Go)"

    def test_an_unknown_system(self) -> None:
        unknown = host(limits=Limits(), cores=None, cores_usable=None, memory_kb=None, family=None)
        assert doctor.worst_state(doctor.checks(unknown)) != "bad"

    def test_a_virtual_host_is_asked_for_where_limits_forbid_a_tier(self) -> None:
        forbidden = with_limits(nofile_hard=20_000)
        without = doctor.virtual_host(forbidden, "there is no qemu-system-x86_64 on this machine", None, device=False)
        assert (without.state, without.fix) == ("warn", doctor.install_command("qemu", "debian"))
        assert (
            doctor.virtual_host(host(), "there is no qemu-system-x86_64 on this machine", None, device=False).state
            == "ok"
        )
        emulated = doctor.virtual_host(forbidden, None, "10.0", device=False)
        assert (emulated.state, emulated.found) == ("ok", "QEMU 10.0, no KVM")
        assert "25k connections; emulated" in emulated.meaning
        assert "if KVM starts no guest, emulated" in doctor.virtual_host(forbidden, None, "10.0", device=True).meaning

    def test_fits_80_columns_without_a_terminal(self) -> None:
        out = io.StringIO()
        poor = with_limits(nofile_hard=20_000, somaxconn=128, nproc=1_000)
        doctor.print_checks(doctor.checks(poor), Console(file=out, width=80))
        text = out.getvalue()
        assert "\x1b" not in text
        table = text.partition("To fix")[0]
        assert max(map(len, table.splitlines())) <= 80
        assert "    sudo prlimit --pid $$ --nofile=65536:65536\n" in text
        assert "/etc/security/limits.d/zoo.conf\n" in text
