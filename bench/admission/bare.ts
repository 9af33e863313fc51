// The limit of what a server of this kind can do: `node:http`, the statements that our service runs for the same requests,
// prepared once, on the same tables with the same indexes and the same full sync, and nothing else. It checks no key's
// secret, no host and no body, counts nothing, logs nothing, and sends no header that isn't needed. It commits each start by
// itself; with `sharing`, all that come in one turn of the event loop at once, which is the most that sharing can win.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { utcDay } from "../../src/contract/limits.ts";
import { repeatedRun } from "../../src/service/admission/grant.ts";
import { idMaker } from "../../src/service/store/ids.ts";
import { keyById } from "../../src/service/store/keys.ts";
import { databaseFile, openDatabase } from "../../src/service/store/openDatabase.ts";
import { orgWithUsage } from "../../src/service/store/orgs.ts";
import { projectsOf } from "../../src/service/store/projects.ts";
import { nextNumber, takeNumber } from "../../src/service/store/runChanges.ts";
import { answerCalls } from "../worker/answerCalls.ts";
import { ownUsage, type ServerCalls } from "./calls.ts";
import { slowCommits } from "./slowCommits.ts";

const [, , folder = "", commitMilliseconds, sharing] = process.argv;
slowCommits(Number(commitMilliseconds));
const db = new DatabaseSync(databaseFile(folder));
db.exec(
  "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000",
);
const makeId = idMaker(Date.now);

/** The statement that a query of the service comes to; its values are given anew each time. */
const queries = await openDatabase(folder);
const prepare = (query: { compile(): { readonly sql: string } }) => db.prepare(query.compile().sql);

const statements = {
  key: prepare(keyById(queries, "")),
  org: db.prepare(orgWithUsage("", "").compile(queries).sql),
  project: prepare(projectsOf(queries, "", "")),
  repeated: prepare(repeatedRun(queries, "", "")),
  insert: db.prepare(
    `insert into runs (id, org_id, project, pipeline, actor, runner, status, day, created_at, time_limit_seconds,
       idempotency_key) values (?, ?, ?, ?, ?, 'bare', 'running', ?, ?, 3600, ?)`,
  ),
  nextNumber: db.prepare(nextNumber("").compile(queries).sql),
  takeNumber: db.prepare(takeNumber("").compile(queries).sql),
  begin: db.prepare("begin immediate"),
  commit: db.prepare("commit"),
};

const server = createServer((incoming, outgoing) => {
  if (incoming.method === "GET") {
    const key = caller(incoming);
    const org = row(statements.org.get(utcDay(Date.now()), text(key["org_id"])));
    answer(outgoing, 200, {
      "org-id": org["id"],
      "org-name": org["name"],
      tier: org["tier"],
      limits: { "parallel-runs": org["parallel_runs"], "runs-per-day": org["runs_per_day"] },
      usage: { "runs-today": org["runs_today"] },
      actor: key["id"],
    });
    return;
  }
  let body = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (piece: string) => {
    body += piece;
  });
  incoming.on("end", () => start(incoming, outgoing, JSON.parse(body)));
});

/** Writes a start, and gives back how it is answered. */
type Admit = () => () => void;

let gathered: Admit[] = [];

function gather(admit: Admit): void {
  gathered.push(admit);
  if (gathered.length > 1) return;
  setImmediate(() => {
    const all = gathered;
    gathered = [];
    commit(all);
  });
}

function commit(starts: readonly Admit[]): void {
  statements.begin.run();
  const answers = starts.map((admit) => admit());
  statements.commit.run();
  for (const tell of answers) tell();
}

/** One start: reads, and writes when there is a slot. */
function start(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  asked: { readonly pipeline: string; readonly project: string },
): void {
  const key = caller(incoming);
  const orgId = text(key["org_id"]);
  const idempotencyKey = String(incoming.headers["idempotency-key"]);
  statements.project.get(orgId, asked.project);
  const now = Date.now();
  const day = utcDay(now);
  statements.repeated.get(text(key["id"]), idempotencyKey);
  const slots = row(statements.org.get(day, orgId));
  const isUsed = Number(slots["runs_today"]) >= Number(slots["runs_per_day"]);
  if (isUsed || Number(slots["active"]) >= Number(slots["parallel_runs"])) {
    const scope = isUsed ? "free-day" : "org";
    answer(outgoing, 429, { error: { type: "too-many-runs", message: "refused", scope } });
    return;
  }
  const admit = () => {
    const runId = makeId("run");
    const { project, pipeline } = asked;
    statements.insert.run(runId, orgId, project, pipeline, text(key["id"]), day, now, idempotencyKey);
    statements.nextNumber.run(1, runId);
    statements.takeNumber.run(runId);
    return () => answer(outgoing, 201, { "run-id": runId, pipeline, project, status: "running" });
  };
  if (sharing === "sharing") gather(admit);
  else commit([admit]);
}

type Row = Readonly<Record<string, unknown>>;

function caller({ headers }: IncomingMessage): Row {
  return row(statements.key.get(`key_${String(headers["x-api-key"]).slice(4, 30)}`));
}

function row(found: Row | undefined): Row {
  if (found === undefined) throw new Error("There is no such row");
  return found;
}

function text(value: unknown): string {
  return String(value);
}

function answer(outgoing: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value);
  outgoing.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  });
  outgoing.end(body);
}

answerCalls<ServerCalls>(
  {
    async open() {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("the server has no port");
      return `http://127.0.0.1:${address.port}`;
    },
    usage: ownUsage,
  },
  () => process.exit(),
);
