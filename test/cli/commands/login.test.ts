import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { execa } from "execa";
import { outputsJsonSchema } from "../../../scripts/build/outputsSchema.ts";
import { type Asked, LoopbackService, orgOnWire, sendError, sendJson } from "../../client/loopbackService.ts";
import { itOn } from "../../itOn.ts";
import { toolPath } from "../../service/programs.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { toolbox, written } from "../toolbox.ts";

const apiKey = `plr_the-key-of-this-test-${"k".repeat(20)}`;

/** Knows one key. */
function answer({ headers, path }: Asked, response: ServerResponse): void {
  if (path !== "/api/org") sendError(response, 404, "not-found");
  else if (headers["x-api-key"] !== apiKey) sendError(response, 401, "unauthorized", "No such key.");
  else sendJson(response, 200, orgOnWire);
}

/** The tool with a folder for its logins, and a service to log in to. */
async function desk(answering = answer) {
  const tool = await toolbox();
  const service = await LoopbackService.listen(answering);
  const config = await TemporaryFolder.make();
  const env: Record<string, string | undefined> = { PIPELINE_CONFIG_DIR: config.path };
  return {
    tool,
    service,
    url: service.origin,
    config: config.path,
    env,
    /** Runs the tool; nothing that it has ever shown may hold the key. */
    async run(args: readonly string[], input = "", more: Record<string, string | undefined> = {}) {
      const named = { ...env, ...more };
      // What reads its standard input is a process of its own.
      const { exitCode, stdout, stderr } =
        args[0] === "login"
          ? await execa(process.execPath, [toolPath, ...args], {
              env: { ...tool.env, ...named },
              reject: false,
              input,
            })
          : await tool.call(args, named);
      assert(!`${stdout}${stderr}`.includes(apiKey), "the key was shown");
      return { exitCode, stdout, stderr };
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await tool[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
    },
  };
}

describe("pipeline login", () => {
  it("keeps a key that the service accepts, and that service is used until the logout", async () => {
    await using at = await desk();
    const { exitCode, stdout, stderr } = await at.run(
      ["login", at.url, "--json"],
      `\ufeff ${apiKey}\r\nand more`,
    );
    assert.equal(exitCode, 0, stderr);
    const { file, ...told } = JSON.parse(stdout);
    const ajv = new Ajv2020({ allErrors: true, strict: false });
    addFormats.default(ajv);
    ajv.addSchema(outputsJsonSchema(), "outputs");
    assert(ajv.validate("outputs#/$defs/login", JSON.parse(stdout)), ajv.errorsText());
    assert.deepEqual(told, {
      ok: true,
      command: "login",
      "base-url": `${at.url}/`,
      "org-id": "org_1",
      "org-name": "Lamps",
      tier: "free",
      "key-id": "key_1",
      warnings: [],
    });
    assert((await readFile(file, "utf8")).includes(apiKey));
    if (process.platform !== "win32") assert.equal((await stat(file)).mode & 0o777, 0o600);

    const org = await at.run(["org"]);
    assert.equal(org.exitCode, 0);
    assert.match(org.stdout, /Lamps \(org_1\)/);
    assert.match((await at.run(["logins"])).stderr, /Commands use http.*, to which you have logged in\./);

    const out = await at.run(["logout", "--json"]);
    assert.deepEqual(JSON.parse(out.stdout), {
      ok: true,
      command: "logout",
      origins: [at.url],
      warnings: [],
    });
    assert.match((await at.run(["org"])).stdout, /This machine/);
    const again = await at.run(["logout"]);
    assert.deepEqual([again.exitCode, again.stdout], [0, "Not logged in."]);
    assert.deepEqual(await readdir(join(at.config, "logins")), []);
  });

  it("keeps no key that is refused, or that could not be tried: exit codes 3 and 4", async () => {
    await using at = await desk();
    const refused = await at.run(["login", at.url], "plr_wrong");
    assert.equal(refused.exitCode, 3);
    assert.match(
      refused.stderr,
      /No such key\. The key was not saved\.\nCheck the key, then try again: `pipeline login http/,
    );
    assert(!refused.stderr.includes("plr_wrong"));
    await at.service[Symbol.asyncDispose]();
    const gone = await at.run(["login", at.url], apiKey);
    assert.equal(gone.exitCode, 4);
    assert.match(gone.stderr, /refused\. The key was not saved\./);
    assert.deepEqual(await readdir(at.config), []);
  });

  it("sends nothing in clear text to another machine, and nothing without a key: exit code 2", async () => {
    await using at = await desk();
    const clear = await at.run(["login", "http://pipelines.example.com"], apiKey);
    assert.equal(clear.exitCode, 2);
    assert.match(clear.stderr, /in clear text/);
    for (const input of ["", "\n", "  \nsecond line"]) {
      const { exitCode, stderr } = await at.run(["login", at.url], input);
      assert.equal(exitCode, 2);
      assert.match(stderr, /No API key was entered/);
    }
    const long = await at.run(["login", at.url], "k".repeat(100_000));
    assert.equal(long.exitCode, 2);
    assert.match(long.stderr, /longer than 8192 characters/);
    const nowhere = await at.run(["login"], apiKey);
    assert.equal(nowhere.exitCode, 2);
    assert.match(nowhere.stderr, /no service to log in to\.\nName it/);
    assert.deepEqual(at.service.asked, []);
  });

  it("repeats no key that stands in the command line by mistake: exit code 2", async () => {
    await using tool = await toolbox();
    const { exitCode, stdout, stderr } = await tool.run([
      "login",
      "https://cloud.example",
      "plr_by_mistake",
      "--json",
    ]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /the key is asked for/);
    assert.equal(JSON.parse(stdout).error.type, "usage");
    assert(!`${stdout}${stderr}`.includes("by_mistake"));
  });

  it("leaves a key that works as it was when another is refused", async () => {
    await using at = await desk();
    await at.run(["login", at.url], apiKey);
    assert.equal((await at.run(["login", at.url], "plr_wrong")).exitCode, 3);
    assert.equal((await at.run(["org"])).exitCode, 0);
  });

  it("comes after the environment, and says so", async () => {
    await using at = await desk();
    await using other = await LoopbackService.listen(answer);
    const named = { PIPELINE_BASE_URL: other.origin };
    const { stderr } = await at.run(["login", at.url], apiKey, named);
    assert.match(stderr, /warning: PIPELINE_BASE_URL is set, so commands don't use this login\./);
    // The other service is asked with no key at all: this one was not entered for it.
    const org = await at.run(["org"], "", named);
    assert.equal(org.exitCode, 3);
    assert.match(org.stderr, /there is no API key for it\.\nLog in with `pipeline login http/);
    assert.deepEqual(other.asked, []);
    const both = { ...named, PIPELINE_API_KEY: "plr_another" };
    assert.match(
      (await at.run(["org"], "", both)).stderr,
      /No such key\.\nSet PIPELINE_API_KEY to a key that 127/,
    );
    assert.equal((await at.run(["org"], "", { PIPELINE_API_KEY: "plr_another" })).exitCode, 2);
    // Named by the environment, the service that was logged in to still has its key.
    assert.equal((await at.run(["org"], "", { PIPELINE_BASE_URL: at.url })).exitCode, 0);
  });

  it("says how to log in again once the key is refused", async () => {
    let isRevoked = false;
    await using at = await desk((asked, response) => {
      if (isRevoked) sendError(response, 401, "unauthorized", `The key ${apiKey} was revoked.`);
      else answer(asked, response);
    });
    await at.run(["login", at.url], apiKey);
    isRevoked = true;
    for (const command of [["org"], ["runs", "list"], ["runs", "cancel", "run_1"], ["page"]]) {
      const { exitCode, stderr } = await at.run(command);
      assert.equal(exitCode, 3);
      assert(
        stderr.endsWith(`The key (the API key) was revoked.\nLog in again: \`pipeline login ${at.url}/\`.`),
      );
    }
  });

  it("to several services: `logins` lists them, `logout --all` forgets them", async () => {
    await using at = await desk();
    await using other = await LoopbackService.listen(answer);
    await at.run(["login", other.origin], apiKey);
    await at.run(["login", at.url], apiKey);
    await writeFile(join(at.config, "logins", "https%3A%2F%2Fbroken.example.json"), "{", { mode: 0o600 });
    const { stdout, stderr } = await at.run(["logins", "--json"]);
    const { logins, "in-use": inUse, warnings } = JSON.parse(stdout);
    assert.deepEqual(inUse, { because: "login", "base-url": `${at.url}/` });
    assert.deepEqual(
      logins
        .map(({ "base-url": url, "is-current": isCurrent }: Record<string, unknown>) => [url, isCurrent])
        .sort(),
      [
        [`${at.url}/`, true],
        [`${other.origin}/`, false],
      ].sort(),
    );
    assert.equal(warnings.length, 1);
    assert.match(stderr, /broken\.example/);
    const out = await at.run(["logout", "--all"]);
    assert.equal(out.exitCode, 0);
    assert.equal(out.stdout.split("\n").length, 3);
    assert.deepEqual(await readdir(join(at.config, "logins")), []);
    assert.match((await at.run(["logins"])).stderr, /this machine's own service/);
  });

  it("whose file is broken is an error of its own, and `logout --all` mends it", async () => {
    await using at = await desk();
    const folder = join(at.config, "logins");
    await mkdir(join(folder, "current.json"), { recursive: true, mode: 0o700 });
    const { exitCode, stdout, stderr } = await at.run(["org"]);
    assert.deepEqual([exitCode, stdout], [3, ""]);
    assert.match(stderr, /^pipeline: The login file .*current\.json is not a file\.\nRemove it/);
    assert.equal((await at.run(["logout", "--all"])).exitCode, 0);
    assert.deepEqual(await readdir(folder), []);
  });

  it("whose key an earlier version left to a keychain is to be made again: exit code 3", async () => {
    await using at = await desk();
    await at.run(["login", at.url], apiKey);
    const file = join(at.config, "logins", `${encodeURIComponent(at.url)}.json`);
    const { kept: _, ...before } = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...before, kept: { "kept-in": "keychain" } }));
    const again = "Remove it, then log in again with `pipeline login`.";
    const { exitCode, stderr } = await at.run(["org"]);
    assert.deepEqual(
      [exitCode, stderr],
      [3, `pipeline: The login file ${file} is no login to ${at.url}.\n${again}`],
    );
    assert((await at.run(["logins"])).stderr.includes(again));
    assert.equal((await at.run(["login", at.url], apiKey)).exitCode, 0);
    assert.equal((await at.run(["org"])).exitCode, 0);
  });

  describe("at a terminal", () => {
    /** The tool in a pseudo-terminal, by `script`: what it shows comes out, what is typed goes in. */
    function atTerminal(at: Awaited<ReturnType<typeof desk>>, command: string) {
      const line = command.replace("pipeline", `'${process.execPath}' '${toolPath}'`);
      const shell = execa("script", ["-qec", `${line}; echo "code $?"; stty -a`, "/dev/null"], {
        env: { PIPELINE_BASE_URL: undefined, PIPELINE_API_KEY: undefined, SHELL: "/bin/sh", ...at.env },
        reject: false,
      });
      return {
        asked: written(shell.stdout, /it is not shown\): $/),
        shell,
        /** Types, and waits for the end. @returns all that was shown. */
        async types(text: string): Promise<string> {
          shell.stdin.write(text);
          const { stdout } = await shell;
          assert(!stdout.includes(apiKey), "the key was shown");
          assert.match(stdout, /[^-]icanon[\s\S]*[^-]echo /, "the terminal was not given back");
          return stdout;
        },
      };
    }

    itOn("linux", "reads the key without showing it, and gives the terminal back", async () => {
      await using at = await desk();
      const terminal = atTerminal(at, `pipeline login ${at.url}`);
      await terminal.asked;
      const shown = await terminal.types(`wrong\u0015\u001b[200~${apiKey}x\u001b[201~\u007f\r`);
      assert.match(shown, /API key for http:\/\/127\.0\.0\.1:\d+ \(it is not shown\): \r?\nLogged in to/);
      assert.match(shown, /code 0/);
    });

    itOn("linux", "asks for the service too, where none is named", async () => {
      await using at = await desk();
      const terminal = atTerminal(at, "pipeline login");
      await written(terminal.shell.stdout, /Base URL of the service: $/);
      terminal.shell.stdin.write(`${at.url}\r`);
      await terminal.asked;
      assert.match(await terminal.types(`${apiKey}\r`), /Logged in to[\s\S]*code 0/);
    });

    itOn("linux", "ends with exit code 130 at Ctrl-C, having kept nothing", async () => {
      await using at = await desk();
      const terminal = atTerminal(at, `pipeline login ${at.url}`);
      await terminal.asked;
      assert.match(await terminal.types(`${apiKey}\u0003`), /interrupted[\s\S]*code 130/);
      assert.deepEqual(at.service.asked, []);
      assert.deepEqual(await readdir(at.config), []);
    });

    itOn("linux", "ends with exit code 2 at Ctrl-D before anything was typed", async () => {
      await using at = await desk();
      const terminal = atTerminal(at, `pipeline login ${at.url}`);
      await terminal.asked;
      assert.match(await terminal.types("\u0004"), /No API key was entered[\s\S]*code 2/);
    });
  });
});
