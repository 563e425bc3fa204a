"""Drawings from outside draw and do nothing else: hostile ones are refused or inert, in a browser too."""

from __future__ import annotations

import re
from io import StringIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
from browser import run_script

from chanceline.errors import InputError
from chanceline.report.drawing import ATTRIBUTES, DEEPEST, safe_drawing
from chanceline.report.page import Page, picture
from chanceline.report.theme import with_policy

OWN = "document.title='owned'"
NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
HTML = 'xmlns="http://www.w3.org/1999/xhtml"'
PAGE = "data:text/html;base64,PHNjcmlwdD50b3AuZG9jdW1lbnQudGl0bGU9J293bmVkJzwvc2NyaXB0Pg=="


def svg(inside: str, more: str = "") -> str:
    return f"<svg {NS} {more}>{inside}</svg>"


HOSTILE = {
    "script": svg(f"<script>{OWN}</script>"),
    "script in CDATA": svg(f"<script><![CDATA[{OWN}]]></script>"),
    "script from outside": svg('<script href="https://example.invalid/x.js"/>'),
    "script by xlink": svg('<script xlink:href="data:text/javascript,document.title=1"/>'),
    "script in other letters": f"<svg {NS}><SCRIPT>{OWN}</SCRIPT></svg>",
    "script of HTML": svg(f'<h:script xmlns:h="http://www.w3.org/1999/xhtml">{OWN}</h:script>'),
    "onload": svg("", f'onload="{OWN}"'),
    "onload without a space": f"<svg/onload={OWN}>",
    "onload after a line break": f'<svg {NS}\nonload\n=\n"{OWN}"/>',
    "ONLOAD": svg("", f'ONLOAD="{OWN}"'),
    "onerror of an image": svg(f'<image href="data:image/png;base64,AAAA" onerror="{OWN}"/>'),
    "onbegin": svg(f'<animate onbegin="{OWN}" attributeName="x" dur="1s"/>'),
    "animated link": svg('<a><set attributeName="href" to="javascript:alert(1)"/><text>x</text></a>'),
    "link": svg('<a href="javascript:document.title=1"><text y="20">press</text></a>'),
    "link by xlink, encoded": svg('<a xlink:href="java&#x73;cript:document.title=1"><text>press</text></a>'),
    "iframe": svg(f'<foreignObject><iframe {HTML} srcdoc="&lt;script&gt;{OWN}&lt;/script&gt;"/></foreignObject>'),
    "bare iframe": f'<iframe srcdoc="<script>top.{OWN}</script>"></iframe>',
    "iframe after the drawing": svg("") + f'<iframe srcdoc="<script>top.{OWN}</script>"></iframe>',
    "HTML in foreignObject": svg(f'<foreignObject><img {HTML} src="x" onerror="alert(1)"/></foreignObject>'),
    "embed": svg(f'<embed xmlns="http://www.w3.org/1999/xhtml" src="{PAGE}"/>'),
    "image from outside": svg('<image href="https://example.invalid/pixel.png" width="1" height="1"/>'),
    "image from the disk": svg('<image xlink:href="file:///etc/passwd" width="1" height="1"/>'),
    "image that is SVG": svg('<image href="data:image/svg+xml;base64,PHN2Zy8+" width="1" height="1"/>'),
    "image through a filter": svg('<filter id="f"><feImage href="https://example.invalid/pixel.png"/></filter>'),
    "use from outside": svg('<use href="https://example.invalid/x.svg#a"/>'),
    "use of data": svg("<use href=\"data:image/svg+xml,&lt;svg id='a'/&gt;#a\"/>"),
    "style that imports": svg("<style>@import url(https://example.invalid/x.css);</style>"),
    "style that hides the page": svg("<style>main { display: none }</style>"),
    "style attribute that loads": svg('<rect style="fill: url(https://example.invalid/x.svg#a)" width="9" height="9"/>'),
    "style attribute that covers": svg('<rect style="position: fixed; inset: 0; z-index: 9" width="9" height="9"/>'),
    "attribute that loads": svg('<rect fill="url(https://example.invalid/x.svg#a)" width="9" height="9"/>'),
    "escaped url": svg(r'<rect style="fill: u\72l(https://example.invalid/x.svg#a)" width="9" height="9"/>'),
    "entities": f'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>{svg("<text>&b;</text>")}',
    "entity from the disk": f'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>{svg("<text>&a;</text>")}',
    "style sheet instruction": f'<?xml-stylesheet href="https://example.invalid/x.css"?>{svg("")}',
    "patterns of patterns": svg('<pattern id="a"><rect fill="url(#a)" width="9" height="9"/></pattern>'),
    "uses of uses": svg('<g id="a"><use href="#b"/><use href="#b"/></g><g id="b"><path id="c" d="M0 0"/></g><use href="#a"/>'),
    "very deep": svg("<g>" * (DEEPEST + 5) + "</g>" * (DEEPEST + 5)),
    "comment that ends a comment": svg(f"<!-- --!><script>{OWN}</script> -->"),
    "text that ends the drawing": svg(f"<text>&lt;/svg&gt;&lt;script&gt;{OWN}&lt;/script&gt;</text>"),
    "title that ends itself": svg(f"<title>&lt;/title&gt;&lt;img src=x onerror={OWN}&gt;</title>"),
    "name with a quote": svg("<g id='\"&gt;&lt;script&gt;document.title=1&lt;/script&gt;'/>"),
    "base": svg('<base xmlns="http://www.w3.org/1999/xhtml" href="https://example.invalid/"/>'),
    "refresh": svg('<meta xmlns="http://www.w3.org/1999/xhtml" http-equiv="refresh" content="0;url=https://example.invalid/"/>'),
}
INERT = {
    "style that imports", "style that hides the page", "style attribute that covers", "text that ends the drawing",
    "title that ends itself", "name with a quote",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_drawings_are_refused_or_made_harmless(name):
    if name not in INERT:
        with pytest.raises(InputError, match="plain SVG drawing without scripts") as caught:
            safe_drawing(HOSTILE[name])
        assert "\n" not in str(caught.value)
        return
    drawing = safe_drawing(HOSTILE[name])
    assert not re.search(r"<(?!/?(svg|g|text|title|rect)\b)", drawing)
    assert not re.search(r"position|@import|display", drawing)


def test_hostile_drawings_in_a_browser(tmp_path):
    """Those that are let in do nothing, and the page's policy alone would stop nearly all of the rest."""
    page = Page("calm", {}, "m")
    for name in sorted(INERT):
        page.add(picture(HOSTILE[name], name))
    loaded, shown = "performance.getEntriesByType('resource').length", "getComputedStyle(document.querySelector('main')).display"
    assert run_script(page.render(), f"[document.title, {loaded}, {shown}]", tmp_path) == ["calm", 0, "block"]
    raw = Page("calm", {}, "m")
    raw.add(*(HOSTILE[name] for name in sorted(HOSTILE) if name not in ("very deep", "refresh", "title that ends itself")))
    assert run_script(raw.render(), "document.title", tmp_path) == "calm"


def test_what_matplotlib_draws_is_let_through(tmp_path):
    chart, axes = plt.subplots(1, 3, figsize=(9, 3))
    axes[0].plot([1, 2, 3], "o--", label=r"$\alpha_{\rm VS}$")
    axes[0].legend()
    axes[1].imshow(np.eye(4), cmap="viridis")
    axes[2].fill_between([0, 1], [1, 2], hatch="//", alpha=0.5)
    axes[2].fill_between([0, 1], [3, 4], alpha=0.5)
    content = StringIO()
    chart.savefig(content, format="svg")
    plt.close(chart)
    drawing = safe_drawing(content.getvalue())
    before, after = content.getvalue(), drawing
    for element in ("<path", "<use", "<image", "<clipPath"):
        assert after.count(element) == before.count(element) > 0
    ids = re.findall(r' id="([^"]+)"', after)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', after)) <= {(one, "") for one in ids} | {("", one) for one in ids}
    page = Page("calm", {}, "m")
    page.add(picture(content.getvalue(), "drawn"))
    paths, images = (f"document.querySelectorAll('svg {name}').length" for name in ("path", "image"))
    assert run_script(page.render(), f"[{paths}, {images}]", tmp_path) == [before.count("<path"), 1]


def test_attributes_are_those_that_draw():
    assert not [name for name in ATTRIBUTES if name.lower().startswith("on") or name in ("href", "src", "style", "class")]
    assert safe_drawing(svg("", 'class="x" data-x="1" width="5"')).startswith('<svg width="5">')


def test_policy_names_the_scripts_of_a_page():
    page = with_policy('<meta charset="utf-8"><script>let a = 1;</script>', ["let a = 1;"])
    assert "script-src 'sha256-" in page
    assert "script-src" not in with_policy('<meta charset="utf-8"><script>let a = 1;</script>')
    assert "unsafe-inline" not in page.partition("script-src")[2].partition(";")[0]
    with pytest.raises(ValueError, match="character set"):
        with_policy("<p>")
