import { dataFolder } from "../../client/embedded/dataFolder.ts";
import { retentionDays } from "../../contract/limits.ts";
import { wholeNumber } from "../arguments.ts";
import type { Environment } from "../environment.ts";
import type { ToolCommand } from "./toolCommand.ts";

/** The org and the page of the service in use, and this machine's own service. */
export function addServiceWords(program: ToolCommand, env: Environment): void {
  program
    .add("org", { summary: "show the org, its limits and today's use" })
    .does(async (tool) => (await import("../commands/org.ts")).showOrg(tool));

  program
    .add("page", {
      summary: "print a link that opens the page in a browser, signed in; it works once, within a minute",
      examples: [
        ["pipeline page", "a link to open yourself"],
        ["pipeline page --open", "the page itself"],
      ],
    })
    .option("--open", "open it in the browser")
    .does(async (tool, options: PageFlags) => {
      const { showPage } = await import("../commands/page.ts");
      return showPage(tool, { open: options.open ?? false });
    });

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
      `how long logs and artifacts are kept (else PIPELINE_RETENTION_DAYS, else ${retentionDays.byDefault})`,
      wholeNumber(1, retentionDays.atMost),
    )
    .option("--allow-other-owner", "as root, serve also a data folder that belongs to another user")
    .does(async (tool, options: ServeFlags) => {
      const { serveInForeground } = await import("../commands/serve.ts");
      return serveInForeground(tool, {
        port: options.port,
        folder: options.dataDir ?? dataFolder(env),
        otherOwner: options.allowOtherOwner === true ? "allowed" : "refused",
        retentionDays: options.retentionDays,
      });
    });

  program
    .add("backup", {
      summary: "copy the database of this machine's own service, also while it runs",
      examples: [["pipeline backup runs-copy.db", "a file that isn't there yet"]],
    })
    .argument("<file>", "the copy; nothing may be there yet")
    .option(
      "--data-dir <folder>",
      "where the service's data is kept (else PIPELINE_DATA_DIR, else your data folder)",
    )
    .does(async (tool, options: BackupFlags, file: string) => {
      const { backup } = await import("../commands/backup.ts");
      return backup(tool, { file, folder: options.dataDir ?? dataFolder(env) });
    });
}

interface PageFlags {
  readonly open?: true;
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
