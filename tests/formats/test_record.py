from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envguard.formats.record import dump_rows, fingerprint, load_rows, read_installed, read_wheel
from envguard.model.distribution import Row
from envguard.model.record import Listing

INFO = "toy-1.0.dist-info"
SITE = "/env/lib/python3.11/site-packages"


def b64(content: bytes = b"x", algorithm: str = "sha256") -> str:
    return base64.urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()


def hexed(content: bytes = b"x", algorithm: str = "sha256") -> str:
    return hashlib.new(algorithm, content).hexdigest()


HASH = f"sha256={b64()}"
DIGEST = f"sha256:{hexed()}"


def installed(text: str | bytes, info: str = INFO, **places: str) -> Listing:
    content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    folders = {
        "site": SITE,
        "prefix": "/env",
        "scripts": "/env/bin",
        "headers": "/env/include/site/python3.11",
        **places,
    }
    return read_installed(content, info, **folders)


def wheel(text: str, names: Sequence[str], info: str = INFO) -> tuple[Listing, Listing]:
    return read_wheel(text.encode("utf-8", "surrogateescape"), info, names)


def keys(listing: Listing) -> set[tuple[str, str]]:
    return set(listing.rows)


class TestDigests:
    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            pytest.param(HASH, DIGEST, id="base64 without padding"),
            pytest.param(f"{HASH}=", DIGEST, id="base64 with padding"),
            pytest.param(f"sha256={hexed()}", DIGEST, id="hex"),
            pytest.param(f"sha256={hexed().upper()}", DIGEST, id="upper-case hex"),
            pytest.param(f"SHA256={b64()}", DIGEST, id="upper-case algorithm"),
            pytest.param(f"sha256={b64().replace('-', '+').replace('_', '/')}", DIGEST, id="plain base64"),
            pytest.param(f"sha512={b64(algorithm='sha512')}", f"sha512:{hexed(algorithm='sha512')}", id="sha512"),
            pytest.param(f"md5={b64(algorithm='md5')}", f"md5:{hexed(algorithm='md5')}", id="md5"),
            pytest.param(f"md5={hexed(algorithm='md5')}", f"md5:{hexed(algorithm='md5')}", id="md5 in hex"),
        ],
    )
    def test_is_read(self, written: str, meant: str) -> None:
        assert installed(f"toy.py,{written},1\n").rows["library", "toy.py"] == Row("library", "toy.py", meant, "1")

    @pytest.mark.parametrize(
        "written",
        [
            pytest.param("", id="none"),
            pytest.param("sha256=", id="empty"),
            pytest.param("sha256=abc", id="too short"),
            pytest.param("sha256=!!!!", id="not base64"),
            pytest.param(f"sha256={b64()}AA", id="too long"),
            pytest.param(f"crc32={b64()}", id="unknown algorithm"),
            pytest.param("shake_128=abcd", id="algorithm without a size"),
            pytest.param(b64(), id="no algorithm"),
            pytest.param("sha256=\u00e9", id="not ascii"),
        ],
    )
    def test_that_prove_nothing_make_an_erratum(self, written: str) -> None:
        listing = installed(f"toy.py,{written},1\n")
        assert (keys(listing), listing.errata) == (set(), ("toy.py",))
        assert listing.placed[0].digest == ""


class TestBookkeeping:
    @pytest.mark.parametrize(
        "name",
        [
            "RECORD",
            "RECORD.jws",
            "RECORD.p7s",
            "INSTALLER",
            "REQUESTED",
            "direct_url.json",
            "uv_cache.json",
            "uv_build.json",
            "provenance_url.json",
        ],
    )
    def test_of_the_own_folder_is_dropped(self, name: str) -> None:
        listing = installed(f"{INFO}/{name},{HASH},1\n")
        assert (keys(listing), listing.errata) == (set(), ())
        assert [row.path for row in listing.placed] == [f"{INFO}/{name}"]

    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("toy/_vendor/wheel-0.45.dist-info/RECORD", id="vendored"),
            pytest.param("other-1.0.dist-info/INSTALLER", id="another distribution's"),
            pytest.param(f"{INFO}/licenses/RECORD", id="deeper"),
            pytest.param(f"{INFO}/METADATA", id="not bookkeeping"),
            pytest.param("RECORD", id="top level"),
        ],
    )
    def test_of_others_is_kept(self, path: str) -> None:
        assert keys(installed(f"{path},{HASH},1\n")) == {("library", path)}


class TestPaths:
    @pytest.mark.parametrize(
        ("written", "placed"),
        [
            pytest.param("toy/x.py", ("library", "toy/x.py"), id="plain"),
            pytest.param("./toy/x.py", ("library", "toy/x.py"), id="dot"),
            pytest.param("toy//x.py", ("library", "toy/x.py"), id="two slashes"),
            pytest.param("toy/../toy/x.py", ("library", "toy/x.py"), id="up and down"),
            pytest.param("toy\\x.py", ("library", "toy/x.py"), id="backslash"),
            pytest.param("../site-packages/x.py", ("library", "x.py"), id="out and in again"),
            pytest.param("../../../bin/toy", ("scripts", "toy"), id="script"),
            pytest.param("../../../Scripts/toy.exe", ("scripts", "toy.exe"), id="script of Windows"),
            pytest.param("../../../share/man/toy.1", ("data", "share/man/toy.1"), id="data"),
            pytest.param("../../x", ("data", "lib/x"), id="two up, not three"),
            pytest.param("../../../include/b.h", ("headers", "b.h"), id="header below include"),
            pytest.param(
                "../../../include/site/python3.11/toy/a.h", ("headers", "site/python3.11/toy/a.h"), id="header"
            ),
            pytest.param("a..b/x.py", ("library", "a..b/x.py"), id="dots in a name"),
            pytest.param(f"{SITE}/x.py", ("library", "x.py"), id="absolute, in the library"),
            pytest.param("/env/bin/x", ("scripts", "x"), id="absolute, script"),
        ],
    )
    def test_are_placed(self, written: str, placed: tuple[str, str]) -> None:
        listing = installed(f"{written},{HASH},1\n")
        assert [(row.root, row.path) for row in listing.placed] == [placed]

    @pytest.mark.parametrize(
        "written",
        [
            pytest.param("/etc/passwd", id="absolute"),
            pytest.param("../../../../etc/passwd", id="out of the environment"),
            pytest.param("toy/../../../../../etc/passwd", id="down and out"),
            pytest.param("..\\..\\..\\..\\x", id="out by backslashes"),
            pytest.param("C:/Windows/x", id="drive"),
            pytest.param("C:\\x", id="drive and backslash"),
            pytest.param("//host/share/x", id="network"),
            pytest.param("toy/", id="folder"),
            pytest.param("..", id="the folder above"),
            pytest.param(".", id="the folder itself"),
        ],
    )
    def test_never_escape(self, written: str) -> None:
        listing = installed(f"{written},{HASH},1\n")
        assert (keys(listing), listing.placed, listing.errata) == (set(), (), ())

    def test_that_are_absolute_prove_nothing(self) -> None:
        assert keys(installed(f"{SITE}/x.py,{HASH},1\n")) == set()

    @pytest.mark.parametrize(
        ("written", "key"),
        [
            pytest.param("toy-1.0.data/purelib/x.py", ("library", "x.py"), id="purelib"),
            pytest.param("toy-1.0.data/platlib/x.py", ("library", "x.py"), id="platlib"),
            pytest.param("Toy-1.0.data/purelib/x.py", ("library", "x.py"), id="other spelling"),
            pytest.param("toy-1.0.data/data/share/x", ("data", "share/x"), id="data"),
            pytest.param(
                "toy-1.0.data/data/lib/python3.9/site-packages/x.py", ("library", "x.py"), id="library by data"
            ),
            pytest.param("toy-1.0.data/data/lib64/python3.9/dist-packages/x.py", ("library", "x.py"), id="lib64"),
        ],
    )
    def test_of_the_own_data_folder_are_unpacked(self, written: str, key: tuple[str, str]) -> None:
        assert keys(wheel(f"{written},{HASH},1\n", [written])[0]) == {key}
        listing = installed(f"{written},{HASH},1\n")
        assert keys(listing) == {key}
        assert listing.placed == ()  # installers leave such a row only where no file is

    @pytest.mark.parametrize(
        "written",
        [
            pytest.param("toy-1.0.data/scripts/toy", id="script"),
            pytest.param("toy-1.0.data/headers/x.h", id="header"),
            pytest.param("toy-1.0.data/data/bin/toy", id="program by data"),
            pytest.param("toy-1.0.data/data/include/x.h", id="header by data"),
            pytest.param("toy-1.0.data/elsewhere/x", id="unknown scheme"),
            pytest.param("toy-1.0.data/data", id="no file"),
        ],
    )
    def test_that_installers_rewrite_are_dropped(self, written: str) -> None:
        assert keys(wheel(f"{written},{HASH},1\n", [written])[0]) == set()
        assert keys(installed(f"{written},{HASH},1\n")) == set()

    def test_of_another_data_folder_are_plain(self) -> None:
        path = "other-1.0.data/scripts/x"
        assert keys(installed(f"{path},{HASH},1\n")) == {("library", path)}

    def test_in_another_library_name_it(self) -> None:
        listing = installed(f"../../../lib64/python3.11/site-packages/x.so,{HASH},1\n")
        assert listing.placed[0].site == "/env/lib64/python3.11/site-packages"
        assert keys(listing) == {("library", "x.so")}

    def test_of_headers_outside_the_prefix(self) -> None:
        listing = installed(f"../../../../usr/inc/x.h,{HASH},1\n", headers="/usr/inc")
        assert [(row.root, row.path) for row in listing.placed] == [("headers", "x.h")]

    def test_with_commas_quotes_and_newlines(self) -> None:
        listing = installed(f'"a,b ""c"".py",{HASH},1\n"d\ne.py",{HASH},1\n')
        assert keys(listing) == {("library", 'a,b "c".py'), ("library", "d\ne.py")}

    def test_that_are_not_utf_8(self) -> None:
        listing = installed(b"caf\xe9.py," + HASH.encode() + b",1\n")
        assert keys(listing) == {("library", "caf\udce9.py")}
        assert load_rows(dump_rows(listing.rows)) == dict(listing.rows)


class TestBytecode:
    def test_in_pycache_is_dropped(self) -> None:
        listing = installed(f"toy/__pycache__/x.cpython-311.pyc,{HASH},1\n__pycache__/y.cpython-311.pyc,,\n")
        assert (keys(listing), listing.placed, listing.errata) == (set(), (), ())

    def test_without_a_source_is_kept(self) -> None:
        assert keys(installed(f"toy/x.pyc,{HASH},1\n")) == {("library", "toy/x.pyc")}

    def test_folder_may_hold_other_files(self) -> None:
        assert keys(installed(f"toy/__pycache__/x.nbi,{HASH},1\n")) == {("library", "toy/__pycache__/x.nbi")}


class TestWheel:
    def test_phantom_rows_are_listed_but_not_present(self) -> None:
        listed, present = wheel(f"x.py,{HASH},1\ngone.py,{HASH},1\n", ["x.py"])
        assert keys(listed) == {("library", "x.py"), ("library", "gone.py")}
        assert keys(present) == {("library", "x.py")}

    def test_of_two_rows_the_first_is_present(self) -> None:
        other = f"sha256={b64(b'y')}"
        listed, present = wheel(f"x.py,{HASH},1\nx.py,{other},1\n", ["x.py"])
        assert listed.record != present.record
        assert present.rows["library", "x.py"].digest == DIGEST
        assert present.record == wheel(f"x.py,{HASH},1\n", ["x.py"])[0].record

    def test_a_backslash_is_not_in_the_zip(self) -> None:
        listed, present = wheel(f"toy\\x.py,{HASH},1\n", ["toy/x.py"])
        assert (keys(listed), keys(present)) == ({("library", "toy/x.py")}, set())

    def test_right_rows_give_one_listing(self) -> None:
        listed, present = wheel(f"x.py,{HASH},1\n{INFO}/RECORD,,\n", ["x.py", f"{INFO}/RECORD"])
        assert listed == present


class TestForm:
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(f"x.py,{HASH},1\r\n{INFO}/RECORD,,\r\n", id="CRLF"),
            pytest.param(f"x.py,{HASH},1\r{INFO}/RECORD,,\r", id="CR"),
            pytest.param(f"\nx.py,{HASH},1\n\n\n{INFO}/RECORD,,", id="blank lines, no last newline"),
            pytest.param(f"\ufeffx.py,{HASH},1\n", id="BOM"),
            pytest.param(f"{INFO}/RECORD,,\n\ufeffx.py,{HASH},1\n", id="BOM in the middle"),
            pytest.param(f"x.py,{HASH},1,more,fields\n", id="more fields"),
            pytest.param(f"x.py,{HASH},1\n{INFO}/RECORD\n", id="one field"),
            pytest.param(f"x.py,{HASH},1\nx.py,{HASH},1\n", id="a row twice"),
            pytest.param(f'"x.py","{HASH}","1"\n', id="quoted"),
            pytest.param(f"x.py,{HASH},1\n,,\n", id="an empty row"),
        ],
    )
    def test_does_not_matter(self, text: str) -> None:
        assert installed(text).record == installed(f"x.py,{HASH},1\n").record

    def test_a_missing_size_stays_missing(self) -> None:
        assert installed(f"x.py,{HASH}\n").rows["library", "x.py"].size == ""
        assert installed(f"x.py,{HASH}\n").record != installed(f"x.py,{HASH},1\n").record

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            pytest.param(b"x.py,\0,1\n", "NUL", id="NUL"),
            pytest.param("x.py,a,1\n".encode("utf-16"), "NUL", id="UTF-16"),
            pytest.param(b'"' + b"x" * 200_000, "rows", id="an endless field"),
        ],
    )
    def test_that_can_not_be_read(self, content: bytes, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            installed(content)

    def test_empty(self) -> None:
        listing = installed("")
        assert (dict(listing.rows), listing.record_data) == ({}, None)

    def test_data_has_a_fingerprint_of_its_own(self) -> None:
        plain = installed(f"x.py,{HASH},1\n")
        both = installed(f"x.py,{HASH},1\n../../../share/x,{HASH},1\n")
        assert plain.record_data is None
        assert both.record == plain.record
        assert both.record_data == fingerprint([Row("data", "share/x", DIGEST, "1")])

    @given(st.binary(max_size=300))
    def test_any_bytes_are_read_or_refused(self, content: bytes) -> None:
        try:
            listing = installed(content)
        except ValueError:
            return
        assert all(not path.startswith(("/", "../")) for _, path in listing.rows)
        assert load_rows(dump_rows(listing.rows)) == dict(listing.rows)

    @given(st.lists(st.text(alphabet='ab./\\:,"\n\r\ufeff', max_size=12), max_size=8))
    def test_any_paths_stay_inside(self, paths: list[str]) -> None:
        quoted = "".join('"{}",{},1\n'.format(path.replace('"', '""'), HASH) for path in paths)
        listing = installed(quoted)
        for row in listing.placed:
            assert not row.path.startswith("/")
            assert ".." not in row.path.split("/")


class TestFingerprint:
    def test_order_and_repetition_do_not_matter(self) -> None:
        rows = [Row("library", name, DIGEST, "1") for name in "abc"]
        assert fingerprint(rows) == fingerprint([*reversed(rows), rows[0]])

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(Row("library", "b", DIGEST, "1"), id="path"),
            pytest.param(Row("library", "a", DIGEST.replace("sha256", "md5"), "1"), id="digest"),
            pytest.param(Row("library", "a", DIGEST, ""), id="size"),
        ],
    )
    def test_everything_else_does(self, other: Row) -> None:
        assert fingerprint([Row("library", "a", DIGEST, "1")]) != fingerprint([other])

    def test_is_stable(self) -> None:
        """A lock made today is read in years: this value must never change."""
        rows = [Row("library", "a/b.py", f"sha256:{'0' * 64}", "3")]
        assert fingerprint(rows).hex == hashlib.sha256(f"a/b.py\0sha256:{'0' * 64}\x003".encode()).hexdigest()


ROWS = st.lists(
    st.builds(
        Row,
        st.sampled_from(["library", "data"]),
        st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
            lambda name: name not in (".", "..")
        ),
        st.sampled_from([DIGEST, f"md5:{'0' * 32}"]),
        st.sampled_from(["", "0", "17"]),
    ),
    max_size=6,
)


class TestRowsAsAnObject:
    @given(ROWS)
    def test_come_back(self, rows: list[Row]) -> None:
        mapping = {(row.root, row.path): row for row in rows}
        assert load_rows(dump_rows(mapping)) == mapping

    @given(ROWS)
    def test_do_not_depend_on_order(self, rows: list[Row]) -> None:
        mapping = {(row.root, row.path): row for row in rows}
        assert dump_rows(mapping) == dump_rows(dict(reversed(mapping.items())))

    @given(st.binary(max_size=200))
    def test_rubbish_is_refused(self, content: bytes) -> None:
        with pytest.raises(ValueError, match="line"):
            load_rows(b"envguard rows 1\n" + content + b"\x00")
        with pytest.raises(ValueError, match="line 1"):
            load_rows(b"x" + content)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            pytest.param(f"library\t{DIGEST}\t1\ta", "line 2: cut off", id="cut off"),
            pytest.param(f"library\t{DIGEST}\t1\n", "line 2: 3 fields", id="fields"),
            pytest.param(f"bin\t{DIGEST}\t1\ta\n", "line 2: no such root", id="root"),
            pytest.param("library\tsha256\t1\ta\n", "line 2: not a digest", id="digest"),
            pytest.param(f"library\t{DIGEST}\t1\t/a\n", "line 2: not a path", id="absolute"),
            pytest.param(f"library\t{DIGEST}\t1\t../a\n", "line 2: not a path", id="outside"),
            pytest.param(f"library\t{DIGEST}\t1\ta/../b\n", "line 2: not a path", id="not normal"),
            pytest.param(f"library\t{DIGEST}\t1\t..\n", "line 2: not a path", id="above"),
            pytest.param(f"library\t{DIGEST}\t1\t\n", "line 2: not a path", id="empty"),
            pytest.param(f"library\t{DIGEST}\t1\ta\\x\n", "line 2: an unknown escape", id="escape"),
            pytest.param(
                f"library\t{DIGEST}\t1\tb\nlibrary\t{DIGEST}\t1\ta\n", "line 3: out of order", id="order"
            ),
            pytest.param(
                f"library\t{DIGEST}\t1\ta\nlibrary\t{DIGEST}\t2\ta\n", "line 3: a path twice", id="twice"
            ),
        ],
    )
    def test_damage_is_named(self, line: str, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            load_rows(b"envguard rows 1\n" + line.encode())
