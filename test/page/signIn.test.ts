import assert from "node:assert/strict";
import { FakeClock } from "../clock/fakeClock.ts";
import { onBoth } from "../service/onBoth.ts";
import { rawExchange } from "../service/rawExchange.ts";
import { serviceOn } from "../service/serviceOn.ts";
import { startedService } from "../service/startedService.ts";
import { inBrowser } from "./inBrowser.ts";
import { Visitor } from "./visitor.ts";

const never = new AbortController().signal;

describe("signing in", () => {
  const open = inBrowser();

  onBoth("on its database", (store) => {
    it("by link is not used up by looking, and is over after a minute", async () => {
      const clock = new FakeClock("2026-03-01T08:00:00Z");
      await using service = await serviceOn(store, { clock });
      const { client } = await service.member();
      const visitor = new Visitor(service);
      const { url, expiresAt } = await client.signInLink(never);
      assert.equal(expiresAt, "2026-03-01T08:01:00.000Z");
      const { pathname, search, searchParams } = new URL(url);
      const code = searchParams.get("code") ?? "";
      for (let looks = 0; looks < 3; looks++)
        assert.equal((await visitor.get(`${pathname}${search}`)).status, 200);
      await service.turn(59_000);
      assert.equal((await visitor.post("/app/sign-in", { code })).status, 303);
      assert.equal((await visitor.post("/app/sign-in", { code })).status, 401);
      const late = new URL((await client.signInLink(never)).url).searchParams.get("code") ?? "";
      await service.turn(60_000);
      assert.equal((await visitor.post("/app/sign-in", { code: late })).status, 401);
    });

    it("by link is over when its key is revoked, and asks first when another site leads to it", async () => {
      await using service = await serviceOn(store);
      const { client, keyId } = await service.member();
      const visitor = new Visitor(service);
      const { host, pathname, search, searchParams } = new URL((await client.signInLink(never)).url);
      // Node's fetch has a Sec-Fetch-Mode of its own.
      const opened = (site: string) =>
        rawExchange(
          service.url,
          [
            `GET ${pathname}${search} HTTP/1.1`,
            `host: ${host}`,
            `sec-fetch-site: ${site}`,
            "sec-fetch-mode: navigate",
            "sec-fetch-dest: document",
            "connection: close\r\n\r\n",
          ].join("\r\n"),
        );
      assert.match(await opened("none"), /data-goes-on/);
      // An editor on another port of this machine, which the browser shows too.
      assert.match(await opened("same-site"), /data-goes-on/);
      const linked = await opened("cross-site");
      assert.match(linked, /^HTTP\/1\.1 200 /);
      assert.doesNotMatch(linked, /data-goes-on/);
      await service.db.updateTable("keys").set({ revoked_at: Date.now() }).where("id", "=", keyId).execute();
      assert.equal((await visitor.get(`${pathname}${search}`)).status, 401);
      const code = searchParams.get("code") ?? "";
      assert.equal((await visitor.post("/app/sign-in", { code })).status, 401);
    });
  });

  describe("in the browser", () => {
    it("ends at once, also in a page that is open, when the key is revoked or another window signs out", async () => {
      await using service = await startedService();
      const { secret, keyId } = await service.key();
      await using screen = await open();
      await screen.signIn(service.url, secret);
      const window = await screen.context.newPage();
      await window.goto(`${service.url}/app/runs`);
      screen.expectStatus(401);
      await window.getByRole("button", { name: "Sign out" }).click();
      await screen.page.waitForURL("**/app/sign-in?next=**");
      await screen.signIn(service.url, secret);
      const { secret: owners } = await service.key("owner");
      const revoke = { method: "POST", headers: { "x-api-key": owners } };
      assert.equal((await service.fetch(`/api/keys/${keyId}/revoke`, revoke)).status, 200);
      await screen.page.waitForURL("**/app/sign-in?next=**");
      await screen.page.getByText("You were signed out.").waitFor();
    });

    it("leads to the page that was asked for", async () => {
      await using service = await startedService();
      const { secret } = await service.key();
      await using screen = await open();
      const { page } = screen;
      await page.goto(`${service.url}/app/runs?after=run_zz`);
      assert.equal(new URL(page.url()).pathname, "/app/sign-in");
      await page.locator("#key:focus").waitFor();
      await page.keyboard.type(secret);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
      assert.equal(new URL(page.url()).search, "?after=run_zz");
      assert(!(await page.content()).includes(secret));
    });

    it("says what is wrong with a key, in the field's own description", async () => {
      await using service = await startedService();
      await using screen = await open();
      const { page } = screen;
      screen.expectStatus(401);
      await page.goto(`${service.url}/app/sign-in`);
      await page.getByLabel("API key").fill("plr_wrong");
      const reply = page.waitForResponse((response) => response.request().method() === "POST");
      await page.getByRole("button", { name: "Sign in" }).click();
      assert.equal((await reply).status(), 401);
      await page.getByRole("alert").getByText("This key is not one of this service's").waitFor();
      const field = page.getByLabel("API key");
      assert.equal(await field.getAttribute("aria-invalid"), "true");
      assert.match((await field.getAttribute("aria-describedby")) ?? "", /\bkey-problem\b/);
      assert.equal(await screen.focused(), "key");
      assert.equal(await field.inputValue(), "");
      assert(!(await page.content()).includes("plr_wrong"));
    });

    it("works by a link that nobody has to type, once", async () => {
      await using service = await startedService();
      const { secret } = await service.key("viewer");
      const { url } = await service.client(secret).signInLink(never);
      await using screen = await open();
      const { page } = screen;
      await page.goto(url);
      await page.waitForURL("**/app/runs");
      await page.getByText("acme as viewer").waitFor();
      await using second = await open();
      second.expectStatus(401);
      await second.page.goto(url);
      await second.page.getByRole("alert").getByText("This link was used already").waitFor();
      await second.page.getByLabel("API key").waitFor();
    });

    it("ends by signing out", async () => {
      await using service = await startedService();
      await using screen = await open();
      const { page } = screen;
      await screen.signIn(service.url, (await service.key()).secret);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL("**/app/sign-in");
      await page.goto(`${service.url}/app/runs`);
      assert.equal(new URL(page.url()).pathname, "/app/sign-in");
    });

    it("keeps two services of one machine apart in one browser", async () => {
      await using first = await startedService();
      await using second = await startedService();
      await using screen = await open();
      await screen.signIn(first.url, (await first.key("owner", "one")).secret);
      await screen.signIn(second.url, (await second.key("owner", "two")).secret);
      await screen.page.goto(`${first.url}/app/runs`);
      await screen.page.getByText("one as owner").waitFor();
    });
  });
});
