import { english, type Translate } from "./refusalText.ts";

/** A size for people: `812 bytes`, `1.4 KiB`, `12 MiB`. */
export function sizeText(bytes: number, t: Translate = english): string {
  if (bytes === 1) return t("1 byte");
  if (bytes < 1024) return t("{0} bytes", bytes);
  const kib = bytes / 1024;
  return kib < 1024 ? t("{0} KiB", rounded(kib)) : t("{0} MiB", rounded(kib / 1024));
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
