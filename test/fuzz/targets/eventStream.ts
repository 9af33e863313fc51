import { isDeepStrictEqual } from "node:util";
import { systemClock } from "../../../src/client/clock.ts";
import { eventStream } from "../../../src/client/events/eventStream.ts";
import { ServiceClient } from "../../../src/client/http/serviceClient.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { readEvent } from "../../../src/contract/event.ts";
import { must } from "../engine/broken.ts";
import type { Target } from "../engine/target.ts";
import { fetchOf, inPieces } from "./foreignReply.ts";

export const eventStreamTarget: Target = {
  name: "event-stream",
  property:
    "a stream has the same events however its bytes are cut and its lines end, and ends with one clear error",
  covers: ["src/client/events/eventStream.ts", "src/contract", "node_modules/eventsource-parser/dist"],
  seeds: [
    'retry: 1000\n\nid: 1\nevent: log\ndata: {"sequence":1,"at":"2026-03-03T10:00:00Z","step-index":0,"stream":"stdout","text":"é😀\\n"}\n\nevent: end\ndata: {"run-id":"run_1","status":"succeeded"}\n\n',
    'event: org\ndata: {"org-id":"o","org-name":"n","tier":"free","limits":{"parallel-runs":1,"runs-per-day":50},"usage":{"runs-today":3},"actor":"k"}\n\n: here\n\n',
    "data: one\r\ndata: two\r\r\n: here\r\ndata\n\ndata:  three\n\nid: \0\ndata: x\n\n",
    "\u00ef\u00bb\u00bfevent: \u00c3\u00a9\ndata: \u00f0\u009f\u0098\u0080\n\n",
  ],
  words: [
    "data: ",
    "data:",
    "event: ",
    "event: log\n",
    "id: ",
    "retry: ",
    ": ",
    "\r\n",
    "\n\n",
    "\u00ef\u00bb\u00bf",
    "\u00f0\u009f",
    "\u0098\u0080",
  ],
  longest: 16 * 1024,
  isBytes: true,
  mostSteps: ({ length }) => 60_000 + length * 2500,
  open: () => ({ check }),
};

async function check(input: string): Promise<void> {
  const bytes = Buffer.from(input, "latin1");
  const whole = await readAll([bytes]);
  for (let seed = 0; seed < 3; seed++)
    same(whole, await readAll(inPieces(bytes, seed + bytes.length)), "cut anywhere");
  if (bytes.length <= 40) {
    for (let at = 1; at < bytes.length; at++) {
      same(whole, await readAll([bytes.subarray(0, at), bytes.subarray(at)]), `cut at byte ${at}`);
    }
  }
  if (!input.includes("\r")) {
    for (const end of ["\r\n", "\r"]) {
      const other = await readAll(inPieces(Buffer.from(input.replaceAll("\n", end), "latin1")));
      must(isDeepStrictEqual(other, whole), "a stream has the same events whatever its line ends", () => ({
        end,
        whole,
        other,
      }));
    }
  }
  for (const { event, data } of whole) {
    const read = readEvent(event ?? "message", data);
    must(read?.kind !== "invalid" || read.problem !== "", "an event that can't be read says why", () => read);
  }
}

function same(whole: unknown, other: unknown, how: string): void {
  must(isDeepStrictEqual(other, whole), "a stream has the same events however it is cut", () => ({
    how,
    whole,
    other,
  }));
}

async function readAll(pieces: readonly Uint8Array[]) {
  const headers = new Map([["content-type", "text/event-stream"]]);
  const client = new ServiceClient({
    baseUrl: new URL("https://pipelines.example.com/"),
    apiKey: "prk_fuzz_0123456789abcdef",
    fetch: fetchOf({ status: 200, headers, body: "" }, pieces),
    clock: systemClock,
  });
  const messages: { id: string | undefined; event: string | undefined; data: string }[] = [];
  try {
    for await (const item of eventStream(
      client,
      "api/events",
      "ours",
      undefined,
      new AbortController().signal,
    )) {
      if (item.kind === "message")
        messages.push({ id: item.message.id, event: item.message.event, data: item.message.data });
    }
  } catch (error) {
    must(error instanceof PipelineError, "a stream ends with an error of ours", () => error);
  }
  return messages;
}
