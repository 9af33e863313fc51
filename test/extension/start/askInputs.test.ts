import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import type { DeclaredInput } from "../../../src/contract/pipelines.ts";
import { type AskedInputs, withInputs } from "../../../src/extension/start/askInputs.ts";
import { LastUsed } from "../../../src/extension/start/lastUsed.ts";
import { memoryMemento } from "../memoryMemento.ts";
import { answeringWindow, backButton, type Deed } from "./answeringWindow.ts";

const region: DeclaredInput = {
  name: "region",
  type: "text",
  options: ["eu", "us"],
  description: "Whose prices are used",
  required: true,
};
const lamps: DeclaredInput = { name: "lamps", type: "number", required: true };
const visit: DeclaredInput = { name: "visit", type: "boolean", default: true, required: false };
const shop: DeclaredInput = { name: "base-url", type: "text", required: false };

/** Asks for the inputs of a start of `deploy`. */
function asking(deeds: readonly Deed[], memento = memoryMemento()) {
  const seen = answeringWindow(deeds);
  const { signal } = new AbortController();
  const deps = { window: seen.window, backButton, lastUsed: new LastUsed(memento), signal };
  const start = { pipeline: "deploy", project: "shop" };
  const ask = async (declared: readonly DeclaredInput[], given = {}, which: AskedInputs = "missing") =>
    (await withInputs({ ...start, inputs: given }, declared, which, deps))?.inputs;
  return { ...seen, memento, signal, ask };
}

describe("the inputs of a start from the editor", () => {
  it("are not asked for where nothing is lacking, or where the file isn't known", async () => {
    const { ask, asked } = asking([]);
    assert.deepEqual(await ask([region, visit], { region: "eu" }), { region: "eu" });
    const start = { pipeline: "elsewhere", inputs: { a: 1 } };
    assert.equal(await withInputs(start, undefined, "all", {} as never), start);
    assert.deepEqual(asked, []);
  });

  it("are asked for when missing or not fitting, options in a list, all else in a box", async () => {
    const { ask, asked, open, signal } = asking([{ value: "us" }, { value: "3" }]);
    assert.deepEqual(await ask([region, lamps, visit], { lamps: "many" }), { region: "us", lamps: 3 });
    assert.deepEqual(asked, [
      { title: "Run deploy: region", step: "1/2", text: "Whose prices are used", filled: ["eu", "us"] },
      { title: "Run deploy: lamps", step: "2/2", text: "A number", filled: ["many"] },
    ]);
    assert.equal(open(), 0, "each question is disposed of");
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });

  it("are checked as they are typed, and an empty one is no answer", async () => {
    const { ask, asked, refused } = asking([{ value: "many" }, { value: "" }, { value: " 2 " }]);
    assert.deepEqual(await ask([lamps]), { lamps: 2 });
    assert.deepEqual(refused, ["many: Enter a number.", ": Enter a number."]);
    assert.deepEqual(
      asked.map(({ step }) => step),
      [""],
      "the only question has no number",
    );
  });

  it("are asked for in the file's own words, of which none is a link that runs a command", async () => {
    const description = "Read [this](command:workbench.action.terminal.new)";
    const { ask, asked } = asking([{ value: "3" }]);
    await ask([{ ...lamps, description }]);
    assert.equal(asked[0]?.text, "Read [this] (command:workbench.action.terminal.new)");
  });

  it("start nothing when the person leaves, and are not remembered then", async () => {
    const { ask, memento, open } = asking([{ value: "eu" }, undefined]);
    assert.equal(await ask([region, lamps]), undefined);
    assert.deepEqual([...memento.kept], []);
    assert.equal(open(), 0);
  });

  it("can be gone back to, with the answer that was given", async () => {
    const { ask, asked } = asking([{ value: "us" }, "back", { value: "eu" }, { value: "1" }]);
    assert.deepEqual(await ask([region, lamps]), { region: "eu", lamps: 1 });
    assert.deepEqual(
      asked.map(({ filled: [first] }) => first),
      ["eu", "", "us", ""],
    );
  });

  it("are all asked for by Run with Inputs, with their defaults, or what the pipeline was given last", async () => {
    const memento = memoryMemento();
    const first = asking([{ value: "us" }, { value: "3" }, { value: "true" }, { value: "" }], memento);
    const all = [region, lamps, visit, shop];
    assert.deepEqual(await first.ask(all, {}, "all"), { region: "us", lamps: 3, visit: true });
    assert.deepEqual(
      first.asked.map(({ filled: [active] }) => active),
      ["eu", "", "true", ""],
    );
    const again = asking(
      [{ value: "us" }, { value: "4" }, { value: "false" }, { value: "http://b" }],
      memento,
    );
    assert.deepEqual(await again.ask(all, {}, "all"), {
      region: "us",
      lamps: 4,
      visit: false,
      "base-url": "http://b",
    });
    assert.deepEqual(
      again.asked.map(({ filled: [active] }) => active),
      ["us", "3", "true", ""],
    );
    const other = new LastUsed(memento);
    assert.deepEqual(other.inputsOf("another", "deploy"), {}, "of another project");
    assert.equal(other.inputsOf("shop", "deploy")["lamps"], 4);
  });

  it("are remembered unless they look like a secret", async () => {
    const password: DeclaredInput = { name: "db-password", type: "text", required: true };
    const note: DeclaredInput = { name: "note", type: "text", required: true };
    const key = `plr_${"a".repeat(26)}_${"b".repeat(43)}`;
    const { ask, memento } = asking([{ value: "hunter2" }, { value: key }, { value: "2" }]);
    assert.deepEqual(await ask([password, note, lamps]), { "db-password": "hunter2", note: key, lamps: 2 });
    assert.deepEqual(new LastUsed(memento).inputsOf("shop", "deploy"), { lamps: 2 });
  });

  it("are forgotten where what is stored isn't what it should be", () => {
    const memento = memoryMemento();
    memento.kept.set("lastUsedInputs", [["shop/deploy", { lamps: {} }], 3]);
    assert.deepEqual(new LastUsed(memento).inputsOf("shop", "deploy"), {});
  });
});
