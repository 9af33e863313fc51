interface Row {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

/** A quick pick of the editor, which counts how often its rows were drawn. */
export function fakePick() {
  let accept = () => {};
  let hide = () => {};
  const pick = {
    title: "",
    placeholder: "",
    drawn: 0,
    rows: [] as readonly Row[],
    selectedItems: [] as readonly Row[],
    activeItems: [] as readonly Row[],
    isDisposed: false,
    /** New rows take the focus to the first. */
    set items(rows: readonly Row[]) {
      pick.drawn += 1;
      pick.rows = rows;
      pick.activeItems = rows.slice(0, 1);
    },
    onDidAccept: (listener: () => void) => {
      accept = listener;
    },
    onDidHide: (listener: () => void) => {
      hide = listener;
    },
    show: () => {},
    dispose: () => {
      pick.isDisposed = true;
    },
  };
  const choose = (label: RegExp) => {
    pick.selectedItems = pick.rows.filter((row) => label.test(row.label));
    accept();
  };
  return { pick, choose, leave: () => hide() };
}

/** An editor in which a person answers each quick pick with the row of that label; without one they leave it. */
export function pickingWindow(label: RegExp | undefined) {
  const shown: (readonly Row[])[] = [];
  const showQuickPick = async (rows: readonly Row[]) => {
    shown.push(rows);
    return rows.find((row) => label?.test(row.label));
  };
  return { shown, showQuickPick: showQuickPick as never };
}
