import { behindProxy } from "./foreign/behindProxy.ts";
import { foreignWindow } from "./foreign/foreignWindow.ts";
import { givenOnly } from "./foreign/givenOnly.ts";
import { hostile } from "./foreign/hostile.ts";
import { keys } from "./foreign/keys.ts";
import { refusals } from "./foreign/refusals.ts";
import { windows } from "./foreign/windows.ts";

describe("VS Code, among strangers", () => {
  const at = foreignWindow();

  // The workspace is trusted by the first tests.
  hostile(at);
  givenOnly(at);
  keys(at);
  refusals(at);
  windows(at);
  // What is chosen there is in use whatever the settings say.
  behindProxy(at);
});
