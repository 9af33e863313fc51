import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { nextReset } from "../../../src/contract/limits.ts";
import { certificate } from "../../certificate.ts";
import { servedToolbox, toolbox } from "../../cli/toolbox.ts";
import {
  type Answer,
  LoopbackService,
  orgOnWire,
  sendError,
  sendJson,
  testKey,
} from "../../client/loopbackService.ts";
import { ConnectProxy } from "../../connectProxy.ts";
import type { EditorWindow } from "../../editor/screen/editorWindow.ts";
import { screen } from "../../editor/screen/screen.ts";
import { quota } from "../../editor/screen/statusBar.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";
import { isAlive } from "../../isAlive.ts";
import { KeySearch } from "../../security/keySearch.ts";
import { programPipeline, writtenPid } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { until } from "../../until.ts";
import { givenKey, givenService } from "../conformance/givenService.ts";

/** A name that would be a link which runs a command, if it were not shown as it is. */
const hostileName = "[Fix it](command:workbench.action.closeWindow) <img src=x> $(bug)";

/** The service's own tool: what it does with a pipeline goes by the pipeline's name. */
const ownTool = `#!${process.execPath}
const { writeFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
const [, , command, what] = process.argv;
writeFileSync(__dirname + "/given", process.argv.slice(2).join(" "));
if (command === "run" && what === "hello") console.error("hello: done");
if (command === "run" && what === "busy") {
  console.error("no slot is free yet");
  const child = spawn(process.execPath, ["-e", "process.on('SIGINT', () => {}); setInterval(() => {}, 1000)"]);
  writeFileSync(__dirname + "/pid", String(child.pid));
  process.on("SIGINT", () => process.exit(130));
  setInterval(() => {}, 1000);
}
`;

interface Surroundings {
  /** Holds the workspace, and what its script leaves if it is run. */
  readonly parent: string;
  readonly workspace: string;
  /** The folder of this machine's own service. */
  readonly data: string;
  /** What the workspace's settings name. */
  readonly trap: LoopbackService;
  /** The one way to `https://service.test`, which only the machine's own certificates make trustworthy. */
  readonly proxy: ConnectProxy;
  readonly cloud: LoopbackService;
}

/** A workspace that means harm and isn't trusted at first, on a machine with a proxy and certificates of its own. */
describe("VS Code, among strangers", () => {
  let around: Surroundings;
  const shown = screen(async (held) => {
    const { path: parent } = held.use(await TemporaryFolder.make());
    const workspace = join(parent, "[Run](command:workbench.action.closeWindow) $(bug)");
    const trap = held.use(await LoopbackService.listen((_, response) => response.end()));
    const { data } = held.use(await toolbox());
    const authority = certificate({ host: "authority.test", isAuthority: true });
    const ofCloud = certificate({ host: "service.test", issuer: authority });
    const cloud = held.use(await LoopbackService.listen(onlyOrg(), ofCloud));
    const proxy = held.use(await ConnectProxy.listen(cloud.port));
    around = { parent, workspace, data, trap, proxy, cloud };
    await fill(around);
    const authorities = join(parent, "authority.pem");
    await writeFile(authorities, authority.cert);
    return {
      folder: workspace,
      env: { PIPELINE_DATA_DIR: data, SSL_CERT_FILE: authorities },
      settings: {
        // The system's certificates as OpenSSL finds them, so that this machine's own need not be changed.
        "http.systemCertificatesNode": true,
        "http.proxy": `http://${proxy.host}`,
        "security.workspace.trust.startupPrompt": "never",
      },
      trustsAll: false,
      logsAll: true,
    };
  });
  const held = new AsyncDisposableStack();
  after(() => held.disposeAsync());

  /** The window uses this service from now on, with this key. */
  const use = async (baseUrl: string, key: string, settings: Readonly<Record<string, string>> = {}) => {
    await shown().writeSettings({ "pipelineRuns.baseUrl": baseUrl, ...settings });
    await shown().setApiKey(key);
    await shown().notifications.toast(/^The API key is set/);
  };
  const command = (title: string) => shown().quickInput.runCommand(`Pipeline Runs: ${title}`);
  const start = async (pipeline: string) => {
    await command("Run Pipeline…");
    await shown().quickInput.type(pipeline);
    await shown().quickInput.pick(`Run “${pipeline}”`);
  };

  describe("a workspace that means harm", () => {
    const assertNoHarm = async () => {
      assert.equal(around.trap.asked.length, 0, "its address was asked for nothing");
      assert(!(await readdir(around.parent)).includes("trace"), "its script was not run");
    };

    it("runs nothing of it and sends nothing before it is trusted, and says so once", async () => {
      await command("Run Pipeline…");
      const toast = await shown().notifications.toast(
        /^Pipelines of a workspace that isn't trusted are not run/,
      );
      assert.equal((await shown().notifications.toasts()).length, 1);
      await assertNoHarm();
      assert.equal(await shown().statusBar.item(quota).count(), 0);
      assert.deepEqual(await readdir(around.data), [], "no service was started");
      await toast.press("Manage Workspace Trust");
      await shown().page.locator(".workspace-trust-editor").waitFor();
      await shown()
        .page.locator(".workspace-trust-editor")
        .getByRole("button", { name: "Trust", exact: true })
        .first()
        .click();
    });

    it("uses none of its settings once it is trusted, and says so once", async () => {
      await shown().statusBar.waitUntilGone("status.workspaceTrust");
      await shown().notifications.toast(
        /^A file of this workspace sets pipelineRuns\.announce, pipelineRuns\.baseUrl, pipelineRuns\.cliPath\. It is not used/,
      );
      await shown().waitUntilKept("toldIgnoredSettings");
      await shown().reload();
      await shown().statusBar.waitForText(quota, /^0 of 50 runs used today$/);
      assert.deepEqual(await shown().notifications.toasts(), []);
      await assertNoHarm();
    });

    it("shows what a run of it says as it is, and makes no link of it", async () => {
      await command("Run Pipeline…");
      await shown().quickInput.pick("harm");
      const toast = await shown().notifications.toast(/^harm failed: .*\[Fix it\] \(command:/);
      assert.match(await toast.message(), /<img src=x>/);
      const links = shown().page.locator(".notifications-toasts .notification-list-item-message a");
      assert.equal(await links.count(), 0);
      await assertNoHarm();
    });

    it("runs no tool that lies in it, also where the person's own settings name it", async () => {
      await using given = await givenService();
      await use(given.origin, givenKey, { "pipelineRuns.cliPath": join(around.workspace, "evil") });
      await command("Run Pipeline…");
      await shown().quickInput.pick("harm");
      await shown().notifications.toast(
        /pipelineRuns\.cliPath can't be used: .*lies in a folder of this window/,
      );
      await assertNoHarm();
    });
  });

  describe("a service that has only the given endpoints", () => {
    let tools: string;
    before(async () => {
      tools = held.use(await TemporaryFolder.make()).path;
      const cliPath = join(tools, "cloud");
      await writeFile(cliPath, ownTool);
      await chmod(cliPath, 0o755);
      const service = held.use(await givenService());
      await use(service.origin, givenKey, { "pipelineRuns.cliPath": cliPath });
      await shown().statusBar.waitForUsed(7);
    });

    it("starts a run through the service's own tool, whose words show while it waits, and a stop ends it with all that it started", async () => {
      await start("hello");
      await shown().statusBar.waitForMessage(/hello succeeded/);
      assert.equal(await readFile(join(tools, "given"), "utf8"), "run hello");
      assert.doesNotMatch(await shown().statusBar.label(quota), /slots/);
      await start("busy");
      const toast = await shown().notifications.toast(/^Running busy by .*cloud: no slot is free yet$/);
      const pid = await writtenPid(join(tools, "pid"));
      await toast.press("Cancel");
      await toast.waitUntilGone();
      await until(async () => !isAlive(pid));
    });

    it("asks which of several runs to cancel", async () => {
      const run = (id: string) => ({
        "run-id": id,
        status: "running",
        "created-at": new Date().toISOString(),
      });
      const runs = [run("not/mine"), run("no one's")];
      const cancelled: string[] = [];
      const service = held.use(
        await LoopbackService.listen(
          onlyOrg({}, ({ path }, response) => {
            if (path.startsWith("/api/runs?")) return sendJson(response, 200, { runs });
            const id = decodeURIComponent(/^\/api\/runs\/(.+)\/cancel$/.exec(path)?.[1] ?? "");
            if (id === "") return sendError(response, 404, "not-found");
            cancelled.push(id);
            runs.pop();
            return sendJson(response, 200, { "run-id": id, status: "cancelled" });
          }),
        ),
      );
      await use(service.origin, testKey);
      await command("Cancel Run…");
      const row = await shown().quickInput.waitForRow("no one's");
      await row.click();
      await shown().notifications.toast(/^no one's: cancelled\.$/);
      assert.deepEqual(cancelled, ["no one's"]);
    });
  });

  describe("several keys of one service", () => {
    it("keeps the keys of several orgs of one service, chosen for this workspace from a list that names the orgs", async () => {
      const tool = held.use(await servedToolbox());
      await use(tool.service.url, (await tool.service.key("member", "Acme")).secret);
      await shown().setApiKey((await tool.service.key("viewer", "Zebra")).secret);
      await shown().notifications.toast(/^The API key is set: Zebra, at http:/);
      await shown().statusBar.pointAt(quota, "Zebra · tier free");
      await pointElsewhere(shown().page);
      await command("Choose API Key…");
      await shown().quickInput.waitForRow("Zebra");
      assert.deepEqual(
        (await shown().quickInput.rows()).filter((row) => ["Acme", "Zebra"].includes(row)),
        ["Acme", "Zebra"],
      );
      await shown().quickInput.pick("Acme");
      await shown().statusBar.pointAt(quota, "Acme · tier free");
      await pointElsewhere(shown().page);
      await command("Choose API Key…");
      const row = await shown().quickInput.waitForRow("Zebra");
      await row.hover();
      await row.getByRole("button", { name: "Remove API Key" }).click();
      const question = shown().page.locator(".monaco-dialog-box", {
        hasText: "Remove the API key of Zebra",
      });
      await question.getByRole("button", { name: "Remove", exact: true }).click();
      await shown().quickInput.waitUntilRowIsGone("Zebra");
      await shown().quickInput.waitForRow("Acme");
      assert(!(await shown().quickInput.rows()).includes("Zebra"));
      await shown().quickInput.dismiss();
    });
  });

  describe("a service that refuses", () => {
    it("puts a refused start off until 00:00 UTC, keeps it over a reload, and lets it be taken back", async () => {
      // An hour before its day ends.
      const date = new Date(nextReset(Date.now()) - 3_600_000).toUTCString();
      const service = held.use(
        await LoopbackService.listen((asked, response, gone) => {
          response.setHeader("date", date);
          const answer = onlyOrg({ usage: { "runs-today": 50 } }, ({ method, path }) => {
            if (path === "/api/pipelines") return sendJson(response, 200, { pipelines: [] });
            if (method !== "POST" || path !== "/api/runs") return response.writeHead(404).end();
            const error = { type: "too-many-runs", message: "no", scope: "free-day" };
            return sendJson(response, 429, { error });
          });
          return answer(asked, response, gone);
        }),
      );
      const starts = () =>
        service.asked.filter(({ method, path }) => method === "POST" && path === "/api/runs").length;
      await use(service.origin, testKey);
      await shown().statusBar.waitForUsed(50);
      const before = starts();
      await start("tonight");
      const refusal = await shown().notifications.toast(
        /^tonight was not started: today's 50 runs are used up\. /,
      );
      assert.deepEqual(await refusal.buttons(), ["Retry", "Retry at 00:00 UTC", "What Counts as a Run?"]);
      await refusal.press("Retry at 00:00 UTC");
      await shown().notifications.toast(/^tonight will start at 00:00 UTC \(.+ your time\)/);
      await shown().statusBar.waitForText(quota, /^50 of 50 runs used today · tonight at 00:00 UTC$/);
      await shown().reload();
      await shown().statusBar.waitForText(quota, /^50 of 50 runs used today · tonight at 00:00 UTC$/);
      await command("Cancel Retry…");
      await shown().notifications.toast(/^tonight will not be started at 00:00 UTC\.$/);
      await shown().statusBar.waitForText(quota, /^50 of 50 runs used today$/);
      assert.equal(starts(), before + 1);
    });
  });

  describe("two windows of one editor", () => {
    let second: EditorWindow;
    let service: LoopbackService;
    let used = 120;
    let accepts = true;
    before(async () => {
      const limits = { "parallel-runs": 4, "runs-per-day": 1000 };
      service = held.use(
        await LoopbackService.listen((asked, response, gone) => {
          if (!accepts) return sendError(response, 401, "unauthorized");
          return onlyOrg({ limits, usage: { "runs-today": used } })(asked, response, gone);
        }),
      );
      await use(service.origin, testKey);
      await shown().statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
      second = await shown().openAnother();
    });
    after(async () => {
      await second.page.close();
      await giveFocus(shown().page, true);
      // The notification centre keeps toasts away.
      await shown().settle();
    });

    /** Gives one of the windows the focus, or none. A browser under test has a page believe that it has it when told so. */
    const lookAt = async (looked: EditorWindow | undefined) => {
      for (const window of [shown(), second]) {
        await giveFocus(window.page, window === looked);
      }
    };
    const giveFocus = async (page: Page, enabled: boolean) => {
      const browser = browsers.get(page) ?? (await page.context().newCDPSession(page));
      browsers.set(page, browser);
      await browser.send("Emulation.setFocusEmulationEnabled", { enabled });
      // A page in the background draws nothing, so it is not asked when it draws.
      await page.waitForFunction(`document.hasFocus() === ${enabled}`, undefined, { polling: 100 });
    };
    const browsers = new Map<Page, CDPSession>();
    const asks = () => service.asked.filter(({ path }) => path === "/api/org").length;

    it("ask only while they are looked at, and at once when somebody comes back to them", async () => {
      await second.statusBar.waitForText(quota, /^120 of 1000 runs used today$/);
      // The page in front has the focus whatever it is told.
      await (await second.page.context().newPage()).bringToFront();
      await lookAt(undefined);
      used = 121;
      const before = asks();
      await lookAt(second);
      await second.statusBar.waitForText(quota, /^121 of 1000 runs used today$/);
      assert.equal(await shown().statusBar.text(quota), "120 of 1000 runs used today");
      assert.equal(asks(), before + 1);
      await lookAt(shown());
      await shown().statusBar.waitForText(quota, /^121 of 1000 runs used today$/);
      assert.equal(asks(), before + 2);
    });

    it("tell of a revoked key once, in one of them", async () => {
      accepts = false;
      for (const window of [shown(), second]) {
        await lookAt(window);
        await window.statusBar.waitForText(quota, /API key not accepted$/);
      }
      const texts = [...(await shown().notifications.centre()), ...(await second.notifications.centre())];
      assert.equal(
        texts.filter((text) => text.includes("The API key of Lamps is no longer accepted")).length,
        1,
        texts.join(),
      );
    });
  });

  describe("a machine with a proxy and certificates of its own", () => {
    // What is chosen there is in use whatever the settings say.
    it("sends what is for the cloud through the editor's proxy, believes the system's certificates, and tells neither of this machine's own service", async () => {
      const { proxy, cloud } = around;
      assert.deepEqual(proxy.asked, [], "this machine's own service is reached past it");
      await command("Choose API Key…");
      await shown().quickInput.pick("Add API Key…");
      await shown().quickInput.waitForTitle("Add API Key");
      await shown().quickInput.type("https://service.test");
      await shown().quickInput.accept();
      await shown().enterApiKey(testKey);
      await shown().notifications.toast(/^The API key is set: Lamps, at https:\/\/service\.test\.$/);
      await shown().statusBar.waitForText(quota, /^7 of 50 runs used today$/);
      assert(proxy.asked.length > 0);
      assert(proxy.asked.every((authority) => authority === "service.test:443"));
      // Its events were asked for, too, by the same way: there is no other.
      await cloud.until(() => cloud.asked.some(({ path }) => path === "/api/events"));
      assert(!proxy.seen.includes(testKey));
      const asked = proxy.asked.length;
      await command("Choose API Key…");
      await shown().quickInput.pick("This machine's own service");
      await shown().statusBar.waitForUsed(1);
      assert.equal(proxy.asked.length, asked);
    });
  });

  describe("a service that sends the key back", () => {
    it("[contract, The extension: API key] has it in no file of the editor, no log of any level, no console and no list of processes, and sends it to no other address, though its service sends it back", async () => {
      const key = `plk_live_${randomBytes(32).toString("base64url")}`;
      const search = new KeySearch({ "the cloud's key": key });
      let isGood = true;
      const service = held.use(
        await LoopbackService.listen(({ headers, path }, response) => {
          const told = `${headers["x-api-key"]}`;
          if (isGood && path === "/api/org") return sendJson(response, 200, orgOnWire);
          sendJson(response, isGood ? 404 : 500, {
            error: { type: told, message: `no ${told}`, next: told },
          });
        }),
      );
      await command("Choose API Key…");
      await shown().quickInput.pick("Add API Key…");
      await shown().quickInput.type(service.origin);
      await shown().quickInput.accept();
      await shown().enterApiKey(key);
      await shown().statusBar.waitForText(quota, /^7 of 50 runs used today$/);
      isGood = false;
      await shown().settle();
      await command("Cancel My Runs");
      await shown().notifications.toast(/./);
      const sent = service.asked.filter(({ headers }) => headers["x-api-key"] === key);
      assert(sent.length >= 2, `the key was used ${sent.length} times`);
      const sentElsewhere = held.use(await LoopbackService.listen(onlyOrg()));
      await shown().writeSettings({ "pipelineRuns.baseUrl": sentElsewhere.origin });
      await command("Choose API Key…");
      await shown().quickInput.dismiss();
      assert(sentElsewhere.asked.every(({ headers }) => headers["x-api-key"] !== key));
      const { dataFolder, console, page } = shown();
      // The extension included.
      const { finds, files } = await search.inFolder(dataFolder);
      finds.push(...search.inText(console, "the browser's console"));
      finds.push(...search.inText((await page.locator("body").textContent()) ?? "", "the screen"));
      for (const id of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
        for (const file of ["cmdline", "environ"]) {
          const bytes = await readFile(`/proc/${id}/${file}`).catch(() => Buffer.of());
          finds.push(...search.in(bytes, `${id} ${file}`));
        }
      }
      assert.deepEqual(finds, []);
      const logs = files.filter((file) => file.endsWith("Pipeline Runs.log"));
      assert(logs.length > 0, "the extension has a log");
      const texts = await Promise.all(logs.map((file) => readFile(join(dataFolder, file), "utf8")));
      assert.match(texts.join("\n"), /\[(trace|debug|info|warning|error)\]/);
    });
  });
});

/** Answers for the org, and otherwise as `besides` does. */
function onlyOrg(
  org: Readonly<Record<string, unknown>> = {},
  besides: Answer = (_, response) => response.writeHead(404).end(),
): Answer {
  return (asked, response, gone) =>
    asked.path === "/api/org"
      ? sendJson(response, 200, { ...orgOnWire, ...org })
      : besides(asked, response, gone);
}

async function fill({ parent, workspace, trap }: Surroundings): Promise<void> {
  await mkdir(join(workspace, "pipelines"), { recursive: true });
  await mkdir(join(workspace, ".vscode"));
  const evil = join(workspace, "evil");
  await writeFile(evil, `#!/bin/sh\ntouch "${join(parent, "trace")}"\n`);
  await chmod(evil, 0o755);
  const settings = {
    "pipelineRuns.baseUrl": trap.origin,
    "pipelineRuns.cliPath": evil,
    "pipelineRuns.announce": "none",
  };
  await writeFile(join(workspace, ".vscode/settings.json"), JSON.stringify(settings));
  const fails = programPipeline(`console.log(${JSON.stringify(hostileName)}); process.exit(3)`);
  await writeFile(join(workspace, "pipelines/harm.yaml"), fails);
}
