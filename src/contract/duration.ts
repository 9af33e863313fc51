/** A duration in milliseconds as a person reads it: `0.4 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 9_950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Whole seconds, for what is counted down or up before one's eyes. */
export function wholeSeconds(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 10 ? `${seconds} s` : duration(seconds * 1000);
}
