import pytest

from fdch.errors import SettingError
from fdch.index.milvus import Address


def test_an_address_is_read_with_its_options():
    options = "consistency=strong&tls=1&shards=4"
    address = Address.parse(f"milvus://db.example:1953/photos?{options}")
    assert address == Address("db.example", 1953, "photos", "strong", True, 4)
    assert str(address) == "milvus://db.example:1953/photos"
    assert address.model_collection == "photos_model"


def test_port_and_options_have_defaults():
    assert Address.parse("milvus://db/photos") == Address("db", 19530, "photos")


def test_a_name_may_have_200_letters():
    assert Address.parse("milvus://db/" + "x" * 200).collection == "x" * 200


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("milvus://", "names no server"),
        ("milvus:///photos", "names no server"),
        ("http://db/photos", "names no server"),
        ("milvus://db", "cannot name a collection"),
        ("milvus://db/", "cannot name a collection"),
        ("milvus://db/a/b", "cannot name a collection"),
        ("milvus://db/my-photos", "letters, digits"),
        ("milvus://db/1st", "no digit first"),
        ("milvus://db/" + "x" * 201, "at most 200"),
        ("milvus://db/photos_model", "kept for models"),
        ("milvus://db:port/photos", "cannot be read"),
        ("milvus://db:99999/photos", "cannot be read"),
        ("milvus://[::1]:19530/photos", "IPv4"),
        ("milvus://db/photos?consistancy=strong", "did you mean 'consistency'"),
        ("milvus://db/photos?consistency=weak", "give one of session"),
        ("milvus://db/photos?tls=yes", "give one of 0, 1"),
        ("milvus://db/photos?tls=", "tls is '' in a Milvus address; give one of 0, 1"),
        ("milvus://db/photos?shards=3", "give one of 1, 2, 4"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(url, message):
    with pytest.raises(SettingError, match=message):
        Address.parse(url)


@pytest.mark.parametrize("who", ["root:secret@", "secret@", "root:secret@x:y@"])
def test_passwords_in_an_address_are_refused_and_not_repeated(who):
    with pytest.raises(SettingError, match="FDCH_MILVUS_TOKEN") as caught:
        Address.parse(f"milvus://{who}db/photos")
    assert "secret" not in str(caught.value)
