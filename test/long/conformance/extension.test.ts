import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { readTarget } from "../../../src/extension/keys/target.ts";
import { StoppedWaiting, WaitNotice } from "../../../src/extension/start/waitNotice.ts";
import { Waits } from "../../../src/extension/start/waits.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { CountedFetch, drive } from "../../client/drive.ts";
import type { Asked, LoopbackService } from "../../client/loopbackService.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { activatedExtension } from "./activatedExtension.ts";
import { givenKey, givenService, startsAnswered } from "./givenService.ts";
import { posixRow, row } from "./row.ts";
import { sendShape } from "./shapes.ts";
import { type Told, watchedTool } from "./watchedTool.ts";

const usedUp = { name: "free-day", body: '{"error":"too-many-runs","scope":"free-day"}' };
const taken = { name: "org", body: '{"error":"too-many-runs","scope":"org"}' };

describe("conformance: the extension", () => {
  let editor: Awaited<ReturnType<typeof activatedExtension>>;
  let manifest: Told;
  before(async () => {
    editor = await activatedExtension();
    const read = (file: string) => readFile(join(projectRoot, file), "utf8");
    const texts: Told = JSON.parse(await read("package.nls.json"));
    // As the editor reads it: a text that stands elsewhere is put in its place.
    manifest = JSON.parse(await read("package.json"), (_, value) =>
      typeof value === "string" ? (texts[/^%(.+)%$/.exec(value)?.[1] ?? ""] ?? value) : value,
    );
  });
  after(() => editor[Symbol.dispose]());

  /** The window of a person who has set this service's address, and its key. */
  async function usedWith(service: LoopbackService): Promise<void> {
    editor.changeSetting("baseUrl", service.origin);
    editor.typed.push(givenKey);
    const from = editor.shown.all.length;
    await editor.execute("pipelineRuns.setApiKey");
    await editor.until(({ kind, text }) => kind === "information" && text.includes(service.origin), from);
  }
  const withKey = ({ asked }: LoopbackService): Asked[] =>
    asked.filter(({ headers }) => headers["x-api-key"] === givenKey);

  row(
    "contract, The extension: API key",
    "is in SecretStorage alone, and never sent to another origin",
    async () => {
      await using first = await givenService();
      await using second = await givenService();
      await usedWith(first);
      assert(withKey(first).length > 0);
      assert([...editor.secrets.kept.values()].some((secret) => secret.includes(givenKey)));
      assert(![...editor.settings.values()].includes(givenKey));
      const from = editor.shown.all.length;
      editor.changeSetting("baseUrl", second.origin);
      await editor.until(({ kind, text }) => kind === "status" && /API key/.test(text), from);
      await editor.execute("pipelineRuns.cancel");
      assert.deepEqual(withKey(second), []);
      assert(!JSON.stringify(editor.shown.all).includes(givenKey));
    },
  );

  row(
    "contract, The extension: status bar",
    "says the used of the day's runs, with the service's own numbers",
    async () => {
      await using free = await givenService();
      await using gold = await givenService({ org: { limits: { "parallel-runs": 3, "runs-per-day": 900 } } });
      for (const [service, text] of [
        [free, "7 of 50 runs used today"],
        [gold, "7 of 900 runs used today"],
      ] as const) {
        const from = editor.shown.all.length;
        await usedWith(service);
        const shown = await editor.until(
          ({ kind, text }) => kind === "status" && /runs used/.test(text),
          from,
        );
        assert.equal(shown.text, text);
      }
    },
  );

  row(
    "contract, The extension: commands",
    "run, cancel and cancel mine are in the palette and do so",
    async () => {
      const titles = manifest.contributes.commands.map(({ title }: Told) => title.replace("…", ""));
      for (const title of ["Run Pipeline", "Cancel Run", "Cancel My Runs"])
        assert(titles.includes(title), title);
      const hidden: Told[] = manifest.contributes.menus?.commandPalette ?? [];
      for (const id of ["run", "cancel", "cancelMine"]) {
        assert(!hidden.some(({ command }) => command === `pipelineRuns.${id}`), id);
      }
      await using service = await startsAnswered((_, response) => sendShape(response, usedUp));
      await usedWith(service);
      editor.typed.push("nightly");
      await editor.execute("pipelineRuns.run");
      editor.typed.push("run_1");
      await editor.execute("pipelineRuns.cancel");
      const posted = service.asked.filter(({ method }) => method === "POST").map(({ path }) => path);
      assert.deepEqual(posted, ["/api/runs", "/api/runs/run_1/cancel"]);
      const from = editor.shown.all.length;
      await editor.execute("pipelineRuns.cancelMine");
      const shown = await editor.until(({ kind }) => kind === "error", from);
      assert.match(shown.text, /command-line tool/);
    },
  );

  row("contract, The extension: wait", "120 s, with each second left, and a way to stop", async () => {
    await using service = await startsAnswered((_, response) => sendShape(response, taken));
    const clock = new FakeClock();
    const counted = new CountedFetch();
    const reported: string[] = [];
    let cancellable: boolean | undefined;
    let stop = () => {};
    const window = {
      withProgress: (options: { cancellable?: boolean }, task: (...args: never[]) => Promise<unknown>) => {
        cancellable = options.cancellable;
        const progress = { report: ({ message }: { message: string }) => reported.push(message) };
        const token = {
          onCancellationRequested: (listener: () => void) => {
            stop = listener;
            return { dispose: () => {} };
          },
        };
        return task(...([progress, token] as never[]));
      },
    };
    const wait = (onWaiting: (secondsLeft: number, notice: WaitNotice) => void) => {
      const notice = new WaitNotice({ pipeline: "nightly" }, window as never, new Waits());
      const outcome = startRun(
        { pipeline: "nightly" },
        {
          client: new ServiceClient({
            baseUrl: new URL(service.origin),
            apiKey: givenKey,
            clock,
            fetch: counted.fetch,
          }),
          onWaiting: (secondsLeft) => {
            notice.update(secondsLeft);
            onWaiting(secondsLeft, notice);
          },
        },
        notice.signal,
      ).finally(() => notice[Symbol.dispose]());
      return drive(outcome, clock, service, counted);
    };
    const outcome = await wait(() => {});
    assert.deepEqual(outcome, { kind: "refused", refusal: { scope: "org" }, waitedSeconds: 120 });
    assert.equal(cancellable, true);
    const seconds = reported.map((message) => Number(/\d+/.exec(message)?.[0]));
    assert.deepEqual(
      [...new Set(seconds)],
      Array.from({ length: 120 }, (_, passed) => 120 - passed),
    );
    await assert.rejects(
      wait((left) => left === 100 && stop()),
      StoppedWaiting,
    );
  });

  row("contract, The extension: refusal", "a notification with the hints, and Retry asks again", async () => {
    await using service = await startsAnswered((_, response) =>
      sendShape(response, usedUp, { date: "Tue, 03 Mar 2026 22:48:00 GMT" }),
    );
    await usedWith(service);
    const from = editor.shown.all.length;
    editor.presses.push("Retry");
    editor.typed.push("nightly");
    await editor.execute("pipelineRuns.run");
    const warnings = editor.shown.all.slice(from).filter(({ kind }) => kind === "warning");
    assert.equal(warnings.length, 2, "the one that was answered with Retry, and that of the second attempt");
    for (const { text, buttons } of warnings) {
      assert(buttons.includes("Retry"));
      assert.match(text, /pipeline run nightly, in 1 h 12 min/);
    }
    const starts = service.asked.filter(({ path }) => path === "/api/runs");
    assert.equal(starts.filter(({ method }) => method === "POST").length, 2);
  });

  row(
    "contract, The extension: names",
    "are those of the manifest and of what the extension registers",
    async () => {
      assert.equal(`${manifest.publisher}.${manifest.name}`, "pipeline-runs.pipeline-runs");
      const titles: Readonly<Record<string, string>> = {
        "pipelineRuns.run": "Run Pipeline…",
        "pipelineRuns.cancel": "Cancel Run…",
        "pipelineRuns.cancelMine": "Cancel My Runs",
        "pipelineRuns.setApiKey": "Set API Key…",
        "pipelineRuns.removeApiKey": "Remove API Key",
      };
      for (const [id, title] of Object.entries(titles)) {
        const entry: Told = manifest.contributes.commands.find(({ command }: Told) => command === id);
        assert.deepEqual([entry?.title, entry?.category], [title, "Pipeline Runs"]);
        assert(editor.commands.has(id), id);
      }
      assert.deepEqual(editor.statusItems, ["quota"]);
      const { properties } = manifest.contributes.configuration;
      for (const name of ["pipelineRuns.baseUrl", "pipelineRuns.cliPath"]) {
        assert.equal(properties[name].scope, "application");
      }
    },
  );

  row(
    "contract, The extension: default",
    "no base URL: this machine's service, started once for editor and terminal",
    async () => {
      assert.equal(manifest.contributes.configuration.properties["pipelineRuns.baseUrl"].default, "");
      assert.equal(readTarget({ get: () => "" as never }).kind, "embedded");
      await using tool = await watchedTool();
      const window = () =>
        connectEmbedded(
          {
            folder: tool.data,
            execPath: process.execPath,
            servicePath: join(projectRoot, "dist/service.js"),
            env: process.env,
          },
          new AbortController().signal,
        );
      const one = await window();
      const connection = await readConnection(tool.data);
      const [other, told] = await Promise.all([window(), tool.json(["org"])]);
      assert.equal(other.client.baseUrl.href, one.client.baseUrl.href);
      const org = await one.client.org(new AbortController().signal);
      assert.deepEqual([told.exitCode, told.told["org-id"], told.told.actor], [0, org.orgId, org.actor]);
      assert.deepEqual(await readConnection(tool.data), connection);
    },
  );

  posixRow(
    "contract, The extension: start against a service…",
    "`<cliPath> run <pipeline>`: exit code 5 and its object are shown as a refusal",
    async () => {
      await using tool = await watchedTool();
      const cliPath = join(tool.project, "cloud tool");
      const seen = join(tool.project, "seen");
      const refusal = {
        ok: false,
        command: "run",
        error: { type: "too-many-runs", message: "free-day: 4321 seconds to wait" },
        hints: [{ command: "cloud run nightly", doc: "retry after 4321 s" }],
        warnings: [],
      };
      await writeFile(
        cliPath,
        `#!/bin/sh\nprintf '%s|' "$@" "$PIPELINE_BASE_URL" "$PIPELINE_API_KEY" > '${seen}'\necho '${JSON.stringify(refusal)}'\nexit 5\n`,
      );
      await chmod(cliPath, 0o755);
      await using given = await givenService();
      await usedWith(given);
      editor.changeSetting("cliPath", cliPath);
      const from = editor.shown.all.length;
      editor.typed.push("nightly");
      await editor.execute("pipelineRuns.run");
      const shown = await editor.until(({ kind }) => kind === "warning", from);
      assert.match(shown.text, /cloud run nightly/);
      assert.match(shown.text, /4321/);
      assert(shown.buttons.includes("Retry"));
      assert.equal(await readFile(seen, "utf8"), `run|nightly|${given.origin}|${givenKey}|`);
      editor.changeSetting("cliPath", "");
    },
  );
});
