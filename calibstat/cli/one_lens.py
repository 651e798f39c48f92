"""One lens, by its name on the command line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from calibstat.cli.names import lens_name
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.lenses.class_wise import ClassWise
from calibstat.lenses.top_k import TopK
from calibstat.lenses.top_label import TopLabel


def one_lens(name: str, labels: Sequence[Hashable]) -> Lens:
    """Return the lens of that name.

    Parameters
    ----------
    name : str
        canonical, top-label, class-wise:LABEL or top-k:K.
    labels : sequence
        The classes there are.

    Raises
    ------
    ValueError
        If there is no such lens or class, or it is several.

    Examples
    --------
    >>> one_lens("class-wise:dog", ["cat", "dog"])
    ClassWise(label='dog')
    """
    kind, detail = lens_name(name)
    if kind in ("canonical", "top-label"):
        return Canonical() if kind == "canonical" else TopLabel()
    if kind == "top-k":
        if not (detail.isascii() and detail.isdigit()):
            raise ValueError(f"--lens {name}: {detail!r} is not a whole number; write for example top-k:2")
        return TopK(int(detail))
    found = [label for label in labels if str(label) == detail]
    if not found:
        shown = ", ".join(map(str, labels[:20]))
        what = f"there is no class {detail!r}" if detail else "name the class, class-wise:LABEL"
        raise ValueError(f"--lens {name}: {what}; the classes are {shown}")
    return ClassWise(found[0])
