import assert from "node:assert/strict";
import { type Change, Changes } from "../../src/service/eventBus.ts";

describe("telling what changed", () => {
  it("reaches who listens, and nobody after they have stopped", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    const stop = changes.listen("org_1", (change) => heard.push(change));
    changes.tell("org_1", { kind: "org" });
    changes.tell("org_2", { kind: "org" });
    stop();
    changes.tell("org_1", { kind: "org" });
    assert.equal(heard.length, 1);
    assert.equal(changes.listening, 0);
  });

  it("still reaches the one who came later when the one before stops twice", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    const stopFirst = changes.listen("org_1", () => {});
    stopFirst();
    changes.listen("org_1", (change) => heard.push(change));
    stopFirst();
    changes.tell("org_1", { kind: "org" });
    assert.equal(heard.length, 1);
    assert.equal(changes.listening, 1);
  });
});
