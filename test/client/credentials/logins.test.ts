import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { Logins, type LoginsDeps } from "../../../src/client/credentials/logins.ts";
import { isAlive } from "../../isAlive.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { FakeClock } from "../fakeClock.ts";
import { FakePrograms } from "./fakePrograms.ts";

const never = new AbortController().signal;
const origin = "https://pipelines.example.com";
/** With what shells, quotes and `security` would trip over. */
const apiKey = `plr_s3cret'"\\$(x)-${"k".repeat(40)}`;
const entered = (url = `${origin}/x/`, key = apiKey) => ({
  baseUrl: new URL(url),
  apiKey: key,
  keyId: "key_1",
  orgName: "Lamps",
});

interface Desk extends AsyncDisposable {
  readonly programs: FakePrograms;
  /** The folder of the logins' files. */
  readonly folder: string;
  logins(platform: NodeJS.Platform, others?: Partial<LoginsDeps>): Logins;
  /** All that the files hold. */
  written(): Promise<string>;
}

async function desk(env: Record<string, string> = {}): Promise<Desk> {
  const programs = await FakePrograms.make();
  const config = await TemporaryFolder.make();
  const folder = join(config.path, "logins");
  return {
    programs,
    folder,
    logins: (platform, others = {}) =>
      new Logins({
        env: { PATH: programs.path, PIPELINE_CONFIG_DIR: config.path, ...env },
        platform,
        ...others,
      }),
    async written() {
      const names = await readdir(folder);
      return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).join("");
    },
    async [Symbol.asyncDispose]() {
      await programs[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

async function keyOf(logins: Logins, of = origin): Promise<string> {
  const login = await logins.files.of(of);
  assert(login !== undefined, `there is no login to ${of}`);
  return logins.keyOf(login, never);
}

describe("a login", () => {
  for (const [platform, keptIn, inFile] of [
    ["linux", "keychain", false],
    ["darwin", "keychain", false],
    ["win32", "sealed-file", false],
    ["aix", "file", true],
  ] as const) {
    itOn("posix", `keeps the key where ${platform} keeps secrets, and gives it back`, async () => {
      await using at = await desk();
      const logins = at.logins(platform);
      const kept = await logins.keep(entered(), { keychain: true }, never);
      assert.equal(kept.keptIn, keptIn);
      assert.equal((await at.written()).includes(JSON.stringify(apiKey)), inFile);
      assert.equal(await logins.files.current(), origin);
      assert.equal((await logins.files.of(origin))?.baseUrl, `${origin}/x/`);
      assert.equal(await keyOf(at.logins(platform)), apiKey);

      assert.equal(await logins.forget(origin, never), true);
      assert.equal(await logins.files.current(), undefined);
      assert.deepEqual(await at.programs.secrets(), {});
      assert.deepEqual(await readdir(at.folder), []);
      assert.equal(await logins.forget(origin, never), false);
    });
  }

  itOn(
    "linux",
    "shows the key to no list of processes, and another service's key to no keychain",
    async () => {
      await using at = await desk({ PIPELINE_API_KEY: "plr_another-services" });
      const encoded = Buffer.from(apiKey).toString("base64");
      for (const platform of ["linux", "darwin", "win32"] as const) {
        const logins = at.logins(platform);
        await logins.keep(entered(), { keychain: true }, never);
        await keyOf(logins);
        await logins.forget(origin, never);
      }
      const calls = await at.programs.calls();
      assert.deepEqual(
        [...new Set(calls.map(({ program }) => program))],
        ["secret-tool", "security", "powershell.exe"],
      );
      for (const { processes, args, env } of calls) {
        assert.match(processes, /fakeKeychain/);
        for (const secret of [apiKey, encoded]) {
          assert(!processes.includes(secret));
          assert(!args.join(" ").includes(secret));
        }
        assert(!JSON.stringify(env).includes("another-services"));
      }
    },
  );

  itOn(
    "posix",
    "keeps the key in a file that only this user can read, when no keychain is wanted",
    async () => {
      await using at = await desk();
      const { keptIn, file, faults } = await at.logins("linux").keep(entered(), { keychain: false }, never);
      assert.equal(keptIn, "file");
      assert.deepEqual(faults, []);
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      assert.equal((await stat(at.folder)).mode & 0o777, 0o700);
      assert.deepEqual(await at.programs.calls(), []);
      assert.equal(await keyOf(at.logins("linux")), apiKey);
    },
  );

  itOn("posix", "keeps the key in a file, with the reason, when the keychain doesn't take it", async () => {
    for (const platform of ["linux", "darwin", "win32"] as const) {
      for (const mood of ["refuses", "forgets"] as const) {
        await using at = await desk();
        await at.programs.be(mood);
        if (platform === "win32" && mood === "forgets") continue;
        const { keptIn, faults } = await at.logins(platform).keep(entered(), { keychain: true }, never);
        assert.equal(keptIn, "file");
        assert.match(
          faults.join(),
          /^The system's keychain can't be used\. (secret-tool|security|powershell\.exe): /,
        );
        for (const secret of [apiKey, Buffer.from(apiKey).toString("base64")]) {
          assert(!faults.join().includes(secret));
        }
        assert.equal(await keyOf(at.logins(platform)), apiKey);
      }
    }
  });

  itOn(
    "posix",
    "waits for a keychain that says nothing no longer than some seconds, and ends it",
    async () => {
      await using at = await desk();
      await at.programs.be("hangs");
      const clock = new FakeClock();
      const keeping = at.logins("linux", { clock }).keep(entered(), { keychain: true }, never);
      while ((await at.programs.calls()).length === 0) await turn();
      clock.advanceToNext();
      const { keptIn, faults } = await keeping;
      assert.equal(keptIn, "file");
      assert.match(faults.join(), /secret-tool: it did not answer within 5 s\./);
      assert.equal(clock.sleeping, 0);
      const [call] = await at.programs.calls();
      while (isAlive(call?.pid ?? 0)) await turn();
    },
  );

  itOn("posix", "is given up with the signal's reason while a keychain is asked", async () => {
    await using at = await desk();
    await at.programs.be("hangs");
    const leaving = new AbortController();
    const keeping = at.logins("linux").keep(entered(), { keychain: true }, leaving.signal);
    while ((await at.programs.calls()).length === 0) await turn();
    const reason = new Error("left");
    leaving.abort(reason);
    await assert.rejects(keeping, reason);
    const [call] = await at.programs.calls();
    while (isAlive(call?.pid ?? 0)) await turn();
    assert.equal(await at.logins("linux").files.current(), undefined);
  });

  itOn("posix", "again replaces the key, also where it lies", async () => {
    await using at = await desk();
    const logins = at.logins("linux");
    await logins.keep(entered(), { keychain: true }, never);
    await logins.keep(entered(`${origin}/`, "plr_second"), { keychain: false }, never);
    assert.deepEqual(await at.programs.secrets(), {});
    assert.equal(await keyOf(logins), "plr_second");
    await logins.keep(entered(`${origin}/`, "plr_third"), { keychain: true }, never);
    assert.equal(await keyOf(logins), "plr_third");
    assert(!(await at.written()).includes("plr_"));
  });

  itOn("posix", "stays when the keychain doesn't give the key up, but is used no more", async () => {
    await using at = await desk();
    const logins = at.logins("linux");
    await logins.keep(entered(), { keychain: true }, never);
    await at.programs.be("holds");
    await assert.rejects(logins.forget(origin, never), {
      type: "internal",
      message: `The API key for ${origin} is still in the keychain. secret-tool: Cannot get secret of a locked object.`,
    });
    assert.equal(await logins.files.current(), undefined);
    await at.programs.be("works");
    assert.equal(await logins.forget(origin, never), true);
    assert.deepEqual(await at.programs.secrets(), {});
  });

  itOn("posix", "whose key the keychain hasn't got, or doesn't give, says how to log in again", async () => {
    await using at = await desk();
    const logins = at.logins("linux");
    await logins.keep(entered(), { keychain: true }, never);
    await at.programs.be("refuses");
    await assert.rejects(keyOf(logins), {
      type: "unauthorized",
      message: `The API key for ${origin} can't be had. secret-tool: the keyring says no to.`,
      next: /`pipeline login https:\/\/pipelines\.example\.com\/x\/ --no-keychain`/,
    });
    await at.programs.be("works");
    await writeFile(join(at.programs.state, "secrets.json"), "{}");
    await assert.rejects(keyOf(logins), {
      type: "unauthorized",
      message: `The keychain is locked, or has no API key for ${origin} any more.`,
      next: /`pipeline login https:\/\/pipelines\.example\.com\/x\/`/,
    });
    await assert.rejects(keyOf(at.logins("aix")), { type: "unauthorized" });
  });

  itOn("posix", "of one folder leaves another folder's alone, also in the keychain", async () => {
    await using at = await desk();
    await using elsewhere = await TemporaryFolder.make();
    const here = at.logins("darwin");
    const there = at.logins("darwin", {
      env: { PATH: at.programs.path, PIPELINE_CONFIG_DIR: join(elsewhere.path, 'a "b"\n') },
    });
    await here.keep(entered(), { keychain: true }, never);
    await there.keep(entered(origin, "plr_there"), { keychain: true }, never);
    assert.equal(await keyOf(here), apiKey);
    assert.equal(await keyOf(there), "plr_there");
    await there.forget(origin, never);
    assert.equal(await keyOf(here), apiKey);
  });

  it("of many at once loses none, and one of them is in use", async () => {
    await using at = await desk();
    const origins = Array.from({ length: 20 }, (_, index) => `https://s${index}.example.com:8443`);
    const keep = (url: string) =>
      at.logins("aix").keep(entered(url, `plr_${url}`), { keychain: false }, never);
    await Promise.all(origins.map(keep));
    const { files } = at.logins("aix");
    assert.deepEqual(await files.origins(), [...origins].sort());
    assert(origins.includes((await files.current()) ?? ""));
    for (const each of origins) assert.equal(await keyOf(at.logins("aix"), each), `plr_${each}`);
    assert.equal((await readdir(at.folder)).length, origins.length + 1);
  });

  it("that comes while another ends stays the one in use", async () => {
    await using at = await desk();
    const { files } = at.logins("aix");
    await files.use("https://one.example.com");
    await files.use("https://two.example.com");
    await files.leave("https://one.example.com");
    assert.equal(await files.current(), "https://two.example.com");
    assert.deepEqual(await readdir(at.folder), ["current.json"]);
  });
});

describe("the file of a login", () => {
  const path = (at: Desk) => join(at.folder, `${encodeURIComponent(origin)}.json`);
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
      await writeFile(path(at), text, { mode: 0o600 });
      const logins = at.logins("aix");
      await assert.rejects(logins.files.of(origin), {
        type: "unauthorized",
        message: /^The login file .+\.json is [^\n]+\.$/,
        next: "Remove it, then log in again with `pipeline login`.",
      });
      await logins.keep(entered(), { keychain: false }, never);
      assert.equal(await keyOf(logins), apiKey);
    });
  }

  it("that is a folder is told, and nothing in it is lost by a login", async () => {
    await using at = await desk();
    await mkdir(path(at), { recursive: true, mode: 0o700 });
    await writeFile(join(path(at), "precious"), "");
    const logins = at.logins("aix");
    await assert.rejects(logins.files.of(origin), { type: "unauthorized" });
    await assert.rejects(logins.keep(entered(), { keychain: false }, never), { type: "internal" });
    assert.deepEqual(await readdir(path(at)), ["precious"]);
    assert.deepEqual(await readdir(at.folder), [`${encodeURIComponent(origin)}.json`]);
  });

  itOn("posix", "that is a link is not followed, and the next login leaves its target alone", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    const target = join(at.folder, "target");
    await writeFile(target, good("plr_target"), { mode: 0o600 });
    await symlink(target, path(at));
    const logins = at.logins("aix");
    await assert.rejects(logins.files.of(origin), { type: "unauthorized", message: /is a link/ });
    await logins.keep(entered(), { keychain: false }, never);
    assert.equal(await readFile(target, "utf8"), good("plr_target"));
    assert.equal(await keyOf(logins), apiKey);
  });

  itOn("posix", "that others can read is not used, and a folder that lets them in is mended", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    await writeFile(path(at), good("plr_seen"));
    await chmod(path(at), 0o644);
    await chmod(at.folder, 0o755);
    const logins = at.logins("aix");
    await assert.rejects(logins.files.of(origin), {
      message: /may be read or changed by others \(mode 0644\)\.$/,
      next: /mode 0600/,
    });
    await logins.keep(entered(), { keychain: false }, never);
    assert.equal((await stat(path(at))).mode & 0o777, 0o600);
    assert.equal((await stat(at.folder)).mode & 0o777, 0o700);
  });

  it("of a folder that is none counts as no login", async () => {
    await using folder = await TemporaryFolder.make();
    const file = join(folder.path, "file");
    await writeFile(file, "");
    const { files } = new Logins({ env: { PIPELINE_CONFIG_DIR: file } });
    assert.equal(await files.current(), undefined);
    assert.equal(await files.of(origin), undefined);
    assert.deepEqual(await files.origins(), []);
  });

  itOn("linux", "can't be written where no folder can be made, and that is told at once", async () => {
    const logins = new Logins({ env: { PIPELINE_CONFIG_DIR: "/proc/nowhere" } });
    await assert.rejects(logins.keep(entered(), { keychain: false }, never), {
      type: "internal",
      message: /^The login file \/proc\/nowhere\/.+ can't be written: ENOENT\.$/,
    });
  });

  it("that says no service in use is an error, and no guess", async () => {
    await using at = await desk();
    await mkdir(at.folder, { mode: 0o700 });
    await writeFile(join(at.folder, "current.json"), "{}", { mode: 0o600 });
    await assert.rejects(at.logins("aix").files.current(), {
      type: "unauthorized",
      message: /does not say which service is used/,
    });
  });
});
