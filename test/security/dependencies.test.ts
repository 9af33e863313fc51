import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { execa } from "execa";
import * as z from "zod/mini";
import manifest from "../../package.json" with { type: "json" };
import { npmCommand, withoutScriptVariables } from "../../scripts/process/npm.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { textOf } from "../extension/projectTexts.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.optional(z.string()),
      integrity: z.optional(z.string()),
      resolved: z.optional(z.string()),
      link: z.optional(z.boolean()),
      hasInstallScript: z.optional(z.boolean()),
      deprecated: z.optional(z.string()),
    }),
  ),
});

/** The locked packages below a folder of this project, by their paths. */
function lockedIn(folder: string) {
  const { packages } = lockSchema.parse(JSON.parse(textOf(`${folder}package-lock.json`)));
  return Object.entries(packages).filter(([path]) => path !== "");
}

/** The project's own, and those of the programs that tests and benchmarks install when they need them. */
const folders = [
  "",
  "test/long/cli/inspector/",
  "test/editor/host/",
  "test/postgres/programs/",
  "bench/steps/peers/",
  "test/mysql/programs/",
  "test/objectStore/programs/",
] as const;

describe("the packages of others", () => {
  it("are none that is installed with the product", () => {
    for (const field of ["dependencies", "optionalDependencies", "peerDependencies", "bundleDependencies"]) {
      assert.ok(!(field in manifest), field);
    }
  });

  it("are asked for by one version each", () => {
    for (const [name, version] of Object.entries(manifest.devDependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name);
    }
  });

  for (const folder of folders) {
    it(`are locked by their contents, and come from the registry: ${folder}package-lock.json`, () => {
      const packages = lockedIn(folder);
      assert.ok(packages.length > 0);
      for (const [path, { integrity, resolved, link }] of packages) {
        // Stand-ins that lie in the repository itself.
        if (link === true || path.startsWith("stand-ins/")) continue;
        assert.match(integrity ?? "", /^sha512-[\w+/]{86}==$/, path);
        assert.equal(resolved, undefined, path);
      }
    });
  }

  it("run no script when they are installed, but for the one that brings this project's Node.js", () => {
    const { allowScripts } = manifest;
    const running = lockedIn("").filter(([, { hasInstallScript }]) => hasInstallScript === true);
    for (const [path] of running) assert.ok(path.replace("node_modules/", "") in allowScripts, path);
    const allowed = Object.entries(allowScripts).filter(([, isAllowed]) => isAllowed);
    assert.deepEqual(allowed, [["node", true]]);
  });

  it("run nothing at all when tests install them", () => {
    for (const folder of folders.slice(1)) {
      assert.match(textOf(`${folder}.npmrc`), /^ignore-scripts=true$/m, folder);
    }
  });

  it("are none that its maker has given up", () => {
    for (const [path, { deprecated }] of lockedIn("")) assert.equal(deprecated, undefined, path);
  });
});

describe("npm run audit", () => {
  /** What the script says beside a registry that answers so. */
  async function auditBeside(status: number, body: object) {
    const asked: string[] = [];
    const registry = createServer((request, response) => {
      asked.push(request.url ?? "");
      request.resume().on("end", () => response.writeHead(status).end(JSON.stringify(body)));
    });
    await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
    await using cache = await TemporaryFolder.make("audit");
    try {
      const { port } = registry.address() as AddressInfo;
      const [npm, ...leading] = npmCommand(process.env);
      const { exitCode } = await execa(npm, [...leading, "run", "--silent", "audit"], {
        cwd: projectRoot,
        env: {
          ...withoutScriptVariables(process.env),
          npm_config_registry: `http://127.0.0.1:${port}/`,
          npm_config_cache: cache.path,
          npm_config_fetch_retries: "0",
        },
        extendEnv: false,
        reject: false,
        stdin: "ignore",
      });
      return { exitCode, asked };
    } finally {
      registry.closeAllConnections();
      await new Promise((resolve) => registry.close(resolve));
    }
  }

  it("is content when the registry knows of nothing", async () => {
    const { exitCode, asked } = await auditBeside(200, {});
    assert.equal(exitCode, 0);
    assert.ok(asked.some((url) => url.includes("advisories")));
  });

  it("fails on a known weakness of whatever weight", async () => {
    const severities = ["low", "critical"];
    for (const severity of severities) {
      const advisory = { id: 1, url: "", title: "t", severity, vulnerable_versions: "*", cwe: [] };
      assert.equal((await auditBeside(200, { hono: [advisory] })).exitCode, 1, severity);
    }
  });

  it("fails when the registry doesn't tell", async () => {
    assert.notEqual((await auditBeside(405, {})).exitCode, 0);
  });
});
