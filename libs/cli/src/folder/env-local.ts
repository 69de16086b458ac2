import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { parseEnv } from 'node:util';
import type { FleetFolder } from './fleet-folder.ts';

const FILE = '.env.local';
const UNQUOTED = /[^\s"'#](?:[^#]*[^\s#])?/;
const LINE = new RegExp(
  `^\\s*(?:export\\s+)?[A-Za-z_]\\w*=\\s*(?:"[^"]*"|'[^']*'|${UNQUOTED.source})?(?:\\s+#.*|\\s*)$`,
);

/**
 * The environment of a command: `env`, and the variables of `.env.local` that it does not set (docs/operations.md#keys-of-model-providers).
 * Names each line that is not understood on stderr, without its text, which may be a key.
 */
export function withLocalEnv(
  folder: FleetFolder | undefined,
  env: NodeJS.ProcessEnv,
  stderr: Writable,
): NodeJS.ProcessEnv {
  const file = folder && join(folder.root, FILE);
  if (file === undefined || !existsSync(file)) return env;
  const found: NodeJS.ProcessEnv = {};
  for (const [at, line] of readFileSync(file, 'utf8').split(/\r?\n/).entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    if (LINE.test(line)) Object.assign(found, parseEnv(line));
    else
      stderr.write(
        `${FILE}:${at + 1}: not understood, and left out: write NAME=value, and quote a value with #\n`,
      );
  }
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...found, ...Object.fromEntries(given) };
}

/** Adds lines at the end of `.env.local`, which it makes where it is missing. */
export function addToLocalEnv({ root }: FleetFolder, lines: readonly string[]): void {
  const file = join(root, FILE);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const start = before === '' || before.endsWith('\n') ? '' : '\n';
  appendFileSync(file, `${start}${lines.map((line) => `${line}\n`).join('')}`, { mode: 0o600 });
}
