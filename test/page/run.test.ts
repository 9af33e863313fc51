import assert from "node:assert/strict";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { statusWord } from "../../src/service/page/runParts.ts";
import { putSteps } from "../../src/service/store/runs.ts";
import { onBoth } from "../service/onBoth.ts";
import { serviceOn } from "../service/serviceOn.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { putLog } from "./putLog.ts";
import { putRuns } from "./putRuns.ts";
import { Visitor } from "./visitor.ts";

/** A picture of one red dot. */
const dot = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
  "base64",
);

const attack = `<img src=x onerror="alert('hacked')"><script>alert("hacked")</script>"'><b>&amp;`;

describe("the page of a run", () => {
  const open = inBrowser();

  it("has a word of its own for each status of a run and of a step", () => {
    const ofRuns = ["running", "cancelling", "succeeded", "failed", "cancelled", "timed-out", "lost"];
    for (const status of [...ofRuns, "stopped", "skipped", "not-reached"])
      assert.match(statusWord(status), /^[A-Z]/, status);
    assert.equal(statusWord("paused"), "paused");
  });

  onBoth("on its database", (store) => {
    it("names the agent that started it, and so does the list", async () => {
      await using service = await serviceOn(store);
      const { orgId, secret } = await service.key();
      const [runId] = await putRuns(service.db, orgId, [{ agent: "some <agent>" }]);
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      for (const path of [`/app/runs/${runId}`, "/app/runs"]) {
        assert.match(await visitor.text(path), /through the agent <bdi>some &lt;agent&gt;<\/bdi>/);
      }
    });

    it("says who cancelled a run, and to its reader that it was them", async () => {
      await using service = await serviceOn(store);
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await client.cancel(run.runId, new AbortController().signal);
      await ended(client, run);
      const [mine, other] = [new Visitor(service), new Visitor(service)];
      await mine.signIn(secret);
      await other.signIn((await service.key("viewer")).secret);
      assert.match(await mine.text(`/app/runs/${run.runId}`), /Cancelled by you\./);
      assert.match(await other.text(`/app/runs/${run.runId}`), /Cancelled by key_\w+\./);
    });

    it("has its commit and its pipeline file as it ran, and what changed since it last succeeded", async () => {
      await using service = await serviceOn(store);
      const { client, secret } = await service.member();
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      await service.write("nightly", programPipeline("process.exit(0)"));
      const passed = await ended(client, await started(client, "nightly"));
      assert.doesNotMatch(await visitor.text(`/app/runs/${passed.runId}`), /id="changes"/);
      await service.write("nightly", `# ${attack}\n${programPipeline("process.exit(3)")}`);
      const { runId } = await ended(client, await started(client, "nightly"));
      const commit = JSON.stringify({ id: "a".repeat(40), branch: attack, changed: true });
      await service.db.updateTable("runs").set({ git_commit: commit }).where("id", "=", runId).execute();
      const text = await visitor.text(`/app/runs/${runId}`);
      assert.match(text, /<dt>Commit<\/dt><dd><bdi>aaaaaaa on &lt;img/);
      assert.match(text, new RegExp(`That was <a href="/app/runs/${passed.runId}">the run</a>`));
      assert.match(
        text,
        /<code>pipelines\/nightly\.yaml<\/code><\/dt><dd class="code">@@ -1,.*\n\+# &lt;img/,
      );
      const file = await visitor.get(`/app/runs/${runId}/pipeline.txt`);
      assert.match(file.headers.get("content-type") ?? "", /^text\/plain/);
      assert.equal(await file.text(), `# ${attack}\n${programPipeline("process.exit(3)")}`);
    });

    it("finds the lines of a log that have a text, in any case, below their steps", async () => {
      await using service = await serviceOn(store);
      const { secret, orgId } = await service.key();
      const [runId = "", active = ""] = await putRuns(service.db, orgId, [
        {},
        { status: "running", stopped_at: null },
      ]);
      const steps = ["one", "two"].map((name) => ({ name }));
      const log = ["start\n", "Connection ", "refused\nend", " refused\nlast"];
      await putLog(service, runId, {
        steps,
        log: log.map((text, n) => ({ text, stepIndex: n === 3 ? 1 : 0 })),
      });
      await putLog(service, active, { steps, log: [{ text: "a\n" }] });
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      const find = (text: string) =>
        visitor.text(`/app/runs/${runId}/log.txt?find=${encodeURIComponent(text)}`);
      assert.equal(await find("REFUSED"), "== one\nConnection refused\n== two\n refused\n");
      assert.equal(await find("LAST"), "== two\nlast\n");
      assert.equal(await find("<nothing>"), "No line of the log has this text.\n");
      const message = "exited with 3, expected 0:\nlast\nand it began no other";
      const failed = { name: "two", status: "failed", message };
      await service.db
        .transaction()
        .execute((tx) => putSteps(tx, runId, new Map([[1, { ...failed, type: "cli" }]])));
      assert.equal(await find("last"), "== two\nlast\n", "the output that a message repeats is found once");
      assert.equal(await find("Expected 0"), "== two\n# two failed: exited with 3, expected 0:\n");
      const form = /<form class="find" role="search" action="\/app\/runs\/run_\w+\/log.txt">/;
      assert.match(await visitor.text(`/app/runs/${runId}`), form);
      // What is typed isn't lost to an update.
      assert.doesNotMatch(await visitor.text(`/app/runs/${active}`), form);
    });

    it("says that a log was removed when it is kept no longer", async () => {
      await using service = await serviceOn(store);
      const { secret, orgId } = await service.key();
      const [runId = ""] = await putRuns(service.db, orgId, [{}]);
      await putLog(service, runId, { steps: [{ name: "old" }] });
      const removed = { files_removed_at: Date.UTC(2026, 1, 3) };
      await service.db.updateTable("runs").set(removed).where("id", "=", runId).execute();
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      assert.match(
        await visitor.text(`/app/runs/${runId}`),
        /were removed at <time datetime="2026-02-03T00:00:00.000Z">/,
      );
      assert.equal((await visitor.get(`/app/runs/${runId}/log.txt`)).status, 404);
    });
  });

  describe("in the browser", () => {
    it("tells its facts, its steps with their messages, and why it failed", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("broken", programPipeline("console.log('before'); process.exit(3)"));
      const run = await started(client, "broken");
      await ended(client, run);
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      await page.getByRole("link", { name: "broken" }).click();
      await page.getByRole("heading", { name: "broken", level: 1 }).waitFor();
      const step = page.getByRole("listitem").filter({ hasText: "only" });
      await step.getByText("Failed").waitFor();
      await step.locator("summary").click();
      await step.getByText(/exited with 3 after/).waitFor();
      await step.getByText("before", { exact: true }).waitFor();
      const facts = await page.locator("dl").textContent();
      assert.match(facts ?? "", /Time limit\s*30 s/);
      assert.match(facts ?? "", new RegExp(`Run\\s*${run.runId}`));
      assert.match(facts ?? "", /Started by\s*you/);
      assert.match(facts ?? "", /Run\s*run_/);
      assert.doesNotMatch(facts ?? "", /ServedRun/);
    });

    it("shows the log as it grows, keeps to its end, and shows how the run ended", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      const goOn = join(service.project.root, "go-on");
      const code = [
        "console.log('\\u001b[32mfirst\\u001b[0m'); console.error('oh');",
        "for (let n = 0; n < 80; n++) console.log('line', n);",
        `const look = () => require('node:fs').existsSync(${JSON.stringify(goOn)}) ? console.log('last') : setTimeout(look, 20);`,
        "look();",
      ].join("");
      await service.write("talks", programPipeline(code));
      const run = await started(client, "talks");
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${run.runId}`);
      const log = page.getByRole("group", { name: "Log of only" });
      await log.getByText("line 79").waitFor();
      await log.locator(".ansi-2").getByText("first").waitFor();
      await log.locator(".err").getByText("oh").waitFor();
      await page.evaluate("window.sameDocument = true");
      await writeFile(goOn, "");
      await page.locator("#state").getByText("Succeeded").waitFor();
      await log.getByText("last", { exact: true }).waitFor();
      assert.equal(await page.evaluate("window.sameDocument"), true);
      assert.equal(await page.title(), "talks, succeeded · Pipeline Runs");
      await page.locator("#announcement").getByText("talks: Succeeded.").waitFor();
      const fromEnd = await log.evaluate(
        (element) => element.scrollHeight - element.scrollTop - element.clientHeight,
      );
      assert(fromEnd < 8, `it is ${fromEnd} from its end`);
    });

    it("scrolls to the end of a log when it is opened, and lays out none that is closed", async () => {
      await using service = await startedService();
      const { client, secret, orgId } = await service.member();
      const [runId = ""] = await putRuns(service.db, orgId, [{}]);
      await putLog(service, runId, {
        steps: [{ name: "one" }, { name: "two" }],
        log: Array.from({ length: 200 }, (_, index) => ({ text: `line ${index}`, stepIndex: index % 2 })),
      });
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      const scrolled = page.locator("[data-sticks=yes]");
      const title = page.locator("#log-1 summary");
      await page.locator("main").evaluate((main) => main.setAttribute("data-old", ""));
      await service.write("hello", programPipeline(""));
      await ended(client, await started(client, "hello"));
      await page.locator("main[data-old]").waitFor({ state: "detached" });
      assert.equal(await scrolled.count(), 0);
      for (const _ of ["opened", "opened again"]) {
        await title.click();
        await scrolled.waitFor();
        assert.equal(await scrolled.getAttribute("aria-label"), "Log of two");
        const fromEnd = await scrolled.evaluate(
          (element) => element.scrollHeight - element.scrollTop - element.clientHeight,
        );
        assert(fromEnd < 8, `it is ${fromEnd} from its end`);
        await title.click();
        await scrolled.waitFor({ state: "detached" });
      }
    });

    it("cancels, and leaves the focus on the page", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${run.runId}`);
      await page.getByRole("button", { name: "Cancel the run of long" }).press("Enter");
      assert.equal((await ended(client, run)).status, "cancelled");
      await page.locator("#state").getByText("Cancelled").waitFor();
      await page.getByText("Cancelled by you.").waitFor();
      assert.notEqual(await page.evaluate("document.activeElement.tagName"), "BODY");
    });

    it("shows pictures, and gives anything else away to be saved, to the session alone", async () => {
      await using service = await startedService();
      const { secret, orgId } = await service.key();
      const [runId = ""] = await putRuns(service.db, orgId, [{}]);
      await putLog(service, runId, {
        steps: [{ name: "the front page", type: "browser" }],
        files: [
          { name: "results.png", file: "1-results.png", mediaType: "image/png", content: dot },
          {
            name: "page.html",
            file: "1-page.html",
            mediaType: "text/html",
            content: "<script>alert(1)</script>",
          },
        ],
      });
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      const picture = page.getByRole("img", { name: "results.png, saved by the step the front page" });
      await picture.scrollIntoViewIfNeeded();
      assert.equal(
        await picture.evaluate((image: { decode(): Promise<void>; naturalWidth: number }) =>
          image.decode().then(() => image.naturalWidth),
        ),
        1,
      );
      const download = page.waitForEvent("download");
      await page.getByRole("link", { name: "page.html" }).click();
      assert.equal((await download).suggestedFilename(), "page.html");
      const address = `/app/runs/${runId}/artifacts/1-page.html`;
      const visitor = new Visitor(service);
      assert.equal((await visitor.get(address)).status, 303);
      await visitor.signIn(secret);
      const { headers } = await visitor.get(address);
      assert.equal(headers.get("content-type"), "application/octet-stream");
      assert.match(headers.get("content-security-policy") ?? "", /sandbox/);
      await visitor.signIn((await service.key("owner", "rivals")).secret);
      assert.equal((await visitor.get(address)).status, 404);
    });

    it("shows the end of a huge log, and gives the whole of it as text", async () => {
      await using service = await startedService();
      const { secret, orgId } = await service.key();
      const [runId = ""] = await putRuns(service.db, orgId, [{ status: "failed" }]);
      await putLog(service, runId, {
        steps: [{ name: "talkative", status: "failed" }],
        log: Array.from({ length: 30_000 }, (_, n) => ({ text: `\u001b[33mline ${n}\u001b[0m\n` })),
      });
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      await page.getByText("Only the last 500 lines are shown here.").waitFor();
      await page.getByText("line 29999", { exact: true }).waitFor();
      assert.equal(await page.locator(".line").count(), 500);
      await page.getByRole("link", { name: "The whole log" }).click();
      await page.waitForURL("**/log.txt");
      const text = (await page.locator("body").textContent()) ?? "";
      const lines = text.trim().split("\n");
      assert.deepEqual([lines[0], lines[1], lines.at(-1)], ["== talkative", "line 0", "line 29999"]);
      assert.equal(lines.length, 30_001);
    });

    it("shows where its time went: the wait for a slot and each step, as bars on one axis", async () => {
      await using service = await startedService();
      const { orgId, secret } = await service.key();
      const began = Date.parse("2026-03-03T10:00:00Z");
      const at = (seconds: number) => new Date(began + seconds * 1000).toISOString();
      const row = {
        status: "failed",
        asked_at: began - 10_000,
        created_at: began,
        stopped_at: began + 30_000,
      };
      const [runId = ""] = await putRuns(service.db, orgId, [row]);
      await putLog(service, runId, {
        steps: [
          { name: "build", startedAt: at(0), stoppedAt: at(10) },
          { name: "<b>test</b>", status: "failed", startedAt: at(10), stoppedAt: at(30) },
        ],
      });
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      const timeline = page.getByRole("region", { name: "Timeline" });
      await timeline.getByText("40 s in all").waitFor();
      const bars = await timeline.getByRole("listitem").all();
      assert.deepEqual(
        (await timeline.getByRole("listitem").allTextContents()).map((text) => text.trim().split(/\s*\n\s*/)),
        [
          ["Wait for a slot", "10 s"],
          ["build", "10 s"],
          ["<b>test</b>", "20 s"],
        ],
      );
      const track = await timeline.locator("svg").first().boundingBox();
      assert.ok(track !== null);
      const drawn = await Promise.all(bars.map((bar) => bar.locator("rect").boundingBox()));
      assert.deepEqual(
        drawn.map(
          (bar) =>
            bar &&
            [(bar.x - track.x) / track.width, bar.width / track.width].map((share) => share.toFixed(2)),
        ),
        [
          ["0.00", "0.25"],
          ["0.25", "0.25"],
          ["0.50", "0.50"],
        ],
      );
      assert.deepEqual(
        await timeline
          .locator("rect")
          .evaluateAll((all: { getAttribute(name: string): string }[]) =>
            all.map((bar) => bar.getAttribute("class")),
          ),
        ["wait", "good", "bad"],
      );
    });

    it("lets the bar of a running step grow, and the others shrink, without a request", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${run.runId}`);
      const timeline = page.getByRole("region", { name: "Timeline" });
      const bar = timeline.locator("rect");
      // An hour earlier each, in place of an hour later; again and again, since events may bring the page's own numbers back.
      const setBack = (element: { dataset: Record<string, string | number> }, name: string) => {
        const earlier = Number(element.dataset[name]) - 3_600_000;
        setInterval(() => {
          element.dataset[name] = earlier;
        }, 20);
      };
      await timeline.locator("ol").evaluate(setBack, "axis");
      await timeline.locator('rect[x="99.5%"][width="0.5%"]').waitFor();
      await bar.evaluate(setBack, "from");
      await timeline.locator('rect[x^="0"]:not([width="0.5%"])').waitFor();
    });

    it("shows a reason of several lines as lines, and its step's name as it was given", async () => {
      await using service = await startedService();
      const { orgId, secret } = await service.key();
      const reason = "page: expected the text\n  3 results\nbut the page has none";
      const run = { status: "failed", reason, time_limit_seconds: 300 };
      const [runId] = await putRuns(service.db, orgId, [run]);
      await using screen = await open();
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      assert.equal(await screen.page.evaluate("document.querySelector('.reason').innerText"), reason);
      assert.match((await screen.page.locator("dl").textContent()) ?? "", /Time limit\s*5 min/);
    });

    it("tells once why a run failed, at its top, with the output in the font of code and a link to the step", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("broken", programPipeline("console.log('it is broken'); process.exit(3)"));
      const run = await started(client, "broken");
      await ended(client, run);
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${run.runId}`);
      const shown = (await page.evaluate<string>("document.querySelector('main').innerText")).replaceAll(
        /\s+/g,
        " ",
      );
      assert.equal(shown.split("exited with 3, expected 0").length, 2, shown);
      assert.equal(shown.split("it is broken").length, 2, shown);
      const output = page.locator(".reason .output");
      assert.equal(await output.textContent(), "it is broken");
      const fontOf = (element: string) =>
        page.evaluate<string>(`getComputedStyle(document.querySelector('${element}')).fontFamily`);
      assert.equal(await fontOf(".output"), await fontOf("code"));
      await page.getByRole("link", { name: "only" }).click();
      assert.match(page.url(), /#step-0$/);
      await page.locator("#step-0 summary").click();
      await page.locator("#step-0").getByText("it is broken", { exact: true }).waitFor();
    });

    it("leaves the log of a failed step open where it says what the top doesn't", async () => {
      await using service = await startedService();
      const { orgId, secret } = await service.key();
      const message = "expected the text\n  3 results\nbut the page has none";
      const [runId = ""] = await putRuns(service.db, orgId, [
        { status: "failed", reason: `page: ${message}` },
      ]);
      await putLog(service, runId, {
        steps: [{ name: "page", type: "browser", status: "failed", message }],
        log: [{ text: "click the button Go\n", stream: "note" }],
      });
      await using screen = await open();
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      await screen.page.getByText("click the button Go").waitFor();
      assert.equal(await screen.page.getByText("expected the text").count(), 1);
    });

    it("counts the time of an active run, and doesn't say that it took so long", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      await screen.signIn(service.url, secret);
      await screen.page
        .getByRole("row", { name: "long" })
        .getByText(/^\d+ s so far$/)
        .waitFor();
      await screen.page.goto(`${service.url}/app/runs/${run.runId}`);
      assert.match((await screen.page.locator("dl").textContent()) ?? "", /Took\s*\d+ s so far/);
    });

    for (const script of [true, false]) {
      it(`runs nothing of what a name, a message, a log or an artifact holds, ${script ? "with" : "without"} script`, async () => {
        await using service = await startedService();
        const { secret, orgId } = await service.key("member", attack);
        const [runId = ""] = await putRuns(service.db, orgId, [
          { pipeline: attack, project: attack, reason: attack, runner: attack, status: "failed" },
        ]);
        await putLog(service, runId, {
          steps: [{ name: attack, type: attack, status: attack, message: attack }],
          log: [
            { text: `${attack}\n` },
            { text: `${attack}\n`, stream: "stderr" },
            { text: `\u001b[31m${attack}\n`, stream: attack },
          ],
          files: [
            { name: attack, file: "1-a.png", mediaType: "image/png", content: dot },
            { name: `${attack}.html`, file: "1-b.html", mediaType: "text/html", content: attack },
          ],
        });
        await using screen = await open({ script });
        const { page } = screen;
        await screen.signIn(service.url, secret);
        await page.getByRole("link", { name: attack }).waitFor();
        assert.equal(await page.locator("main script, main img[src='x'], main b").count(), 0);
        await page.goto(`${service.url}/app/runs/${runId}`);
        await page.getByRole("heading", { name: attack, level: 1 }).waitFor();
        assert.equal(await page.locator(".line .said").filter({ hasText: attack }).count(), 3);
        assert.equal(await page.locator("main script, img[src='x'], main b").count(), 0);
        assert.equal(await page.getByRole("img", { name: attack }).count(), 1);
        screen.expectStatus(404);
        await page.goto(`${service.url}/app/runs/${encodeURIComponent(attack)}`);
        await page.getByText(`There is no run ${attack.slice(0, 100)}`).waitFor();
      });
    }

    it("repeats no key that was put into its address", async () => {
      await using service = await startedService();
      const { secret } = await service.key();
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      const reply = await visitor.get(`/app/runs/${secret}`);
      assert.equal(reply.status, 404);
      assert(!(await reply.text()).includes(secret));
      await assert.rejects(access(join(service.data, "runs", secret)));
    });
  });
});
