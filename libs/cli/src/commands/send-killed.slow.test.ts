import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { checkoutScene } from '../../testing/checkout-stub.ts';
import { git, stateOf } from '../../testing/results-stub.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
const MOST_CALLS = 60;

/** Git that counts its calls in `$COUNT`, and ends its caller by `$SIGNAL` after the one of `$KILL_AFTER`. */
const shim = (real: string): string => `#!/bin/sh
echo >>"$COUNT"
'${real}' "$@"
code=$?
if [ "$(wc -l <"$COUNT")" -eq "$KILL_AFTER" ]; then kill -s "$SIGNAL" "$PPID"; fi
exit $code
`;

for (const signal of ['KILL', 'INT'] as const)
  for (const more of [[], ['--include-changes']] as const)
    test(`send --repo ${more.join('')} that gets SIG${signal} after any call of git leaves the checkout as it is, and can be repeated`, {
      timeout: 300_000,
    }, async (t) => {
      const scene = await checkoutScene(t);
      const { root, mine, tmp, env, reach, dispatched } = scene;
      writeFileSync(join(mine, 'a.txt'), 'changed\n');
      writeFileSync(join(mine, 'new.txt'), 'new\n');
      const bin = join(root, 'bin');
      mkdirSync(bin);
      const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
      writeFileSync(join(bin, 'git'), shim(real), { mode: 0o755 });
      const [refs = '', ...files] = stateOf(mine);
      const indexed = git(mine, 'ls-files', '--stage');
      let calls = 0;
      for (let isEnded = true; isEnded; ) {
        calls += 1;
        assert.ok(calls < MOST_CALLS, 'it comes to an end');
        const copy = join(root, `mine-${calls}`);
        cpSync(mine, copy, { recursive: true, preserveTimestamps: true });
        scene.uploads.length = 0;
        dispatched.length = 0;
        const args = ['send', 'Fix it', '--detach', '--repo', copy, ...more, ...reach];
        const child = spawn(process.execPath, [MAIN, ...args], {
          env: {
            ...{ ...process.env, ...env, TMPDIR: tmp },
            ...{ COUNT: join(root, `count-${calls}`), KILL_AFTER: String(calls), SIGNAL: signal },
            PATH: `${bin}${delimiter}${process.env.PATH}`,
          },
          stdio: 'ignore',
        });
        const [code, by] = await once(child, 'close');
        isEnded = by === `SIG${signal}`;
        if (!isEnded) assert.equal(code, 0);
        if (signal === 'INT') assert.deepEqual(scene.left(), [], 'no file is left');
        git(copy, 'fsck', '--strict');
        const [refsAfter = '', ...filesAfter] = stateOf(copy);
        assert.deepEqual(filesAfter, files);
        assert.equal(git(copy, 'ls-files', '--stage'), indexed);
        const own = refsAfter.split('\n').filter((line) => !line.startsWith('refs/fleet/sent/'));
        assert.equal(own.join('\n'), refs);
        assert.equal(git(copy, 'rev-parse', 'HEAD'), git(mine, 'rev-parse', 'HEAD'));
        const locks = readdirSync(join(copy, '.git'), { recursive: true, encoding: 'utf8' });
        assert.deepEqual(
          locks.filter((name) => name.endsWith('.lock')),
          [],
        );
        assert.equal(dispatched.length, isEnded ? 0 : 1, 'a command that is ended sends no task');
        const again = await scene.send(copy, '--repo', '.', ...more);
        assert.equal(again.code, 0, again.stderr);
        const { base = '' } = dispatched.at(-1)?.repository ?? {};
        assert.equal(
          git(scene.restore(base), 'rev-list', '--objects', base),
          git(copy, 'rev-list', '--objects', base),
        );
      }
      assert.ok(calls > 8, `${calls} calls`);
    });
