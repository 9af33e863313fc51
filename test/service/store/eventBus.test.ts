import assert from "node:assert/strict";
import { type BusEvent, EventBus } from "../../../src/service/store/eventBus.ts";

describe("the event bus", () => {
  it("reaches subscribers, and none after they have unsubscribed", () => {
    const bus = new EventBus();
    const heard: BusEvent[] = [];
    const stop = bus.subscribe("org_1", (change) => heard.push(change));
    bus.emit("org_1", { kind: "org" });
    bus.emit("org_2", { kind: "org" });
    stop();
    bus.emit("org_1", { kind: "org" });
    assert.equal(heard.length, 1);
    assert.equal(bus.subscribers, 0);
  });

  it("doesn't throw for an org called `error` that nobody follows", () => {
    assert.doesNotThrow(() => new EventBus().emit("error", { kind: "org" }));
  });

  it("still reaches a later subscriber when an earlier one unsubscribes twice", () => {
    const bus = new EventBus();
    const heard: BusEvent[] = [];
    const stopFirst = bus.subscribe("org_1", () => {});
    stopFirst();
    bus.subscribe("org_1", (change) => heard.push(change));
    stopFirst();
    bus.emit("org_1", { kind: "org" });
    assert.equal(heard.length, 1);
    assert.equal(bus.subscribers, 1);
  });
});
