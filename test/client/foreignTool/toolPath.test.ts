import assert from "node:assert/strict";
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { checkToolPath } from "../../../src/client/foreignTool/foreignTool.ts";
import { itOn } from "../../itOn.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";

async function program(path: string): Promise<string> {
  await writeFile(path, "#!/bin/sh\n");
  await chmod(path, 0o755);
  return path;
}

describe("the path of a service's own tool", () => {
  it("is that of an executable file outside the window's folders", async () => {
    await using tools = await TemporaryFolder.make();
    await using workspace = await TemporaryFolder.make();
    await checkToolPath(await program(join(tools.path, "cloud")), [workspace.path]);
    // A folder whose name merely begins alike is another one.
    await checkToolPath(await program(join(tools.path, "cloud")), [tools.path.slice(0, -1)]);
  });

  it("is absolute: what is looked for from some folder is not run", async () => {
    await using tools = await TemporaryFolder.make();
    const path = await program(join(tools.path, "cloud"));
    for (const written of ["cloud", "./cloud", relative(process.cwd(), path)]) {
      await assert.rejects(checkToolPath(written, []), { type: "usage", message: /is no absolute path\.$/ });
    }
  });

  it("leads into none of the window's folders", async () => {
    await using workspace = await TemporaryFolder.make();
    await mkdir(join(workspace.path, "..data"));
    for (const name of ["cloud", "..data/cloud"]) {
      const path = await program(join(workspace.path, name));
      await assert.rejects(checkToolPath(path, [workspace.path]), {
        message: /lies in a folder of this window/,
      });
    }
  });

  itOn("posix", "leads there by no link either, nor over a link that lies there", async () => {
    await using tools = await TemporaryFolder.make();
    await using workspace = await TemporaryFolder.make();
    const outside = await program(join(tools.path, "real"));
    const inside = await program(join(workspace.path, "evil"));
    await symlink(inside, join(tools.path, "to-inside"));
    await symlink(outside, join(workspace.path, "link"));
    await symlink(join(workspace.path, "link"), join(tools.path, "over-inside"));
    await symlink(workspace.path, join(tools.path, "folder"));
    for (const name of ["to-inside", "over-inside", "folder/evil"]) {
      await assert.rejects(checkToolPath(join(tools.path, name), [workspace.path]), {
        message: /lies in a folder of this window/,
      });
    }
    await symlink(outside, join(tools.path, "good"));
    await checkToolPath(join(tools.path, "good"), [workspace.path]);
  });

  itOn("posix", "names what is wrong with it: it isn't there, is no file, or is not executable", async () => {
    await using tools = await TemporaryFolder.make();
    await writeFile(join(tools.path, "text"), "");
    await symlink("loop", join(tools.path, "loop"));
    const rejects = (name: string, message: RegExp) =>
      assert.rejects(checkToolPath(join(tools.path, name), []), { type: "usage", message });
    await rejects("nothing", /is not there\.$/);
    await rejects("loop", /is not there\.$/);
    await rejects(".", /is no plain file\.$/);
    await rejects("text", /is not executable\.$/);
  });
});
