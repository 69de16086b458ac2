import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

/** A program in a pseudo-terminal, as a person uses it. */
export interface Terminal {
  /** Everything that was written to the terminal so far. */
  readonly screen: () => string;
  /** Resolves when what was written after the last match matches; rejects after a minute. */
  waitFor(pattern: RegExp): Promise<void>;
  type(keys: string): void;
  readonly ended: Promise<number | null>;
}

export const CTRL_C = '\u0003';
export const DOWN = '\u001b[B';
export const ENTER = '\r';

const WAIT_MS = 60_000;

/** Starts a program in a pseudo-terminal of `script` (util-linux); `onOutput` gets what it writes. It ends with the test. */
export function openTerminal(
  t: { readonly after: (work: () => unknown) => unknown },
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  onOutput: (text: string) => void = () => undefined,
): Terminal {
  const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const child: ChildProcessWithoutNullStreams = spawn(
    'script',
    ['-qefc', `stty cols 120 rows 40; exec ${line}`, '/dev/null'],
    {
      env: { ...env, TERM: 'xterm', SHELL: '/bin/sh' },
    },
  );
  let written = '';
  let seen = 0;
  let check = (): void => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text;
    onOutput(text);
    check();
  });
  t.after(() => child.kill());
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    screen: () => written,
    type: (keys) => child.stdin.write(keys),
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const fail = (why: string): void =>
          reject(new Error(`no ${pattern} on the terminal ${why}:\n${written}`));
        const timeout = setTimeout(() => fail('within a minute'), WAIT_MS);
        void ended.then(() => fail('before its end'));
        check = () => {
          const found = pattern.exec(written.slice(seen));
          if (!found) return;
          seen += found.index + found[0].length;
          clearTimeout(timeout);
          check = () => undefined;
          resolve();
        };
        check();
      }),
  };
}
