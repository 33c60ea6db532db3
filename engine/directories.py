"""Whose a data directory is: an embedded engine's, with one file, or a node's, with one for each partition."""

import os
from pathlib import Path

from dex.engine.sqlite.connection import FILE_NAME
from dex.wcl.errors import Refused

NODE_FILE = "cluster.json"
"""What a node has in its data directory: which cluster it belongs to."""

TRIED_FILE = "cluster.lock"
"""What the directory of a cluster to try has, with its nodes' directories."""

PARTITION_FOLDER = "partition-"
"""What the names of its partitions' folders begin with."""


def refuse_nodes(data_dir: Path) -> None:
    """Keep an embedded engine out of what a node has: it would see nothing, or write past the journal (spec: K-03).

    Raises:
        Refused: it is the directory of a node, of one of its partitions, or of a cluster to try.
    """
    node = data_dir.parent if data_dir.name.startswith(PARTITION_FOLDER) else data_dir
    for place, file, whose in ((node, NODE_FILE, "a cluster's node"), (data_dir, TRIED_FILE, "`dex cluster dev`")):
        # Where one may not look, that is told by who opens the file.
        if os.path.exists(place / file):  # noqa: PTH110  # Path's own raises there
            raise Refused(
                f"{place} is the data directory of {whose}, which an embedded engine cannot use",
                "ask a node: --endpoint http://HOST:PORT; or name another --data-dir",
                path=str(place),
            )


def refuse_embedded(data_dir: Path) -> None:
    """Keep a node out of what an embedded engine has: it would serve nothing of it (spec: K-03).

    Raises:
        Refused: an embedded engine's file is there.
    """
    path = data_dir / FILE_NAME
    if os.path.exists(path):  # noqa: PTH110  # as above
        raise Refused(
            f"{path} has the data of an embedded engine, which a node of a cluster would not serve",
            "name another --data-dir; `dex store export` and `dex store import` move rows, and `dex feed` records",
            path=str(path),
        )
