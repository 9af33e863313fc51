import { campaign } from "../campaign.ts";
import { editorAct } from "./acts.ts";
import { EditorChaos } from "./editorChaos.ts";

/**
 * A real VS Code with the packaged extension and this machine's own service, over kill -9 of the extension host, of the
 * service and of all of VS Code.
 */
export const editor = campaign({
  name: "editor",
  act: editorAct,
  mostActs: 10,
  // Each window takes its time to come back.
  longest: 300_000,
  async play(planned, round) {
    await using chaos = await EditorChaos.begin(round);
    for (const act of round.acts(planned)) await chaos.make(act);
    await chaos.finish();
  },
});
