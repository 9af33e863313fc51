import { connect, type Socket } from "node:net";

/** What came back over a connection: replies as they are on the wire, until it was closed. */
export async function rawExchange(url: string, send: string | ((socket: Socket) => void)): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setEncoding("utf8");
  let text = "";
  socket.on("data", (piece) => {
    text += String(piece);
  });
  // A connection that is cut off has told what it had to tell.
  socket.on("error", () => {});
  socket.once("connect", () => (typeof send === "string" ? socket.write(send) : send(socket)));
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  return text;
}

/** The status, headers and JSON of one reply on the wire. */
export function parseReply(text: string): {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: unknown;
} {
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  const [line = "", ...fields] = head.split("\r\n");
  const headers = new Map(
    fields.map((field) => {
      const colon = field.indexOf(":");
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()] as const;
    }),
  );
  return { status: Number(line.split(" ")[1]), headers, body: body === "" ? undefined : JSON.parse(body) };
}

/** The type of the contract's error in a reply's body; undefined where there is none. */
export function errorTypeOf(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  const { error } = body;
  return typeof error === "object" && error !== null && "type" in error && "message" in error
    ? error.type
    : undefined;
}
