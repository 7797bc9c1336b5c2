// Written by scripts/types.mjs from middleware/streamweir/protocol.schema.json: do not edit.

/**
 * The fields that the data of each type of event must have, and `data.data` of each `data_type`: a line each.
 *
 * Kinds: s text, n number, b true or false, o object, a list, 0 null, x anything; `ao` a list of objects; `(0n` one
 * of several; `=a|b` one of these words. A line whose name ends with `*` says what the items of a list are.
 */
export const SHAPES = `
session_start session_id:s request_id:s protocol:s
thinking content:s
tool_call_start tool_id:s tool_name:s arguments:o
tool_call_delta tool_id:s arguments_delta:s
tool_call_progress tool_id:s progress:(0n
tool_call_end tool_id:s status:=failed|success
content content:s
data data_type:=audio|chart|custom|dataframe|file|image|state|state_delta data:(ao
reference citations:ao
status scope:=model|node|phase|queue|session|skill|workflow state:=connected|failed|finished|resumed|running|started|suspended
warning message:s
interaction interaction_id:s kind:=approval|continue|form|handoff|questions|tool state:=cancelled|requested|resolved
error
session_end
data.dataframe columns:a name:s rows:aa
data.chart
data.image
data.audio
data.file
data.state
data.state_delta* op:=add|copy|move|remove|replace|test path:s
data.custom name:s value:x
`;
