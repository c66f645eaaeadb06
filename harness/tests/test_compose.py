"""Tests of the compose file and Dockerfiles against the catalog: every entry is there, isolated and protected."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from zoo.core.manifest import Entry, Language, Server
from zoo.core.manifest_files import load_catalog
from zoo.host.network import NAMESPACE_SETTINGS
from zoo.runtime import conditions
from zoo.runtime.process import command

pytestmark = pytest.mark.compose

ROOT = Path(__file__).parents[2]
CATALOG = load_catalog(ROOT)
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]

ZOO_IMAGE = (ROOT / "containers/zoo/Dockerfile").read_text(encoding="utf-8")

DATABASES = ("postgres", "mariadb", "toxiproxy")
"""Services that java-jdbc measures with. They start only when named."""

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
each_entry = pytest.mark.parametrize("entry", CATALOG.entries, ids=lambda entry: entry.id)
each_server = pytest.mark.parametrize("server", CATALOG.servers, ids=lambda server: server.name)


def name_of(entry: Entry) -> str:
    return entry.id.replace(":", "-")


def dockerfile(server: Server) -> str:
    return (server.folder / "Dockerfile").read_text(encoding="utf-8")


def instructions(text: str, word: str) -> list[str]:
    """Return the arguments of each instruction with this name, with continued lines joined."""
    joined = text.replace("\\\n", " ")
    return re.findall(rf"^{word} +(.*)$", joined, flags=re.MULTILINE)


@pytest.mark.parametrize("path", sorted(ROOT.glob("[!.]*/Dockerfile")), ids=lambda path: path.parent.name)
def test_a_container_s_user_can_read_what_comes_from_a_clone_of_umask_077(path: Path) -> None:
    copied = instructions(path.read_text(encoding="utf-8"), "COPY")
    assert copied
    assert [words for words in copied if not words.startswith(("--from=", "--chmod=755 "))] == []


def test_every_entry_is_a_service_and_nothing_else_but_the_generator_and_the_databases() -> None:
    expected = {name_of(entry) for entry in CATALOG.entries}
    assert set(SERVICES) == expected | {"generator", "zoo", *DATABASES}


@each_entry
def test_a_service_runs_its_variant_in_its_server_s_image(entry: Entry) -> None:
    service = SERVICES[name_of(entry)]
    passed_on = dict.fromkeys(conditions.PASSED_ON)
    assert service["environment"] == {"VARIANT": entry.variant.name, **entry.variant.env, **passed_on}
    assert service["image"] == f"${{ZOO_IMAGES:-server-zoo}}/{entry.server.name}:${{ZOO_TAG:-latest}}"
    assert service["build"]["context"] == entry.server.name
    assert "command" not in service
    assert "entrypoint" not in service


@each_entry
def test_a_service_is_published_on_loopback_at_a_port_of_its_own(entry: Entry) -> None:
    # A port is 81, the last digit of the server's port and the variant's position. With one scheme, no two ports
    # collide.
    manifest = entry.server.manifest
    place = manifest.variants.index(entry.variant) + 1
    host_port = f"81{manifest.port % 10}{place}"
    assert SERVICES[name_of(entry)]["ports"] == [f"127.0.0.1:{host_port}:{manifest.port}"]


def test_no_host_port_is_shared_with_a_service_or_a_server() -> None:
    published = [port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])]
    everywhere = [*published, *(str(server.manifest.port) for server in CATALOG.servers)]
    assert len(everywhere) == len(set(everywhere))


@each_service
def test_a_service_has_the_security_settings(service: dict[str, Any]) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["deploy"]["resources"]["limits"]["pids"]
    assert service["pull_policy"] == "never"
    if service is SERVICES["zoo"]:
        # it has no network, and writes only to the caller's results, as the caller
        assert service["network_mode"] == "none"
        assert service["user"] == "${ZOO_UID:-1000}:${ZOO_UID:-1000}"
        assert service["volumes"] == ["${ZOO_RESULTS:-./results}:/opt/zoo/results"]
    else:
        assert [(v["type"], v["target"]) for v in service["volumes"]] == [("tmpfs", "/tmp")]
        assert not {"network_mode", "user"} & set(service)
    assert not {"privileged", "cap_add", "pid", "ipc", "devices"} & set(service)


@each_entry
def test_limits_are_settable_and_a_killed_server_comes_back(entry: Entry) -> None:
    service = SERVICES[name_of(entry)]
    limits = service["deploy"]["resources"]["limits"]
    assert limits == {
        "cpus": "${SERVER_CPUS:-0}",
        "memory": "${SERVER_MEMORY:-0}",
        "pids": "${SERVER_PIDS:-4096}",
    }
    assert service["restart"] == "unless-stopped"
    assert service["stop_grace_period"] == "15s"


@each_server
def test_an_image_runs_the_manifest_s_command(server: Server) -> None:
    text = dockerfile(server)
    entry = next(entry for entry in CATALOG.entries if entry.server is server)
    assert [json.loads(words) for words in instructions(text, "CMD")] == [command(entry, Path("java"))]
    assert instructions(text, "ENTRYPOINT") == []
    assert instructions(text, "WORKDIR")[-1] == f"/opt/zoo/{server.name}"
    assert server.manifest.build is not None
    assert " ".join(server.manifest.build.command) in text


@each_server
def test_an_image_is_like_the_others(server: Server) -> None:
    text, port = dockerfile(server), server.manifest.port
    assert instructions(text, "USER") == ["10001:10001"]
    assert instructions(text, "EXPOSE") == [str(port)]
    assert instructions(text, "FROM")[-1] == "${BASE}"
    [check] = instructions(text, "HEALTHCHECK")
    assert f"/dev/tcp/127.0.0.1/${{PORT:-{port}}} " in check


def test_all_images_have_the_same_base_and_user() -> None:
    texts = [*(dockerfile(server) for server in CATALOG.servers), (ROOT / "harness/Dockerfile").read_text("utf-8")]
    bases = {stage for text in texts for stage in instructions(text, "FROM") if not re.match(r"jdk\b", stage)}
    assert {base.split(" AS ")[0] for base in bases} == {"${BASE}"}
    assert {next(iter(instructions(text, "ARG"))) for text in texts} == {"BASE=debian:trixie-slim"}
    assert {tuple(instructions(text, "USER")) for text in texts} == {("10001:10001",)}


def test_java_servers_share_one_runtime() -> None:
    # If the text differed, each image would have its own runtime and its own layer.
    texts = [dockerfile(s) for s in CATALOG.servers if s.manifest.language is Language.JAVA]
    ends = [("FROM jdk AS build", text) for text in texts] + [("FROM ${BASE} AS java21", ZOO_IMAGE)]
    assert len({text[text.index("FROM ${BASE} AS jdk") : text.index(end)] for end, text in ends}) == 1
    modules = re.findall(r"--add-modules (\S+)", ZOO_IMAGE)
    assert modules[: len(modules) // 2] == modules[len(modules) // 2 :], "Java 21 has the same modules as Java 25"


@each_server
def test_the_image_of_all_servers_builds_each_with_its_command(server: Server) -> None:
    assert server.manifest.build is not None
    _, _, stage = ZOO_IMAGE.partition(f" AS {server.name}\n")
    assert " ".join(server.manifest.build.command) in stage[: stage.index("\nFROM ")]
    for product in server.manifest.build.makes:
        assert f"COPY --from={server.name} /src/{product} {server.name}/{product}\n" in ZOO_IMAGE


def test_the_image_of_all_servers_has_the_settings_of_a_private_network() -> None:
    assert {name.replace(".", "/"): value for name, value in SERVICES["zoo"]["sysctls"].items()} == NAMESPACE_SETTINGS


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_is_a_target_of_one_file_and_started_only_when_named(name: str) -> None:
    service, text = SERVICES[name], (ROOT / "java-jdbc/Dockerfile").read_text(encoding="utf-8")
    assert service["profiles"] == ["jdbc"]
    assert (service["build"]["context"], service["build"]["target"]) == ("java-jdbc", name)
    assert service["image"] == f"${{ZOO_IMAGES:-server-zoo}}/{name}:${{ZOO_TAG:-latest}}"
    assert f"${{BASE}} AS {name}" in instructions(text, "FROM")
    assert instructions(text, "USER") == ["10001:10001"] * len(DATABASES)


def test_the_slow_wire_is_the_same_in_a_container() -> None:
    script = (ROOT / "harness/install-toxiproxy.sh").read_text(encoding="utf-8")
    [version] = re.findall(r"^version=(\S+)$", script, flags=re.MULTILINE)
    assert f"TOXIPROXY={version}" in instructions((ROOT / "java-jdbc/Dockerfile").read_text(encoding="utf-8"), "ARG")


def knows(*words: str) -> bool:
    """Return whether docker knows a command. For an unknown command it prints the help of the parent command."""
    if shutil.which("docker") is None:
        return False
    done = subprocess.run(["docker", *words, "--help"], capture_output=True, text=True, check=False)
    return f"docker {' '.join(words)} " in done.stdout


def resolved(*words: str) -> dict[str, Any]:
    done = subprocess.run(["docker", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = yaml.safe_load(done.stdout)
    return answer


@pytest.mark.skipif(not knows("compose", "config"), reason="needs docker with compose")
def test_the_file_is_valid_for_compose() -> None:
    services = resolved("compose", "--profile", "generator", "--profile", "jdbc", "--profile", "zoo", "config")[
        "services"
    ]
    assert set(services) == set(SERVICES)
    assert {port["host_ip"] for s in services.values() for port in s.get("ports", [])} == {"127.0.0.1"}
