import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600 };

/**
 * Copies the rules of a folder with every window and every `for` made shorter by a factor, but no window below `leastS`, and
 * with these thresholds replaced. Throws when a threshold is not there exactly once.
 */
export function shortenRules(
  from: string,
  to: string,
  options: {
    readonly factor: number;
    readonly leastS: number;
    readonly thresholds: Readonly<Record<string, string>>;
  },
): void {
  const shorter = (count: string, unit: string, leastS: number): string =>
    `${Math.max(leastS, Math.round((Number(count) * (SECONDS[unit] ?? 0)) / options.factor))}s`;
  const files = readdirSync(from).filter((name) => name.endsWith('.rules.yml'));
  const texts = new Map(files.map((name) => [name, readFileSync(join(from, name), 'utf8')]));
  const all = [...texts.values()].join('');
  for (const threshold of Object.keys(options.thresholds))
    assert.equal(all.split(threshold).length, 2, `${threshold} is not there once`);
  mkdirSync(to, { recursive: true });
  for (const [name, text] of texts) {
    let short = text
      .replaceAll(/\[(\d+)([smh])\]/g, (_, count, unit) => `[${shorter(count, unit, options.leastS)}]`)
      .replaceAll(/^( +for: )(\d+)([smh])$/gm, (_, key, count, unit) => `${key}${shorter(count, unit, 1)}`);
    for (const [threshold, other] of Object.entries(options.thresholds))
      short = short.replace(threshold, other);
    writeFileSync(join(to, name), short);
  }
}
