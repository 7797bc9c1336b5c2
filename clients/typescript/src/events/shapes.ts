// Written by scripts/types.mjs from middleware/streamweir/protocol.schema.json: do not edit.

/**
 * The fields of the data of each type of event, of `data.data` of each `data_type`, and of the metadata: a line each.
 *
 * `name:kind` has to be there, `name?:kind` may be. Kinds: s text, n number, b true or false, o object, a list,
 * 0 null, x anything; `ao` a list of objects; `(0n` one of several; `=a|b` one of these words. A line whose name
 * ends with `*` says what the items of a list are.
 */
export const SHAPES = `
session_start session_id:s request_id:s protocol:s
thinking content:s stage?:=analyzing|planning|reasoning
tool_call_start tool_id:s tool_name:s description?:s arguments:o
tool_call_delta tool_id:s tool_name?:s arguments_delta:s
tool_call_progress tool_id:s progress:(0n message?:s
tool_call_end tool_id:s status:=failed|success result?:x error?:o
content content:s format?:=html|markdown|text is_complete?:=true op?:=append|replace channel?:s
data data_type:=audio|chart|custom|dataframe|file|image|state|state_delta data:(ao metadata?:o
reference citations:ao
status scope:=model|node|phase|queue|session|skill|workflow state:=connected|failed|finished|resumed|running|started|suspended name?:s detail?:x
warning message:s message_code?:s message_params?:o detail?:x
interaction interaction_id:s kind:=approval|continue|form|handoff|questions|tool state:=cancelled|requested|resolved title?:s description?:s schema?:o ui?:o questions?:a resume?:o
error error_type:=execution|system|timeout|validation code:(s message:s recoverable:b message_code?:s message_params?:o terminal:b retry_after_ms?:n details?:x
session_end status:=cancelled|completed|error|suspended reason:=cancelled|client_gone|connect_timeout|done|draining|first_event_timeout|idle_timeout|interaction|internal|limit|lost|malformed|slow_client|total_timeout|truncated|upstream_error|upstream_unreachable summary?:o
data.dataframe columns:a name:s rows:aa
data.chart
data.image base64?:s file_id?:s media_type?:s name?:s url?:s
data.audio base64?:s file_id?:s media_type?:s name?:s url?:s
data.file base64?:s file_id?:s media_type?:s name?:s url?:s
data.state
data.state_delta* op:=add|copy|move|remove|replace|test path:s
data.custom name:s value:x
event.metadata duration_ms?:n extra?:o message_id?:s node_id?:s node_name?:s parent_run_id?:s request_id?:s run_id?:s sequence?:n session_id?:s source?:o thread_id?:s timestamp?:n upstream_time?:n
`;
