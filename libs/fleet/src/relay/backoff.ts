/** The pause before the next try, ms: doubles with each failure up to `longestMs`, half of it random. `failures` from 1. */
export function backoffMs(
  failures: number,
  o: { readonly firstMs: number; readonly longestMs: number; readonly random: () => number },
): number {
  const full = Math.min(o.firstMs * 2 ** Math.min(failures - 1, 30), o.longestMs);
  return full * (0.5 + 0.5 * o.random());
}
