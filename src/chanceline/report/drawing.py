"""SVG from outside as a drawing and nothing else: parsed, and only listed elements, attributes and styles are written again."""

from __future__ import annotations

import hashlib
import html
import re
from xml.parsers import expat

from chanceline.errors import InputError
from chanceline.figures.style import PALETTE

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
LARGEST = 40_000_000
DEEPEST = 100
SHAPES = {"circle", "ellipse", "line", "path", "polygon", "polyline", "rect"}
WORDS = {"text", "tspan", "title", "desc"}
GRADIENTS = {"linearGradient", "radialGradient"}
ELEMENTS = SHAPES | WORDS | GRADIENTS | {"svg", "g", "defs", "clipPath", "use", "image", "pattern", "stop"}
# Left out with all they hold: they draw nothing (matplotlib writes both).
SILENT = {"metadata", "style"}
GEOMETRY = (
    "d points x y x1 y1 x2 y2 cx cy r rx ry fx fy dx dy width height viewBox transform offset preserveAspectRatio "
    "gradientUnits gradientTransform spreadMethod clipPathUnits patternUnits patternTransform patternContentUnits rotate "
    "textLength lengthAdjust pathLength"
)
STYLES = (
    "fill fill-opacity fill-rule stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit "
    "stroke-opacity stroke-width opacity clip-path clip-rule color display visibility image-rendering paint-order "
    "shape-rendering stop-color stop-opacity text-anchor text-rendering dominant-baseline baseline-shift letter-spacing "
    "word-spacing font font-family font-size font-stretch font-style font-variant font-weight white-space vector-effect"
)
ATTRIBUTES = {*GEOMETRY.split(), *STYLES.split()}
PROPERTIES = set(STYLES.split())
# Numbers, words, colours and quoted font names; `url(…)` only for a place in the same drawing.
PLAIN = re.compile(r"[\w\s#.,%+\-'\"()/*]*", re.ASCII)
LOCAL = re.compile(r"url\(\s*[\"']?#([\w.:-]+)[\"']?\s*\)")
CALLS = re.compile(r"(?i)\b(rgb|rgba|hsl|hsla|matrix|translate|scale|rotate|skewX|skewY)\(")
PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]+")


def safe_drawing(svg: str) -> str:
    """The same drawing without anything that could run, load or point elsewhere; refused if it tries to.

    Names inside the drawing get a prefix of their own, so that several drawings fit into one page. Colours of the palette
    become the page's variables and follow its choice of light or dark.
    """
    if len(svg) > LARGEST:
        raise _refused(f"it has more than {LARGEST:,} characters")
    drawing = _Drawing(f"d{hashlib.sha256(svg.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}-")
    try:
        drawing.read(svg)
    except expat.ExpatError as error:
        raise _refused(f"it is not well-formed XML: {error}") from None
    except UnicodeEncodeError:
        raise _refused("it is not Unicode text") from None
    return _with_variables(drawing.text())


def _refused(why: str) -> InputError:
    return InputError(f"a figure for the report must be a plain SVG drawing without scripts or outside parts ({why}).")


class _Drawing:
    """Writes again what the parser reads, element by element."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._parts: list[str] = []
        self._open: list[str] = []
        self._skipped = 0
        self._ids: list[str | None] = []
        self._holding_use: set[str] = set()
        self._used: set[str] = set()

    def read(self, svg: str) -> None:
        parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._words
        parser.Parse(svg.encode("utf-8"), True)

    def text(self) -> str:
        nested = self._used & self._holding_use
        if nested:
            raise _refused(f"{sorted(nested)[0]!r} is used and uses others itself")
        return "".join(self._parts)

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_subset: int) -> None:
        if has_subset:
            raise _refused("it declares entities")

    def _entity(self, *_: object) -> None:
        raise _refused("it declares entities")

    def _instruction(self, target: str, _data: str) -> None:
        raise _refused(f"it holds an instruction {target!r}")

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        namespace, _, name = qualified.rpartition(" ")
        if self._skipped or (name in SILENT and namespace in ("", SVG)):
            self._skipped += 1
            return
        if namespace not in ("", SVG) or name not in ELEMENTS or (not self._open) != (name == "svg"):
            raise _refused(f"it holds an element {name!r}")
        if len(self._open) > DEEPEST:
            raise _refused(f"its elements are nested more than {DEEPEST} deep")
        self._open.append(name)
        self._ids.append(attributes.get("id"))
        if name == "use":
            self._holding_use.update(one for one in self._ids if one is not None)
        written = [f' {key}="{html.escape(value, quote=True)}"' for key, value in self._kept(name, attributes)]
        self._parts.append(f"<{name}{''.join(written)}>")

    def _end(self, _qualified: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        self._ids.pop()
        self._parts.append(f"</{self._open.pop()}>")

    def _words(self, text: str) -> None:
        if not self._skipped and self._open and self._open[-1] in WORDS:
            self._parts.append(html.escape(text, quote=False))

    def _kept(self, name: str, attributes: dict[str, str]) -> list[tuple[str, str]]:
        kept = []
        for qualified, value in attributes.items():
            key = qualified.removeprefix(f"{XLINK} ")
            if key.lower().startswith("on"):
                raise _refused(f"{name!r} has a handler {key!r}")
            if key == "id":
                kept.append(("id", self._prefix + value))
            elif key == "href":
                kept.append(("href", self._reference(name, value)))
            elif key == "style":
                kept.append(("style", self._style(name, value)))
            elif key in ATTRIBUTES:
                kept.append((key, self._value(name, value)))
        return kept

    def _reference(self, name: str, value: str) -> str:
        if name == "image" and PICTURE.fullmatch(value.strip()):
            return value.strip()
        if (name == "use" or name in GRADIENTS) and re.fullmatch(r"#[\w.:-]+", value):
            if name == "use":
                self._used.add(value[1:])
            return f"#{self._prefix}{value[1:]}"
        raise _refused(f"{name!r} points to {value[:40]!r}")

    def _style(self, name: str, text: str) -> str:
        kept = []
        for declaration in text.split(";"):
            key, colon, value = declaration.partition(":")
            if colon and key.strip().lower() in PROPERTIES:
                kept.append(f"{key.strip().lower()}: {self._value(name, value.strip())}")
        return "; ".join(kept)

    def _value(self, name: str, value: str) -> str:
        local = LOCAL.sub("", value)
        if local != value and "pattern" in self._open:
            raise _refused("a pattern refers to others")
        if not PLAIN.fullmatch(local) or "(" in CALLS.sub("", local) or "/*" in local:
            raise _refused(f"{name!r} has a value {value[:40]!r}")
        return LOCAL.sub(lambda found: f"url(#{self._prefix}{found[1]})", value)


def _with_variables(drawing: str) -> str:
    names = {light: name for name, (light, _) in PALETTE.items()}
    colour = re.compile("|".join(names) + r"(?![0-9a-fA-F])", re.IGNORECASE)
    return colour.sub(lambda found: f"var(--{names[found[0].lower()]})", drawing)
