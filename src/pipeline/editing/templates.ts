/** A new pipeline's text, valid as it is. */
export interface Template {
  readonly id: "empty" | "http" | "sql" | "browser" | "cli";
  /** A sentence for the picker. */
  readonly meaning: string;
  readonly text: string;
  /** The part of the text that is edited first. */
  readonly firstWords: string;
}

/** In display order. Without `name`, so that the pipeline is named after its file. */
export const templates: readonly Template[] = [
  {
    id: "empty",
    meaning: "The smallest pipeline: one resource and one step.",
    firstWords: "say hello",
    text: `resources:
  shell: { type: cli }

steps:
  - name: say hello
    use: shell
    run: echo hello
`,
  },
  {
    id: "http",
    meaning: "Requests to an HTTP service, and what its replies have to be like.",
    firstWords: "http://127.0.0.1:8080",
    text: `time-limit: 30s

resources:
  service:
    type: http
    base-url: http://127.0.0.1:8080 # put before each step's path
    # headers: { authorization: "Bearer \${{ env.TOKEN }}" }

steps:
  - name: it answers
    use: service
    get: /
    expect: { status: 200, time: 2s }

  - name: there is no such page
    use: service
    get: /no-such-page
    expect: { status: 404 }
`,
  },
  {
    id: "sql",
    meaning: "Statements on a database, and the rows that they have to return.",
    firstWords: "sqlite::memory:",
    text: `time-limit: 30s

resources:
  database:
    type: sql
    url: "sqlite::memory:" # or sqlite:data.db, or postgres:// or mysql://user@host/database

steps:
  - name: a table with two rows
    use: database
    statements: # one transaction: all of them or none
      - create table lamps (name text, price integer)
      - query: insert into lamps values (?, ?), (?, ?)
        params: [desk lamp, 30, floor lamp, 80]

  - name: what they cost together
    use: database
    query: select sum(price) as total from lamps
    expect: { rows: [{ total: 110 }] }
`,
  },
  {
    id: "browser",
    meaning: "A page in a real browser: what is done on it, and what has to be seen.",
    firstWords: "http://127.0.0.1:8080",
    text: `time-limit: 60s

resources:
  visitor:
    type: browser
    base-url: http://127.0.0.1:8080 # put before each step's path

steps:
  - name: the front page
    use: visitor
    goto: /
    expect: { title: Welcome }
    screenshot: front-page.png

  - name: search
    use: visitor
    actions:
      - fill: { label: Search, with: lamp }
      - click: { role: button, name: Go }
    expect: { text: results }
`,
  },
  {
    id: "cli",
    meaning: "Programs of this machine, how they end and what they print.",
    firstWords: "node --version",
    text: `time-limit: 5m

resources:
  shell: { type: cli }

steps:
  - name: a program's version
    use: shell
    run: node --version
    expect: { output: '/^v\\d+/' }

  - name: several lines for the shell
    use: shell
    run: |
      echo one
      echo two
    expect: { exit-code: 0, output: two }
`,
  },
];
