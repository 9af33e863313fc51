import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { itOn } from "../../itOn.ts";
import { KeySearch } from "../../security/keySearch.ts";
import { World } from "../../security/world.ts";

/** Of a key only the random part is secret: its id is told everywhere. */
const secretPart = (secret: string) => secret.slice("plr_".length + 26 + 1);

/** A program in JavaScript as a step, which shows all that it was given and all that its parents show. */
const nosy = `
const { readFileSync, writeFileSync } = require("node:fs");
const read = (file) => { try { return readFileSync(file, "utf8"); } catch { return ""; } };
const seen = [JSON.stringify(process.env), process.argv.join(" "), read("/proc/self/environ"), read("/proc/self/cmdline")];
seen.push(read("/proc/" + process.ppid + "/cmdline"), read("/proc/" + process.ppid + "/environ"));
writeFileSync("seen.txt", seen.join("\\n"));
console.log(seen.join("\\n"));
`;

describe("the keys of this machine's own service", function () {
  this.timeout(240_000);
  let world: World;
  beforeEach(async () => {
    world = await World.make();
  });
  afterEach(() => world?.[Symbol.asyncDispose]());

  const makeKey = async (...more: readonly string[]) => {
    const { stdout, exitCode } = await world.spawn(["keys", "create", "--org", "Acme", "--json", ...more]);
    assert.equal(exitCode, 0);
    const made: { "api-key": string } = JSON.parse(String(stdout));
    return made["api-key"];
  };
  const connection = async () => (await readConnection(world.data)) ?? assert.fail("no service");
  const searchFor = (secrets: Record<string, string>) =>
    new KeySearch(
      Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name, secretPart(secret)])),
    );
  /** Where the token has to be, for this user's eyes only. */
  const isConnection = (file: string) => file === "data/service.json";
  const assertNowhere = async (search: KeySearch) => {
    const { finds, files } = await search.inFolder(world.path, isConnection);
    for (const line of world.commandLines) finds.push(...search.inText(line, "the list of processes"));
    assert.deepEqual(finds, []);
    return files;
  };

  it("are in no file, log and list of processes, in which the search finds their hashes", async () => {
    await world.pipeline(
      "nosy",
      `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${JSON.stringify([process.execPath, "-e", nosy])}\n`,
    );
    const foreign = randomBytes(32).toString("base64url");
    const foreignKey = `plr_${"0".repeat(26)}_${foreign}`;
    // A person who works with the cloud, too, starts the service in the same terminal.
    const env = {
      PIPELINE_LOG_LEVEL: "debug",
      PIPELINE_API_KEY: foreignKey,
      PIPELINE_BASE_URL: "http://127.0.0.1:9",
    };
    const serving = world.spawn(["serve", "--port", "0"], env);
    const said = Promise.all([text(serving.stdout), text(serving.stderr)]);
    while ((await readConnection(world.data)) === undefined) await world.look();
    const { token } = await connection();
    const member = await makeKey("--role", "member");
    const owner = await makeKey("--role", "owner", "--name", "CI");
    const { exitCode } = await world.run(["run", "nosy"]);
    assert.equal(exitCode, 0);
    for (const args of [
      ["keys", "list", "--json"],
      ["runs", "list", "--json"],
      ["runs", "log", "--raw"],
      ["page", "--json"],
      ["org"],
      ["backup", join(world.path, "backup.db")],
    ]) {
      assert.equal((await world.run(args)).exitCode, 0, args.join(" "));
    }
    const search = searchFor({ token, member, owner, foreign: foreignKey });
    await search.inFolder(world.path);
    await assertNowhere(search);
    const database = await readFile(join(world.path, "backup.db"), "latin1");
    for (const secret of [token, member, owner]) {
      assert.ok(database.includes(createHash("sha256").update(secret).digest("hex")));
    }
    assert.ok((await readFile(join(world.project, "seen.txt"), "utf8")).includes("PIPELINE_RUN_ID"));
    serving.kill("SIGTERM");
    await serving;
    for (const each of await said) await world.tell("serve", each);
    const files = await assertNowhere(search);
    for (const file of ["data/runs.db", "backup.db", "project/seen.txt"])
      assert.ok(files.includes(file), file);
    assert.ok(files.some((file) => file.endsWith("/log.ndjson")));
  });

  it("are told nobody and written nowhere, wherever in a request one stands", async () => {
    const serving = world.spawn(["serve", "--port", "0"], { PIPELINE_LOG_LEVEL: "debug" });
    const said = Promise.all([text(serving.stdout), text(serving.stderr)]);
    while ((await readConnection(world.data)) === undefined) await world.look();
    const { url, token } = await connection();
    const misplaced = await makeKey("--role", "member");
    const search = searchFor({ token, misplaced });
    const good = { "x-api-key": token };
    const encoded = encodeURIComponent(misplaced).replaceAll("_", "%5F").replace("plr", "%70lr");
    const cutAt200 = `${"a".repeat(140)}${misplaced}`;
    const replies: string[] = [];
    const ask = async (path: string, init: RequestInit = {}) => {
      const reply = await fetch(`${url}${path}`, { redirect: "manual", ...init });
      replies.push(
        `${init.method ?? "GET"} ${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`,
      );
    };
    for (const name of [misplaced, encoded, cutAt200, `${"b".repeat(170)}${misplaced}`]) {
      for (const path of [
        `/${name}`,
        `/api/runs/${name}`,
        `/api/runs/${name}/log`,
        `/app/${name}`,
        `/app/runs/${name}`,
      ]) {
        await ask(path, { headers: good });
        await ask(path);
        await ask(path, { method: "DELETE", headers: good });
      }
      await ask(`/api/runs/${name}/cancel`, { method: "POST", headers: good });
      await ask(`/api/runs/run_1/artifacts/${name}`, { headers: good });
      await ask(`/api/org?x-api-key=${name}&${name}=1`, { headers: good });
      await ask(`/api/runs?limit=${name}&${name}=1&status=${name}&after=${name}`, { headers: good });
      await ask(`/app/sign-in?next=/${name}&code=${name}`);
      await ask(`/api/projects/${name}`, { method: "DELETE", headers: good });
      await ask(`/api/keys/${name}/revoke`, { method: "POST", headers: good });
    }
    const bodies = [
      misplaced,
      JSON.stringify(misplaced),
      JSON.stringify({ [misplaced]: misplaced }),
      JSON.stringify({ pipeline: misplaced, project: misplaced }),
      JSON.stringify({ pipeline: "x", "time-limit-seconds": misplaced }),
      JSON.stringify({ role: misplaced, name: misplaced }),
      JSON.stringify({ role: "member", name: misplaced }),
      JSON.stringify({ root: `/${misplaced}` }),
      JSON.stringify({ root: misplaced }),
    ];
    for (const body of bodies) {
      for (const [method, path] of [
        ["POST", "/api/runs"],
        ["POST", "/api/keys"],
        ["PUT", "/api/projects/a"],
        ["PUT", `/api/projects/${misplaced}`],
        ["POST", "/api/sign-in-links"],
        ["POST", "/app/sign-in"],
      ] as const) {
        await ask(path, { method, body, headers: { ...good, origin: url } });
      }
    }
    for (const name of [
      "idempotency-key",
      "x-request-id",
      "prefer",
      "user-agent",
      "referer",
      "cookie",
      "authorization",
    ]) {
      await ask("/api/runs", {
        method: "POST",
        body: JSON.stringify({ pipeline: "x" }),
        headers: { ...good, [name]: misplaced },
      });
    }
    await ask("/api/org", { headers: { "x-api-key": `${misplaced}x` } });
    await ask("/api/org", { headers: { authorization: `Bearer ${misplaced}` } });
    await ask("/healthz", { headers: { origin: `http://${misplaced}` } });
    // What is no HTTP, which `fetch` doesn't send.
    const { port } = new URL(url);
    for (const line of [
      `${misplaced}\r\n\r\n`,
      `GET /${misplaced} ${misplaced}\r\n\r\n`,
      `GET / HTTP/1.1\r\nhost: ${misplaced}\r\nconnection: close\r\n\r\n`,
      `GET / HTTP/1.1\r\nhost: a\r\n${misplaced}\r\n\r\n`,
      `GET http://${misplaced}/ HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`,
      `GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nexpect: ${misplaced}\r\nconnection: close\r\n\r\n`,
    ]) {
      replies.push(await rawReply(Number(port), line));
    }
    assert.ok(replies.length > 150);
    await world.tell("replies", replies.join("\n"));
    serving.kill("SIGTERM");
    await serving;
    for (const each of await said) await world.tell("serve", each);
    await assertNowhere(search);
  });

  itOn(
    "posix",
    "are in nothing that a service leaves which was killed, and one that was told to report its crash",
    async () => {
      const reports = join(world.path, "reports");
      await world.pipeline(
        "hello",
        "resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: sleep 30\n",
      );
      const reporting = { NODE_OPTIONS: `--report-on-signal --report-on-fatalerror --report-dir=${reports}` };
      const serving = world.spawn(["serve", "--port", "0"], reporting);
      while ((await readConnection(world.data)) === undefined) await world.look();
      const env = { SHOP_TOKEN: `shop-${randomBytes(24).toString("base64url")}` };
      const { exitCode } = await world.run(["run", "hello", "--detach"], env);
      assert.equal(exitCode, 0);
      const { token, pid } = await connection();
      process.kill(pid, "SIGUSR2");
      while ((await readReports(reports)).length === 0) await world.look();
      process.kill(pid, "SIGKILL");
      await serving;
      const search = new KeySearch({ token: secretPart(token), "a step's secret": env.SHOP_TOKEN });
      const files = await assertNowhere(search);
      assert.ok(files.some((file) => file.startsWith("reports/")));
    },
  );
});

describe("a pipeline's secret", function () {
  this.timeout(240_000);

  it("that its steps print, as it is, in Base64 or percent-encoded, or that a server sends back, is kept nowhere", async () => {
    await using world = await World.make();
    const secret = `s3cr+et/${randomBytes(24).toString("base64")}&"quoted"`;
    const server = createServer((request, response) => {
      response.setHeader("x-echo", encodeURIComponent(`${request.headers.authorization}`));
      response.end(JSON.stringify({ echo: request.headers.authorization, url: request.url }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const print = `const s = process.env.SECRET;
console.log(s, encodeURIComponent(s), Buffer.from(s).toString("base64"), JSON.stringify(s));
process.exitCode = Number(process.env.CODE);
process.stderr.write(s.slice(0, 20)); setImmediate(() => process.stderr.write(s.slice(20) + "\\n"));`;
    const step = (name: string, code: number) => `
  - name: ${name}
    use: shell
    run: ${JSON.stringify([process.execPath, "-e", print])}
    env: { SECRET: "\${{ env.SHOP_TOKEN }}", CODE: "${code}" }`;
    await world.pipeline(
      "tells",
      `resources:
  shell: { type: cli }
  shop: { type: http, base-url: "http://127.0.0.1:${port}", headers: { authorization: "Bearer \${{ env.SHOP_TOKEN }}" } }
  books: { type: sql, url: "sqlite::memory:" }
steps:${step("prints", 0)}
  - { name: asks, use: shop, get: "/\${{ env.SHOP_TOKEN }}", expect: { status: 200 } }
  - { name: queries, use: books, query: "select ? as s", params: ["\${{ env.SHOP_TOKEN }}"] }${step("fails", 3)}
`,
    );
    try {
      const { exitCode, stderr } = await world.run(["run", "tells", "--log"], { SHOP_TOKEN: secret });
      assert.equal(exitCode, 1, stderr);
      for (const args of [
        ["runs", "show"],
        ["runs", "show", "--json"],
        ["runs", "log", "--raw"],
      ]) {
        const { stdout } = await world.run(args);
        assert.ok(args.includes("log") ? stdout.includes("***") : stdout.length > 0);
      }
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    const promised = new Set(["plain", "percent-encoded", "Base64"]);
    const { finds, files } = await new KeySearch({ secret }).inFolder(world.path);
    assert.deepEqual(
      finds.filter(({ form }) => promised.has(form)),
      [],
    );
    assert.ok(
      files.some((file) => file.includes("/artifacts/")),
      "the reply's body is kept",
    );
  });
});

function rawReply(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    let reply = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(sent));
    socket.on("data", (piece) => {
      reply += piece.toString("latin1");
    });
    socket.on("error", () => {});
    socket.once("close", () => resolve(reply));
  });
}

async function readReports(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith(".json"));
}
