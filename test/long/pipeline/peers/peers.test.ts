import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { ensureChromium } from "../../../../scripts/chromium.ts";
import { sayToStandardError } from "../../../../scripts/say.ts";
import type { RunnerEnd } from "../../../../src/contract/runners.ts";
import { parsePipeline } from "../../../../src/pipeline/parsePipeline.ts";
import type { ReadPart } from "../../../../src/pipeline/partFiles.ts";
import { type Answer, type Asked, LoopbackService } from "../../../client/loopbackService.ts";
import { type MysqlPrograms, mysqlPrograms } from "../../../mysql/mysqlPrograms.ts";
import { startedMysql } from "../../../mysql/startedMysql.ts";
import { postgresFolder } from "../../../postgres/installPostgres.ts";
import { postgresVariable } from "../../../postgres/lentDatabases.ts";
import { startedPostgres } from "../../../postgres/startedPostgres.ts";
import { launchTestRun } from "../../../runner/launch/launchTestRun.ts";
import { TemporaryFolder } from "../../../temporaryFolder.ts";

const folder = import.meta.dirname;
const secret = "word-of-the-peers";

/** A scenario of another tool, as a pipeline file says it; or a part that some of them include. */
interface Scenario {
  /** Relative to this folder, with `/`. */
  readonly file: string;
  readonly text: string;
  /** The tool's file: `runn: testdata/book/…`. Undefined for a part. */
  readonly peer: string | undefined;
  /** A part of the run's message; undefined where the run succeeds. */
  readonly says: string | undefined;
}

interface Ran {
  readonly end: RunnerEnd | { readonly kind: "invalid"; readonly problems: readonly string[] };
  readonly output: string;
}

const scenarios = globSync("{runn,venom}/**/*.yaml", { cwd: folder }).sort().map(readScenario);

function readScenario(path: string): Scenario {
  const file = path.replaceAll("\\", "/");
  const text = readFileSync(join(folder, path), "utf8");
  const peer = /^# ((?:runn|venom): .+)$/m.exec(text)?.[1];
  const says = /^# says: (.+)$/m.exec(text)?.[1];
  assert.equal(
    says !== undefined,
    text.includes("\n# ends: failed\n") || text.startsWith("# ends: failed\n"),
    file,
  );
  return { file, text, peer, says };
}

function readPart(path: string): ReturnType<ReadPart> {
  return { kind: "read", text: readFileSync(join(folder, path), "utf8") };
}

const held = new AsyncDisposableStack();
const [mysql] = mysqlPrograms();
const postgres = postgresFolder();

/** How the databases are started that there can be on this machine, by the variables with their addresses. */
const databases: ReadonlyMap<string, () => Promise<string>> = new Map([
  ...(mysql === undefined ? [] : [["PEERS_MYSQL", () => startMysql(mysql)] as const]),
  ...(postgres === undefined ? [] : [["PEERS_POSTGRES", () => startPostgres(postgres)] as const]),
]);

async function startMysql(programs: MysqlPrograms): Promise<string> {
  const { password, port } = held.use(await startedMysql(programs, AbortSignal.timeout(290_000)));
  return `mysql://app:${encodeURIComponent(password)}@127.0.0.1:${port}/shop`;
}

async function startPostgres(native: string): Promise<string> {
  const start = () => startedPostgres(native, AbortSignal.timeout(290_000));
  return `${process.env[postgresVariable] ?? held.use(await start()).server}postgres`;
}

/** Where a database isn't to be had, the scenarios with it are no tests. */
function isRunHere({ text }: Scenario): boolean {
  const needed = /\benv\.(PEERS_(?:MYSQL|POSTGRES))\b/g;
  return [...text.matchAll(needed)].every(([, name]) => name !== undefined && databases.has(name));
}

describe("the scenarios of other tools", () => {
  if (process.platform === "win32") return;
  const ran = new Map<Scenario, PromiseWithResolvers<Ran>>(
    scenarios.filter(isRunHere).map((scenario) => [scenario, Promise.withResolvers<Ran>()]),
  );

  before(async function () {
    // The first time, databases come from npm.
    this.timeout(300_000);
    const service = held.use(await LoopbackService.listen(peersServer()));
    const { path: root } = held.use(await TemporaryFolder.make());
    await cp(folder, root, { recursive: true, filter: (path) => !path.endsWith(".ts") });
    const env = {
      ...process.env,
      PEERS_URL: service.origin,
      PEERS_HOST: service.host,
      PEERS_TOKEN: secret,
      PEERS_PLACE: "floor",
      PEERS_WORD: "from the environment",
      ...Object.fromEntries(
        await Promise.all([...databases].map(async ([name, start]) => [name, await start()])),
      ),
      PIPELINE_BROWSER: await ensureChromium(sayToStandardError, new AbortController().signal),
    };
    const waiting = ran.entries();
    for (let worker = 0; worker < availableParallelism(); worker += 1) void work();

    /** Runs one scenario after the other, in the order in which the tests ask for them. */
    async function work(): Promise<void> {
      for (const [scenario, { resolve, reject }] of waiting)
        await runScenario(scenario).then(resolve, reject);
    }

    async function runScenario({ file, text }: Scenario): Promise<Ran> {
      const parsed = parsePipeline(text, file, readPart);
      if (parsed.kind === "invalid") {
        const problems = parsed.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`);
        return { end: { kind: "invalid", problems }, output: "" };
      }
      const artifacts = held.use(await TemporaryFolder.make());
      const { job, outputs } = launchTestRun(root, parsed.pipeline, { env }, artifacts.path);
      return { end: await job.ended, output: outputs.map((output) => output.text).join("") };
    }
  });
  after(() => held.disposeAsync());

  for (const scenario of ran.keys()) {
    it(`${scenario.file}${scenario.says === undefined ? "" : " fails"}`, async () => {
      const { end, output } = (await ran.get(scenario)?.promise) ?? assert.fail();
      if (scenario.says === undefined) assert.deepEqual(end, { kind: "succeeded" }, output);
      else {
        assert.ok(end.kind === "failed", `${JSON.stringify(end)}\n${output}`);
        assert.ok(end.message.includes(scenario.says), end.message);
      }
      assert.ok(!`${JSON.stringify(end)}${output}`.includes(secret));
    });
  }

  it("are those that README.md counts, each once, and the others are named there with a reason", () => {
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    const said = scenarios.flatMap(({ peer }) => peer ?? []);
    const unsaid = [...readme.matchAll(/^- `((?:runn|venom): [^`]+)`/gm)].flatMap(([, peer]) => peer ?? []);
    assert.equal(new Set([...said, ...unsaid]).size, said.length + unsaid.length);
    assert.equal(said.length + unsaid.length, 222);
    assert.match(readme, new RegExp(`\\b${said.length} of the 222\\b`));
    assert.ok(said.length >= 110);
  });
});

/** A request as the routes see it. */
interface Request extends Asked {
  readonly url: URL;
  /** What stands in the path where the route has a `*`. */
  readonly word: string;
}

type Route = (request: Request, response: ServerResponse) => unknown;

const users = ["ada", "bob", "cid", "dot", "eve", "fay", "gus", "hal", "ivy", "joy"].map((name, index) => ({
  id: index + 1,
  name,
}));
const repositories = Array.from({ length: 58 }, (_, index) => ({ name: `repository-${index + 1}` }));
const picture = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

const form = `<!doctype html><title></title><main>
  <a href="/hello">Say hello</a> <a href="/hello" target="_blank">In a tab</a>
  <form action="/sent"><label>Name <input name="name"></label><button>Send</button></form>
</main>`;

/**
 * The server that the peers' scenarios ask. Counters and what has to become ready are kept by the word in the path, so that
 * runs at the same time don't meet there: each uses its own `run.id`.
 */
function peersServer(): Answer {
  const counts = new Map<string, number>();
  const count = (word: string) => {
    const next = (counts.get(word) ?? 0) + 1;
    counts.set(word, next);
    return next;
  };
  const routes: Readonly<Record<string, Route>> = {
    "/echo": (request, response) => json(response, 200, echoOf(request)),
    "/slow/*": async ({ word }, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      for (let piece = 0; piece < Number(word); piece += 1) {
        response.write(".");
        await turn();
      }
      response.end();
    },
    "/never": () => undefined,
    "/count/*": ({ word }, response) => json(response, 200, { count: count(`count ${word}`) }),
    "/ready/*": ({ word, url }, response) => {
      const isReady = count(`ready ${word}`) > Number(url.searchParams.get("after"));
      json(response, isReady ? 200 : 503, { ready: isReady });
    },
    "/one-more/*": ({ word }, response) => json(response, 201, { value: Number(word) + 1 }),
    "/set-cookie": ({ url }, response) => {
      const [name, value] = [url.searchParams.get("name"), url.searchParams.get("value")];
      json(response.setHeader("set-cookie", `${name}=${value}; Path=/`), 200, { name, value });
    },
    "/cookies": (request, response) => json(response, 200, { cookies: cookiesOf(request) }),
    "/redirect": (_, response) => response.writeHead(302, { location: "/missing" }).end(),
    "/users": ({ method, body }, response) =>
      method === "POST" ? json(response, 201, { id: 11, ...JSON.parse(body) }) : json(response, 200, users),
    "/users/*": ({ word }, response) => json(response, 200, users[Number(word) - 1] ?? null),
    "/people/*": ({ word }, response) => json(response, 200, { name: word }),
    "/repos": ({ url }, response) => {
      const page = Number(url.searchParams.get("page"));
      json(response, 200, repositories.slice(30 * (page - 1), 30 * page));
    },
    "/private": ({ headers }, response) =>
      headers.authorization?.startsWith("Bearer ") === true
        ? json(response, 200, { private: true })
        : json(response, 403, { error: "forbidden" }),
    "/bearer": ({ headers }, response) => {
      const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
      json(response, token === undefined ? 401 : 200, { authenticated: token !== undefined, token });
    },
    "/login": ({ body }, response) => {
      const { mail, password } = JSON.parse(body);
      const isKnown = mail === "ada@example.test" && password === "lamp;light";
      json(response, isKnown ? 200 : 401, isKnown ? { token: "of-ada" } : {});
    },
    "/projects": ({ headers }, response) =>
      headers.authorization === "token of-ada"
        ? json(response, 200, { projects: ["lamps", "desks"] })
        : json(response, 403, {}),
    "/graphql": ({ headers, body }, response) =>
      json(response, 200, { data: { request: JSON.parse(body), user: headers["x-user"] } }),
    "/gzip": (request, response) =>
      response
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end(gzipSync(JSON.stringify({ compressed: true, ...echoOf(request) }))),
    "/index/*": ({ word }, response) => json(response, 200, { page: Number(word) }),
    "/price": (_, response) => json(response, 200, { price: 1.5 }),
    "/picture": (_, response) => response.writeHead(200, { "content-type": "image/png" }).end(picture),
    "/form": (_, response) => html(response, form),
    "/hello": (_, response) => html(response, "<!doctype html><title>Hello</title><h1>Hello</h1>"),
    "/sent": (_, response) => html(response, "<!doctype html><title>Sent</title><p>Thank you</p>"),
  };
  return (asked, response) => {
    const url = new URL(asked.path, "http://localhost");
    const path = url.pathname.replace(/^\/v1\b/, "");
    if (path !== url.pathname) response.setHeader("x-version", "v1");
    const [, begin = "", word = ""] = /^(\/[^/]*)\/(.+)$/.exec(path) ?? [];
    const route = routes[path] ?? routes[`${begin}/*`];
    if (route === undefined) return json(response, 404, { error: "not found" });
    return route({ ...asked, url, word: decodeURIComponent(word) }, response);
  };
}

function echoOf(request: Request): object {
  const { method, url, headers, body } = request;
  const isJson = headers["content-type"] === "application/json" && body !== "";
  const query = Object.fromEntries(url.searchParams);
  return { method, path: url.pathname, query, headers, body, ...(isJson && { json: JSON.parse(body) }) };
}

function cookiesOf({ headers }: Asked): Record<string, string> {
  const pieces = (headers.cookie ?? "").split("; ").filter((piece) => piece !== "");
  return Object.fromEntries(
    pieces.map((piece) => [piece.split("=", 1)[0], piece.slice(piece.indexOf("=") + 1)]),
  );
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function html(response: ServerResponse, page: string): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
}
