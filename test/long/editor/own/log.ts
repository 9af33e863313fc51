import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import type { OwnService } from "../../../editor/screen/ownService.ts";
import { TextEditor } from "../../../editor/screen/textEditor.ts";
import { placeOf, pressUntilSeen, textsFromTop, textsOf, waitFor } from "../../../editor/screen/waitFor.ts";
import { until } from "../../../until.ts";

const openLog = "Pipeline Runs: Open Run Log…";

/** Puts pipelines into a workspace whose runs have something to show: colours, a picture, an error with a position. */
export async function putLogPipelines(workspace: string, held: AsyncDisposableStack): Promise<void> {
  const lamps = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>Lamps</title><h1 style='color: teal'>Three lamps</h1>");
  });
  held.defer(() => void lamps.close());
  await new Promise<void>((resolve) => lamps.listen(0, "127.0.0.1", resolve));
  await writePipelines(workspace, (lamps.address() as AddressInfo).port);
}

export function log(at: OwnService): void {
  describe("the log of a run", () => {
    before(async function () {
      this.timeout(60_000);
      await at.tool.spawn(["run", "lamps"], {}, at.workspace);
      await open("lamps");
    });

    const lines = () => at.window.page.locator(".editor-instance .view-line");
    const line = (text: string | RegExp): Locator => lines().filter({ hasText: spaced(text) });
    const waitForLine = (text: string | RegExp, milliseconds?: number) =>
      waitFor(line(text), `a line ${text}`, () => textsOf(lines()), milliseconds);
    const colorOf = (text: string) =>
      lines()
        .locator("span > span")
        .filter({ hasText: new RegExp(`^${text}$`) })
        .first()
        .evaluate((span: Painted) => span.ownerDocument.defaultView.getComputedStyle(span).color);
    const open = async (pipeline: string) => {
      await at.window.quickInput.runCommand(openLog);
      await at.window.quickInput.waitForTitle("Open Run Log");
      await at.window.quickInput.pick(pipeline);
    };
    const follow = (from: Locator) => new TextEditor(at.window.page).followLink(from);
    const tab = (name: string | RegExp) => at.window.page.locator(".tab").filter({ hasText: name });

    it("shows colours as colours, and nothing of the sequences that make them", async () => {
      await waitForLine("green lamp and bold red lamp");
      await waitForLine("inverse underlined orange plain");
      const [green, red] = [await colorOf("green.lamp"), await colorOf("bold.red.lamp")];
      assert.notEqual(green, red);
      for (const color of [green, red]) assert.match(color, /^rgb\(/);
    });

    it("leads to the position in a file that it names", async () => {
      await follow(line("src/lamps.js:3:7"));
      await tab("lamps.js").waitFor();
      await at.window.page.getByText("Ln 3, Col 7").waitFor();
      await tab(/^lamps-/).click();
    });

    it("opens a screenshot as a picture", async () => {
      await waitForLine("Kept files");
      await follow(line(/shop\.png +picture/));
      await tab("shop.png").waitFor();
      const image = at.window.page.frameLocator("iframe.webview.ready").frameLocator("iframe").locator("img");
      await image.waitFor();
      await at.window.page
        .locator('[id="status.imagePreview.dimensions"], .statusbar-item')
        .filter({ hasText: /^\d+x\d+$/ })
        .first()
        .waitFor();
      await tab(/^lamps-/).click();
    });

    it("is there again after a reload of the window, and reads the log anew", async () => {
      // As the window writes down which editors are open.
      await at.window.waitUntilKept("/lamps-");
      await at.window.reload();
      // The editor may not have noted yet which of its tabs was in front.
      await tab(/^lamps-/).click();
      await waitForLine("Failed step: count them · cli · failed");
    });

    it("follows an active run, and leaves a reader alone who has scrolled up", async () => {
      await at.tool.spawn(["run", "--detach", "slow"], {}, at.workspace);
      await open("slow");
      await waitForLine("lamp 100 of 100");
      await writeFile(join(at.workspace, "more-1"), "");
      await waitForLine("lamp 200 of 200");
      await line("lamp 200 of 200").hover();
      for (let notch = 0; notch < 20; notch++) await at.window.page.mouse.wheel(0, -120);
      await line("lamp 200 of 200").waitFor({ state: "hidden" });
      const slider = at.window.page.locator(".editor-instance .scrollbar.vertical .slider").first();
      const [atTop] = await textsFromTop(lines());
      const { height } = await placeOf(slider);
      await writeFile(join(at.workspace, "more-2"), "");
      // What comes makes the slider smaller. The test's own time limit ends the wait.
      await until(async () => (await placeOf(slider)).height !== height);
      assert.equal((await textsFromTop(lines()))[0], atTop);
      await pressUntilSeen("ControlOrMeta+End", line("lamp 300 of 300"), "the last lamp");
      await tab(/^lamps-/).click();
      await waitForLine("Failed step: count them · cli · failed");
    });

    it("follows on when its tab is shown again, and says at its beginning how the run has ended", async () => {
      await writeFile(join(at.workspace, "more-3"), "");
      await tab(/^slow-/).click();
      await waitForLine("lamp 400 of 400");
      await waitForLine(/^exited with 0 after /);
      await pressUntilSeen("ControlOrMeta+Home", line(/^✓ slow succeeded · /), "how the run has ended");
    });
  });
}

/** An element, as far as it is needed here: the tests know no browser's types. */
interface Painted {
  readonly ownerDocument: {
    readonly defaultView: { getComputedStyle(of: unknown): { readonly color: string } };
  };
}

/** The editor draws spaces as no-break spaces. */
function spaced(text: string | RegExp): RegExp {
  const source = typeof text === "string" ? text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : text.source;
  return new RegExp(source.replaceAll(" ", "\\s"));
}

async function writePipelines(folder: string, port: number): Promise<void> {
  await mkdir(join(folder, "src"));
  await writeFile(join(folder, "src/lamps.js"), "// one\n// two\nthrow new Error('too few');\n");
  const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
  const say = "const say = (text) => console.log(text);";
  const colors = `${say}
    say('\\x1b[32mgreen lamp\\x1b[0m and \\x1b[1;31mbold red lamp\\x1b[0m');
    for (let i = 0; i < 8; i++) say('\\x1b[3' + i + 'mcolour ' + i + '\\x1b[0m \\x1b[9' + i + 'mbright\\x1b[0m \\x1b[4' + i + 'm ground \\x1b[0m \\x1b[2;3' + i + 'mdim\\x1b[0m');
    say('\\x1b[7minverse\\x1b[0m \\x1b[4munderlined\\x1b[0m \\x1b[38;5;208morange\\x1b[0m \\x1b]0;title\\x07plain');
    console.error('a warning on standard error');`;
  const count = `${say}
    say('counting'); say('see https://example.com/lamps for more');
    console.error('src/lamps.js:3:7: too few lamps'); process.exit(3);`;
  await writeFile(
    join(folder, "pipelines/lamps.yaml"),
    `time-limit: 60s
resources:
  shell: { type: cli }
  shop: { type: browser, base-url: "http://127.0.0.1:${port}" }
steps:
  - name: show colours
    use: shell
    run: ${program(colors)}
  - name: visit the shop
    use: shop
    goto: /
    expect: { title: Lamps }
    screenshot: shop.png
  - name: count them
    use: shell
    run: ${program(count)}
`,
  );
  const slow = `const { existsSync } = require('node:fs');
    const write = (round) => {
      for (let i = 1; i <= 100; i++) console.log('lamp ' + (round * 100 + i) + ' of ' + (round + 1) * 100);
      if (round === 3) return;
      const wait = setInterval(() => {
        if (!existsSync('more-' + (round + 1))) return;
        clearInterval(wait);
        write(round + 1);
      }, 50);
    };
    write(0);`;
  await writeFile(
    join(folder, "pipelines/slow.yaml"),
    `time-limit: 5m
resources:
  shell: { type: cli }
steps:
  - name: light them
    use: shell
    run: ${program(slow)}
`,
  );
}
