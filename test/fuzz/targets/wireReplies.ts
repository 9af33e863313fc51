/** A reply as it came over a connection. */
interface WireReply {
  readonly status: number;
  readonly text: string;
  /** Whether it says what is wrong: an error of the contract, or a page for people. */
  readonly tellsError: boolean;
  /** Whether it has no body, as the reply to HEAD. */
  readonly isHead: boolean;
}

/** The replies in the bytes of a connection, one character each; the last may be cut off. */
export function repliesIn(text: string): readonly WireReply[] {
  const starts = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n/g)];
  return starts.map((start, index) => {
    const part = text.slice(start.index, starts[index + 1]?.index);
    const end = part.indexOf("\r\n\r\n");
    const head = end === -1 ? part : part.slice(0, end);
    const body = end === -1 ? "" : part.slice(end + 4);
    return {
      status: Number(start[1]),
      text: part,
      tellsError: isErrorBody(body) || /content-type: text\/html/i.test(head),
      isHead: body === "",
    };
  });
}

function isErrorBody(body: string): boolean {
  const json = /\{.*\}/s.exec(body)?.[0] ?? "";
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || !("error" in value)) return false;
    const { error } = value;
    return typeof error === "object" && error !== null && "type" in error && "message" in error;
  } catch {
    return false;
  }
}
