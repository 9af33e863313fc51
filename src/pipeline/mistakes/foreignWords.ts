// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions as pipeline files write them.

/** How another tool's word is said here. */
export interface ForeignWord {
  /** The field that says it: the hint is for maps that have this one. */
  readonly field: string;
  /** What says the same as the word with `true`. */
  readonly entry?: string;
  /** What to do, where another name isn't all. */
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
const unverified = how("tls", "write `tls: { verify: false }`");
const notFollowed = how("redirects", "write `redirects: 0`");
const led = how("connect-to", "`connect-to` leads a host elsewhere, also to a socket: `unix:/run/shop.sock`");
const token = how("basic", 'a token is a header: `headers: { authorization: "Bearer ${{ env.TOKEN }}" }`');
const paused = how("retry", "`retry` waits until all that the step expects holds");
const isMade = how("finally", "what runs in the end, whatever happened, stands in `finally`");
const firstSteps = how("steps", "its commands are the first of the `steps`");
const inSteps = how("steps", "what a pipeline does stands in `steps`, one after the other");
const onMachine = how(
  "steps",
  "programs run on this machine, in a container by `run: docker run --rm node:24 …`",
);
const stays = how("run", "files stay where they are, from one step and one run to the next");
const forEach = how("each", "`each` runs a step for each item of a list");
const conditional = how("if", "a condition stands in `if`, such as `if: inputs.stage == 'live'`");
const shownAnyway = how("use", "leave it out: what a step does and prints is in the run's log");
const beside = how("path", "headers and the body stand beside `request`, as `headers` and `json`");
const byAddress = how("url", "the address says it all: `postgres://user@host:5432/database`");
const optional = how("default", "an input with a `default` needn't be given, and any other has to be");
const allowed = how("options", "`options` lists the values that it may have");
const ofResource = how("use", "a step's type is that of its resource, which `use` names");
const ready = how("ready", "`ready` waits until it is there, such as `ready: { port: 8080 }`");
const waits = how("wait-for", "each action waits for its element, and `wait-for` for any other");
const onPage = how("wait-for", "`goto` stands beside `actions`, in a step of its own");
const lookedAt = how("wait-for", "`expect` stands beside `actions`, and says what the page has to be like");
const tried = how("retry", "write `retry: { times: 3, every: 1s }`");

/** Fields of other tools, as they are called with dashes. */
const fields: Readonly<Record<string, readonly ForeignWord[]>> = {
  // Of the file.
  variables: same("inputs", "env"),
  parameters: same("inputs"),
  constants: same("inputs"),
  runners: same("resources"),
  cleanup: same("finally"),
  teardown: same("finally"),
  always: same("finally"),
  after: same("finally"),
  on: startedOutside,
  schedule: startedOutside,
  stages: inSteps,
  jobs: inSteps,
  tasks: inSteps,
  testcases: inSteps,
  item: inSteps,
  "before-script": firstSteps,
  "after-script": isMade,
  variable: same("inputs"),
  dotenv: same("env-file"),
  "env-file": how(
    "env",
    '`env-file` is the whole file\'s; `env: { A: "${{ env.A }}" }` passes a variable on',
  ),
  services: how("steps", "a service is a step with `background: true`, such as `run: docker compose up db`"),
  image: onMachine,
  container: onMachine,
  version: how("steps", "leave it out: a pipeline file has none"),
  concurrency: how("steps", "how many runs are active at once is for the service to say"),
  permissions: how("steps", "leave it out: steps can do what whoever starts them can"),
  defaults: how("resources", "what all steps have stands in their resource, such as `shell` and `cwd`"),
  strategy: [...forEach, ...how("steps", "`each` runs a step for each item of a list")],
  matrix: [...forEach, ...how("steps", "`each` runs a step for each item of a list")],
  cache: [...stays, ...how("steps", "files stay where they are, from one run to the next")],
  env: how("env-file", "`env` stands in a resource of type cli or its steps; a constant is one of `inputs`"),
  mask: how("unmasked", "each variable is masked, and `mask` in a step hides a part of its result"),
  secrets: how("env-file", "each variable is masked: write `${{ env.NAME }}` where it is needed"),
  // Of the file and of its steps.
  vars: [...same("inputs"), ...captured],
  environment: same("env"),
  timeout: same("time-limit", "for"),
  "timeout-minutes": [
    ...how("time-limit", "write `time-limit: 5m`"),
    ...how("timeout", "write `timeout: 5m`"),
  ],
  desc: same("name"),
  description: same("name"),
  // Of a step.
  "continue-on-error": goesOn,
  "ignore-errors": goesOn,
  "ignore-error": goesOn,
  "on-error": goesOn,
  "allow-failure": goesOn,
  force: goesOn,
  when: same("if"),
  condition: same("if"),
  rules: conditional,
  only: conditional,
  except: conditional,
  preconditions: conditional,
  skip: how("if", "write the opposite as `if`"),
  unless: how("if", "write the opposite as `if`"),
  foreach: same("each"),
  "for-each": same("each"),
  range: same("each"),
  "with-items": same("each"),
  for: same("each"),
  parallel: inOrder,
  stage: inOrder,
  deps: inOrder,
  loop: how("retry", "`each` runs it for each item of a list, and `retry` again until it succeeds"),
  retries: tried,
  "retry-interval": tried,
  "retry-delay": tried,
  defer: [...same("finally"), ...how("on-failure", "put the step into `finally`")],
  needs: inOrder,
  "depends-on": inOrder,
  test: asserted,
  assert: asserted,
  asserts: asserted,
  tests: asserted,
  assertions: asserted,
  bind: captured,
  capture: captured,
  captures: captured,
  extract: captured,
  output: captured,
  outputs: captured,
  save: captured,
  store: captured,
  set: how("id", "a constant is one of the file's `inputs`, and a result is `steps.<id>` of its step"),
  info: shownAnyway,
  dump: shownAnyway,
  silent: shownAnyway,
  type: [...ofResource, ...token, ...same("fill")],
  register: captured,
  uses: how(
    "run",
    "a program does what an action does; other steps are put in by `include: parts/login.yaml`",
  ),
  script: same("run"),
  command: same("run"),
  cmd: same("run"),
  cmds: same("run"),
  commands: same("run"),
  exec: same("run", "query"),
  sql: same("query"),
  data: same("json"),
  payload: same("json"),
  method: request,
  path: request,
  url: [...request, ...same("path", "base-url")],
  host: same("base-url"),
  endpoint: same("base-url"),
  header: [...same("headers"), ...beside],
  prerequest: how("get", "what comes before is a step of its own"),
  params: same("query"),
  "multipart-form": same("multipart"),
  "form-data": same("multipart"),
  "follow-redirects": notFollowed,
  "no-follow-redirect": notFollowed,
  "max-redirects": same("redirects"),
  "basic-auth": how("auth", "write `auth: { basic: { user, password } }`"),
  artifacts: same("keep"),
  "working-directory": same("cwd"),
  workdir: same("cwd"),
  dir: same("cwd"),
  healthcheck: ready,
  "wait-for": ready,
  // Of an sql resource.
  dsn: same("url"),
  uri: same("url"),
  "connection-string": same("url"),
  driver: byAddress,
  input: same("stdin"),
  with: same("inputs"),
  detach: same("background"),
  // Of an http resource.
  insecure: unverified,
  verify: unverified,
  "skip-verify": unverified,
  "ignore-verify-ssl": unverified,
  resolve: led,
  "unix-socket": led,
  // Of `auth`.
  bearer: token,
  token,
  username: same("user"),
  // Of a script.
  args: same("with", "params"),
  // Of `retry`.
  interval: same("every"),
  delay: [...same("every"), ...paused],
  sleep: [...paused, ...waits],
  wait: [...same("every"), ...paused, ...waits],
  pause: [...same("every"), ...paused, ...waits],
  count: same("times", "row-count"),
  backoff: how("every", "the pause is always the same"),
  attempts: same("times"),
  "max-attempts": same("times"),
  limit: same("times"),
  until: [
    ...how("times", "a step is tried until all that it expects holds"),
    ...how("retry", "`retry` tries the step until all that it expects holds"),
  ],
  // Of a page.
  headless: how("trace", "leave it out: nobody sees the browser, and a `trace` shows what it did"),
  selector: same("css"),
  locator: same("css"),
  xpath: how("css", "an element is found as a person finds it, by `role`, `label` or `text`, else by `css`"),
  visible: how("elements", "`elements` lists what can be seen"),
  "wait-for-selector": same("wait-for"),
  goto: onPage,
  visit: onPage,
  navigate: onPage,
  screenshot: how("wait-for", "`screenshot` stands beside `actions`"),
  "assert-visible": lookedAt,
  expect: lookedAt,
  // Of `expect`.
  "json-path": byPath,
  jsonpath: byPath,
  "status-code": same("status"),
  statuscode: same("status"),
  "response-time": same("time"),
  code: same("status", "exit-code"),
  body: [...how("json-schema", "`json`, `text` and `json-schema` say what it holds"), ...beside],
  duration: same("time"),
  schema: same("json-schema"),
  systemout: same("stdout"),
  systemerr: same("stderr"),
  // Of an input.
  required: optional,
  value: same("default", "with"),
  min: allowed,
  max: allowed,
  pattern: allowed,
  regex: allowed,
};

const choice = how("text", "leave it out and write `options: [eu, us]`");

/** Types of resources and inputs in other tools. */
const types: Readonly<Record<string, readonly ForeignWord[]>> = {
  ...each(["rest", "api", "https", "curl", "req", "graphql"], same("http")),
  ...each(
    ["postgres", "postgresql", "pg", "mysql", "mariadb", "sqlite", "sqlite3", "db", "database", "dbfixtures"],
    same("sql"),
  ),
  ...each("shell bash sh command cmd exec script program local".split(" "), same("cli")),
  ...each(["playwright", "puppeteer", "selenium", "chrome", "chromium", "cdp", "ui"], same("browser")),
  web: how("browser", "`http` sends requests, and `browser` uses a page"),
  ...each(["string", "str", "environment"], same("text")),
  ...each(["int", "integer", "float", "double"], same("number")),
  ...each(["bool", "flag"], same("boolean")),
  ...each(["enum", "select", "choice", "options"], choice),
  ...each(
    ["secret", "password"],
    how("text", "an input is shown: a secret is a variable, `${{ env.NAME }}`"),
  ),
  ...each(
    ["array", "list", "object", "json", "map"],
    how("text", "write it as JSON in a text, which `fromJSON(inputs.<name>)` reads"),
  ),
};

function each(names: readonly string[], meant: readonly ForeignWord[]) {
  return Object.fromEntries(names.map((name) => [name, meant]));
}

/** Members of a step's result in other tools, and what has the same here: the first that there is. */
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

/** @param known the names of the map in which the word stands. */
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
