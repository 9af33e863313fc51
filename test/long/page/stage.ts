import type { inBrowser } from "../../page/inBrowser.ts";
import { putLog } from "../../page/putLog.ts";
import { putRuns } from "../../page/putRuns.ts";
import { programPipeline, type startedService, untilCancelled } from "../../service/startedService.ts";

type OpenScreen = ReturnType<typeof inBrowser>;

/** An org in the middle of its day. */
export async function stage(service: Awaited<ReturnType<typeof startedService>>, open: OpenScreen) {
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
