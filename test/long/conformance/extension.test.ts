import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { connectEmbedded } from "../../../src/client/embedded/connectEmbedded.ts";
import { ServiceClient } from "../../../src/client/service/client.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { readTarget } from "../../../src/extension/keys/serviceChoice.ts";
import { StoppedWaiting, WaitNotice, Waits } from "../../../src/extension/start/waitNotice.ts";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { CountedFetch, drive } from "../../client/drive.ts";
import { FakeClock } from "../../clock/fakeClock.ts";
import { givenKey, sendShape, startsAnswered } from "./givenService.ts";
import { row } from "./row.ts";
import { type Told, watchedTool } from "./watchedTool.ts";

const taken = { name: "org", body: '{"error":"too-many-runs","scope":"org"}' };

describe("conformance: the extension", () => {
  let manifest: Told;
  before(async () => {
    const read = (file: string) => readFile(join(projectRoot, file), "utf8");
    const texts: Told = JSON.parse(await read("package.nls.json"));
    // As the editor reads it: a text that stands elsewhere is put in its place.
    manifest = JSON.parse(await read("package.json"), (_, value) =>
      typeof value === "string" ? (texts[/^%(.+)%$/.exec(value)?.[1] ?? ""] ?? value) : value,
    );
  });

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

  row("contract, The extension: names", "are those of the manifest", async () => {
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
    }
    const { properties } = manifest.contributes.configuration;
    for (const name of ["pipelineRuns.baseUrl", "pipelineRuns.cliPath"]) {
      assert.equal(properties[name].scope, "application");
    }
  });

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
});
