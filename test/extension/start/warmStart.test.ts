import assert from "node:assert/strict";
import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { startRun } from "../../../src/client/start/startRun.ts";
import { ProjectNames } from "../../../src/extension/session/projectNames.ts";
import { Session } from "../../../src/extension/session/session.ts";
import { chooseStart } from "../../../src/extension/start/chooseStart.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { backButton } from "./answeringWindow.ts";
import { fakeWindow } from "./fakeWindow.ts";

const { signal } = new AbortController();
const log = { info: () => {}, warn: () => {} };

describe("a start from a connected window", () => {
  it("is one request from the command to the row", async () => {
    await using service = await startedService();
    const { secret } = await service.member();
    await service.write("hello", programPipeline(""));
    const asked: string[] = [];
    const real = loopbackFetch();
    const session = new Session({
      target: () => ({ kind: "embedded" }),
      keys: { get: async () => undefined },
      embedded: async () => ({
        baseUrl: new URL(`${service.url}/`),
        apiKey: secret,
        fetch: (url, request) => {
          asked.push(`${request.method} ${url.pathname}`);
          return real(url, request);
        },
      }),
      clock: systemClock,
      log,
    });
    const projectNames = new ProjectNames({ session, log, isTrusted: () => true });
    const { window } = fakeWindow([]);
    const executeCommand = async () => undefined;
    const choose = () =>
      chooseStart(
        {
          session,
          projectNames,
          notice: { window, executeCommand, openPosition: executeCommand, onKeyRefused: async () => {} },
          window,
          backButton,
          executeCommand,
          lastUsed: new LastUsed(memoryMemento()),
          log,
          folders: () => [service.project.root],
          isTrusted: () => true,
          signal,
        },
        "Run Pipeline",
        "hello",
      );
    try {
      session.watch();
      await new Promise<void>((resolve) => {
        session.state.observe((state) => {
          if (state.kind === "live" && state.activeRuns !== undefined) resolve();
        });
      });
      await choose();
      // Opened events are followed by a question for what came before them.
      await session.refresh(await session.connect(signal), signal);
      asked.length = 0;
      const start = await choose();
      assert(start !== undefined);
      const { root, ...request } = start;
      assert.equal(root, service.project.root);
      const client = await session.connect(signal);
      const { kind } = await startRun(request, { client, onWaiting: () => {} }, signal);
      assert.equal(kind, "started");
      assert.deepEqual(asked, ["POST /api/runs"]);
    } finally {
      projectNames.dispose();
      session.dispose();
    }
  });
});
