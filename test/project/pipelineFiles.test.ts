import assert from "node:assert/strict";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import {
  filesNamed,
  mayDefine,
  parseWithParts,
  projectFiles,
  withSharedNames,
} from "../../src/project/pipelineFiles.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const rest = "resources: { sh: { type: cli } }\nsteps: [{ name: say hello, use: sh, run: echo hi }]\n";

/** A project with the files, and a parser that notes which it gets. */
async function projectWith(files: Readonly<Record<string, string>>) {
  const folder = await TemporaryFolder.make();
  await mkdir(join(folder.path, "pipelines"));
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder.path, "pipelines", name), text);
  }
  const parsed: string[] = [];
  const parse = (text: string, path: string) => {
    parsed.push(path.slice(join(folder.path, "pipelines").length + 1));
    return parseWithParts(text, path);
  };
  return { root: folder.path, parse, parsed, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

describe("a project's pipeline files", () => {
  it("of a name are found by the file's name or `name`, and others aren't parsed", async () => {
    await using project = await projectWith({
      "a.yaml": rest,
      "b.yaml": `name: deploy\n${rest}`,
      "c.yaml": `"name" : "deploy"\n${rest}`,
      "deploy.yaml": `name: other\n${rest}`,
    });
    const found = (await projectFiles(project.root, project.parse, mayDefine("deploy"))).filter(
      ({ name }) => name === "deploy",
    );
    assert.deepEqual(
      found.map(({ path }) => path),
      ["pipelines/b.yaml", "pipelines/c.yaml"],
    );
    assert.deepEqual(project.parsed, ["b.yaml", "c.yaml", "deploy.yaml"]);
  });

  it("are no hidden ones, such as what macOS and Emacs put beside a file", async () => {
    await using project = await projectWith({
      "build.yaml": rest,
      "._build.yaml": "\u0000\u0005\u0016\u0007",
    });
    await symlink("ada@desk.7730:1418204054", join(project.root, "pipelines/.#build.yaml"));
    assert.deepEqual(
      (await projectFiles(project.root)).map(({ path }) => path),
      ["pipelines/build.yaml"],
    );
  });

  it("of a name that YAML writes in another way are found all the same", async () => {
    await using project = await projectWith({ "a.yaml": `name: "d\\u0065ploy"\n${rest}` });
    assert.equal((await filesNamed(project.root, "deploy")).length, 1);
    assert.equal((await filesNamed(project.root, "none")).length, 0);
  });

  it("are told of a shared name, for which each file's is looked at a few times however many there are", async () => {
    await using project = await projectWith({ "a.yaml": rest, "b.yaml": `name: a\n${rest}` });
    const files = await projectFiles(project.root);
    let reads = 0;
    const others = Array.from({ length: 500 }, (_, index) => ({
      ...{ path: `pipelines/c${index}.yaml`, text: rest, parsed: parseWithParts(rest, `c${index}.yaml`) },
      get name() {
        reads += 1;
        return `c${index}`;
      },
    }));
    const kinds = withSharedNames([...files, ...others]).map(({ parsed }) => parsed.kind);
    assert.deepEqual(
      [kinds.slice(0, 2), new Set(kinds.slice(2))],
      [["invalid", "invalid"], new Set(["valid"])],
    );
    assert.ok(reads <= 3 * others.length, `${reads}`);
  });

  it("keep nobody waiting for more than one of them", async () => {
    await using project = await projectWith({ "a.yaml": rest, "b.yaml": rest, "c.yaml": rest });
    let isRead = false;
    const turns = new Set<number>();
    const others = (async () => {
      while (!isRead) {
        await turn();
        turns.add(project.parsed.length);
      }
    })();
    await projectFiles(project.root, project.parse);
    isRead = true;
    await others;
    assert.ok(turns.has(1) && turns.has(2), [...turns].join());
  });

  it("are listed beside one that can't be parsed at all", async () => {
    await using project = await projectWith({ "a.yaml": rest, "b.yaml": rest });
    const files = await projectFiles(project.root, (text, path) => {
      if (path.endsWith("a.yaml")) throw new RangeError("Invalid string length");
      return parseWithParts(text, path);
    });
    assert.deepEqual(
      files.map(({ parsed }) => parsed.kind),
      ["invalid", "valid"],
    );
  });

  it("are not read where no parser would take them", async () => {
    await using project = await projectWith({ "a.yaml": "" });
    await truncate(join(project.root, "pipelines/a.yaml"), 2 ** 40);
    const [file] = await projectFiles(project.root, project.parse);
    assert.ok(file?.parsed.kind === "invalid");
    assert.equal(file.parsed.problems[0]?.message, "this file is larger than 1 MiB, the most that is read");
    assert.deepEqual(project.parsed, []);
  });
});
