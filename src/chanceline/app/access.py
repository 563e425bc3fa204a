"""Who may talk to the server: the browser of this machine that knows the address, and no other.

Every request passes `Gate`. It refuses

- a host that is not this machine's own (a foreign name that was made to point here);
- a page of another origin;
- an address without the token;
- a body that is too large, by what it says and by what arrives.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = "127.0.0.1"
LOOPBACK_NAMES = (LOOPBACK, "localhost")
BYTES_OF_MEGABYTE = 1_000_000
# A longer number is too large for any limit. Python refuses to read very long numbers at all.
MOST_DIGITS_OF_LENGTH = 20
# What every answer tells the browser: load nothing from elsewhere, show no page inside a foreign
# one, keep no copy of the user's data, and tell nobody else the address, which holds the token.
SAFETY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """What a request must know and keep to.

    Attributes
    ----------
    port : on which the server listens.
    largest_body : bytes that a request may bring.
    token : the secret at the beginning of every address.
    """

    port: int
    largest_body: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def prefix(self) -> str:
        """The beginning of every path."""
        return f"/{self.token}"

    @property
    def address(self) -> str:
        """Where the first page is."""
        return f"http://{LOOPBACK}:{self.port}{self.prefix}/"

    @property
    def largest_megabytes(self) -> int:
        """The limit of a request in the unit that people read."""
        return self.largest_body // BYTES_OF_MEGABYTE

    def hosts(self) -> list[str]:
        """What the browser may call this server."""
        return [f"{name}:{self.port}" for name in LOOPBACK_NAMES]

    def origins(self) -> list[str]:
        """The origins whose pages may send something."""
        return [f"http://{host}" for host in self.hosts()]


class BodyTooLarge(Exception):
    """More bytes arrived than a request may bring."""


class Gate:
    """The ASGI application behind the checks; what is refused never reaches it.

    The application answers `BodyTooLarge`, which comes up while it reads a body, with
    `answer_to_large_body`.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, by a refusal or by the application."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        refusal = self.refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        await self.app(scope, self.limit_body(receive), with_safety_headers(send))

    def refusal(self, scope: Scope) -> PlainTextResponse | None:
        """The answer that refuses a request by its headers and path alone; None if it may pass.

        The server is local, but other web pages open in the same browser can send requests to it.
        The checks of host, origin and site refuse these; the token in the path refuses other users
        of the machine. The first check that fails gives the answer.
        """
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self.access.hosts():
            return refusal_answer(
                "this server answers to its own address alone", HTTPStatus.FORBIDDEN
            )

        # Browsers name the origin only in some requests, so it may be missing.
        origin = headers.get("origin")
        if origin is not None and origin not in self.access.origins():
            return refusal_answer(
                "pages of other origins may ask nothing here", HTTPStatus.FORBIDDEN
            )
        if headers.get("sec-fetch-site") == "cross-site":
            return refusal_answer("pages of other sites may ask nothing here", HTTPStatus.FORBIDDEN)

        if not self.knows_token(scope["path"]):
            return refusal_answer(
                "open the address that chanceline app printed, with its token",
                HTTPStatus.NOT_FOUND,
            )

        # A request without a length may pass; `limit_body` counts the bytes of every body.
        length = headers.get("content-length", "0")
        is_short_number = length.isdecimal() and len(length) <= MOST_DIGITS_OF_LENGTH
        if not is_short_number or int(length) > self.access.largest_body:
            return answer_to_large_body(self.access)
        return None

    def knows_token(self, path: str) -> bool:
        """Whether a path begins with the token; the time this takes tells nothing about it."""
        first_part = path.removeprefix("/").partition("/")[0]
        return hmac.compare_digest(first_part.encode(), self.access.token.encode())

    def limit_body(self, receive: Receive) -> Receive:
        """Wrap ASGI's `receive` so that it raises `BodyTooLarge` when a body exceeds the limit.

        `receive` returns the next message of a request, with a piece of its body. The header
        content-length may be missing or wrong, so the bytes are counted as they arrive.
        """
        n_bytes = 0  # of the body, received so far

        async def receive_within_limit() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self.access.largest_body:
                raise BodyTooLarge
            return message

        return receive_within_limit


def refusal_answer(sentence: str, status: HTTPStatus) -> PlainTextResponse:
    """A refusal in one sentence; the connection ends with it, whatever was still to come."""
    headers = {**SAFETY_HEADERS, "Connection": "close"}
    return PlainTextResponse(f"{sentence}\n", status_code=status, headers=headers)


def answer_to_large_body(access: Access) -> PlainTextResponse:
    """The answer to a body that is too large."""
    return refusal_answer(
        f"the file is larger than {access.largest_megabytes} MB, the limit of this page; "
        "use chanceline test in a terminal, or start the page with a higher limit",
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )


def with_safety_headers(send: Send) -> Send:
    """The same answers, each with `SAFETY_HEADERS`."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(SAFETY_HEADERS)
        await send(message)

    return send_with_headers
