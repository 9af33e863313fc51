/** The number if it is exact, apart from trailing zeros; otherwise the text. */
export function exactNumber(text: string): number | string {
  const digits = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const point = digits.indexOf(".");
  const decimals = point === -1 ? 0 : digits.length - point - 1;
  const number = Number(digits);
  const isExact =
    decimals === 0 ? Number.isSafeInteger(number) : decimals <= 100 && number.toFixed(decimals) === digits;
  return isExact ? number : text;
}

/** Parses JSON; a number that JavaScript can't hold exactly becomes its text. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, exactly);
}

function exactly(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== "number") return value;
  const source = context?.source ?? String(value);
  const isWhole = /^-?\d+$/.test(source);
  return Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value)) ? value : source;
}
