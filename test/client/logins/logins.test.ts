import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { type Login, Logins } from "../../../src/client/logins/logins.ts";
import { PipelineError } from "../../../src/contract/errors.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

const origin = "https://pipelines.example.com";
/** With what JSON and shells would trip over. */
const apiKey = `plr_s3cret'"\\$(x)-${"k".repeat(40)}`;
const entered = (baseUrl = `${origin}/x/`, key = apiKey): Login => ({
  baseUrl,
  apiKey: key,
  keyId: "key_1",
  orgName: "Lamps",
});

interface Desk extends AsyncDisposable {
  readonly logins: Logins;
  /** The folder of the logins' files. */
  readonly folder: string;
  /** The file of the login to `origin`. */
  readonly file: string;
}

async function desk(): Promise<Desk> {
  const config = await TemporaryFolder.make();
  const folder = join(config.path, "logins");
  return {
    logins: new Logins({ PIPELINE_CONFIG_DIR: config.path }),
    folder,
    file: join(folder, `${encodeURIComponent(origin)}.json`),
    [Symbol.asyncDispose]: () => config[Symbol.asyncDispose](),
  };
}

describe("a login", () => {
  it("is kept in a file that only this user can read, is in use, and is forgotten whole", async () => {
    await using at = await desk();
    const file = await at.logins.save(entered());
    assert.equal(file, at.file);
    if (process.platform !== "win32") {
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      assert.equal((await stat(at.folder)).mode & 0o777, 0o700);
    }
    assert.equal(await at.logins.current(), origin);
    assert.deepEqual(await at.logins.find(origin), entered());

    await writeFile(`${file}.0001.new`, "what a killed tool has left");
    assert.equal(await at.logins.remove(origin), true);
    assert.equal(await at.logins.current(), undefined);
    assert.deepEqual(await readdir(at.folder), []);
    assert.equal(await at.logins.remove(origin), false);
  });

  it("again replaces the key", async () => {
    await using at = await desk();
    await at.logins.save(entered());
    await at.logins.save(entered(`${origin}/`, "plr_second"));
    assert.equal((await at.logins.find(origin))?.apiKey, "plr_second");
    assert(!(await readFile(at.file, "utf8")).includes("s3cret"));
  });

  for (const [version, kept] of [
    ["a keychain", { "kept-in": "keychain" }],
    ["Windows", { "kept-in": "sealed-file", sealed: "AAAA" }],
  ] as const) {
    it(`whose key an earlier version left to ${version} says that it is to be made again, and can be`, async () => {
      await using at = await desk();
      await mkdir(at.folder, { mode: 0o700 });
      const before = { "base-url": `${origin}/x/`, "key-id": "key_1", "org-name": "Lamps", kept };
      await writeFile(at.file, JSON.stringify(before), { mode: 0o600 });
      await assert.rejects(at.logins.find(origin), {
        type: "unauthorized",
        message: `The login file ${at.file} is no login to ${origin}.`,
        next: "Remove it, then log in again with `pipeline login`.",
      });
      await at.logins.save(entered());
      assert.deepEqual(await at.logins.find(origin), entered());
    });
  }

  it("of many at once loses none, and one of them is in use", async () => {
    await using at = await desk();
    const origins = Array.from({ length: 20 }, (_, index) => `https://s${index}.example.com:8443`);
    await Promise.all(origins.map((url) => at.logins.save(entered(`${url}/`, `plr_${url}`))));
    assert.deepEqual(await at.logins.origins(), [...origins].sort());
    assert(origins.includes((await at.logins.current()) ?? ""));
    for (const each of origins) assert.equal((await at.logins.find(each))?.apiKey, `plr_${each}`);
    assert.equal((await readdir(at.folder)).length, origins.length + 1);
  });

  it("that comes while another ends stays the one in use", async () => {
    await using at = await desk();
    await at.logins.save(entered("https://one.example.com/"));
    await at.logins.save(entered("https://two.example.com/"));
    await at.logins.clearCurrent("https://one.example.com");
    assert.equal(await at.logins.current(), "https://two.example.com");
    assert((await readdir(at.folder)).includes("current.json"));
    assert.equal((await readdir(at.folder)).length, 3);
  });
});

describe("the file of a login", () => {
  const good = (key: string) =>
    JSON.stringify({
      "base-url": `${origin}/`,
      "key-id": "key_1",
      "org-name": "Lamps",
      kept: { "kept-in": "file", "api-key": key },
    });

  for (const [what, text] of [
    ["is no JSON", "{"],
    ["is empty", ""],
    ["holds a key with a line break", good("plr_a\\nb").replace("\\\\n", "\\n")],
    ["is another origin's", good("plr_a").replace("pipelines.", "evil.")],
    ["would send the key in clear text", good("plr_a").replace("https:", "http:")],
    ["is larger than any login", " ".repeat(70_000)],
  ] as const) {
    it(`is not used when it ${what}, and the next login replaces it`, async () => {
      await using at = await desk();
      await mkdir(at.folder, { mode: 0o700 });
      await writeFile(at.file, text, { mode: 0o600 });
      await assert.rejects(at.logins.find(origin), {
        type: "unauthorized",
        message: /^The login file .+\.json is [^\n]+\.$/,
        next: "Remove it, then log in again with `pipeline login`.",
      });
      await at.logins.save(entered());
      assert.deepEqual(await at.logins.find(origin), entered());
    });
  }

  it("holds a whole login of its origin, or is not used, whatever else stands in it", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    const word = fc.string();
    const login = fc.record({
      "base-url": fc.oneof(fc.constant(`${origin}/`), fc.webUrl(), word),
      "key-id": word,
      "org-name": word,
      kept: fc.record({
        "kept-in": fc.oneof({ weight: 4, arbitrary: fc.constant("file") }, fc.constant("keychain"), word),
        "api-key": fc.oneof(fc.stringMatching(/^[!-~]+$/), word),
      }),
    });
    const text = fc.oneof(
      fc.json(),
      word,
      login.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(text, async (written) => {
        await writeFile(at.file, written, { mode: 0o600 });
        const read = await at.logins.find(origin).catch((error: unknown) => {
          assert(error instanceof PipelineError && error.type === "unauthorized", String(error));
          return undefined;
        });
        if (read === undefined) return;
        assert.equal(new URL(read.baseUrl).origin, origin);
        await at.logins.save(read);
        assert.deepEqual(await at.logins.find(origin), read);
      }),
    );
  });

  it("that is a folder is told, and nothing in it is lost by a login", async () => {
    await using at = await desk();
    await mkdir(at.file, { recursive: true, mode: 0o700 });
    await writeFile(join(at.file, "precious"), "");
    await assert.rejects(at.logins.find(origin), { type: "unauthorized" });
    await assert.rejects(at.logins.save(entered()), { type: "internal" });
    assert.deepEqual(await readdir(at.file), ["precious"]);
    assert.deepEqual(await readdir(at.folder), [`${encodeURIComponent(origin)}.json`]);
  });

  itOn("posix", "that is a link is not followed, and the next login leaves its target alone", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    const target = join(at.folder, "target");
    await writeFile(target, good("plr_target"), { mode: 0o600 });
    await symlink(target, at.file);
    await assert.rejects(at.logins.find(origin), { type: "unauthorized", message: /is a link/ });
    await at.logins.save(entered());
    assert.equal(await readFile(target, "utf8"), good("plr_target"));
    assert.deepEqual(await at.logins.find(origin), entered());
  });

  itOn("posix", "that others can read is not used, and a folder that lets them in is mended", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    await writeFile(at.file, good("plr_seen"));
    await chmod(at.file, 0o644);
    await chmod(at.folder, 0o755);
    await assert.rejects(at.logins.find(origin), {
      message: /may be read or changed by others \(mode 0644\)\.$/,
      next: /mode 0600/,
    });
    await at.logins.save(entered());
    assert.equal((await stat(at.file)).mode & 0o777, 0o600);
    assert.equal((await stat(at.folder)).mode & 0o777, 0o700);
  });

  it("of a folder that is none counts as no login", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "file");
    await writeFile(file, "");
    const logins = new Logins({ PIPELINE_CONFIG_DIR: file });
    assert.equal(await logins.current(), undefined);
    assert.equal(await logins.find(origin), undefined);
    assert.deepEqual(await logins.origins(), []);
  });

  itOn("linux", "can't be written where no folder can be made, and that is told at once", async () => {
    const logins = new Logins({ PIPELINE_CONFIG_DIR: "/proc/nowhere" });
    await assert.rejects(logins.save(entered()), {
      type: "internal",
      message: /^The login file \/proc\/nowhere\/.+ can't be written: ENOENT\.$/,
    });
  });

  it("that says no service in use is an error, and no guess", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    await writeFile(join(at.folder, "current.json"), "{}", { mode: 0o600 });
    await assert.rejects(at.logins.current(), {
      type: "unauthorized",
      message: /does not say which service is used/,
    });
  });
});
