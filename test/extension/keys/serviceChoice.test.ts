import assert from "node:assert/strict";
import { ApiKeys } from "../../../src/extension/keys/apiKeys.ts";
import { originOf, readTarget, ServiceChoice } from "../../../src/extension/keys/serviceChoice.ts";
import { chosenServiceKey } from "../../../src/extension/window/storedState.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { memorySecrets, nowhere } from "../memorySecrets.ts";

const cloud = "https://cloud.example";
const other = "https://other.example";

async function scene(setting = cloud) {
  const place = { setting };
  let now = 1;
  const keys = new ApiKeys(memorySecrets().storage, nowhere, () => now++);
  const add = (origin: string, orgId: string) =>
    keys.add({
      origin,
      baseUrl: new URL(`${origin}/path/`),
      key: `plr_${orgId}_${new URL(origin).hostname}`,
      org: { orgId, orgName: orgId },
    });
  const memento = memoryMemento();
  const choice = new ServiceChoice(memento, keys, () => readTarget({ get: () => place.setting as never }));
  const used = async () => {
    const target = choice.target();
    assert(target.kind !== "invalid");
    const address = target.kind === "remote" ? target.baseUrl.href : "own";
    return [address, (await choice.keyFor(originOf(target)))?.key];
  };
  return { place, keys, add, memento, choice, used };
}

describe("the service and the key of a window", () => {
  it("are those of the settings, with the key that was entered first, while nobody has chosen", async () => {
    const { add, used, choice, place } = await scene();
    assert.deepEqual(await used(), [`${cloud}/`, undefined]);
    await add(cloud, "lamps");
    await add(cloud, "tools");
    assert.deepEqual(await used(), [`${cloud}/`, "plr_lamps_cloud.example"]);
    assert.equal(choice.source(), "settings");
    place.setting = "";
    assert.deepEqual(await used(), ["own", undefined]);
    assert.equal(choice.source(), "default");
  });

  it("are chosen for the workspace: another org of the origin, or another origin", async () => {
    const { add, used, choice } = await scene();
    await add(cloud, "lamps");
    await choice.choose(await add(cloud, "tools"));
    assert.deepEqual(await used(), [`${cloud}/`, "plr_tools_cloud.example"]);
    await choice.choose(await add(other, "lamps"));
    assert.deepEqual(await used(), [`${other}/path/`, "plr_lamps_other.example"]);
    assert.equal(choice.source(), "chosen");
    await choice.choose("own");
    assert.deepEqual(await used(), ["own", undefined]);
    await choice.clear();
    assert.deepEqual(await used(), [`${cloud}/`, "plr_lamps_cloud.example"]);
  });

  it("go with the settings again when these name another service than the choice was made among", async () => {
    const { add, used, choice, place } = await scene();
    await choice.choose(await add(cloud, "lamps"));
    place.setting = other;
    assert.deepEqual(await used(), [`${other}/`, undefined]);
  });

  it("never bring one origin's key to another, whatever was kept of a choice", async () => {
    const { add, choice, memento, used } = await scene();
    const key = await add(cloud, "lamps");
    memento.kept.set(chosenServiceKey, {
      kind: "key",
      name: key.name,
      origin: cloud,
      baseUrl: "https://evil.example/",
      overrides: true,
    });
    assert.deepEqual(await used(), ["https://evil.example/", undefined]);
    memento.kept.set(chosenServiceKey, { kind: "key", baseUrl: 7 });
    assert.deepEqual(await used(), [`${cloud}/`, "plr_lamps_cloud.example"]);
    assert.equal(choice.source(), "settings");
  });

  it("take another key of the origin when the chosen one is removed", async () => {
    const { add, used, choice, keys } = await scene();
    await add(cloud, "lamps");
    const chosen = await add(cloud, "tools");
    await choice.choose(chosen);
    await keys.remove(chosen);
    assert.deepEqual(await used(), [`${cloud}/`, "plr_lamps_cloud.example"]);
  });

  it("stay chosen when the key gets the name of its org", async () => {
    const { used, choice, keys } = await scene();
    const unknown = await keys.add({ origin: cloud, baseUrl: new URL(cloud), key: "plr_x", org: undefined });
    await choice.choose(unknown);
    const learned = await keys.setOrg(unknown, { orgId: "lamps", orgName: "Lamps" });
    await choice.keyRenamed(unknown.name, learned);
    await keys.add({ origin: cloud, baseUrl: new URL(cloud), key: "plr_y", org: undefined });
    assert.deepEqual(await used(), [`${cloud}/`, "plr_x"]);
  });
});
