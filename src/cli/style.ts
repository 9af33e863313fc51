import { styleText } from "node:util";

type Paint = (text: string) => string;

/** What a text means, as a terminal shows it. */
export interface Style {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly good: Paint;
  readonly bad: Paint;
  readonly caution: Paint;
}

const unchanged: Paint = (text) => text;

export const plainStyle: Style = {
  bold: unchanged,
  dim: unchanged,
  good: unchanged,
  bad: unchanged,
  caution: unchanged,
};

/** Colours from the terminal's own sixteen, which people set to what they can read. */
export function styleOf(): Style {
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      text === "" ? "" : styleText(format, text, { validateStream: false });
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    good: paint("green"),
    bad: paint("red"),
    caution: paint("yellow"),
  };
}
