import assert from "node:assert/strict";
import { homedir, hostname } from "node:os";
import { execa } from "execa";
import manifest from "../../../package.json" with { type: "json" };
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { itOn } from "../../itOn.ts";
import { type Contents, contentsOfTool, contentsOfVsix } from "../../security/shipped.ts";

describe("what people install", () => {
  let shipped: ReadonlyMap<string, Contents>;

  before(async () => {
    shipped = new Map([
      ["the extension", await contentsOfVsix()],
      ["the npm package", await contentsOfTool()],
    ]);
  });

  /** Every file that holds one of the texts. */
  const holding = (...texts: readonly (string | RegExp)[]): string[] => {
    const found: string[] = [];
    for (const [name, contents] of shipped) {
      for (const [file, bytes] of contents) {
        const text = bytes.toString("latin1");
        if (texts.some((each) => (typeof each === "string" ? text.includes(each) : each.test(text)))) {
          found.push(`${name}: ${file}`);
        }
      }
    }
    return found;
  };

  it("is read whole: each package has its programs, and a text of theirs is found in each", () => {
    for (const [name, contents] of shipped) assert.ok(contents.size > 30, `${name}: ${contents.size} files`);
    const found = holding("PIPELINE_DATA_DIR");
    for (const name of shipped.keys())
      assert.ok(
        found.some((place) => place.startsWith(name)),
        name,
      );
  });

  it("holds no path and no name of the machine that it was made on", () => {
    const names = [projectRoot, homedir(), process.cwd()].filter((name) => name.length > 5);
    assert.deepEqual(holding(...names, `@${hostname()}`), []);
  });

  it("holds nothing of the environment in which it was made", () => {
    const values = Object.entries(process.env).flatMap(([name, value = ""]) =>
      /key|token|secret|passw|auth|registry/i.test(name) && value.length >= 12 ? [value] : [],
    );
    assert.deepEqual(holding(...values), []);
  });

  it("holds no key, of this service or of the usual kinds", () => {
    assert.deepEqual(
      holding(
        /plr_[0-9a-z]{26}_[\w-]{43}/,
        /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\r?\n[\w+/=]/,
        /\bghp_\w{36}\b|\bnpm_\w{36}\b|\bAKIA[A-Z0-9]{16}\b/,
      ),
      [],
    );
  });

  it("holds no source map, no sources, no tests, and leads to no map", () => {
    for (const [name, contents] of shipped) {
      for (const file of contents.keys()) {
        assert.doesNotMatch(
          file,
          /\.map$|\.ts$|\.env|(^|\/)(src|test|node_modules|\.git)\//,
          `${name}: ${file}`,
        );
      }
    }
    assert.deepEqual(holding(/^\/[/*]# sourceMappingURL=\S+\.map/m), []);
  });

  itOn("posix", "holds only files that its user can change and nobody else", async () => {
    const packed = `${projectRoot}/dist-npm/pipeline-runs-${manifest.version}.tgz`;
    const { stdout } = await execa("tar", ["-tvzf", packed]);
    for (const line of stdout.split("\n")) assert.match(line, /^-rw[x-]r-[x-]r-[x-] /, line);
  });
});
