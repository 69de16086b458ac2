import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

const TIMEOUT_MS = 120_000;

/** How a process is expected to end: it kills itself, ends well, or is killed once it has printed so many lines. */
export type End = 'killed' | 'well' | { readonly killAfterLines: number };

/** Runs a script as a process up to its end, and resolves with the lines that it printed. Rejects if it ends otherwise. */
export async function runLife(script: string, args: readonly string[], end: End): Promise<string[]> {
  // As a process of its own, not as a part of this test run. All of them share what Node makes of the TypeScript.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env;
  env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'hermes-crash-cache');
  const child = spawn(process.execPath, [script, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS,
  });
  const exited = once(child, 'exit');
  const errors = text(child.stderr);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (typeof end === 'object' && lines.length === end.killAfterLines) child.kill('SIGKILL');
  }
  const [code, signal] = await exited;
  if (end === 'well' ? code === 0 : signal === 'SIGKILL') return lines;
  throw new Error(`the process ended with ${signal ?? code}:\n${lines.join('\n')}\n${await errors}`);
}
