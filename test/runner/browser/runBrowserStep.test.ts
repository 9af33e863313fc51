import assert from "node:assert/strict";
import type { ResultTaker, StepResult } from "../../../src/runner/step/stepContext.ts";
import { LoopbackService } from "../../client/loopbackService.ts";
import { BrowserSteps, html, pages } from "./browserSteps.ts";
import { readPng } from "./png.ts";

const shop = `<title>The shop</title><style>body { background: #123456; margin: 0 }</style>
<h1>Lamps</h1>
<form action="/found">
  <label>Search <input name="q"></label>
  <label>Search again <input name="again"></label>
  <label>Colour <select name="colour"><option value="r">Red</option><option value="b">Blue</option></select></label>
  <input placeholder="Your town" name="town">
  <label><input type="checkbox" name="stock" checked> In stock</label>
  <label><input type="checkbox" name="sale"> On sale</label>
  <button>Go</button> <button type="button">Go back</button>
</form>
<p data-testid="note">One   note</p>`;

const found = `<title>Found</title><ul><li>desk lamp</li><li>floor lamp</li><li>moon</li></ul>
<p>3
results</p><p id="later"></p>`;

describe("a browser step", () => {
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;
  const sent = Promise.withResolvers<void>();

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": shop,
        "/found": found,
        "/old": (_request, response) => response.writeHead(302, { location: "/found" }).end(),
        "/slow": `<title>…</title><div id=all></div><script>
        setTimeout(() => { document.title = "Ready"; all.innerHTML = "<button onclick=done()>Late</button><p>wait</p>"; }, 300);
        function done() { setTimeout(() => { all.innerHTML = "<h2>All done</h2>"; history.pushState(0, "", "/slow/end"); }, 300); }
      </script>`,
        "/keys": `<input aria-label="Text"><ol id=seen></ol><script>
        addEventListener("keydown", (event) => { seen.innerHTML += "<li>" + (event.ctrlKey ? "Control+" : "") + event.key; });
      </script>`,
        "/talks": `<title>Talks</title><button onclick="said.textContent = 'answer: ' + confirm('Delete all?')">Ask</button><p id=said></p>
        <script>console.error("this is wrong"); console.log("this is not told"); setTimeout(() => { throw new Error("thrown late"); });</script>`,
        "/leave": `<title>Leave</title><input aria-label="Text"><script>addEventListener("beforeunload", (event) => event.preventDefault());</script>`,
        "/opens": `<title>Opens</title><a href="/opened" target="_blank">New tab</a>`,
        "/opened": `<title>Opened</title><p>I am new</p><button onclick="window.close()">Close me</button>`,
        "/data": (_request, response) => {
          response.setHeader("content-disposition", "attachment; filename=data.csv").end("a,b");
          sent.resolve();
        },
        "/sent": (_request, response) => void sent.promise.then(() => response.end("it was sent")),
        "/offers": `<a href="/data">Get data</a><p id=told></p><script>
        fetch("/sent").then((reply) => reply.text()).then((text) => setTimeout(() => { told.textContent = text; }, 300));
      </script>`,
        "/gone": (_request, response) =>
          response.writeHead(404, { "content-type": html }).end("<p>Not here</p>"),
        "/locked": (_request, response) =>
          response.writeHead(401, { "www-authenticate": 'Basic realm="shop"' }).end("Not you"),
        "/long-words": "<title>Words</title><button>Donau&shy;dampf&shy;schiff</button>",
        "/cafe":
          "<title>-</title><button onclick=\"document.title = 'to the cafe\\u0301'\">cafe\u0301 (open)</button>",
        "/component": `<my-box><template shadowrootmode="open"><label for="box"><slot></slot></label>
        <input id="box" type="checkbox"></template>I agree</my-box>`,
        "/font": `<title>Font</title><style>@font-face { font-family: f; src: url(/never) } p { font-family: f }</style><p>There</p>`,
        "/halfway": `<title>Halfway</title><p>There</p><img src="/never" alt="">`,
        "/never": () => {},
        "/styled": `<style>b { text-transform: uppercase } i { text-transform: capitalize }</style>
        <p>Menu: <b>log in</b>, <i>open&nbsp;project</i></p><button>Open&nbsp;project</button>`,
        "/endless": "<title>Endless</title><script>for (;;);</script>",
        "/pay": `<p hidden>Pay</p><button hidden>Pay now</button><button>Pay now</button><span>Pay now</span>`,
      }),
    );
    base = server.origin;
  });
  after(() => server[Symbol.asyncDispose]());

  // teamcapybara/capybara 484, testing-library/react-testing-library 567, fhoeben/hsac-fitnesse-fixtures 80.
  it("finds a text as a person reads it, whatever its case and spaces are made of, and tells it so", async () => {
    await steps.succeed(base, {
      goto: "/styled",
      actions: [{ click: { role: "button", name: "Open project" } }],
      expect: {
        text: ["LOG IN", "Open Project"],
        elements: [{ text: "log in" }, { text: "open project" }],
      },
    });
    assert.match(
      await steps.fail(base, { goto: "/styled", expect: { text: "Sign in" }, timeout: "1s" }),
      /Menu: LOG IN, Open Project/,
    );
  });

  it("opens a page, fills, selects, checks and clicks, and finds what comes of it", async () => {
    await steps.succeed(base, { goto: "/" });
    const { log } = await steps.succeed(base, {
      goto: "/",
      actions: [
        { fill: { label: "Search", with: "lamp & more" } },
        { fill: { placeholder: "town", with: 1.5 } },
        { select: { label: "Colour", option: "Blue" } },
        { uncheck: { label: "In stock" } },
        { check: { role: "checkbox", name: "On sale" } },
        { click: { role: "button", name: "Go" } },
      ],
      expect: {
        status: 200,
        url: "/found?q=lamp",
        title: "/^found$/i",
        text: "3 results",
        elements: [
          { role: "listitem", count: 3 },
          { role: "listitem", text: "lamp", count: 2 },
          { text: "moon" },
          { css: "li", count: 3 },
          { role: "button", count: 0 },
        ],
      },
    });
    const asked = new URL(server.asked.find(({ path }) => path.startsWith("/found"))?.path ?? "", base)
      .searchParams;
    assert.deepEqual(Object.fromEntries(asked), {
      q: "lamp & more",
      again: "",
      colour: "b",
      town: "1.5",
      sale: "on",
    });
    assert.deepEqual(log.replaceAll(/\d+ m?s$|\d+\.\d s$/gm, "…").split("\n"), [
      `# open ${base}/ → 200 in …`,
      "# fill the field labelled `Search` → done in …",
      "# fill the field with the placeholder `town` → done in …",
      "# select `Blue` in the field labelled `Colour` → done in …",
      "# uncheck the field labelled `In stock` → done in …",
      "# check the checkbox `On sale` → done in …",
      "# click the button `Go` → done in …",
      "",
    ]);
  });

  it("goes on in the page that the step before it left", async () => {
    await steps.succeed(base, { goto: "/", actions: [{ fill: { label: "Search", with: "moon" } }] });
    await steps.succeed(base, { actions: [{ press: "Enter" }], expect: { url: "q=moon", title: "Found" } });
    await steps.succeed(base, { expect: { elements: [{ role: "listitem", text: "/^MOON$/i", count: 1 }] } });
  });

  it("finds an element by its test id, and by a text that the source breaks into lines", async () => {
    await steps.succeed(base, {
      goto: "/",
      expect: {
        text: "One note",
        elements: [
          { "test-id": "note", text: "One note" },
          { text: "/^one note$/i" },
          { css: "p", count: 1 },
        ],
      },
    });
  });

  it("takes of several elements the one whose whole name it is, and only one that can be seen", async () => {
    await steps.succeed(base, { goto: "/pay", actions: [{ click: { role: "button", name: "Pay" } }] });
    await steps.succeed(base, { expect: { elements: [{ text: "Pay", count: 2 }] } });
  });

  it("waits for what comes later, in an action as in what is expected", async () => {
    await steps.succeed(base, {
      goto: "/slow",
      actions: [
        { "wait-for": { role: "button", name: "Late" } },
        { click: { role: "button", name: "Late" } },
        { "wait-for": { text: "wait", count: 0 } },
      ],
      expect: {
        title: "Ready",
        url: "slow/end",
        text: "All done",
        elements: [{ role: "heading", name: "All done" }],
      },
    });
  });

  it("presses keys, alone, held together, and in a field", async () => {
    await steps.succeed(base, {
      goto: "/keys",
      actions: [{ press: "Escape" }, { press: { key: "a", label: "Text" } }, { press: "Control+b" }],
      expect: {
        elements: [
          { role: "listitem", text: "Escape" },
          { role: "listitem", text: "/^a$/" },
          { role: "listitem", text: "Control+b" },
        ],
      },
    });
  });

  it("follows redirects, and tells where they led to", async () => {
    const { log } = await steps.succeed(base, { goto: "/old", expect: { url: "/found", status: 200 } });
    assert.match(log, new RegExp(`open ${base}/old → 200 at ${base}/found in `));
  });

  it("takes an error page only when its status is expected", async () => {
    await steps.succeed(base, { goto: "/gone", expect: { status: 404, text: "Not here" } });
    await steps.succeed(base, { goto: "/gone", expect: { status: "4xx" } });
  });

  it("goes on with a page whose pictures don't come", async () => {
    const { log } = await steps.succeed(base, { goto: "/halfway", timeout: "4s", expect: { text: "There" } });
    assert.match(log, /the page is still loading after /);
  });

  it("pictures a page whose font doesn't come", async () => {
    const { kept } = await steps.succeed(base, { goto: "/font", timeout: "2s", screenshot: "font.png" });
    assert.equal(kept.length, 1);
  });

  it("takes a page that asks for a user and a password for an error reply, and opens the next one", async () => {
    assert.match(
      await steps.fail(base, { goto: "/locked" }),
      /^expected status below 400, got 401 from http:\S+\/locked, which asks for the user and password of the resource's `auth`/,
    );
    for (let times = 0; times < 3; times += 1) {
      await steps.succeed(base, { goto: "/locked", expect: { status: 401 } });
      await steps.succeed(base, { goto: "/", expect: { title: "The shop" } });
    }
  });

  it("finds words as a person reads them, whatever is in them that nobody sees", async () => {
    const expect = { text: "Donaudampfschiff", elements: [{ role: "button", name: "Donaudampfschiff" }] };
    await steps.succeed(base, { goto: "/long-words", expect });
    const click = { click: { text: "Donaudampfschiff" } };
    await steps.succeed(base, { actions: [click], expect: { elements: [{ text: "dampf" }] } });
  });

  it("finds words whether a letter of theirs is one character or two", async () => {
    const name = "caf\u00e9 (open)";
    const expect = { text: name, elements: [{ role: "button", name }, { text: name }] };
    await steps.succeed(base, { goto: "/cafe", actions: [{ click: { role: "button", name } }], expect });
    await steps.succeed(base, { expect: { title: "to the caf\u00e9" } });
  });

  it("says how else to find a field whose label has its words from elsewhere", async () => {
    const message = await steps.fail(base, {
      goto: "/component",
      actions: [{ check: { label: "I agree" } }],
      timeout: "2s",
    });
    assert.match(
      message,
      /the fields are: `I agree`; the checkbox of this name has no label that says it: find it by `role: checkbox` and `name`$/,
    );
    await steps.succeed(base, { actions: [{ check: { role: "checkbox", name: "I agree" } }] });
  });

  it("keeps a picture of the page when it is told to", async () => {
    const { kept, log } = await steps.succeed(base, { goto: "/", screenshot: "the shop.png" });
    assert.deepEqual(
      kept.map(({ name, mediaType }) => [name, mediaType]),
      [["the shop.png", "image/png"]],
    );
    assert.deepEqual(readPng(kept[0]?.content), { width: 800, height: 600, corner: [0x12, 0x34, 0x56] });
    assert.match(log, /screenshot the shop\.png/);
  });

  it("notes errors of the page, and dismisses what it asks", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/talks",
      actions: [{ click: { role: "button", name: "Ask" } }],
      expect: { text: "answer: false" },
    });
    assert.match(log, new RegExp(`^# console error: this is wrong \\(${base}/talks\\)$`, "m"));
    assert.match(log, /^# error in the page: thrown late$/m);
    assert.match(log, /^# the page's confirm was dismissed: Delete all\?$/m);
    assert.doesNotMatch(log, /not told|favicon/);
  });

  it("leaves a page that asks to stay", async () => {
    await steps.succeed(base, { goto: "/leave", actions: [{ fill: { label: "Text", with: "unsaved" } }] });
    await steps.succeed(base, { goto: "/", expect: { title: "The shop" } });
  });

  it("goes on in a tab that the page opens, and back in the one before when that closes", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/opens",
      actions: [{ click: { role: "link", name: "New tab" } }],
      expect: { title: "Opened", text: "I am new" },
    });
    assert.match(log, /^# a new tab was opened; the step goes on in it$/m);
    await steps.succeed(base, {
      actions: [{ click: { role: "button", name: "Close me" } }, { "wait-for": { role: "link" } }],
      expect: { title: "Opens" },
    });
  });

  it("takes no download, and says so", async () => {
    const { log } = await steps.succeed(base, {
      goto: "/offers",
      actions: [{ click: { role: "link", name: "Get data" } }, { "wait-for": { text: "it was sent" } }],
    });
    assert.match(log, /^# a download was not taken: data\.csv$/m);
  });

  it("opens the next page in another tab where the script of the one before never ends", async () => {
    // The browser begins the trace of a step only once each of its tabs answers.
    steps.addResource("endless", { trace: "on-failure" });
    await steps.succeed(base, { use: "endless", goto: "/" });
    assert.match(
      await steps.fail(base, { use: "endless", goto: "/endless", timeout: "10s" }),
      /^127\.0\.0\.1:\d+ replied with 200, but its page wasn't complete within 10 s, the step's `timeout`$/,
    );
    const { log } = await steps.succeed(base, { use: "endless", goto: "/", expect: { title: "The shop" } });
    assert.match(log, /the page before didn't respond, so its tab was closed/);
  });

  it("stays in its tab where the page before only waits for the next one", async () => {
    const kept = { kept: { evaluate: "sessionStorage.kept ??= '1'" } };
    await steps.succeed(base, { goto: "/found", read: kept });
    await steps.succeed(base, {
      actions: [{ evaluate: "void setTimeout(() => { location.href = '/never'; })" }],
    });
    const { log, result } = await steps.succeed(base, {
      goto: "/",
      read: { kept: { evaluate: "sessionStorage.kept ?? '0'" } },
    });
    assert.equal(result?.values["kept"], "1");
    assert.doesNotMatch(log, /its tab was closed/);
  });

  it("asks for nothing again when an address differs only behind its #", async () => {
    await steps.succeed(base, { goto: "/found" });
    const { log } = await steps.succeed(base, { goto: "/found#later" });
    assert.match(log, /#later → the same page/);
  });

  it("gives its address, title and text, of which `that` says what is wrong", async () => {
    let taken: StepResult | undefined;
    const results: ResultTaker = {
      isNeeded: true,
      isSecret: false,
      take: (make) => {
        taken = make();
      },
      problems: () => ['this.title == \'Lost\': "Found" and "Lost"'],
    };
    const message = await steps.fail(base, { goto: "/found" }, { results });
    assert.equal(message, 'this.title == \'Lost\': "Found" and "Lost"');
    const { url, title, text } = taken?.values ?? {};
    assert.deepEqual([url, title], [`${base}/found`, "Found"]);
    assert.match(String(text), /^desk lamp\nfloor lamp/);
  });
});
