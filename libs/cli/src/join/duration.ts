import { UsageError } from '../command-line/options.ts';

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time such as `90s`, `15m`, `2h` or `1d`, in ms. Throws UsageError. */
export function durationMs(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  if (!match?.[2]) throw new UsageError(`--${option} must be a time such as 90s, 15m or 2h, not "${text}"`);
  return Number(match[1]) * (UNITS[match[2]] ?? 0);
}
