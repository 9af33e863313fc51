import assert from "node:assert/strict";
import { connect } from "node:net";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { cut, holdsNear } from "../../near.ts";
import { startedService } from "../../service/startedService.ts";

describe("bytes on the service's connections", () => {
  it("whatever bytes a connection brings, the service says in the contract's words what is wrong, and answers the next one", async () => {
    await using service = await startedService({
      runnerPath: join(projectRoot, "test/service/instantRunner.mjs"),
    });
    await service.write("nightly", "resources: {shell: {type: cli}}\nsteps: [{use: shell, run: 'true'}]\n");
    const { secret } = await service.member();
    await holdsNear(
      {
        like: [
          `GET /api/org HTTP/1.1\r\n${host}${key}\r\n`,
          `GET /healthz HTTP/1.1\r\n${host}\r\nGET /openapi.json HTTP/1.1\r\n${host}\r\n`,
          json(
            "POST",
            "/api/runs",
            '{"pipeline":"nightly","time-limit-seconds":30}',
            "Prefer: wait=0\r\nIdempotency-Key: k1\r\n",
          ),
          json("POST", "/api/runs/run_1/cancel", ""),
          json("PUT", "/api/projects/lamps", '{"root":"/nowhere"}'),
          json("POST", "/api/keys", '{"role":"viewer","name":"a"}'),
          `GET /api/runs?status=in-work&actor=me&limit=5&after=cursor&project=a&pipeline=b HTTP/1.1\r\n${host}${key}\r\n`,
          `GET /api/runs/run_1/log?after=1&follow=false HTTP/1.1\r\n${host}${key}Accept: text/event-stream\r\nLast-Event-ID: 5\r\n\r\n`,
          `GET /api/runs/run_1/artifacts/a%2fb HTTP/1.1\r\n${host}${key}Range: bytes=0-\r\n\r\n`,
          `GET /app/runs?status=failed&after=x HTTP/1.1\r\n${host}Cookie: pipeline-runs=1; a=%zz\r\n\r\n`,
          `POST /app/sign-in HTTP/1.1\r\n${host}Origin: http://127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\nkey=a%2`,
          `POST /api/runs HTTP/1.1\r\n${host}${key}Transfer-Encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\n\r\n`,
          "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
          `HEAD http://127.0.0.1/api/events HTTP/1.0\r\n${key}\r\n`,
        ],
        words: [
          ...[
            "\r\n",
            "\r\n\r\n",
            "HTTP/1.1",
            "HTTP/1.0",
            "GET ",
            "POST ",
            "PUT ",
            "DELETE ",
            "CONNECT ",
            "{key}",
            key,
            host,
            "%00",
            "%2e%2e/",
            "/../",
          ],
          ...[
            "Expect: 100-continue\r\n",
            "Connection: upgrade\r\nUpgrade: websocket\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
          ],
          ...[
            "Content-Encoding: gzip\r\n",
            "Prefer: respond-async, wait=1\r\n",
            "Retry-After: 5\r\n",
            "X-Request-Id: a\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
          ],
        ],
        broke: [
          "POST /app/sign-in HTTP/1.1\r\nHost:127.0.0.1\r\nOrigin:http://127.0.0.1\r\na:\r\nContent-Length:7\r\n\r\n",
        ],
        longest: 20 * 1024,
        fewer: 3,
      },
      async (input, lengths) => {
        const logged = service.logged.length;
        const bytes = Buffer.from(input.replaceAll("{key}", secret), "latin1");
        const text = await exchanged(service.url, cut(bytes, lengths));
        for (const reply of repliesIn(text)) {
          assert(
            reply.status < 500 || reply.status === 501 || reply.status === 505,
            "nothing that is sent makes the service fail",
          );
          assert(
            reply.status < 400 || reply.isHead || reply.tellsError,
            "what is wrong is told in the contract's words",
          );
          assert(!reply.text.includes(secret), "no reply repeats the key");
        }
        const lines = service.logged.slice(logged);
        const bad = lines.find((line) => /"level":"error"/.test(line) || line.includes(secret));
        assert(bad === undefined, "nothing that is sent is logged as a fault, or with its key");
        const next = await service.fetch("/healthz");
        assert(next.status === 200, "the next one is answered");
        await next.arrayBuffer();
      },
    );
  });
});

const host = "Host: 127.0.0.1\r\n";
const key = "X-Api-Key: {key}\r\n";
const json = (method: string, path: string, body: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\n${host}${key}${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A reply that goes on, as a stream does, is looked at as far as it has come when nothing came for so long. */
const quietMilliseconds = 120;

async function exchanged(url: string, pieces: readonly Uint8Array[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = Promise.withResolvers<void>();
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece) => {
    text += String(piece);
  });
  socket.on("error", () => {});
  socket.once("close", () => ended.resolve());
  socket.setTimeout(quietMilliseconds, () => socket.destroy());
  for (const piece of pieces.length > 20 ? [Buffer.concat(pieces)] : pieces) socket.write(piece);
  socket.end();
  await ended.promise;
  return text;
}

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
function repliesIn(text: string): readonly WireReply[] {
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
