import assert from "node:assert/strict";
import { join } from "node:path";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { started, startedService } from "../service/startedService.ts";
import type { inBrowser } from "./inBrowser.ts";
import type { Screen } from "./screen.ts";
import { stage } from "./stage.ts";

/**
 * Tests of each page as people see it, in light and dark, in a wide window and a narrow one, in the present `describe`. With
 * `PAGE_PICTURES=keep`, pictures of them are kept in `test-results/page/`.
 */
export function noBarriers(open: ReturnType<typeof inBrowser>, script: boolean): void {
  for (const scheme of ["light", "dark"] as const) {
    it(`has no barriers and fits, in ${scheme}, ${script ? "with" : "without"} script`, async function () {
      this.timeout(120_000);
      await using service = await startedService();
      const { runId, secret, client, colours } = await stage(service, open);
      await using screen = await open({ scheme, script: script || "empty" });
      const { page } = screen;
      const name = (of: string) => `${of}-${scheme}${script ? "" : "-no-script"}`;

      await page.goto(`${service.url}/app/sign-in`);
      await look(screen, name("sign-in"));
      screen.expectStatus(401);
      await page.getByLabel("API key").fill("plr_wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").waitFor();
      await look(screen, name("sign-in-refused"));
      await screen.signIn(service.url, secret);
      await page.getByText("No runs yet.").waitFor({ state: "detached" });
      const inWork = await started(client, "checkout");
      await page.goto(`${service.url}/app/runs`);
      await page.getByRole("row", { name: "checkout" }).getByText("Running").waitFor();
      await look(screen, name("runs"));
      await page.goto(`${service.url}/app/runs/${inWork.runId}`);
      await page.locator("#state").getByText("Running").waitFor();
      await look(screen, name("run-in-work"));
      await page.goto(`${service.url}/app/runs/${runId}`);
      await page.getByRole("img", { name: /search/ }).scrollIntoViewIfNeeded();
      await look(screen, name("run"));
      if (script && process.env["PAGE_PICTURES"] === "keep") await keepForReaders(screen, scheme);
      await page.goto(`${service.url}/app/runs/${colours}`);
      await look(screen, name("run-of-colours"));
      screen.expectStatus(404);
      await page.goto(`${service.url}/app/runs/none`);
      await look(screen, name("not-found"));
    });
  }
}

/** Makes the picture anew that the README shows. */
async function keepForReaders({ page }: Screen, scheme: string): Promise<void> {
  await page.setViewportSize({ width: 960, height: 860 });
  await page.screenshot({ path: join(projectRoot, "media", `page-${scheme}.png`), fullPage: true });
}

/** Looks at the page wide, narrow and at twice its size, and keeps a picture of it. */
async function look(screen: Screen, name: string): Promise<void> {
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
      assert.deepEqual(await screen.barriers(), [], `${name}, narrow`);
    }
  }
  await page.setViewportSize({ width: 1180, height: 860 });
}
