/**
 * Where each character of a scalar's value stands in the scalar as it is written, with its quotes or its `|`. What follows a line
 * break that YAML folds, or an escape that stands for another character than the one behind it, has no place.
 */
export function scalarOffsets(written: string): readonly number[] {
  if (/^[|>]/.test(written)) return blockOffsets(written);
  const quote = /^['"]/.exec(written)?.[0];
  const offsets: number[] = [];
  let at = quote === undefined ? 0 : 1;
  const end = written.length - (quote === undefined ? 0 : 1);
  while (at < end && !/[\r\n]/.test(written.charAt(at))) {
    offsets.push(at);
    if (quote === '"' && written[at] === "\\") {
      if (/[xuU]/.test(written.charAt(at + 1))) break;
      at += 1;
    } else if (quote === "'" && written[at] === "'") at += 1;
    at += 1;
  }
  return offsets;
}

/** Of a block with `>` only up to its first empty line, behind which line breaks count otherwise. */
function blockOffsets(written: string): readonly number[] {
  const [header = "", ...lines] = written.split(/(?<=\n)/);
  const indent = /^ */.exec(lines.find((line) => line.trim() !== "") ?? "")?.[0].length ?? 0;
  const offsets: number[] = [];
  let start = header.length;
  for (const line of lines) {
    if (header.startsWith(">") && (line.trim() === "" || line[indent] === " ")) break;
    const from = Math.min(indent, line.replace(/\r?\n$/, "").length);
    for (let at = from; at < line.length; at += 1) if (line[at] !== "\r") offsets.push(start + at);
    start += line.length;
  }
  return offsets;
}
