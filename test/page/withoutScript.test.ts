import assert from "node:assert/strict";
import {
  ended,
  programPipeline,
  type Service,
  started,
  startedService,
  untilCancelled,
} from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";

const never = new AbortController().signal;

describe("the page without script", () => {
  const open = inBrowser();
  let service: Service;
  let member: Awaited<ReturnType<Service["member"]>>;
  before(async () => {
    service = await startedService();
    member = await service.member();
  });
  after(() => service[Symbol.asyncDispose]());

  it("says what is wrong with a key, signs in to what was asked for, and out, and in by a link's button", async () => {
    await using screen = await open({ script: false });
    const { page } = screen;
    screen.expectStatus(401);
    await page.goto(`${service.url}/app/sign-in`);
    await page.getByLabel("API key").fill("plr_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("This key is not one of this service's").waitFor();
    assert.equal(await screen.focused(), "key");
    await page.goto(`${service.url}/app/runs?after=run_zz`);
    await page.locator("#key:focus").waitFor();
    await page.keyboard.type(member.secret);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
    assert.equal(new URL(page.url()).search, "?after=run_zz");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL("**/app/sign-in");
    await page.goto(`${service.url}/app/runs`);
    assert.equal(new URL(page.url()).pathname, "/app/sign-in");
    // The script would press it by itself.
    await page.goto((await member.client.signInLink(never)).url);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("acme as member").waitFor();
  });

  it("shows the exact line of the quota, and cancels", async () => {
    await service.write("long", programPipeline(untilCancelled));
    const run = await started(member.client, "long");
    await using screen = await open({ script: false });
    const { page } = screen;
    await screen.signIn(service.url, member.secret);
    assert.equal(
      await page.locator("#quota").textContent(),
      "Free tier: 1 of 50 runs used today. The count starts again at 00:00 UTC.",
    );
    await page.getByRole("button", { name: "Cancel the run of long" }).click();
    await page.waitForURL("**/app/runs");
    assert.equal((await ended(member.client, run)).status, "cancelled");
    await page.reload();
    await page.getByRole("row", { name: "long" }).getByText("Cancelled").waitFor();
  });

  it("starts a run again, and a pipeline with what its form asks for", async () => {
    await service.write("hello", programPipeline(""));
    await service.write("order", `inputs: { lamps: { type: number, default: 2 } }\n${programPipeline("")}`);
    const first = await started(member.client, "hello");
    await ended(member.client, first);
    await using screen = await open({ script: false });
    const { page } = screen;
    const reached = async () => {
      await page.waitForURL((url) => /\/run_[^/]*$/.test(url.pathname));
      return ended(member.client, { runId: page.url().split("/").at(-1) ?? "" });
    };
    await screen.signIn(service.url, member.secret);
    await page.getByRole("row", { name: "hello" }).getByRole("button", { name: "Run Again" }).click();
    const again = await reached();
    assert.notEqual(again.runId, first.runId);
    assert.deepEqual([again.status, again.pipeline], ["succeeded", "hello"]);
    await page.goto(`${service.url}/app/pipelines`);
    await page.getByRole("link", { name: "Run… order" }).click();
    await page.getByLabel("lamps").fill("3");
    await page.getByRole("button", { name: "Run" }).click();
    assert.deepEqual((await reached()).inputs, { lamps: 3 });
  });
});
