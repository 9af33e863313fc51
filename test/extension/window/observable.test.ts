import assert from "node:assert/strict";
import { News, Observed } from "../../../src/extension/window/observable.ts";

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
    const value = new Observed("before");
    const news = new News<string>();
    value.follow((now) => (now === "after" ? fail() : undefined));
    value.follow((now) => told.push(now));
    news.listen(fail);
    news.listen((one) => told.push(one));
    const uncaught = await uncaughtBy(() => {
      value.set("after");
      news.tell("news");
    });
    assert.deepEqual(told, ["before", "after", "news"]);
    assert.deepEqual(uncaught, [fault, fault]);
    assert.equal(value.value, "after");
  });
});
