import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { Told } from "../client/told.ts";
import type { FakeClock } from "../clock/fakeClock.ts";

export interface StreamEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** A stream of server-sent events as a test reads it. */
export async function openStream(url: string, headers: Record<string, string>) {
  const leaving = new AbortController();
  const response = await fetch(url, {
    headers: { accept: "text/event-stream", ...headers },
    signal: leaving.signal,
  });
  if (response.status !== 200 || response.body === null) {
    throw new Error(`${response.status}: ${await response.text()}`);
  }
  const events = new Told<StreamEvent>();
  const comments = new Told<string>();
  const parser = createParser({
    onEvent: ({ id, event = "message", data }: EventSourceMessage) =>
      events.tell({ id, event, data: JSON.parse(data) }),
    onComment: comments.tell,
  });
  const { body } = response;
  const read = async () => {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of body) parser.feed(decoder.decode(bytes, { stream: true }));
      return "in order" as const;
    } catch {
      return "broken off" as const;
    }
  };
  const ended = read();
  const leave = () => leaving.abort();
  return {
    events,
    comments,
    /** Settles when the service has ended the stream, whether in order or not. */
    ended,
    leave,
    async [Symbol.asyncDispose]() {
      leave();
      await ended;
    },
  };
}

/** A request whose reply is not read: the line fills, and the service has to hold back or to fill its memory. */
export async function unreadReply(url: string, headers: Record<string, string>) {
  const asked = request(url, { headers }).end();
  const [reply] = await once(asked, "response");
  // Until the line is full; were it looked at too early, less would come, which harms no test.
  for (let still = 0, before = -1; still < 20; still = reply.socket.bytesRead === before ? still + 1 : 0) {
    before = reply.socket.bytesRead;
    await pause(5);
  }
  return {
    /** Reads what there is, and tells how many bytes it was and whether it was all. */
    async rest() {
      let bytes = 0;
      reply.on("data", (piece: Buffer) => (bytes += piece.length)).on("error", () => {});
      await new Promise((resolve) => reply.once("close", resolve));
      return { bytes, isWhole: reply.complete };
    },
  };
}

/** Lets minutes pass until the service has cut a reader off. */
export async function cutOff(
  service: { readonly logged: readonly string[] },
  clock: FakeClock,
): Promise<void> {
  while (!service.logged.some((line) => line.includes("was cut off"))) {
    clock.advance(60_000);
    await turn();
  }
}
