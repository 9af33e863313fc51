// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { join } from "node:path";
import { lookAtAddress } from "../../../src/runner/cli/lookAtAddress.ts";
import { certificate } from "../../certificate.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { Listening } from "../../listening.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { holdBeacon, makeBeacon } from "../beacon.ts";
import { type LaunchChanges, launchTestRun, pipelineOf, type TestRun } from "../launch/launchTestRun.ts";

/** A server that says where it listens, answers `/health` with 503 as often as its second argument says, and ends at `/end`. */
const server = `
  let starting = Number(process.argv[2] ?? 0);
  require("node:http").createServer((request, response) => {
    if (request.url === "/end") process.exit(3);
    if (request.url.startsWith("/say/")) console.log("asked for " + request.url.slice(5));
    response.statusCode = request.url.startsWith("/health") && starting-- > 0 ? 503 : 200;
    response.end("{}");
  }).listen(Number(process.argv[1]), "127.0.0.1", () => process.stdout.write("ready at " + process.argv[1]));`;

describe("a program in the background", () => {
  if (process.platform === "win32") return;
  const folder = temporaryFolder();

  it("serves the steps behind its own once it is ready, logs there, and is ended behind `finally`", async () => {
    const port = await freePort();
    for (const ready of [
      { port: "${{ inputs.port }}" },
      {
        port,
        output: ["/^ready at/", String(port)],
        http: "http://127.0.0.1:${{ inputs.port }}/health?of=${{ run.id }}",
      },
    ]) {
      const run = launch(
        [
          { id: "shop", name: "open the shop", use: "sh", run: node(port, 2), background: true, ready },
          { use: "shop", get: "/say/s3cr3t" },
          { use: "sh", run: ["echo", "${{ steps.shop.outcome }} ${{ steps.shop.stdout }}"] },
        ],
        { port },
        [{ use: "shop", get: "/say/finally" }],
        { env: { ...process.env, TOKEN: "s3cr3t" } },
      );
      assert.deepEqual(await run.job.ended, { kind: "succeeded" }, JSON.stringify(ready));
      const log = textOf(run, 0);
      assert.match(log, /ready after /);
      assert.match(log, /asked for \*\*\*\n/);
      assert.match(log, /asked for finally\n/);
      assert.doesNotMatch(log, /before the run was over/);
    }
  });

  it("is ready when it has started where nothing else is said", async () => {
    const beacon = makeBeacon(folder.path, "started");
    const run = launch([
      { use: "sh", run: `${holdBeacon(beacon)}; cat; sleep 1000`, background: true, stdin: "given" },
      { use: "sh", run: `cat '${folder.path}/go'`, retry: { for: "1m", every: "10ms" } },
    ]);
    const [pid = 0] = await beacon.pids(1);
    assert.ok(isAlive(pid));
    await until(async () => textOf(run, 0).includes("given"));
    writeFileSync(join(folder.path, "go"), "");
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    await beacon.dark;
  });

  it("that isn't ready in time is ended, and its step says what is missing", async () => {
    const [port, other] = [await freePort(), await freePort()];
    await using deaf = await Listening.of(() => {});
    const beacon = makeBeacon(folder.path, "late");
    const script = "echo begun; sleep 1000";
    const late = [
      [
        { port },
        `nothing takes connections on port ${port}:\nbegun`,
        `trap '' TERM; ${holdBeacon(beacon)}; echo begun; while :; do sleep 1; done`,
      ],
      [{ output: "/^no/" }, "it hasn't printed /^no/:\nbegun"],
      [
        { http: `http://127.0.0.1:${port}/` },
        `http://127.0.0.1:${port}/ doesn't answer (ECONNREFUSED):\nbegun`,
      ],
      [{ http: `${deaf.origin}/` }, `${deaf.origin}/ doesn't answer:\nbegun`],
      [
        { http: `http://127.0.0.1:${other}/health`, output: "ready" },
        `http://127.0.0.1:${other}/health answers 503:\nready at ${other}`,
        node(other, 1000),
      ],
    ] as const;
    const messages = await messagesOf(
      late.map(([ready, , run]) => ({ run: run ?? script, ready: { ...ready, within: "2s" } })),
    );
    assert.deepEqual(
      messages,
      late.map(([, why]) => `wasn't ready within 2 s: ${why}`),
    );
    await beacon.dark;
  });

  it("that ends before it is ready fails its step, with a word to one that goes into the background itself", async () => {
    const port = await freePort();
    const ended = [
      ["echo no port given; exit 2", `exited with 2 MISSING:\nno port given`],
      ["kill -9 $$", "was ended by SIGKILL MISSING; it printed nothing"],
      [
        "setsid sleep 1000 > /dev/null 2>&1 & echo $! > daemon",
        "exited with 0 MISSING; one that goes into the background by itself, or by `&`, needs no `background`; it printed nothing",
      ],
    ] as const;
    const missing = `before it was ready: nothing takes connections on port ${port}`;
    assert.deepEqual(
      await messagesOf(ended.map(([run]) => ({ run, ready: { port } }))),
      ended.map(([, message]) => message.replace("MISSING", missing)),
    );
    assert.equal(isAlive(Number(readFileSync(join(folder.path, "daemon"), "utf8"))), false);
  });

  it("isn't taken for ready while another program has its port or address", async () => {
    await using other = await Listening.of(createServer((_, reply) => void reply.end()));
    const named = `http://app.localhost:${other.port}/`;
    const hindrances = [
      [{ http: named }, `${named} answers already`],
      [{ port: other.port }, `port ${other.port} is open already`],
      [{ http: `${other.origin}/` }, `${other.origin}/ answers already`],
    ] as const;
    assert.deepEqual(
      await messagesOf(hindrances.map(([ready]) => ({ run: "touch started", ready }))),
      hindrances.map(
        ([, what]) =>
          `${what}, before this program is started: end the program that is there, or give this one another port`,
      ),
    );
  });

  itOn("ipv6", "is ready at a port, and at an address of localhost, of IPv6 alone", async () => {
    for (const readyAt of [
      (port: number) => ({ port }),
      (port: number) => ({ http: `http://localhost:${port}/` }),
    ]) {
      const port = await freePort();
      const ofSix = node(port).map((word) => word.replace("127.0.0.1", "::1"));
      const run = launch([{ use: "sh", run: ofSix, background: true, ready: readyAt(port) }]);
      assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    }
  });

  it("is ready at an address behind a redirect, under a certificate of its own", async () => {
    const { cert, key } = certificate({ host: "shop.test" });
    await using other = await Listening.of(
      createSecureServer({ cert, key }, ({ url }, reply) =>
        reply.writeHead(url === "/" ? 302 : url === "/ok" ? 204 : 500, { location: "/ok" }).end(),
      ),
    );
    const at = (path: string) => lookAtAddress(`https://${other.host}${path}`, AbortSignal.timeout(20_000));
    assert.equal(await at("/"), undefined);
    assert.equal(await at("/busy"), `https://${other.host}/busy answers 500`);
    // Browsers refuse this port, and so does `fetch`.
    const refused = await lookAtAddress("http://127.0.0.1:6667/", AbortSignal.timeout(20_000));
    assert.equal(refused, "http://127.0.0.1:6667/ doesn't answer (ECONNREFUSED)");
  });

  it("isn't waited for longer at an address that takes the connection and leaves TLS unanswered", async () => {
    await using silent = await Listening.of((socket) => socket.resume());
    const looked = await lookAtAddress(`https://${silent.host}/`, AbortSignal.timeout(50));
    assert.equal(looked, `https://${silent.host}/ doesn't answer`);
  }).timeout(8_000); // The library gives up by itself after 10 s.

  it("isn't waited for at what an expression gives and is no port and no address of HTTP", async () => {
    const filled = (port: string) =>
      messagesOf(
        [{ port: "${{ inputs.port }}" }, { http: "${{ inputs.port }}" }].map((ready) => ({
          run: "touch started",
          ready,
        })),
        { port },
      );
    assert.deepEqual(await filled("file:///etc/passwd"), [
      "`ready`: a port is a whole number from 1 to 65535",
      "`ready`: `file:///etc/passwd` is no address: it begins with http:// or https://",
    ]);
    assert.equal(existsSync(join(folder.path, "started")), false);
  });

  it("that ends early is named by the step that meets that, and in its own log", async () => {
    const port = await freePort();
    const shop = { name: "open the shop", use: "sh", run: node(port), background: true, ready: { port } };
    const run = launch(
      [
        shop,
        { name: "look", use: "shop", get: "/end", "on-failure": "continue" },
        { name: "count", use: "sh", run: "exit 1" },
      ],
      { port },
    );
    const end = await run.job.ended;
    assert.match(
      end.kind === "failed" ? end.message : end.kind,
      /^look: .+\nwhat the step `open the shop` started in the background exited with 3; that step's log has what it wrote$/s,
    );
    assert.match(textOf(run, 0), /the program exited with 3 before the run was over\n$/);
    assert.equal(
      run.told.findLast(({ index }) => index === 2)?.step.message,
      "exited with 1, expected 0; it printed nothing",
    );
    // One that runs isn't to blame.
    const other = launch([shop, { name: "look", use: "sh", run: "exit 1" }], { port });
    assert.deepEqual(await other.job.ended, {
      kind: "failed",
      message: "look: exited with 1, expected 0; it printed nothing",
    });
  });

  it("is ended before another attempt, and where what is said of it doesn't hold", async () => {
    const port = await freePort();
    const shop = { name: "a", use: "sh", run: node(port), background: true };
    const run = launch(
      [
        {
          ...shop,
          ready: { port },
          retry: { times: 3, every: "10ms" },
          expect: { that: "this.attempts == 3 && !exists(this.exit-code)" },
        },
        { use: "shop", get: "/" },
      ],
      { port },
    );
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    assert.equal(textOf(run, 0).match(/ready after/g)?.length, 3);
  });

  it("may flood its output, which costs the other steps nothing", async () => {
    const run = launch([
      {
        use: "sh",
        run: "head -c 40000000 /dev/zero | tr '\\0' x; echo over; sleep 1000",
        background: true,
        ready: { output: "over" },
      },
      { use: "sh", run: "yes flood >&2", background: true },
      { use: "sh", run: "sleep 0.5; echo he'ar'd" },
    ]);
    assert.deepEqual(await run.job.ended, { kind: "succeeded" });
    assert.equal(textOf(run, 2).match(/heard\n/g)?.length, 1);
    const bytes = run.outputs.reduce((sum, { text }) => sum + text.length, 0);
    assert.ok(bytes < 17 * 1024 * 1024, String(bytes));
  });

  it("fails its step when a pattern can't be looked for in what it prints", async () => {
    const beacon = makeBeacon(folder.path, "pattern");
    const run = launch([
      {
        name: "a",
        use: "sh",
        run: `${holdBeacon(beacon)}; printf '${"a".repeat(40)}!'; sleep 1000`,
        background: true,
        ready: { output: "/^(a+)+$/" },
      },
    ]);
    const end = await run.job.ended;
    assert.match(end.kind === "failed" ? end.message : end.kind, /^a: the pattern .* took longer than 1 s/);
    await beacon.dark;
  });

  it("is ended when the run is stopped while it isn't ready, and when the runner is killed", async () => {
    const waiting = makeBeacon(folder.path, "waiting");
    const hidden = `trap '' TERM; ${holdBeacon(waiting)}; sleep 1000`;
    const stopped = launch(
      [{ use: "sh", run: hidden, background: true, ready: { output: "never" } }],
      {},
      [],
      { graceMilliseconds: 50 },
    );
    await waiting.pids(1);
    stopped.job.stop();
    assert.deepEqual(await stopped.job.ended, { kind: "stopped" });
    await waiting.dark;
    const left = makeBeacon(folder.path, "left");
    const second = Promise.withResolvers<void>();
    const killed = launch(
      [
        { use: "sh", run: hidden.replace(waiting.path, left.path), background: true },
        { use: "sh", run: "sleep 1000" },
      ],
      {},
      [],
      {
        graceMilliseconds: 50,
        onStep: (_, index) => {
          if (index === 1) second.resolve();
        },
      },
    );
    const pids = await left.pids(1);
    await second.promise;
    process.kill(killed.job.pid ?? 0, "SIGKILL");
    assert.equal((await killed.job.ended).kind, "died");
    assert.deepEqual(pids.filter(isAlive), []);
    await left.dark;
  });

  /** The messages of steps in the background that all fail. */
  async function messagesOf(
    steps: readonly object[],
    inputs: { readonly port?: number | string } = {},
  ): Promise<(string | undefined)[]> {
    const all = steps.map((step) => ({ use: "sh", background: true, "on-failure": "continue", ...step }));
    const run = launch(all, inputs);
    assert.equal((await run.job.ended).kind, "failed");
    return run.told.flatMap(({ step }) => (step.status === "failed" ? [step.message] : []));
  }

  /** @param inputs `port` is that of the resource `shop` too. */
  function launch(
    steps: readonly object[],
    inputs: { readonly port?: number | string } = {},
    cleanup: readonly object[] = [],
    changes: LaunchChanges = {},
  ): TestRun {
    const { port = 1 } = inputs;
    const pipeline = pipelineOf({
      inputs: { port },
      resources: {
        sh: { type: "cli", env: { ...(changes.env === undefined ? {} : { TOKEN: "${{ env.TOKEN }}" }) } },
        shop: { type: "http", "base-url": `http://127.0.0.1:${Number(port) || 1}` },
      },
      steps,
      ...(cleanup.length > 0 && { finally: cleanup }),
    });
    return launchTestRun(folder.path, pipeline, changes, undefined, { inputs: { port } });
  }
});

function node(...words: readonly number[]): readonly string[] {
  return [process.execPath, "-e", server, ...words.map(String)];
}

/** The log of a step. */
function textOf({ outputs }: TestRun, step: number): string {
  return outputs
    .filter(({ index }) => index === step)
    .map(({ text }) => text)
    .join("");
}

async function freePort(): Promise<number> {
  await using listening = await Listening.of(() => {});
  return listening.port;
}
