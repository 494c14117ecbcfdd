"""What the files of CIFAR-10 are called, their MD5 sums, and where they are kept.

The sums of the two archives are those printed on the page of the data set.  The sums of single
files are those that public programs which fetch these archives hold against what they unpack;
the binary ones are also what `deep.images.package` finds when it rebuilds the batches
from a source that has nothing to do with the archives.
"""

import os
from pathlib import Path

ARCHIVES = {
    "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-python.tar.gz": "c58f30108f718f92721af3b95e74349a",
}
FOLDERS = ("cifar-10-batches-bin", "cifar-10-batches-py")
# The batch to evaluate with comes last.
BINARY = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
PICKLED = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


def data_folder() -> Path:
    """TUTELAGE_DATA, or the folder ``tutelage`` where the system keeps data of programs."""
    given = os.environ.get("TUTELAGE_DATA")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser() / "tutelage"
