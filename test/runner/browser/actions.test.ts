import assert from "node:assert/strict";
import { LoopbackService } from "../../client/loopbackService.ts";
import { BrowserSteps, pages } from "./browserSteps.ts";

const shop = `<title>The shop</title><button>Pay</button>
<iframe title="Advertisement" src="/ads"></iframe><iframe title="Payment" name="pay-1" data-testid="pay" src="/pay"></iframe>`;
const pay = `<button onclick="document.body.append('in the frame')">Pay</button><iframe name="challenge" src="/code"></iframe>`;
const code = `<label>Code <input oninput="said.textContent = this.value"></label><p id=said></p>`;
const asks = `<title>Asks</title><p id=said></p>
<button onclick="said.textContent = prompt('Your name?') + ', ' + confirm('Sure?') + ', ' + confirm('Again?')">Ask</button>
<button onclick="setTimeout(() => { said.textContent = confirm('Late?'); }, 300)">Ask later</button>
<a href="/more" target="_blank">More</a>`;

describe("the actions of a browser step", function () {
  this.timeout(60_000);
  const steps = BrowserSteps.forThisFile();
  let server: LoopbackService;
  let base: string;

  before(async () => {
    server = await LoopbackService.listen(
      pages({
        "/": shop,
        "/ads": "<button>Buy</button>",
        "/pay": pay,
        "/code": code,
        "/asks": asks,
        "/more": "<title>More lamps</title>",
      }),
    );
    base = server.origin;
  });
  after(() => server[Symbol.asyncDispose]());

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
      "the page opened no dialog that `dialog` could answer within 1 s, the step's `timeout`",
    );
    const { log } = await steps.succeed(base, {
      actions: [{ click: { role: "button", name: "Ask later" } }],
      expect: { text: "false" },
    });
    assert.match(log, /confirm was dismissed: Late\?/);
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
