import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = resolve(import.meta.dirname, '../../..');
const MAIN = join(ROOT, 'services/console/src/main.ts');

/** A console as a process of its own. */
export interface ConsoleChild {
  readonly child: ChildProcess;
  /** What it has printed. */
  output(): string;
  /** Resolves when it has printed a text. */
  saw(text: string): Promise<void>;
}

/** Runs the console with these variables alone; `wrapper` is a command that executes its arguments. */
export function runConsole(env: Record<string, string>, wrapper: readonly string[] = []): ConsoleChild {
  const [command = '', ...args] = [...wrapper, process.execPath, MAIN];
  const child = spawn(command, args, { cwd: ROOT, env: { PATH: process.env.PATH, ...env } });
  const lines: string[] = [];
  let check = (): void => undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (stream)
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        check();
      });
  }
  const saw = (text: string): Promise<void> =>
    new Promise((resolveSaw) => {
      check = () => {
        if (lines.some((line) => line.includes(text))) resolveSaw();
      };
      check();
    });
  return { child, output: () => lines.join('\n'), saw };
}
