from __future__ import annotations

import os

import pytest

from gclint.source.cache import Cache, digest, remove


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / ".gclint_cache")


def test_what_is_kept_comes_back_under_its_key_only(place):
    cache = Cache(place, "k1")
    cache.put("a.py", {"words": ["x"]})
    cache.save()
    assert Cache(place, "k1").get("a.py") == {"words": ["x"]}
    assert Cache(place, "k2").get("a.py") is None
    assert sorted(os.listdir(place)) == [".gitignore", "CACHEDIR.TAG", "k1.json"]


def test_nothing_to_keep_makes_no_directory(place):
    Cache(place, "k").save()
    assert not os.path.exists(place)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b"[" * 100000])
def test_a_damaged_cache_is_ignored_and_replaced(place, damage):
    first = Cache(place, "k")
    first.put("a", 1)
    first.save()
    with open(os.path.join(place, "k.json"), "wb") as file:
        file.write(damage)
    cache = Cache(place, "k")
    assert cache.get("a") is None
    cache.put("a", 1)
    cache.save()
    assert Cache(place, "k").get("a") == 1


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(str(tmp_path / "file"), "k")
    cache.put("a", 1)
    cache.save()


def test_a_link_in_place_of_the_cache_is_not_followed(tmp_path, place):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", place)
    cache = Cache(place, "k")
    cache.put("a", 1)
    cache.save()
    assert os.listdir(tmp_path / "elsewhere") == []


def test_remove_takes_only_a_cache(tmp_path, place):
    cache = Cache(place, digest(["k"]))
    cache.put("a", 1)
    cache.save()
    assert remove(place) and not os.path.exists(place)
    cache.put("b", 1)
    cache.save()
    mine = tmp_path / ".gclint_cache" / "mine.json"
    mine.write_text("{}")
    assert remove(place) and os.listdir(place) == ["mine.json"]
    (tmp_path / "src").mkdir()
    assert not remove(str(tmp_path / "src")) and (tmp_path / "src").exists()


def test_a_directory_of_something_else_is_no_cache(tmp_path):
    (tmp_path / "train.py").write_text("")
    cache = Cache(str(tmp_path), digest(["k"]))
    cache.put("a", 1)
    cache.save()
    assert os.listdir(tmp_path) == ["train.py"]


def test_what_nothing_wrote_for_a_month_is_deleted(place):
    names = {"old": digest(["old"]), "older": f"walks-{digest(['older'])}", "new": digest(["new"]), "notes": "notes"}
    for name, key in names.items():
        cache = Cache(place, key)
        cache.put("a", 1)
        cache.save()
        if name != "new":
            os.utime(os.path.join(place, f"{key}.json"), (1_000_000_000, 1_000_000_000))
    os.utime(os.path.join(place, "CACHEDIR.TAG"), (1_000_000_000, 1_000_000_000))
    last = Cache(place, digest(["last"]))
    last.put("a", 1)
    last.save()
    left = {name for name in os.listdir(place) if name.endswith(".json")}
    assert left == {f"{names['new']}.json", f"{digest(['last'])}.json", "notes.json"}


def test_keep_only(place):
    cache = Cache(place, "k")
    cache.put("a", 1)
    cache.put("b", 2)
    cache.keep_only(["b"])
    assert cache.get("a") is None and cache.get("b") == 2


def test_parts_of_a_digest_do_not_run_together():
    assert digest(["ab", "c"]) != digest(["a", "bc"])
    assert digest([b"a"]) == digest(["a"])
