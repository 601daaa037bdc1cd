"""Build the project's images without a container engine's service, and try what they promise.

``nox -s image``, or ``python -m tests.image.build [BASE.TAR]`` with a base made before. Needs Debian and root;
installs buildah, podman, runc and mmdebstrap where they are missing. All else happens in a folder of its own,
which is removed again. Nothing is pulled: the base image is made here, from the machine's own Debian sources and
certificates.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.builders import wheel

ROOT = Path(__file__).parents[2]
PROGRAMS = ("buildah", "podman", "runc", "mmdebstrap")
BASE = "localhost/python-base:ci"
LOCKED = ("idna", "packaging", "tqdm")
"""Small distributions from the default index; one brings a script."""
CHANGED = "/opt/envguard/env/lib/python3*/site-packages/tqdm/std.py"
VERIFY = ("envguard", "verify", "--python", "/opt/envguard/env", "/opt/envguard/lock.toml")

_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""
# runc, named: crun fails where control groups of both versions are mounted
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_BASE = """\
FROM scratch
ADD base.tar /
COPY certificates /usr/local/share/ca-certificates
RUN update-ca-certificates \\
    && ln -s python3 /usr/bin/python \\
    && printf '[global]\\ncert = /etc/ssl/certs/ca-certificates.crt\\n' > /etc/pip.conf
"""
_DERIVED = f"""\
FROM localhost/project:ci
USER root
RUN sed -i '$a # changed' {CHANGED}
USER 1000
"""


class FailedError(Exception):
    """A command ended otherwise than it should."""


@dataclass(frozen=True)
class Engine:
    """buildah and podman with images of their own below ``folder``."""

    folder: Path

    def configure(self) -> None:
        (self.folder / "storage.conf").write_text(_STORAGE.format(folder=self.folder))
        (self.folder / "containers.conf").write_text(_CONTAINERS)

    def call(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        environ = os.environ | {
            "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
            "CONTAINERS_CONF": str(self.folder / "containers.conf"),
        }
        return subprocess.run(
            [str(part) for part in command], env=environ, capture_output=True, text=True, check=False
        )

    def build(self, name: str, context: Path, *options: str) -> subprocess.CompletedProcess[str]:
        tell(f"build {name}")
        how = ("--isolation", "chroot", "--network", "host", "--pull-never", "--layers", "--format", "docker")
        return self.call("buildah", "bud", *how, *options, "-t", f"localhost/{name}:ci", context)

    def run(self, name: str, *command: str, options: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        base = ("podman", "run", "--rm", "--pull", "never", "--network", "none", "--no-healthcheck")
        return self.call(*base, *options, f"localhost/{name}:ci", *command)

    def health(self, name: str) -> int:
        """What the image's own health check answers in a running container."""
        started = self.call(
            *("podman", "run", "--detach", "--pull", "never", "--network", "none", f"localhost/{name}:ci"),
            *("sleep", "600"),
        )
        container = started.stdout.strip()
        try:
            return self.call("podman", "healthcheck", "run", container).returncode
        finally:
            self.call("podman", "rm", "--force", "--time", "0", container)

    def clear(self) -> None:
        for command in (("podman", "rm", "--all", "--force", "--time", "0"), ("buildah", "rm", "--all")):
            self.call(*command)
        self.call("buildah", "rmi", "--all", "--force")


def main() -> int:
    reason = unfit()
    if reason is not None:
        tell(f"skipped: {reason}")
        return 0
    install_programs()
    folder = Path(tempfile.mkdtemp(prefix="envguard-image-", dir="/var/tmp"))
    engine = Engine(folder)
    try:
        engine.configure()
        make_base(engine)
        locks = make_locks(folder)
        try_project(engine, locks)
        try_exported(engine, locks)
    except FailedError as problem:
        tell(f"FAILED: {problem}")
        return 1
    finally:
        engine.clear()
        shutil.rmtree(folder, ignore_errors=True)
    tell("all well")
    return 0


def tell(line: str) -> None:
    sys.stderr.write(f"image: {line}\n")
    sys.stderr.flush()


def unfit() -> str | None:
    """Why images can't be built here, in words."""
    if platform.system() != "Linux" or not Path("/etc/debian_version").exists():
        return "the base image is made from the machine's own Debian, and this is none"
    return "needs root" if os.geteuid() != 0 else None


def install_programs() -> None:
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        tell(f"install {', '.join(missing)}")
        environ = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        install = ("install", "--yes", "--no-install-recommends", *missing)
        for arguments in (("update",), install):
            command = ["apt-get", "--quiet", *arguments]
            good(subprocess.run(command, env=environ, capture_output=True, text=True, check=False))


def make_base(engine: Engine) -> None:
    """What python:3.X-slim is: a small Debian with Python; and this machine's extra certificates."""
    context = engine.folder / "base"
    certificates = context / "certificates"
    certificates.mkdir(parents=True)
    for file in Path("/usr/local/share/ca-certificates").glob("*.crt"):
        shutil.copy(file, certificates)
    (certificates / ".keep").touch()
    (context / "Dockerfile").write_text(_BASE)
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    tell(f"make a base of {suite}")
    include = "python3,python3-venv,ca-certificates"
    arguments = ("--variant=minbase", f"--include={include}", suite, context / "base.tar")
    if sys.argv[1:]:
        shutil.copy(sys.argv[1], context / "base.tar")
    else:
        good(engine.call("mmdebstrap", *arguments))
    good(engine.build("python-base", context))
    (context / "base.tar").unlink()


def make_locks(folder: Path) -> Path:
    """Of small environments of Debian's Python, which is the base image's too; the project's folder.

    ``small`` is of an index; ``local`` also holds a wheel that only ``folder / "wheels"`` and the store have.
    """
    import uv

    project, wheels = folder / "lock", folder / "wheels"
    project.mkdir()
    wheels.mkdir()
    local = wheel(wheels, "local-only", "1.0", {"local_only.py": "VALUE = 1\n"})
    kept = ("PATH", "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT")
    environ = {name: value for name, value in os.environ.items() if name in kept} | {
        "UV_CACHE_DIR": str(folder / "uv-cache"),
        "TMPDIR": str(project),  # no compile cache of this machine
        **{f"ENVGUARD_{kind}_DIR": str(folder / kind.lower()) for kind in ("DATA", "CACHE", "STATE")},
    }
    tell(f"lock {', '.join(LOCKED)}")
    for command in (
        [uv.find_uv_bin(), "venv", "--quiet", "--no-project", "--python", "/usr/bin/python3", ".venv"],
        [uv.find_uv_bin(), "pip", "install", "--quiet", "--python", ".venv", *LOCKED],
        [sys.executable, "-m", "envguard", "snapshot", "--name", "small"],
        [uv.find_uv_bin(), "pip", "install", "--quiet", "--python", ".venv", str(local)],
        [sys.executable, "-m", "envguard", "snapshot", "--name", "local", "--archive"],
    ):
        good(subprocess.run(command, env=environ, cwd=project, capture_output=True, text=True, check=False))
    return project


def try_project(engine: Engine, locks: Path) -> None:
    """The Dockerfile of this repository."""
    context = engine.folder / "project"
    context.mkdir()
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, context)
    shutil.copytree(ROOT / "envguard", context / "envguard", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(locks / "lockfiles", context / "lockfiles")
    shutil.copytree(engine.folder / "wheels", context / "wheels")
    shutil.copytree(engine.folder / "data" / "store", context / "store")
    options = ("--build-arg", f"BASE={BASE}", "--build-arg", "DEBIAN_PACKAGES=")
    ended = engine.build("nothing", context, *options)
    expect("a build without a lock fails", ended.returncode != 0)
    expect("and says which argument is missing", "say which lock" in ended.stderr + ended.stdout)
    good(engine.build("project", context, *options, "--build-arg", "LOCK=lockfiles/small.toml"))
    try_image(engine, "project")
    try_sources(engine, context, options)
    derived = engine.folder / "derived"
    derived.mkdir()
    (derived / "Dockerfile").write_text(_DERIVED)
    good(engine.build("derived", derived))
    ended = engine.run("derived")
    expect("verify in an image with a changed file exits 1", ended.returncode == 1, ended)
    expect("and names the file", "tqdm/std.py" in ended.stdout, ended)
    expect("the health check of it fails", engine.health("derived") == 1)


def try_sources(engine: Engine, context: Path, options: Sequence[str]) -> None:
    """What no index has comes from folders of the build context."""
    options = (*options, "--build-arg", "LOCK=lockfiles/local.toml")
    ended = engine.build("nowhere", context, *options)
    expect("what no index has can't be restored from one", ended.returncode != 0)
    expect("and is named", "local-only" in ended.stderr, ended)
    for name, argument in (("found", "FIND_LINKS=wheels"), ("kept", "STORE=store")):
        good(engine.build(name, context, *options, "--build-arg", argument))
        ended = engine.run(name)
        expect(f"with {argument} it can", ended.returncode == 0 and "4 distributions" in ended.stdout, ended)
    ended = engine.run("kept", "ls", "/opt/envguard")
    expect(
        "the store stays out of the image",
        ended.stdout.split() == ["bin", "env", "envs", "lock.toml", "tool"],
        ended,
    )


def try_image(engine: Engine, name: str) -> None:
    """What every image of a lock promises."""
    ended = engine.run(name)
    expect(f"verify in {name} exits 0", ended.returncode == 0, ended)
    expect("and counts what matches", " match" in ended.stdout and "drift" not in ended.stdout, ended)
    ended = engine.run(name, *VERIFY, "--full")
    expect("verify of every file, compiled ones too, exits 0", ended.returncode == 0, ended)
    ended = engine.run(name, options=("--read-only", "--read-only-tmpfs=false"))
    expect("also with nothing to write to", ended.returncode == 0, ended)
    expect("not as root", engine.run(name, "id", "-u").stdout.strip() == "1000")
    ended = engine.run(name, "sh", "-c", f"sed -i '$a # changed' {CHANGED}")
    expect("its user can't change what was restored", ended.returncode != 0, ended)
    ended = engine.run(name, "python", "-v", "-c", "import tqdm.std")
    expect("what was restored is what python imports", ended.returncode == 0, ended)
    taken = [line for line in ended.stderr.splitlines() if " matches " in line and "tqdm/std.py" in line]
    expect("with its bytecode, which fits", len(taken) == 1, ended)
    expect("scripts run", engine.run(name, "tqdm", "--version").returncode == 0)
    expect("the health check passes", engine.health(name) == 0)


def try_exported(engine: Engine, locks: Path) -> None:
    """A Dockerfile that ``envguard export`` writes for a project of its own."""
    context = engine.folder / "exported"
    shutil.copytree(locks / "lockfiles", context / "lockfiles")
    export = ("-m", "envguard", "export", "lockfiles/small.toml", "--format", "dockerfile", "-o", "Dockerfile")
    build = ("-m", "hatchling", "build", "--target", "wheel", "--directory", str(context))
    for arguments, folder in ((export, context), (build, ROOT)):
        command = [sys.executable, *arguments]
        good(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False))
    name = next(context.glob("envguard-*.whl")).name
    options = {"BASE": BASE, "DEBIAN_PACKAGES": "", "ENVGUARD": f"./{name}"}
    good(engine.build("exported", context, *(f"--build-arg={key}={value}" for key, value in options.items())))
    try_image(engine, "exported")


def expect(what: str, holds: bool, ended: subprocess.CompletedProcess[str] | None = None) -> None:
    if not holds:
        raise FailedError(f"{what}: it doesn't" + (f"\n{shown(ended)}" if ended else ""))
    tell(f"ok  {what}")


def good(ended: subprocess.CompletedProcess[str]) -> None:
    if ended.returncode != 0:
        raise FailedError(shown(ended))


def shown(ended: subprocess.CompletedProcess[str]) -> str:
    said = (ended.stdout[-3000:] + ended.stderr[-3000:]).strip()
    return f"{' '.join(map(str, ended.args))}\nexit {ended.returncode}\n{said}"


if __name__ == "__main__":
    sys.exit(main())
