# SPDX-License-Identifier: Apache-2.0
"""What looks like a secret in any text: credentials in URLs, what is called a password, tokens by their form."""

import re
from collections.abc import Callable

from railgauge.topo.facts.redaction.path_names import renamed

URL = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*://)(?:(?P<login>[^/\s@]*)@)?(?P<host>[^/\s:?#]+)?(?P<rest>[^\s?#]*)(?P<query>[?#]\S*)?"
)
CALLED = re.compile(
    r"(?P<name>[\w-]*(?:passw|passphrase|pwd|secret|token|api[_-]?key|credential|private[_-]?key|auth)[\w-]*[\"']?\s*[=:]\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|(?:(?:Bearer|Basic)\s+)?[^\s,;]+)",
    re.IGNORECASE,
)
FORMS = re.compile(
    r"\b(?:gh[a-z]_\w{16,}|github_pat_\w+|glpat-[\w-]{12,}|sk-[\w-]{12,}|hf_\w{12,}|xox[a-z]-[\w-]{10,}|A[KS]IA[0-9A-Z]{12,}"
    r"|nvapi-[\w-]{12,}|eyJ[\w-]{8,}(?:\.[\w-]+)*|\$\w{1,2}\$[\w./$=+-]{8,}|(?:Bearer|Basic)\s+[\w.+/=~-]{8,})"
)
RANDOM = re.compile(r"(?<![\w+/=-])(?=[\w+/=-]*[a-z])(?=[\w+/=-]*[A-Z])(?=[\w+/=-]*\d)[\w+/=-]{20,}(?![\w+/=-])")
"""A long word of digits and both kinds of letters."""


def without_secrets(text: str, pseudonym: Callable[[str, str], str]) -> str:
    """The text with `pseudonym(kind, word)` for each secret, and for the hosts of URLs."""

    def url(found: re.Match[str]) -> str:
        login = f"{pseudonym('secret', found['login'])}@" if found["login"] else ""
        host = pseudonym("host", found["host"]) if found["host"] else ""
        query = f"?{pseudonym('secret', found['query'])}" if found["query"] else ""
        return f"{found['scheme']}{login}{host}{renamed(found['rest'], pseudonym)}{query}"

    def called(found: re.Match[str]) -> str:
        value = found["value"]
        quote = value[0] if value[0] in "\"'" else ""
        return f"{found['name']}{quote}{pseudonym('secret', value)}{quote}"

    def whole(found: re.Match[str]) -> str:
        return pseudonym("secret", found[0])

    text = URL.sub(url, text)
    text = CALLED.sub(called, text)
    return RANDOM.sub(whole, FORMS.sub(whole, text))
