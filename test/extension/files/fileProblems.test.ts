import assert from "node:assert/strict";
import {
  analyse,
  analysisOf,
  dependsOn,
  fileProblems,
  type ShownProblem,
} from "../../../src/extension/files/analyses.ts";
import { FakeClock } from "../../clock/fakeClock.ts";

const good = "resources: { a: { type: cli } }\nsteps: [{ use: a, run: x }]\n";
const root = "file:///work";
const uri = (name: string) => `${root}/pipelines/${name}`;

describe("the problems of pipeline files", () => {
  it("are told with the part that is wrong, and told again only when they change", () => {
    using looked = look();
    const { problems, told } = looked;
    problems.put(uri("a.yaml"), root, analyse("resources: {}\nsteps:\n  - use: shell\n", "a.yaml"));
    assert.deepEqual(told, [
      ["a.yaml", "2:9-2:14 there is no resource `shell`: the file has no `resources`"],
    ]);
    problems.put(uri("a.yaml"), root, analyse("resources: {}\nsteps:\n  - use: shell\n# more\n", "a.yaml"));
    assert.equal(told.length, 1);
    problems.put(uri("a.yaml"), root, analyse(good, "a.yaml"));
    assert.deepEqual(told.at(-1), ["a.yaml"]);
  });

  it("are told with the warnings of a file that runs, as warnings", () => {
    using looked = look();
    const text =
      'inputs: { key: }\nresources: { a: { type: cli } }\nsteps: [{ use: a, run: x, env: { TOKEN: "$\u007b{ inputs.key }}" } }]\n';
    looked.problems.put(uri("a.yaml"), root, analyse(text, "a.yaml"));
    assert.match(looked.told[0]?.[1] ?? "", /^warning 2:45-2:51 an input is shown/);
  });

  it("may change with a part that the file includes, or that one of its parts may, and with no other file", () => {
    const parts = new Map([
      ["parts/outer.yaml", "steps: [{ include: parts/inner.yaml }]\n"],
      ["parts/inner.yaml", good],
    ]);
    const readPart = (path: string) => ({ kind: "read", text: parts.get(path) ?? "" }) as const;
    const pathsOf = (text: string) => {
      const analysis = analyse(text, "a.yaml", { readPart });
      const paths = ["parts/outer.yaml", "parts/inner.yaml", "pipelines/b.yaml"];
      return [analysis.parsed.kind, ...paths.filter((path) => dependsOn(analysis, path))];
    };
    const including = "steps: [{ include: parts/outer.yaml }]\n";
    assert.deepEqual(pathsOf(good), ["valid"]);
    assert.deepEqual(pathsOf("steps: []\n"), ["invalid"]);
    assert.deepEqual(pathsOf(including), ["valid", "parts/outer.yaml", "parts/inner.yaml"]);
    parts.set("./parts/outer.yaml", parts.get("parts/outer.yaml") ?? "");
    assert.deepEqual(pathsOf(including.replace("parts", "./parts")).slice(0, 2), [
      "valid",
      "parts/outer.yaml",
    ]);
    parts.set("parts/inner.yaml", "steps: []\n");
    assert.deepEqual(pathsOf(including).slice(0, 3), ["invalid", "parts/outer.yaml", "parts/inner.yaml"]);
  });

  it("name both files that have one name, until one of them is gone", () => {
    using looked = look();
    const { problems, shown } = looked;
    const named = `name: b\n${good}`;
    problems.put(uri("a.yaml"), root, analyse(named, "a.yaml"));
    problems.put(uri("b.yaml"), root, analyse(good, "b.yaml"));
    problems.put("file:///other/pipelines/b.yaml", "file:///other", analyse(good, "b.yaml"));
    assert.match(
      shown.get(uri("a.yaml"))?.[0] ?? "",
      /another file has the name `b` as well \(pipelines\/b\.yaml\)/,
    );
    assert.match(shown.get(uri("b.yaml"))?.[0] ?? "", /pipelines\/a\.yaml/);
    assert.equal(shown.get("file:///other/pipelines/b.yaml"), undefined);
    problems.remove(uri("a.yaml"));
    assert.deepEqual([...shown.values()].flat(), []);
  });

  it("are told together where many files are read, each project looked through once", async () => {
    using looked = look();
    const { problems, told, changes } = looked;
    const names = Array.from({ length: 50 }, (_, index) => `${index}.yaml`);
    const reading = problems.inOneUpdate(async () => {
      for (const name of names) problems.put(uri(name), root, analyse(`name: b\n${good}`, name));
      assert.deepEqual([told, changes.count], [[], 0]);
      throw new Error("a folder can't be read");
    });
    await assert.rejects(reading, /can't be read/);
    assert.deepEqual([told.length, changes.count], [50, 1]);
    problems.remove(uri("0.yaml"));
    assert.equal(changes.count, 2);
  });

  it("are told of a part too, whose name another file may have", () => {
    using looked = look();
    const { problems, shown } = looked;
    problems.put(uri("a.yaml"), root, analyse(good, "a.yaml"));
    problems.put(`${root}/parts/a.yaml`, root, analyse(good, "a.yaml"), true);
    assert.deepEqual([...shown.values()].flat(), []);
    problems.put(`${root}/parts/a.yaml`, root, analyse("steps: []", "a.yaml"), true);
    assert.deepEqual(shown.get(`${root}/parts/a.yaml`), ["0:7-0:9 this list is empty"]);
    problems.remove(`${root}/parts/a.yaml`);
    assert.deepEqual([...shown.values()].flat(), []);
  });

  it("wait for a moment in which nothing is typed", () => {
    using looked = look();
    const { problems, told, clock } = looked;
    problems.typed(uri("a.yaml"), () => assert.fail("an older text was read"));
    problems.typed(uri("a.yaml"), () => problems.put(uri("a.yaml"), root, analyse("x", "a.yaml")));
    assert.deepEqual(told, []);
    clock.advance(1000);
    assert.equal(told.length, 1);
  });

  it("are read after the pause also when the file was read for another reason meanwhile", () => {
    using looked = look();
    const { problems, told, clock } = looked;
    problems.typed(uri("a.yaml"), () => problems.put(uri("a.yaml"), root, analyse(good, "a.yaml")));
    problems.put(uri("a.yaml"), root, analyse("x", "a.yaml"));
    problems.remove(uri("b.yaml"));
    clock.advance(1000);
    assert.deepEqual(told.at(-1), ["a.yaml"]);
  });

  it("are forgotten with the project that leaves the window", () => {
    using looked = look();
    const { problems, shown } = looked;
    problems.put(uri("a.yaml"), root, analyse("x", "a.yaml"));
    problems.keep(new Set(["file:///other"]));
    assert.deepEqual(shown.get(uri("a.yaml")), []);
    assert.equal(problems.files.size, 0);
  });

  it("tell of a file that can't be read", () => {
    const parsed = {
      kind: "invalid",
      problems: [{ message: "this is no plain file", line: 1, column: 1 }],
    } as const;
    using looked = look();
    looked.problems.put(uri("a.yaml"), root, analysisOf({ text: undefined, parsed }));
    assert.deepEqual(looked.told, [["a.yaml", "0:0-0:0 this is no plain file"]]);
  });

  it("stand where the editor counts them, behind a byte-order mark and Windows' line ends", () => {
    using looked = look();
    looked.problems.put(
      uri("a.yaml"),
      root,
      analyse("\uFEFFresources: {}\r\nsteps:\r\n  - use: b\r\n", "a.yaml"),
    );
    assert.match(looked.told[0]?.[1] ?? "", /^2:9-2:10 /);
  });
});

function look() {
  const told: string[][] = [];
  const shown = new Map<string, readonly string[]>();
  const clock = new FakeClock();
  const changes = { count: 0 };
  const problems = fileProblems({
    show: (address, found) => {
      const lines = found.map(line);
      told.push([address.split("/").at(-1) ?? "", ...lines]);
      shown.set(address, lines);
    },
    clock,
    onChange: () => {
      changes.count += 1;
    },
  });
  return { problems, told, shown, clock, changes, [Symbol.dispose]: () => problems.dispose() };
}

function line({ message, isWarning, from, to }: ShownProblem): string {
  return `${isWarning === true ? "warning " : ""}${from.line}:${from.character}-${to.line}:${to.character} ${message}`;
}
