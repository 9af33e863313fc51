import type { IncomingMessage, ServerResponse } from "node:http";
import { mayChangeRuns } from "../../contract/role.ts";
import type { Committed } from "../store/committedReads.ts";
import type { Caller } from "../store/keys.ts";
import { type Answer, errorAnswer } from "./answer.ts";
import type { AppDeps } from "./appDeps.ts";
import { headersOfNow, standingHeaders } from "./everyReply.ts";
import { orgAnswer } from "./orgAnswer.ts";
import { type PlainRequest, readPlain } from "./plainRequest.ts";
import { logFailure } from "./requestFailed.ts";
import { beginRequest } from "./requestLog.ts";
import { startRuns } from "./startRuns.ts";

/** Answers a request, or leaves it untouched to whoever comes next. @returns whether it is answered here. */
export type TakeRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

const standing = Object.entries({ ...standingHeaders, "content-type": "application/json" }).flat();

/**
 * What is asked most, `GET /api/org` and `POST /api/runs`, without the objects that the app makes of each request. Only a
 * request that is plain in every way is taken: one that the app's guards would let through, with a good key that may do it. Any other goes to the
 * app, whose routes give the same answers by the same functions, and which alone knows how to turn a request away.
 */
export function directRoutes(deps: AppDeps): TakeRequest {
  const { reads, clock, log } = deps;
  const start = startRuns(deps);

  /** Who asks, and what is committed in this moment; undefined for whatever the app has to say about that. */
  const look = ({
    key,
  }: PlainRequest): { readonly caller: Caller; readonly latest: Committed } | undefined => {
    try {
      const latest = reads.latest();
      const caller = latest.caller(key);
      return caller && { caller, latest };
    } catch {
      return undefined;
    }
  };

  return (incoming, outgoing) => {
    const plain = readPlain(incoming);
    const seen = plain && look(plain);
    if (plain === undefined || seen === undefined) return false;
    const { method, route } = plain;
    const { caller, latest } = seen;
    if (method === "POST" && !mayChangeRuns(caller.role)) return false;
    const { requestId, open } = beginRequest(
      { outgoing, askedId: plain.askedId, method, route: () => route },
      deps,
    );
    open.signedIn(caller.keyId);
    const send = (answer: Answer) => write(outgoing, answer, requestId, deps);
    const fail = (error: unknown) => {
      logFailure(log, error, { requestId, method, route, callerLeft: outgoing.destroyed });
      send(errorAnswer(error));
    };
    switch (method) {
      case "GET":
        try {
          send(orgAnswer(latest, caller, clock.now()));
        } catch (error) {
          fail(error);
        }
        break;
      case "POST":
        readBody(incoming, (body) => {
          try {
            const header = (name: "idempotency-key" | "prefer") => plain[name];
            const answer = start({ caller, body, header, outgoing, left: () => open.left });
            if (answer instanceof Promise) void answer.then(send).catch(fail);
            else send(answer);
          } catch (error) {
            fail(error);
          }
        });
        break;
      default:
        method satisfies never;
    }
    return true;
  };
}

function write(
  outgoing: ServerResponse,
  { status, headers, text }: Answer,
  requestId: string,
  deps: Pick<AppDeps, "clock" | "replies">,
): void {
  const lines = [...standing, "x-request-id", requestId, "content-length", String(Buffer.byteLength(text))];
  for (const name in headers) lines.push(name, headers[name] ?? "");
  const now = headersOfNow(status, deps);
  for (const name in now) lines.push(name, now[name] ?? "");
  outgoing.writeHead(status, lines).end(text);
}

const decoder = new TextDecoder();

/** Reads a body whose length was told and is not too much. Of one that doesn't come whole nothing is heard. */
function readBody(incoming: IncomingMessage, then: (body: string) => void): void {
  const pieces: Buffer[] = [];
  incoming.on("data", (piece: Buffer) => void pieces.push(piece));
  incoming.once("end", () => then(decoder.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))));
  // It is closed by then, and its line in the log says that its caller left.
  incoming.once("error", () => {});
}
