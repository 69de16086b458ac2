import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { FleetError } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createConfinement, type DiskSpace } from '@hermes-fleet/workspace';
import {
  cannotConfine,
  commandsFolder,
  makePlace,
  mayChangeUsers,
  nodeForOthers,
} from '@hermes-fleet/workspace/testing';
import { block, makeAgent, makeContext, makeTask } from '../testing/harness.ts';
import { usersTree } from '../testing/tree.ts';
import { AgentConfigSchema, commandLimits } from './config/config-yaml.ts';
import { createEchoExecutor } from './echo.ts';
import { withinRoom } from './executor/room.ts';
import { shellExecTool } from './tools/shell-exec.ts';

const exec = promisify(execFile);
const MIB = 1024 * 1024;

/** A bubblewrap that fails for want of processes while `full` exists. */
function fullMachine(t: TestContext) {
  const dir = tempDir(t);
  const full = join(dir, 'full');
  const bwrap = join(dir, 'bwrap');
  const line = 'bwrap: Creating new namespace failed: Resource temporarily unavailable';
  writeFileSync(bwrap, `#!/bin/sh\n[ -e ${full} ] || exec bwrap "$@"\necho '${line}' >&2; exit 1\n`);
  chmodSync(bwrap, 0o755);
  return { full, programs: { bwrap, setpriv: 'setpriv' } };
}

test('a task for which no process can be started is blocked, transiently and without a token', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const { place, dir } = usersTree(t);
  const { full, programs } = fullMachine(t);
  const parts = { confine: 'bubblewrap', ...place, programs, clock: systemClock, log: silentLog } as const;
  const confinement = await createConfinement(parts);
  const agent = await makeAgent(t, { workspace: { path: dir } }, { place, confinement });
  writeFileSync(full, '');
  const context = makeContext();
  const { status, unmet } = await agent.executor.run(makeTask(block('a.txt', 'x')), context);
  assert.equal(status, 'blocked');
  assert.deepEqual(
    unmet?.map(({ kind, name, transient }) => [kind, name, transient]),
    [['capacity', 'processes', true]],
  );
  assert.match(unmet?.[0]?.detail ?? '', /cannot be started now .*Resource temporarily unavailable/);
  assert.equal(context.budget.spent(), 0);
  await assert.rejects(agent.repoState(), { code: 'CAPACITY' }, 'admission learns it too');
});

test('a command that cannot be started is a failed call that says so, and the task goes on', {
  skip: cannotConfine('bubblewrap'),
}, async (t) => {
  const place = makePlace(t);
  const { full, programs } = fullMachine(t);
  const parts = { confine: 'bubblewrap', ...place, programs, clock: systemClock, log: silentLog } as const;
  const confinement = await createConfinement(parts);
  const dir = await commandsFolder(place, confinement);
  const wrap = (command: string, args: readonly string[]) =>
    confinement.wrap(command, args, { writable: [dir], readOnly: [] });
  const limits = commandLimits(AgentConfigSchema.parse({}).tools.shell.limits);
  const tool = shellExecTool({
    profile: 'p',
    shell: '/bin/sh',
    env: {},
    timeoutS: 60,
    limits,
    clock: systemClock,
  });
  const call = { workspace: { dir, wrap }, signal: new AbortController().signal };
  const run = async (command: string) =>
    await tool.run({ command }, call as unknown as Parameters<typeof tool.run>[1]);
  writeFileSync(full, '');
  const failed = await run('echo x');
  assert.equal(failed.ok, false);
  assert.match(String(failed.output), /^the command did not run: a process cannot be started now/);
  rmSync(full);
  assert.equal((await run('echo x')).ok, true);
  const own = await run('echo "bwrap: no: Resource temporarily unavailable" >&2; echo it ran; exit 1');
  assert.match(JSON.stringify(own.output), /it ran/, 'a command that ran is not taken for one that did not');
});

test('an operating system that refuses a process is CAPACITY', { skip: !mayChangeUsers }, async (t) => {
  const script = `
    import { execFileSync } from 'node:child_process';
    import { mkdtempSync } from 'node:fs';
    import { createCommandRecords, runCommand } from '${join(import.meta.dirname, '../../workspace/src/index.ts')}';
    import { systemClock } from '${join(import.meta.dirname, '../../../core/protocol/src/ports/index.ts')}';
    const limit = process.argv[1];
    const options = { cwd: '/', env: {}, timeoutMs: 9000, keepBytes: 999, maxBytes: 9999, clock: systemClock };
    const records = createCommandRecords(mkdtempSync('/tmp/records-'), { byEnv: false });
    const run = () => runCommand({ command: '/bin/true', args: [], records }, options);
    const before = (await run()).exitCode;
    execFileSync('prlimit', ['--pid', String(process.pid), limit]);
    const code = await run().then(() => 'ran', (error) => error.code + ': ' + error.message);
    console.log(before, code);`;
  const node = nodeForOthers(t);
  const user = ['--reuid', '54321', '--regid', '54321', '--clear-groups'];
  for (const [limit, error] of [
    ['--nproc=1', 'EAGAIN'],
    ['--nofile=20', 'EMFILE'],
  ] as const) {
    const args = [...user, node, '--no-warnings', '--input-type=module', '-e', script, '--', limit];
    const { stdout } = await exec('setpriv', args, { env: { PATH: process.env.PATH } });
    assert.equal(stdout.trim(), `0 CAPACITY: a process cannot be started now (${error})`);
  }
});

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip = cannotConfine(confine);

  test(`a command that makes its context too large is ended and told; one that makes room runs (${confine})`, {
    skip,
  }, async (t) => {
    const agent = await makeAgent(t, {
      tools: { shell: { confine } },
      workspace: { max_mb: 50 },
      hooks: { verifyBeforeComplete: false },
    });
    const fill =
      'mkdir deep; i=0; while :; do head -c 10M /dev/zero > deep/$i || exit; i=$((i+1)); sleep 0.1; done';
    const context = makeContext();
    await agent.executor.run(makeTask(block('sh', fill)), context);
    const seen = JSON.stringify(context.checkpoints);
    assert.match(seen, /killed: the files of this task take \d+ MiB of disk, and the limit is 50/);
    assert.match(seen, /workspace\.max_mb\); remove what is not needed/);
    const second = makeContext();
    // Long enough for several measurements.
    const result = await agent.executor.run(makeTask(block('sh', 'sleep 3; rm -r deep; echo roomy')), second);
    assert.equal(result.status, 'done', JSON.stringify(result));
    assert.match(JSON.stringify(second.checkpoints), /roomy/);
  });
}

test('while too little is free on the disk, nothing begins, and running work ends with the reason', async (t) => {
  const place = makePlace(t);
  const free = (): number => {
    const { bavail, bsize } = statfsSync(place.stateDir);
    return Math.floor((bavail * bsize) / MIB);
  };
  const short = await makeAgent(t, { workspace: { min_free_mb: free() + 100_000 } }, { place });
  const unmet = short.shortage();
  assert.deepEqual([unmet?.kind, unmet?.name, unmet?.transient], ['capacity', 'disk', true]);
  assert.match(unmet?.detail ?? '', /has \d+ MiB left, and work needs \d+ \(workspace\.min_free_mb\)/);
  const refused = await short.executor.run(makeTask(block('a.txt', 'x')), makeContext());
  assert.deepEqual([refused.status, refused.unmet], ['blocked', [unmet]]);
  for (const min_free_mb of [0, 1]) {
    const agent = await makeAgent(t, { workspace: { min_free_mb } });
    assert.equal(agent.shortage(), undefined);
  }

  // Other work fills the disk while the task runs: a file that a real disk holds.
  const margin = 200;
  const running = await makeAgent(t, { workspace: { min_free_mb: free() - margin } });
  const context = makeContext();
  let over = false;
  const run = running.executor.run(makeTask(block('sh', 'sleep 300')), context).finally(() => {
    over = true;
  });
  // Others may free space of the disk at the same time.
  for (let i = 0; !over && i < 30; i += 1) {
    await exec('sh', ['-c', `head -c ${margin}M /dev/zero > ${join(place.stateDir, `filler${i}`)}`]);
    await Promise.race([run, systemClock.sleep(2500)]);
  }
  const result = await run;
  assert.deepEqual([result.status, result.error?.code, result.error?.retryable], ['error', 'capacity', true]);
  assert.match(result.error?.message ?? '', /MiB left, and work needs/);
});

test('a shortage before the first token is named by its resource', async () => {
  const full = { kind: 'capacity', name: 'disk', detail: 'the disk is full', transient: true } as const;
  for (const [later, name] of [
    [full, 'disk'],
    [undefined, 'processes'],
  ] as const) {
    const answers = [undefined, later];
    const disk: DiskSpace = {
      unmet: () => answers.shift(),
      watchFree: () => ({ signal: new AbortController().signal, [Symbol.dispose]() {} }),
      monitor: () => assert.fail('nothing runs'),
    };
    const run = async () => Promise.reject(new FleetError('CAPACITY', 'no room'));
    const { model } = createEchoExecutor('haiku');
    const outcome = await withinRoom({ model, run }, disk).run(makeTask('x'), makeContext());
    assert.deepEqual(
      outcome.unmet?.map((unmet) => [unmet.kind, unmet.name]),
      [['capacity', name]],
    );
  }
});
