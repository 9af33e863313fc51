import { Option } from "commander";
import { dataFolder } from "../../client/embedded/dataFolder.ts";
import type { Environment } from "../../client/environment.ts";
import { retentionDays } from "../../contract/limits.ts";
import { type Role, roles } from "../../contract/roles.ts";
import { keyName, name, type ToolCommand, wholeNumber } from "./command.ts";

/** The commands on this machine's own service and its keys. */
export function addServiceWords(program: ToolCommand, env: Environment): void {
  program
    .add("serve", {
      summary: "serve this machine's own service in the foreground",
      examples: [
        ["pipeline serve", "until Ctrl-C, at a free port"],
        ["pipeline serve --port 8080 --data-dir ./data", "at a port and with a folder of its own"],
      ],
    })
    .option("--port <n>", "the port on 127.0.0.1; 0 for any free one", wholeNumber(0, 65_535), 0)
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .option(
      "--retention-days <n>",
      `how many days logs and artifacts are kept (else PIPELINE_RETENTION_DAYS, else ${retentionDays.byDefault})`,
      wholeNumber(1, retentionDays.atMost),
    )
    .option("--allow-other-owner", "as root, also serve a data folder of another user")
    .does(async (tool, options: ServeFlags) => {
      const { serveInForeground } = await import("./serve.ts");
      return serveInForeground(tool, {
        port: options.port,
        folder: options.dataDir ?? dataFolder(env),
        otherOwner: options.allowOtherOwner === true ? "allowed" : "refused",
        retentionDays: options.retentionDays,
      });
    });

  program
    .add("backup", {
      summary: "back up the database of this machine's own service, also while it runs",
      examples: [["pipeline backup runs-copy.db", "a new file"]],
    })
    .argument("<file>", "the backup's file, which must not exist yet")
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .does(async (tool, options: BackupFlags, file: string) => {
      const { backup } = await import("./serve.ts");
      return backup(tool, { file, folder: options.dataDir ?? dataFolder(env) });
    });

  addKeyWords(program, env);
}

interface BackupFlags {
  readonly dataDir?: string;
}
interface ServeFlags {
  readonly port: number;
  readonly dataDir?: string;
  readonly retentionDays?: number;
  readonly allowOtherOwner?: true;
}

/** `pipeline keys …`: on the database of this machine's own service, whether or not it is running. */
function addKeyWords(program: ToolCommand, env: Environment): void {
  const keys = program.add("keys", {
    summary: "create, list and revoke API keys of this machine's own service",
    description:
      "Create, list and revoke API keys of this machine's own service, whether or not it is running. " +
      "To use the key of another service, see `pipeline login`.",
  });
  keys
    .add("create", {
      summary: "create a key, and the org if none has that name",
      description:
        "Create a key, and the org if none has that name. The key is printed on standard output, only this once.",
      examples: [
        ['pipeline keys create --role member --org Acme --name "CI"', "prints the key alone"],
        ["pipeline keys create --role owner --org Acme --json", "also its id and its org's"],
      ],
    })
    .addOption(new Option("--role <role>", "what the key may do").choices(roles).makeOptionMandatory())
    .requiredOption("--org <name>", "the name of the org", name)
    .option("--name <name>", "what the key is called, for example who uses it", keyName)
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .does(async (tool, options: CreateFlags) => {
      const { createKey } = await import("./keys.ts");
      const { role, org, name, dataDir } = options;
      return createKey(tool, { role, orgName: org, name, folder: dataDir ?? dataFolder(env) });
    });
  keys
    .add("list", {
      summary: "list the keys, also the revoked ones; never a secret",
      examples: [
        ["pipeline keys list --org Acme", "those of one org"],
        ["pipeline keys list --json", "with every field"],
      ],
    })
    .option("--org <name>", "only those of one org", name)
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .does(async (tool, options: ListFlags) => {
      const { listKeys } = await import("./keys.ts");
      return listKeys(tool, { orgName: options.org, folder: options.dataDir ?? dataFolder(env) });
    });
  keys
    .add("revoke", {
      summary: "revoke a key",
      description:
        "Revoke a key: connections that use it end within two seconds, and runs that it started continue. " +
        "Revoking a key again is not an error.",
      examples: [["pipeline keys revoke key_01kb3v9d2n5q8s1t4w7y0z3a6c", "by an id of `pipeline keys list`"]],
    })
    .argument("<id>", "the key's id, as `keys list` shows it")
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .does(async (tool, options: RevokeFlags, keyId: string) => {
      const { revokeKey } = await import("./keys.ts");
      return revokeKey(tool, { keyId, folder: options.dataDir ?? dataFolder(env) });
    });
}

interface CreateFlags {
  readonly role: Role;
  readonly org: string;
  readonly name?: string;
  readonly dataDir?: string;
}
interface ListFlags {
  readonly org?: string;
  readonly dataDir?: string;
}
interface RevokeFlags {
  readonly dataDir?: string;
}
