import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { htmlReport } from "../../../src/cli/report/html.ts";
import type { ReportedRun } from "../../../src/cli/report/reportedRuns.ts";
import { inBrowser } from "../../page/inBrowser.ts";
import { pageFolder } from "../../service/startedService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { logOf, reported } from "./reported.ts";

const attack = `<img src=x onerror="alert('hacked')"><script>alert("hacked")</script></style>"'><b>&amp;`;
const now = Date.UTC(2026, 2, 4, 12, 1);

async function reportOf(...runs: readonly ReportedRun[]): Promise<string> {
  return htmlReport(runs, await readFile(join(pageFolder, "page.css"), "utf8"), now);
}

/** Everything that a report may show. */
const rich = reported(
  {
    inputs: { region: "eu", note: "two\nlines", long: "a line\n".repeat(200) },
    outputs: { order: { id: 7 } },
    agent: "some agent",
    artifacts: [
      {
        name: "cart.png",
        file: "1-1",
        stepIndex: 1,
        mediaType: "image/png",
        bytes: 9,
        at: "2026-03-04T12:00:02Z",
      },
    ],
  },
  {
    logs: new Map([
      [0, logOf(Array.from({ length: 200 }, (_, index) => `line ${index}`))],
      [1, logOf(["\u001b[31mhot\u001b[0m", "x".repeat(3000)], "stderr", 12)],
    ]),
  },
);
const refused: ReportedRun = {
  pipeline: "refused",
  run: undefined,
  problem: "all of today's runs are used",
  logs: new Map(),
};
const stopped = reported(
  { pipeline: "slow", status: "timed-out", steps: [{ name: "wait", type: "cli", status: "stopped" }] },
  { problem: "reached its time limit", logs: new Map([[0, logOf(["waiting"])]]) },
);

describe("a report in HTML", () => {
  const open = inBrowser();

  for (const scheme of ["light", "dark"] as const) {
    it(`is one file without a barrier that asks for nothing, also narrow, in ${scheme}, without script`, async () => {
      await using folder = await TemporaryFolder.make();
      await using screen = await open({ scheme, script: "empty" });
      const { page } = screen;
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      for (const [name, runs] of Object.entries({ several: [rich, refused, stopped], one: [rich] })) {
        const file = join(folder.path, `${name}.html`);
        await writeFile(file, await reportOf(...runs));
        await page.goto(`file://${file}`);
        await page.setViewportSize({ width: 1180, height: 860 });
        assert.deepEqual(await screen.barriers(), [], name);
        for (const summary of await page.locator("summary").all()) {
          if ((await summary.evaluate("(element) => element.parentElement.open")) === false)
            await summary.click();
        }
        assert.deepEqual(await screen.barriers(), [], `${name}, logs open`);
        await page.setViewportSize({ width: 320, height: 860 });
        assert.deepEqual(await screen.barriers(), [], `${name}, narrow`);
        assert.equal(await screen.overflows(), false, name);
        await screen.keepPicture(`report-${name}-${scheme}`);
      }
      assert.equal(asked.length, 2, asked.join(" "));
      const ground = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      assert.equal(Number(/\d+/.exec(ground)?.[0]) > 128, scheme === "light", ground);
    });
  }

  it("says of a run how it ended and why, once, what it was given, and where its time went", async () => {
    await using screen = await open({ script: false });
    const { page } = screen;
    await page.setContent(await reportOf(rich));
    assert.equal(await page.title(), "shop failed · Pipeline Runs");
    assert.equal(await page.locator("html").getAttribute("lang"), "en");
    const text = await page.evaluate<string>("document.body.innerText");
    for (const part of ["Failed", "run_1", "ci-7", "30 s", "some agent", "region", "two\nlines", '"id": 7']) {
      assert(text.includes(part), part);
    }
    assert.equal(text.split("the disk is on fire").length, 2, "told once");
    assert.match(text, /build cli, 2 attempts/);
    assert.match(text, /Kept at the service: cart\.png/);
    assert.match(text, /Log the last 2 lines; 12 before are left out/);
    const bars = `[...document.querySelectorAll(".timeline rect")].map((bar) => [bar.className.baseVal, bar.getAttribute("x"), bar.getAttribute("width")].join(" "))`;
    assert.deepEqual(await page.evaluate(bars), ["good 0% 37.5%", "bad 37.5% 62.5%"]);
    const named = `document.querySelector(document.querySelector(".reason a").hash).querySelector("h4 bdi").textContent`;
    assert.equal(await page.evaluate(named), "check");
  });

  it("leads from the list of several runs to each, also to one that was never started", async () => {
    await using screen = await open({ script: false });
    await screen.page.setContent(await reportOf(rich, refused, stopped));
    const { page } = screen;
    assert.equal(await page.title(), "shop failed, refused without a result, slow timed out · Pipeline Runs");
    const ends = `[...document.querySelectorAll(".contents .status")].map(({ innerText }) => innerText)`;
    assert.deepEqual(await page.evaluate(ends), ["Failed", "No result", "Timed out"]);
    assert.match(
      await page.evaluate<string>("document.getElementById('run-1').innerText"),
      /All of today's runs are used/,
    );
  });

  it("shows what could be markup as text, wherever it comes from", async () => {
    await using screen = await open();
    const { page } = screen;
    const step = { name: attack, type: attack, status: attack, message: attack };
    const artifact = { name: attack, file: attack, stepIndex: 0, mediaType: attack, bytes: 1, at: "" };
    const facts = { runId: attack, project: attack, runner: attack, actor: attack, agent: attack };
    await page.setContent(
      await reportOf(
        reported(
          {
            ...facts,
            pipeline: attack,
            status: attack,
            reason: attack,
            steps: [step],
            artifacts: [artifact],
            inputs: { [attack]: attack },
            outputs: { [attack]: [attack] },
          },
          { problem: attack, logs: new Map([[0, logOf([attack], attack)]]) },
        ),
      ),
    );
    assert.equal(await page.locator("img, script, b").count(), 0);
    const text = await page.evaluate<string>("document.body.innerText");
    assert(text.split(attack).length > 12, String(text.split(attack).length));
  });
});
