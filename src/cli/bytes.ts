/** A size as a person reads it: `812 bytes`, `12 KiB`, `1.4 MiB`. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} ${count === 1 ? "byte" : "bytes"}`;
  const kib = count / 1024;
  if (kib < 1024) return `${rounded(kib)} KiB`;
  return `${rounded(kib / 1024)} MiB`;
}

function rounded(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}
