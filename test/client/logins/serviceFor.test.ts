import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isServiceNamed, Logins, serviceFor } from "../../../src/client/logins/logins.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { standInFor } from "../embedded/standIn.ts";
import { testKey } from "../loopbackService.ts";

const never = new AbortController().signal;
const url = "https://pipelines.example.com/x";

describe("the service of a terminal", () => {
  const nothing = { execPath: "", servicePath: "", spawn: (): never => assert.fail("spawned") };
  /** No test may see the logins of whoever runs it. */
  const nobody = { PIPELINE_CONFIG_DIR: join(import.meta.dirname, "nothing is here") };

  async function loggedInTo(...baseUrls: readonly string[]) {
    const config = await TemporaryFolder.make();
    const env = { PIPELINE_CONFIG_DIR: config.path };
    const logins = new Logins(env);
    for (const each of baseUrls) {
      const { href: baseUrl, host } = new URL(each);
      await logins.save({ baseUrl, apiKey: `plr_${host}`, keyId: "key_1", orgName: "Lamps" });
    }
    return { env, logins, config: config.path, [Symbol.asyncDispose]: () => config[Symbol.asyncDispose]() };
  }

  it("is the one that the environment names", async () => {
    const env = { PIPELINE_BASE_URL: url, PIPELINE_API_KEY: testKey };
    const client = await serviceFor(env, nothing, never);
    assert.equal(client.baseUrl.href, `${url}/`);
    assert.equal(client.apiKey, testKey);
    assert.equal(client.environment, undefined, "who runs programs elsewhere gets no environment");
  });

  it("is this machine's own when the environment names none", async () => {
    await using standIn = await standInFor();
    const { execPath, servicePath, spawn, env } = standIn.deps();
    const emptied = {
      ...env,
      ...nobody,
      PIPELINE_DATA_DIR: standIn.folder,
      PIPELINE_BASE_URL: "",
      PIPELINE_API_KEY: "",
    };
    const client = await serviceFor(emptied, { execPath, servicePath, ...(spawn && { spawn }) }, never);
    assert.notEqual(client.environment, undefined);
    assert.deepEqual(await client.runs({}, never), { runs: [] });
  });

  it("needs no home for logins, as in a container, since there are none", async () => {
    const home = process.env["HOME"];
    // Counts as none, as that of a user that the system doesn't know.
    process.env["HOME"] = "nowhere";
    try {
      if (process.platform !== "win32") assert.equal(await isServiceNamed({}), false);
      const named = { PIPELINE_BASE_URL: url, PIPELINE_API_KEY: testKey };
      assert.equal((await serviceFor(named, nothing, never)).baseUrl.href, `${url}/`);
    } finally {
      if (home === undefined) delete process.env["HOME"];
      else process.env["HOME"] = home;
    }
  });

  it("is none with a base URL but no key", async () => {
    await assert.rejects(serviceFor({ ...nobody, PIPELINE_BASE_URL: url }, nothing, never), {
      type: "unauthorized",
      message: "PIPELINE_BASE_URL names pipelines.example.com, but there is no API key for it.",
      next: "Log in with `pipeline login https://pipelines.example.com/x/`, set PIPELINE_API_KEY to a key of that service, or unset PIPELINE_BASE_URL.",
    });
  });

  it("is none with a key but no base URL", async () => {
    await assert.rejects(serviceFor({ PIPELINE_API_KEY: testKey }, nothing, never), {
      type: "usage",
      message: "PIPELINE_API_KEY is set, but not the service that it is for.",
    });
  });

  it("is none with a base URL that is none", async () => {
    const env = { PIPELINE_BASE_URL: "http://pipelines.example.com", PIPELINE_API_KEY: testKey };
    await assert.rejects(serviceFor(env, nothing, never), { type: "invalid-request" });
  });

  it("is the one that was logged in to last, when the environment names none", async () => {
    await using at = await loggedInTo("https://one.example.com/", url);
    const client = await serviceFor(at.env, nothing, never);
    assert.equal(client.baseUrl.href, `${url}/`);
    assert.equal(client.apiKey, "plr_pipelines.example.com");
  });

  it("of a base URL alone gets the key that was entered for its origin, under whatever path", async () => {
    await using at = await loggedInTo("https://one.example.com/", url);
    const env = { ...at.env, PIPELINE_BASE_URL: "https://one.example.com/path" };
    const client = await serviceFor(env, nothing, never);
    assert.equal(client.baseUrl.href, "https://one.example.com/path/");
    assert.equal(client.apiKey, "plr_one.example.com");
    for (const other of ["https://one.example.com:8443", "https://example.com", "http://127.0.0.1"]) {
      const elsewhere = { ...at.env, PIPELINE_BASE_URL: other };
      await assert.rejects(serviceFor(elsewhere, nothing, never), { type: "unauthorized" });
    }
  });

  it("is the environment's, whatever there is of logins", async () => {
    await using at = await loggedInTo("https://one.example.com/");
    const env = { ...at.env, PIPELINE_BASE_URL: url, PIPELINE_API_KEY: testKey };
    assert.equal((await serviceFor(env, nothing, never)).apiKey, testKey);
    const keyAlone = { ...at.env, PIPELINE_API_KEY: testKey };
    await assert.rejects(serviceFor(keyAlone, nothing, never), { type: "usage" });
  });

  it("is this machine's own again after a logout", async () => {
    await using standIn = await standInFor();
    await using at = await loggedInTo("https://one.example.com/");
    const { execPath, servicePath, spawn, env } = standIn.deps();
    const all = { ...env, ...at.env, PIPELINE_DATA_DIR: standIn.folder };
    const deps = { execPath, servicePath, ...(spawn && { spawn }) };
    assert.equal((await serviceFor(all, deps, never)).apiKey, "plr_one.example.com");
    await at.logins.remove("https://one.example.com");
    assert.notEqual((await serviceFor(all, deps, never)).environment, undefined);
  });

  it("is none, and no other, when what was logged in to has no key any more", async () => {
    await using at = await loggedInTo("https://one.example.com/");
    await rm(join(at.config, "logins", `${encodeURIComponent("https://one.example.com")}.json`));
    await assert.rejects(serviceFor(at.env, nothing, never), {
      type: "unauthorized",
      message: "The service in use is https://one.example.com, but there is no API key for it any more.",
      next: /`pipeline login https:\/\/one\.example\.com`.*`pipeline logout`/,
    });
  });

  it("is none, and no other, when the file that says which can't be read", async () => {
    await using at = await loggedInTo();
    await mkdir(join(at.config, "logins", "current.json"), { recursive: true });
    await assert.rejects(serviceFor(at.env, nothing, never), { type: "unauthorized" });
    await using other = await loggedInTo("https://one.example.com/");
    await writeFile(join(other.config, "logins", "current.json"), '{"origin":"https://two.example.com"}');
    await assert.rejects(serviceFor(other.env, nothing, never), { message: /https:\/\/two\.example\.com/ });
  });
});
