import assert from "node:assert/strict";
import { ApiKeys } from "../../src/extension/apiKeys.ts";
import { originOf, readTarget } from "../../src/extension/target.ts";
import { memorySecrets } from "./memorySecrets.ts";

const settings = (baseUrl: unknown) => ({ get: () => baseUrl as never });

describe("API keys in the editor", () => {
  it("are bound to the origin: another base URL never gets them", async () => {
    const keys = new ApiKeys(memorySecrets().storage);
    await keys.set("https://cloud.example", "plr_one");
    assert.equal(await keys.get("https://cloud.example"), "plr_one");
    assert.equal(await keys.get("https://cloud.example:8443"), undefined);
    assert.equal(await keys.get("http://cloud.example"), undefined);
    assert.equal(await keys.get("https://evil.example"), undefined);
  });

  it("are kept for the origin, whatever path the base URL has", () => {
    const origin = (baseUrl: string) => {
      const target = readTarget(settings(baseUrl));
      assert(target.kind === "remote");
      return originOf(target);
    };
    assert.equal(origin("https://cloud.example/eu/"), origin("https://cloud.example"));
  });

  it("tell of a change of a key, and of nothing else in the storage", async () => {
    const { storage } = memorySecrets();
    const keys = new ApiKeys(storage);
    let changes = 0;
    const following = keys.onDidChange(() => {
      changes += 1;
    });
    await keys.set("https://cloud.example", "plr_one");
    await storage.store("something else", "x");
    await keys.remove("https://cloud.example");
    following.dispose();
    await keys.set("https://cloud.example", "plr_two");
    assert.equal(changes, 2);
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
