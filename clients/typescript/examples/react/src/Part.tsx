import { memo } from "react";
import type { DataOf, MessagePart } from "streamweir";

/** One part of an answer. A part that has not changed is the same object, so that it is not drawn again. */
export const Part = memo(function Part({ part }: { part: MessagePart }) {
  switch (part.type) {
    case "text":
      return <div className="text">{part.text}</div>;
    case "thinking":
      return <div className="thinking">{part.text}</div>;
    case "status":
      return (
        <div className="status">
          {part.status.name ?? part.status.scope}: {part.status.state}
        </div>
      );
    case "tool": {
      const { tool_name, status, arguments: given, result, error } = part.call;
      return (
        <div className="card">
          {tool_name}({JSON.stringify(given)}): {status}
          {status !== "running" && <pre>{error?.message ?? JSON.stringify(result)}</pre>}
        </div>
      );
    }
    case "data":
      return <Block block={part.block} />;
    case "reference":
      return (
        <div className="card">Sources: {part.reference.citations.map(({ title, url }) => title ?? url).join(", ")}</div>
      );
    case "interaction":
      return null;
  }
});

function Block({ block }: { block: DataOf<"data"> }) {
  if (block.data_type !== "dataframe") return <pre className="card">{JSON.stringify(block.data, null, 1)}</pre>;
  const { name, columns, rows } = block.data;
  const cell = (value: unknown) => String(value ?? "");
  return (
    <table>
      <caption>{name}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={cell(column)}>{cell(column)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a table that has come stays as it is
          <tr key={index}>
            {row.map((value, column) => (
              <td key={cell(columns[column])}>{cell(value)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
