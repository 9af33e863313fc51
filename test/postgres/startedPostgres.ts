// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import { readFileSync } from "node:fs";
import { chown, cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { Program } from "../../scripts/process/program.ts";
import { Listening } from "../listening.ts";
import { TemporaryFolder } from "../temporaryFolder.ts";
import { installPostgres } from "./installPostgres.ts";

interface PostgresOptions {
  /** A certificate and its key as PEM, for TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

const password = "p@ss/w:rd? #1";

export type StartedPostgres = Awaited<ReturnType<typeof startedPostgres>>;

/**
 * A PostgreSQL server on the loopback interface, with a database `postgres` and a user `app` that has a password. It is
 * installed where it isn't yet. @param native is `postgresFolder()`.
 */
export async function startedPostgres(native: string, signal: AbortSignal, options: PostgresOptions = {}) {
  await installPostgres(native, signal);
  await using cleanUp = new AsyncDisposableStack();
  const { path } = cleanUp.use(await TemporaryFolder.make("pipeline-runs-postgres"));
  const user = unprivilegedUser();
  const programs = await reachable(native, path, user);
  const words = await serverArguments(path, options, user);
  await initialise(programs, path, user);
  const port = await freePort();
  const run = async (): Promise<Program> => {
    const setting = { cwd: path, ...user };
    const started = new Program(join(programs, "bin/postgres"), [...words, "-p", String(port)], setting);
    if ((await started.outputMatching(/ready to accept connections/, signal)) === undefined) {
      throw new Error(`PostgreSQL didn't start:\n${started.output}`);
    }
    return started;
  };
  let program = await run();
  const all = cleanUp.move();
  /** Its address as a pipeline file writes it; the password is the variable PASSWORD's. */
  const url = ({ user = "app:${{ env.PASSWORD }}", query = "", database = "postgres" } = {}) =>
    `postgres://${user}@127.0.0.1:${port}/${database}${query}`;
  /** Ends it at once, and its clients are cut off: by SIGINT in an orderly way, by SIGQUIT as in a crash. */
  const stop = async (how: "SIGINT" | "SIGQUIT" = "SIGINT") => {
    const written = await readFile(join(path, "data/postmaster.pid"), "utf8").catch(() => "");
    const pid = Number.parseInt(written, 10);
    if (pid > 0) process.kill(pid, how);
    await program.exited;
  };
  return {
    port,
    password,
    /** The folder of its socket. */
    folder: path,
    url,
    /** Its address for a program, to which a database's name is to be added. */
    server: url({ user: `app:${encodeURIComponent(password)}`, database: "" }),
    /** Resolves once its log matches. */
    async logged(pattern: RegExp) {
      await program.outputMatching(pattern, new AbortController().signal);
    },
    stop,
    /** Starts it again on its port, with what it has on the disk. */
    async restart() {
      program = await run();
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await program[Symbol.asyncDispose]();
      await all.disposeAsync();
    },
  };
}

/** The user may not be allowed into the folders above the programs; then it gets a copy. */
async function reachable(native: string, folder: string, user: User | undefined): Promise<string> {
  if (user === undefined) return native;
  await chown(folder, user.uid, user.gid);
  const { exitCode } = await execa(join(native, "bin/postgres"), ["--version"], { reject: false, ...user });
  if (exitCode === 0) return native;
  const copy = join(folder, "programs");
  await cp(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

/** Its folder is thrown away after the tests, so nothing has to reach the disk. */
async function serverArguments(
  folder: string,
  { tls }: PostgresOptions,
  user: User | undefined,
): Promise<readonly string[]> {
  const settings = [
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${process.platform === "win32" ? "" : folder}`,
    "fsync=off",
    "dynamic_shared_memory_type=mmap",
  ];
  if (tls !== undefined) {
    for (const [name, text] of Object.entries(tls)) {
      const file = join(folder, `${name}.pem`);
      await writeFile(file, text, { mode: 0o600 });
      if (user !== undefined) await chown(file, user.uid, user.gid);
      settings.push(`ssl_${name}_file=${file}`);
    }
    settings.push("ssl=on");
  }
  return ["-D", join(folder, "data"), ...settings.flatMap((setting) => ["-c", setting])];
}

async function initialise(programs: string, folder: string, user: User | undefined): Promise<void> {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, `${password}\n`);
  const words = [
    ...["--pgdata", join(folder, "data"), "--username", "app", "--pwfile", passwordFile],
    ...["--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync"],
    // Each connection would reckon for longer than all that it is for.
    ...["--set", "scram_iterations=1"],
  ];
  await execa(join(programs, "bin/initdb"), words, { cwd: folder, ...user });
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** As whom PostgreSQL's programs run when this process is root, as whom they refuse to; undefined when it isn't. */
export function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8");
  const [, uid, gid] =
    /^postgres:[^:]*:(\d+):(\d+)/m.exec(users) ?? /^nobody:[^:]*:(\d+):(\d+)/m.exec(users) ?? [];
  if (uid !== undefined && gid !== undefined) return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  throw new Error("there is no user postgres or nobody as whom PostgreSQL could run");
}

/** Free at this moment; another program could still take it. */
export async function freePort(): Promise<number> {
  const server = await Listening.of(() => {});
  await server[Symbol.asyncDispose]();
  return server.port;
}
