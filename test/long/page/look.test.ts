import assert from "node:assert/strict";
import { join } from "node:path";
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { inBrowser } from "../../page/inBrowser.ts";
import { putLog } from "../../page/putLog.ts";
import { putRuns } from "../../page/putRuns.ts";
import type { Screen } from "../../page/screen.ts";
import {
  ended,
  programPipeline,
  started,
  startedService,
  untilCancelled,
} from "../../service/startedService.ts";

const never = new AbortController().signal;

// Each page as people see it. With `PAGE_PICTURES=keep`, pictures are kept in `test-results/page/`.
describe("the look of the page", () => {
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
    return {
      runId,
      async [Symbol.asyncDispose]() {
        await client.cancel(runId, never);
        await ended(client, { runId });
      },
    };
  }

  /** What a pipeline's form asks for, and a run that was started with it. */
  async function lookAtInputs(page: Screen["page"], look: (of: string) => Promise<void>) {
    await page.goto(`${url}/app/pipelines`);
    await look("pipelines");
    await page.getByRole("link", { name: "Run… order" }).click();
    await look("pipeline-inputs");
    await page.getByRole("button", { name: "Run" }).click();
    await page.locator("#state").getByText("Succeeded").waitFor();
    await look("run-with-inputs");
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
      if (script) await lookAtInputs(page, look);
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
    // A date field takes several.
    for (let tabs = 0; tabs < 30 && passed.at(-2) !== "Filter"; tabs++) {
      await page.keyboard.press("Tab");
      passed.push((await screen.focused()).split("\n")[0] ?? "");
      const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
      assert.equal(outline, "solid", passed.at(-1));
    }
    assert.match(
      passed.join(", "),
      /^Cancel Mine \(1\).*, checkout, Cancel.*, Any(, INPUT)+, Filter, checkout$/,
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

type OpenScreen = ReturnType<typeof inBrowser>;

/** An org in the middle of its day. */
async function stage(service: Awaited<ReturnType<typeof startedService>>, open: OpenScreen) {
  const picture = await pictureOfShop(open);
  const member = await service.key();
  const { orgId, keyId, secret } = member;
  const client = service.client(secret);
  await client.putProject("shop", service.project.root, AbortSignal.timeout(20_000));
  const coloured = [
    "const e = '\\u001b[';",
    "console.log('installing ' + e + '36m42' + e + '0m packages');",
    "console.error('warning: the cache is cold');",
    "console.log(e + '32m✔' + e + '0m 128 tests passed');",
  ].join("");
  await service.write("checkout", programPipeline(`${coloured}${untilCancelled}`, "60s"));
  const inputs = [
    "inputs:",
    "  region: { options: [eu, us], default: eu, description: Whose prices are used }",
    "  lamps: { type: number, default: 2, description: How many lamps the buyer takes }",
    "  visit: true",
  ];
  await service.write("order", `${inputs.join("\n")}\n${programPipeline("")}`);
  const statuses = ["succeeded", "lost", "timed-out", "succeeded", "cancelled", "succeeded", "failed"];
  const pipelines = ["checkout", "nightly", "a-name-that-someone-gave-it-who-had-time"];
  const now = Date.now();
  const ids = await putRuns(
    service.db,
    orgId,
    statuses.map((status, position) => {
      const created = now - (statuses.length - position) * 660_000;
      return {
        status,
        pipeline: pipelines[position % pipelines.length] ?? "hello",
        ...(position % 3 === 0 ? {} : { actor: keyId }),
        asked_at: created - 1_500 * position,
        created_at: created,
        stopped_at: created + 2_300 * (position + 1),
        runner: "embedded@laptop",
        ...(status === "failed"
          ? {
              reason:
                "the front page: expected the text\n  3 results\nbut the page has\n  No results for “lamp”",
            }
          : {}),
      };
    }),
  );
  const [colours = ""] = ids;
  await putLog(service, colours, {
    steps: [{ name: "every colour", status: "failed" }],
    log: [{ text: `${everyColour()}\n` }],
  });
  const runId = ids.at(-1) ?? "";
  const began = now - 660_000;
  const after = (milliseconds: number) => new Date(began + milliseconds).toISOString();
  await putLog(service, runId, {
    steps: [
      { name: "unit tests", type: "cli", startedAt: after(200), stoppedAt: after(9_100) },
      { name: "it answers", type: "http", startedAt: after(9_100), stoppedAt: after(9_340) },
      {
        name: "the front page",
        type: "browser",
        status: "failed",
        startedAt: after(9_340),
        stoppedAt: after(16_050),
        message: "expected the text\n  3 results\nbut the page has\n  No results for “lamp”",
      },
    ],
    log: [
      { text: "\u001b[1mrunning 128 tests\u001b[0m\n" },
      { text: "\u001b[32m✔\u001b[0m 128 passed\n" },
      { text: "GET http://127.0.0.1:8080/health → 200 in 12 ms\n", stream: "note", stepIndex: 1 },
      { text: "goto http://127.0.0.1:8080/ → Lamps & more\n", stream: "note", stepIndex: 2 },
      { text: "fill Search with “lamp”\n", stream: "note", stepIndex: 2 },
      { text: "click the button Go\n", stream: "note", stepIndex: 2 },
      { text: "the page's console: \u001b[31mGET /search 500\u001b[0m\n", stream: "stderr", stepIndex: 2 },
    ],
    files: [
      {
        name: "search.png",
        file: "3-search.png",
        mediaType: "image/png",
        content: picture,
        stepIndex: 2,
      },
      {
        name: "reply.json",
        file: "2-reply.json",
        mediaType: "application/json",
        content: "{}",
        stepIndex: 1,
      },
    ],
  });
  return { secret, client, runId, colours };
}

/** Each of a terminal's colours on each of its grounds: all have to be readable. */
function everyColour(): string {
  const grounds = [49, 40, 41, 42, 43, 44, 45, 46, 47];
  return grounds
    .flatMap((ground) =>
      [39, 30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 92, 93, 94, 95, 96, 97].map(
        (colour) => `\u001b[${ground};${colour}m${colour}`,
      ),
    )
    .join("");
}

/** What a browser step could have seen. */
async function pictureOfShop(open: OpenScreen): Promise<Uint8Array> {
  await using screen = await open({ width: 800 });
  await screen.page.setViewportSize({ width: 800, height: 360 });
  await screen.page.setContent(`<!doctype html><html lang="en"><title>Lamps &amp; more</title>
<style>body{font:18px sans-serif;margin:48px;color:#222;background:#fffaf0}input,button{font:inherit;padding:8px 12px}</style>
<h1>Lamps &amp; more</h1><p><input aria-label="Search" value="lamp"> <button>Go</button></p><p>No results for “lamp”</p>`);
  return await screen.page.screenshot();
}
