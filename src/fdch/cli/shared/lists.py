"""Values given as lists, such as "16,32" or "cmfh,dch"."""

from fdch.errors import SettingError

MAX_NUMBER = 10**9


def listed(text: str, option: str = "the list") -> list[str]:
    """Split at commas, each value once.

    >>> listed("cmfh, dch,cmfh")
    ['cmfh', 'dch']
    """
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise SettingError(
            f"{option} names nothing; got '{text}'. Write one value or more, with "
            "commas in between."
        )
    return list(dict.fromkeys(found))


def numbers(option: str, text: str) -> list[int]:
    """Split at commas into numbers of 1 or more.

    >>> numbers("--bits", "16,32")
    [16, 32]
    """
    found = listed(text, option)
    wrong = [part for part in found if not _is_number(part)]
    if wrong:
        raise SettingError(
            f"{option} takes numbers of 1 or more, such as 16,32; got '{wrong[0]}'."
        )
    return [int(part) for part in found]


def _is_number(text: str) -> bool:
    if len(text) > len(str(MAX_NUMBER)) or not (text.isascii() and text.isdigit()):
        return False
    return 1 <= int(text) <= MAX_NUMBER
