import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { written } from "../../cli/toolbox.ts";
import type { EditorWindow } from "../../editor/screen/editorWindow.ts";
import { ownService } from "../../editor/screen/ownService.ts";
import { quota } from "../../editor/screen/statusBar.ts";
import { TextEditor } from "../../editor/screen/textEditor.ts";
import { pointElsewhere } from "../../editor/screen/tooltip.ts";
import { TreeView } from "../../editor/screen/treeView.ts";
import {
  placeOf,
  pressUntilSeen,
  shownText,
  standsStill,
  textsFromTop,
  textsOf,
  waitFor,
} from "../../editor/screen/waitFor.ts";
import { isAlive } from "../../isAlive.ts";
import { Listening } from "../../listening.ts";
import { programPipeline, writtenPid } from "../../service/startedService.ts";
import { until } from "../../until.ts";

/**
 * Runs in the page before anything of VS Code does: what a language pack says of itself. The workbench's own words stay
 * English, since there is no pack here; extensions are asked for theirs in this language.
 */
const inGerman = `Object.defineProperty(globalThis, "_VSCODE_NLS_LANGUAGE", { get: () => "de", set: () => {} })`;

/** Runs in the page: what is drawn as the icon of the views that are open. */
const drawnIcon = `getComputedStyle(document.querySelector('.activitybar .checked .action-label')).maskImage`;

/** Runs in the page: whether the walkthrough's picture has been loaded. */
const hasPicture = `[...document.querySelectorAll(".getting-started-media img")].some(({ naturalWidth }) => naturalWidth > 500)`;

describe("VS Code, with this machine's own service", () => {
  const at = ownService(async (workspace, held) => {
    await putLogPipelines(workspace, held);
    return {
      builtinExtensions: ["javascript", "log", "media-preview", "theme-defaults", "yaml"],
      settings: { "editor.minimap.enabled": false },
    };
  });

  // First, since its views say what they say before any run.
  describe("in German", () => {
    let german: EditorWindow;
    before(async () => {
      german = await at.window.openAnother(inGerman);
    });
    after(() => german.page.close());

    it("speaks German behind an icon of its own, and the numbers stay the service's", async () => {
      const { page, statusBar, quickInput, notifications } = german;
      await statusBar.waitForText(quota, /^\s*0 of 50 runs used today\s*$/);
      await page.locator('.activitybar .action-label[aria-label^="Pipelines"]').click();
      const runs = new TreeView(page, "Läufe");
      await runs.waitForWelcome("Noch keine Läufe.");
      assert.deepEqual(await runs.welcomeButtons(), ["Pipeline ausführen…"]);
      assert.match(await page.evaluate<string>(drawnIcon), /activity\.svg/);
      await quickInput.runCommand("Pipeline Runs: Pipeline ausführen…");
      await quickInput.waitForTitle("Pipeline ausführen");
      await quickInput.pick("fails");
      const toast = await notifications.toast(/^fails ist fehlgeschlagen: only: exited with 3/);
      assert.deepEqual((await toast.buttons()).slice(0, 2), ["Protokoll öffnen", "Erneut ausführen"]);
      await statusBar.waitForText(quota, /1 of 50 runs used today/);
    });

    it("walks a newcomer through it, with pictures", async () => {
      const { page, quickInput } = german;
      await quickInput.runCommand("Notifications: Clear All Notifications");
      await quickInput.runCommand("Welcome: Open Walkthrough...");
      await quickInput.pick("Erste Schritte mit Pipeline Runs");
      // A picture stands beside its step where there is room for it.
      await page.keyboard.press("Control+B");
      const steps = page.locator(".getting-started-step");
      await steps.filter({ hasText: "Eine Pipeline schreiben" }).waitFor();
      assert.equal(await steps.count(), 6);
      const picture = page.locator(".getting-started-media img");
      for (const title of ["In der Warteschlange warten", "Wenn der Tag verbraucht ist", "Ausführen"]) {
        await steps.locator(".step-title").getByText(title, { exact: true }).click();
        await picture.waitFor();
        await until(() => page.evaluate<boolean>(hasPicture));
      }
      const running = steps.filter({ hasText: "von der Befehlspalette aus" });
      await running.getByRole("button", { name: "Pipeline ausführen…" }).click();
      await quickInput.waitForTitle("Pipeline ausführen");
      await quickInput.dismiss();
      await running.locator(".codicon-getting-started-step-checked").waitFor();
    });
  });

  let runs: TreeView;
  let editor: TextEditor;
  before(async () => {
    runs = new TreeView(at.window.page, "Runs");
    editor = new TextEditor(at.window.page);
  });
  const openFile = async (fileName: string) => {
    await at.window.page.keyboard.press("Control+P");
    await at.window.quickInput.type(fileName);
    await at.window.quickInput.pick(fileName);
    await editor.shows(fileName);
  };

  describe("the views", () => {
    let pipelines: TreeView;
    before(async () => {
      pipelines = new TreeView(at.window.page, "Pipelines");
      await at.window.page.locator('.activitybar .action-label[aria-label^="Pipelines"]').click();
    });

    it("run a pipeline with one click, count its seconds, and cancel it with another, which moves it to Today and leaves it unfolded", async () => {
      await pipelines.press(/^long/, "Run Pipeline…");
      await runs.waitForRow(/^longsince .* · running$/);
      await pipelines.waitForRow(/^longrunning$/);
      await runs.waitForRowAt(0, /^Running$/);
      await runs.waitForSpoken(/^long, running since .*, started by you$/);
      await runs.fold(/^longsince/);
      const counting = await shownText(await runs.waitForRow(/^only\d+ s · running$/));
      const seconds = /\d+(?= s · running$)/.exec(counting)?.[0];
      await runs.waitForRow(new RegExp(`^only(?!${seconds} s)\\d+ s · running$`));
      const badge = at.window.page.locator(".activitybar .checked .badge");
      await badge.getByText("1", { exact: true }).waitFor();
      await runs.press(/^longsince/, "Cancel Run…");
      await runs.waitForRow(/^long.* · cancelled/);
      await runs.waitForRow(/^only.* · stopped/);
      await runs.waitForRowAt(0, /^Today$/);
      assert.deepEqual(await at.window.notifications.toasts(), []);
      await badge.waitFor({ state: "hidden" });
      await runs.fold(/^long.* · cancelled/);
    });

    it("run again what has ended, cancel by the keyboard, and are live when the terminal starts a run", async () => {
      await runs.press(/^long.* · cancelled/, "Run Again");
      await runs.waitForRow(/^longsince/);
      const waiting = at.tool.spawn(["run", "hello"], {}, at.workspace);
      await written(waiting.stderr, /waiting for long/);
      // With nothing selected, Delete cancels the only active run, which is one's own.
      await at.window.quickInput.runCommand("Pipelines: Focus on Runs View");
      await at.window.page.keyboard.press("Delete");
      await runs.waitUntilGone(/^longsince/);
      await waiting;
      await at.tool.spawn(["run", "fails"], {}, at.workspace);
      await runs.waitForRow(/^fails.* · failed/);
      await pipelines.waitForRow(/^failsfailed, /);
    });

    it("open the run's page in the browser, signed in by a link that works once", async () => {
      const opening = at.window.page.context().waitForEvent("page");
      await runs.choose(/^fails.* · failed/, "Open in Browser");
      const page = await opening;
      await page.waitForURL(/\/app\/sign-in\?code=/);
      // This VS Code sends the ports of its machine through a gateway that is not there in a test.
      const [, port, path] = /\/proxy\/(\d+)(\/.*)$/.exec(page.url()) ?? [];
      if (port !== undefined) await page.goto(`http://127.0.0.1:${port}${path}`);
      await page.waitForURL(/\/app\/runs\/run_\w+$/);
      await page.getByText("it is broken").first().waitFor();
      await page.close();
    });

    it("begin a new run at the step that failed, from its row and from the log", async () => {
      const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
      const step = (name: string, code = "") => `  - { name: ${name}, use: shell, run: ${program(code)} }`;
      const steps = [step("check"), step("build"), step("check", "require('fs').rmSync('ready')")];
      await writeFile(
        join(at.workspace, "pipelines/site.yaml"),
        ["resources: { shell: { type: cli } }", "steps:", ...steps, ""].join("\n"),
      );
      const fail = async () => {
        await at.tool.spawn(["run", "site"], {}, at.workspace);
        await runs.waitForRowAt(1, /^site.* · failed/);
        await writeFile(join(at.workspace, "ready"), "");
      };
      const succeeds = async () => {
        await runs.waitForRowAt(1, /^site.* · succeeded/);
        const { steps } = JSON.parse((await at.tool.run(["runs", "show", "--json"])).stdout);
        const statuses = steps.map(({ status }: { status: string }) => status);
        assert.deepEqual(statuses, ["skipped", "skipped", "succeeded"]);
      };
      await fail();
      await runs.fold(/^site.* · failed/);
      await runs.press(/^check.* · failed/, "Run From Failed Step…");
      await succeeds();
      await fail();
      const again = editor.line("Run From Failed Step");
      await runs.open(/^site.* · failed/, again);
      await editor.followLink(again);
      await succeeds();
    });
  });

  describe("the status bar and the editor's title", () => {
    it("run the file that is open", async () => {
      await openFile("hello.yaml");
      // The editor's actions are drawn anew while the file is getting its language.
      const action = at.window.page.locator('.editor-actions a[aria-label^="Run This File"]');
      await action.waitFor();
      await standsStill(at.window.page, ".editor-actions a");
      await action.click();
      await at.window.statusBar.waitForMessage(/hello succeeded/);
    });

    it("start a run by a link of the tooltip, name it there, and cancel it by the menu of a click", async () => {
      await at.window.statusBar.pressInTooltip(quota, "Run Pipeline…");
      await at.window.quickInput.pick("long");
      await pointElsewhere(at.window.page);
      await at.window.statusBar.pointAt(quota, "The slot is in use: long (yours)");
      await pointElsewhere(at.window.page);
      assert.match(await at.window.statusBar.label(quota), /^Pipeline Runs: \d+ of 50 runs used today/);
      await at.window.quickInput.runCommand("Notifications: Clear All Notifications");
      await at.window.statusBar.click(quota);
      await at.window.quickInput.waitForTitle("Pipeline Runs");
      await at.window.quickInput.pick("Cancel My Runs");
      await at.window.notifications.toast(/^long: cancelled\.$/);
    });

    it("say that the service was stopped, leave it so, and start it by a click's menu, the view's button or a notification", async () => {
      const { quickInput, statusBar } = at.window;
      const status = () => at.tool.call(["service", "status", "--json"]);
      for (const start of ["click", "view", "notification"] as const) {
        await at.tool.call(["service", "stop"]);
        await statusBar.waitForText(quota, /^\s*Pipeline Runs: service stopped\s*$/);
        await runs.waitForWelcome("This machine's own service was stopped. A run starts it again.");
        if (start === "click") {
          await statusBar.click(quota);
          await quickInput.pick("Start This Machine's Service");
        } else if (start === "view") {
          await at.window.page.getByRole("button", { name: "Start", exact: true }).click();
        } else {
          // A command that only looks doesn't start it.
          await quickInput.runCommand("Pipeline Runs: Who Holds the Slot");
          const toast = await at.window.notifications.toast(/^This machine's own service was stopped\./);
          assert.equal((await status()).exitCode, 4);
          await toast.press("Start");
        }
        await statusBar.waitForText(quota, /of 50 runs used today/);
        assert.equal((await status()).exitCode, 0);
      }
    });
  });

  describe("the log of a run", () => {
    before(async () => {
      await at.tool.spawn(["run", "lamps"], {}, at.workspace);
      await openLog("lamps");
    });

    const lines = () => at.window.page.locator(".editor-instance .view-line");
    const waitForLine = (text: string) =>
      waitFor(editor.line(text), `a line ${text}`, () => textsOf(lines()));
    const colorOf = (text: RegExp) =>
      lines()
        .locator("span > span")
        .filter({ hasText: text })
        .first()
        .evaluate((span: Painted) => span.ownerDocument.defaultView.getComputedStyle(span).color);
    const openLog = async (pipeline: string) => {
      await at.window.quickInput.runCommand("Pipeline Runs: Open Run Log…");
      await at.window.quickInput.waitForTitle("Open Run Log");
      await at.window.quickInput.pick(pipeline);
    };
    const tab = (name: string | RegExp): Locator => at.window.page.locator(".tab").filter({ hasText: name });

    it("shows colours as colours, and leads to the position in a file that it names", async () => {
      await waitForLine("green lamp and bold red lamp");
      const [green, red] = [await colorOf(/^green.lamp$/), await colorOf(/^bold.red.lamp$/)];
      assert.notEqual(green, red);
      for (const color of [green, red]) assert.match(color, /^rgb\(/);
      await editor.followLink(editor.line("src/lamps.js:3:7"));
      await tab("lamps.js").waitFor();
      await at.window.page.getByText("Ln 3, Col 7").waitFor();
      await tab(/^lamps-/).click();
    });

    it("opens a screenshot as a picture, and is there again after a reload of the window", async () => {
      await editor.followLink(editor.line("shop.png"));
      await tab("shop.png").waitFor();
      const image = at.window.page.frameLocator("iframe.webview.ready").frameLocator("iframe").locator("img");
      await image.waitFor();
      const size = at.window.page.locator(".statusbar-item").filter({ hasText: /^\d+x\d+$/ });
      await size.first().waitFor();
      await tab(/^lamps-/).click();
      // As the window writes down which editors are open.
      await at.window.waitUntilKept("/lamps-");
      await at.window.reload();
      // The editor may not have noted yet which of its tabs was in front.
      await tab(/^lamps-/).click();
      await waitForLine("Failed step: count them · cli · failed");
    });

    it("follows an active run, leaves a reader alone who has scrolled up, follows on when its tab is shown again, and pins the step as it is now", async () => {
      await at.tool.spawn(["run", "--detach", "slow"], {}, at.workspace);
      await openLog("slow");
      const goOn = (round: number) => writeFile(join(at.workspace, `more-${round}`), "");
      await waitForLine("lamp 100 of 100");
      await goOn(1);
      await waitForLine("lamp 200 of 200");
      await editor.line("lamp 200 of 200").hover();
      for (let notch = 0; notch < 20; notch++) await at.window.page.mouse.wheel(0, -120);
      await editor.line("lamp 200 of 200").waitFor({ state: "hidden" });
      const slider = at.window.page.locator(".editor-instance .scrollbar.vertical .slider").first();
      const [atTop] = await textsFromTop(lines());
      const { height } = await placeOf(slider);
      await goOn(2);
      // What comes makes the slider smaller. The test's own time limit ends the wait.
      await until(async () => (await placeOf(slider)).height !== height);
      assert.equal((await textsFromTop(lines()))[0], atTop);
      await pressUntilSeen("ControlOrMeta+End", editor.line("lamp 300 of 300"), "the last lamp");
      await tab(/^lamps-/).click();
      await waitForLine("Failed step: count them · cli · failed");
      await goOn(3);
      await tab(/^slow-/).click();
      await waitForLine("lamp 400 of 400");
      const pinned = at.window.page.locator(".sticky-widget");
      await pinned.filter({ hasText: "running" }).waitFor();
      await goOn(4);
      await waitForLine("exited with 0 after ");
      await pinned.filter({ hasText: "succeeded" }).waitFor();
      await pressUntilSeen("ControlOrMeta+Home", editor.line("✓ slow succeeded · "), "how the run has ended");
    });
  });

  describe("a pipeline file", () => {
    it("is made by New File from a template, with the words selected that one changes first", async () => {
      const { quickInput, page } = at.window;
      await quickInput.runCommand("Pipeline Runs: New File…");
      await quickInput.pick("cli");
      await quickInput.waitForTitle("New Pipeline");
      await quickInput.type("hello");
      await quickInput.waitForMessage(/pipelines\/hello\.yaml already exists\./);
      await quickInput.type("made");
      await quickInput.accept();
      await editor.shows("made.yaml");
      await page.keyboard.type("node --help", { delay: 20 });
      await page.keyboard.press("Control+S");
      // The editor saves in its own time.
      const file = join(at.workspace, "pipelines/made.yaml");
      await until(async () => (await readFile(file, "utf8")).includes("run: node --help\n"));
    });

    it("has the step at which its last run failed underlined, until it succeeds", async () => {
      const file = join(at.workspace, "pipelines/breaks.yaml");
      await writeFile(file, programPipeline("console.log('it is broken'); process.exit(3)"));
      await openFile("breaks.yaml");
      await (await editor.lens(/Run$/)).click();
      await editor.lens(/failed just now: only/);
      await editor.squiggles.first().waitFor();
      await editor.line("steps").first().click();
      await at.window.quickInput.runCommand("Go to Next Problem (Error, Warning, Info)");
      const problem = at.window.page.locator(".marker-widget");
      await problem.filter({ hasText: "only: exited with 3, expected 0" }).waitFor();
      await problem.locator("a.code-link").click();
      await at.window.page
        .locator(".tab.active")
        .filter({ hasText: /^breaks-/ })
        .waitFor();
      await openFile("breaks.yaml");
      await writeFile(file, programPipeline("console.log('it works')"));
      await editor.squiggles.first().waitFor({ state: "detached" });
    });
  });

  describe("a task", () => {
    it("cancels its run when the window is reloaded", async () => {
      await rm(join(at.workspace, "pid"), { force: true });
      const used = await at.window.statusBar.used();
      await at.window.quickInput.runCommand("Tasks: Run Task");
      await at.window.quickInput.pick("pipeline");
      await at.window.quickInput.pick("pipeline: long");
      const holder = await writtenPid(join(at.workspace, "pid"));
      await at.window.statusBar.waitForUsed(used + 1);
      await at.window.reload();
      await until(async () => !isAlive(holder));
    });
  });
});

/** An element, as far as it is needed here: the tests know no browser's types. */
interface Painted {
  readonly ownerDocument: {
    readonly defaultView: { getComputedStyle(of: unknown): { readonly color: string } };
  };
}

/** Puts pipelines into a workspace whose runs have something to show: colours, a picture, an error with a position. */
async function putLogPipelines(folder: string, held: AsyncDisposableStack): Promise<void> {
  const page = "<title>Lamps</title><h1>Three lamps</h1>";
  const lamps = held.use(
    await Listening.of((socket) =>
      socket.once("data", () =>
        socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n${page}`),
      ),
    ),
  );
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, "src/lamps.js"), "// one\n// two\nthrow new Error('too few');\n");
  const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
  const colors = "console.log('\\x1b[32mgreen lamp\\x1b[0m and \\x1b[1;31mbold red lamp\\x1b[0m')";
  const count = "console.error('src/lamps.js:3:7: too few lamps'); process.exit(3);";
  await writeFile(
    join(folder, "pipelines/lamps.yaml"),
    `time-limit: 60s
resources:
  shell: { type: cli }
  shop: { type: browser, base-url: "${lamps.origin}" }
steps:
  - { name: show colours, use: shell, run: ${program(colors)} }
  - { name: visit the shop, use: shop, goto: /, expect: { title: Lamps }, screenshot: shop.png }
  - { name: count them, use: shell, run: ${program(count)} }
`,
  );
  // Each hundred comes once there is a file of its number.
  const slow = `const { existsSync } = require('node:fs');
    const write = (round) => {
      for (let i = 1; i <= 100; i++) console.log('lamp ' + (round * 100 + i) + ' of ' + (round + 1) * 100);
      if (round === 4) return;
      const wait = setInterval(() => {
        if (!existsSync('more-' + (round + 1))) return;
        clearInterval(wait);
        write(round + 1);
      }, 50);
    };
    write(0);`;
  await writeFile(join(folder, "pipelines/slow.yaml"), programPipeline(slow, "5m"));
}
