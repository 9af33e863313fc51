import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loopbackFetch } from "../../../src/client/service/loopbackFetch.ts";
import { RunAnnouncer } from "../../../src/extension/announce/runAnnouncer.ts";
import { type RunPipelineDeps, runPipeline } from "../../../src/extension/commands/runPipeline.ts";
import { ProjectNames } from "../../../src/extension/session/projectNames.ts";
import { Session } from "../../../src/extension/session/session.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { Waits } from "../../../src/extension/start/waitNotice.ts";
import { Shutdown } from "../../../src/extension/window/shutdown.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { programPipeline, startedService } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { memoryClaims } from "../memoryClaims.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { backButton } from "./answeringWindow.ts";
import { fakeWindow } from "./fakeWindow.ts";

const log = { info: () => {}, warn: () => {} };

/** A window with a project's folder, and what it asks the service; a look for the service is `GET /healthz`. */
async function windowOf(service: Awaited<ReturnType<typeof startedService>>, folder = service.project.root) {
  const { secret } = await service.member();
  const asked: string[] = [];
  const real = loopbackFetch();
  const ended = new AbortController();
  const { signal } = ended;
  const session = new Session({
    target: () => ({ kind: "embedded" }),
    keys: { keyFor: async () => undefined },
    embedded: async () => {
      asked.push("GET /healthz");
      return {
        baseUrl: new URL(`${service.url}/`),
        apiKey: secret,
        fetch: (url, request) => {
          asked.push(`${request.method} ${url.pathname}`);
          return real(url, request);
        },
      };
    },
    clock: systemClock,
    log,
  });
  const projectNames = new ProjectNames({ session, log, isTrusted: () => true });
  const { window, shown } = fakeWindow([]);
  const executeCommand = async () => undefined;
  const unwanted = () => assert.fail("nothing is refused");
  const deps: RunPipelineDeps = {
    session,
    projectNames,
    announcer: new RunAnnouncer({
      ...{ window, session, claims: memoryClaims(), clock: systemClock, log, signal, executeCommand },
      level: () => "none",
      setLevel: async () => {},
      showProblem: async (error) => assert.fail(String(error)),
    }),
    ...{ window, backButton, executeCommand, log, signal },
    waits: new Waits(),
    shutdown: new Shutdown(),
    target: () => ({ kind: "embedded" }),
    refusalActions: {
      ...{ "retry-at-reset": unwanted, "cancel-mine": unwanted, "who-holds": unwanted },
      "what-counts": unwanted,
    },
    lastUsed: new LastUsed(memoryMemento()),
    cliPath: () => undefined,
    env: {},
    saveFiles: async () => {},
    folders: () => [folder],
    isTrusted: () => true,
  };
  return {
    client: service.client(secret),
    asked,
    shown,
    session,
    run: () => runPipeline(deps, "hello"),
    [Symbol.dispose]: () => {
      ended.abort();
      projectNames.dispose();
      session.dispose();
    },
  };
}

describe("a start from the editor", () => {
  it("looks for the service once in a window that wasn't connected", async () => {
    await using service = await startedService();
    await service.write("hello", programPipeline(""));
    using window = await windowOf(service);
    await window.run();
    const [project] = window.asked.filter((each) => each.startsWith("PUT "));
    // The window's own connection reads the org and opens the events meanwhile.
    const own = window.asked.filter((each) => !/\/api\/(?:org|events)$/.test(each));
    assert.deepEqual(own, ["GET /healthz", project, "POST /api/runs"]);
  });

  it("is two requests in a connected window that has started nothing yet", async () => {
    await using service = await startedService();
    await service.write("hello", programPipeline(""));
    using window = await windowOf(service);
    window.session.watch();
    await window.session.settled();
    window.asked.length = 0;
    await window.run();
    const own = window.asked.filter((each) => !/\/api\/(?:org|events|runs\/.*)$/.test(each));
    assert.deepEqual(own, [`PUT /api/projects/${service.project.name}`, "POST /api/runs"]);
  });

  it("is one request in a connected window", async () => {
    await using service = await startedService();
    await service.write("hello", programPipeline(""));
    using window = await windowOf(service);
    await window.run();
    await window.shown.atLeast(1);
    await new Promise<void>((resolve) => {
      window.session.state.observe((state) => {
        if (state.kind === "live" && state.activeRuns?.length === 0) resolve();
      });
    });
    window.asked.length = 0;
    await window.run();
    await window.shown.atLeast(2);
    const follow = window.asked.filter((each) => !/\/api\/(?:events|runs\/.*)$/.test(each));
    assert.deepEqual(follow, ["POST /api/runs"]);
  });

  for (const [opened, registered, expected] of [
    ["current", "r1", ["r1", "r2", "r1"]],
    ["r1", "current", ["r1", "r1", "r1"]],
  ] as const) {
    it(`runs what ${opened} leads to now, though the service knows the folder as ${registered} and the link was changed`, async () => {
      await using service = await startedService();
      await using releases = await TemporaryFolder.make();
      const at = (name: string) => join(releases.path, name);
      const ran = at("ran");
      const lead = async (release: string) => {
        await rm(at("current"), { force: true });
        await symlink(at(release), at("current"), "junction");
      };
      for (const release of ["r1", "r2"]) {
        await mkdir(join(at(release), "pipelines"), { recursive: true });
        const script = `require('node:fs').writeFileSync(${JSON.stringify(ran)}, '${release}')`;
        await writeFile(join(at(release), "pipelines/hello.yaml"), programPipeline(script));
      }
      await lead("r1");
      using window = await windowOf(service, at(opened));
      await window.client.putProject(registered, at(registered), new AbortController().signal);
      for (const [index, release] of ["r1", "r2", "r1"].entries()) {
        await lead(release);
        await window.run();
        assert.equal(
          await until(() =>
            readFile(ran, "utf8").then(
              (text) => text || undefined,
              () => undefined,
            ),
          ),
          expected[index],
        );
        await rm(ran);
      }
    });
  }
});
