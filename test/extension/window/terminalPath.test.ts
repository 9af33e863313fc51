import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import type { EnvironmentVariableCollection } from "vscode";
import { putToolOnPath } from "../../../src/extension/window/pipelineTool.ts";

/** The editor's collection, which outlives windows, with what was written into it since it was last looked at. */
function variablesOfAnExtension() {
  const values = new Map<string, string>();
  const written: string[][] = [];
  const write = (how: string) => (name: string, value: string) => {
    values.set(name, value);
    written.push([how, name, value]);
  };
  const variables: Partial<EnvironmentVariableCollection> = {
    get: (name) => {
      const value = values.get(name);
      return value === undefined ? undefined : { type: 1, options: {}, value };
    },
    append: write("append"),
    replace: write("replace"),
    set description(text: string) {
      written.push(["description", text]);
    },
  };
  return { variables: variables as EnvironmentVariableCollection, written: () => written.splice(0) };
}

describe("the command in the editor's terminals", () => {
  const here = { extensionFolder: "/an extension", execPath: "/editor/runtime" };
  const onPath = ["append", "PATH", `${delimiter}${join("/an extension", "bin")}`];

  it("stands last on the PATH, so that a tool which someone has installed is the one they get", () => {
    const { variables, written } = variablesOfAnExtension();
    putToolOnPath(variables, here);
    assert.deepEqual(written(), [
      ["description", "Lets the command `pipeline` be found."],
      onPath,
      ["replace", "PIPELINE_EDITOR_RUNTIME", "/editor/runtime"],
    ]);
  });

  it("is written by the first window only, and again when the extension or its runtime is another", () => {
    const { variables, written } = variablesOfAnExtension();
    putToolOnPath(variables, here);
    written();
    putToolOnPath(variables, here);
    assert.deepEqual(written(), []);
    for (const other of [{ extensionFolder: "/another version" }, { execPath: "/editor/other" }]) {
      putToolOnPath(variables, { ...here, ...other });
      assert.equal(written().length, 3);
      putToolOnPath(variables, here);
      assert.equal(written().length, 3);
    }
  });
});
