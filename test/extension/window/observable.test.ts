import assert from "node:assert/strict";
import { Emitter, ObservableValue } from "../../../src/extension/window/observable.ts";

/** What nobody has caught while something was done, as the editor would log it. */
async function uncaughtBy(act: () => void): Promise<unknown[]> {
  const others = process.listeners("unhandledRejection");
  const uncaught: unknown[] = [];
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) => uncaught.push(error));
  try {
    act();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other);
  }
  return uncaught;
}

const fault = new Error("a listener's own");
const fail = () => {
  throw fault;
};

describe("what many listeners are told", () => {
  it("reaches all of them when one throws, and whoever tells it, while the fault is logged", async () => {
    const told: string[] = [];
    const value = new ObservableValue("before");
    const news = new Emitter<string>();
    value.observe((now) => (now === "after" ? fail() : undefined));
    value.observe((now) => told.push(now));
    news.subscribe(fail);
    news.subscribe((one) => told.push(one));
    const uncaught = await uncaughtBy(() => {
      value.set("after");
      news.emit("news");
    });
    assert.deepEqual(told, ["before", "after", "news"]);
    assert.deepEqual(uncaught, [fault, fault]);
    assert.equal(value.value, "after");
  });
});
