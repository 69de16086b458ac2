import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { done, git, resultsScene, TASK } from '../../testing/results-stub.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
const MOST_CALLS = 40;

/** Git that counts its calls in `$COUNT`, and kills its caller after the one of `$KILL_AFTER`. */
const shim = (real: string): string => `#!/bin/sh
echo >>"$COUNT"
'${real}' "$@"
code=$?
if [ "$(wc -l <"$COUNT")" -eq "$KILL_AFTER" ]; then kill -9 "$PPID"; fi
exit $code
`;

for (const more of [[], ['--apply']] as const)
  test(`pull ${more.join('')} that is killed after any call of git leaves a sound repository, and can be repeated`, {
    timeout: 300_000,
  }, async (t) => {
    const scene = await resultsScene(t);
    const { root, mine, worker, tmp, reach, env } = scene;
    scene.work({ 'a.txt': 'one\n', 'deep/b.txt': 'b\n' });
    const bin = join(root, 'bin');
    mkdirSync(bin);
    const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
    writeFileSync(join(bin, 'git'), shim(real), { mode: 0o755 });
    const before = git(mine, 'rev-parse', 'HEAD');
    let calls = 0;
    for (let isKilled = true; isKilled; ) {
      calls += 1;
      assert.ok(calls < MOST_CALLS, 'it comes to an end');
      const copy = join(root, `mine-${calls}`);
      cpSync(mine, copy, { recursive: true });
      const child = spawn(process.execPath, [MAIN, 'pull', TASK, ...more, ...reach], {
        cwd: copy,
        env: {
          ...{ ...process.env, ...env, TMPDIR: tmp },
          ...{ COUNT: join(root, `count-${calls}`), KILL_AFTER: String(calls) },
          PATH: `${bin}${delimiter}${process.env.PATH}`,
        },
        stdio: 'ignore',
      });
      const [code, signal] = await once(child, 'close');
      isKilled = signal === 'SIGKILL';
      if (!isKilled) assert.equal(code, 0);
      git(copy, 'fsck', '--strict');
      const files = readdirSync(join(copy, '.git'), { recursive: true, encoding: 'utf8' });
      assert.deepEqual(
        files.filter((name) => name.endsWith('.lock')),
        [],
      );
      assert.equal(git(copy, 'rev-parse', 'HEAD'), before);
      // After its last call, the changes are staged: they are to be committed, and not applied again.
      const isStaged = git(copy, 'status', '--porcelain') !== '';
      if (!isStaged) done(await scene.run(copy, 'pull', ...more));
      const taken =
        more.length > 0 ? git(copy, 'write-tree') : git(copy, 'rev-parse', 'fleet/5eedc0de^{tree}');
      assert.equal(taken, git(worker, 'rev-parse', 'HEAD^{tree}'));
      assert.equal(git(copy, 'diff'), '');
    }
    assert.ok(calls > 5, `${calls} calls`);
  });
