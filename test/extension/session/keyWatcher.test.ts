import assert from "node:assert/strict";
import { ApiKeys } from "../../../src/extension/keys/apiKeys.ts";
import { ServiceChoice } from "../../../src/extension/keys/serviceChoice.ts";
import { watchKeys } from "../../../src/extension/session/keyWatcher.ts";
import { Session } from "../../../src/extension/session/session.ts";
import { FileClaims } from "../../../src/extension/window/claims.ts";
import { systemClock } from "../../../src/machine/clock.ts";
import { LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { firstOf, memorySecrets, nowhere } from "../memorySecrets.ts";

/** Windows of one user: they have the same secrets and the same folder, and each its own workspace. */
async function windows(count: number) {
  const folder = await TemporaryFolder.make();
  const accepted = new Set<string>();
  const service = await LoopbackService.listen((asked, response) => {
    if (!accepted.has(String(asked.headers["x-api-key"]))) sendError(response, 401, "unauthorized");
    else if (asked.path === "/api/org") sendJson(response, 200, orgOnWire);
    else response.writeHead(404).end();
  });
  const { storage, kept } = memorySecrets();
  const told: string[] = [];
  const logged: string[] = [];
  const baseUrl = new URL(`${service.origin}/`);
  const opened = Array.from({ length: count }, () => {
    const keys = new ApiKeys(storage, nowhere);
    const choice = new ServiceChoice(memoryMemento(), keys, () => ({ kind: "remote", baseUrl }));
    const session = new Session({
      target: () => choice.target(),
      keys: choice,
      embedded: () => Promise.reject(new Error("not wanted")),
      clock: systemClock,
      log: { info: () => {}, warn: () => {} },
    });
    const keeping = watchKeys({
      session,
      keys,
      choice,
      claims: new FileClaims(folder.path),
      log: { warn: (text: string) => void logged.push(text) },
      window: {
        showWarningMessage: async (text: string) => {
          told.push(text);
          return undefined;
        },
      } as never,
      executeCommand: async () => undefined,
    });
    return { keys, choice, session, keeping };
  });
  return {
    opened,
    told,
    logged,
    storage,
    accepted,
    kept,
    service,
    origin: service.origin,
    baseUrl,
    reach: (kind: string) =>
      Promise.all(
        opened.map(
          ({ session }) =>
            new Promise<void>((resolve) => {
              const following = session.state.observe((state) => {
                if (state.kind !== kind) return;
                resolve();
                queueMicrotask(() => following.dispose());
              });
            }),
        ),
      ),
    async [Symbol.asyncDispose]() {
      for (const { session, keeping } of opened) {
        keeping.dispose();
        session.dispose();
      }
      await service[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const lamps = { orgId: "org_1", orgName: "Lamps" };

describe("keys in several windows", () => {
  it("that are revoked are told of once, and all windows go on when one of them sets another", async () => {
    await using scene = await windows(3);
    const { origin, baseUrl, accepted, opened, told } = scene;
    const [first] = opened;
    assert(first !== undefined);
    accepted.add("plk_old");
    await first.keys.add({ origin, baseUrl, key: "plk_old", org: lamps });
    for (const { session } of opened) session.watch();
    await scene.reach("live");
    accepted.clear();
    for (const { session } of opened) session.restart();
    await scene.reach("no-key");
    while (told.length === 0) await new Promise(setImmediate);
    accepted.add("plk_new");
    await first.keys.add({ origin, baseUrl, key: "plk_new", org: lamps });
    await scene.reach("live");
    assert.deepEqual(told, [`The API key of Lamps is no longer accepted by ${origin}.`]);
  });

  it("that a command has told of are not told of again, in any window", async () => {
    await using scene = await windows(2);
    const { origin, baseUrl, accepted, opened, told, logged } = scene;
    const [first] = opened;
    assert(first !== undefined);
    accepted.add("plk_old");
    await first.keys.add({ origin, baseUrl, key: "plk_old", org: lamps });
    for (const { session } of opened) session.watch();
    await scene.reach("live");
    await first.keeping.noteRefusalShown();
    accepted.clear();
    for (const { session } of opened) session.restart();
    await scene.reach("no-key");
    // A key that came after it is asked about as ever, which also shows that the windows had time to tell of the old one.
    await first.keys.add({ origin, baseUrl, key: "plk_other", org: lamps });
    while (told.length === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.deepEqual(told, [`The API key of Lamps is no longer accepted by ${origin}.`]);
    assert.deepEqual(logged, []);
  });

  it("that were never entered are not told of: the status bar says it", async () => {
    await using scene = await windows(1);
    scene.opened[0]?.session.watch();
    await scene.reach("no-key");
    await new Promise(setImmediate);
    assert.deepEqual(scene.told, []);
  });

  it("of an earlier version get their org's name without a new connection", async () => {
    await using scene = await windows(2);
    scene.kept.set(`apiKey:${scene.origin}`, "plk_old");
    scene.accepted.add("plk_old");
    for (const { session } of scene.opened) session.watch();
    await scene.reach("live");
    const keys = scene.opened[0]?.keys;
    while ((await firstOf(keys, scene.origin))?.org === undefined) await new Promise(setImmediate);
    assert.deepEqual((await firstOf(keys, scene.origin))?.org, lamps);
    assert.deepEqual(
      (await keys?.list())?.map(({ key }) => key),
      ["plk_old"],
    );
    const streams = () => scene.service.asked.filter(({ path }) => path === "/api/events").length;
    await scene.service.until(() => streams() === 2);
    await new Promise(setImmediate);
    assert.equal(streams(), 2);
  });

  it("that a locked keyring keeps back are told of in the log, and nothing fails unseen", async () => {
    await using scene = await windows(1);
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.prependListener("unhandledRejection", note);
    try {
      const { origin, baseUrl, opened, storage } = scene;
      Object.assign(storage, { keys: () => Promise.reject(new Error("the keyring is locked")) });
      await opened[0]?.keys.add({ origin, baseUrl, key: "plk_one", org: lamps });
      while (scene.logged.length === 0) await new Promise(setImmediate);
      assert.match(scene.logged[0] ?? "", /the keyring is locked/);
      assert.deepEqual(unhandled, []);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it("leave a window alone that uses another service's", async () => {
    await using scene = await windows(1);
    const { origin, baseUrl, accepted, opened, service } = scene;
    accepted.add("plk_one");
    await opened[0]?.keys.add({ origin, baseUrl, key: "plk_one", org: lamps });
    opened[0]?.session.watch();
    await scene.reach("live");
    const asked = service.asked.length;
    await opened[0]?.keys.add({
      origin: "https://else.example",
      baseUrl: new URL("https://else.example/"),
      key: "plk_two",
      org: lamps,
    });
    await new Promise(setImmediate);
    assert.equal(opened[0]?.session.state.value.kind, "live");
    assert.equal(service.asked.length, asked);
  });
});
