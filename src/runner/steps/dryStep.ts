import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describeError } from "../../contract/errors.ts";
import { writeJson } from "../../pipeline/expression/value.ts";
import { joinAddress } from "../../pipeline/file/address.ts";
import { describeExpectation } from "../../pipeline/file/expectation.ts";
import { type BrowserStep, describeAction } from "../../pipeline/types/browserStep.ts";
import type { Background, CliStep } from "../../pipeline/types/cli.ts";
import type { ServerAddress } from "../../pipeline/types/databaseUrl.ts";
import { type HttpStep, isPem } from "../../pipeline/types/httpStep.ts";
import type { Step } from "../../pipeline/types/resourceTypes.ts";
import type { SqlStep } from "../../pipeline/types/sql.ts";
import { isInside } from "../../project/projectFile.ts";
import { duration } from "../../text/time.ts";
import { findBrowser } from "../browser/startBrowser.ts";
import { interpreterOf } from "../cli/command.ts";
import { asWord, describeStartProblem, problemOfFolder, problemOfProgram } from "../cli/runCliStep.ts";
import { routeOf } from "../http/connection.ts";
import { type HttpRequest, requestOf } from "../http/request.ts";
import { apiOf, schemaOf } from "../http/runHttpStep.ts";
import { describeConnectionProblem } from "../http/sendRequest.ts";
import { databaseServer } from "../sql/databaseServer.ts";
import { type Database, databaseOf, openSession, readWork } from "../sql/runSqlStep.ts";
import { locate } from "../sql/sqliteConnection.ts";
import { projectFile } from "../step/projectFile.ts";
import { type StepContext, StepFault } from "../step/stepContext.ts";
import { onPath } from "../step/stepEnvironment.ts";

export interface DryDeps extends Pick<StepContext, "root" | "environment" | "platform" | "mask" | "shared"> {
  /** Whether a value has a part that only the run knows. */
  readonly isOpen: (value: unknown) => boolean;
  readonly connectsTo: (hostname: string) => boolean;
}

/** What a step would do, and what stands in its way. */
export interface Looked {
  readonly does: readonly string[];
  readonly problems: ReadonlySet<string>;
  /** Files, folders and programs that aren't there, which an earlier step could make. */
  readonly missing: readonly string[];
}

/** How long a server may take to accept a connection, in milliseconds. */
const reachMilliseconds = 5000;

/** Looks at a step whose expressions are filled in. It starts nothing, and sends no more than what opens a connection. */
export async function dryStep(step: Step, deps: DryDeps): Promise<Looked> {
  const { does, problems, missing } = await lookAt(step, deps);
  // A problem with a value that only the run knows isn't one yet.
  const isOne = (text: string) => !deps.isOpen(text) && !missing.includes(text);
  return {
    does,
    problems: new Set([...problems].filter(isOne)),
    missing: missing.filter((text) => !deps.isOpen(text)),
  };
}

function lookAt(step: Step, deps: DryDeps): Promise<Looked> {
  switch (step.type) {
    case "browser":
      return lookAtBrowser(step, deps);
    case "cli":
      return lookAtCli(step, deps);
    case "http":
      return lookAtHttp(step, deps);
    case "sql":
      return lookAtSql(step, deps);
  }
}

/** @param problems gets why it can't be done. */
async function attempt<T>(act: () => T | Promise<T>, problems: Set<string>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof StepFault)) throw error;
    problems.add(error.message);
    return undefined;
  }
}

/** Why files of the project can't be used. */
async function missingFiles(paths: readonly (string | undefined)[], root: string): Promise<string[]> {
  const looks = [...new Set(paths)].map(async (path) =>
    path === undefined ? undefined : projectFile(root, path).then(() => undefined, describeError),
  );
  return (await Promise.all(looks)).filter((problem) => problem !== undefined);
}

async function lookAtHttp(step: HttpStep, deps: DryDeps): Promise<Looked> {
  const { root, isOpen, mask } = deps;
  const { body, connection, expect, openApi } = step;
  const problems = new Set<string>();
  const missing = await missingFiles(
    [
      ...(body.kind === "file" ? [body.path] : []),
      ...(body.kind === "multipart"
        ? body.parts.map(({ content }) => (content.kind === "file" ? content.path : undefined))
        : []),
      ...[connection.tls.ca, connection.tls.cert, connection.tls.key].filter((text = "") => !isPem(text)),
      expect.jsonSchema,
      openApi?.path,
    ],
    root,
  );
  const written = joinAddress(step.address);
  // If only the run knows how the address begins, the rest can still be shown.
  const isPlace = isOpen(written) && !/^https?:$/.test(URL.parse(written)?.protocol ?? "");
  const asked = isPlace ? { ...step, address: { target: "http://open.invalid" } } : step;
  const whole = await attempt(() => requestOf(asked, root), problems);
  const request =
    whole ?? (await attempt(() => requestOf({ ...asked, body: { kind: "none" } }, root), problems));
  await attempt(() => schemaOf(step, root), problems);
  if (request === undefined) return { does: [`${step.method} ${written}`], problems, missing };
  const { url } = request;
  const api = await attempt(() => apiOf(step, request, deps), problems);
  if (
    api !== undefined &&
    whole !== undefined &&
    openApi?.checksRequest &&
    !isOpen({ ...step, expect: undefined })
  ) {
    const lines = () => api.ofRequest({ ...request, base: step.address.base ?? "" }, mask);
    for (const line of (await attempt(lines, problems)) ?? []) problems.add(line);
  }
  if (!isPlace && !isOpen([connection, url.host])) await reachServer(step, url, deps, problems);
  const address = isPlace ? `${written}${url.search}` : url.href;
  const { auth = step.ofResource.auth } = step;
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    name === "authorization" && auth !== undefined && isOpen(auth)
      ? `${name}: Basic ${auth.user}:${auth.password}`
      : [value].flat().map((one) => `${name}: ${one}`),
  );
  return {
    does: [`${request.method} ${address}`, ...headers, ...bodyLines(step, request)],
    problems,
    missing,
  };
}

function bodyLines({ body }: HttpStep, request: HttpRequest): string[] {
  if (body.kind === "file") return [`the file ${body.path}`];
  if (body.kind !== "multipart") return [request.body?.text ?? []].flat();
  return body.parts.map(
    ({ name, content }) => `${name}: ${content.kind === "file" ? `the file ${content.path}` : content.text}`,
  );
}

/** Connects as a request would. */
async function reachServer(
  step: Pick<HttpStep, "address" | "connection">,
  url: URL,
  { root, connectsTo }: DryDeps,
  problems: Set<string>,
): Promise<void> {
  const route = await attempt(() => routeOf(step, root), problems);
  if (route === undefined || !connectsTo(route.peerOf(url).hostname)) return;
  const late = pause(reachMilliseconds, undefined, { ref: false }).then(() => {
    throw Object.assign(new Error("it takes too long"), { code: "ETIMEDOUT" });
  });
  await Promise.race([route.reach(url), late]).catch((error: unknown) =>
    problems.add(describeConnectionProblem(url, error, route.peerOf(url))),
  );
}

async function lookAtBrowser(step: BrowserStep, deps: DryDeps): Promise<Looked> {
  const { isOpen, root } = deps;
  const { actions, browser, goto, read = [], screenshot, storage } = step;
  const problems = new Set<string>();
  const { executable } = browser;
  if (!isOpen(executable)) await attempt(() => findBrowser({ ...deps, executable }), problems);
  const uploads = actions.flatMap((action) => (action.kind === "upload" ? action.files : []));
  const address = goto && joinAddress(goto);
  const url = URL.parse(address ?? "");
  // Not verified: which certificates a browser trusts isn't known here.
  const connection = { tls: { verify: false }, connectTo: {} };
  if (url !== null && !isOpen(url.host) && /^https?:$/.test(url.protocol))
    await reachServer({ address: { target: url.href }, connection }, url, deps, problems);
  return {
    does: [
      ...(address === undefined ? [] : [`go to ${address}`]),
      ...actions.map((action) =>
        action.kind === "fill" ? `${describeAction(action)} with \`${action.with}\`` : describeAction(action),
      ),
      ...read.map(({ name }) => `read ${name}`),
      ...(screenshot === undefined ? [] : [`save the screenshot ${screenshot}`]),
      ...(storage === undefined ? [] : [`save cookies and local storage in ${storage}`]),
    ],
    problems,
    missing: await missingFiles([browser.storage, ...uploads], root),
  };
}

async function lookAtSql({ database, work }: SqlStep, deps: DryDeps): Promise<Looked> {
  const { isOpen, root } = deps;
  const problems = new Set<string>();
  const missing = await missingFiles(work.kind === "statements" ? [] : [work.path], root);
  if (missing.length === 0) await attempt(() => readWork(work, { root, log: { note: () => {} } }), problems);
  const does =
    work.kind === "statements"
      ? work.statements.flatMap(({ text, params }) => [
          text.trim(),
          ...(params.length === 0 ? [] : [`with ${writeJson(params)}`]),
        ])
      : [`the statements of ${work.path}`];
  if (isOpen(database)) return { does, problems, missing };
  const found = await attempt(() => databaseOf(database), problems);
  if (found === undefined) return { does, problems, missing };
  const where = describeDatabase(found);
  const how = work.kind === "statements" && work.isTransaction ? ", as one transaction" : "";
  if (found.kind === "postgres" || found.kind === "mysql") await reachDatabase(found, deps, problems);
  else {
    const unfound = new Set<string>();
    await attempt(() => locate(found, root), unfound);
    missing.push(...unfound);
  }
  return { does: [`${where}${how}`, ...does], problems, missing };
}

/** A database's address for people, without its password. */
function describeDatabase(database: Database): string {
  switch (database.kind) {
    case "sqlite-memory":
      return "in an SQLite database in memory";
    case "sqlite-file":
      return `in the SQLite database ${database.path}`;
    case "postgres":
    case "mysql": {
      const name = database.kind === "postgres" ? "PostgreSQL" : "MySQL";
      const { host, port, user } = database;
      const which = database.database === "" ? "" : ` ${database.database}`;
      return `in the ${name} database${which} at ${host}:${port}${user === "" ? "" : `, as ${user}`}`;
    }
  }
}

async function reachDatabase(
  database: ServerAddress,
  { root, connectsTo }: DryDeps,
  problems: Set<string>,
): Promise<void> {
  const server = await attempt(() => databaseServer(database, root), problems);
  if (server === undefined || !connectsTo(server.hostname)) return;
  const late = AbortSignal.timeout(reachMilliseconds);
  const refused = new Set<string>();
  const session = await attempt(() => openSession(database, { root }, late), refused);
  await session?.end().catch(() => {});
  session?.destroy();
  const problem = `${server.host} didn't answer within ${duration(reachMilliseconds)}`;
  for (const why of refused) problems.add(late.aborted ? problem : why);
}

async function lookAtCli(step: CliStep, deps: DryDeps): Promise<Looked> {
  const { run, cwd, env, stdin, background } = step;
  const folder = resolve(deps.root, cwd);
  const noFolder = deps.isOpen(cwd) ? undefined : await problemOfFolder(folder);
  const noProgram = noFolder || deps.isOpen(cwd) ? undefined : await missingProgram(step, folder, deps);
  const lines = typeof run === "string" ? run.trim().split("\n") : [run.map(asWord).join(" ")];
  return {
    does: [
      ...(cwd === "." ? [] : [`in ${cwd}`]),
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ...lines.map((line, index) => `${index === 0 ? "$" : " "} ${line}`),
      ...(stdin === undefined ? [] : [`standard input: ${stdin}`]),
      ...(background === undefined ? [] : [describeBackground(background)]),
    ],
    problems: new Set(noProgram?.isOwn === false ? [noProgram.problem] : []),
    missing: [noFolder ?? (noProgram?.isOwn ? noProgram.problem : [])].flat(),
  };
}

function describeBackground({ port, http, output = [] }: Background): string {
  const signs = [
    ...(port === undefined ? [] : [`port ${port} is open`]),
    ...(http === undefined ? [] : [`${http} answers`]),
    ...output.map((one) => `it has printed ${describeExpectation(one)}`),
  ];
  return ["in the background", ...(signs.length === 0 ? [] : [`ready once ${signs.join(" and ")}`])].join(
    ", ",
  );
}

interface MissingProgram {
  readonly problem: string;
  /** Whether it is a file of the project, so that an earlier step could make it. */
  readonly isOwn: boolean;
}

/** The program that a step starts, or that the first word of its shell text names, if it is missing. */
async function missingProgram(
  { run, shell, env }: CliStep,
  folder: string,
  { environment, isOpen, platform, root }: DryDeps,
): Promise<MissingProgram | undefined> {
  const own = { ...environment, ...env };
  const find = async (file: string): Promise<MissingProgram | undefined> => {
    const isPath = /[/\\]/.test(file);
    // Windows adds file extensions to a path.
    if (isOpen(file) || (isPath && platform === "win32")) return undefined;
    const path = isPath ? resolve(folder, file) : onPath(file, own, platform);
    const problem = await access(path ?? "", constants.X_OK).then(
      () => problemOfProgram(file, path ?? ""),
      (error) => describeStartProblem({ file }, error),
    );
    return problem === undefined
      ? undefined
      : { problem, isOwn: isPath && isInside(root, resolve(folder, file)) };
  };
  if (typeof run !== "string") return find(run[0] ?? "");
  const noShell = shell === "bash" ? await find(shell) : undefined;
  if (noShell !== undefined || platform === "win32") return noShell;
  const [interpreter, argument = ""] = interpreterOf(run);
  if (interpreter !== undefined) {
    const [named] = /^\w[\w.+-]*(?=\s|$)/.exec(argument.replace(/^-S\s+/, "")) ?? [];
    return (
      (await find(interpreter)) ??
      (named !== undefined && interpreter.endsWith("/env") ? find(named) : undefined)
    );
  }
  // Anything but a plain word, such as an assignment, only the shell itself can read.
  const [, word] = /^\s*([\w./+-]+)(?=\s|$)(?!\s*\()/.exec(run) ?? [];
  return word === undefined || shellWords.has(word) ? undefined : find(word);
}

/** The builtins and keywords that may begin a shell's line; including those of `bash`, whatever the shell. */
const shellWords = new Set(
  [
    ". alias bg break builtin case cd command compgen complete continue declare disown echo enable eval exec exit export false",
    "fc fg for function getopts hash help history if jobs kill let local mapfile popd printf pushd pwd read readarray readonly",
    "return select set shift shopt source test time times trap true type typeset ulimit umask unalias unset until wait while",
  ].flatMap((line) => line.split(" ")),
);
