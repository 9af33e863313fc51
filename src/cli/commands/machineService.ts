import { Option } from "commander";
import { roles } from "../../contract/keys.ts";
import { mostOfOrg, mostSlots, retentionDays } from "../../contract/limits.ts";
import { loadService } from "../tool.ts";
import { keyName, name, path, type ToolCommand, wholeNumber } from "./command.ts";

/** The commands on this machine's own service, its keys and its orgs. */
export function addServiceCommands(program: ToolCommand): void {
  program
    .add("serve", {
      summary: "serve this machine's own service, or a server of one for many machines, in the foreground",
      examples: [
        ["pipeline serve", "until Ctrl-C, at a free port"],
        ["pipeline serve --port 8080 --data-dir ./data", "at a port and with a folder of its own"],
        ["pipeline serve --database postgres://db/runs --port 8080", "one server of many, for a team"],
      ],
    })
    .option("--port <n>", "the port; 0 for any free one", wholeNumber(0, 65_535), 0)
    .addOption(databaseOption)
    .option("--host <address>", "with --database: the address to listen on (else 127.0.0.1)")
    .option(
      "--object-store <url>",
      "with --database: s3://bucket[/prefix], where logs and artifacts of ended runs are moved; the AWS_ variables have its key",
    )
    .addOption(dataDirOption)
    .option(
      "--retention-days <n>",
      `how many days logs and artifacts are kept (else PIPELINE_RETENTION_DAYS, else ${retentionDays.byDefault})`,
      wholeNumber(1, retentionDays.atMost),
    )
    .option("--allow-other-owner", "as root, also serve a data folder of another user")
    .does(() => loadService(async () => (await import("./serve.ts")).serveInForeground));

  program
    .add("runner", {
      summary: "run on this machine what a service for many machines has for it",
      description:
        "Run on this machine what a service for many machines has for it. The key, of the role runner, is that of " +
        "PIPELINE_API_KEY or of the login. The first Ctrl-C or SIGTERM lets the runs come to their end, the second ends them.",
      examples: [
        ["pipeline runner --service https://runs.example", "one run at a time, until Ctrl-C"],
        ["pipeline runner --service https://runs.example --slots 4 --label big-1", "up to four at a time"],
      ],
    })
    .requiredOption("--service <url>", "the service's base URL")
    .option("--slots <n>", "the runs at the same time", wholeNumber(1, mostSlots), 1)
    .option("--label <name>", "what the machine is called (else its host name)", keyName)
    .option("--once", "end after one run")
    .does(() => loadService(async () => (await import("./runner.ts")).run));

  program
    .add("backup", {
      summary: "back up the database of this machine's own service, also while it runs",
      examples: [["pipeline backup runs-copy.db", "a new file"]],
    })
    .argument("<file>", "the backup's file, which must not exist yet", path)
    .addOption(dataDirOption)
    .does(() => loadService(async () => (await import("./serve.ts")).backup));

  addServiceProcessCommands(program);
  addKeyCommands(program);
  addOrgCommands(program);
}

/** `pipeline service …`: the process of this machine's own service, and where its data is. */
function addServiceProcessCommands(program: ToolCommand): void {
  const service = program.add("service", {
    summary: "look at this machine's own service, stop and restart it, and find its data",
    description:
      "Look at this machine's own service, stop and restart it, and find its data. Windows and the tool start it when they " +
      "need it; a stopped one stays so until a person asks for a run or for the service.",
  });
  const commands = [
    {
      name: "status",
      act: "showStatus",
      summary: "say whether this machine's own service runs, since when, and what it does",
      example: [
        "pipeline service status --quiet || echo away",
        "exits with 4 where none runs, and starts none",
      ],
    },
    {
      name: "where",
      act: "showWhere",
      summary: "print where the data of this machine's own service lies, and which setting leads there",
      example: ["pipeline service where --json | jq -r '.\"data-folder\"'", "the folder alone"],
    },
    {
      name: "stop",
      act: "stopService",
      summary: "cancel the runs of this machine's own service and stop it, until a run is asked for",
      example: ["pipeline service stop", "windows leave it stopped, too"],
    },
    {
      name: "restart",
      act: "restartService",
      summary:
        "cancel the runs of this machine's own service and start it anew, unless it is in the foreground",
      example: ["pipeline service restart", "starts that wait go on waiting"],
    },
  ] as const;
  for (const { name, act, summary, example } of commands) {
    service
      .add(name, { summary, examples: [example] })
      .addOption(dataDirOption)
      .does(async () => (await import("./service.ts"))[act]);
  }
}

/** `pipeline keys …`: for the database of this machine's own service, or of one for many machines; no service needs to run. */
function addKeyCommands(program: ToolCommand): void {
  const keys = program.add("keys", {
    summary: "create, list and revoke API keys of this machine's own service, or of one for many machines",
    description:
      "Create, list and revoke API keys of this machine's own service, whether or not it is running, or with --database " +
      "those of a service for many machines. " +
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
        ["pipeline keys create --role runner --all-orgs --database postgres://…", "for a runner's machine"],
      ],
    })
    .addOption(new Option("--role <role>", "what the key may do").choices(roles).makeOptionMandatory())
    .option("--org <name>", "the name of the org; may be left out where there is only one", name)
    .option("--all-orgs", "for a runner that takes work of every org")
    .option("--name <name>", "what the key is called, for example who uses it", keyName)
    .addOption(dataDirOption)
    .addOption(databaseOption)
    .does(() => loadService(async () => (await import("./database.ts")).createKey));
  keys
    .add("list", {
      summary: "list the keys, also the revoked ones; never a secret",
      examples: [
        ["pipeline keys list --org Acme", "those of one org"],
        ["pipeline keys list --json", "with every field"],
      ],
    })
    .option("--org <name>", "only those of one org", name)
    .addOption(dataDirOption)
    .addOption(databaseOption)
    .does(() => loadService(async () => (await import("./database.ts")).listKeys));
  keys
    .add("revoke", {
      summary: "revoke a key",
      description:
        "Revoke a key: connections that use it end within two seconds, and runs that it started continue. " +
        "Revoking a key again is not an error.",
      examples: [["pipeline keys revoke key_01kb3v9d2n5q8s1t4w7y0z3a6c", "by an id of `pipeline keys list`"]],
    })
    .argument("<id>", "the key's id, as `keys list` shows it")
    .addOption(dataDirOption)
    .addOption(databaseOption)
    .does(() => loadService(async () => (await import("./database.ts")).revokeKey));
}

/** `pipeline orgs …`: for the same databases as `pipeline keys`. */
function addOrgCommands(program: ToolCommand): void {
  const orgs = program.add("orgs", {
    summary: "list the orgs of this machine's own service, or of one for many machines, and set their limits",
    description:
      "List the orgs of this machine's own service, whether or not it is running, or with --database those of a service for " +
      "many machines, and set their limits. To see the org of your key, see `pipeline org`.",
  });
  orgs
    .add("list", {
      summary: "list the orgs with their tiers and limits",
      examples: [
        ["pipeline orgs list", "of this machine's own service"],
        ["pipeline orgs list --json", "with every field"],
      ],
    })
    .addOption(dataDirOption)
    .addOption(databaseOption)
    .does(() => loadService(async () => (await import("./database.ts")).listOrgs));
  orgs
    .add("set", {
      summary: "set an org's limits and its tier",
      description:
        "Set an org's limits and its tier; what is left out stays. A running service goes by them at once, and looks at the " +
        "starts that wait within a second. Runs that are active go on, also where fewer may be.",
      examples: [
        ["pipeline orgs set --runs-per-day 500 --parallel-runs 4", "of the only org that there is"],
        ["pipeline orgs set --org Acme --tier team --database postgres://…", "what the tier is called"],
      ],
    })
    .option("--org <name>", "the name of the org; may be left out where there is only one", name)
    .option(
      "--parallel-runs <n>",
      "how many of its runs are active at the same time",
      wholeNumber(1, mostOfOrg.parallelRuns),
    )
    .option(
      "--runs-per-day <n>",
      "how many of its runs may start in a day, counted from 00:00 UTC",
      wholeNumber(1, mostOfOrg.runsPerDay),
    )
    .option("--tier <name>", "what its tier is called; limits don't follow from it", name)
    .addOption(dataDirOption)
    .addOption(databaseOption)
    .does(() => loadService(async () => (await import("./database.ts")).setOrg));
}

const dataDirOption = new Option(
  "--data-dir <folder>",
  "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
).argParser(path);

const databaseOption = new Option(
  "--database <url>",
  "of a service for many machines: its postgres:// URL",
).conflicts("dataDir");
