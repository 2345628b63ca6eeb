# SPDX-License-Identifier: Apache-2.0
"""Findings as a part of an HTML page: the worst first, each with its evidence; what passed in a line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from railgauge.topo.findings.finding import Finding, Level
from railgauge.topo.render import palette
from railgauge.topo.render.findings import SHOWN, also, cause_groups, consequences, follows_text, ids_of
from railgauge.topo.render.markup import escape, themed

BADGES = {**palette.LEVELS, Level.PASS: palette.PASSED}
STYLE = """\
.finding { border-left: 4px solid var(--rule); padding: .1rem 0 .1rem .9rem; margin: 0 0 1rem; max-width: 60rem }
.finding p { margin: .2rem 0 }
.finding dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: .3rem 0; color: var(--quiet) }
.finding dd { margin: 0; overflow-wrap: anywhere }
.level { display: inline-block; min-width: 4.5rem; padding: 0 .4rem; border-radius: .3rem; font-weight: 700;
  text-align: center; color: @; background: var(--quiet) }
.finding code, .finding p { overflow-wrap: anywhere }
""".replace("@", palette.ON_FILL)
STYLE += themed([(f".finding.{level}", "border-color", colour) for level, colour in palette.LEVELS.items()])
STYLE += "\n" + themed([(f".level.{level}", "background", colour) for level, colour in BADGES.items()])
MOST = 16  # of one rule; a page with hundreds of them is read by nobody


def html(findings: Sequence[Finding]) -> str:
    """The inside of a section, a cause once; "" without findings."""
    parts: list[str] = []
    below = consequences(findings)
    moved = {id(one) for its in below.values() for one in its}
    shown: Counter[str] = Counter()
    for alike in cause_groups([one for one in findings if id(one) not in moved]):
        name = alike[0].id
        shown[name] += 1
        if shown[name] <= MOST:
            parts.append(_cause(alike, [one for each in alike for one in below.get(id(each), ())]))
    parts += [f"<p>... and {count - MOST} more of {escape(name)}</p>" for name, count in shown.items() if count > MOST]
    unknown = [one for one in findings if one.level is Level.UNKNOWN]
    if unknown:
        rows = "".join(f"<li><code>{escape(one.id)}</code>: {escape(one.message)}</li>" for one in unknown)
        parts.append(f'<div class="finding UNKNOWN"><p>{badge(Level.UNKNOWN)}</p><ul>{rows}</ul></div>')
    passed = [f"<code>{escape(name)}</code>" for name in ids_of(findings, Level.PASS)]
    parts += [f"<p>{badge(Level.PASS)} {', '.join(passed)}</p>"] if passed else []
    return "\n".join(parts)


def badge(level: Level) -> str:
    """A level as a badge."""
    return f'<span class="level {level}">{level}</span>'


def counted(findings: Sequence[Finding]) -> str:
    """How many findings there are of each level, as badges."""
    counts = Counter(one.level for one in findings)
    return f'<p class="counts">{" ".join(f"{badge(level)} {counts[level]}" for level in SHOWN if counts[level])}</p>'


def block(one: Finding, facts: Iterable[tuple[str, str]]) -> str:
    """A finding: its level, id, device and words, and facts by name below."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts if text)
    about = f"<code>{escape(one.id)}</code> {escape(one.subject)}"
    return (
        f'<div class="finding {one.level}"><p>{badge(one.level)} {about}</p>'
        f"<p>{escape(one.message)}</p><dl>{rows}</dl></div>"
    )


def _cause(alike: Sequence[Finding], follows: Sequence[Finding]) -> str:
    one, *others = alike
    facts = [("also", also(others)), ("since the baseline", str(one.since or ""))]
    facts += [("effect", effect) for effect in dict.fromkeys(each.effect for each in alike)]
    facts += [("remedy", one.remedy), *((name, _text(value)) for name, value in one.evidence.items())]
    return block(one, [*facts, *(("follows", follows_text(each)) for each in follows)])


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(its)}" for name, its in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
