// The least that a hand-over can be: `node:http`, a held request, and one commit at full sync of the one run's end and the
// next one's beginning. With a line as its last word, each run is that line, spawned by a shell; otherwise it has no processes.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { answerCalls, sharedNow } from "../worker/answerCalls.ts";
import type { ServerCalls } from "./calls.ts";

const [folder = "", line] = process.argv.slice(2);
const db = new DatabaseSync(join(folder, "floor.db"));
db.exec("pragma journal_mode = wal; pragma synchronous = full");
db.exec("create table runs (id text primary key, created_at integer not null, stopped_at integer)");
const insert = db.prepare("insert into runs (id, created_at) values (?, ?)");
const end = db.prepare("update runs set stopped_at = ? where id = ?");

// Until its WAL has its full length, as a service's has after a while: a longer one takes longer to sync.
for (let at = 0; at < 1_000; at += 1) insert.run(randomUUID(), 0);

const held: ServerResponse[] = [];
let runId: string | undefined;
let onHeld = () => {};

const server = createServer((request, reply) => {
  request.resume().once("end", () => {
    held.push(reply);
    if (runId === undefined) handOver(Date.now());
    else onHeld();
  });
});

/** Ends the run, if there is one, and admits whoever has waited longest. */
function handOver(now: number): void {
  db.exec("begin immediate");
  if (runId !== undefined) end.run(now, runId);
  const reply = held.shift();
  runId = reply === undefined ? undefined : randomUUID();
  if (runId !== undefined) insert.run(runId, now);
  db.exec("commit");
  reply
    ?.writeHead(201, { "content-type": "application/json" })
    .end(JSON.stringify({ "run-id": runId, status: "running" }));
  if (line !== undefined && runId !== undefined)
    spawn(line, { shell: true, stdio: "ignore" }).once("exit", () => handOver(Date.now()));
}

answerCalls<ServerCalls>(
  {
    async open() {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("the server has no port");
      return { url: `http://127.0.0.1:${address.port}`, keys: [""] };
    },
    async someoneWaits() {
      if (held.length > 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      onHeld = resolve;
      await promise;
    },
    async endRun() {
      if (runId === undefined) throw new Error("no run is active");
      const gone = sharedNow();
      handOver(Date.now());
      return gone;
    },
  },
  () => {
    server.closeAllConnections();
    db.close();
  },
);
