// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.
import { each } from "./problem.ts";

/** What another tool's word is called here. */
export interface ForeignWord {
  /** The field with that meaning; the hint is only for maps that can have this field. */
  readonly field: string;
  /** The entry that means the same as the word with `true`. */
  readonly entry?: string;
  /** What to do, if another name isn't enough. */
  readonly how?: string;
}

const same = (...fields: readonly string[]): readonly ForeignWord[] => fields.map((field) => ({ field }));
const how = (field: string, text: string): readonly ForeignWord[] => [{ field, how: text }];

const goesOn: readonly ForeignWord[] = [{ field: "on-failure", entry: "on-failure: continue" }];
const asserted = how("expect", "`expect` has fields for a status and the like, and `that` for any condition");
const byPath = how("that", "write the path in a condition, such as `that: this.json.total == 3`");
const captured = how("id", "give the step an `id`: later ones read its result by `steps.<id>`");
const startedOutside = how("steps", "what starts a run is outside of the file, such as cron or a CI system");
const inOrder = how("on-failure", "steps run one after the other, in the order of the file");
const request = how("get", "write the method and the path, such as `get: /health`");
const led = how("connect-to", "`connect-to` leads a host elsewhere, also to a socket: `unix:/run/shop.sock`");
const token = how("basic", 'a token is a header: `headers: { authorization: "Bearer ${{ env.TOKEN }}" }`');
const paused = how("retry", "`retry` waits until all that the step expects holds");
const included = how(
  "steps",
  "a step with `include: parts/login.yaml` puts the steps of another file in its place",
);
const inSteps = how("steps", "what a pipeline does stands in `steps`, one after the other");
const onMachine = how(
  "steps",
  "programs run on this machine, in a container by `run: docker run --rm node:24 …`",
);
const stays = how("run", "files stay where they are, from one step and one run to the next");
const forEach = how("each", "`each` runs a step for each item of a list");
const conditional = how("if", "a condition stands in `if`, such as `if: inputs.stage == 'live'`");
const beside = how("path", "headers and the body stand beside `request`, as `headers` and `json`");
const ofResource = how("use", "a step's type is that of its resource, which `use` names");
const ready = how("ready", "`ready` waits until it is there, such as `ready: { port: 8080 }`");
const waits = how("wait-for", "each action waits for its element, and `wait-for` for any other");
const lookedAt = how("wait-for", "`expect` stands beside `actions`, and says what the page has to be like");

/** Fields of other tools, by their names with dashes. */
const fields: Readonly<Record<string, readonly ForeignWord[]>> = {
  // Of the file.
  variables: same("inputs", "env"),
  ...each("parameters constants variable with", same("inputs")),
  runners: same("resources"),
  ...each("cleanup teardown always after", same("finally")),
  ...each("on schedule", startedOutside),
  ...each("stages jobs tasks testcases item", inSteps),
  ...each("include includes imports extends", included),
  "before-script": how("steps", "its commands are the first of the `steps`"),
  "after-script": how("finally", "what runs in the end, whatever happened, stands in `finally`"),
  dotenv: same("env-file"),
  "env-file": how(
    "env",
    '`env-file` is the whole file\'s; `env: { A: "${{ env.A }}" }` passes a variable on',
  ),
  services: how("steps", "a service is a step with `background: true`, such as `run: docker compose up db`"),
  ...each("image container", onMachine),
  version: how("steps", "leave it out: a pipeline file has none"),
  concurrency: how("steps", "how many runs are active at once is for the service to say"),
  permissions: how("steps", "leave it out: steps can do what whoever starts them can"),
  defaults: how("resources", "what all steps have stands in their resource, such as `shell` and `cwd`"),
  ...each("strategy matrix", [...forEach, ...how("steps", "`each` runs a step for each item of a list")]),
  cache: [...stays, ...how("steps", "files stay where they are, from one run to the next")],
  env: how("env-file", "`env` stands in a resource of type cli or its steps; a constant is one of `inputs`"),
  mask: how("unmasked", "each variable is masked, and `mask` in a step hides a part of its result"),
  secrets: how(
    "env-file",
    "each variable that the file names is masked: write `${{ env.NAME }}` where it is needed",
  ),
  // Of the file and of its steps.
  vars: [...same("inputs"), ...captured],
  environment: same("env"),
  timeout: same("time-limit", "for"),
  "timeout-minutes": [
    ...how("time-limit", "write `time-limit: 5m`"),
    ...how("timeout", "write `timeout: 5m`"),
  ],
  ...each("desc description test-name", same("name")),
  // Of a step.
  ...each("continue-on-error ignore-errors ignore-error on-error allow-failure force", goesOn),
  ...each("when condition", same("if")),
  ...each("rules only except preconditions", conditional),
  ...each("skip unless", how("if", "write the opposite as `if`")),
  ...each("foreach for-each range with-items for", same("each")),
  ...each("parallel stage deps needs depends-on", inOrder),
  loop: how("retry", "`each` runs it for each item of a list, and `retry` again until it succeeds"),
  ...each("retries retry-interval retry-delay", how("retry", "write `retry: { times: 3, every: 1s }`")),
  defer: [...same("finally"), ...how("on-failure", "put the step into `finally`")],
  ...each("test assert asserts assertions check checks", asserted),
  tests: [...asserted, ...inSteps],
  ...each("bind capture captures extract output outputs save store register", captured),
  set: how("id", "a constant is one of the file's `inputs`, and a result is `steps.<id>` of its step"),
  ...each("info dump silent", how("use", "leave it out: what a step does and prints is in the run's log")),
  type: [...ofResource, ...token, ...same("fill")],
  uses: how(
    "run",
    "a program does what an action does; other steps are put in by `include: parts/login.yaml`",
  ),
  ...each("script command cmd cmds commands", same("run")),
  exec: same("run", "query"),
  ...each("sql params", same("query")),
  ...each("data payload", same("json")),
  ...each("method path", request),
  url: [...request, ...same("path", "base-url", "http")],
  ...each("host endpoint", same("base-url")),
  header: [...same("headers"), ...beside],
  prerequest: how("get", "what comes before is a step of its own"),
  ...each("multipart-form form-data", same("multipart")),
  ...each("follow-redirects no-follow-redirect", how("redirects", "write `redirects: 0`")),
  "max-redirects": same("redirects"),
  ...each("basic-auth http-credentials", how("auth", "write `auth: { basic: { user, password } }`")),
  artifacts: same("keep"),
  ...each("working-directory workdir dir", same("cwd")),
  ...each("healthcheck wait-for", ready),
  log: same("output"),
  // Of an sql resource.
  ...each("dsn uri connection-string", same("url")),
  driver: how("url", "the address says it all: `postgres://user@host:5432/database`"),
  input: same("stdin"),
  detach: same("background"),
  // Of an http resource.
  ...each("insecure verify skip-verify ignore-verify-ssl", how("tls", "write `tls: { verify: false }`")),
  ...each("resolve unix-socket", led),
  // Of `auth`.
  ...each("bearer token", token),
  username: same("user"),
  // Of a script.
  args: same("with", "params"),
  // Of `retry`.
  interval: same("every"),
  delay: [...same("every"), ...paused],
  sleep: [...paused, ...waits],
  ...each("wait pause", [...same("every"), ...paused, ...waits]),
  count: same("times", "row-count"),
  backoff: how("every", "the pause is always the same"),
  ...each("attempts max-attempts limit", same("times")),
  until: [
    ...how("times", "a step is tried until all that it expects holds"),
    ...how("retry", "`retry` tries the step until all that it expects holds"),
  ],
  // Of a page.
  headless: how("trace", "leave it out: nobody sees the browser, and a `trace` shows what it did"),
  ...each("selector locator", same("css")),
  xpath: how("css", "an element is found as a person finds it, by `role`, `label` or `text`, else by `css`"),
  visible: how("elements", "`elements` lists what can be seen"),
  "wait-for-selector": same("wait-for"),
  ...each("goto visit navigate", how("wait-for", "`goto` stands beside `actions`, in a step of its own")),
  screenshot: how("wait-for", "`screenshot` stands beside `actions`"),
  ...each("assert-visible expect", lookedAt),
  frame: how("click", "an element says which one it is in: `click: { text: Pay, frame: { name: card } }`"),
  // Of `expect`.
  ...each("json-path jsonpath", byPath),
  ...each("status-code statuscode", same("status")),
  ...each("response-time duration", same("time")),
  code: same("status", "exit-code"),
  body: [...how("json-schema", "`json`, `text` and `json-schema` say what it holds"), ...beside],
  schema: same("json-schema"),
  systemout: same("stdout"),
  systemerr: same("stderr"),
  // Of an input.
  required: how("default", "an input with a `default` needn't be given, and any other has to be"),
  value: same("default", "with"),
  max: [...same("times"), ...how("options", "`options` lists the values that it may have")],
  ...each("min pattern regex", how("options", "`options` lists the values that it may have")),
};

/** Types of resources and inputs in other tools. */
const types: Readonly<Record<string, readonly ForeignWord[]>> = {
  ...each("rest api https curl req graphql", same("http")),
  ...each("postgres postgresql pg mysql mariadb sqlite sqlite3 db database dbfixtures", same("sql")),
  ...each("shell bash sh command cmd exec script program local", same("cli")),
  ...each("playwright puppeteer selenium chrome chromium cdp ui", same("browser")),
  web: how("browser", "`http` sends requests, and `browser` uses a page"),
  ...each("string str environment", same("text")),
  ...each("int integer float double", same("number")),
  ...each("bool flag", same("boolean")),
  ...each("enum select choice options", how("text", "leave it out and write `options: [eu, us]`")),
  ...each("secret password", how("text", "an input is shown: a secret is a variable, `${{ env.NAME }}`")),
  ...each(
    "array list object json map",
    how("text", "write it as JSON in a text, which `fromJSON(inputs.<name>)` reads"),
  ),
};

/** Members of a step's result in other tools, and what they are here: the first that the result has. */
const members: Readonly<Record<string, readonly string[]>> = {
  outputs: ["json", "rows"],
  body: ["json"],
  response: ["json"],
  bodyjson: ["json"],
  systemoutjson: ["json"],
  systemout: ["stdout"],
  systemerr: ["stderr"],
  code: ["status", "exit-code"],
  statuscode: ["status"],
  "status-code": ["status"],
  conclusion: ["outcome"],
};

/** @param known the names that the map with the word can have. */
export function foreignWord(name: string, known: readonly string[]): ForeignWord | undefined {
  return own(fields, dashed(name))?.find(({ field }) => known.includes(field));
}

/** @param known the types that there are. */
export function foreignType(name: string, known: readonly string[]): ForeignWord | undefined {
  return own(types, name.toLowerCase())?.find(({ field }) => known.includes(field));
}

/** @param known what the step's result has. */
export function foreignMember(name: string, known: readonly string[]): string | undefined {
  return own(members, dashed(name))?.find((member) => known.includes(member));
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** `continue_on_error`, `continueOnError`: `continue-on-error`. */
function dashed(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
}

/** What another tool would fill in. */
export interface Placeholder {
  readonly written: string;
  readonly name: string;
  /** The default that it names: of `${TARGET:-http://localhost}`. */
  readonly byDefault?: string | undefined;
}

/** A placeholder of Postman, Hurl, runn, venom and Taskfile. */
const inBraces = /(?<!\$)\{\{\s*[\w.$][^{}\n]*\}\}/;
/** A placeholder of a shell, and so of Docker Compose and GitLab CI. Without braces, only what is surely a variable. */
const ofShell =
  /(?<![\w$])\$(?:\{([A-Za-z_]\w*)(?::?(?:[-=]([^{}\n]*)|\?[^{}\n]*))?\}|([A-Z][A-Z0-9_]{2,})\b(?!\$))/;

/** @param not the kind that isn't looked for, since the text may mean it. */
export function placeholderIn(text: string, not?: "braces" | "shell"): Placeholder | undefined {
  const [written] = (not !== "braces" && inBraces.exec(text)) || [];
  if (written !== undefined) return { written, name: written.match(/[\w-]+/g)?.at(-1) ?? "name" };
  const [variable, braced, byDefault, bare] = (not !== "shell" && ofShell.exec(text)) || [];
  // GraphQL has variables of its own.
  const name = braced ?? (/(?<!\{)\{(?!\{)/.test(text) ? undefined : bare);
  return variable === undefined || name === undefined ? undefined : { written: variable, name, byDefault };
}

/**
 * What Postman, Bruno, OpenAPI and Tavern would fill in within the path of an address: a whole segment `:id`, or `{id}`, whose
 * braces no address has.
 */
export function variableOfPath(address: string): Placeholder | undefined {
  const [path = ""] = address.split(/[?#]/, 1);
  const [, colon, braces] =
    /(?<=^|[^/:\n]\/|^\/):([A-Za-z_]\w*)(?=[/\n]|$)|\{([A-Za-z_]\w*)\}/.exec(path) ?? [];
  const name = colon ?? braces;
  return name === undefined ? undefined : { written: colon === undefined ? `{${name}}` : `:${name}`, name };
}

/** How scripts of GitHub Actions hand on values: in a file, whose variable is the first group, or with a printed command. */
const handedOn =
  /\$(?:\{(?=[\w:]+\}))?(?:env:)?(GITHUB_(?:OUTPUT|ENV|PATH|STEP_SUMMARY))\b\}?|::(?:set-(?:output|env)|add-(?:path|mask))\b/g;

/** Comments of a shell, and what has none within: escaped characters and texts in quotes. */
const commented = /\\.|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(?<!\S)#.*/g;

/** Where a script hands on values as in GitHub Actions, outside of its comments. */
export function handedOnIn(script: string): RegExpExecArray[] {
  const blank = (part: string) => (part.startsWith("#") ? " ".repeat(part.length) : part);
  return [...script.replace(commented, blank).matchAll(handedOn)];
}

/** Whether a script asks whether a variable is set, as one does that also runs where it isn't. */
export function asksFor(variable: string, script: string): boolean {
  return new RegExp(`-[nz] "?\\$\\{?${variable}\\b|\\$\\{${variable}:?[-+]`).test(script);
}

/** What is written here for what a script hands on, as the end of a sentence. @param result of the step. */
export function insteadOfHandingOn(written: string, result: string): string {
  if (/mask/.test(written))
    return "the step's `mask` hides what is secret in its result, such as `mask: [stdout]`";
  if (/PATH|path/.test(written))
    return 'a folder of programs stands in `env`, such as `env: { PATH: "/opt/bin:${{ env.PATH }}" }` of the resource';
  if (/SUMMARY/.test(written))
    return "what a step prints is in the run's log, and `keep` keeps a file with the run";
  return `print what later steps need, and they read it as \`\${{ ${result}.stdout }}\`, or from \`\${{ ${result}.json }}\` where it is JSON`;
}

/** `baseUrl`, `base-url`: `BASE_URL`. */
export function variableOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toUpperCase();
}

/** The problem of a text that has expressions, or a placeholder, where none can be. */
export const nothingFilledIn = "nothing can be filled in here";
