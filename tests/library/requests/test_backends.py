"""What the servers of dialects that are only read are sent, row by row."""

from typing import Any

import pytest

from streamweir import write_request
from written_requests import answer, check_refused, check_written

HI = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "Be brief."}
PICTURE = {"type": "image", "url": "https://a.example/b.png"}
BYTES = {"type": "image", "base64": "YWI=", "media_type": "image/png"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "snow", "arguments": {"where": "north"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "deep"}
TOOL = {"name": "snow", "description": "How deep?", "parameters": {"type": "object", "properties": {}}}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": "hi"}, *parts]}


WRITTEN: list[tuple[str, str, dict[str, Any], list[dict[str, Any]]]] = [
    (
        "vercel-data",
        "/api/chat",
        {"messages": [SYSTEM, user(BYTES, PICTURE), CALL, RESULT]},
        [
            {
                "body": {
                    "id": "made-1",
                    "messages": [
                        {
                            "id": "made-2",
                            **SYSTEM,
                            "parts": [{"type": "text", "text": "Be brief."}],
                        },
                        {
                            "id": "made-3",
                            **HI,
                            "parts": [
                                {"type": "text", "text": "hi"},
                                {"type": "file", "mimeType": "image/png", "data": "YWI="},
                            ],
                            "experimental_attachments": [
                                {"contentType": "image/png", "url": "data:image/png;base64,YWI="},
                                {"contentType": "image/png", "url": "https://a.example/b.png"},
                            ],
                        },
                        {
                            "id": "made-4",
                            "role": "assistant",
                            "content": "",
                            "parts": [
                                {
                                    "type": "tool-invocation",
                                    "toolInvocation": {
                                        "state": "result",
                                        "toolCallId": "c1",
                                        "toolName": "snow",
                                        "args": {"where": "north"},
                                        "result": "deep",
                                    },
                                }
                            ],
                        },
                    ],
                }
            }
        ],
    ),
    (
        "ollama",
        "/api/chat",
        {
            "model": "m:1b",
            "messages": [SYSTEM, user(BYTES), CALL, RESULT],
            "tools": [TOOL],
            "parameters": {"temperature": 0.2, "max_tokens": 5, "stop": ["x"], "seed": 7},
        },
        [
            {
                "body": {
                    "model": "m:1b",
                    "options": {"temperature": 0.2, "num_predict": 5, "stop": ["x"], "seed": 7},
                    "messages": [
                        SYSTEM,
                        {**HI, "images": ["YWI="]},
                        {
                            "role": "assistant",
                            "content": "",
                            "tool_calls": [{"function": {"name": "snow", "arguments": {"where": "north"}}}],
                        },
                        {"role": "tool", "content": "deep", "tool_name": "snow"},
                    ],
                    "tools": [{"type": "function", "function": TOOL}],
                    "stream": True,
                }
            }
        ],
    ),
    (
        "ollama",
        "/api/generate",
        {"messages": [SYSTEM, user(BYTES)]},
        [
            {
                "body": {
                    "model": "default",
                    "prompt": "hi",
                    "system": "Be brief.",
                    "images": ["YWI="],
                    "stream": True,
                }
            }
        ],
    ),
    (
        "gemini",
        "/v1beta/models/m:streamGenerateContent",
        {
            "messages": [SYSTEM, user(BYTES, PICTURE), CALL, RESULT],
            "tools": [TOOL],
            "parameters": {"temperature": 0.2, "top_p": 0.9, "max_tokens": 5, "stop": ["x"]},
        },
        [
            {
                "query": {"alt": "sse"},
                "body": {
                    "systemInstruction": {"parts": [{"text": "Be brief."}]},
                    "contents": [
                        {
                            "role": "user",
                            "parts": [
                                {"text": "hi"},
                                {"inlineData": {"mimeType": "image/png", "data": "YWI="}},
                                {"fileData": {"mimeType": "image/png", "fileUri": "https://a.example/b.png"}},
                            ],
                        },
                        {
                            "role": "model",
                            "parts": [{"functionCall": {"name": "snow", "args": {"where": "north"}}}],
                        },
                        {
                            "role": "user",
                            "parts": [{"functionResponse": {"name": "snow", "response": {"result": "deep"}}}],
                        },
                    ],
                    "tools": [{"functionDeclarations": [TOOL]}],
                    "generationConfig": {
                        "temperature": 0.2,
                        "topP": 0.9,
                        "maxOutputTokens": 5,
                        "stopSequences": ["x"],
                    },
                },
            }
        ],
    ),
    (
        "gemini",
        "",
        {"messages": [HI, CALL], "resume": [answer("cancel", None, None, "c1")]},
        [
            {
                "body": {
                    "contents": [
                        {"role": "user", "parts": [{"text": "hi"}]},
                        {
                            "role": "model",
                            "parts": [{"functionCall": {"name": "snow", "args": {"where": "north"}}}],
                        },
                        {
                            "role": "user",
                            "parts": [
                                {"functionResponse": {"name": "snow", "response": {"error": "cancelled"}}}
                            ],
                        },
                    ]
                }
            }
        ],
    ),
    (
        "dify",
        "/v1/chat-messages",
        {
            "messages": [user(PICTURE, BYTES)],
            "thread_id": "cv-1",
            "inputs": {"lang": "en"},
            "user": "u",
        },
        [
            {
                "body": {
                    "inputs": {"lang": "en"},
                    "user": "u",
                    "response_mode": "streaming",
                    "query": "hi",
                    "conversation_id": "cv-1",
                    "files": [{"type": "image", "transfer_method": "remote_url", "url": PICTURE["url"]}],
                }
            }
        ],
    ),
    (
        "dify",
        "/v1/workflows/run",
        {"messages": [HI], "inputs": {"lang": "en"}},
        [
            {
                "body": {
                    "inputs": {"query": "hi", "lang": "en"},
                    "user": "streamweir",
                    "response_mode": "streaming",
                }
            }
        ],
    ),
    (
        "fastgpt",
        "/api/v1/chat/completions",
        {
            "messages": [HI, {"role": "assistant", "content": "yes?"}, user(PICTURE)],
            "thread_id": "t",
            "inputs": {"lang": "en"},
        },
        [
            {
                "body": {
                    "chatId": "t",
                    "variables": {"lang": "en"},
                    "stream": True,
                    "detail": True,
                    "messages": [
                        {
                            "role": "user",
                            "content": [
                                {"type": "text", "text": "hi"},
                                {"type": "image_url", "image_url": {"url": PICTURE["url"]}},
                            ],
                        }
                    ],
                }
            }
        ],
    ),
    (
        "fastgpt",
        "",
        {"thread_id": "t", "resume": [answer("submit", {"city": "Ulm"}, None, "interactive")]},
        [
            {
                "body": {
                    "chatId": "t",
                    "stream": True,
                    "detail": True,
                    "messages": [{"role": "user", "content": '{"city":"Ulm"}'}],
                }
            }
        ],
    ),
    (
        "coze",
        "/v3/chat",
        {"messages": [user(PICTURE)], "thread_id": "cv-9", "inputs": {"lang": "en"}, "user": "u"},
        [
            {
                "query": {"conversation_id": "cv-9"},
                "body": {
                    "user_id": "u",
                    "stream": True,
                    "auto_save_history": True,
                    "additional_messages": [
                        {
                            "role": "user",
                            "type": "question",
                            "content": '[{"type":"text","text":"hi"},'
                            '{"type":"image","file_url":"https://a.example/b.png"}]',
                            "content_type": "object_string",
                        }
                    ],
                    "custom_variables": {"lang": "en"},
                },
            }
        ],
    ),
    (
        "coze",
        "/v3/chat",
        {
            "resume": [
                answer("submit", {"days": 3}, {"chat_id": "c-1", "conversation_id": "cv-9"}, "call_1"),
                answer("cancel", None, {"chat_id": "c-1", "conversation_id": "cv-9"}, "call_2"),
            ]
        },
        [
            {
                "path": "/v3/chat/submit_tool_outputs",
                "query": {"conversation_id": "cv-9", "chat_id": "c-1"},
                "body": {
                    "tool_outputs": [
                        {"tool_call_id": "call_1", "output": '{"days":3}'},
                        {"tool_call_id": "call_2", "output": "cancelled"},
                    ],
                    "stream": True,
                },
            }
        ],
    ),
    (
        "flowise",
        "/api/v1/prediction/7",
        {"messages": [user(PICTURE, BYTES)], "thread_id": "t", "inputs": {"lang": "en"}},
        [
            {
                "body": {
                    "question": "hi",
                    "streaming": True,
                    "chatId": "t",
                    "overrideConfig": {"sessionId": "t", "vars": {"lang": "en"}},
                    "uploads": [
                        {"type": "url", "data": PICTURE["url"], "name": "file", "mime": "image/png"},
                        {
                            "type": "file",
                            "data": "data:image/png;base64,YWI=",
                            "name": "file",
                            "mime": "image/png",
                        },
                    ],
                }
            }
        ],
    ),
    (
        "langserve",
        "/chat/stream",
        {"messages": [HI], "thread_id": "t"},
        [{"body": {"input": "hi", "config": {"configurable": {"session_id": "t", "thread_id": "t"}}}}],
    ),
    (
        "llama-workflows",
        "/workflows/chat/run-nowait",
        {"messages": [HI], "inputs": {"lang": "en"}},
        [
            {
                "method": "POST",
                "path": "/workflows/chat/run-nowait",
                "body": {"start_event": {"message": "hi", "lang": "en"}},
                "takes": {"handler_id": "handler_id"},
            },
            {
                "method": "GET",
                "path": "/events/{handler_id}",
                "query": {"sse": "true", "after_sequence": "-1"},
            },
        ],
    ),
    (
        "llama-workflows",
        "/workflows/chat/run-nowait",
        {"resume": [answer("submit", "Ulm", {"handler_id": "h-1", "after_sequence": "2"}, "input")]},
        [
            {
                "path": "/events/h-1",
                "body": {"event": {"type": "HumanResponseEvent", "value": {"response": "Ulm"}}},
            },
            {"method": "GET", "path": "/events/h-1", "query": {"sse": "true", "after_sequence": "2"}},
        ],
    ),
]


def test_langserve_with_input_messages_gets_the_messages() -> None:
    asked = {"messages": [SYSTEM, HI, CALL, RESULT, user(PICTURE)]}
    (found,) = write_request(asked, dialect="langserve", options={"input": "messages"})
    assert found["body"]["input"] == [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": "hi"},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"id": "c1", "name": "snow", "args": {"where": "north"}}],
        },
        {"type": "tool", "content": "deep", "tool_call_id": "c1"},
        {"type": "human", "content": "hi"},
    ]


@pytest.mark.parametrize(("dialect", "path", "request_", "expected"), WRITTEN)
def test_writer_sends_the_expected_request(
    dialect: str, path: str, request_: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    check_written(dialect, path, request_, expected)


CANNOT_ANSWER = [
    ("ollama", "/api/generate", answer("submit", "a", None, "c1")),
    ("fastgpt", "", answer("cancel", None, {}, "interactive")),
    ("coze", "/v3/chat", answer("submit", "a", None, "call_1")),
    ("flowise", "", answer("approve", True, {}, "a-1")),
    ("llama-workflows", "", answer("reject", None, {"handler_id": "h-1"}, "input")),
    ("langserve", "/chat/stream", answer("approve", True, {"interrupt_id": "i-1"}, "i-1")),
    ("dify", "/v1/chat-messages", answer("submit", {"note": "a"}, {"form_token": "ft-1"}, "fm-1")),
]


@pytest.mark.parametrize(("dialect", "path", "given"), CANNOT_ANSWER)
def test_answer_that_the_server_cannot_take_is_refused(
    dialect: str, path: str, given: dict[str, Any]
) -> None:
    check_refused(dialect, path, given)
