import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { FakeClock } from "../clock/fakeClock.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { putRuns } from "./putRuns.ts";
import { Visitor } from "./visitor.ts";

const never = new AbortController().signal;

describe("Run Again on the page", () => {
  const open = inBrowser();

  it("refuses a form that holds a NUL, which no page of ours sends", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("console.log('hello')"));
    const { runId } = await started(client, "hello");
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    assert.equal((await visitor.post(`/app/runs/${runId}/again`, { request: "a\0b" })).status, 400);
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  it("begins at no step behind one whose program in the background ended with its run", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write(
      "site",
      [
        "resources: { shell: { type: cli } }",
        'steps: [{ use: shell, run: "sleep 1000 &" }, { use: shell, run: exit 1 }]',
        "",
      ].join("\n"),
    );
    const { runId } = await started(client, "site");
    await ended(client, { runId });
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const text = await visitor.text(`/app/runs/${runId}`);
    assert.match(text, /Run Again/);
    assert.doesNotMatch(text, /Run From Here/);
  });

  it("begins at the step that failed by its number where another has its name", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
    await service.write(
      "site",
      [
        "resources: { shell: { type: cli } }",
        "steps:",
        `  - { name: build, use: shell, run: ${program("")} }`,
        `  - { name: build, use: shell, run: ${program("process.exit(1)")} }`,
        "",
      ].join("\n"),
    );
    const { runId } = await started(client, "site");
    await ended(client, { runId });
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const [, from] = /name="from" value="([^"]*)"/.exec(await visitor.text(`/app/runs/${runId}`)) ?? [];
    assert.equal(from, "2");
    const reply = await visitor.post(`/app/runs/${runId}/again`, { from });
    const again = await ended(client, { runId: reply.headers.get("location")?.split("/").at(-1) ?? "" });
    assert.deepEqual(
      again.steps?.map(({ status }) => status),
      ["skipped", "failed"],
    );
  });

  it("of another person's run is a run of one's own, and the button says so", async () => {
    await using service = await startedService();
    const { client } = await service.member();
    const me = await service.key("member");
    await service.write("hello", programPipeline("process.exit(0)"));
    const { runId } = await started(client, "hello");
    await ended(client, { runId });
    const visitor = new Visitor(service);
    await visitor.signIn(me.secret);
    assert.match(
      await visitor.text("/app/runs"),
      /<button title="Starts hello again [^"]* as a run of yours">Run Again<span class="unseen"> hello</,
    );
    const reply = await visitor.post(`/app/runs/${runId}/again`, {});
    const again = await visitor.text(reply.headers.get("location") ?? "");
    assert.match(again.replaceAll(/<[^>]*>/g, ""), /Started by\s*you/);
  });

  it("is refused while another run holds the slot, and makes no run", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("long", programPipeline(untilCancelled));
    await service.write("hello", programPipeline("process.exit(0)"));
    const first = await started(client, "hello");
    await ended(client, first);
    const long = await started(client, "long");
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const reply = await visitor.post(`/app/runs/${first.runId}/again`, {});
    assert.equal(reply.status, 429);
    const text = await reply.text();
    assert.match(text, /<h1[^>]*>Not started<\/h1>/);
    assert(text.includes("hello was not started: another run holds the slot."), text);
    assert.equal((await client.org(never)).usage.runsToday, 2);
    await client.cancel(long.runId, never);
  });

  it("is refused once the day's runs are used up, and says when the count starts again", async () => {
    const clock = new FakeClock("2026-03-01T21:00:00Z");
    await using service = await startedService({ clock });
    const { client, orgId, secret } = await service.member();
    await service.write("hello", programPipeline("process.exit(0)"));
    const { runId } = await started(client, "hello");
    await ended(client, { runId });
    const used = { day: "2026-03-01", created_at: clock.now(), stopped_at: clock.now() };
    await putRuns(
      service.db,
      orgId,
      Array.from({ length: 49 }, () => used),
    );
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const reply = await visitor.post(`/app/runs/${runId}/again`, {});
    assert.equal(reply.status, 429);
    const text = await reply.text();
    assert(text.includes("hello was not started: today&#39;s 50 runs are used up."), text);
    assert(text.includes("The count starts again at 00:00 UTC, in 3 h."), text);
    assert(text.includes('<a href="/app/what-counts">What counts as a run?</a>'), text);
  });

  it("starts one run for a button pressed twice, and none for a viewer or another site", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("hello", programPipeline("process.exit(0)"));
    const { runId } = await started(client, "hello");
    await ended(client, { runId });
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const again = `/app/runs/${runId}/again`;
    const pressed = async () => (await visitor.post(again, { request: "pressed-1" })).headers.get("location");
    const one = await pressed();
    assert.match(one ?? "", /^\/app\/runs\/run_/);
    assert.equal(await pressed(), one);
    const foreign = await visitor.post(again, {}, { origin: "http://127.0.0.1:1" });
    assert.equal(foreign.status, 403);
    const viewer = new Visitor(service);
    await viewer.signIn((await service.key("viewer")).secret);
    assert.equal((await viewer.post(again, {})).status, 403);
    assert.doesNotMatch(await viewer.text("/app/runs"), /Starts hello again/);
    assert.equal((await client.org(never)).usage.runsToday, 2);
  });

  describe("of the embedded service", () => {
    it("starts a new run of the pipeline, which counts, and leads to it", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      await service.write("hello", programPipeline("console.log('hello')"));
      const first = await started(client, "hello");
      await ended(client, first);
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret);
      await page.getByRole("row", { name: "hello" }).getByRole("button", { name: "Run Again" }).click();
      await page.waitForURL(/\/app\/runs\/run_/);
      const again = page.url().split("/").at(-1) ?? "";
      assert.notEqual(again, first.runId);
      const run = await ended(client, { runId: again });
      assert.deepEqual([run.status, run.pipeline, run.project], ["succeeded", "hello", service.project.name]);
      await page.goto(`${service.url}/app/runs/${again}`);
      await page.locator("#state").getByRole("button", { name: "Run Again" }).click();
      await page.waitForURL((url) => /\/run_/.test(url.pathname) && !url.pathname.endsWith(again));
      assert.equal((await client.org(never)).usage.runsToday, 3);
    });

    it("begins at the step that failed by the button beside it, and shows those before as skipped", async () => {
      await using service = await startedService();
      const { client, secret } = await service.member();
      const program = (code: string) => JSON.stringify([process.execPath, "-e", code]);
      await service.write(
        "site",
        [
          "resources: { shell: { type: cli } }",
          `steps:`,
          `  - { name: build, use: shell, run: ${program("")} }`,
          `  - { name: publish, use: shell, run: ${program("require('fs').mkdirSync('there'); process.exit(1)")} }`,
          "",
        ].join("\n"),
      );
      const { runId } = await started(client, "site");
      await ended(client, { runId });
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, secret, `/app/runs/${runId}`);
      await page.getByRole("button", { name: "Run From Here at publish" }).click();
      await page.waitForURL((url) => !url.pathname.endsWith(runId));
      await page.locator("#step-0").getByText("Skipped").waitFor();
      await page.locator("#step-1").getByText("Failed").waitFor();
      assert.equal(await page.locator("#step-0").getByRole("button").count(), 0);
      assert.equal((await client.org(never)).usage.runsToday, 2);
    });

    it("says so when the pipeline or its project is gone", async () => {
      await using service = await startedService();
      const { client, orgId, secret } = await service.member();
      await service.write("hello", programPipeline("process.exit(0)"));
      const { runId } = await started(client, "hello");
      await ended(client, { runId });
      const [elsewhere = ""] = await putRuns(service.db, orgId, [{ project: "moved" }]);
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      await rm(join(service.project.root, "pipelines", "hello.yaml"));
      const gone = await visitor.post(`/app/runs/${runId}/again`, {});
      assert.equal(gone.status, 404);
      assert.match(await gone.text(), /There is no pipeline <code>hello<\/code> in the project/);
      const unknown = await visitor.post(`/app/runs/${elsewhere}/again`, {});
      assert.equal(unknown.status, 404);
      assert.match(await unknown.text(), /The org has no project <code>moved<\/code>/);
      assert.equal((await client.org(never)).usage.runsToday, 2);
    });
  });
});
