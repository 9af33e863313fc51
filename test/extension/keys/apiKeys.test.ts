import assert from "node:assert/strict";
import { join } from "node:path";
import { ApiKeys } from "../../../src/extension/keys/apiKeys.ts";
import { originOf, readTarget } from "../../../src/extension/keys/serviceChoice.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { firstOf, memorySecrets, nowhere } from "../memorySecrets.ts";

const settings = (baseUrl: unknown) => ({ get: () => baseUrl as never });
const lamps = { orgId: "org_1", orgName: "Lamps" };
const tools = { orgId: "org_2", orgName: "Tools" };
const cloud = "https://cloud.example";

const newKey = (key: string, org?: typeof lamps, origin = cloud) => ({
  origin,
  baseUrl: new URL(`${origin}/eu/`),
  key,
  org,
});

describe("API keys in the editor", () => {
  it("are bound to the origin: another base URL never gets them", async () => {
    const keys = new ApiKeys(memorySecrets().storage, nowhere);
    await keys.add(newKey("plr_one", lamps));
    assert.equal((await firstOf(keys, cloud))?.key, "plr_one");
    for (const other of ["https://cloud.example:8443", "http://cloud.example", "https://evil.example"])
      assert.equal(await firstOf(keys, other), undefined);
  });

  it("are kept for the origin, whatever path the base URL has", () => {
    const origin = (baseUrl: string) => {
      const target = readTarget(settings(baseUrl));
      assert(target.kind === "remote");
      return originOf(target);
    };
    assert.equal(origin("https://cloud.example/eu/"), origin("https://cloud.example"));
  });

  it("stand side by side: several orgs of one origin, and several origins", async () => {
    const keys = new ApiKeys(memorySecrets().storage, nowhere);
    await keys.add(newKey("plr_lamps", lamps));
    await keys.add(newKey("plr_tools", tools));
    await keys.add(newKey("plr_other", lamps, "https://other.example"));
    assert.deepEqual((await keys.list()).map(({ key, origin, org }) => [key, origin, org?.orgName]).sort(), [
      ["plr_lamps", cloud, "Lamps"],
      ["plr_other", "https://other.example", "Lamps"],
      ["plr_tools", cloud, "Tools"],
    ]);
  });

  it("leave the secret storage alone while it has none, until a window of any profile stores one", async () => {
    await using folder = await TemporaryFolder.make();
    const none = join(folder.path, "globalStorage", "no-keys");
    const { storage } = memorySecrets();
    let asked = 0;
    const keys = () => {
      asked += 1;
      return storage.keys();
    };
    const counting = { ...storage, keys };
    assert.deepEqual(await new ApiKeys(counting, none).list(), []);
    const next = new ApiKeys(counting, none);
    assert.deepEqual(await next.list(), []);
    assert.equal(asked, 1);

    await new ApiKeys(storage, none).add(newKey("plr_other_window", lamps));
    const kept = (await firstOf(next, cloud)) ?? assert.fail();
    assert.equal(asked, 2);
    await next.remove(kept);
    assert.deepEqual(await next.list(), []);
    assert.deepEqual(await next.list(), []);
    assert.equal(asked, 3);

    // One that another version stores, which knows of no file.
    next.onDidChange(() => {});
    await new ApiKeys(storage, nowhere).add(newKey("plr_before", lamps));
    assert.equal((await firstOf(next, cloud))?.key, "plr_before");
  });

  it("that are stored while another window looks for some are not taken for none", async () => {
    await using folder = await TemporaryFolder.make();
    const none = join(folder.path, "no-keys");
    const { storage } = memorySecrets();
    const looking = Promise.withResolvers<string[]>();
    const slow = new ApiKeys({ ...storage, keys: () => looking.promise }, none);
    slow.onDidChange(() => {});
    const listing = slow.list();
    await new ApiKeys(storage, none).add(newKey("plr_meanwhile", lamps));
    looking.resolve([]);
    await listing;
    assert.equal((await firstOf(new ApiKeys(storage, none), cloud))?.key, "plr_meanwhile");
  });

  it("stay usable when one of them can't be read; when none can, it says why", async () => {
    const { storage } = memorySecrets();
    const keys = new ApiKeys(storage, nowhere);
    const broken = await keys.add(newKey("plr_lamps", lamps));
    const { get } = storage;
    Object.assign(storage, {
      get: (name: string) =>
        name === broken.name ? Promise.reject(new Error("the secret is damaged")) : get(name),
    });
    await assert.rejects(keys.list(), /the secret is damaged/);
    await keys.add(newKey("plr_tools", tools));
    assert.deepEqual(
      (await keys.list()).map(({ key }) => key),
      ["plr_tools"],
    );
  });

  it("are replaced by the same org's new key, which keeps the place of the old one", async () => {
    let now = 1;
    const keys = new ApiKeys(memorySecrets().storage, nowhere, () => now++);
    await keys.add(newKey("plr_old", lamps));
    await keys.add(newKey("plr_tools", tools));
    await keys.add(newKey("plr_new", lamps));
    assert.deepEqual(
      (await keys.list()).map(({ key }) => key),
      ["plr_new", "plr_tools"],
    );
  });

  it("of an earlier version are there, and lose nothing when their org gets known", async () => {
    const { storage, kept } = memorySecrets();
    kept.set(`apiKey:${cloud}`, "plr_earlier");
    kept.set("apiKey:this machine's own service", "plr_own");
    const keys = new ApiKeys(storage, nowhere);
    const found = await firstOf(keys, cloud);
    assert.deepEqual([found?.key, found?.baseUrl, found?.org], ["plr_earlier", `${cloud}/`, undefined]);
    assert(found !== undefined);
    await keys.setOrg(found, lamps);
    assert.equal(kept.has(`apiKey:${cloud}`), false);
    const learned = await firstOf(keys, cloud);
    assert.deepEqual([learned?.key, learned?.org], ["plr_earlier", lamps]);
    assert.equal((await firstOf(keys, "this machine's own service"))?.key, "plr_own");
  });

  it("are not lost when two windows learn or add at the same time", async () => {
    const { storage, kept } = memorySecrets();
    kept.set(`apiKey:${cloud}`, "plr_earlier");
    const [one, other] = [new ApiKeys(storage, nowhere), new ApiKeys(storage, nowhere)];
    const [first, second] = await Promise.all([firstOf(one, cloud), firstOf(other, cloud)]);
    assert(first !== undefined && second !== undefined);
    await Promise.all([
      one.setOrg(first, lamps),
      other.setOrg(second, lamps),
      one.add(newKey("plr_tools", tools)),
      other.add(newKey("plr_else", lamps, "https://else.example")),
    ]);
    assert.deepEqual((await one.list()).map(({ key }) => key).sort(), [
      "plr_earlier",
      "plr_else",
      "plr_tools",
    ]);
  });

  it("that were entered meanwhile for the same org win over an earlier one", async () => {
    const { storage, kept } = memorySecrets();
    kept.set(`apiKey:${cloud}`, "plr_earlier");
    const keys = new ApiKeys(storage, nowhere);
    const earlier = await firstOf(keys, cloud);
    assert(earlier !== undefined);
    await keys.add(newKey("plr_new", lamps));
    assert.equal((await keys.setOrg(earlier, lamps)).key, "plr_new");
    assert.deepEqual(
      (await keys.list()).map(({ key }) => key),
      ["plr_new"],
    );
  });

  it("are named by nothing that tells of an org or a key", async () => {
    const { storage, kept } = memorySecrets();
    await new ApiKeys(storage, nowhere).add(newKey("plr_secret", lamps));
    const names = [...kept.keys()].join();
    assert.doesNotMatch(names, /plr_secret|org_1|Lamps|cloud/);
  });

  it("tell of a change of a key, and of nothing else in the storage", async () => {
    const { storage } = memorySecrets();
    const keys = new ApiKeys(storage, nowhere);
    let changes = 0;
    const following = keys.onDidChange(() => {
      changes += 1;
    });
    const added = await keys.add(newKey("plr_one", lamps));
    await storage.store("something else", "x");
    await keys.remove(added);
    following.dispose();
    await keys.add(newKey("plr_two", lamps));
    assert.equal(changes, 2);
  });

  it("leave another window's new key when the one it replaced is removed", async () => {
    const keys = new ApiKeys(memorySecrets().storage, nowhere);
    const old = await keys.add(newKey("plr_old", lamps));
    await keys.add(newKey("plr_new", lamps));
    await keys.remove(old);
    assert.equal((await firstOf(keys, cloud))?.key, "plr_new");
  });

  it("that can't be read are left alone, and hide no other", async () => {
    const { storage, kept } = memorySecrets();
    kept.set("key:broken", "{");
    kept.set("key:other", '{"key":""}');
    const keys = new ApiKeys(storage, nowhere);
    await keys.add(newKey("plr_one", lamps));
    assert.equal((await keys.list()).length, 1);
    assert.equal(kept.get("key:broken"), "{");
  });
});

describe("the base URL setting", () => {
  it("is this machine's own service when empty, not set, or blank", () => {
    for (const text of ["", "  ", undefined]) assert.equal(readTarget(settings(text)).kind, "embedded");
  });

  it("is told plainly when it is no base URL", () => {
    for (const text of [
      "cloud",
      "ftp://cloud.example",
      "https://user:pass@cloud.example",
      "https://x.example?a=1",
    ]) {
      const target = readTarget(settings(text));
      assert(target.kind === "invalid", text);
      assert(target.error.message.length > 0 && target.error.next.length > 0);
    }
  });
});
