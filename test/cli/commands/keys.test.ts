import assert from "node:assert/strict";
import { readConnection } from "../../../src/machine/connectionFile.ts";
import { toolbox, written } from "../toolbox.ts";

type Tool = Awaited<ReturnType<typeof toolbox>>;

async function json(tool: Tool, ...args: string[]) {
  const { exitCode, stdout, stderr } = await tool.call([...args, "--json"]);
  return { exitCode, told: JSON.parse(stdout), stderr };
}

describe("pipeline keys", () => {
  it("lists what it has made and revokes it, beside a running service, which then turns the key away", async () => {
    await using tool = await toolbox();
    const serving = tool.spawn(["serve"]);
    await written(serving.stdout, /Serving at/);
    const { url = "" } = (await readConnection(tool.data)) ?? {};
    const made = await json(tool, "keys", "create", "--role", "member", "--org", "Acme", "--name", "CI");
    assert.deepEqual(Object.keys(made.told), ["ok", "command", "org-id", "key-id", "role", "api-key"]);
    const { "key-id": keyId, "org-id": orgId, "api-key": secret } = made.told;

    const listed = await json(tool, "keys", "list", "--org", "Acme");
    assert.equal(listed.exitCode, 0);
    const [key, ...others] = listed.told.keys;
    assert.deepEqual(others, []);
    const { "created-at": createdAt, ...rest } = key;
    assert.match(createdAt, /^\d{4}-.*Z$/);
    assert.deepEqual(rest, {
      "key-id": keyId,
      name: "CI",
      role: "member",
      "org-id": orgId,
      "org-name": "Acme",
      "is-machine": false,
    });
    const all = await tool.run(["keys", "list"]);
    assert.equal(all.stdout.split("\n").length, 2);
    assert.match(all.stdout, /This machine \(editor and terminal\)/);
    assert(!all.stdout.includes(secret.slice(-43)));

    const headers = { "x-api-key": secret };
    const stream = await fetch(`${url}/api/events`, { headers });
    assert.equal(stream.status, 200);
    const revoked = await json(tool, "keys", "revoke", keyId);
    assert.equal(revoked.exitCode, 0);
    assert.equal(revoked.told.command, "keys revoke");
    assert.equal(revoked.told["key-id"], keyId);
    // The service was told by nobody, and ends the stream all the same.
    await stream.text();
    assert.equal((await fetch(`${url}/api/org`, { headers })).status, 401);
    const again = await json(tool, "keys", "revoke", keyId);
    assert.deepEqual(again.told, revoked.told);
    assert.match((await tool.call(["keys", "list", "--org", "Acme"])).stdout, /revoked \d{4}-/);
    serving.kill("SIGTERM");
    await serving;
  });

  it("keeps an org its last owner key and this machine its own, with what to do: exit code 2", async () => {
    await using tool = await toolbox();
    const { told } = await json(tool, "keys", "create", "--role", "owner", "--org", "Acme");
    const last = await json(tool, "keys", "revoke", told["key-id"]);
    assert.equal(last.exitCode, 2);
    assert.equal(last.told.ok, false);
    assert.equal(last.told.error.type, "conflict");
    assert.match(last.told.error.message, /another owner key/);
    const none = await tool.call(["keys", "revoke", "key_none"]);
    assert.equal(none.exitCode, 2);
    assert.match(none.stderr, /no key `key_none`[\s\S]*keys list/);

    assert.equal((await tool.call(["org"])).exitCode, 0);
    const { keys } = (await json(tool, "keys", "list", "--org", "This machine")).told;
    const machines = await tool.call(["keys", "revoke", keys[0]["key-id"]]);
    assert.equal(machines.exitCode, 2);
    assert.match(machines.stderr, /can't be revoked[\s\S]*start/);
  });

  it("says so when there are none, and where it looked, also when another service is in use", async () => {
    await using tool = await toolbox();
    const { exitCode, stdout, stderr } = await tool.call(["keys", "list"]);
    assert.equal(exitCode, 0);
    assert.equal(stdout, "");
    assert.equal(stderr, `No keys yet in ${tool.data}.`);
    const named = { PIPELINE_BASE_URL: "http://127.0.0.1:9", PIPELINE_API_KEY: "plk_some_key" };
    assert.match(
      (await tool.call(["keys", "list"], named)).stderr,
      /keys of this machine's own service, not/,
    );
    assert.deepEqual((await json(tool, "keys", "list")).told.keys, []);
  });

  it("makes a key of the only org where none is named, and asks which where there are several", async () => {
    await using tool = await toolbox();
    const create = (...args: string[]) => json(tool, "keys", "create", "--role", "member", ...args);
    const none = await create();
    assert.equal(none.exitCode, 2);
    assert.match(none.told.error.message, /no org yet[\s\S]*keys create --org/);
    const first = await create("--org", "Acme");
    assert.equal((await create()).told["org-id"], first.told["org-id"]);
    await create("--org", "Lamps");
    const said = async (org: string) =>
      (await tool.call(["keys", "create", "--role", "member", "--org", org])).stderr;
    assert.match(await said("Lamps"), /, member of Lamps\. This/);
    assert.match(await said("lamps"), /, member of lamps, a new org\. This/, "a name has its own letters");
    const unclear = await create();
    assert.equal(unclear.exitCode, 2);
    assert.match(unclear.told.error.message, /several orgs[\s\S]*--org/);
    assert.equal((await json(tool, "keys", "list")).told.keys.length, 5);
  });

  it("refuses a name that can't be shown: exit code 2", async () => {
    await using tool = await toolbox();
    for (const name of ["", "a\nb", "x".repeat(101)]) {
      const { exitCode } = await tool.call([
        "keys",
        "create",
        "--role",
        "viewer",
        "--org",
        "A",
        "--name",
        name,
      ]);
      assert.equal(exitCode, 2);
    }
    assert.equal((await tool.call(["keys", "list"])).stdout, "");
  });
});
