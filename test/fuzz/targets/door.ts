import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { startedService } from "../../service/startedService.ts";
import { must } from "../engine/broken.ts";
import type { Checker, Target } from "../engine/target.ts";
import { inPieces } from "./foreignReply.ts";
import { repliesIn } from "./wireReplies.ts";

const host = "Host: 127.0.0.1\r\n";
const key = "X-Api-Key: {key}\r\n";
const json = (method: string, path: string, body: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\n${host}${key}${more}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

export const doorTarget: Target = {
  name: "door",
  property:
    "whatever bytes a connection brings, the service says in the contract's words what is wrong, and answers the next one",
  covers: ["src/service", "node_modules/hono/dist", "node_modules/@hono/node-server/dist"],
  seeds: [
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
  longest: 20 * 1024,
  isBytes: true,
  batch: 10,
  open: openDoor,
};

/** A reply that goes on, as a stream does, is looked at as far as it has come when nothing came for so long. */
const quietMilliseconds = 120;

async function openDoor(): Promise<Checker> {
  if (!existsSync(join(projectRoot, "dist/page/page.css")))
    throw new Error("The page isn't built: npm run build.");
  const service = await startedService({ runnerPath: join(projectRoot, "test/service/instantRunner.mjs") });
  await service.write("nightly", "resources: {shell: {type: cli}}\nsteps: [{use: shell, run: 'true'}]\n");
  const { secret } = await service.member();
  return {
    async check(input) {
      const logged = service.logged.length;
      const bytes = Buffer.from(input.replaceAll("{key}", secret), "latin1");
      const text = await exchanged(service.url, inPieces(bytes));
      for (const reply of repliesIn(text)) {
        must(
          reply.status < 500 || reply.status === 501 || reply.status === 505,
          "nothing that is sent makes the service fail",
          () => reply,
        );
        must(
          reply.status < 400 || reply.isHead || reply.tellsError,
          "what is wrong is told in the contract's words",
          () => reply,
        );
        must(!reply.text.includes(secret), "no reply repeats the key", () => reply);
      }
      const lines = service.logged.slice(logged);
      const bad = lines.find((line) => /"level":"error"/.test(line) || line.includes(secret));
      must(bad === undefined, "nothing that is sent is logged as a fault, or with its key", () => bad);
      const next = await service.fetch("/healthz");
      must(next.status === 200, "the next one is answered", () => next.status);
      await next.arrayBuffer();
    },
    close: () => service[Symbol.asyncDispose](),
  };
}

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
