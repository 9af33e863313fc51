import assert from "node:assert/strict";
import { onBoth } from "../service/onBoth.ts";
import { serviceOn } from "../service/serviceOn.ts";
import {
  ended,
  programPipeline,
  type Service,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { until } from "../until.ts";
import { inBrowser } from "./inBrowser.ts";
import { Visitor } from "./visitor.ts";

const never = new AbortController().signal;

const order = [
  "tags: [nightly]",
  "inputs:",
  "  region: { options: [eu, us], default: eu }",
  "  lamps: { type: number }",
  "resources: { sh: { type: cli } }",
  `steps: [{ use: sh, run: ${JSON.stringify([process.execPath, "-e", ""])} }]`,
  "",
].join("\n");

/** A service with three pipelines, one of them broken, of which none has run. */
async function withPipelines(service: Service) {
  const { client, secret } = await service.member();
  await service.write("hello", programPipeline(""));
  await service.write("order", order);
  await service.write("broken", "steps: []\n");
  const visitor = new Visitor(service);
  await visitor.signIn(secret);
  return { client, secret, visitor };
}

/** Where the button of the pipeline posts to. */
function runAddress(page: string, pipeline: string): string {
  const found = new RegExp(`<form method="post" action="([^"]*=${pipeline})"`).exec(page);
  return (found?.[1] ?? "").replaceAll("&amp;", "&");
}

const runOf = (reply: Response) => ({ runId: reply.headers.get("location")?.split("/").at(-1) ?? "" });

describe("the page of pipelines", () => {
  const open = inBrowser();

  it("lists those that never ran, and starts one", async () => {
    await using service = await startedService();
    const { client, visitor } = await withPipelines(service);
    const text = await visitor.text("/app/pipelines");
    assert.match(text, /<bdi>hello<\/bdi>[\s\S]*<bdi>order<\/bdi>[\s\S]*nightly/);
    const path = runAddress(text, "hello");
    const form = { request: "pressed" };
    const [one, twice] = [runOf(await visitor.post(path, form)), runOf(await visitor.post(path, form))];
    assert.deepEqual(twice, one, "pressed twice");
    const run = await ended(client, one);
    assert.deepEqual([run.pipeline, run.status], ["hello", "succeeded"]);
    assert.equal((await client.org(never)).usage.runsToday, 1);
  });

  onBoth("on its database", (store) => {
    it("starts none while another run holds the slot, and none for a viewer", async () => {
      await using service = await serviceOn(store);
      const { client, visitor } = await withPipelines(service);
      await service.write("long", programPipeline(untilCancelled));
      const first = await started(client, "long");
      // On PostgreSQL it is there once the run is launched.
      const path = await until(
        async () => runAddress(await visitor.text("/app/pipelines"), "long") || undefined,
      );
      const refused = await visitor.post(path, {});
      assert.equal(refused.status, 429);
      assert.match(await refused.text(), /long was not started: another run holds the slot\./);
      await client.cancel(first.runId, never);
      await ended(client, first);
      const viewer = new Visitor(service);
      await viewer.signIn((await service.key("viewer")).secret);
      assert.doesNotMatch(await viewer.text("/app/pipelines"), /Run…|<button>Run/);
      assert.equal((await viewer.post(path, {})).status, 403);
      assert.equal((await viewer.get(path)).status, 403);
      const next = runOf(await visitor.post(path, {}));
      await client.cancel(next.runId, never);
      assert.equal((await ended(client, next)).pipeline, "long");
    });
  });

  it("says of a broken file what is wrong with it, and of an address that names nothing that it does", async () => {
    await using service = await startedService();
    const { visitor } = await withPipelines(service);
    assert.match(
      await visitor.text("/app/pipelines"),
      /<bdi>broken<\/bdi>(?:(?!<tr>)[\s\S])*broken\.yaml:1:(?:(?!<tr>)[\s\S])*<td><\/td>/,
    );
    assert.equal((await visitor.get("/app/pipelines/start")).status, 404);
    assert.equal((await visitor.post("/app/pipelines/start?pipeline=nope&project=nope", {})).status, 404);
    const outside = new Visitor(service);
    const reply = await outside.get("/app/pipelines");
    assert.equal(reply.headers.get("location"), "/app/sign-in?next=%2Fapp%2Fpipelines");
  });

  it("says where pipelines come from while there are none", async () => {
    await using service = await startedService();
    const visitor = new Visitor(service);
    await visitor.signIn((await service.member()).secret);
    assert.match(await visitor.text("/app/pipelines"), /No pipelines yet/);
  });

  it("asks for a pipeline's inputs, which begin with their defaults", async () => {
    await using service = await startedService();
    const { client, secret } = await withPipelines(service);
    await using screen = await open();
    const { page } = screen;
    await screen.signIn(service.url, secret);
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Pipelines" }).click();
    await page.getByRole("heading", { name: "Pipelines" }).waitFor();
    await page.getByRole("link", { name: "Run… order" }).click();
    assert.equal(await page.getByLabel("region").inputValue(), "eu");
    await page.getByLabel("lamps").fill("3");
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForURL(/\/run_[^/]*$/);
    const run = await ended(client, { runId: page.url().split("/").at(-1) ?? "" });
    assert.deepEqual(run.inputs, { region: "eu", lamps: 3 });
  });
});
