import assert from "node:assert/strict";
import { systemClock } from "../../src/client/clock.ts";
import { parseBaseUrl } from "../../src/client/http/baseUrl.ts";
import { ApiKeys } from "../../src/extension/apiKeys.ts";
import { removeApiKey, setApiKey } from "../../src/extension/commands/apiKey.ts";
import { Session } from "../../src/extension/session.ts";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../client/loopbackService.ts";
import { memorySecrets } from "./memorySecrets.ts";

/** A service that accepts one key. */
function accepting(key: string): Promise<LoopbackService> {
  return LoopbackService.listen((asked, response) => {
    if (asked.headers["x-api-key"] !== key) sendError(response, 401, "unauthorized");
    else if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
    else response.writeHead(404).end();
  });
}

/** The command's surroundings, with a person who types `typed`; `meanwhile` happens while they do. */
function surroundings(origin: string, typed: string, meanwhile: () => void = () => {}) {
  const place = { origin };
  const shown: string[] = [];
  const show = async (text: string) => {
    shown.push(text);
    return undefined;
  };
  const keys = new ApiKeys(memorySecrets().storage);
  const target = () => ({ kind: "remote" as const, baseUrl: parseBaseUrl(place.origin) });
  const session = new Session({
    target,
    keys,
    embedded: () => Promise.reject(new Error("not wanted")),
    clock: systemClock,
    log: { info: () => {}, warn: () => {} },
  });
  const window = {
    showInputBox: async () => {
      meanwhile();
      return typed;
    },
    showInformationMessage: show,
    showErrorMessage: show,
  } as never;
  const { signal } = new AbortController();
  return { place, shown, keys, session, deps: { keys, session, target, window, signal } };
}

describe("setting an API key", () => {
  it("keeps a key that the service accepts, and names the org", async () => {
    await using service = await accepting("plk_good");
    const { deps, keys, shown, session } = surroundings(service.origin, " plk_good ");
    await setApiKey(deps);
    assert.equal(await keys.get(service.origin), "plk_good");
    assert.deepEqual(shown, [`The API key is set: Lamps, at ${service.origin}.`]);
    session.dispose();
  });

  it("keeps the key from before when the new one is not accepted", async () => {
    await using service = await accepting("plk_good");
    const { deps, keys, shown } = surroundings(service.origin, "plk_wrong");
    await keys.set(service.origin, "plk_good");
    await setApiKey(deps);
    assert.equal(await keys.get(service.origin), "plk_good");
    assert.match(shown[0] ?? "", /does not accept this API key\. It was not kept\./);
  });

  it("keeps a key that could not be tried, since a service may be down", async () => {
    const gone = await accepting("plk_good");
    const { origin } = gone;
    await gone[Symbol.asyncDispose]();
    const { deps, keys, shown, session } = surroundings(origin, "plk_good");
    await setApiKey(deps);
    assert.equal(await keys.get(origin), "plk_good");
    assert.match(shown[0] ?? "", /is kept, but could not be tried/);
    session.dispose();
  });

  it("never sends a key to another origin than it was entered for, also when the setting changes meanwhile", async () => {
    await using first = await accepting("plk_first");
    await using second = await accepting("plk_second");
    const scene = surroundings(first.origin, "plk_first", () => {
      scene.place.origin = second.origin;
    });
    await setApiKey(scene.deps);
    assert.equal(await scene.keys.get(first.origin), "plk_first");
    assert.equal(await scene.keys.get(second.origin), undefined);
    scene.session.dispose();
    assert(second.asked.every(({ headers }) => headers["x-api-key"] !== "plk_first"));
    assert(first.asked.some(({ headers }) => headers["x-api-key"] === "plk_first"));
  });

  it("forgets the key on request, and says so when there is none", async () => {
    const { deps, keys, shown } = surroundings("https://cloud.example", "");
    await removeApiKey(deps);
    await keys.set("https://cloud.example", "plk_good");
    await removeApiKey(deps);
    assert.equal(await keys.get("https://cloud.example"), undefined);
    assert.match(shown[0] ?? "", /There is no API key/);
    assert.match(shown[1] ?? "", /is removed/);
  });
});
