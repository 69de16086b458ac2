import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT } from './fleet.ts';
import { openTerminal, type Terminal } from './terminal.ts';

/** Adds a line with its words and the token that it would use: by one write, as the two ends of a pipe record at the same time. */
const RECORD = `echo "$(printf '[%s]' "$@") in $PWD, token \${FLEET_TOKEN:-none}" >>"$CALLS"`;
const DOCKER = `#!/bin/sh
${RECORD}
case "$*" in
  version*|'compose version'*) [ -z "\${NO_ENGINE:-}" ] || exit 1 ;;
  # As Compose does, it reads what it is given.
  *' token') cat >/dev/null; echo a-token ;;
  *' ps '*) [ -n "\${DOWN:-}" ] || echo 0123456789ab ;;
  *' logs '*) cat >/dev/null; echo 'a line' ;;
  *' port switch '*) echo "\${SWITCH:-127.0.0.1:9999}" ;;
  *' exec '*)
    if [ -n "\${NODE:-}" ]; then
      while [ "$1" != fleet ]; do shift; done
      shift
      exec "$NODE" "$MAIN" "$@"
    fi
    ;;
esac
`;
const TOOLS = [
  'sh',
  'cat',
  'cd',
  'dirname',
  'readlink',
  'find',
  'mkdir',
  'chmod',
  'id',
  'rm',
  'env',
  'script',
  'stty',
];

/** A checkout at a path with a space, with stubs for Docker and, with `node`, for the pinned Node. */
export function stubbedCheckout(t: TestContext, { node }: { readonly node: boolean }) {
  const dir = tempDir(t, { prefix: 'my fleet ' });
  const put = (file: string, text: string): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text, { mode: 0o755 });
  };
  for (const file of ['fleet', 'deploy/fleet.sh']) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    copyFileSync(join(ROOT, file), join(dir, file));
  }
  put('bin/docker', DOCKER);
  put('package-lock.json', '');
  if (node) {
    put('node_modules/.package-lock.json', '');
    put('node_modules/.bin/node', `#!/bin/sh\n${RECORD}\ncat >"$CALLS.input"\n`);
  }
  for (const tool of TOOLS) {
    const { stdout } = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' });
    if (stdout.startsWith('/')) symlinkSync(stdout.trim(), join(dir, 'bin', tool));
  }
  const elsewhere = join(dir, 'else where');
  mkdirSync(elsewhere);
  const calls = join(dir, 'calls');
  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ''): SpawnSyncReturns<string> =>
    spawnSync(join(dir, 'fleet'), args, {
      cwd: elsewhere,
      encoding: 'utf8',
      env: { PATH: join(dir, 'bin'), CALLS: calls, ...env },
      input,
      timeout: 30_000,
    });
  const terminal = (t: TestContext, args: readonly string[], env: NodeJS.ProcessEnv): Terminal =>
    openTerminal(t, [join(dir, 'fleet'), ...args], { PATH: join(dir, 'bin'), CALLS: calls, ...env });
  const allCalls = (): string => readFileSync(calls, 'utf8');
  const last = (): string => allCalls().trim().split('\n').at(-1) ?? '';
  const lastInput = (): string => readFileSync(`${calls}.input`, 'utf8');
  return { dir, elsewhere, run, terminal, calls: allCalls, last, lastInput };
}
