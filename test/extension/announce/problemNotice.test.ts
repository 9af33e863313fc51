import assert from "node:assert/strict";
import { PipelineError } from "../../../src/contract/errors.ts";
import {
  FileProblem,
  type NoticeDeps,
  showProblem,
  Untrusted,
} from "../../../src/extension/announce/notices.ts";
import { inOneLine } from "../../../src/extension/window/plainWindow.ts";
import type { FilePosition } from "../../../src/extension/window/workspace.ts";
import { ServiceStopped } from "../../../src/machine/connectionFile.ts";

const problem = (line: number) => `pipelines/a b.yaml:${line}:5: there is no resource \`x\``;

describe("a notification of what went wrong", () => {
  it("shows the first problem of a pipeline file and how many more there are, and opens it there", async () => {
    const shown: string[] = [];
    const opened: [string, FilePosition][] = [];
    const message = ["The pipeline file can't be run:", problem(3), problem(4), problem(9), "and 8 more"];
    const error = new FileProblem("/project", message.join("\n"), { next: "Correct the file." });
    await showProblem(error, {
      window: {
        showErrorMessage: async (text: string, button: unknown) => {
          shown.push(text);
          return button as never;
        },
      },
      executeCommand: async () => assert.fail("another step was taken"),
      openPosition: async (root, place) => void opened.push([root, place]),
      onKeyRefused: async () => assert.fail("no key was refused"),
    });
    assert.deepEqual(shown, [
      `The pipeline file can't be run: ${problem(3)} (and 10 more). Correct the file.`,
    ]);
    assert.deepEqual(opened, [["/project", { path: "pipelines/a b.yaml", line: 3, column: 5 }]]);
  });

  it("counts as the word on a key that is not accepted, before it shows", async () => {
    const told: string[] = [];
    await showProblem(new PipelineError("unauthorized", "The key is not accepted."), {
      window: {
        showErrorMessage: async (text: string) => {
          told.push(text);
          return undefined as never;
        },
      },
      executeCommand: async () => assert.fail("nobody pressed a button"),
      openPosition: async () => assert.fail("there is no file"),
      onKeyRefused: async () => void told.push("noted"),
    });
    assert.deepEqual(told, ["noted", "The key is not accepted. Set a key that this service accepts."]);
  });

  it("offers to start this machine's service where a person has stopped it, and to trust a workspace that isn't", async () => {
    const told: unknown[] = [];
    const deps: NoticeDeps = {
      window: {
        showErrorMessage: async (text: string, button: unknown) => {
          told.push(text, button);
          return button as never;
        },
      },
      executeCommand: async (command) => void told.push(command),
      openPosition: async () => assert.fail("there is no file"),
      onKeyRefused: async () => assert.fail("no key was refused"),
    };
    await showProblem(new ServiceStopped(), deps);
    await showProblem(new Untrusted(), deps);
    assert.deepEqual(told, [
      "This machine's own service was stopped. A run starts it again.",
      "Start",
      "pipelineRuns.startService",
      "Pipelines of a workspace that isn't trusted are not run: their steps run programs. Trust the workspace first.",
      "Manage Workspace Trust",
      "workbench.trust.manage",
    ]);
  });

  it("has a file's only problem, and any other text, as it is", () => {
    assert.equal(inOneLine(problem(3)), problem(3));
    assert.equal(inOneLine(`${problem(3)}\n${problem(4)}`), `${problem(3)} (and 1 more)`);
    assert.equal(inOneLine(`No:\n${problem(3)}?\nMend it.`), `No: ${problem(3)}? Mend it.`);
    assert.equal(inOneLine("It failed.\nTry again."), "It failed. Try again.");
  });
});
