// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the references that pipeline files are written with.
import assert from "node:assert/strict";
import { parsePipeline } from "../../src/pipeline/parsePipeline.ts";
import type { Pipeline } from "../../src/pipeline/pipeline.ts";

const resource = "resources: { web: { type: browser, base-url: http://h.test } }";
const open = "  - { use: web, goto: / }";

describe("a browser step of a pipeline file", () => {
  it("is settled against its resource", () => {
    const pipeline = valid(`
resources:
  web: { type: browser, base-url: http://127.0.0.1:8080/app/, executable: tools/chrome, device: Pixel 8, viewport: { width: 390, height: 844 }, storage: in.json, trace: on-failure, timeout: 2s, auth: { basic: { user: ada, password: 1.50 } } }
steps:
  - name: search
    use: web
    goto: /lamps
    timeout: 5s
    actions:
      - fill: { label: Search, with: 1.50 }
      - press: Control+Enter
      - press: { key: Tab, placeholder: Town }
      - select: { test-id: colour, option: Red }
      - check: { label: /stock$/i }
      - uncheck: { css: "#sale", text: Sale }
      - click: { role: button, name: Go }
      - wait-for: { text: 3 results, count: 1, frame: { title: List, name: /^l/, test-id: 7, css: iframe } }
      - upload: { label: Picture, file: parts/a.png }
      - upload: { css: input, file: [a.png, "\${{ env.B }}"] }
      - download: { text: Data, as: data.csv }
      - evaluate: "document.title = '\${{ env.T }}';"
      - evaluate: { script: return lamps, with: { lamps: [1, "\${{ run.id }}"] } }
      - dialog: dismiss
      - dialog: { text: 7 }
      - tab: { title: /^L/, url: lamps }
    expect:
      status: 2xx
      url: lamps
      title: /^Lamps/
      text: 3 results
      elements: [{ role: listitem, text: lamp, count: 3 }, { role: heading }]
    read:
      total: { test-id: total, frame: { name: sums } }
      count: { evaluate: document.links.length }
    screenshot: results.png
    storage: logins/\${{ env.WHO }}.json
`);
    const text = (words: string) => ({ kind: "contains", text: words });
    assert.deepEqual(pipeline.resources, [{ name: "web", type: "browser" }]);
    // As it travels to the runner: what is undefined is left out.
    assert.deepEqual(JSON.parse(JSON.stringify(pipeline.steps)), [
      {
        type: "browser",
        name: "search",
        use: "web",
        browser: {
          executable: "tools/chrome",
          auth: { user: "ada", password: "1.50", base: "http://127.0.0.1:8080/app/" },
          device: "Pixel 8",
          viewport: { width: 390, height: 844 },
          storage: "in.json",
          isTraced: true,
        },
        goto: { base: "http://127.0.0.1:8080/app/", target: "/lamps" },
        actions: [
          { kind: "fill", target: { kind: "label", label: text("Search") }, with: "1.50" },
          { kind: "press", key: "Control+Enter" },
          { kind: "press", key: "Tab", target: { kind: "placeholder", placeholder: text("Town") } },
          { kind: "select", target: { kind: "test-id", testId: "colour" }, option: "Red" },
          {
            kind: "check",
            target: { kind: "label", label: { kind: "matches", source: "stock$", flags: "i" } },
          },
          { kind: "uncheck", target: { kind: "css", selector: "#sale", text: text("Sale") } },
          { kind: "click", target: { kind: "role", role: "button", name: text("Go") } },
          {
            kind: "wait-for",
            target: {
              kind: "text",
              text: text("3 results"),
              frame: {
                title: text("List"),
                name: { kind: "matches", source: "^l", flags: "" },
                testId: "7",
                css: "iframe",
              },
            },
            count: 1,
          },
          { kind: "upload", target: { kind: "label", label: text("Picture") }, files: ["parts/a.png"] },
          { kind: "upload", target: { kind: "css", selector: "input" }, files: ["a.png", "${{ env.B }}"] },
          { kind: "download", target: { kind: "text", text: text("Data") }, as: "data.csv" },
          { kind: "evaluate", script: "document.title = '${{ env.T }}';", variables: {} },
          { kind: "evaluate", script: "return lamps", variables: { lamps: [1, "${{ run.id }}"] } },
          { kind: "dialog", answer: "dismiss" },
          { kind: "dialog", answer: "accept", text: "7" },
          { kind: "tab", title: { kind: "matches", source: "^L", flags: "" }, url: text("lamps") },
        ],
        timeoutMilliseconds: 5000,
        expect: {
          status: { from: 200, to: 299 },
          url: text("lamps"),
          title: { kind: "matches", source: "^Lamps", flags: "" },
          text: [text("3 results")],
          elements: [
            { target: { kind: "role", role: "listitem", text: text("lamp") }, count: 3 },
            { target: { kind: "role", role: "heading" } },
          ],
        },
        read: [
          { name: "total", target: { kind: "test-id", testId: "total", frame: { name: text("sums") } } },
          { name: "count", evaluate: { script: "document.links.length", variables: {} } },
        ],
        screenshot: "results.png",
        storage: "logins/${{ env.WHO }}.json",
      },
    ]);
  });

  it("has ten seconds, a page of usual size, and the name of what it does", () => {
    const { steps } = valid(`${resource}
steps:
  - { use: web, goto: "/a?b=\${{ env.B }}" }
  - { use: web, actions: [{ click: { role: button, name: Go } }] }
  - { use: web, expect: { title: Lamps } }
  - { use: web, screenshot: a.png }`);
    assert.deepEqual(
      steps.map(
        (step) => step.type === "browser" && [step.name, step.timeoutMilliseconds, step.browser.viewport],
      ),
      ["open /a?b=${{ env.B }}", "click the button `Go`", "look at the page", "look at the page"].map(
        (name) => [name, 10_000, { width: 1280, height: 720 }],
      ),
    );
  });

  it("may go on in the page of a step before it, though only of the same resource", () => {
    assert.deepEqual(
      invalid(`resources: { a: { type: browser }, b: { type: browser } }
steps:
  - { use: a, goto: "http://h.test" }
  - { use: a, expect: { title: x } }
  - { use: b, expect: { title: x } }
  - { use: b, expect: { title: x } }`),
      ["5:5: no page is open yet in `b`: the first step that uses it has a `goto`"],
    );
  });

  const cases: readonly (readonly [title: string, steps: string, ...problems: string[]])[] = [
    [
      "that does nothing",
      "  - { use: web }",
      "3:5: this step does nothing; a browser step has one or more of goto, actions, expect, read, screenshot, storage",
    ],
    [
      "with the action of another type",
      "  - { use: web, goto: /, get: /, run: x }",
      "3:26: `get` belongs to a step of type http, but `web` is of type browser, whose steps have one or more of goto, actions, expect, read, screenshot, storage",
      "3:34: `run` belongs to a step of type cli, but `web` is of type browser, whose steps have one or more of goto, actions, expect, read, screenshot, storage",
    ],
    [
      "with a field of its resource",
      "  - { use: web, goto: /, auth: { basic: { user: ada, password: b } } }",
      "3:26: `auth` stands in the resource `web`, not in a step",
    ],
    [
      "with an action that there isn't",
      "  - { use: web, goto: /, actions: [{ clik: { text: x } }, { dance: 1 }] }",
      "3:38: `actions` has no `clik`; did you mean `click`?",
      "3:61: `actions` has no `dance`; an action is a map such as `click: { role: button, name: Go }`; the actions are click, fill, press, select, check, uncheck, wait-for, evaluate, upload, download, dialog, tab",
    ],
    [
      "with two actions in one entry, or none",
      "  - { use: web, goto: /, actions: [{ click: { text: x }, press: Tab }, {}] }",
      "3:58: an entry of `actions` is one action, and this one already has `click`",
      "3:72: an action is a map such as `click: { role: button, name: Go }`; the actions are click, fill, press, select, check, uncheck, wait-for, evaluate, upload, download, dialog, tab",
    ],
    [
      "with an action that is no map",
      "  - { use: web, goto: /, actions: [go] }",
      "3:36: an action is a map such as `click: { role: button, name: Go }`; the actions are click, fill, press, select, check, uncheck, wait-for, evaluate, upload, download, dialog, tab",
    ],
    [
      "with a role that there isn't",
      "  - { use: web, goto: /, actions: [{ click: { role: buton } }, { click: { role: lamp } }, { click: { role: 3 } }] }",
      "3:53: there is no role `buton`; did you mean `button`?",
      "3:81: there is no role `lamp`; such as there are: button, link, textbox, heading",
      "3:108: expected a role such as button, link, textbox or heading",
    ],
    [
      "with an element said in no way, or in two",
      "  - { use: web, goto: /, actions: [{ click: {} }, { click: { label: a, css: b } }, { click: { name: a } }, { click: { label: a, text: b } }] }",
      "3:45: this names no element; it needs one of role, label, placeholder, test-id, css, text",
      "3:72: an element is said in one way, and this one already has `label`",
      "3:95: `name` stands beside a `role`",
      "3:129: `text` can't stand beside `label`",
    ],
    [
      "with a frame that names none, or in which there is no element",
      "  - { use: web, goto: /, actions: [{ click: { text: a, frame: {} } }, { press: { key: a, frame: { title: b } } }] }",
      "3:63: this names no frame; it needs one of title, name, test-id, css",
      "3:80: this names no element; it needs one of role, label, placeholder, test-id, css, text",
    ],
    [
      "with a frame that is none",
      "  - { use: web, goto: /, actions: [{ click: { text: a, frame: { titel: b } } }, { click: { text: a, frame: pay } }] }",
      "3:65: `frame` has no `titel`; did you mean `title`?",
      "3:108: expected a map of names and values",
    ],
    [
      "with a misspelt part of an element",
      "  - { use: web, goto: /, actions: [{ click: { lable: a } }], expect: { elements: [{ role: row, cuont: 1 }] } }",
      "3:47: `click` has no `lable`; did you mean `label`?",
      "3:96: `elements` has no `cuont`; did you mean `count`?",
    ],
    [
      "with a field and nothing to fill in",
      "  - { use: web, goto: /, actions: [{ fill: { label: a } }, { select: { label: a } }, { press: { label: a } }] }",
      "3:44: `fill` needs `with`",
      "3:70: `select` needs `option`",
      "3:95: `press` needs `key`",
    ],
    [
      "with a key that there isn't",
      "  - { use: web, goto: /, actions: [{ press: Entr }, { press: Ctrl+a }, { press: { key: Cotrol+a } }] }",
      "3:45: there is no key `Entr`; did you mean `Enter`?",
      "3:62: `Ctrl` can't be held while another key is pressed; these can: Shift, Control, Alt, Meta, ControlOrMeta",
      "3:88: `Cotrol` can't be held while another key is pressed; did you mean `Control`?",
    ],
    [
      "with what is no key",
      "  - { use: web, goto: /, actions: [{ press: [] }, { press: 1 }] }",
      "3:45: expected a key such as Enter, or a map such as `{ key: Enter, label: Search }`",
      "3:60: expected a key such as Enter, or a map such as `{ key: Enter, label: Search }`; put this number in quotes",
    ],
    [
      "with no file, or what is none",
      "  - { use: web, goto: /, actions: [{ upload: { label: a } }, { upload: { label: a, file: 1 } }, { download: { text: a, as: ../b } }] }",
      "3:46: `upload` needs `file`",
      "3:90: expected a file's path, or a list of them; put this number in quotes",
      "3:124: expected a file's name, of letters, digits, spaces, `.`, `_` and `-`",
    ],
    [
      "with a file that can't be one of the project",
      "  - { use: web, goto: /, actions: [{ upload: { label: a, file: ../b } }, { upload: { label: a, file: [b, /c] } }] }",
      "3:64: this leads out of the project's folder; name a file by its path from there",
      "3:106: this leads out of the project's folder; name a file by its path from there",
    ],
    [
      "with a frame as an action, or a list of statuses",
      "  - { use: web, goto: /, actions: [{ frame: card }], expect: { status: [200, 201] } }",
      "3:38: `actions` has no `frame`; an element says which one it is in: `click: { text: Pay, frame: { name: card } }`",
      "3:72: expected a number from 100 to 599, or a kind of status such as 2xx",
    ],
    [
      "with a script that is none, or that an expression would become a part of",
      "  - { use: web, goto: /, actions: [{ evaluate: a b }, { evaluate: { script: 'if (' } }, { evaluate: 'a(${{ run.id }})' }, { evaluate: { script: '${{ run.id }}', with: { script: '${{ run.id }}', run: 02 } } }] }",
      "3:48: this is no JavaScript: Unexpected identifier 'b'",
      "3:77: this is no JavaScript: it ends too early, or has a bracket too many",
      "3:108: `run` can't be used here: pass it by `with: { name: … }` and write `name`, so that it can't become a part of the script",
      "3:150: `run` can't be used here: pass it by `with: { name: … }` and write `name`, so that it can't become a part of the script",
      '3:200: this is read as the number 2; as a text it keeps what is written: "02"',
    ],
    [
      "with what can't be a script",
      "  - { use: web, goto: /, actions: [{ evaluate: { script: 'a', with: { a-b: 1 } } }, { evaluate: [] }, { evaluate: { scrip: a } }] }",
      "3:71: this can't name a variable of a script",
      "3:97: expected a script such as `document.title`, or a map such as `{ script: …, with: { … } }`",
      "3:117: `evaluate` has no `scrip`; did you mean `script`?",
    ],
    [
      "with something to read that can't be",
      "  - { use: web, goto: /, read: { text: { label: a }, c: {}, d: { label: e, evaluate: f }, h: { evaluate: 'a(${{ run.id }})' } } }",
      "3:34: the result of a step has its own `text`",
      "3:57: this names no element; it needs one of role, label, placeholder, test-id, css, text",
      "3:64: this is an element or `evaluate`, not both",
      "3:113: `run` can't be used here: pass it by `with: { name: … }` and write `name`, so that it can't become a part of the script",
    ],
    [
      "with what can't be read",
      "  - { use: web, goto: /, read: { a b: { label: c }, e: { evaluat: f }, f: 1, g: { evaluate: 1 } } }",
      "3:34: such a name begins with a letter or `_` and goes on with letters, digits, `_` and `-`",
      "3:58: `e` has no `evaluat`; did you mean `evaluate`?",
      "3:75: expected a map of names and values",
      "3:93: expected a script; put this number in quotes",
    ],
    [
      "after one that reads something by another name",
      "  - { id: page, use: web, goto: /, read: { total: { css: b } } }\n  - { use: web, goto: '/${{ steps.page.totl }}' }",
      "4:40: `steps.page` has no `totl`; did you mean `total`?",
    ],
    [
      "with an answer to a dialog, or a tab, that is none",
      "  - { use: web, goto: /, actions: [{ dialog: yes }, { dialog: { txt: a } }, { tab: 1 }] }",
      "3:46: expected `accept`, `dismiss`, or a map such as `{ text: Ada }`, which accepts with a text",
      "3:65: `dialog` has no `txt`; did you mean `text`?",
      "3:84: expected a map of names and values",
    ],
    [
      "with a tab that can't be found",
      "  - { use: web, goto: /, actions: [{ tab: {} }, { tab: { url: /a/b } }] }",
      "3:43: this names no tab; it needs `title` or `url`",
      "3:63: a regular expression takes the flags i and u, not `b`; to find a path, leave out its first slash: `a/b`",
    ],
    [
      "with a count that is none",
      "  - { use: web, goto: /, actions: [{ wait-for: { text: a, count: -1 } }], expect: { elements: [{ text: a, count: x }] } }",
      "3:66: a count is 0 or more",
      "3:114: expected a number",
    ],
    [
      "with empty lists and texts",
      "  - { use: web, goto: /, actions: [], expect: { elements: [] } }\n  - { use: web, actions: [{ click: { text: '' } }] }",
      "3:35: this list is empty",
      "3:59: this list is empty",
      "4:44: this text is empty",
    ],
    [
      "with a status but no page to open",
      `${open}\n  - { use: web, expect: { status: 404 } }`,
      "4:27: a status is that of a `goto`, and this step has none",
    ],
    [
      "with a path that looks like a regular expression",
      "  - { use: web, goto: /, expect: { url: /cart/items, text: /(/ } }",
      "3:41: a regular expression takes the flags i and u, not `items`; to find a path, leave out its first slash: `cart/items`",
      "3:60: invalid regular expression: /(/: Unterminated group",
    ],
    [
      "with a screenshot's name that can't be one",
      "  - { use: web, goto: /, screenshot: ../a.png }\n  - { use: web, screenshot: a.jpg }",
      "3:38: expected a file's name that ends in .png, of letters, digits, spaces, `.`, `_` and `-`",
      "4:29: expected a file's name that ends in .png, of letters, digits, spaces, `.`, `_` and `-`",
    ],
    [
      "with a password in its address",
      "  - { use: web, goto: 'http://me:word@h.test' }",
      "3:23: an address holds no user and password; send them by `auth`",
    ],
    [
      "that is wrong in itself and in its lists, all at once",
      "  - { use: web, gto: /, actions: [{ clik: {} }], expect: { staus: 3, elements: [{ rol: row }] } }",
      "3:17: a browser step has no `gto`; did you mean `goto`?",
      "3:37: `actions` has no `clik`; did you mean `click`?",
      "3:60: `expect` has no `staus`; did you mean `status`?",
      "3:83: `elements` has no `rol`; did you mean `role`?",
    ],
  ];
  for (const [title, steps, ...problems] of cases) {
    it(`${title} is told with line and column`, () =>
      assert.deepEqual(invalid(`${resource}\nsteps:\n${steps}`), problems));
  }

  it("needs a base URL for a path, and one that is an address", () => {
    assert.deepEqual(
      invalid(`resources:
  a: { type: browser }
  b: { type: browser, base-url: localhost, viewport: { width: 1, height: big }, timeout: 2h, headless: true }
  c: { type: browser, base-url: localhost, timeout: 2h }
  d: { type: browser, device: iPhone15 }
  e: { type: browser, device: Nokia 3310 }
  f: { type: browser, device: 15 }
  g: { type: browser, storage: ../a.json }
  h: { type: browser, trace: always }
steps:
  - { use: d, goto: "http://h.test", storage: /a.json }
  - { use: a, goto: /lamps }
  - { use: c, goto: /lamps }`),
      [
        "3:63: expected a number of pixels from 100 to 4096",
        "3:74: expected a number of pixels from 100 to 4096",
        "3:94: a browser resource has no `headless`; leave it out: nobody sees the browser, and a `trace` shows what it did",
        "4:33: `localhost` is no address: it begins with http:// or https://",
        "4:53: a timeout is at least 1ms and at most 1h",
        "5:31: there is no device `iPhone15`; did you mean `iPhone 15`?",
        "6:31: there is no device `Nokia 3310`; such as there are: iPhone 15, Pixel 8, iPad Mini landscape",
        "7:31: expected a device's name, such as iPhone 15",
        "8:32: this leads out of the project's folder; name a file by its path from there",
        "9:30: expected `on-failure`; without it, no trace is kept",
        "11:47: this leads out of the project's folder; name a file by its path from there",
        "12:21: `a` has no `base-url`, so this must be a whole address, beginning with http:// or https://",
      ],
    );
  });
});

function valid(text: string): Pipeline {
  const parsed = parsePipeline(text, "a.yaml");
  if (parsed.kind === "invalid") assert.fail(JSON.stringify(parsed.problems));
  return parsed.pipeline;
}

function invalid(text: string): string[] {
  const parsed = parsePipeline(text, "a.yaml");
  assert.equal(parsed.kind, "invalid");
  return parsed.problems.map(({ message, line, column }) => `${line}:${column}: ${message}`);
}
