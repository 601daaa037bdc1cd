"""Settings of uv and pip, read and combined."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envguard.errors import SettingsInvalidError
from envguard.formats import pip_settings, uv_settings
from envguard.formats.address import Address
from envguard.formats.index_settings import NamedIndex, Sources, Wishes, certificates, combine, truth

HERE, HOME = Path("/project"), Path("/home/me")
DEFAULT = "https://default.example/simple/"


def combined(*tools: Wishes, environ: Mapping[str, str] | None = None) -> Sources:
    return combine(tools, default=DEFAULT, home=HOME, environ=environ)


def uv(**environ: str) -> Wishes:
    return uv_settings.variables(environ, HERE)


def pip(*files: Mapping[str, str], **environ: str) -> Wishes:
    return pip_settings.wishes([(f"{number}.conf", file) for number, file in enumerate(files)], environ, HERE)


def table(table: Mapping[str, Any]) -> Wishes:
    return uv_settings.table(table, "uv.toml", HERE)


def named(sources: Sources) -> list[tuple[str, str]]:
    return [(index.name, index.address.reveal()) for index in sources.indexes]


def test_nothing_said_is_the_default_index() -> None:
    assert combined(uv(), pip()) == Sources(indexes=(NamedIndex("default", Address(DEFAULT)),))


class TestUv:
    def test_variables(self) -> None:
        sources = combined(
            uv(
                UV_INDEX="https://a.example/x  fast=https://b.example/y\nhttps://c.example/z",
                UV_EXTRA_INDEX_URL="https://d.example/simple",
                UV_DEFAULT_INDEX="https://mirror.example/simple",
                UV_FIND_LINKS="wheels, /srv/wheels,~/wheels,file:///srv/other%20wheels",
            )
        )
        assert named(sources) == [
            ("a-x", "https://a.example/x"),
            ("fast", "https://b.example/y"),
            ("c-z", "https://c.example/z"),
            ("d", "https://d.example/simple"),
            ("default", "https://mirror.example/simple"),
        ]
        assert sources.find_links == (
            HERE / "wheels",
            Path("/srv/wheels"),
            HOME / "wheels",
            Path("/srv/other wheels"),
        )

    def test_the_old_name_of_the_default(self) -> None:
        assert named(combined(uv(UV_INDEX_URL="https://m.example/s"))) == [("default", "https://m.example/s")]

    def test_of_two_defaults_one_counts(self) -> None:
        sources = combined(uv(UV_DEFAULT_INDEX="https://a.example", UV_INDEX_URL="https://b.example"))
        assert named(sources) == [("default", "https://a.example")]

    def test_a_table(self) -> None:
        sources = combined(
            table(
                {
                    "index": [
                        {"name": "pytorch-cu128", "url": "https://t.example/whl/cu128", "explicit": True},
                        {"url": "./local"},
                        {"name": "list", "url": "https://t.example/list.html", "format": "flat"},
                        {"name": "mirror", "url": "https://m.example/simple", "default": True},
                    ],
                    "extra-index-url": ["https://e.example/simple"],
                    "find-links": ["wheels", "https://f.example/wheels.html"],
                    "pip": {"find-links": ["/srv/pip"], "extra-index-url": ["https://p.example"]},
                }
            )
        )
        assert named(sources) == [
            ("pytorch-cu128", "https://t.example/whl/cu128"),
            ("local-local", "file:///project/local"),
            ("list", "https://t.example/list.html"),
            ("e", "https://e.example/simple"),
            ("p", "https://p.example"),
            ("f-wheels.html", "https://f.example/wheels.html"),
            ("mirror", "https://m.example/simple"),
        ]
        assert [index.name for index in sources.indexes if index.flat] == ["list", "f-wheels.html"]
        assert sources.find_links == (HERE / "wheels", Path("/srv/pip"))

    def test_variables_come_before_tables(self) -> None:
        wishes = uv(UV_INDEX="https://a.example", UV_DEFAULT_INDEX="https://d.example").then(
            table({"index": [{"url": "https://b.example"}], "index-url": "https://other.example"})
        )
        assert [name for name, _ in named(combined(wishes))] == ["a", "b", "default"]

    def test_user_and_password_of_a_named_index(self) -> None:
        environ = {"UV_INDEX_MY_REPO_USERNAME": "me@x", "UV_INDEX_MY_REPO_PASSWORD": "p/:é"}
        (index, _) = combined(uv(UV_INDEX="my-repo=https://a.example/x"), environ=environ).indexes
        assert index.address.reveal() == "https://me%40x:p%2F%3A%C3%A9@a.example/x"

    @pytest.mark.parametrize(
        ("content", "key"),
        [
            ({"index": {}}, "index"),
            ({"index": ["https://a.example"]}, "index[0]"),
            ({"index": [{"url": "https://a.example"}, {}]}, "index[1].url"),
            ({"index": [{"url": 1}]}, "index[0].url"),
            ({"index": [{"name": "a b", "url": "https://a.example"}]}, "index[0].name"),
            ({"index": [{"name": 3, "url": "https://a.example"}]}, "index[0].name"),
            ({"index": [{"url": "ftp://s3cret@a.example"}]}, "index[0].url"),
            ({"index-url": "https://user:s3c/ret@h"}, "index-url"),
            ({"index-url": ["x"]}, "index-url"),
            ({"extra-index-url": "https://a.example"}, "extra-index-url"),
            ({"extra-index-url": [1]}, "extra-index-url[0]"),
            ({"find-links": [""]}, "find-links[0]"),
            ({"no-index": "yes"}, "no-index"),
            ({"pip": []}, "pip"),
            ({"pip": {"no-index": 1}}, "pip: no-index"),
        ],
        ids=str,
    )
    def test_bad_tables_are_named_by_file_and_key(self, content: dict[str, Any], key: str) -> None:
        with pytest.raises(SettingsInvalidError) as raised:
            combined(table(content))
        assert raised.value.where == f"uv.toml: {key}"
        assert "s3c" not in str(raised.value)

    def test_bad_variables_are_named(self) -> None:
        for environ in ({"UV_INDEX": "ftp://x"}, {"UV_NO_INDEX": "maybe"}, {"UV_FIND_LINKS": "http://u:p/x@h"}):
            with pytest.raises(SettingsInvalidError) as raised:
                combined(uv(**environ))
            assert raised.value.where == next(iter(environ))


class TestPip:
    def test_variables(self) -> None:
        sources = combined(
            pip(
                PIP_INDEX_URL="https://mirror.example/simple",
                PIP_EXTRA_INDEX_URL="https://a.example https://b.example",
                PIP_FIND_LINKS="/srv/wheels ~/wheels",
                PIP_CERT="/etc/ca.pem",
            )
        )
        assert named(sources) == [
            ("a", "https://a.example"),
            ("b", "https://b.example"),
            ("default", "https://mirror.example/simple"),
        ]
        assert sources.find_links == (Path("/srv/wheels"), HOME / "wheels")
        assert sources.certificates == Path("/etc/ca.pem")

    def test_later_files_and_variables_replace(self) -> None:
        files = {"extra-index-url": "https://a.example", "cert": "/a"}, {"extra-index-url": "https://b.example"}
        assert [name for name, _ in named(combined(pip(*files)))] == ["b", "default"]
        assert combined(pip(*files)).certificates == Path("/a")
        sources = combined(pip(*files, PIP_EXTRA_INDEX_URL="https://c.example", PIP_CERT=""))
        assert [name for name, _ in named(sources)] == ["c", "default"]

    def test_a_file(self) -> None:
        text = """
            [global]
            index_url = https://a.example
            find-links =
                /srv/one
                /srv/two
            [install]
            index-url = https://b.example
            [download]
            index-url = https://c.example
        """
        values = pip_settings.read("\n".join(line[12:] for line in text.splitlines()), "pip.conf")
        assert values["index-url"] == "https://b.example"
        assert values["find-links"].split() == ["/srv/one", "/srv/two"]

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("[global]\nindex-url = https://u:s3cret@h\ns3cret\n", 3),
            ("index-url = https://u:s3cret@h\n", 1),
            ("[global]\nx = 1\nx = s3cret\n", 3),
            ("[global]\n[global]\n", 2),
        ],
        ids=["no key", "no section", "key twice", "section twice"],
    )
    def test_a_broken_file_is_named_by_line_and_not_quoted(self, text: str, line: int) -> None:
        with pytest.raises(SettingsInvalidError) as raised:
            pip_settings.read(text, "pip.conf")
        assert raised.value.where == f"pip.conf: line {line}"
        assert "s3cret" not in f"{raised.value} {raised.value.hint}"

    def test_percent_signs_are_themselves(self) -> None:
        values = pip_settings.read("[global]\nindex-url = https://u:p%40x@h/%(x)s\n", "pip.conf")
        assert values == {"index-url": "https://u:p%40x@h/%(x)s"}

    def test_bad_values_are_named(self) -> None:
        with pytest.raises(SettingsInvalidError) as raised:
            combined(pip({"index-url": "nonsense://x"}))
        assert raised.value.where == "0.conf: index-url"
        with pytest.raises(SettingsInvalidError) as raised:
            combined(pip({"no-index": "perhaps"}))
        assert raised.value.where == "0.conf: no-index"


class TestNoIndex:
    @pytest.mark.parametrize("text", ["1", "true", "YES", "on"])
    def test_no_default_then(self, text: str) -> None:
        assert combined(uv(UV_NO_INDEX=text), pip()).indexes == ()
        assert combined(uv(), pip(PIP_NO_INDEX=text)).indexes == ()
        assert combined(table({"no-index": True})).indexes == ()

    def test_only_that_tools_indexes_are_dropped(self) -> None:
        sources = combined(
            uv(UV_INDEX="https://a.example"), pip(PIP_NO_INDEX="1", PIP_INDEX_URL="https://b.example")
        )
        assert [name for name, _ in named(sources)] == ["a"]

    def test_folders_stay(self) -> None:
        assert combined(uv(UV_NO_INDEX="1", UV_FIND_LINKS="/srv/w")).find_links == (Path("/srv/w"),)

    @pytest.mark.parametrize(
        ("text", "value"), [("0", False), ("off", False), ("", None), (None, None), ("y", True)]
    )
    def test_truth(self, text: str | None, value: bool | None) -> None:
        assert truth(text, "X") is value


class TestCombined:
    def test_an_index_that_two_name_is_kept_once_with_its_password(self) -> None:
        sources = combined(
            uv(UV_INDEX="https://a.example/simple"), pip(PIP_INDEX_URL="https://u:p@A.example/simple/")
        )
        assert named(sources) == [("default", "https://u:p@A.example/simple/")]

    def test_a_name_of_uvs_is_kept_even_for_the_default(self) -> None:
        sources = combined(table({"index": [{"name": "mine", "url": DEFAULT}]}))
        assert named(sources) == [("mine", DEFAULT)]

    def test_the_second_tools_default_is_one_more_index(self) -> None:
        sources = combined(uv(UV_DEFAULT_INDEX="https://a.example"), pip(PIP_INDEX_URL="https://b.example"))
        assert named(sources) == [("b", "https://b.example"), ("default", "https://a.example")]

    def test_one_name_for_two_addresses(self) -> None:
        sources = combined(uv(UV_INDEX="x=https://a.example x=https://b.example default=https://c.example"))
        assert [name for name, _ in named(sources)] == ["x", "b", "c", "default"]

    def test_folders_are_kept_once(self) -> None:
        assert combined(uv(UV_FIND_LINKS="/w"), pip(PIP_FIND_LINKS="/w")).find_links == (Path("/w"),)

    def test_our_own_settings(self) -> None:
        own = uv_settings.own({"cu128": "https://t.example/cu128", "default": "https://m.example"}, "x", HERE)
        assert named(combined(own, uv(UV_INDEX="https://a.example"))) == [
            ("cu128", "https://t.example/cu128"),
            ("a", "https://a.example"),
            ("default", "https://m.example"),
        ]
        own = uv_settings.own([{"name": "cu128", "url": "https://t.example/cu128"}], "x", HERE)
        assert [name for name, _ in named(combined(own))] == ["cu128", "default"]
        with pytest.raises(SettingsInvalidError):
            uv_settings.own("https://t.example", "x", HERE)

    def test_certificates_by_variable(self) -> None:
        environ = {"CURL_CA_BUNDLE": "/c", "REQUESTS_CA_BUNDLE": "/b"}
        assert combined(certificates(environ, HERE)).certificates == Path("/b")
        assert combined(certificates(environ | {"SSL_CERT_FILE": "a.pem"}, HERE)).certificates == HERE / "a.pem"
        assert combined(pip(PIP_CERT="/p"), certificates(environ, HERE)).certificates == Path("/p")

    def test_offline_only_this_machines_places_are_left(self) -> None:
        sources = combined(uv(UV_INDEX="https://a.example ./local", UV_FIND_LINKS="/w,https://b.example/w"))
        assert [index.name for index in sources.offline().indexes] == ["local-local"]
        assert sources.offline().find_links == (Path("/w"),)

    def test_nothing_prints_a_secret(self) -> None:
        wishes = uv(UV_INDEX="https://u:s3cret@a.example/?t=s3cret")
        assert "s3cret" not in f"{wishes!r} {combined(wishes)!r}"
