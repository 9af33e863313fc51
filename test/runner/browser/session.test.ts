import assert from "node:assert/strict";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { devices } from "playwright-core";
import { deviceNames } from "../../../src/pipeline/types/deviceNames.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { BrowserSteps, html, pages } from "./browserSteps.ts";

const session = `<title>Session</title><p id=seen></p><script>
  seen.textContent = document.cookie + ", " + localStorage.getItem("lamp") + ", " + innerWidth + ", " + navigator.userAgent;
</script>`;

describe("the browser that a resource is", function () {
  this.timeout(60_000);
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;
  let folder: TemporaryFolder;
  let root: string;

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": session,
        "/login": (_request, response) =>
          response
            .setHeader("set-cookie", ["id=cookie-of-ours; Path=/", "key=key-of-ours; Path=/; HttpOnly"])
            .setHeader("content-type", html)
            .end("<title>Login</title><script>localStorage.setItem('lamp', 'desk');</script>"),
        "/private": ({ headers }, response) =>
          response
            .writeHead(headers.cookie?.includes("key-of-ours") === true ? 200 : 403, { "content-type": html })
            .end("<title>Private</title>"),
      }),
    );
    base = server.origin;
    folder = await TemporaryFolder.make();
    root = join(folder.path, "project");
    await mkdir(join(root, "logins"), { recursive: true });
    steps.inFolder(root);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  it("leaves its cookies and local storage in a file, with which another begins", async () => {
    const { log } = await steps.succeed(base, { goto: "/login", storage: "logins/ada.json" });
    assert.match(log, /^# saved cookies and local storage in logins\/ada\.json$/m);
    assert.doesNotMatch(log, /new tab|of-ours/);
    if (process.platform !== "win32")
      assert.equal((await stat(join(root, "logins/ada.json"))).mode & 0o777, 0o600);
    steps.addResource("again", { storage: "logins/ada.json" });
    await steps.succeed(base, { use: "again", goto: "/", expect: { text: "id=cookie-of-ours, desk, 1280" } });
    await steps.succeed(base, { use: "again", goto: "/private" });
    await steps.fail(base, { use: "empty", goto: "/private" });
  });

  it("saves nothing when the step fails, nothing outside of the project, and follows no link", async () => {
    const saving = (storage: string, more: object = {}) =>
      steps.fail(base, { goto: "/login", storage, timeout: "1s", ...more });
    assert.match(await saving("never.json", { expect: { title: "Other" } }), /^title: expected/);
    await assert.rejects(stat(join(root, "never.json")));
    await symlink("..", join(root, "up"));
    assert.match(
      await saving("up/login.json"),
      /^cookies and local storage can't be saved in `up\/login\.json`: `up` leads out of the project's folder, /,
    );
    assert.match(await saving("none/login.json"), /: `none` isn't in the project's folder, /);
    await writeFile(join(folder.path, "outside.json"), "{}");
    await symlink("../outside.json", join(root, "link.json"));
    await steps.succeed(base, { goto: "/login", storage: "link.json" });
    assert.equal(await readFile(join(folder.path, "outside.json"), "utf8"), "{}");
    assert.match(await readFile(join(root, "link.json"), "utf8"), /cookie-of-ours/);
  });

  it("doesn't start with a file that isn't there or holds something else, of which it shows nothing", async () => {
    const starting = (use: string, storage: string) => {
      steps.addResource(use, { storage });
      return steps.fail(base, { use, goto: "/" });
    };
    assert.match(
      await starting("missing", "none.json"),
      /^`none\.json` isn't in the project's folder, .*; a step's `storage` saves such a file$/,
    );
    await writeFile(join(root, "broken.json"), "secret-of-ours");
    assert.equal(
      await starting("broken", "broken.json"),
      "`broken.json` has no cookies and local storage as a step's `storage` saves them: let a step save it anew",
    );
    await symlink("../outside.json", join(root, "out.json"));
    assert.match(await starting("out", "out.json"), /^`out\.json` leads out of the project's folder, /);
  });

  it("stands for a device", async () => {
    steps.addResource("phone", { device: "iPhone 15" });
    await steps.succeed(base, { use: "phone", goto: "/", expect: { text: "/ (?:393|980), .*iPhone OS/" } });
    steps.addResource("narrow", { device: "iPhone 15", viewport: { width: 320, height: 500 } });
    const { result } = await steps.succeed(base, {
      use: "narrow",
      goto: "/",
      read: { width: { evaluate: "outerWidth" } },
    });
    assert.equal(result?.values["width"], 320);
  });

  it("can stand for every device that the driver knows", () => {
    assert.deepEqual([...deviceNames].sort(), Object.keys(devices).sort());
  });
});
