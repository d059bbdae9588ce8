"""Content-addressed values: `objects/ab/cdef...`, named by the digest of what they hold."""

import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from gaploop.core.errors import WorkcellError
from gaploop.store import codec
from gaploop.store.files import copy_folder, manifest, seal, write_atomic

T = TypeVar("T")

_APART = re.compile(rb'"\$array":"([0-9a-f]{64})"')
"""An array that lies in a file of its own, in the JSON of a value."""


class Objects:
    """Values that are written once, whole, and never change.

    A value is one JSON file, with its large arrays as `.npy` files of their own.
    A tree is a folder, stored as it is. Writing the same content twice writes once.
    """

    def __init__(self, root: Path, tmp: Path) -> None:
        self.root = root
        self.tmp = tmp

    def put(self, value: Any) -> str:
        """Stores a core dataclass, or a list, tuple or dict of them; returns its digest.

        Raises:
          TypeError: for a value without a form in JSON.
          WorkcellError: when the disk is full or cannot be written.
        """
        kind = type(value).__name__
        return self._put_bytes(codec.dumps({"type": kind, "value": value}, self._put_array))

    def get(self, digest: str, cls: type[T]) -> T:
        """The value with this digest as `cls`; equal to what was put.

        Raises:
          WorkcellError: when it is not there, damaged, or of another type.
        """
        content = self._get_bytes(digest)
        try:
            outer = json.loads(content)
            kind, data = outer["type"], outer["value"]
            wanted = getattr(cls, "__name__", "")
            if wanted and kind != wanted:
                raise WorkcellError(f"Object {digest[:8]} is a {kind}, and a {wanted} is needed.")
            return codec.decode(data, cls, self._get_array)
        except (ValueError, KeyError, TypeError) as error:
            raise WorkcellError(f"Object {digest[:8]} cannot be read: {error}.") from error

    def put_tree(self, folder: Path) -> str:
        """Stores a copy of a folder under the digest of its manifest.

        Raises:
          InputError: when it is no folder or holds anything but plain files.
          WorkcellError: when the disk is full or cannot be written.
        """
        rows = manifest(folder)
        text = json.dumps(rows, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()
        if not self.path(digest).exists():
            copy_folder(folder, self.path(digest), self.tmp)
        return digest

    def tree(self, digest: str) -> Path:
        """The stored folder; read it, never write to it.

        Raises:
          WorkcellError: when there is none with this digest, or a file in it changed.
        """
        path = self.path(digest)
        if not path.is_dir():
            raise self._missing(digest, "folder")
        if seal(path) != digest:
            raise WorkcellError(
                f"{path} is damaged: its content does not match its name.",
                hint="Delete the folder and run the stage that made it again.",
            )
        return path

    def path(self, digest: str) -> Path:
        """Where an object lies, or would."""
        if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise WorkcellError(f"{digest!r} is no digest.", hint="Expected 64 hex digits.")
        return self.root / digest[:2] / digest[2:]

    def has(self, digest: str) -> bool:
        """Whether an object or a tree with this digest is stored."""
        return self.path(digest).exists()

    def whole(self, digest: str) -> bool:
        """Whether it is stored with all its arrays, so that a stage need not run again."""
        path = self.path(digest)
        if path.is_dir():
            return True
        try:
            arrays = _APART.findall(path.read_bytes())
        except OSError:
            return False
        return all(self.has(name.decode()) for name in arrays)

    def _put_array(self, array: np.ndarray) -> str:
        buffer = io.BytesIO()
        np.save(buffer, np.asarray(array, order="C"), allow_pickle=False)
        return self._put_bytes(buffer.getvalue())

    def _get_array(self, digest: str) -> np.ndarray:
        return np.load(io.BytesIO(self._get_bytes(digest)), allow_pickle=False)

    def _put_bytes(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        if not self.path(digest).exists():
            write_atomic(self.path(digest), content, self.tmp)
        return digest

    def _get_bytes(self, digest: str) -> bytes:
        path = self.path(digest)
        if not path.is_file():
            raise self._missing(digest, "object")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise WorkcellError(f"{path} cannot be read: {error.strerror}.") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise WorkcellError(
                f"{path} is damaged: its content does not match its name.",
                hint="Delete the file and run the stage that made it again.",
            )
        return content

    def _missing(self, digest: str, what: str) -> WorkcellError:
        return WorkcellError(
            f"There is no {what} {digest[:8]} in {self.root.parent}.",
            hint="`gaploop log` lists what the workcell holds.",
        )
