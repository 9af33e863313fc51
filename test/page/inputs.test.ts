// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders are the pipeline's.
import assert from "node:assert/strict";
import type { RunStep } from "../../src/contract/run.ts";
import { setValues } from "../../src/service/store/ranPipelines.ts";
import { putSteps } from "../../src/service/store/runs.ts";
import { onBoth } from "../service/onBoth.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { ended, type Service, startedService } from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { Visitor } from "./visitor.ts";

const never = new AbortController().signal;

const checkout = [
  "inputs:",
  "  base-url: \"${{ default(env.SHOP_URL, 'http://127.0.0.1:1') }}\"",
  "  region: { options: [eu, us], default: eu, description: Whose prices are used }",
  "  lamps: { type: number, default: 2, description: How many lamps the buyer takes }",
  "  visit: true",
  "  note: { description: What to write on the parcel }",
  "resources: { sh: { type: cli } }",
  `steps: [{ name: order, use: sh, run: ${JSON.stringify([process.execPath, "-e", ""])} }]`,
  "",
].join("\n");

/** A run of the pipeline that has ended, with all that a run can show. */
async function endedRun(service: Service) {
  const { client, secret } = await service.member();
  await service.write("checkout", checkout);
  const inputs = { note: 'for "Ada"\n<b>first</b> floor', lamps: 3 };
  const attempt = await client.start(
    { pipeline: "checkout", inputs },
    { waitSeconds: 0, idempotencyKey: "a" },
    never,
  );
  assert(attempt.kind === "started");
  const { runId, stoppedAt = "" } = await ended(client, attempt.run);
  const at = (seconds: number) => new Date(Date.parse(stoppedAt) + seconds * 1000).toISOString();
  await service.db.transaction().execute(async (tx) => {
    const outputs = { order: 7, lines: [{ lamp: "desk lamp", count: 3 }] };
    await setValues(tx, runId, { kind: "outputs", outputs });
    const times = (from: number, to: number) => ({ startedAt: at(from), stoppedAt: at(to) });
    const steps = new Map<number, RunStep>([
      [1, { name: "paid", type: "http", status: "failed", attempts: 3, ...times(0, 4) }],
      [2, { name: "in the books", type: "sql", status: "not-reached" }],
      [3, { name: "seen by a person", type: "browser", status: "skipped" }],
      [4, { name: "remove the order", type: "sql", status: "succeeded", cleanup: true, ...times(4, 5) }],
    ]);
    await putSteps(tx, runId, steps);
  });
  return { client, secret, runId };
}

const words = (text: string) => text.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");

describe("the page of a run with inputs", () => {
  const open = inBrowser();

  onBoth("on its database", (store) => {
    it("shows them and what it has put out, what was tried again, not reached, skipped and cleaned up", async () => {
      await using service = await serviceOn(store);
      const { secret, runId } = await endedRun(service);
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      const text = await visitor.text(`/app/runs/${runId}`);
      const said = words(text);
      assert.match(said, /Inputs base-url http:\/\/127\.0\.0\.1:1 region eu lamps 3 visit true note /);
      assert(text.includes("for &quot;Ada&quot;\n&lt;b&gt;first&lt;/b&gt; floor"), text);
      assert.match(said, /Outputs order 7 lines \[ \{ &quot;lamp&quot;: &quot;desk lamp&quot;/);
      assert.match(said, /paid http, 3 attempts/);
      assert.match(said, /in the books sql Not reached/);
      assert.match(said, /seen by a person browser Skipped/);
      assert.match(said, /remove the order sql, cleanup/);
      assert.match(said, /Timeline .* paid 3 attempts .* remove the order cleanup .* Steps/);
    });

    it("starts it again with the same values, but for those that a run finds out", async () => {
      await using service = await serviceOn(store);
      const { client, secret, runId } = await endedRun(service);
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      const reply = await visitor.post(`/app/runs/${runId}/again`, {});
      const again = await ended(client, { runId: reply.headers.get("location")?.split("/").at(-1) ?? "" });
      assert.deepEqual(again.inputs, {
        ...{ "base-url": "http://127.0.0.1:1", region: "eu", lamps: 3, visit: true },
        note: 'for "Ada"\n<b>first</b> floor',
      });
    });

    it("asks again for what doesn't fit, with what was typed, and starts nothing", async () => {
      await using service = await serviceOn(store);
      const { client, secret, runId } = await endedRun(service);
      const visitor = new Visitor(service);
      await visitor.signIn(secret);
      const form = {
        with: "inputs",
        request: "r",
        "input.note": "<i>",
        "input.lamps": "many",
        "input.base-url": "",
      };
      const reply = await visitor.post(`/app/runs/${runId}/again`, form);
      assert.equal(reply.status, 400);
      const text = await reply.text();
      assert.match(
        text,
        /role="alert">[\s\S]*<code>lamps<\/code> should be a number, not <code>many<\/code>/,
      );
      assert.match(text, /name="input.lamps"[^>]* value="many"/);
      assert.match(text, /name="input.note"[^>]* value="&lt;i&gt;"/);
      assert.equal((await client.org(never)).usage.runsToday, 1);
      const good = { ...form, "input.lamps": "4", "input.region": "us", "input.visit": "false" };
      const [one, twice] = [
        await visitor.post(`/app/runs/${runId}/again`, good),
        await visitor.post(`/app/runs/${runId}/again`, good),
      ].map(({ headers }) => headers.get("location"));
      assert.equal(twice, one, "pressed twice");
      const again = await ended(client, { runId: one?.split("/").at(-1) ?? "" });
      assert.deepEqual(again.inputs, {
        "base-url": "http://127.0.0.1:1",
        ...{ region: "us", lamps: 4, visit: false, note: "<i>" },
      });
      const changed = await visitor.post(`/app/runs/${runId}/again`, { ...good, "input.lamps": "5" });
      assert.equal(changed.status, 303, "the browser's way back, and another value");
      assert.notEqual(changed.headers.get("location"), one);
      await ended(client, { runId: changed.headers.get("location")?.split("/").at(-1) ?? "" });
    });
  });

  it("asks for them in a form that is filled in", async () => {
    await using service = await startedService();
    const { client, secret, runId } = await endedRun(service);
    await using screen = await open();
    const { page } = screen;
    await screen.signIn(service.url, secret, `/app/runs/${runId}`);
    await page.locator("#state").getByRole("link", { name: "Run Again" }).click();
    assert.equal(await page.getByLabel("note").inputValue(), 'for "Ada"\n<b>first</b> floor');
    assert.equal(await page.getByLabel("base-url").inputValue(), "");
    await page.getByText("Left empty, the run finds it out when it begins.").waitFor();
    assert.equal(await page.getByLabel("lamps").inputValue(), "3");
    await page.getByLabel("region").selectOption("us");
    await page.getByLabel("visit").selectOption("false");
    await page.getByRole("button", { name: "Run Again" }).click();
    await page.waitForURL((url) => /\/run_[^/]*$/.test(url.pathname) && !url.pathname.endsWith(runId));
    const again = await ended(client, { runId: page.url().split("/").at(-1) ?? "" });
    assert.deepEqual(again.inputs, {
      ...{ "base-url": "http://127.0.0.1:1", region: "us", lamps: 3, visit: false },
      note: 'for "Ada"\n<b>first</b> floor',
    });
  });

  it("asks for those that the file has got since, and asks no viewer", async () => {
    await using service = await startedService();
    const { client, secret } = await service.member();
    await service.write("checkout", checkout.slice(checkout.indexOf("resources")));
    const attempt = await client.start(
      { pipeline: "checkout" },
      { waitSeconds: 0, idempotencyKey: "a" },
      never,
    );
    assert(attempt.kind === "started");
    const { runId } = await ended(client, attempt.run);
    await service.write("checkout", checkout);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const reply = await visitor.post(`/app/runs/${runId}/again`, {});
    assert.equal(reply.status, 400);
    assert.match(
      await reply.text(),
      /<input id="field-note" name="input.note" required aria-describedby="hint-note"/,
    );
    const viewer = new Visitor(service);
    await viewer.signIn((await service.key("viewer")).secret);
    assert.equal((await viewer.get(`/app/runs/${runId}/again`)).status, 403);
  });
});
