"""The names of fields and messages, and their usual meaning. Case and underscores are ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from streamweir.learning.foreign_words import english

__all__ = [
    "ARGUMENTS",
    "CALL_IDS",
    "DURATIONS",
    "END_WORDS",
    "ENUMS",
    "ERROR_TEXTS",
    "ERROR_WORDS",
    "FINISH",
    "IDLE",
    "MESSAGE_IDS",
    "NAMES_OF_MESSAGES",
    "NO_ANSWER_WORDS",
    "NO_TEXT",
    "PIECES_WORDS",
    "RESULTS",
    "RESULT_WORDS",
    "SESSION_IDS",
    "START_WORDS",
    "TEXT_RANKS",
    "TEXT_WORDS",
    "THINKING",
    "THOUGHTS",
    "TOOL",
    "TOOL_ENDS",
    "TOOL_NAMES",
    "TOOL_STARTS",
    "TOOL_WORDS",
    "USAGE",
    "VAGUE_RESULTS",
    "plain",
    "words_of",
]

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


_SEPARATORS: Final = re.compile(r"[\W_]+")


def plain(name: object) -> str:
    """Return a name in lower case without underscores and dashes: `tool_call_id` equals `toolCallId`.

    Words of other languages are replaced by English ones.
    """
    return _plain(name if isinstance(name, str) else str(name))


@lru_cache(maxsize=8192)
def _plain(name: str) -> str:
    return _SEPARATORS.sub("", english(name).lower())


def words_of(names: Iterable[object]) -> list[str]:
    """Return the words of names in lower case: `toolCall` has two."""
    return [word.lower() for name in names if isinstance(name, str) for word in _WORD.findall(english(name))]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Fields that tell messages apart

NAMES_OF_MESSAGES: Final = (
    *("type", "event", "kind", "msgtype", "messagetype", "eventtype", "evt", "ev", "typ", "action", "op"),
    *("cmd", "command", "t", "e", "k"),
)
"""Fields whose values name messages if they have at least two different values; likelier fields first."""

ENUMS: Final = (
    *("object", "status", "phase", "state", "stage", "role", "step", "channel", "section", "contenttype"),
    *("blocktype", "category", "mode", "part", "subtype", "what", "name", "node", "code", "source", "label"),
)
"""Fields whose values name messages only if messages with different values also have different fields."""

# Texts

THOUGHTS: Final = re.compile(r"reason|think|thought|\bcot\b", re.IGNORECASE)
"""Matches names of messages and fields with thinking; `finish_reason` is excluded."""
THINKING: Final = re.compile(r"reason(?!able|s?$)|reasoning|think|thought|\bcot\b", re.IGNORECASE)

TEXT_RANKS: Final = {
    **dict.fromkeys(("content", "text", "delta", "token", "answer", "txt", "textdelta", "contentdelta"), 5),
    **dict.fromkeys(
        (
            *("chunk", "outputtext", "response", "reply", "completion", "markdown", "piece", "tok"),
            *("fulltext", "finalanswer"),
        ),
        4,
    ),
    **dict.fromkeys(
        ("message", "output", "msg", "data", "value", "body", "result", "md", "word", "words"), 3
    ),
    **dict.fromkeys(
        ("t", "c", "v", "s", "d", "w", "x", "say", "says", "part", "partial", "final", "full"), 3
    ),
}
"""For the name of a field, how likely the field is the text of the answer."""

TEXT_WORDS: Final = _set(
    "token tokens tok chunk delta text txt content message messages msg answer"
    " reply response output completion"
    " say speak speech llm assistant ai bot partial word words final markdown generation stream piece model"
    " result chat summary append write prose complete completed done finished end"
)
NO_ANSWER_WORDS: Final = _set(
    "status progress step log info debug trace title user human question query input prompt system ping meta"
    " metadata start started usage error err warn warning plan task node source sources reference references"
    " citation citations suggest suggestion suggestions follow followup notice"
    " notify session created init config"
    " heartbeat state tool tools function plugin card chart table image file artifact echo request ack hello"
    " instruction context retrieval search document documents docs stats metrics timing verbose"
)
NO_TEXT: Final = _set(
    "id uuid created createdat createdate updatedat timestamp time ts date model"
    " version role status state lang"
    " language locale user username userid author agent agentname url uri link mime"
    " mimetype format title name"
    " toolname stage phase seq sequence index hash md5 signature level severity channel node nodename finish"
    " finishreason stopreason donereason code object type event kind traceid spanid host provider"
)
"""Names of fields that are never text of the answer; names that end in `id` are excluded as well."""

# Tools

TOOL: Final = re.compile(r"tool|func|plugin|skill", re.IGNORECASE)
TOOL_WORDS: Final = _set(
    "tool tools toolcall toolcalls function functions func fn plugin skill action"
    " call calls invoke mcp usedtools"
    " command observation tooluse toolresult toolstart toolend"
)
TOOL_NAMES: Final = (
    "functionname",
    *("toolname", "toolcallname", "fnname", "funcname", "pluginname"),
    *("actionname", "skillname"),
    *("name", "tool", "function", "fn", "func", "plugin", "action", "skill", "api", "method", "n"),
)
ARGUMENTS: Final = (
    *("arguments", "args", "toolargs", "toolarguments", "toolinput", "functionargs", "functionarguments"),
    *("rawarguments", "actioninput", "input", "inputs", "toolkwargs", "kwargs", "params", "parameters"),
    *("toolparams", "toolparameters", "argumentsdelta", "argsdelta", "argumentdelta", "inputtextdelta"),
    *("inputjsondelta", "partialjson", "inputjson", "arg", "argv", "payload", "with", "a"),
)
PIECES: Final = ("delta", "chunk", "argumentsdelta", "argsdelta", "partialjson", "text", "content", "data")
RESULTS: Final = (
    *("result", "results", "toolresult", "tooloutput", "functionresult", "output", "outputs", "observation"),
    *("toolresponse", "response", "stdout", "out", "returnvalue", "returned", "return", "ret", "res", "r"),
)
VAGUE_RESULTS: Final = ("content", "data", "value", "answer", "text", "message", "body", "payload", "summary")
CALL_IDS: Final = (
    *("toolcallid", "callid", "toolid", "tooluseid", "functioncallid", "actionid"),
    *("invocationid", "toolcall"),
    *("stepid", "call", "id", "cid", "tid", "ref", "runid", "uid", "key"),
)
DURATIONS: Final = ("durationms", "elapsedms", "latencyms", "tookms", "ms")
START_WORDS: Final = _set(
    "start started starting begin begins beginning began use using call calls calling invoke invoking invoked"
    " input request requested running run pending executing exec execute open"
    " opened todo doing progress processing"
)
RESULT_WORDS: Final = _set(
    "end ended result results output finish finished done complete completed"
    " observation response return returned"
    " success successful succeeded failed failure ret out answer error ok close closed stop stopped after"
)
PIECES_WORDS: Final = _set("delta deltas chunk args arguments argument params input partial")
TOOL_STARTS: Final = START_WORDS | {"in", "before", "created", "queued"}
TOOL_ENDS: Final = RESULT_WORDS

# Ends, errors, signs of life

END_WORDS: Final = _set(
    "done end ended finish finished fin complete completed completion bye stop"
    " stopped close closed over final eos"
    " eof goodbye success succeeded terminate terminated quit exit"
)
FINISH: Final = _set(
    "done finished isend isfinal isfinished final last end complete completed finishreason donereason stop"
    " stopreason isdone islast finish over eos eof isover isstop iscomplete iscompleted isfinish"
)
"""Names of fields that are true, or not empty, only at the end of the answer."""

ERROR_WORDS: Final = _set("error err errors fail failed failure exception fatal")
ERROR_TEXTS: Final = (
    *("message", "errormessage", "error", "msg", "errormsg", "errmsg", "detail", "description", "text"),
    *("content", "reason", "errortext", "data", "why"),
)
IDLE: Final = re.compile(r"ping|heart_?beat|keep_?alive|^hb$|^noop$", re.IGNORECASE)

# Ids and numbers

MESSAGE_IDS: Final = ("messageid", "msgid", "mid", "answerid", "replyid")
SESSION_IDS: Final = {
    **dict.fromkeys(("sessionid", "chatid", "session", "sid"), "session_id"),
    **dict.fromkeys(("conversationid", "threadid", "conversation", "thread", "convid"), "thread_id"),
}
USAGE: Final = {
    **dict.fromkeys(
        ("prompttokens", "inputtokens", "promptevalcount", "inputcount", "prompttokencount", "tokensin"),
        "prompt_tokens",
    ),
    **dict.fromkeys(
        ("completiontokens", "outputtokens", "evalcount", "outputcount", "candidatestokencount", "tokensout"),
        "completion_tokens",
    ),
    **dict.fromkeys(("totaltokens", "totaltokencount", "tokencount"), "total_tokens"),
}
