"""Reports made by hand: one as a person would get it, and one whose names are as bad as names can be."""

from __future__ import annotations

from typing import Any

EVIL = "<script>alert(1)</script>"
EVIL_PICTURE = """<?xml version="1.0"?>
<!DOCTYPE svg [<!ENTITY evil "boo">]>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="300pt" height="150pt"
  viewBox="0 0 300 150" onload="alert(2)" class="skip">
 <metadata><a xmlns="urn:other">meta</a></metadata>
 <script>alert(3)</script>
 <style>* { display: none } @import url(https://example.org/style.css);</style>
 <defs><clipPath id="p1"><rect x="0" y="0" width="300" height="150"/></clipPath></defs>
 <a xlink:href="javascript:alert(4)"><text>link</text></a>
 <foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="alert(5)"/></foreignObject>
 <animate attributeName="href" to="javascript:alert(6)"/>
 <image xlink:href="https://example.org/spy.png" width="10" height="10"/>
 <image xlink:href="data:image/svg+xml;base64,PHN2Zy8+" width="10" height="10"/>
 <use xlink:href="https://example.org/other.svg#p"/>
 <rect clip-path="url(#p1)" width="300" height="150"
   style="fill: #c9d6e3; background: image-set('https://example.org/a.png' 1x); stroke: url(https://example.org/b.svg#c)"/>
 <text x="10" y="60" fill="#333333" onclick="alert(7)">&lt;script&gt;alert(1)&lt;/script&gt;</text>
 <text x="10" y="90" fill="url(&quot;https://example.org/d.svg#e&quot;)">plain</text>
</svg>"""


def picture(colour: str = "#c8501e") -> str:
    """A picture as matplotlib writes it, with a clip path that has the same id in each."""
    return f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="244.8pt"
  height="200pt" viewBox="0 0 244.8 200" version="1.1">
 <defs><style type="text/css">*{{stroke-linejoin: round}}</style></defs>
 <g id="figure_1">
  <path d="M 0 200 L 244.8 200 L 244.8 0 L 0 0 z" style="fill: #ffffff"/>
  <g id="axes_1">
   <path d="M 30 170 L 235 20" clip-path="url(#p7)" style="fill: none; stroke: #333333; stroke-width: 1"/>
   <path d="M 30 170 L 100 130 L 235 30" clip-path="url(#p7)" style="fill: none; stroke: {colour}; stroke-width: 2"/>
   <text x="30" y="190" style="font: 10px sans-serif; fill: #333333">predicted</text>
  </g>
 </g>
 <defs><path id="dot" d="M -3 -3 L 3 -3 L 3 3 L -3 3 z"/></defs>
 <defs><clipPath id="p7"><rect x="30" y="20" width="205" height="150"/></clipPath></defs>
 <use xlink:href="#dot" x="100" y="130" style="fill: {colour}"/>
</svg>"""


def cell(text: str, value: float | None = None, **more: Any) -> dict[str, Any]:
    return {"text": text, "value": value, **more}


def interval(value: float, low: float, high: float, reference: float = 0.0) -> dict[str, Any]:
    text = f"{value:.1f} ({low:.1f} to {high:.1f}) points"
    return cell(text, value, low=low, high=high, reference=reference, beyond=not low <= reference <= high)


def column(name: str, kind: str = "number") -> dict[str, str]:
    return {"name": name, "type": kind}


GROUP_COLUMNS = [
    column("Group", "text"),
    column("Rows"),
    column("Predicted"),
    column("Happened"),
    column("Happened minus predicted, with joint 95 % interval", "interval"),
    column("adjusted p", "pvalue"),
]


def groups(rows: list[tuple[str, int, float, float, float, float]], caption: str, **more: Any) -> dict[str, Any]:
    """A table of groups: name, rows, predicted and happened in percent, half the length of the interval, p."""
    cells = [
        [
            cell(name),
            cell(f"{n:,}".replace(",", " "), n),
            cell(f"{said:.1f} %", said),
            cell(f"{was:.1f} %", was),
            interval(was - said, was - said - half, was - said + half),
            cell(f"{p:.3f}", p, beyond=p < 0.05),
        ]
        for name, n, said, was, half, p in rows
    ]
    return {"kind": "table", "caption": caption, "columns": GROUP_COLUMNS, "rows": cells, **more}


LENSES = ["P(disease)", "sure of either class", "age | cholesterol"]
CARDIO = [
    ("cholesterol 2", 2785, 63.9, 58.9, 2.7, 0.001),
    ("age 48 to 54", 5255, 48.7, 45.4, 2.2, 0.001),
    ("age 58 to 65", 5244, 63.2, 65.4, 2.1, 0.001),
    ("gender 1", 13706, 51.1, 49.0, 1.4, 0.001),
    ("cholesterol 3", 2466, 76.5, 77.0, 2.9, 0.386),
]
WORDS = "The model claims more than what happens, most of all in the middle of the range, where most rows are."


def of_lens(lens: str) -> list[dict[str, Any]]:
    return [
        {"kind": "text", "lens": lens, "sentences": [f"Only {lens} sees this."]},
        {"kind": "picture", "lens": lens, "svg": picture(), "alt": f"Curve of {lens}", "caption": f"Seen as {lens}."},
    ]


def report() -> dict[str, Any]:
    """A report with every kind of block."""
    where = [
        {"kind": "text", "strong": "Cholesterol 2 is off the most.", "sentences": [WORDS, "p = 0.001, 2 785 rows."]},
        groups(CARDIO, "Groups, the worst first."),
        {
            "kind": "table",
            "caption": "Lens by lens.",
            "columns": [column("Looked at", "text"), column("Error")],
            "rows": [[cell(f"row of {lens}"), cell(f"{k}.5", k + 0.5)] for k, lens in enumerate(LENSES)],
            "lens_of_row": LENSES,
        },
        *(block for lens in LENSES for block in of_lens(lens)),
    ]
    four = [
        {
            "kind": "simplex",
            "classes": ["cat", "dog", "car", "truck"],
            "arrows": [
                {"predicted": [0.7, 0.1, 0.1, 0.1], "happened": [0.6, 0.2, 0.1, 0.1], "rows": 120},
                {"predicted": [0.1, 0.7, 0.1, 0.1], "happened": [0.1, 0.5, 0.3, 0.1], "rows": 300},
                {"predicted": [0.25, 0.25, 0.25, 0.25], "happened": [0.2, 0.3, 0.2, 0.3], "rows": 40},
                {"predicted": [0.0, 0.0, 0.3, 0.7], "happened": [0.0, 0.05, 0.3, 0.65], "rows": 500},
            ],
            "alt": "Arrows in a tetrahedron of cat, dog, car and truck",
            "caption": "From predictions to outcomes.",
        }
    ]
    method = [
        {"kind": "text", "sentences": [WORDS, WORDS]},
        {"kind": "text", "strong": "To do it again", "sentences": []},
        {"kind": "code", "language": "console", "text": "calibstat report cardio.csv --label actual -o report.html"},
        {
            "kind": "code",
            "language": "python",
            "text": "import calibstat as cs\nif 1 < 2 and 3 > 2:\n    cs.report(sample)",
        },
    ]
    terms = [
        {"term": "calibrated", "meaning": "Of the rows with a prediction of 30 %, about 30 % happen."},
        {"term": "p", "meaning": "How often noise alone shows as much."},
    ]
    return {
        "schema": "calibstat-report/1",
        "title": "Calibration of P(disease)",
        "made": {"calibstat": "0.1.0", "python": "3.12.1", "libraries": {"numpy": "2.1.0"}, "seed": 0},
        "source": [
            {"name": "", "file": "cardio.csv", "rows": 21000, "classes": ["no", "yes"], "told": "labels from 'actual'."}
        ],
        "answer": {
            "headline": "The model is slightly too sure: it claims 51.1 %, and 49.8 % happens.",
            "sentences": [
                "The error is small but real: 2.3 percentage points on average, where noise alone would show 0.9 "
                "(p < 0.000001, 21 000 rows).",
                "It is shown to be below 5 points (95 % confidence).",
            ],
            "tiles": [
                {"name": "Happened / predicted", "value": "0.975", "range": "0.962 to 0.989"},
                {"name": "Slope", "value": "0.957", "range": "0.926 to 0.987"},
                {"name": "Average error (ECE)", "value": "0.023", "range": "noise alone 0.009"},
                {"name": "Worst group", "value": "cholesterol 2", "range": "63.9 % said, 58.9 % happened"},
            ],
        },
        "lenses": LENSES,
        "answers": [
            {"lens": lens, "headline": f"Through {lens} it is off.", "sentences": [f"Only {lens} errs."], "tiles": []}
            for lens in LENSES[1:]
        ],
        "sections": [
            {"id": "where", "label": "Where", "heading": "For whom is it off?", "blocks": where},
            {"id": "four", "label": "Four classes", "heading": "Where do four classes go?", "blocks": four},
            {"id": "method", "label": "Method", "heading": "How was this computed?", "blocks": method},
            {
                "id": "words",
                "label": "Words",
                "heading": "What the words mean",
                "blocks": [{"kind": "terms", "terms": terms}],
            },
        ],
    }


def hostile() -> dict[str, Any]:
    """A report whose every text that may come from data holds a script, or is very long, with many rows and lenses."""
    long = "a_very_long_name_without_any_space_" * 8
    lenses = [f"P({EVIL})", long, *(f'lens {k} "quoted" & so on' for k in range(8))]
    many = [(f"{EVIL} {k:02}", 7 * k + 1, 50.0, 50.0 + (-1) ** k * k / 10, 2.0, 0.001 * k) for k in range(59)]
    blocks = [
        {"kind": "text", "strong": EVIL, "sentences": [EVIL, long]},
        groups([*many, (long, 3, 10.0, 20.0, 12345678.9, 1.0)], f"Caption {EVIL}"),
        {"kind": "code", "language": "console", "text": f"calibstat report '{EVIL}' {long}"},
        {"kind": "terms", "terms": [{"term": EVIL, "meaning": EVIL}, {"term": long, "meaning": long}]},
        {
            "kind": "simplex",
            "classes": [EVIL, long, '"', "&"],
            "arrows": [{"predicted": [1, 0, 0, 0], "happened": [0, 1, 0, 0], "rows": 1}],
            "alt": f'"{EVIL}',
            "caption": EVIL,
        },
        *(
            {"kind": "picture", "lens": lens, "svg": EVIL_PICTURE, "alt": f'"{EVIL}', "caption": lens}
            for lens in lenses
        ),
    ]
    return {
        "schema": "calibstat-report/1",
        "title": f"Calibration of P({EVIL})",
        "made": {"calibstat": "0.1.0", "python": "3.12.1", "libraries": {}, "seed": None},
        "source": [{"name": EVIL, "file": f"{EVIL}.csv", "rows": 7, "classes": [EVIL, long], "told": EVIL}],
        "answer": {
            "headline": f"The model is too sure of {EVIL}.",
            "sentences": [EVIL, long],
            "tiles": [{"name": EVIL, "value": long, "range": EVIL}],
        },
        "lenses": lenses,
        "answers": [],
        "sections": [{"id": "where", "label": EVIL, "heading": EVIL, "blocks": blocks}],
    }
