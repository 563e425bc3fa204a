"""The server: on the loopback alone, until the user ends it; then every file is removed."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from chanceline.app.access import BYTES_OF_MEGABYTE, LOOPBACK, Access, Gate
from chanceline.app.desk import CommandWriters, Desk
from chanceline.app.pages import PageServer
from chanceline.errors import InputError, whole_number

SECONDS_FOR_LAST_ANSWERS = 2
HIGHEST_PORT = 65535


@dataclass(frozen=True)
class ServerOptions:
    """How to serve.

    Attributes
    ----------
    port : 0 for any that is free.
    largest_megabytes : that a file may have.
    n_jobs : processes of a run, -1 for all cores.
    """

    port: int = 0
    largest_megabytes: int = 500
    n_jobs: int = -1

    def __post_init__(self) -> None:
        whole_number(self.port, "the port", at_least=0, at_most=HIGHEST_PORT)
        whole_number(self.largest_megabytes, "the limit of files in MB", at_least=1)


def serve(
    options: ServerOptions, write_commands: CommandWriters, when_ready: Callable[[str], None]
) -> None:
    """Serve the pages until the user ends the program.

    Parameters
    ----------
    options : how to serve: the port (0 for any free one), limits and jobs.
    write_commands : functions that write the command lines for what the user does on the pages.
    when_ready : called with the address of the pages as soon as a browser can open it.
    """
    with loopback_socket(options.port) as listener:
        port = listener.getsockname()[1]
        access = Access(port=port, largest_body=options.largest_megabytes * BYTES_OF_MEGABYTE)
        desk = Desk(options.n_jobs, write_commands)
        try:
            server = make_server(desk, access)
            # The socket already listens, so that a browser that connects before the server runs
            # waits for it.
            when_ready(access.address)
            server.run(sockets=[listener])
        finally:
            desk.close()


def loopback_socket(port: int) -> socket.socket:
    """A socket that listens on the loopback address, which only this machine can reach.

    With port 0 the system chooses a free port.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    # The port of a server that ended a moment ago can be used again at once.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise InputError(
            f"port {port} cannot be used ({error.strerror}); name another one, or 0 for any."
        ) from None
    listener.listen()
    return listener


def make_server(desk: Desk, access: Access) -> uvicorn.Server:
    """The server of the pages, behind the gate that refuses requests of other sites and users."""

    def stop_server() -> None:
        """Stop the server, which is defined below; called when the user presses the button."""
        server.should_exit = True

    config = uvicorn.Config(
        guarded_pages(desk, access, stop_server),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=SECONDS_FOR_LAST_ANSWERS,
    )
    server = uvicorn.Server(config)
    return server


def guarded_pages(desk: Desk, access: Access, end: Callable[[], None]) -> ASGIApp:
    """The application that answers: pages behind the gate; `end` ends the server."""
    return Gate(PageServer(desk, access, end).application(), access)
