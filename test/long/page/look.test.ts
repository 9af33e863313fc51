import assert from "node:assert/strict";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { inBrowser } from "../../page/inBrowser.ts";
import type { Screen } from "../../page/screen.ts";
import { started, startedService } from "../../service/startedService.ts";
import { stage } from "./stage.ts";

const never = new AbortController().signal;

// Each page as people see it. With `PAGE_PICTURES=keep`, pictures are kept in `test-results/page/`.
describe("the look of the page", function () {
  this.timeout(120_000);
  const open = inBrowser();
  const held = new AsyncDisposableStack();
  let url: string;
  let staged: Awaited<ReturnType<typeof stage>>;
  before(async () => {
    const service = held.use(await startedService());
    url = service.url;
    staged = await stage(service, open);
  });
  after(() => held.disposeAsync());

  /** An active run, which holds the slot for as long as its test. */
  async function activeRun() {
    const { client } = staged;
    const { runId } = await started(client, "checkout", 60);
    return { runId, [Symbol.asyncDispose]: async () => void (await client.cancel(runId, never)) };
  }

  for (const { scheme, script } of [
    { scheme: "light", script: true },
    { scheme: "dark", script: true },
    { scheme: "light", script: false },
  ] as const) {
    it(`has no barriers and fits, in ${scheme}, ${script ? "with" : "without"} script`, async () => {
      const { runId, secret, colours } = staged;
      await using screen = await open({ scheme, script: script || "empty" });
      const { page } = screen;
      const name = (of: string) => `${of}-${scheme}${script ? "" : "-no-script"}`;
      // A narrow window moves things, and neither the colours nor the script know of it.
      const look = (of: string) => lookAt(screen, name(of), scheme === "light" && script);

      await page.goto(`${url}/app/sign-in`);
      await look("sign-in");
      screen.expectStatus(401);
      await page.getByLabel("API key").fill("plr_wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
      await look("sign-in-refused");
      await screen.signIn(url, secret);
      await using active = await activeRun();
      await page.goto(`${url}/app/runs`);
      await page.getByRole("row", { name: "checkout" }).getByText("Running").waitFor();
      await look("runs");
      await page.goto(`${url}/app/runs/${active.runId}`);
      await page.locator("#state").getByText("Running").waitFor();
      await look("run-in-work");
      await page.goto(`${url}/app/runs/${runId}`);
      await page.getByRole("img", { name: /search/ }).scrollIntoViewIfNeeded();
      await look("run");
      if (script && process.env["PAGE_PICTURES"] === "keep") await keepForReaders(screen, scheme);
      await page.goto(`${url}/app/runs/${colours}`);
      await look("run-of-colours");
      screen.expectStatus(404);
      await page.goto(`${url}/app/runs/none`);
      await look("not-found");
    });
  }

  it("shows by more than colour how a run stands, also where the system takes all colours", async () => {
    await using screen = await open();
    await screen.page.emulateMedia({ forcedColors: "active" });
    await screen.signIn(url, staged.secret);
    await screen.keepPicture("runs-forced-colours");
    const rows = screen.page.locator("tbody tr");
    const looks = new Map<string, string>();
    for (const row of await rows.all()) {
      const word = (await row.locator(".status").textContent()) ?? "";
      looks.set(word, (await row.locator(".status svg").innerHTML()).trim());
    }
    assert.deepEqual([...looks.keys()].sort(), ["Cancelled", "Failed", "Lost", "Succeeded", "Timed out"]);
    assert.equal(new Set(looks.values()).size, looks.size);
  });

  it("can be worked by keyboard from the first press, and shows where it is", async () => {
    await using _active = await activeRun();
    await using screen = await open();
    const { page } = screen;
    await screen.signIn(url, staged.secret);
    await page.keyboard.press("Tab");
    assert.equal(await screen.focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "main");
    const passed: string[] = [];
    for (let tabs = 0; tabs < 8; tabs++) {
      await page.keyboard.press("Tab");
      passed.push((await screen.focused()).split("\n")[0] ?? "");
      const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
      assert.equal(outline, "solid", passed.at(-1));
    }
    assert.match(
      passed.join(", "),
      /^Cancel Mine \(1\).*, checkout, Cancel.*, Any, INPUT, INPUT, Filter, checkout$/,
    );
  });
});

/** Makes the picture anew that the README shows. */
async function keepForReaders({ page }: Screen, scheme: string): Promise<void> {
  await page.setViewportSize({ width: 960, height: 860 });
  await page.screenshot({ path: join(projectRoot, "media", `page-${scheme}.png`), fullPage: true });
}

/** Looks at the page wide, narrow and at twice its size, and keeps a picture of it. */
async function lookAt(screen: Screen, name: string, isNarrowSearched: boolean): Promise<void> {
  const { page } = screen;
  await screen.keepPicture(name);
  assert.deepEqual(await screen.barriers(), [], name);
  for (const [width, height] of [
    [360, 740],
    // As a window of 1180 pixels is at 200 %.
    [590, 430],
  ] as const) {
    await page.setViewportSize({ width, height });
    assert.equal(await screen.overflows(), false, `${name} at ${width}`);
    if (width === 360) {
      await screen.keepPicture(`${name}-narrow`);
      if (isNarrowSearched) assert.deepEqual(await screen.barriers(), [], `${name}, narrow`);
    }
  }
  await page.setViewportSize({ width: 1180, height: 860 });
}
