import assert from "node:assert/strict";
import { chown, mkdir } from "node:fs/promises";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { programPipeline } from "../../service/startedService.ts";
import { toolbox, written } from "../toolbox.ts";

describe("pipeline serve and keys create", () => {
  it("print what the contract has, and make an org that the tool can use", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve", "--port", "0", "--json"]);
    await written(serving.stdout, /\n/);
    const connection = await readConnection(tool.data);
    assert(connection !== undefined);
    const made = await tool.run(["keys", "create", "--role", "member", "--org", "Acme", "--json"]);
    assert.equal(made.exitCode, 0, made.stderr);
    const key = JSON.parse(made.stdout);
    assert.deepEqual(Object.keys(key), ["ok", "command", "org-id", "key-id", "role", "api-key"]);
    assert.equal(key.command, "keys create");
    assert.equal(key.role, "member");

    const named = { PIPELINE_BASE_URL: connection.url, PIPELINE_API_KEY: key["api-key"] };
    await tool.write("hello", programPipeline(""));
    assert.equal((await tool.call(["run", "hello"], named)).exitCode, 0);
    const org = JSON.parse((await tool.call(["org", "--json"], named)).stdout);
    assert.equal(org["org-name"], "Acme");
    assert.equal(org.actor, key["key-id"]);
    assert.equal(org.usage["runs-today"], 1);
    // Another key of the same org shares the day's count.
    const second = JSON.parse(
      (await tool.call(["keys", "create", "--role", "viewer", "--org", "Acme", "--json"])).stdout,
    );
    assert.equal(second["org-id"], key["org-id"]);
    const viewer = { ...named, PIPELINE_API_KEY: second["api-key"] };
    const refused = await tool.call(["run", "hello"], viewer);
    assert.equal(refused.exitCode, 3);

    serving.kill("SIGINT");
    const { exitCode, stdout } = await serving;
    assert.equal(exitCode, 0);
    assert.deepEqual(JSON.parse(stdout.split("\n")[0] ?? ""), {
      ok: true,
      command: "serve",
      url: connection.url,
      pid: serving.pid,
    });
    assert.equal(await readConnection(tool.data), undefined);
  });

  // Only root can make what is another user's.
  if (process.getuid?.() === 0) {
    it("refuses root another user's folder, in the foreground and on demand, until root says otherwise", async () => {
      await using tool = await toolbox();
      await mkdir(tool.data, { recursive: true });
      await chown(tool.data, 65_534, 65_534);
      for (const command of [["serve"], ["org"]]) {
        const refused = await tool.call(command);
        assert.equal(refused.exitCode, 4);
        assert.match(refused.stderr, /belongs to another user.*pipeline serve --allow-other-owner/s);
      }
      const serving = tool.spawn(["serve", "--allow-other-owner"]);
      await written(serving.stdout, /Serving at/);
      assert.equal((await tool.call(["org"])).exitCode, 0);
      assert.equal((await tool.call(["keys", "create", "--role", "member", "--org", "Acme"])).exitCode, 0);
      serving.kill("SIGTERM");
      assert.equal((await serving).exitCode, 0);
    });
  }

  it("refuses to serve a folder twice, naming who does", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const second = await tool.call(["serve"]);
    assert.equal(second.exitCode, 2);
    assert.match(
      second.stderr,
      new RegExp(`already being served at http://127\\.0\\.0\\.1:\\d+ \\(process ${serving.pid}\\)`),
    );
    serving.kill("SIGTERM");
    await serving;
  });

  it("refuses --host for this machine's own service, which listens on loopback alone", async () => {
    await using tool = await toolbox();
    const { exitCode, stdout, stderr } = await tool.call(["serve", "--host", "0.0.0.0"]);
    assert.deepEqual([exitCode, stdout], [2, ""]);
    assert.match(
      stderr,
      /^pipeline: --host is for --database only\.\nThis machine's own service listens on 127\.0\.0\.1/,
    );
  });

  it("refuses --object-store for this machine's own service, and what names none", async () => {
    await using tool = await toolbox();
    const own = await tool.call(["serve", "--object-store", "s3://runs"]);
    assert.deepEqual([own.exitCode, own.stdout], [2, ""]);
    assert.match(
      own.stderr,
      /^pipeline: --object-store is for --database only\.\nThis machine's own service keeps/,
    );
    const database = ["serve", "--database", "postgres://127.0.0.1:1/runs", "--object-store"];
    const wrong = await tool.call([...database, "https://s3.example.com/runs"]);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stderr, /names no object store\.\nWrite it as --object-store s3:\/\/bucket/);
    const keyless = await tool.call([...database, "s3://runs"], { AWS_ACCESS_KEY_ID: "" });
    assert.equal(keyless.exitCode, 2);
    assert.match(keyless.stderr, /key is missing\.\nSet AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY\./);
  });

  it("takes for how many days logs and artifacts are kept, and nothing that is no such number", async () => {
    await using tool = await toolbox();
    const wrong = await tool.call(["serve", "--retention-days", "0"]);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.stderr, /--retention-days.*from 1 to 3650/);
    const wrongVariable = await tool.call(["serve"], { PIPELINE_RETENTION_DAYS: "soon" });
    assert.equal(wrongVariable.exitCode, 2);
    assert.match(wrongVariable.stderr, /PIPELINE_RETENTION_DAYS is `soon`[\s\S]*from 1 to 3650/);
    const serving = tool.spawn(["serve", "--retention-days", "30"], { PIPELINE_RETENTION_DAYS: "soon" });
    await written(serving.stdout, /Serving at/);
    serving.kill("SIGTERM");
    assert.equal((await serving).exitCode, 0);
  });

  it("says so when the port is taken", async () => {
    await using tool = await toolbox();
    await using other = await LoopbackService.listen((_, response) => void response.writeHead(200).end(""));
    const { exitCode, stderr } = await tool.call(["serve", "--port", String(other.port)]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /another program uses it[\s\S]*--port/);
  });
});
