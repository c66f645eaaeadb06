"""PostgreSQL and MariaDB as processes of the harness: finding, initializing, starting and stopping them."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zoo.core.errors import RuntimeFailure
from zoo.core.interrupts import defer_signals
from zoo.host import run_lock
from zoo.host.environment import base_environment
from zoo.host.files import read_tail
from zoo.host.network import any_free_port
from zoo.runtime.process import kill_group, spawn

READY_S = 90.0
STOP_S = 20.0
TAIL_LINES = 15
SUBSTITUTES = ("postgres", "mysql", "nobody")
"""Accounts that root starts a database as, because both databases refuse to run as root."""

PROGRAM_FOLDERS = ("bin", "sbin", "scripts", "libexec")
"""Folders of programs below a home folder; packages differ in this."""


@dataclass(frozen=True)
class RunningDatabase:
    """A running database: the variables that java-jdbc finds it by, and a function that returns why it ended.

    The function returns None while the database runs, and always if it is not a process of this host.
    """

    env: Mapping[str, str]
    exit_reason: Callable[[], str | None] = lambda: None


class Service:
    """A process that other processes use, and its log. Raises `RuntimeFailure` if it cannot be started."""

    def __init__(self, name: str, command: Sequence[str], log: Path, stop_signal: signal.Signals) -> None:
        self.name, self.log, self._stop_signal = name, log, stop_signal
        with log.open("ab") as out:
            self._process = spawn(command, log.parent, base_environment(str(log.parent)), out, stdin=subprocess.PIPE)

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_reason(self) -> str | None:
        """Return how the process ended; None while it runs."""
        code = self._process.poll()
        return None if code is None else f"{self.name} ended with exit code {code}\n{self._tail()}"

    def check_alive(self) -> None:
        """Raise `RuntimeFailure` if the process has ended."""
        if reason := self.exit_reason():
            message, _, tail = reason.partition("\n")
            raise RuntimeFailure("crashed", message, tail)

    def complete(self, text: str = "") -> None:
        """Send a text to a command and wait until it ends; raise `RuntimeFailure` if it fails."""
        try:
            self._process.communicate(text.encode(), READY_S)
        except BaseException as error:
            kill_group(self._process)
            if isinstance(error, subprocess.TimeoutExpired):
                message = f"{self.name} did not finish within {READY_S:.0f} s"
                raise RuntimeFailure("not_started", message, self._tail()) from None
            raise
        if self._process.returncode:
            self.check_alive()

    def await_ready(self, is_ready: Callable[[], bool], within_s: float = READY_S) -> None:
        """Wait until the process is ready; raise `RuntimeFailure` if it ends before that or takes too long."""
        until = time.monotonic() + within_s
        while not is_ready():
            self.check_alive()
            if time.monotonic() > until:
                raise RuntimeFailure("not_started", f"{self.name} was not ready within {within_s:.0f} s", self._tail())
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the process and everything it started. An interrupt is deferred until that is done."""
        with defer_signals():
            if self._process.poll() is None:
                self._process.send_signal(self._stop_signal)
                try:
                    self._process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    kill_group(self._process)
            if self._process.stdin:
                self._process.stdin.close()

    def _tail(self) -> str:
        return read_tail(self.log, TAIL_LINES)


@contextmanager
def run_service(name: str, command: Sequence[str], log: Path, stop_signal: signal.Signals) -> Iterator[Service]:
    """Yield a started service, and stop it when the context ends."""
    with defer_signals():
        service = Service(name, command, log, stop_signal)
    try:
        yield service
    finally:
        service.stop()


class Account:
    """The account that a database runs as: our own, or another if we are root."""

    def __init__(self, other: pwd.struct_passwd | None) -> None:
        self._other = other

    @classmethod
    def find(cls) -> Account:
        """Return the account; raise `RuntimeFailure` if root has no other account to choose."""
        if os.geteuid():
            return cls(None)
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        found = next((known[name] for name in SUBSTITUTES if name in known), None)
        if found is None:
            names = ", ".join(SUBSTITUTES)
            raise RuntimeFailure(
                "not_started",
                f"a database cannot run as root, and none of the accounts {names} exists: create "
                "one, or set JDBC_URL to a server",
            )
        return cls(found)

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the words that run this command as the account."""
        if self._other is None:
            return list(words)
        ids = [f"--reuid={self._other.pw_uid}", f"--regid={self._other.pw_gid}"]
        return ["setpriv", *ids, "--clear-groups", "--no-new-privs", *words]

    def take_ownership(self, *paths: Path) -> None:
        """Make the account the owner of these files."""
        for path in paths:
            if self._other is not None:
                os.chown(path, self._other.pw_uid, self._other.pw_gid, follow_symlinks=False)

    def can_enter(self, folder: Path) -> bool:
        """Check whether the account can enter a folder: other accounts cannot enter a checkout in root's home."""
        parents = [folder.absolute(), *folder.absolute().parents]
        return self._other is None or all(path.stat().st_mode & stat.S_IXOTH for path in parents)


@dataclass(frozen=True)
class Database:
    """One kind of database."""

    label: str
    server: str
    package: str
    port: int
    stop_signal: signal.Signals
    options: str = ""
    """The end of its JDBC URL."""

    def url(self, host: str, port: int) -> str:
        return f"jdbc:{self.label}://{host}:{port}/zoo{self.options}"

    def homes(self) -> list[Path]:
        """Return the folders in which this system may have its programs, the newest version first."""
        versions = sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True) if self is POSTGRESQL else []
        return [*versions, Path("/usr"), Path("/usr/local")]


POSTGRESQL = Database("postgresql", "postgres", "postgresql", 5432, signal.SIGINT)
"""PostgreSQL; SIGINT is its fast shutdown, whereas on SIGTERM it would wait for its clients."""
MARIADB = Database("mariadb", "mariadbd", "mariadb-server", 3306, signal.SIGTERM, "?sslMode=disable")
DATABASES = {one.label: one for one in (POSTGRESQL, MARIADB)}


@contextmanager
def database(
    kind: Database, max_connections: int, jars: Path, password: str | None = None
) -> Iterator[RunningDatabase]:
    """Yield a new server on loopback with an empty database `zoo`, and remove it when the context ends.

    `jars` is the folder in which java-jdbc's build puts the programs; without them, the system's programs are used.
    The password is random unless one is given. Raise `RuntimeFailure` if the server cannot be started.
    """
    account = Account.find()
    with run_lock.scratch_folder("jdbc") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the account must be able to enter the folders below
        home, origin = find_programs(kind, account, jars, folder)
        work = folder / "server"
        work.mkdir(0o700)
        log = work / "server.log"
        password = password or secrets.token_hex(16)

        def run(command: Sequence[str], text: str = "") -> None:
            account.take_ownership(work, *work.iterdir())
            with run_service(kind.label, account.command(command), log, signal.SIGTERM) as process:
                process.complete(text)

        port = any_free_port()
        if kind is POSTGRESQL:
            command = _make_postgresql(home, work, password, run)
            command += ["-p", str(port), "-c", f"max_connections={max_connections}"]
        else:
            command = _make_mariadb(home, work, password, run)
            command += [f"--port={port}", f"--max-connections={max_connections}"]
        with run_service(kind.label, account.command(command), log, kind.stop_signal) as service:
            service.await_ready(lambda: _accepts(kind, work, port))
            env = {
                "JDBC_URL": kind.url("127.0.0.1", port),
                "JDBC_USER": "zoo",
                "JDBC_PASSWORD": password,
                "JDBC_ORIGIN": origin,
                "JDBC_PID": str(service.pid),
            }
            yield RunningDatabase(env, service.exit_reason)


def _make_postgresql(home: Path, work: Path, password: str, run: Callable[[Sequence[str], str], None]) -> list[str]:
    """Create the database's files and return the command that starts its server."""
    data = str(work / "data")
    (work / "password").write_text(password, encoding="utf-8")
    run(
        [
            *(program(home, "initdb"), f"--pgdata={data}", "--username=administrator"),
            *(f"--pwfile={work / 'password'}", "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"),
        ],
        "",
    )
    # an ordinary user, because an administrator may open connections beyond the limit
    text = f"CREATE ROLE zoo LOGIN PASSWORD '{password}'\nCREATE DATABASE zoo OWNER zoo\n"
    server = program(home, POSTGRESQL.server)
    run([server, "--single", "-D", data, "-c", "fsync=off", "postgres"], text)
    settings = (
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        # the table is discarded afterwards, and the disk is not what we measure
        "fsync=off",
    )
    return [server, "-D", data, *(word for setting in settings for word in ("-c", setting))]


def _make_mariadb(home: Path, work: Path, password: str, run: Callable[[Sequence[str], str], None]) -> list[str]:
    """Create the database's files and return the command that starts its server."""
    (work / "init.sql").write_text(
        "CREATE DATABASE zoo;\n"
        f"CREATE USER 'zoo'@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        "GRANT ALL ON zoo.* TO 'zoo'@'127.0.0.1';\n",
        encoding="utf-8",
    )
    plain = work / "home"
    plain.symlink_to(home.absolute())  # the script would split a path at a space
    run(
        [
            *(
                program(plain, "mariadb-install-db"),
                "--no-defaults",
                f"--basedir={plain}",
                f"--datadir={work / 'data'}",
            ),
            *("--auth-root-authentication-method=socket", "--auth-root-socket-user=root"),
            *("--skip-name-resolve", "--skip-test-db"),
        ],
        "",
    )
    return [
        *(program(home, MARIADB.server), "--no-defaults", f"--basedir={home}", f"--datadir={work / 'data'}"),
        *(f"--tmpdir={work}", f"--socket={work / 'socket'}", f"--pid-file={work / 'pid'}"),
        *(f"--init-file={work / 'init.sql'}", "--bind-address=127.0.0.1", "--skip-name-resolve"),
        # no client uses TLS here, and creating a certificate takes seconds of CPU time at the start
        "--skip-ssl",
        *("--character-set-server=utf8mb4", "--sort-buffer-size=1024K"),
        # for the same reason as fsync=off above
        "--innodb-flush-log-at-trx-commit=2",
    ]


def _accepts(kind: Database, work: Path, port: int) -> bool:
    """Check whether clients can log in: PostgreSQL then writes "ready" to a file, and MariaDB sends a greeting."""
    try:
        if kind is POSTGRESQL:
            return (work / "data" / "postmaster.pid").read_text(encoding="utf-8").rstrip().endswith("\nready")
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as client:
            return bool(client.recv(1))
    except OSError:
        return False


def find_programs(kind: Database, account: Account, jars: Path, spare: Path) -> tuple[Path, str]:
    """Return the programs' home and their origin; raise `RuntimeFailure` if none run here.

    `spare` is the folder to unpack them in if the account cannot enter the build's folder.
    """
    jar = max(jars.glob(f"{kind.label}-*.jar"), key=lambda path: path.stat().st_ctime, default=None)
    homes = [] if jar is None else [(_unpack(jar, jars if account.can_enter(jars) else spare), "embedded")]
    for home, origin in [*homes, *((home, "system") for home in kind.homes())]:
        if _runs(kind, home):
            return home, origin
    raise RuntimeFailure(
        "not_started",
        f"{kind.label}: the programs from the build do not run here, and the system has none; install "
        f"them (Debian, Ubuntu: apt-get install {kind.package}) or set JDBC_URL to a server",
    )


def program(home: Path, name: str) -> str:
    """Return a program's path; raise `RuntimeFailure` if the home folder has no program of that name."""
    found = shutil.which(name, path=os.pathsep.join(str(home / folder) for folder in PROGRAM_FOLDERS))
    if found is None:
        raise RuntimeFailure("not_started", f"{name} does not exist below {home}")
    return found


def _runs(kind: Database, home: Path) -> bool:
    try:
        command = [program(home, kind.server), "--version"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except (RuntimeFailure, OSError):
        return False


def _unpack(jar: Path, into: Path) -> Path:
    """Return the home of a jar's programs; unpack them first if necessary.

    PostgreSQL's jar holds one compressed archive. MariaDB's jar holds the files below a folder named after the system.
    """
    home = into / jar.stem
    if home.exists():
        return home
    part = home.with_name(f"{home.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with zipfile.ZipFile(jar) as archive:
        packed = next((name for name in archive.namelist() if name.endswith(".txz")), None)
        if packed:
            with archive.open(packed) as file, tarfile.open(fileobj=file, mode="r:xz") as tar:
                tar.extractall(part, filter="data")
        else:
            server = next(name for name in archive.namelist() if name.endswith(f"/bin/{MARIADB.server}"))
            root = server.removesuffix(f"bin/{MARIADB.server}")
            archive.extractall(part, [name for name in archive.namelist() if name.startswith(root)])
            for path in (*(part / root / "bin").iterdir(), *(part / root / "scripts").iterdir()):
                path.chmod(0o755)
            (part / root).rename(home)
    if packed:
        part.rename(home)
    shutil.rmtree(part, ignore_errors=True)
    for path in (home, *home.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
        elif not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o444)
    return home
