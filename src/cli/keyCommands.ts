import { type Command, Option } from "commander";
import { dataFolder } from "../client/embedded/dataFolder.ts";
import { type Role, roles } from "../contract/role.ts";
import { asked, type JsonFlag, keyName, name } from "./arguments.ts";
import type { ProgramDeps } from "./program.ts";

/** `pipeline keys …`: they work on the database of this machine's own service, beside it or without it. */
export function addKeyCommands(
  program: Command,
  env: ProgramDeps["env"],
  perform: ProgramDeps["perform"],
): void {
  const keys = program
    .command("keys")
    .summary("make, list and revoke API keys of this machine's own service");
  keys
    .command("create")
    .summary("make a key, and the org when there is none of that name")
    .addOption(new Option("--role <role>", "what the key may do").choices(roles).makeOptionMandatory())
    .requiredOption("--org <name>", "the name of the org", name)
    .option("--name <name>", "what the key is called, for example who uses it", keyName)
    .option("--data-dir <folder>", "where the service's data is kept")
    .option("--json", "print one JSON object")
    .action((options: KeyFlags) =>
      perform("keys create", asked(options), async (tool) => {
        const { createKey } = await import("./commands/createKey.ts");
        const { role, org, name, dataDir } = options;
        return createKey(tool, { role, orgName: org, name, folder: dataDir ?? dataFolder(env) });
      }),
    );
  keys
    .command("list")
    .summary("list the keys, also the revoked ones; never a secret")
    .option("--org <name>", "only those of one org", name)
    .option("--data-dir <folder>", "where the service's data is kept")
    .option("--json", "print one JSON object")
    .action((options: KeyListFlags) =>
      perform("keys list", asked(options), async (tool) => {
        const { listKeys } = await import("./commands/listKeys.ts");
        return listKeys(tool, { orgName: options.org, folder: options.dataDir ?? dataFolder(env) });
      }),
    );
  keys
    .command("revoke")
    .summary("make a key open nothing any more")
    .argument("<id>", "the key's id, as `keys list` shows it")
    .option("--data-dir <folder>", "where the service's data is kept")
    .option("--json", "print one JSON object")
    .action((keyId: string, options: KeyRevokeFlags) =>
      perform("keys revoke", asked(options), async (tool) => {
        const { revokeKey } = await import("./commands/revokeKey.ts");
        return revokeKey(tool, { keyId, folder: options.dataDir ?? dataFolder(env) });
      }),
    );
}

interface KeyFlags extends JsonFlag {
  readonly role: Role;
  readonly org: string;
  readonly name?: string;
  readonly dataDir?: string;
}
interface KeyListFlags extends JsonFlag {
  readonly org?: string;
  readonly dataDir?: string;
}
interface KeyRevokeFlags extends JsonFlag {
  readonly dataDir?: string;
}
