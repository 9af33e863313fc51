import assert from "node:assert/strict";
import { FakeClock } from "../clock/fakeClock.ts";
import { CutLine } from "../service/cutLine.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { until } from "../until.ts";
import { inBrowser } from "./inBrowser.ts";
import { putRuns } from "./putRuns.ts";
import { Visitor } from "./visitor.ts";

const never = new AbortController().signal;

function quota(used: number): string {
  return `Free tier: ${used} of 50 runs used today. The count starts again at 00:00 UTC.`;
}

describe("the page of runs", () => {
  const open = inBrowser();

  it("shows the exact line of the quota", async () => {
    await using service = await startedService();
    const { secret, orgId } = await service.key();
    await putRuns(service.db, orgId, [{}, {}, {}]);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    assert((await visitor.text("/app/runs")).includes(`<p id="quota" role="status">${quota(3)}</p>`));
  });

  it("takes the tier's name and number from the org", async () => {
    await using service = await startedService();
    const { secret, orgId } = await service.key();
    const limits = { tier: "team", runs_per_day: 400, parallel_runs: 3 };
    await service.db.updateTable("orgs").set(limits).where("id", "=", orgId).execute();
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const text = await visitor.text("/app/runs");
    assert(text.includes(">Team tier: 0 of 400 runs used today. The count starts again at 00:00 UTC.</p>"));
    assert(text.includes(">3 slots</h2>"));
  });

  it("says that no run is left, and for how long", async () => {
    const clock = new FakeClock("2026-03-01T21:00:00Z");
    await using service = await startedService({ clock });
    const { secret, orgId } = await service.key();
    await putRuns(
      service.db,
      orgId,
      Array.from({ length: 50 }, () => ({
        day: "2026-03-01",
        created_at: clock.now(),
        stopped_at: clock.now(),
      })),
    );
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const text = await visitor.text("/app/runs");
    assert(text.includes(quota(50)));
    assert.match(text, /No run is left today\.<\/strong> The next can start in <span[^>]*>3 h<\/span>/);
    assert(text.includes("Free, but no run is left today."));
    await service.turn(3 * 3_600_000);
    assert((await visitor.text("/app/runs")).includes(quota(0)));
  });

  it("tells who used the day's runs, and leads to what counts as one", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline(""));
    await ended(client, await started(client, "hello"));
    await ended(client, await started(client, "hello"));
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const text = await visitor.text("/app/runs");
    const [, use = ""] = /<p class="quiet use">(.*?)<\/p>/s.exec(text) ?? [];
    assert.match(use.replaceAll(/<[^>]*>/g, ""), /^Used by hello 2; started by\s+you 2\.$/);
    const [, counts = ""] = /<a href="([^"]*)">What counts as a run\?<\/a>/.exec(text) ?? [];
    const explained = await visitor.text(counts);
    assert.match(explained, /<h1[^>]*>What counts as a run\?<\/h1>/);
    assert.equal(explained.match(/<li>/g)?.length, 7);
    assert.match(explained, /<a href="\/app\/runs">Back to the runs<\/a>/);
  });

  it("names the keys of others as text: who holds the slot, who waits, who used the day, and why runs ended", async () => {
    await using service = await startedService();
    const { client, keyId } = await service.member();
    const { secret, orgId } = await service.key();
    const name = "<i>ada\u202e</i>";
    await service.db.updateTable("keys").set({ name }).where("id", "=", keyId).execute();
    const reason = "only: exited with `3`:\nthe output";
    await putRuns(service.db, orgId, [{ actor: keyId, status: "failed", reason }]);
    await service.write("long", programPipeline(untilCancelled));
    const { runId } = await started(client, "long");
    const next = started(client, "long", 60);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const waiting = /asked for by <bdi title="[^"]*">&lt;i&gt;ada/;
    const text = await until(async () => {
      const page = await visitor.text("/app/runs");
      return waiting.test(page) ? page : undefined;
    });
    const shown = `<bdi title="${keyId}">&lt;i&gt;ada\u202e&lt;/i&gt;</bdi>`;
    assert.match(text, new RegExp(`<p class="quiet">started by ${shown}, `));
    assert.match(text, new RegExp(`started by\\s+${shown} 2\\.`));
    assert.match(text, new RegExp(`<td class="wide starter">${shown}</td>`));
    assert.match(text, /title="only: exited with `3`">only: exited with <code>3<\/code><\/span>/);
    assert.doesNotMatch(text, /the output/);
    await client.cancel(runId, never);
    await client.cancel((await next).runId, never);
    await ended(client, await next);
    const after = await visitor.text("/app/runs");
    assert.match(after, />cancelled by &lt;i&gt;ada/);
  });

  it("turns its pages to older runs and back", async () => {
    await using service = await startedService();
    const { secret, orgId } = await service.key();
    await putRuns(
      service.db,
      orgId,
      Array.from({ length: 45 }, (_, position) => ({ pipeline: `p${position}` })),
    );
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const first = await visitor.runsPage("/app/runs");
    assert.deepEqual([first.pipelines.length, first.pipelines[0], first.pipelines[19]], [20, "p44", "p25"]);
    assert.equal(first.newer, undefined);
    const second = await visitor.runsPage(first.older);
    assert.deepEqual([second.pipelines.length, second.pipelines[0]], [20, "p24"]);
    const last = await visitor.runsPage(second.older);
    assert.deepEqual(last.pipelines, ["p4", "p3", "p2", "p1", "p0"]);
    assert.equal(last.older, undefined);
    const secondAgain = await visitor.runsPage(last.newer);
    assert.deepEqual(secondAgain.pipelines, second.pipelines);
    assert.deepEqual((await visitor.runsPage(secondAgain.newer)).pipelines, first.pipelines);
  });

  describe("in the browser", () => {
    it("shows a run that was started elsewhere, live, and its end, without loading anew", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      await page.getByText("No runs yet.").waitFor();
      await page.evaluate("window.sameDocument = true");
      const run = await started(client, "long");
      await page.getByText(quota(1), { exact: true }).waitFor();
      const row = page.getByRole("row").filter({ hasText: "long" });
      await row.getByText("Running").waitFor();
      await page.getByText(/started by you, \d+ s left of 30 s/).waitFor();
      await service.db.updateTable("runs").set({ time_limit_seconds: 300 }).execute();
      await page.reload();
      await page.getByText(/started by you, 4 min \d+ s left of 5 min/).waitFor();
      await page.evaluate("window.sameDocument = true");
      await client.cancel(run.runId, never);
      await row.getByText("Cancelled").waitFor();
      await page.getByText("Free: a run can start now.").waitFor();
      await page.locator("#announcement").getByText("long: Cancelled.").waitFor();
      assert.equal(await page.evaluate("window.sameDocument"), true);
    });

    it("names those who wait for the slot, in their order", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      await using screen = await open();
      await screen.signIn(service.url, secret);
      const run = await started(client, "long");
      const next = started(client, "long", 60);
      await screen.page.getByText("1 request waits for the slot:").waitFor();
      const queue = screen.page.locator("ol.queue");
      assert.equal(((await queue.textContent()) ?? "").replaceAll(/\s+/g, " "), "long asked for by you");
      await client.cancel(run.runId, never);
      await next;
      await screen.page.getByText(quota(2), { exact: true }).waitFor();
      await screen.page.getByText("1 request waits").waitFor({ state: "detached" });
    });

    it("cancels by mouse", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      await screen.signIn(service.url, secret);
      await screen.page.getByRole("button", { name: "Cancel the run of long" }).click();
      assert.equal((await ended(client, run)).reason, `cancelled by ${run.actor}`);
      await screen.page.getByRole("row", { name: "long" }).getByText("Cancelled").waitFor();
    });

    it("cancels with Cancel Mine what the session's key started, and nothing else", async () => {
      await using service = await startedService();
      const { client, secret, orgId } = await service.member();
      await service.db.updateTable("orgs").set({ parallel_runs: 3 }).where("id", "=", orgId).execute();
      await service.write("long", programPipeline(untilCancelled));
      const mine = [await started(client, "long"), await started(client, "long")];
      const other = service.client((await service.key("member")).secret);
      const others = await started(other, "long");
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      await page.getByRole("button", { name: "Cancel Mine (2)" }).click();
      for (const run of mine) assert.equal((await ended(client, run)).status, "cancelled");
      await page.getByRole("button", { name: "Cancel Mine" }).waitFor({ state: "detached" });
      assert.equal((await client.run(others.runId, never)).status, "running");
    });

    it("cancels by keyboard, and keeps the focus near where it was", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      for (let tabs = 0; tabs < 20 && !/^Cancel\s+the run/.test(await screen.focused()); tabs++) {
        await page.keyboard.press("Tab");
      }
      await page.keyboard.press("Enter");
      assert.equal((await ended(client, run)).status, "cancelled");
      await page.getByText("Free: a run can start now.").waitFor();
      // First on the run in the slot, and when that has gone, on the run in the history.
      assert.equal(await screen.focused(), "long");
    });

    it("has no button to cancel for a viewer", async () => {
      await using service = await startedService();
      const { client } = await service.member();
      await service.write("long", programPipeline(untilCancelled));
      const run = await started(client, "long");
      await using screen = await open();
      await screen.signIn(service.url, (await service.key("viewer")).secret);
      await screen.page.getByRole("row", { name: "long" }).getByText("Running").waitFor();
      assert.equal(await screen.page.getByRole("button", { name: /cancel/i }).count(), 0);
      await screen.page.goto(`${service.url}/app/runs/${run.runId}`);
      assert.equal(await screen.page.getByRole("button", { name: /cancel/i }).count(), 0);
    });

    it("shows times in the reader's zone, and without script in UTC", async () => {
      await using service = await startedService();
      const { secret, orgId } = await service.key();
      const created = Date.UTC(2020, 0, 15, 22, 30, 5);
      await putRuns(service.db, orgId, [
        { day: "2020-01-15", created_at: created, stopped_at: created + 65_000 },
      ]);
      await using zoned = await open({ zone: "Asia/Tokyo" });
      await zoned.signIn(service.url, secret);
      const time = zoned.page.locator("td time");
      assert.equal(await time.textContent(), "16 Jan 2020, 07:30");
      assert.equal(await time.getAttribute("datetime"), "2020-01-15T22:30:05.000Z");
      await zoned.page.getByRole("cell", { name: "1 min 5 s" }).waitFor();
      await using plain = await open({ zone: "Asia/Tokyo", script: false });
      await plain.signIn(service.url, secret);
      assert.equal(await plain.page.locator("td time").textContent(), "2020-01-15 22:30:05 UTC");
    });

    it("estimates in minutes when the day's last run starts", async () => {
      await using service = await startedService();
      const { secret, orgId } = await service.key();
      await putRuns(
        service.db,
        orgId,
        Array.from({ length: 49 }, () => ({})),
      );
      await using screen = await open({ zone: "UTC" });
      await screen.signIn(service.url, secret);
      assert.match((await screen.page.locator(".use time").textContent()) ?? "", /^\d\d:\d\d$/);
      await using plain = await open({ script: false });
      await plain.signIn(service.url, secret);
      const text = (await plain.page.locator(".use time").textContent()) ?? "";
      assert.match(text, /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    });

    it("keeps what is marked and where the reader is, when it changes", async () => {
      await using service = await startedService();
      const { client, secret, orgId } = await service.member();
      await putRuns(
        service.db,
        orgId,
        Array.from({ length: 20 }, (_, n) => ({ pipeline: `p${n}` })),
      );
      await service.write("long", programPipeline(untilCancelled));
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      await page.getByRole("link", { name: "p10" }).focus();
      await page.evaluate(
        "getSelection().selectAllChildren(document.getElementById('quota')); document.querySelector('[id=run_01jd0v4w2m5cps6qkj8tr3h010] a').focus()",
      );
      const marked = await page.evaluate("getSelection().toString()");
      await started(client, "long");
      await page.getByRole("row", { name: "long" }).waitFor();
      assert.equal(await screen.focused(), "p10");
      assert.notEqual(marked, "");
      assert.equal(await page.evaluate("getSelection().toString()"), quota(21));
    });

    it("breaks no word of a name at any width, beside long names and reasons", async () => {
      await using service = await startedService();
      const { secret, orgId } = await service.key();
      const { keyId } = await service.key("owner");
      await service.db
        .updateTable("keys")
        .set({ name: "Continuous integration" })
        .where("id", "=", keyId)
        .execute();
      const reason =
        "step 2, orders: the reply has status 500, and 200 was expected; the database has it all the same";
      await putRuns(
        service.db,
        orgId,
        ["x".repeat(120), "ordersandcheckout", "checkout-of-vouchers"].map((pipeline) => ({
          ...{ pipeline, actor: keyId, status: "failed", reason },
          created_at: Date.now() - 200_000_000,
          stopped_at: Date.now() - 199_000_000,
        })),
      );
      for (const width of [360, 780, 900, 1280]) {
        await using screen = await open({ width });
        await screen.signIn(service.url, secret);
        const broken = await screen.page.evaluate<string[]>(`[...document.querySelectorAll("tbody bdi")]
          .flatMap((name) => [...name.textContent.matchAll(/[a-z]+/gi)].map(({ 0: word, index }) => {
            const range = document.createRange();
            range.setStart(name.firstChild, index);
            range.setEnd(name.firstChild, index + word.length);
            return range.getClientRects().length > 1 ? word : "";
          }))
          .filter((word) => word !== "" && !word.startsWith("xx"))`);
        assert.deepEqual(broken, [], `at ${width}`);
        assert.equal(await screen.overflows(), false);
        await screen.keepPicture(`names ${width}`);
      }
    });

    it("says how to begin where there are no runs", async () => {
      await using service = await startedService();
      await using screen = await open();
      await screen.signIn(service.url, (await service.key()).secret);
      await screen.page.getByText("No runs yet.").waitFor();
      await screen.page.getByText("pipeline run hello").waitFor();
      await screen.page.getByText("Pipeline Runs: Run Pipeline…", { exact: true }).waitFor();
      await screen.page.getByText("Free: a run can start now.").waitFor();
    });

    it("says that the connection is lost, and is live again once it is back", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("quick", programPipeline("process.exit(0)"));
      let isCut = false;
      await using line = await CutLine.lay(() => (isCut ? undefined : service.url));
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(line.origin, secret);
      screen.expectLostConnection();
      await page.getByText("No runs yet.").waitFor();
      isCut = true;
      line.cut();
      await page.getByText("Connection lost. Trying again…").waitFor();
      isCut = false;
      await page.getByText("Connection lost").waitFor({ state: "detached" });
      await started(client, "quick");
      await page.getByText(quota(1), { exact: true }).waitFor();
    });
  });
});
