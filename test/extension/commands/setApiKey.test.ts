import assert from "node:assert/strict";
import { parseBaseUrl } from "../../../src/client/service/request.ts";
import { removeApiKey, setApiKey } from "../../../src/extension/commands/keyCommands.ts";
import { ApiKeys } from "../../../src/extension/keys/apiKeys.ts";
import { ServiceChoice } from "../../../src/extension/keys/serviceChoice.ts";
import { Session } from "../../../src/extension/session/session.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { firstOf, memorySecrets, nowhere } from "../memorySecrets.ts";

/** A service that accepts these keys, each for an org of its own name. */
function accepting(...accepted: string[]): Promise<LoopbackService> {
  return LoopbackService.listen((asked, response) => {
    const place = accepted.indexOf(String(asked.headers["x-api-key"]));
    const org = place < 1 ? {} : { "org-id": `org_${place + 1}`, "org-name": `Org ${place + 1}` };
    if (place < 0) sendError(response, 401, "unauthorized");
    else if (asked.path === "/api/org") sendJson(response, 200, { ...orgOnWire, ...org });
    else response.writeHead(404).end();
  });
}

/** The command's surroundings, with a person who types `typed`; `meanwhile` happens while they do. */
function surroundings(origin: string, typed: string, meanwhile: () => void = () => {}) {
  const place = { origin, typed };
  const shown: string[] = [];
  const show = async (text: string) => {
    shown.push(text);
    return undefined;
  };
  const { storage, kept } = memorySecrets();
  let now = 1;
  const keys = new ApiKeys(storage, nowhere, () => now++);
  const target = () => ({ kind: "remote" as const, baseUrl: parseBaseUrl(place.origin) });
  const choice = new ServiceChoice(memoryMemento(), keys, target);
  const session = new Session({
    target: () => choice.target(),
    keys: choice,
    embedded: () => Promise.reject(new Error("not wanted")),
    clock: systemClock,
    log: { info: () => {}, warn: () => {} },
  });
  const window = {
    showInputBox: async () => {
      meanwhile();
      return place.typed;
    },
    showInformationMessage: show,
    showErrorMessage: show,
    showQuickPick: async (items: readonly { label: string }[]) => {
      shown.push(...items.map(({ label }) => label));
      return items[1];
    },
  } as never;
  const { signal } = new AbortController();
  return { place, shown, kept, keys, choice, session, deps: { keys, choice, session, window, signal } };
}

const keyOf = async (keys: ApiKeys, origin: string) => (await firstOf(keys, origin))?.key;

describe("setting an API key", () => {
  it("keeps a key that the service accepts, and names the org", async () => {
    await using service = await accepting("plk_good");
    const { deps, keys, shown, session } = surroundings(service.origin, " plk_good ");
    await setApiKey(deps);
    assert.equal(await keyOf(keys, service.origin), "plk_good");
    assert.deepEqual(shown, [`The API key is set: Lamps, at ${service.origin}.`]);
    session.dispose();
  });

  it("keeps the key from before when the new one is not accepted", async () => {
    await using service = await accepting("plk_good");
    const { deps, keys, shown, kept } = surroundings(service.origin, "plk_wrong");
    kept.set(`apiKey:${service.origin}`, "plk_good");
    await setApiKey(deps);
    assert.equal(await keyOf(keys, service.origin), "plk_good");
    assert.match(shown[0] ?? "", /^The API key was not saved: .+ doesn't accept it\.$/);
  });

  it("keeps a key that could not be tried, since a service may be down", async () => {
    const gone = await accepting("plk_good");
    const { origin } = gone;
    await gone[Symbol.asyncDispose]();
    const { deps, keys, shown, session } = surroundings(origin, "plk_good");
    await setApiKey(deps);
    assert.equal(await keyOf(keys, origin), "plk_good");
    assert.match(shown[0] ?? "", /was saved, but could not be tested/);
    session.dispose();
  });

  it("keeps another org's key beside the first, and uses in this workspace the one just entered", async () => {
    await using service = await accepting("plk_one", "plk_two");
    const { deps, keys, choice, place, session } = surroundings(service.origin, "plk_one");
    await setApiKey(deps);
    place.typed = "plk_two";
    await setApiKey(deps);
    assert.deepEqual(
      (await keys.list()).map(({ org }) => org?.orgName),
      ["Lamps", "Org 2"],
    );
    assert.equal((await choice.keyFor(service.origin))?.key, "plk_two");
    session.dispose();
  });

  it("finds a key of an earlier version its place beside the new one of another org", async () => {
    await using service = await accepting("plk_one", "plk_two");
    const { deps, keys, kept, session } = surroundings(service.origin, "plk_two");
    kept.set(`apiKey:${service.origin}`, "plk_one");
    await setApiKey(deps);
    assert.deepEqual((await keys.list()).map(({ key, org }) => [key, org?.orgName]).sort(), [
      ["plk_one", "Lamps"],
      ["plk_two", "Org 2"],
    ]);
    session.dispose();
  });

  it("lets a key of an earlier version go that the service doesn't accept any more", async () => {
    await using service = await accepting("plk_new");
    const { deps, keys, kept, choice, session } = surroundings(service.origin, "plk_new");
    kept.set(`apiKey:${service.origin}`, "plk_revoked");
    await setApiKey(deps);
    assert.deepEqual(
      (await keys.list()).map(({ key }) => key),
      ["plk_new"],
    );
    assert.equal((await choice.keyFor(service.origin))?.key, "plk_new");
    session.dispose();
  });

  it("never sends a key to another origin than it was entered for, also when the setting changes meanwhile", async () => {
    await using first = await accepting("plk_first");
    await using second = await accepting("plk_second");
    const scene = surroundings(first.origin, "plk_first", () => {
      scene.place.origin = second.origin;
    });
    await setApiKey(scene.deps);
    assert.equal(await keyOf(scene.keys, first.origin), "plk_first");
    assert.equal(await keyOf(scene.keys, second.origin), undefined);
    scene.session.dispose();
    assert(second.asked.every(({ headers }) => headers["x-api-key"] !== "plk_first"));
    assert(first.asked.some(({ headers }) => headers["x-api-key"] === "plk_first"));
  });

  it("forgets the key on request, and says so when there is none", async () => {
    const { deps, keys, shown } = surroundings("https://cloud.example", "");
    await removeApiKey(deps);
    const baseUrl = new URL("https://cloud.example");
    await keys.add({ origin: baseUrl.origin, baseUrl, key: "plk_good", org: undefined });
    await removeApiKey(deps);
    assert.equal(await keyOf(keys, "https://cloud.example"), undefined);
    assert.match(shown[0] ?? "", /There is no API key/);
    assert.match(shown[1] ?? "", /was removed/);
  });

  it("asks which key to forget when there are several", async () => {
    const { deps, keys, shown } = surroundings("https://cloud.example", "");
    const baseUrl = new URL("https://cloud.example");
    const origin = baseUrl.origin;
    await keys.add({ origin, baseUrl, key: "plk_one", org: { orgId: "o1", orgName: "One $(bug)" } });
    await keys.add({ origin, baseUrl, key: "plk_two", org: { orgId: "o2", orgName: "Two" } });
    const [first, second] = await keys.list();
    await removeApiKey(deps);
    assert.equal(shown.length, 3);
    assert(shown.every((text) => !text.includes("plk_") && !text.includes("$(bug)")));
    assert.deepEqual(
      (await keys.list()).map(({ key }) => key),
      [first?.key],
    );
    assert.notEqual(first?.key, second?.key);
  });
});
