import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Mask } from "../../../src/runner/mask/mask.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { TemporaryFolder } from "../../temporaryFolder.ts";
import { BrowserSteps, html, pages } from "./browserSteps.ts";

const shop = `<title>The shop</title><button>Pay</button>
<iframe title="Advertisement" src="/ads"></iframe><iframe title="Payment" name="pay-1" data-testid="pay" src="/pay"></iframe>`;
const pay = `<button onclick="document.body.append('in the frame')">Pay</button><iframe name="challenge" src="/code"></iframe>`;
const code = `<label>Code <input oninput="said.textContent = this.value"></label><p id=said></p>`;
const times = `<label>Day <input type=date></label><label>Hour <input type=time></label>
<label>Zone <select><option>UTC<option disabled>Local</select></label>`;
const asks = `<title>Asks</title><p id=said></p>
<button onclick="said.textContent = prompt('Your name?') + ', ' + confirm('Sure?') + ', ' + confirm('Again?')">Ask</button>
<button onclick="setTimeout(() => { said.textContent = confirm('Late?'); }, 300)">Ask later</button>
<a href="/more" target="_blank">More</a>`;
const strict = `<title>Strict</title><p id=shown></p><div data-testid=total>12.50   €<br>in all</div>
<label>Name <input></label><input type=checkbox checked><a href="#a">a</a><a href="#b">b</a>`;

const files = `<title>Files</title><label>Picture <input type=file hidden onchange="show(this)"></label>
<label>Papers <input type=file multiple onchange="show(this)"></label><label>Name <input></label><ol id=seen></ol>
<a href="/data.csv">Data</a> <a href="/wide.csv">Wide</a> <a href="/data.csv" target="_blank">Data in a tab</a> <a href="/huge">Huge</a>
<a href="/unending">Unending</a> <button>Nothing</button>
<script>
  async function show(field) {
    seen.textContent = "";
    for (const file of field.files) seen.innerHTML += "<li>" + file.name + ": " + await file.text() + "</li>";
  }
</script>`;

describe("the actions of a browser step", () => {
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;
  let folder: TemporaryFolder;
  const letGo = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": shop,
        "/ads": "<button>Buy</button>",
        "/pay": pay,
        "/code": code,
        "/framed": `<iframe srcdoc="In the frame"></iframe>`,
        "/times": times,
        "/asks": asks,
        "/alerts": "<script>for (;;) alert(1)</script>",
        "/later": `<title>Later</title><script>
          void (async () => {
            await fetch("/go");
            for (let count = 0; count < 150; count++) alert(count);
            await fetch("/over");
          })()
        </script>`,
        "/go": (_request, response) => void letGo.promise.then(() => response.end()),
        "/over": (_request, response) => {
          over.resolve();
          response.end();
        },
        "/files": files,
        "/strict": (_request, response) =>
          response
            .setHeader("content-security-policy", "default-src 'none'")
            .setHeader("content-type", html)
            .end(strict),
        "/wide.csv": (_request, response) =>
          response
            .setHeader("content-disposition", "attachment; filename=wide.csv")
            .end(Buffer.from("\ufefftoken,word-of-ours", "utf16le")),
        "/data.csv": (_request, response) =>
          response
            .setHeader("content-disposition", "attachment; filename*=UTF-8''d%C3%A4%2Fta%E2%80%AE.csv")
            .end("token,word-of-ours"),
        "/huge": (_request, response) =>
          response
            .setHeader("content-disposition", "attachment; filename=huge.bin")
            .end(Buffer.alloc(9 * 1024 * 1024)),
        "/unending": (_request, response) =>
          response
            .setHeader("content-disposition", "attachment; filename=unending.bin")
            .setHeader("content-type", "application/octet-stream")
            .write(Buffer.alloc(4096)),
        "/more": "<title>More lamps</title>",
      }),
    );
    base = server.origin;
    folder = await TemporaryFolder.make();
    await mkdir(join(folder.path, "project/parts"), { recursive: true });
    await writeFile(join(folder.path, "outside.txt"), "secret");
    await writeFile(join(folder.path, "project/parts/a.txt"), "first");
    await writeFile(join(folder.path, "project/b.txt"), "second");
    await symlink("../outside.txt", join(folder.path, "project/link.txt"));
    steps.inFolder(join(folder.path, "project"));
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  it("find an element in a frame by its title, name, test id or selector, also in a frame within it", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/",
      actions: [
        { click: { role: "button", name: "Pay", frame: { title: "Payment" } } },
        { fill: { label: "Code", with: "1234", frame: { name: "challenge" } } },
      ],
      expect: {
        elements: [
          { text: "in the frame", frame: { "test-id": "pay", name: "/^pay-\\d$/" } },
          { text: "1234", frame: { css: "[name=challenge]" } },
          { role: "button", count: 1 },
          { role: "button", name: "Pay", count: 0, frame: { title: "Advertisement" } },
          { role: "button", count: 2, frame: { css: "iframe[title]" } },
        ],
      },
    });
    assert.match(log, /^# click the button `Pay` in the frame with the title `Payment` → done in /m);
  });

  it("say that what isn't on the page itself is in a frame of it", async () => {
    assert.match(
      await steps.fail(base, {
        goto: "/",
        timeout: "1s",
        actions: [{ click: { role: "button", name: "Buy" } }],
      }),
      /; the buttons are: `Pay`; a frame of the page has it, which `frame` has to name$/,
    );
    assert.match(
      await steps.fail(base, { goto: "/framed", timeout: "1s", expect: { text: "In the frame" } }),
      /, which shows no text; a frame of the page has it, where `elements` finds it with `frame`$/,
    );
  });

  it("fill a time as its field takes it, and say how that is, where the field would be emptied", async () => {
    const filling = (label: string, text: string) => ({
      goto: "/times",
      actions: [{ fill: { label, with: text } }],
      read: { value: { label } },
    });
    for (const [label, text] of [
      ["Day", "2026-02-28"],
      ["Hour", "14:30"],
      ["Day", ""],
    ] as const) {
      const { result } = await steps.succeed(base, filling(label, text));
      assert.equal(result?.values["value"], text);
    }
    const takes = "it takes no such text, but one as";
    assert.equal(
      await steps.fail(base, filling("Day", "28.02.2026")),
      `fill the field labelled \`Day\`: ${takes} \`2026-02-28\``,
    );
    assert.match(await steps.fail(base, filling("Day", "2026-02-30")), /`2026-02-28`$/);
    assert.match(await steps.fail(base, filling("Hour", "2:30 pm")), /`14:30`$/);
  });

  it("say that an option can't be chosen", async () => {
    assert.equal(
      await steps.fail(base, {
        goto: "/times",
        timeout: "1s",
        actions: [{ select: { label: "Zone", option: "Local" } }],
      }),
      "select `Local` in the field labelled `Zone`: that option was still disabled when 1 s, the step's `timeout`, were over",
    );
  });

  it("say which frames there are, and what else is in the frame", async () => {
    const clicking = (element: object) => ({ goto: "/", timeout: "1s", actions: [{ click: element }] });
    assert.equal(
      await steps.fail(base, clicking({ role: "button", frame: { title: "Chat" } })),
      "click the button in the frame with the title `Chat`: there was no such frame within 1 s, the step's `timeout`; the frames are: `Advertisement`, `Payment`, `challenge`",
    );
    assert.match(
      await steps.fail(base, clicking({ role: "button", name: "Go", frame: { title: "Payment" } })),
      /: there was none within 1 s, the step's `timeout`; the buttons are: `Pay`$/,
    );
    assert.match(
      await steps.fail(base, clicking({ role: "button", frame: { css: "iframe[title]" } })),
      /: it could be any of 2 elements/,
    );
    assert.match(
      await steps.fail(base, clicking({ role: "button", frame: { css: "iframe[" } })),
      /^a `css` of this step is no CSS selector/,
    );
  });

  it("answer the dialogs that come after them, and dismiss any other", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/asks",
      actions: [
        { dialog: { text: "Ada" } },
        { dialog: "accept" },
        { click: { role: "button", name: "Ask" } },
      ],
      expect: { text: "Ada, true, false" },
    });
    assert.match(log, /^# accept the next dialog → done in /m);
    assert.match(log, /^# the page's prompt was accepted: Your name\?$/m);
    assert.match(log, /^# the page's confirm was accepted: Sure\?$/m);
    assert.match(log, /^# the page's confirm was dismissed: Again\?$/m);
    assert.doesNotMatch(log, /Ada/);
    await steps.succeed(base, {
      actions: [{ dialog: "accept" }, { click: { role: "button", name: "Ask later" } }],
    });
    await steps.succeed(base, { expect: { text: "true" } });
  });

  it("fail for a dialog that doesn't come, whose answer the next step doesn't give", async () => {
    assert.equal(
      await steps.fail(base, { goto: "/asks", timeout: "1s", actions: [{ dialog: "accept" }] }),
      "the page opened no dialog that `dialog` could answer within 1 s, the step's `timeout`; it stands before the action that opens it",
    );
    const { log } = await steps.succeed(base, {
      actions: [{ click: { role: "button", name: "Ask later" } }],
      expect: { text: "false" },
    });
    assert.match(log, /confirm was dismissed: Late\?/);
  });

  it("fail where dialogs don't end, and leave a new browser to the next step", async () => {
    const gaveUp =
      "the page opened more than 100 dialogs in this step that no `dialog` answers, so its browser was ended";
    assert.equal(await steps.fail(base, { goto: "/alerts" }), gaveUp);
    assert.match(
      await steps.fail(base, { expect: { title: "Strict" } }),
      /^no page is open: a step before this one has to `goto` one$/,
    );
    await steps.succeed(base, { goto: "/strict", expect: { title: "Strict" } });
    assert.equal(
      await steps.fail(base, { actions: [{ evaluate: "void open('/alerts')" }], expect: { text: "never" } }),
      gaveUp,
    );
    await steps.succeed(base, { goto: "/strict", expect: { title: "Strict" } });
  });

  it("leave what is known of the page whose dialogs don't end", async () => {
    steps.addResource("dialogs", { trace: "on-failure" });
    const { log, kept, result } = await steps.run(base, { use: "dialogs", goto: "/alerts" });
    assert.equal(result?.values["url"], `${base}/alerts`, log);
    assert.deepEqual(
      kept.map(({ name }) => name),
      ["trace.zip"],
      log,
    );
  });

  it("leave the tabs open whatever dialogs come between two steps", async () => {
    await steps.succeed(base, { goto: "/later", expect: { title: "Later" } });
    letGo.resolve();
    await over.promise;
    await steps.succeed(base, { expect: { title: "Later" } });
  });

  it("evaluate a script with its variables, an expression or statements, also where the page forbids it", async () => {
    const quote = "'); document.title = 'taken'; ('";
    const { log } = await steps.succeed(base, {
      goto: "/strict",
      actions: [
        { evaluate: "document.title = 'changed';" },
        {
          evaluate: {
            script: "if (n === 2) { await null; shown.textContent = word; }",
            with: { n: 2, word: quote },
          },
        },
      ],
      expect: { title: "changed", text: quote },
    });
    assert.match(log, /^# evaluate a script → done in /m);
    await steps.succeed(base, {
      actions: [{ evaluate: "location.href = '/more'" }],
      expect: { title: "More" },
    });
  });

  it("say what is wrong with a script", async () => {
    const evaluating = (evaluate: string) =>
      steps.fail(base, { goto: "/strict", timeout: "1s", actions: [{ evaluate }] });
    assert.equal(
      await evaluating("nothing.at.all"),
      "evaluate a script: ReferenceError: nothing is not defined",
    );
    assert.equal(await evaluating("throw new Error('no lamps')"), "evaluate a script: no lamps");
    assert.equal(
      await evaluating("new Promise(() => {})"),
      "evaluate a script: it wasn't over within 1 s, the step's `timeout`",
    );
    assert.equal(
      await evaluating("'x'.repeat(11 * 1024 * 1024)"),
      "evaluate a script: its value can't be read: it is larger than 10 MB, the most that is kept of one",
    );
  });

  it("leave what is read of the page to expressions", async () => {
    const { result } = await steps.succeed(base, {
      goto: "/strict",
      actions: [{ fill: { label: "Name", with: "Ada" } }],
      read: {
        total: { "test-id": "total" },
        name: { label: "Name" },
        sure: { role: "checkbox" },
        links: {
          evaluate: {
            script: "return [...document.links].map((link) => link[what])",
            with: { what: "hash" },
          },
        },
        nothing: { evaluate: "undefined" },
      },
    });
    assert.deepEqual(result?.values, {
      url: `${base}/strict`,
      title: "Strict",
      text: result?.values["text"],
      total: "12.50 €\nin all",
      name: "Ada",
      sure: true,
      links: ["#a", "#b"],
    });
    const failing = (read: object) => steps.fail(base, { goto: "/strict", timeout: "1s", read });
    assert.match(
      await failing({ total: { "test-id": "sum" } }),
      /^read `total`: the element with the test id `sum`: there was none within 1 s, .*the test ids are: `total`$/,
    );
    assert.equal(
      await failing({ total: { evaluate: "none" } }),
      "read `total`: ReferenceError: none is not defined",
    );
    // The browser writes deeper nesting than this program.
    assert.equal(
      await failing({
        deep: { evaluate: "let deep = []; for (let n = 0; n < 3000; n++) deep = [deep]; return deep" },
      }),
      "read `deep`: its value can't be read: a value is nested too deep, or too large, to be written as JSON",
    );
  });

  it("upload files of the project, also into a field that is hidden", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/files",
      actions: [{ upload: { label: "Picture", file: "parts/a.txt" } }],
      expect: { elements: [{ role: "listitem", text: "a.txt: first", count: 1 }] },
    });
    assert.match(log, /^# upload `parts\/a\.txt` to the field labelled `Picture` → done in /m);
    await steps.succeed(base, {
      actions: [{ upload: { label: "Papers", file: ["b.txt", "parts/a.txt"] } }],
      expect: { elements: [{ text: "b.txt: second" }, { text: "a.txt: first" }] },
    });
  });

  it("upload nothing that isn't a file of the project, and only into a field for files", async () => {
    const uploading = (file: unknown, label = "Picture") =>
      steps.fail(base, { goto: "/files", timeout: "2s", actions: [{ upload: { label, file } }] });
    const root = join(folder.path, "project");
    assert.match(await uploading("c.txt"), /: `c\.txt` isn't in the project's folder, /);
    assert.ok(
      (await uploading("link.txt")).endsWith(`\`link.txt\` leads out of the project's folder, ${root}`),
    );
    assert.match(await uploading("parts"), /: `parts` is no plain file$/);
    assert.match(await uploading(["b.txt", "parts/a.txt"]), /: it takes one file only$/);
    assert.match(await uploading("b.txt", "Name"), /: it is no field for files$/);
  });

  it("keep what they download, masked, under a name that is safe", async () => {
    const { kept, log } = await steps.run(
      base,
      {
        goto: "/files",
        actions: [
          { download: { role: "link", name: "/^Data$/" } },
          { download: { role: "link", name: "Data in a tab", as: "data 2.csv" } },
          { download: { role: "link", name: "Wide" } },
        ],
        expect: { title: "Files" },
      },
      { mask: new Mask(["word-of-ours"]) },
    );
    assert.deepEqual(
      kept.map(({ name, mediaType, content }) => [name, mediaType, content]),
      [
        ["dä_ta_.csv", "application/octet-stream", "token,***"],
        ["data 2.csv", "application/octet-stream", "token,***"],
        ["wide.csv", "application/octet-stream", "\ufefftoken,***"],
      ],
    );
    assert.match(log, /^# download by the link \/\^Data\$\/ → done in /m);
    assert.match(log, /^# downloaded data 2\.csv, 18 bytes$/m);
    assert.doesNotMatch(log, /not taken/);
  });

  it("keep no download that is too large, and fail for one that doesn't come or end", async () => {
    const downloading = (element: object) => ({
      goto: "/files",
      timeout: "2s",
      actions: [{ download: element }],
    });
    const { outcome, kept, log } = await steps.run(base, downloading({ role: "link", name: "Huge" }));
    assert.deepEqual([outcome.kind, kept], ["succeeded", []]);
    assert.match(log, /^# huge\.bin isn't kept: it has 9437184 bytes, and at most 8388608 are kept of one$/m);
    assert.equal(
      await steps.fail(base, downloading({ role: "button", name: "Nothing" })),
      "download by the button `Nothing`: it caused no download within 2 s, the step's `timeout`",
    );
    assert.equal(
      await steps.fail(base, downloading({ role: "link", name: "Unending" })),
      "download by the link `Unending`: the download wasn't complete within 2 s, the step's `timeout`",
    );
  });

  it("go on in another tab, by its title or address", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/asks",
      actions: [
        { click: { role: "link", name: "More" } },
        { tab: { title: "Asks" } },
        { click: { role: "button", name: "Ask later" } },
        { tab: { url: "/more", title: "/^More/" } },
      ],
      expect: { url: "more" },
    });
    assert.match(log, /^# go to the tab with the title \/\^More\/ and the address `\/more` → done in /m);
    assert.equal(
      await steps.fail(base, { timeout: "1s", actions: [{ tab: { title: "Less" } }] }),
      `go to the tab with the title \`Less\`: there was none within 1 s, the step's \`timeout\`; the tabs are at: ${base}/asks, ${base}/more`,
    );
  });
});
