import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { outputsJsonSchema } from "../../../scripts/build/outputsSchema.ts";
import { programPipeline } from "../../service/startedService.ts";
import { servedToolbox } from "../toolbox.ts";

/** Checks what a command printed against the shape of a name, which is its words, `failure` or `refusal`. */
function checker(): (name: string, printed: string) => void {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  addFormats.default(ajv);
  ajv.addSchema(outputsJsonSchema(), "outputs");
  return (name, printed) => {
    const check = ajv.getSchema(`outputs#/$defs/${encodeURIComponent(name)}`);
    assert(check !== undefined, `there is no shape of ${name}`);
    assert(check(JSON.parse(printed)), `${name}: ${ajv.errorsText(check.errors)} in ${printed}`);
  };
}

describe("what --json prints", () => {
  it("has the documented shape", async () => {
    await using tool = await servedToolbox();
    await tool.write("hello", programPipeline(""));
    const check = checker();
    const told = async (name: string, ...args: string[]) => {
      // One that reads standard input is a process of its own.
      const start = args[0] === "login" ? tool.run : tool.call;
      const { stdout } = await start([...args, "--json"]);
      check(name, stdout);
      return JSON.parse(stdout);
    };
    await told("org", "org");
    await told("run", "run", "hello");
    await told("run", "run", "hello", "--dry-run");
    await told("runs list", "runs", "list");
    await told("runs show", "runs", "show");
    await told("runs log", "runs", "log");
    await told("runs cancel", "runs", "cancel", "--mine");
    await told("pipelines", "pipelines");
    await told("validate", "validate");
    await told("completion", "completion", "bash");
    await told("page", "page");
    await told("backup", "backup", "copy.db");
    const made = await told("keys create", "keys", "create", "--role", "member", "--org", "Acme");
    await told("keys list", "keys", "list");
    await told("keys revoke", "keys", "revoke", made["key-id"]);
    await told("orgs list", "orgs", "list");
    await told("orgs set", "orgs", "set", "--org", "Acme", "--runs-per-day", "60");
    await told("logins", "logins");
    await told("logout", "logout");
    await told("failure", "login", "https://pipelines.example.com");
    await told("failure", "runs", "cancel", "run_1");
    await told("failure", "run", "nope");
    await told("failure", "runs");
    await tool.write("broken", "steps: 1\n");
    const { files } = await told("failure", "validate");
    assert.equal(files.length, 2);
    await told("service where", "service", "where");
    await told("service status", "service", "status");
    await told("service stop", "service", "stop");
    await told("service status", "service", "status");
  });
});
