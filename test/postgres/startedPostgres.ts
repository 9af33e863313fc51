// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.

import assert from "node:assert/strict";
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

/** A PostgreSQL server on the loopback interface, with a database `postgres` and a user `app` that has a password. */
export class StartedPostgres implements AsyncDisposable {
  readonly port: number;
  readonly host = "127.0.0.1";
  readonly password = password;
  /** The folder of its socket. */
  readonly folder: string;
  #program: Program;
  readonly #run: () => Promise<Program>;
  readonly #cleanUp: AsyncDisposableStack;

  private constructor(
    port: number,
    folder: string,
    { program, run }: { readonly program: Program; readonly run: () => Promise<Program> },
    cleanUp: AsyncDisposableStack,
  ) {
    this.port = port;
    this.folder = folder;
    this.#program = program;
    this.#run = run;
    this.#cleanUp = cleanUp;
  }

  /** Installs it where it isn't yet, makes a database and starts the server; `native` is `postgresFolder()`. */
  static async start(
    native: string,
    signal: AbortSignal,
    options: PostgresOptions = {},
  ): Promise<StartedPostgres> {
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
      const program = new Program(join(programs, "bin/postgres"), [...words, "-p", String(port)], setting);
      if ((await program.outputMatching(/ready to accept connections/, signal)) === undefined) {
        throw new Error(`PostgreSQL didn't start:\n${program.output}`);
      }
      return program;
    };
    return new StartedPostgres(port, path, { program: await run(), run }, cleanUp.move());
  }

  /** Its address as a pipeline file writes it; the password is the variable PASSWORD's. */
  url({ user = "app:${{ env.PASSWORD }}", query = "", database = "postgres" } = {}): string {
    return `postgres://${user}@${this.host}:${this.port}/${database}${query}`;
  }

  /** Its address for a program, to which a database's name is to be added. */
  get server(): string {
    return this.url({ user: `app:${encodeURIComponent(this.password)}`, database: "" });
  }

  /** Resolves once its log matches. */
  async logged(pattern: RegExp): Promise<void> {
    await this.#program.outputMatching(pattern, new AbortController().signal);
  }

  /** Ends it at once, and its clients are cut off: by SIGINT in an orderly way, by SIGQUIT as in a crash. */
  async stop(signal: "SIGINT" | "SIGQUIT" = "SIGINT"): Promise<void> {
    const [pid] = (await readFile(join(this.folder, "data/postmaster.pid"), "utf8").catch(() => "")).split(
      "\n",
    );
    if (pid) process.kill(Number(pid), signal);
    await this.#program.exited;
  }

  /** Starts it again on its port, with what it has on the disk. */
  async restart(): Promise<void> {
    this.#program = await this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#program[Symbol.asyncDispose]();
    await this.#cleanUp.disposeAsync();
  }
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

/** A server that is there for all the tests of a suite. */
export function postgresForSuite(native: string, options: PostgresOptions = {}): () => StartedPostgres {
  let server: StartedPostgres | undefined;
  before(async function () {
    // The first time it comes from npm.
    this.timeout(300_000);
    server = await StartedPostgres.start(native, AbortSignal.timeout(290_000), options);
  });
  after(() => server?.[Symbol.asyncDispose]());
  return () => server ?? assert.fail("PostgreSQL wasn't started");
}
