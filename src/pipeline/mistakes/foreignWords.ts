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
const tried = how("retry", "write `retry: { times: 3, every: 1s }`");

/** Fields of other tools, as they are called with dashes. */
const fields: Readonly<Record<string, readonly ForeignWord[]>> = {
  // Of the file.
  variables: same("inputs"),
  parameters: same("inputs"),
  constants: same("inputs"),
  runners: same("resources"),
  cleanup: same("finally"),
  teardown: same("finally"),
  always: same("finally"),
  after: same("finally"),
  on: startedOutside,
  schedule: startedOutside,
  stages: how("resources", "the steps of a pipeline stand in `steps`, one after the other"),
  jobs: how("resources", "the steps of a pipeline stand in `steps`, one after the other"),
  env: how("env-file", "`env` stands in a resource of type cli or its steps; a constant is one of `inputs`"),
  secrets: how("env-file", "each variable is masked: write `${{ env.NAME }}` where it is needed"),
  // Of the file and of its steps.
  vars: [...same("inputs"), ...captured],
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
  "allow-failure": goesOn,
  force: goesOn,
  when: same("if"),
  condition: same("if"),
  skip: how("if", "write the opposite as `if`"),
  unless: how("if", "write the opposite as `if`"),
  foreach: same("each"),
  "for-each": same("each"),
  range: same("each"),
  "with-items": same("each"),
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
  register: captured,
  uses: how(
    "run",
    "a program does what an action does; other steps are put in by `include: parts/login.yaml`",
  ),
  script: same("run"),
  command: same("run"),
  data: same("json"),
  payload: same("json"),
  method: request,
  url: request,
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
  input: same("stdin"),
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
  args: same("with"),
  // Of `retry`.
  interval: same("every"),
  delay: [...same("every"), ...paused],
  sleep: paused,
  wait: same("every"),
  pause: same("every"),
  count: same("times"),
  attempts: same("times"),
  "max-attempts": same("times"),
  limit: same("times"),
  until: [
    ...how("times", "a step is tried until all that it expects holds"),
    ...how("retry", "`retry` tries the step until all that it expects holds"),
  ],
  // Of `expect`.
  "json-path": byPath,
  jsonpath: byPath,
  "status-code": same("status"),
  statuscode: same("status"),
  "response-time": same("time"),
  code: same("status", "exit-code"),
  body: how("json-schema", "`json`, `text` and `json-schema` say what it holds"),
  systemout: same("stdout"),
  systemerr: same("stderr"),
};

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
