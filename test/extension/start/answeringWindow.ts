import { fakeWindow } from "./fakeWindow.ts";

/** A question for an input as the person saw it. */
interface Asked {
  readonly title: string;
  readonly step: string;
  readonly text: string;
  /** The options of a pick, the active one first; what was filled into a box. */
  readonly filled: readonly string[];
}

/** What the person does: picks the option or types the text; `undefined` is Escape. */
export type Deed = { readonly value: string } | "back" | undefined;

export const backButton = { iconPath: { id: "arrow-left" } } as never;

/** Where the editor is told nothing, it makes the first row active. */
const noRows: readonly { readonly label: string }[] = [];

/** A window whose person answers the questions for inputs, one after the other. A text that is refused is noted. */
export function answeringWindow(deeds: readonly Deed[]) {
  const asked: Asked[] = [];
  const refused: string[] = [];
  const left = [...deeds];
  let open = 0;
  const question = (items: readonly { readonly label: string }[] | undefined) => {
    const on: Record<"accept" | "hide" | "button" | "change", (value?: unknown) => void> = {
      accept: () => {},
      hide: () => {},
      button: () => {},
      change: () => {},
    };
    const shown = {
      title: "",
      placeholder: "",
      prompt: "",
      value: "",
      step: undefined as number | undefined,
      totalSteps: undefined as number | undefined,
      buttons: [] as readonly unknown[],
      validationMessage: undefined as string | undefined,
      items: items ?? [],
      activeItems: noRows,
      selectedItems: [] as readonly { readonly label: string }[],
      onDidAccept: (listener: () => void) => void Object.assign(on, { accept: listener }),
      onDidHide: (listener: () => void) => void Object.assign(on, { hide: listener }),
      onDidTriggerButton: (listener: () => void) => void Object.assign(on, { button: listener }),
      onDidChangeValue: (listener: (text: unknown) => void) => void Object.assign(on, { change: listener }),
      hide: () => on.hide(),
      dispose: () => {
        open -= 1;
      },
      show: () => {
        const isPick = items !== undefined;
        if (shown.activeItems !== noRows && shown.activeItems.length === 0)
          throw new Error("no row for Enter");
        const [active] = shown.activeItems;
        const labels = [active, ...shown.items.filter((item) => item !== active)].flatMap(
          (item) => item?.label ?? [],
        );
        asked.push({
          title: shown.title,
          step: shown.step === undefined ? "" : `${shown.step}/${shown.totalSteps}`,
          text: isPick ? shown.placeholder : shown.prompt,
          filled: isPick ? labels : [shown.value],
        });
        for (;;) {
          const deed = left.shift();
          if (deed === undefined) return on.hide();
          if (deed === "back") {
            if (!shown.buttons.includes(backButton)) throw new Error("there is no way back");
            return on.button(backButton);
          }
          if (isPick) {
            shown.selectedItems = shown.items.filter(({ label }) => label === deed.value);
            return on.accept();
          }
          shown.value = deed.value;
          on.change(deed.value);
          on.accept();
          if (shown.validationMessage === undefined) return;
          refused.push(`${deed.value}: ${shown.validationMessage}`);
        }
      },
    };
    open += 1;
    return shown;
  };
  const other = fakeWindow([]);
  const window = Object.assign({}, other.window, {
    createQuickPick: () => question([]),
    createInputBox: () => question(undefined),
  }) as never;
  return { window, asked, refused, texts: other.texts, open: () => open };
}
