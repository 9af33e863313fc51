import assert from "node:assert/strict";
import { Mask } from "../../../../src/runner/mask/mask.ts";
import { LoopbackService } from "../../../client/loopbackService.ts";
import { BrowserSteps, pages, type StepFile } from "../../../runner/browser/browserSteps.ts";
import { readPng } from "../../../runner/browser/png.ts";

const page = `<title>The shop</title><style>body { background: #654321; margin: 0 } #cover { position: absolute; inset: 0 }</style>
<h1>Lamps</h1>
<label>Search <input name="q" placeholder="A lamp" data-testid="search"></label>
<label>Colour <select><option>Red</option><option>Blue</option></select></label>
<label>Fixed <input readonly value="x"></label>
<button>Search</button> <button>Reset</button> <button>Reset all</button> <button disabled>Off</button> <a href="/">Go</a>
<button class="hidden" hidden>Hidden</button> <input type="radio" aria-label="One" checked>
<div style="position: relative"><button>Covered</button><div id="cover" class="veil"></div></div>`;

describe("a browser step that fails", () => {
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": page,
        "/empty": "",
        "/repeated": `<title>${"a".repeat(3000)}!</title><p>${"a".repeat(3000)}!</p>`,
        // Its script waits for what never comes, which costs no other test the processor.
        "/busy": `<title>Busy</title><button onclick="const asked = new XMLHttpRequest(); asked.open('GET', '/never', false); asked.send()">Hang</button>`,
        "/never": () => {},
        "/long": `<title>${"x".repeat(180)}the-secret-value</title><p>${"y".repeat(480)} the-secret-value</p>
        <button>${"z".repeat(50)}the-secret-value</button>`,
      }),
    );
    base = server.origin;
  });
  after(() => server[Symbol.asyncDispose]());

  it("says that a pattern takes too long for what the page says, and goes on with other pages", async () => {
    const expect = (file: StepFile) => steps.fail(base, { goto: "/repeated", expect: file });
    const slow =
      "the pattern /^(a+)+$/ took longer than 1 s on this text; write it without repetition within repetition";
    assert.equal(await expect({ title: "/^(a+)+$/" }), slow);
    assert.equal(await expect({ text: "/^(a+)+$/" }), slow);
    await steps.succeed(base, { goto: "/" });
  });

  // Opened before, so that the step's short time is all for what is tested.
  const open = (path: string) => steps.succeed(base, { goto: path });
  const within = (time: string) => `within ${time}, the step's \`timeout\``;
  const over = (time: string) => `when ${time}, the step's \`timeout\`, were over`;
  const short = "300 ms";
  const long = "2 s";

  const missing: readonly (readonly [title: string, action: StepFile, message: string])[] = [
    [
      "a button that isn't there names those that are, and what else is called so",
      { click: { role: "button", name: "Go" } },
      `click the button \`Go\`: there was none ${within(short)}; the buttons are: \`Search\`, \`Reset\`, \`Reset all\`, \`Off\`, \`Covered\`; \`Go\` is the name of a link`,
    ],
    [
      "an element of a kind that isn't there says so",
      { click: { role: "slider" } },
      `click the slider: there was none ${within(short)}; the page has no slider`,
    ],
    [
      "a field that isn't there names the fields",
      { fill: { label: "Serch", with: "x" } },
      `fill the field labelled \`Serch\`: there was none ${within(short)}; the fields are: \`Search\`, \`Colour\`, \`Fixed\`, \`One\``,
    ],
    [
      "a placeholder that isn't there names the placeholders",
      { fill: { placeholder: "A moon", with: "x" } },
      `fill the field with the placeholder \`A moon\`: there was none ${within(short)}; the placeholders are: \`A lamp\``,
    ],
    [
      "a test id that isn't there names the test ids",
      { click: { "test-id": "find" } },
      `click the element with the test id \`find\`: there was none ${within(short)}; the test ids are: \`search\``,
    ],
    [
      "an element that stays hidden is told from one that isn't there",
      { click: { css: ".hidden" } },
      `click the element \`.hidden\`: it is there, but was still hidden ${over(short)}`,
    ],
    [
      "what is waited for and stays is told",
      { "wait-for": { role: "heading", count: 0 } },
      `wait for the heading to be gone: it was still there ${over(short)}`,
    ],
    [
      "what is waited for in another number is told",
      { "wait-for": { role: "button", count: 2 } },
      `wait for the button, 2 times: there were 5 ${over(short)}`,
    ],
    [
      "a text that isn't there shows what is",
      { "wait-for": { text: "Moons" } },
      `wait for the text \`Moons\`: there was none ${within(short)}; the page says: Lamps Search Colour Red Blue Fixed Search Reset Reset all Off Go Covered`,
    ],
  ];
  for (const [title, action, message] of missing) {
    it(title, async () => {
      await open("/");
      const told = await steps.fail(base, { timeout: "300ms", actions: [action] });
      assert.equal(told, message);
    });
  }

  it("an element that could be several names them at once", async () => {
    assert.equal(
      await steps.fail(base, { goto: "/", actions: [{ click: { role: "button", name: "/^Reset/" } }] }),
      'click the button /^Reset/: it could be any of 2 elements: button "Reset", button "Reset all"; say which in a way that fits only one',
    );
  });

  it("a selector that is none is told at once", async () => {
    assert.match(
      await steps.fail(base, { goto: "/", actions: [{ click: { css: "button[[" } }] }),
      /^a `css` of this step is no CSS selector: .*button\[\[/,
    );
  });

  const unusable: readonly (readonly [title: string, action: StepFile, message: string])[] = [
    [
      "a disabled button",
      { click: { role: "button", name: "Off" } },
      `click the button \`Off\`: it was still disabled ${over(long)}`,
    ],
    [
      "a covered button names what covers it",
      { click: { role: "button", name: "Covered" } },
      `click the button \`Covered\`: it was still covered by <div id="cover" class="veil"></div> ${over(long)}`,
    ],
    [
      "a read-only field",
      { fill: { label: "Fixed", with: "y" } },
      `fill the field labelled \`Fixed\`: it was still read-only ${over(long)}`,
    ],
    [
      "an option that a list hasn't names those it has",
      { select: { label: "Colour", option: "Green" } },
      `select \`Green\` in the field labelled \`Colour\`: it had no such option ${within(long)}; the options are: \`Red\`, \`Blue\``,
    ],
    [
      "a button that is filled",
      { fill: { role: "button", name: "Reset", with: "x" } },
      "fill the button `Reset`: it is no field that takes such a text",
    ],
    [
      "a button that is selected from",
      { select: { role: "button", name: "Reset", option: "x" } },
      "select `x` in the button `Reset`: it is no list to select from",
    ],
    [
      "a button that is checked",
      { check: { role: "button", name: "Reset" } },
      "check the button `Reset`: it is no checkbox, radio button or switch",
    ],
    [
      "a radio button that is unchecked",
      { uncheck: { role: "radio" } },
      "uncheck the radio: a radio button can't be unchecked; check another one",
    ],
  ];
  for (const [title, action, message] of unusable) {
    it(`${title} is told plainly`, async () => {
      await open("/");
      const told = await steps.fail(base, { timeout: "2s", actions: [action] });
      assert.equal(told, message);
    });
  }

  it("tells everything in which the page isn't as expected, and keeps a picture of it", async () => {
    await open("/");
    const { outcome, kept } = await steps.run(base, {
      timeout: "300ms",
      expect: {
        url: "/moon",
        title: "Moons",
        text: "/^full moon$/i",
        elements: [{ role: "heading", name: "Moons" }, { role: "button", count: 9 }, { text: "Lamps" }],
      },
      screenshot: "not kept.png",
    });
    assert.ok(outcome.kind === "failed");
    assert.deepEqual(outcome.message.split("\n"), [
      `url: expected \`/moon\`, got "${base}/", ${over(short)}`,
      `title: expected \`Moons\`, got "The shop", ${over(short)}`,
      `expected /^full moon$/i on the page ${within(short)}, which says: Lamps Search Colour Red Blue Fixed Search Reset Reset all Off Go Covered`,
      `expected the heading \`Moons\`: there was none ${within(short)}; the headings are: \`Lamps\``,
      `expected the button, 9 times: there were 5 ${over(short)}`,
    ]);
    assert.deepEqual(
      kept.map(({ name }) => name),
      ["failure.png"],
    );
    assert.deepEqual(readPng(kept[0]?.content), { width: 800, height: 600, corner: [0x65, 0x43, 0x21] });
  });

  it("says so when the page shows nothing", async () => {
    await open("/empty");
    assert.equal(
      await steps.fail(base, { timeout: "300ms", expect: { text: "Lamps" } }),
      `expected \`Lamps\` on the page ${within(short)}, which shows no text`,
    );
  });

  it("cuts no secret in half where it cuts a text short", async () => {
    await open("/long");
    const mask = new Mask(["the-secret-value"]);
    const { outcome, log } = await steps.run(
      base,
      {
        timeout: "300ms",
        expect: { title: "Short", text: "not there", elements: [{ role: "button", name: "None" }] },
      },
      { mask },
    );
    assert.ok(outcome.kind === "failed");
    assert.match(outcome.message, /y \*\*\*/);
    assert.match(outcome.message, /z\*\*\*/);
    assert.match(outcome.message, /x\*\*\*/);
    assert.doesNotMatch(outcome.message + log, /the-s/);
  });

  // The last one: the browser is of no use after it.
  it("says so when a script keeps the page from answering", async () => {
    await open("/busy");
    const message = await steps.fail(base, {
      timeout: "1s",
      actions: [{ click: { role: "button", name: "Hang" } }, { "wait-for": { text: "never" } }],
    });
    assert.match(message, /: the page didn't respond within 1 s, the step's `timeout`$/);
  });
});
