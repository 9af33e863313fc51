import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { itOn } from "../../itOn.ts";
import { programPipeline } from "../../service/startedService.ts";
import { type Toolbox, toolbox } from "../toolbox.ts";

describe("pipeline page", () => {
  let box: Toolbox;
  before(async () => {
    box = await toolbox();
  });
  after(() => box[Symbol.asyncDispose]());

  it("prints a link that signs in to this machine's own service, which it starts, and works once", async () => {
    const { exitCode, stdout } = await box.run(["page", "--json"]);
    assert.equal(exitCode, 0);
    const printed: unknown = JSON.parse(stdout);
    assert(typeof printed === "object" && printed !== null && "url" in printed);
    const { url, ...rest } = printed;
    assert.deepEqual(rest, { ok: true, command: "page" });
    assert.match(String(url), /^http:\/\/127\.0\.0\.1:\d+\/app\/sign-in\?code=[\w-]{43}$/);
    const { origin, searchParams } = new URL(String(url));
    const use = () =>
      fetch(`${origin}/app/sign-in`, {
        method: "POST",
        headers: { origin },
        body: new URLSearchParams({ code: searchParams.get("code") ?? "" }),
        redirect: "manual",
      });
    const signedIn = await use();
    assert.equal(signedIn.status, 303);
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
    const page = await fetch(`${origin}/app/runs`, { headers: { cookie } });
    assert.match(
      await page.text(),
      /Free tier: 0 of 50 runs used today\. The count starts again at 00:00 UTC\./,
    );
    assert.equal((await use()).status, 401);
  });

  it("opens at a run, whose page has links to what it kept, and tells of one that isn't there", async () => {
    const link = async (line: string[]) => new URL(JSON.parse((await box.call(line)).stdout).url);
    const keep = `require('node:fs').writeFileSync('kept.txt', 'lamps')`;
    await box.write("keeps", `${programPipeline(keep)}    keep: [kept.txt]\n`);
    const [run] = JSON.parse((await box.call(["run", "keeps", "--json"])).stdout).runs;
    const shown = await box.call(["runs", "show", run["run-id"]]);
    assert.doesNotMatch(shown.stdout, /http:|x-api-key/);
    const [, command] = /`pipeline (page \S+)` prints a link/.exec(shown.stdout) ?? [];
    assert(command !== undefined, shown.stdout);

    const { origin, searchParams } = await link([...command.split(" "), "--json"]);
    const signedIn = await fetch(`${origin}/app/sign-in`, {
      method: "POST",
      headers: { origin },
      body: searchParams,
      redirect: "manual",
    });
    assert.equal(signedIn.headers.get("location"), `/app/runs/${run["run-id"]}`);
    const cookie = signedIn.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "";
    const page = await (
      await fetch(new URL(`/app/runs/${run["run-id"]}`, origin), { headers: { cookie } })
    ).text();
    const [, address] = /href="([^"]*artifacts[^"]*)"/.exec(page) ?? [];
    assert.equal(
      await (await fetch(new URL(address ?? "", origin), { headers: { cookie } })).text(),
      "lamps",
    );

    const missing = await box.call(["page", "run_of_nobody"]);
    assert.deepEqual([missing.exitCode, missing.stdout], [2, ""]);
  });

  it("serves the style and the script that it was built with", async () => {
    const { stdout } = await box.call(["page"]);
    const page = await (await fetch(stdout.trim())).text();
    const addresses = [...page.matchAll(/"(\/app\/assets\/[^"]+)"/g)].map(([, address]) => address ?? "");
    assert(addresses.length >= 3);
    for (const address of addresses) assert.equal((await fetch(new URL(address, stdout.trim()))).status, 200);
  });

  itOn("posix", "hands the link to the browser only when asked to", async () => {
    const browser = join(box.project, "browser");
    const opened = join(box.project, "opened");
    await writeFile(
      browser,
      `#!/bin/sh\nprintf %s "$1" > '${opened}.part' && mv '${opened}.part' '${opened}'\n`,
    );
    await chmod(browser, 0o700);
    const quiet = await box.call(["page"], { BROWSER: browser });
    const { stdout, exitCode } = await box.call(["page", "--open"], { BROWSER: browser });
    assert.equal(exitCode, 0);
    let address = "";
    while (address === "") {
      address = await readFile(opened, "utf8").catch(() => "");
      await pause(20);
    }
    assert.equal(address, stdout.trim());
    assert.notEqual(address, quiet.stdout.trim());
  });

  it("prints the link all the same where no browser can be opened", async () => {
    // The second is within a file, which Node.js tells in another way.
    for (const name of ["no-such-browser", "file/browser"]) {
      await writeFile(join(box.project, "file"), "");
      const env = { BROWSER: join(box.project, name) };
      const { stdout, stderr, exitCode } = await box.call(["page", "--open"], env);
      assert.equal(exitCode, 0);
      assert.match(stdout, /\/app\/sign-in\?code=/);
      assert.match(stderr, /No browser could be opened: open the link yourself\./);
    }
  });
});
