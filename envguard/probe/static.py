"""Tells what only this interpreter knows of itself and of its environment's folders.

Run as ``python -I -S -B static.py START END``; prints START, one JSON document, END. Nothing of the environment
is imported or executed, and nothing is written.
"""

import sys

if sys.version_info < (3, 9):  # before any other import: this much runs in every Python 3
    sys.stdout.write(
        '%s{"schema": 1, "failure": {"kind": "too-old", "detail": "%d.%d.%d"}}%s'
        % (sys.argv[1], *sys.version_info[:3], sys.argv[2])
    )
    sys.exit(0)

import os
import sysconfig


def configuration() -> "str | None":
    """The pyvenv.cfg that makes this a venv: beside the executable, or one folder up (as site looks for it)."""
    folder = os.path.dirname(os.path.abspath(sys.executable))
    for candidate in (folder, os.path.dirname(folder)):
        path = os.path.join(candidate, "pyvenv.cfg")
        if os.path.isfile(path):
            return path
    return None


def settings(path: str) -> "dict[str, str]":
    """The keys of a pyvenv.cfg, lower-case."""
    found = {}
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            key, equals, value = line.partition("=")
            if equals:
                found[key.strip().lower()] = value.strip()
    return found


def prefix() -> str:
    """The environment's own folder; with -S, ``sys.prefix`` is the base Python's before 3.14."""
    if configuration() is None:
        return sys.prefix
    return os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))


def unique(paths: "list[str]") -> "list[str]":
    """Each path once, in order."""
    return list(dict.fromkeys(paths))


def variables(base: str) -> "dict[str, str]":
    """What sysconfig is to fill in for an environment that lies in ``base``."""
    return {
        "base": base,
        "platbase": base,
        "installed_base": sys.base_prefix,
        "installed_platbase": sys.base_exec_prefix,
    }


def plain_scheme() -> str:
    """The scheme of an environment that no distributor has bent."""
    return "nt" if os.name == "nt" else "posix_prefix"


def scheme() -> str:
    """The scheme that installers use here (pip: ``get_preferred_scheme("prefix")``)."""
    if configuration() is not None:
        return "venv" if "venv" in sysconfig.get_scheme_names() else plain_scheme()
    chosen = getattr(sysconfig, "get_default_scheme", None) or getattr(sysconfig, "_get_default_scheme", None)
    return chosen() if chosen else plain_scheme()


def debian() -> bool:
    """Whether the standard library's own ``site`` is Debian's, with dist-packages."""
    try:
        with open(os.path.join(sysconfig.get_path("stdlib"), "site.py"), encoding="utf-8") as text:
            return "dist-packages" in text.read()
    except (OSError, UnicodeDecodeError):
        return False


def site_folders(base: str, in_venv: bool) -> "list[str]":
    """The site folders that ``site`` adds for a prefix, in its order, there or not."""
    paths = sysconfig.get_paths(plain_scheme(), vars=variables(base))
    plain = [paths["platlib"], paths["purelib"]]
    if os.name == "nt":
        return unique([base, *plain])
    if not debian():
        return unique(plain)
    version = "python%d.%d" % sys.version_info[:2]
    bent = [("local", "lib", version), ("lib", "python3"), (sys.platlibdir, version), ("lib", version)]
    return unique((plain if in_venv else []) + [os.path.join(base, *parts, "dist-packages") for parts in bent])


def build() -> str:
    """The build as ``branch, compiler``, without its date: two builds of one source are to agree."""
    rest = " ".join(sys.version.split()).partition(" ")[2]
    head, _, tail = rest.partition("[")
    maker, _, dated = head.rpartition("(")
    compiler = tail.partition("]")[0].strip()
    parts = [maker.strip(" |"), dated.partition(",")[0].strip(), compiler]
    return ", ".join(part for part in parts if part) if compiler else rest or sys.version


def musl() -> "str | None":
    """musl's version, as its loader tells it; None when this isn't a musl system."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaders = {line.split()[-1] for line in maps if "/ld-musl-" in line}
    if not loaders:
        return None
    import subprocess

    told = subprocess.run([loaders.pop()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    for line in told.stderr.decode("ascii", "replace").splitlines():
        if line.startswith("Version "):
            return "musl " + line[8:].strip()
    return None


def libc() -> str:
    """``glibc 2.36``, ``musl 1.2.4`` or ``unknown``."""
    try:
        told = os.confstr("CS_GNU_LIBC_VERSION")
        if told:
            return told
    except (AttributeError, ValueError, OSError):
        pass
    try:
        return musl() or "unknown"
    except OSError:
        return "unknown"


def platform_tag() -> str:
    """The platform as wheel tags spell it; a 32-bit Python on a 64-bit kernel is told as such."""
    tag = sysconfig.get_platform().replace("-", "_").replace(".", "_").replace(" ", "_")
    if sys.maxsize <= 2**32:
        tag = {"linux_x86_64": "linux_i686", "linux_aarch64": "linux_armv8l"}.get(tag, tag)
    return tag


def interpreter() -> "dict[str, object]":
    """Which Python this is."""
    return {
        "implementation": sys.implementation.name,
        "version": "%d.%d.%d" % sys.version_info[:3] + released(),
        "build": build(),
        "soabi": sysconfig.get_config_var("SOABI") or "",
        "platform_tag": platform_tag(),
        "libc": libc(),
    }


def released() -> str:
    """``rc1``, ``b2`` and the like; nothing for a release."""
    level, serial = sys.version_info[3:]
    return "" if level == "final" else {"alpha": "a", "beta": "b", "candidate": "rc"}[level] + str(serial)


def paths() -> "dict[str, object]":
    """Where installers put things, and where the standard library lies."""
    base = prefix()
    in_venv = configuration() is not None
    chosen = sysconfig.get_paths(scheme(), vars=variables(base) if in_venv else None)
    headers = chosen["include"]
    if in_venv:  # as pip and uv do: a venv's own include folder may be a link into the base Python
        headers = os.path.join(base, "include", "site", "python%d.%d" % sys.version_info[:2])
    return {
        "executable": os.path.abspath(sys.executable),
        "prefix": base,
        "base_prefix": sys.base_prefix,
        "purelib": chosen["purelib"],
        "platlib": chosen["platlib"],
        "scripts": chosen["scripts"],
        "headers": headers,
        "data": chosen["data"],
        "standard_library": [path for path in sys.path if path],
    }


def sites() -> "dict[str, object]":
    """The site folders, in the order that ``site`` adds them around the user's own."""
    found = configuration()
    if found is None:
        return {"is_venv": False, "system_site": False, "first": [], "last": site_folders(sys.base_prefix, False)}
    with_system = settings(found).get("include-system-site-packages", "true").lower() == "true"
    last = site_folders(sys.base_prefix, True) if with_system else []
    return {"is_venv": True, "system_site": with_system, "first": site_folders(prefix(), True), "last": last}


def user_site() -> "dict[str, object]":
    """The user's own site folder, and whether a job would have it."""
    chosen = getattr(sysconfig, "get_preferred_scheme", None)
    name = chosen("user") if chosen else os.name + "_user"
    same = not hasattr(os, "getuid") or (os.getuid() == os.geteuid() and os.getgid() == os.getegid())
    isolated = configuration() is not None and not sites()["system_site"]
    enabled = same and not isolated and not os.environ.get("PYTHONNOUSERSITE")
    return {"folder": sysconfig.get_path("purelib", name), "enabled": enabled}


SECTIONS = (interpreter, paths, sites, user_site)


def text(value: str) -> str:
    """A JSON string in ASCII; the json module itself would double the time this takes."""
    units = value.encode("utf-16-be", "surrogatepass")
    codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
    plain = [chr(code) if 32 <= code < 127 and code not in (34, 92) else "\\u%04x" % code for code in codes]
    return '"' + "".join(plain) + '"'


def dump(value: object) -> str:
    """JSON of dictionaries, lists, strings, whole numbers, truth values and None."""
    if isinstance(value, dict):
        return "{" + ", ".join(text(key) + ": " + dump(part) for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(dump(part) for part in value) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value) if isinstance(value, int) else text(str(value))


def main() -> None:
    """Ask every section, each caught on its own."""
    answers: "dict[str, object]" = {}
    for section in SECTIONS:
        try:
            answers[section.__name__] = {"ok": section()}
        except Exception as error:
            answers[section.__name__] = {"error": "%s: %s" % (type(error).__name__, error)}
    sys.stdout.write(sys.argv[1] + dump({"schema": 1, "sections": answers}) + sys.argv[2])


main()
