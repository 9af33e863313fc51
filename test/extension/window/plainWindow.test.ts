import assert from "node:assert/strict";
import { plainText, plainWindow } from "../../../src/extension/window/plainWindow.ts";
import { fakeWindow } from "../start/fakeWindow.ts";

const hostile = "[Fix it](command:workbench.action.terminal.new)\u001b[2J \u202eevil";
const shownAs = "[Fix it] (command:workbench.action.terminal.new)[2J evil";

describe("a window whose notifications show texts as they are", () => {
  it("makes no link of a text that comes from elsewhere, nor lets it drive the screen", async () => {
    const { window, shown } = fakeWindow([]);
    const plain = plainWindow<Parameters<typeof plainWindow>[0]>(Object.freeze(window));
    await plain.showErrorMessage(hostile, "Run Again");
    await plain.showWarningMessage(hostile);
    await plain.showInformationMessage(hostile);
    await plain.withProgress({ location: 15, title: hostile }, async (progress) =>
      progress.report({ message: hostile }),
    );
    assert.deepEqual(
      shown.all.map(({ text }) => text),
      [shownAs, shownAs, shownAs, `${shownAs}: ${shownAs}`],
    );
    assert.deepEqual(shown.all[0]?.buttons, ["Run Again"]);
  });

  it("leaves everything else to the editor's own window", () => {
    const window = { ...Object.fromEntries([]), state: { focused: true } };
    assert.deepEqual(
      plainWindow(window as never as Parameters<typeof plainWindow>[0] & typeof window).state,
      {
        focused: true,
      },
    );
    assert.equal(plainText("two\nlines"), "two\nlines");
  });
});
