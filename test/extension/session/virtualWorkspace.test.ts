import assert from "node:assert/strict";
import { refuseVirtual } from "../../../src/extension/session/session.ts";

const folder = (scheme: string) => ({ uri: { scheme } as never });

describe("a workspace whose files are elsewhere", () => {
  it("starts no service of this machine, and says why", () => {
    assert.throws(() => refuseVirtual([folder("vscode-vfs")]), {
      type: "not-supported",
      message: /are not on this machine/,
      next: /pipelineRuns\.baseUrl/,
    });
  });

  it("is one only when none of its folders is here; a window without folders is none", () => {
    refuseVirtual(undefined);
    refuseVirtual([]);
    refuseVirtual([folder("vscode-vfs"), folder("file")]);
  });
});
