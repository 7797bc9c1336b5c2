"""Examples are run when a dialect is loaded, and say what came where it is not what was wanted."""

import json
from pathlib import Path
from textwrap import dedent

import pytest

import yaml_mapping
from streamweir import ConfigurationError, load_dialect

RULES = """
  rules:
    - {match: {k: t}, emit: {type: content, content: "${{ t }}", message_id: "${{ id }}"}}
    - {match: {k: call}, emit: {type: tool_call_start, tool_name: f}}
    - {match: {k: back}, emit: {type: tool_call_end, tool_name: f, result: "${{ r }}", for_users: true}}
    - {match: {k: err}, emit: {type: error, message: "${{ m }}"}}
    - {event: named, emit: {type: thinking, content: "${{ @ }}"}}
    - {match: {k: use}, emit: [{type: usage, total_tokens: 5}, {type: session_end}]}
    - match: {k: piece}
      emit: {type: tool_call_delta, index: 0, tool_id: "${{ id }}", arguments_delta: "${{ p }}"}
    - {match: {k: bad}, emit: {type: status, scope: node, state: "${{ s }}"}}
  write:
    rules:
      - on: content
        send:
          event: "${{ channel }}"
          data: {t: "${{ content }}", n: "${{ sequence }}", r: "${{ request_id }}"}
      - {on: tool_call_end, send: "${{ tool_name }}:${{ result }}"}
      - {on: session_end, send: [{event: over}, "[DONE]", "5"]}
"""


def load(example: str, folder: Path | None = None) -> None:
    tree = yaml_mapping.read(dedent(RULES) + f"examples: [{example}]")
    if folder is None:
        load_dialect(tree)
        return
    (folder / "acme.yaml").write_text(json.dumps(tree))
    load_dialect(folder / "acme.yaml")


@pytest.mark.parametrize(
    "example",
    [
        "{in: {k: t, t: Hi, id: m}, out: [{type: content, content: Hi, message_id: m}]}",
        "{in: {k: t, t: Hi}, out: [{type: content, content: Hi}]}",
        "{in: {k: t}, out: []}",
        "{in: [{k: t, t: a}, {k: t, t: b}], out: [{type: content, content: a}, {type: content, content: b}]}",
        "{in: {k: call}, out: [{type: tool_call_start, tool_name: f, arguments: {}}]}",
        "{in: {k: back, r: 1}, out: [{type: tool_call_end, tool_name: f, status: success, result: 1}]}",
        "{in: {k: back, r: 1}, out: [{type: tool_call_end, status: success, result: 1}]}",
        "{in: {k: back}, out: [{type: tool_call_end, tool_name: f, status: success, for_users: true}]}",
        "{in: {k: err, m: boom}, out: [{type: error, message: boom, code: UPSTREAM_ERROR,"
        " error_type: execution, recoverable: true, terminal: true}]}",
        "{in: hm, event: named, out: [{type: thinking, content: hm}]}",
        "{in: {k: use}, out: [{type: session_end, status: completed}]}",
        "{in: {k: use}, out: [{type: session_end, status: completed, summary: {total_tokens: 5}}]}",
        "{in: [{k: piece, id: c, p: '{'}, {k: piece, p: '}'}], out: [{type: tool_call_delta, tool_id: c,"
        " arguments_delta: '{'}, {type: tool_call_delta, arguments_delta: '}'}]}",
        "{in: {odd: 1}, out: [{type: data, data_type: custom, data: {name: message, value: {odd: 1}}}]}",
        '{stream: "data: {\\"k\\": \\"t\\", \\"t\\": \\"Hi\\"}\\n\\ndata: {\\"k\\": \\"use\\"}\\n\\n",'
        " gives: {status: completed, message: {content: Hi, tool_calls: []}, summary: {total_tokens: 5}}}",
        "{events: [{type: content, content: Hi}, {type: content, content: Ho, channel: c}],"
        " sends: [{t: Hi, n: 0, r: req_example}, {event: c, data: {t: Ho, n: 1, r: req_example}}]}",
        "{events: [{type: tool_call_start, tool_id: a, tool_name: f},"
        " {type: tool_call_end, tool_id: a, result: r}], sends: ['f:r']}",
        "{events: [{type: session_end}], sends: [{event: over}, '[DONE]', 5]}",
        "{events: [{type: session_end}], sends: [{event: over}, '[DONE]', '5']}",
    ],
)
def test_correct_example_passes(example: str) -> None:
    load(example)


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (
            "{in: {k: t, t: Hi}, out: [{type: content, content: Ho}]}",
            'out[0]: came {"type":"content","content":"Hi"}, wanted {"type":"content","content":"Ho"}',
        ),
        ("{in: {k: t, t: Hi, id: m}, out: [{type: content, content: Hi}]}", '"message_id":"m"'),
        ("{in: {k: t, t: Hi}, out: [{type: content, content: Hi, format: text}]}", "out[0]: came"),
        ("{in: {k: t, t: Hi}, out: []}", "out[0]: came {"),
        ("{in: {k: t, t: Hi}, out: []}", "wanted nothing more"),
        ("{in: {k: t}, out: [{type: content, content: Hi}]}", "came nothing more, wanted {"),
        ("{in: {k: back, r: 1}, out: [{type: tool_call_end, status: success, result: true}]}", '"result":1'),
        ("{in: {k: call}, out: [{type: tool_call_start, tool_name: f}]}", '"arguments":{}'),
        ("{in: {k: bad, s: odd}, out: []}", '"malformed":'),
        (
            '{stream: "data: {\\"k\\": \\"use\\"}\\n\\n", gives: {status: error}}',
            'gives.status: came "completed", wanted "error"',
        ),
        (
            '{stream: "data: {\\"k\\": \\"use\\"}\\n\\n", gives: {message: {data: [1]}}}',
            "gives.message.data: came []",
        ),
        ("{stream: nowhere.sse, gives: {status: error}}", "nowhere.sse cannot be read: No such file"),
        ("{events: [{type: content, content: Hi}], sends: [{t: Hi}]}", 'sends[0]: came {"t":"Hi","n":0'),
        ("{events: [{type: session_end}], sends: ['[DONE]']}", 'sends[0]: came {"event":"over"}'),
    ],
)
def test_failed_example_shows_result_and_expectation(example: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(example)
    assert "examples[0]: the example fails: " in str(refusal.value)
    assert message in str(refusal.value)


def test_stream_example_is_read_from_a_file_beside_the_dialect(tmp_path: Path) -> None:
    (tmp_path / "body.sse").write_text('data: {"k": "use"}\n\n')
    load("{stream: body.sse, gives: {status: completed}}", tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"acme.yaml:1:\d+ examples\[0\]: the example fails: gives.status"
    ):
        load("{stream: body.sse, gives: {status: cancelled}}", tmp_path)
