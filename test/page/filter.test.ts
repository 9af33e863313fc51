import assert from "node:assert/strict";
import { onBoth } from "../service/onBoth.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { startedService } from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { putRuns } from "./putRuns.ts";
import { Visitor } from "./visitor.ts";

onBoth("the filter of the page of runs", (store) => {
  it("shows the runs of a status, of a pipeline, and one's own", async () => {
    await using service = await serviceOn(store);
    const { orgId, keyId, secret } = await service.key();
    await putRuns(service.db, orgId, someRuns(keyId));
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const shown = async (query: string) => (await visitor.runsPage(`/app/runs${query}`)).pipelines;
    assert.deepEqual(await shown("?status=failed"), ["c", "b", "a"]);
    assert.deepEqual(await shown("?status=failed&pipeline=a&mine=yes"), ["a"]);
    assert.deepEqual(await shown(""), ["c", "b", "a", "a"]);
  });

  it("shows the runs of days, as long as they are where the reader is", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key();
    // In Berlin the clocks go back on the 25th at 01:00 UTC, from two hours ahead to one.
    const times = ["24T21:59", "24T22:00", "25T22:59", "25T23:00", "26T22:59", "26T23:00"];
    await putRuns(
      service.db,
      orgId,
      times.map((time) => {
        const at = Date.parse(`2026-10-${time}Z`);
        return { pipeline: time, created_at: at, stopped_at: at };
      }),
    );
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const shown = async (query: string) =>
      (await visitor.runsPage(`/app/runs?${query}`)).pipelines.toReversed();
    const berlin = "&zone=Europe%2FBerlin";
    assert.deepEqual(await shown(`from=2026-10-25&to=2026-10-25${berlin}`), times.slice(1, 3));
    assert.deepEqual(await shown(`from=2026-10-25&to=2026-10-26${berlin}`), times.slice(1, 5));
    assert.deepEqual(await shown(`to=2026-10-24${berlin}`), times.slice(0, 1));
    assert.deepEqual(await shown(`from=2026-10-27${berlin}`), times.slice(5));
    for (const utc of ["", "&zone=", "&zone=Nowhere", "&zone=%22%3E%3Cb%3E"]) {
      assert.deepEqual(await shown(`from=2026-10-25&to=2026-10-25${utc}`), times.slice(2, 4), utc);
    }
    for (const odd of ["from=2026-02-30", "from=yesterday", "to=2026-13-01", "to=%22%3E%3Cb%3E"]) {
      assert.deepEqual(await shown(odd), times, odd);
    }
    assert.match(await visitor.text("/app/runs?from=2026-11-01"), /No run matches\./);
    assert.match(await visitor.text("/app/runs?from=2026-10-25"), /data-zone>UTC<.*name="zone" value="UTC"/);
  });

  it("suggests each pipeline of the org once", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key();
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    assert.doesNotMatch(await visitor.text("/app/runs"), /datalist/);
    await putRuns(service.db, orgId, [{ pipeline: "b" }, { pipeline: "<a>" }, { pipeline: "b" }]);
    const [, list] = /<datalist id="pipelines">(.*)<\/datalist>/.exec(await visitor.text("/app/runs")) ?? [];
    assert.equal(list, '<option value="&lt;a&gt;"></option><option value="b"></option>');
  });

  it("has no key in it, also where the address has one", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key();
    await putRuns(service.db, orgId, [{ pipeline: "a" }]);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const page = await visitor.text(`/app/runs?pipeline=${secret}&status=failed`);
    assert.match(page, /No run matches/);
    assert.ok(!page.includes(secret.slice(-43)));
  });

  it("keeps to its pages, older and newer", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key();
    await putRuns(
      service.db,
      orgId,
      Array.from({ length: 50 }, (_, position) => ({ pipeline: position % 2 === 0 ? "even" : "odd" })),
    );
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const first = await visitor.runsPage("/app/runs?pipeline=odd");
    assert.deepEqual(first.pipelines, Array(20).fill("odd"));
    assert.match(first.older ?? "", /pipeline=odd&after=/);
    const second = await visitor.runsPage(first.older);
    assert.deepEqual(second.pipelines, Array(5).fill("odd"));
    assert.match(second.newer ?? "", /pipeline=odd&before=/);
    assert.deepEqual((await visitor.runsPage(second.newer)).pipelines, first.pipelines);
  });

  it("finds nothing without hiding that there are runs, and ignores what nobody can choose", async () => {
    await using service = await serviceOn(store);
    const { orgId, secret } = await service.key();
    await putRuns(service.db, orgId, [{ pipeline: "hello" }]);
    const visitor = new Visitor(service);
    await visitor.signIn(secret);
    const none = await visitor.text("/app/runs?status=lost");
    assert.match(none, /No run matches\./);
    assert.doesNotMatch(none, /No runs yet/);
    assert.match(await visitor.text("/app/runs?status=odd&pipeline=+&mine=no"), />hello<\/bdi>/);
    assert.match(await visitor.text("/app/runs?pipeline=%22%3E%3Cb%3E"), /value="&quot;&gt;&lt;b&gt;"/);
  });
});

describe("the filter's fields", () => {
  const open = inBrowser();

  it("show the runs of a status, of a pipeline, and one's own", async () => {
    await using service = await startedService();
    const { orgId, keyId, secret } = await service.key();
    await putRuns(service.db, orgId, someRuns(keyId));
    await using screen = await open();
    const { page } = screen;
    const shown = () => page.locator("tbody th a").allTextContents();
    await screen.signIn(service.url, secret);
    await page.getByLabel("Status").selectOption("Failed");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/status=failed/);
    assert.deepEqual(await shown(), ["c", "b", "a"]);
    await page.getByLabel("Only mine").check();
    await page.getByLabel("Pipeline").fill("a");
    await page.getByLabel("Pipeline").press("Enter");
    await page.waitForURL(/mine=yes/);
    assert.deepEqual(await shown(), ["a"]);
    assert.equal(await page.getByLabel("Status").inputValue(), "failed");
    assert.equal(await page.getByLabel("Only mine").isChecked(), true);
    await page.getByRole("link", { name: "Show all" }).click();
    await page.waitForURL(/\/app\/runs$/);
    assert.deepEqual(await shown(), ["c", "b", "a", "a"]);
  });
});

describe("the filter's days", () => {
  const open = inBrowser();

  for (const script of [true, false]) {
    it(`are ${script ? "the reader's own, which the address names" : "of UTC without script"}`, async () => {
      await using service = await startedService();
      const { orgId, secret } = await service.key();
      const at = Date.parse("2026-03-04T23:30:00Z");
      await putRuns(service.db, orgId, [{ created_at: at, stopped_at: at }]);
      await using screen = await open({ script, zone: "Asia/Tokyo" });
      const { page } = screen;
      const zone = script ? "Asia/Tokyo" : "UTC";
      await screen.signIn(service.url, secret);
      await page.getByText(zone, { exact: true }).waitFor();
      const count = async (day: string) => {
        await page.getByLabel("From").fill(day);
        await page.getByLabel("To", { exact: true }).fill(day);
        await page.getByRole("button", { name: "Filter" }).click();
        await page.waitForURL(new RegExp(`from=${day}&to=${day}`));
        await page.getByText(zone, { exact: true }).waitFor();
        return page.locator("tbody th").count();
      };
      assert.equal(await count("2026-03-04"), script ? 0 : 1);
      assert.equal(await count("2026-03-05"), script ? 1 : 0);
      assert.equal(new URL(page.url()).searchParams.get("zone"), zone);
    });
  }
});

function someRuns(me: string) {
  return [
    { pipeline: "a", status: "failed", actor: me },
    { pipeline: "a", status: "succeeded" },
    { pipeline: "b", status: "failed" },
    { pipeline: "c", status: "failed", actor: me },
  ];
}
