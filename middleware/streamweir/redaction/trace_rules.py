"""Rules for stack traces of eight languages, as a whole and line by line."""

from __future__ import annotations

import re
from typing import Final

from streamweir.redaction.rule import START, Rule, rule

__all__ = ["TRACE_RULES"]

_LINE_START: Final = r"(?:(?<=\n)|(?<=\\n)|(?<=\\t)|(?<![^\n])) {0,40}"

TRACE_RULES: Final[tuple[Rule, ...]] = (
    # a trace is removed to the end of the text: its end cannot be told from the text that it quotes
    rule("python trace", rf"{START}Traceback(?: \(most recent call last\)|:).*", flags=re.DOTALL),
    rule("go trace", rf"{START}goroutine \d{{1,9}} \[.*", flags=re.DOTALL),
    rule(
        "rust trace", rf"{START}(?:thread '[^'\n]{{0,200}}' panicked at |stack backtrace:).*", flags=re.DOTALL
    ),
    rule(
        "php trace",
        r"(?:PHP )?Stack trace:\s{0,4}#0 .*|(?<![^\s])#0 {1,4}[^\n]{1,300}?\(\d{1,9}\): .*",
        flags=re.DOTALL,
    ),
    rule("dotnet inner trace", r"--- End of (?:inner exception )?stack trace [^\n]{0,80}---"),
    rule(
        "python frame",
        rf"""{START}File \\?["'][^"'\n]{{1,400}}["'], line \d{{1,9}}(?:, in [\w.<>]{{1,200}})?""",
    ),
    # at com.x.Y.run(Z.java:10), at async foo (/a/b.js:1:2)
    rule(
        "java or js frame",
        rf"{START}at (?:async |new )?(?:[\w.$<>\[\]/@-]{{1,200}} ?)?"
        r"\((?:[^()\s]{1,300}\.\w{1,8}|node:[^()\s:]{1,200}|<anonymous>|Native Method|Unknown Source|native)"
        r"(?::\d{1,9}){0,2}\)",
    ),
    # at /a/b.js:1:2, run@https://x.example/app.js:1:2
    rule(
        "js frame", rf"{START}at (?:async )?(?:file|node|https?|webpack)[^\s()]{{1,300}}:\d{{1,9}}:\d{{1,9}}"
    ),
    rule(
        "firefox frame",
        r"(?<![\w$.@/-])[\w$./<-]{0,200}@(?:file|https?|resource)://[^\s@]{1,300}?:\d{1,9}:\d{1,9}",
    ),
    # at Acme.Job.Run(String name) in C:\src\Job.cs:line 3; without symbols the rest is missing
    rule(
        "dotnet frame",
        rf"{START}at [\w.<>`+\[\],]{{1,200}}\([^()\n]{{0,200}}\) in [^\n]{{1,300}}?:line \d{{1,9}}"
        rf"|{_LINE_START}at [\w<>`+\[\],]{{1,100}}\.[\w.<>`+\[\],]{{1,200}}\([^()\n]{{0,200}}\)",
    ),
    # app/x.rb:3:in `run', from x.rb:3:in 'X#run'
    rule(
        "ruby frame", r"(?:from )?(?<![\w./-])[\w./@-]{1,300}\.(?:rb|erb|rake):\d{1,9}:in [`'][^`'\n]{1,200}'"
    ),
    # #1 /srv/x.php(12): X->run()
    rule("php frame", r"#\d{1,4} [^\n(]{1,300}\(\d{1,9}\): [^\n]{1,300}|#\d{1,4} \{main\}"),
    # 3: app::run   at ./src/main.rs:4:5
    rule(
        "rust frame",
        rf"{_LINE_START}\d{{1,4}}: {{1,4}}(?:0x[0-9a-f]{{4,16}} - )?[\w<>$.]{{1,100}}::[^\n]{{1,300}}",
    ),
    rule("java frames left out", r"\.\.\. \d{1,6} (?:common frames omitted|more)\b"),
)
