"""The static file: categories that sellers put their items in, as a tree."""

from aurora.nexmark.firehose.settings import Settings
from aurora.nexmark.firehose.standard import CATEGORIES, FIRST_CATEGORY

__all__ = ["categories_csv"]

NAMES = (
    *("Antiques", "Art", "Baby", "Books", "Business", "Cameras", "Clothing", "Coins", "Collectibles"),
    *(
        "Computers",
        "Crafts",
        "Dolls",
        "Electronics",
        "Films",
        "Garden",
        "Glass",
        "Health",
        "Home",
        "Jewellery",
    ),
    *("Maps", "Medals", "Music", "Photographs", "Pottery", "Prints", "Radios", "Sports", "Stamps", "Tickets"),
    *("Tools", "Toys", "Travel", "Watches"),
)
BRANCHES = 10


def categories_csv(settings: Settings) -> str:
    """`id,parent,name`, a parent before its children; the standard profile has five without parents."""
    rows = ["id,parent,name"]
    if settings.profile == "standard":
        rows += [
            f"{number},,{_name(number)}" for number in range(FIRST_CATEGORY, FIRST_CATEGORY + CATEGORIES)
        ]
    else:
        for number in range(settings.categories):
            parent = "" if number < BRANCHES else number // BRANCHES - 1
            rows.append(f"{number},{parent},{_name(number)}")
    return "\n".join(rows) + "\n"


def _name(number: int) -> str:
    return f"{NAMES[number % len(NAMES)]} {number}"
