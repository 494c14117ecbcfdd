"""``tutelage explore``: a local page with sliders and pictures of learning."""

from pathlib import Path
from typing import Annotated

import typer


def explore(
    port: Annotated[int, typer.Option(metavar="PORT", help="Port; 0 for any free port.")] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    public: Annotated[
        bool,
        typer.Option(
            "--public", help=("Listen on all network interfaces, not only on this machine.")
        ),
    ] = False,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN", help="Password of the page; random by default; 'none' for no password."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="COUNT", help="Number of worker processes; 2 to 4 by default."),
    ] = None,
    report: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the report to show.")
    ] = Path("report"),
    files: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of saved trainings to play back."),
    ] = None,
    export: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html", help="Write one page that works without a server, and stop."
        ),
    ] = None,
) -> None:
    """Open a page of sliders and pictures.

    The page is served to this machine only. Its address contains a token, which other accounts need
    to open it. Ctrl-C ends the server.
    """
    if export is not None:
        from tutelage.explorer import export as write

        write(export, progress=True)
        print(f"Written to {export}")
        return
    from tutelage.explorer import serve

    def opened(address: str) -> None:
        print(f"The explorer is at {address} (Ctrl-C ends it)", flush=True)
        if browser:
            import webbrowser

            webbrowser.open(address)

    serve(
        port, public=public, token=token, workers=workers, report=report, files=files, opened=opened
    )
