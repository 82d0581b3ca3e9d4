"""Measure how often an unknown word is read as a known one of like meaning.

python scripts/measure_meanings.py

Each word of a pair is typed, in both directions, to a model that knows all other words
of both lists. Of synonyms, the other word is right; words of unrelated pairs should be
read as none, or they find what nobody meant.
"""

import argparse
import json
import sys

from fdch.data.static_words import load_embeddings
from fdch.data.word_forms import MIN_COSINE, WordForms

SYNONYMS = """
sofa couch, cup mug, shoe sneaker, car automobile, bike bicycle, photo picture,
house home, infant baby, kid child, boat ship, plane airplane, television tv,
woman lady, man guy, rock stone, street road, forest woods, ocean sea, cap hat,
handbag purse, coat jacket, pants trousers, pullover sweater, carpet rug, light lamp,
phone cellphone, computer laptop, puppy dog, kitten cat, bunny rabbit, pig hog,
store shop, trash garbage, fall autumn, gift present, film movie, physician doctor,
soccer football, hill mountain, backpack rucksack
"""
UNRELATED = """
software banana, mortgage giraffe, election spoon, penicillin candle, algebra bucket,
parliament curtain, guitar cement, xylophone spider, dinosaur invoice, wizard fence,
volcano blanket, submarine salad, muffin planet, pizza ladder, helicopter button,
zebra pencil, spanner cloud, gown mosaic, pouch window, tumbler lizard,
vaccine umbrella, opera gravel, tax feather, soup elevator, saddle orange,
battery poem, knee island, anchor yogurt, violin pavement, harvest keyboard,
tractor perfume, needle bridge, whale ceiling, mustard tower, pilot cabbage,
stadium butter, glove rocket, desert stapler, judge tulip, vinegar balcony
"""
THRESHOLDS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6)


def read_pairs(listed: str) -> list[tuple[str, str]]:
    """Return pairs in both directions."""
    pairs = [tuple(pair.split()) for pair in listed.split(",")]
    return [turned for a, b in pairs for turned in ((a, b), (b, a))]


def measure() -> dict[str, object]:
    """Return, by threshold, how the words of both lists are read."""
    synonyms, unrelated = read_pairs(SYNONYMS), read_pairs(UNRELATED)
    words = sorted({word for word, _ in [*synonyms, *unrelated]})

    def find(word: str) -> tuple[str, float]:
        return WordForms([each for each in words if each != word]).find_near(word) or (
            "",
            0,
        )

    near = {word: find(word) for word in words}
    table = []
    for least in THRESHOLDS:
        read = {
            word: known for word, (known, cosine) in near.items() if cosine >= least
        }
        table.append(
            {
                "threshold": least,
                "synonyms read as the other": sum(
                    read.get(a) == b for a, b in synonyms
                ),
                "as another word": sum(read.get(a, b) != b for a, b in synonyms),
                "unrelated words read": sum(a in read for a, _ in unrelated),
            }
        )
    vector = load_embeddings().vector
    return {
        "words": {"synonyms": len(synonyms), "unrelated": len(unrelated)},
        "threshold in use": MIN_COSINE,
        "read": table,
        "cosine of cup and mug": round(float(vector("cup") @ vector("mug")), 2),
    }


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    sys.stdout.write(json.dumps(measure(), indent=1) + "\n")
