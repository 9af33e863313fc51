import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { opener } from "../../src/cli/commands/page.ts";
import { commandLine, endTree } from "../../src/client/foreignTool/toolProcess.ts";
import { windowsProgram } from "../../src/project/environment.ts";
import { filesLike, textOf } from "../extension/projectTexts.ts";

describe("a program of Windows", () => {
  it("is named by its whole path, wherever Windows is", () => {
    const powershell = "System32\\WindowsPowerShell\\v1.0\\powershell.exe";
    assert.equal(windowsProgram("powershell.exe", { SystemRoot: "D:\\WIN" }), `D:\\WIN\\${powershell}`);
    assert.equal(windowsProgram("powershell.exe", { windir: "E:\\W" }), `E:\\W\\${powershell}`);
    assert.equal(windowsProgram("powershell.exe", {}), `C:\\Windows\\${powershell}`);
  });

  it("is never looked for in the working folder: to open a browser, to read a .cmd file, to end a tool", async () => {
    const isWhole = /^[A-Z]:\\.*\\System32\\/;
    assert.match(opener({}, "win32")[0], isWhole);
    assert.match(commandLine("C:\\cloud.cmd", [], "win32", {}).path, isWhole);
    await using child = idle();
    const started: unknown[] = [];
    const start = ((path: string) => {
      started.push(path);
      return { once: () => undefined };
    }) as unknown as typeof spawn;
    endTree(child.process, { spawn: start, platform: "win32" });
    assert.match(String(started), isWhole);
  });

  it("is named by its bare name nowhere in the sources", () => {
    const bare = /"(?:taskkill|rundll32|powershell|cmd|wmic|tasklist|where|explorer)(?:\.exe)?"/;
    const found = filesLike("src/**/*.ts").filter((file) =>
      textOf(file)
        .replaceAll(/windowsProgram\("[^"]+"/g, "")
        // `pipeline service where`, and what PostgreSQL's errors say.
        .replaceAll(/(?:name: |part\()"where"/g, "")
        .split("\n")
        .some((line) => bare.test(line)),
    );
    // The first of them knows a step's script by the shell that its `run` names.
    const naming = ["src/pipeline/knownNames.ts", "src/project/environment.ts"];
    assert.deepEqual(found, naming, "but where they are named");
  });
});

function idle(): { readonly process: ChildProcess } & AsyncDisposable {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "ignore" });
  return {
    process: child,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
