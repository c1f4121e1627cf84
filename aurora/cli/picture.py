"""`aurora picture`: a network as an SVG file."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from aurora.cli.bindings import Parameters
from aurora.cli.networks import AllowedFiles, NetworkFile, look_into
from aurora.cli.telling import tell
from aurora.errors import AuroraError

__all__ = ["picture"]


def picture(
    network: NetworkFile,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE.svg", help="Where the picture goes; - is stdout.")
    ],
    parameters: Parameters = None,
    allow_file: AllowedFiles = None,
) -> None:
    """Draw a network as an SVG picture: boxes, arrows, and the fields of each stream.

    Boxes that lead to no output or point are drawn faintly. An existing picture is replaced.

    \b
    Examples:
      aurora picture border.yaml --out border.svg
      aurora picture border.yaml --out - --set least=40 > border.svg
      aurora picture mymodule:make_network --out network.svg
    """
    if out != "-" and not out.lower().endswith(".svg"):
        raise AuroraError(f"--out {out}: a picture is an SVG file; write a name that ends in .svg, or -")
    drawn = look_into(network, allow_file, parameters).svg()
    if out == "-":
        sys.stdout.write(f"{drawn}\n")
        return
    if os.path.exists(out) and network.exists() and os.path.samefile(out, network):
        raise AuroraError(f"--out {out} is the network itself; name another file")
    try:
        Path(out).write_text(f"{drawn}\n", encoding="utf-8")
    except OSError as fault:
        raise AuroraError(f"{out} cannot be written: {fault.strerror}") from None
    tell(f"drawn in {out}", "drawn", file=out)
