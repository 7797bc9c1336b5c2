"""The words that the decoder and the encoder share: types of events, fields, endpoints, error codes."""

from __future__ import annotations

from typing import Final

from streamweir.errors import ErrorType

__all__ = [
    "ACTIONS",
    "DETACHED_ARGUMENTS",
    "ENDINGS",
    "ENDPOINT_OF_PATH",
    "ENDPOINT_OF_TYPE",
    "ENVELOPE",
    "ERROR_TYPES",
    "OWN_CODE",
    "OWN_CUSTOM",
    "PAUSES",
    "STATES",
]

PAUSES: Final = ("clarify", "interact", "explain")
"""The types of questions to the user: 0.7 has `clarify` and `explain`, 0.8 uses `interact` for both."""

ENDINGS: Final = (*PAUSES, "delegate", "completion", "done", "data_operation_result")
"""The types of events that end a run, or that announce its end."""

ACTIONS: Final = ("preview_table", "load_plan", "connect_form")
"""The actions that the loading chat offers to its user."""

DETACHED_ARGUMENTS: Final = ("purpose", "code", "table_names", "query", "skill")
"""The arguments of an agent's tools that the server writes beside its name; others are not sent."""

STATES: Final = {"ok": "success", "success": "success", "error": "failed", "failed": "failed"}
"""The meanings of `status`. Another value belongs to the tool's own result."""

ENVELOPE: Final = frozenset({"type", "tool", "tool_id", "stdout_holds", "error", "iteration"})
"""The fields of a result that do not belong to the tool's own result."""

OWN_CUSTOM: Final = ("question", "embed_chart", "embed_table", "data_operation_result")
"""The types of events that become custom data in the standard, and are written again under their type."""

ENDPOINT_OF_TYPE: Final = {
    **dict.fromkeys(("question", "progress"), "questions"),
    **dict.fromkeys(("embed_chart", "embed_table"), "report"),
    **dict.fromkeys(("actions", "continue_prompt", "done"), "loading"),
    **dict.fromkeys(
        (
            "context_info",
            "thinking_text",
            "tool_start",
            "tool_result",
            "skill_loaded",
            "action",
            "result",
            "delegate",
            "completion",
            "data_operation_result",
            *PAUSES,
        ),
        "agent",
    ),
}
"""The endpoint that a type of event reveals. Agent runs and loading chats have tools, and no end."""

ENDPOINT_OF_PATH: Final = {
    "analyst-streaming": "analyst",
    "data-agent-streaming": "agent",
    "explore-data-streaming": "agent",
    "data-loading-chat": "loading",
    "generate-report-chat": "report",
    "generate-report-stream": "report",
    "get-recommendation-questions": "questions",
}

ERROR_TYPES: Final[dict[str, ErrorType]] = {
    **dict.fromkeys(("LLM_TIMEOUT", "CATALOG_SYNC_TIMEOUT"), "timeout"),
    **dict.fromkeys(("INVALID_REQUEST", "VALIDATION_ERROR"), "validation"),
    **dict.fromkeys(("CODE_EXECUTION_ERROR", "AGENT_ERROR"), "execution"),
    **dict.fromkeys(
        (
            *("AUTH_REQUIRED", "AUTH_EXPIRED", "ACCESS_DENIED", "TABLE_NOT_FOUND"),
            *("FILE_PARSE_ERROR", "FILE_TOO_LARGE", "LLM_AUTH_FAILED", "LLM_RATE_LIMIT"),
            *("LLM_CONTEXT_TOO_LONG", "LLM_MODEL_NOT_FOUND", "LLM_SERVICE_ERROR"),
            *("LLM_CONTENT_FILTERED", "LLM_UNKNOWN_ERROR", "CONNECTOR_AUTH_FAILED"),
            *("DB_FIREWALL_BLOCKED", "DB_CONNECTION_FAILED", "DB_QUERY_ERROR", "DATA_LOAD_ERROR"),
            *("CONNECTOR_ERROR", "CATALOG_NOT_FOUND", "INTERNAL_ERROR"),
            *("SERVICE_UNAVAILABLE", "STORAGE_FULL"),
        ),
        "system",
    ),
}
"""The meanings of all error codes of the server."""

OWN_CODE: Final = {
    "UPSTREAM_UNREACHABLE": "SERVICE_UNAVAILABLE",
    "UPSTREAM_TIMEOUT": "LLM_TIMEOUT",
    "UPSTREAM_TRUNCATED": "SERVICE_UNAVAILABLE",
    "UPSTREAM_INVALID_RESPONSE": "LLM_SERVICE_ERROR",
    "UPSTREAM_ERROR": "LLM_SERVICE_ERROR",
    "UPSTREAM_REJECTED": "INVALID_REQUEST",
    "RATE_LIMITED": "LLM_RATE_LIMIT",
    "QUOTA_EXCEEDED": "LLM_RATE_LIMIT",
    "AUTH_FAILED": "LLM_AUTH_FAILED",
    "MODEL_NOT_FOUND": "LLM_MODEL_NOT_FOUND",
    "CONTEXT_LENGTH_EXCEEDED": "LLM_CONTEXT_TOO_LONG",
    "CONTENT_FILTERED": "LLM_CONTENT_FILTERED",
    "GATEWAY_DRAINING": "SERVICE_UNAVAILABLE",
    "INTERNAL": "INTERNAL_ERROR",
}
"""The server's own code for a standard code, for which its pages have texts; other codes are unchanged."""
