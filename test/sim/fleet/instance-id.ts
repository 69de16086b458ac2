import type { Random } from '../world/random.ts';

/** A UUIDv7 of this time, ms since the epoch. */
export function instanceId(at: number, random: Random): string {
  const time = Math.floor(at).toString(16).padStart(12, '0');
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => random.below(16).toString(16)).join('');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(12)}`;
}
