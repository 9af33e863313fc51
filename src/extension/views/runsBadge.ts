import { t } from "@vscode/l10n";
import type { Disposable, TreeView } from "vscode";
import type { SessionState } from "../session/session.ts";
import type { Observed } from "../window/observable.ts";

/** The number on our icon: how many of one's own runs are in work, as far as the service tells; none for none. */
export class RunsBadge implements Disposable {
  readonly #following: Disposable;

  constructor(view: Pick<TreeView<unknown>, "badge">, state: Observed<SessionState>) {
    let shown = 0;
    this.#following = state.follow((value) => {
      const count = mine(value);
      if (count === shown) return;
      shown = count;
      const tooltip = count === 1 ? t("1 run of yours in work") : t("{0} runs of yours in work", count);
      view.badge = count === 0 ? undefined : { value: count, tooltip };
    });
  }

  dispose(): void {
    this.#following.dispose();
  }
}

function mine(state: SessionState): number {
  if (state.kind !== "live" || state.inWork === undefined) return 0;
  const { actor } = state.org;
  return state.inWork.filter((run) => run.actor === actor).length;
}
