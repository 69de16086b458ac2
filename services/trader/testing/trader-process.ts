import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { tempDir } from '@hermes-fleet/protocol/testing';

type After = { after(fn: () => Promise<void> | void): void };

const MAIN = resolve(import.meta.dirname, '../src/main.ts');
const SHIPPED = resolve(import.meta.dirname, '../../../deploy/trader');

export const TOKENS: Readonly<Record<string, string>> = {
  A2A_HERMES_TOKEN_OPERATOR: 'token-of-the-operator-0123456789',
  A2A_HERMES_TOKEN_SWITCH_TO_TRADER: 'token-of-switch-at-the-trader-0123456789',
  A2A_HERMES_TOKEN_TRADER_TO_SWITCH: 'token-of-the-trader-at-switch-0123456789',
};

/** The folder of a trader process with the shipped configuration, by default without a broker. */
export interface TraderHome {
  readonly stateDir: string;
  /** Edits a configuration file. */
  edit(file: string, change: (text: string) => string): void;
  /** Runs the process and kills it after the test. */
  run(...args: readonly string[]): TraderProcess;
}

export interface TraderProcess {
  /** Resolves with the exit code and the output when the process ends. */
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
  /** Resolves with the first log line with this message; rejects if the process ends first. */
  says(text: string): Promise<string>;
  signal(signal: NodeJS.Signals): void;
}

export function traderHome(
  t: After,
  o: { readonly port: number; readonly env?: Readonly<Record<string, string>>; readonly broker?: boolean },
): TraderHome {
  const children = new Set<() => Promise<unknown>>();
  const home = tempDir(t, { closeFirst: () => Promise.all([...children].map((end) => end())) });
  const dir = join(home, 'trader');
  mkdirSync(dir);
  cpSync(SHIPPED, dir, { recursive: true });
  const edit: TraderHome['edit'] = (file, change) => {
    const path = join(dir, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  if (!o.broker) edit('fleet.yaml', (text) => text.replace(/\n {2}nats:.*$/s, '\n'));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const own = { HERMES_HOME: home, TRADER_PORT: String(o.port) };
  const env = { PATH, NODE_COMPILE_CACHE, ...own, ...TOKENS, ...o.env };

  function run(...args: readonly string[]): TraderProcess {
    const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      stdout += `${line}\n`;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = once(child, 'close').then(([code]) => ({ code: Number(code), stdout, stderr }));
    children.add(() => {
      child.kill('SIGKILL');
      return ended;
    });
    const says = (text: string): Promise<string> => {
      const found = Promise.withResolvers<string>();
      const look = (line: string): void => {
        if (line.includes(text)) found.resolve(line);
      };
      for (const line of stdout.split('\n')) look(line);
      lines.on('line', look);
      void ended.then(() =>
        found.reject(new Error(`it ended before it said "${text}":\n${stdout}${stderr}`)),
      );
      return found.promise.finally(() => lines.off('line', look));
    };
    return { ended, says, signal: (signal) => void child.kill(signal) };
  }
  return { stateDir: join(dir, 'state'), edit, run };
}
