"""Tests that measured programs match the current sources: builds by a manifest, with small scripts and with Cargo."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import builders
import needs
import pytest

from zoo.cli.checkout import ROOT
from zoo.core.host_facts import Jdk
from zoo.core.manifest import Build, CatalogError, Language
from zoo.host.build import BuildError, Project, adopt, build, build_environment, is_built, project_of
from zoo.host.jdk import PREBUILT

JDK = Jdk(Path("/jdk"), Path("/jdk/bin/java"), "25.0.1", 25, "Someone")
MAKE = "import pathlib; p = pathlib.Path('target/it'); p.parent.mkdir(exist_ok=True); p.write_text('made')"


def project(folder: Path, *command: str, language: Language = Language.OTHER, makes: str = "target/it") -> Project:
    """Return a project whose sources are a folder and a file."""
    (folder / "src").mkdir(exist_ok=True)
    for source in ("src/main", "lock"):
        (folder / source).write_text("one", encoding="utf-8")
    table = Build(command=list(command), makes=[makes], sources=["src", "lock"])
    return Project("it", folder, table, language, JDK)


def scripted(tmp_path: Path, script: str, language: Language = Language.OTHER) -> Project:
    (tmp_path / "server.toml").touch()
    return project(tmp_path, sys.executable, "-c", script, language=language)


def test_a_build_is_done_until_a_source_changes(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE)
    source = tmp_path / "src" / "main"
    assert not is_built(it)
    build(it)
    assert is_built(it)
    os.utime(source)
    assert is_built(it), "the same contents need no build"
    source.write_text("two", encoding="utf-8")
    assert not is_built(it)
    build(it)
    assert is_built(it)


def test_what_was_built_elsewhere_counts_as_built_there_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PREBUILT, "image")
    it = scripted(tmp_path, MAKE)
    with pytest.raises(BuildError, match=r"it: there is no .*/target/it"):
        adopt(it)
    subprocess.run(it.build.command, cwd=tmp_path, check=True)
    adopt(it)
    assert is_built(it)
    with monkeypatch.context() as here:
        here.delenv(PREBUILT)
        assert not is_built(it), "another compiler"
    (tmp_path / "lock").write_text("two", encoding="utf-8")
    assert not is_built(it)


@pytest.mark.parametrize("change", ["src/new", "lock", "server.toml"])
def test_new_files_among_the_sources_and_the_manifest_count_too(tmp_path: Path, change: str) -> None:
    it = scripted(tmp_path, MAKE)
    build(it)
    (tmp_path / change).write_text("more", encoding="utf-8")
    assert not is_built(it)


@pytest.mark.parametrize("gone", ["src/main", "lock"])
def test_sources_without_a_file_are_an_error_that_names_them(tmp_path: Path, gone: str) -> None:
    it = scripted(tmp_path, MAKE)
    (tmp_path / gone).unlink()
    name = gone.removesuffix("/main")
    with pytest.raises(CatalogError, match=f'build.sources names "{name}", but no file matches: correct the name'):
        build(it)


def test_what_was_made_and_is_gone_is_built_again(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE)
    build(it)
    (tmp_path / "target" / "it").unlink()
    assert not is_built(it)


def test_a_product_may_be_the_whole_target_folder(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE)
    whole = Project(
        it.name, it.folder, it.build.model_copy(update={"makes": ["target/it", "target"]}), it.language, JDK
    )
    build(whole)
    assert is_built(whole)


def test_a_product_that_something_else_replaced_is_built_again(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE)
    build(it)
    (tmp_path / "target" / "it").write_text("of other sources", encoding="utf-8")
    assert not is_built(it)


def test_a_library_that_is_gone_is_built_again(tmp_path: Path) -> None:
    library = "lib = p.with_name('lib'); lib.mkdir(exist_ok=True); (lib / 'a.jar').write_text('made')"
    it = project(tmp_path, sys.executable, "-c", f"{MAKE}; {library}".replace("/it", "/it.jar"), makes="target/it.jar")
    build(it)
    (tmp_path / "target" / "lib" / "a.jar").unlink()
    assert not is_built(it)
    build(it)
    assert is_built(it)


def test_a_product_from_before_the_build_is_refused_and_stays(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE.replace("target/it", "elsewhere/it"))
    old = tmp_path / "target" / "it"
    old.parent.mkdir()
    old.write_text("old", encoding="utf-8")
    with pytest.raises(BuildError, match="did not create target/it"):
        build(it)
    assert not is_built(it)
    assert old.read_text(encoding="utf-8") == "old"
    assert [path.name for path in old.parent.iterdir()] == ["it"]


def test_a_build_that_fails_leaves_nothing_that_counts_as_built(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE + "; raise SystemExit(pathlib.Path('fail').exists())")
    build(it)
    (tmp_path / "fail").touch()
    with pytest.raises(BuildError):
        build(it)
    assert not is_built(it), "what the failed build made may be of its sources"


def test_sources_that_change_during_a_build_are_not_stamped(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE + "; pathlib.Path('src/main').write_text('later')")
    with pytest.raises(BuildError, match="it: its sources or build settings changed during the build"):
        build(it)
    assert not is_built(it)


def test_a_source_restored_from_an_older_copy_is_newer_than_the_product(tmp_path: Path) -> None:
    script = "import os; assert os.stat('src/main').st_mtime > 1e9, 'old'; "
    it = scripted(tmp_path, script + MAKE)
    os.utime(tmp_path / "src" / "main", (1, 1))
    build(it)


def test_a_resource_that_was_removed_is_not_left_among_the_classes(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE, Language.JAVA)
    left = tmp_path / "target" / "classes" / "application.properties"
    left.parent.mkdir(parents=True)
    left.touch()
    build(it)
    assert not left.exists()


@pytest.mark.parametrize(
    "name",
    ["RUSTFLAGS", "CARGO_PROFILE_RELEASE_LTO", "CFLAGS", "MAVEN_ARGS", "JEMALLOC_SYS_WITH_MALLOC_CONF", "GOARCH"],
)
def test_other_build_settings_make_another_product(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    it = scripted(tmp_path, MAKE)
    build(it)
    monkeypatch.setenv(name, "other")
    assert not is_built(it)


@pytest.mark.parametrize("file", [".cargo/config.toml", ".m2/settings.xml"])
def test_build_settings_in_the_home_count_too(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CARGO_HOME", raising=False)
    it = scripted(tmp_path, MAKE)
    build(it)
    path = tmp_path / "home" / file
    path.parent.mkdir(parents=True)
    path.write_text("[build]\n", encoding="utf-8")
    assert not is_built(it)


def test_another_compiler_makes_another_product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUSTC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    rustc = tmp_path / "rustc"
    it = scripted(tmp_path, MAKE, Language.RUST)
    for version in ("1.88", "1.95"):
        rustc.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        rustc.chmod(rustc.stat().st_mode | stat.S_IXUSR)
        assert not is_built(it)
        build(it)
        assert is_built(it)


def test_another_jdk_makes_another_product(tmp_path: Path) -> None:
    it = scripted(tmp_path, MAKE, Language.JAVA)
    build(it)
    other = Jdk(JDK.home, JDK.java, "21.0.4", 21, JDK.vendor)
    assert not is_built(Project(it.name, it.folder, it.build, it.language, other))


def test_a_build_that_fails_ends_with_the_last_lines_of_the_tool(tmp_path: Path) -> None:
    it = scripted(tmp_path, "print('a\\n' * 100 + 'the reason'); raise SystemExit(7)")
    with pytest.raises(BuildError) as caught:
        build(it)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith("it: ")
    assert "exit code 7" in str(caught.value)
    assert rest[-1] == "the reason"
    assert len(rest) < 40
    assert not is_built(it)


def test_a_missing_build_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.defpath)  # a folder on the PATH that this user may not read gives another error
    with pytest.raises(BuildError, match="it: cannot run no-such-tool: No such file or directory"):
        build(project(tmp_path, "no-such-tool"))


def test_a_java_build_gets_the_chosen_jdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/old")
    monkeypatch.setenv("PATH", "/bin")
    java, native = (project_of(builders.entry(name).server, JDK) for name in ("java-a:virtual", "rust-n:bare"))
    assert java is not None
    assert native is not None
    chosen = build_environment(java)
    assert (chosen["JAVA_HOME"], chosen["PATH"]) == ("/jdk", "/jdk/bin:/bin")
    assert build_environment(native)["JAVA_HOME"] == "/old"


# --- Cargo


@pytest.fixture
def crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a program that prints a word, with only its own settings, in a folder with a space in its name."""
    for name in [name for name in os.environ if name.startswith("CARGO_BUILD_") or name == "CARGO_TARGET_DIR"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cargo home").mkdir()
    folder = tmp_path / "the zoo" / "word"
    (folder / "src").mkdir(parents=True)
    manifest = '[package]\nname = "word"\nversion = "0.1.0"\nedition = "2021"\n'
    (folder / "server.toml").touch()
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    say(folder, "one")
    command = ("cargo", "build", "--release", "--quiet", "--offline")
    return project(folder, *command, language=Language.RUST, makes="target/release/word")


def say(folder: Path, word: str) -> None:
    (folder / "src" / "main.rs").write_text(f'fn main() {{ println!("{word}"); }}\n', encoding="utf-8")


def said(crate: Project) -> str:
    return subprocess.run(crate.products, capture_output=True, text=True, check=True).stdout.strip()


def built(crate: Project) -> str:
    """Build the crate and return the program's output."""
    build(crate)
    assert is_built(crate)
    return said(crate)


@needs.CARGO
@pytest.mark.parametrize(
    "settings", [{}, {"CARGO_TARGET_DIR": "{}"}, {"CARGO_BUILD_TARGET_DIR": "{}"}, {"CARGO_BUILD_TARGET": "HOST"}]
)
def test_a_target_folder_in_the_environment_changes_nothing(
    settings: dict[str, str], crate: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(crate) == "one"
    for name, value in settings.items():
        monkeypatch.setenv(name, host() if value == "HOST" else str(tmp_path / "elsewhere"))
    say(crate.folder, "two")
    assert built(crate) == "two"
    assert not (tmp_path / "elsewhere").exists()


@needs.CARGO
@pytest.mark.parametrize("setting", ['target-dir = "ELSEWHERE"', 'target = "HOST"'])
def test_a_target_in_cargo_s_configuration_changes_nothing(setting: str, crate: Project, tmp_path: Path) -> None:
    assert built(crate) == "one"
    setting = setting.replace("ELSEWHERE", str(tmp_path / "elsewhere")).replace("HOST", host())
    (tmp_path / "cargo home" / "config.toml").write_text(f"[build]\n{setting}\n", encoding="utf-8")
    say(crate.folder, "two")
    assert built(crate) == "two"
    assert not (tmp_path / "elsewhere").exists()


@needs.CARGO
def test_a_build_by_hand_of_other_sources_is_noticed(crate: Project) -> None:
    assert built(crate) == "one"
    main = crate.folder / "src" / "main.rs"
    kept = shutil.copy2(main, crate.folder / "kept.rs")
    say(crate.folder, "two")
    subprocess.run(crate.build.command, cwd=crate.folder, env=build_environment(crate), check=True)
    shutil.copy2(kept, main)
    assert said(crate) == "two"
    assert not is_built(crate)
    assert built(crate) == "one"


@needs.CARGO
def test_a_product_that_cargo_finds_up_to_date_is_taken(crate: Project) -> None:
    assert built(crate) == "one"
    (crate.folder / "lock").write_text("no source of Cargo's", encoding="utf-8")
    assert not is_built(crate)
    assert built(crate) == "one"


@needs.CARGO
def test_what_the_compiler_says_is_in_the_error(crate: Project) -> None:
    (crate.folder / "src" / "main.rs").write_text("fn main() { nothing_known() }", encoding="utf-8")
    with pytest.raises(BuildError, match="cannot find function `nothing_known`") as caught:
        build(crate)
    assert "reason" not in str(caught.value)


def host() -> str:
    """Return the target that this machine's compiler builds for."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: "))


# --- a path with a space


def target_of(path: Path, **env: str) -> Path:
    """Return the target folder that Cargo gets for this path."""
    command = ["sh", str(ROOT / "harness" / "cargo-target.sh"), str(path)]
    return Path(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip())


@pytest.mark.parametrize("home", [{}, {"HOME": "/no/such home"}, {"HOME": "{}"}, {"XDG_CACHE_HOME": "{}/a cache"}])
def test_a_target_folder_in_a_path_with_a_space_has_a_link_without_one(home: dict[str, str], tmp_path: Path) -> None:
    target = tmp_path / "the zoo" / "target"
    env = {"PATH": os.environ["PATH"], **{name: value.format(tmp_path) for name, value in home.items()}}
    found = target_of(target, **env)
    try:
        assert " " not in str(found)
        assert found.resolve() == target
        assert target_of(target, **env) == found, "Cargo would build all libraries again"
    finally:
        found.unlink()


def test_other_target_folders_need_no_link(tmp_path: Path) -> None:
    assert target_of(tmp_path / "target", PATH=os.environ["PATH"]) == tmp_path / "target"
