import assert from "node:assert/strict";
import { commandLine } from "../../../src/client/foreignTool/toolProcess.ts";

describe("how a tool is started", () => {
  it("passes its arguments as they are, without a shell", () => {
    const args = ["run", "a & calc"];
    for (const [path, platform] of [
      ["/bin/cloud.cmd", "linux"],
      ["C:\\cloud.exe", "win32"],
    ] as const) {
      assert.deepEqual(commandLine(path, args, platform, {}), { path, args, verbatim: false });
    }
  });

  it("has a .cmd file of Windows read by the command interpreter, each word between quotes", () => {
    const env = { ComSpec: "C:\\Windows\\cmd.exe" };
    assert.deepEqual(commandLine("C:\\my tools\\cloud.CMD", ["run", "nächtlich 2"], "win32", env), {
      path: "C:\\Windows\\cmd.exe",
      args: ["/d", "/v:off", "/s", "/c", '""C:\\my tools\\cloud.CMD" "run" "nächtlich 2""'],
      verbatim: true,
    });
  });

  it("gives such a file no word that could be read as more than a word", () => {
    for (const word of ['a" & calc & "', "%PATH%", "a^b", "a|b", "a>b", "!x!", "a\nb", "", "a&b"]) {
      assert.throws(() => commandLine("C:\\cloud.bat", ["run", word], "win32", {}), {
        type: "invalid-request",
      });
    }
    assert.throws(() => commandLine("C:\\100%\\cloud.bat", [], "win32", {}), { type: "invalid-request" });
  });
});
