import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import type { EnvironmentVariableCollection } from "vscode";
import { putToolOnPath } from "../../src/extension/terminalPath.ts";

describe("the command in the editor's terminals", () => {
  it("stands last on the PATH, so that a tool which someone has installed is the one they get", () => {
    const asked: string[][] = [];
    const variables: Partial<EnvironmentVariableCollection> = {
      append: (name, value) => asked.push(["append", name, value]),
      replace: (name, value) => asked.push(["replace", name, value]),
    };
    putToolOnPath(variables as EnvironmentVariableCollection, {
      extensionFolder: "/an extension",
      execPath: "/editor/runtime",
    });
    assert.deepEqual(asked, [
      ["append", "PATH", `${delimiter}${join("/an extension", "bin")}`],
      ["replace", "PIPELINE_EDITOR_RUNTIME", "/editor/runtime"],
    ]);
    assert.notEqual(variables.description, undefined);
  });
});
