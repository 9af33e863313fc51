import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { devices } from "playwright-core";
import { deviceNames } from "../../../src/pipeline/types/deviceNames.ts";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { BrowserSteps, html, pages } from "./browserSteps.ts";

const session = `<title>Session</title><p id=seen></p><script>
  seen.textContent = document.cookie + ", " + localStorage.getItem("lamp") + ", " + innerWidth + ", " + navigator.userAgent;
</script>`;

describe("the browser that a resource is", () => {
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
        "/echo": ({ path }, response) => {
          const word = decodeURIComponent(path.split("?")[1] ?? "");
          response
            .setHeader("x-echo", encodeURIComponent(word))
            .setHeader("content-type", html)
            .end(
              `<label>Password <input></label><button onclick="fetch('/said', { method: 'POST', body: document.querySelector('input').value })">Pay</button><p>${word}</p>`,
            );
        },
        "/said": ({ body }, response) =>
          response
            .setHeader("content-type", "text/plain; charset=iso-8859-1")
            .end(Buffer.from(body, "latin1")),
        "/large": `<title>Large</title>${[1, 2, 3, 4].map((n) => `<link rel=stylesheet href="/noise.css?${n}">`).join("")}`,
        "/noise.css": (_request, response) =>
          response
            .setHeader("content-type", "text/css")
            .end(`"${randomBytes(3 * 1024 * 1024).toString("base64")}"`),
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

  it("gives a page that asks for them the user and password of its resource, and another origin none", async () => {
    const locked = pages({
      "/": ({ headers }, response) =>
        headers.authorization === `Basic ${Buffer.from("ada:pass-of-ours").toString("base64")}`
          ? response.end("come in")
          : response.writeHead(401, { "www-authenticate": 'Basic realm="shop"' }).end("not you"),
    });
    await using shop = await LoopbackService.listen(locked);
    await using other = await LoopbackService.listen(locked);
    const auth = { basic: { user: "ada", password: "pass-of-ours" } };
    steps.addResource("ada", { auth });
    await steps.succeed(shop.origin, { use: "ada", goto: "/", expect: { text: "come in" } });
    assert.equal(
      await steps.fail(shop.origin, { use: "ada", goto: `${other.origin}/` }),
      `expected status below 400, got 401 from ${other.origin}/, which asks for a user and password; the resource's \`auth\` is for ${shop.origin} alone`,
    );
    assert.deepEqual(
      other.asked.filter(({ headers }) => headers.authorization !== undefined),
      [],
    );
    steps.addResource("bob", { auth: { basic: { ...auth.basic, user: "bob" } } });
    assert.match(
      await steps.fail(shop.origin, { use: "bob", goto: "/" }),
      /got 401 from \S+\/, which refuses the user and password of the resource's `auth`$/m,
    );
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

  it("keeps a trace of a step that fails, in which secrets are masked, and of no other", async () => {
    const secret = "wörd/of ours";
    const mask = new Mask([secret]);
    steps.addResource("traced", { trace: "on-failure" });
    const passed = await steps.run(base, { use: "traced", goto: "/echo?begin" }, { mask });
    assert.deepEqual(passed.kept, []);
    const { kept } = await steps.run(
      base,
      {
        use: "traced",
        goto: `/echo?${encodeURIComponent(secret)}`,
        timeout: "3s",
        actions: [{ fill: { label: "Password", with: secret } }, { click: { role: "button", name: "Pay" } }],
        expect: { title: "Paid" },
      },
      { mask },
    );
    assert.deepEqual(
      kept.map(({ name, mediaType }) => [name, mediaType]),
      [
        ["failure.png", "image/png"],
        ["trace.zip", "application/zip"],
      ],
    );
    const content = kept[1]?.content;
    assert.ok(content instanceof Uint8Array);
    const entries = Object.entries(unzipSync(content));
    const texts = entries.map(([, bytes]) => `${Buffer.from(bytes)}${Buffer.from(bytes).toString("latin1")}`);
    const all = texts.join("\n");
    for (const form of [
      "of ours",
      "of%20ours",
      "of+ours",
      Buffer.from(secret).toString("base64").slice(4, -4),
    ])
      assert.ok(!all.includes(form), form);
    const trace = strFromU8(entries.find(([name]) => name.endsWith("trace.trace"))?.[1] ?? new Uint8Array());
    const events = trace
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    assert.ok(events.length > 10);
    assert.match(trace, /"method":"fill".*"value":"\*\*\*"/);
    assert.equal(trace.match(/"method":"goto"/g)?.length, 1);
    const network = strFromU8(
      entries.find(([name]) => name.endsWith("trace.network"))?.[1] ?? new Uint8Array(),
    );
    assert.match(network, /"x-echo","value":"\*\*\*"/);
    assert.ok(!entries.some(([name]) => name.endsWith(".stacks")));
    assert.ok(entries.some(([name]) => /^screencast\/.*\.jpeg$/.test(name)));
  });

  it("keeps no trace that is too large", async () => {
    steps.addResource("large", { trace: "on-failure" });
    const { kept, log } = await steps.run(base, {
      use: "large",
      goto: "/large",
      read: { none: { evaluate: "missing" } },
    });
    assert.deepEqual(
      kept.map(({ name }) => name),
      ["failure.png"],
    );
    assert.match(log, /^# trace\.zip isn't kept: it has \d+ bytes, and at most 8388608 are kept of one$/m);
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
