import { Transform } from "node:stream";
import { ProtocolErrorCode, parseJSONRPCMessage } from "@modelcontextprotocol/server";

/** In bytes. */
export const longestLine = 10 * 1024 * 1024;

/**
 * Passes on the lines of a client that are messages, and has every other one answered with an error: the library drops those,
 * and ends over one that is too long.
 * @param answer takes the JSON of an error's reply.
 */
export function messageLines(answer: (json: string) => void): Transform {
  let pieces: Buffer[] = [];
  let bytes = 0;
  const add = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes > longestLine) pieces = [];
    else pieces.push(piece);
  };
  const problemOf = (line: string): object | undefined => {
    if (bytes > longestLine) {
      return problem(ProtocolErrorCode.InvalidRequest, `A line has at most ${longestLine} bytes.`);
    }
    return line.trim() === "" ? undefined : lineProblem(line);
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let from = 0;
      for (let end = chunk.indexOf("\n"); end !== -1; end = chunk.indexOf("\n", from)) {
        add(chunk.subarray(from, end));
        from = end + 1;
        const line = Buffer.concat(pieces).toString("utf8");
        const found = problemOf(line);
        if (found !== undefined) answer(JSON.stringify(found));
        else this.push(`${line}\n`);
        pieces = [];
        bytes = 0;
      }
      add(chunk.subarray(from));
      done();
    },
  });
}

function lineProblem(line: string): object | undefined {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return problem(ProtocolErrorCode.ParseError, "This line is no JSON.");
  }
  if (Array.isArray(message)) {
    return problem(ProtocolErrorCode.InvalidRequest, "Messages come one a line, not as a batch.");
  }
  try {
    parseJSONRPCMessage(message);
    return undefined;
  } catch {
    return problem(ProtocolErrorCode.InvalidRequest, "This is no message of JSON-RPC 2.0.", idOf(message));
  }
}

function problem(code: ProtocolErrorCode, message: string, id: string | number | null = null): object {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

function idOf(message: unknown): string | number | null {
  const id = typeof message === "object" && message !== null && "id" in message ? message.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}
