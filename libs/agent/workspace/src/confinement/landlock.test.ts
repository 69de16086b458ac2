import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { landlockHelper, withoutLandlock } from '../../testing/landlock-helper.ts';
import { nodeForOthers } from '../../testing/other-users.ts';
import { cannotConfine, commandsFolder, makePlace } from '../../testing/place.ts';
import { COMMAND_ENV } from '../process/command-env.ts';
import { runCommand } from '../process/run-command.ts';
import { type ConfinementOptions, createConfinement } from './create-confinement.ts';

const withoutUid = cannotConfine('uid');

async function start(t: TestContext, options: Pick<ConfinementOptions, 'confine' | 'programs' | 'readable'>) {
  const place = makePlace(t);
  const confinement = await createConfinement({ ...place, ...options, clock: systemClock, log: silentLog });
  const dir = await commandsFolder(place, confinement);
  const run = (script: string, readOnly: readonly string[] = [], env: Record<string, string> = {}) => {
    const limits = { timeoutMs: 60_000, keepBytes: 10_000, maxBytes: 1e6, clock: systemClock };
    const line = confinement.wrap('/bin/sh', ['-c', script], { writable: [dir], readOnly });
    return runCommand(line, { cwd: dir, env: { ...COMMAND_ENV, ...env }, ...limits });
  };
  return { confinement, dir, run };
}

const withLandlock = (t: TestContext, readable: readonly string[] = []) =>
  start(t, { confine: 'uid', programs: { landlock: landlockHelper() }, readable });

/** The image has the helper in the default place. */
const WITHOUT = { landlock: '/nowhere/helper' };

const skip = withoutUid || withoutLandlock;

test('a confinement by user names the ABI of Landlock, or why it is missing', { skip }, async (t) => {
  const { confinement } = await withLandlock(t);
  assert.match(confinement.note, /^shell commands run confined by uid with Landlock \d+, as another user; /);
  assert.match(
    confinement.note,
    / on: files, users of contexts, signals, system calls, oom_score_adj(, abstract sockets)?; off: command lines /,
  );
  const missing = { [WITHOUT.landlock]: /is not installed/, '/bin/false': /does not work/ };
  for (const [landlock, reason] of Object.entries(missing)) {
    const { confinement: open, run } = await start(t, { confine: 'uid', programs: { landlock } });
    assert.match(
      open.note,
      /^shell commands run confined by uid, as another user; .*; off: files \(.* without Landlock: /,
    );
    assert.match(open.note, reason);
    assert.match(open.note, /system calls \(the helper is missing\), oom_score_adj \(/);
    assert.equal((await run('true')).exitCode, 0);
  }
});

test('where the kernel has no Landlock, the helper filters system calls all the same', {
  skip,
}, async (t) => {
  const folder = tempDir(t);
  chmodSync(folder, 0o755);
  const landlock = join(folder, 'helper');
  const refuses = 'case " $* " in *" --write "*) echo "no Landlock" >&2; exit 125 ;; esac';
  writeFileSync(landlock, `#!/bin/sh\n${refuses}\nexec ${landlockHelper()} "$@"\n`, { mode: 0o755 });
  const { confinement, run } = await start(t, { confine: 'uid', programs: { landlock } });
  assert.match(confinement.note, / on: .*system calls.*; off: files \(.*without Landlock: no Landlock\)/);
  const { stdout } = await run('id -u; ls /var/tmp >/dev/null && unshare --user true || echo refused');
  assert.equal(stdout, '1001\nrefused\n');
});

test('a command has the same user, groups and rights with Landlock and without', { skip }, async (t) => {
  const script = `id -u; id -g; id -G | wc -w; umask; grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Uid|Gid)' /proc/self/status`;
  const [plain, restricted] = [await start(t, { confine: 'uid', programs: WITHOUT }), await withLandlock(t)];
  const said = (await restricted.run(script)).stdout;
  assert.equal(said, (await plain.run(script)).stdout);
  assert.match(said, /^1001\n1001\n2\n0007\n/);
  for (const set of ['Inh', 'Prm', 'Eff', 'Amb']) assert.match(said, new RegExp(`^Cap${set}:\t0{16}$`, 'm'));
  assert.match(said, /^NoNewPrivs:\t1$/m);
});

test('Landlock closes processes and abstract sockets of other commands, as bubblewrap does', {
  skip,
}, async (t) => {
  const node = nodeForOthers(t);
  const { run, confinement } = await withLandlock(t, [dirname(node)]);
  const name = `hermes-test-${process.pid}-${Math.random()}`;
  const served = `require('net').createServer().listen('\\0${name}', () => console.log('started'))`;
  const line = confinement.launch(node, ['-e', served]);
  const other = spawn(line.command, line.args, { env: COMMAND_ENV, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  const connect = `${node} -e "require('net').connect('\\0${name}').on('connect', () => process.exit(0)).on('error', () => process.exit(9))"`;
  const scopes = Number(/Landlock (\d+)/.exec(confinement.note)?.[1]) >= 6;
  const attempts = {
    environ: `cat /proc/${other.pid}/environ`,
    ...(scopes && { kill: `kill -0 ${other.pid}`, connect }),
  };
  const open = await start(t, { confine: 'uid', programs: WITHOUT });
  for (const [what, script] of Object.entries(attempts)) {
    assert.notEqual((await run(script)).exitCode, 0, what);
    assert.equal((await open.run(script)).exitCode, 0, what);
  }
  assert.equal((await run('sleep 600 & kill $! && wait $!; [ $? = 143 ]')).exitCode, 0);
});

test('ordinary work runs under Landlock', { skip }, async (t) => {
  const node = nodeForOthers(t);
  const { run, dir } = await withLandlock(t, [dirname(node)]);
  const script = `const fs = require('fs'), os = require('os');
    const d = fs.mkdtempSync(os.tmpdir() + '/x-'); fs.writeFileSync(d + '/f', 'x'); fs.renameSync(d + '/f', 'f'); fs.rmSync(d, { recursive: true });
    require('child_process').execFileSync('sh', ['-c', 'true'], { stdio: 'inherit' });
    new (require('worker_threads').Worker)('process.exit(0)', { eval: true }).on('exit', () => require('dns').lookup('localhost', () => {}));
    require('http').createServer((_, r) => r.end('ok')).listen(0, '127.0.0.1', function () { fetch('http://127.0.0.1:' + this.address().port).then(() => this.close()); });`;
  writeFileSync(join(dir, 'work.cjs'), script);
  chmodSync(join(dir, 'work.cjs'), 0o644);
  const work = {
    sh: 'set -e; echo a > a; echo b >> a; mkdir -p d/e; mv a d/e/a; ln d/e/a hard; ln -s hard soft; sed -i s/a/c/ soft; cat soft > /dev/null; rm -r d',
    devices:
      'set -e; head -c 4 /dev/urandom > /dev/null; echo x | cat /dev/stdin | cat > /dev/null; : < /dev/zero',
    temporary: 'set -e; f=$(mktemp); echo x > $f; mv $f here; mktemp -d | xargs rmdir',
    proc: 'set -e; cat /proc/self/status /proc/meminfo /proc/uptime > here',
    programs:
      'set -e; echo "echo ran" > run.sh; chmod +x run.sh; sh ./run.sh; tar cf t.tar run.sh; gzip t.tar; date; id; uname -a',
    git: `set -e; git init -q r; cd r; echo x > f; git add f; git -c user.name=a -c user.email=a@b commit -qm x; git gc -q; git clone -q . ../r2
          cd ../r2; git checkout -qb b; git worktree add -q ../r3; git status; git log --oneline | grep x`,
    node: `${node} work.cjs`,
  };
  const npm = ['/usr/local/bin/npm', '/usr/bin/npm'].find((path) => existsSync(path)) ?? 'npm';
  const optional = {
    '/usr/bin/python3': `/usr/bin/python3 -c "import tempfile, subprocess, multiprocessing as m, ssl; m.Queue(); tempfile.TemporaryFile(); subprocess.run(['true'], check=True)"`,
    '/usr/bin/gcc': `printf '#include <stdio.h>\\nint main(void) { return puts("hi") < 0; }' > m.c && gcc -o m m.c && ./m`,
    [npm]:
      'mkdir p && cd p && npm init -y && npm pack && npm install ./p-1.0.0.tgz --no-audit --offline --prefix ../q',
  };
  const present = Object.entries(optional).filter(([program]) => existsSync(program));
  for (const [what, line] of [...Object.entries(work), ...present]) {
    const { exitCode, stderr, stdout } = await run(line, [], { HOME: dir });
    assert.equal(exitCode, 0, `${what}: ${stderr} ${stdout}`);
  }
});

test('rights add up under Landlock: what is writable stays so in a read-only path within it', {
  skip,
}, async (t) => {
  const { run, dir } = await withLandlock(t);
  const outside = mkdtempSync('/var/tmp/hermes-');
  t.after(() => rmSync(outside, { recursive: true }));
  chmodSync(outside, 0o777);
  writeFileSync(join(outside, 'file'), 'x');
  chmodSync(join(outside, 'file'), 0o644);
  assert.equal((await run('mkdir inside')).exitCode, 0);
  const readOnly = [join(dir, 'inside'), outside, join(dir, 'missing')];
  assert.equal((await run(`touch inside/f && cat ${outside}/file`, readOnly)).exitCode, 0);
  assert.notEqual((await run(`touch ${outside}/new`, readOnly)).exitCode, 0);
});

test('the helper passes on the exit code, and runs nothing that it cannot restrict', { skip }, () => {
  const helper = landlockHelper();
  const status = (...args: string[]) => spawnSync(helper, args, { encoding: 'utf8' }).status;
  assert.equal(status('--write', '/', '--', '/bin/sh', '-c', 'exit 7'), 7);
  assert.equal(status('--write', '/', '--', '/nowhere/at/all'), 127);
  assert.equal(status('--read', '/var', '--', '/bin/sh', '-c', 'exit 7'), 126);
  for (const args of [
    ['sh'],
    ['--'],
    ['--all', '/', '--', 'true'],
    ['--user', '0', '--', 'true'],
    ['--seccomp', '/dev/null', '--', 'true'],
    [],
  ]) {
    assert.equal(status(...args), 125, args.join(' '));
  }
});
